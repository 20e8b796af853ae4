/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_pair.c: the rules of pairing for faults, VMA writes and mmap_lock, one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair_help.h"

static void test_stock_wait_and_hold(void **state)
{
	struct pair_fixture *f = *state;
	struct event acquired = ev_lock(EV_LOCK_ACQUIRED, 5, 120, MM_A, MODE_READ);
	const struct interval *iv;

	feed(f, ev_lock(EV_LOCK_START, 5, 10, MM_A, MODE_WRITE));
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 20, MM_A, MODE_WRITE));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 50, MM_A, MODE_WRITE));
	iv = expect(f, IV_LOCK_WAIT, 0, 10, 20, 0);
	assert_int_equal(iv->mode, MODE_WRITE);
	assert_int_equal(iv->begin_place, 0);
	iv = expect(f, IV_LOCK_HOLD, 0, 20, 50, 0);
	assert_int_equal(iv->mode, MODE_WRITE);
	assert_int_equal(f->tasks.list.v[iv->task.v]->tid, 5);
	/* missing success = true; no wait at all is a wait of no length */
	acquired.has &= ~(u32)EVH_SUCCESS;
	acquired.u.lock.success = 0;
	feed(f, ev_lock(EV_LOCK_START, 5, 120, MM_A, MODE_READ));
	feed(f, acquired);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 130, MM_A, MODE_UNKNOWN));
	assert_int_equal(expect(f, IV_LOCK_WAIT, 1, 120, 120, 0)->mode, MODE_READ);
	assert_int_equal(expect(f, IV_LOCK_HOLD, 1, 120, 130, 0)->mode, MODE_READ);
	assert_true(pair_seen(f->p)->stock_locks);
	assert_int_equal(f->closed.n, 4);
}

static void test_failed_try(void **state)
{
	struct pair_fixture *f = *state;
	struct event failed = ev_lock(EV_LOCK_ACQUIRED, 5, 17, MM_A, MODE_READ);
	const struct pair_counts *n = pair_counts(f->p);

	failed.u.lock.success = 0;
	feed(f, ev_lock(EV_LOCK_START, 5, 10, MM_A, MODE_READ));
	feed(f, failed);
	expect(f, IV_LOCK_WAIT, 0, 10, 17, IVF_FAILED_TRY | IVF_OPEN_END);
	assert_int_equal(n->failed_tries[MODE_READ], 1);
	assert_int_equal(n->failed_tries_ns[MODE_READ], 7);
	assert_int_equal(n_closed(f, IV_LOCK_HOLD), 0);
	/* a contended fault then waits */
	stock_lock(f, 5, 17, MM_A, MODE_READ);
	expect(f, IV_LOCK_WAIT, 1, 17, 22, 0);
	/* a failed write try; its read hold goes on */
	failed = ev_lock(EV_LOCK_ACQUIRED, 5, 33, MM_A, MODE_WRITE);
	failed.u.lock.success = 0;
	feed(f, ev_lock(EV_LOCK_START, 5, 30, MM_A, MODE_WRITE));
	feed(f, failed);
	assert_int_equal(n->failed_tries[MODE_WRITE], 1);
	assert_int_equal(n->failed_tries_ns[MODE_WRITE], 3);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 40, MM_A, MODE_READ));
	expect(f, IV_LOCK_HOLD, 0, 22, 40, 0);
	/* one whose start was not seen is nothing */
	failed.time_ns = 50;
	feed(f, failed);
	assert_int_equal(n->failed_tries[MODE_WRITE], 1);
	assert_int_equal(f->closed.n, 4);
}

static void test_stock_downgrade(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	feed(f, ev_call(EV_CALL_ENTER, 5, 1, CALL_MUNMAP));
	stock_lock(f, 5, 10, MM_A, MODE_WRITE);
	feed(f, ev_call(EV_CALL_EXIT, 5, 19, CALL_MUNMAP));
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 20, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 30, MM_A, MODE_READ));
	assert_int_equal(expect(f, IV_LOCK_HOLD, 0, 15, 20, 0)->mode, MODE_WRITE);
	iv = expect(f, IV_LOCK_HOLD, 1, 20, 30, IVF_DOWNGRADED);
	assert_int_equal(iv->mode, MODE_READ);
	assert_int_equal(iv->origin, ORIGIN_MUNMAP);
	assert_int_equal(pair_counts(f->p)->downgrades, 1);
	assert_int_equal(n_closed(f, IV_LOCK_WAIT), 1);
}

static void test_vendor_downgrade(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 10, MM_A, MODE_WRITE));
	/* another mm's lock is no downgrade */
	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 15, MM_B, MODE_READ));
	feed(f, ev_lock(EV_LOCK_HOLD_START, 5, 20, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_HOLD_END, 5, 30, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_HOLD_END, 5, 40, MM_B, MODE_READ));
	expect(f, IV_LOCK_HOLD, 0, 10, 20, 0);
	expect(f, IV_LOCK_HOLD, 1, 20, 30, IVF_DOWNGRADED);
	expect(f, IV_LOCK_HOLD, 2, 15, 40, 0);
	assert_int_equal(pair_counts(f->p)->downgrades, 1);
}

static void test_acquire_without_start(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 20, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 30, MM_A, MODE_READ));
	expect(f, IV_LOCK_WAIT, 0, 20, 20, IVF_OPEN_BEGIN);
	expect(f, IV_LOCK_HOLD, 0, 20, 30, 0);
	assert_int_equal(pair_counts(f->p)->downgrades, 0);
}

static void test_second_acquire(void **state)
{
	struct pair_fixture *f = *state;

	stock_lock(f, 5, 10, MM_A, MODE_WRITE);
	/* it waits first: so it is no downgrade, and the release was lost */
	stock_lock(f, 5, 30, MM_A, MODE_READ);
	expect(f, IV_LOCK_HOLD, 0, 15, 35, IVF_OPEN_END);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 40, MM_A, MODE_READ));
	expect(f, IV_LOCK_HOLD, 1, 35, 40, 0);
	assert_int_equal(pair_counts(f->p)->downgrades, 0);
}

static void test_unmatched_lock_events(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 10, MM_A, MODE_READ));
	expect(f, IV_LOCK_HOLD, 0, 10, 10, IVF_OPEN_BEGIN);
	/* two starts */
	feed(f, ev_lock(EV_LOCK_START, 5, 20, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_START, 5, 25, MM_A, MODE_WRITE));
	expect(f, IV_LOCK_WAIT, 0, 20, 25, IVF_OPEN_END);
	/* an acquire in the other mode than its start */
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 30, MM_A, MODE_READ));
	expect(f, IV_LOCK_WAIT, 1, 25, 30, IVF_OPEN_END);
	expect(f, IV_LOCK_WAIT, 2, 30, 30, IVF_OPEN_BEGIN);
	/* and a release in the other mode than the hold */
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 40, MM_A, MODE_WRITE));
	expect(f, IV_LOCK_HOLD, 1, 30, 40, IVF_OPEN_END);
	assert_int_equal(expect(f, IV_LOCK_HOLD, 2, 40, 40, IVF_OPEN_BEGIN)->mode, MODE_WRITE);
	/* without the other's mm, and of another thread */
	feed(f, ev_lock(EV_LOCK_START, 5, 50, MM_A, MODE_READ));
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 6, 55, MM_A, MODE_READ));
	expect(f, IV_LOCK_WAIT, 3, 55, 55, IVF_OPEN_BEGIN);
	feed(f, ev_lock(EV_LOCK_ACQUIRED, 5, 56, MM_B, MODE_READ));
	expect(f, IV_LOCK_WAIT, 4, 56, 56, IVF_OPEN_BEGIN);
	finish(f, 100);
	expect(f, IV_LOCK_WAIT, 5, 50, 100, IVF_OPEN_END | IVF_AT_END);
}

/* fork holds its own and the child's. */
static void test_nested_mms(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *a, *b;

	stock_lock(f, 5, 10, MM_A, MODE_WRITE);
	stock_lock(f, 5, 20, MM_B, MODE_WRITE);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 30, MM_A, MODE_WRITE));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 40, MM_B, MODE_WRITE));
	a = expect(f, IV_LOCK_HOLD, 0, 15, 30, 0);
	b = expect(f, IV_LOCK_HOLD, 1, 25, 40, 0);
	assert_false(mm_same(a->mm, b->mm));
	/* a third one takes the place of an idle one */
	stock_lock(f, 5, 50, 0xcccc, MODE_READ);
	stock_lock(f, 5, 60, MM_A, MODE_READ);
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 70, 0xcccc, MODE_READ));
	feed(f, ev_lock(EV_LOCK_RELEASED, 5, 80, MM_A, MODE_READ));
	expect(f, IV_LOCK_HOLD, 2, 55, 70, 0);
	assert_true(mm_same(expect(f, IV_LOCK_HOLD, 3, 65, 80, 0)->mm, f->closed.v[0].mm));
	assert_int_equal(f->closed.n, 8);
}

static void test_whole_fault(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, 0, 0));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 30, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 40, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 45, 0, 0));
	feed(f, ev_fault_end(5, 50, MM_A, VMA_1, 0x200));
	/* what the wait does not print, it has of its fault */
	iv = expect(f, IV_FAULT_WAIT, 0, 20, 30, 0);
	assert_non_null(iv->parent);
	assert_true(iv->mm.v && iv->has_vma && iv->has_address && iv->has_file);
	assert_int_equal(iv->vma, VMA_1);
	assert_int_equal(iv->address, 0x7000);
	assert_int_equal(iv->ino, 77);
	expect(f, IV_FAULT_WAIT, 1, 40, 45, 0);
	iv = expect(f, IV_FAULT, 0, 10, 50, 0);
	assert_int_equal(iv->io_wait_ns, 15);
	assert_false(iv->retried);
	assert_int_equal(iv->origin, ORIGIN_FAULT);
	assert_int_equal(pair_counts(f->p)->faults, 1);
	assert_int_equal(f->retried.n, 0);
}

static void test_next_begin_ends_a_fault(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 30, MM_A, VMA_2));
	expect(f, IV_FAULT_WAIT, 0, 20, 30, IVF_OPEN_END);
	expect(f, IV_FAULT, 0, 10, 30, IVF_OPEN_END);
	/* this end has no wait of its own fault */
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 40, MM_A, VMA_2));
	expect(f, IV_FAULT_WAIT, 1, 40, 40, IVF_OPEN_BEGIN);
	/* a fault that ends while it waits */
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 50, MM_A, VMA_2));
	feed(f, ev_fault_end(5, 60, MM_A, VMA_2, 0));
	expect(f, IV_FAULT_WAIT, 2, 50, 60, IVF_OPEN_END);
	expect(f, IV_FAULT, 1, 30, 60, 0);
	assert_int_equal(pair_counts(f->p)->faults, 2);
	/* two waits begin */
	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 70, MM_A, VMA_2));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 71, MM_A, VMA_2));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 75, MM_A, VMA_2));
	expect(f, IV_FAULT_WAIT, 3, 71, 75, IVF_OPEN_END);
}

static void test_fault_without_begin(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 10, MM_A, VMA_1));
	expect(f, IV_FAULT_WAIT, 0, 10, 10, IVF_OPEN_BEGIN);
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 30, MM_A, VMA_1));
	/* this wait is whole, though its fault is not */
	expect(f, IV_FAULT_WAIT, 1, 20, 30, 0);
	feed(f, ev_fault(EV_FAULT_RETRY, 5, 40, MM_A, VMA_1));
	feed(f, ev_fault_end(5, 50, MM_A, VMA_1, 0x400));
	expect(f, IV_FAULT, 0, 10, 50, IVF_OPEN_BEGIN);
	assert_int_equal(pair_counts(f->p)->faults, 0);
	assert_int_equal(pair_counts(f->p)->fault_retries, 0);
	assert_int_equal(f->retried.n, 1);
	/* an end alone */
	feed(f, ev_fault_end(6, 60, MM_A, VMA_1, 0));
	expect(f, IV_FAULT, 1, 60, 60, IVF_OPEN_BEGIN);
}

static void test_wait_ends_disagree(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 30, MM_A, VMA_2));
	expect(f, IV_FAULT_WAIT, 0, 20, 30, IVF_OPEN_END);
	expect(f, IV_FAULT_WAIT, 1, 30, 30, IVF_OPEN_BEGIN);
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 40, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 50, MM_B, VMA_1));
	expect(f, IV_FAULT_WAIT, 2, 40, 50, IVF_OPEN_END);
	expect(f, IV_FAULT_WAIT, 3, 50, 50, IVF_OPEN_BEGIN);
	feed(f, ev_fault_end(5, 60, MM_A, VMA_1, 0));
	assert_int_equal(expect(f, IV_FAULT, 0, 10, 60, 0)->io_wait_ns, 0);
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 6, 70, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_END, 6, 80, MM_A, VMA_2));
	expect(f, IV_VMA_WAIT, 0, 70, 80, IVF_OPEN_END);
	expect(f, IV_VMA_WAIT, 1, 80, 80, IVF_OPEN_BEGIN);
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 6, 90, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_END, 6, 95, MM_B, 0));
	expect(f, IV_VMA_WAIT, 2, 90, 95, IVF_OPEN_END);
	expect(f, IV_VMA_WAIT, 3, 95, 95, IVF_OPEN_BEGIN);
}

static void test_whole_vma_write(void **state)
{
	struct pair_fixture *f = *state;
	struct event begin = ev_vma(EV_VMA_WRITE_BEGIN, 5, 10, MM_A, VMA_1);
	const struct interval *iv;

	begin.u.vma.caller = intern_add(&f->strings, "mprotect_fixup", 14);
	feed(f, begin);
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 5, 20, 0, 0));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_END, 5, 30, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 40, MM_A, VMA_1));
	iv = expect(f, IV_VMA_WAIT, 0, 20, 30, 0);
	assert_true(iv->mm.v && iv->has_vma && iv->has_range);
	assert_int_equal(iv->vm_start, VMA_1 * 0x1000);
	assert_int_equal(iv->vm_end, VMA_1 * 0x1000 + 0x4000);
	assert_int_equal(iv->caller, begin.u.vma.caller);
	assert_int_equal(iv->origin, ORIGIN_MPROTECT);
	assert_int_equal(expect(f, IV_VMA_WRITE, 0, 10, 40, 0)->origin, ORIGIN_MPROTECT);
	assert_int_equal(pair_counts(f->p)->vma_writes, 1);
	/* what only a later event prints, the write has too */
	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 50, 0, 0));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 5, 51, MM_A, VMA_2));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_END, 5, 52, 0, 0));
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 53, 0, 0));
	expect(f, IV_VMA_WAIT, 1, 51, 52, 0);
	iv = expect(f, IV_VMA_WRITE, 1, 50, 53, 0);
	assert_int_equal(iv->vma, VMA_2);
	assert_true(iv->mm.v);
}

static void test_vma_write_edges(void **state)
{
	struct pair_fixture *f = *state;

	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 5, 30, MM_A, VMA_1));
	expect(f, IV_VMA_WAIT, 0, 20, 30, IVF_OPEN_END);
	expect(f, IV_VMA_WRITE, 0, 10, 30, IVF_OPEN_END);
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 40, MM_A, VMA_1));
	expect(f, IV_VMA_WRITE, 1, 30, 40, 0);
	/* a done without a begin is nothing that lasts; a wait end without a start is open */
	feed(f, ev_vma(EV_VMA_WRITE_DONE, 5, 50, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_END, 5, 60, MM_A, VMA_1));
	expect(f, IV_VMA_WAIT, 1, 60, 60, IVF_OPEN_BEGIN);
	assert_int_equal(f->closed.n, 4);
	assert_int_equal(pair_counts(f->p)->vma_writes, 2);
}

static void test_loss(void **state)
{
	struct pair_fixture *f = *state;
	const struct interval *iv;

	gaps_event(&f->gaps, 0, 100);
	gaps_lost(&f->gaps, 0, 1, true);
	gaps_event(&f->gaps, 0, 200);
	gaps_finish(&f->gaps);
	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 100, MM_A, VMA_1)); /* a shared end is no overlap */
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 110, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_END, 5, 120, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_RETRY, 5, 130, MM_A, VMA_1));
	feed(f, ev_fault_end(5, 210, MM_A, VMA_1, 0));
	stock_lock(f, 5, 220, MM_A, MODE_READ);
	expect(f, IV_FAULT_WAIT, 0, 20, 100, 0);
	expect(f, IV_FAULT_WAIT, 1, 110, 120, IVF_LOSS);
	iv = expect(f, IV_FAULT, 0, 10, 210, IVF_LOSS);
	assert_int_equal(iv->io_wait_ns, 80);
	/* with loss since its begin, the retry may be another fault's: said at once */
	assert_int_equal(f->retried.n, 1);
	assert_true(f->retried.v[0].flags & IVF_LOSS);
	expect(f, IV_RETRY, 0, 130, 225, IVF_LOSS);
	expect(f, IV_LOCK_WAIT, 0, 220, 225, 0);
}

static void test_end_of_trace(void **state)
{
	struct pair_fixture *f = *state;
	u8 flags = IVF_OPEN_END | IVF_AT_END;

	feed(f, ev_fault(EV_FAULT_BEGIN, 5, 10, MM_A, VMA_1));
	feed(f, ev_fault(EV_FAULT_WAIT_START, 5, 20, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_BEGIN, 6, 21, MM_A, VMA_1));
	feed(f, ev_vma(EV_VMA_WRITE_WAIT_START, 6, 22, MM_A, VMA_1));
	stock_lock(f, 6, 30, MM_A, MODE_WRITE);
	feed(f, ev_lock(EV_LOCK_START, 7, 40, MM_A, MODE_READ));
	assert_int_equal(f->closed.n, 1);
	finish(f, 50);
	expect(f, IV_FAULT_WAIT, 0, 20, 50, flags);
	expect(f, IV_FAULT, 0, 10, 50, flags);
	expect(f, IV_VMA_WAIT, 0, 22, 50, flags);
	expect(f, IV_VMA_WRITE, 0, 21, 50, flags);
	expect(f, IV_LOCK_HOLD, 0, 35, 50, flags);
	expect(f, IV_LOCK_WAIT, 1, 40, 50, flags);
	assert_int_equal(f->closed.n, 7);
}

static void test_listener_fails(void **state)
{
	struct pair_fixture *f = *state;
	static const u16 kinds[] = { EV_FAULT_BEGIN, EV_FAULT_WAIT_START, EV_FAULT_WAIT_END,
				     EV_FAULT_RETRY, EV_FAULT_END };

	for (u32 i = 0; i < ARRAY_LEN(kinds); i++) {
		/* all went well up to this one */
		for (u32 k = 0; k < i; k++)
			feed(f, ev_fault(kinds[k], 5 + i, 100 * i + k, MM_A, VMA_1));
		f->answer = -EIO;
		feed(f, ev_fault(kinds[i], 5 + i, 100 * i + i, MM_A, VMA_1));
		f->answer = 0;
	}
}

/* What a BPF event tells of its own thread and of the lock's owner. */
static void test_bpf_tells_more(void **state)
{
	struct pair_fixture *f = *state;
	struct event start = ev_lock(EV_LOCK_WAIT_START, 5, 100, MM_A, MODE_WRITE);
	struct event hold = ev_lock(EV_LOCK_HOLD_START, 5, 200, MM_A, MODE_READ);
	u32 frame = intern_add(&f->strings, "vm_mmap_pgoff", 13);
	const struct interval *iv;
	struct task *task;

	start.has |= EVH_SELF_PRIO | EVH_SELF_STATE | EVH_SELF_CALL;
	start.prio = 49;
	start.state = SELF_BLOCKED;
	start.call = CALL_MUNMAP;
	start.stack = stacks_add(&f->stacks, &frame, 1);
	start.u.lock.owner_tid = 6;
	start.u.lock.owner_state = SELF_SLEEPING;
	start.u.lock.owner_write = 1;
	feed(f, start);
	feed(f, ev_lock(EV_LOCK_WAIT_END, 5, 150, MM_A, MODE_WRITE));
	iv = expect(f, IV_LOCK_WAIT, 0, 100, 150, 0);
	assert_int_equal(iv->stack, start.stack);
	assert_int_equal(iv->owner_tid, 6);
	assert_int_equal(iv->owner_state, SELF_SLEEPING);
	assert_true(iv->owner_write);
	/* the stack first, then the call the thread says it is inside */
	assert_int_equal(iv->origin, ORIGIN_MMAP);
	hold.u.lock.downgraded = 1;
	feed(f, hold);
	feed(f, ev_lock(EV_LOCK_HOLD_END, 5, 300, MM_A, MODE_READ));
	iv = expect(f, IV_LOCK_HOLD, 0, 200, 300, IVF_DOWNGRADED);
	assert_int_equal(iv->origin, ORIGIN_MUNMAP);
	assert_int_equal(pair_counts(f->p)->downgrades, 1);
	task = tasks_get(&f->tasks, tasks_find(&f->tasks, 5));
	assert_int_equal(task_state_at(task, 120), TASK_BLOCKED);
	assert_true(task_prio_at(&f->tasks, tasks_find(&f->tasks, 5), 100).known);
	assert_int_equal(task_prio_at(&f->tasks, tasks_find(&f->tasks, 5), 100).prio, 49);
	assert_true(pair_seen(f->p)->prios && pair_seen(f->p)->states && pair_seen(f->p)->calls);
	assert_false(pair_seen(f->p)->sched_switch);
}

int main(void)
{
#define PAIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_bpf_tells_more),
		PAIR_TEST(test_stock_wait_and_hold),
		PAIR_TEST(test_failed_try),
		PAIR_TEST(test_stock_downgrade),
		PAIR_TEST(test_vendor_downgrade),
		PAIR_TEST(test_acquire_without_start),
		PAIR_TEST(test_second_acquire),
		PAIR_TEST(test_unmatched_lock_events),
		PAIR_TEST(test_nested_mms),
		PAIR_TEST(test_whole_fault),
		PAIR_TEST(test_next_begin_ends_a_fault),
		PAIR_TEST(test_fault_without_begin),
		PAIR_TEST(test_wait_ends_disagree),
		PAIR_TEST(test_whole_vma_write),
		PAIR_TEST(test_vma_write_edges),
		PAIR_TEST(test_loss),
		PAIR_TEST(test_end_of_trace),
		PAIR_TEST(test_listener_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
