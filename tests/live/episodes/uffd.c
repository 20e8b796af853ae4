/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uffd.c: a fault that waits for a userfaultfd handler. It lets go of its VMA's lock before it
 * sleeps, so an mprotect of the same VMA in the meantime waits for nothing.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "episodes.h"

void uffd_episode(struct stage *s)
{
	struct actor *fault = &s->sh->actors[ACTOR_FAULTER], *writer = &s->sh->actors[ACTOR_WRITER];
	char *page = s->uffd_area + s->episodes % UFFD_PAGES * PAGE_BYTES;
	struct job drop = { .op = OP_DROP, .at = page, .bytes = PAGE_BYTES };
	struct job touch = { .op = OP_TOUCH, .at = page };
	struct job change = { .op = OP_MPROTECT,
			      .at = s->uffd_area,
			      .bytes = UFFD_PAGES * PAGE_BYTES,
			      .prot = prot_flip(&s->uffd_prot) };
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE_BYTES } };
	struct pollfd p = { .fd = s->uffd, .events = POLLIN };
	u64 length_ns = stage_length_ns(s);
	struct uffd_msg msg;
	bool writer_done;

	actor_do(fault, &drop);
	actor_tell(fault, &touch);
	if (poll(&p, 1, LIMIT_MS) != 1 || read(s->uffd, &msg, sizeof(msg)) != sizeof(msg)) {
		truth_void(s, "uffd", "no message");
		_exit(99); /* the thread is stuck for good */
	}
	sleep_until(now_ns() + length_ns / 2);
	writer_done = actor_do(writer, &change);
	sleep_until(now_ns() + length_ns / 2);
	if (ioctl(s->uffd, UFFDIO_ZEROPAGE, &zero) || !actor_wait(fault, LIMIT_MS))
		_exit(99);
	if (!writer_done || writer->result) {
		truth_void(s, "uffd", "mprotect waited for the fault");
		return;
	}
	truth_call(s, "uffd", ACTOR_FAULTER);
	truth_call(s, "uffd", ACTOR_WRITER);
}
