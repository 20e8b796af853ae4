/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result/series.c: a distribution of durations (see series.h). Layer: result.
 *
 * Values are appended unsorted: a long capture adds millions, a quantile is asked for a few times
 * at the end, and a series that outgrows the exact form never needs to be sorted at all.
 */
#include "result/series.h"

#include <stdlib.h>
#include <string.h>

#define SERIES_FIRST_CAPACITY 16
#define SERIES_LINEAR (2u << SERIES_BIN_BITS) /* values below have a bin each */
#define NS_PER_MS 1000000ULL

_Static_assert(SERIES_EXACT_MAX <= UINT32_MAX / 2, "capacity is u32");

void series_init(struct series *s)
{
	memset(s, 0, sizeof(*s));
}

void series_done(struct series *s)
{
	free(s->exact);
	free(s->bins);
	series_init(s);
}

u32 series_bucket(u64 value_ns)
{
	static const u64 edges[SERIES_BUCKETS - 1] = {
		1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
	};
	u32 bucket = 0;

	for (u32 i = 0; i < SERIES_BUCKETS - 1; i++)
		bucket += value_ns >= edges[i];
	return bucket;
}

u32 series_bin(u64 value_ns)
{
	u32 shift;

	if (value_ns < SERIES_LINEAR)
		return (u32)value_ns;
	shift = 63 - (u32)__builtin_clzll(value_ns) - SERIES_BIN_BITS;
	/* value >> shift is in [128, 256), and shift is 1 in the first octave behind the linear
	 * part */
	return (shift << SERIES_BIN_BITS) + (u32)(value_ns >> shift);
}

void series_bin_range(u32 bin, u64 *ret_first, u64 *ret_last)
{
	u32 shift = bin < SERIES_LINEAR ? 0 : (bin >> SERIES_BIN_BITS) - 1;
	u64 top = bin - (shift << SERIES_BIN_BITS);

	*ret_first = top << shift;
	*ret_last = *ret_first + ((1ULL << shift) - 1);
}

/* The exact form is dropped for good: after it only the figures that need no values are right. */
static void series_fail(struct series *s)
{
	free(s->exact);
	s->exact = NULL;
	s->capacity = 0;
	s->failed = true;
}

static u64 series_value(const struct series *s, u64 i)
{
	return s->wide ? s->values[i] : s->narrow[i];
}

/* @n_values: how many of the exact form are there (s->n may be ahead of them). */
static bool series_to_histogram(struct series *s, u64 n_values)
{
	u64 *bins = calloc(SERIES_BINS, sizeof(*bins));

	if (!bins) {
		series_fail(s);
		return false;
	}
	for (u64 i = 0; i < n_values; i++)
		bins[series_bin(series_value(s, i))]++;
	free(s->exact);
	s->exact = NULL;
	s->capacity = 0;
	s->bins = bins;
	s->approximate = true;
	return true;
}

/* Room for @want values, each as u64 if @wide; the @n_values there are kept. */
static bool series_reserve(struct series *s, u64 n_values, u64 want, bool wide)
{
	u64 capacity = s->capacity ? s->capacity : SERIES_FIRST_CAPACITY;
	void *p;

	if (want <= s->capacity && wide <= s->wide)
		return true;
	/* doubling wastes most where it matters most: grow by half once the array is large */
	while (capacity < want)
		capacity += capacity < 4096 ? capacity : capacity / 2;
	if (capacity > SERIES_EXACT_MAX)
		capacity = SERIES_EXACT_MAX;
	wide |= s->wide;
	p = realloc(s->exact, capacity * (wide ? sizeof(*s->values) : sizeof(*s->narrow)));
	if (!p)
		return false;
	s->exact = p;
	s->capacity = (u32)capacity;
	if (wide && !s->wide) {
		for (u64 i = n_values; i-- > 0;)
			s->values[i] = s->narrow[i];
		s->wide = true;
	}
	return true;
}

/* Keeps one more value in the exact form, which holds @n_values < SERIES_EXACT_MAX. */
static bool series_append(struct series *s, u64 n_values, u64 value)
{
	if (unlikely(n_values >= s->capacity || (value > UINT32_MAX && !s->wide)) &&
	    !series_reserve(s, n_values, n_values + 1, value > UINT32_MAX))
		return false;
	if (s->wide)
		s->values[n_values] = value;
	else
		s->narrow[n_values] = (u32)value;
	s->sorted = false;
	return true;
}

static void series_keep(struct series *s, u64 n_values, u64 value)
{
	if (unlikely(s->failed))
		return;
	if (!s->bins) {
		if (n_values < SERIES_EXACT_MAX && series_append(s, n_values, value))
			return;
		/* full, or no memory for the exact form: the bins of many values need less */
		if (n_values < SERIES_BINS) {
			series_fail(s);
			return;
		}
		if (!series_to_histogram(s, n_values))
			return;
	}
	s->bins[series_bin(value)]++;
}

void series_add(struct series *s, u64 value_ns)
{
	series_keep(s, s->n, value_ns);
	if (!s->n || value_ns < s->min)
		s->min = value_ns;
	if (value_ns > s->max)
		s->max = value_ns;
	s->n++;
	if (unlikely(__builtin_add_overflow(s->sum, value_ns, &s->sum)))
		s->sum = UINT64_MAX;
	s->over_1ms += value_ns > NS_PER_MS;
	s->over_10ms += value_ns > 10 * NS_PER_MS;
	s->buckets[series_bucket(value_ns)]++;
}

static void merge_values(struct series *into, const struct series *from)
{
	if (into->failed)
		return;
	if (from->failed) {
		free(into->bins);
		into->bins = NULL;
		series_fail(into);
		return;
	}
	if (!into->bins && (from->bins || into->n + from->n > SERIES_EXACT_MAX) &&
	    !series_to_histogram(into, into->n))
		return;
	if (from->bins) {
		for (u32 i = 0; i < SERIES_BINS; i++)
			into->bins[i] += from->bins[i];
		return;
	}
	for (u64 i = 0; i < from->n; i++)
		series_keep(into, into->n + i, series_value(from, i));
}

void series_merge(struct series *into, const struct series *from)
{
	if (!from->n)
		return;
	merge_values(into, from);
	if (!into->n || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->n += from->n;
	if (__builtin_add_overflow(into->sum, from->sum, &into->sum))
		into->sum = UINT64_MAX;
	into->over_1ms += from->over_1ms;
	into->over_10ms += from->over_10ms;
	for (u32 i = 0; i < SERIES_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

static int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Least digit first, 11 bits at a time: several times qsort()'s speed on 100,000 values. */
static bool radix_sort_u32(u32 *values, u32 n)
{
	u32 *from = values, *to = malloc(n * sizeof(*to)), *spare = to;

	if (!spare)
		return false;
	for (u32 shift = 0; shift < 32; shift += 11) {
		u32 at[2048] = { 0 }, sum = 0, *swap;

		for (u32 i = 0; i < n; i++)
			at[from[i] >> shift & 2047]++;
		for (u32 d = 0; d < 2048; d++) {
			u32 count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (u32 i = 0; i < n; i++)
			to[at[from[i] >> shift & 2047]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != values)
		memcpy(values, from, n * sizeof(*values));
	free(spare);
	return true;
}

static void series_sort(struct series *s)
{
	if (s->sorted)
		return;
	if (s->wide)
		qsort(s->values, s->n, sizeof(*s->values), compare_u64);
	else if (s->n < 512 || !radix_sort_u32(s->narrow, (u32)s->n))
		qsort(s->narrow, s->n, sizeof(*s->narrow), compare_u32);
	s->sorted = true;
}

static u64 histogram_value(const struct series *s, u64 rank)
{
	u64 seen = 0, first, last, middle;
	u32 bin = 0;

	/* the ends are known exactly */
	if (rank == 1)
		return s->min;
	if (rank == s->n)
		return s->max;
	while (bin < SERIES_BINS - 1 && rank - seen > s->bins[bin])
		seen += s->bins[bin++];
	series_bin_range(bin, &first, &last);
	middle = first + (last - first) / 2;
	if (middle < s->min)
		return s->min;
	return middle > s->max ? s->max : middle;
}

bool series_quantile(struct series *s, u32 permille, u64 *ret_ns)
{
	u64 rank;

	if (!s->n || s->failed || (permille == 999 && s->n < 1000))
		return false;
	if (permille > 1000)
		permille = 1000;
	/* ceil(permille * n / 1000), without the product's overflow */
	rank = s->n / 1000 * permille + (s->n % 1000 * permille + 999) / 1000;
	if (!rank)
		rank = 1;
	if (s->bins) {
		*ret_ns = histogram_value(s, rank);
		return true;
	}
	series_sort(s);
	*ret_ns = series_value(s, rank - 1);
	return true;
}
