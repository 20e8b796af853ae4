/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/target.c: what a live command watches, and when that has ended (see target.h). Layer: cli. */
#include "cli/target.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "live/live.h"
#include "sys/procfs.h"

#define POLL_MS 100
/* How long a command that we told to end may take before we leave it to itself. */
#define GRACE_MS 5000
/* The same for one that we killed: it ends at once, or is stuck in the kernel. */
#define KILL_MS 1000

int target_check_usage(const struct verb *v, const struct opt_u64s *pids, bool all,
		       const struct cli_args *args)
{
	if (args->argc)
		return cli_fail(v, EXIT_USAGE, "'%s' is no option; a command goes behind --",
				args->argv[0]);
	if (args->command && !args->command[0])
		return cli_fail(v, EXIT_USAGE, "no command behind --");
	if (pids->list.n && (args->command || all))
		return cli_fail(
			v, EXIT_USAGE,
			"-p goes with neither -a nor a command; -d SECONDS limits its time");
	return EXIT_DONE;
}

int target_open_pids(struct target *t, const struct opt_u64s *pids, struct error *e)
{
	for (size_t i = 0; i < pids->list.n; i++) {
		pid_t pid = (pid_t)pids->list.v[i];
		struct live_process *p;

		if (kill(pid, 0) && errno == ESRCH)
			return error_set(e, -ESRCH, "process %d: No such process", (int)pid);
		p = vec_push(&t->watched);
		if (!p)
			return error_set(e, -ENOMEM, "out of memory");
		live_process_open(p, pid);
	}
	return 0;
}

int target_check_namespace(const struct target *t, struct error *e)
{
	if (t->scope == SCOPE_ALL || procfs_in_first_pid_ns(""))
		return 0;
	return error_set(e, -ENOTSUP,
			 "inside a container the kernel's filters need the host's process ids: "
			 "%s on the host, or everything with -a",
			 t->verb->name);
}

static bool all_pids_ended(const struct target *t)
{
	for (size_t i = 0; i < t->watched.n; i++)
		if (!live_process_has_ended(&t->watched.v[i]))
			return false;
	return true;
}

/* A signal came. True when it is to end now. */
static bool handle_signal(struct target *t, int sig)
{
	if (!t->launch.running)
		return true;
	if (sig != SIGINT) {
		launch_signal(&t->launch, sig);
		return true;
	}
	if (t->interrupted) {
		launch_signal(&t->launch, SIGKILL);
		t->killed = true;
		launch_wait(&t->launch, KILL_MS);
		return true;
	}
	t->interrupted = true;
	if (!launch_shares_terminal())
		launch_signal(&t->launch, SIGINT);
	cli_warn(t->verb, "waiting for the command to end; a second ^C kills it");
	return false;
}

static bool take_signal(struct target *t)
{
	int sig = live_stop_signal;

	live_stop_signal = 0;
	return sig && handle_signal(t, sig);
}

const char *target_ended(struct target *t)
{
	if (take_signal(t))
		return "signal";
	if (launch_poll(&t->launch))
		return t->interrupted ? "signal" : "command";
	if (t->scope == SCOPE_PIDS && all_pids_ended(t))
		return "pids";
	return NULL;
}

/*
 * After -d or a signal the command was told to end and gets a moment; after an error of ours it
 * goes on undisturbed and we stay with it, since it has the terminal.
 */
void target_outlive(struct target *t, const char *ended_by)
{
	if (!t->launch.running)
		return;
	if (!strcmp(ended_by, "duration"))
		launch_signal(&t->launch, SIGTERM);
	if (strcmp(ended_by, "error")) {
		launch_wait(&t->launch, t->killed ? KILL_MS : GRACE_MS);
	} else {
		cli_warn(t->verb, "failed; the command goes on");
		while (!launch_wait(&t->launch, POLL_MS) && !take_signal(t))
			;
	}
	if (t->launch.running)
		cli_warn(t->verb, "the command (pid %d) still runs", (int)t->launch.process.pid);
}

void target_done(struct target *t)
{
	launch_done(&t->launch);
	for (size_t i = 0; i < t->watched.n; i++)
		live_process_close(&t->watched.v[i]);
	vec_done(&t->watched);
}
