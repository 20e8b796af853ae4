/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cold.c: a fault that reads a page of a file from its (slowed) device. The first try lets go of
 * the VMA's lock before it sleeps, so an mprotect of the same VMA in the meantime waits for
 * nothing.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "episodes.h"

#define RETRY_NS 1000000 /* of a retry of a fault, until its thread goes on */

/*
 * Once its page is there, the fault tries again, with mmap_lock held for reading. When that meets
 * the mprotect, either may shortly wait for the other; otherwise nobody waits for a lock.
 */
static void tell(const struct stage *s)
{
	const struct actor *fault = &s->sh->actors[ACTOR_FAULTER];
	const struct actor *writer = &s->sh->actors[ACTOR_WRITER];
	struct truth t = { .kind = "cold",
			   .waiter = ACTOR_FAULTER,
			   .blocker = ACTOR_WRITER,
			   .root = ACTOR_WRITER,
			   .waits_for = WAITS_READ };

	if (fault->end_ns + RETRY_NS < writer->begin_ns ||
	    writer->end_ns + RETRY_NS < fault->end_ns) {
		truth_call(s, "cold", ACTOR_FAULTER);
		truth_call(s, "cold", ACTOR_WRITER);
		return;
	}
	truth_wait(s, &t);
	t = (struct truth){ .kind = "cold",
			    .waiter = ACTOR_WRITER,
			    .blocker = ACTOR_FAULTER,
			    .root = ACTOR_FAULTER,
			    .waits_for = WAITS_WRITE };
	truth_wait(s, &t);
}

void cold_episode(struct stage *s)
{
	struct actor *fault = &s->sh->actors[ACTOR_FAULTER], *writer = &s->sh->actors[ACTOR_WRITER];
	const size_t bytes = (size_t)COLD_PAGES * PAGE_BYTES;
	struct job drop = { .op = OP_DROP, .at = s->cold, .bytes = bytes };
	struct job look = { .op = OP_LOOK,
			    .at = s->cold + stage_random(s, COLD_PAGES) * PAGE_BYTES };
	struct job change = {
		.op = OP_MPROTECT, .at = s->cold, .bytes = bytes, .prot = prot_flip(&s->cold_prot)
	};
	bool both;

	/* only pages that nobody maps can be dropped from the page cache */
	actor_do(fault, &drop);
	if (posix_fadvise(s->cold_fd, 0, 0, POSIX_FADV_DONTNEED)) {
		truth_void(s, "cold", "fadvise failed");
		return;
	}
	if (!s->sh->throttle[0]) {
		change.after = fault;
		change.delay_ns = stage_random(s, 200000);
	}
	actor_tell(fault, &look);
	if (s->sh->throttle[0])
		actor_seen(fault, 'D', 5); /* the first reads in a while are fast all the same */
	actor_tell(writer, &change);
	both = both_wait(fault, writer);
	if (!both || writer->result) {
		truth_void(s, "cold", "a call failed");
		return;
	}
	tell(s);
}
