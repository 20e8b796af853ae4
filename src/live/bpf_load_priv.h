/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_load_priv.h: what the files of the loader share: bpf_load.c (its life), bpf_facts.c
 * (what this kernel's BTF says), bpf_rungs.c (which programs), bpf_snapshot.c (reading them out).
 * Layer: live.
 */
#ifndef MMSCOPE_LIVE_BPF_LOAD_PRIV_H
#define MMSCOPE_LIVE_BPF_LOAD_PRIV_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "live/bpf_load.h"

/* What decides between variants of a program; read off types, never off a version. */
struct bpf_facts {
	bool lock_events;  /* mmap_lock_* exist */
	u8 lock_arg_shift; /* up to 6.13: memcg_path behind mm */
	bool lock_tells_success;
	bool switch_tells_state;
	bool fault_events;	/* page_fault_user: x86; arm64 lacks it */
	bool contention_events; /* 5.19 */
	bool waking_event;
	bool vma_refcnt, vma_rwsem; /* the per-VMA lock: 6.15; 6.4 to 6.14 */
	bool rwsem_count;	    /* not with PREEMPT_RT */
	bool task_from_pid;	    /* kfunc, 6.2 */
};
/* -ENOENT etc. and @e when the kernel has no BTF. */
int bpf_facts_read(struct bpf_facts *f, struct error *e) MUST_CHECK;
/* Offsets of the classic tracepoints' fields, from tracefs; negative errno when they can't be read.
 */
int bpf_facts_classic(u16 *ret_mm, u16 *ret_write, u16 *ret_success) MUST_CHECK;
/* "confidentiality" is what refuses reading kernel memory. */
bool bpf_facts_locked_down(void);

/* Ways to do it, best first. */
enum bpf_mode { BPF_MODE_STORAGE, BPF_MODE_HASH, BPF_MODE_RAW, BPF_MODE_CLASSIC, BPF_MODE_N };
/* A part can be off on its own; without the first there is nothing. */
enum bpf_part {
	BPF_PART_LOCK,
	BPF_PART_SLEEPS,
	BPF_PART_OWNER_STACKS,
	BPF_PART_FAULTS,
	BPF_PART_VMA_RWSEM,
	BPF_PART_PROCESSES,
	BPF_PART_SNAPSHOT,
	BPF_PART_N
};

#define BPF_NOT_ALLOWED \
	"loading BPF programs needs root, or CAP_BPF and CAP_PERFMON: run it with sudo"
#define BPF_MAX_LINKS 24
struct bpf_load {
	struct bpf_load_opts opts;
	struct bpf_facts facts;
	enum bpf_mode mode;
	bool on[BPF_PART_N];
	char off_why[BPF_PART_N][128]; /* of a part that is off */
	char mode_why[160];	       /* why not a better mode */
	struct bpf_rungs rungs;
	struct bpf_object *object;
	struct bpf_link *links[BPF_MAX_LINKS], *iter;
	size_t n_links;
	struct bpf_counters *counters; /* the programs' own, mapped */
	size_t counters_bytes;
	u64 lost_taken;
};

/* Opens and loads the best that this kernel takes into @l, and fills @l->rungs. */
int bpf_rungs_load(struct bpf_load *l, const struct kallsyms *syms, struct error *e) MUST_CHECK;
int bpf_rungs_attach(struct bpf_load *l, struct error *e) MUST_CHECK;

#endif
