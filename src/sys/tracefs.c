/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys/tracefs.c: reading tracefs (see tracefs.h). Layer: sys. */
#include "sys/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

#define MOUNTS_MAX_BYTES (1u << 20)

static int path_join(char *ret, size_t size, const char *dir, const char *name, struct error *e)
{
	int n = snprintf(ret, size, "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= size)
		return error_set(e, -ENAMETOOLONG, "%.200s/...: path too long", dir);
	return 0;
}

/* The whole file, at most @size - 1 bytes of it, NUL-terminated. Returns the length. */
static ssize_t read_small(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	int code = 0;

	if (fd < 0)
		return -errno;
	while (n < size - 1) {
		ssize_t got = read(fd, buf + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			code = -errno;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	buf[n] = '\0';
	return code ? code : (ssize_t)n;
}

/* In mounts a blank of a path is written \040, so are tab, newline and backslash. In place. */
static void mounts_unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* The second field of a line whose third is @type: "nodev /sys/kernel/tracing tracefs rw,relatime 0
 * 0". */
static bool mounts_line(const char *line, const char *type, char *ret, size_t size)
{
	const char *where = line + strcspn(line, " \n"), *what;
	size_t where_len, what_len;

	where += *where == ' ';
	where_len = strcspn(where, " \n");
	what = where + where_len;
	what += *what == ' ';
	what_len = strcspn(what, " \n");
	if (!where_len || where_len >= size || what_len != strlen(type) ||
	    memcmp(what, type, what_len))
		return false;
	memcpy(ret, where, where_len);
	ret[where_len] = '\0';
	mounts_unescape(ret);
	return true;
}

static bool mounts_find(const char *mounts, const char *type, char *ret, size_t size)
{
	for (const char *line = mounts; line && *line;) {
		if (mounts_line(line, type, ret, size))
			return true;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

int sys_tracefs_find(const char *root, char *ret_dir, size_t size, struct error *e)
{
	char path[PATH_MAX], dir[PATH_MAX - 16];
	char *mounts;
	ssize_t n;
	int code;

	code = path_join(path, sizeof(path), root, "proc/self/mounts", e);
	if (code)
		return code;
	mounts = malloc(MOUNTS_MAX_BYTES);
	if (!mounts)
		return error_set(e, -ENOMEM, "out of memory");
	n = read_small(path, mounts, MOUNTS_MAX_BYTES);
	if (n < 0) {
		code = error_set(e, (int)n, "%s: %s", path, strerror((int)-n));
	} else if (mounts_find(mounts, "tracefs", dir, sizeof(dir))) {
		code = 0;
	} else if (mounts_find(mounts, "debugfs", dir, sizeof(dir))) {
		/* Up to 6.x debugfs has tracefs below it, mounted by the first access. */
		strcat(dir, "/tracing");
		snprintf(path, sizeof(path), "%.1000s%.3000s/events", root, dir);
		code = access(path, F_OK) ? -ENOENT : 0;
	} else {
		code = -ENOENT;
	}
	free(mounts);
	if (code)
		return error_set(e, code, "tracefs is not mounted");
	if ((size_t)snprintf(ret_dir, size, "%s%s", root, dir) >= size)
		return error_set(e, -ENAMETOOLONG, "tracefs: path too long");
	return 0;
}

bool sys_tracefs_name_is_valid(const char *name)
{
	if (!*name || *name == '.')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_' && *name != '-' && *name != '.')
			return false;
	return true;
}

bool sys_tracefs_has_event(const char *tracing_dir, const char *system, const char *name)
{
	char path[PATH_MAX];

	if (!sys_tracefs_name_is_valid(system) || !sys_tracefs_name_is_valid(name))
		return false;
	if ((size_t)snprintf(path, sizeof(path), "%s/events/%s/%s/enable", tracing_dir, system,
			     name) >= sizeof(path))
		return false;
	return !access(path, F_OK);
}

static int event_compare(const void *a, const void *b)
{
	const struct sys_tracefs_event *x = a, *y = b;
	int c = strcmp(x->system, y->system);

	return c ? c : strcmp(x->name, y->name);
}

/* One events/SYSTEM directory. @path is that directory. */
static int list_system(const char *path, const char *system, struct sys_tracefs_events *ret,
		       struct error *e)
{
	struct sys_tracefs_event *ev;
	struct dirent *d;
	int code = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir) /* files beside the systems (enable, header_page) */
		return errno == ENOTDIR ? 0 : error_set(e, -errno, "%s: %s", path, strerror(errno));
	while (!code && (d = readdir(dir))) {
		/* "enable" and "filter" of the system itself are files, not events */
		if (d->d_type == DT_REG || !sys_tracefs_name_is_valid(d->d_name) ||
		    strlen(d->d_name) >= sizeof(ev->name))
			continue;
		ev = ret->list.n < SYS_TRACEFS_MAX_EVENTS ? vec_push(&ret->list) : NULL;
		if (!ev) {
			code = error_set(e, -ENOMEM, "%s: too many events, or out of memory", path);
			break;
		}
		snprintf(ev->system, sizeof(ev->system), "%s", system);
		memcpy(ev->name, d->d_name, strlen(d->d_name) + 1);
	}
	closedir(dir);
	return code;
}

static int list_all_systems(const char *events, struct sys_tracefs_events *ret, struct error *e)
{
	char path[PATH_MAX + 300];
	struct dirent *d;
	int code = 0;
	DIR *dir;

	dir = opendir(events);
	if (!dir)
		return error_set(e, -errno, "%s: %s", events, strerror(errno));
	while (!code && (d = readdir(dir))) {
		if (d->d_type == DT_REG || !sys_tracefs_name_is_valid(d->d_name) ||
		    strlen(d->d_name) >= sizeof(((struct sys_tracefs_event *)0)->system))
			continue;
		snprintf(path, sizeof(path), "%s/%s", events, d->d_name);
		code = list_system(path, d->d_name, ret, e);
	}
	closedir(dir);
	return code;
}

int sys_tracefs_list_events(const char *tracing_dir, const char *system,
			    struct sys_tracefs_events *ret, struct error *e)
{
	char path[PATH_MAX];
	int code;

	*ret = (struct sys_tracefs_events){ VEC_INIT };
	if (system && !sys_tracefs_name_is_valid(system))
		return error_set(e, -EINVAL, "'%.64s' is no name of an event system", system);
	code = path_join(path, sizeof(path), tracing_dir, "events", e);
	if (code)
		return code;
	if (!system) {
		code = list_all_systems(path, ret, e);
	} else {
		if ((size_t)snprintf(path, sizeof(path), "%s/events/%s", tracing_dir, system) >=
		    sizeof(path))
			return error_set(e, -ENAMETOOLONG, "events/%.64s: path too long", system);
		code = list_system(path, system, ret, e);
	}
	if (code)
		sys_tracefs_events_done(ret);
	else if (ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(ret->list.v[0]), event_compare);
	return code;
}

void sys_tracefs_events_done(struct sys_tracefs_events *events)
{
	vec_done(&events->list);
}

static int u32_compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Numbers behind @prefix in the names of @path's directories, below @limit. */
static int list_numbers(const char *path, const char *prefix, u64 limit, u32 **ret_v, size_t *ret_n,
			struct error *e)
{
	VEC(u32) numbers = VEC_INIT;
	size_t prefix_len = strlen(prefix);
	struct dirent *d;
	DIR *dir;
	u64 n;

	dir = opendir(path);
	if (!dir)
		return error_set(e, -errno, "%s: %s", path, strerror(errno));
	while ((d = readdir(dir))) {
		u32 *slot;

		if (strncmp(d->d_name, prefix, prefix_len) ||
		    !num_parse_u64(d->d_name + prefix_len, strlen(d->d_name + prefix_len), &n) ||
		    n >= limit)
			continue;
		slot = vec_push(&numbers);
		if (!slot) {
			closedir(dir);
			vec_done(&numbers);
			return error_set(e, -ENOMEM, "%s: out of memory", path);
		}
		*slot = (u32)n;
	}
	closedir(dir);
	if (numbers.n)
		qsort(numbers.v, numbers.n, sizeof(numbers.v[0]), u32_compare);
	*ret_v = numbers.v;
	*ret_n = numbers.n;
	return 0;
}

int sys_tracefs_list_cpus(const char *tracing_dir, struct sys_tracefs_cpus *ret, struct error *e)
{
	char path[PATH_MAX];
	int code;

	*ret = (struct sys_tracefs_cpus){ VEC_INIT };
	code = path_join(path, sizeof(path), tracing_dir, "per_cpu", e);
	if (!code)
		code = list_numbers(path, "cpu", SYS_TRACEFS_MAX_CPU, &ret->list.v, &ret->list.n,
				    e);
	if (!code && !ret->list.n)
		code = error_set(e, -ENOENT, "%s: no CPUs", path);
	return code;
}

void sys_tracefs_cpus_done(struct sys_tracefs_cpus *cpus)
{
	vec_done(&cpus->list);
}

int sys_tracefs_list_instance_pids(const char *tracing_dir, const char *prefix,
				   struct sys_tracefs_pids *ret, struct error *e)
{
	char path[PATH_MAX];
	int code;

	*ret = (struct sys_tracefs_pids){ VEC_INIT };
	code = path_join(path, sizeof(path), tracing_dir, "instances", e);
	if (!code)
		code = list_numbers(path, prefix, 1u << 31, &ret->list.v, &ret->list.n, e);
	return code;
}

void sys_tracefs_pids_done(struct sys_tracefs_pids *pids)
{
	vec_done(&pids->list);
}

/* "overrun: 56082" on a line of its own; false when the line is missing. */
static bool stats_field(const char *text, const char *key, u64 *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line;) {
		if (!strncmp(line, key, len) && !strncmp(line + len, ": ", 2))
			return num_scan_u64(line + len + 2, strlen(line + len + 2), ret) > 0;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

int sys_tracefs_read_stats(const char *tracing_dir, u32 cpu, struct sys_tracefs_stats *ret,
			   struct error *e)
{
	char name[64], text[1024];
	int code;

	*ret = (struct sys_tracefs_stats){ 0 };
	snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", cpu);
	code = sys_tracefs_read_file(tracing_dir, name, text, sizeof(text), e);
	if (code)
		return code;
	if (!stats_field(text, "entries", &ret->entries) ||
	    !stats_field(text, "overrun", &ret->overrun) ||
	    !stats_field(text, "read events", &ret->read_events))
		return error_set(e, -EPROTO, "%s/%s: not the counters that were expected",
				 tracing_dir, name);
	/* Both came in 2009-2012; a tree without them has none to report. */
	(void)!stats_field(text, "commit overrun", &ret->commit_overrun);
	(void)!stats_field(text, "dropped events", &ret->dropped);
	return 0;
}

int sys_tracefs_read_clock(const char *tracing_dir, char *ret, size_t size, struct error *e)
{
	char text[512], *from, *to;
	int code;

	code = sys_tracefs_read_file(tracing_dir, "trace_clock", text, sizeof(text), e);
	if (code)
		return code;
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to || (size_t)(to - from) > size)
		return error_set(e, -EPROTO, "%s/trace_clock names no clock", tracing_dir);
	*to = '\0';
	snprintf(ret, size, "%s", from + 1);
	return 0;
}

int sys_tracefs_read_file(const char *tracing_dir, const char *name, char *ret, size_t size,
			  struct error *e)
{
	char path[PATH_MAX];
	ssize_t n;
	int code;

	code = path_join(path, sizeof(path), tracing_dir, name, e);
	if (code)
		return code;
	n = read_small(path, ret, size);
	if (n < 0)
		return error_set(e, (int)n, "%s: %s", path, strerror((int)-n));
	if (n && ret[n - 1] == '\n')
		ret[n - 1] = '\0';
	return 0;
}
