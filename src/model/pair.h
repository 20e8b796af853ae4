/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/pair.h: the ONE place that pairs begin and end (DESIGN section 4). Layer: model.
 *
 * Events go in, in order; intervals come out to listeners as they open and close. Which family of
 * events counts is a fact of the whole trace: pair starts from what is known (struct pair_seen),
 * and when a later event proves that wrong it returns PAIR_RESTART: the caller runs the trace again
 * with the better knowledge. In practice that happens in the first milliseconds of a trace, or
 * never.
 */
#ifndef MMSCOPE_MODEL_PAIR_H
#define MMSCOPE_MODEL_PAIR_H

#include "base/error.h"
#include "model/gaps.h"
#include "model/interval.h"
#include "model/task.h"

#define PAIR_RESTART 1
/* More open intervals than this are refused and counted. */
#define PAIR_MAX_OPEN (1u << 20)

/* Event families that occur in the trace. Only ever turns on. */
struct pair_seen {
	bool stock_locks, vendor_waits, vendor_holds, lock_blocked;
	bool vma_begin, vma_begin_v2, vma_waits, vma_done, vma_blocked;
	bool faults, fault_waits, fault_ends; /* ends: filemap_fault_end or _retry */
	bool sched_switch, stacks, calls, page_faults;
	bool prios;  /* priorities are told, by sched_switch or by the events themselves */
	bool states; /* what a thread does is told, in one of the same ways */
	bool bpf;    /* the events are made from BPF records: only what slept or waited is told */
};
static inline bool pair_vendor_locks(const struct pair_seen *s)
{
	return s->vendor_waits || s->vendor_holds;
}
static inline bool pair_any_locks(const struct pair_seen *s)
{
	return s->stock_locks || pair_vendor_locks(s) || s->lock_blocked;
}
static inline bool pair_any_vma(const struct pair_seen *s)
{
	return s->vma_begin || s->vma_begin_v2 || s->vma_waits || s->vma_done || s->vma_blocked;
}
/* *_blocked events make intervals only where the trace has no wait pairs of that lock. */
static inline bool pair_lock_blocked_counts(const struct pair_seen *s)
{
	return !s->vendor_waits && (!s->stock_locks || s->vendor_holds);
}

struct pair;
struct pair_listener {
	void *ctx;
	u32 kinds; /* bit 1 << enum interval_kind for each kind it wants to hear of; 0 = all */
	/* An interval whose begin was seen. It stays at its address until its close() has returned.
	 */
	int (*open)(void *ctx, struct interval *iv);
	/* Its end: normal, forced (IVF_OPEN_END), or of one whose open() never came
	 * (IVF_OPEN_BEGIN, IVF_BLOCKED). */
	int (*close)(void *ctx, struct interval *iv);
	/* A fault asked for a retry, or ended with VM_FAULT_RETRY: fault->retried is set. */
	int (*retry)(void *ctx, struct interval *fault);
	/* Time is now @now_ns: nothing before it will come. */
	int (*advance)(void *ctx, u64 now_ns);
};

struct pair_counts {
	u64 faults, fault_retries; /* whose begin was seen */
	u64 vma_writes;
	u64 downgrades;
	u64 failed_tries[2], failed_tries_ns[2]; /* by lock_mode */
	u64 blocked_cross_checks;		 /* *_blocked events beside wait pairs */
	u64 refused_intervals;
	u64 events;
};

/* @tasks, @gaps and @origins outlive the pair. NULL when out of memory. */
struct pair *pair_new(struct tasks *tasks, struct gaps *gaps, struct origins *origins,
		      const struct intern *strings, const struct stacks *stacks,
		      const struct pair_seen *known, const struct pair_listener *listeners,
		      u32 n_listeners);
void pair_free(struct pair *p);
/* 0, PAIR_RESTART, a negative errno, or a listener's non-zero. */
int pair_event(struct pair *p, const struct event *ev, u64 place) MUST_CHECK;
/* The end of the trace: what is still open is closed as open-ended (IVF_AT_END). */
int pair_finish(struct pair *p, u64 end_ns) MUST_CHECK;
const struct pair_seen *pair_seen(const struct pair *p);
const struct pair_counts *pair_counts(const struct pair *p);

#endif
