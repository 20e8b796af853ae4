/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/watch.bpf.h: the filter by address space: those of the watched processes and of what they
 * fork. Layer: bpf. A thread of any process that locks one of them is in, since it may block them.
 */
#ifndef MMSCOPE_BPF_WATCH_BPF_H
#define MMSCOPE_BPF_WATCH_BPF_H

#include "bpf/maps.bpf.h"

INLINE void watch_changed(void)
{
	__sync_fetch_and_add(&counters.watch_gen, 1);
}

/* The process @tgid, a watched one, has @mm now. */
NOINLINE int watch_set_mm(struct bpf_watched_tgid *w, u32 tgid, u64 mm)
{
	struct bpf_watched_mm value = { .tgid = tgid }, *old;
	u64 before = w->mm;

	w->mm = mm;
	if (before && before != mm) {
		old = bpf_map_lookup_elem(&watched_mms, &before);
		/* vfork: the parent goes on in it */
		if (old && old->tgid == tgid)
			bpf_map_delete_elem(&watched_mms, &before);
	}
	if (mm)
		bpf_map_update_elem(&watched_mms, &mm, &value, BPF_NOEXIST);
	watch_changed();
	return 0;
}

NOINLINE int watch_judge(struct bpf_thread *t, u64 mm)
{
	u64 gen = counters.watch_gen;
	bool is = bpf_map_lookup_elem(&watched_mms, &mm) != NULL;
	u32 tgid = t->tgid;

	if (!is) {
		struct bpf_watched_tgid *w = bpf_map_lookup_elem(&watched_tgids, &tgid);
		struct task_struct *task = task_current();

		/* one that was watched before its address space was known */
		if (w && (u64)FIELD(task, mm) == mm) {
			watch_set_mm(w, tgid, mm);
			gen = counters.watch_gen;
			is = true;
		}
	}
	t->judged_mm = mm;
	t->judged = is;
	t->judged_gen = gen;
	return is;
}

/* Asked at every event of every thread: without a filter it is nothing, with one a comparison. */
INLINE bool watch_has(struct bpf_thread *t, u64 mm)
{
	if (!config.filter_mm)
		return true;
	if (t->judged_mm == mm && t->judged_gen == counters.watch_gen)
		return t->judged;
	return watch_judge(t, mm);
}

INLINE struct bpf_watched_tgid *watch_of(u32 tgid)
{
	return bpf_map_lookup_elem(&watched_tgids, &tgid);
}

INLINE void watch_fork(u32 tgid, u32 child_tgid, u64 child_mm)
{
	struct bpf_watched_tgid none = { 0 }, *w;

	if (!config.filter_mm || tgid == child_tgid || !watch_of(tgid))
		return;
	bpf_map_update_elem(&watched_tgids, &child_tgid, &none, BPF_NOEXIST);
	w = watch_of(child_tgid);
	if (w)
		watch_set_mm(w, child_tgid, child_mm);
}

/* All threads of the process are gone. */
INLINE void watch_end(u32 tgid)
{
	struct bpf_watched_tgid *w = watch_of(tgid);

	if (!w)
		return;
	watch_set_mm(w, tgid, 0);
	bpf_map_delete_elem(&watched_tgids, &tgid);
}

#endif
