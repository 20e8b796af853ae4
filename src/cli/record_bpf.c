/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/record_bpf.c: `mmscope record --bpf`: what the BPF programs tell into bpf.mmscope (see
 * cmd_record.h). Layer: cli.
 *
 * Once a second the waits that are open are written too and the chunk goes out, so that a recording
 * that is killed, or whose machine hangs, shows who was waiting.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cmd_record.h"

#define SNAPSHOT_NS 1000000000ULL
#define TOTALS_NS 5000000000ULL
#define OPEN_AGE_NS 1000000ULL /* a wait that is open for less is about to end */

/* A bpf_sink. After a failed write (a full disk) the rest is read and dropped: the programs must
 * come off in good order, and the first error is the one to tell. */
static int write_records(void *ctx, const void *records, size_t len)
{
	struct recording *rec = ctx;

	if (!rec->bpf_error.code)
		(void)!bpf_file_add(rec->file, records, len, &rec->bpf_error);
	return 0;
}

static int watch(struct recording *rec, struct error *e)
{
	int code = 0;

	if (rec->target.scope == SCOPE_COMMAND)
		return bpf_capture_watch(rec->capture, rec->target.launch.process.pid, e);
	for (size_t i = 0; !code && i < rec->target.watched.n; i++)
		code = bpf_capture_watch(rec->capture, rec->target.watched.v[i].pid, e);
	return code;
}

static int prepare(struct recording *rec, const struct record_opts *o, struct error *e)
{
	struct bpf_load_opts opts;
	int code = bpf_cli_load_opts(&o->bpf, rec->target.scope != SCOPE_ALL, &opts, e);

	rec->cgroup_fd = opts.cgroup_fd;
	if (!code)
		code = bpf_capture_new(&opts, write_records, rec, &rec->capture, e);
	if (!code)
		code = watch(rec, e);
	if (code)
		return code;
	rec->info.min_wait_ns = (struct session_num){ true, (s64)opts.min_wait_ns };
	rec->info.buffer_kb = (struct session_num){ true, (s64)(opts.ring_bytes / 1024) };
	bpf_cli_warn_rungs(rec->verb, bpf_capture_rungs(rec->capture));
	return 0;
}

static int open_file(struct recording *rec, struct error *e)
{
	char path[PATH_MAX];
	int code;

	snprintf(path, sizeof(path), "%s/" BPF_FILE_NAME, rec->dir);
	code = bpf_file_create(path, &rec->file, e);
	if (!code && session_info_add(&rec->info, &rec->info.files, BPF_FILE_NAME))
		code = error_set(e, -ENOMEM, "out of memory");
	return code ? code : record_describe_bpf(rec, e);
}

static int go(struct recording *rec, struct error *e)
{
	int code = bpf_capture_start(rec->capture, e);

	if (!code && rec->bpf_error.code)
		code = error_set(e, rec->bpf_error.code, "%s", rec->bpf_error.msg);
	rec->snapshot_ns = clock_mono_ns() + SNAPSHOT_NS;
	rec->totals_ns = rec->snapshot_ns;
	return code;
}

static bool step(struct recording *rec)
{
	u64 now_ns = clock_mono_ns();
	bool totals = now_ns >= rec->totals_ns;

	if (!rec->bpf_error.code)
		(void)!bpf_capture_drain(rec->capture, &rec->bpf_error);
	if (!rec->bpf_error.code && now_ns >= rec->snapshot_ns) {
		if (!bpf_capture_snapshot(rec->capture, OPEN_AGE_NS, totals, &rec->bpf_error))
			(void)!bpf_file_flush(rec->file, &rec->bpf_error);
		rec->snapshot_ns = clock_mono_ns() + SNAPSHOT_NS;
		if (totals)
			rec->totals_ns = rec->snapshot_ns + TOTALS_NS - SNAPSHOT_NS;
	}
	return !rec->bpf_error.code;
}

static int no_fd(const struct recording *rec)
{
	(void)rec;
	return -1;
}

static int end(struct recording *rec, struct error *e)
{
	int first = 0, code;

	if (rec->capture && rec->file) {
		first = bpf_capture_stop(rec->capture, e);
		rec->info.end_ns = (struct session_num){ true, (s64)clock_mono_ns() };
		code = record_describe_bpf(rec, e);
		first = first ? first : code;
	}
	if (rec->bpf_error.code && !first)
		first = error_set(e, rec->bpf_error.code, "%s", rec->bpf_error.msg);
	if (rec->file) {
		code = bpf_file_close(rec->file, e);
		first = first ? first : code;
		rec->file = NULL;
	}
	bpf_capture_free(rec->capture);
	rec->capture = NULL;
	if (rec->cgroup_fd >= 0)
		close(rec->cgroup_fd);
	rec->cgroup_fd = -1;
	return first;
}

const struct record_ops record_bpf = {
	.prepare = prepare,
	.open = open_file,
	.go = go,
	.step = step,
	.poll_fd = no_fd,
	.poll_ms = BPF_CAPTURE_DRAIN_MS,
	.end = end,
};
