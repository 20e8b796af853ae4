/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/cmd_record.c: `mmscope record`: into a session directory, from ftrace (record_ftrace.c) or
 * BPF (record_bpf.c). Layer: cli.
 *
 * The order of the steps matters: the command is forked first (it stays in the mount namespace we
 * may leave), then the source is set up and filtered, then the files are made, then the source is
 * let go, then the command. finish() and, after a failure at any of these points, abandon() undo
 * all of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cmd_record.h"
#include "live/live.h"

/* What mmscope.json may grow to, for the space reserved for it on the disk. */
#define JSON_BYTES (32 * 1024)
#define JSON_CPU_BYTES 512

static const struct record_opts record_defaults = { .bpf = BPF_CLI_INIT };

#define OPT(member) offsetof(struct record_opts, member)
static const struct cli_opt record_options[] = {
	{ "output", 'o', "DIR", OPT_STRING, OPT(dir), 0, 0,
	  "directory to make for the recording (default: mmscope-YYYYmmdd-HHMMSS)" },
	{ "pid", 'p', "PID", OPT_U64S, OPT(pids), 1, INT_MAX,
	  "record this process, its threads and what it forks; may be repeated (default: none)" },
	{ "all", 'a', NULL, OPT_FLAG, OPT(all), 0, 0,
	  "record every process (default: only with -d and neither -p nor a command)" },
	{ "duration", 'd', "SECONDS", OPT_SECONDS, OPT(duration_ns), 1000000,
	  1000000ULL * 1000000000ULL,
	  "stop after this time (default: at the end of what is recorded, or on ^C)" },
	{ "buffer", 'b', "KB", OPT_U64, OPT(buffer_kb), 16, 16 * 1024 * 1024,
	  "trace buffer per CPU, in kB (default 4096)" },
	{ "event", 'e', "SYSTEM:EVENT", OPT_STRINGS, OPT(events), 0, 0,
	  "record this tracepoint too; may be repeated (default: none)" },
	{ "bpf", 0, NULL, OPT_FLAG, OPT(use_bpf), 0, 0,
	  "record by BPF instead of ftrace: VMA-lock and fault waits on a stock kernel, holders "
	  "and "
	  "stacks, at less cost (-b and -e are ftrace's; what follows is BPF's)" },
#define BPF_OPTION(name, letter, arg, kind, member, min, max, doc) \
	{ name, letter, arg, kind, OPT(bpf.member), min, max, doc },
#include "cli/bpf_options.def"
#undef BPF_OPTION
};

static int fail(const struct recording *rec, const struct error *e)
{
	return cli_fail(rec->verb, EXIT_FAILED, "%s", e->msg);
}

/* --- what to record --- */

/* Options of the one source are wrong with the other. */
static int check_source(const struct verb *v, const struct record_opts *o)
{
	const char *of_bpf = bpf_cli_any_given(&o->bpf);

	if (o->use_bpf && (o->buffer_kb || o->events.list.n))
		return cli_fail(v, EXIT_USAGE, "%s is an option of ftrace, which --bpf replaces",
				o->buffer_kb ? "-b" : "-e");
	if (!o->use_bpf && of_bpf)
		return cli_fail(v, EXIT_USAGE, "%s needs --bpf", of_bpf);
	return EXIT_DONE;
}

static int choose_events(struct recording *rec, const struct record_opts *o)
{
	for (size_t i = 0; i < o->events.list.n; i++) {
		int code = ftrace_events_add(&rec->events, o->events.list.v[i]);

		if (code == -EINVAL)
			return cli_fail(rec->verb, EXIT_USAGE,
					"-e %.200s: not SYSTEM:EVENT, such as sched:sched_wakeup",
					o->events.list.v[i]);
		if (code)
			return cli_fail(rec->verb, EXIT_FAILED, "out of memory");
	}
	return EXIT_DONE;
}

static int choose_scope(struct recording *rec, const struct record_opts *o,
			const struct cli_args *args)
{
	const struct verb *v = rec->verb;
	int code = target_check_usage(v, &o->pids, o->all, args);

	if (code == EXIT_DONE)
		code = check_source(v, o);
	if (code != EXIT_DONE)
		return code;
	if (args->command && !o->all)
		rec->target.scope = SCOPE_COMMAND;
	else if (o->pids.list.n)
		rec->target.scope = SCOPE_PIDS;
	else if (o->all || o->duration_ns)
		rec->target.scope = SCOPE_ALL;
	else
		return cli_fail(v, EXIT_USAGE,
				"say what to record: -p PID, -a, -d SECONDS or -- COMMAND");
	return choose_events(rec, o);
}

static int choose_dir(struct recording *rec, const char *dir, struct error *e)
{
	time_t now = time(NULL);
	struct tm tm;

	if (dir) {
		if (!*dir ||
		    (size_t)snprintf(rec->dir, sizeof(rec->dir), "%s", dir) >= sizeof(rec->dir))
			return error_set(e, -ENAMETOOLONG, "-o: the name is empty or too long");
		return 0;
	}
	localtime_r(&now, &tm);
	strftime(rec->dir, sizeof(rec->dir), "mmscope-%Y%m%d-%H%M%S", &tm);
	return 0;
}

/* --- the steps --- */

static int open_session(struct recording *rec, struct error *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int code;

	code = session_dir_create(rec->dir, &rec->dir_made, e);
	if (code)
		return code;
	rec->dir_ours = true;
	code = rec->ops->open(rec, e);
	if (code)
		return code;
	rec->info.start_ns = (struct session_num){ true, (s64)clock_mono_ns() };
	code = session_dir_save(rec->dir, &rec->info, e);
	session_dir_reserve(rec->dir, JSON_BYTES + (size_t)(cpus > 0 ? cpus : 1) * JSON_CPU_BYTES);
	return code;
}

static int start(struct recording *rec, const struct record_opts *o, const struct cli_args *args,
		 struct error *e)
{
	int code = target_check_namespace(&rec->target, e);

	if (!code)
		code = choose_dir(rec, o->dir, e);
	if (!code && args->command)
		code = launch_prepare(&rec->target.launch, args->command, e);
	if (code)
		return code;
	live_catch_signals();
	code = record_describe(rec, o, args->command, e);
	if (!code)
		code = target_open_pids(&rec->target, &o->pids, e);
	if (!code)
		code = rec->ops->prepare(rec, o, e);
	if (!code)
		code = open_session(rec, e);
	if (code)
		return code;
	record_print_start(rec); /* before the command has the terminal */
	code = rec->ops->go(rec, e);
	if (!code && args->command) {
		code = launch_go(&rec->target.launch, e);
		error_prefix(e, "cannot run '%.200s'", args->command[0]);
	}
	return code;
}

/* --- until the end --- */

/* Returns what ended it: a value of "ended_by". */
static const char *run(struct recording *rec, u64 duration_ns)
{
	u64 end_ns = duration_ns ? (u64)rec->info.start_ns.v + duration_ns : UINT64_MAX;
	struct pollfd fds[2] = { { .fd = rec->ops->poll_fd(rec), .events = POLLIN },
				 { .fd = rec->target.launch.process.fd, .events = POLLIN } };

	for (;;) {
		u64 now_ns = clock_mono_ns(), left_ms;
		const char *ended = target_ended(&rec->target);

		if (ended)
			return ended;
		if (!rec->ops->step(rec))
			return "error";
		if (now_ns >= end_ns)
			return "duration";
		left_ms = (end_ns - now_ns + 999999) / 1000000;
		poll(fds, 2, left_ms < (u64)rec->ops->poll_ms ? (int)left_ms : rec->ops->poll_ms);
	}
}

static int finish(struct recording *rec, struct error *e)
{
	int code = rec->ops->end(rec, e), saved;
	struct error save_error = { 0 };

	if (code)
		rec->info.ended_by = "error";
	if (code && session_info_set(&rec->info, &rec->info.error, e->msg))
		rec->info.error = "out of memory";
	/* Twice if the command takes its time, so that a kill meanwhile finds a complete session.
	 */
	saved = session_dir_save(rec->dir, &rec->info, &save_error);
	target_outlive(&rec->target, rec->info.ended_by);
	if (rec->target.launch.ended) {
		rec->info.exit_code = (struct session_num){ true, rec->target.launch.exit_code };
		error_clear(&save_error);
		saved = session_dir_save(rec->dir, &rec->info, &save_error);
	}
	if (saved && !code)
		code = error_set(e, saved, "%s", save_error.msg);
	return code;
}

/* From any point of start() on: nothing of ours stays behind. */
static void abandon(struct recording *rec)
{
	struct error ignored = { 0 };

	(void)!rec->ops->end(rec, &ignored);
	if (rec->dir_ours)
		session_dir_discard(rec->dir, &rec->info, rec->dir_made);
}

static int record(struct recording *rec, const struct record_opts *o, const struct cli_args *args)
{
	struct error e = { 0 };
	int code = start(rec, o, args, &e);

	if (code) {
		abandon(rec);
		return fail(rec, &e);
	}
	rec->info.ended_by = run(rec, o->duration_ns);
	code = finish(rec, &e);
	record_print_summary(rec);
	return code ? fail(rec, &e) : EXIT_DONE;
}

static int record_run(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct record_opts *o = opts;
	struct recording *rec = calloc(1, sizeof(*rec));
	int code;

	if (!rec)
		return cli_fail(v, EXIT_FAILED, "out of memory");
	rec->verb = v;
	rec->ops = o->use_bpf ? &record_bpf : &record_ftrace;
	rec->target = (struct target)TARGET_INIT(v);
	rec->cgroup_fd = -1;
	session_info_init(&rec->info);
	if (ftrace_events_fill(&rec->events))
		code = choose_scope(rec, o, args);
	else
		code = cli_fail(v, EXIT_FAILED, "out of memory");
	if (code == EXIT_DONE)
		code = record(rec, o, args);
	target_done(&rec->target);
	ftrace_events_done(&rec->events);
	session_info_done(&rec->info);
	free(rec);
	return code;
}

const struct verb verb_record = {
	.name = "record",
	.args = "[-- COMMAND ARGS...]",
	.doc = "record who takes and waits for mmap_lock, into a directory for mmscope analyze",
	.details =
		"With a command: the command and its children are recorded until it ends. With "
		"-p: these "
		"processes and what they fork, until they end. With -a, or -d alone: every "
		"process. ^C, SIGTERM "
		"and SIGHUP end a recording cleanly; a first ^C is left to the command, a "
		"second kills it. When "
		"-d, SIGTERM or SIGHUP ends the recording first, the command is told to end as "
		"well.\n\n"
		"Needs root, or CAP_SYS_ADMIN and write access to tracefs. Without --bpf "
		"everything "
		"happens in a trace instance of its own, mmscope-PID, which is removed at the end; "
		"other users of ftrace are not disturbed. With --bpf the kernel needs BTF; nothing "
		"stays behind.",
	.opts = record_options,
	.n_opts = ARRAY_LEN(record_options),
	.opts_size = sizeof(struct record_opts),
	.defaults = &record_defaults,
	.run = record_run,
};
