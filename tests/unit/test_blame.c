/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_blame.c: who is to blame for a wait, by hand-made events, to the nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/stack_text.h"
#include "pair_help.h"

#define MM 0xaaaa0001
#define VMA 0x7

struct fixture {
	struct pair_fixture f; /* its listener is the analysis */
	struct analysis_opts opts;
	struct analysis_ctx ctx;
	const struct analysis_ops *ops;
	void *blame;
	struct result r;
};

static void begin(struct fixture *x, const struct pair_seen *known)
{
	struct pair_fixture *f = &x->f;

	f->p = pair_new(&f->tasks, &f->gaps, &f->origins, &f->strings, &f->stacks, known,
			&f->listener, 1);
	assert_non_null(f->p);
	x->ctx.seen = pair_seen(f->p);
	x->ctx.counts = pair_counts(f->p);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct pair_seen nothing = { 0 };
	struct pair_fixture *f;

	assert_non_null(x);
	f = &x->f;
	gaps_init(&f->gaps);
	origins_init(&f->origins);
	intern_init(&f->strings);
	stacks_init(&f->stacks);
	tasks_init(&f->tasks);
	result_init(&x->r);
	x->opts.contended_ns = 1000;
	x->ctx = (struct analysis_ctx){ .opts = &x->opts,
					.tasks = &f->tasks,
					.strings = &f->strings,
					.stacks = &f->stacks,
					.resolution_ns = 1,
					.clock_has_seconds = true };
	x->ops = analysis_ops[ANALYSIS_BLAME];
	x->blame = x->ops->new (&x->ctx);
	assert_non_null(x->blame);
	f->listener = (struct pair_listener){ x->blame,	     x->ops->kinds, x->ops->open,
					      x->ops->close, x->ops->retry, x->ops->advance };
	begin(x, &nothing);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	struct pair_fixture *f = &x->f;

	x->ops->free(x->blame);
	pair_free(f->p);
	tasks_done(&f->tasks);
	stacks_done(&f->stacks);
	intern_done(&f->strings);
	origins_done(&f->origins);
	gaps_done(&f->gaps);
	result_done(&x->r);
	free(x);
	return 0;
}

static void judge(struct fixture *x, u64 end_ns)
{
	finish(&x->f, end_ns);
	assert_int_equal(x->ops->finish(x->blame, &x->r), 0);
}

static u32 name(struct fixture *x, const char *s)
{
	return intern_add(&x->f.strings, s, strlen(s));
}

static void wait_for(struct fixture *x, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode)
{
	feed(&x->f, ev_lock(EV_LOCK_WAIT_START, tid, at_ns, mm, mode));
}

static void got(struct fixture *x, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode)
{
	feed(&x->f, ev_lock(EV_LOCK_WAIT_END, tid, at_ns, mm, mode));
	feed(&x->f, ev_lock(EV_LOCK_HOLD_START, tid, at_ns, mm, mode));
}

static void hold(struct fixture *x, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode)
{
	feed(&x->f, ev_lock(EV_LOCK_HOLD_START, tid, at_ns, mm, mode));
}

static void release(struct fixture *x, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode)
{
	feed(&x->f, ev_lock(EV_LOCK_HOLD_END, tid, at_ns, mm, mode));
}

static void fault(struct fixture *x, u16 kind, u32 tid, u64 at_ns, const char *reason)
{
	struct event ev = ev_fault(kind, tid, at_ns, MM, VMA);

	ev.u.fault.reason = reason ? name(x, reason) : 0;
	feed(&x->f, ev);
}

static void vma(struct fixture *x, u16 kind, u32 tid, u64 at_ns)
{
	struct event ev = ev_vma(kind, tid, at_ns, MM, VMA);

	ev.u.vma.caller = name(x, "mprotect_fixup");
	feed(&x->f, ev);
}

/* --- what was found --- */

static bool cell_says(const struct result *r, enum table_id t, u32 row, const char *key,
		      const char *want)
{
	const struct cell *c = result_cell(r, t, row, key);

	assert_non_null(c);
	if (!want || c->null)
		return !want && c->null;
	return c->len == strlen(want) && !memcmp(c->s, want, c->len);
}

static u64 number(const struct result *r, enum table_id t, u32 row, const char *key)
{
	const struct cell *c = result_cell(r, t, row, key);

	assert_non_null(c);
	return c->null ? 0 : c->u;
}

static void expect_blame(struct fixture *x, u32 waiter, const char *lock, u32 blocker,
			 const char *because, u64 ns)
{
	u64 found_ns = 0;

	for (u32 i = 0; i < x->r.tables[TABLE_BLAME].n_rows; i++) {
		if (number(&x->r, TABLE_BLAME, i, "waiter_tid") == waiter &&
		    number(&x->r, TABLE_BLAME, i, "blocker_tid") == blocker &&
		    cell_says(&x->r, TABLE_BLAME, i, "lock", lock) &&
		    cell_says(&x->r, TABLE_BLAME, i, "because", because))
			found_ns += number(&x->r, TABLE_BLAME, i, "time");
	}
	assert_int_equal(found_ns, ns);
}

static void expect_chain(struct fixture *x, u32 waiter, const char *path, const char *end, u32 hops,
			 u32 root, u64 ns)
{
	u64 found_ns = 0;

	for (u32 i = 0; i < x->r.tables[TABLE_BLAME_CHAINS].n_rows; i++) {
		if (number(&x->r, TABLE_BLAME_CHAINS, i, "waiter_tid") != waiter ||
		    !cell_says(&x->r, TABLE_BLAME_CHAINS, i, "path", path) ||
		    !cell_says(&x->r, TABLE_BLAME_CHAINS, i, "end", end))
			continue;
		assert_int_equal(number(&x->r, TABLE_BLAME_CHAINS, i, "hops"), hops);
		assert_int_equal(number(&x->r, TABLE_BLAME_CHAINS, i, "root_tid"), root);
		found_ns += number(&x->r, TABLE_BLAME_CHAINS, i, "time");
	}
	assert_int_equal(found_ns, ns);
}

static u64 time_of(const struct result *r, enum table_id t, u32 waiter)
{
	u64 ns = 0;

	for (u32 i = 0; i < r->tables[t].n_rows; i++)
		ns += number(r, t, i, "waiter_tid") == waiter ? number(r, t, i, "time") : 0;
	return ns;
}

/* Both tables tell of the same time, all of it. */
static void expect_sum(struct fixture *x, u32 waiter, u64 ns)
{
	assert_int_equal(time_of(&x->r, TABLE_BLAME, waiter), ns);
	assert_int_equal(time_of(&x->r, TABLE_BLAME_CHAINS, waiter), ns);
}

static u32 root_row(struct fixture *x, u32 tid, const char *because)
{
	for (u32 i = 0; i < x->r.tables[TABLE_BLAME_ROOTS].n_rows; i++) {
		if (number(&x->r, TABLE_BLAME_ROOTS, i, "tid") == tid &&
		    cell_says(&x->r, TABLE_BLAME_ROOTS, i, "because", because))
			return i;
	}
	fail_msg("no such root: %u %s", tid, because);
	return 0;
}

static void expect_root(struct fixture *x, u32 tid, const char *because, u64 direct_ns, u64 ns,
			u64 waiters)
{
	u32 row = root_row(x, tid, because);

	assert_int_equal(number(&x->r, TABLE_BLAME_ROOTS, row, "direct"), direct_ns);
	assert_int_equal(number(&x->r, TABLE_BLAME_ROOTS, row, "time"), ns);
	assert_int_equal(number(&x->r, TABLE_BLAME_ROOTS, row, "waiters"), waiters);
}

/* --- tests --- */

/*
 * 1 faults and sleeps with its VMA's lock; 2 has mmap_lock and wants that VMA; 3 wants mmap_lock to
 * write, and 4, behind it, to read.
 */
static void three_hops(struct fixture *x)
{
	fault(x, EV_FAULT_BEGIN, 1, 1000, NULL);
	fault(x, EV_FAULT_WAIT_START, 1, 2000, "page_mkwrite");
	hold(x, 2, 10000, MM, MODE_WRITE);
	vma(x, EV_VMA_WRITE_BEGIN, 2, 11000);
	vma(x, EV_VMA_WRITE_WAIT_START, 2, 12000);
	wait_for(x, 3, 20000, MM, MODE_WRITE);
	wait_for(x, 4, 30001, MM, MODE_READ);
	fault(x, EV_FAULT_WAIT_END, 1, 102000, "page_mkwrite");
	fault(x, EV_FAULT_END, 1, 103000, NULL);
	vma(x, EV_VMA_WRITE_WAIT_END, 2, 104000);
	vma(x, EV_VMA_WRITE_DONE, 2, 105000);
	release(x, 2, 110000, MM, MODE_WRITE);
	got(x, 3, 112000, MM, MODE_WRITE);
	release(x, 3, 114000, MM, MODE_WRITE);
	got(x, 4, 115000, MM, MODE_READ);
	release(x, 4, 116000, MM, MODE_READ);
}

#define HOP_1 "fault tid 1 holds the VMA lock (page_mkwrite)"
#define HOP_2 "mprotect tid 2 holds mmap_lock"

static void test_three_hops(void **state)
{
	struct fixture *x = *state;

	three_hops(x);
	judge(x, 200000);
	expect_blame(x, 2, "vma", 1, "fault holds the VMA lock", 91000);
	expect_blame(x, 2, "vma", 0, "wake-up", 1000);
	expect_blame(x, 3, "mmap_lock", 2, "holds to write", 90000);
	expect_blame(x, 3, "mmap_lock", 0, "wake-up", 2000);
	expect_blame(x, 4, "mmap_lock", 2, "holds to write", 79999);
	expect_blame(x, 4, "mmap_lock", 3, "queued to write", 2000);
	expect_blame(x, 4, "mmap_lock", 3, "holds to write", 2000);
	expect_blame(x, 4, "mmap_lock", 0, "wake-up", 1000);

	expect_chain(x, 2, HOP_1, "root", 1, 1, 91000);
	expect_chain(x, 2, NULL, "wake-up", 0, 0, 1000);
	expect_chain(x, 3, HOP_2 " < " HOP_1, "root", 2, 1, 83000);
	expect_chain(x, 3, HOP_2, "wake-up", 1, 2, 1000);
	expect_chain(x, 3, HOP_2, "root", 1, 2, 6000);
	expect_chain(x, 3, NULL, "wake-up", 0, 0, 2000);
	expect_chain(x, 4, HOP_2 " < " HOP_1, "root", 2, 1, 72999);
	/* 3 is queued, and nobody has the lock any more: it is being woken up */
	expect_chain(x, 4, "tid 3 is queued for mmap_lock", "wake-up", 1, 3, 2000);
	expect_chain(x, 4, "tid 3 holds mmap_lock", "root", 1, 3, 2000);
	expect_sum(x, 2, 92000);
	expect_sum(x, 3, 92000);
	expect_sum(x, 4, 84999);

	/* 2 waits 91,000 for it directly; 3 and 4 through 2 */
	expect_root(x, 1, "fault holds the VMA lock", 91000, 91000 + 83000 + 72999, 3);
	expect_root(x, 2, "holds to write", 14000, 14000, 2);
	assert_true(cell_says(&x->r, TABLE_BLAME_ROOTS, root_row(x, 1, "fault holds the VMA lock"),
			      "reason", "page_mkwrite"));
	/* no priorities */
	assert_true(result_cell(&x->r, TABLE_BLAME_ROOTS, 0, "inverted")->null);
	assert_int_equal(x->ctx.refused, 0);
	assert_false(x->r.tables[TABLE_BLAME_STACKS].covered);
}

/* A third mm's reader stands behind a queued writer, who stands behind a holder that waits itself.
 */
static void test_queued_leads_on(void **state)
{
	struct fixture *x = *state;

	hold(x, 1, 1000, MM + 1, MODE_WRITE);
	hold(x, 2, 1500, MM, MODE_READ);
	wait_for(x, 2, 2000, MM + 1, MODE_READ);
	wait_for(x, 3, 3000, MM, MODE_WRITE);
	wait_for(x, 4, 4000, MM, MODE_READ);
	release(x, 1, 50000, MM + 1, MODE_WRITE);
	got(x, 2, 50000, MM + 1, MODE_READ);
	release(x, 2, 60000, MM, MODE_READ);
	got(x, 3, 60000, MM, MODE_WRITE);
	release(x, 3, 61000, MM, MODE_WRITE);
	got(x, 4, 61000, MM, MODE_READ);
	judge(x, 100000);
	expect_blame(x, 4, "mmap_lock", 3, "queued to write", 56000);
	expect_chain(x, 4,
		     "tid 3 is queued for mmap_lock < tid 2 holds mmap_lock to read < tid 1 holds "
		     "mmap_lock",
		     "root", 3, 1, 46000);
	expect_chain(x, 4, "tid 3 is queued for mmap_lock < tid 2 holds mmap_lock to read", "root",
		     2, 2, 10000);
	expect_sum(x, 4, 57000);
	expect_root(x, 1, "holds to write", 48000, 48000 + 47000 + 46000, 3);
}

static void test_cycle(void **state)
{
	struct fixture *x = *state;

	hold(x, 1, 0, MM, MODE_WRITE);
	hold(x, 2, 0, MM + 1, MODE_WRITE);
	wait_for(x, 1, 5000, MM + 1, MODE_WRITE);
	wait_for(x, 2, 8000, MM, MODE_WRITE);
	release(x, 2, 35000, MM + 1, MODE_WRITE);
	got(x, 1, 40000, MM + 1, MODE_WRITE);
	release(x, 1, 50000, MM, MODE_WRITE);
	got(x, 2, 60000, MM, MODE_WRITE);
	judge(x, 100000);
	expect_chain(x, 1, "tid 2 holds mmap_lock", "root", 1, 2, 3000);
	expect_chain(x, 1, "tid 2 holds mmap_lock < tid 1 holds mmap_lock", "cycle", 2, 0, 27000);
	expect_chain(x, 1, NULL, "wake-up", 0, 0, 5000);
	expect_chain(x, 2, "tid 1 holds mmap_lock < tid 2 holds mmap_lock", "cycle", 2, 0, 27000);
	/* 1 is woken up from 35,000 to 40,000, and then it is the root */
	expect_chain(x, 2, "tid 1 holds mmap_lock", "wake-up", 1, 1, 5000);
	expect_chain(x, 2, "tid 1 holds mmap_lock", "root", 1, 1, 10000);
	expect_sum(x, 1, 35000);
	expect_sum(x, 2, 52000);
	/* a cycle has no root */
	expect_root(x, 2, "holds to write", 3000, 3000, 1);
}

/* Thread i holds the lock of mm i and waits for that of mm i + 1, ten in a row. */
static void test_depth_limit(void **state)
{
	struct fixture *x = *state;
	u64 cut_ns = 0;

	for (u32 i = 1; i <= 10; i++)
		hold(x, i, i, MM + i, MODE_WRITE);
	for (u32 i = 1; i < 10; i++)
		wait_for(x, i, 10000, MM + i + 1, MODE_WRITE);
	for (u32 i = 10; i > 1; i--) {
		release(x, i, 90000, MM + i, MODE_WRITE);
		got(x, i - 1, 90000, MM + i, MODE_WRITE);
	}
	judge(x, 100000);
	for (u32 i = 0; i < x->r.tables[TABLE_BLAME_CHAINS].n_rows; i++) {
		if (!cell_says(&x->r, TABLE_BLAME_CHAINS, i, "end", "cut"))
			continue;
		assert_int_equal(number(&x->r, TABLE_BLAME_CHAINS, i, "waiter_tid"), 1);
		assert_int_equal(number(&x->r, TABLE_BLAME_CHAINS, i, "hops"), 8);
		assert_int_equal(number(&x->r, TABLE_BLAME_CHAINS, i, "root_tid"), 9);
		cut_ns += number(&x->r, TABLE_BLAME_CHAINS, i, "time");
	}
	assert_int_equal(cut_ns, 80000);
	expect_root(x, 10, "holds to write", 80000, 8 * 80000, 8);
	for (u32 i = 1; i < 10; i++)
		expect_sum(x, i, 80000);
}

/* Two faults share a slice: the odd nanosecond goes to the smaller TID. Another VMA's, and the
 * writer's own thread, are in nobody's way. */
static void test_two_faults_share(void **state)
{
	struct fixture *x = *state;
	struct event other = ev_fault(EV_FAULT_BEGIN, 7, 1000, MM, VMA + 1);

	fault(x, EV_FAULT_BEGIN, 6, 1000, NULL);
	feed(&x->f, other);
	vma(x, EV_VMA_WRITE_WAIT_START, 2, 2000);
	fault(x, EV_FAULT_BEGIN, 5, 12000, NULL);
	fault(x, EV_FAULT_END, 6, 21001, NULL);
	fault(x, EV_FAULT_END, 5, 25001, NULL);
	feed(&x->f, ev_fault(EV_FAULT_END, 7, 30000, MM, VMA + 1));
	vma(x, EV_VMA_WRITE_WAIT_END, 2, 32001);
	judge(x, 100000);
	expect_blame(x, 2, "vma", 5, "fault holds the VMA lock", 4501 + 4000);
	expect_blame(x, 2, "vma", 6, "fault holds the VMA lock", 10000 + 4500);
	expect_blame(x, 2, "vma", 7, "fault holds the VMA lock", 0);
	expect_blame(x, 2, "vma", 0, "wake-up", 7000);
	expect_sum(x, 2, 30001);
}

static void test_retried_fault(void **state)
{
	struct fixture *x = *state;

	vma(x, EV_VMA_WRITE_WAIT_START, 2, 1000);
	/* it waits without the lock */
	fault(x, EV_FAULT_BEGIN, 5, 2000, NULL);
	fault(x, EV_FAULT_WAIT_START, 5, 5000, "io");
	fault(x, EV_FAULT_WAIT_END, 5, 20000, "io");
	fault(x, EV_FAULT_RETRY, 5, 21000, "io");
	/* and one that retries without a wait */
	fault(x, EV_FAULT_BEGIN, 5, 30000, NULL);
	fault(x, EV_FAULT_RETRY, 5, 34000, NULL);
	/* a fault whose end is not seen is believed in nothing */
	fault(x, EV_FAULT_BEGIN, 6, 40000, NULL);
	fault(x, EV_FAULT_BEGIN, 6, 45000, NULL);
	fault(x, EV_FAULT_END, 6, 46000, NULL);
	vma(x, EV_VMA_WRITE_WAIT_END, 2, 50000);
	judge(x, 100000);
	expect_blame(x, 2, "vma", 5, "fault holds the VMA lock", 3000 + 4000);
	expect_blame(x, 2, "vma", 6, "fault holds the VMA lock", 1000);
	expect_blame(x, 2, "vma", 0, "wake-up", 4000);
	expect_blame(x, 2, "vma", 0, "unknown", 49000 - 7000 - 1000 - 4000);
	expect_sum(x, 2, 49000);
	/* its hold had nothing to do with what it waited for later */
	assert_true(cell_says(&x->r, TABLE_BLAME_ROOTS, root_row(x, 5, "fault holds the VMA lock"),
			      "reason", NULL));
}

/* Of a BPF recording it is certain only that a fault held the lock while it slept. */
static void test_bpf_fault(void **state)
{
	struct fixture *x = *state;
	struct pair_seen known = { .bpf = true };

	pair_free(x->f.p);
	begin(x, &known);
	vma(x, EV_VMA_WRITE_WAIT_START, 2, 1000);
	fault(x, EV_FAULT_BEGIN, 5, 2000, NULL);
	fault(x, EV_FAULT_WAIT_START, 5, 3000, "io");
	fault(x, EV_FAULT_WAIT_END, 5, 20000, "io");
	vma(x, EV_VMA_WRITE_WAIT_END, 2, 21000);
	/* told at its next sign of life */
	fault(x, EV_FAULT_END, 5, 70000, NULL);
	judge(x, 100000);
	expect_blame(x, 2, "vma", 5, "fault holds the VMA lock", 18000);
	expect_blame(x, 2, "vma", 0, "unknown", 1000);
	expect_blame(x, 2, "vma", 0, "wake-up", 1000);
	expect_sum(x, 2, 20000);
}

/* vma_start_write_blocked without wait pairs: it names who is to blame for all of it. */
static void test_named_blocker(void **state)
{
	struct fixture *x = *state;
	struct event ev = ev_blocked(EV_VMA_WRITE_BLOCKED, 2, 30000, 0, 20000, 9);

	hold(x, 2, 5000, MM, MODE_WRITE);
	wait_for(x, 3, 12000, MM, MODE_READ);
	feed(&x->f, ev);
	release(x, 2, 40000, MM, MODE_WRITE);
	got(x, 3, 41000, MM, MODE_READ);
	judge(x, 100000);
	expect_blame(x, 2, "vma", 9, "fault holds the VMA lock", 20000);
	expect_chain(x, 3, "tid 2 holds mmap_lock < fault tid 9 holds the VMA lock", "root", 2, 9,
		     18000);
	expect_sum(x, 3, 29000);
	expect_root(x, 9, "fault holds the VMA lock", 20000, 38000, 2);
}

static void wait_with_owner(struct fixture *x, u32 tid, u64 at_ns, u32 owner, bool owner_write)
{
	struct event ev = ev_lock(EV_LOCK_WAIT_START, tid, at_ns, MM, MODE_READ);

	ev.u.lock.owner_tid = owner;
	ev.u.lock.owner_comm = name(x, "owner");
	ev.u.lock.owner_write = owner_write;
	feed(&x->f, ev);
}

/* The lock names its writer: believed until the first hold that is known, where one is. */
static void test_owner(void **state)
{
	struct fixture *x = *state;

	wait_with_owner(x, 3, 10000, 9, true);
	wait_with_owner(x, 4, 11000, 9, false); /* a reader's name may be an old one */
	hold(x, 5, 20000, MM, MODE_WRITE);
	release(x, 5, 30000, MM, MODE_WRITE);
	hold(x, 6, 32000, MM, MODE_WRITE);
	release(x, 6, 33000, MM, MODE_WRITE);
	got(x, 3, 35000, MM, MODE_READ);
	got(x, 4, 36000, MM, MODE_READ);
	wait_with_owner(x, 7, 40000, 9, true); /* and nothing known after it */
	got(x, 7, 50000, MM, MODE_READ);
	judge(x, 100000);
	expect_blame(x, 3, "mmap_lock", 9, "owner when it slept", 10000);
	expect_blame(x, 3, "mmap_lock", 5, "holds to write", 10000);
	expect_blame(x, 3, "mmap_lock", 0, "unknown", 2000);
	expect_blame(x, 3, "mmap_lock", 6, "holds to write", 1000);
	expect_blame(x, 3, "mmap_lock", 0, "wake-up", 2000);
	expect_chain(x, 3, "tid 9 had mmap_lock when it slept", "root", 1, 9, 10000);
	expect_blame(x, 4, "mmap_lock", 0, "unknown", 11000);
	expect_blame(x, 7, "mmap_lock", 0, "unknown", 10000);
	expect_sum(x, 3, 25000);
	expect_sum(x, 7, 10000);
}

/* Waits that ended before are charged to nobody, and still explain later ones. */
static void test_ended_from(void **state)
{
	struct fixture *x = *state;

	x->opts.ended_from_ns = 110000;
	three_hops(x);
	judge(x, 200000);
	assert_int_equal(time_of(&x->r, TABLE_BLAME, 2), 0);
	expect_chain(x, 3, HOP_2 " < " HOP_1, "root", 2, 1, 83000);
	expect_sum(x, 3, 92000);
	expect_root(x, 1, "fault holds the VMA lock", 0, 83000 + 72999, 2);
}

/* -p asks about waiters; those in their way are followed all the same. */
static void test_selected(void **state)
{
	struct fixture *x = *state;
	const u64 pid = 3;

	x->opts.pids = &pid;
	x->opts.n_pids = 1;
	three_hops(x);
	judge(x, 200000);
	expect_chain(x, 3, HOP_2 " < " HOP_1, "root", 2, 1, 83000);
	expect_sum(x, 3, 92000);
	expect_sum(x, 2, 0);
	expect_sum(x, 4, 0);
}

/* A waiter of priority 110 behind a root whose priority shows only after the wait. */
static void test_inverted(void **state)
{
	struct fixture *x = *state;
	u32 row;

	feed(&x->f, ev_switch(500, 8, SCHED_RUNNABLE, 3)); /* 3 runs with 110 */
	three_hops(x);
	feed(&x->f, ev_switch(150000, 1, SCHED_SLEEPING, 8)); /* 1 had 120 */
	judge(x, 200000);
	row = root_row(x, 1, "fault holds the VMA lock");
	assert_int_equal(number(&x->r, TABLE_BLAME_ROOTS, row, "inverted"), 83000);
	/* of 2 and 4 no priority is ever told */
	assert_int_equal(number(&x->r, TABLE_BLAME_ROOTS, row, "unknown"), 91000 + 72999);
}

/* What the scheduler says of the root: 1 sleeps in its fault. */
static void test_root_doing(void **state)
{
	struct fixture *x = *state;
	bool seen = false;

	feed(&x->f, ev_switch(500, 1, SCHED_BLOCKED, 8));
	three_hops(x);
	judge(x, 200000);
	for (u32 i = 0; i < x->r.tables[TABLE_BLAME_CHAINS].n_rows; i++) {
		if (!cell_says(&x->r, TABLE_BLAME_CHAINS, i, "path", HOP_2 " < " HOP_1))
			continue;
		assert_true(cell_says(&x->r, TABLE_BLAME_CHAINS, i, "root_doing",
				      "page_mkwrite (blocked)"));
		seen = true;
	}
	assert_true(seen);
}

static u32 stack_of(struct fixture *x, const char *const *frames, u32 n)
{
	u32 ids[16];

	for (u32 i = 0; i < n; i++)
		ids[i] = name(x, frames[i]);
	return stacks_add(&x->f.stacks, ids, n);
}

static void test_stacks(void **state)
{
	static const char *const waits[] = { "__schedule",	    "rwsem_down_write_slowpath",
					     "down_write_killable", "vm_mmap_pgoff",
					     "ksys_mmap_pgoff",	    "do_syscall_64" };
	static const char *const holds[] = { "up_write",
					     "mprotect_fixup",
					     "do_mprotect_pkey",
					     "__x64_sys_mprotect",
					     "a",
					     "b",
					     "c",
					     "d" };
	struct event ev = ev_lock(EV_LOCK_HOLD_START, 1, 1000, MM, MODE_WRITE);
	struct fixture *x = *state;

	ev.stack = stack_of(x, holds, ARRAY_LEN(holds));
	feed(&x->f, ev);
	ev = ev_lock(EV_LOCK_WAIT_START, 2, 2000, MM, MODE_WRITE);
	ev.stack = stack_of(x, waits, ARRAY_LEN(waits));
	feed(&x->f, ev);
	wait_for(x, 3, 4000, MM, MODE_WRITE); /* none printed */
	release(x, 1, 10000, MM, MODE_WRITE);
	got(x, 2, 10000, MM, MODE_WRITE);
	release(x, 2, 12000, MM, MODE_WRITE);
	got(x, 3, 12000, MM, MODE_WRITE);
	judge(x, 100000);
	assert_true(x->r.tables[TABLE_BLAME_STACKS].covered);
	assert_int_equal(x->r.tables[TABLE_BLAME_STACKS].n_rows, 3);
	assert_true(cell_says(&x->r, TABLE_BLAME_STACKS, 0, "waiter_stack",
			      "vm_mmap_pgoff < ksys_mmap_pgoff"));
	assert_true(
		cell_says(&x->r, TABLE_BLAME_STACKS, 0, "blocker_stack",
			  "mprotect_fixup < do_mprotect_pkey < __x64_sys_mprotect < a < b < c"));
	assert_int_equal(number(&x->r, TABLE_BLAME_STACKS, 0, "time"), 8000);
	assert_true(cell_says(&x->r, TABLE_BLAME_STACKS, 1, "waiter_stack", NULL));
	assert_int_equal(number(&x->r, TABLE_BLAME_STACKS, 1, "time"), 6000);
	/* 3 behind 2's hold, which has no stack */
	assert_true(cell_says(&x->r, TABLE_BLAME_STACKS, 2, "blocker_stack", NULL));
}

/* Names that only look like a hidden one, frames past every limit, ids that do not exist. */
static void test_stack_text(void **state)
{
	static const char *const frames[] = { "schedule", "scheduled", "rwsem_x", "xrwsem_", "" };
	struct fixture *x = *state;
	char frame[STACK_TEXT_MAX];
	const char *long_one[] = { frame, "next" };
	struct stack_texts t;
	u32 looks = stack_of(x, frames, ARRAY_LEN(frames));
	size_t len;

	memset(frame, 'y', sizeof(frame));
	frame[sizeof(frame) - 1] = '\0';
	stack_texts_init(&t, &x->f.stacks, &x->f.strings);
	assert_string_equal(intern_get(&t.texts, stack_text_id(&t, looks), NULL),
			    "scheduled < xrwsem_");
	intern_get(&t.texts, stack_text_id(&t, stack_of(x, long_one, 2)), &len);
	assert_int_equal(len, STACK_TEXT_MAX);
	assert_int_equal(stack_text_id(&t, 0), 0);
	assert_int_equal(stack_text_id(&t, 12345), 0);
	/* hidden to the last: a stack all the same, not the same as none */
	assert_int_not_equal(stack_text_id(&t, stack_of(x, frames, 1)), 0);
	stack_texts_done(&t);
}

/* What nothing can overlap any more is not kept, however long the trace: one wait hangs and the
 * others still come out right. */
static void test_one_hangs(void **state)
{
	struct fixture *x = *state;

	wait_for(x, 99, 100, MM + 99, MODE_WRITE);
	for (u32 i = 0; i < 40000; i++) {
		u64 at_ns = 1000 + i * 10000ULL;

		hold(x, 1, at_ns, MM, MODE_WRITE);
		wait_for(x, 2, at_ns + 1000, MM, MODE_WRITE);
		release(x, 1, at_ns + 4000, MM, MODE_WRITE);
		got(x, 2, at_ns + 5000, MM, MODE_WRITE);
		release(x, 2, at_ns + 6000, MM, MODE_WRITE);
	}
	judge(x, 500000000);
	expect_sum(x, 2, 40000ULL * 4000);
	expect_chain(x, 2, "tid 1 holds mmap_lock", "root", 1, 1, 40000ULL * 3000);
	assert_int_equal(x->ctx.refused, 0);
}

int main(void)
{
#define BLAME_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		BLAME_TEST(test_three_hops),
		BLAME_TEST(test_queued_leads_on),
		BLAME_TEST(test_cycle),
		BLAME_TEST(test_depth_limit),
		BLAME_TEST(test_two_faults_share),
		BLAME_TEST(test_retried_fault),
		BLAME_TEST(test_bpf_fault),
		BLAME_TEST(test_named_blocker),
		BLAME_TEST(test_owner),
		BLAME_TEST(test_ended_from),
		BLAME_TEST(test_selected),
		BLAME_TEST(test_inverted),
		BLAME_TEST(test_stacks),
		BLAME_TEST(test_stack_text),
		BLAME_TEST(test_one_hangs),
		BLAME_TEST(test_root_doing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
