/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result/result.h: what an analysis found, as numbers with units. Layer: result.
 *
 * Nothing is rounded here: times are ns. Renderers (src/render) turn a result into text or JSON and
 * round there. Missing is not zero: an opt value without ->has is null, and the notes say why.
 * Definitions: docs/JSON.md; the columns of every table: result/tables.c.
 */
#ifndef MMSCOPE_RESULT_RESULT_H
#define MMSCOPE_RESULT_RESULT_H

#include "base/arena.h"
#include "base/types.h"
#include "base/vec.h"
#include "result/series.h"

struct opt_u64 {
	bool has;
	u64 v;
};

/* Smallest, median and largest of a series, in ns; null where there is none. */
struct result_spread {
	struct opt_u64 min_ns, median_ns, max_ns;
};

/* The contention summary of DESIGN: null = no event of that family in the trace. */
struct result_summary {
	struct opt_u64 fault_total, fault_retries;
	struct result_spread fault_wait;
	struct opt_u64 vma_write_total;
	struct result_spread vma_write_wait;
	struct result_spread lock_wait, lock_hold;
	struct opt_u64 a_pairs, a_union_ns, a_writer_waits, a_coincident;
	struct opt_u64
		a_undecided; /* overlaps whose fault was not seen whole, so that neither holds */
	struct opt_u64 b_windows, b_overlap_ns, b_retry_wait_ns, b_io_wait_ns, b_open_windows,
		b_pairs;
	struct opt_u64 c_pairs, c_score_ns, c_unknown, c_late;
	struct opt_u64 c_rt_pairs, c_fair_pairs; /* split of c_pairs: deadline/RT waiter behind a
						    fair task; both fair */
	struct opt_u64 c_b_windows, c_b_score_ns, c_b_unknown, c_b_late;
};

enum verdict_state { RULE_NO, RULE_HOLDS, RULE_CANNOT };
struct verdict_rule {
	u32 id;		  /* 1..6, DESIGN section 5 */
	const char *name; /* "priority inversion is real" */
	enum verdict_state state;
	const char *figures; /* the numbers it was judged by, one line */
};
struct result_verdict {
	u32 primary;	    /* id of the first rule that holds */
	const char *text;   /* one or two sentences: the answer */
	const char *advice; /* what to do, or what to record; NULL when there is nothing to say */
	const char
		*lock_waits; /* mmap_lock in one sentence; NULL where the trace has no such waits */
	struct verdict_rule rules[6];
};

/* How the value of a column is stored and shown. */
enum col_kind {
	COL_COUNT,    /* u: plain number */
	COL_NS,	      /* u: a duration; JSON "<key>_us" (floor), text in us */
	COL_TIME,     /* u: a time stamp in ns of the trace's clock; JSON "<key>_ns", text in s */
	COL_BYTES,    /* u; JSON "<key>_bytes" */
	COL_HEX,      /* u; JSON a string "0x..." */
	COL_STR,      /* s: any bytes, renderers escape */
	COL_LINE,     /* as COL_STR, and long: in text a line of its own below the row, "heading:"
			 before it */
	COL_PERCENT,  /* u: in 1/100 %; JSON and text with two decimals, JSON "<key>_pct" */
	COL_QUANTILE, /* as COL_NS; in text with a "~" before it when the row's approximate flag is
			 set */
	COL_FLAG,     /* u: 0 or not; JSON true or false, text yes or no */
	COL_BUCKETS   /* p: u64[SERIES_BUCKETS]; JSON an array; text one row a bucket column */
};
struct col {
	const char *key, *heading;
	enum col_kind kind;
	bool json_only;	 /* not in the text report */
	const char *doc; /* for docs/JSON.md */
};
struct table_def {
	const char *key;     /* JSON key, unique in the result */
	const char *section; /* the --only section it belongs to (result/sections.def) */
	const char *title;   /* text heading */
	const struct col *cols;
	u32 n_cols;
	const char *doc;
};
struct cell {
	bool null;
	u32 len; /* of s */
	union {
		u64 u;
		const char *s;
		const u64 *p;
	};
};
enum table_id {
#define TABLE(ID, key, section, title, doc) TABLE_##ID,
#include "result/tables.def"
#undef TABLE
	TABLES
};
extern const struct table_def table_defs[TABLES];

struct result_table {
	bool covered;		/* false: the trace has no event of this family: null in JSON */
	const char *why;	/* then: why, one line */
	VEC(struct cell) cells; /* n_rows x n_cols, row by row, sorted as it is to be shown */
	u32 n_rows;
	u64 rows_left_out; /* rows dropped by a limit: said in the output */
};

enum note_level { NOTE_INFO, NOTE_LOSS, NOTE_WARNING };
struct result_note {
	enum note_level level;
	const char *text; /* one line */
};

struct result_trace {
	const char *path;
	const char *format;	 /* "ftrace text", "BPF records" */
	bool from_bpf;		 /* BPF records: they tell of waits and what made others wait */
	const char *lock_family; /* "vendor", "stock", "blocked", "BPF" or "none" */
	const char *vma_family;	 /* "pairs", "blocked", "begin only", "BPF" or "none" */
	const char *clock;	 /* "mono", "local", ... where known, else NULL */
	bool clock_has_seconds;
	u64 resolution_ns;
	u64 begin_ns, end_ns; /* first and last event */
	u64 lines, events;
	u64 line_classes[16]; /* by enum line_class; names in line_class_keys */
	const char *line_class_keys[16];
	bool line_class_skipped[16];
	u32 n_line_classes;
	u64 lost_events, lost_marks;
	bool lost_is_minimum;
	bool cut; /* the recording ended with an error, or was killed: more was lost than it told */
	u64 overwritten_events; /* entries-written minus entries-in-buffer: coverage, not loss
				   inside */
	struct opt_u64 coverage_ppm;
	u32 cpus;
	u64 late_events; /* out of order by more than the window: left out */
	u64 pid_mismatch;
	u64 refused_strings, refused_stacks, refused_intervals; /* past a limit */
	u32 broken_chunks;
	bool has_sched_switch, has_stacks, has_calls;
	bool has_prios; /* by sched_switch, or by BPF records themselves */
};

struct result {
	struct arena arena;	       /* everything the result points to */
	const char *workload, *kernel; /* NULL = unknown */
	struct result_trace trace;
	struct result_summary summary;
	struct result_verdict verdict;
	struct result_table tables[TABLES];
	VEC(struct result_note) notes;
	bool incomplete; /* something was lost, skipped or refused: exit 3 under --strict */
};

#define RESULT_MAX_NOTES 200

void result_init(struct result *r);
void result_done(struct result *r);
/* Appends a row of null cells; NULL when out of memory. */
struct cell *result_row(struct result *r, enum table_id t);
/* The cell of a row in the column with that key; NULL when there is none. */
const struct cell *result_cell(const struct result *r, enum table_id t, u32 row, const char *key);
/* Keeps at most RESULT_MAX_NOTES notes, and one that says that more were left out. */
void result_note(struct result *r, enum note_level level, const char *fmt, ...) PRINTF_LIKE(3, 4);

static inline struct opt_u64 opt(u64 v)
{
	return (struct opt_u64){ true, v };
}
static inline void cell_u64(struct cell *c, u64 v)
{
	c->null = false;
	c->u = v;
}
static inline void cell_opt(struct cell *c, bool has, u64 v)
{
	c->null = !has;
	c->u = v;
}
/* @s must live as long as the result. */
static inline void cell_str(struct cell *c, const char *s, size_t len)
{
	c->null = false;
	c->s = s;
	c->len = (u32)len;
}

#endif
