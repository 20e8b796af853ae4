/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/ftrace_read.c: per-CPU trace_pipe to files (see ftrace_read.h). Layer: live.
 *
 * A read of trace_pipe makes the kernel print the records, which costs more than anything done
 * here, so a CPU's buffer is drained in the background by few threads. They sleep in poll(), which
 * wakes them when a buffer is filled to the instance's buffer_percent, and at the latest after
 * POLL_MS: never for single events, since each wake-up would be paid for by the workload (and is
 * seen in its trace).
 */
#include "live/ftrace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"

/* One read gives 4 kB at most (8 kB since 6.8), so that several are collected for one write. */
#define READ_MIN 16384
#define BUFFER_BYTES (256 * 1024)
/* A busy CPU must not keep a thread from its other CPUs. */
#define TURN_BYTES (2 * 1024 * 1024)
#define POLL_MS 100
#define THREADS_MAX 16

struct cpu_pipe {
	int in, out; /* -1: closed, or nothing written yet */
	struct ftrace_read_cpu count;
};

struct read_thread {
	struct ftrace_read *r;
	size_t first; /* serves pipes first, first + n_threads, ... */
	pthread_t id;
	bool started;
	char *buf;
	struct pollfd *fds;
	struct error e;
};

struct ftrace_read {
	char out_dir[PATH_MAX - 64];
	struct cpu_pipe *pipes;
	struct ftrace_read_cpu *counts; /* copied at the end, for ftrace_read_cpus() */
	size_t n_pipes;
	struct read_thread *threads;
	u32 *tids;
	size_t n_threads;
	int stop_fd, failure_fd; /* eventfds */
	_Atomic bool stop;
	_Atomic u32 n_running; /* threads that have told their tid */
	bool finished;
};

/* "CPU:1 [LOST 56082 EVENTS]" or "CPU:1 [LOST EVENTS]", the whole line. */
static void count_lost(struct ftrace_read_cpu *c, const char *line, size_t len)
{
	static const char open[] = " [LOST ", close[] = "EVENTS]";
	u64 cpu, n = 0;
	size_t i, digits;

	if (len < 4 || memcmp(line, "CPU:", 4))
		return;
	i = 4 + num_scan_u64(line + 4, len - 4, &cpu);
	if (i == 4 || len - i < sizeof(open) - 1 || memcmp(line + i, open, sizeof(open) - 1))
		return;
	i += sizeof(open) - 1;
	digits = num_scan_u64(line + i, len - i, &n);
	i += digits;
	if (digits && i < len && line[i] == ' ')
		i++;
	if (len - i != sizeof(close) - 1 || memcmp(line + i, close, sizeof(close) - 1))
		return;
	c->lost_marks++;
	c->lost_events += n;
	c->lost_unknown += !digits;
}

/* The kernel hands out whole lines only, so no line spans two buffers. */
static void scan_lines(struct ftrace_read_cpu *c, const char *buf, size_t len)
{
	const char *end = buf + len, *nl;

	for (; buf < end; buf = nl + 1) {
		nl = memchr(buf, '\n', (size_t)(end - buf));
		if (!nl)
			return;
		if (*buf == 'C')
			count_lost(c, buf, (size_t)(nl - buf));
	}
}

static int open_out(struct ftrace_read *r, struct cpu_pipe *p, struct error *e)
{
	char path[PATH_MAX];

	snprintf(p->count.file, sizeof(p->count.file), "cpu%u-00001.txt", p->count.cpu);
	snprintf(path, sizeof(path), "%s/%s", r->out_dir, p->count.file);
	p->out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (p->out < 0) {
		p->count.file[0] = '\0';
		return error_set(e, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

static int flush(struct ftrace_read *r, struct cpu_pipe *p, const char *buf, size_t len,
		 struct error *e)
{
	int code;

	if (p->out < 0) {
		code = open_out(r, p, e);
		if (code)
			return code;
	}
	scan_lines(&p->count, buf, len);
	while (len) {
		ssize_t n = write(p->out, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(e, -errno, "%s/%s: %s", r->out_dir, p->count.file,
					 strerror(errno));
		buf += n;
		len -= (size_t)n;
		p->count.bytes += (u64)n;
	}
	return 0;
}

/* Fills @buf from the pipe. Returns the bytes, 0 when it is empty, negative errno. */
static ssize_t fill(int fd, char *buf)
{
	size_t len = 0;

	while (BUFFER_BYTES - len >= READ_MIN) {
		ssize_t n = read(fd, buf + len, BUFFER_BYTES - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* One CPU's turn. Returns the bytes moved, or negative errno with @e set. */
static ssize_t serve(struct ftrace_read *r, struct cpu_pipe *p, char *buf, struct error *e)
{
	ssize_t moved = 0, n;
	int code;

	do {
		n = fill(p->in, buf);
		if (n < 0)
			return error_set(e, (int)n, "reading the trace of CPU %u: %s", p->count.cpu,
					 strerror((int)-n));
		if (!n)
			break;
		code = flush(r, p, buf, (size_t)n, e);
		if (code)
			return code;
		moved += n;
	} while (moved < TURN_BYTES);
	return moved;
}

static void wait_for_events(struct read_thread *t)
{
	struct ftrace_read *r = t->r;
	nfds_t n = 0;

	t->fds[n++] = (struct pollfd){ .fd = r->stop_fd, .events = POLLIN };
	for (size_t i = t->first; i < r->n_pipes; i += r->n_threads)
		t->fds[n++] = (struct pollfd){ .fd = r->pipes[i].in, .events = POLLIN };
	poll(t->fds, n, POLL_MS);
}

static void *read_main(void *arg)
{
	struct read_thread *t = arg;
	struct ftrace_read *r = t->r;
	u64 one = 1;

	r->tids[t - r->threads] = (u32)syscall(SYS_gettid);
	atomic_fetch_add(&r->n_running, 1);
	for (;;) {
		/* Before the pass: one that began after the stop has seen everything. */
		bool stop = atomic_load(&r->stop);
		ssize_t moved = 0, n;

		for (size_t i = t->first; i < r->n_pipes; i += r->n_threads) {
			n = serve(r, &r->pipes[i], t->buf, &t->e);
			if (n < 0)
				goto failed;
			moved += n;
		}
		if (moved)
			continue;
		if (stop)
			return NULL;
		wait_for_events(t);
	}
failed:
	while (write(r->failure_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

static int open_pipes(struct ftrace_read *r, const char *tracing_dir,
		      const struct sys_tracefs_cpus *cpus, struct error *e)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < r->n_pipes; i++) {
		struct cpu_pipe *p = &r->pipes[i];

		p->count.cpu = cpus->list.v[i];
		snprintf(path, sizeof(path), "%.4000s/per_cpu/cpu%u/trace_pipe", tracing_dir,
			 p->count.cpu);
		p->in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (p->in < 0)
			return error_set(e, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

/* Signals are the main thread's: the readers block them all. */
static int start_threads(struct ftrace_read *r, struct error *e)
{
	sigset_t all, old;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (size_t i = 0; !err && i < r->n_threads; i++) {
		struct read_thread *t = &r->threads[i];

		t->r = r;
		t->first = i;
		t->buf = malloc(BUFFER_BYTES);
		t->fds = calloc(r->n_pipes + 1, sizeof(*t->fds));
		err = t->buf && t->fds ? pthread_create(&t->id, NULL, read_main, t) : ENOMEM;
		t->started = !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return error_set(e, -err, "cannot start a reader thread: %s", strerror(err));
	while (atomic_load(&r->n_running) < r->n_threads) /* until all tids are known */
		usleep(100);
	return 0;
}

int ftrace_read_start(const char *tracing_dir, const char *out_dir,
		      const struct sys_tracefs_cpus *cpus, struct ftrace_read **ret,
		      struct error *e)
{
	struct ftrace_read *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return error_set(e, -ENOMEM, "out of memory");
	r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->failure_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->n_pipes = cpus->list.n;
	r->n_threads = r->n_pipes < THREADS_MAX ? r->n_pipes : THREADS_MAX;
	r->pipes = calloc(r->n_pipes, sizeof(*r->pipes));
	r->counts = calloc(r->n_pipes, sizeof(*r->counts));
	r->threads = calloc(r->n_threads, sizeof(*r->threads));
	r->tids = calloc(r->n_threads, sizeof(*r->tids));
	for (size_t i = 0; r->pipes && i < r->n_pipes; i++)
		r->pipes[i].in = r->pipes[i].out = -1;
	if (!r->pipes || !r->counts || !r->threads || !r->tids)
		code = error_set(e, -ENOMEM, "out of memory");
	else if (r->stop_fd < 0 || r->failure_fd < 0)
		code = error_set(e, -errno, "eventfd: %s", strerror(errno));
	else if ((size_t)snprintf(r->out_dir, sizeof(r->out_dir), "%s", out_dir) >=
		 sizeof(r->out_dir))
		code = error_set(e, -ENAMETOOLONG, "%.200s/...: path too long", out_dir);
	else
		code = open_pipes(r, tracing_dir, cpus, e);
	if (!code)
		code = start_threads(r, e);
	if (code) {
		ftrace_read_free(r);
		return code;
	}
	*ret = r;
	return 0;
}

const u32 *ftrace_read_tids(const struct ftrace_read *r, size_t *ret_n)
{
	*ret_n = r->n_threads;
	return r->tids;
}

int ftrace_read_failure_fd(const struct ftrace_read *r)
{
	return r->failure_fd;
}

/* Ends the threads and closes everything; the first error of a thread, or of a close, goes to @e.
 */
static int end_threads(struct ftrace_read *r, struct error *e)
{
	u64 one = 1;
	int code = 0;

	atomic_store(&r->stop, true);
	while (write(r->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	for (size_t i = 0; r->threads && i < r->n_threads; i++) {
		struct read_thread *t = &r->threads[i];

		if (t->started)
			pthread_join(t->id, NULL);
		if (t->e.code && !code)
			code = error_set(e, t->e.code, "%s", t->e.msg);
	}
	for (size_t i = 0; r->pipes && i < r->n_pipes; i++) {
		struct cpu_pipe *p = &r->pipes[i];

		if (p->in >= 0)
			close(p->in);
		/* Network and quota file systems tell of a failed write only here. */
		if (p->out >= 0 && close(p->out) && !code)
			code = error_set(e, -errno, "%s/%s: %s", r->out_dir, p->count.file,
					 strerror(errno));
		p->in = p->out = -1;
		if (r->counts)
			r->counts[i] = p->count;
	}
	return code;
}

int ftrace_read_finish(struct ftrace_read *r, struct error *e)
{
	if (r->finished)
		return 0;
	r->finished = true;
	return end_threads(r, e);
}

const struct ftrace_read_cpu *ftrace_read_cpus(const struct ftrace_read *r, size_t *ret_n)
{
	*ret_n = r->n_pipes;
	return r->counts;
}

void ftrace_read_free(struct ftrace_read *r)
{
	if (!r)
		return;
	(void)!ftrace_read_finish(r, NULL);
	for (size_t i = 0; r->threads && i < r->n_threads; i++) {
		free(r->threads[i].buf);
		free(r->threads[i].fds);
	}
	if (r->stop_fd >= 0)
		close(r->stop_fd);
	if (r->failure_fd >= 0)
		close(r->failure_fd);
	free(r->pipes);
	free(r->counts);
	free(r->threads);
	free(r->tids);
	free(r);
}
