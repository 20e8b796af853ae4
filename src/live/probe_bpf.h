/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/probe_bpf.h: which BPF programs and maps this kernel takes, found by loading them. Layer:
 * live.
 *
 * A feature list by kernel version lies (lockdown, missing config options, vendor trees), so each
 * program type is loaded as two raw instructions and, where that has no effect on anybody, attached
 * for a moment. Everything is closed before a function returns.
 */
#ifndef MMSCOPE_LIVE_PROBE_BPF_H
#define MMSCOPE_LIVE_PROBE_BPF_H

#include "base/types.h"

struct btf;

enum probe_bpf_prog {
	PROBE_PROG_TRACEPOINT,
	PROBE_PROG_RAW_TRACEPOINT,
	PROBE_PROG_TP_BTF_MMAP_LOCK,
	PROBE_PROG_TP_BTF_SCHED_SWITCH,
	PROBE_PROG_FENTRY,
	PROBE_PROG_KPROBE,
	PROBE_PROG_LSM,
	PROBE_PROG_ITER_TASK,
	PROBE_PROG_ITER_TASK_VMA,
	PROBE_PROG_PERF_EVENT,
	PROBE_PROG_N
};
enum probe_bpf_map { PROBE_MAP_RINGBUF, PROBE_MAP_TASK_STORAGE, PROBE_MAP_N };

enum probe_stage {
	PROBE_STAGE_DONE,   /* it works */
	PROBE_STAGE_TARGET, /* what it would attach to does not exist */
	PROBE_STAGE_LOAD,
	PROBE_STAGE_ATTACH
};
struct probe_outcome {
	enum probe_stage stage; /* where it failed */
	int err;		/* negative errno, 0 = it works */
	const char *target;	/* "mmap_lock_start_locking": static */
	bool attached;		/* loaded and attached; false for what is only loaded */
};

/* How the kernel protects a VMA against concurrent change, by the members of its struct. */
enum probe_vma_lock {
	PROBE_VMA_LOCK_UNKNOWN, /* no BTF */
	PROBE_VMA_LOCK_NONE,
	PROBE_VMA_LOCK_RWSEM,	/* vm_lock: 6.4 to 6.14 */
	PROBE_VMA_LOCK_REFCOUNT /* vm_refcnt: from 6.15 on */
};

struct probe_bpf {
	struct btf *vmlinux; /* NULL: none */
	int vmlinux_err;
	const char *tracing_dir; /* NULL: tracefs cannot be read */
	void *old_print;
};

/* libbpf says nothing from here to probe_bpf_done(). @tracing_dir must live as long. */
void probe_bpf_init(struct probe_bpf *p, const char *tracing_dir);
void probe_bpf_done(struct probe_bpf *p);
struct probe_outcome probe_bpf_try_prog(const struct probe_bpf *p, enum probe_bpf_prog prog);
struct probe_outcome probe_bpf_try_map(enum probe_bpf_map map);
enum probe_vma_lock probe_bpf_vma_lock(const struct probe_bpf *p);

#endif
