/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smaps.c: an mmap while another process reads /proc/P/smaps. Each read() there holds P's mmap_lock
 * for reading; the one that shows the large area, for as long as it takes to walk its page tables.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "episodes.h"

#define READ_LEAD_NS 100000

/* The read() that was under way when the third thread came; -1 = none. */
static int read_at(const struct shared *sh, u64 ns)
{
	for (unsigned i = 0; i < sh->reads; i++)
		if (sh->read[i].begin_ns <= ns && ns < sh->read[i].end_ns)
			return (int)i;
	return -1;
}

static void tell(const struct stage *s)
{
	const struct shared *sh = s->sh;
	const struct actor *third = &sh->actors[ACTOR_THIRD];
	int at = read_at(sh, third->begin_ns);

	truth_wait(s, &(struct truth){ .kind = "smaps",
				       .waiter = ACTOR_THIRD,
				       .blocker = ACTOR_READER,
				       .root = ACTOR_READER,
				       .waits_for = WAITS_WRITE,
				       .until_ns = at >= 0 ? sh->read[at].end_ns : 0,
				       .blocked = at >= 0 &&
						  third->begin_ns >=
							  sh->read[at].begin_ns + READ_LEAD_NS });
	/* the reader may have to wait for that mmap in turn */
	for (unsigned i = 0; i < sh->reads; i++)
		if (sh->read[i].end_ns > third->begin_ns && sh->read[i].begin_ns < third->end_ns &&
		    (int)i != at)
			truth_read(s, "smaps", i, ACTOR_THIRD);
}

void smaps_episode(struct stage *s)
{
	struct actor *reader = &s->sh->actors[ACTOR_READER], *third = &s->sh->actors[ACTOR_THIRD];
	struct job job = { .op = OP_MMAP }, read_job = { .op = OP_READ_SMAPS, .fd = s->smaps_fd };
	bool both;

	job.after = reader;
	job.delay_ns = s->longest_read_at_ns + READ_LEAD_NS + stage_random(s, s->longest_read_ns);
	reader->begin_ns = 0;
	actor_tell(third, &job);
	sleep_until(now_ns() + 200000);
	actor_tell(reader, &read_job);
	both = both_wait(reader, third);
	if (!both || reader->result < 0)
		truth_void(s, "smaps", "no smaps");
	else
		tell(s);
	third_clean_up(s, &job);
}
