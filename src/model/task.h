/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/task.h: threads and address spaces with their lifetimes, and what is known of each at a
 * time. Layer: model.
 */
#ifndef MMSCOPE_MODEL_TASK_H
#define MMSCOPE_MODEL_TASK_H

#include "base/map.h"
#include "base/vec.h"
#include "model/ids.h"
#include "model/interval.h"
#include "wire/event.h"

struct prio_change {
	u64 from_ns;
	s32 prio;
};
enum task_state { TASK_UNKNOWN, TASK_RUNNING, TASK_RUNNABLE, TASK_SLEEPING, TASK_BLOCKED };
#define TASK_STATES_KEPT 8
#define TASK_PRIOS_KEPT 256
struct state_change {
	u64 from_ns;
	u8 state; /* enum task_state */
};

/* What a thread has open on one address space's mmap_lock. */
struct lock_state {
	struct mm_id mm;
	struct interval *wait, *hold;
	struct lock_state *next;
};

struct task {
	u32 tid, tgid; /* tgid 0 = not known */
	u32 comm;      /* intern id of the newest name, 0 = not known */
	bool born;     /* made by a fork event, not by first sight */
	bool acted;    /* an event of its own was seen */
	bool exited;   /* sched_process_exit seen */
	bool dead;     /* its last sched_switch seen too, or a new thread has its tid */
	/* priorities, by sched_switch or an event's own */
	VEC(struct prio_change) prios; /* the newest TASK_PRIOS_KEPT changes at most */
	bool prios_forgotten;
	bool has_late_prio;
	s32 late_prio; /* of the first sched_switch that shows it as prev, or event that tells its
			  own */
	struct state_change states[TASK_STATES_KEPT];
	u32 n_states;
	/* what it is inside of */
	u8 call;	 /* enum as_call, CALL_NONE = in none that is traced */
	bool page_fault; /* its last event but for locks and scheduling is a page fault */
	struct mm_id home_mm;
	u64 mm_pointer; /* of the mm asked for last, */
	u32 mm_id;	/* and its id; 0 = none */
	/* open intervals */
	struct interval *fault, *fault_wait, *vma_write, *vma_wait, *retry;
	struct lock_state *locks;
};

struct mm {
	u64 pointer;
	u32 n_living; /* threads that have not exited and whose own address space it is */
	u32 tgid;     /* of the process whose address space it is, 0 = not known */
	struct task_id dying_by; /* the thread whose exit or exec ends it */
	u32 dying_tgid;
	bool dying;
};

/* A direct-mapped cache in front of id_of_tid: nearly every event asks for one of a few threads. */
#define TASKS_CACHED 1024
struct task_cached {
	u32 tid, id; /* id 0 = empty */
};
struct tasks {
	struct task_cached cache[TASKS_CACHED];
	VEC(struct task *) list; /* by id; [0] is NULL */
	struct map id_of_tid;
	VEC(struct mm) mms; /* by id; [0] unused */
	struct map mm_of_pointer;
	bool failed; /* out of memory */
};

/* The priority a thread has in a pair: known, or known late from the task, or never (task 0). */
struct prio_ref {
	bool known;
	s32 prio;	     /* when known */
	struct task_id task; /* when not */
};

void tasks_init(struct tasks *t);
void tasks_done(struct tasks *t);
static inline struct task *tasks_get(const struct tasks *t, struct task_id id)
{
	return t->list.v[id.v];
}
/* The living thread with this tid, made when new; id 0 only when out of memory (->failed). */
struct task_id tasks_find(struct tasks *t, u32 tid);
/* The thread that another's event names, which may never be seen otherwise: the newest of the tid,
 * also when it is over. 0 for tid 0. */
struct task_id tasks_named(struct tasks *t, u32 tid, u32 comm);
/* A fork says that @tid is a new thread: the old one of that tid, if any, is over. */
struct task_id tasks_new(struct tasks *t, u32 tid);
/* The address space that a pointer stands for at this point. 0 for pointer 0. */
struct mm_id tasks_mm(struct tasks *t, u64 pointer, struct task_id by);
/* The first address space a thread locks or faults in is its own. */
void tasks_mm_enter(struct tasks *t, struct task_id by, struct mm_id mm);
/*
 * An exit or exec of @by ends its address space unless another living thread still has it. Without
 * @may_end one is known to be left, though none may have been seen.
 */
void tasks_mm_leave(struct tasks *t, struct task_id by, bool may_end);

/* A sched_switch (or an event of its own: as prev) at @time_ns shows the thread with @prio. False
 * when out of memory. */
bool task_note_prio(struct task *task, u64 time_ns, s32 prio, bool as_prev);
/* By the last sched_switch at or before @time_ns; late when the first one came later, never when
 * that one is forgotten. */
struct prio_ref task_prio_at(const struct tasks *t, struct task_id id, u64 time_ns);
/* For a reference that was not known: the first sched_switch that showed the thread as prev. */
bool task_late_prio(const struct tasks *t, struct prio_ref ref, s32 *ret);
void task_note_state(struct task *task, u64 time_ns, enum task_state state);
enum task_state task_state_at(const struct task *task, u64 time_ns);

#endif
