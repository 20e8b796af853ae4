/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/join.h: which intervals of two kinds overlap, within one address space, as they come.
 * Layer: analysis.
 *
 * Two sides (say, fault waits and writer waits). A pair is told when the later of its two ends is
 * known; a closed node is retired, and its memory returned, as soon as no open node of the other
 * side began before its end, since nothing can overlap it then. Memory follows open intervals.
 */
#ifndef MMSCOPE_ANALYSIS_JOIN_H
#define MMSCOPE_ANALYSIS_JOIN_H

#include "base/vec.h"
#include "model/ids.h"

enum join_side { JOIN_LEFT, JOIN_RIGHT };
/* Closed nodes kept for intervals that may still overlap them; past it the oldest are retired
 * early. */
#define JOIN_MAX_CLOSED (1u << 16)

struct join_node {
	u64 begin_ns, end_ns;
	struct join_node *next, *prev;
	void *owner;
	u64 place; /* for the owner: begin's place in the order */
	u32 mm;
	u32 task; /* for the owner */
	u8 side;
	bool closed;
	u8 what, origin; /* for the owner */
	u32 stack;
};
struct join_list {
	struct join_node *first, *last;
};
struct join_mm {
	struct join_list open[2], closed[2]; /* open: by begin; closed: by end */
};
struct join {
	VEC(struct join_mm) mms; /* by mm id */
	struct join_node *free_nodes;
	u32 n_closed, max_closed;
	VEC(u64) homeless[2]; /* begins of open intervals whose mm is not known yet, by side */
	u64 retired_early;
	/* The pair overlaps (DESIGN section 5). left and right are closed. */
	int (*pair)(void *ctx, struct join_node *left, struct join_node *right);
	/* No further pair of this node will come; it is freed after the call. */
	int (*retire)(void *ctx, struct join_node *node);
	void *ctx;
};

void join_init(struct join *j, int (*pair)(void *, struct join_node *, struct join_node *),
	       int (*retire)(void *, struct join_node *), void *ctx);
void join_done(struct join *j);
/* Retires everything, open nodes too (they pair with nothing): at the end, or when the trace is run
 * again. */
int join_drain(struct join *j);
/* NULL when out of memory. @mm 0 joins nothing and is not allowed. */
struct join_node *join_open(struct join *j, enum join_side side, struct mm_id mm, u64 begin_ns,
			    void *owner);
/*
 * An interval began whose mm is not known yet: until join_unhold() closed nodes of every mm that it
 * may overlap are kept. False when there are too many (counted as retired_early).
 */
bool join_hold(struct join *j, enum join_side side, u64 begin_ns);
void join_unhold(struct join *j, enum join_side side, u64 begin_ns);
/* The interval is whole: pairs are told now. */
int join_close(struct join *j, struct join_node *n, u64 end_ns) MUST_CHECK;
/* The interval pairs with nothing (open-ended, loss inside): retire() is told at once. */
int join_drop(struct join *j, struct join_node *n) MUST_CHECK;

#endif
