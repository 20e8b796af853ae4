/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/gaps.h: the spans of time in which a CPU lost events. Layer: model.
 *
 * A quick first pass over the trace feeds every record and LOST mark in file order; gaps_finish()
 * then knows each gap: from the last event of that CPU before the mark to its first event after it.
 * A missing side is the trace's first or last event. Other recordings tell the span itself
 * (gaps_span).
 */
#ifndef MMSCOPE_MODEL_GAPS_H
#define MMSCOPE_MODEL_GAPS_H

#include "base/types.h"
#include "base/vec.h"

#define GAPS_MAX_CPU 4096
#define GAPS_ALL_CPUS 0xffff
/* Past this many gaps, neighbours are joined into one (which overstates the loss, never hides it).
 */
#define GAPS_MAX (1u << 20)

struct gap {
	u64 begin_ns, end_ns;
};
struct gap_cpu {
	u64 last_ns, pending_begin_ns;
	u64 head_gap_end_ns; /* end of a gap that began with the trace, 0 = none */
	u64 gap_ns, marks, lost_events;
	bool seen, pending, minimum;
};
struct gaps {
	VEC(struct gap) list; /* after gaps_finish(): sorted, not overlapping */
	VEC(struct gap_cpu) cpus;
	VEC(struct gap) spans; /* that all CPUs lost; in list after gaps_finish() */
	struct gap_cpu all;    /* their marks, sum of numbers and time: of every CPU alike */
	u64 first_ns, last_ns;
	u64 joined;		/* gaps past GAPS_MAX */
	bool any_event, failed; /* failed: out of memory */
};

void gaps_init(struct gaps *g);
void gaps_done(struct gaps *g);
void gaps_event(struct gaps *g, u16 cpu, u64 time_ns);
void gaps_lost(struct gaps *g, u16 cpu, u64 n, bool n_known);
/*
 * All CPUs lost @n events between the two times (@n_known false: at least). Begin 0 and end
 * UINT64_MAX are the trace's first and last event.
 */
void gaps_span(struct gaps *g, u64 begin_ns, u64 end_ns, u64 n, bool n_known);
/* The end of the pass: gaps still pending reach to the end of the trace. */
void gaps_finish(struct gaps *g);
/* Does an interval overlap a gap in time? A shared end is no overlap. */
bool gaps_touch(struct gaps *g, u64 begin_ns, u64 end_ns);

#endif
