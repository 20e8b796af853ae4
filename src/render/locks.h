/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/locks.h: one refresh of `mmscope locks`: the tables that matter of a result, under a line
 * that says what they are of and what watching cost. Layer: render.
 */
#ifndef MMSCOPE_RENDER_LOCKS_H
#define MMSCOPE_RENDER_LOCKS_H

#include "render/render.h"

/* What the result does not know of its own window. Strings may hold any byte. */
struct locks_frame {
	u64 refresh; /* 1, 2, ... */
	bool last;
	const char *scope;    /* "all processes", "process 812", "command ./x" */
	const char *clock;    /* time of day at the window's end, "14:03:22" */
	u64 begin_ns, end_ns; /* CLOCK_MONOTONIC */
	u64 min_wait_ns;
	u64 lost, lost_all;	    /* records that found no room: in the window, since the start */
	u64 left_out;		    /* records past the window's limit, since the start */
	u64 records, record_bytes;  /* read in the window */
	u64 cpu_ns;		    /* mmscope's own, user and system, in the window */
	u64 own_waits, own_wait_ns; /* mmscope's own for its mmap_lock, since the start */
	const char *const
		*rungs; /* parts that are missing or done in a lesser way, one line each */
	size_t n_rungs;
};

/*
 * @max_lines: as many rows per table as fit, at most o->top (0 = any number); 0 = no limit, o->top
 * rows each.
 */
int render_locks(const struct result *r, const struct locks_frame *f, u32 max_lines, FILE *out,
		 const struct render_opts *o, struct error *e) MUST_CHECK;
/* One line: the result as render_json() has it, and a key "locks" (docs/JSON.md). */
int render_locks_json(const struct result *r, const struct locks_frame *f, FILE *out,
		      const struct render_opts *o, struct error *e) MUST_CHECK;

#endif
