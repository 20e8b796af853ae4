/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/launch.c: start a command behind a gate (see launch.h). Layer: live. */
#include "live/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The child: only async-signal-safe calls from here to exec. */
static _Noreturn void wait_and_exec(int gate, int status, char *const argv[])
{
	char byte;
	ssize_t n;
	int err;

	do {
		n = read(gate, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1) /* the recorder gave up, or died */
		_exit(0);
	execvp(argv[0], argv);
	err = errno;
	while (write(status, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

int launch_prepare(struct launch *l, char *const argv[], struct error *e)
{
	int gate[2], status[2], code;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return error_set(e, -errno, "pipe: %s", strerror(errno));
	if (pipe2(status, O_CLOEXEC)) {
		code = error_set(e, -errno, "pipe: %s", strerror(errno));
		goto out_gate;
	}
	pid = fork();
	if (pid < 0) {
		code = error_set(e, -errno, "fork: %s", strerror(errno));
		goto out_status;
	}
	if (!pid) {
		/* Both would hide the recorder's death from the child. */
		close(gate[1]);
		close(status[0]);
		wait_and_exec(gate[0], status[1], argv);
	}
	close(gate[0]);
	close(status[1]);
	l->gate_fd = gate[1];
	l->status_fd = status[0];
	live_process_open(&l->process, pid);
	return 0;

out_status:
	close(status[0]);
	close(status[1]);
out_gate:
	close(gate[0]);
	close(gate[1]);
	return code;
}

/* Takes the wait status of a child that has ended. */
static void note_end(struct launch *l, int status)
{
	l->running = false;
	l->ended = true;
	l->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int launch_go(struct launch *l, struct error *e)
{
	int err = 0, status = 0;
	ssize_t n;

	/* SIGPIPE is ignored by the recorder (live_catch_signals); a child killed at the gate shows
	 * as EPIPE. */
	do {
		n = write(l->gate_fd, "g", 1);
	} while (n < 0 && errno == EINTR);
	close_fd(&l->gate_fd);
	if (n != 1)
		return error_set(e, -ECHILD, "the command was killed before it could start");
	do {
		n = read(l->status_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close_fd(&l->status_fd);
	if (n != sizeof(err)) {
		l->running = true;
		return 0;
	}
	while (waitpid(l->process.pid, &status, 0) < 0 && errno == EINTR)
		;
	note_end(l, status);
	return error_set(e, err ? -err : -EINVAL, "%s", strerror(err));
}

bool launch_poll(struct launch *l)
{
	int status;
	pid_t got;

	if (!l->running)
		return l->ended;
	got = waitpid(l->process.pid, &status, WNOHANG);
	if (got == l->process.pid)
		note_end(l, status);
	return l->ended;
}

bool launch_wait(struct launch *l, int timeout_ms)
{
	u64 end_ns = clock_mono_ns() + (u64)timeout_ms * 1000000u;

	while (!launch_poll(l) && l->running && clock_mono_ns() < end_ns) {
		struct pollfd p = { .fd = l->process.fd, .events = POLLIN };

		poll(&p, 1, 20);
	}
	return l->ended;
}

void launch_signal(const struct launch *l, int sig)
{
	if (l->running)
		kill(l->process.pid, sig);
}

bool launch_shares_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool shares;

	if (fd < 0)
		return false;
	shares = tcgetpgrp(fd) == getpgrp();
	close(fd);
	return shares;
}

void launch_done(struct launch *l)
{
	close_fd(&l->gate_fd);
	if (l->process.pid && !l->running && !l->ended)
		while (waitpid(l->process.pid, NULL, 0) < 0 && errno == EINTR)
			;
	close_fd(&l->status_fd);
	live_process_close(&l->process);
	*l = (struct launch)LAUNCH_INIT;
}
