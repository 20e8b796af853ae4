/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/check.h: what this kernel allows, and the traps in its set-up. Layer: live.
 *
 * checks.def has a row per check. A check never fails the run: what cannot be looked at is a row
 * with status unknown or refused, and says why. Everything it makes is removed again.
 */
#ifndef MMSCOPE_LIVE_CHECK_H
#define MMSCOPE_LIVE_CHECK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

/* CHECK_<NAME>, "name" */
#define CHECK_STATUSES(X)                                         \
	X(OK, "ok")	      /* it works; for a trap: not set */ \
	X(MISSING, "missing") /* this kernel has no such thing */ \
	X(REFUSED, "refused") /* it has, and does not let us */   \
	X(UNKNOWN, "unknown") /* could not be looked at */        \
	X(TRAP, "trap")	      /* works, and would spoil results */
enum check_status {
#define X(id, name) CHECK_##id,
	CHECK_STATUSES(X)
#undef X
};

struct check_row {
	const char *key; /* "bpf.tp_btf_mmap_lock", "event.mmap_lock:mmap_lock_released" */
	const char
		*group; /* "kernel", "tracefs", "events", "vendor events", "bpf", "perf", "traps" */
	const char *what;
	enum check_status status;
	const char *detail;	/* what was found, with the error text or the advice */
	const char *needed_for; /* what is lost without it */
	const char *since; /* where upstream has it from, NULL = older than 4.1, or not upstream */
};
/* The ladder of ways to see waits, best first; CHECK_RUNG_<NAME>, "name", what it shows. */
#define CHECK_RUNGS(X)                                                                            \
	X(VENDOR, "vendor tracepoints", "every fault wait, retry and VMA write by its own event") \
	X(TP_BTF, "BPF on BTF tracepoints",                                                       \
	  "mmap_lock waits, holders and off-CPU stacks by BPF; `record` needs --bpf for that")    \
	X(TRACEPOINT, "BPF on classic tracepoints", "mmap_lock waits, no kernel structures")      \
	X(INSTANCE, "trace instance", "mmap_lock waits, calls and scheduling; no VMA waits")      \
	X(TEXT, "stored traces only",                                                             \
	  "nothing can be recorded here; `analyze` reads what others did")
enum check_rung {
#define X(id, name, shows) CHECK_RUNG_##id,
	CHECK_RUNGS(X)
#undef X
};

struct check_report {
	struct arena arena; /* of the strings that are not constants */
	const char *kernel; /* release */
	enum check_rung rung;
	bool can_record;	    /* by ftrace */
	bool can_watch;		    /* by BPF: locks, record --bpf */
	const char *summary;	    /* one line */
	VEC(struct check_row) rows; /* in the order of checks.def */
};

const char *check_status_name(enum check_status s);
const char *check_rung_name(enum check_rung r);
/* Looks at everything. Negative errno only when out of memory. Free with check_report_done()
 * always. */
MUST_CHECK int check_report_init(struct check_report *r, struct error *e);
void check_report_done(struct check_report *r);

#endif
