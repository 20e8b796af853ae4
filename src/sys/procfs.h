/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys/procfs.h: the few things mmscope asks /proc and /sys. Layer: sys.
 *
 * Never here: /proc/PID/maps, smaps, cmdline, environ of another process. Those wait for the
 * process's mmap_lock, so that a tracer reading them becomes a victim (or a cause) of the very
 * stall it looks for.
 * @root is put in front of every path ("" = the running system).
 */
#ifndef MMSCOPE_SYS_PROCFS_H
#define MMSCOPE_SYS_PROCFS_H

#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

#define PROCFS_MAX_TIDS (1u << 20)

struct procfs_tids {
	VEC(u32) list; /* ascending */
};

/* "6.18.44" from proc/sys/kernel/osrelease. */
int procfs_read_release(const char *root, char *ret, size_t size, struct error *e) MUST_CHECK;
/* "x86_64", of the running kernel (uname). */
void procfs_read_machine(char *ret, size_t size);
/* CPUs online, from sys/devices/system/cpu/online ("0-3,6"). */
int procfs_count_cpus(const char *root, u32 *ret, struct error *e) MUST_CHECK;
/* One unsigned number in a file, such as proc/sys/vm/max_map_count. -ENOENT: no such file. */
int procfs_read_u64(const char *root, const char *name, u64 *ret, struct error *e) MUST_CHECK;
/* vm.filemap_fault_no_retry of a patched kernel: 0 or 1, -1 where the kernel has no such switch. */
int procfs_filemap_fault_no_retry(const char *root);
/* The words of our own command line, each with its NUL; the caller frees. */
int procfs_read_own_cmdline(const char *root, char **ret, size_t *ret_len,
			    struct error *e) MUST_CHECK;
/* The threads of a process, from proc/PID/task. -ESRCH when there is no such process. */
int procfs_list_tids(const char *root, u32 pid, struct procfs_tids *ret,
		     struct error *e) MUST_CHECK;
void procfs_tids_done(struct procfs_tids *tids);
/*
 * Whether this process is in the machine's first PID namespace. The kernel's trace filters and the
 * ids in traces are those of that namespace; inside a container getpid() gives other numbers.
 */
bool procfs_in_first_pid_ns(const char *root);

#endif
