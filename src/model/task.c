/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/task.c: thread and address-space lifetimes (see task.h). Layer: model. */
#include "model/task.h"

#include <stdlib.h>
#include <string.h>

void tasks_init(struct tasks *t)
{
	memset(t, 0, sizeof(*t));
	map_init(&t->id_of_tid);
	map_init(&t->mm_of_pointer);
	if (!vec_push(&t->list) || !vec_push(&t->mms))
		t->failed = true;
}

static void lock_states_free(struct lock_state *s)
{
	while (s) {
		struct lock_state *next = s->next;

		free(s);
		s = next;
	}
}

void tasks_done(struct tasks *t)
{
	for (size_t i = 1; i < t->list.n; i++) {
		vec_done(&t->list.v[i]->prios);
		lock_states_free(t->list.v[i]->locks);
		free(t->list.v[i]);
	}
	vec_done(&t->list);
	vec_done(&t->mms);
	map_done(&t->id_of_tid);
	map_done(&t->mm_of_pointer);
}

struct task_id tasks_new(struct tasks *t, u32 tid)
{
	struct task *task = calloc(1, sizeof(*task));
	struct task **slot = task ? vec_push(&t->list) : NULL;
	u32 id;

	if (!slot || !map_set(&t->id_of_tid, tid, t->list.n - 1)) {
		if (slot)
			t->list.n--;
		free(task);
		t->failed = true;
		return (struct task_id){ 0 };
	}
	id = (u32)(t->list.n - 1);
	*slot = task;
	task->tid = tid;
	t->cache[tid % TASKS_CACHED] = (struct task_cached){ tid, id };
	return (struct task_id){ id };
}

struct task_id tasks_find(struct tasks *t, u32 tid)
{
	struct task_cached *c = &t->cache[tid % TASKS_CACHED];
	u64 *id;

	if (likely(c->id && c->tid == tid && !t->list.v[c->id]->dead))
		return (struct task_id){ c->id };
	id = map_get(&t->id_of_tid, tid);
	if (!id || t->list.v[*id]->dead)
		return tasks_new(t, tid);
	*c = (struct task_cached){ tid, (u32)*id };
	return (struct task_id){ c->id };
}

struct task_id tasks_named(struct tasks *t, u32 tid, u32 comm)
{
	u64 *known = tid ? map_get(&t->id_of_tid, tid) : NULL;
	struct task_id id = { known ? (u32)*known : 0 };

	if (!id.v && tid)
		id = tasks_new(t, tid);
	if (id.v && comm && !tasks_get(t, id)->comm)
		tasks_get(t, id)->comm = comm;
	return id;
}

static struct mm_id mm_new(struct tasks *t, u64 pointer)
{
	struct mm *mm = vec_push(&t->mms);

	if (!mm || !map_set(&t->mm_of_pointer, pointer, t->mms.n - 1)) {
		t->failed = true;
		return (struct mm_id){ 0 };
	}
	mm->pointer = pointer;
	return (struct mm_id){ (u32)(t->mms.n - 1) };
}

/* Another process's thread may be at work on a dying mm: a /proc reader, process_mrelease. */
static bool is_locking(const struct task *task, struct mm_id mm)
{
	for (const struct lock_state *s = task->locks; s; s = s->next) {
		if (s->mm.v == mm.v && (s->wait || s->hold))
			return true;
	}
	return false;
}

struct mm_id tasks_mm(struct tasks *t, u64 pointer, struct task_id by)
{
	struct task *task = tasks_get(t, by);
	struct mm_id id;
	u64 *known;
	struct mm *mm;

	if (!pointer)
		return (struct mm_id){ 0 };
	/* a dying mm's pointer may come to mean another one */
	if (task->mm_pointer == pointer && !t->mms.v[task->mm_id].dying)
		return (struct mm_id){ task->mm_id };
	known = map_get(&t->mm_of_pointer, pointer);
	id = known ? (struct mm_id){ (u32)*known } : mm_new(t, pointer);
	if (!id.v)
		return id;
	mm = &t->mms.v[id.v];
	/*
	 * Since 6.16 (exit: move sched_process_exit earlier) the exiting thread still takes
	 * mmap_lock of its dying mm after the event; anybody else sees a reused pointer.
	 */
	if (mm->dying && mm->dying_by.v != by.v &&
	    (!mm->dying_tgid || mm->dying_tgid != task->tgid) && !is_locking(task, id))
		id = mm_new(t, pointer);
	task->mm_pointer = id.v ? pointer : 0;
	task->mm_id = id.v;
	return id;
}

void tasks_mm_enter(struct tasks *t, struct task_id by, struct mm_id mm)
{
	struct task *task = tasks_get(t, by);

	if (task->home_mm.v || !mm.v || task->exited)
		return;
	task->home_mm = mm;
	t->mms.v[mm.v].n_living++;
}

void tasks_mm_leave(struct tasks *t, struct task_id by, bool may_end)
{
	struct task *task = tasks_get(t, by);
	struct mm *mm = &t->mms.v[task->home_mm.v];

	if (!task->home_mm.v)
		return;
	task->home_mm.v = 0;
	if (--mm->n_living || !may_end)
		return;
	mm->dying = true;
	mm->dying_by = by;
	mm->dying_tgid = task->tgid;
}

static void prios_forget(struct task *task)
{
	size_t drop = task->prios.n / 2;

	memmove(task->prios.v, task->prios.v + drop,
		(task->prios.n - drop) * sizeof(*task->prios.v));
	task->prios.n -= drop;
	task->prios_forgotten = true;
}

bool task_note_prio(struct task *task, u64 time_ns, s32 prio, bool as_prev)
{
	struct prio_change *c;

	if (as_prev && !task->has_late_prio) {
		task->has_late_prio = true;
		task->late_prio = prio;
	}
	if (task->prios.n && task->prios.v[task->prios.n - 1].prio == prio)
		return true;
	if (task->prios.n >= TASK_PRIOS_KEPT)
		prios_forget(task);
	c = vec_push(&task->prios);
	if (!c)
		return false;
	c->from_ns = time_ns;
	c->prio = prio;
	return true;
}

struct prio_ref task_prio_at(const struct tasks *t, struct task_id id, u64 time_ns)
{
	const struct task *task = tasks_get(t, id);
	struct prio_ref ref = { .task = id };

	for (size_t i = task->prios.n; i--;) {
		if (task->prios.v[i].from_ns <= time_ns) {
			ref.known = true;
			ref.prio = task->prios.v[i].prio;
			return ref;
		}
	}
	if (task->prios_forgotten)
		ref.task.v = 0;
	return ref;
}

bool task_late_prio(const struct tasks *t, struct prio_ref ref, s32 *ret)
{
	const struct task *task = tasks_get(t, ref.task);

	if (!task || !task->has_late_prio)
		return false;
	*ret = task->late_prio;
	return true;
}

void task_note_state(struct task *task, u64 time_ns, enum task_state state)
{
	u32 i = task->n_states++ % TASK_STATES_KEPT;

	task->states[i].from_ns = time_ns;
	task->states[i].state = (u8)state;
}

enum task_state task_state_at(const struct task *task, u64 time_ns)
{
	u32 n = task->n_states < TASK_STATES_KEPT ? task->n_states : TASK_STATES_KEPT;

	for (u32 i = 1; i <= n; i++) {
		const struct state_change *s =
			&task->states[(task->n_states - i) % TASK_STATES_KEPT];

		if (s->from_ns <= time_ns)
			return s->state;
	}
	return TASK_UNKNOWN;
}
