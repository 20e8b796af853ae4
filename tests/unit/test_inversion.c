/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_inversion.c: priority inversion, with priorities known at once, late, or never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/inversion.h"
#include "random_help.h"

#define THREADS 8

struct fixture {
	struct tasks tasks;
	struct inversion v;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tasks_init(&f->tasks);
	inversion_init(&f->v);
	for (u32 tid = 1; tid <= THREADS; tid++)
		assert_int_equal(tasks_find(&f->tasks, tid).v, tid);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	assert_false(f->v.failed);
	inversion_done(&f->v);
	tasks_done(&f->tasks);
	free(f);
	return 0;
}

static struct prio_ref known(s32 prio)
{
	return (struct prio_ref){ .known = true, .prio = prio };
}

/* Its priority is what the trace tells later of the thread; of thread 0 it never tells. */
static struct prio_ref late(u32 tid)
{
	return (struct prio_ref){ .task = { tid } };
}

static void tell_late(struct fixture *f, u32 tid, s32 prio)
{
	task_note_prio(f->tasks.list.v[tid], 1000, prio, true);
}

static void add_pair(struct fixture *f, struct prio_ref waiter, struct prio_ref blocker, u64 pairs)
{
	struct pair_row row = { .waiter = { 1 },
				.blocker = { 2 },
				.waiter_prio = waiter,
				.blocker_prio = blocker,
				.pairs = pairs,
				.overlap_ns = pairs * 10 };

	inversion_add_pair(&f->v, &row);
}

static void test_pairs_at_once(void **state)
{
	struct fixture *f = *state;
	struct inversion_verdict v;

	add_pair(f, known(100), known(120), 1); /* fair behind a nicer one */
	add_pair(f, known(120), known(120), 2); /* equal: none */
	add_pair(f, known(120), known(100), 4); /* the right way round */
	add_pair(f, known(98), known(120), 8);	/* RT behind fair */
	add_pair(f, known(-1), known(139), 16); /* deadline behind fair */
	add_pair(f, known(10), known(98), 32);	/* both RT: an inversion of neither class */
	v = inversion_judge_all(&f->v, &f->tasks);
	assert_int_equal(v.pairs, 1 + 8 + 16 + 32);
	assert_int_equal(v.rt_pairs, 8 + 16);
	assert_int_equal(v.fair_pairs, 1);
	assert_int_equal(v.unknown, 0);
	assert_int_equal(v.late, 0);
}

static void test_late_and_unknown_pairs(void **state)
{
	struct fixture *f = *state;
	struct inversion_verdict v;

	add_pair(f, late(3), known(120), 1);
	add_pair(f, known(120), late(4), 2);
	add_pair(f, late(3), late(4), 4);
	add_pair(f, late(5), known(1), 8); /* of 5 nothing is ever told */
	add_pair(f, known(1), late(0), 16);
	v = inversion_judge_all(&f->v, &f->tasks);
	assert_int_equal(v.unknown, 31);
	assert_int_equal(v.pairs + v.late, 0);
	tell_late(f, 3, 110);
	tell_late(f, 3, 139); /* the first one counts */
	tell_late(f, 4, 110);
	v = inversion_judge_all(&f->v, &f->tasks);
	assert_int_equal(v.unknown, 24);
	assert_int_equal(v.late, 7);
	assert_int_equal(v.pairs, 1);
	assert_int_equal(v.fair_pairs, 1);
}

/* Only a sched_switch that shows the thread as prev tells its priority for the time before. */
static void test_late_is_as_prev(void **state)
{
	struct fixture *f = *state;
	s32 prio = 0;

	task_note_prio(f->tasks.list.v[3], 500, 99, false);
	assert_false(task_late_prio(&f->tasks, late(3), &prio));
	task_note_prio(f->tasks.list.v[3], 600, 101, true);
	assert_true(task_late_prio(&f->tasks, late(3), &prio));
	assert_int_equal(prio, 101);
	assert_false(task_prio_at(&f->tasks, (struct task_id){ 3 }, 499).known);
	assert_int_equal(task_prio_at(&f->tasks, (struct task_id){ 3 }, 500).prio, 99);
	assert_int_equal(task_prio_at(&f->tasks, (struct task_id){ 3 }, 599).prio, 99);
	assert_int_equal(task_prio_at(&f->tasks, (struct task_id){ 3 }, 600).prio, 101);
	/* once old changes are forgotten, the time before the oldest kept one is unknown for good
	 */
	for (u32 i = 0; i < 2 * TASK_PRIOS_KEPT; i++)
		task_note_prio(f->tasks.list.v[3], 1000 + i, 100 + (s32)(i & 1), true);
	assert_int_equal(
		task_prio_at(&f->tasks, (struct task_id){ 3 }, 1000 + 2 * TASK_PRIOS_KEPT).prio,
		101);
	assert_false(task_late_prio(&f->tasks, task_prio_at(&f->tasks, (struct task_id){ 3 }, 700),
				    &prio));
}

static void test_equal_pairs_are_one_row(void **state)
{
	struct fixture *f = *state;
	struct pair_row row = { .waiter = { 1 },
				.blocker = { 2 },
				.waiter_prio = { true, 1, { 0 } },
				.blocker_prio = { true, 2, { 0 } },
				.pairs = 1,
				.overlap_ns = 5 };

	inversion_add_pair(&f->v, &row);
	inversion_add_pair(&f->v, &row);
	assert_int_equal(f->v.rows.n, 1);
	assert_int_equal(f->v.rows.v[0].pairs, 2);
	assert_int_equal(f->v.rows.v[0].overlap_ns, 10);
	row.doing = TASK_BLOCKED;
	inversion_add_pair(&f->v, &row);
	row.caller = 5;
	inversion_add_pair(&f->v, &row);
	row.reason = 6;
	inversion_add_pair(&f->v, &row);
	row.blocker.v = 3;
	inversion_add_pair(&f->v, &row);
	/* a priority that is unknown is not the priority of that number */
	row.blocker_prio = late(2);
	inversion_add_pair(&f->v, &row);
	assert_int_equal(f->v.rows.n, 6);
}

static void test_union(void **state)
{
	struct fixture *f = *state;
	struct segment s[] = {
		{ 100, 200, known(100), known(120) }, { 150, 250, known(100), known(130) },
		{ 300, 400, known(100), known(100) }, { 350, 360, known(100), known(110) },
		{ 500, 500, known(100), known(120) },
	};
	struct inversion_verdict v;

	assert_int_equal(inversion_add_segments(&f->v, s, ARRAY_LEN(s)), 250);
	v = inversion_judge_all(&f->v, &f->tasks);
	assert_int_equal(v.score_ns, 150 + 10);
	assert_int_equal(v.groups, 1);
	assert_int_equal(v.unknown_groups, 0);
	assert_int_equal(inversion_add_segments(&f->v, s, 0), 0);
	/* one with no length is an inversion without time */
	assert_int_equal(inversion_add_segments(&f->v, &s[4], 1), 0);
	v = inversion_judge_all(&f->v, &f->tasks);
	assert_int_equal(v.score_ns, 160);
	assert_int_equal(v.groups, 2);
}

static void test_too_many_open_pairs(void **state)
{
	struct fixture *f = *state;
	struct segment s[400];

	for (u32 i = 0; i < ARRAY_LEN(s); i++)
		s[i] = (struct segment){ 100, 200, known((s32)i), late(3) };
	assert_int_equal(inversion_add_segments(&f->v, s, ARRAY_LEN(s)), 100);
	/* what did not fit is counted */
	assert_true(f->v.refused > 0);
	tell_late(f, 3, 120);
	assert_int_equal(inversion_judge_all(&f->v, &f->tasks).score_ns, 100);
}

enum truth { NO, YES, UNKNOWN };

static bool naive_prio(const s32 *late_prios, struct prio_ref r, s32 *ret)
{
	*ret = r.known ? r.prio : late_prios[r.task.v];
	return *ret != INT32_MAX;
}

/* Of the segments active at a time, or all: inverted if one is; else unknown if one is. */
static enum truth naive_judge(const s32 *late_prios, const struct segment *s, size_t n,
			      const u64 *at_ns, bool *ret_active)
{
	enum truth t = NO;
	s32 w, b;

	*ret_active = false;
	for (size_t i = 0; i < n; i++) {
		if (at_ns && (s[i].begin_ns > *at_ns || *at_ns >= s[i].end_ns))
			continue;
		*ret_active = true;
		if (!naive_prio(late_prios, s[i].waiter_prio, &w) ||
		    !naive_prio(late_prios, s[i].blocker_prio, &b))
			t = t == YES ? YES : UNKNOWN;
		else if (w < b)
			t = YES;
	}
	return t;
}

static struct prio_ref random_ref(u64 *seed)
{
	return random_below(seed, 2) ? known(98 + (s32)random_below(seed, 4))
				     : late((u32)random_below(seed, THREADS + 1));
}

static void add_random_group(struct fixture *f, u64 *seed, const s32 *late_prios,
			     struct inversion_verdict *want)
{
	struct segment s[9];
	size_t n = 1 + random_below(seed, ARRAY_LEN(s));
	u64 union_ns = 0;
	bool active;

	for (size_t i = 0; i < n; i++) {
		s[i].begin_ns = random_below(seed, 30);
		s[i].end_ns = s[i].begin_ns + random_below(seed, 10);
		s[i].waiter_prio = random_ref(seed);
		s[i].blocker_prio = random_ref(seed);
	}
	for (u64 t = 0; t < 40; t++) {
		enum truth truth = naive_judge(late_prios, s, n, &t, &active);

		union_ns += active;
		want->score_ns += truth == YES;
	}
	switch (naive_judge(late_prios, s, n, NULL, &active)) {
	case YES:
		want->groups++;
		break;
	case UNKNOWN:
		want->unknown_groups++;
		break;
	default:
		break;
	}
	assert_int_equal(inversion_add_segments(&f->v, s, n), union_ns);
}

static void add_random_pair(struct fixture *f, u64 *seed, const s32 *late_prios,
			    struct inversion_verdict *want)
{
	struct pair_row row = { .waiter = { 1 + (u32)random_below(seed, THREADS) },
				.blocker = { 1 + (u32)random_below(seed, THREADS) },
				.waiter_prio = random_ref(seed),
				.blocker_prio = random_ref(seed),
				.doing = (u8)random_below(seed, 3),
				.pairs = 1,
				.overlap_ns = random_below(seed, 10) };
	s32 w, b;

	inversion_add_pair(&f->v, &row);
	if (!naive_prio(late_prios, row.waiter_prio, &w) ||
	    !naive_prio(late_prios, row.blocker_prio, &b)) {
		want->unknown++;
		return;
	}
	want->late += !row.waiter_prio.known || !row.blocker_prio.known;
	want->pairs += w < b;
	want->rt_pairs += w < b && w < 100 && b >= 100;
	want->fair_pairs += w < b && w >= 100;
}

/* Priorities are told only after everything was added: what was kept must still tell all. */
static void test_random_against_naive(void **state)
{
	for (u64 round = 1; round <= 40; round++) {
		u64 seed = round * 0x9e3779b97f4a7c15ULL;
		struct inversion_verdict want = { 0 }, got;
		s32 late_prios[THREADS + 1];
		struct fixture *f;

		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
		f = *state;
		for (u32 tid = 0; tid <= THREADS; tid++)
			late_prios[tid] = tid && random_below(&seed, 3)
						  ? 97 + (s32)random_below(&seed, 6)
						  : INT32_MAX;
		for (u32 i = 0; i < 100; i++) {
			add_random_group(f, &seed, late_prios, &want);
			add_random_pair(f, &seed, late_prios, &want);
		}
		for (u32 tid = 1; tid <= THREADS; tid++) {
			if (late_prios[tid] != INT32_MAX)
				tell_late(f, tid, late_prios[tid]);
		}
		got = inversion_judge_all(&f->v, &f->tasks);
		assert_int_equal(got.score_ns, want.score_ns);
		assert_int_equal(got.groups, want.groups);
		assert_int_equal(got.unknown_groups, want.unknown_groups);
		assert_int_equal(got.pairs, want.pairs);
		assert_int_equal(got.unknown, want.unknown);
		assert_int_equal(got.late, want.late);
		assert_int_equal(got.rt_pairs, want.rt_pairs);
		assert_int_equal(got.fair_pairs, want.fair_pairs);
		assert_int_equal(f->v.refused, 0);
	}
}

int main(void)
{
#define INVERSION_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		INVERSION_TEST(test_pairs_at_once),
		INVERSION_TEST(test_late_and_unknown_pairs),
		INVERSION_TEST(test_late_is_as_prev),
		INVERSION_TEST(test_equal_pairs_are_one_row),
		INVERSION_TEST(test_union),
		INVERSION_TEST(test_too_many_open_pairs),
		INVERSION_TEST(test_random_against_naive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
