/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_stress.c: `mmscope stress`: the synthetic VMA contention workload and its own counts.
 * Layer: cli. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "live/live.h"
#include "live/stress.h"

#define MAX_SECONDS_NS (86400ull * 1000000000ull)
#define MIN_SECONDS_NS 1000000ull
#define DEFAULT_SECONDS_NS (10ull * 1000000000ull)

struct stress_opts {
	u64 readers, writers, pages;
	u64 duration_ns, writer_delay_ns, writer_interval_us, ops;
	const char *op, *advice, *path;
	s64 reader_nice, writer_nice, wait_fd;
	u64 reader_rt, writer_rt;
	bool json;
};

#define AT(member) offsetof(struct stress_opts, member)
static const struct cli_opt stress_options[] = {
	{ "readers", 'r', "N", OPT_U64, AT(readers), 0, STRESS_MAX_THREADS,
	  "threads that fault pages in (default 4)" },
	{ "writers", 'w', "N", OPT_U64, AT(writers), 0, STRESS_MAX_THREADS,
	  "threads that change the address space (default 1)" },
	{ "pages", 'n', "N", OPT_U64, AT(pages), 1, STRESS_MAX_PAGES,
	  "length of the mapping in pages (default 4096)" },
	{ "seconds", 'd', "S", OPT_SECONDS, AT(duration_ns), MIN_SECONDS_NS, MAX_SECONDS_NS,
	  "how long at most (default 10; with --ops: no limit)" },
	{ "writer-delay", 0, "S", OPT_SECONDS, AT(writer_delay_ns), 0, MAX_SECONDS_NS,
	  "writers start this long after the readers (default 0.1)" },
	{ "writer-op", 0, "OP", OPT_STRING, AT(op), 0, 0,
	  "mprotect, split, mmap, fork or madvise (default mprotect)" },
	{ "writer-interval", 0, "US", OPT_U64, AT(writer_interval_us), 0, 3600000000ull,
	  "pause after each operation, in microseconds (default 1000)" },
	{ "ops", 0, "N", OPT_U64, AT(ops), 1, INT64_MAX,
	  "each writer stops after N operations, and the run ends with the last writer "
	  "(default: no limit)" },
	{ "reader-nice", 0, "N", OPT_S64, AT(reader_nice), (u64)-20, 19,
	  "nice value of the readers (default: as inherited)" },
	{ "writer-nice", 0, "N", OPT_S64, AT(writer_nice), (u64)-20, 19,
	  "nice value of the writers (default: as inherited)" },
	{ "reader-rt", 0, "PRIO", OPT_U64, AT(reader_rt), 1, 99,
	  "SCHED_FIFO priority of the readers (default: none)" },
	{ "writer-rt", 0, "PRIO", OPT_U64, AT(writer_rt), 1, 99,
	  "SCHED_FIFO priority of the writers (default: none)" },
	{ "file", 'f', "PATH", OPT_STRING, AT(path), 0, 0,
	  "map this file; its bytes stay as they are, a new one is removed again (default: an "
	  "unlinked temporary file in $TMPDIR, the current directory or /var/tmp)" },
	{ "advice", 0, "ADVICE", OPT_STRING, AT(advice), 0, 0,
	  "random (no read-ahead) or normal (default normal)" },
	{ "wait-fd", 0, "FD", OPT_S64, AT(wait_fd), 0, 1048576,
	  "open the gate only when this file descriptor delivers a byte or its end (default: at "
	  "once)" },
	{ "json", 0, NULL, OPT_FLAG, AT(json), 0, 0,
	  "one JSON object on stdout at the end; the line before the gate opens goes to stderr" },
};
static const struct stress_opts stress_defaults = {
	.readers = 4,
	.writers = 1,
	.pages = 4096,
	.writer_delay_ns = 100000000,
	.writer_interval_us = 1000,
	.op = "mprotect",
	.advice = "normal",
	.reader_nice = STRESS_NICE_UNSET,
	.writer_nice = STRESS_NICE_UNSET,
	.wait_fd = -1,
};

static int config_from_options(const struct verb *v, const struct stress_opts *o,
			       struct stress_config *c)
{
	struct error e = { 0 };
	int op = stress_op_find(o->op);

	if (op < 0)
		return cli_fail(v, EXIT_USAGE,
				"--writer-op %s: mprotect, split, mmap, fork or madvise", o->op);
	if (strcmp(o->advice, "random") && strcmp(o->advice, "normal"))
		return cli_fail(v, EXIT_USAGE, "--advice %s: random or normal", o->advice);
	*c = (struct stress_config){
		.readers = { (u32)o->readers, o->reader_nice, (u32)o->reader_rt },
		.writers = { (u32)o->writers, o->writer_nice, (u32)o->writer_rt },
		.pages = o->pages,
		.duration_ns = o->duration_ns,
		.writer_delay_ns = o->writer_delay_ns,
		.writer_interval_ns = o->writer_interval_us * 1000,
		.op = (enum stress_op)op,
		.ops_per_writer = o->ops,
		.random_advice = !strcmp(o->advice, "random"),
		.path = o->path,
		.wait_fd = (int)o->wait_fd,
	};
	if (!c->duration_ns && !(c->ops_per_writer && c->writers.threads))
		c->duration_ns = DEFAULT_SECONDS_NS;
	if (stress_config_check(c, &e))
		return cli_fail(v, EXIT_USAGE, "%s", e.msg);
	return EXIT_DONE;
}

static json_t *json_tids(const pid_t *tids, u32 n)
{
	json_t *list = json_array();

	for (u32 i = 0; i < n; i++)
		json_array_append_new(list, json_integer(tids[i]));
	return list;
}

static json_t *json_ident(const struct stress_ident *id)
{
	char start[20], end[20];

	snprintf(start, sizeof(start), "0x%" PRIx64, id->vm_start);
	snprintf(end, sizeof(end), "0x%" PRIx64, id->vm_end);
	return json_pack("{s:i s:s s:s s:i s:i s:I s:I s:I s:o? s:b s:I s:o s:o}", "tgid", id->tgid,
			 "vm_start", start, "vm_end", end, "dev_major", (int)id->dev_major,
			 "dev_minor", (int)id->dev_minor, "ino", (json_int_t)id->ino, "pages",
			 (json_int_t)id->pages, "page_size_bytes", (json_int_t)id->page_size_bytes,
			 "file", json_string(id->dir), "file_in_memory", id->in_memory,
			 "resident_pages_at_start", (json_int_t)id->resident_pages, "reader_tids",
			 json_tids(id->reader_tids, id->n_readers), "writer_tids",
			 json_tids(id->writer_tids, id->n_writers));
}

/* The values that have no sample are null, not 0. */
static json_t *json_latency(const struct stress_latency *l)
{
	json_t *o = json_object(), *buckets = json_array();

	json_object_set_new(o, "count", json_integer((json_int_t)l->n));
	json_object_set_new(o, "total_ns", json_integer((json_int_t)l->sum_ns));
	json_object_set_new(o, "mean_ns",
			    l->n ? json_integer((json_int_t)(l->sum_ns / l->n)) : json_null());
	json_object_set_new(o, "min_ns", l->n ? json_integer((json_int_t)l->min_ns) : json_null());
	json_object_set_new(o, "max_ns", l->n ? json_integer((json_int_t)l->max_ns) : json_null());
	for (u32 b = 0; b < STRESS_BUCKETS; b++)
		json_array_append_new(buckets, json_integer((json_int_t)l->buckets[b]));
	json_object_set_new(o, "buckets_log10_us", buckets);
	return o;
}

static void errno_name(u32 n, char *ret, size_t size)
{
	const char *name = n ? strerrorname_np((int)n) : "other";

	if (name)
		snprintf(ret, size, "%s", name);
	else
		snprintf(ret, size, "%u", n);
}

static json_t *json_counts(const struct stress_counts *c)
{
	json_t *o = json_pack("{s:I s:I s:I s:I s:I}", "pages_touched",
			      (json_int_t)c->pages_touched, "sweeps", (json_int_t)c->sweeps, "ops",
			      (json_int_t)c->ops, "minor_faults", (json_int_t)c->minor_faults,
			      "major_faults", (json_int_t)c->major_faults);
	json_t *calls = json_object(), *failed = json_object(), *errors = json_object();

	for (u32 i = 0; i < STRESS_CALL_N; i++) {
		json_object_set_new(calls, stress_call_name(i),
				    json_integer((json_int_t)c->calls[i]));
		json_object_set_new(failed, stress_call_name(i),
				    json_integer((json_int_t)c->failed[i]));
	}
	for (u32 n = 0; n < STRESS_MAX_ERRNO; n++) {
		char name[32];

		if (!c->errnos[n])
			continue;
		errno_name(n, name, sizeof(name));
		json_object_set_new(errors, name, json_integer((json_int_t)c->errnos[n]));
	}
	json_object_set_new(o, "calls", calls);
	json_object_set_new(o, "failed_calls", failed);
	json_object_set_new(o, "errors", errors);
	return o;
}

static json_t *json_side(const struct stress_counts *c, bool writers)
{
	json_t *o = json_counts(c), *calls = json_object();

	json_object_set_new(o, writers ? "op_latency" : "touch_latency",
			    json_latency(writers ? &c->op_latency : &c->touch_latency));
	for (u32 i = 0; i < STRESS_CALL_N; i++)
		if (c->calls[i])
			json_object_set_new(calls, stress_call_name(i),
					    json_latency(&c->call_latency[i]));
	json_object_set_new(o, "call_latency", calls);
	return o;
}

/* The sink is a full u64, which JSON's integers here are not: hexadecimal. */
static json_t *json_sink(u64 sink)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%" PRIx64, sink);
	return json_string(text);
}

static json_t *json_threads(const struct stress_result *r)
{
	json_t *list = json_array();

	for (u32 i = 0; i < r->n_threads; i++) {
		const struct stress_thread_counts *t = &r->threads[i];
		json_t *o = json_counts(&t->counts);

		json_object_set_new(o, "tid", json_integer(t->tid));
		json_object_set_new(o, "role", json_string(t->writer ? "writer" : "reader"));
		json_object_set_new(o, "index", json_integer(t->index));
		json_object_set_new(o, "start_page", json_integer((json_int_t)t->start_page));
		json_object_set_new(o, "sink", json_sink(t->counts.sink));
		json_array_append_new(list, o);
	}
	return list;
}

static int print_json(const struct verb *v, const struct stress_opts *opts,
		      const struct stress_ident *id, const struct stress_result *r)
{
	json_t *o = json_ident(id);

	json_object_set_new(o, "writer_op", json_string(opts->op));
	json_object_set_new(o, "advice", json_string(opts->advice));
	json_object_set_new(o, "writer_interval_us",
			    json_integer((json_int_t)opts->writer_interval_us));
	json_object_set_new(o, "writer_delay_ns", json_integer((json_int_t)opts->writer_delay_ns));
	json_object_set_new(o, "elapsed_ns", json_integer((json_int_t)r->elapsed_ns));
	json_object_set_new(o, "gate_opened", json_boolean(r->gate_opened));
	json_object_set_new(o, "end_signal",
			    r->end_signal ? json_integer(r->end_signal) : json_null());
	json_object_set_new(o, "minor_faults", json_integer((json_int_t)r->minor_faults));
	json_object_set_new(o, "major_faults", json_integer((json_int_t)r->major_faults));
	json_object_set_new(o, "sink", json_sink(r->readers.sink));
	json_object_set_new(o, "sink_is_sum_of_page_numbers", json_boolean(r->known_content));
	json_object_set_new(o, "readers", json_side(&r->readers, false));
	json_object_set_new(o, "writers", json_side(&r->writers, true));
	json_object_set_new(o, "threads", json_threads(r));
	if (!o)
		return cli_fail(v, EXIT_FAILED, "out of memory");
	/* A failed write shows in stdout's error flag, which cli_finish_output() judges. */
	(void)json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
	return cli_finish_output(v, EXIT_DONE);
}

static void print_tids(const char *label, const pid_t *tids, u32 n)
{
	printf(" %s ", label);
	for (u32 i = 0; i < n; i++)
		printf("%s%d", i ? "," : "", tids[i]);
	if (!n)
		putchar('-');
}

/* "ready tgid 812 range 7f00-7f10 dev 254:0 ino 13 pages 4096 readers 813,814 writers 815" */
static int print_ready(const struct verb *v, bool json, const struct stress_ident *id)
{
	if (json) {
		json_t *o = json_ident(id);
		int err = !o || json_dumpf(o, stderr, JSON_COMPACT);

		json_decref(o);
		if (err)
			return cli_fail(v, EXIT_FAILED, "cannot write the ready line to stderr");
		fputc('\n', stderr);
		return EXIT_DONE;
	}
	printf("ready tgid %d range %" PRIx64 "-%" PRIx64 " dev %u:%u ino %" PRIu64
	       " pages %" PRIu64,
	       id->tgid, id->vm_start, id->vm_end, id->dev_major, id->dev_minor, id->ino,
	       id->pages);
	print_tids("readers", id->reader_tids, id->n_readers);
	print_tids("writers", id->writer_tids, id->n_writers);
	putchar('\n');
	return cli_finish_output(v, EXIT_DONE);
}

static void print_latency(const char *who, const char *what, const struct stress_latency *l,
			  u64 failed)
{
	if (!l->n)
		return;
	printf("%-8s %-12s %11" PRIu64 " %7" PRIu64 " %13.1f %11.2f %11.2f %11.1f\n", who, what,
	       l->n, failed, (double)l->sum_ns / 1e3, (double)l->sum_ns / (double)l->n / 1e3,
	       (double)l->min_ns / 1e3, (double)l->max_ns / 1e3);
}

static void print_side(const char *who, const struct stress_counts *c, const char *whole,
		       const struct stress_latency *latency)
{
	print_latency(who, whole, latency, 0);
	for (u32 i = 0; i < STRESS_CALL_N; i++)
		print_latency(who, stress_call_name(i), &c->call_latency[i], c->failed[i]);
	for (u32 n = 0; n < STRESS_MAX_ERRNO; n++) {
		char name[32];

		if (!c->errnos[n])
			continue;
		errno_name(n, name, sizeof(name));
		printf("%-8s failed with %s %" PRIu64 " times\n", who, name, c->errnos[n]);
	}
}

static int print_text(const struct verb *v, const struct stress_opts *opts,
		      const struct stress_ident *id, const struct stress_result *r)
{
	if (!r->gate_opened)
		printf("ended by signal %d before the gate opened\n", r->end_signal);
	printf("%.3f s, %u readers, %u writers (%s), %" PRIu64 " pages of %" PRIu64 " bytes%s\n",
	       (double)r->elapsed_ns / 1e9, id->n_readers, id->n_writers, opts->op, id->pages,
	       id->page_size_bytes, r->end_signal ? ", ended by a signal" : "");
	printf("readers  %" PRIu64 " pages touched, %" PRIu64 " whole sweeps, %" PRIu64
	       " minor and %" PRIu64 " major faults\n",
	       r->readers.pages_touched, r->readers.sweeps, r->readers.minor_faults,
	       r->readers.major_faults);
	printf("writers  %" PRIu64 " operations, %" PRIu64 " minor and %" PRIu64 " major faults\n",
	       r->writers.ops, r->writers.minor_faults, r->writers.major_faults);
	printf("process  %" PRIu64 " minor and %" PRIu64 " major faults, sink 0x%" PRIx64 "\n\n",
	       r->minor_faults, r->major_faults, r->readers.sink);
	printf("%-8s %-12s %11s %7s %13s %11s %11s %11s\n", "", "what", "count", "failed",
	       "total us", "mean us", "min us", "max us");
	print_side("readers", &r->readers, "page touch", &r->readers.touch_latency);
	print_side("writers", &r->writers, "operation", &r->writers.op_latency);
	return cli_finish_output(v, EXIT_DONE);
}

static int stress_start(const struct verb *v, const struct stress_opts *o, struct stress *s)
{
	const struct stress_ident *id = stress_ident(s);
	struct stress_result r;
	struct error e = { 0 };
	int code;

	if (id->in_memory)
		cli_warn(
			v,
			"%s is in memory (tmpfs): its faults do no I/O; name a file on a disk with "
			"--file",
			id->dir);
	else if (id->resident_pages)
		cli_warn(v,
			 "%" PRIu64 " of %" PRIu64 " pages stayed in the page cache: they fault "
			 "without I/O",
			 id->resident_pages, id->pages);
	code = print_ready(v, o->json, id);
	if (code)
		return code;
	if (stress_run(s, &r, &e))
		return cli_fail(v, EXIT_FAILED, "%s", e.msg);
	return o->json ? print_json(v, o, id, &r) : print_text(v, o, id, &r);
}

static int stress_run_verb(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct stress_opts *o = opts;
	struct stress_config config;
	struct stress *s = NULL;
	struct error e = { 0 };
	int code = config_from_options(v, o, &config);

	if (code)
		return code;
	if (args->argc || args->command)
		return cli_fail(v, EXIT_USAGE, "takes no arguments, only options");
	live_catch_signals();
	if (stress_new(&config, &s, &e))
		return cli_fail(v, EXIT_FAILED, "%s", e.msg);
	code = stress_start(v, o, s);
	stress_free(s);
	return code;
}

const struct verb verb_stress = {
	.name = "stress",
	.args = "",
	.doc = "run a synthetic workload that contends for one VMA, and count what it did",
	.details =
		"Readers fault in the pages of one file mapping while writers change the same VMA "
		"(mprotect, split, madvise) or the same address space (mmap, fork). A line with "
		"the "
		"process, the mapping and all thread ids is printed before the gate opens, the "
		"exact "
		"counts of every call at the end. Threads are named mms-reader-N and mms-writer-N.",
	.opts = stress_options,
	.n_opts = ARRAY_LEN(stress_options),
	.opts_size = sizeof(struct stress_opts),
	.defaults = &stress_defaults,
	.run = stress_run_verb,
};
