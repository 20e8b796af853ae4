/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/cmd_locks.c: `mmscope locks`: who waits for mmap_lock and VMA locks right now, and behind
 * whom. Layer: cli.
 *
 * The ring buffer is drained on a timer; at each refresh the records of the window are analysed as
 * a stored trace would be (locks_refresh.c). Nothing here reads a file of a watched process or
 * waits for it: it may be stuck.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cmd_locks.h"
#include "live/live.h"

#define NS_PER_S 1000000000ULL

static const struct locks_opts locks_defaults = {
	.interval_ns = 2 * NS_PER_S,
	.top = LOCKS_TOP_NOT_GIVEN,
	.bpf = BPF_CLI_INIT,
};

#define OPT(member) offsetof(struct locks_opts, member)
static const struct cli_opt locks_options[] = {
	{ "pid", 'p', "PID,...", OPT_U64S, OPT(pids), 1, INT_MAX,
	  "only the address spaces of these processes and of what they fork" },
	{ "comm", 'c', "NAME,...", OPT_STRINGS, OPT(comms), 0, 0,
	  "only what threads of these names (glob patterns) waited for" },
	{ "all", 'a', NULL, OPT_FLAG, OPT(all), 0, 0,
	  "every process while the command runs (default without -p and command)" },
	{ "interval", 'i', "SECONDS", OPT_SECONDS, OPT(interval_ns), NS_PER_S / 10,
	  86400 * NS_PER_S, "refresh this often (default 2)" },
	{ "duration", 'd', "SECONDS", OPT_SECONDS, OPT(duration_ns), 1000000, 1000000 * NS_PER_S,
	  "stop after this time (default: at the end of what is watched, or on ^C)" },
	{ "json", 'j', NULL, OPT_FLAG, OPT(json), 0, 0,
	  "one line of JSON per refresh (docs/JSON.md)" },
	{ "top", 't', "N", OPT_U64, OPT(top), 0, 1000000,
	  "rows per table, 0 = all (default: as many as fit the screen, else 5; JSON: all)" },
#define BPF_OPTION(name, letter, arg, kind, member, min, max, doc) \
	{ name, letter, arg, kind, OPT(bpf.member), min, max, doc },
#include "cli/bpf_options.def"
#undef BPF_OPTION
};

static void choose_scope(struct locks *l, const struct cli_args *args)
{
	if (args->command)
		snprintf(l->scope, sizeof(l->scope), "%s'%.200s'",
			 l->o->all ? "all processes during " : "", args->command[0]);
	else if (l->o->pids.list.n == 1)
		snprintf(l->scope, sizeof(l->scope), "process %d", (int)l->o->pids.list.v[0]);
	else if (l->o->pids.list.n)
		snprintf(l->scope, sizeof(l->scope), "%zu processes", l->o->pids.list.n);
	else
		snprintf(l->scope, sizeof(l->scope), "all processes");
	if (args->command && !l->o->all)
		l->target.scope = SCOPE_COMMAND;
	else
		l->target.scope = l->o->pids.list.n ? SCOPE_PIDS : SCOPE_ALL;
}

static int watch(struct locks *l, struct error *e)
{
	int code = 0;

	if (l->target.scope == SCOPE_COMMAND)
		code = bpf_capture_watch(l->capture, l->target.launch.process.pid, e);
	for (size_t i = 0; !code && i < l->target.watched.n; i++)
		code = bpf_capture_watch(l->capture, l->target.watched.v[i].pid, e);
	return code;
}

static int load(struct locks *l, struct error *e)
{
	struct bpf_load_opts opts;
	int code = bpf_cli_load_opts(&l->o->bpf, l->target.scope != SCOPE_ALL, &opts, e);

	l->cgroup_fd = opts.cgroup_fd;
	l->frame.min_wait_ns = opts.min_wait_ns;
	l->window = bpf_window_new();
	if (!code && !l->window)
		code = error_set(e, -ENOMEM, "out of memory");
	if (!code)
		code = bpf_capture_new(&opts, locks_take_records, l, &l->capture, e);
	if (!code)
		code = watch(l, e);
	return code ? code : locks_note_rungs(l, e);
}

/* A screen is for who only watches: a command has the terminal for itself. */
static bool wants_screen(const struct locks *l, const struct cli_args *args)
{
	return !l->o->json && !args->command && isatty(STDOUT_FILENO);
}

static int start(struct locks *l, const struct cli_args *args, struct error *e)
{
	int code = target_check_namespace(&l->target, e);

	if (!code && args->command)
		code = launch_prepare(&l->target.launch, args->command, e);
	if (code)
		return code;
	live_catch_signals();
	code = target_open_pids(&l->target, &l->o->pids, e);
	if (!code)
		code = load(l, e);
	if (!code)
		code = bpf_capture_start(l->capture, e);
	if (!code && bpf_window_next(l->window, clock_mono_ns()))
		code = error_set(e, -ENOMEM, "out of memory");
	if (code)
		return code;
	locks_begin(l);
	if (wants_screen(l, args))
		return screen_open(&l->screen, e);
	cli_warn(l->verb, "watching %s; ^C ends it", l->scope);
	if (args->command) {
		code = launch_go(&l->target.launch, e);
		error_prefix(e, "cannot run '%.200s'", args->command[0]);
	}
	return code;
}

/* Sleeps until there is something to do, but for no longer than the ring may go undrained. */
static void nap(const struct locks *l, u64 now_ns, u64 until_ns)
{
	u64 ms = until_ns > now_ns ? (until_ns - now_ns + 999999) / 1000000 : 0;
	struct pollfd fds[2] = { { .fd = l->target.launch.process.fd, .events = POLLIN },
				 { .fd = screen_keys_fd(&l->screen), .events = POLLIN } };

	poll(fds, 2, ms < BPF_CAPTURE_DRAIN_MS ? (int)ms : BPF_CAPTURE_DRAIN_MS);
}

/* Until something ends it; then why, a value of "ended_by". Errors and a closed pipe are in @e. */
static const char *run(struct locks *l, struct error *e)
{
	u64 begin_ns = clock_mono_ns(), next_ns = begin_ns + l->o->interval_ns;
	u64 end_ns = l->o->duration_ns ? begin_ns + l->o->duration_ns : UINT64_MAX;

	for (;;) {
		u64 now_ns = clock_mono_ns();
		const char *ended = target_ended(&l->target);
		enum screen_event event = screen_take_event(&l->screen);

		if (ended)
			return ended;
		if (event == SCREEN_QUIT)
			return "signal";
		if (now_ns >= end_ns)
			return "duration";
		if (event == SCREEN_REDRAW && locks_redraw(l, e))
			return "error";
		if (bpf_capture_drain(l->capture, e))
			return "error";
		if (now_ns >= next_ns) {
			if (locks_refresh(l, now_ns, false, e))
				return "error";
			/* After a late one the next is a whole interval away: no bursts. */
			next_ns += l->o->interval_ns;
			now_ns = clock_mono_ns();
			if (next_ns < now_ns)
				next_ns = now_ns + l->o->interval_ns;
		}
		nap(l, now_ns, next_ns < end_ns ? next_ns : end_ns);
	}
}

static int finish(struct locks *l, const char *ended, struct error *e)
{
	u64 now_ns;
	int code;

	if (!strcmp(ended, "error")) {
		screen_close(&l->screen);
		return e->code;
	}
	now_ns = clock_mono_ns();
	code = locks_stop(l, e);
	return code ? code : locks_refresh(l, now_ns, true, e);
}

static int watch_locks(struct locks *l, const struct cli_args *args)
{
	struct error e = { 0 };
	const char *ended = "error";
	int code = start(l, args, &e);

	if (!code) {
		ended = run(l, &e);
		code = finish(l, ended, &e);
	}
	screen_close(&l->screen);
	/* The reader has had enough: head, less. */
	if (code == -EPIPE)
		code = 0;
	if (code)
		cli_fail(l->verb, EXIT_FAILED, "%s%s", e.msg,
			 code == -EPERM ? "; without, mmscope analyze reads what others recorded"
					: "");
	target_outlive(&l->target, ended);
	return code ? EXIT_FAILED : EXIT_DONE;
}

static int locks_run(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct locks_opts *o = opts;
	struct locks l = { .verb = v, .o = o, .target = TARGET_INIT(v), .cgroup_fd = -1 };
	int code = target_check_usage(v, &o->pids, o->all, args);

	if (code)
		return code;
	l.render.top_given = o->top != LOCKS_TOP_NOT_GIVEN;
	if (l.render.top_given)
		l.render.top = (u32)o->top;
	else
		l.render.top = wants_screen(&l, args) ? 0 : LOCKS_TOP_DEFAULT;
	l.render.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	choose_scope(&l, args);
	code = watch_locks(&l, args);
	locks_done(&l);
	if (l.cgroup_fd >= 0)
		close(l.cgroup_fd);
	return code;
}

const struct verb verb_locks = {
	.name = "locks",
	.args = "[-- COMMAND ARGS...]",
	.doc = "live: who waits for mmap_lock and VMA locks, how long, and behind whom",
	.details =
		"Watches every process, or those of -p, or a command until it ends. On a terminal "
		"the "
		"tables are refreshed in place (q or ^C ends it) and the last ones stay; "
		"elsewhere, and "
		"beside a command, which has the terminal, they are printed one after the other. "
		"First "
		"come the threads that wait now and whom they wait for, then who lost time in the "
		"window and behind whom. Needs root and a kernel with BTF; a kernel that lacks "
		"parts of "
		"BPF gets by with less, and it is said. Neither a stuck process nor a stuck "
		"command "
		"stops it. The same for later: mmscope record --bpf.",
	.opts = locks_options,
	.n_opts = ARRAY_LEN(locks_options),
	.opts_size = sizeof(struct locks_opts),
	.defaults = &locks_defaults,
	.run = locks_run,
};
