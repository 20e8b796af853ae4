/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/pair_internal.h: what pair.c and its parts (pair_fault.c, pair_vma.c, pair_lock.c) share.
 */
#ifndef MMSCOPE_MODEL_PAIR_INTERNAL_H
#define MMSCOPE_MODEL_PAIR_INTERNAL_H

#include "base/arena.h"
#include "model/pair.h"

#define PAIR_MAX_LISTENERS 16

struct pair {
	struct tasks *tasks;
	struct gaps *gaps;
	struct origins *origins;
	const struct intern *strings;
	const struct stacks *stacks;
	struct pair_seen seen;
	const struct pair_listener *listeners;
	u32 n_listeners;
	/* who wants to hear of an interval of each kind, as indices of listeners[] */
	u8 openers[IV_KINDS][PAIR_MAX_LISTENERS], n_openers[IV_KINDS];
	u8 closers[IV_KINDS][PAIR_MAX_LISTENERS], n_closers[IV_KINDS];
	bool any_advance;
	struct pair_counts counts;
	struct arena arena; /* of intervals, reused through free_intervals */
	struct interval *free_intervals;
	u32 n_open;
	/* the event at hand */
	const struct event *ev;
	u64 place;
	struct task_id task_id;
	struct task *task;
	struct mm_id mm;
	u64 now_ns;
	bool restart; /* the event at hand shows that another family counts */
	bool used_stock_locks, used_lock_blocked, used_v2, used_vma_blocked;
};

/* A new interval of the task and time at hand, not yet told to listeners; NULL when refused. */
struct interval *pair_make(struct pair *p, enum interval_kind kind);
int pair_tell_open(struct pair *p, struct interval *iv) MUST_CHECK;
/* Ends it at @end_ns, tells the listeners, and gives it back. *slot is cleared first. */
int pair_close(struct pair *p, struct interval **slot, u64 end_ns, u8 flags) MUST_CHECK;
/* An end whose begin was not seen: an interval open at its begin. */
int pair_close_unbegun(struct pair *p, enum interval_kind kind, enum lock_mode mode) MUST_CHECK;
/* What the task at hand is doing, for an event that may name a caller. */
enum origin pair_origin(struct pair *p, u32 caller, enum lock_mode mode);

/*
 * The end of a wait prints its mm and vma as well: true when they are not those its begin printed.
 * What the begin did not print comes from the end first, and only then from the wait's fault or
 * write.
 */
bool pair_wait_ends_differ(const struct pair *p, struct interval *wait, u64 end_vma);

int pair_fault_event(struct pair *p) MUST_CHECK;
int pair_vma_event(struct pair *p) MUST_CHECK;
int pair_lock_event(struct pair *p) MUST_CHECK;
/* Closes the task's Type B windows on @mm, or all when @mm is 0. */
int pair_close_retries(struct pair *p, struct task *task, struct mm_id mm, u8 flags) MUST_CHECK;
/* A read wait of the thread at hand begins, or ends whole or as a failed try: is it a window's own?
 */
void pair_retry_wait_begins(struct pair *p, const struct interval *wait);
void pair_retry_wait_ends(struct pair *p, const struct interval *wait, u64 end_ns, bool failed);
/* Everything the task has open ends here as open-ended. */
int pair_close_task(struct pair *p, struct task *task, u64 end_ns, u8 flags) MUST_CHECK;

#endif
