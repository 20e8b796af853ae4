/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vendor.c: --vendor: a small discrete-event simulation of the retry study on a patched kernel.
 *
 * N readers fault random pages of one file mapping; the disk serves one request after the other.
 * Writers toggle the protection of the whole mapping: mmap_lock for writing, then the VMA's lock,
 * which they must wait for while a reader holds it. --no-retry 0: a fault drops the VMA's lock
 * before it waits for the disk, and retries under mmap_lock; 1: it keeps the lock while it waits.
 * A step of a thread takes a few us; what one thread prints in one step has one stamp or more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gen.h"

#define MAX_SIM 96
#define MAX_SIM_CPUS 4
#define NEVER UINT64_MAX
#define MAP_START 0x7f986e000000ULL
#define MAP_PAGES 16384
#define MAP_END (MAP_START + MAP_PAGES * 4096ULL)

enum state {
	R_THINK,
	R_TRY,
	R_FALLBACK,
	R_LOCK,
	R_GOT,
	R_HELD,
	R_BEGIN,
	R_DROP_MMAP,
	R_WAIT,
	R_WAITED,
	R_RETRY,
	R_END,
	R_FALLBACK2,
	R_UNLOCK2,
	W_SLEEP,
	W_LOCK,
	W_GOT,
	W_HELD,
	W_BEGIN,
	W_WAIT,
	W_WAITED,
	W_DONE,
	W_UNLOCK
};

struct sim_thread {
	u32 tid;
	char comm[16];
	int prio, cpu; /* cpu -1: not running */
	enum state state;
	u64 at_ns;		 /* when its next step is due, NEVER: somebody else wakes it */
	bool ready;		 /* due, but no CPU is free */
	bool under_mmap, second; /* second: the retry's own acquisition */
	u64 page, since_ns;
	struct sim_thread *holder_at_wait;
	u32 flags;
};

struct line {
	u64 at_ns;
	u32 seq;
	char text[300];
};

struct sim {
	const struct gen_options *o;
	struct rng rng;
	u64 now_ns, end_ns, disk_free_ns, service_ns;
	struct sim_thread threads[MAX_SIM];
	u32 n_threads, n_cpus, tgid, last_cpu[MAX_SIM];
	struct sim_thread *on_cpu[MAX_SIM_CPUS];
	/* mmap_lock: first come, first served */
	u32 lock_readers;
	struct sim_thread *lock_writer, *queue[MAX_SIM];
	bool queue_write[MAX_SIM];
	u32 n_queue;
	/* the VMA's lock */
	u32 vma_readers;
	struct sim_thread *vma_writer, *last_reader;
	bool vma_writer_waits;
	struct line *lines;
	u32 n_lines, max_lines;
};

static void emit_as(struct sim *s, const char *comm, u32 tid, u32 cpu, const char *flags, u64 at_ns,
		    const char *body)
{
	char task[48];
	struct line *l;

	if (s->n_lines == s->max_lines) {
		s->max_lines = s->max_lines ? s->max_lines * 2 : 4096;
		s->lines = realloc(s->lines, s->max_lines * sizeof(*s->lines));
		if (!s->lines) {
			fprintf(stderr, "trace_gen: out of memory\n");
			exit(1);
		}
	}
	l = &s->lines[s->n_lines];
	l->at_ns = at_ns;
	l->seq = s->n_lines++;
	snprintf(task, sizeof(task), "%s-%u", comm, tid);
	snprintf(l->text, sizeof(l->text), "%23s [%03u] %s %5llu.%06llu: %s\n", task, cpu, flags,
		 (unsigned long long)(at_ns / NS_S), (unsigned long long)(at_ns % NS_S / 1000),
		 body);
}

static void emit(struct sim *s, const struct sim_thread *t, u32 after_us, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
static void emit(struct sim *s, const struct sim_thread *t, u32 after_us, const char *fmt, ...)
{
	char body[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	emit_as(s, t->comm, t->tid, (u32)(t->cpu < 0 ? 0 : t->cpu), ".....",
		s->now_ns + after_us * NS_US, body);
}

#define MM "mm=00000000b14899fe"
#define MM_VMA MM " vma=00000000462c6064"

/* ---- who runs where */

static void switched(struct sim *s, u32 cpu, const struct sim_thread *prev,
		     const struct sim_thread *next, char prev_state)
{
	char body[256];

	if (!s->o->sched)
		return;
	snprintf(body, sizeof(body),
		 "sched_switch: prev_comm=%s prev_pid=%u prev_prio=%d prev_state=%c ==> "
		 "next_comm=%s next_pid=%u "
		 "next_prio=%d",
		 prev  ? prev->comm
		 : cpu ? "swapper/1"
		       : "swapper/0",
		 prev ? prev->tid : 0, prev ? prev->prio : 120, prev ? prev_state : 'R',
		 next  ? next->comm
		 : cpu ? "swapper/1"
		       : "swapper/0",
		 next ? next->tid : 0, next ? next->prio : 120);
	emit_as(s, prev ? prev->comm : "<idle>", prev ? prev->tid : 0, cpu, "d....", s->now_ns,
		body);
}

/* The CPU is free: the most important ready thread runs next, if there is one. */
static void pick_next(struct sim *s, u32 cpu, const struct sim_thread *prev, char prev_state)
{
	struct sim_thread *next = NULL;

	for (u32 i = 0; i < s->n_threads; i++) {
		struct sim_thread *t = &s->threads[i];

		if (t->ready && (!next || t->prio < next->prio))
			next = t;
	}
	s->on_cpu[cpu] = next;
	switched(s, cpu, prev, next, prev_state);
	if (next) {
		next->ready = false;
		next->cpu = (int)cpu;
		next->at_ns = s->now_ns + rng_range(&s->rng, 3, 12) * NS_US;
	}
}

static void block(struct sim *s, struct sim_thread *t, u64 until_ns, char state)
{
	u32 cpu = (u32)t->cpu;

	t->at_ns = until_ns;
	s->now_ns += 2 * NS_US;
	pick_next(s, cpu, t, state);
	t->cpu = -1;
	s->last_cpu[t - s->threads] = cpu;
}

/* Its time has come: it gets a CPU, or waits for one. True when it runs now. */
static bool dispatch(struct sim *s, struct sim_thread *t)
{
	u32 want = s->last_cpu[t - s->threads];
	char body[128];

	if (t->cpu >= 0)
		return true;
	if (s->o->sched) {
		snprintf(body, sizeof(body), "sched_waking: comm=%s pid=%u prio=%d target_cpu=%03u",
			 t->comm, t->tid, t->prio, want);
		emit_as(s, "<idle>", 0, want, "d.h..", s->now_ns, body);
	}
	for (u32 i = 0; i < s->n_cpus; i++) {
		u32 cpu = (want + i) % s->n_cpus;

		if (s->on_cpu[cpu])
			continue;
		s->now_ns += 3 * NS_US;
		switched(s, cpu, NULL, t, 'R');
		s->on_cpu[cpu] = t;
		t->cpu = (int)cpu;
		t->at_ns = s->now_ns + rng_range(&s->rng, 2, 8) * NS_US;
		return false;
	}
	t->ready = true;
	t->at_ns = NEVER;
	return false;
}

static void then(struct sim *s, struct sim_thread *t, enum state next, u32 us)
{
	t->state = next;
	t->at_ns = s->now_ns + us * NS_US + rng_below(&s->rng, us * NS_US / 2 + 1);
}

static void wake(struct sim *s, struct sim_thread *t)
{
	t->at_ns = s->now_ns + rng_range(&s->rng, 8, 60) * NS_US;
}

/* ---- mmap_lock */

static bool lock_try(struct sim *s, struct sim_thread *t, bool write)
{
	if (s->lock_writer || s->n_queue || (write && s->lock_readers))
		return false;
	if (write)
		s->lock_writer = t;
	else
		s->lock_readers++;
	return true;
}

static void lock_queue(struct sim *s, struct sim_thread *t, bool write)
{
	t->since_ns = s->now_ns;
	t->holder_at_wait = s->lock_writer;
	s->queue[s->n_queue] = t;
	s->queue_write[s->n_queue++] = write;
	emit(s, t, 0, "mmap_lock_wait_start: pid=%u " MM " write=%d", t->tid, write);
	block(s, t, NEVER, 'D');
}

static void lock_grant(struct sim *s)
{
	while (s->n_queue && !s->lock_writer && !(s->queue_write[0] && s->lock_readers)) {
		struct sim_thread *t = s->queue[0];

		if (s->queue_write[0])
			s->lock_writer = t;
		else
			s->lock_readers++;
		wake(s, t);
		s->n_queue--;
		for (u32 i = 0; i < s->n_queue; i++) {
			s->queue[i] = s->queue[i + 1];
			s->queue_write[i] = s->queue_write[i + 1];
		}
	}
}

static void lock_drop(struct sim *s, struct sim_thread *t, bool write)
{
	emit(s, t, 0, "mmap_lock_hold_end: pid=%u " MM " write=%d", t->tid, write);
	if (write)
		s->lock_writer = NULL;
	else
		s->lock_readers--;
	lock_grant(s);
}

static void lock_got(struct sim *s, struct sim_thread *t, bool write)
{
	const struct sim_thread *h = t->holder_at_wait;

	emit(s, t, 0, "mmap_lock_wait_end: pid=%u " MM " write=%d", t->tid, write);
	if (h)
		emit(s, t, 3,
		     "mmap_lock_write_blocked: holder_pid=%u holder_tgid=%u holder_comm=%s "
		     "waiter_pid=%u "
		     "waiter_comm=%s wait_ns=%llu",
		     h->tid, s->tgid, h->comm, t->tid, t->comm,
		     (unsigned long long)(s->now_ns - t->since_ns));
	s->now_ns += 5 * NS_US;
}

/* ---- the VMA's lock */

static void vma_unlock_read(struct sim *s, struct sim_thread *t)
{
	s->vma_readers--;
	s->last_reader = t;
	if (!s->vma_readers && s->vma_writer_waits) {
		s->vma_writer_waits = false;
		wake(s, s->vma_writer);
	}
}

static void vma_event(struct sim *s, const struct sim_thread *t, u32 after_us, const char *name,
		      const char *had_reader)
{
	emit(s, t, after_us,
	     "%s: pid=%u " MM_VMA " vm_start=%llx vm_end=%llx%s flags=%x "
	     "caller=mprotect_fixup+0x138/0x310",
	     name, t->tid, MAP_START, MAP_END, had_reader, t->flags);
}

/* ---- a reader's steps */

static void reader_lock(struct sim *s, struct sim_thread *t)
{
	if (!lock_try(s, t, false)) {
		t->state = R_GOT;
		lock_queue(s, t, false);
		return;
	}
	then(s, t, R_HELD, 5);
}

static void reader_try(struct sim *s, struct sim_thread *t)
{
	t->page = rng_below(&s->rng, MAP_PAGES);
	t->under_mmap = s->vma_writer != NULL;
	t->second = false;
	if (t->under_mmap) {
		emit(s, t, 0, "vma_start_read_fail: pid=%u " MM_VMA " reason=trylock", t->tid);
		then(s, t, R_FALLBACK, 12);
		return;
	}
	emit(s, t, 0, "vma_start_read: pid=%u " MM_VMA " vm_start=%llx vm_end=%llx", t->tid,
	     MAP_START, MAP_END);
	s->vma_readers++;
	then(s, t, R_BEGIN, 18);
}

static void reader_wait(struct sim *s, struct sim_thread *t)
{
	if (!t->under_mmap && !s->o->no_retry)
		vma_unlock_read(s, t);
	emit(s, t, 0, "filemap_fault_wait_start: pid=%u " MM_VMA " reason=read_folio", t->tid);
	if (s->disk_free_ns < s->now_ns)
		s->disk_free_ns = s->now_ns;
	s->disk_free_ns += s->service_ns + rng_below(&s->rng, s->service_ns / 20 + 1);
	t->state = R_WAITED;
	block(s, t, s->disk_free_ns, 'D');
}

static void reader_end(struct sim *s, struct sim_thread *t)
{
	bool retried = t->under_mmap || !s->o->no_retry;

	emit(s, t, 0, "filemap_fault_end: pid=%u " MM_VMA " ret=0x%x", t->tid,
	     retried ? 0x404 : 0x204);
	if (retried) {
		then(s, t, R_FALLBACK2, 6);
		return;
	}
	vma_unlock_read(s, t);
	then(s, t, R_THINK, 40);
}

static void reader_step(struct sim *s, struct sim_thread *t)
{
	u64 address = MAP_START + t->page * 4096;

	switch (t->state) {
	case R_THINK:
		then(s, t, R_TRY, 60);
		break;
	case R_TRY:
		reader_try(s, t);
		break;
	case R_FALLBACK:
		emit(s, t, 0,
		     "fault_mmap_lock_fallback: pid=%u " MM
		     " address=0x%llx reason=vma_lock_failed",
		     t->tid, (unsigned long long)address);
		then(s, t, R_LOCK, 6);
		break;
	case R_LOCK:
		reader_lock(s, t);
		break;
	case R_GOT:
		lock_got(s, t, false);
		/* fall through */
	case R_HELD:
		emit(s, t, 0, "mmap_lock_hold_start: pid=%u " MM " write=0", t->tid);
		then(s, t, t->second ? R_UNLOCK2 : R_BEGIN, t->second ? 36 : 10);
		break;
	case R_BEGIN:
		emit(s, t, 0,
		     "filemap_fault_begin: pid=%u " MM_VMA
		     " dev=254:0 ino=12 pgoff=%llu address=0x%llx",
		     t->tid, (unsigned long long)t->page, (unsigned long long)address);
		then(s, t, t->under_mmap ? R_DROP_MMAP : R_WAIT, t->under_mmap ? 12 : 50);
		break;
	case R_DROP_MMAP:
		lock_drop(s, t, false);
		then(s, t, R_WAIT, 3);
		break;
	case R_WAIT:
		reader_wait(s, t);
		break;
	case R_WAITED:
		emit(s, t, 0, "filemap_fault_wait_end: pid=%u " MM_VMA " reason=read_folio",
		     t->tid);
		then(s, t, t->under_mmap || !s->o->no_retry ? R_RETRY : R_END, 12);
		break;
	case R_RETRY:
		emit(s, t, 0, "filemap_fault_retry: pid=%u " MM_VMA " ret=0x404 reason=read_folio",
		     t->tid);
		then(s, t, R_END, 4);
		break;
	case R_END:
		reader_end(s, t);
		break;
	case R_FALLBACK2:
		if (!t->under_mmap)
			emit(s, t, 0,
			     "fault_mmap_lock_fallback: pid=%u " MM " address=0x%llx reason=retry",
			     t->tid, (unsigned long long)address);
		t->second = true;
		then(s, t, R_LOCK, 5);
		break;
	default: /* R_UNLOCK2 */
		lock_drop(s, t, false);
		then(s, t, R_THINK, 30);
		break;
	}
}

/* ---- a writer's steps */

static void writer_begin(struct sim *s, struct sim_thread *t)
{
	t->flags ^= 0x4;
	vma_event(s, t, 0, "vma_start_write_begin",
		  s->vma_readers ? " had_reader=1" : " had_reader=0");
	emit(s, t, 4,
	     "vma_start_write_begin_v2: pid=%u tgid=%u comm=%s vm_start=%llx vm_end=%llx flags=%x "
	     "caller=mprotect_fixup+0x138/0x310 ino=12 dev=254:0",
	     t->tid, s->tgid, t->comm, MAP_START, MAP_END, t->flags);
	s->vma_writer = t;
	then(s, t, s->vma_readers ? W_WAIT : W_DONE, s->vma_readers ? 60 : 12);
}

static void writer_waited(struct sim *s, struct sim_thread *t)
{
	const struct sim_thread *by = s->last_reader;

	vma_event(s, t, 0, "vma_start_write_wait_end", "");
	emit(s, t, 14,
	     "vma_start_write_blocked: write_pid=%u write_tgid=%u write_comm=%s fault_pid=%u "
	     "fault_tgid=%u "
	     "fault_comm=%s wait_ns=%llu vm=[%llx,%llx]",
	     t->tid, s->tgid, t->comm, by->tid, s->tgid, by->comm,
	     (unsigned long long)(s->now_ns - t->since_ns), MAP_START, MAP_END);
	then(s, t, W_DONE, 22);
}

static void writer_step(struct sim *s, struct sim_thread *t)
{
	switch (t->state) {
	case W_SLEEP:
		t->state = W_LOCK;
		block(s, t,
		      s->now_ns + s->o->period_us * NS_US +
			      rng_range(&s->rng, 600 * NS_US, 2400 * NS_US),
		      'S');
		break;
	case W_LOCK:
		if (lock_try(s, t, true)) {
			then(s, t, W_HELD, 4);
			break;
		}
		t->state = W_GOT;
		lock_queue(s, t, true);
		break;
	case W_GOT:
		lock_got(s, t, true);
		/* fall through */
	case W_HELD:
		emit(s, t, 0, "mmap_lock_hold_start: pid=%u " MM " write=1", t->tid);
		then(s, t, W_BEGIN, 50);
		break;
	case W_BEGIN:
		writer_begin(s, t);
		break;
	case W_WAIT:
		if (!s->vma_readers) {
			then(s, t, W_DONE, 2);
			break;
		}
		vma_event(s, t, 0, "vma_start_write_wait_start", " had_reader=1");
		t->since_ns = s->now_ns;
		t->state = W_WAITED;
		s->vma_writer_waits = true;
		block(s, t, NEVER, 'D');
		break;
	case W_WAITED:
		writer_waited(s, t);
		break;
	case W_DONE:
		vma_event(s, t, 0, "vma_start_write_done", "");
		then(s, t, W_UNLOCK, 200);
		break;
	default: /* W_UNLOCK */
		s->vma_writer = NULL;
		lock_drop(s, t, true);
		then(s, t, W_SLEEP, 5);
		break;
	}
}

static void add_thread(struct sim *s, bool writer, u32 n)
{
	struct sim_thread *t = &s->threads[s->n_threads];

	t->tid = s->tgid + 1 + s->n_threads;
	/* task names with blanks are common: rd thread 3 */
	snprintf(t->comm, sizeof(t->comm),
		 writer	  ? "writer-%u"
		 : n == 3 ? "rd thread %u"
			  : "reader-%u",
		 n);
	t->prio = writer ? (s->o->rt ? 49 : 120) : (s->o->nice ? 139 : 120);
	t->cpu = -1;
	t->state = writer ? W_SLEEP : R_THINK;
	t->flags = 0x10075;
	t->at_ns = s->now_ns + rng_below(&s->rng, 3 * NS_MS);
	s->last_cpu[s->n_threads++] = n % s->n_cpus;
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void write_lines(struct sim *s)
{
	qsort(s->lines, s->n_lines, sizeof(*s->lines), by_time);
	out_printf("# tracer: nop\n#\n# entries-in-buffer/entries-written: %u/%u   #P:%u\n#\n",
		   s->n_lines, s->n_lines, s->n_cpus);
	for (u32 i = 0; i < s->n_lines; i++)
		out_printf("%s", s->lines[i].text);
}

void vendor_run(const struct gen_options *o)
{
	struct sim *s = gen_alloc(sizeof(*s));

	s->o = o;
	s->rng.state = o->seed;
	s->n_cpus = o->readers + o->writers > 8 ? MAX_SIM_CPUS : 2;
	s->tgid = 94;
	s->now_ns = 8593 * NS_MS;
	s->end_ns = s->now_ns + (u64)(o->seconds * 1e9);
	s->service_ns = o->io_us * NS_US / o->readers;
	if (!s->service_ns)
		s->service_ns = NS_US;
	for (u32 i = 0; i < o->readers; i++)
		add_thread(s, false, i);
	for (u32 i = 0; i < o->writers; i++)
		add_thread(s, true, i);
	for (;;) {
		struct sim_thread *t = &s->threads[0];

		for (u32 i = 1; i < s->n_threads; i++)
			if (s->threads[i].at_ns < t->at_ns)
				t = &s->threads[i];
		if (t->at_ns >= s->end_ns)
			break;
		s->now_ns = t->at_ns;
		if (!dispatch(s, t))
			continue;
		if (t->state < W_SLEEP)
			reader_step(s, t);
		else
			writer_step(s, t);
	}
	write_lines(s);
	free(s->lines);
	free(s);
}
