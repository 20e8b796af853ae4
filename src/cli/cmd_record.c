/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/cmd_record.c: `mmscope record`: from a private ftrace instance into a session directory.
 * Layer: cli.
 *
 * The order of the steps matters: the command is forked first (it stays in the mount namespace we
 * may leave), then the instance is made, filtered and filled with events while tracing is off, then
 * the readers start, then tracing, then the command. finish() and, after a failure at any of these
 * points, abandon() undo all of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cmd_record.h"
#include "cli/options.h"
#include "live/live.h"
#include "live/tracefs_mount.h"
#include "sys/procfs.h"

#define POLL_MS 100
/* How long a command that we told to end may take before we leave it to itself. */
#define GRACE_MS 5000
/* What mmscope.json may grow to, for the space reserved for it on the disk. */
#define JSON_BYTES (32 * 1024)
#define JSON_CPU_BYTES 512

struct record_opts {
	const char *dir;
	struct opt_u64s pids;
	bool all;
	u64 duration_ns;
	u64 buffer_kb;
	struct opt_strings events;
};

static const struct record_opts record_defaults = { .buffer_kb = 4096 };

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
};

static int fail(struct recording *rec, const struct error *e)
{
	return cli_fail(rec->verb, EXIT_FAILED, "%s", e->msg);
}

/* --- what to record --- */

static int choose_scope(struct recording *rec, const struct record_opts *o,
			const struct cli_args *args)
{
	const struct verb *v = rec->verb;

	if (args->argc)
		return cli_fail(v, EXIT_USAGE, "'%s' is no option; a command goes behind --",
				args->argv[0]);
	if (args->command && !args->command[0])
		return cli_fail(v, EXIT_USAGE, "no command behind --");
	if (o->pids.list.n && (args->command || o->all))
		return cli_fail(
			v, EXIT_USAGE,
			"-p goes with neither -a nor a command; -d SECONDS limits its time");
	if (args->command && !o->all)
		rec->scope = SCOPE_COMMAND;
	else if (o->pids.list.n)
		rec->scope = SCOPE_PIDS;
	else if (o->all || o->duration_ns)
		rec->scope = SCOPE_ALL;
	else
		return cli_fail(v, EXIT_USAGE,
				"say what to record: -p PID, -a, -d SECONDS or -- COMMAND");
	for (size_t i = 0; i < o->events.list.n; i++) {
		int code = ftrace_events_add(&rec->events, o->events.list.v[i]);

		if (code == -EINVAL)
			return cli_fail(v, EXIT_USAGE,
					"-e %.200s: not SYSTEM:EVENT, such as sched:sched_wakeup",
					o->events.list.v[i]);
		if (code)
			return cli_fail(v, EXIT_FAILED, "out of memory");
	}
	return EXIT_DONE;
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

/* The threads of one process. One that starts meanwhile is found by the next round, or by
 * event-fork. */
static int filter_pid(struct recording *rec, u32 pid, struct error *e)
{
	struct procfs_tids tids;
	size_t before = 0, n = 1;
	int code = 0;

	for (int round = 0; !code && n != before && round < 5; round++) {
		before = round ? n : 0;
		code = procfs_list_tids("", pid, &tids, e);
		if (code)
			return code;
		n = tids.list.n;
		if (n != before)
			code = ftrace_session_add_tids(rec->ftrace, tids.list.v, n, e);
		procfs_tids_done(&tids);
	}
	return code;
}

static int filter_pids(struct recording *rec, struct error *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < rec->info.pids.list.n; i++) {
		struct live_process *p = vec_push(&rec->watched);

		if (!p)
			return error_set(e, -ENOMEM, "out of memory");
		live_process_open(p, (pid_t)rec->info.pids.list.v[i]);
		code = filter_pid(rec, (u32)p->pid, e);
	}
	return code;
}

static int set_filters(struct recording *rec, struct error *e)
{
	u32 child = (u32)rec->launch.process.pid;

	if (rec->scope == SCOPE_COMMAND)
		return ftrace_session_add_tids(rec->ftrace, &child, 1, e);
	if (rec->scope == SCOPE_PIDS)
		return filter_pids(rec, e);
	return 0;
}

/* Our own threads, in a recording of everything. */
static int exclude_self(struct recording *rec, struct error *e)
{
	u32 self = (u32)getpid();
	const u32 *tids;
	size_t n;
	int code;

	/* Inside a container our ids are those of other threads of the host. */
	if (rec->scope != SCOPE_ALL || !procfs_in_first_pid_ns(""))
		return 0;
	tids = ftrace_read_tids(rec->reader, &n);
	code = ftrace_session_exclude_tids(rec->ftrace, &self, 1, e);
	return code ? code : ftrace_session_exclude_tids(rec->ftrace, tids, n, e);
}

/* --- the steps --- */

static int make_instance(struct recording *rec, const struct record_opts *o, struct error *e)
{
	struct ftrace_session_opts opts = { .buffer_kb = o->buffer_kb,
					    .follow = rec->scope != SCOPE_ALL };
	u32 stale;
	int code;

	code = tracefs_mount_get(rec->tracing_dir, sizeof(rec->tracing_dir), NULL, e);
	if (code)
		return code;
	code = ftrace_session_remove_stale(rec->tracing_dir, &stale, e);
	if (code)
		return code;
	if (stale)
		cli_warn(rec->verb,
			 "removed %u trace instance%s that a killed mmscope had left behind", stale,
			 stale == 1 ? "" : "s");
	code = ftrace_session_new(rec->tracing_dir, &opts, &rec->ftrace, e);
	return code ? code : set_filters(rec, e);
}

static int enable_events(struct recording *rec, struct error *e)
{
	bool *enabled = calloc(rec->events.list.n, sizeof(*enabled));
	int code;

	if (!enabled)
		return error_set(e, -ENOMEM, "out of memory");
	code = ftrace_session_enable(rec->ftrace, &rec->events, enabled, e);
	if (!code)
		code = record_describe_events(rec, enabled, e);
	free(enabled);
	return code;
}

static int start_reading(struct recording *rec, struct error *e)
{
	struct sys_tracefs_cpus cpus;
	size_t n_cpus;
	int code;

	code = session_dir_create(rec->dir, &rec->dir_made, e);
	if (code)
		return code;
	rec->dir_ours = true;
	code = sys_tracefs_list_cpus(ftrace_session_dir(rec->ftrace), &cpus, e);
	if (code)
		return code;
	code = ftrace_read_start(ftrace_session_dir(rec->ftrace), rec->dir, &cpus, &rec->reader, e);
	n_cpus = cpus.list.n;
	sys_tracefs_cpus_done(&cpus);
	if (!code)
		code = exclude_self(rec, e);
	if (!code) {
		rec->info.start_ns = (struct session_num){ true, (s64)clock_mono_ns() };
		code = session_dir_save(rec->dir, &rec->info, e);
		session_dir_reserve(rec->dir, JSON_BYTES + n_cpus * JSON_CPU_BYTES);
	}
	return code;
}

static int start(struct recording *rec, const struct record_opts *o, const struct cli_args *args,
		 struct error *e)
{
	int code;

	if (rec->scope != SCOPE_ALL && !procfs_in_first_pid_ns(""))
		return error_set(
			e, -ENOTSUP,
			"inside a container the kernel's filters need the host's process ids: "
			"record on the host, or everything with -a");
	code = choose_dir(rec, o->dir, e);
	if (!code && args->command)
		code = launch_prepare(&rec->launch, args->command, e);
	if (code)
		return code;
	live_catch_signals();
	code = record_describe(rec, &o->pids, o->buffer_kb, args->command, e);
	if (!code)
		code = make_instance(rec, o, e);
	if (!code)
		code = enable_events(rec, e);
	if (!code)
		code = start_reading(rec, e);
	if (code)
		return code;
	record_print_start(rec); /* before the command has the terminal */
	code = ftrace_session_start(rec->ftrace, e);
	if (!code && args->command) {
		code = launch_go(&rec->launch, e);
		error_prefix(e, "cannot run '%.200s'", args->command[0]);
	}
	return code;
}

/* --- until the end --- */

static bool all_pids_ended(const struct recording *rec)
{
	for (size_t i = 0; i < rec->watched.n; i++)
		if (!live_process_has_ended(&rec->watched.v[i]))
			return false;
	return true;
}

/*
 * A signal came. True when the recording is to end now. The first ^C is the command's affair: it
 * may handle it for as long as it likes, and what it does then is recorded.
 */
static bool handle_signal(struct recording *rec, int sig)
{
	if (!rec->launch.running)
		return true;
	if (sig != SIGINT) {
		launch_signal(&rec->launch, sig);
		return true;
	}
	if (rec->interrupted) {
		launch_signal(&rec->launch, SIGKILL);
		launch_wait(&rec->launch, GRACE_MS);
		return true;
	}
	rec->interrupted = true;
	if (!launch_shares_terminal())
		launch_signal(&rec->launch, SIGINT);
	cli_warn(rec->verb, "waiting for the command to end; a second ^C kills it");
	return false;
}

static bool take_signal(struct recording *rec)
{
	int sig = live_stop_signal;

	live_stop_signal = 0;
	return sig && handle_signal(rec, sig);
}

/* Returns what ended it: a value of "ended_by". */
static const char *run(struct recording *rec, u64 duration_ns)
{
	u64 end_ns = duration_ns ? (u64)rec->info.start_ns.v + duration_ns : UINT64_MAX;
	struct pollfd fds[2] = { { .fd = ftrace_read_failure_fd(rec->reader), .events = POLLIN },
				 { .fd = rec->launch.process.fd, .events = POLLIN } };

	for (;;) {
		u64 now_ns = clock_mono_ns();
		u64 left_ms;

		if (take_signal(rec))
			return "signal";
		if (fds[0].revents)
			return "error";
		if (launch_poll(&rec->launch))
			return rec->interrupted ? "signal" : "command";
		if (rec->scope == SCOPE_PIDS && all_pids_ended(rec))
			return "pids";
		if (now_ns >= end_ns)
			return "duration";
		left_ms = (end_ns - now_ns + 999999) / 1000000;
		poll(fds, 2, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
	}
}

/* Stops, drains, counts and removes the instance. The first error is kept; every step is tried. */
static int end_capture(struct recording *rec, struct error *e)
{
	int first = 0, code;

	if (!rec->ftrace)
		return 0;
	if (rec->reader) {
		first = ftrace_session_stop(rec->ftrace, e);
		rec->info.end_ns = (struct session_num){ true, (s64)clock_mono_ns() };
		code = ftrace_read_finish(rec->reader, e);
		first = first ? first : code;
		code = record_describe_cpus(rec, e);
		first = first ? first : code;
		ftrace_read_free(rec->reader);
		rec->reader = NULL;
	}
	code = ftrace_session_close(rec->ftrace, e);
	rec->ftrace = NULL;
	return first ? first : code;
}

/*
 * The recording is over, the command is not. After -d or a signal it was told to end and gets a
 * moment; after an error of ours it goes on undisturbed and we stay with it, since it has the
 * terminal.
 */
static void outlive_command(struct recording *rec)
{
	if (!rec->launch.running)
		return;
	if (!strcmp(rec->info.ended_by, "duration"))
		launch_signal(&rec->launch, SIGTERM);
	if (strcmp(rec->info.ended_by, "error")) {
		launch_wait(&rec->launch, GRACE_MS);
	} else {
		cli_warn(rec->verb, "the recording has failed; the command goes on");
		while (!launch_wait(&rec->launch, POLL_MS) && !take_signal(rec))
			;
	}
	if (rec->launch.running)
		cli_warn(rec->verb, "the command (pid %d) still runs",
			 (int)rec->launch.process.pid);
}

static int finish(struct recording *rec, struct error *e)
{
	int code = end_capture(rec, e), saved;
	struct error save_error = { 0 };

	if (code)
		rec->info.ended_by = "error";
	if (code && session_info_set(&rec->info, &rec->info.error, e->msg))
		rec->info.error = "out of memory";
	/* Twice if the command takes its time, so that a kill meanwhile finds a complete session.
	 */
	saved = session_dir_save(rec->dir, &rec->info, &save_error);
	outlive_command(rec);
	if (rec->launch.ended) {
		rec->info.exit_code = (struct session_num){ true, rec->launch.exit_code };
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

	(void)!end_capture(rec, &ignored);
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
	struct recording rec = { .verb = v, .launch = LAUNCH_INIT };
	int code;

	session_info_init(&rec.info);
	if (!ftrace_events_fill(&rec.events))
		return cli_fail(v, EXIT_FAILED, "out of memory");
	code = choose_scope(&rec, opts, args);
	if (code == EXIT_DONE)
		code = record(&rec, opts, args);
	launch_done(&rec.launch);
	for (size_t i = 0; i < rec.watched.n; i++)
		live_process_close(&rec.watched.v[i]);
	vec_done(&rec.watched);
	ftrace_events_done(&rec.events);
	session_info_done(&rec.info);
	return code;
}

const struct verb verb_record = {
	.name = "record",
	.args = "[-- COMMAND ARGS...]",
	.doc = "record who takes and waits for mmap_lock, into a directory for mmscope analyze",
	.details = "With a command: the command and its children are recorded until it ends. With "
		   "-p: these "
		   "processes and what they fork, until they end. With -a, or -d alone: every "
		   "process. ^C, SIGTERM "
		   "and SIGHUP end a recording cleanly; a first ^C is left to the command, a "
		   "second kills it. When "
		   "-d, SIGTERM or SIGHUP ends the recording first, the command is told to end as "
		   "well.\n\n"
		   "Needs root, or CAP_SYS_ADMIN and write access to tracefs. Everything happens "
		   "in a trace "
		   "instance of its own, mmscope-PID, which is removed at the end; other users of "
		   "ftrace are not "
		   "disturbed.",
	.opts = record_options,
	.n_opts = ARRAY_LEN(record_options),
	.opts_size = sizeof(struct record_opts),
	.defaults = &record_defaults,
	.run = record_run,
};
