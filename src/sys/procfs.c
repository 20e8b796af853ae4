/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys/procfs.c: what mmscope asks /proc and /sys (see procfs.h). Layer: sys. */
#include "sys/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/num.h"

#define CMDLINE_MAX_BYTES (128 * 1024)
/* include/linux/proc_ns.h: PROC_PID_INIT_INO, the inode of the first PID namespace since 3.8. */
#define FIRST_PID_NS "pid:[4026531836]"

/* At most @size - 1 bytes of a small file, and a NUL behind them. Returns the length. */
static ssize_t read_small(const char *root, const char *name, char *ret, size_t size,
			  struct error *e)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd, code;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) >= sizeof(path))
		return error_set(e, -ENAMETOOLONG, "%.200s: path too long", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(e, -errno, "%s: %s", path, strerror(errno));
	do {
		n = read(fd, ret, size - 1);
	} while (n < 0 && errno == EINTR);
	code = n < 0 ? error_set(e, -errno, "%s: %s", path, strerror(errno)) : 0;
	close(fd);
	if (code)
		return code;
	ret[n] = '\0';
	return n;
}

/* The same as a string, without its last newline. */
static int read_line(const char *root, const char *name, char *ret, size_t size, struct error *e)
{
	ssize_t n = read_small(root, name, ret, size, e);

	if (n < 0)
		return (int)n;
	if (n && ret[n - 1] == '\n')
		ret[n - 1] = '\0';
	return 0;
}

int procfs_read_release(const char *root, char *ret, size_t size, struct error *e)
{
	return read_line(root, "proc/sys/kernel/osrelease", ret, size, e);
}

void procfs_read_machine(char *ret, size_t size)
{
	struct utsname u;

	snprintf(ret, size, "%s", uname(&u) ? "unknown" : u.machine);
}

/* "0-3,6,8-11" */
static bool count_list(const char *s, u32 *ret)
{
	size_t len = strlen(s), n;
	u64 from, to, total = 0;

	while (len) {
		n = num_scan_u64(s, len, &from);
		if (!n)
			return false;
		s += n;
		len -= n;
		to = from;
		if (len && *s == '-') {
			n = num_scan_u64(s + 1, len - 1, &to);
			if (!n)
				return false;
			s += n + 1;
			len -= n + 1;
		}
		if (to < from || to > 1u << 20)
			return false;
		total += to - from + 1;
		if (total > 1u << 20 || (len && *s != ','))
			return false;
		if (len) {
			s++;
			len--;
		}
	}
	*ret = (u32)total;
	return total > 0;
}

int procfs_count_cpus(const char *root, u32 *ret, struct error *e)
{
	char list[4096];
	int code = read_line(root, "sys/devices/system/cpu/online", list, sizeof(list), e);

	if (!code && !count_list(list, ret))
		code = error_set(e, -EPROTO,
				 "sys/devices/system/cpu/online: no list of CPUs: %.40s", list);
	return code;
}

int procfs_read_u64(const char *root, const char *name, u64 *ret, struct error *e)
{
	char text[64];
	int code = read_line(root, name, text, sizeof(text), e);

	if (!code && !num_parse_u64(text, strlen(text), ret))
		code = error_set(e, -EPROTO, "%s: not a number: %.40s", name, text);
	return code;
}

int procfs_filemap_fault_no_retry(const char *root)
{
	u64 v;

	if (procfs_read_u64(root, "proc/sys/vm/filemap_fault_no_retry", &v, NULL))
		return -1;
	return v != 0;
}

int procfs_read_own_cmdline(const char *root, char **ret, size_t *ret_len, struct error *e)
{
	char *words = malloc(CMDLINE_MAX_BYTES);
	ssize_t n;

	if (!words)
		return error_set(e, -ENOMEM, "out of memory");
	n = read_small(root, "proc/self/cmdline", words, CMDLINE_MAX_BYTES, e);
	if (n < 0) {
		free(words);
		return (int)n;
	}
	*ret = words;
	*ret_len = (size_t)n;
	return 0;
}

static int u32_compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

int procfs_list_tids(const char *root, u32 pid, struct procfs_tids *ret, struct error *e)
{
	char path[PATH_MAX];
	struct dirent *d;
	int code = 0;
	DIR *dir;
	u64 tid;

	*ret = (struct procfs_tids){ VEC_INIT };
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/%u/task", root, pid) >= sizeof(path))
		return error_set(e, -ENAMETOOLONG, "proc/%u/task: path too long", pid);
	dir = opendir(path);
	if (!dir) {
		code = errno == ENOENT ? -ESRCH : -errno;
		return error_set(e, code, "process %u: %s", pid, strerror(-code));
	}
	while (!code && (d = readdir(dir))) {
		u32 *slot;

		if (!num_parse_u64(d->d_name, strlen(d->d_name), &tid) || !tid || tid > INT_MAX)
			continue;
		slot = ret->list.n < PROCFS_MAX_TIDS ? vec_push(&ret->list) : NULL;
		if (slot)
			*slot = (u32)tid;
		else
			code = error_set(e, -ENOMEM,
					 "process %u: too many threads, or out of memory", pid);
	}
	closedir(dir);
	/* A process that ends while it is listed has an empty task directory. */
	if (!code && !ret->list.n)
		code = error_set(e, -ESRCH, "process %u: %s", pid, strerror(ESRCH));
	if (code)
		procfs_tids_done(ret);
	else
		qsort(ret->list.v, ret->list.n, sizeof(ret->list.v[0]), u32_compare);
	return code;
}

void procfs_tids_done(struct procfs_tids *tids)
{
	vec_done(&tids->list);
}

bool procfs_in_first_pid_ns(const char *root)
{
	char path[PATH_MAX], link[64];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root) >= sizeof(path))
		return false;
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0) /* a kernel without PID namespaces has no such link, and one namespace only */
		return errno == ENOENT;
	link[n] = '\0';
	return !strcmp(link, FIRST_PID_NS);
}
