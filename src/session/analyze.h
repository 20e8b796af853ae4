/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/analyze.h: source -> decode -> model -> analyses -> result, for stored traces. Layer:
 * session. */
#ifndef MMSCOPE_SESSION_ANALYZE_H
#define MMSCOPE_SESSION_ANALYZE_H

#include "analysis/analysis.h"
#include "base/error.h"
#include "decode/ftrace_text.h"
#include "result/result.h"

/* A limit of the time range: absolute, or relative to the trace's first event. */
struct time_limit {
	bool has, relative;
	u64 ns;
};
struct analyze_opts {
	struct analysis_opts analysis;
	struct time_limit from, to;
	enum syscall_arch arch; /* ARCH_UNKNOWN: the session's machine, where known */
	bool allow_step_back; /* several boots in one file: decode all, analyse what is in order */
	const char *workload; /* overrides the session's; may be NULL */
	u32 show_skipped;
	/* For --show-skipped: called for the first lines that were not understood. */
	void (*skipped)(void *ctx, const char *why, u64 line_no, const char *line, size_t len);
	/* For a progress line: bytes done of all that will be read, 0 = unknown. */
	void (*progress)(void *ctx, u64 done_bytes, u64 all_bytes);
	void *ctx;
};
#define ANALYZE_CONTENDED_NS 1000
#define ANALYZE_WINDOW_NS 1000000
#define ANALYZE_INVERSION_NS 1000000

/* Fills @r (initialised by the caller). 0 or a negative errno with one line in @e. */
int session_analyze(const char *path, const struct analyze_opts *opts, struct result *r,
		    struct error *e) MUST_CHECK;

/* Whole BPF records (wire/bpf_record.h), without file header and chunks. */
struct analyze_block {
	const void *records;
	size_t len;
};
/* The same for what a live command has in memory: the blocks are one stream, in this order. */
int session_analyze_records(const struct analyze_block *blocks, size_t n_blocks,
			    const struct analyze_opts *opts, struct result *r,
			    struct error *e) MUST_CHECK;

#endif
