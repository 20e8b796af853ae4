/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/ftrace_read.h: empties the per-CPU buffers of a tracing directory into text files. Layer:
 * live.
 *
 * Threads read per_cpu/cpuN/trace_pipe and append what the kernel printed, byte for byte, to
 * DIR/cpuN-00001.txt. A CPU without an event gets no file.
 */
#ifndef MMSCOPE_LIVE_FTRACE_READ_H
#define MMSCOPE_LIVE_FTRACE_READ_H

#include "base/error.h"
#include "base/types.h"
#include "sys/tracefs.h"

struct ftrace_read_cpu {
	u32 cpu;
	char file[32]; /* "cpu0-00001.txt", "" when the CPU had no event */
	u64 bytes;
	u64 lost_marks;	  /* "CPU:1 [LOST 123 EVENTS]" lines */
	u64 lost_events;  /* sum of their numbers */
	u64 lost_unknown; /* marks without a number */
};

struct ftrace_read;
/*
 * Opens the pipes of all CPUs and starts the threads. Nothing is missed if tracing starts
 * afterwards.
 * @out_dir must exist for as long as the reader does.
 */
int ftrace_read_start(const char *tracing_dir, const char *out_dir,
		      const struct sys_tracefs_cpus *cpus, struct ftrace_read **ret,
		      struct error *e) MUST_CHECK;
/* Thread ids of the readers, so that their own events can be left out. */
const u32 *ftrace_read_tids(const struct ftrace_read *r, size_t *ret_n);
/* Becomes readable when a thread failed (disk full): to poll beside other things. */
int ftrace_read_failure_fd(const struct ftrace_read *r);
/*
 * After tracing was stopped: reads every buffer to its end, ends the threads and closes all files.
 * The error of a thread that failed, with @e set; the counts are valid in any case. A second call
 * does nothing.
 */
int ftrace_read_finish(struct ftrace_read *r, struct error *e) MUST_CHECK;
const struct ftrace_read_cpu *ftrace_read_cpus(const struct ftrace_read *r, size_t *ret_n);
/* Ends what still runs. free(NULL) is fine. */
void ftrace_read_free(struct ftrace_read *r);

#endif
