/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/record_describe.c: what a recording says about itself in mmscope.json. Layer: cli. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cmd_record.h"
#include "sys/procfs.h"

#define ARGS_MAX 256

/* Our own command line, as the kernel keeps it: words that end in NUL. */
static int add_own_args(struct session_info *info)
{
	size_t len, n = 0;
	char *words;
	int code = procfs_read_own_cmdline("", &words, &len, NULL);

	if (code)
		return code;
	for (char *w = words; !code && w < words + len && n++ < ARGS_MAX; w += strlen(w) + 1)
		code = session_info_add(info, &info->command, w);
	free(words);
	return code;
}

static int set_workload(struct session_info *info, char **argv)
{
	char text[SESSION_MAX_STRING];
	size_t n = 0;

	text[0] = '\0';
	for (int i = 0; argv[i] && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", argv[i]);
	return session_info_set(info, &info->workload, text);
}

static int describe_host(struct recording *rec, struct error *e)
{
	struct session_info *info = &rec->info;
	int no_retry = procfs_filemap_fault_no_retry("");
	char release[256] = "unknown", machine[128], when[64];
	time_t now = time(NULL);
	struct tm tm;
	u32 cpus;
	int code;

	code = procfs_read_release("", release, sizeof(release), e);
	if (code)
		return code;
	procfs_read_machine(machine, sizeof(machine));
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (no_retry >= 0)
		info->filemap_fault_no_retry = (struct session_num){ true, no_retry };
	if (!procfs_count_cpus("", &cpus, NULL))
		info->cpus = (struct session_num){ true, cpus };
	info->format_version = (struct session_num){ true, SESSION_FORMAT_VERSION };
	info->clock = FTRACE_CLOCK;
	info->tool = "mmscope " MMSCOPE_VERSION;
	if (session_info_set(info, &info->kernel, release) ||
	    session_info_set(info, &info->machine, machine) ||
	    session_info_set(info, &info->start_realtime, when))
		return error_set(e, -ENOMEM, "out of memory");
	return 0;
}

int record_describe(struct recording *rec, const struct record_opts *o, char **command,
		    struct error *e)
{
	static const char *const scopes[] = { "command", "pids", "all" };
	struct session_info *info = &rec->info;
	int code;

	info->scope = scopes[rec->target.scope];
	info->source = o->use_bpf ? "bpf" : "ftrace";
	if (!o->use_bpf)
		info->buffer_kb = (struct session_num){
			true, (s64)(o->buffer_kb ? o->buffer_kb : RECORD_BUFFER_KB)
		};
	code = describe_host(rec, e);
	for (size_t i = 0; !code && i < o->pids.list.n; i++) {
		s64 *slot = vec_push(&info->pids.list);

		if (slot)
			*slot = (s64)o->pids.list.v[i];
		else
			code = error_set(e, -ENOMEM, "out of memory");
	}
	if (code)
		return code;
	code = add_own_args(info);
	if (!code && command)
		code = set_workload(info, command);
	return code ? error_set(e, code, "cannot note the command line: %s", strerror(-code)) : 0;
}

int record_describe_events(struct recording *rec, const bool *enabled, struct error *e)
{
	for (size_t i = 0; i < rec->events.list.n; i++) {
		const struct ftrace_event *ev = &rec->events.list.v[i];
		struct session_strings *to =
			enabled[i] ? &rec->info.events : &rec->info.missing_events;
		char name[sizeof(ev->system) + sizeof(ev->name) + 2];

		snprintf(name, sizeof(name), "%s:%s", ev->system, ev->name);
		if (session_info_add(&rec->info, to, name))
			return error_set(e, -ENOMEM, "out of memory");
		rec->n_vendor += enabled[i] && ev->origin == ORIGIN_VENDOR_EVENT;
	}
	return 0;
}

/* Counts of one CPU for mmscope.json: what was read, and what the kernel says was lost. */
static int count_cpu(struct recording *rec, const struct ftrace_read_cpu *c, struct error *e)
{
	struct sys_tracefs_stats st;
	struct session_cpu *cpu;
	int code = sys_tracefs_read_stats(ftrace_session_dir(rec->ftrace), c->cpu, &st, e);

	if (code)
		return code;
	if (c->file[0] && session_info_add(&rec->info, &rec->info.files, c->file))
		return error_set(e, -ENOMEM, "out of memory");
	/* CPUs that are possible but were never there have nothing to say. */
	if (!c->file[0] && !st.overrun && !st.dropped && !st.entries && !st.commit_overrun)
		return 0;
	cpu = vec_push(&rec->info.per_cpu.list);
	if (!cpu)
		return error_set(e, -ENOMEM, "out of memory");
	*cpu = (struct session_cpu){
		.cpu = c->cpu,
		.bytes = (s64)c->bytes,
		.read_events = (s64)st.read_events,
		.overrun = (s64)st.overrun,
		.commit_overrun = (s64)st.commit_overrun,
		.dropped = (s64)st.dropped,
		.lost_marks = (s64)c->lost_marks,
		.lost_events = (s64)c->lost_events,
		.lost_unknown = (s64)c->lost_unknown,
		.unread = (s64)st.entries,
	};
	return 0;
}

int record_describe_cpus(struct recording *rec, struct error *e)
{
	const struct ftrace_read_cpu *cpus;
	int code = 0;
	size_t n;

	cpus = ftrace_read_cpus(rec->reader, &n);
	for (size_t i = 0; !code && i < n; i++)
		code = count_cpu(rec, &cpus[i], e);
	return code;
}

int record_describe_bpf(struct recording *rec, struct error *e)
{
	const struct bpf_rungs *rungs = bpf_capture_rungs(rec->capture);
	const struct bpf_capture_counts *c = bpf_capture_counts(rec->capture);
	char text[256];

	rec->info.records = (struct session_num){ true, (s64)c->records };
	rec->info.record_bytes = (struct session_num){ true, (s64)c->bytes };
	rec->info.lost_records = (struct session_num){ true, (s64)c->lost };
	for (size_t i = rec->info.rungs.list.n; i < rungs->list.n; i++) {
		(void)!bpf_cli_describe_rung(&rungs->list.v[i], text, sizeof(text));
		if (session_info_add(&rec->info, &rec->info.rungs, text))
			return error_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}
