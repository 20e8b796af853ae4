/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/probe_trace.c: tracefs and perf by trying (see probe_trace.h). Layer: live. */
#include "live/probe_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"
#include "live/ftrace_session.h"
#include "live/tracefs_mount.h"
#include "sys/procfs.h"
#include "sys/tracefs.h"

#define MAX_FDS_LOOKED_AT 100000

static int mount_detached(const char *type)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC), fd;

	if (fs < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = -errno;
	else if ((fd = fsmount(fs, FSMOUNT_CLOEXEC,
			       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)) < 0)
		fd = -errno;
	close(fs);
	return fd;
}

static int read_at(int dir_fd, const char *name, char *ret, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, ret, size - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	if (n && ret[n - 1] == '\n')
		n--;
	ret[n] = '\0';
	return 0;
}

int probe_read_unmounted(const char *type, const char *name, char *ret, size_t size)
{
	int dir_fd = mount_detached(type), err;

	if (dir_fd < 0)
		return dir_fd;
	err = read_at(dir_fd, name, ret, size);
	close(dir_fd);
	return err;
}

void probe_trace_init(struct probe_trace *t)
{
	char events[sizeof(t->dir) + 16];

	memset(t, 0, sizeof(*t));
	t->err = tracefs_mount_get(t->dir, sizeof(t->dir), &t->mounted_here, &t->why);
	if (!t->err)
		return;
	/* Not writable is not unreadable: what is there can still be listed. */
	snprintf(events, sizeof(events), "%s/events", t->dir);
	if (!t->dir[0] || access(events, R_OK | X_OK))
		t->dir[0] = '\0';
}

int probe_trace_try_instance(const char *tracing_dir, struct error *e)
{
	static const struct ftrace_session_opts opts = { .buffer_kb = 64 };
	struct ftrace_events events = { VEC_INIT };
	struct ftrace_session *s = NULL;
	bool enabled = false;
	int err = ftrace_session_new(tracing_dir, &opts, &s, e), close_err;

	if (err)
		return err;
	err = ftrace_events_add(&events, "sched:sched_switch");
	if (!err)
		err = ftrace_session_enable(s, &events, &enabled, e);
	close_err = ftrace_session_close(s, e);
	ftrace_events_done(&events);
	return err ? err : close_err;
}

int probe_trace_event_id(const char *tracing_dir, const char *system, const char *name, u64 *ret)
{
	char file[256], text[32];
	int err;

	snprintf(file, sizeof(file), "events/%s/%s/id", system, name);
	err = sys_tracefs_read_file(tracing_dir, file, text, sizeof(text), NULL);
	if (err)
		return err;
	return num_parse_u64(text, strlen(text), ret) ? 0 : -EPROTO;
}

int probe_perf_open(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int probe_perf_kprobe_type(u32 *ret)
{
	u64 type;
	int err = procfs_read_u64("", "sys/bus/event_source/devices/kprobe/type", &type, NULL);

	if (err)
		return err;
	*ret = (u32)type;
	return 0;
}

/* ".../tracing/trace_pipe", but no instance's. */
static bool is_top_trace_pipe(const char *path)
{
	static const char tail[] = "/trace_pipe";
	size_t len = strlen(path);

	return len >= sizeof(tail) - 1 && !strcmp(path + len - (sizeof(tail) - 1), tail) &&
	       !strstr(path, "/instances/");
}

/* Links of /proc/PID/fd only: unlike maps and cmdline they wait for no mmap_lock. */
static bool process_reads_pipe(u32 pid, u32 *budget)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct dirent *d;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && *budget && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof(target) - 1);

		(*budget)--;
		if (n <= 0)
			continue;
		target[n] = '\0';
		found = is_top_trace_pipe(target);
	}
	closedir(dir);
	return found;
}

u32 probe_trace_pipe_reader(void)
{
	u32 budget = MAX_FDS_LOOKED_AT, found = 0;
	struct dirent *d;
	DIR *dir = opendir("/proc");

	if (!dir)
		return 0;
	while (!found && budget && (d = readdir(dir))) {
		u64 pid;

		if (num_parse_u64(d->d_name, strlen(d->d_name), &pid) && pid < 1u << 30 &&
		    process_reads_pipe((u32)pid, &budget))
			found = (u32)pid;
	}
	closedir(dir);
	return found;
}
