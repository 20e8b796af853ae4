/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_gen: makes ftrace text for tests, the benchmark and the demo. The same options and seed
 * give the same bytes.
 *
 *   trace_gen --bench LINES [--seconds S]   a busy stock kernel, for the benchmark
 *   trace_gen --vendor [--no-retry 0|1] ... a patched kernel: a small simulation of the retry study
 *   trace_gen --random EVENTS [--set F=V]   event soup, valid and not, for the property test
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen.h"

enum { MODE_NONE, MODE_BENCH, MODE_VENDOR, MODE_RANDOM };
enum {
	O_BENCH = 256,
	O_VENDOR,
	O_RANDOM,
	O_SEED,
	O_SECONDS,
	O_NO_RETRY,
	O_SCHED,
	O_RT,
	O_NICE,
	O_READERS,
	O_WRITERS,
	O_IO_US,
	O_PERIOD_US,
	O_SET,
	O_LIST,
	O_HELP
};

static const struct option long_options[] = {
	{ "bench", required_argument, NULL, O_BENCH },
	{ "vendor", no_argument, NULL, O_VENDOR },
	{ "random", required_argument, NULL, O_RANDOM },
	{ "seed", required_argument, NULL, O_SEED },
	{ "seconds", required_argument, NULL, O_SECONDS },
	{ "no-retry", required_argument, NULL, O_NO_RETRY },
	{ "sched", no_argument, NULL, O_SCHED },
	{ "rt", no_argument, NULL, O_RT },
	{ "nice", no_argument, NULL, O_NICE },
	{ "readers", required_argument, NULL, O_READERS },
	{ "writers", required_argument, NULL, O_WRITERS },
	{ "io-us", required_argument, NULL, O_IO_US },
	{ "period-us", required_argument, NULL, O_PERIOD_US },
	{ "set", required_argument, NULL, O_SET },
	{ "list-features", no_argument, NULL, O_LIST },
	{ "help", no_argument, NULL, O_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"trace_gen --bench LINES [--seconds S]\n"
	"trace_gen --vendor [--seconds S] [--no-retry 0|1] [--sched] [--rt] [--nice] [--readers "
	"N]\n"
	"          [--writers N] [--io-us N] [--period-us N]\n"
	"trace_gen --random EVENTS [--set FEATURE=VALUE]... (--list-features shows them)\n"
	"all: [--seed N]; ftrace text goes to stdout\n";

static u64 number(const char *text, u64 low, u64 high)
{
	char *end;
	u64 v = strtoull(text, &end, 0);

	if (*end || end == text || v < low || v > high) {
		fprintf(stderr, "trace_gen: '%s' is no number from %llu to %llu\n", text,
			(unsigned long long)low, (unsigned long long)high);
		exit(2);
	}
	return v;
}

static double seconds(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || end == text || !(v > 0 && v <= 100000)) {
		fprintf(stderr, "trace_gen: '%s' is no number of seconds\n", text);
		exit(2);
	}
	return v;
}

static int handle(int c, struct gen_options *o, int mode)
{
	switch (c) {
	case O_BENCH:
		o->lines = number(optarg, 1, 1ULL << 40);
		return MODE_BENCH;
	case O_VENDOR:
		return MODE_VENDOR;
	case O_RANDOM:
		o->lines = number(optarg, 1, 1000000);
		return MODE_RANDOM;
	case O_SEED:
		o->seed = number(optarg, 0, UINT64_MAX);
		break;
	case O_SECONDS:
		o->seconds = seconds(optarg);
		o->seconds_given = true;
		break;
	case O_NO_RETRY:
		o->no_retry = number(optarg, 0, 1);
		break;
	case O_SCHED:
		o->sched = true;
		break;
	case O_RT:
		o->rt = o->sched = true;
		break;
	case O_NICE:
		o->nice = o->sched = true;
		break;
	case O_READERS:
		o->readers = (u32)number(optarg, 1, 64);
		break;
	case O_WRITERS:
		o->writers = (u32)number(optarg, 0, 16);
		break;
	case O_IO_US:
		o->io_us = (u32)number(optarg, 1, 1000000);
		break;
	case O_PERIOD_US:
		o->period_us = (u32)number(optarg, 10, 10000000);
		break;
	case O_SET:
		if (!random_set(optarg)) {
			fprintf(stderr, "trace_gen: '%s': see --list-features\n", optarg);
			exit(2);
		}
		break;
	case O_LIST:
		random_list();
		out_flush();
		exit(0);
	case O_HELP:
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		exit(2);
	}
	return mode;
}

int main(int argc, char **argv)
{
	struct gen_options o = { .seed = 1,
				 .seconds = 2,
				 .readers = 4,
				 .writers = 1,
				 .io_us = 20000,
				 .period_us = 20000 };
	int mode = MODE_NONE;
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		mode = handle(c, &o, mode);
	if (optind < argc)
		mode = MODE_NONE;
	switch (mode) {
	case MODE_BENCH:
		bench_run(&o);
		break;
	case MODE_VENDOR:
		vendor_run(&o);
		break;
	case MODE_RANDOM:
		random_run(&o);
		break;
	default:
		fputs(usage, stderr);
		return 2;
	}
	out_flush();
	return 0;
}
