/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_record.h: one recording, shared by the files of its verb. Layer: cli. */
#ifndef MMSCOPE_CLI_CMD_RECORD_H
#define MMSCOPE_CLI_CMD_RECORD_H

#include <limits.h>
#include <unistd.h>

#include "cli/bpf_options.h"
#include "cli/options.h"
#include "cli/target.h"
#include "live/bpf_file.h"
#include "live/ftrace_read.h"
#include "live/ftrace_session.h"
#include "session/session_dir.h"

struct record_opts {
	const char *dir;
	struct opt_u64s pids;
	bool all, use_bpf;
	u64 duration_ns;
	u64 buffer_kb; /* 0 = not given */
	struct opt_strings events;
	struct bpf_cli bpf;
};
#define RECORD_BUFFER_KB 4096

struct recording;
/*
 * Where the data comes from: ftrace text or BPF records. The steps in their order; each is called
 * only when those before it went well, end() always.
 */
struct record_ops {
	/* Set up, filtered, not started: before the directory is made. */
	int (*prepare)(struct recording *rec, const struct record_opts *o, struct error *e);
	/* ->dir is there: files, and ->info as far as it is known. */
	int (*open)(struct recording *rec, struct error *e);
	/* What is told from now on is recorded. */
	int (*go)(struct recording *rec, struct error *e);
	/* Every poll_ms, or when poll_fd (-1: none) is readable. False: it has failed, end() says
	 * why. */
	bool (*step)(struct recording *rec);
	int (*poll_fd)(const struct recording *rec);
	int poll_ms;
	/* Stops, drains, counts into ->info, frees. The first error is kept; every step is tried.
	 */
	int (*end)(struct recording *rec, struct error *e);
};
extern const struct record_ops record_ftrace, record_bpf;

struct recording {
	const struct verb *verb;
	const struct record_ops *ops;
	struct target target;
	char dir[PATH_MAX - 64];
	bool dir_ours, dir_made; /* may be cleaned up; was made by us */
	struct session_info info;
	/* ftrace */
	char tracing_dir[PATH_MAX - 256];
	struct ftrace_events events;
	size_t n_vendor; /* vendor events that this kernel has */
	struct ftrace_session *ftrace;
	struct ftrace_read *reader;
	/* BPF */
	struct bpf_capture *capture;
	struct bpf_file *file;
	int cgroup_fd;
	u64 snapshot_ns, totals_ns; /* when the next ones are due */
	struct error bpf_error;	    /* the first that writing met; ->code tells */
};

/*
 * Fill ->info, for mmscope.json: at the start the host and the command line, then which events were
 * enabled, at the end what each CPU delivered.
 */
int record_describe(struct recording *rec, const struct record_opts *o, char **command,
		    struct error *e) MUST_CHECK;
int record_describe_events(struct recording *rec, const bool *enabled, struct error *e) MUST_CHECK;
int record_describe_cpus(struct recording *rec, struct error *e) MUST_CHECK;
int record_describe_bpf(struct recording *rec, struct error *e) MUST_CHECK;

/* One line: what is being recorded, where to, how to end it; and what this kernel cannot tell. */
void record_print_start(const struct recording *rec);
/* What was got, what was lost, what to do next. */
void record_print_summary(const struct recording *rec);

#endif
