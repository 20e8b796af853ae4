/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * munmap.c: a call that needs mmap_lock while another thread unmaps a large populated area (which
 * frees the pages with mmap_lock held for reading), or changes its protection (held for writing).
 */
#include <sys/mman.h>

#include "episodes.h"

#define MUNMAP_LEAD_NS 200000

static void play(struct stage *s, const char *kind, struct job *change)
{
	struct actor *writer = &s->sh->actors[ACTOR_WRITER], *third = &s->sh->actors[ACTOR_THIRD];
	const struct job again = { .op = OP_MAP_AT,
				   .at = s->area,
				   .bytes = s->area_bytes,
				   .prot = PROT_READ | PROT_WRITE,
				   .populate = true };
	struct job job;
	bool both;

	/* a reader has nothing to wait for once munmap has downgraded its lock */
	if (!third_prepare(s, &job, change->op == OP_MUNMAP)) {
		truth_void(s, kind, "no fresh page");
		return;
	}
	job.after = writer;
	job.delay_ns = MUNMAP_LEAD_NS + stage_random(s, 1000000);
	writer->begin_ns = 0;
	actor_tell(third, &job);
	sleep_until(now_ns() + 200000);
	actor_tell(writer, change);
	both = both_wait(writer, third);
	if (!both || writer->result < 0) {
		truth_void(s, kind, "the call failed");
		return;
	}
	truth_call(s, kind, ACTOR_WRITER);
	truth_wait(s, &(struct truth){ .kind = kind,
				       .waiter = ACTOR_THIRD,
				       .blocker = ACTOR_WRITER,
				       .root = ACTOR_WRITER,
				       .waits_for = op_lock(job.op),
				       .until_ns = writer->end_ns,
				       .blocked = third->begin_ns >=
							  writer->begin_ns + MUNMAP_LEAD_NS &&
						  third->begin_ns < writer->end_ns });
	third_clean_up(s, &job);
	if (change->op == OP_MUNMAP) {
		actor_do(writer, &again);
		s->area_prot = again.prot;
	}
}

void munmap_episode(struct stage *s)
{
	struct job job = { .op = OP_MUNMAP, .at = s->area, .bytes = s->area_bytes };

	play(s, "munmap", &job);
}

void protect_episode(struct stage *s)
{
	struct job job = { .op = OP_MPROTECT,
			   .at = s->area,
			   .bytes = s->area_bytes,
			   .prot = prot_flip(&s->area_prot) };

	play(s, "mprotect", &job);
}
