/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_gaps.c: where events were lost, and what a gap touches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "random_help.h"
#include "session/prepass.h"

static int setup(void **state)
{
	struct gaps *g = malloc(sizeof(*g));

	assert_non_null(g);
	gaps_init(g);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct gaps *g = *state;

	assert_false(g->failed);
	gaps_done(g);
	free(g);
	return 0;
}

static void check_list(const struct gaps *g, const struct gap *want, size_t n)
{
	assert_int_equal(g->list.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(g->list.v[i].begin_ns, want[i].begin_ns);
		assert_int_equal(g->list.v[i].end_ns, want[i].end_ns);
	}
}
#define CHECK_LIST(g, ...)                                 \
	check_list(g, (const struct gap[]){ __VA_ARGS__ }, \
		   sizeof((const struct gap[]){ __VA_ARGS__ }) / sizeof(struct gap))

/* Runs the real quick pass over a hand-made case. */
static void read_case(struct gaps *g, const char *name)
{
	const char *top = getenv("MMSCOPE_SOURCE");
	struct source_set *set = NULL;
	struct error e = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/golden/cases/%s", top ? top : ".", name);
	if (access(path, R_OK)) {
		print_message("%s is not here (MMSCOPE_SOURCE names the source tree)\n", path);
		skip();
	}
	assert_int_equal(source_set_open(path, &set, &e), 0);
	assert_int_equal(prepass_find_gaps(set, false, g, &e), 0);
	source_set_free(set);
}

#define S100 100000000000ULL

static void test_case_14(void **state)
{
	struct gaps *g = *state;

	read_case(g, "14_lost_inside.txt");
	CHECK_LIST(g, { S100 + 7100, S100 + 20000 });
	assert_int_equal(g->cpus.v[1].lost_events, 12);
	assert_int_equal(g->cpus.v[1].marks, 1);
	assert_false(g->cpus.v[1].minimum);
	assert_int_equal(g->cpus.v[1].gap_ns, 12900);
	assert_int_equal(g->cpus.v[0].marks, 0);
	assert_int_equal(g->first_ns, S100 + 4000);
	assert_int_equal(g->last_ns, S100 + 24100);
	assert_true(gaps_touch(g, S100 + 5000, S100 + 20000));
	assert_true(gaps_touch(g, S100 + 8500, S100 + 15000));
	assert_false(gaps_touch(g, S100 + 5500, S100 + 7000));
	assert_false(gaps_touch(g, S100 + 5500, S100 + 7100));
	assert_false(gaps_touch(g, S100 + 20000, S100 + 21000));
}

static void test_case_15(void **state)
{
	struct gaps *g = *state;

	read_case(g, "15_lost_end_cpu.txt");
	CHECK_LIST(g, { S100 + 1000, S100 + 6000 }, { S100 + 6100, S100 + 7000 });
	assert_int_equal(g->cpus.v[1].lost_events, 3);
	assert_int_equal(g->cpus.v[1].marks, 2);
	assert_true(g->cpus.v[1].minimum);
	assert_int_equal(g->cpus.v[1].gap_ns, 5000 + 900);
	assert_false(gaps_touch(g, S100 + 8000, S100 + 9000));
	assert_false(gaps_touch(g, S100 + 6000, S100 + 6100));
}

static void test_nothing(void **state)
{
	struct gaps *g = *state;

	gaps_finish(g);
	assert_int_equal(g->list.n, 0);
	assert_false(g->any_event);
	assert_false(gaps_touch(g, 0, UINT64_MAX));
}

static void test_only_a_mark(void **state)
{
	struct gaps *g = *state;

	gaps_lost(g, 3, 5, true);
	gaps_finish(g);
	assert_int_equal(g->cpus.v[3].lost_events, 5);
	assert_false(gaps_touch(g, 0, 0));
}

/* A CPU of which nothing but the mark was seen: it may have lost events at any time. */
static void test_cpu_without_events(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 1000);
	gaps_lost(g, 7, 1, true);
	gaps_event(g, 0, 9000);
	gaps_finish(g);
	CHECK_LIST(g, { 1000, 9000 });
	assert_int_equal(g->cpus.v[7].gap_ns, 8000);
	assert_true(gaps_touch(g, 0, 1001));
	assert_true(gaps_touch(g, 8999, 20000));
	assert_false(gaps_touch(g, 0, 1000));
	assert_false(gaps_touch(g, 9000, 9000));
}

static void test_mark_at_the_end(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 1000);
	gaps_event(g, 1, 2000);
	gaps_lost(g, 1, 4, true);
	gaps_event(g, 0, 5000);
	gaps_finish(g);
	CHECK_LIST(g, { 2000, 5000 });
	assert_int_equal(g->cpus.v[1].gap_ns, 3000);
}

static void test_two_marks_in_a_row(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 1000);
	gaps_lost(g, 0, 4, true);
	gaps_lost(g, 0, 6, true);
	gaps_event(g, 0, 2000);
	gaps_event(g, 0, 3000);
	gaps_lost(g, 0, 0, false);
	gaps_event(g, 0, 4000);
	gaps_finish(g);
	CHECK_LIST(g, { 1000, 2000 }, { 3000, 4000 });
	assert_int_equal(g->cpus.v[0].marks, 3);
	assert_int_equal(g->cpus.v[0].lost_events, 10);
	assert_true(g->cpus.v[0].minimum);
	assert_int_equal(g->cpus.v[0].gap_ns, 2000);
}

static void test_gaps_of_two_cpus_join(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 1000);
	gaps_lost(g, 0, 1, true);
	gaps_event(g, 1, 1500);
	gaps_lost(g, 1, 1, true);
	gaps_event(g, 0, 2000);
	gaps_event(g, 1, 2500);
	gaps_event(g, 2, 2500);
	gaps_lost(g, 2, 1, true);
	gaps_event(g, 2, 2600);
	gaps_finish(g);
	/* the last two only touch: nothing of any length lies between, but [2500, 2500] does */
	CHECK_LIST(g, { 1000, 2500 }, { 2500, 2600 });
	assert_false(gaps_touch(g, 2500, 2500));
	assert_int_equal(g->cpus.v[0].gap_ns, 1000);
	assert_int_equal(g->cpus.v[1].gap_ns, 1000);
	assert_int_equal(g->cpus.v[2].gap_ns, 100);
}

static void test_all_cpus(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 1, 1000);
	gaps_event(g, 4, 1200);
	gaps_lost(g, GAPS_ALL_CPUS, 9, false);
	gaps_event(g, 4, 1300);
	gaps_event(g, 1, 1400);
	gaps_event(g, 0, 1500);
	gaps_finish(g);
	CHECK_LIST(g, { 1000, 1400 });
	/* every CPU seen by then has the mark; the number is told once, with what is known of it */
	assert_int_equal(g->cpus.v[0].marks, 0);
	assert_int_equal(g->cpus.v[1].marks, 1);
	assert_int_equal(g->cpus.v[4].marks, 1);
	assert_int_equal(g->cpus.v[1].lost_events + g->cpus.v[4].lost_events, 9);
	assert_true(g->cpus.v[1].minimum || g->cpus.v[4].minimum);
}

static void test_out_of_order_times(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 5000);
	gaps_lost(g, 0, 1, true);
	gaps_event(g, 0, 4000);
	gaps_event(g, 1, 100);
	gaps_finish(g);
	CHECK_LIST(g, { 4000, 5000 });
	assert_int_equal(g->first_ns, 100);
	assert_int_equal(g->last_ns, 5000);
}

static void test_cpu_out_of_range(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 5000);
	gaps_event(g, GAPS_MAX_CPU - 1, 5000);
	assert_false(g->failed);
	gaps_event(g, GAPS_MAX_CPU, 5000);
	assert_true(g->failed);
	g->failed = false;
	gaps_lost(g, GAPS_MAX_CPU, 1, true);
	assert_true(g->failed);
	g->failed = false;
	gaps_finish(g);
	assert_int_equal(g->list.n, 0);
}

/* Past the limit of gaps, loss is overstated and never hidden, also where a side is missing. */
static void test_too_many_gaps(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 10);
	for (u64 i = 1; i < GAPS_MAX; i++) {
		gaps_lost(g, 0, 1, true);
		gaps_event(g, 0, 10 + i * 10);
		gaps_event(g, 0, 15 + i * 10);
	}
	assert_int_equal(g->list.n, GAPS_MAX - 1);
	/* the last that fits begins with the trace */
	gaps_lost(g, 1, 1, true);
	gaps_event(g, 1, 10 + GAPS_MAX * 10);
	assert_int_equal(g->list.n, GAPS_MAX);
	gaps_event(g, 1, 20 + GAPS_MAX * 10);
	gaps_lost(g, 1, 1, true);
	gaps_event(g, 1, 30 + GAPS_MAX * 10);
	gaps_lost(g, 2, 1, true);
	gaps_event(g, 2, 40 + GAPS_MAX * 10);
	gaps_lost(g, 1, 1, true);
	gaps_event(g, 0, 50 + GAPS_MAX * 10);
	assert_int_equal(g->list.n, GAPS_MAX);
	gaps_finish(g);
	assert_true(gaps_touch(g, 10, 11));
	assert_true(gaps_touch(g, 16, 17));
	assert_true(gaps_touch(g, 25 + GAPS_MAX * 10, 26 + GAPS_MAX * 10));
	assert_true(gaps_touch(g, 45 + GAPS_MAX * 10, 46 + GAPS_MAX * 10));
}

static bool naive_touch(const struct gap *gaps, size_t n, u64 begin_ns, u64 end_ns)
{
	for (size_t i = 0; i < n; i++) {
		if (begin_ns < gaps[i].end_ns && gaps[i].begin_ns < end_ns)
			return true;
	}
	return false;
}

static void check_random(u64 seed)
{
	enum { CPUS = 3, EVENTS = 60, T = 120 };
	struct gap naive[EVENTS * 2];
	u64 last[CPUS] = { 0 }, now = 1000, first = 0;
	bool seen[CPUS] = { false }, pending[CPUS] = { false };
	size_t n = 0;
	struct gaps g;

	gaps_init(&g);
	for (u32 i = 0; i < EVENTS; i++) {
		u16 cpu = (u16)random_below(&seed, CPUS);

		now += random_below(&seed, 4);
		if (random_below(&seed, 4) == 0) {
			gaps_lost(&g, cpu, 1, true);
			pending[cpu] = true;
			continue;
		}
		if (!g.any_event)
			first = now;
		gaps_event(&g, cpu, now);
		if (pending[cpu])
			naive[n++] = (struct gap){ seen[cpu] ? last[cpu] : 0, now };
		pending[cpu] = false;
		seen[cpu] = true;
		last[cpu] = now;
	}
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		if (pending[cpu])
			naive[n++] = (struct gap){ seen[cpu] ? last[cpu] : 0, g.last_ns };
	}
	for (size_t i = 0; i < n; i++) {
		if (!naive[i].begin_ns)
			naive[i].begin_ns = first;
	}
	gaps_finish(&g);
	for (size_t i = 1; i < g.list.n; i++) {
		assert_true(g.list.v[i - 1].begin_ns <= g.list.v[i].begin_ns);
		assert_true(g.list.v[i - 1].end_ns <= g.list.v[i].begin_ns);
	}
	for (u64 b = 998; b < 1000 + T; b++) {
		for (u64 e = b; e < 1000 + T && e < b + 12; e++)
			assert_int_equal(gaps_touch(&g, b, e), naive_touch(naive, n, b, e));
	}
	gaps_done(&g);
}

/* Many ends are shared, many intervals and gaps have no length. */
static void test_touch_against_naive(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 300; seed++)
		check_random(seed * 0x9e3779b97f4a7c15ULL);
}

/* Told by the recording itself: every CPU lost the same. */
static void test_spans(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 100);
	gaps_event(g, 3, 1000);
	gaps_span(g, 500, 600, 7, true);
	gaps_span(g, 300, 200, 1, true); /* the wrong way round */
	gaps_span(g, 550, 650, 2, false);
	gaps_span(g, 0, 120, 0, false); /* from the trace's first event */
	gaps_span(g, 900, UINT64_MAX, UINT64_MAX, false);
	gaps_finish(g);
	CHECK_LIST(g, { 100, 120 }, { 200, 300 }, { 500, 650 }, { 900, 1000 });
	assert_int_equal(g->all.marks, 5);
	assert_true(g->all.lost_events == UINT64_MAX);
	assert_true(g->all.minimum);
	assert_int_equal(g->all.gap_ns, 20 + 100 + 150 + 100);
	assert_int_equal(g->cpus.v[0].marks, 0);
	assert_true(gaps_touch(g, 640, 700));
	assert_false(gaps_touch(g, 650, 900));
}

/* One CPU's own gaps beside them; a span outside the trace has no length. */
static void test_spans_beside_marks(void **state)
{
	struct gaps *g = *state;

	gaps_event(g, 0, 100);
	gaps_lost(g, 0, 5, true);
	gaps_event(g, 0, 200);
	gaps_event(g, 0, 400);
	gaps_span(g, 150, 300, 1, true);
	gaps_span(g, 500, 600, 1, true);
	gaps_finish(g);
	CHECK_LIST(g, { 100, 300 }, { 500, 500 });
	assert_int_equal(g->all.gap_ns, 150);
	assert_int_equal(g->cpus.v[0].gap_ns, 100);
	assert_false(gaps_touch(g, 350, 400));
}

int main(void)
{
#define GAPS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		GAPS_TEST(test_spans),
		GAPS_TEST(test_spans_beside_marks),
		GAPS_TEST(test_case_14),
		GAPS_TEST(test_case_15),
		GAPS_TEST(test_nothing),
		GAPS_TEST(test_only_a_mark),
		GAPS_TEST(test_cpu_without_events),
		GAPS_TEST(test_mark_at_the_end),
		GAPS_TEST(test_two_marks_in_a_row),
		GAPS_TEST(test_gaps_of_two_cpus_join),
		GAPS_TEST(test_all_cpus),
		GAPS_TEST(test_out_of_order_times),
		GAPS_TEST(test_cpu_out_of_range),
		GAPS_TEST(test_too_many_gaps),
		GAPS_TEST(test_touch_against_naive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
