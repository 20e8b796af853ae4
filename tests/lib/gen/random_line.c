/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random_line.c: --random: one step of a thread as the lines that a kernel would print. */
#include "random.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const flag_columns[] = { ".....", "d..1.", "....", "dN.2", "d..1.11", "" };

static void stamp(const struct world *w, char *ret, size_t size)
{
	if (w->f[F_COUNTER])
		snprintf(ret, size, "%12llu", (unsigned long long)(w->now_ns - w->start_ns + 1));
	else if (w->f[F_DIGITS6])
		snprintf(ret, size, "%5llu.%06llu", (unsigned long long)(w->now_ns / NS_S),
			 (unsigned long long)(w->now_ns % NS_S / 1000));
	else
		snprintf(ret, size, "%5llu.%09llu", (unsigned long long)(w->now_ns / NS_S),
			 (unsigned long long)(w->now_ns % NS_S));
}

/* When a line comes in the file. A CPU's own buffer is in order, and with LOST marks that matters.
 */
static u64 file_key(struct world *w, u32 cpu)
{
	if (w->f[F_COUNTER] || w->certain)
		return w->now_ns;
	if (w->f[F_LOST])
		return w->now_ns + w->cpu_delay_ns[cpu];
	if (chance(w, F_LATE) && w->now_ns > w->start_ns)
		return w->now_ns + rng_range(&w->rng, 101 * NS_MS, 400 * NS_MS);
	if (chance(w, F_DISORDER))
		return w->now_ns +
		       rng_below(&w->rng, rng_percent(&w->rng, 70) ? 20000 : 90 * NS_MS);
	return w->now_ns;
}

void line_event(struct world *w, struct thread *t, const char *fmt, ...)
{
	char when[40], task[64], body[320], tgid[24] = "";
	struct record *r;
	va_list ap;

	if (w->n >= w->max || (!w->certain && chance(w, F_DROP)))
		return;
	va_start(ap, fmt);
	vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	if (rng_percent(&w->rng, 10))
		t->cpu = (u32)rng_below(&w->rng, w->f[F_CPUS]);
	stamp(w, when, sizeof(when));
	snprintf(task, sizeof(task), "%s-%u", t->comm, t->tid);
	if (w->f[F_TGID])
		snprintf(tgid, sizeof(tgid), "(%7u) ", w->procs[t->proc].tgid);
	r = &w->records[w->n];
	r->time_ns = w->now_ns;
	r->cpu = t->cpu;
	r->seq = w->n++;
	r->key_ns = file_key(w, t->cpu);
	snprintf(r->text, sizeof(r->text), "%20s   %s[%03u] %s %s: %s", task, tgid, t->cpu,
		 flag_columns[w->f[F_ODD_COMM] ? rng_below(&w->rng, ARRAY_LEN(flag_columns)) : 0],
		 when, body);
}

static void mm_field(struct world *w, char *ret, size_t size, u64 mm, bool other)
{
	if (w->f[F_NO_MM] && chance(w, F_NO_MM)) {
		static const char *const nothing[] = { "", " mm=(null)", " mm=(____ptrval____)",
						       " mm=0000000000000000" };

		snprintf(ret, size, "%s", nothing[rng_below(&w->rng, ARRAY_LEN(nothing))]);
		return;
	}
	snprintf(ret, size, " mm=%016llx", (unsigned long long)(other ? mm + 0x100 : mm));
}

static u64 vma_start(u32 vma)
{
	return 0x7000 + 0x4000ULL * vma;
}

/* " mm=... vma=..." as a fault or write event prints them */
static const char *identity(struct world *w, struct thread *t, u32 vma, bool end)
{
	static char text[128];
	char mm[48], pointer[48] = "";
	bool other = end && chance(w, F_MISMATCH);

	mm_field(w, mm, sizeof(mm), w->procs[t->proc].mm, other && rng_percent(&w->rng, 50));
	if (!chance(w, F_NO_VMA))
		snprintf(pointer, sizeof(pointer), " vma=00000000bbbb%04x",
			 vma + 1 + (other ? 0x100 : 0));
	snprintf(text, sizeof(text), "%s%s", mm, pointer);
	return text;
}

static void fault_begin(struct world *w, struct thread *t)
{
	static const u64 offsets[] = { 0, 0x1000, 0x1fff, 0x2000, 0x800 };

	t->fault_vma = (u32)rng_below(&w->rng, w->f[F_VMAS] ? w->f[F_VMAS] : 1);
	t->address =
		vma_start(t->fault_vma) +
		offsets[rng_percent(&w->rng, 80) ? rng_below(&w->rng, 2) : rng_below(&w->rng, 5)];
	line_event(w, t, "filemap_fault_begin: pid=%u%s dev=254:3 ino=77 pgoff=0 address=0x%llx",
		   t->tid, identity(w, t, t->fault_vma, false), (unsigned long long)t->address);
}

static void range(struct world *w, struct thread *t, const char *name, bool begin, bool end)
{
	static const char *const callers[] = { "mprotect_fixup+0x88/0x2c0",
					       "mprotect_fixup+0x120/0x2c0",
					       "__split_vma+0x14f/0x2d0", "vma_expand+0x1/0x2" };
	const char *had = begin ? " had_reader=1" : "";

	line_event(w, t, "%s: pid=%u%s vm_start=%llx vm_end=%llx%s flags=8000075 caller=%s", name,
		   t->tid, identity(w, t, t->write_vma, end),
		   (unsigned long long)vma_start(t->write_vma),
		   (unsigned long long)vma_start(t->write_vma) + 0x2000, had,
		   callers[t->tid % ARRAY_LEN(callers)]);
}

static void write_begin(struct world *w, struct thread *t)
{
	t->write_vma = (u32)rng_below(&w->rng, w->f[F_VMAS] ? w->f[F_VMAS] : 1);
	if (w->f[F_V2] != 2)
		range(w, t, "vma_start_write_begin", true, false);
	if (w->f[F_V2])
		line_event(w, t,
			   "vma_start_write_begin_v2: pid=%u tgid=%u comm=%s vm_start=%llx "
			   "vm_end=%llx "
			   "flags=8000075 caller=mprotect_fixup+0x88/0x2c0 ino=77 dev=254:3",
			   t->tid, w->procs[t->proc].tgid, t->comm,
			   (unsigned long long)vma_start(t->write_vma),
			   (unsigned long long)vma_start(t->write_vma) + 0x2000);
}

static void write_waited(struct world *w, struct thread *t)
{
	const struct thread *by = &w->threads[rng_below(&w->rng, w->n_threads)];

	if (w->f[F_VMA_WAITS])
		range(w, t, "vma_start_write_wait_end", false, true);
	if (!w->f[F_VMA_WAITS] || chance(w, F_BLOCKED))
		line_event(w, t,
			   "vma_start_write_blocked: write_pid=%u write_tgid=%u write_comm=%s "
			   "fault_pid=%u "
			   "fault_tgid=%u fault_comm=%s wait_ns=%llu vm=[%llx,%llx]",
			   t->tid, w->procs[t->proc].tgid, t->comm, by->tid,
			   w->procs[by->proc].tgid, by->comm,
			   (unsigned long long)(w->now_ns - t->write_since_ns),
			   (unsigned long long)vma_start(t->write_vma),
			   (unsigned long long)vma_start(t->write_vma) + 0x2000);
}

static void vendor_lock(struct world *w, struct thread *t, const char *name, const struct step *s)
{
	char mm[48] = " mm=(null)";

	if (!t->null_mm)
		snprintf(mm, sizeof(mm), " mm=%016llx", (unsigned long long)s->mm);
	line_event(w, t, "%s: pid=%u%s write=%s", name, t->tid, mm,
		   w->f[F_TGID] ? s->write ? "true" : "false"
		   : s->write	? "1"
				: "0");
}

static void stock_lock(struct world *w, struct thread *t, const char *name, const struct step *s,
		       int success)
{
	const char *outcome = success < 0 || (w->f[F_NO_SUCCESS] && success) ? ""
			      : success					     ? " success=true"
									     : " success=false";

	line_event(w, t, "%s: mm=%016llx memcg_%s write=%s%s", name, (unsigned long long)s->mm,
		   w->f[F_TGID] ? "id=5507" : "path=", s->write ? "true" : "false", outcome);
}

static void lock_step(struct world *w, struct thread *t, const struct step *s)
{
	const struct thread *by = &w->threads[rng_below(&w->rng, w->n_threads)];
	u32 family = w->f[F_FAMILY];
	bool stock = family == 0 || family == 2, vendor = family != 0;

	switch (s->op) {
	case OP_LOCK_WAIT:
		t->lock_since_ns = w->now_ns;
		if (stock)
			stock_lock(w, t, "mmap_lock_start_locking", s, -1);
		if (vendor && family != 3 && !s->plain)
			vendor_lock(w, t, "mmap_lock_wait_start", s);
		break;
	case OP_LOCK_FAIL:
		if (stock) {
			stock_lock(w, t, "mmap_lock_start_locking", s, -1);
			stock_lock(w, t, "mmap_lock_acquire_returned", s, 0);
		}
		break;
	case OP_LOCK_GOT:
		if (vendor && family != 3 && !s->plain)
			vendor_lock(w, t, "mmap_lock_wait_end", s);
		if (vendor && !s->plain && (family == 3 || chance(w, F_BLOCKED)))
			line_event(w, t,
				   "mmap_lock_write_blocked: holder_pid=%u holder_tgid=%u "
				   "holder_comm=%s "
				   "waiter_pid=%u waiter_comm=%s wait_ns=%llu",
				   by->tid, w->procs[by->proc].tgid, by->comm, t->tid, t->comm,
				   (unsigned long long)(w->now_ns - t->lock_since_ns));
		break;
	case OP_LOCK_HOLD:
		if (stock)
			stock_lock(w, t, "mmap_lock_acquire_returned", s, 1);
		if (vendor)
			vendor_lock(w, t, "mmap_lock_hold_start", s);
		break;
	default:
		if (stock)
			stock_lock(w, t, "mmap_lock_released", s, -1);
		if (vendor)
			vendor_lock(w, t, "mmap_lock_hold_end", s);
		break;
	}
}

void line_step(struct world *w, struct thread *t, const struct step *s)
{
	switch (s->op) {
	case OP_FAULT_BEGIN:
		fault_begin(w, t);
		break;
	case OP_FAULT_WAIT:
		line_event(w, t, "filemap_fault_wait_start: pid=%u%s reason=io", t->tid,
			   identity(w, t, t->fault_vma, false));
		break;
	case OP_FAULT_WAITED:
		line_event(w, t, "filemap_fault_wait_end: pid=%u%s reason=io", t->tid,
			   identity(w, t, t->fault_vma, true));
		break;
	case OP_FAULT_RETRY:
		if (w->f[F_RETRY_FORM] != 1)
			line_event(w, t, "filemap_fault_retry: pid=%u%s ret=0x404 reason=io",
				   t->tid, identity(w, t, t->fault_vma, false));
		break;
	case OP_FAULT_END:
		line_event(w, t, "filemap_fault_end: pid=%u%s ret=0x%llx", t->tid,
			   identity(w, t, t->fault_vma, false), (unsigned long long)t->retried_ret);
		break;
	case OP_FALLBACK:
		line_event(
			w, t,
			"fault_mmap_lock_fallback: pid=%u mm=%016llx address=0x%llx reason=retry",
			t->tid, (unsigned long long)w->procs[t->proc].mm,
			(unsigned long long)t->address);
		break;
	case OP_READ_VMA:
		line_event(w, t, "vma_start_read: pid=%u%s vm_start=7000 vm_end=9000", t->tid,
			   identity(w, t, 0, false));
		break;
	case OP_WRITE_BEGIN:
		write_begin(w, t);
		break;
	case OP_WRITE_WAIT:
		t->write_since_ns = w->now_ns;
		if (w->f[F_VMA_WAITS])
			range(w, t, "vma_start_write_wait_start", true, false);
		break;
	case OP_WRITE_WAITED:
		write_waited(w, t);
		break;
	case OP_WRITE_DONE:
		range(w, t, "vma_start_write_done", false, false);
		break;
	case OP_PAGE_FAULT:
		line_event(w, t, "page_fault_user: address=0x%llx ip=0x401000 error_code=0x6",
			   (unsigned long long)t->address);
		break;
	case OP_EXEC:
		line_event(w, t, "sched_process_exec: filename=/bin/x pid=%u old_pid=%u", t->tid,
			   t->tid);
		break;
	case OP_EXIT:
	case OP_FORKED:
	case OPS:
		break; /* random_world.c */
	default:
		lock_step(w, t, s);
		break;
	}
}

/* An event that nothing led up to. */
void line_noise(struct world *w, struct thread *t)
{
	static const enum op ops[] = { OP_FAULT_BEGIN, OP_FAULT_WAIT,	OP_FAULT_WAITED,
				       OP_FAULT_RETRY, OP_FAULT_END,	OP_WRITE_BEGIN,
				       OP_WRITE_WAIT,  OP_WRITE_WAITED, OP_WRITE_DONE,
				       OP_LOCK_WAIT,   OP_LOCK_FAIL,	OP_LOCK_GOT,
				       OP_LOCK_HOLD,   OP_UNLOCK,	OP_READ_VMA,
				       OP_PAGE_FAULT };
	struct step s = { .op = ops[rng_below(&w->rng, ARRAY_LEN(ops))] };

	s.write = rng_percent(&w->rng, 50);
	s.mm = w->procs[t->proc].mm;
	if ((s.op == OP_FAULT_BEGIN || s.op == OP_FAULT_WAIT) && !w->f[F_FAULTS])
		return;
	/* a *_blocked wait must begin within the trace */
	if (s.op == OP_LOCK_GOT)
		t->lock_since_ns = w->now_ns;
	if (s.op == OP_WRITE_WAITED)
		t->write_since_ns = w->now_ns;
	line_step(w, t, &s);
}

void line_switch(struct world *w, struct thread *prev, struct thread *next)
{
	static struct thread idle = { .comm = "<idle>", .prio = 120 };

	if (prev && chance(w, F_PRIO))
		prev->prio = (int)rng_range(&w->rng, 0, 139);
	if (next && chance(w, F_PRIO))
		next->prio = rng_percent(&w->rng, 10) ? -1 : (int)rng_range(&w->rng, 0, 139);
	if (prev && next && prev->tid == next->tid)
		return;
	line_event(w, prev ? prev : &idle,
		   "sched_switch: prev_comm=%s prev_pid=%u prev_prio=%d prev_state=%s ==> "
		   "next_comm=%s "
		   "next_pid=%u next_prio=%d",
		   prev ? prev->comm : "swapper/0", prev ? prev->tid : 0, prev ? prev->prio : 120,
		   prev && !prev->alive	      ? "X"
		   : rng_percent(&w->rng, 50) ? "S"
					      : "D",
		   next ? next->comm : "swapper/0", next ? next->tid : 0, next ? next->prio : 120);
}
