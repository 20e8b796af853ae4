/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/maps.bpf.h: the maps, and a thread's entry in them. Layer: bpf.
 *
 * Two builds: what is kept of a thread lies in its task storage, or (-DSTATE_HASH) in a hash map by
 * tid. The first reads kernel memory through typed pointers, which costs a load; the second must do
 * where a program type has none (raw_tp), and copies by probe reads.
 */
#ifndef MMSCOPE_BPF_MAPS_BPF_H
#define MMSCOPE_BPF_MAPS_BPF_H

#include "bpf/shared.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define INLINE static __always_inline
#define NOINLINE static __attribute__((noinline))
/*
 * Not static: verified once, by itself, and not again for each path of each caller. Its pointers
 * may be NULL for all the verifier knows. What loops is one of these.
 */
#define GLOBAL __attribute__((noinline))

#ifdef STATE_HASH
#define FIELD(pointer, member) BPF_CORE_READ(pointer, member)
#else
#define FIELD(pointer, member) ((pointer)->member)
#endif

const volatile struct bpf_config config SEC(".rodata.config");
struct bpf_counters counters SEC(".data.counters");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the loader sets it */
} ring SEC(".maps");

#ifdef STATE_HASH
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_MAX_THREADS);
	__type(key, u32);
	__type(value, struct bpf_thread);
} threads SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bpf_thread);
} thread_zero SEC(".maps");
#else
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bpf_thread);
} threads SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_MAX_DEAD);
	__type(key, struct bpf_dead_key);
	__type(value, struct bpf_dead);
} dead SEC(".maps");
/* The rest, when ->dead is full. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bpf_dead);
} dead_others SEC(".maps");
/* Zeroes, to make an entry of ->dead from. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bpf_dead);
} dead_zero SEC(".maps");

/* Of the stacks told so far: their ids. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, u8);
} stacks_told SEC(".maps");

struct scratch {
	struct bpf_rec_stack stack;
	u64 frames[BPF_MAX_FRAMES];
};
/* Programs on tracepoints run with preemption off, and none of those that use it interrupts
 * another. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

#define SCAN_BYTES 4096
#define SCAN_WORDS (SCAN_BYTES / 8)
struct scan {
	u64 words[SCAN_WORDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scan);
} scans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_MAX_WATCHED);
	__type(key, u64);
	__type(value, struct bpf_watched_mm);
} watched_mms SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_MAX_WATCHED);
	__type(key, u32);
	__type(value, struct bpf_watched_tgid);
} watched_tgids SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} cgroups SEC(".maps");

INLINE struct task_struct *task_current(void)
{
	return bpf_get_current_task_btf();
}

/* Of a task that is new here. */
NOINLINE int thread_init(struct bpf_thread *t, struct task_struct *task)
{
	t->tid = FIELD(task, pid);
	t->tgid = FIELD(task, tgid);
	t->own = t->tgid == config.own_tgid;
	t->exited = (FIELD(task, flags) & PF_EXITING) != 0;
#ifdef STATE_HASH
	bpf_core_read(&t->comm, sizeof(t->comm), &task->comm);
#endif
	t->task = (u64)task;
	return 0;
}

#ifdef STATE_HASH
/* NULL when nothing is kept of it. A tid of before the task was born is not its own. */
INLINE struct bpf_thread *thread_find(struct task_struct *task)
{
	u32 tid = FIELD(task, pid);
	struct bpf_thread *t = bpf_map_lookup_elem(&threads, &tid);

	return t && t->task == (u64)task ? t : NULL;
}

INLINE struct bpf_thread *thread_get(struct task_struct *task)
{
	u32 tid = FIELD(task, pid), zero = 0;
	struct bpf_thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (likely(t && t->task == (u64)task))
		return t;
	t = bpf_map_lookup_elem(&thread_zero, &zero);
	if (!t)
		return NULL;
	bpf_map_update_elem(&threads, &tid, t, BPF_ANY);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t) {
		__sync_fetch_and_add(&counters.states_refused, 1);
		return NULL;
	}
	thread_init(t, task);
	return t;
}
#else
INLINE struct bpf_thread *thread_find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

INLINE struct bpf_thread *thread_get(struct task_struct *task)
{
	struct bpf_thread *t =
		bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (unlikely(!t)) {
		__sync_fetch_and_add(&counters.states_refused, 1);
		return NULL;
	}
	if (unlikely(!t->task))
		thread_init(t, task);
	return t;
}
#endif

#endif
