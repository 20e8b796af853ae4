/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/record_text.c: what `mmscope record` tells on stderr (see cmd_record.h). Layer: cli. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_record.h"

#define CPUS_SHOWN 16
#define NAMES_SHOWN 6

/*
 * Missing stock events by name. Of a call's two only the first is named: "sys_enter_mseal" says it
 * all. Vendor ones are missing on most kernels, which is worth a phrase and no list.
 */
static void print_missing(const struct recording *rec)
{
	char text[512];
	size_t len = 0, n = 0, all = 0, i;

	for (i = 0; i < rec->events.list.n; i++)
		all += rec->events.list.v[i].origin == ORIGIN_VENDOR_EVENT;
	text[0] = '\0';
	for (i = 0; i < rec->info.missing_events.list.n; i++) {
		const char *name = rec->info.missing_events.list.v[i];
		const struct ftrace_event *ev;
		size_t k;

		for (k = 0; k < rec->events.list.n; k++) {
			ev = &rec->events.list.v[k];
			if (!strncmp(name, ev->system, strlen(ev->system)) &&
			    name[strlen(ev->system)] == ':' &&
			    !strcmp(name + strlen(ev->system) + 1, ev->name))
				break;
		}
		if (k == rec->events.list.n ||
		    rec->events.list.v[k].origin == ORIGIN_VENDOR_EVENT ||
		    strstr(name, ":sys_exit_"))
			continue;
		if (n++ < NAMES_SHOWN && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						n > 1 ? ", " : "", name);
	}
	if (n > NAMES_SHOWN && len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, " and %zu more", n - NAMES_SHOWN);
	if (n)
		cli_warn(rec->verb, "this kernel lacks %s", text);
	if (!rec->n_vendor)
		cli_warn(rec->verb,
			 "no vendor events in this kernel: no VMA-lock waits, no ends of faults");
	else if (rec->n_vendor < all)
		cli_warn(rec->verb, "%zu of %zu vendor events in this kernel", rec->n_vendor, all);
}

void record_print_start(const struct recording *rec)
{
	static const char *const whats[] = { "the command and its children",
					     "the processes and their children", "every process" };

	if (rec->ops == &record_ftrace)
		print_missing(rec);
	cli_warn(rec->verb, "recording %s into %s; ^C ends it", whats[rec->target.scope], rec->dir);
}

/* What a CPU lost: by the kernel's counters, or by its LOST lines where those tell more. */
static u64 cpu_lost(const struct session_cpu *c)
{
	u64 counted = (u64)c->overrun + (u64)c->commit_overrun + (u64)c->dropped;

	return counted > (u64)c->lost_events ? counted : (u64)c->lost_events;
}

static void print_cpus(const struct session_info *info)
{
	u64 rest_events = 0, rest_bytes = 0;
	size_t n = info->per_cpu.list.n;

	for (size_t i = 0; i < n; i++) {
		const struct session_cpu *c = &info->per_cpu.list.v[i];

		if (i < CPUS_SHOWN) {
			fprintf(stderr,
				"  CPU %-4" PRId64 " %12" PRId64 " events %14" PRId64 " bytes",
				c->cpu, c->read_events, c->bytes);
			if (cpu_lost(c))
				fprintf(stderr, " %12" PRIu64 " lost", cpu_lost(c));
			fputc('\n', stderr);
		} else {
			rest_events += (u64)c->read_events;
			rest_bytes += (u64)c->bytes;
		}
	}
	if (n > CPUS_SHOWN)
		fprintf(stderr, "  %zu more  %11" PRIu64 " events %14" PRIu64 " bytes\n",
			n - CPUS_SHOWN, rest_events, rest_bytes);
	if (!n)
		fprintf(stderr, "  no event at all\n");
}

static void print_loss(const struct session_info *info)
{
	u64 lost = 0, unread = 0;
	bool minimum = false;

	for (size_t i = 0; i < info->per_cpu.list.n; i++) {
		const struct session_cpu *c = &info->per_cpu.list.v[i];

		lost += cpu_lost(c);
		unread += (u64)c->unread;
		minimum |= c->lost_unknown > 0;
	}
	if (!lost)
		fprintf(stderr, "  lost: %s\n",
			minimum ? "an unknown number of events" : "0 events");
	else
		fprintf(stderr,
			"  lost: %s%" PRIu64 " events; a larger buffer helps: -b %" PRId64 "\n",
			minimum ? "at least " : "", lost, info->buffer_kb.v * 4);
	if (unread)
		fprintf(stderr,
			"  not written: %" PRIu64 " events that were still in the buffers\n",
			unread);
}

static void print_not_recorded(const struct recording *rec)
{
	fprintf(stderr, "  not recorded: calls of 32-bit programs%s%s\n",
		rec->n_vendor ? "" : "; VMA-lock waits and ends of faults (need vendor events)",
		rec->target.scope == SCOPE_ALL ? "" : "; what other processes did to these");
}

static void print_records(const struct session_info *info)
{
	fprintf(stderr, "  %" PRId64 " records, %" PRId64 " bytes; ", info->records.v,
		info->record_bytes.v);
	if (info->ended_by && !strcmp(info->ended_by, "error"))
		fprintf(stderr, "not all of them are in the file\n");
	else if (!info->lost_records.v)
		fprintf(stderr, "lost: 0 records\n");
	else
		fprintf(stderr,
			"lost: %" PRId64 " records; a larger ring helps: --ring %" PRId64 "\n",
			info->lost_records.v, info->buffer_kb.v / 1024 * 4);
}

void record_print_summary(const struct recording *rec)
{
	const struct session_info *info = &rec->info;
	u64 ns = (u64)(info->end_ns.v - info->start_ns.v);

	fprintf(stderr, "mmscope record: %" PRIu64 ".%03" PRIu64 " s in %s", ns / 1000000000u,
		ns / 1000000u % 1000u, rec->dir);
	if (info->exit_code.has && info->exit_code.v > 128)
		fprintf(stderr, "; the command was ended by signal %" PRId64,
			info->exit_code.v - 128);
	else if (info->exit_code.has)
		fprintf(stderr, "; the command's exit code: %" PRId64, info->exit_code.v);
	fputc('\n', stderr);
	if (rec->ops == &record_bpf) {
		print_records(info);
	} else {
		print_cpus(info);
		print_loss(info);
		print_not_recorded(rec);
	}
	fprintf(stderr, "  next: mmscope analyze %s\n", rec->dir);
}
