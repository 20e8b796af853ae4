/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/prepass.h: the quick pass that finds where events were lost. Layer: session.
 *
 * A gap can reach back far, so it must be known before the intervals in it are judged. Most traces
 * lost nothing: the first LOST mark that an analysis meets makes it stop, and begin again after
 * this pass, which decodes no more of a record than its CPU and time.
 */
#ifndef MMSCOPE_SESSION_PREPASS_H
#define MMSCOPE_SESSION_PREPASS_H

#include "model/gaps.h"
#include "source/source.h"

/* Fills @ret_gaps (initialised by the caller). */
int prepass_find_gaps(struct source_set *set, bool allow_step_back, struct gaps *ret_gaps,
		      struct error *e) MUST_CHECK;

#endif
