/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_random.c: a small world of threads that fault, wait and hold, told as the BPF programs would.
 * Part of bpf_gen. mmap_lock is fair here (a queue); a VMA writer waits for the faults that hold
 * its VMA's lock, and no fault takes it past a waiting writer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_gen.h"

#define PROCS 3
#define THREADS 12 /* thread i belongs to process i % PROCS */
#define VMAS 4
#define MIN_WAIT_NS 10000
#define START_NS 1000000000ULL

enum doing { IDLE, QUEUED, HOLDS, VMA_WAITS, HOLDS_VMA, FAULT_KEEPS, FAULT_DROPPED };
enum stack { S_READ = 1, S_WRITE, S_VMA, S_MKWRITE, S_IO, S_RETRY, S_END };

static const char *const stack_frames[S_END] = {
	[S_READ] = "do_madvise,__x64_sys_madvise,do_syscall_64",
	[S_WRITE] = "vm_mmap_pgoff,ksys_mmap_pgoff,do_syscall_64",
	[S_VMA] = "schedule,__vma_start_write,vma_prepare,do_mprotect_pkey,__x64_sys_mprotect",
	[S_MKWRITE] =
		"schedule,percpu_rwsem_wait,__percpu_down_read,ext4_page_mkwrite,do_page_mkwrite,"
		"handle_mm_fault,exc_page_fault",
	[S_IO] = "schedule,io_schedule,folio_wait_bit_common,__folio_lock_killable,filemap_fault,"
		 "__do_fault,handle_mm_fault,exc_page_fault",
	[S_RETRY] = "lock_mm_and_find_vma,do_user_addr_fault,exc_page_fault",
};

struct vma {
	u64 pointer, start, end;
	u32 readers;
	int writer; /* the thread that waits for it or has written it; -1 = none */
};
struct proc {
	u64 mm;
	struct vma vmas[VMAS];
	int writer, last_owner;
	bool last_writes;
	u32 readers;
	int queue[THREADS];
	u32 n_queue;
};
struct thread {
	enum doing doing;
	bool write, retry, downgraded, may_downgrade;
	u32 vma;
	u64 next_ns, begin_ns, sleep_ns;
	int owner; /* of the lock when the wait began */
	bool owner_writes;
	u64 count[2], sum_ns[2], max_ns[2];
};
static struct {
	u64 rng, now_ns;
	struct proc procs[PROCS];
	struct thread threads[THREADS];
	bool told[S_END];
} w;

static u64 below(u64 n)
{
	u64 z = w.rng += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) % n;
}

static struct proc *proc_of(u32 i)
{
	return &w.procs[i % PROCS];
}

static u32 tid_of(u32 i)
{
	return 1000 + i;
}

static void tell(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void tell(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	script_line(line);
}

static u32 stack_id(enum stack s)
{
	if (!w.told[s]) {
		w.told[s] = true;
		tell("stack id=%u time=%llu frames=%s", s, (unsigned long long)w.now_ns,
		     stack_frames[s]);
	}
	return s;
}

static void tell_wait(u32 i, bool open)
{
	struct thread *t = &w.threads[i];
	u32 stack = stack_id(t->retry ? S_RETRY : t->write ? S_WRITE : S_READ);
	char owner[96] = "";

	if (t->owner >= 0)
		snprintf(owner, sizeof(owner), " owner.tid=%u owner.state=%s",
			 tid_of((u32)t->owner),
			 w.threads[t->owner].doing == VMA_WAITS ? "blocked" : "running");
	tell("wait cpu=%llu tid=%u begin=%llu time=%llu stack=%u flags=0%s%s%s%s nr=%d "
	     "args=0,4096%s "
	     "state=%s",
	     (unsigned long long)below(4), tid_of(i), (unsigned long long)t->begin_ns,
	     (unsigned long long)w.now_ns, stack, t->write ? ",write" : "", open ? ",open" : "",
	     t->retry ? ",retry_wait" : "", t->owner >= 0 && t->owner_writes ? ",owner_writes" : "",
	     t->retry	? -1
	     : t->write ? 9
			: 28,
	     owner, open ? "blocked" : "running");
}

static void tell_sleep(u32 i, bool open)
{
	struct thread *t = &w.threads[i];
	const struct vma *v = &proc_of(i)->vmas[t->vma];
	bool writer = t->doing == VMA_WAITS;
	u32 stack = stack_id(writer ? S_VMA : t->doing == FAULT_KEEPS ? S_MKWRITE : S_IO);

	tell("sleep cpu=%llu tid=%u begin=%llu time=%llu stack=%u sleep_class=%s flags=0%s%s nr=%d "
	     "args=%llu,%llu vma=%llu vm_start=%llu vm_end=%llu address=%llu fault=%llu",
	     (unsigned long long)below(4), tid_of(i), (unsigned long long)t->sleep_ns,
	     (unsigned long long)w.now_ns, stack, writer ? "vma_writer" : "fault",
	     open ? ",open" : "", writer ? ",holds_mmap_write" : ",first,user_fault",
	     writer ? 10 : -1, (unsigned long long)v->start,
	     (unsigned long long)(v->end - v->start), (unsigned long long)v->pointer,
	     (unsigned long long)v->start, (unsigned long long)v->end,
	     (unsigned long long)(writer ? 0 : v->start + below(16) * 4096),
	     (unsigned long long)(writer ? 0 : t->sleep_ns - 500));
}

static void tell_hold(u32 i)
{
	struct thread *t = &w.threads[i];

	tell("hold tid=%u begin=%llu time=%llu stack=%u flags=0%s%s", tid_of(i),
	     (unsigned long long)t->begin_ns, (unsigned long long)w.now_ns,
	     stack_id(t->write ? S_WRITE : S_READ), t->write ? ",write" : "",
	     t->downgraded ? ",downgraded" : "");
}

static void granted(u32 i)
{
	struct thread *t = &w.threads[i];
	struct proc *p = proc_of(i);
	u64 wait_ns = w.now_ns - t->begin_ns;

	if (t->write)
		p->writer = (int)i;
	else
		p->readers++;
	p->last_owner = (int)i;
	p->last_writes = t->write;
	t->count[t->write]++;
	t->sum_ns[t->write] += wait_ns;
	if (wait_ns > t->max_ns[t->write])
		t->max_ns[t->write] = wait_ns;
	if (wait_ns >= MIN_WAIT_NS || t->retry)
		tell_wait(i, false);
	t->retry = t->downgraded = false;
	t->may_downgrade = t->write && !below(4);
	t->doing = HOLDS;
	t->begin_ns = w.now_ns;
	t->next_ns = w.now_ns + 1 + below(t->write ? 400000 : 200000);
}

/* Whoever stands first in the queue and may go, goes. */
static void serve(struct proc *p)
{
	while (p->n_queue && p->writer < 0) {
		u32 i = (u32)p->queue[0];

		if (w.threads[i].write && p->readers)
			return;
		p->n_queue--;
		memmove(p->queue, p->queue + 1, p->n_queue * sizeof(p->queue[0]));
		granted(i);
	}
}

static void ask(u32 i, bool write, bool retry)
{
	struct thread *t = &w.threads[i];
	struct proc *p = proc_of(i);

	t->write = write;
	t->retry = retry;
	t->begin_ns = w.now_ns;
	t->doing = QUEUED;
	t->next_ns = UINT64_MAX;
	t->owner = p->last_owner;
	t->owner_writes = p->last_writes;
	p->queue[p->n_queue++] = (int)i;
	serve(p);
}

static void rest(u32 i)
{
	w.threads[i].doing = IDLE;
	w.threads[i].next_ns = w.now_ns + 1 + below(800000);
}

static void give_back(u32 i)
{
	struct thread *t = &w.threads[i];
	struct proc *p = proc_of(i);

	if (p->n_queue)
		tell_hold(i);
	if (t->write)
		p->writer = -1;
	else
		p->readers--;
	for (u32 v = 0; v < VMAS; v++)
		if (t->write && p->vmas[v].writer == (int)i)
			p->vmas[v].writer = -1;
	rest(i);
	serve(p);
}

static void downgrade(u32 i)
{
	struct thread *t = &w.threads[i];
	struct proc *p = proc_of(i);

	t->downgraded = true;
	if (p->n_queue)
		tell_hold(i);
	for (u32 v = 0; v < VMAS; v++)
		if (p->vmas[v].writer == (int)i)
			p->vmas[v].writer = -1;
	p->writer = -1;
	p->readers++;
	p->last_writes = false;
	t->write = t->may_downgrade = false;
	t->begin_ns = w.now_ns;
	t->next_ns = w.now_ns + 1 + below(200000);
	serve(p);
}

static void begin_fault(u32 i)
{
	struct thread *t = &w.threads[i];
	struct vma *v = &proc_of(i)->vmas[t->vma];

	/* a writer waits for this VMA or has written it: the fault goes by mmap_lock */
	if (v->writer >= 0) {
		ask(i, false, false);
		return;
	}
	t->doing = below(2) ? FAULT_KEEPS : FAULT_DROPPED;
	if (t->doing == FAULT_KEEPS)
		v->readers++;
	t->sleep_ns = w.now_ns;
	t->next_ns = w.now_ns + 20000 + below(3000000);
}

static void end_fault(u32 i)
{
	struct thread *t = &w.threads[i];
	struct vma *v = &proc_of(i)->vmas[t->vma];
	bool dropped = t->doing == FAULT_DROPPED;

	tell_sleep(i, false);
	if (!dropped)
		v->readers--;
	if (!dropped && !v->readers && v->writer >= 0)
		w.threads[v->writer].next_ns = w.now_ns; /* it waits for this */
	tell("fault tid=%u time=%llu flags=0%s", tid_of(i), (unsigned long long)w.now_ns,
	     dropped ? ",retried" : "");
	if (dropped)
		ask(i, false, true);
	else
		rest(i);
}

static void step(u32 i)
{
	struct thread *t = &w.threads[i];
	struct vma *v = &proc_of(i)->vmas[t->vma];

	switch (t->doing) {
	case IDLE:
		t->vma = (u32)below(VMAS);
		if (below(100) < 40)
			begin_fault(i);
		else
			ask(i, below(100) < 60, false);
		return;
	case HOLDS:
		if (t->write && v->writer < 0) {
			v->writer = (int)i;
			t->doing = v->readers ? VMA_WAITS : HOLDS_VMA;
			t->sleep_ns = w.now_ns;
			t->next_ns = v->readers ? UINT64_MAX : w.now_ns + 1 + below(100000);
			return;
		}
		give_back(i);
		return;
	case VMA_WAITS:
		tell_sleep(i, false);
		t->doing = HOLDS_VMA;
		t->next_ns = w.now_ns + 1 + below(100000);
		return;
	case HOLDS_VMA:
		t->doing = HOLDS;
		if (t->may_downgrade)
			downgrade(i);
		else
			give_back(i);
		return;
	case FAULT_KEEPS:
	case FAULT_DROPPED:
		end_fault(i);
		return;
	case QUEUED:
		return;
	}
}

static void set_up(u64 seed)
{
	memset(&w, 0, sizeof(w));
	w.rng = seed;
	w.now_ns = START_NS;
	tell("note machine=x86_64");
	tell("note min_ns=%u", MIN_WAIT_NS);
	for (u32 p = 0; p < PROCS; p++) {
		w.procs[p].mm = 0xffff888000000000ULL + p * 0x1000;
		w.procs[p].writer = w.procs[p].last_owner = -1;
		for (u32 v = 0; v < VMAS; v++)
			w.procs[p].vmas[v] =
				(struct vma){ 0xffff888100000000ULL + (p * VMAS + v) * 256,
					      0x7f0000000000ULL + v * 0x100000,
					      0x7f0000000000ULL + v * 0x100000 + 0x10000, 0, -1 };
	}
	for (u32 i = 0; i < THREADS; i++) {
		tell("thread tid=%u tgid=%u comm=proc%u/%u prio=%llu mm=%llu", tid_of(i),
		     tid_of(i % PROCS), i % PROCS, i,
		     (unsigned long long)(below(4) ? 120 : 100 + below(40)),
		     (unsigned long long)proc_of(i)->mm);
		if (i >= PROCS)
			tell("process tid=%u time=%llu what=fork child_tid=%u child_tgid=%u "
			     "child_mm=%llu",
			     tid_of(i % PROCS), (unsigned long long)w.now_ns, tid_of(i),
			     tid_of(i % PROCS), (unsigned long long)proc_of(i)->mm);
		rest(i);
	}
}

static void wind_up(void)
{
	for (u32 i = 0; i < THREADS; i++) {
		struct thread *t = &w.threads[i];

		if (t->doing == QUEUED)
			tell_wait(i, true);
		else if (t->doing == VMA_WAITS || t->doing == FAULT_KEEPS ||
			 t->doing == FAULT_DROPPED)
			tell_sleep(i, true);
		tell("totals tid=%u tgid=%u time=%llu wait[0].count=%llu wait[0].sum=%llu "
		     "wait[0].max=%llu "
		     "wait[1].count=%llu wait[1].sum=%llu wait[1].max=%llu",
		     tid_of(i), tid_of(i % PROCS), (unsigned long long)w.now_ns,
		     (unsigned long long)t->count[0], (unsigned long long)t->sum_ns[0],
		     (unsigned long long)t->max_ns[0], (unsigned long long)t->count[1],
		     (unsigned long long)t->sum_ns[1], (unsigned long long)t->max_ns[1]);
		if (t->doing == IDLE && below(2))
			tell("process tid=%u time=%llu what=exit group_dead=0", tid_of(i),
			     (unsigned long long)w.now_ns);
	}
}

void random_run(u64 seed, u32 episodes)
{
	set_up(seed);
	for (u32 n = 0; n < episodes; n++) {
		u32 next = 0;

		for (u32 i = 1; i < THREADS; i++)
			if (w.threads[i].next_ns < w.threads[next].next_ns)
				next = i;
		w.now_ns = w.threads[next].next_ns;
		step(next);
		if (!below(64))
			tell("chunk");
		if (!below(500))
			tell("lost first=%llu last=%llu n=%llu time=%llu",
			     (unsigned long long)(w.now_ns - 1000), (unsigned long long)w.now_ns,
			     (unsigned long long)(1 + below(9)), (unsigned long long)w.now_ns);
	}
	wind_up();
}
