/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/probe_trace.h: what tracefs, securityfs and perf allow, found by trying. Layer: live.
 *
 * securityfs is looked at through a detached mount (fsmount(2), 5.2) where nobody mounted it: that
 * has no place in any namespace and is gone when its descriptor is closed, even by a kill.
 */
#ifndef MMSCOPE_LIVE_PROBE_TRACE_H
#define MMSCOPE_LIVE_PROBE_TRACE_H

#include "base/error.h"
#include "base/types.h"

struct perf_event_attr;

struct probe_trace {
	char dir[4096];	   /* "" = tracefs cannot be read */
	bool mounted_here; /* it was not mounted: seen through a private mount */
	int err;	   /* why a recording could not use it, 0 = it can */
	struct error why;
};

/* Never fails: the members tell. May put this process into a mount namespace of its own. */
void probe_trace_init(struct probe_trace *t);

/*
 * A file of file system @type ("securityfs"), which need not be mounted, as a string without its
 * last newline. Negative errno.
 */
int probe_read_unmounted(const char *type, const char *name, char *ret, size_t size);

/* Makes the instance a recording would make, switches sched_switch on in it, removes it. */
int probe_trace_try_instance(const char *tracing_dir, struct error *e);

/* The number perf knows a tracepoint by. */
int probe_trace_event_id(const char *tracing_dir, const char *system, const char *name, u64 *ret);

/* perf_event_open(2); the descriptor or a negative errno. */
int probe_perf_open(struct perf_event_attr *attr, int pid, int cpu);
/* perf's number for kprobes; -ENOENT without CONFIG_KPROBES. */
int probe_perf_kprobe_type(u32 *ret);

/* A process that has the top level's trace_pipe open: its pid, 0 when none is seen. */
u32 probe_trace_pipe_reader(void);

#endif
