/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/process.h: has a process that is not our child ended? Layer: live. */
#ifndef MMSCOPE_LIVE_PROCESS_H
#define MMSCOPE_LIVE_PROCESS_H

#include <sys/types.h>

#include "base/types.h"

/*
 * By pidfd: a dead process counts as ended although its parent has not reaped it, and a new one
 * with the same pid is not mistaken for it. Kernels before 5.3 have none; there kill() has to do.
 */
struct live_process {
	pid_t pid;
	int fd; /* readable at the end; -1 without pidfd */
};

void live_process_open(struct live_process *p, pid_t pid);
bool live_process_has_ended(const struct live_process *p);
void live_process_close(struct live_process *p);

#endif
