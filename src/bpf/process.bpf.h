/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/process.bpf.h: fork, exec, exit, and the very end of a thread. Layer: bpf. */
#ifndef MMSCOPE_BPF_PROCESS_BPF_H
#define MMSCOPE_BPF_PROCESS_BPF_H

#include "bpf/sleep.bpf.h"

struct process_news {
	u32 what, child_tid, child_tgid, group_dead;
	u64 mm, child_mm;
};

NOINLINE int process_tell(const struct process_news *news)
{
	struct task_struct *task = task_current();
	struct bpf_rec_process *r;
	u64 ids = bpf_get_current_pid_tgid();

	if (config.filter_mm && !watch_of(ids >> 32))
		return 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r)
		return record_lost(BREC_PROCESS);
	head_fill(&r->head, BREC_PROCESS, sizeof(*r), bpf_ktime_get_ns());
	r->who.tid = (u32)ids;
	r->who.tgid = ids >> 32;
	r->who.prio = FIELD(task, prio);
	r->who.state = BSTATE_RUNNING;
	bpf_get_current_comm(r->who.comm, sizeof(r->who.comm));
	r->what = news->what;
	r->child_tid = news->child_tid;
	r->child_tgid = news->child_tgid;
	r->group_dead = news->group_dead;
	r->mm = news->mm;
	r->child_mm = news->child_mm;
	record_submit(r);
	return 0;
}

INLINE int process_forks(struct task_struct *child)
{
	struct task_struct *task = task_current();
	struct process_news news = {
		.what = BPROC_FORK,
		.child_tid = FIELD(child, pid),
		.child_tgid = FIELD(child, tgid),
		.mm = (u64)FIELD(task, mm),
		.child_mm = (u64)FIELD(child, mm),
	};

	watch_fork(FIELD(task, tgid), news.child_tgid, news.child_mm);
	return process_tell(&news);
}

/* An exec by another thread than the first takes over the first one's tid. */
INLINE void thread_renamed(struct task_struct *task, u32 old_tid)
{
	struct bpf_thread *t;
#ifdef STATE_HASH
	u32 tid = FIELD(task, pid);

	t = bpf_map_lookup_elem(&threads, &old_tid);
	if (t && t->task == (u64)task && tid != old_tid) {
		bpf_map_update_elem(&threads, &tid, t, BPF_ANY);
		bpf_map_delete_elem(&threads, &old_tid);
	}
#endif
	t = thread_find(task);
	if (!t)
		return;
	t->tid = FIELD(task, pid);
#ifdef STATE_HASH
	bpf_get_current_comm(t->comm, sizeof(t->comm));
#endif
}

INLINE int process_execs(u32 old_tid)
{
	struct task_struct *task = task_current();
	struct process_news news = { .what = BPROC_EXEC, .mm = (u64)FIELD(task, mm) };
	struct bpf_watched_tgid *w;
	u32 tgid = FIELD(task, tgid);

	thread_renamed(task, old_tid);
	if (config.filter_mm && (w = watch_of(tgid)))
		watch_set_mm(w, tgid, news.mm);
	return process_tell(&news);
}

INLINE int process_exits(void)
{
	struct task_struct *task = task_current();
	struct bpf_thread *t = thread_find(task);
	u64 mm = (u64)FIELD(task, mm);
	struct process_news news = {
		.what = BPROC_EXIT,
		.group_dead = BPF_CORE_READ(task, signal, live.counter) == 0,
		/* up to 6.15 the event comes after the thread has let its address space go */
		.mm = mm ? mm : (u64)FIELD(task, active_mm),
	};

	if (FIELD(task, flags) & PF_KTHREAD)
		news.mm = 0;
	if (t) {
		if (t->fault_phase)
			fault_over(t);
		totals_fold(t);
	}
	return process_tell(&news);
}

/* The last time the running thread is on a CPU: after all its locks, and after exit_mm(). */
INLINE void thread_ends(void)
{
	struct task_struct *task = task_current();
#ifdef STATE_HASH
	u32 tid = FIELD(task, pid);
	struct bpf_thread *t = thread_find(task);

	if (t)
		bpf_map_delete_elem(&threads, &tid);
#endif
	if (config.filter_mm && BPF_CORE_READ(task, signal, live.counter) == 0)
		watch_end(FIELD(task, tgid));
}

#endif
