/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys/tracefs.h: reading tracefs: where it is mounted, which events and instances it has, its
 * counters. Layer: sys. Nothing here writes to tracefs (live/ does) and nothing needs root beyond
 * what the files themselves ask for. Every function takes a directory, so that tests hand it a
 * fixture. The prefix is sys_tracefs_ because libtracefs owns tracefs_.
 */
#ifndef MMSCOPE_SYS_TRACEFS_H
#define MMSCOPE_SYS_TRACEFS_H

#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

#define SYS_TRACEFS_MAX_CPU 4096
#define SYS_TRACEFS_MAX_EVENTS 65536

/* events/SYSTEM/NAME */
struct sys_tracefs_event {
	char system[64];
	char name[96];
};
struct sys_tracefs_events {
	VEC(struct sys_tracefs_event) list; /* sorted by system, then name */
};
struct sys_tracefs_cpus {
	VEC(u32) list; /* ascending */
};

/* per_cpu/cpuN/stats */
struct sys_tracefs_stats {
	u64 entries;	    /* still in the buffer */
	u64 overrun;	    /* overwritten before they were read */
	u64 commit_overrun; /* dropped because an interrupt filled a whole buffer inside an event */
	u64 dropped;	    /* dropped because the buffer was full (overwrite off) */
	u64 read_events;
};

/*
 * Finds a mounted tracefs by <root>/proc/self/mounts (@root "" = the running system): the first
 * mount of type tracefs, else the tracing/ directory of a debugfs. @ret_dir is the path with @root
 * in front. -ENOENT (with @e set) when there is none.
 */
int sys_tracefs_find(const char *root, char *ret_dir, size_t size, struct error *e) MUST_CHECK;

/* A name that is safe as a path component below events/: letters, digits, _, - and . (not first).
 */
bool sys_tracefs_name_is_valid(const char *name);
/* Whether @tracing_dir (or an instance) has events/@system/@name. False for invalid names. */
bool sys_tracefs_has_event(const char *tracing_dir, const char *system, const char *name);
/* All events, or those of @system when it is not NULL. The list is empty on failure. */
int sys_tracefs_list_events(const char *tracing_dir, const char *system,
			    struct sys_tracefs_events *ret, struct error *e) MUST_CHECK;
void sys_tracefs_events_done(struct sys_tracefs_events *events);

/* The CPUs that have a buffer (per_cpu/cpuN): all possible ones, not only those online. */
int sys_tracefs_list_cpus(const char *tracing_dir, struct sys_tracefs_cpus *ret,
			  struct error *e) MUST_CHECK;
void sys_tracefs_cpus_done(struct sys_tracefs_cpus *cpus);

/*
 * The pids of instances named "<prefix><pid>". -ENOENT when instances/ is missing or unreadable.
 */
struct sys_tracefs_pids {
	VEC(u32) list;
};
int sys_tracefs_list_instance_pids(const char *tracing_dir, const char *prefix,
				   struct sys_tracefs_pids *ret, struct error *e) MUST_CHECK;
void sys_tracefs_pids_done(struct sys_tracefs_pids *pids);

int sys_tracefs_read_stats(const char *tracing_dir, u32 cpu, struct sys_tracefs_stats *ret,
			   struct error *e) MUST_CHECK;
/* The clock in use: the word in brackets of trace_clock, "[local] global counter ...". */
int sys_tracefs_read_clock(const char *tracing_dir, char *ret, size_t size,
			   struct error *e) MUST_CHECK;
/* A small file as a string without its last newline; cut at @size - 1 bytes. */
int sys_tracefs_read_file(const char *tracing_dir, const char *name, char *ret, size_t size,
			  struct error *e) MUST_CHECK;

#endif
