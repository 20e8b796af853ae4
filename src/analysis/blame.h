/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/blame.h: a wait and what was in its way, shared by the parts of blame. Layer: analysis.
 *
 *	blame.c		listens: which holds, faults and queued writers overlap which wait
 *	blame_wait.c	cuts a wait into slices and says who is to blame for each
 *	blame_rows.c	sums by thread, by origin and by stack
 *	chain.c		what the blockers themselves waited for, down to the root (chain.h)
 *	chain_rows.c	the tables of chains and roots
 */
#ifndef MMSCOPE_ANALYSIS_BLAME_H
#define MMSCOPE_ANALYSIS_BLAME_H

#include "analysis/analysis.h"
#include "analysis/join.h"

enum because {
#define BECAUSE(ID, name, phrase, doc) BECAUSE_##ID,
#include "analysis/because.def"
#undef BECAUSE
	BECAUSES
};
enum blame_lock { BLAME_MMAP_LOCK, BLAME_VMA, BLAME_LOCKS };

/* What was in a wait's way for a time; a thread, and why. */
struct blame_segment {
	u64 begin_ns, end_ns;	  /* within the wait */
	u64 full_begin_ns, place; /* who queued first */
	u32 task, tid, stack;	  /* ids of task and kernel stack, 0 = none */
	u32 reason; /* intern id of what a fault waited for, 0 = nothing, or not known */
	u8 because, origin;
};

enum blame_list { LIST_UNSETTLED, LIST_UNRESOLVED, LIST_PENDING, LIST_KEPT, BLAME_LISTS };
struct blame_link {
	struct blame_wait *prev, *next;
};
struct blame_wait {
	u64 begin_ns, end_ns, begin_place;
	u64 number; /* of its end among all ends of waits */
	struct task_id task;
	u32 stack;
	u32 owner, owner_tid,
		owner_stack; /* the writer that had the lock when it slept; task 0 = none */
	u8 lock, mode, origin;
	bool charged;	/* its time is asked for; else it only explains others */
	bool has_waker; /* segments[0] is of the VMA's reader that let go last */
	bool named;	/* from a *_blocked event, which names the blocker: a chain ends there */
	/* of a VMA's lock */
	bool has_vma, has_range, homeless; /* homeless: its mm is not known yet */
	u64 vma, vm_start, vm_end;
	VEC(struct blame_segment) segments;
	u64 granted_ns; /* a reader that had the lock from here and did not run yet; 0 = not told */
	u64 first_hold_ns, last_hold_ns; /* begin of the first, end of the last hold; 0 = none */
	struct join_node *node;
	/* chain.c */
	struct blame_link links[BLAME_LISTS];
	bool linked[BLAME_LISTS];
	struct blame_wait *next_of_task; /* of the thread's unsettled ones; or free */
};

/* Who is to blame for a slice: threads that share it, or one with task 0 for wake-up, unknown. */
struct blame_slice {
	u64 begin_ns, end_ns;
	const struct blame_segment *const *blockers; /* by tid */
	size_t n;
};

const char *because_name(enum because why);
const char *because_phrase(enum because why);
const char *blame_lock_name(enum blame_lock lock);
const char *blame_mode_name(enum lock_mode mode);

/* Waits come and go by the million: their memory is used again. */
struct blame_pool {
	struct blame_wait *free;
};
struct blame_wait *blame_wait_new(struct blame_pool *pool);
void blame_wait_free(struct blame_pool *pool, struct blame_wait *w);
void blame_pool_done(struct blame_pool *pool);
/* All segments are known: first_hold_ns and last_hold_ns. */
void blame_wait_complete(struct blame_wait *w);
/*
 * The slices of [from_ns, to_ns) of the wait, in order: cut at each begin and end of a segment, so
 * that a segment covers a slice or does not touch it. 0, a negative errno, or what @on_slice
 * returned.
 */
int blame_slices(const struct blame_wait *w, u64 from_ns, u64 to_ns,
		 int (*on_slice)(void *ctx, const struct blame_slice *s), void *ctx) MUST_CHECK;
void blame_sort_times(u64 *v, size_t n);
/* The i-th of @n equal shares; odd ns go to the first. */
static inline u64 blame_share(u64 ns, size_t n, size_t i)
{
	return ns / n + (i < ns % n);
}

/* --- blame_rows.c --- */

struct blame_rows;
struct blame_rows *blame_rows_new(struct analysis_ctx *ctx);
void blame_rows_free(struct blame_rows *b);
/* Charges the whole wait; each call is one wait. */
int blame_rows_add(struct blame_rows *b, const struct blame_wait *w) MUST_CHECK;
int blame_rows_finish(struct blame_rows *b, struct result *r, bool covered) MUST_CHECK;

#endif
