/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/sleep.bpf.h: threads that leave the CPU: waiting for mmap_lock (who has it?), inside a VMA
 * writer, inside a page fault. Layer: bpf.
 *
 * What a switch costs: two comparisons for a thread that sleeps interruptibly in a system call, by
 * far the most; a stack walk only for the uninterruptible, and outside of system calls.
 */
#ifndef MMSCOPE_BPF_SLEEP_BPF_H
#define MMSCOPE_BPF_SLEEP_BPF_H

#include "bpf/lock.bpf.h"
#include "bpf/scan.bpf.h"

#define TASK_NOLOAD 0x400 /* with UNINTERRUPTIBLE: an idle kernel thread */

#ifndef STATE_HASH
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;

/* The stack of a sleeping owner; a running one has none that could be walked. */
NOINLINE int owner_stack_take(struct bpf_thread *t)
{
	struct scratch *s = scratch_get();
	struct task_struct *owner;
	long bytes = 0;

	if (!s || !t->owner.tid || t->owner.state == BSTATE_RUNNING)
		return 0;
	owner = bpf_task_from_pid(t->owner.tid);
	if (!owner)
		return 0;
	bytes = bpf_get_task_stack(owner, s->frames, sizeof(s->frames), 0);
	bpf_task_release(owner);
	if (bytes > 0)
		t->owner_stack = stack_tell(s, (u64)bytes / sizeof(s->frames[0]), 0);
	return 0;
}
#endif

/* The running thread goes to sleep for the first time in its wait for a slot's lock. */
NOINLINE int wait_sleeps(void *ctx, struct bpf_thread *t)
{
	u32 i = t->waits - 1;
	struct mm_struct *mm;
	u64 word = 0;

	if (i >= BPF_SLOTS)
		return 0;
	t->woken_ns = 0;
	t->waker_tid = 0;
	t->tells = in_cgroup();
	t->slept = 1;
	__sync_fetch_and_add(&counters.asleep, 1);
	if (t->own)
		return 0;
	mm = (void *)t->slots[i].mm;
	if (bpf_core_field_exists(mm->mmap_lock.owner))
		word = BPF_CORE_READ(mm, mmap_lock.owner.counter);
	owner_read(t, word);
#ifdef STATE_HASH
	t->wait_stack = stack_kernel(ctx, BPF_SKIP_FRAMES);
	t->wait_prio = FIELD(task_current(), prio);
#endif
	return 1;
}

INLINE u32 class_at(u64 ip)
{
	if (ip - config.ranges_lo >= config.ranges_hi - config.ranges_lo)
		return 0;
	for (u32 i = 0; i < BPF_MAX_RANGES && i < config.n_ranges; i++) {
		if (ip - config.ranges[i].start < config.ranges[i].end - config.ranges[i].start)
			return config.ranges[i].sleep_class;
	}
	return 0;
}

/* What the thread in scratch sleeps in, 0 = neither; the innermost frame decides. */
GLOBAL int stack_class(const struct scratch *s, u64 n)
{
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < BPF_MAX_FRAMES && i < n; i++) {
		u32 found = class_at(s->frames[i]);

		if (found)
			return found;
	}
	return 0;
}

/* The address space a sleep is about, by default the thread's own, and how its mmap_lock is held.
 */
GLOBAL u32 sleep_mm(struct bpf_thread *t)
{
	u64 mm, task_mm;
	u32 flags = 0;

	if (!t)
		return 0;
	mm = task_mm = t->sleep.mm;
	/* get_user_pages of another process, fork: it holds the lock of what it is about */
	for (u32 i = 0; i < BPF_SLOTS; i++) {
		if (t->slots[i].phase != BSLOT_HOLDS)
			continue;
		if (!flags || t->slots[i].mm == task_mm) {
			mm = t->slots[i].mm;
			flags = t->slots[i].write ? BFLAG_HOLDS_MMAP_WRITE : BFLAG_HOLDS_MMAP_READ;
		}
	}
	t->sleep.mm = mm;
	return flags;
}

NOINLINE int sleep_in_fault(struct bpf_thread *t, struct bpf_rec_sleep *r, struct scan *s)
{
	struct task_struct *task = task_current();

	if (t->fault_phase == BFAULT_NONE) {
		r->flags |= BFLAG_FIRST;
		t->fault_phase = BFAULT_SLEPT;
		t->fault_done = faults_done(task);
		__sync_fetch_and_add(&counters.faults_open, 1);
	}
	t->fault_mm = r->mm;
	if (r->call.nr == BPF_NO_CALL)
		r->flags |= BFLAG_USER_FAULT;
	if (s)
		scan_fault(s, r);
	if (!config.faults_traced)
		return 0;
	/* the last fault begun may be another one: get_user_pages() begins none */
	if (!r->address && (r->flags & BFLAG_USER_FAULT))
		r->address = t->fault_address;
	if ((r->address ^ t->fault_address) >> PAGE_SHIFT == 0)
		r->fault_ns = t->fault_ns;
	return 0;
}

/* The running thread leaves the CPU inside what we look for; its frames are in @sc. */
NOINLINE int sleep_begins(void *ctx, struct bpf_thread *t, struct scratch *sc, u64 n, u32 state)
{
	struct task_struct *task = task_current();
	struct bpf_rec_sleep *r = &t->sleep;
	int sleep_class = stack_class(sc, n);
	struct scan *s;

	/* up to 6.14 its functions are inlined: contention_begin told of the lock instead */
	if (!sleep_class && !t->vma_lock)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	r->mm = (u64)FIELD(task, mm);
	r->flags = sleep_mm(t);
	if (t->own || !watch_has(t, r->mm) || !in_cgroup())
		return 1;
	call_fill(&r->call, task);
	s = scan_read(task);
	if (sleep_class == BSLEEP_FAULT) {
		if (!config.faults)
			return 1;
		sleep_in_fault(t, r, s);
	} else if (!s || !scan_writer(s, r, t->vma_lock)) {
		if (!sleep_class)
			return 0;
	}
	r->sleep_class = sleep_class ? sleep_class : BSLEEP_VMA_WRITER;
	who_current(&r->who, t, task, state);
	r->stack = stack_tell(sc, n, 0);
	r->user_stack = config.user_stacks ? stack_user(ctx, t->tgid) : 0;
	t->woken_ns = 0;
	t->waker_tid = 0;
	t->lightly = state == BSTATE_SLEEPING;
	r->begin_ns = bpf_ktime_get_ns();
	t->asleep = 1;
	__sync_fetch_and_add(&counters.asleep, 1);
	if (t->lightly)
		__sync_fetch_and_add(&counters.asleep_lightly, 1);
	return 1;
}

/* The walk is what costs: only where it may show something. */
NOINLINE int sleep_look(void *ctx, struct bpf_thread *t, u32 state)
{
	struct scratch *sc = scratch_get();
	u64 n;

	if (!sc)
		return 0;
	n = stack_walk(ctx, sc, BPF_SKIP_FRAMES - 1);
	if (!t) {
		if (!stack_class(sc, n))
			return 0;
		t = thread_get(task_current());
		if (!t)
			return 0;
	}
	/* a fault that failed is not counted as done */
	if (!sleep_begins(ctx, t, sc, n, state) && t->fault_phase && state == BSTATE_BLOCKED)
		fault_over(t);
	return 0;
}

/* 1 = it waits for mmap_lock and this is its first sleep in that wait. */
INLINE int switch_out(void *ctx, u32 task_bits, bool preempted)
{
	struct task_struct *task = task_current();
	bool blocked = !preempted && (task_bits & TASK_UNINTERRUPTIBLE);
	struct bpf_thread *t;

	if (blocked ? task_bits & TASK_NOLOAD : FIELD(task, flags) & PF_KTHREAD)
		return 0;
	if (!blocked && !config.faults)
		return 0;
	if (!blocked && call_nr(task) >= 0) {
		if (counters.faults_open && (t = thread_find(task)))
			fault_check(t, task);
		return 0;
	}
	t = thread_find(task);
	if (t) {
		if (t->waits)
			return blocked && !t->slept ? wait_sleeps(ctx, t) : 0;
		fault_check(t, task);
		if (t->own)
			return 0;
	}
	if (FIELD(task, flags) & PF_KTHREAD)
		return 0;
	sleep_look(ctx, t,
		   preempted ? BSTATE_RUNNABLE
		   : blocked ? BSTATE_BLOCKED
			     : task_state(task_bits));
	return 0;
}

NOINLINE int sleep_ends(struct bpf_thread *t)
{
	struct bpf_rec_sleep *r;

	t->asleep = 0;
	__sync_fetch_and_add(&counters.asleep, -1);
	if (t->lightly)
		__sync_fetch_and_add(&counters.asleep_lightly, -1);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r)
		return record_lost(BREC_SLEEP);
	*r = t->sleep;
	head_fill(&r->head, BREC_SLEEP, sizeof(*r), bpf_ktime_get_ns());
	r->woken_ns = t->woken_ns;
	r->waker_tid = t->waker_tid;
	record_submit(r);
	return 0;
}

INLINE void switch_in(struct task_struct *next)
{
	struct bpf_thread *t;

	if (likely(!counters.asleep))
		return;
	t = thread_find(next);
	if (t && t->asleep)
		sleep_ends(t);
}

/* By another thread, or by the interrupt that ended its I/O. */
INLINE int waking(struct task_struct *task)
{
	struct bpf_thread *t;

	if (likely(!counters.asleep))
		return 0;
	if (!(FIELD(task, __state) & TASK_UNINTERRUPTIBLE) && !counters.asleep_lightly)
		return 0;
	t = thread_find(task);
	if (t && (t->asleep || t->slept)) {
		t->woken_ns = bpf_ktime_get_ns();
		t->waker_tid = (u32)bpf_get_current_pid_tgid();
	}
	return 0;
}

/* Up to 6.14: a lock that is waited for by a thread that has mmap_lock to write. */
INLINE int contends(u64 lock)
{
	struct bpf_thread *t = thread_find(task_current());

	if (!t || t->waits || t->own)
		return 0;
	for (u32 i = 0; i < BPF_SLOTS; i++) {
		if (t->slots[i].phase == BSLOT_HOLDS && t->slots[i].write)
			t->vma_lock = lock;
	}
	return 0;
}

INLINE int contention_ends(void)
{
	struct bpf_thread *t;

	t = thread_find(task_current());
	if (t && t->vma_lock)
		t->vma_lock = 0;
	return 0;
}

#endif
