/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_verdict.c: each rule as the primary one, and what the answer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/verdict.h"
#include "random_help.h"

#define LIMIT_NS 1000000ULL
#define MS 1000000ULL

static int setup(void **state)
{
	struct result *r = malloc(sizeof(*r));

	assert_non_null(r);
	result_init(r);
	r->trace.clock_has_seconds = true;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct result *r = *state;

	result_done(r);
	free(r);
	return 0;
}

/* A trace with all events in which nothing was seen. */
static void cover(struct result *r)
{
	struct result_summary *s = &r->summary;
	struct opt_u64 *zeros[] = { &s->a_pairs,	 &s->a_union_ns,   &s->a_writer_waits,
				    &s->a_coincident,	 &s->b_windows,	   &s->b_overlap_ns,
				    &s->b_retry_wait_ns, &s->b_io_wait_ns, &s->c_pairs,
				    &s->c_score_ns,	 &s->c_unknown,	   &s->c_late,
				    &s->c_b_windows,	 &s->c_b_score_ns, &s->c_b_unknown,
				    &s->c_b_late };

	for (size_t i = 0; i < ARRAY_LEN(zeros); i++)
		*zeros[i] = opt(0);
}

/* Judges, and what is true of every verdict. */
static const struct result_verdict *judge(struct result *r)
{
	const struct result_verdict *v = &r->verdict;
	u32 first = 0;

	assert_int_equal(verdict_judge(r, LIMIT_NS), 0);
	assert_non_null(v->text);
	assert_true(strlen(v->text) > 10);
	assert_null(strchr(v->text, '\n'));
	assert_null(strstr(v->text, "(null)"));
	for (u32 i = 0; i < 6; i++) {
		assert_int_equal(v->rules[i].id, i + 1);
		assert_non_null(v->rules[i].name);
		assert_non_null(v->rules[i].figures);
		assert_null(strstr(v->rules[i].figures, "(null)"));
		if (!first && v->rules[i].state == RULE_HOLDS)
			first = i + 1;
	}
	assert_int_equal(v->primary, first);
	/* the answer begins with the name of its rule, but for the last two kinds */
	if (v->primary != 4 && v->primary != 6)
		assert_memory_equal(v->text, v->rules[first - 1].name,
				    strlen(v->rules[first - 1].name));
	return v;
}

static void check_states(const struct result_verdict *v, const char *want)
{
	static const char letters[] = { [RULE_NO] = '-', [RULE_HOLDS] = 'h', [RULE_CANNOT] = 'c' };

	for (u32 i = 0; i < 6; i++)
		assert_int_equal(letters[v->rules[i].state], want[i]);
}

static void test_no_events(void **state)
{
	struct result *r = *state;
	const struct result_verdict *v = judge(r);

	check_states(v, "ccccch");
	assert_non_null(strstr(v->text, "cannot be judged from this trace"));
	assert_non_null(v->advice);
	assert_non_null(strstr(v->rules[0].figures, "n/a"));
	assert_null(v->lock_waits);
}

static void test_nothing_seen(void **state)
{
	struct result *r = *state;
	const struct result_verdict *v;

	cover(r);
	v = judge(r);
	check_states(v, "-----h");
	assert_non_null(strstr(v->text, "not observed in this workload"));
	assert_null(v->advice);
	r->incomplete = true;
	assert_non_null(judge(r)->advice);
}

static void test_one_type_missing(void **state)
{
	struct result *r = *state;
	const struct result_verdict *v;

	cover(r);
	r->summary.a_pairs = (struct opt_u64){ 0 };
	v = judge(r);
	check_states(v, "---c-h");
	assert_non_null(strstr(v->text, "cannot be judged from this trace: Type A"));
	assert_non_null(v->advice);
	cover(r);
	r->summary.b_windows = (struct opt_u64){ 0 };
	v = judge(r);
	check_states(v, "--c-ch");
	assert_non_null(strstr(v->text, "cannot be judged from this trace: Type B"));
}

static void test_inversion_is_real(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;
	const struct result_verdict *v;

	cover(r);
	s->a_pairs = opt(3);
	s->c_pairs = opt(1);
	s->c_score_ns = opt(LIMIT_NS + 1);
	v = judge(r);
	check_states(v, "h-----");
	assert_string_equal(v->advice,
			    "keep dropping the lock for I/O, but retry under the per-VMA lock");
	/* Type B's score alone does it too */
	s->c_pairs = opt(0);
	s->c_score_ns = opt(0);
	s->c_b_windows = opt(1);
	s->c_b_score_ns = opt(25 * MS);
	s->b_windows = opt(1);
	v = judge(r);
	assert_int_equal(v->primary, 1);
	assert_non_null(strstr(v->text, "25.0 ms"));
	/* A without an event of its own: B's side still judges */
	s->c_pairs = (struct opt_u64){ 0 };
	s->c_score_ns = (struct opt_u64){ 0 };
	assert_int_equal(judge(r)->primary, 1);
}

static void test_below_the_threshold(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;
	const struct result_verdict *v;

	cover(r);
	s->a_pairs = opt(3);
	s->c_pairs = opt(2);
	s->c_score_ns = opt(LIMIT_NS); /* at the threshold: not above it */
	s->c_b_windows = opt(5);
	s->c_b_score_ns = opt(LIMIT_NS);
	v = judge(r);
	check_states(v, "-h----");
	assert_non_null(strstr(v->text, "7 pairs"));
	/* an inversion without any time is one */
	s->c_pairs = opt(1);
	s->c_score_ns = opt(0);
	s->c_b_windows = opt(0);
	s->c_b_score_ns = opt(0);
	assert_int_equal(judge(r)->primary, 2);
}

static void test_retry_cost(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;
	const struct result_verdict *v;

	cover(r);
	s->b_windows = opt(2);
	s->b_retry_wait_ns = opt(300);
	s->b_io_wait_ns = opt(100);
	v = judge(r);
	check_states(v, "--h-h-");
	assert_non_null(strstr(v->text, "3.00 times"));
	assert_non_null(v->advice);
	s->b_retry_wait_ns = opt(299);
	v = judge(r);
	check_states(v, "----h-");
	assert_non_null(strstr(v->text, "2.99 times"));
	assert_non_null(strstr(v->text, "2 windows"));
	/* no I/O wait to compare with */
	s->b_retry_wait_ns = opt(30000);
	s->b_io_wait_ns = opt(0);
	v = judge(r);
	check_states(v, "----h-");
	assert_non_null(strstr(v->text, "no I/O wait"));
	/* no window: whatever the waits say */
	s->b_windows = opt(0);
	s->b_io_wait_ns = opt(1);
	check_states(judge(r), "-----h");
	/* figures at the end of what 64 bits hold */
	s->b_windows = opt(1);
	s->b_retry_wait_ns = opt(UINT64_MAX);
	s->b_io_wait_ns = opt(UINT64_MAX / 3);
	assert_int_equal(judge(r)->primary, 3);
	s->b_io_wait_ns = opt(UINT64_MAX / 3 + 1);
	assert_int_equal(judge(r)->primary, 5);
}

static void test_contention_without_inversion(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;
	const struct result_verdict *v;

	cover(r);
	s->a_pairs = opt(4);
	s->a_writer_waits = opt(3);
	s->a_union_ns = opt(12345678);
	v = judge(r);
	check_states(v, "---h--");
	assert_memory_equal(v->text, "contention without inversion", 28);
	assert_non_null(strstr(v->text, "12.3 ms"));
	assert_non_null(v->advice);
	/* priorities of some pairs are missing */
	s->c_unknown = opt(1);
	v = judge(r);
	assert_int_equal(v->primary, 4);
	assert_non_null(strstr(v->text, "inversion cannot be judged: 1 of 4 pairs unknown"));
	/* of all: no sched_switch in the trace */
	s->c_pairs = s->c_score_ns = s->c_unknown = (struct opt_u64){ 0 };
	s->c_b_windows = s->c_b_score_ns = (struct opt_u64){ 0 };
	v = judge(r);
	check_states(v, "cc-h--");
}

static void test_priorities_missing(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;
	const struct result_verdict *v;

	cover(r);
	s->a_pairs = opt(4);
	s->c_pairs = s->c_score_ns = s->c_b_windows = s->c_b_score_ns = s->c_unknown =
		(struct opt_u64){ 0 };
	v = judge(r);
	check_states(v, "cc-h--");
	assert_non_null(strstr(v->text, "4 of 4 pairs unknown"));
	assert_non_null(strstr(v->advice, "sched_switch"));
}

/* The first rule that holds wins: all of them made to hold, and taken away one by one. */
static void test_first_that_holds(void **state)
{
	struct result *r = *state;
	struct result_summary *s = &r->summary;

	cover(r);
	s->a_pairs = opt(1);
	s->b_windows = opt(1);
	s->b_retry_wait_ns = opt(1000);
	s->b_io_wait_ns = opt(1);
	s->c_b_windows = opt(1);
	s->c_b_score_ns = opt(LIMIT_NS * 2);
	assert_int_equal(judge(r)->primary, 1);
	s->c_b_score_ns = opt(1);
	assert_int_equal(judge(r)->primary, 2);
	s->c_b_windows = opt(0);
	s->c_b_score_ns = opt(0);
	assert_int_equal(judge(r)->primary, 3);
	s->b_io_wait_ns = opt(999);
	assert_int_equal(judge(r)->primary, 4);
	s->a_pairs = opt(0);
	assert_int_equal(judge(r)->primary, 5);
	s->b_windows = opt(0);
	assert_int_equal(judge(r)->primary, 6);
}

static void add_wait(struct result *r, enum table_id t, const char *lock, const char *mode,
		     const char *origin, u64 count, u64 total_ns, u64 max_ns)
{
	const struct table_def *def = &table_defs[t];
	struct cell *row = result_row(r, t);

	assert_non_null(row);
	for (u32 i = 0; i < def->n_cols; i++) {
		const char *key = def->cols[i].key;

		if (!strcmp(key, "lock"))
			cell_str(&row[i], lock, strlen(lock));
		else if (!strcmp(key, "mode"))
			cell_str(&row[i], mode, strlen(mode));
		else if (!strcmp(key, "origin"))
			cell_str(&row[i], origin, strlen(origin));
		else if (!strcmp(key, "count") || !strcmp(key, "contended"))
			cell_u64(&row[i], count);
		else if (!strcmp(key, "total"))
			cell_u64(&row[i], total_ns);
		else if (!strcmp(key, "max"))
			cell_u64(&row[i], max_ns);
	}
}

static void test_lock_waits(void **state)
{
	struct result *r = *state;
	const struct result_verdict *v;

	add_wait(r, TABLE_WAITS, "vma", "write", "", 50, 900 * MS, 90 * MS);
	assert_null(judge(r)->lock_waits);
	add_wait(r, TABLE_WAITS, "mmap_lock", "read", "", 7, 30 * MS, 20 * MS);
	add_wait(r, TABLE_WAITS, "mmap_lock", "write", "", 3, 5 * MS, 4 * MS);
	add_wait(r, TABLE_WAITS_BY_ORIGIN, "vma", "write", "exit", 50, 900 * MS, 90 * MS);
	add_wait(r, TABLE_WAITS_BY_ORIGIN, "mmap_lock", "read", "fault", 7, 12 * MS, 20 * MS);
	v = judge(r);
	assert_non_null(v->lock_waits);
	assert_memory_equal(v->lock_waits,
			    "10 waits, 10 contended; 35.0 ms in all, the longest 20.0 ms", 59);
	assert_non_null(strstr(v->lock_waits, "fault (read, 12.0 ms)"));
	add_wait(r, TABLE_WAITS_BY_ORIGIN, "mmap_lock", "read", "brk", 1, 1 * MS, 1 * MS);
	add_wait(r, TABLE_WAITS_BY_ORIGIN, "mmap_lock", "write", "mmap", 1, 15 * MS, 1 * MS);
	add_wait(r, TABLE_WAITS_BY_ORIGIN, "mmap_lock", "write", "fork", 1, 13 * MS, 1 * MS);
	v = judge(r);
	assert_non_null(strstr(v->lock_waits, "mmap (write, 15.0 ms) and fork (write, 13.0 ms)"));
	/* a counter for a clock: lengths mean nothing */
	r->trace.clock_has_seconds = false;
	r->verdict.lock_waits = NULL;
	assert_null(judge(r)->lock_waits);
}

/* Any figures, null or not: there is one answer, and it has its words. */
static void test_random(void **state)
{
	u64 seed = 0x9e3779b97f4a7c15ULL;

	for (u32 i = 0; i < 2000; i++) {
		struct result *r;
		struct result_summary *s;
		u64 *words;

		if (i % 200 == 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		r = *state;
		s = &r->summary;
		for (struct opt_u64 *o = &s->a_pairs; o <= &s->c_b_late; o++) {
			o->has = random_below(&seed, 4);
			words = &o->v;
			*words = random_below(&seed, 3) ? random_below(&seed, 4)
							: random_next(&seed);
			if (!o->has)
				o->v = 0;
		}
		/* rule 4 speaks of these three: an analysis gives all of them or none */
		s->a_union_ns.has = s->a_writer_waits.has = s->a_pairs.has;
		judge(r);
	}
}

int main(void)
{
#define VERDICT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		VERDICT_TEST(test_no_events),
		VERDICT_TEST(test_nothing_seen),
		VERDICT_TEST(test_one_type_missing),
		VERDICT_TEST(test_inversion_is_real),
		VERDICT_TEST(test_below_the_threshold),
		VERDICT_TEST(test_retry_cost),
		VERDICT_TEST(test_contention_without_inversion),
		VERDICT_TEST(test_priorities_missing),
		VERDICT_TEST(test_first_that_holds),
		VERDICT_TEST(test_lock_waits),
		VERDICT_TEST(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
