/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_load.h: the BPF programs of src/bpf in the kernel: loads what this kernel takes, rung by
 * rung, attaches, filters. Layer: live. bpf_capture.h is what the commands use.
 */
#ifndef MMSCOPE_LIVE_BPF_LOAD_H
#define MMSCOPE_LIVE_BPF_LOAD_H

#include <sys/types.h>

#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"
#include "sys/kallsyms.h"

struct bpf_load_opts {
	u64 min_wait_ns; /* shorter waits are counted, not told (--min-us) */
	bool user_stacks;
	bool faults;	/* page faults and sleeps inside them (off: --no-faults) */
	bool filter_mm; /* only address spaces of watched processes (bpf_load_watch) */
	int cgroup_fd;	/* only waiters in this cgroup (v2); -1 = any */
	u64 ring_bytes; /* a power of two */
	u64 own_tgid;	/* mmscope: measured apart, left out of the rest */
	/* No better rung than this, for tests: "hash", "raw_tp", "tracepoint"; NULL = the best */
	const char *force;
};
#define BPF_LOAD_RING_BYTES (64u << 20)

/* One part of the programs: which way it is done, or what is missing and what that costs. */
struct bpf_rung {
	const char *part; /* "mmap_lock events", "state", "sleeps", "page faults", ... */
	const char *how; /* "tp_btf", "raw_tp", "tracepoint", "task storage", "hash map"; NULL = not
			    at all */
	char why[160];	 /* why not a better one, "" when it is the best */
};
struct bpf_rungs {
	VEC(struct bpf_rung) list;
};

struct bpf_load;
/* Loads, does not attach. @syms: for the address ranges of wire/bpf_frames.def. Errors: one line
 * that says what is missing (root, BPF, lockdown, the mmap_lock events) and what to use instead. */
int bpf_load_new(const struct bpf_load_opts *opts, const struct kallsyms *syms,
		 struct bpf_load **ret, struct error *e) MUST_CHECK;
void bpf_load_free(struct bpf_load *l); /* detaches */
/* This process and what it forks from now on; before bpf_load_attach() or later. */
int bpf_load_watch(struct bpf_load *l, pid_t tgid, struct error *e) MUST_CHECK;
int bpf_load_attach(struct bpf_load *l, struct error *e) MUST_CHECK;
/* Takes the programs off; what is in the ring stays readable. The totals no longer change. */
void bpf_load_detach(struct bpf_load *l);
const struct bpf_rungs *bpf_load_rungs(const struct bpf_load *l);
int bpf_load_ring_fd(const struct bpf_load *l);
/* Records that found no room, so far, and the span in which; then forgets the span. */
u64 bpf_load_take_lost(struct bpf_load *l, u64 *ret_first_ns, u64 *ret_last_ns);
/* Events that are in no total: no room for what is kept of a thread. 0 but for dire need. */
u64 bpf_load_refused(const struct bpf_load *l);
/* Holds shorter than min_wait_ns that kept somebody waiting, in floods of them: counted, not told.
 */
u64 bpf_load_untold_holds(const struct bpf_load *l);
/*
 * Open waits and sleeps older than @min_age_ns (flagged BFLAG_OPEN, with stack and owner) and, with
 * @totals, the TOTALS of every thread and ended process: whole records, one call of @sink each or
 * several together. Takes no lock of a watched process.
 */
int bpf_load_snapshot(struct bpf_load *l, u64 min_age_ns, bool totals,
		      int (*sink)(void *ctx, const void *records, size_t len), void *ctx,
		      struct error *e) MUST_CHECK;

#endif
