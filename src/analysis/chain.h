/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/chain.h: from a wait's blockers to what they waited for themselves, down to the root.
 * Layer: analysis.
 *
 * A slice of a wait is charged to a thread. For the parts of it in which that thread itself waited,
 * its own wait's slices say who was behind it, and so on. A wait can be followed once nothing that
 * began before its end is open any more, and what is settled is kept for as long as a wait that
 * began before its end has not been followed: memory follows what is open.
 */
#ifndef MMSCOPE_ANALYSIS_CHAIN_H
#define MMSCOPE_ANALYSIS_CHAIN_H

#include "analysis/blame.h"
#include "analysis/inversion.h"

#define CHAIN_MAX_HOPS 8
/* Why a chain ends behind its last thread. */
enum chain_end {
	CHAIN_ROOT,    /* that thread did not wait for a lock */
	CHAIN_WAKE_UP, /* it waited, and its last blocker had let go */
	CHAIN_UNKNOWN, /* it waited, and no event tells for whom */
	CHAIN_CYCLE,   /* it waited for a thread that stands before it */
	CHAIN_CUT,     /* it waited, past CHAIN_MAX_HOPS, or past a limit of work */
	CHAIN_ENDS
};

struct chain_hop {
	u32 task, reason;
	u8 because, origin;
	u8 pad[2];
};
/* Time of one waiter that took the same way. */
struct chain_row {
	u32 waiter;
	u8 lock, mode, end, n_hops;
	u64 ns, waits;
	u64 state_ns[TASK_BLOCKED + 1]; /* by what the root did at the time */
	u64 last_wait;			/* number of the wait that was counted last */
	u64 inverted_ns, judged_ns;	/* chains_finish(): of ns */
	struct pair_row newest;		/* not in the inversions yet: priorities change rarely */
	struct chain_hop hops[CHAIN_MAX_HOPS];
};
/* A thread's settled waits, by begin. */
struct chain_ref {
	u64 begin_ns, reach_ns;	 /* latest end of this and all before it */
	struct blame_wait *wait; /* NULL = not kept any more */
};
struct chain_task {
	VEC(struct chain_ref) refs;
	size_t first;		      /* those before it are all NULL */
	struct blame_wait *unsettled; /* list through next_of_task */
	u64 forgotten_until_ns;	      /* a limit made its waits before that time be forgotten */
};
struct blame_wait_list {
	struct blame_wait *first, *last;
};
struct chains {
	struct analysis_ctx *ctx;
	struct blame_pool *pool;
	struct blame_wait_list lists[BLAME_LISTS];
	u32 n_kept, max_kept;
	u64 kept_segments;
	VEC(struct chain_task) tasks; /* by task id */
	/* rows: distinct ways */
	struct intern keys;
	VEC(struct chain_row) rows; /* by id of keys - 1 */
	struct inversion inversion; /* a pair's ->caller is the id of its row */
	u64 n_waits, refused;
	/* the wait that is being followed */
	const struct blame_wait *top;
	struct chain_hop path[CHAIN_MAX_HOPS];
	u32 steps;
	bool failed; /* out of memory */
};

void chains_init(struct chains *c, struct analysis_ctx *ctx, struct blame_pool *pool);
void chains_done(struct chains *c);
/* A wait has begun: until it is settled or dropped, what ended after its begin is kept. */
int chains_open(struct chains *c, struct blame_wait *w) MUST_CHECK;
/* It explains nothing (uncontended, not seen whole); it is freed. */
int chains_drop(struct chains *c, struct blame_wait *w) MUST_CHECK;
/* Its segments are complete: it is followed when its time has come. chains_open() need not have
 * been called; it belongs to the chains from here. */
int chains_settle(struct chains *c, struct blame_wait *w) MUST_CHECK;
/* Nothing will settle any more: follows what is left, and the rows are complete. */
int chains_drain(struct chains *c) MUST_CHECK;

/* chain_rows.c: after chains_drain(). */
int chains_finish(struct chains *c, struct result *r, bool covered) MUST_CHECK;

#endif
