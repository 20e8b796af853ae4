/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/target.h: what a live command watches: a command it starts, processes, or everything; and
 * when that has ended. Layer: cli; shared by record and locks.
 */
#ifndef MMSCOPE_CLI_TARGET_H
#define MMSCOPE_CLI_TARGET_H

#include "cli/options.h"
#include "live/launch.h"
#include "live/process.h"

enum target_scope { SCOPE_COMMAND, SCOPE_PIDS, SCOPE_ALL };

struct target {
	const struct verb *verb;
	enum target_scope scope;
	struct launch launch;
	VEC(struct live_process) watched; /* -p */
	bool interrupted;		  /* a first ^C was left to the command */
	bool killed;			  /* by a second one */
};
#define TARGET_INIT(v)                           \
	{                                        \
		.verb = v, .launch = LAUNCH_INIT \
	}

/* -p excludes -a and a command; words before "--" are refused. EXIT_DONE, or the usage was wrong.
 */
int target_check_usage(const struct verb *v, const struct opt_u64s *pids, bool all,
		       const struct cli_args *args);
/* Begins to watch them; -ESRCH when one is not there. */
int target_open_pids(struct target *t, const struct opt_u64s *pids, struct error *e) MUST_CHECK;
/* Inside a container the kernel's ids are others than ours: only everything can be watched there.
 */
int target_check_namespace(const struct target *t, struct error *e) MUST_CHECK;
/*
 * Why it is to end now: a value of "ended_by" ("signal", "command", "pids"), or NULL to go on. The
 * first ^C is the command's affair: it may handle it for as long as it likes.
 */
const char *target_ended(struct target *t);
/* The command after our own end: told to end and given a moment. */
void target_outlive(struct target *t, const char *ended_by);
void target_done(struct target *t);

#endif
