/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench.c: --bench: a busy machine with a stock kernel, as many lines as asked for, in constant
 * memory.
 *
 * Sixteen threads of three processes on four CPUs map, unmap, protect and touch memory. mmap_lock
 * is simulated, first come first served: readers share it, a writer has it alone, who waits is
 * switched away and woken by the thread that lets go. Lines look like this one (110 bytes on
 * average):
 *
 *  java-4102    (   4100) [001] .....  1074.649287: mmap_lock_start_locking: mm=00000000fb660843
 * memcg_id=5507 write=false
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define CPUS 4
#define PROCS 3
#define THREADS 16
#define NEVER UINT64_MAX
#define PAGE 4096ULL
#define NOMINAL_RATE 700000.0 /* lines per second of trace time at scale 1 */

enum what {
	B_NEXT,
	B_FAULT,
	B_FAULT_TRY,
	B_CALL,
	B_ASK,
	B_GOT,
	B_WORK,
	B_DOWNGRADE,
	B_RELEASE,
	B_RETURN
};
enum call { C_FAULT, C_MMAP, C_MUNMAP, C_MPROTECT, C_MADVISE };

struct bench_thread {
	u32 tid, proc, n_prefix;
	char prefix[40]; /* "            java-4102    (   4100) [" */
	const char *comm;
	u32 prio;
	int cpu; /* -1: off */
	bool ready;
	u64 at_ns; /* next step; NEVER: another thread wakes it */
	enum what what;
	enum call call;
	bool write, tried;
	u64 address, length;
	u32 faults; /* pages left to touch of the newest mapping */
};
struct bench_lock {
	char mm[24];
	u32 readers;
	struct bench_thread *writer, *queue[THREADS];
	u32 n_queue;
	u64 next_address;
};
struct bench {
	struct rng rng;
	u64 now_ns, scale; /* scale: of every duration, in 1/1024 */
	u64 left;
	struct bench_thread threads[THREADS], *on_cpu[CPUS];
	struct bench_lock locks[PROCS];
	u32 n_ready;
};

/* ---- lines, put together by hand: printf would take most of the time */

static char *put(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}
#define PUT(p, literal) put(p, literal, sizeof(literal) - 1)

static char *put_text(char *p, const char *s)
{
	return put(p, s, strlen(s));
}

static char *put_number(char *p, u64 v, u32 width, char pad)
{
	char digits[24];
	u32 n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (; width > n; width--)
		*p++ = pad;
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_hex(char *p, u64 v)
{
	char digits[16];
	u32 n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	p = PUT(p, "0x");
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *begin_line(struct bench *b, char *p, const char *prefix, u32 n_prefix, int cpu,
			const char *flags)
{
	p = put(p, prefix, n_prefix);
	p = put_number(p, (u64)(cpu < 0 ? 0 : cpu), 3, '0');
	p = PUT(p, "] ");
	p = put(p, flags, 5);
	*p++ = ' ';
	p = put_number(p, b->now_ns / NS_S, 5, ' ');
	*p++ = '.';
	p = put_number(p, b->now_ns % NS_S / 1000, 6, '0');
	return PUT(p, ": ");
}

static void end_line(struct bench *b, const char *line, char *p)
{
	if (!b->left)
		return;
	b->left--;
	*p++ = '\n';
	out_bytes(line, (size_t)(p - line));
}

#define IDLE_PREFIX "          <idle>-0       (-----) ["

static void line_lock(struct bench *b, const struct bench_thread *t, const char *name,
		      size_t n_name, bool write, const char *outcome)
{
	char line[256];
	char *p = begin_line(b, line, t->prefix, t->n_prefix, t->cpu, ".....");

	p = put(p, name, n_name);
	p = put_text(p, b->locks[t->proc].mm);
	p = PUT(p, " memcg_id=5507 write=");
	p = put_text(p, write ? "true" : "false");
	p = put_text(p, outcome);
	end_line(b, line, p);
}
#define LINE_LOCK(b, t, name, write, outcome) \
	line_lock(b, t, name ": mm=", sizeof(name ": mm=") - 1, write, outcome)

static void line_switch_to(struct bench *b, u32 cpu, const struct bench_thread *prev, char state,
			   const struct bench_thread *next)
{
	char line[320], swapper[] = "swapper/0";
	char *p;

	swapper[8] = (char)('0' + cpu);
	if (prev)
		p = begin_line(b, line, prev->prefix, prev->n_prefix, (int)cpu, "d..2.");
	else
		p = begin_line(b, line, IDLE_PREFIX, sizeof(IDLE_PREFIX) - 1, (int)cpu, "d..2.");
	p = PUT(p, "sched_switch: prev_comm=");
	p = put_text(p, prev ? prev->comm : swapper);
	p = PUT(p, " prev_pid=");
	p = put_number(p, prev ? prev->tid : 0, 0, ' ');
	p = PUT(p, " prev_prio=");
	p = put_number(p, prev ? prev->prio : 120, 0, ' ');
	p = PUT(p, " prev_state=");
	*p++ = prev ? state : 'R';
	p = PUT(p, " ==> next_comm=");
	p = put_text(p, next ? next->comm : swapper);
	p = PUT(p, " next_pid=");
	p = put_number(p, next ? next->tid : 0, 0, ' ');
	p = PUT(p, " next_prio=");
	p = put_number(p, next ? next->prio : 120, 0, ' ');
	end_line(b, line, p);
}

static void line_waking(struct bench *b, const struct bench_thread *by, u32 cpu,
			const struct bench_thread *t)
{
	char line[256];
	char *p;

	if (by)
		p = begin_line(b, line, by->prefix, by->n_prefix, by->cpu, "d..3.");
	else
		p = begin_line(b, line, IDLE_PREFIX, sizeof(IDLE_PREFIX) - 1, (int)cpu, "d.h2.");
	p = PUT(p, "sched_waking: comm=");
	p = put_text(p, t->comm);
	p = PUT(p, " pid=");
	p = put_number(p, t->tid, 0, ' ');
	p = PUT(p, " prio=");
	p = put_number(p, t->prio, 0, ' ');
	p = PUT(p, " target_cpu=");
	p = put_number(p, cpu, 3, '0');
	end_line(b, line, p);
}

static void line_call(struct bench *b, const struct bench_thread *t, bool enter)
{
	char line[256];
	char *p = begin_line(b, line, t->prefix, t->n_prefix, t->cpu, ".....");

	switch (t->call) {
	case C_MMAP:
		p = enter ? PUT(p, "sys_mmap(addr: 0, len: ") : PUT(p, "sys_mmap -> ");
		p = put_hex(p, enter ? t->length : t->address);
		if (enter)
			p = PUT(p, ", prot: 3, flags: 0x22, fd: 0xffffffff, off: 0)");
		end_line(b, line, p);
		return;
	case C_MUNMAP:
		p = enter ? PUT(p, "sys_munmap(addr: ") : PUT(p, "sys_munmap -> 0x0");
		break;
	case C_MPROTECT:
		p = enter ? PUT(p, "sys_mprotect(start: ") : PUT(p, "sys_mprotect -> 0x0");
		break;
	default:
		p = enter ? PUT(p, "sys_madvise(start: ") : PUT(p, "sys_madvise -> 0x0");
		break;
	}
	if (enter) {
		p = put_hex(p, t->address);
		p = t->call == C_MADVISE ? PUT(p, ", len_in: ") : PUT(p, ", len: ");
		p = put_hex(p, t->length);
		p = t->call == C_MUNMAP	    ? PUT(p, ")")
		    : t->call == C_MPROTECT ? PUT(p, ", prot: 1)")
					    : PUT(p, ", behavior: 4)");
	}
	end_line(b, line, p);
}

static void line_fault(struct bench *b, const struct bench_thread *t, u64 address)
{
	char line[256];
	char *p = begin_line(b, line, t->prefix, t->n_prefix, t->cpu, "d....");

	p = PUT(p, "page_fault_user: address=");
	p = put_hex(p, address);
	p = PUT(p, " ip=0x56552c7aa459 error_code=0x6");
	end_line(b, line, p);
}

/* ---- CPUs */

static void later(struct bench *b, struct bench_thread *t, enum what what, u64 mean_ns)
{
	t->what = what;
	t->at_ns = b->now_ns + (rng_wait(&b->rng, mean_ns) * b->scale >> 10) + 1;
}

static void run_on(struct bench *b, struct bench_thread *t, u32 cpu,
		   const struct bench_thread *prev, char state)
{
	line_switch_to(b, cpu, prev, state, t);
	b->on_cpu[cpu] = t;
	if (!t)
		return;
	t->cpu = (int)cpu;
	if (t->ready) {
		t->ready = false;
		b->n_ready--;
	}
	t->at_ns = b->now_ns + (rng_range(&b->rng, 800, 3000) * b->scale >> 10) + 1;
}

static struct bench_thread *pick_ready(struct bench *b)
{
	struct bench_thread *best = NULL;

	for (u32 i = 0; b->n_ready && i < THREADS; i++) {
		struct bench_thread *t = &b->threads[i];

		if (t->ready && (!best || t->prio < best->prio))
			best = t;
	}
	return best;
}

static void leave_cpu(struct bench *b, struct bench_thread *t, char state)
{
	u32 cpu = (u32)t->cpu;

	run_on(b, pick_ready(b), cpu, t, state);
	t->cpu = -1;
}

static void wake_thread(struct bench *b, struct bench_thread *t, const struct bench_thread *by)
{
	u32 target = t->tid % CPUS;

	for (u32 i = 0; i < CPUS; i++) {
		if (!b->on_cpu[(target + i) % CPUS]) {
			target = (target + i) % CPUS;
			break;
		}
	}
	line_waking(b, by, target, t);
	if (!b->on_cpu[target]) {
		run_on(b, t, target, NULL, 'R');
		return;
	}
	t->ready = true;
	t->at_ns = NEVER;
	b->n_ready++;
}

/* ---- mmap_lock */

static bool lock_free(const struct bench_lock *l, bool write)
{
	return !l->writer && !l->n_queue && !(write && l->readers);
}

static void lock_take(struct bench_lock *l, struct bench_thread *t)
{
	if (t->write)
		l->writer = t;
	else
		l->readers++;
}

static void lock_hand_on(struct bench *b, struct bench_lock *l, const struct bench_thread *by)
{
	while (l->n_queue && !l->writer && !(l->queue[0]->write && l->readers)) {
		struct bench_thread *t = l->queue[0];

		lock_take(l, t);
		memmove(l->queue, l->queue + 1, --l->n_queue * sizeof(l->queue[0]));
		t->what = B_GOT;
		wake_thread(b, t, by);
	}
}

static u64 hold_time(struct bench *b)
{
	u64 dice = rng_below(&b->rng, 10000);

	return dice < 2 ? 6 * NS_MS : dice < 40 ? 300 * NS_US : dice < 400 ? 40 * NS_US : 2500;
}

/* ---- what a thread does */

static void next_activity(struct bench *b, struct bench_thread *t)
{
	u64 dice = rng_below(&b->rng, 100);

	t->tried = false;
	if (t->faults) {
		t->faults--;
		t->call = C_FAULT;
		later(b, t, B_FAULT, 1500);
		return;
	}
	if (dice < 12) {
		leave_cpu(b, t, 'S');
		later(b, t, B_NEXT, rng_percent(&b->rng, 90) ? 150 * NS_US : 3 * NS_MS);
		return;
	}
	if (dice < 42 || !t->address) {
		t->call = C_MMAP;
		t->length = PAGE * rng_range(&b->rng, 1, 24);
	} else if (dice < 70) {
		t->call = C_MUNMAP;
	} else if (dice < 88) {
		t->call = C_MPROTECT;
	} else {
		t->call = C_MADVISE;
	}
	t->write = t->call != C_MADVISE;
	later(b, t, B_CALL, 1800);
}

static void finish_call(struct bench *b, struct bench_thread *t)
{
	struct bench_lock *l = &b->locks[t->proc];

	if (t->call == C_MMAP) {
		l->next_address += PAGE * 32;
		t->address = l->next_address;
		t->faults = (u32)rng_below(&b->rng, 10);
	}
	line_call(b, t, false);
	if (t->call == C_MUNMAP)
		t->address = 0;
	later(b, t, B_NEXT, 1200);
}

static void fault(struct bench *b, struct bench_thread *t)
{
	line_fault(b, t, t->address + PAGE * t->faults);
	/* most faults take the VMA's lock, which a stock kernel does not show */
	if (!rng_percent(&b->rng, 22)) {
		later(b, t, B_NEXT, 900);
		return;
	}
	t->write = false;
	later(b, t, B_ASK, 400);
}

static void ask(struct bench *b, struct bench_thread *t)
{
	struct bench_lock *l = &b->locks[t->proc];

	LINE_LOCK(b, t, "mmap_lock_start_locking", t->write, "");
	if (lock_free(l, t->write)) {
		lock_take(l, t);
		later(b, t, B_GOT, 300);
	} else if (t->call == C_FAULT && !t->tried) {
		/* a fault tries first, then waits */
		t->tried = true;
		LINE_LOCK(b, t, "mmap_lock_acquire_returned", false, " success=false");
		later(b, t, B_ASK, 300);
	} else {
		l->queue[l->n_queue++] = t;
		leave_cpu(b, t, 'D');
		t->at_ns = NEVER;
	}
}

static void step(struct bench *b, struct bench_thread *t)
{
	struct bench_lock *l = &b->locks[t->proc];

	switch (t->what) {
	case B_NEXT:
		next_activity(b, t);
		break;
	case B_FAULT:
		fault(b, t);
		break;
	case B_CALL:
		line_call(b, t, true);
		later(b, t, B_ASK, 500);
		break;
	case B_ASK:
		ask(b, t);
		break;
	case B_GOT:
		LINE_LOCK(b, t, "mmap_lock_acquire_returned", t->write, " success=true");
		later(b, t, t->call == C_MUNMAP ? B_DOWNGRADE : B_RELEASE, hold_time(b));
		break;
	case B_DOWNGRADE:
		/* munmap frees the pages with the lock held for reading */
		LINE_LOCK(b, t, "mmap_lock_acquire_returned", false, " success=true");
		l->writer = NULL;
		l->readers++;
		t->write = false;
		while (l->n_queue && !l->queue[0]->write)
			lock_hand_on(b, l, t);
		later(b, t, B_RELEASE, 1500);
		break;
	default: /* B_RELEASE; B_RETURN */
		if (t->what == B_RETURN) {
			finish_call(b, t);
			break;
		}
		LINE_LOCK(b, t, "mmap_lock_released", t->write, "");
		if (t->write)
			l->writer = NULL;
		else
			l->readers--;
		lock_hand_on(b, l, t);
		later(b, t, t->call == C_FAULT ? B_NEXT : B_RETURN, 500);
		break;
	}
}

static void start(struct bench *b)
{
	static const struct {
		u32 tgid, threads;
		const char *mm, *comms[4];
	} procs[PROCS] = {
		{ 4100,
		  6,
		  "00000000fb660843",
		  { "java", "GC Thread#0", "C2 CompilerThre", "http-nio-8080-e" } },
		{ 5200,
		  6,
		  "00000000c92b7aa3",
		  { "clickhouse-serv", "QueryPipelineEx", "MergeMutate", "BgSchPool" } },
		{ 19641,
		  4,
		  "00000000212a316a",
		  { "wl", "my app thread", "x-12-3", "kworker/u16:3-e" } },
	};
	u32 n = 0;

	for (u32 i = 0; i < PROCS; i++) {
		struct bench_lock *l = &b->locks[i];

		snprintf(l->mm, sizeof(l->mm), "%s", procs[i].mm);
		l->next_address = 0x7fb403000000ULL + 0x1000000000ULL * i;
		for (u32 k = 0; k < procs[i].threads; k++) {
			struct bench_thread *t = &b->threads[n++];
			char task[32];

			t->tid = procs[i].tgid + k;
			t->proc = i;
			t->comm = procs[i].comms[k % 4];
			t->prio = k == 3 ? 49 : k == 5 ? 139 : 120;
			t->cpu = -1;
			snprintf(task, sizeof(task), "%.15s-%u", t->comm, t->tid);
			t->n_prefix = (u32)snprintf(t->prefix, sizeof(t->prefix), "%*s (%7u) [", 22,
						    task, procs[i].tgid);
			if (t->n_prefix >= sizeof(t->prefix))
				t->n_prefix = sizeof(t->prefix) - 1;
			t->at_ns = b->now_ns + 1000 * n;
		}
	}
}

void bench_run(const struct gen_options *o)
{
	struct bench *b = gen_alloc(sizeof(*b));
	static const char header[] =
		"# tracer: nop\n#\n#           TASK-PID     TGID     CPU#  |||||  TIMESTAMP  "
		"FUNCTION\n#\n";

	b->rng.state = o->seed;
	b->now_ns = 1074 * NS_S;
	b->left = o->lines;
	b->scale = 1024;
	if (o->seconds_given)
		b->scale = (u64)(1024 * o->seconds * NOMINAL_RATE / (double)o->lines) + 1;
	if (o->lines > 4) {
		out_bytes(header, sizeof(header) - 1);
		b->left -= 4;
	}
	start(b);
	while (b->left) {
		struct bench_thread *t = &b->threads[0];

		for (u32 i = 1; i < THREADS; i++)
			if (b->threads[i].at_ns < t->at_ns)
				t = &b->threads[i];
		b->now_ns = t->at_ns;
		if (t->cpu >= 0)
			step(b, t);
		else
			wake_thread(b, t, NULL);
	}
	free(b);
}
