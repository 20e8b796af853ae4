/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/pair.c: dispatches events to their pairing rules and keeps the open intervals (see pair.h).
 * Layer: model. The rules themselves: pair_fault.c, pair_vma.c, pair_lock.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/pair_internal.h"

#define CLONE_THREAD 0x10000

static void add_listener(struct pair *p, u32 i)
{
	const struct pair_listener *l = &p->listeners[i];

	for (u32 kind = 0; kind < IV_KINDS; kind++) {
		if (l->kinds && !(l->kinds & 1u << kind))
			continue;
		if (l->open)
			p->openers[kind][p->n_openers[kind]++] = (u8)i;
		if (l->close)
			p->closers[kind][p->n_closers[kind]++] = (u8)i;
	}
	p->any_advance |= l->advance != NULL;
}

struct pair *pair_new(struct tasks *tasks, struct gaps *gaps, struct origins *origins,
		      const struct intern *strings, const struct stacks *stacks,
		      const struct pair_seen *known, const struct pair_listener *listeners,
		      u32 n_listeners)
{
	struct pair *p = n_listeners <= PAIR_MAX_LISTENERS ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	arena_init(&p->arena);
	p->tasks = tasks;
	p->gaps = gaps;
	p->origins = origins;
	p->strings = strings;
	p->stacks = stacks;
	p->seen = *known;
	p->listeners = listeners;
	p->n_listeners = n_listeners;
	for (u32 i = 0; i < n_listeners; i++)
		add_listener(p, i);
	return p;
}

void pair_free(struct pair *p)
{
	if (!p)
		return;
	arena_done(&p->arena);
	free(p);
}

const struct pair_seen *pair_seen(const struct pair *p)
{
	return &p->seen;
}

const struct pair_counts *pair_counts(const struct pair *p)
{
	return &p->counts;
}

struct interval *pair_make(struct pair *p, enum interval_kind kind)
{
	struct interval *iv = p->free_intervals;

	if (p->n_open >= PAIR_MAX_OPEN) {
		p->counts.refused_intervals++;
		return NULL;
	}
	if (iv)
		p->free_intervals = iv->next_free;
	else
		iv = arena_alloc(&p->arena, sizeof(*iv));
	if (!iv) {
		p->counts.refused_intervals++;
		return NULL;
	}
	memset(iv, 0, sizeof(*iv));
	p->n_open++;
	iv->kind = (u8)kind;
	iv->begin_ns = p->now_ns;
	iv->end_ns = p->now_ns;
	iv->begin_place = p->place;
	iv->task = p->task_id;
	iv->mm = p->mm;
	iv->printed_mm = p->mm.v != 0;
	iv->stack = p->ev ? p->ev->stack : 0;
	return iv;
}

bool pair_wait_ends_differ(const struct pair *p, struct interval *wait, u64 end_vma)
{
	bool has_vma = p->ev->has & EVH_VMA;

	if ((p->mm.v && wait->printed_mm && p->mm.v != wait->mm.v) ||
	    (has_vma && wait->printed_vma && end_vma != wait->vma))
		return true;
	if (p->mm.v)
		wait->mm = p->mm;
	if (has_vma) {
		wait->has_vma = true;
		wait->vma = end_vma;
	}
	return false;
}

int pair_tell_open(struct pair *p, struct interval *iv)
{
	int err = 0;

	for (u32 i = 0; i < p->n_openers[iv->kind] && !err; i++) {
		const struct pair_listener *l = &p->listeners[p->openers[iv->kind][i]];

		err = l->open(l->ctx, iv);
	}
	return err;
}

int pair_close(struct pair *p, struct interval **slot, u64 end_ns, u8 flags)
{
	struct interval *iv = *slot;
	int err = 0;

	if (!iv)
		return 0;
	*slot = NULL;
	iv->end_ns = end_ns;
	iv->flags |= flags;
	if (gaps_touch(p->gaps, iv->begin_ns, iv->end_ns))
		iv->flags |= IVF_LOSS;
	/* every listener is told, also after a failure: each gives back what it keeps of the
	 * interval */
	for (u32 i = 0; i < p->n_closers[iv->kind]; i++) {
		const struct pair_listener *l = &p->listeners[p->closers[iv->kind][i]];
		int failed = l->close(l->ctx, iv);

		err = err ? err : failed;
	}
	iv->next_free = p->free_intervals;
	p->free_intervals = iv;
	p->n_open--;
	return err;
}

int pair_close_unbegun(struct pair *p, enum interval_kind kind, enum lock_mode mode)
{
	struct interval *iv = pair_make(p, kind);

	if (!iv)
		return 0;
	iv->mode = (u8)mode;
	return pair_close(p, &iv, p->now_ns, IVF_OPEN_BEGIN);
}

/*
 * DESIGN section 5, Origin: the first known frame, else caller=, else the address-space call the
 * thread is inside, else a page fault of the thread just before. The last of these is believed for
 * read locks only: a write lock after a page fault comes from a call that is not traced.
 */
enum origin pair_origin(struct pair *p, u32 caller, enum lock_mode mode)
{
	enum origin o = ORIGIN_OTHER;

	if (origin_of_stack(p->origins, p->strings, p->stacks, p->ev->stack, &o) ||
	    origin_of_caller(p->origins, p->strings, caller, &o))
		return o;
	if ((p->task->page_fault || p->task->retry) && mode == MODE_READ)
		return ORIGIN_FAULT;
	if (p->task->call)
		return origin_of_call(p->task->call);
	if (p->task->exited)
		return ORIGIN_EXIT;
	return ORIGIN_OTHER;
}

/* Goes on after a failure, as pair_close() does, and returns the first one. */
int pair_close_task(struct pair *p, struct task *task, u64 end_ns, u8 flags)
{
	struct interval **slots[] = { &task->fault_wait, &task->fault, &task->vma_wait,
				      &task->vma_write };
	int err, failed;

	flags |= IVF_OPEN_END;
	err = pair_close_retries(p, task, (struct mm_id){ 0 }, flags);
	for (u32 i = 0; i < ARRAY_LEN(slots); i++) {
		failed = pair_close(p, slots[i], end_ns, flags);
		err = err ? err : failed;
	}
	for (struct lock_state *s = task->locks; s; s = s->next) {
		failed = pair_close(p, &s->wait, end_ns, flags);
		err = err ? err : failed;
		failed = pair_close(p, &s->hold, end_ns, flags);
		err = err ? err : failed;
	}
	return err;
}

static struct task *other_task(struct pair *p, u32 tid, u32 comm)
{
	struct task_id id = tasks_find(p->tasks, tid);
	struct task *task = tasks_get(p->tasks, id);

	if (task && comm)
		task->comm = comm;
	return task;
}

static void sched_switch(struct pair *p)
{
	static const u8 left_in[] = { [SCHED_RUNNABLE] = TASK_RUNNABLE,
				      [SCHED_SLEEPING] = TASK_SLEEPING,
				      [SCHED_BLOCKED] = TASK_BLOCKED,
				      [SCHED_DEAD] = TASK_SLEEPING };
	const struct ev_sched *s = &p->ev->u.sched;
	u64 *known = map_get(&p->tasks->id_of_tid, s->prev_tid);
	struct task *prev = known && *known ? p->tasks->list.v[*known] : NULL;
	struct task *next = other_task(p, s->next_tid, s->next_comm);

	p->seen.sched_switch = true;
	p->seen.prios = true;
	p->seen.states = true;
	/* an exited thread is shown once more as prev: its tid is not free before that */
	if (!prev || prev->dead)
		prev = other_task(p, s->prev_tid, s->prev_comm);
	if (!prev || !next)
		return;
	if (s->prev_comm)
		prev->comm = s->prev_comm;
	if (p->ev->has & EVH_PRIO) {
		if (!task_note_prio(prev, p->now_ns, s->prev_prio, true) ||
		    !task_note_prio(next, p->now_ns, s->next_prio, false))
			p->tasks->failed = true;
	}
	task_note_state(prev, p->now_ns, left_in[s->prev_state & 3]);
	task_note_state(next, p->now_ns, TASK_RUNNING);
	if (s->prev_state == SCHED_DEAD && prev->exited)
		prev->dead = true;
}

static void wake(struct pair *p)
{
	const struct ev_wake *w = &p->ev->u.wake;
	struct task *task = other_task(p, w->tid, w->comm);

	if (task && task_state_at(task, p->now_ns) != TASK_RUNNING)
		task_note_state(task, p->now_ns, TASK_RUNNABLE);
}

static int forked(struct pair *p, u32 tid, u32 comm)
{
	u64 *known = map_get(&p->tasks->id_of_tid, tid);
	struct task *old = known ? p->tasks->list.v[*known] : NULL;
	struct task *task;
	int err = 0;

	/* task_newtask and sched_process_fork tell of the same birth */
	if (old && old->born && !old->acted && !old->dead)
		return 0;
	if (old && !old->dead) {
		err = pair_close_task(p, old, p->now_ns, 0);
		old->dead = true;
	}
	task = tasks_get(p->tasks, tasks_new(p->tasks, tid));
	if (task) {
		task->comm = comm;
		task->born = true;
	}
	return err;
}

static int process_event(struct pair *p)
{
	const struct event *ev = p->ev;
	struct task *task;
	int err = 0;

	switch (ev->kind) {
	case EV_PROC_FORK:
		return forked(p, ev->u.fork.child_tid, ev->u.fork.child_comm);
	case EV_TASK_NEWTASK:
		err = forked(p, ev->u.newtask.tid, ev->u.newtask.comm);
		task = tasks_get(p->tasks, tasks_find(p->tasks, ev->u.newtask.tid));
		if (task && (ev->u.newtask.clone_flags & CLONE_THREAD))
			task->tgid = p->task->tgid;
		else if (task)
			task->tgid = task->tid;
		return err;
	case EV_PROC_EXEC:
		tasks_mm_leave(p->tasks, p->task_id, true);
		return 0;
	case EV_PROC_EXIT:
		/* an exit is one of the proper ends of Type B's window */
		err = pair_close_retries(p, p->task, (struct mm_id){ 0 }, 0);
		if (!err)
			err = pair_close_task(p, p->task, p->now_ns, 0);
		tasks_mm_leave(p->tasks, p->task_id, ev->u.exit.group_dead != 0);
		p->task->exited = true;
		p->task->call = CALL_NONE;
		p->task->page_fault = false;
		return err;
	case EV_TASK_RENAME:
		task = other_task(p, ev->u.rename.tid, ev->u.rename.new_comm);
		return 0;
	default:
		return 0;
	}
}

/* What the thread is inside of, for the origin of its lock events. */
static void note_context(struct pair *p)
{
	switch (p->ev->kind) {
	case EV_CALL_ENTER:
		p->seen.calls = true;
		p->task->call = (u8)p->ev->u.call.call;
		p->task->page_fault = false;
		break;
	case EV_CALL_EXIT:
		p->seen.calls = true;
		p->task->call = CALL_NONE;
		p->task->page_fault = false;
		break;
	case EV_PAGE_FAULT_USER:
		/* a fault in user mode: whatever call it was inside has returned */
		p->task->call = CALL_NONE;
		p->task->page_fault = true;
		p->seen.page_faults = true;
		break;
	case EV_PAGE_FAULT_KERNEL:
	case EV_FAULT_FALLBACK:
		p->task->page_fault = true;
		p->seen.page_faults = true;
		break;
	default:
		break;
	}
}

static int dispatch(struct pair *p)
{
	switch (p->ev->kind) {
	case EV_SCHED_SWITCH:
		sched_switch(p);
		return 0;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		wake(p);
		return 0;
	case EV_PROC_FORK:
	case EV_PROC_EXEC:
	case EV_PROC_EXIT:
	case EV_TASK_RENAME:
	case EV_TASK_NEWTASK:
		return process_event(p);
	case EV_LOCK_START:
	case EV_LOCK_ACQUIRED:
	case EV_LOCK_RELEASED:
	case EV_LOCK_WAIT_START:
	case EV_LOCK_WAIT_END:
	case EV_LOCK_HOLD_START:
	case EV_LOCK_HOLD_END:
	case EV_LOCK_WRITE_BLOCKED:
		return pair_lock_event(p);
	case EV_FAULT_BEGIN:
	case EV_FAULT_WAIT_START:
	case EV_FAULT_WAIT_END:
	case EV_FAULT_RETRY:
	case EV_FAULT_END:
		p->seen.faults = true;
		p->seen.fault_waits |=
			p->ev->kind == EV_FAULT_WAIT_START || p->ev->kind == EV_FAULT_WAIT_END;
		p->seen.fault_ends |= p->ev->kind == EV_FAULT_RETRY || p->ev->kind == EV_FAULT_END;
		return pair_fault_event(p);
	case EV_VMA_WRITE_BEGIN:
	case EV_VMA_WRITE_WAIT_START:
	case EV_VMA_WRITE_WAIT_END:
	case EV_VMA_WRITE_DONE:
	case EV_VMA_WRITE_BEGIN_V2:
	case EV_VMA_WRITE_BLOCKED:
		return pair_vma_event(p);
	default:
		note_context(p);
		return 0;
	}
}

/* What an event of BPF tells of its own thread. */
static void note_self(struct pair *p)
{
	static const u8 states[] = { [SELF_UNKNOWN] = TASK_UNKNOWN,
				     [SELF_RUNNING] = TASK_RUNNING,
				     [SELF_RUNNABLE] = TASK_RUNNABLE,
				     [SELF_SLEEPING] = TASK_SLEEPING,
				     [SELF_BLOCKED] = TASK_BLOCKED };
	const struct event *ev = p->ev;

	if (ev->has & EVH_SELF_PRIO) {
		p->seen.prios = true;
		if (!task_note_prio(p->task, p->now_ns, ev->prio, true))
			p->tasks->failed = true;
	}
	if ((ev->has & EVH_SELF_STATE) && ev->state < ARRAY_LEN(states)) {
		p->seen.states = true;
		task_note_state(p->task, p->now_ns, states[ev->state]);
	}
	if ((ev->has & EVH_SELF_CALL) && ev->call < CALL_LIMIT) {
		p->seen.calls = true;
		p->task->call = ev->call;
		p->task->page_fault = false;
	}
}

int pair_event(struct pair *p, const struct event *ev, u64 place)
{
	int err = 0;

	p->ev = ev;
	p->place = place;
	if (ev->time_ns > p->now_ns) {
		p->now_ns = ev->time_ns;
		for (u32 i = 0; p->any_advance && i < p->n_listeners && !err; i++) {
			if (p->listeners[i].advance)
				err = p->listeners[i].advance(p->listeners[i].ctx, p->now_ns);
		}
		if (err)
			return err;
	}
	p->counts.events++;
	p->task_id = tasks_find(p->tasks, ev->tid);
	p->task = tasks_get(p->tasks, p->task_id);
	if (!p->task)
		return -ENOMEM;
	p->task->acted = true;
	if (ev->comm)
		p->task->comm = ev->comm;
	if (ev->has & EVH_TGID)
		p->task->tgid = ev->tgid;
	p->seen.stacks |= ev->stack != 0;
	if (unlikely(ev->has & (EVH_SELF_PRIO | EVH_SELF_STATE | EVH_SELF_CALL)))
		note_self(p);
	p->mm = tasks_mm(p->tasks, ev->mm, p->task_id);
	if (p->mm.v)
		tasks_mm_enter(p->tasks, p->task_id, p->mm);
	if (p->task->tgid && p->task->home_mm.v)
		p->tasks->mms.v[p->task->home_mm.v].tgid = p->task->tgid;
	err = dispatch(p);
	if (!err && p->restart)
		return PAIR_RESTART;
	return err ? err : p->tasks->failed ? -ENOMEM : 0;
}

int pair_finish(struct pair *p, u64 end_ns)
{
	int err = 0;

	p->now_ns = end_ns;
	for (size_t i = 1; i < p->tasks->list.n; i++) {
		int failed = pair_close_task(p, p->tasks->list.v[i], end_ns, IVF_AT_END);

		err = err ? err : failed;
	}
	return err;
}
