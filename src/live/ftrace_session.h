/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/ftrace_session.h: the life of a private tracefs instance, mmscope-<pid>. Layer: live.
 *
 * Everything is set inside the instance; the top-level buffer's settings, and other instances, are
 * never touched. Freeing a session removes the instance, on every path; one left behind by a killed
 * mmscope is removed by the next (ftrace_session_remove_stale()).
 */
#ifndef MMSCOPE_LIVE_FTRACE_SESSION_H
#define MMSCOPE_LIVE_FTRACE_SESSION_H

#include "base/error.h"
#include "base/types.h"
#include "live/ftrace_events.h"

#define FTRACE_INSTANCE_PREFIX "mmscope-"
#define FTRACE_CLOCK "mono"

struct ftrace_session_opts {
	u64 buffer_kb; /* per CPU */
	bool follow;   /* children of the filtered threads too */
};
struct ftrace_session;

/* Removes instances of mmscope processes that are dead. @ret_n: how many were removed. */
int ftrace_session_remove_stale(const char *tracing_dir, u32 *ret_n, struct error *e) MUST_CHECK;

/* Makes the instance, tracing off: clock, buffer size, options. -ENOMEM: they do not fit. */
int ftrace_session_new(const char *tracing_dir, const struct ftrace_session_opts *opts,
		       struct ftrace_session **ret, struct error *e) MUST_CHECK;
/* Stops and removes the instance; all its files have to be closed. free(NULL) is fine. */
int ftrace_session_close(struct ftrace_session *s, struct error *e) MUST_CHECK;
void ftrace_session_free(struct ftrace_session *s);

/* Adds threads to those recorded (none added: all threads are). */
int ftrace_session_add_tids(struct ftrace_session *s, const u32 *tids, size_t n,
			    struct error *e) MUST_CHECK;
/* Adds threads whose events are left out. */
int ftrace_session_exclude_tids(struct ftrace_session *s, const u32 *tids, size_t n,
				struct error *e) MUST_CHECK;
/*
 * Enables what exists. @enabled gets one flag per event of the list. An event of origin USER that
 * does not exist is an error, -ENOENT; and so is a list of which nothing exists.
 */
int ftrace_session_enable(struct ftrace_session *s, const struct ftrace_events *events,
			  bool *enabled, struct error *e) MUST_CHECK;
int ftrace_session_start(struct ftrace_session *s, struct error *e) MUST_CHECK;
int ftrace_session_stop(struct ftrace_session *s, struct error *e) MUST_CHECK;
/* Path of the instance's directory. */
const char *ftrace_session_dir(const struct ftrace_session *s);

#endif
