/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/snapshot.bpf.h: what lasts, and the totals, of all threads, by the task iterator. Layer: bpf.
 * It holds a reference to each task and no lock of it, so a stuck process cannot stop it.
 */
#ifndef MMSCOPE_BPF_SNAPSHOT_BPF_H
#define MMSCOPE_BPF_SNAPSHOT_BPF_H

#include "bpf/sleep.bpf.h"

#ifndef STATE_HASH
struct snapshot {
	struct scratch scratch;
	struct bpf_who owner;
	u64 owner_stack;
	u32 owner_flags;
	u32 pad;
	struct bpf_rec_wait wait;
	struct bpf_rec_sleep sleep;
	struct bpf_rec_totals totals; /* up to its counts */
};
/* One reader at a time: the loader's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct snapshot);
} snapshots SEC(".maps");

/* The frames in scratch into the output; their id. Told each time: the output may be thrown away.
 */
NOINLINE u64 snapshot_stack(struct seq_file *seq, struct scratch *s, long bytes)
{
	u64 id, n = bytes > 0 ? (u64)bytes / sizeof(s->frames[0]) : 0;

	if (!n || n > BPF_MAX_FRAMES)
		return 0;
	id = stack_hash(s, n, 0);
	bpf_seq_write(seq, s, stack_record(s, id, n, 0));
	return id;
}

INLINE void snapshot_who(struct bpf_who *w, struct task_struct *task)
{
	w->tid = task->pid;
	w->tgid = task->tgid;
	w->prio = task->prio;
	w->state = task_state(task->__state);
	bpf_core_read(&w->comm, sizeof(w->comm), &task->comm);
}

/* Who has the lock now, as it is now: after seconds of waiting that says more than at its start. */
NOINLINE int snapshot_owner(struct snapshot *o, u64 address)
{
	struct mm_struct *mm = (void *)address;
	u64 word = 0;

	o->owner_stack = 0;
	o->owner_flags = 0;
	if (bpf_core_field_exists(mm->mmap_lock.owner))
		word = BPF_CORE_READ(mm, mmap_lock.owner.counter);
	__builtin_memset(&o->owner, 0, sizeof(o->owner));
	if (!(word & ~(u64)RWSEM_OWNER_FLAGS) ||
	    !who_read(&o->owner, word & ~(u64)RWSEM_OWNER_FLAGS))
		return 0;
	o->owner_flags = word & RWSEM_READER_OWNED ? 0 : BFLAG_OWNER_WRITES;
	return 1;
}

NOINLINE int snapshot_owner_stack(struct seq_file *seq, struct snapshot *o)
{
	struct task_struct *owner;
	long bytes;

	if (!o->owner.tid || o->owner.state == BSTATE_RUNNING)
		return 0;
	owner = bpf_task_from_pid(o->owner.tid);
	if (!owner)
		return 0;
	bytes = bpf_get_task_stack(owner, o->scratch.frames, sizeof(o->scratch.frames), 0);
	bpf_task_release(owner);
	o->owner_stack = snapshot_stack(seq, &o->scratch, bytes);
	return 0;
}

INLINE void snapshot_wait(struct seq_file *seq, struct task_struct *task, struct bpf_thread *t,
			  struct snapshot *o, u64 now, bool owner_stacks)
{
	struct bpf_rec_wait *r = &o->wait;
	struct bpf_slot *s;
	u32 i = t->waits - 1;
	long bytes;

	if (i >= BPF_SLOTS)
		return;
	s = &t->slots[i];
	if (s->phase != BSLOT_WAITS || now - s->begin_ns < counters.snapshot_min_age_ns)
		return;
	if (snapshot_owner(o, s->mm) && owner_stacks)
		snapshot_owner_stack(seq, o);
	bytes = bpf_get_task_stack(task, o->scratch.frames, sizeof(o->scratch.frames), 0);
	head_fill(&r->head, BREC_WAIT, sizeof(*r), now);
	r->stack = snapshot_stack(seq, &o->scratch, bytes);
	snapshot_who(&r->who, task);
	r->begin_ns = s->begin_ns;
	r->mm = s->mm;
	r->woken_ns = t->slept ? t->woken_ns : 0;
	r->waker_tid = t->slept ? t->waker_tid : 0;
	r->user_stack = 0;
	call_fill(&r->call, task);
	r->flags = BFLAG_OPEN | (s->write ? BFLAG_WRITE : 0) | (t->slept ? 0 : BFLAG_SPUN) |
		   o->owner_flags;
	r->owner = o->owner;
	r->owner_stack = o->owner_stack;
	bpf_seq_write(seq, r, sizeof(*r));
}

INLINE void snapshot_sleep(struct seq_file *seq, struct bpf_thread *t, struct snapshot *o, u64 now)
{
	struct bpf_rec_sleep *r = &o->sleep;

	*r = t->sleep;
	if (now - r->begin_ns < counters.snapshot_min_age_ns)
		return;
	head_fill(&r->head, BREC_SLEEP, sizeof(*r), now);
	r->flags |= BFLAG_OPEN;
	r->woken_ns = t->woken_ns;
	r->waker_tid = t->waker_tid;
	bpf_seq_write(seq, r, sizeof(*r));
}

INLINE bool totals_any(const struct bpf_totals *c)
{
	return c->wait[0].count | c->wait[1].count | c->hold[0].count | c->hold[1].count |
	       c->failed_tries[0] | c->failed_tries[1] | c->faults[0] | c->faults[1];
}

INLINE void snapshot_totals(struct seq_file *seq, struct task_struct *task, struct bpf_thread *t,
			    struct snapshot *o, u64 now)
{
	struct bpf_rec_totals *r = &o->totals;

	if (t->exited || !totals_any(&t->totals))
		return;
	head_fill(&r->head, BREC_TOTALS, sizeof(*r), now);
	r->tid = t->tid;
	r->tgid = t->tgid;
	bpf_core_read(&r->comm, sizeof(r->comm), &task->comm);
	r->flags = t->own ? BFLAG_OWN : 0;
	bpf_seq_write(seq, r, BPF_TOTALS_AT);
	bpf_seq_write(seq, &t->totals, sizeof(t->totals));
}

INLINE int snapshot_task(struct bpf_iter__task *ctx, bool owner_stacks)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	u64 now = bpf_ktime_get_ns();
	struct bpf_watched_tgid *w;
	struct bpf_thread *t;
	struct snapshot *o;
	u32 zero = 0;

	if (!task)
		return 0;
	if (config.filter_mm) {
		w = watch_of(task->tgid);
		if (w && task->mm && w->mm != (u64)task->mm)
			watch_set_mm(w, task->tgid, (u64)task->mm);
	}
	o = bpf_map_lookup_elem(&snapshots, &zero);
	t = thread_find(task);
	if (!t || !o)
		return 0;
	if (t->waits && !t->own)
		snapshot_wait(seq, task, t, o, now, owner_stacks);
	if (t->asleep)
		snapshot_sleep(seq, t, o, now);
	if (counters.snapshot_totals)
		snapshot_totals(seq, task, t, o, now);
	return 0;
}
#endif

#endif
