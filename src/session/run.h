/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/run.h: one pass of the analysis over a source set (analyze.c calls, assemble.c reads).
 * Layer: session. */
#ifndef MMSCOPE_SESSION_RUN_H
#define MMSCOPE_SESSION_RUN_H

#include "model/order.h"
#include "session/analyze.h"
#include "session/feed.h"
#include "session/feed_bpf.h"
#include "session/session_dir.h"

/* Everything that lives as long as one trace is analysed. */
struct run {
	const struct analyze_opts *opts;
	struct source_set *set; /* NULL: BPF records in memory */
	bool bpf;		/* the trace is a BPF stream: ->input and ->scan */
	struct bpf_input input;
	struct bpf_scan scan;
	struct session_info info; /* of mmscope.json; empty for a plain file */
	bool has_info;
	struct intern strings;
	struct stacks stacks;
	struct gaps gaps;
	struct origins origins;
	/* made anew for every pass */
	struct tasks tasks;
	struct pair *pair;
	struct order *order;
	struct feed *feed; /* of text, else NULL */
	struct feed_bpf *feed_bpf;
	struct analysis_ctx ctx;
	void *analyses[ANALYSES];
	struct pair_listener listeners[ANALYSES];
	u64 begin_ns, end_ns;
	u64 out_of_range; /* events outside --from, --to */
	bool any_event;
	u64 cpus_seen[FTRACE_MAX_CPU / 64]; /* a bit per CPU */
	/* learned by earlier passes */
	struct pair_seen seen;
	bool gaps_known;
	u32 fraction_digits;
	u32 passes;
};

#define RUN_NEEDS_GAPS 2 /* beside PAIR_RESTART: a LOST mark, and no prepass yet */

/* One pass from the first byte to the last. 0, PAIR_RESTART or RUN_NEEDS_GAPS (run again), or a
 * negative errno with @e set. */
int run_pass(struct run *run, struct error *e) MUST_CHECK;
void run_pass_done(struct run *run);
/* The result of a pass that ended well. */
int run_assemble(struct run *run, struct result *r, struct error *e) MUST_CHECK;

/* The parts of run_assemble() for a BPF stream (assemble_bpf.c). */
void assemble_bpf_trace(const struct run *run, struct result *r);
int assemble_bpf_tables(const struct run *run, struct result *r) MUST_CHECK;
void assemble_bpf_notes(const struct run *run, struct result *r);

#endif
