/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/chain_priv.h: what chain_keep.c and chain.c share. Layer: analysis. */
#ifndef MMSCOPE_ANALYSIS_CHAIN_PRIV_H
#define MMSCOPE_ANALYSIS_CHAIN_PRIV_H

#include "analysis/chain.h"

/* Adds the wait's time to the rows, by the ways that lead on from it. */
void chain_follow(struct chains *c, const struct blame_wait *w);
/* What the row has not told the inversions yet. */
void chain_flush_pair(struct chains *c, struct chain_row *row);
/*
 * The thread's settled waits that overlap [from_ns, to_ns): at most @max of them are stored, their
 * number is returned.
 */
size_t chain_find(struct chains *c, struct task_id id, u64 from_ns, u64 to_ns,
		  const struct blame_wait **ret, size_t max);

#endif
