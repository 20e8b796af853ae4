/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/launch.h: a command that is forked now and runs when the gate opens, so that the recorder
 * can set its filters on the command's pid before the first instruction of it. Layer: live.
 *
 *	struct launch l = LAUNCH_INIT;
 *	launch_prepare(&l, argv, e);	forks; the child waits. Before threads, handlers, unshare()
 *	launch_go(&l, e);		opens the gate; -ENOENT etc. when it cannot be run
 *	launch_poll(&l);		has it ended?
 *	launch_done(&l);		ends a child at the gate; leaves a running command alone
 *
 * The command keeps terminal, stdin, working directory, mount namespace and signal settings of
 * mmscope.
 */
#ifndef MMSCOPE_LIVE_LAUNCH_H
#define MMSCOPE_LIVE_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"
#include "base/types.h"
#include "live/process.h"

struct launch {
	struct live_process process; /* pid 0: nothing forked */
	int gate_fd;		     /* closed without a byte written: the child gives up */
	int status_fd; /* the child's errno when exec fails; end of file when it works */
	bool running;  /* exec worked and the end was not seen yet */
	bool ended;
	int exit_code; /* once ended: 0..255, 128 + n for signal n */
};
#define LAUNCH_INIT                                                     \
	{                                                               \
		.process = { .fd = -1 }, .gate_fd = -1, .status_fd = -1 \
	}

int launch_prepare(struct launch *l, char *const argv[], struct error *e) MUST_CHECK;
int launch_go(struct launch *l, struct error *e) MUST_CHECK;
/* Looks without waiting; true once the command has ended (->exit_code is set). */
bool launch_poll(struct launch *l);
/* Waits up to @timeout_ms for the end. True when it has ended. */
bool launch_wait(struct launch *l, int timeout_ms);
void launch_signal(const struct launch *l, int sig);
/* Whether ^C reaches the command as well: both are in the terminal's foreground group. */
bool launch_shares_terminal(void);
void launch_done(struct launch *l);

#endif
