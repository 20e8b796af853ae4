/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/stress_ops.c: what the readers and writers of the stress workload do. Layer: live.
 *
 * A thread makes no address-space call but those it counts (no malloc, no stdio, and its stack is
 * the caller's, so that pthread's exit path does not madvise it): the counts are what a tracer sees
 * for its TID between the opening of the gate and the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/stress_priv.h"

/* Books a call that began at @begin_ns; @err is 0 or a positive errno. */
static void count_call(struct stress_counts *c, enum stress_call call, u64 begin_ns, int err)
{
	c->calls[call]++;
	stress_latency_add(&c->call_latency[call], clock_mono_ns() - begin_ns);
	if (!err)
		return;
	c->failed[call]++;
	c->errnos[err > 0 && err < STRESS_MAX_ERRNO ? err : 0]++;
}

static void call_mprotect(struct stress_counts *c, char *p, size_t bytes, int prot)
{
	u64 begin_ns = clock_mono_ns();
	int err = mprotect(p, bytes, prot) ? errno : 0;

	count_call(c, STRESS_CALL_MPROTECT, begin_ns, err);
}

static void call_drop_ptes(struct stress *s, struct stress_counts *c)
{
	u64 begin_ns = clock_mono_ns();
	int err = madvise(s->map, s->map_bytes, MADV_DONTNEED) ? errno : 0;

	count_call(c, STRESS_CALL_MADVISE, begin_ns, err);
}

/* Both protections let the readers read on. */
static void op_mprotect(struct stress *s, struct stress_counts *c)
{
	bool read_only = !(atomic_fetch_add(&s->toggle, 1) & 1);

	call_mprotect(c, s->map, s->map_bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* Cuts a part out of the VMA and lets it grow together again. */
static void op_split(struct stress *s, struct stress_counts *c, u32 index)
{
	u64 parts = s->config.pages / STRESS_SPLIT_PAGES - 1;
	size_t bytes = STRESS_SPLIT_PAGES * s->page_size_bytes;
	char *p = s->map + (1 + index % parts) * bytes;

	call_mprotect(c, p, bytes, PROT_READ);
	call_mprotect(c, p, bytes, PROT_READ | PROT_WRITE);
}

static void op_mmap(struct stress *s, struct stress_counts *c)
{
	u64 begin_ns = clock_mono_ns();
	char *p = mmap(NULL, STRESS_MMAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	int err = p == MAP_FAILED ? errno : 0;

	count_call(c, STRESS_CALL_MMAP, begin_ns, err);
	if (err)
		return;
	for (size_t off = 0; off < STRESS_MMAP_BYTES; off += s->page_size_bytes) {
		*(volatile char *)(p + off) = 1;
		c->pages_touched++;
	}
	begin_ns = clock_mono_ns();
	err = munmap(p, STRESS_MMAP_BYTES) ? errno : 0;
	count_call(c, STRESS_CALL_MUNMAP, begin_ns, err);
}

static void op_fork(struct stress_counts *c)
{
	u64 begin_ns = clock_mono_ns();
	pid_t child = _Fork(); /* no atfork handlers, no libc locks: the mm is what is measured */

	if (!child)
		_exit(0);
	count_call(c, STRESS_CALL_FORK, begin_ns, child < 0 ? errno : 0);
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
}

static void do_op(struct stress *s, struct stress_counts *c, u32 index)
{
	switch (s->config.op) {
	case STRESS_OP_MPROTECT:
		op_mprotect(s, c);
		break;
	case STRESS_OP_SPLIT:
		op_split(s, c, index);
		break;
	case STRESS_OP_MMAP:
		op_mmap(s, c);
		break;
	case STRESS_OP_FORK:
		op_fork(c);
		break;
	case STRESS_OP_MADVISE:
	case STRESS_OP_N:
		call_drop_ptes(s, c);
		break;
	}
}

static bool wait_for_gate(struct stress *s, u32 wanted)
{
	u32 seen;

	while ((seen = atomic_load(&s->gate)) < wanted)
		stress_gate_wait(&s->gate, seen, 0);
	return seen != GATE_END;
}

static void pause_writer(struct stress *s)
{
	u64 now_ns = clock_mono_ns(), end_ns = now_ns + s->config.writer_interval_ns;

	while (now_ns < end_ns && atomic_load(&s->gate) != GATE_END) {
		stress_gate_wait(&s->gate, GATE_WRITERS, end_ns - now_ns);
		now_ns = clock_mono_ns();
	}
}

static void run_writer(struct stress *s, struct stress_thread_counts *out)
{
	const struct stress_config *config = &s->config;
	struct stress_counts *c = &out->counts;
	u64 one = 1;

	if (!wait_for_gate(s, GATE_WRITERS))
		return;
	while (atomic_load_explicit(&s->gate, memory_order_relaxed) != GATE_END) {
		u64 begin_ns = clock_mono_ns();

		do_op(s, c, out->index);
		stress_latency_add(&c->op_latency, clock_mono_ns() - begin_ns);
		c->ops++;
		if (config->ops_per_writer && c->ops == config->ops_per_writer)
			break;
		if (config->writer_interval_ns)
			pause_writer(s);
	}
	if (atomic_fetch_sub(&s->writers_left, 1) == 1 && write(s->done_fd, &one, sizeof(one)) < 0)
		return; /* cannot happen: an eventfd takes a first 1 */
}

/* One pass. The load's time runs from the end of the one before: one clock read a page. */
static bool sweep(struct stress *s, struct stress_thread_counts *out)
{
	struct stress_counts *c = &out->counts;
	u64 page = out->start_page, last_ns = clock_mono_ns();

	for (u64 i = 0; i < s->config.pages; i++) {
		u64 now_ns;

		if (atomic_load_explicit(&s->gate, memory_order_relaxed) == GATE_END)
			return false;
		c->sink += *(volatile u64 *)(s->map + page * s->page_size_bytes);
		now_ns = clock_mono_ns();
		stress_latency_add(&c->touch_latency, now_ns - last_ns);
		last_ns = now_ns;
		c->pages_touched++;
		if (++page == s->config.pages)
			page = 0;
	}
	c->sweeps++;
	return true;
}

static void run_reader(struct stress *s, struct stress_thread_counts *out)
{
	struct stress_counts *c = &out->counts;

	if (!wait_for_gate(s, GATE_READERS))
		return;
	while (sweep(s, out)) {
		u64 begin_ns;

		/* The page cache lets go only of pages that nobody maps: PTEs first. */
		call_drop_ptes(s, c);
		begin_ns = clock_mono_ns();
		count_call(c, STRESS_CALL_FADVISE, begin_ns,
			   posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED));
	}
}

void *stress_thread_main(void *arg)
{
	struct stress_thread *t = arg;
	struct stress *s = t->s;
	struct stress_thread_counts *out = t->out;
	struct rusage before, after;
	char name[16]; /* "mms-reader-1023" fits exactly */

	snprintf(name, sizeof(name), "mms-%s-%u", out->writer ? "writer" : "reader",
		 out->index % (STRESS_MAX_THREADS + 1));
	prctl(PR_SET_NAME, name);
	getrusage(RUSAGE_THREAD, &before);
	atomic_store(&t->tid, (u32)syscall(SYS_gettid));
	atomic_fetch_add(&s->n_ready, 1);
	stress_gate_wake(&s->n_ready);
	if (out->writer)
		run_writer(s, out);
	else
		run_reader(s, out);
	getrusage(RUSAGE_THREAD, &after);
	out->counts.minor_faults = (u64)(after.ru_minflt - before.ru_minflt);
	out->counts.major_faults = (u64)(after.ru_majflt - before.ru_majflt);
	return NULL;
}
