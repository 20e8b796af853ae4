/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/record_ftrace.c: `mmscope record` from a private ftrace instance (see cmd_record.h). Layer:
 * cli.
 *
 * The instance is made, filtered and filled with events while tracing is off, then the readers
 * start, then tracing.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd_record.h"
#include "live/tracefs_mount.h"
#include "sys/procfs.h"

#define POLL_MS 100

/* The threads of one process. One that starts meanwhile is found by the next round, or by
 * event-fork. */
static int filter_pid(struct recording *rec, u32 pid, struct error *e)
{
	struct procfs_tids tids;
	size_t before = 0, n = 1;
	int code = 0;

	for (int round = 0; !code && n != before && round < 5; round++) {
		before = round ? n : 0;
		code = procfs_list_tids("", pid, &tids, e);
		if (code)
			return code;
		n = tids.list.n;
		if (n != before)
			code = ftrace_session_add_tids(rec->ftrace, tids.list.v, n, e);
		procfs_tids_done(&tids);
	}
	return code;
}

static int filter_pids(struct recording *rec, struct error *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < rec->target.watched.n; i++)
		code = filter_pid(rec, (u32)rec->target.watched.v[i].pid, e);
	return code;
}

static int set_filters(struct recording *rec, struct error *e)
{
	u32 child = (u32)rec->target.launch.process.pid;

	if (rec->target.scope == SCOPE_COMMAND)
		return ftrace_session_add_tids(rec->ftrace, &child, 1, e);
	if (rec->target.scope == SCOPE_PIDS)
		return filter_pids(rec, e);
	return 0;
}

/* Our own threads, in a recording of everything. */
static int exclude_self(struct recording *rec, struct error *e)
{
	u32 self = (u32)getpid();
	const u32 *tids;
	size_t n;
	int code;

	/* Inside a container our ids are those of other threads of the host. */
	if (rec->target.scope != SCOPE_ALL || !procfs_in_first_pid_ns(""))
		return 0;
	tids = ftrace_read_tids(rec->reader, &n);
	code = ftrace_session_exclude_tids(rec->ftrace, &self, 1, e);
	return code ? code : ftrace_session_exclude_tids(rec->ftrace, tids, n, e);
}

static int make_instance(struct recording *rec, const struct record_opts *o, struct error *e)
{
	struct ftrace_session_opts opts = { .buffer_kb =
						    o->buffer_kb ? o->buffer_kb : RECORD_BUFFER_KB,
					    .follow = rec->target.scope != SCOPE_ALL };
	u32 stale;
	int code;

	code = tracefs_mount_get(rec->tracing_dir, sizeof(rec->tracing_dir), NULL, e);
	if (code)
		return code;
	code = ftrace_session_remove_stale(rec->tracing_dir, &stale, e);
	if (code)
		return code;
	if (stale)
		cli_warn(rec->verb,
			 "removed %u trace instance%s that a killed mmscope had left behind", stale,
			 stale == 1 ? "" : "s");
	code = ftrace_session_new(rec->tracing_dir, &opts, &rec->ftrace, e);
	return code ? code : set_filters(rec, e);
}

static int enable_events(struct recording *rec, struct error *e)
{
	bool *enabled = calloc(rec->events.list.n, sizeof(*enabled));
	int code;

	if (!enabled)
		return error_set(e, -ENOMEM, "out of memory");
	code = ftrace_session_enable(rec->ftrace, &rec->events, enabled, e);
	if (!code)
		code = record_describe_events(rec, enabled, e);
	free(enabled);
	return code;
}

static int prepare(struct recording *rec, const struct record_opts *o, struct error *e)
{
	int code = make_instance(rec, o, e);

	return code ? code : enable_events(rec, e);
}

static int open_files(struct recording *rec, struct error *e)
{
	struct sys_tracefs_cpus cpus;
	int code;

	code = sys_tracefs_list_cpus(ftrace_session_dir(rec->ftrace), &cpus, e);
	if (code)
		return code;
	code = ftrace_read_start(ftrace_session_dir(rec->ftrace), rec->dir, &cpus, &rec->reader, e);
	sys_tracefs_cpus_done(&cpus);
	return code ? code : exclude_self(rec, e);
}

static int go(struct recording *rec, struct error *e)
{
	return ftrace_session_start(rec->ftrace, e);
}

static int failure_fd(const struct recording *rec)
{
	return ftrace_read_failure_fd(rec->reader);
}

static bool step(struct recording *rec)
{
	struct pollfd failed = { .fd = failure_fd(rec), .events = POLLIN };

	return poll(&failed, 1, 0) <= 0;
}

static int end(struct recording *rec, struct error *e)
{
	int first = 0, code;

	if (!rec->ftrace)
		return 0;
	if (rec->reader) {
		first = ftrace_session_stop(rec->ftrace, e);
		rec->info.end_ns = (struct session_num){ true, (s64)clock_mono_ns() };
		code = ftrace_read_finish(rec->reader, e);
		first = first ? first : code;
		code = record_describe_cpus(rec, e);
		first = first ? first : code;
		ftrace_read_free(rec->reader);
		rec->reader = NULL;
	}
	code = ftrace_session_close(rec->ftrace, e);
	rec->ftrace = NULL;
	return first ? first : code;
}

const struct record_ops record_ftrace = {
	.prepare = prepare,
	.open = open_files,
	.go = go,
	.step = step,
	.poll_fd = failure_fd,
	.poll_ms = POLL_MS,
	.end = end,
};
