/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_series.c: distributions against a sorted array, and the bounds of the histogram.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/types.h"
#include "result/series.h"

static const u32 permilles[] = { 0, 1, 10, 250, 333, 500, 501, 900, 990, 999, 1000 };

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* The definition, word by word: the smallest rank r with r * 1000 >= permille * n, at least 1. */
static u64 naive_quantile(const u64 *sorted, u64 n, u32 permille)
{
	u64 rank = 1;

	while (rank * 1000 < permille * n)
		rank++;
	return sorted[rank - 1];
}

/* Every figure of @s against the values themselves; quantiles exactly, or within 1 % if
 * approximate. */
static void check_against(struct series *s, const u64 *values, u64 n)
{
	u64 *sorted = malloc((n + 1) * sizeof(*sorted));
	u64 sum = 0, over_1ms = 0, over_10ms = 0, buckets[SERIES_BUCKETS] = { 0 }, got;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_u64);
	for (u64 i = 0; i < n; i++) {
		if (__builtin_add_overflow(sum, values[i], &sum)) {
			sum = UINT64_MAX;
			break;
		}
	}
	for (u64 i = 0; i < n; i++) {
		over_1ms += values[i] > 1000000;
		over_10ms += values[i] > 10000000;
		buckets[series_bucket(values[i])]++;
	}
	assert_int_equal(s->n, n);
	assert_true(s->sum == sum);
	assert_int_equal(s->over_1ms, over_1ms);
	assert_int_equal(s->over_10ms, over_10ms);
	assert_memory_equal(s->buckets, buckets, sizeof(buckets));
	assert_int_equal(s->approximate, n > SERIES_EXACT_MAX);
	assert_false(s->failed);
	if (n) {
		assert_true(s->min == sorted[0]);
		assert_true(s->max == sorted[n - 1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(permilles); i++) {
		bool known = series_quantile(s, permilles[i], &got);
		u64 want, off;

		assert_int_equal(known, n > 0 && (permilles[i] != 999 || n >= 1000));
		if (!known)
			continue;
		want = naive_quantile(sorted, n, permilles[i]);
		off = got > want ? got - want : want - got;
		if (s->approximate)
			assert_true(off <= want / 100 && got >= s->min && got <= s->max);
		else
			assert_true(off == 0);
	}
	free(sorted);
}

static void test_exact_small(void **state)
{
	u64 seed = 42, values[50];

	(void)state;
	for (u64 n = 0; n <= 50; n++) {
		struct series s;

		series_init(&s);
		for (u64 i = 0; i < n; i++) {
			values[i] = random_next(&seed) % 1000; /* with duplicates */
			series_add(&s, values[i]);
		}
		check_against(&s, values, n);
		/* asking for quantiles in between must not disturb what is added later */
		if (n && n < 50) {
			values[n] = 0;
			series_add(&s, 0);
			check_against(&s, values, n + 1);
		}
		series_done(&s);
	}
}

/* The median is the lower middle; p90 of ten is the ninth. */
static void test_nearest_rank(void **state)
{
	struct series s;
	u64 got;

	(void)state;
	series_init(&s);
	assert_false(series_quantile(&s, 500, &got));
	for (u64 v = 10; v >= 1; v--)
		series_add(&s, v * 1000);
	assert_true(series_quantile(&s, 500, &got));
	assert_int_equal(got, 5000);
	assert_true(series_quantile(&s, 900, &got));
	assert_int_equal(got, 9000);
	assert_true(series_quantile(&s, 901, &got));
	assert_int_equal(got, 10000);
	assert_false(series_quantile(&s, 999, &got));
	series_done(&s);
}

/* Values of every magnitude, so that the array turns wide at a random place, or never. */
static void test_exact_random(void **state)
{
	static const u64 sizes[] = { 511, 512, 999, 1000, 5000, 40000, SERIES_EXACT_MAX };
	u64 seed = 7, *values = malloc(SERIES_EXACT_MAX * sizeof(*values));

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sizes) * 2; k++) {
		u64 n = sizes[k / 2];
		struct series s;

		series_init(&s);
		for (u64 i = 0; i < n; i++) {
			u64 v = random_next(&seed);

			values[i] = k & 1 ? v >> (v & 63) : v & 0xffffffff;
			series_add(&s, values[i]);
		}
		assert_int_equal(s.wide, k & 1);
		check_against(&s, values, n);
		series_done(&s);
	}
	free(values);
}

static void test_bins(void **state)
{
	u64 next = 0, seed = 3;

	(void)state;
	for (u32 bin = 0; bin < SERIES_BINS; bin++) {
		u64 first, last, middle;

		series_bin_range(bin, &first, &last);
		assert_true(first == next); /* no hole, no overlap */
		assert_true(last >= first);
		assert_int_equal(series_bin(first), bin);
		assert_int_equal(series_bin(last), bin);
		middle = first + (last - first) / 2;
		assert_true((last - middle) <= first / 250 && (middle - first) <= first / 250);
		next = last + 1;
	}
	assert_true(next == 0); /* the last bin ends at UINT64_MAX */
	/* the documented layout */
	for (u32 i = 0; i < 100000; i++) {
		u64 v = random_next(&seed) >> (random_next(&seed) & 63);
		u32 e = 63 - (u32)__builtin_clzll(v | 1);

		assert_int_equal(series_bin(v),
				 v < 256 ? v : 256 + (e - 8) * 128 + (v >> (e - 7)) - 128);
	}
}

static void test_histogram_error(void **state)
{
	const u64 n = SERIES_EXACT_MAX + 20000;
	u64 seed = 11, *values = malloc(n * sizeof(*values));

	(void)state;
	/* 0: all magnitudes; 1: around 1 ms; 2: one value; 3: the extremes only */
	for (u32 shape = 0; shape < 4; shape++) {
		static const u64 extremes[] = { 0, 1, 1ULL << 63, UINT64_MAX };
		struct series s;

		series_init(&s);
		for (u64 i = 0; i < n; i++) {
			u64 v = random_next(&seed);

			values[i] = shape == 0	 ? v >> (v & 63)
				    : shape == 1 ? 900000 + v % 200000
				    : shape == 2 ? 12345
						 : extremes[v & 3];
			series_add(&s, values[i]);
			if (i + 1 == SERIES_EXACT_MAX)
				assert_false(s.approximate);
		}
		assert_null(s.exact);
		check_against(&s, values, n);
		series_done(&s);
	}
	free(values);
}

static void check_same(struct series *a, struct series *b)
{
	u64 x, y;

	assert_int_equal(a->n, b->n);
	assert_true(a->sum == b->sum && a->min == b->min && a->max == b->max);
	assert_true(a->over_1ms == b->over_1ms && a->over_10ms == b->over_10ms);
	assert_memory_equal(a->buckets, b->buckets, sizeof(a->buckets));
	assert_int_equal(a->approximate, b->approximate);
	if (a->bins)
		assert_memory_equal(a->bins, b->bins, SERIES_BINS * sizeof(*a->bins));
	for (size_t i = 0; i < ARRAY_LEN(permilles); i++) {
		assert_int_equal(series_quantile(a, permilles[i], &x),
				 series_quantile(b, permilles[i], &y));
		if (a->n && permilles[i] != 999)
			assert_true(x == y);
	}
}

static void test_merge(void **state)
{
	static const u64 sizes[] = {
		0, 1, 700, SERIES_EXACT_MAX - 700, SERIES_EXACT_MAX, SERIES_EXACT_MAX + 1, 250000
	};
	u64 seed = 5;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (size_t j = 0; j < ARRAY_LEN(sizes); j++) {
			struct series a, b, both;

			series_init(&a);
			series_init(&b);
			series_init(&both);
			for (u64 k = 0; k < sizes[i] + sizes[j]; k++) {
				u64 v = random_next(&seed);

				/* one side narrow, so that wide meets narrow both ways */
				v >>= (i ^ j ^ (k < sizes[i])) & 1 ? 33 : v & 63;
				series_add(k < sizes[i] ? &a : &b, v);
				series_add(&both, v);
			}
			series_merge(&a, &b);
			check_same(&a, &both);
			assert_int_equal(b.n, sizes[j]);
			series_done(&a);
			series_done(&b);
			series_done(&both);
		}
	}
}

static void test_bucket_edges(void **state)
{
	static const struct {
		u64 ns;
		u32 bucket;
	} edges[] = {
		{ 0, 0 },	  { 999, 0 },	    { 1000, 1 },       { 9999, 1 },
		{ 10000, 2 },	  { 99999, 2 },	    { 100000, 3 },     { 999999, 3 },
		{ 1000000, 4 },	  { 9999999, 4 },   { 10000000, 5 },   { 99999999, 5 },
		{ 100000000, 6 }, { 999999999, 6 }, { 1000000000, 7 }, { UINT64_MAX, 7 },
	};
	/* the reads and writes of the "bucket edges" example of the analysis, and its counts */
	static const u64 reads[] = { 0, 999, 1000, 9999, 10000, 999999, 1000000 };
	static const u64 read_buckets[SERIES_BUCKETS] = { 2, 2, 1, 1, 1, 0, 0, 0 };
	static const u64 writes[] = { 99999, 999999999, 1000000000 };
	static const u64 write_buckets[SERIES_BUCKETS] = { 0, 0, 1, 0, 0, 0, 1, 1 };
	struct series r, w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++)
		assert_int_equal(series_bucket(edges[i].ns), edges[i].bucket);
	series_init(&r);
	series_init(&w);
	for (size_t i = 0; i < ARRAY_LEN(reads); i++)
		series_add(&r, reads[i]);
	for (size_t i = 0; i < ARRAY_LEN(writes); i++)
		series_add(&w, writes[i]);
	assert_memory_equal(r.buckets, read_buckets, sizeof(read_buckets));
	assert_memory_equal(w.buckets, write_buckets, sizeof(write_buckets));
	assert_int_equal(r.over_1ms, 0); /* 1 ms itself is not more than 1 ms */
	assert_int_equal(w.over_1ms, 2);
	assert_int_equal(w.over_10ms, 2);
	series_done(&r);
	series_done(&w);
}

static void test_sum_saturates(void **state)
{
	struct series s, t;

	(void)state;
	series_init(&s);
	series_init(&t);
	series_add(&s, UINT64_MAX - 5);
	series_add(&s, 5);
	assert_true(s.sum == UINT64_MAX);
	series_add(&s, 1);
	assert_true(s.sum == UINT64_MAX);
	series_add(&t, 9);
	series_merge(&t, &s);
	assert_true(t.sum == UINT64_MAX && t.n == 4 && t.min == 1);
	series_done(&s);
	series_done(&t);
}

/* A series without memory for its values keeps its sums, says so, and passes that on. */
static void test_failed(void **state)
{
	struct series s, t;
	u64 got;

	(void)state;
	series_init(&s);
	series_init(&t);
	s.failed = true;
	series_add(&s, 3000);
	series_add(&s, 5000);
	assert_false(series_quantile(&s, 500, &got));
	assert_int_equal(s.sum, 8000);
	series_add(&t, 1);
	series_merge(&t, &s);
	assert_true(t.failed);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.sum, 8001);
	assert_false(series_quantile(&t, 500, &got));
	series_done(&s);
	series_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_small),	cmocka_unit_test(test_nearest_rank),
		cmocka_unit_test(test_exact_random),	cmocka_unit_test(test_bins),
		cmocka_unit_test(test_histogram_error), cmocka_unit_test(test_merge),
		cmocka_unit_test(test_bucket_edges),	cmocka_unit_test(test_sum_saturates),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
