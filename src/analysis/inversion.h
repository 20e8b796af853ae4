/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/inversion.h: Type C, priority inversion, over the pairs of Type A or Type B. Layer:
 * analysis.
 *
 * A pair is an inversion when its waiter is more important (a smaller kernel priority) than the
 * thread it waits for. Priorities may be known only later in the trace (DESIGN: the first
 * sched_switch after the overlap's start that shows the thread as prev), so pairs and slices of
 * time are kept by what they depend on, a small set, and judged at the end.
 */
#ifndef MMSCOPE_ANALYSIS_INVERSION_H
#define MMSCOPE_ANALYSIS_INVERSION_H

#include "base/intern.h"
#include "base/vec.h"
#include "model/task.h"

/* Pairs of one waiter, blocker, place and pair of priorities. */
struct pair_row {
	struct task_id waiter, blocker;
	struct prio_ref waiter_prio, blocker_prio;
	u32 caller, reason; /* intern ids */
	u8 doing;	    /* enum task_state of the blocker at the overlap's start */
	u64 pairs, overlap_ns;
};
/* One pair's time within a waiter's wait. */
struct segment {
	u64 begin_ns, end_ns;
	struct prio_ref waiter_prio, blocker_prio; /* at its begin */
};
struct inversion {
	struct intern row_keys, slice_keys, group_keys; /* bytes of a key -> index + 1 */
	VEC(struct pair_row) rows;
	VEC(u64) slices_ns;	  /* by id of slice_keys: time that depends on just that */
	VEC(u64) groups;	  /* by id of group_keys: the same for waits or windows */
	u64 sure_ns, sure_groups; /* inverted whatever else becomes known */
	u64 refused;
	bool failed; /* out of memory */
};
struct inversion_verdict {
	u64 pairs, score_ns, unknown, late;
	u64 rt_pairs, fair_pairs;
	u64 groups,
		unknown_groups; /* with an inverted pair; without one, but with an unknown one */
};
enum pair_judgement { PAIR_NO_INVERSION, PAIR_INVERTED, PAIR_UNKNOWN };

void inversion_init(struct inversion *v);
void inversion_done(struct inversion *v);
void inversion_add_pair(struct inversion *v, const struct pair_row *row);
/* All segments of one waiter's wait or window (a group); returns the length of their union. */
u64 inversion_add_segments(struct inversion *v, struct segment *s, size_t n);
/* At the end of the trace. */
enum pair_judgement inversion_judge(const struct tasks *t, const struct pair_row *row,
				    bool *ret_late, s32 *ret_waiter_prio, s32 *ret_blocker_prio);
struct inversion_verdict inversion_judge_all(const struct inversion *v, const struct tasks *t);

#endif
