/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/random_help.h: the same random numbers on every run, for tests against naive models.
 */
#ifndef MMSCOPE_TESTS_RANDOM_HELP_H
#define MMSCOPE_TESTS_RANDOM_HELP_H

#include "base/types.h"

static inline u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 .. limit - 1 */
static inline u64 random_below(u64 *state, u64 limit)
{
	return random_next(state) % limit;
}

#endif
