/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/lock.bpf.h: mmap_lock: start_locking, acquire_returned, released. Layer: bpf.
 *
 * This is the hot path: one look-up of the thread, one clock, a few stores. Only a wait of
 * min_wait_ns, or a hold that somebody waited for, is told.
 */
#ifndef MMSCOPE_BPF_LOCK_BPF_H
#define MMSCOPE_BPF_LOCK_BPF_H

#include "bpf/fault.bpf.h"

/* The slot of @mm, or the first idle one; BPF_SLOTS when all are in use. */
NOINLINE int slot_search(struct bpf_thread *t, u64 mm)
{
	u32 idle = BPF_SLOTS;

#pragma unroll
	for (u32 i = 0; i < BPF_SLOTS; i++) {
		if (t->slots[i].mm == mm)
			return i;
		if (idle == BPF_SLOTS && t->slots[i].phase == BSLOT_IDLE)
			idle = i;
	}
	return idle;
}

INLINE struct bpf_slot *slot_of(struct bpf_thread *t, u64 mm, u8 *ret_index)
{
	u32 i = 0;

	if (unlikely(t->slots[0].mm != mm)) {
		i = slot_search(t, mm);
		if (i >= BPF_SLOTS) {
			__sync_fetch_and_add(&counters.slots_refused, 1);
			return NULL;
		}
		if (t->slots[i].mm != mm) {
			t->slots[i].phase = BSLOT_IDLE;
			t->slots[i].mm = mm;
		}
	}
	*ret_index = i;
	return &t->slots[i];
}

/* Who had the lock, by the rwsem's owner word: a task, with flags in the low bits. */
NOINLINE int owner_read(struct bpf_thread *t, u64 word)
{
	u64 task = word & ~(u64)RWSEM_OWNER_FLAGS;

	t->owner.tid = 0;
	t->owner.tgid = 0;
	t->owner_stack = 0;
	t->owner_writes = 0;
	/* the last reader may have been this very thread */
	if (!task || task == t->task)
		return 0;
	if (!who_read(&t->owner, task))
		return 0;
	t->owner_writes = !(word & RWSEM_READER_OWNED);
	return 1;
}

INLINE void owner_copy(struct bpf_rec_wait *r, const struct bpf_thread *t)
{
	if (t->owner.tid) {
		r->owner = t->owner;
		r->owner_stack = t->owner_stack;
		r->flags |= t->owner_writes ? BFLAG_OWNER_WRITES : 0;
	} else {
		__builtin_memset(&r->owner, 0, sizeof(r->owner));
		r->owner_stack = 0;
	}
}

NOINLINE int wait_tell(void *ctx, struct bpf_thread *t, struct bpf_slot *s, u64 now)
{
	struct task_struct *task = task_current();
	struct bpf_rec_wait *r;
	u64 stack, user_stack;

	stack = stack_kernel(ctx, config.lock_skip);
	user_stack = config.user_stacks ? stack_user(ctx, t->tgid) : 0;
	if (!t->slept)
		owner_read(t, s->owner);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r)
		return record_lost(BREC_WAIT);
	head_fill(&r->head, BREC_WAIT, sizeof(*r), now);
	who_current(&r->who, t, task, BSTATE_RUNNING);
	r->begin_ns = s->begin_ns;
	r->mm = s->mm;
	r->stack = stack;
	r->user_stack = user_stack;
	call_fill(&r->call, task);
	r->flags = (s->write ? BFLAG_WRITE : 0) | (s->retry ? BFLAG_RETRY_WAIT : 0) |
		   (t->slept ? 0 : BFLAG_SPUN);
	r->woken_ns = t->slept ? t->woken_ns : 0;
	r->waker_tid = t->slept ? t->waker_tid : 0;
	owner_copy(r, t);
	record_submit(r);
	return 0;
}

/*
 * Where a hold ends. Under contention short holds come by the hundred thousand, each with somebody
 * queued, and a walk inside the hold would lengthen them all: what the same thread's hold of the
 * same kind in the same call showed a moment ago is taken for them.
 */
INLINE bool hold_stack_stands(const struct bpf_hold_stack *h, u64 hold_ns, s32 nr, u64 now)
{
	return hold_ns < config.min_wait_ns && h->nr == nr &&
	       now - h->walked_ns < BPF_HOLD_STACK_NS;
}

NOINLINE int hold_stack_walk(void *ctx, struct bpf_thread *t, struct bpf_hold_stack *h)
{
	h->stack = stack_kernel(ctx, config.lock_skip);
	h->user_stack = config.user_stacks ? stack_user(ctx, t->tgid) : 0;
	return 1;
}

NOINLINE int hold_tell(void *ctx, struct bpf_thread *t, struct bpf_slot *s, u64 now, u32 flags)
{
	struct task_struct *task = task_current();
	struct bpf_hold_stack *h;
	struct bpf_in_call call;
	struct bpf_rec_hold *r;

	flags |= (s->write ? BFLAG_WRITE : 0) | (s->downgraded ? BFLAG_DOWNGRADED : 0);
	h = &t->hold_stacks[(flags & BFLAG_WRITE ? 1 : 0) + (flags & BFLAG_DOWNGRADED ? 2 : 0)];
	call_fill(&call, task);
	if (!hold_stack_stands(h, now - s->begin_ns, call.nr, now)) {
		h->walked_ns = now;
		h->nr = call.nr;
		hold_stack_walk(ctx, t, h);
	}
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r)
		return record_lost(BREC_HOLD);
	head_fill(&r->head, BREC_HOLD, sizeof(*r), now);
	who_current(&r->who, t, task, BSTATE_RUNNING);
	r->begin_ns = s->begin_ns;
	r->mm = s->mm;
	r->stack = h->stack;
	r->user_stack = h->user_stack;
	r->call = call;
	r->flags = flags;
	r->pad = 0;
	record_submit(r);
	return 0;
}

/* The events come before the lock is let go: who waits for it shows in the lock. */
INLINE bool lock_is_wanted(struct mm_struct *mm, u64 hold_ns)
{
	if (!bpf_core_field_exists(mm->mmap_lock.count))
		return hold_ns >= config.min_wait_ns; /* PREEMPT_RT: it does not show there */
	if (FIELD(mm, mmap_lock.count.counter) & RWSEM_FLAG_WAITERS)
		return true;
	return bpf_core_field_exists(mm->mmap_lock.osq) && FIELD(mm, mmap_lock.osq.tail.counter);
}

/*
 * A hold shorter than any wait that is told matters only in numbers, as threads barge past one that
 * is queued. A record inside of it lengthens it by half, so in a flood only the first ones of each
 * 10 ms are told: whole stretches of it, rather than every n-th.
 */
NOINLINE int short_hold_is_told(struct bpf_thread *t, u64 now)
{
	if (now - t->short_since_ns >= BPF_SHORT_HOLDS_NS) {
		if (t->short_untold)
			__sync_fetch_and_add(&counters.holds_untold, t->short_untold);
		t->short_since_ns = now;
		t->short_told = 0;
		t->short_untold = 0;
	}
	if (t->short_told >= BPF_SHORT_HOLDS) {
		t->short_untold++;
		return 0;
	}
	t->short_told++;
	return 1;
}

INLINE void hold_ends(void *ctx, struct bpf_thread *t, struct bpf_slot *s, struct mm_struct *mm,
		      struct bpf_totals *totals, u64 now, u32 flags)
{
	u64 hold_ns = now - s->begin_ns;

	dist_add(&totals->hold[s->write & 1], hold_ns);
	if (unlikely(lock_is_wanted(mm, hold_ns)) && !t->own &&
	    (hold_ns >= config.min_wait_ns || short_hold_is_told(t, now)))
		hold_tell(ctx, t, s, now, flags);
}

INLINE int lock_starts(void *ctx, struct mm_struct *mm, bool write)
{
	struct bpf_thread *t = thread_get(task_current());
	struct bpf_slot *s;
	u8 index = 0;

	if (!t || !watch_has(t, (u64)mm))
		return 0;
	s = slot_of(t, (u64)mm, &index);
	if (!s)
		return 0;
	s->retry = 0;
	if (unlikely(t->fault_phase))
		s->retry = fault_at_lock(ctx, t, (u64)mm, write);
	s->phase = BSLOT_WAITS;
	s->write = write;
	if (bpf_core_field_exists(mm->mmap_lock.owner))
		s->owner = FIELD(mm, mmap_lock.owner.counter);
	t->slept = 0;
	t->waits = index + 1;
	s->begin_ns = bpf_ktime_get_ns();
	return 0;
}

/* A wait is over, successfully or not. */
INLINE void lock_waited(void *ctx, struct bpf_thread *t, struct bpf_slot *s,
			struct bpf_totals *totals, u64 now, bool success)
{
	u64 wait_ns = now - s->begin_ns;

	if (likely(success)) {
		dist_add(&totals->wait[s->write & 1], wait_ns);
		if (unlikely(wait_ns >= config.min_wait_ns || s->retry) && !t->own &&
		    (t->slept ? t->tells : in_cgroup()))
			wait_tell(ctx, t, s, now);
	} else {
		totals->failed_tries[s->write & 1]++;
		totals->failed_tries_ns[s->write & 1] += wait_ns;
	}
	t->waits = 0;
	if (unlikely(t->slept))
		__sync_fetch_and_add(&counters.asleep, -1);
}

INLINE int lock_acquired(void *ctx, struct mm_struct *mm, bool write, bool success)
{
	struct bpf_thread *t = thread_get(task_current());
	struct bpf_totals *totals;
	struct bpf_slot *s;
	u8 index = 0;
	u64 now;

	if (!t || !watch_has(t, (u64)mm))
		return 0;
	s = slot_of(t, (u64)mm, &index);
	totals = totals_of(t);
	if (!s || !totals)
		return 0;
	now = bpf_ktime_get_ns();
	s->downgraded = 0;
	if (likely(s->phase == BSLOT_WAITS)) {
		lock_waited(ctx, t, s, totals, now, success);
		if (!success) {
			s->phase = BSLOT_IDLE;
			return 0;
		}
	} else if (!success) {
		return 0;
	} else if (s->phase == BSLOT_HOLDS && s->write && !write) {
		/* a downgrade, which has no start and is no wait */
		hold_ends(ctx, t, s, mm, totals, now, BFLAG_DOWNGRADED);
		s->downgraded = 1;
	}
	s->phase = BSLOT_HOLDS;
	s->write = write;
	s->begin_ns = now;
	return 0;
}

INLINE int lock_released(void *ctx, struct mm_struct *mm)
{
	struct bpf_thread *t = thread_find(task_current());
	struct bpf_totals *totals;
	struct bpf_slot *s;
	u8 index = 0;

	if (!t || !watch_has(t, (u64)mm))
		return 0;
	s = slot_of(t, (u64)mm, &index);
	if (!s || s->phase != BSLOT_HOLDS)
		return 0;
	totals = totals_of(t);
	if (totals)
		hold_ends(ctx, t, s, mm, totals, bpf_ktime_get_ns(), 0);
	s->phase = BSLOT_IDLE;
	return 0;
}

#endif
