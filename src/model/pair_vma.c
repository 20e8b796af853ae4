/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/pair_vma.c: VMA writers and their waits. Layer: model.
 *
 *	vma_start_write_begin [vma_start_write_wait_start vma_start_write_wait_end]
 *vma_start_write_done
 */
#include "model/pair_internal.h"

static void take_fields(struct pair *p, struct interval *iv)
{
	const struct ev_vma *v = &p->ev->u.vma;

	if (!iv->mm.v)
		iv->mm = p->mm;
	if (!iv->has_vma && (p->ev->has & EVH_VMA)) {
		iv->has_vma = true;
		iv->vma = v->vma;
	}
	if (!iv->has_range && (p->ev->has & EVH_RANGE)) {
		iv->has_range = true;
		iv->vm_start = v->vm_start;
		iv->vm_end = v->vm_end;
	}
	if (!iv->caller)
		iv->caller = v->caller;
	if (!iv->has_file && (p->ev->has & EVH_FILE)) {
		iv->has_file = true;
		iv->ino = v->ino;
	}
}

static void inherit(struct interval *iv, const struct interval *write)
{
	iv->parent = (struct interval *)write;
	if (!iv->mm.v)
		iv->mm = write->mm;
	if (!iv->has_vma && write->has_vma) {
		iv->has_vma = true;
		iv->vma = write->vma;
	}
	if (!iv->has_range && write->has_range) {
		iv->has_range = true;
		iv->vm_start = write->vm_start;
		iv->vm_end = write->vm_end;
	}
	if (!iv->caller)
		iv->caller = write->caller;
	if (!iv->has_file && write->has_file) {
		iv->has_file = true;
		iv->ino = write->ino;
	}
}

static int end_write(struct pair *p, u8 flags)
{
	int err = pair_close(p, &p->task->vma_wait, p->now_ns, IVF_OPEN_END);

	if (!err)
		err = pair_close(p, &p->task->vma_write, p->now_ns, flags);
	return err;
}

/* A vendor hold_start names no caller: what the holder writes first tells what it holds the lock
 * for. */
static void explain_hold(struct pair *p, const struct interval *write)
{
	for (struct lock_state *s = p->task->locks; s; s = s->next) {
		if (s->hold && mm_same(s->mm, write->mm) && s->hold->mode == MODE_WRITE &&
		    s->hold->origin == ORIGIN_OTHER)
			s->hold->origin = write->origin;
	}
}

static int write_begin(struct pair *p)
{
	struct interval *iv;
	int err = end_write(p, IVF_OPEN_END);

	if (err)
		return err;
	p->counts.vma_writes++;
	p->task->vma_write = iv = pair_make(p, IV_VMA_WRITE);
	if (!iv)
		return 0;
	iv->mode = MODE_WRITE;
	take_fields(p, iv);
	iv->origin = (u8)pair_origin(p, iv->caller, MODE_WRITE);
	explain_hold(p, iv);
	return pair_tell_open(p, iv);
}

static int write_begin_v2(struct pair *p)
{
	struct interval *w = p->task->vma_write;

	p->seen.vma_begin_v2 = true;
	if (!p->seen.vma_begin) {
		p->used_v2 = true;
		return write_begin(p);
	}
	/* it repeats the begin just before it, and tells the file too */
	if (w && w->has_range && (p->ev->has & EVH_RANGE) && w->vm_start == p->ev->u.vma.vm_start)
		take_fields(p, w);
	return 0;
}

static int wait_start(struct pair *p)
{
	struct interval *iv;
	int err = pair_close(p, &p->task->vma_wait, p->now_ns, IVF_OPEN_END);

	if (err)
		return err;
	if (p->task->vma_write)
		take_fields(p, p->task->vma_write);
	p->task->vma_wait = iv = pair_make(p, IV_VMA_WAIT);
	if (!iv)
		return 0;
	iv->mode = MODE_WRITE;
	take_fields(p, iv);
	iv->printed_vma = iv->has_vma;
	if (p->task->vma_write)
		inherit(iv, p->task->vma_write);
	iv->origin = (u8)pair_origin(p, iv->caller, MODE_WRITE);
	return pair_tell_open(p, iv);
}

static int wait_end(struct pair *p)
{
	struct interval *iv = p->task->vma_wait;
	int err;

	if (!iv && p->task->vma_write)
		take_fields(p, p->task->vma_write);
	if (!iv)
		return pair_close_unbegun(p, IV_VMA_WAIT, MODE_WRITE);
	if (pair_wait_ends_differ(p, iv, p->ev->u.vma.vma)) {
		err = pair_close(p, &p->task->vma_wait, p->now_ns, IVF_OPEN_END);
		return err ? err : pair_close_unbegun(p, IV_VMA_WAIT, MODE_WRITE);
	}
	take_fields(p, iv);
	if (p->task->vma_write)
		take_fields(p, p->task->vma_write);
	if ((p->ev->has & EVH_WAKER) && p->ev->u.vma.woken_ns > iv->begin_ns) {
		iv->granted_ns = p->ev->u.vma.woken_ns;
		iv->blocker_tid = p->ev->u.vma.waker_tid;
		(void)tasks_named(p->tasks, iv->blocker_tid, 0);
	}
	return pair_close(p, &p->task->vma_wait, p->now_ns, 0);
}

/* vma_start_write_blocked: the wait [t - wait_ns, t] where no wait pair tells of it. */
static int blocked(struct pair *p)
{
	const struct ev_blocked *b = &p->ev->u.blocked;
	struct interval *iv;

	p->seen.vma_blocked = true;
	(void)tasks_named(p->tasks, b->blocker_tid, b->blocker_comm);
	if (p->seen.vma_waits) {
		p->counts.blocked_cross_checks++;
		return 0;
	}
	p->used_vma_blocked = true;
	iv = pair_make(p, IV_VMA_WAIT);
	if (!iv)
		return 0;
	iv->mode = MODE_WRITE;
	iv->flags |= IVF_BLOCKED;
	iv->begin_ns = b->wait_ns < p->now_ns ? p->now_ns - b->wait_ns : 0;
	iv->blocker_tid = b->blocker_tid;
	if (p->ev->has & EVH_RANGE) {
		iv->has_range = true;
		iv->vm_start = b->vm_start;
		iv->vm_end = b->vm_end;
	}
	if (p->task->vma_write)
		inherit(iv, p->task->vma_write);
	iv->origin = (u8)pair_origin(p, iv->caller, MODE_WRITE);
	return pair_close(p, &iv, p->now_ns, 0);
}

int pair_vma_event(struct pair *p)
{
	switch (p->ev->kind) {
	case EV_VMA_WRITE_BEGIN:
		p->restart |= p->used_v2;
		p->seen.vma_begin = true;
		return write_begin(p);
	case EV_VMA_WRITE_BEGIN_V2:
		return write_begin_v2(p);
	case EV_VMA_WRITE_WAIT_START:
		p->restart |= p->used_vma_blocked;
		p->seen.vma_waits = true;
		return wait_start(p);
	case EV_VMA_WRITE_WAIT_END:
		p->restart |= p->used_vma_blocked;
		p->seen.vma_waits = true;
		return wait_end(p);
	case EV_VMA_WRITE_BLOCKED:
		return blocked(p);
	default:
		p->seen.vma_done = true;
		if (p->task->vma_write)
			take_fields(p, p->task->vma_write);
		return end_write(p, 0);
	}
}
