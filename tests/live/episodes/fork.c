/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork.c: a call that needs mmap_lock while another thread copies a large address space. */
#include "episodes.h"

#define FORK_LEAD_NS 300000 /* until fork has begun to copy: it locks first */

void fork_episode(struct stage *s)
{
	struct actor *forker = &s->sh->actors[ACTOR_FORKER], *third = &s->sh->actors[ACTOR_THIRD];
	struct job fork_job = { .op = OP_FORK }, job;
	bool both;

	if (!third_prepare(s, &job, false)) {
		truth_void(s, "fork", "no fresh page");
		return;
	}
	job.after = forker;
	job.delay_ns = FORK_LEAD_NS + stage_random(s, 3000000);
	forker->begin_ns = 0;
	actor_tell(third, &job);
	sleep_until(now_ns() + 200000);
	actor_tell(forker, &fork_job);
	both = both_wait(forker, third);
	if (!both || forker->result < 0) {
		truth_void(s, "fork", "fork failed");
		return;
	}
	/* the first push after a fork is a write fault, which may find the third thread in its way
	 */
	truth_wait(s, &(struct truth){ .kind = "fork",
				       .waiter = ACTOR_FORKER,
				       .blocker = ACTOR_THIRD,
				       .root = ACTOR_THIRD,
				       .waits_for = WAITS_READ });
	truth_wait(s,
		   &(struct truth){ .kind = "fork",
				    .waiter = ACTOR_THIRD,
				    .blocker = ACTOR_FORKER,
				    .root = ACTOR_FORKER,
				    .waits_for = op_lock(job.op),
				    .until_ns = forker->end_ns,
				    .more_ns = s->after_fork_ns,
				    .blocked = third->begin_ns >= forker->begin_ns + FORK_LEAD_NS &&
					       third->begin_ns < forker->end_ns });
	third_clean_up(s, &job);
}
