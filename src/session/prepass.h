/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/prepass.h: the quick first pass: where were events lost? Layer: session.
 *
 * A gap can reach back far, so it must be known before the intervals in it are judged. Most traces
 * lost nothing: their bytes are only searched for a LOST mark. Where there is one, the records'
 * headers are decoded too.
 */
#ifndef MMSCOPE_SESSION_PREPASS_H
#define MMSCOPE_SESSION_PREPASS_H

#include "model/gaps.h"
#include "source/source.h"

/* Fills @ret_gaps (initialised by the caller). Also finds broken chunks: see source_losses(). */
int prepass_find_gaps(struct source_set *set, struct gaps *ret_gaps, struct error *e) MUST_CHECK;

#endif
