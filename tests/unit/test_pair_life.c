/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/test_pair_life.c: what depends on more than one pair of events: retry windows, lives
 * of threads and address spaces, families of events, and where a lock was taken.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair_help.h"

/* A fault of @tid in MM_A that waits for 10 ns, is retried at @at_ns and ends 1 ns later. */
static void retried_fault(struct pair_fixture *f, u32 tid, u64 at_ns)
{
	feed(f, ev_fault(EV_FAULT_BEGIN, tid, at_ns - 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, tid, at_ns - 15, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, tid, at_ns - 5, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_RETRY, tid, at_ns, MM_A, VMA_1));
	feed(f, ev_fault_end(tid, at_ns + 1, MM_A, VMA_1, 0x400));
}

static void test_retry_is_counted_once(void **state)
{
	struct pair_fixture *f = *state;

	retried_fault(f, 5, 100);
	assert_int_equal(pair_counts(f->p)->fault_retries, 1);
	assert_true(expect(f, IV_FAULT, 0, 80, 101, 0)->retried);
	/* two retry events of one fault */
	feed(f, ev_fault(EV_FAULT_BEGIN, 6, 200, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_RETRY, 6, 210, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_RETRY, 6, 220, MM_A, VMA_1));
	feed(f, ev_fault_end(6, 230, MM_A, VMA_1, 0));
	/* an end that says so, in a tree without the event */
	feed(f, ev_fault(EV_FAULT_BEGIN, 7, 300, MM_A, VMA_1));
	feed(f, ev_fault_end(7, 310, MM_A, VMA_1, 0x601));
	feed(f, ev_fault(EV_FAULT_BEGIN, 8, 320, MM_A, VMA_1));
	feed(f, ev_fault_end(8, 330, MM_A, VMA_1, 0x201));
	assert_int_equal(pair_counts(f->p)->fault_retries, 3);
	assert_int_equal(f->retried.n, 3);
	finish(f, 400);
	expect(f, IV_RETRY, 0, 100, 400, IVF_OPEN_END | IVF_AT_END);
	expect(f, IV_RETRY, 1, 210, 400, IVF_OPEN_END | IVF_AT_END);
	expect(f, IV_RETRY, 2, 310, 400, IVF_OPEN_END | IVF_AT_END);
	assert_int_equal(n_closed(f, IV_RETRY), 3);
}

static void test_window_ends_with_the_lock(void **state)
{
	struct pair_fixture *f = *state;
	struct event failed = ev_lock(EV_LOCK_ACQUIRED, 5, 108, MM_A, MODE_READ);
	const struct interval *iv;

	retried_fault(f, 5, 100);
	/* a failed try is not its own wait, another mm or a write lock not what it waits for */
	failed.u.lock.success = 0;
	feed(f, ev_lock(EV_LOCK_START, 5, 104, MM_A, MODE_READ));
	feed(f, failed);
	stock_lock(f, 5, 110, MM_B, MODE_READ);
	stock_lock(f, 5, 120, MM_A, MODE_WRITE);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 126, MM_A, MODE_WRITE));
	assert_int_equal(n_closed(f, IV_RETRY), 0);
	feed(f, ev_lock(EV_LOCK_START, 5, 130, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 137, MM_A, MODE_READ));
	iv = expect(f, IV_RETRY, 0, 100, 137, 0);
	assert_true(iv->has_own_wait);
	assert_int_equal(iv->own_wait_ns, 7);
	assert_int_equal(iv->io_wait_ns, 10);
	assert_true(mm_same(iv->mm, f->retried.v[0].mm));
}

static void test_window_ends_with_a_hold(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	/* vendor waits are printed only by who waits */
	retried_fault(f, 5, 100);
	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 110, MM_A, MODE_READ));
	iv = expect(f, IV_RETRY, 0, 100, 110, 0);
	assert_false(iv->has_own_wait);
	assert_int_equal(iv->own_wait_ns, 0);
	/* an acquire whose start was not seen shows that it has the lock too */
	retried_fault(f, 6, 200);
	feed(f, ev_lock(EV_LOCK_WAIT_END, 6, 210, MM_A, MODE_READ));
	assert_int_equal(expect(f, IV_RETRY, 1, 200, 210, 0)->own_wait_ns, 0);
	/* a wait that began before the retry is not its own */
	feed(f, ev_lock(EV_LOCK_WAIT_START, 7, 270, MM_A, MODE_READ));
	retried_fault(f, 7, 300);
	feed(f, ev_lock(EV_LOCK_WAIT_END, 7, 310, MM_A, MODE_READ));
	assert_false(expect(f, IV_RETRY, 2, 300, 310, 0)->has_own_wait);
}

static void test_window_ends_otherwise(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	retried_fault(f, 5, 100);
	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 120, MM_A, VMA_2));
	expect(f, IV_RETRY, 0, 100, 120, 0);
	retried_fault(f, 6, 200);
	feed(f, ev_lock(EV_LOCK_START, 6, 205, MM_A, MODE_READ));
	feed(f, ev_exit(6, 220, 0));
	/* an exit is a proper end, but the wait is cut */
	iv = expect(f, IV_RETRY, 1, 200, 220, 0);
	assert_true(iv->has_own_wait);
	assert_int_equal(iv->own_wait_ns, 0);
	expect(f, IV_LOCK_WAIT, 0, 205, 220, IVF_OPEN_END);
	/* two windows at once: the begin between was lost */
	feed(f, ev_fault(EV_FAULT_RETRY, 7, 300, MM_A, VMA_1));
	feed(f, ev_fault_end(7, 301, MM_A, VMA_1, 0x400));
	feed(f, ev_fault(EV_FAULT_RETRY, 7, 310, MM_B, VMA_1));
	feed(f, ev_fault_end(7, 311, MM_B, VMA_1, 0x400));
	feed(f, ev_fault(EV_FAULT_RETRY, 7, 320, MM_A, VMA_1));
	feed(f, ev_fault_end(7, 321, MM_A, VMA_1, 0x400));
	stock_lock(f, 7, 330, MM_A, MODE_READ);
	assert_int_equal(n_closed(f, IV_RETRY), 4);
	expect(f, IV_RETRY, 2, 320, 335, 0);
	expect(f, IV_RETRY, 3, 300, 335, 0);
	stock_lock(f, 7, 340, MM_B, MODE_READ);
	expect(f, IV_RETRY, 4, 310, 345, 0);
}

/* The I/O wait of a fault that is retried before that wait is over. */
static void test_io_wait_after_the_retry(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_RETRY, 5, 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 30, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 60, MM_A, VMA_1));
	feed(f, ev_fault_end(5, 70, MM_A, VMA_1, 0x400));
	stock_lock(f, 5, 80, MM_A, MODE_READ);
	assert_int_equal(expect(f, IV_RETRY, 0, 20, 85, 0)->io_wait_ns, 30);
}

static void test_exit_closes(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 22, MM_A, VMA_1));
	stock_lock(f, 5, 30, MM_A, MODE_WRITE);
	feed(f, ev_exit(5, 40, 1));
	expect(f, IV_FAULT_WAIT, 0, 20, 40, IVF_OPEN_END);
	expect(f, IV_FAULT, 0, 10, 40, IVF_OPEN_END);
	expect(f, IV_VMA_WRITE, 0, 22, 40, IVF_OPEN_END);
	expect(f, IV_LOCK_HOLD, 0, 35, 40, IVF_OPEN_END);
	finish(f, 50);
	assert_int_equal(f->closed.n, 5);
}

static u32 task_of(struct pair_fixture *f, u32 tid)
{
	u64 *id = map_get(&f->tasks.id_of_tid, tid);

	assert_non_null(id);
	return (u32)*id;
}

static void test_fork_reuses_a_tid(void **state)
{
	struct pair_fixture *f = *state;
	u32 old, child;

	stock_lock(f, 5, 10, MM_A, MODE_WRITE);
	old = task_of(f, 5);
	feed(f, ev_fork(9, 20, 5));
	child = task_of(f, 5);
	assert_true(old != child);
	expect(f, IV_LOCK_HOLD, 0, 15, 20, IVF_OPEN_END);
	/* a release of the new one is not the old one's */
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 30, MM_A, MODE_WRITE));
	assert_int_equal(expect(f, IV_LOCK_HOLD, 1, 30, 30, IVF_OPEN_BEGIN)->task.v, child);
}

static void test_newtask_and_fork_are_one_birth(void **state)
{
	struct pair_fixture *f = *state;
	struct event parent = ev_other(EV_OTHER, 9, 1);
	u32 child;

	parent.has = EVH_TGID;
	parent.tgid = 8;
	feed(f, parent);
	feed(f, ev_newtask(9, 10, 5, 0x10000));
	child = task_of(f, 5);
	feed(f, ev_fork(9, 11, 5));
	assert_int_equal(task_of(f, 5), child);
	assert_int_equal(f->tasks.list.v[child]->tgid, 8);
	/* once it has acted, another fork is another birth */
	feed(f, ev_other(EV_OTHER, 5, 12));
	feed(f, ev_newtask(9, 13, 5, 0));
	assert_true(task_of(f, 5) != child);
	assert_int_equal(f->tasks.list.v[task_of(f, 5)]->tgid, 5);
}

/* After an exit the thread is shown once more, as prev; after that the tid is free. */
static void test_tid_is_free_after_the_last_switch(void **state)
{
	struct pair_fixture *f = *state;
	u32 old;

	feed(f, ev_other(EV_OTHER, 5, 5));
	old = task_of(f, 5);
	feed(f, ev_exit(5, 10, 1));
	feed(f, ev_switch(20, 5, SCHED_RUNNABLE, 6));
	feed(f, ev_switch(25, 6, SCHED_SLEEPING, 5));
	assert_int_equal(task_of(f, 5), old);
	feed(f, ev_switch(30, 5, SCHED_DEAD, 6));
	feed(f, ev_other(EV_OTHER, 5, 40));
	assert_true(task_of(f, 5) != old);
}

/* The address space of the nth closed hold. */
static u32 mm_of_hold(struct pair_fixture *f, u32 nth)
{
	for (size_t i = 0; i < f->closed.n; i++) {
		if (f->closed.v[i].kind == IV_LOCK_HOLD && !nth--)
			return f->closed.v[i].mm.v;
	}
	fail_msg("no such hold");
	return 0;
}

/* A stock hold [at + 5, at + 8]; returns its address space. */
static u32 use_mm(struct pair_fixture *f, u32 tid, u64 at_ns, u64 mm)
{
	stock_lock(f, tid, at_ns, mm, MODE_READ);
	feed(f, ev_lock(EV_LOCK_RELEASED, tid, at_ns + 8, mm, MODE_READ));
	return mm_of_hold(f, n_closed(f, IV_LOCK_HOLD) - 1);
}

static void test_exit_ends_an_mm(void **state)
{
	struct pair_fixture *f = *state;
	u32 first = use_mm(f, 5, 10, MM_A);

	assert_int_equal(use_mm(f, 6, 20, MM_A), first);
	/* another thread still has it */
	feed(f, ev_exit(6, 30, 0));
	assert_int_equal(use_mm(f, 7, 40, MM_A), first);
	feed(f, ev_exit(7, 50, 1));
	assert_int_equal(use_mm(f, 5, 60, MM_A), first);
	feed(f, ev_exit(5, 70, 1));
	/* since 6.16 the exiting thread takes the lock of its dying mm after the event */
	assert_int_equal(use_mm(f, 5, 80, MM_A), first);
	/* for anybody else the pointer stands for a new one */
	assert_true(use_mm(f, 8, 90, MM_A) != first);
	assert_int_equal(use_mm(f, 8, 100, MM_A), use_mm(f, 9, 110, MM_A));
}

static void test_exit_of_some_thread(void **state)
{
	struct pair_fixture *f = *state;
	u32 first = use_mm(f, 5, 10, MM_A);

	/* not the last thread of its group: the mm lives on though no other thread of it was seen
	 */
	feed(f, ev_exit(5, 20, 0));
	assert_int_equal(use_mm(f, 6, 30, MM_A), first);
	/* where group_dead is not printed, the exit of the last thread seen ends it */
	feed(f, ev_exit(6, 40, 2));
	assert_int_equal(use_mm(f, 6, 45, MM_A), first);
}

/* A /proc reader still holds a dying mm's lock: it is no reused pointer. */
static void test_reader_of_a_dying_mm(void **state)
{
	struct pair_fixture *f = *state;
	u32 home, first;

	home = use_mm(f, 9, 10, MM_B);
	first = use_mm(f, 5, 20, MM_A);
	stock_lock(f, 9, 30, MM_A, MODE_READ);
	feed(f, ev_exit(5, 40, 1));
	feed(f, ev_lock(EV_LOCK_RELEASED, 9, 50, MM_A, MODE_READ));
	expect(f, IV_LOCK_HOLD, 2, 35, 50, 0);
	assert_int_equal(mm_of_hold(f, 2), first);
	/* it has let go: when it comes again, that is another address space */
	assert_true(use_mm(f, 9, 60, MM_A) != first);
	assert_int_equal(use_mm(f, 9, 70, MM_B), home);
	/* the reader's own exit ends its own */
	feed(f, ev_exit(9, 80, 1));
	assert_true(use_mm(f, 10, 90, MM_B) != home);
}

static void test_exec_ends_an_mm(void **state)
{
	struct pair_fixture *f = *state;
	u32 first = use_mm(f, 5, 10, MM_A), second;

	feed(f, ev_exec(5, 20));
	second = use_mm(f, 5, 30, MM_B);
	assert_true(second != first);
	assert_true(use_mm(f, 6, 40, MM_A) != first);
	assert_int_equal(use_mm(f, 7, 50, MM_B), second);
}

/* A vfork child shares its parent's address space truly, and its exec leaves that alone. */
static void test_vfork_shares(void **state)
{
	struct pair_fixture *f = *state;
	u32 first = use_mm(f, 5, 10, MM_A);

	feed(f, ev_fork(5, 20, 6));
	assert_int_equal(use_mm(f, 6, 30, MM_A), first);
	feed(f, ev_exec(6, 40));
	assert_true(use_mm(f, 6, 50, MM_B) != first);
	assert_int_equal(use_mm(f, 5, 60, MM_A), first);
	assert_int_equal(use_mm(f, 7, 70, MM_A), first);
}

static void test_no_mm_equals_nothing(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	retried_fault(f, 5, 100);
	stock_lock(f, 5, 110, 0, MODE_READ);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 120, 0, MODE_READ));
	iv = expect(f, IV_LOCK_HOLD, 0, 115, 120, 0);
	assert_false(mm_same(iv->mm, iv->mm));
	/* it was some mm's lock, who knows whose: the window is not over */
	assert_int_equal(n_closed(f, IV_RETRY), 0);
}

static void test_vendor_before_stock(void **state)
{
	struct pair_fixture *f = *state;

	stock_lock(f, 5, 10, MM_A, MODE_READ);
	feed_restarts(f, ev_lock(EV_LOCK_WAIT_START, 6, 20, MM_A, MODE_READ));
	pair_again(f);
	assert_true(pair_seen(f->p)->vendor_waits && pair_seen(f->p)->stock_locks);
	stock_lock(f, 5, 10, MM_A, MODE_READ);
	feed(f, ev_lock(EV_LOCK_WAIT_START, 6, 20, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_WAIT_END, 6, 30, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_HOLD_START, 6, 30, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 35, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_HOLD_END, 6, 40, MM_A, MODE_READ));
	expect(f, IV_LOCK_WAIT, 0, 20, 30, 0);
	expect(f, IV_LOCK_HOLD, 0, 30, 40, 0);
	assert_int_equal(f->closed.n, 2);
}

static void test_vendor_holds_alone_count(void **state)
{
	struct pair_fixture *f = *state;

	stock_lock(f, 5, 10, MM_A, MODE_READ);
	feed_restarts(f, ev_lock(EV_LOCK_HOLD_START, 6, 20, MM_A, MODE_READ));
	assert_true(pair_vendor_locks(pair_seen(f->p)));
}

static void test_v2_alone_is_a_write(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_vma(EV_VMA_WRITE_BEGIN_V2, 5, 10, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 20, MM_A, VMA_1));
	expect(f, IV_VMA_WRITE, 0, 10, 20, 0);
	assert_int_equal(pair_counts(f->p)->vma_writes, 1);
	feed_restarts(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 30, MM_A, VMA_1));
}

static void test_v2_beside_begin(void **state)
{
	struct pair_fixture *f = *state;
	struct event v2 = ev_vma(EV_VMA_WRITE_BEGIN_V2, 5, 11, MM_A, VMA_1);
	const struct interval *iv;

	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 10, MM_A, VMA_1));
	v2.has |= EVH_FILE;
	v2.u.vma.ino = 99;
	feed(f, v2);
	/* of another VMA: not this write's */
	v2 = ev_vma(EV_VMA_WRITE_BEGIN_V2, 5, 12, MM_A, VMA_2);
	v2.has |= EVH_FILE;
	v2.u.vma.ino = 98;
	feed(f, v2);
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 20, MM_A, VMA_1));
	iv = expect(f, IV_VMA_WRITE, 0, 10, 20, 0);
	assert_true(iv->has_file);
	assert_int_equal(iv->ino, 99);
	assert_int_equal(pair_counts(f->p)->vma_writes, 1);
	assert_int_equal(f->closed.n, 1);
}

static void test_vma_blocked_alone(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 1000, MM_A, VMA_1));
	feed(f, ev_blocked(EV_VMA_WRITE_BLOCKED, 5, 1500, 0, 400, 77));
	iv = expect(f, IV_VMA_WAIT, 0, 1100, 1500, IVF_BLOCKED);
	assert_int_equal(iv->blocker_tid, 77);
	assert_true(iv->mm.v && iv->has_vma);
	/* longer than the trace's clock has run */
	feed(f, ev_blocked(EV_VMA_WRITE_BLOCKED, 6, 1600, 0, UINT64_MAX, 77));
	iv = expect(f, IV_VMA_WAIT, 1, 0, 1600, IVF_BLOCKED);
	assert_int_equal(iv->mm.v, 0);
	feed_restarts(f, ev_vma(EV_VMA_WRITE_WAIT_START, 5, 1700, MM_A, VMA_1));
	pair_again(f);
	feed(f, ev_blocked(EV_VMA_WRITE_BLOCKED, 5, 1500, 0, 400, 77));
	assert_int_equal(pair_counts(f->p)->blocked_cross_checks, 1);
	assert_int_equal(f->closed.n, 0);
}

static void test_vma_blocked_then_wait_end(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_blocked(EV_VMA_WRITE_BLOCKED, 5, 1500, 0, 400, 77));
	feed_restarts(f, ev_vma(EV_VMA_WRITE_WAIT_END, 5, 1700, MM_A, VMA_1));
}

static void test_lock_blocked(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	feed(f, ev_blocked(EV_LOCK_WRITE_BLOCKED, 5, 500, MM_A, 100, 77));
	iv = expect(f, IV_LOCK_WAIT, 0, 400, 500, IVF_BLOCKED);
	assert_int_equal(iv->mode, MODE_UNKNOWN);
	assert_int_equal(iv->blocker_tid, 77);
	/* vendor holds are no wait pairs: it still counts */
	feed(f, ev_lock(EV_LOCK_HOLD_START, 6, 550, MM_A, MODE_READ));
	feed(f, ev_blocked(EV_LOCK_WRITE_BLOCKED, 5, 600, MM_A, 10, 77));
	expect(f, IV_LOCK_WAIT, 1, 590, 600, IVF_BLOCKED);
	/* vendor waits are */
	feed_restarts(f, ev_lock(EV_LOCK_WAIT_START, 6, 650, MM_A, MODE_READ));
	pair_again(f);
	feed(f, ev_blocked(EV_LOCK_WRITE_BLOCKED, 5, 500, MM_A, 100, 77));
	assert_int_equal(f->closed.n, 0);
	assert_int_equal(pair_counts(f->p)->blocked_cross_checks, 1);
}

static void test_lock_blocked_and_stock(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_blocked(EV_LOCK_WRITE_BLOCKED, 5, 500, MM_A, 100, 77));
	feed_restarts(f, ev_lock(EV_LOCK_START, 6, 550, MM_A, MODE_READ));
	pair_again(f);
	feed(f, ev_blocked(EV_LOCK_WRITE_BLOCKED, 5, 500, MM_A, 100, 77));
	stock_lock(f, 6, 550, MM_A, MODE_READ);
	expect(f, IV_LOCK_WAIT, 0, 550, 555, 0);
	assert_int_equal(f->closed.n, 1);
}

static u8 origin_of_hold(struct pair_fixture *f, u32 tid, u64 at_ns, enum lock_mode mode)
{
	stock_lock(f, tid, at_ns, MM_A, mode);
	feed(f, ev_lock(EV_LOCK_RELEASED, tid, at_ns + 8, MM_A, mode));
	return f->closed.v[f->closed.n - 1].origin;
}

static void test_origins(void **state)
{
	struct pair_fixture *f = *state;
	u32 frame = intern_add(&f->strings, "do_madvise", 10),
	    stack = stacks_add(&f->stacks, &frame, 1);
	struct event start = ev_lock(EV_LOCK_START, 5, 500, MM_A, MODE_WRITE);

	assert_int_equal(origin_of_hold(f, 5, 10, MODE_READ), ORIGIN_OTHER);
	feed(f, ev_call(EV_CALL_ENTER, 5, 20, CALL_MPROTECT));
	assert_int_equal(origin_of_hold(f, 5, 30, MODE_WRITE), ORIGIN_MPROTECT);
	/* a fault in kernel mode comes inside the call; one in user mode shows that it has returned
	 */
	feed(f, ev_other(EV_PAGE_FAULT_KERNEL, 5, 40));
	assert_int_equal(origin_of_hold(f, 5, 50, MODE_READ), ORIGIN_FAULT);
	assert_int_equal(origin_of_hold(f, 5, 60, MODE_WRITE), ORIGIN_MPROTECT);
	feed(f, ev_other(EV_PAGE_FAULT_USER, 5, 70));
	assert_int_equal(origin_of_hold(f, 5, 80, MODE_READ), ORIGIN_FAULT);
	/* a fault takes no write lock */
	assert_int_equal(origin_of_hold(f, 5, 90, MODE_WRITE), ORIGIN_OTHER);
	feed(f, ev_call(EV_CALL_ENTER, 5, 100, CALL_BRK));
	assert_int_equal(origin_of_hold(f, 5, 110, MODE_READ), ORIGIN_BRK);
	feed(f, ev_call(EV_CALL_EXIT, 5, 120, CALL_BRK));
	assert_int_equal(origin_of_hold(f, 5, 130, MODE_READ), ORIGIN_OTHER);
	/* on its way to the lock after a retry, and not any more once it has had it */
	retried_fault(f, 5, 200);
	assert_int_equal(origin_of_hold(f, 5, 210, MODE_READ), ORIGIN_FAULT);
	assert_int_equal(origin_of_hold(f, 5, 220, MODE_READ), ORIGIN_OTHER);
	/* a stack says more than the call, and a hold of a wait has its origin */
	feed(f, ev_call(EV_CALL_ENTER, 5, 490, CALL_MMAP));
	start.stack = stack;
	feed(f, start);
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 510, MM_A, MODE_WRITE));
	assert_int_equal(f->closed.v[f->closed.n - 1].origin, ORIGIN_MADVISE);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 520, MM_A, MODE_WRITE));
	feed(f, ev_exit(5, 600, 1));
	assert_int_equal(origin_of_hold(f, 5, 610, MODE_WRITE), ORIGIN_EXIT);
	assert_true(pair_seen(f->p)->stacks && pair_seen(f->p)->calls &&
		    pair_seen(f->p)->page_faults);
}

/* A vendor hold names no caller: the first VMA that is written under it tells. */
static void test_a_write_explains_its_hold(void **state)
{
	struct pair_fixture *f = *state;
	struct event begin = ev_vma(EV_VMA_WRITE_BEGIN, 5, 20, MM_A, VMA_1);

	begin.u.vma.caller = intern_add(&f->strings, "mprotect_fixup", 14);
	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 10, MM_A, MODE_WRITE));
	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 11, MM_B, MODE_WRITE));
	feed(f, begin);
	begin.time_ns = 25;
	begin.u.vma.caller = intern_add(&f->strings, "split_vma", 9);
	feed(f, begin);
	feed(f, ev_lock(EV_LOCK_HOLD_END, 5, 30, MM_A, MODE_WRITE));
	feed(f, ev_lock(EV_LOCK_HOLD_END, 5, 31, MM_B, MODE_WRITE));
	assert_int_equal(expect(f, IV_LOCK_HOLD, 0, 10, 30, 0)->origin, ORIGIN_MPROTECT);
	assert_int_equal(expect(f, IV_LOCK_HOLD, 1, 11, 31, 0)->origin, ORIGIN_OTHER);
}

/* What a scheduler trace tells of a thread at a time. */
static void test_states_and_priorities(void **state)
{
	struct pair_fixture *f = *state;
	struct event waking = ev_other(EV_SCHED_WAKING, 6, 40);
	const struct task *t;
	u32 id;

	feed(f, ev_switch(10, 6, SCHED_SLEEPING, 5));
	feed(f, ev_switch(20, 5, SCHED_BLOCKED, 6));
	waking.u.wake.tid = 5;
	feed(f, waking);
	feed(f, ev_switch(50, 6, SCHED_RUNNABLE, 5));
	id = task_of(f, 5);
	t = f->tasks.list.v[id];
	assert_int_equal(task_state_at(t, 9), TASK_UNKNOWN);
	assert_int_equal(task_state_at(t, 10), TASK_RUNNING);
	assert_int_equal(task_state_at(t, 20), TASK_BLOCKED);
	assert_int_equal(task_state_at(t, 39), TASK_BLOCKED);
	assert_int_equal(task_state_at(t, 40), TASK_RUNNABLE);
	assert_int_equal(task_state_at(t, 50), TASK_RUNNING);
	/* a running thread that is woken runs on */
	waking.time_ns = 60;
	feed(f, waking);
	assert_int_equal(task_state_at(t, 60), TASK_RUNNING);
	assert_false(task_prio_at(&f->tasks, (struct task_id){ id }, 9).known);
	assert_int_equal(task_prio_at(&f->tasks, (struct task_id){ id }, 10).prio, 110);
	assert_int_equal(task_prio_at(&f->tasks, (struct task_id){ id }, 20).prio, 120);
	assert_true(pair_seen(f->p)->sched_switch);
}

int main(void)
{
#define PAIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_retry_is_counted_once),
		PAIR_TEST(test_window_ends_with_the_lock),
		PAIR_TEST(test_window_ends_with_a_hold),
		PAIR_TEST(test_window_ends_otherwise),
		PAIR_TEST(test_io_wait_after_the_retry),
		PAIR_TEST(test_exit_closes),
		PAIR_TEST(test_fork_reuses_a_tid),
		PAIR_TEST(test_newtask_and_fork_are_one_birth),
		PAIR_TEST(test_tid_is_free_after_the_last_switch),
		PAIR_TEST(test_exit_ends_an_mm),
		PAIR_TEST(test_exit_of_some_thread),
		PAIR_TEST(test_reader_of_a_dying_mm),
		PAIR_TEST(test_exec_ends_an_mm),
		PAIR_TEST(test_vfork_shares),
		PAIR_TEST(test_no_mm_equals_nothing),
		PAIR_TEST(test_vendor_before_stock),
		PAIR_TEST(test_vendor_holds_alone_count),
		PAIR_TEST(test_v2_alone_is_a_write),
		PAIR_TEST(test_v2_beside_begin),
		PAIR_TEST(test_vma_blocked_alone),
		PAIR_TEST(test_vma_blocked_then_wait_end),
		PAIR_TEST(test_lock_blocked),
		PAIR_TEST(test_lock_blocked_and_stock),
		PAIR_TEST(test_origins),
		PAIR_TEST(test_a_write_explains_its_hold),
		PAIR_TEST(test_states_and_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
