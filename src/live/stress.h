/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/stress.h: the synthetic VMA contention workload. Layer: live.
 *
 * One file mapping; readers fault its pages in, writers change the same VMA (or the same mm). Every
 * thread counts the calls it made itself, so that a recorder can be held against those figures:
 *
 *	stress_new()	file, mapping and all threads exist, the gate is shut
 *	stress_ident()	who and where: TGID, VMA, dev:ino, TIDs (a recorder filters by these)
 *	stress_run()	opens the gate, returns when the time is up, all writers are done or a
 *signal came
 *
 * Nothing here prints. Nothing stays behind: the file is unlinked before the gate opens.
 */
#ifndef MMSCOPE_LIVE_STRESS_H
#define MMSCOPE_LIVE_STRESS_H

#include <sys/types.h>

#include "base/error.h"
#include "base/types.h"

#define STRESS_MAX_THREADS 1024 /* readers and writers together */
#define STRESS_MAX_PAGES (16u << 20)
#define STRESS_SPLIT_PAGES 16 /* what one split cuts out of the mapping */
#define STRESS_MMAP_BYTES (1u << 20)
#define STRESS_NICE_UNSET INT64_MIN
#define STRESS_MAX_ERRNO 134 /* EHWPOISON + 1; anything else is counted at 0 */
#define STRESS_BUCKETS \
	8 /* [0,1) [1,10) [10,100) [100 us,1 ms) [1,10) [10,100) [100 ms,1 s) [1 s,inf) */

/* What a writer does. STRESS_OP_<NAME>, "name". */
#define STRESS_OPS(X)           \
	X(MPROTECT, "mprotect") \
	X(SPLIT, "split")       \
	X(MMAP, "mmap")         \
	X(FORK, "fork")         \
	X(MADVISE, "madvise")
enum stress_op {
#define X(id, name) STRESS_OP_##id,
	STRESS_OPS(X)
#undef X
		STRESS_OP_N
};

/* The calls that are counted. STRESS_CALL_<NAME>, "name". */
#define STRESS_CALLS(X)         \
	X(MPROTECT, "mprotect") \
	X(MMAP, "mmap")         \
	X(MUNMAP, "munmap")     \
	X(MADVISE, "madvise")   \
	X(FADVISE, "fadvise")   \
	X(FORK, "fork")
enum stress_call {
#define X(id, name) STRESS_CALL_##id,
	STRESS_CALLS(X)
#undef X
		STRESS_CALL_N
};

struct stress_side_config {
	u32 threads;
	s64 nice;    /* STRESS_NICE_UNSET = as inherited */
	u32 rt_prio; /* SCHED_FIFO priority 1..99, 0 = as inherited */
};
struct stress_config {
	struct stress_side_config readers, writers;
	u64 pages;
	u64 duration_ns; /* 0 = until all writers are done (needs ops_per_writer and writers) */
	u64 writer_delay_ns;
	u64 writer_interval_ns; /* pause after each operation */
	enum stress_op op;
	u64 ops_per_writer; /* 0 = no limit */
	bool random_advice; /* MADV_RANDOM on the mapping: no read-ahead */
	const char *path;   /* NULL = a temporary file */
	int wait_fd;	    /* -1 = open the gate at once */
};

struct stress_ident {
	pid_t tgid;
	u64 vm_start, vm_end;
	u64 pages, page_size_bytes;
	u32 dev_major, dev_minor; /* of the VMA, as /proc/PID/maps shows it */
	u64 ino;
	char dir[256];	    /* where the file lies, or its path when the user named it */
	bool in_memory;	    /* on tmpfs or ramfs: faults do no I/O */
	u64 resident_pages; /* still in the page cache after the drop */
	u32 n_threads;
	const pid_t *reader_tids, *writer_tids;
	u32 n_readers, n_writers;
};

struct stress_latency {
	u64 n, sum_ns, min_ns, max_ns;
	u64 buckets[STRESS_BUCKETS];
};
/* What one thread did, or one side's threads together. */
struct stress_counts {
	u64 ops;	   /* writers: whole operations */
	u64 sweeps;	   /* readers: whole passes over the mapping */
	u64 pages_touched; /* loads of readers; pages of mmap operations for writers */
	u64 sink;	   /* sum of what the loads read, modulo 2^64 */
	u64 minor_faults, major_faults;
	u64 calls[STRESS_CALL_N]; /* made, failed ones included */
	u64 failed[STRESS_CALL_N];
	u64 errnos[STRESS_MAX_ERRNO];
	struct stress_latency call_latency[STRESS_CALL_N];
	struct stress_latency op_latency;    /* a writer's operation as a whole */
	struct stress_latency touch_latency; /* a reader's load, the fault included */
};
struct stress_thread_counts {
	pid_t tid;
	bool writer;
	u32 index;
	u64 start_page; /* where a reader's sweeps begin */
	struct stress_counts counts;
};
struct stress_result {
	u64 elapsed_ns; /* gate opened to last thread joined */
	int end_signal; /* 0, or the signal that ended it early */
	bool gate_opened;
	bool known_content; /* page N of the file begins with the u64 N, so `sink` can be checked */
	u64 minor_faults, major_faults; /* of the process, getrusage */
	struct stress_counts readers, writers;
	const struct stress_thread_counts *threads; /* readers first; owned by the struct stress */
	u32 n_threads;
};

struct stress;

const char *stress_op_name(enum stress_op op);
const char *stress_call_name(enum stress_call call);
/* -1 when @name is none. */
int stress_op_find(const char *name);

/* Whether the parts of @config go together (each alone is in range): what stress_new() asks first.
 */
MUST_CHECK int stress_config_check(const struct stress_config *config, struct error *e);
MUST_CHECK int stress_new(const struct stress_config *config, struct stress **ret, struct error *e);
const struct stress_ident *stress_ident(const struct stress *s);
MUST_CHECK int stress_run(struct stress *s, struct stress_result *ret, struct error *e);
/* Ends and joins the threads, unmaps, closes. NULL is fine. */
void stress_free(struct stress *s);

#endif
