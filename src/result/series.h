/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result/series.h: a distribution of durations in ns. Layer: result.
 *
 * Up to SERIES_EXACT_MAX values every value is kept, so that quantiles are values that occurred.
 * Beyond, a log-linear histogram takes over (series_bin()), series_quantile() is then within 1 % of
 * such a value, and ->approximate is set. count, sum, min, max, over_* and buckets are exact in
 * both. A series grows with its values up to SERIES_EXACT_MAX x 4 bytes (x 8 once a value does not
 * fit 32 bits: 4.3 s), and then falls to SERIES_BINS x 8 bytes, whatever follows.
 */
#ifndef MMSCOPE_RESULT_SERIES_H
#define MMSCOPE_RESULT_SERIES_H

#include "base/types.h"

#define SERIES_EXACT_MAX 100000
#define SERIES_BUCKETS \
	8 /* [0,1) [1,10) [10,100) [100 us,1 ms) [1,10) [10,100) [100 ms,1 s) [1 s,inf) */

/*
 * The bins, a contract for results merged across machines: values below 256 have a bin each. Above,
 * each octave [2^e, 2^(e+1)), e = 8..63, is cut into 128 equal bins of 2^(e-7) ns:
 *
 *	bin = value                                             value < 256
 *	bin = 256 + (e - 8) * 128 + (value >> (e - 7)) - 128    else, e = index of the highest set
 *bit
 *
 * A bin is at most 1/128 of its lower edge wide, and its middle stands for it: at most 0.4 % from
 * any value in it.
 */
#define SERIES_BIN_BITS 7
#define SERIES_BINS (256 + (64 - 8) * (1 << SERIES_BIN_BITS))

struct series {
	u64 n, sum, min, max;	 /* sum stops at UINT64_MAX; min and max are 0 while n is 0 */
	u64 over_1ms, over_10ms; /* strictly more than */
	u64 buckets[SERIES_BUCKETS];
	bool approximate; /* the histogram has taken over */
	bool failed;	  /* out of memory: quantiles are unknown, all else still holds */
	/* exact form: every value, as u32 until one does not fit; sorted when a quantile is asked
	 * for */
	bool wide, sorted;
	u32 capacity;
	union {
		u32 *narrow;
		u64 *values;
		void *exact;
	};
	/* histogram form: count per bin */
	u64 *bins;
};

void series_init(struct series *s);
void series_done(struct series *s);
/* Takes no memory, and a few ns, once the histogram has taken over. */
void series_add(struct series *s, u64 value_ns);
/* Adds all of @from to @into (not the same one); exact while both together stay within the limit.
 */
void series_merge(struct series *into, const struct series *from);
/* Nearest rank: the value at rank ceil(permille/1000 * n), at least 1. False when the series is
 * empty, failed, or permille is 999 and n < 1000. */
bool series_quantile(struct series *s, u32 permille, u64 *ret_ns);
/* The log10 bucket of a duration: 0..SERIES_BUCKETS-1, lower edge inclusive, on ns. */
u32 series_bucket(u64 value_ns);

/* The bin of a value, and the smallest and largest value of a bin (< SERIES_BINS). */
u32 series_bin(u64 value_ns);
void series_bin_range(u32 bin, u64 *ret_first, u64 *ret_last);

#endif
