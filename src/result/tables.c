/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result/tables.c: the columns of every table of a result; ONE row per column. Layer: result. */
#include "result/result.h"

/* The distribution columns that every table of durations shares. */
#define COLS_DISTRIBUTION                                                                          \
	{ "count", "COUNT", COL_COUNT, false, "intervals seen from begin to end" },                \
		{ "contended", "CONT", COL_COUNT, false,                                           \
		  "of these, lasting at least --contended-ns and longer than the clock's "         \
		  "resolution" },                                                                  \
		{ "total", "TOTAL us", COL_NS, false, "sum of their durations" },                  \
		{ "mean", "MEAN", COL_NS, false, "total / count" },                                \
		{ "p50", "P50", COL_QUANTILE, false, "median, nearest rank" },                     \
		{ "p90", "P90", COL_QUANTILE, false, "90th percentile" },                          \
		{ "p99", "P99", COL_QUANTILE, false, "99th percentile" },                          \
		{ "p99_9", "P99.9", COL_QUANTILE, false,                                           \
		  "99.9th percentile, null below 1,000 intervals" },                               \
		{ "max", "MAX", COL_NS, false, "longest" },                                        \
		{ "over_1ms", ">1ms", COL_COUNT, false, "longer than 1 ms" },                      \
		{ "over_10ms", ">10ms", COL_COUNT, false, "longer than 10 ms" },                   \
		{ "buckets", "log10 buckets", COL_BUCKETS, false,                                  \
		  "counts in [0,1) [1,10) [10,100) [100,1000) us, [1,10) [10,100) [100,1000) ms, " \
		  "[1 s,inf)" },                                                                   \
	{                                                                                          \
		"approximate", "APPROX", COL_FLAG, true,                                           \
			"true: the percentiles come from a histogram (relative error at most 1 "   \
			"%), else exact"                                                           \
	}

static const struct col cols_waits[] = {
	{ "lock", "LOCK", COL_STR, false,
	  "mmap_lock, vma (a VMA's lock, by its writers) or fault (a page cache fault's wait)" },
	{ "mode", "MODE", COL_STR, false, "read or write; a fault's wait is a read" },
	COLS_DISTRIBUTION,
	{ "open", "OPEN", COL_COUNT, false,
	  "begun before or ended after the trace: in no other figure" },
	{ "loss_inside", "LOSS", COL_COUNT, false,
	  "events were lost while they lasted: in no other figure" },
	{ "failed_tries", "FAILED", COL_COUNT, false,
	  "tries that returned success=false: no waits" },
	{ "failed_tries_total", "FAILED us", COL_NS, true, "time those tries took" },
};
static const struct col cols_waits_by_origin[] = {
	{ "lock", "LOCK", COL_STR, false, "as in waits" },
	{ "mode", "MODE", COL_STR, false, "as in waits" },
	{ "origin", "ORIGIN", COL_STR, false,
	  "what the waiter was doing (docs/GLOSSARY.md: origin)" },
	COLS_DISTRIBUTION,
};
static const struct col cols_waits_by_process[] = {
	{ "pid", "PID", COL_COUNT, false, "process (TGID), null where the trace does not tell" },
	{ "comm", "COMM", COL_STR, false,
	  "its main thread's name, else that of its first thread seen" },
	{ "lock", "LOCK", COL_STR, false, "as in waits" },
	{ "mode", "MODE", COL_STR, false, "as in waits" },
	COLS_DISTRIBUTION,
};
static const struct col cols_waits_by_thread[] = {
	{ "tid", "TID", COL_COUNT, false, "thread" },
	{ "comm", "COMM", COL_STR, false, "its name" },
	{ "lock", "LOCK", COL_STR, false, "as in waits" },
	{ "mode", "MODE", COL_STR, false, "as in waits" },
	{ "count", "COUNT", COL_COUNT, false, "waits" },
	{ "contended", "CONT", COL_COUNT, false, "of these, contended" },
	{ "total", "TOTAL us", COL_NS, false, "sum" },
	{ "mean", "MEAN", COL_NS, false, "total / count" },
	{ "max", "MAX", COL_NS, false, "longest" },
};
static const struct col cols_holds[] = {
	{ "mode", "MODE", COL_STR, false, "read or write" },
	{ "origin", "ORIGIN", COL_STR, false, "what the holder was doing; \"all\" = every origin" },
	COLS_DISTRIBUTION,
	{ "open", "OPEN", COL_COUNT, false, "as in waits" },
	{ "loss_inside", "LOSS", COL_COUNT, false, "as in waits" },
};
static const struct col cols_lock_totals[] = {
	{ "pid", "PID", COL_COUNT, false, "process (TGID), null in the rows of all processes" },
	{ "comm", "COMM", COL_STR, false, "its name, or all" },
	{ "what", "WHAT", COL_STR, false, "wait or hold" },
	{ "mode", "MODE", COL_STR, false, "read or write" },
	{ "count", "COUNT", COL_COUNT, false, "how many" },
	{ "total", "TOTAL us", COL_NS, false, "sum of their durations" },
	{ "mean", "MEAN", COL_NS, false, "total / count" },
	{ "max", "MAX", COL_NS, false, "longest" },
	{ "failed_tries", "FAILED", COL_COUNT, false, "tries that did not get the lock: no waits" },
	{ "buckets", "log10 buckets", COL_BUCKETS, false, "as in waits" },
};
static const struct col cols_fault_waits[] = {
	{ "reason", "REASON", COL_STR, false,
	  "as the event printed it: io, read_folio, folio_lock, ...; by the stack in BPF records" },
	{ "outcome", "THE FAULT", COL_STR, false, "kept the lock, retried, or was not seen whole" },
	COLS_DISTRIBUTION,
};
static const struct col cols_vma_writers[] = {
	{ "caller", "CALLER", COL_STR, false,
	  "function that asked for the VMA's lock, without offset" },
	{ "writes", "WRITES", COL_COUNT, false,
	  "VMA writes whose begin was seen; null in BPF records" },
	{ "waits", "WAITS", COL_COUNT, false, "waits seen from begin to end" },
	{ "total", "TOTAL us", COL_NS, false, "sum of those waits" },
	{ "mean", "MEAN", COL_NS, false, "total / waits" },
	{ "p50", "P50", COL_QUANTILE, false, "median" },
	{ "p99", "P99", COL_QUANTILE, false, "99th percentile" },
	{ "max", "MAX", COL_NS, false, "longest" },
	{ "approximate", "APPROX", COL_FLAG, true, "as in waits" },
};
static const struct col cols_callers[] = {
	{ "caller", "CALLER", COL_STR, false, "the VMA writer's caller" },
	{ "faults", "FAULTS", COL_COUNT, false,
	  "distinct faults of other threads near its writes" },
	{ "pairs", "PAIRS", COL_COUNT, false, "pairs of fault and write" },
};
static const struct col cols_a_pairs[] = {
	{ "waiter_tid", "TID", COL_COUNT, false, "the VMA writer that waits" },
	{ "waiter_comm", "WAITER", COL_STR, false, "its name" },
	{ "caller", "CALLER", COL_STR, false, "the function it waits in" },
	{ "blocker_tid", "TID", COL_COUNT, false, "the thread whose fault holds the VMA lock" },
	{ "blocker_comm", "BLOCKER", COL_STR, false, "its name" },
	{ "doing", "BLOCKER IS", COL_STR, false,
	  "the fault's wait reason, and what the scheduler says of the thread where it is traced" },
	{ "pairs", "PAIRS", COL_COUNT, false, "pairs" },
	{ "overlap", "OVERLAP us", COL_NS, false,
	  "sum of the overlaps of the pairs (several may cover the same time)" },
	{ "inverted", "INVERTED", COL_COUNT, false,
	  "pairs whose waiter is more important than the blocker" },
	{ "unknown", "UNKNOWN", COL_COUNT, false, "pairs with a priority missing" },
};
static const struct col cols_b_pairs[] = {
	{ "waiter_tid", "TID", COL_COUNT, false, "the thread that retries" },
	{ "waiter_comm", "WAITER", COL_STR, false, "its name" },
	{ "blocker_tid", "TID", COL_COUNT, false,
	  "the thread that holds or is queued to write mmap_lock" },
	{ "blocker_comm", "BLOCKER", COL_STR, false, "its name" },
	{ "windows", "WINDOWS", COL_COUNT, false, "windows that this thread overlaps" },
	{ "overlap", "OVERLAP us", COL_NS, false, "sum of the overlaps" },
	{ "inverted", "INVERTED", COL_COUNT, false,
	  "windows whose thread is more important than the blocker" },
};
static const struct col cols_vma_kinds[] = {
	{ "kind", "KIND", COL_STR, false,
	  "file, or unknown where the trace does not tell (docs/GLOSSARY.md: VMA kind)" },
	{ "faults", "FAULTS", COL_COUNT, false,
	  "faults whose begin was seen; null in BPF records" },
	{ "fault_waits", "WAITS", COL_COUNT, false, "waits of faults" },
	{ "fault_wait_total", "WAIT us", COL_NS, false, "their sum" },
	{ "writes", "WRITES", COL_COUNT, false,
	  "VMA writes whose begin was seen; null in BPF records" },
	{ "write_waits", "WAITS", COL_COUNT, false, "waits of VMA writers" },
	{ "write_wait_total", "WAIT us", COL_NS, false, "their sum" },
};
static const struct col cols_blame[] = {
	{ "waiter_tid", "TID", COL_COUNT, false, "the thread that waits" },
	{ "waiter_comm", "WAITER", COL_STR, false, "its name" },
	{ "lock", "LOCK", COL_STR, false, "mmap_lock, or vma (a VMA's lock, by its writers)" },
	{ "mode", "MODE", COL_STR, false, "what it waits for: read or write" },
	{ "blocker_tid", "TID", COL_COUNT, false,
	  "the thread it waits for; null for wake-up and unknown" },
	{ "blocker_comm", "BLOCKER", COL_STR, false, "its name" },
	{ "because", "BECAUSE", COL_STR, false,
	  "holds to read, holds to write, handed over (it has been given the lock to read and does "
	  "not run yet), queued to write, fault holds the VMA lock, held the VMA lock (the last "
	  "reader of the VMA to let go), owner when it slept (no hold is known, and mmap_lock "
	  "named "
	  "this writer), wake-up (the last holder had let go), unknown" },
	{ "time", "TIME us", COL_NS, false, "share of the waiter's contended wait time" },
	{ "waits", "WAITS", COL_COUNT, false, "contended waits with such a share" },
};
static const struct col cols_blame_by_origin[] = {
	{ "lock", "LOCK", COL_STR, false, "as in blame" },
	{ "mode", "MODE", COL_STR, false, "what the waiter waits for" },
	{ "waiter_origin", "WAITER IN", COL_STR, false, "the waiter's origin" },
	{ "blocker_origin", "BLOCKER IN", COL_STR, false,
	  "the blocker's origin, or wake-up, unknown" },
	{ "because", "BECAUSE", COL_STR, false, "as in blame" },
	{ "time", "TIME us", COL_NS, false, "share of contended wait time" },
	{ "waits", "WAITS", COL_COUNT, false, "contended waits with such a share" },
};
static const struct col cols_blame_stacks[] = {
	{ "lock", "LOCK", COL_STR, false, "as in blame" },
	{ "mode", "MODE", COL_STR, false, "what the waiter waits for" },
	{ "because", "BECAUSE", COL_STR, false, "as in blame" },
	{ "time", "TIME us", COL_NS, false, "share of contended wait time" },
	{ "waits", "WAITS", COL_COUNT, false, "contended waits with such a share" },
	{ "waiter_stack", "waits at", COL_LINE, false,
	  "where the waiter waits: up to six functions, innermost first, without those of the "
	  "scheduler, the lock and the entry into the kernel; null where it has no stack" },
	{ "blocker_stack", "behind", COL_LINE, false,
	  "the same of the blocker: its hold, its own wait where it is queued, its fault" },
};
static const struct col cols_blame_chains[] = {
	{ "waiter_tid", "TID", COL_COUNT, false, "the thread that waits" },
	{ "waiter_comm", "WAITER", COL_STR, false, "its name" },
	{ "lock", "LOCK", COL_STR, false, "as in blame" },
	{ "mode", "MODE", COL_STR, false, "what it waits for: read or write" },
	{ "hops", "HOPS", COL_COUNT, false,
	  "threads from the one it waits for to the root: 1 = that one is the root, 0 = wake-up or "
	  "unknown" },
	{ "root_tid", "TID", COL_COUNT, false,
	  "the last thread of the chain; null for a cycle, and without any" },
	{ "root_comm", "ROOT", COL_STR, false, "its name" },
	{ "root_doing", "ROOT IS", COL_STR, false,
	  "what its fault waits for, else its origin; and what the scheduler says of it for most "
	  "of "
	  "the time, where that is known" },
	{ "end", "END", COL_STR, false,
	  "why the chain ends there: root (it waits for no lock), wake-up (its last blocker had "
	  "let "
	  "go), unknown (it waits, no event tells for whom), cycle (it waits for a thread before "
	  "it), cut (it waits, after eight threads)" },
	{ "time", "TIME us", COL_NS, false,
	  "share of the waiter's contended wait time; over all rows of a waiter that time "
	  "exactly" },
	{ "waits", "WAITS", COL_COUNT, false, "contended waits with such a share" },
	{ "path", "behind", COL_LINE, false,
	  "the chain: who is in the waiter's way, and behind \"<\" who is in that one's way" },
};
static const struct col cols_blame_roots[] = {
	{ "tid", "TID", COL_COUNT, false, "the thread at the end of chains" },
	{ "comm", "COMM", COL_STR, false, "its name" },
	{ "origin", "ORIGIN", COL_STR, false, "what it was doing" },
	{ "because", "BECAUSE", COL_STR, false, "as in blame" },
	{ "reason", "REASON", COL_STR, false,
	  "what its fault waited for; null for others, and where not told" },
	{ "direct", "DIRECT us", COL_NS, false,
	  "wait time of others for whom it was next in line" },
	{ "time", "TIME us", COL_NS, false, "that, and the time it caused through other waiters" },
	{ "waiters", "WAITERS", COL_COUNT, false, "threads that waited for it" },
	{ "inverted", "INVERTED us", COL_NS, false,
	  "of time, with a waiter that is more important; null where no priorities are known" },
	{ "unknown", "UNKNOWN us", COL_NS, false, "of time, with a priority missing" },
};
static const struct col cols_open[] = {
	{ "tid", "TID", COL_COUNT, false, "thread" },
	{ "comm", "COMM", COL_STR, false, "its name" },
	{ "waits_for", "WAITS FOR", COL_STR, false,
	  "mmap_lock read, mmap_lock write, vma write or fault" },
	{ "origin", "ORIGIN", COL_STR, false, "what it was doing" },
	{ "since", "SINCE s", COL_TIME, false, "when the wait began" },
	{ "so_far", "SO FAR us", COL_NS, false, "from there to the end of the trace" },
	{ "holder_tid", "TID", COL_COUNT, false,
	  "the thread that mmap_lock named as its owner when the waiter went to sleep: a writer, "
	  "or the reader that came last; null where not told" },
	{ "holder_comm", "HOLDER", COL_STR, false, "its name" },
	{ "holder_doing", "holder", COL_LINE, false,
	  "how it had the lock and what it did then, with its innermost functions where it slept" },
	{ "stack", "waits at", COL_LINE, false, "where the waiter is, innermost function first" },
};
static const struct col cols_events[] = {
	{ "name", "EVENT", COL_STR, false, "event name; the kind of a BPF record" },
	{ "count", "COUNT", COL_COUNT, false, "records" },
};
static const struct col cols_lost[] = {
	{ "cpu", "CPU", COL_COUNT, false, "CPU; null: every one" },
	{ "marks", "MARKS", COL_COUNT, false, "LOST marks" },
	{ "events", "EVENTS", COL_COUNT, false, "sum of their numbers" },
	{ "minimum", "MIN", COL_FLAG, true,
	  "true: a mark had no number, so that events is a minimum" },
	{ "gap", "GAP us", COL_NS, false,
	  "time between the last event before and the first event after each mark" },
};

#define N_COLS(cols) cols, ARRAY_LEN(cols)
#define cols_WAITS N_COLS(cols_waits)
#define cols_WAITS_BY_ORIGIN N_COLS(cols_waits_by_origin)
#define cols_WAITS_BY_PROCESS N_COLS(cols_waits_by_process)
#define cols_WAITS_BY_THREAD N_COLS(cols_waits_by_thread)
#define cols_HOLDS N_COLS(cols_holds)
#define cols_LOCK_TOTALS N_COLS(cols_lock_totals)
#define cols_FAULT_WAITS N_COLS(cols_fault_waits)
#define cols_VMA_WRITERS N_COLS(cols_vma_writers)
#define cols_CALLERS N_COLS(cols_callers)
#define cols_A_PAIRS N_COLS(cols_a_pairs)
#define cols_B_PAIRS N_COLS(cols_b_pairs)
#define cols_VMA_KINDS N_COLS(cols_vma_kinds)
#define cols_BLAME N_COLS(cols_blame)
#define cols_BLAME_BY_ORIGIN N_COLS(cols_blame_by_origin)
#define cols_BLAME_CHAINS N_COLS(cols_blame_chains)
#define cols_BLAME_ROOTS N_COLS(cols_blame_roots)
#define cols_BLAME_STACKS N_COLS(cols_blame_stacks)
#define cols_OPEN N_COLS(cols_open)
#define cols_EVENTS N_COLS(cols_events)
#define cols_LOST N_COLS(cols_lost)

const struct table_def table_defs[TABLES] = {
#define TABLE(ID, key, section, title, doc) [TABLE_##ID] = { key, #section, title, cols_##ID, doc },
#include "result/tables.def"
#undef TABLE
};
