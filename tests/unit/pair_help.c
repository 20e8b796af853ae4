/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/pair_help.c: hand-made events and a recording listener (see pair_help.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair_help.h"

static int on_open(void *ctx, struct interval *iv)
{
	struct pair_fixture *f = ctx;

	assert_false(iv->flags & (IVF_OPEN_BEGIN | IVF_OPEN_END | IVF_BLOCKED));
	for (u32 i = 0; i < INTERVAL_NOTES; i++)
		assert_null(iv->note[i]);
	iv->note[0] = f;
	f->opened++;
	return f->answer;
}

static int on_close(void *ctx, struct interval *iv)
{
	struct pair_fixture *f = ctx;
	struct interval *copy = vec_push(&f->closed);
	bool told = !(iv->flags & (IVF_OPEN_BEGIN | IVF_BLOCKED));

	assert_non_null(copy);
	/* what a listener noted is still there, and intervals that it was not told of have no note
	 */
	assert_ptr_equal(iv->note[0], told ? f : NULL);
	assert_true(iv->begin_ns <= iv->end_ns);
	*copy = *iv;
	/* a parent lives as long as the interval */
	if (iv->parent)
		assert_true(iv->parent->kind == IV_FAULT || iv->parent->kind == IV_VMA_WRITE);
	f->opened -= told;
	return f->answer;
}

static int on_retry(void *ctx, struct interval *fault)
{
	struct pair_fixture *f = ctx;
	struct interval *copy = vec_push(&f->retried);

	assert_non_null(copy);
	assert_true(fault->retried);
	*copy = *fault;
	return f->answer;
}

static int on_advance(void *ctx, u64 now_ns)
{
	struct pair_fixture *f = ctx;

	assert_true(now_ns > f->last_ns);
	f->last_ns = now_ns;
	return 0;
}

static void start(struct pair_fixture *f, const struct pair_seen *known)
{
	tasks_init(&f->tasks);
	f->p = pair_new(&f->tasks, &f->gaps, &f->origins, &f->strings, &f->stacks, known,
			&f->listener, 1);
	assert_non_null(f->p);
}

int pair_setup(void **state)
{
	struct pair_fixture *f = calloc(1, sizeof(*f));
	struct pair_seen nothing = { 0 };

	assert_non_null(f);
	gaps_init(&f->gaps);
	origins_init(&f->origins);
	intern_init(&f->strings);
	stacks_init(&f->stacks);
	f->listener = (struct pair_listener){ f, 0, on_open, on_close, on_retry, on_advance };
	start(f, &nothing);
	*state = f;
	return 0;
}

void pair_again(struct pair_fixture *f)
{
	struct pair_seen known = *pair_seen(f->p);

	finish(f, f->last_ns);
	pair_free(f->p);
	tasks_done(&f->tasks);
	f->closed.n = 0;
	f->retried.n = 0;
	f->opened = 0;
	f->place = 0;
	f->last_ns = 0;
	start(f, &known);
}

int pair_teardown(void **state)
{
	struct pair_fixture *f = *state;

	f->answer = 0;
	finish(f, f->last_ns + 1000);
	assert_int_equal(f->opened, 0);
	assert_int_equal(pair_counts(f->p)->refused_intervals, 0);
	pair_free(f->p);
	tasks_done(&f->tasks);
	stacks_done(&f->stacks);
	intern_done(&f->strings);
	origins_done(&f->origins);
	gaps_done(&f->gaps);
	vec_done(&f->closed);
	vec_done(&f->retried);
	free(f);
	return 0;
}

void feed(struct pair_fixture *f, struct event ev)
{
	assert_int_equal(pair_event(f->p, &ev, f->place++), f->answer);
}

void feed_restarts(struct pair_fixture *f, struct event ev)
{
	assert_int_equal(pair_event(f->p, &ev, f->place++), PAIR_RESTART);
}

void finish(struct pair_fixture *f, u64 end_ns)
{
	assert_int_equal(pair_finish(f->p, end_ns), 0);
}

struct event ev_other(u16 kind, u32 tid, u64 time_ns)
{
	return (struct event){ .time_ns = time_ns, .kind = kind, .tid = tid };
}

static struct event ev_mm(u16 kind, u32 tid, u64 time_ns, u64 mm)
{
	struct event ev = ev_other(kind, tid, time_ns);

	ev.mm = mm;
	ev.has = mm ? EVH_MM : 0;
	return ev;
}

struct event ev_lock(u16 kind, u32 tid, u64 time_ns, u64 mm, enum lock_mode mode)
{
	struct event ev = ev_mm(kind, tid, time_ns, mm);

	if (mode != MODE_UNKNOWN)
		ev.has |= EVH_WRITE;
	ev.u.lock.write = mode == MODE_WRITE;
	if (kind == EV_LOCK_ACQUIRED)
		ev.has |= EVH_SUCCESS;
	ev.u.lock.success = 1;
	return ev;
}

struct event ev_fault(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 vma)
{
	struct event ev = ev_mm(kind, tid, time_ns, mm);

	ev.has |= vma ? EVH_VMA : 0;
	ev.u.fault.vma = vma;
	if (kind == EV_FAULT_BEGIN) {
		ev.has |= EVH_ADDRESS | EVH_FILE;
		ev.u.fault.address = 0x7000;
		ev.u.fault.ino = 77;
	}
	return ev;
}

struct event ev_fault_end(u32 tid, u64 time_ns, u64 mm, u64 vma, u32 ret)
{
	struct event ev = ev_fault(EV_FAULT_END, tid, time_ns, mm, vma);

	ev.has |= EVH_RET;
	ev.u.fault.ret = ret;
	return ev;
}

struct event ev_vma(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 vma)
{
	struct event ev = ev_mm(kind, tid, time_ns, mm);

	ev.has |= vma ? EVH_VMA | EVH_RANGE : 0;
	ev.u.vma.vma = vma;
	ev.u.vma.vm_start = vma * 0x1000;
	ev.u.vma.vm_end = vma * 0x1000 + 0x4000;
	return ev;
}

struct event ev_blocked(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 wait_ns, u32 blocker_tid)
{
	struct event ev = ev_mm(kind, tid, time_ns, mm);

	ev.u.blocked.wait_ns = wait_ns;
	ev.u.blocked.blocker_tid = blocker_tid;
	return ev;
}

struct event ev_fork(u32 tid, u64 time_ns, u32 child_tid)
{
	struct event ev = ev_other(EV_PROC_FORK, tid, time_ns);

	ev.u.fork.parent_tid = tid;
	ev.u.fork.child_tid = child_tid;
	return ev;
}

struct event ev_newtask(u32 tid, u64 time_ns, u32 child_tid, u64 clone_flags)
{
	struct event ev = ev_other(EV_TASK_NEWTASK, tid, time_ns);

	ev.u.newtask.tid = child_tid;
	ev.u.newtask.clone_flags = clone_flags;
	return ev;
}

struct event ev_exec(u32 tid, u64 time_ns)
{
	struct event ev = ev_other(EV_PROC_EXEC, tid, time_ns);

	ev.u.exec.tid = ev.u.exec.old_tid = tid;
	return ev;
}

struct event ev_exit(u32 tid, u64 time_ns, u32 group_dead)
{
	struct event ev = ev_other(EV_PROC_EXIT, tid, time_ns);

	ev.u.exit.tid = tid;
	ev.u.exit.group_dead = group_dead;
	return ev;
}

struct event ev_switch(u64 time_ns, u32 prev_tid, u32 prev_state, u32 next_tid)
{
	struct event ev = ev_other(EV_SCHED_SWITCH, prev_tid, time_ns);

	ev.has = EVH_PRIO;
	ev.u.sched = (struct ev_sched){ .prev_tid = prev_tid,
					.next_tid = next_tid,
					.prev_prio = 120,
					.next_prio = 110,
					.prev_state = prev_state };
	return ev;
}

struct event ev_call(u16 kind, u32 tid, u64 time_ns, enum as_call call)
{
	struct event ev = ev_other(kind, tid, time_ns);

	ev.u.call.call = call;
	return ev;
}

void stock_lock(struct pair_fixture *f, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode)
{
	feed(f, ev_lock(EV_LOCK_START, tid, at_ns, mm, mode));
	feed(f, ev_lock(EV_LOCK_ACQUIRED, tid, at_ns + 5, mm, mode));
}

u32 n_closed(const struct pair_fixture *f, enum interval_kind kind)
{
	u32 n = 0;

	for (size_t i = 0; i < f->closed.n; i++)
		n += f->closed.v[i].kind == kind;
	return n;
}

const struct interval *expect(const struct pair_fixture *f, enum interval_kind kind, u32 nth,
			      u64 begin_ns, u64 end_ns, u8 flags)
{
	for (size_t i = 0; i < f->closed.n; i++) {
		const struct interval *iv = &f->closed.v[i];

		if (iv->kind != kind || nth--)
			continue;
		assert_int_equal(iv->begin_ns, begin_ns);
		assert_int_equal(iv->end_ns, end_ns);
		assert_int_equal(iv->flags, flags);
		return iv;
	}
	fail_msg("no such interval of kind %d", kind);
	return NULL;
}
