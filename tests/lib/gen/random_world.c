/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random_world.c: --random: processes, threads, and the sequences of steps they go through. */
#include "random.h"

static const char *const odd_comms[] = { "a b [c]",	 "x-12 [001] y", "=> frame: x", "",
					 "<...>",	 "a: b",	 "prev_pid=7",	"d.a-3",
					 "\xc3\xa4\xff", "12",		 "x(1)" };

static struct thread *new_thread(struct world *w, u32 proc, u32 tid)
{
	struct thread *t;

	if (w->n_threads >= MAX_THREADS)
		return NULL;
	t = &w->threads[w->n_threads++];
	t->tid = tid ? tid : w->next_tid++;
	t->proc = proc;
	t->cpu = (u32)rng_below(&w->rng, w->f[F_CPUS]);
	t->prio = 120;
	t->alive = true;
	t->comm =
		chance(w, F_ODD_COMM) ? odd_comms[rng_below(&w->rng, ARRAY_LEN(odd_comms))] : "app";
	t->null_mm = w->f[F_NO_MM] && rng_percent(&w->rng, 15);
	w->procs[proc].living++;
	if (!w->procs[proc].tgid)
		w->procs[proc].tgid = t->tid;
	return t;
}

static u32 new_proc(struct world *w, u64 mm)
{
	u32 n;

	if (w->n_procs >= MAX_PROCS)
		return MAX_PROCS;
	n = w->n_procs++;
	w->procs[n] = (struct proc){ .mm = mm ? mm : 0xaaaa0000ULL + ++w->next_mm };
	w->procs[n].mortal = w->f[F_EXIT] && rng_percent(&w->rng, 60);
	return n;
}

void world_start(struct world *w)
{
	u32 mms = w->f[F_MMS] ? w->f[F_MMS] : 1;

	w->next_tid = 11;
	for (u32 i = 0; i < mms; i++) {
		u32 proc = new_proc(w, 0);

		for (u32 k = 0; k < (w->f[F_THREADS] ? w->f[F_THREADS] : 1); k++)
			new_thread(w, proc, 0);
	}
}

static void plan(struct thread *t, enum op op, bool write, u64 mm, bool plain)
{
	if (t->n_steps < MAX_STEPS)
		t->steps[t->n_steps++] = (struct step){ op, write, plain, mm };
}

static void plan_lock(struct world *w, struct thread *t, bool write, u64 mm)
{
	bool plain = chance(w, F_NO_WAIT);

	if (chance(w, F_FAILED))
		plan(t, OP_LOCK_FAIL, write, mm, false);
	plan(t, OP_LOCK_WAIT, write, mm, plain);
	plan(t, OP_LOCK_GOT, write, mm, plain);
	plan(t, OP_LOCK_HOLD, write, mm, plain);
}

static void plan_fault(struct world *w, struct thread *t)
{
	u64 mm = w->procs[t->proc].mm;
	bool retry = chance(w, F_RETRY);

	t->retried_ret = retry ? 0x404 : 0x204;
	if (rng_percent(&w->rng, 30))
		plan(t, OP_READ_VMA, false, mm, false);
	plan(t, OP_FAULT_BEGIN, false, mm, false);
	if (!chance(w, F_NO_WAIT)) {
		u32 waits = rng_percent(&w->rng, 20) ? 2 : 1;

		for (u32 i = 0; i < waits; i++) {
			plan(t, OP_FAULT_WAIT, false, mm, false);
			plan(t, OP_FAULT_WAITED, false, mm, false);
		}
	}
	if (retry)
		plan(t, OP_FAULT_RETRY, false, mm, false);
	if (!retry || w->f[F_RETRY_FORM] != 2)
		plan(t, OP_FAULT_END, false, mm, false);
	if (retry && w->f[F_LOCKS] && rng_percent(&w->rng, 80)) {
		plan(t, OP_FALLBACK, false, mm, false);
		plan_lock(w, t, false, mm);
		plan(t, OP_UNLOCK, false, mm, false);
	}
}

static void plan_write(struct world *w, struct thread *t)
{
	u64 mm = w->procs[t->proc].mm;
	bool locked = w->f[F_LOCKS] && rng_percent(&w->rng, 50);
	u32 writes = rng_percent(&w->rng, 25) ? 2 : 1;

	if (locked)
		plan_lock(w, t, true, mm);
	for (u32 i = 0; i < writes; i++) {
		plan(t, OP_WRITE_BEGIN, true, mm, false);
		if (!chance(w, F_NO_WAIT)) {
			plan(t, OP_WRITE_WAIT, true, mm, false);
			plan(t, OP_WRITE_WAITED, true, mm, false);
		}
		plan(t, OP_WRITE_DONE, true, mm, false);
	}
	if (locked && chance(w, F_DOWNGRADE)) {
		plan(t, OP_LOCK_HOLD, false, mm, true);
		plan(t, OP_UNLOCK, false, mm, false);
	} else if (locked) {
		plan(t, OP_UNLOCK, true, mm, false);
	}
}

static void plan_plain_lock(struct world *w, struct thread *t)
{
	const struct proc *other = &w->procs[rng_below(&w->rng, w->n_procs)];
	u64 mm = w->procs[t->proc].mm;
	bool write = rng_percent(&w->rng, 45);

	/* another process's mm: what /proc readers and process_madvise lock */
	if (rng_percent(&w->rng, 8) && !other->mortal && !w->procs[t->proc].mortal)
		mm = other->mm;
	plan_lock(w, t, write, mm);
	if (write && chance(w, F_DOWNGRADE)) {
		plan(t, OP_LOCK_HOLD, false, mm, true);
		write = false;
	}
	plan(t, OP_UNLOCK, write, mm, false);
}

/* fork holds two mms: the child's inside the parent's */
static void plan_fork(struct world *w, struct thread *t)
{
	u64 mm = w->procs[t->proc].mm, child = 0xaaaa0000ULL + w->next_mm + 1;

	plan_lock(w, t, true, mm);
	plan_lock(w, t, true, child);
	plan(t, OP_UNLOCK, true, rng_percent(&w->rng, 50) ? child : mm, false);
	plan(t, OP_UNLOCK, true, t->steps[t->n_steps - 1].mm == mm ? child : mm, false);
	plan(t, OP_FORKED, false, 0, false);
}

/*
 * Births and deaths are in the trace, alone at their time: without one, whose a tid and an mm are
 * is a guess.
 */
static void life_event(struct world *w, struct thread *t, const struct thread *child)
{
	w->now_ns += NS_US;
	w->certain = true;
	if (child)
		line_event(w, t, "sched_process_fork: comm=%s pid=%u child_comm=%s child_pid=%u",
			   t->comm, t->tid, child->comm, child->tid);
	else
		line_event(w, t, "sched_process_exit: comm=%s pid=%u prio=%d group_dead=%s",
			   t->comm, t->tid, t->prio,
			   w->procs[t->proc].living == 1 ? "true" : "false");
	w->certain = false;
	w->now_ns += NS_US;
}

static void forked(struct world *w, struct thread *t)
{
	u32 proc = new_proc(w, 0);
	struct thread *child;

	if (proc >= MAX_PROCS)
		return;
	child = new_thread(w, proc, 0);
	if (child)
		life_event(w, t, child);
}

static void exit_thread(struct world *w, struct thread *t)
{
	struct proc *p = &w->procs[t->proc];
	bool last = p->living == 1;

	life_event(w, t, NULL);
	t->alive = false;
	p->living--;
	if (last)
		p->died_ns = w->now_ns;
	if (w->f[F_SCHED] && rng_percent(&w->rng, 60)) {
		line_switch(w, t, NULL);
	} else if (rng_percent(&w->rng, 30)) {
		/* exit_mm() takes the lock after the event */
		struct step s = { .op = OP_LOCK_WAIT, .plain = true, .mm = p->mm };

		line_step(w, t, &s);
		s.op = OP_LOCK_HOLD;
		line_step(w, t, &s);
		s.op = OP_UNLOCK;
		line_step(w, t, &s);
	}
}

/* A dead thread's tid, and a dead process's mm value, for somebody new. */
static void reincarnate(struct world *w, struct thread *by)
{
	for (u32 i = 0; i < w->n_threads; i++) {
		struct thread *old = &w->threads[i], *child;
		const struct proc *p = &w->procs[old->proc];
		u32 proc;

		/* an mm value is free some time after its process is dead */
		if (old->alive || !old->tid || !p->died_ns || w->now_ns - p->died_ns < 3 * NS_MS)
			continue;
		proc = new_proc(w, p->mm);
		if (proc >= MAX_PROCS)
			return;
		w->procs[proc].mortal = false;
		child = new_thread(w, proc, old->tid);
		if (!child)
			return;
		for (u32 k = 0; k < w->n_threads; k++) {
			if (w->procs[w->threads[k].proc].mm == p->mm && !w->threads[k].alive)
				w->threads[k].tid = 0;
		}
		if (w->f[F_SCHED] || rng_percent(&w->rng, 50))
			life_event(w, by, child);
		return;
	}
}

static void exec(struct world *w, struct thread *t)
{
	struct proc *p = &w->procs[t->proc];
	struct step s = { .op = OP_EXEC };

	if (p->living != 1 || !p->mortal)
		return;
	line_step(w, t, &s);
	p->mm = 0xaaaa0000ULL + ++w->next_mm;
}

static void new_activity(struct world *w, struct thread *t)
{
	u32 faults = w->f[F_FAULTS], writes = w->f[F_WRITES], locks = w->f[F_LOCKS];
	u64 pick = rng_below(&w->rng, faults + writes + locks);

	t->n_steps = t->at = 0;
	if (w->procs[t->proc].mortal && chance(w, F_EXIT)) {
		plan(t, OP_EXIT, false, 0, false);
		return;
	}
	if (chance(w, F_EXEC)) {
		plan(t, OP_EXEC, false, 0, false);
		return;
	}
	if (locks && chance(w, F_FORK) && w->n_procs < MAX_PROCS) {
		plan_fork(w, t);
		return;
	}
	if (pick < faults)
		plan_fault(w, t);
	else if (pick < faults + writes)
		plan_write(w, t);
	else if (locks)
		plan_plain_lock(w, t);
	else
		plan(t, OP_PAGE_FAULT, false, 0, false);
}

static void pass_time(struct world *w)
{
	u64 d;

	if (chance(w, F_EQUAL))
		d = 0;
	else if (chance(w, F_SLOW))
		d = rng_range(&w->rng, 10 * NS_MS, 150 * NS_MS);
	else if (chance(w, F_BIG))
		d = rng_range(&w->rng, 100 * NS_US, 3 * NS_MS);
	else if (rng_percent(&w->rng, 15))
		d = 1;
	else
		d = rng_range(&w->rng, 1, rng_percent(&w->rng, 50) ? 900 : 15000);
	if (w->f[F_DIGITS6])
		d = (d + 999) / 1000 * 1000;
	w->now_ns += d;
}

void world_step(struct world *w)
{
	struct thread *t = &w->threads[rng_below(&w->rng, w->n_threads)];
	struct step *s;

	pass_time(w);
	if (!t->alive)
		return;
	if (chance(w, F_SCHED)) {
		struct thread *other = &w->threads[rng_below(&w->rng, w->n_threads)];

		if (rng_percent(&w->rng, 50))
			line_switch(w, t, rng_percent(&w->rng, 60) && other->alive ? other : NULL);
		else
			line_switch(w, other->alive && rng_percent(&w->rng, 60) ? other : NULL, t);
	}
	if (chance(w, F_NOISE))
		line_noise(w, t);
	if (w->f[F_REUSE] && rng_percent(&w->rng, 5))
		reincarnate(w, t);
	if (t->at >= t->n_steps || chance(w, F_CUT))
		new_activity(w, t);
	if (t->at >= t->n_steps)
		return;
	s = &t->steps[t->at++];
	switch (s->op) {
	case OP_EXIT:
		exit_thread(w, t);
		break;
	case OP_EXEC:
		exec(w, t);
		break;
	case OP_FORKED:
		forked(w, t);
		break;
	default:
		line_step(w, t, s);
		break;
	}
}
