/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/clock.h: the one clock mmscope measures itself with. */
#ifndef MMSCOPE_BASE_CLOCK_H
#define MMSCOPE_BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

/* Monotonic time in ns: the same clock as trace_clock "mono", so that the two can be compared. */
static inline u64 clock_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

#endif
