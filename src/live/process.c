/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/process.c: see process.h. Layer: live. */
#include "live/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

void live_process_open(struct live_process *p, pid_t pid)
{
	p->pid = pid;
	p->fd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

bool live_process_has_ended(const struct live_process *p)
{
	struct pollfd f = { .fd = p->fd, .events = POLLIN };

	if (p->fd < 0)
		return kill(p->pid, 0) && errno == ESRCH;
	return poll(&f, 1, 0) == 1;
}

void live_process_close(struct live_process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}
