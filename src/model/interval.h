/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/interval.h: something that lasts: a wait, a hold, a fault, a VMA write. Layer: model.
 * Only pair.c and its parts (pair_*.c) make intervals.
 */
#ifndef MMSCOPE_MODEL_INTERVAL_H
#define MMSCOPE_MODEL_INTERVAL_H

#include "model/ids.h"
#include "model/origin.h"

enum interval_kind {
	IV_FAULT,      /* filemap_fault_begin .. _end */
	IV_FAULT_WAIT, /* filemap_fault_wait_start .. _wait_end */
	IV_VMA_WRITE,  /* vma_start_write_begin .. _done */
	IV_VMA_WAIT,   /* vma_start_write_wait_start .. _wait_end */
	IV_LOCK_WAIT,  /* mmap_lock, either family */
	IV_LOCK_HOLD,
	IV_RETRY, /* Type B's window: from a fault's retry until the thread has mmap_lock again */
	IV_KINDS
};
enum interval_flags {
	IVF_OPEN_BEGIN = 1 << 0, /* its begin was not seen */
	IVF_OPEN_END = 1 << 1,	 /* its end was not seen, or belongs to something else */
	IVF_LOSS = 1 << 2,	 /* a gap of lost events touches it */
	IVF_AT_END = 1 << 3,	 /* still open when the trace ended */
	IVF_BLOCKED = 1 << 4,	 /* made from a *_blocked event: begin = end - wait_ns */
	IVF_DOWNGRADED = 1 << 5, /* a read hold that began as a downgrade */
	IVF_FAILED_TRY = 1 << 6	 /* success=false: it was no wait; counted apart */
};
enum lock_mode { MODE_READ, MODE_WRITE, MODE_UNKNOWN };

#define INTERVAL_NOTES 5 /* one per analysis that follows open intervals (analysis.h) */

struct interval {
	u64 begin_ns, end_ns;
	u64 begin_place; /* of its first event in the order: tells apart equal stamps */
	struct task_id task;
	struct mm_id mm;
	u8 kind, flags, mode, origin;
	bool has_vma, has_range, has_address, has_file;
	bool printed_mm, printed_vma; /* by its own begin, not taken from its fault or write */
	u64 vma, vm_start, vm_end, address, ino;
	u32 caller, reason; /* intern ids */
	u32 blocker_tid;    /* as a *_blocked event names it, 0 = none */
	u32 stack;	    /* kernel stack id of its first event, 0 = none */
	/* IV_LOCK_WAIT from BPF: the rwsem's owner when the waiter went to sleep; tid 0 = unknown
	 */
	u32 owner_tid, owner_comm, owner_stack;
	u8 owner_state;	      /* enum self_state */
	bool preempted;	      /* IV_FAULT_WAIT from BPF: it could have run */
	bool under_mmap_lock; /* IV_FAULT_WAIT from BPF: its thread held mmap_lock to read */
	/*
	 * From BPF: nothing but the scheduler kept it from here on (0 = not told). A read
	 * IV_LOCK_WAIT had been given the lock; an IV_VMA_WAIT was woken by the last reader of the
	 * VMA, which is ->blocker_tid and had been in the way since the wait began.
	 */
	u64 granted_ns;
	bool owner_write;
	/* IV_FAULT */
	bool retried;
	u64 io_wait_ns; /* sum of its closed waits without loss */
	/* IV_RETRY */
	bool has_own_wait; /* its thread's first read wait of the mm since the retry */
	u64 own_place;
	u64 own_wait_ns;	 /* its length once it is over and whole, else 0 */
	struct interval *older;	 /* the thread's window before this one that is open too */
	struct interval *parent; /* a wait's own fault or write, a retry's fault; may be NULL */
	void *note[INTERVAL_NOTES];
	struct interval *next_free;
};

/* Both ends seen and nothing lost inside: only these enter counts, sums, percentiles and pairs. */
static inline bool interval_is_whole(const struct interval *iv)
{
	return !(iv->flags & (IVF_OPEN_BEGIN | IVF_OPEN_END | IVF_LOSS));
}

#endif
