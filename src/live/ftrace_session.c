/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/ftrace_session.c: a private tracefs instance (see ftrace_session.h). Layer: live. */
#include "live/ftrace_session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "sys/procfs.h"
#include "sys/tracefs.h"

struct ftrace_session {
	struct tracefs_instance *instance;
	char *dir;
};

/* libtracefs keeps the tracing directory to itself, and prints warnings unless told not to. */
static int use_tracing_dir(const char *tracing_dir, struct error *e)
{
	tracefs_set_loglevel(TEP_LOG_NONE);
	if (tracefs_set_tracing_dir((char *)(uintptr_t)tracing_dir))
		return error_set(e, -ENOENT, "%s is no tracing directory", tracing_dir);
	return 0;
}

/* libtracefs leaves errno of the failed call, but not always. */
static int last_errno(void)
{
	return errno ? -errno : -EIO;
}

static bool pid_is_dead(u32 pid)
{
	/* An instance of our own pid is an older process's: we have made none yet. */
	return pid == (u32)getpid() || (kill((pid_t)pid, 0) && errno == ESRCH);
}

int ftrace_session_remove_stale(const char *tracing_dir, u32 *ret_n, struct error *e)
{
	struct sys_tracefs_pids pids;
	char path[PATH_MAX];
	int code;

	*ret_n = 0;
	/* From inside a container every pid of the host looks dead. */
	if (!procfs_in_first_pid_ns(""))
		return 0;
	code = sys_tracefs_list_instance_pids(tracing_dir, FTRACE_INSTANCE_PREFIX, &pids, e);
	if (code)
		return code;
	for (size_t i = 0; i < pids.list.n; i++) {
		u32 pid = pids.list.v[i];

		if (!pid_is_dead(pid))
			continue;
		snprintf(path, sizeof(path), "%.4000s/instances/" FTRACE_INSTANCE_PREFIX "%u",
			 tracing_dir, pid);
		/* EBUSY: somebody reads it. It takes no events from us, so it may stay. */
		if (!rmdir(path))
			++*ret_n;
	}
	sys_tracefs_pids_done(&pids);
	return 0;
}

/* Writes @value to a file of the instance. */
static int set_file(struct ftrace_session *s, const char *name, const char *value, struct error *e)
{
	int n;

	errno = 0;
	n = tracefs_instance_file_write(s->instance, name, value);
	if (n == (int)strlen(value))
		return 0;
	return error_set(e, last_errno(), "%s/%s: cannot write '%.40s': %s", s->dir, name, value,
			 strerror(-last_errno()));
}

static int set_option(struct ftrace_session *s, enum tracefs_option_id id, struct error *e)
{
	errno = 0;
	if (!tracefs_option_enable(s->instance, id))
		return 0;
	return error_set(e, last_errno(), "%s: cannot set the option %s: %s", s->dir,
			 tracefs_option_name(id), strerror(-last_errno()));
}

static int set_up(struct ftrace_session *s, const struct ftrace_session_opts *opts, struct error *e)
{
	char clock[32];
	int code;

	errno = 0;
	if (tracefs_trace_off(s->instance))
		return error_set(e, last_errno(), "%s: cannot stop tracing: %s", s->dir,
				 strerror(-last_errno()));
	code = set_file(s, "trace_clock", FTRACE_CLOCK, e);
	if (code)
		return code;
	code = sys_tracefs_read_clock(s->dir, clock, sizeof(clock), e);
	if (!code && strcmp(clock, FTRACE_CLOCK))
		code = error_set(e, -ENOTSUP, "%s: the clock stayed '%s' instead of " FTRACE_CLOCK,
				 s->dir, clock);
	if (code)
		return code;
	errno = 0;
	if (tracefs_instance_set_buffer_size(s->instance, opts->buffer_kb, -1))
		return error_set(e, last_errno(), "cannot get %llu kB of trace buffer per CPU: %s",
				 (unsigned long long)opts->buffer_kb, strerror(-last_errno()));
	/* Poll wakes the readers at this fill level (since 5.0; before, at every event). */
	if (tracefs_file_exists(s->instance, "buffer_percent"))
		code = set_file(s, "buffer_percent", "25", e);
	if (code)
		return code;
	/* Trees before 4.13 have no record-tgid: the text then shows no TGID, which decoders
	 * accept. */
	if (tracefs_option_is_supported(s->instance, TRACEFS_OPTION_RECORD_TGID))
		code = set_option(s, TRACEFS_OPTION_RECORD_TGID, e);
	if (!code && opts->follow)
		code = set_option(s, TRACEFS_OPTION_EVENT_FORK, e);
	return code;
}

int ftrace_session_new(const char *tracing_dir, const struct ftrace_session_opts *opts,
		       struct ftrace_session **ret, struct error *e)
{
	struct ftrace_session *s;
	char name[64];
	int code;

	code = use_tracing_dir(tracing_dir, e);
	if (code)
		return code;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(e, -ENOMEM, "out of memory");
	snprintf(name, sizeof(name), FTRACE_INSTANCE_PREFIX "%d", (int)getpid());
	errno = 0;
	s->instance = tracefs_instance_create(name);
	if (!s->instance) {
		code = error_set(e, last_errno(), "%s/instances/%s: cannot make it: %s",
				 tracing_dir, name, strerror(-last_errno()));
		free(s);
		return code;
	}
	s->dir = tracefs_instance_get_dir(s->instance);
	if (!s->dir)
		code = error_set(e, -ENOMEM, "out of memory");
	else if (!tracefs_instance_is_new(s->instance))
		code = error_set(e, -EBUSY, "%s exists already, in use by somebody", s->dir);
	else
		code = set_up(s, opts, e);
	if (code) {
		ftrace_session_free(s);
		return code;
	}
	*ret = s;
	return 0;
}

int ftrace_session_close(struct ftrace_session *s, struct error *e)
{
	int code = 0;

	if (!s)
		return 0;
	/* One that was there before us is not ours to stop, let alone to remove. */
	if (tracefs_instance_is_new(s->instance)) {
		tracefs_trace_off(s->instance);
		errno = 0;
		if (tracefs_instance_destroy(s->instance))
			code = error_set(e, last_errno(),
					 "%s: cannot remove the trace instance: %s",
					 s->dir ? s->dir : "instance", strerror(-last_errno()));
	}
	tracefs_instance_free(s->instance);
	tracefs_put_tracing_file(s->dir);
	free(s);
	return code;
}

void ftrace_session_free(struct ftrace_session *s)
{
	(void)!ftrace_session_close(s, NULL);
}

/*
 * The kernel takes any number of pids, but copies its whole table for each write(): so all in one.
 * Append, since opening with O_TRUNC empties the list.
 */
static int append_tids(struct ftrace_session *s, const char *file, const u32 *tids, size_t n,
		       struct error *e)
{
	size_t size = n * 11 + 1, len = 0;
	int wrote, code = 0;
	char *text;

	if (!n)
		return 0;
	text = malloc(size);
	if (!text)
		return error_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len, "%u ", tids[i]);
	errno = 0;
	wrote = tracefs_instance_file_append(s->instance, file, text);
	/* A kernel that consumes everything but the last blank is content as well. */
	if (wrote < 0 || (size_t)wrote + 1 < len)
		code = error_set(e, last_errno(), "%s/%s: cannot set %zu thread ids: %s", s->dir,
				 file, n, strerror(-last_errno()));
	free(text);
	return code;
}

int ftrace_session_add_tids(struct ftrace_session *s, const u32 *tids, size_t n, struct error *e)
{
	return append_tids(s, "set_event_pid", tids, n, e);
}

int ftrace_session_exclude_tids(struct ftrace_session *s, const u32 *tids, size_t n,
				struct error *e)
{
	/* Since 5.8; without it mmscope's own events are simply in the trace. */
	if (!tracefs_file_exists(s->instance, "set_event_notrace_pid"))
		return 0;
	return append_tids(s, "set_event_notrace_pid", tids, n, e);
}

int ftrace_session_enable(struct ftrace_session *s, const struct ftrace_events *events,
			  bool *enabled, struct error *e)
{
	size_t n = 0;

	for (size_t i = 0; i < events->list.n; i++) {
		const struct ftrace_event *ev = &events->list.v[i];

		enabled[i] = sys_tracefs_has_event(s->dir, ev->system, ev->name);
		if (!enabled[i]) {
			if (ev->origin == ORIGIN_USER_EVENT)
				return error_set(e, -ENOENT, "this kernel has no event %s:%s",
						 ev->system, ev->name);
			continue;
		}
		errno = 0;
		if (tracefs_event_file_write(s->instance, ev->system, ev->name, "enable", "1") != 1)
			return error_set(e, last_errno(), "cannot enable %s:%s: %s", ev->system,
					 ev->name, strerror(-last_errno()));
		n++;
	}
	if (!n)
		return error_set(e, -ENOENT, "this kernel has none of the events to record");
	return 0;
}

int ftrace_session_start(struct ftrace_session *s, struct error *e)
{
	errno = 0;
	if (!tracefs_trace_on(s->instance))
		return 0;
	return error_set(e, last_errno(), "%s: cannot start tracing: %s", s->dir,
			 strerror(-last_errno()));
}

int ftrace_session_stop(struct ftrace_session *s, struct error *e)
{
	errno = 0;
	if (!tracefs_trace_off(s->instance))
		return 0;
	return error_set(e, last_errno(), "%s: cannot stop tracing: %s", s->dir,
			 strerror(-last_errno()));
}

const char *ftrace_session_dir(const struct ftrace_session *s)
{
	return s->dir;
}
