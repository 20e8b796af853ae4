/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_record.h: one recording, shared by the files of its verb. Layer: cli. */
#ifndef MMSCOPE_CLI_CMD_RECORD_H
#define MMSCOPE_CLI_CMD_RECORD_H

#include <limits.h>
#include <unistd.h>

#include "cli/options.h"
#include "live/ftrace_read.h"
#include "live/ftrace_session.h"
#include "live/launch.h"
#include "live/process.h"
#include "session/session_dir.h"

enum record_scope { SCOPE_COMMAND, SCOPE_PIDS, SCOPE_ALL };

struct recording {
	const struct verb *verb;
	enum record_scope scope;
	char dir[PATH_MAX - 64];
	char tracing_dir[PATH_MAX - 256];
	bool dir_ours, dir_made; /* may be cleaned up; was made by us */
	bool interrupted;	 /* a first ^C was left to the command */
	struct launch launch;
	VEC(struct live_process) watched; /* -p */
	struct ftrace_events events;
	size_t n_vendor; /* vendor events that this kernel has */
	struct ftrace_session *ftrace;
	struct ftrace_read *reader;
	struct session_info info;
};

/*
 * Fill ->info, for mmscope.json: at the start the host and the command line, then which events were
 * enabled, at the end what each CPU delivered.
 */
int record_describe(struct recording *rec, const struct opt_u64s *pids, u64 buffer_kb,
		    char **command, struct error *e) MUST_CHECK;
int record_describe_events(struct recording *rec, const bool *enabled, struct error *e) MUST_CHECK;
int record_describe_cpus(struct recording *rec, struct error *e) MUST_CHECK;

/* One line: what is being recorded, where to, how to end it; and what this kernel cannot tell. */
void record_print_start(const struct recording *rec);
/* What was got, what was lost, what to do next. */
void record_print_summary(const struct recording *rec);

#endif
