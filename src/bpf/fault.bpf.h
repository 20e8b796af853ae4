/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/fault.bpf.h: page faults: their begin where the kernel tells it, and what becomes of one that
 * slept. Layer: bpf.
 *
 * Nothing tells a fault's end. But handle_mm_fault() counts each completed fault in min_flt or
 * maj_flt of the thread, and not one that returns VM_FAULT_RETRY: so where the thread reads
 * mmap_lock next with the sum unchanged, the fault retries; once it has changed, it is over.
 */
#ifndef MMSCOPE_BPF_FAULT_BPF_H
#define MMSCOPE_BPF_FAULT_BPF_H

#include "bpf/emit.bpf.h"
#include "bpf/totals.bpf.h"
#include "bpf/watch.bpf.h"

INLINE u64 faults_done(struct task_struct *task)
{
	return FIELD(task, min_flt) + FIELD(task, maj_flt);
}

NOINLINE int fault_tell(struct bpf_thread *t, u64 stack, u32 flags)
{
	struct task_struct *task = task_current();
	struct bpf_rec_fault *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return record_lost(BREC_FAULT);
	head_fill(&r->head, BREC_FAULT, sizeof(*r), bpf_ktime_get_ns());
	who_current(&r->who, t, task, BSTATE_RUNNING);
	r->mm = t->fault_mm;
	r->stack = stack;
	r->flags = flags;
	r->pad = 0;
	record_submit(r);
	return 0;
}

NOINLINE int fault_over(struct bpf_thread *t)
{
	t->fault_phase = BFAULT_NONE;
	__sync_fetch_and_add(&counters.faults_open, -1);
	return fault_tell(t, 0, 0);
}

/* The running thread does something: if its fault was counted in the meantime, it is over. */
INLINE void fault_check(struct bpf_thread *t, struct task_struct *task)
{
	if (unlikely(t->fault_phase) && faults_done(task) != t->fault_done)
		fault_over(t);
}

/* The running thread asks for a lock while a fault of it is open. True: as the fault's retry. */
NOINLINE int fault_at_lock(void *ctx, struct bpf_thread *t, u64 mm, u32 write)
{
	struct task_struct *task = task_current();

	if (write || mm != t->fault_mm || faults_done(task) != t->fault_done) {
		fault_over(t);
		return 0;
	}
	if (t->fault_phase == BFAULT_SLEPT) {
		t->fault_phase = BFAULT_RETRIED;
		fault_tell(t, stack_kernel(ctx, config.lock_skip), BFLAG_RETRIED);
	}
	return 1;
}

INLINE int fault_begins(u64 address, u32 in_kernel)
{
	struct task_struct *task = task_current();
	struct bpf_thread *t = thread_get(task);
	struct bpf_totals *totals;

	if (!t || (config.filter_mm && !watch_has(t, (u64)FIELD(task, mm))))
		return 0;
	if (unlikely(t->fault_phase))
		fault_over(t);
	t->fault_ns = bpf_ktime_get_ns();
	t->fault_address = address;
	totals = totals_of(t);
	if (totals)
		totals->faults[in_kernel]++;
	return 0;
}

#endif
