/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/analysis.h: what an analysis is. Layer: analysis.
 *
 * An analysis listens to intervals as they open and close, keeps what it needs of the open ones,
 * and writes its part of the result at the end. Its memory follows distinct things and open
 * intervals, never the length of the trace. docs/HOWTO-ADD-AN-ANALYSIS.md walks through adding one.
 */
#ifndef MMSCOPE_ANALYSIS_ANALYSIS_H
#define MMSCOPE_ANALYSIS_ANALYSIS_H

#include "base/intern.h"
#include "model/pair.h"
#include "result/result.h"

struct analysis_opts {
	u64 contended_ns;      /* a shorter wait is no contention; default 1,000 */
	u64 callers_window_ns; /* +- around a VMA write's begin; default 1 ms */
	u64 inversion_ns;      /* a Type C score above it is "real"; default 1 ms */
	const u64 *pids;       /* only waiters of these processes or threads; n_pids 0 = all */
	size_t n_pids;
	const char *const *comms; /* only waiters with one of these names (glob) */
	size_t n_comms;
	u64 ended_from_ns; /* waits and holds that ended before this only explain later ones */
};

/* What every analysis may look at. */
struct analysis_ctx {
	const struct analysis_opts *opts;
	const struct tasks *tasks;
	const struct intern *strings;
	const struct stacks *stacks;
	const struct pair_seen *seen;	  /* at finish: of the whole trace */
	const struct pair_counts *counts; /* the same */
	u64 resolution_ns;
	bool clock_has_seconds; /* at finish: false = a counter, durations mean nothing */
	u64 begin_ns, end_ns;	/* at finish: first and last event */
	u64 refused;		/* what a limit of an analysis turned away */
};

/* Which interval->note[] an analysis owns. */
enum analysis_note { NOTE_TYPE_A, NOTE_TYPE_B, NOTE_BLAME, NOTE_BLAME_QUEUE, NOTE_CALLERS };

struct analysis_ops {
	const char *key;
	void *(*new)(struct analysis_ctx *ctx); /* NULL when out of memory */
	void (*free)(void *self);
	u32 kinds; /* as in struct pair_listener */
	int (*open)(void *self, struct interval *iv);
	int (*close)(void *self, struct interval *iv);
	int (*retry)(void *self, struct interval *fault);
	int (*advance)(void *self, u64 now_ns);
	int (*finish)(void *self, struct result *r);
};

enum analysis_id {
#define ANALYSIS(ID, ops, doc) ANALYSIS_##ID,
#include "analysis/analyses.def"
#undef ANALYSIS
	ANALYSES
};
#define ANALYSIS(ID, ops, doc) extern const struct analysis_ops ops;
#include "analysis/analyses.def"
#undef ANALYSIS
extern const struct analysis_ops *const analysis_ops[ANALYSES];

/* Is the interval's thread one that -p and -c ask for? Blockers are never filtered. */
bool analysis_selects(const struct analysis_ctx *ctx, struct task_id task);
/* Is a closed interval one to count: asked for, and ended late enough (->ended_from_ns)? */
bool analysis_counts(const struct analysis_ctx *ctx, const struct interval *iv);
bool analysis_is_contended(const struct analysis_ctx *ctx, u64 wait_ns);
/* The thread's name, copied into the result; the cell stays null where none is known. */
void analysis_cell_comm(struct result *r, struct cell *c, const struct analysis_ctx *ctx,
			struct task_id task);
void analysis_cell_string(struct result *r, struct cell *c, const struct analysis_ctx *ctx,
			  u32 string_id, const char *otherwise);
/* The columns COUNT .. APPROX that distribution tables share (result/tables.c). Returns the cell
 * behind. */
struct cell *analysis_fill_distribution(struct result *r, struct cell *c,
					const struct analysis_ctx *ctx, struct series *s,
					u64 contended);

#endif
