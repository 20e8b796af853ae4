/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/pair_lock.c: waits for and holds of mmap_lock, per (thread, mm). Layer: model.
 *
 * Stock:  mmap_lock_start_locking -> mmap_lock_acquire_returned -> mmap_lock_released
 * Vendor: mmap_lock_wait_start -> mmap_lock_wait_end, mmap_lock_hold_start -> mmap_lock_hold_end
 *
 * One munmap prints 1 start and 2 acquires: the second is its downgrade to a read hold.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/pair_internal.h"

/* The thread's state on the mm at hand, made when new. Threads hold one or two mms (fork) at a
 * time. */
static struct lock_state *lock_state(struct pair *p)
{
	struct lock_state *s, *idle = NULL;

	for (s = p->task->locks; s; s = s->next) {
		if (s->mm.v == p->mm.v)
			return s;
		if (!s->wait && !s->hold)
			idle = s;
	}
	if (!idle) {
		idle = calloc(1, sizeof(*idle));
		if (!idle) {
			p->tasks->failed = true;
			return NULL;
		}
		idle->next = p->task->locks;
		p->task->locks = idle;
	}
	idle->mm = p->mm;
	return idle;
}

static enum lock_mode mode_of(const struct event *ev)
{
	if (!(ev->has & EVH_WRITE))
		return MODE_UNKNOWN;
	return ev->u.lock.write ? MODE_WRITE : MODE_READ;
}

static void take_owner(struct pair *p, struct interval *iv, const struct ev_lock *l)
{
	/* the lock keeps the name of its last reader, who may be the very thread that waits now */
	if (l->owner_tid == p->task->tid)
		return;
	(void)tasks_named(p->tasks, l->owner_tid, l->owner_comm);
	iv->owner_tid = l->owner_tid;
	iv->owner_comm = l->owner_comm;
	iv->owner_stack = l->owner_stack;
	iv->owner_state = l->owner_state <= SELF_BLOCKED ? (u8)l->owner_state : SELF_UNKNOWN;
	iv->owner_write = l->owner_write;
}

static int wait_begin(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	int err = pair_close(p, &s->wait, p->now_ns, IVF_OPEN_END);

	if (err)
		return err;
	s->wait = pair_make(p, IV_LOCK_WAIT);
	if (!s->wait)
		return 0;
	s->wait->mode = (u8)mode;
	s->wait->origin = (u8)pair_origin(p, p->ev->u.lock.caller, mode);
	if (p->ev->kind == EV_LOCK_WAIT_START)
		take_owner(p, s->wait, &p->ev->u.lock);
	if (mode == MODE_READ)
		pair_retry_wait_begins(p, s->wait);
	return pair_tell_open(p, s->wait);
}

static int wait_over(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	int err;

	if (s->wait && s->wait->mode == mode) {
		if (mode == MODE_READ)
			pair_retry_wait_ends(p, s->wait, p->now_ns, false);
		if (p->ev->kind == EV_LOCK_WAIT_END && p->ev->u.lock.granted_ns > s->wait->begin_ns)
			s->wait->granted_ns = p->ev->u.lock.granted_ns;
		err = pair_close(p, &s->wait, p->now_ns, 0);
	} else {
		err = pair_close(p, &s->wait, p->now_ns, IVF_OPEN_END);
		if (!err)
			err = pair_close_unbegun(p, IV_LOCK_WAIT, mode);
	}
	/* it has the lock, whether or not its begin was seen */
	if (!err && mode == MODE_READ && p->mm.v)
		err = pair_close_retries(p, p->task, p->mm, 0);
	return err;
}

static int hold_begin(struct pair *p, struct lock_state *s, enum lock_mode mode,
		      enum origin waited_for)
{
	struct interval *iv;
	enum origin o;
	int err = 0;

	if (mode == MODE_READ && p->mm.v)
		err = pair_close_retries(p, p->task, p->mm, 0);
	if (err)
		return err;
	s->hold = iv = pair_make(p, IV_LOCK_HOLD);
	if (!iv)
		return 0;
	iv->mode = (u8)mode;
	o = pair_origin(p, p->ev->u.lock.caller, mode);
	iv->origin = (u8)(o == ORIGIN_OTHER ? waited_for : o);
	return pair_tell_open(p, iv);
}

/* The write hold ends and a read hold begins at the same moment. */
static int downgrade(struct pair *p, struct lock_state *s)
{
	enum origin origin = s->hold->origin;
	int err = pair_close(p, &s->hold, p->now_ns, 0);

	p->counts.downgrades++;
	if (!err)
		err = hold_begin(p, s, MODE_READ, origin);
	if (!err && s->hold) {
		s->hold->flags |= IVF_DOWNGRADED;
		s->hold->origin = (u8)origin;
	}
	return err;
}

static int failed_try(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	struct interval *iv = s->wait;

	if (mode == MODE_UNKNOWN)
		mode = MODE_READ;
	if (!iv)
		return 0;
	p->counts.failed_tries[mode]++;
	p->counts.failed_tries_ns[mode] += p->now_ns - iv->begin_ns;
	pair_retry_wait_ends(p, iv, p->now_ns, true);
	/* it was no wait: listeners that saw it open see it end as nothing */
	iv->flags |= IVF_FAILED_TRY;
	return pair_close(p, &s->wait, p->now_ns, IVF_OPEN_END);
}

static int acquired(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	enum origin origin = s->wait ? s->wait->origin : ORIGIN_OTHER;
	int err;

	if ((p->ev->has & EVH_SUCCESS) && !p->ev->u.lock.success)
		return failed_try(p, s, mode);
	if (!s->wait && mode == MODE_READ && s->hold && s->hold->mode == MODE_WRITE)
		return downgrade(p, s);
	err = wait_over(p, s, mode);
	if (!err)
		err = pair_close(p, &s->hold, p->now_ns, IVF_OPEN_END);
	return err ? err : hold_begin(p, s, mode, origin);
}

static int hold_start(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	int err;

	if (mode == MODE_READ && s->hold && s->hold->mode == MODE_WRITE)
		return downgrade(p, s);
	err = pair_close(p, &s->hold, p->now_ns, IVF_OPEN_END);
	if (!err)
		err = hold_begin(p, s, mode, ORIGIN_OTHER);
	/* the write hold before it kept nobody waiting, so that nothing told of it */
	if (!err && p->ev->u.lock.downgraded && mode == MODE_READ) {
		p->counts.downgrades++;
		if (s->hold)
			s->hold->flags |= IVF_DOWNGRADED;
	}
	return err;
}

static int released(struct pair *p, struct lock_state *s, enum lock_mode mode)
{
	int err;

	if (!s->hold)
		return pair_close_unbegun(p, IV_LOCK_HOLD, mode);
	if (mode != MODE_UNKNOWN && s->hold->mode != mode) {
		err = pair_close(p, &s->hold, p->now_ns, IVF_OPEN_END);
		return err ? err : pair_close_unbegun(p, IV_LOCK_HOLD, mode);
	}
	return pair_close(p, &s->hold, p->now_ns, 0);
}

/* mmap_lock_write_blocked: the wait [t - wait_ns, t] where no wait pair tells of it; it names no
 * mode. */
static int blocked(struct pair *p)
{
	const struct ev_blocked *b = &p->ev->u.blocked;
	struct interval *iv;

	p->seen.lock_blocked = true;
	if (!pair_lock_blocked_counts(&p->seen)) {
		p->counts.blocked_cross_checks++;
		return 0;
	}
	p->used_lock_blocked = true;
	iv = pair_make(p, IV_LOCK_WAIT);
	if (!iv)
		return 0;
	iv->mode = MODE_UNKNOWN;
	iv->flags |= IVF_BLOCKED;
	iv->begin_ns = b->wait_ns < p->now_ns ? p->now_ns - b->wait_ns : 0;
	iv->blocker_tid = b->blocker_tid;
	iv->origin = (u8)pair_origin(p, 0, MODE_READ);
	return pair_close(p, &iv, p->now_ns, 0);
}

static int stock_event(struct pair *p)
{
	enum lock_mode mode = mode_of(p->ev);
	struct lock_state *s;

	p->seen.stock_locks = true;
	if (pair_vendor_locks(&p->seen))
		return 0;
	p->restart |= p->used_lock_blocked;
	p->used_stock_locks = true;
	s = lock_state(p);
	if (!s)
		return -ENOMEM;
	switch (p->ev->kind) {
	case EV_LOCK_START:
		return wait_begin(p, s, mode);
	case EV_LOCK_ACQUIRED:
		return acquired(p, s, mode);
	default:
		return released(p, s, mode);
	}
}

static int vendor_event(struct pair *p)
{
	enum lock_mode mode = mode_of(p->ev);
	bool waits = p->ev->kind == EV_LOCK_WAIT_START || p->ev->kind == EV_LOCK_WAIT_END;
	struct lock_state *s;

	p->restart |= p->used_stock_locks || (waits && p->used_lock_blocked);
	p->seen.vendor_waits |= waits;
	p->seen.vendor_holds |= !waits;
	s = lock_state(p);
	if (!s)
		return -ENOMEM;
	switch (p->ev->kind) {
	case EV_LOCK_WAIT_START:
		return wait_begin(p, s, mode);
	case EV_LOCK_WAIT_END:
		return wait_over(p, s, mode);
	case EV_LOCK_HOLD_START:
		return hold_start(p, s, mode);
	default:
		return released(p, s, mode);
	}
}

int pair_lock_event(struct pair *p)
{
	switch (p->ev->kind) {
	case EV_LOCK_START:
	case EV_LOCK_ACQUIRED:
	case EV_LOCK_RELEASED:
		return stock_event(p);
	case EV_LOCK_WRITE_BLOCKED:
		return blocked(p);
	default:
		return vendor_event(p);
	}
}
