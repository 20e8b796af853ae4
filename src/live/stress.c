/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/stress.c: sets the stress workload up, opens its gate, adds its counts up (see stress.h). */
#include "live/stress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live/live.h"
#include "live/stress_priv.h"

#define THREAD_STACK_BYTES (256u << 10) /* of which the lowest page is a guard */

static const char *const op_names[STRESS_OP_N] = {
#define X(id, name) [STRESS_OP_##id] = name,
	STRESS_OPS(X)
#undef X
};
static const char *const call_names[STRESS_CALL_N] = {
#define X(id, name) [STRESS_CALL_##id] = name,
	STRESS_CALLS(X)
#undef X
};

const char *stress_op_name(enum stress_op op)
{
	return op < STRESS_OP_N ? op_names[op] : "?";
}

const char *stress_call_name(enum stress_call call)
{
	return call < STRESS_CALL_N ? call_names[call] : "?";
}

int stress_op_find(const char *name)
{
	for (int op = 0; op < STRESS_OP_N; op++)
		if (!strcmp(name, op_names[op]))
			return op;
	return -1;
}

int stress_config_check(const struct stress_config *c, struct error *e)
{
	u64 threads = (u64)c->readers.threads + c->writers.threads;

	if (!threads || threads > STRESS_MAX_THREADS)
		return error_set(e, -EINVAL, "%llu readers and writers: 1 to %u together",
				 (unsigned long long)threads, STRESS_MAX_THREADS);
	if (!c->pages || c->pages > STRESS_MAX_PAGES)
		return error_set(e, -EINVAL, "%llu pages: 1 to %u", (unsigned long long)c->pages,
				 STRESS_MAX_PAGES);
	if (c->op == STRESS_OP_SPLIT && c->writers.threads && c->pages < 2 * STRESS_SPLIT_PAGES)
		return error_set(e, -EINVAL, "split needs at least %u pages",
				 2 * STRESS_SPLIT_PAGES);
	if (!c->duration_ns && !(c->ops_per_writer && c->writers.threads))
		return error_set(e, -EINVAL, "nothing would end this run");
	return 0;
}

/* One mapping for all stacks: ours, so that a thread's exit makes no call that it does not count.
 */
static int stacks_init(struct stress *s, struct error *e)
{
	s->stacks_bytes = (size_t)s->n_threads * THREAD_STACK_BYTES;
	s->stacks = mmap(NULL, s->stacks_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (s->stacks == MAP_FAILED) {
		s->stacks = NULL;
		return error_set(e, -errno, "mmap of %u stacks: %s", s->n_threads, strerror(errno));
	}
	for (u32 i = 0; i < s->n_threads; i++)
		if (mprotect(s->stacks + (size_t)i * THREAD_STACK_BYTES, s->page_size_bytes,
			     PROT_NONE))
			return error_set(e, -errno, "mprotect of a stack guard: %s",
					 strerror(errno));
	return 0;
}

static int thread_start(struct stress *s, u32 i, struct error *e)
{
	struct stress_thread *t = &s->threads[i];
	char *stack = s->stacks + (size_t)i * THREAD_STACK_BYTES + s->page_size_bytes;
	pthread_attr_t attr;
	int err;

	t->s = s;
	t->out = &s->counts[i];
	t->out->writer = i >= s->config.readers.threads;
	t->out->index = t->out->writer ? i - s->config.readers.threads : i;
	if (!t->out->writer) /* spread, so that readers fault on different pages */
		t->out->start_page = s->config.pages * i / s->config.readers.threads;
	err = pthread_attr_init(&attr);
	if (err)
		return error_set(e, -err, "thread attributes: %s", strerror(err));
	err = pthread_attr_setstack(&attr, stack, THREAD_STACK_BYTES - s->page_size_bytes);
	if (!err)
		err = pthread_create(&t->thread, &attr, stress_thread_main, t);
	pthread_attr_destroy(&attr);
	if (err)
		return error_set(e, -err, "cannot create thread %u of %u: %s", i + 1, s->n_threads,
				 strerror(err));
	t->created = true;
	return 0;
}

/* Asked for explicitly, so a refusal is an error: the run would answer another question. */
static int thread_set_priority(pid_t tid, const struct stress_side_config *side, const char *who,
			       struct error *e)
{
	if (side->nice != STRESS_NICE_UNSET &&
	    setpriority(PRIO_PROCESS, (id_t)tid, (int)side->nice))
		return error_set(e, -errno, "cannot set --%s-nice %lld: %s", who,
				 (long long)side->nice, strerror(errno));
	if (side->rt_prio) {
		struct sched_param p = { .sched_priority = (int)side->rt_prio };

		if (sched_setscheduler(tid, SCHED_FIFO, &p))
			return error_set(e, -errno, "cannot set --%s-rt %u (SCHED_FIFO): %s", who,
					 side->rt_prio, strerror(errno));
	}
	return 0;
}

static int threads_init(struct stress *s, struct error *e)
{
	const struct stress_config *c = &s->config;
	sigset_t all;
	u32 ready;
	int err;

	/* Signals are the caller's thread's alone; it takes them only inside ppoll(). */
	sigfillset(&all);
	err = pthread_sigmask(SIG_BLOCK, &all, &s->old_mask);
	if (err)
		return error_set(e, -err, "pthread_sigmask: %s", strerror(err));
	s->masked = true;
	atomic_store(&s->writers_left, c->writers.threads);
	for (u32 i = 0; i < s->n_threads; i++) {
		err = thread_start(s, i, e);
		if (err)
			return err;
	}
	while ((ready = atomic_load(&s->n_ready)) < s->n_threads)
		stress_gate_wait(&s->n_ready, ready, 0);
	for (u32 i = 0; i < s->n_threads; i++) {
		bool writer = s->counts[i].writer;

		s->tids[i] = s->counts[i].tid = (pid_t)atomic_load(&s->threads[i].tid);
		err = thread_set_priority(s->tids[i], writer ? &c->writers : &c->readers,
					  writer ? "writer" : "reader", e);
		if (err)
			return err;
	}
	return 0;
}

int stress_new(const struct stress_config *config, struct stress **ret, struct error *e)
{
	struct stress *s;
	int err = stress_config_check(config, e);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(e, -ENOMEM, "out of memory");
	s->config = *config;
	s->fd = s->done_fd = -1;
	s->page_size_bytes = (u64)sysconf(_SC_PAGESIZE);
	s->n_threads = config->readers.threads + config->writers.threads;
	s->threads = calloc(s->n_threads, sizeof(*s->threads));
	s->counts = calloc(s->n_threads, sizeof(*s->counts));
	s->tids = calloc(s->n_threads, sizeof(*s->tids));
	s->done_fd = eventfd(0, EFD_CLOEXEC);
	if (!s->threads || !s->counts || !s->tids || s->done_fd < 0) {
		err = error_set(e, -ENOMEM, "out of memory for %u threads", s->n_threads);
		goto fail;
	}
	err = stress_map_init(s, e);
	if (err)
		goto fail;
	err = stacks_init(s, e);
	if (err)
		goto fail;
	err = threads_init(s, e);
	if (err)
		goto fail;
	s->ident.tgid = getpid();
	s->ident.pages = config->pages;
	s->ident.page_size_bytes = s->page_size_bytes;
	s->ident.n_threads = s->n_threads;
	s->ident.n_readers = config->readers.threads;
	s->ident.n_writers = config->writers.threads;
	s->ident.reader_tids = s->tids;
	s->ident.writer_tids = s->tids + config->readers.threads;
	*ret = s;
	return 0;
fail:
	stress_free(s);
	return err;
}

const struct stress_ident *stress_ident(const struct stress *s)
{
	return &s->ident;
}

/*
 * Sleeps until @fd is readable (-1 = none), @end_ns (0 = no limit), or a signal that ends us.
 * Returns 1 when @fd is readable, 0 when time is up, -EINTR for the signal.
 */
static int wait_until(struct stress *s, int fd, u64 end_ns, struct error *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		u64 now_ns = clock_mono_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
		struct timespec t = { (time_t)(left_ns / 1000000000u),
				      (long)(left_ns % 1000000000u) };
		int n;

		if (live_stop_signal)
			return -EINTR;
		if (end_ns && !left_ns)
			return 0;
		n = ppoll(&p, 1, end_ns ? &t : NULL, &s->old_mask);
		if (n < 0 && errno != EINTR)
			return error_set(e, -errno, "poll: %s", strerror(errno));
		if (n > 0 && p.revents & POLLNVAL)
			return error_set(e, -EBADF, "file descriptor %d is not open", fd);
		if (n > 0)
			return 1;
	}
}

static int wait_for_fd(struct stress *s, struct error *e)
{
	char byte;
	int n;

	if (s->config.wait_fd < 0)
		return 0;
	n = wait_until(s, s->config.wait_fd, 0, e);
	if (n < 0)
		return n;
	if (read(s->config.wait_fd, &byte, 1) < 0 && errno != EAGAIN)
		return error_set(e, -errno, "read of file descriptor %d: %s", s->config.wait_fd,
				 strerror(errno));
	return 0;
}

/* From the gate to the end; -EINTR when a signal ended it, which is no error. */
static int run_open(struct stress *s, u64 begin_ns, struct error *e)
{
	u64 end_ns = s->config.duration_ns ? begin_ns + s->config.duration_ns : 0;
	u64 writers_ns = begin_ns + s->config.writer_delay_ns;
	int n;

	stress_gate_set(&s->gate, GATE_READERS);
	if (end_ns && end_ns <= writers_ns) /* over before their time: no writer makes a move */
		return wait_until(s, -1, end_ns, e);
	n = wait_until(s, -1, writers_ns, e);
	if (n < 0)
		return n;
	stress_gate_set(&s->gate, GATE_WRITERS);
	n = wait_until(s, s->config.ops_per_writer ? s->done_fd : -1, end_ns, e);
	return n < 0 ? n : 0;
}

static void threads_join(struct stress *s)
{
	stress_gate_set(&s->gate, GATE_END);
	for (u32 i = 0; i < s->n_threads; i++) {
		if (s->threads[i].created)
			pthread_join(s->threads[i].thread, NULL);
		s->threads[i].created = false;
	}
}

int stress_run(struct stress *s, struct stress_result *ret, struct error *e)
{
	struct rusage before, after;
	u64 begin_ns;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = wait_for_fd(s, e);
	getrusage(RUSAGE_SELF, &before);
	begin_ns = clock_mono_ns();
	if (!err) {
		ret->gate_opened = true;
		err = run_open(s, begin_ns, e);
	}
	threads_join(s);
	ret->elapsed_ns = clock_mono_ns() - begin_ns;
	if (err && err != -EINTR)
		return err;
	getrusage(RUSAGE_SELF, &after);
	ret->end_signal = live_stop_signal;
	ret->known_content = s->known_content;
	ret->minor_faults = (u64)(after.ru_minflt - before.ru_minflt);
	ret->major_faults = (u64)(after.ru_majflt - before.ru_majflt);
	for (u32 i = 0; i < s->n_threads; i++)
		stress_counts_add(s->counts[i].writer ? &ret->writers : &ret->readers,
				  &s->counts[i].counts);
	ret->threads = s->counts;
	ret->n_threads = s->n_threads;
	return 0;
}

void stress_free(struct stress *s)
{
	if (!s)
		return;
	threads_join(s);
	if (s->masked)
		pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
	stress_map_done(s);
	if (s->stacks)
		munmap(s->stacks, s->stacks_bytes);
	if (s->done_fd >= 0)
		close(s->done_fd);
	free(s->tids);
	free(s->counts);
	free(s->threads);
	free(s);
}
