/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/check_trace.c: the checks of tracefs, and the traps (checks.def). Layer: live. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "live/check_priv.h"
#include "live/ftrace_session.h"
#include "sys/procfs.h"
#include "sys/tracefs.h"

#define TINY_BUFFER_KB 4096 /* a busy thread fills the default of 1,408 kB in 55 ms */

void check_tracefs(struct check *c, struct check_row *row)
{
	if (c->trace.err)
		check_say(c, row, c->trace.err == -ENODEV ? CHECK_MISSING : CHECK_REFUSED, "%s",
			  c->trace.why.msg);
	else if (c->trace.mounted_here)
		check_say(c, row, CHECK_OK, "not mounted; can be mounted privately");
	else
		check_say(c, row, CHECK_OK, "%s", c->trace.dir);
}

void check_instance(struct check *c, struct check_row *row)
{
	struct error e = { 0 };
	int err;

	if (check_needs_tracefs(c, row))
		return;
	if (c->trace.err) {
		check_say(c, row, CHECK_REFUSED, "%s", c->trace.why.msg);
		return;
	}
	err = probe_trace_try_instance(c->trace.dir, &e);
	if (err)
		check_say_error(c, row, err, e.msg);
	else
		check_say(c, row, CHECK_OK, "made, sched_switch enabled in it, removed");
}

/* "[local] global counter uptime perf mono mono_raw boot tai x86-tsc" */
static bool clock_list_has(const char *list, const char *clock)
{
	size_t len = strlen(clock);

	for (const char *p = strstr(list, clock); p; p = strstr(p + 1, clock)) {
		bool begins = p == list || p[-1] == ' ' || p[-1] == '[';

		if (begins && (!p[len] || p[len] == ' ' || p[len] == ']'))
			return true;
	}
	return false;
}

static void check_clock(struct check *c, struct check_row *row, const char *clock)
{
	char text[512];
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = sys_tracefs_read_file(c->trace.dir, "trace_clock", text, sizeof(text), NULL);
	if (err)
		check_say_error(c, row, err, "trace_clock");
	else if (clock_list_has(text, clock))
		check_say(c, row, CHECK_OK, "available");
	else
		check_say(c, row, CHECK_MISSING, "not in trace_clock");
}

void check_clock_mono(struct check *c, struct check_row *row)
{
	check_clock(c, row, "mono");
}

void check_clock_boot(struct check *c, struct check_row *row)
{
	check_clock(c, row, "boot");
}

void check_clock_top(struct check *c, struct check_row *row)
{
	struct error e = { 0 };
	char clock[64];
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = sys_tracefs_read_clock(c->trace.dir, clock, sizeof(clock), &e);
	if (err)
		check_say_error(c, row, err, "trace_clock");
	else
		check_say(c, row, CHECK_OK, "%s", clock);
}

/* What the top-level trace does just now. */
struct top_state {
	bool on;
	u32 n_events;
	bool sched_switch;
	char tracer[64];
};

/* set_event has a line per enabled event, "sched:sched_switch". */
static int top_state_read(const struct check *c, struct top_state *ret)
{
	char text[65536];
	int err;

	*ret = (struct top_state){ .tracer = "nop" };
	err = sys_tracefs_read_file(c->trace.dir, "tracing_on", text, sizeof(text), NULL);
	if (err)
		return err;
	ret->on = text[0] == '1';
	(void)!sys_tracefs_read_file(c->trace.dir, "current_tracer", ret->tracer,
				     sizeof(ret->tracer), NULL);
	err = sys_tracefs_read_file(c->trace.dir, "set_event", text, sizeof(text), NULL);
	if (err)
		return err;
	for (const char *line = text; line && *line;) {
		const char *end = strchr(line, '\n');
		size_t len = end ? (size_t)(end - line) : strlen(line);

		ret->n_events += len > 0;
		if (len == strlen("sched:sched_switch") &&
		    !strncmp(line, "sched:sched_switch", len))
			ret->sched_switch = true;
		line = end ? end + 1 : NULL;
	}
	return 0;
}

void check_trap_sched_switch(struct check *c, struct check_row *row)
{
	struct top_state top;

	if (check_needs_tracefs(c, row))
		return;
	if (!sys_tracefs_has_event(c->trace.dir, "sched", "sched_switch")) {
		check_say(c, row, CHECK_TRAP,
			  "this kernel has no sched_switch event: priority inversion cannot be "
			  "judged");
		return;
	}
	if (!top_state_read(c, &top) && top.on && top.n_events && !top.sched_switch)
		check_say(c, row, CHECK_TRAP,
			  "the top-level trace records %u events without sched:sched_switch: "
			  "enable it, or "
			  "use `mmscope record`",
			  top.n_events);
	else
		check_say(c, row, CHECK_OK, "`mmscope record` records it");
}

void check_trap_clock(struct check *c, struct check_row *row)
{
	char clock[64];
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = sys_tracefs_read_clock(c->trace.dir, clock, sizeof(clock), NULL);
	if (err)
		check_say_error(c, row, err, "trace_clock");
	else if (strcmp(clock, FTRACE_CLOCK))
		check_say(c, row, CHECK_TRAP,
			  "it is %s: for a trace taken by hand, `echo " FTRACE_CLOCK
			  " > trace_clock` first (`mmscope record` uses its own)",
			  clock);
	else
		check_say(c, row, CHECK_OK, "it is");
}

/* "1408", or "7 (expanded: 1408)" until the first use. */
void check_trap_buffer(struct check *c, struct check_row *row)
{
	const char *expanded, *number;
	char text[128];
	u64 kb;
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = sys_tracefs_read_file(c->trace.dir, "buffer_size_kb", text, sizeof(text), NULL);
	if (err) {
		check_say_error(c, row, err, "buffer_size_kb");
		return;
	}
	expanded = strstr(text, "expanded: ");
	number = expanded ? expanded + strlen("expanded: ") : text;
	if (!num_scan_u64(number, strlen(number), &kb)) /* "X": the CPUs differ */
		check_say(c, row, CHECK_UNKNOWN, "not one number: %.60s", text);
	else if (kb < TINY_BUFFER_KB)
		check_say(c, row, CHECK_TRAP,
			  "%llu kB per CPU: a busy thread fills that in well under a second; for a "
			  "trace taken "
			  "by hand, `echo 32768 > buffer_size_kb` (`mmscope record` sizes its own)",
			  (unsigned long long)kb);
	else
		check_say(c, row, CHECK_OK, "%llu kB per CPU", (unsigned long long)kb);
}

void check_trap_in_use(struct check *c, struct check_row *row)
{
	struct top_state top;
	u32 reader;
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = top_state_read(c, &top);
	if (err) {
		check_say_error(c, row, err, "state of the top-level trace");
		return;
	}
	reader = probe_trace_pipe_reader();
	if (reader)
		check_say(c, row, CHECK_TRAP,
			  "process %u reads trace_pipe, which has one reader only", reader);
	else if (strcmp(top.tracer, "nop"))
		check_say(c, row, CHECK_TRAP,
			  "the %s tracer is set: somebody traces, or forgot to stop", top.tracer);
	else if (top.on && top.n_events)
		check_say(c, row, CHECK_TRAP,
			  "%u events are enabled: somebody traces, or forgot to stop",
			  top.n_events);
	else
		check_say(c, row, CHECK_OK, "no tracer, no event, no reader");
}

void check_trap_stale(struct check *c, struct check_row *row)
{
	struct sys_tracefs_pids pids;
	struct error e = { 0 };
	u32 n_dead = 0, n_alive = 0, first = 0;
	int err;

	if (check_needs_tracefs(c, row))
		return;
	if (!procfs_in_first_pid_ns("")) {
		check_say(c, row, CHECK_UNKNOWN,
			  "inside a container the processes of instances cannot be seen");
		return;
	}
	err = sys_tracefs_list_instance_pids(c->trace.dir, FTRACE_INSTANCE_PREFIX, &pids, &e);
	if (err) {
		check_say_error(c, row, err, "instances");
		return;
	}
	for (size_t i = 0; i < pids.list.n; i++) {
		bool dead = kill((pid_t)pids.list.v[i], 0) && errno == ESRCH;

		if (dead && !n_dead++)
			first = pids.list.v[i];
		n_alive += !dead;
	}
	sys_tracefs_pids_done(&pids);
	if (n_dead)
		check_say(c, row, CHECK_TRAP,
			  "%u of killed recordings, such as instances/" FTRACE_INSTANCE_PREFIX
			  "%u: the next `mmscope record` removes them, or rmdir",
			  n_dead, first);
	else
		check_say(c, row, CHECK_OK, "none; %u of running recordings", n_alive);
}

void check_trap_no_retry(struct check *c, struct check_row *row)
{
	switch (procfs_filemap_fault_no_retry("")) {
	case 0:
		check_say(c, row, CHECK_OK,
			  "0: faults drop the VMA's lock before they wait, as upstream");
		break;
	case 1:
		check_say(c, row, CHECK_TRAP,
			  "1: faults keep the VMA's lock while they wait; set 0 for upstream's "
			  "behaviour");
		break;
	default:
		check_say(c, row, CHECK_OK, "no such switch: not a patched kernel");
	}
}
