/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/pair_fault.c: page cache faults, their waits, their retries and what comes after. Layer:
 *model.
 *
 *	filemap_fault_begin [filemap_fault_wait_start filemap_fault_wait_end]*
 *	filemap_fault_retry and/or filemap_fault_end
 *
 * A thread's next begin ends an unfinished fault; no wait runs on into the next fault.
 */
#include "model/pair_internal.h"

#define VM_FAULT_RETRY 0x400

/* Fields that a later event of the same thing may be the first to print. */
static void adopt(struct interval *iv, struct mm_id mm, bool has_vma, u64 vma)
{
	if (!iv->mm.v)
		iv->mm = mm;
	if (!iv->has_vma && has_vma) {
		iv->has_vma = true;
		iv->vma = vma;
	}
}

static int end_fault(struct pair *p, u8 flags)
{
	int err = pair_close(p, &p->task->fault_wait, p->now_ns, IVF_OPEN_END);

	if (!err)
		err = pair_close(p, &p->task->fault, p->now_ns, flags);
	return err;
}

/* The fault that the event belongs to; one whose begin was not seen is made open at its begin. */
static struct interval *own_fault(struct pair *p)
{
	if (!p->task->fault) {
		p->task->fault = pair_make(p, IV_FAULT);
		if (p->task->fault) {
			p->task->fault->flags |= IVF_OPEN_BEGIN;
			p->task->fault->origin = ORIGIN_FAULT;
		}
	}
	if (p->task->fault)
		adopt(p->task->fault, p->mm, p->ev->has & EVH_VMA, p->ev->u.fault.vma);
	return p->task->fault;
}

static int fault_begin(struct pair *p)
{
	const struct ev_fault *f = &p->ev->u.fault;
	struct interval *iv;
	int err = end_fault(p, IVF_OPEN_END);

	/* the thread faults again: Type B's windows are over */
	if (!err)
		err = pair_close_retries(p, p->task, (struct mm_id){ 0 }, 0);
	if (err)
		return err;
	p->counts.faults++;
	p->task->fault = iv = pair_make(p, IV_FAULT);
	if (!iv)
		return 0;
	iv->origin = ORIGIN_FAULT;
	iv->has_vma = p->ev->has & EVH_VMA;
	iv->vma = f->vma;
	iv->has_address = p->ev->has & EVH_ADDRESS;
	iv->address = f->address;
	iv->has_file = p->ev->has & EVH_FILE;
	iv->ino = f->ino;
	return pair_tell_open(p, iv);
}

static int fault_wait_start(struct pair *p)
{
	struct interval *fault = own_fault(p), *iv;
	int err = pair_close(p, &p->task->fault_wait, p->now_ns, IVF_OPEN_END);

	if (err || !fault)
		return err;
	p->task->fault_wait = iv = pair_make(p, IV_FAULT_WAIT);
	if (!iv)
		return 0;
	iv->parent = fault;
	iv->origin = ORIGIN_FAULT;
	iv->reason = p->ev->u.fault.reason;
	iv->preempted = (p->ev->has & EVH_SELF_STATE) && p->ev->state == SELF_RUNNABLE;
	iv->under_mmap_lock = p->ev->u.fault.under_mmap_lock;
	iv->has_vma = iv->printed_vma = p->ev->has & EVH_VMA;
	iv->vma = p->ev->u.fault.vma;
	adopt(iv, fault->mm, fault->has_vma, fault->vma);
	iv->has_address = fault->has_address;
	iv->address = fault->address;
	iv->has_file = fault->has_file;
	iv->ino = fault->ino;
	return pair_tell_open(p, iv);
}

static int fault_wait_end(struct pair *p)
{
	struct interval *fault = own_fault(p), *iv = p->task->fault_wait;
	int err;

	if (!iv)
		return pair_close_unbegun(p, IV_FAULT_WAIT, MODE_READ);
	if (pair_wait_ends_differ(p, iv, p->ev->u.fault.vma)) {
		err = pair_close(p, &p->task->fault_wait, p->now_ns, IVF_OPEN_END);
		return err ? err : pair_close_unbegun(p, IV_FAULT_WAIT, MODE_READ);
	}
	if (!iv->reason)
		iv->reason = p->ev->u.fault.reason;
	if (fault && !gaps_touch(p->gaps, iv->begin_ns, p->now_ns)) {
		fault->io_wait_ns += p->now_ns - iv->begin_ns;
		if (fault->retried && p->task->retry)
			p->task->retry->io_wait_ns = fault->io_wait_ns;
	}
	return pair_close(p, &p->task->fault_wait, p->now_ns, 0);
}

static int tell_retry(struct pair *p, struct interval *fault)
{
	int err = 0;

	for (u32 i = 0; i < p->n_listeners && !err; i++) {
		if (p->listeners[i].retry)
			err = p->listeners[i].retry(p->listeners[i].ctx, fault);
	}
	return err;
}

/* A BPF record of the retry may bear the time of the very attempt to lock that showed it. */
static void adopt_own_wait(struct pair *p, struct interval *window)
{
	for (struct lock_state *s = p->task->locks; s; s = s->next) {
		if (!s->wait || s->wait->mode != MODE_READ || !mm_same(s->mm, window->mm))
			continue;
		window->has_own_wait = true;
		window->own_place = s->wait->begin_place;
	}
}

/* The fault dropped its lock: from here the thread is on its way to mmap_lock (Type B's window). */
static int fault_retried(struct pair *p, struct interval *fault)
{
	struct interval *iv;
	int err;

	if (fault->retried)
		return 0;
	fault->retried = true;
	/* with events lost since its begin, the retry may be another fault's */
	if (gaps_touch(p->gaps, fault->begin_ns, p->now_ns))
		fault->flags |= IVF_LOSS;
	if (!(fault->flags & IVF_OPEN_BEGIN))
		p->counts.fault_retries++;
	err = tell_retry(p, fault);
	if (err)
		return err;
	iv = pair_make(p, IV_RETRY);
	if (!iv)
		return 0;
	/* one more is open only where the begin of the fault between was lost */
	iv->older = p->task->retry;
	p->task->retry = iv;
	iv->mm = fault->mm;
	iv->origin = ORIGIN_FAULT;
	iv->io_wait_ns = fault->io_wait_ns;
	if (p->seen.bpf)
		adopt_own_wait(p, iv);
	return pair_tell_open(p, iv);
}

static int fault_end(struct pair *p)
{
	struct interval *fault = own_fault(p);
	int err = 0;

	if (fault && (p->ev->has & EVH_RET) && (p->ev->u.fault.ret & VM_FAULT_RETRY))
		err = fault_retried(p, fault);
	return err ? err : end_fault(p, 0);
}

int pair_fault_event(struct pair *p)
{
	struct interval *fault;

	switch (p->ev->kind) {
	case EV_FAULT_BEGIN:
		return fault_begin(p);
	case EV_FAULT_WAIT_START:
		return fault_wait_start(p);
	case EV_FAULT_WAIT_END:
		return fault_wait_end(p);
	case EV_FAULT_RETRY:
		fault = own_fault(p);
		return fault ? fault_retried(p, fault) : 0;
	default:
		return fault_end(p);
	}
}

int pair_close_retries(struct pair *p, struct task *task, struct mm_id mm, u8 flags)
{
	struct interval **slot = &task->retry;
	int err = 0;

	while (*slot) {
		struct interval *w = *slot, *older = w->older;
		int failed;

		if (mm.v && !mm_same(w->mm, mm)) {
			slot = &w->older;
			continue;
		}
		failed = pair_close(p, slot, p->now_ns, flags);
		err = err ? err : failed;
		*slot = older;
	}
	return err;
}

void pair_retry_wait_begins(struct pair *p, const struct interval *wait)
{
	for (struct interval *w = p->task->retry; w; w = w->older) {
		if (!mm_same(w->mm, wait->mm) || w->has_own_wait)
			continue;
		w->has_own_wait = true;
		w->own_place = wait->begin_place;
	}
}

void pair_retry_wait_ends(struct pair *p, const struct interval *wait, u64 end_ns, bool failed)
{
	for (struct interval *w = p->task->retry; w; w = w->older) {
		if (!w->has_own_wait || w->own_place != wait->begin_place)
			continue;
		w->has_own_wait = !failed;
		w->own_wait_ns = failed ? 0 : end_ns - wait->begin_ns;
	}
}
