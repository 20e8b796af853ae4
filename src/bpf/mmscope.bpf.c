/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/mmscope.bpf.c: the BPF programs and what each is attached to. Layer: bpf. Built twice, see
 * maps.bpf.h. The loader (src/live/bpf_rungs.c) decides which of them this kernel gets.
 *
 * A raw tracepoint's arguments are words. With BTF (tp_btf) the verifier knows their types.
 */
#include "bpf/process.bpf.h"
#include "bpf/snapshot.bpf.h"

char _license[] SEC("license") = "GPL";

/* Words of the event, of which the verifier sees only those that exist: config is constant. */
#define ARG(i) (ctx[i])
INLINE u64 lock_arg(u64 *ctx, u32 i)
{
	u64 v;

	if (config.lock_arg_shift) {
		v = i == 1 ? ctx[2] : ctx[3];
		barrier_var(v);
	} else {
		v = i == 1 ? ctx[1] : ctx[2];
		barrier_var(v);
	}
	return v;
}

INLINE int on_start(u64 *ctx)
{
	return lock_starts(ctx, (struct mm_struct *)ctx[0], (u8)lock_arg(ctx, 1));
}

INLINE int on_acquired(u64 *ctx)
{
	u8 success = 1;

	if (config.lock_tells_success)
		success = (u8)lock_arg(ctx, 2);
	return lock_acquired(ctx, (struct mm_struct *)ctx[0], (u8)lock_arg(ctx, 1), success);
}

INLINE int on_released(u64 *ctx)
{
	return lock_released(ctx, (struct mm_struct *)ctx[0]);
}

INLINE u32 switch_state(u64 *ctx)
{
	u32 state;

	if (config.switch_tells_state) {
		state = (u32)ctx[3];
		barrier_var(state);
	} else {
		state = FIELD(task_current(), __state);
		barrier_var(state);
	}
	return state;
}

INLINE int on_switch(u64 *ctx, bool owner_stacks)
{
	bool preempted = (u8)ctx[0];
	u32 state = switch_state(ctx);

	if (unlikely(!preempted && (state & TASK_DEAD))) {
		thread_ends();
	} else if (switch_out(ctx, state, preempted) && owner_stacks) {
#ifndef STATE_HASH
		struct bpf_thread *t = thread_find(task_current());

		if (t)
			owner_stack_take(t);
#endif
	}
	switch_in((struct task_struct *)ctx[2]);
	return 0;
}

#define PROGRAM(name, section) SEC("?" section) int name(u64 *ctx)

#ifdef STATE_HASH
#define BOTH(name, event, body)              \
	PROGRAM(name, "tp_btf/" event)       \
	{                                    \
		return body;                 \
	}                                    \
	PROGRAM(raw_##name, "raw_tp/" event) \
	{                                    \
		return body;                 \
	}
#else
#define BOTH(name, event, body)        \
	PROGRAM(name, "tp_btf/" event) \
	{                              \
		return body;           \
	}
PROGRAM(switch_owner, "tp_btf/sched_switch")
{
	return on_switch(ctx, true);
}
SEC("?iter/task") int snapshot(struct bpf_iter__task *ctx)
{
	return snapshot_task(ctx, false);
}
SEC("?iter/task") int snapshot_owner_stacks(struct bpf_iter__task *ctx)
{
	return snapshot_task(ctx, true);
}
#endif

BOTH(lock_start, "mmap_lock_start_locking", on_start(ctx))
BOTH(lock_acquire, "mmap_lock_acquire_returned", on_acquired(ctx))
BOTH(lock_release, "mmap_lock_released", on_released(ctx))
BOTH(switch_plain, "sched_switch", on_switch(ctx, false))
BOTH(wake, "sched_waking", waking((struct task_struct *)ctx[0]))
BOTH(fault_user, "page_fault_user", fault_begins(ctx[0], 0))
BOTH(fault_kernel, "page_fault_kernel", fault_begins(ctx[0], 1))
BOTH(contend_begin, "contention_begin", contends(ctx[0]))
BOTH(contend_end, "contention_end", contention_ends())
BOTH(process_fork, "sched_process_fork", process_forks((struct task_struct *)ctx[1]))
BOTH(process_exec, "sched_process_exec", process_execs((u32)ctx[1]))
BOTH(process_exit, "sched_process_exit", process_exits())

#ifdef STATE_HASH
/* Classic tracepoints: the record as tracefs's format describes it, copied from where config says.
 */
INLINE u64 record_word(void *ctx, u16 at)
{
	u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), ctx + at);
	return v;
}

INLINE u8 record_byte(void *ctx, u16 at)
{
	u8 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), ctx + at);
	return v;
}

SEC("?tp/mmap_lock/mmap_lock_start_locking") int tp_lock_start(void *ctx)
{
	return lock_starts(ctx, (struct mm_struct *)record_word(ctx, config.tp_mm),
			   record_byte(ctx, config.tp_write));
}

SEC("?tp/mmap_lock/mmap_lock_acquire_returned") int tp_lock_acquire(void *ctx)
{
	u8 success = config.tp_success ? record_byte(ctx, config.tp_success) : 1;

	return lock_acquired(ctx, (struct mm_struct *)record_word(ctx, config.tp_mm),
			     record_byte(ctx, config.tp_write), success);
}

SEC("?tp/mmap_lock/mmap_lock_released") int tp_lock_release(void *ctx)
{
	return lock_released(ctx, (struct mm_struct *)record_word(ctx, config.tp_mm));
}
#endif
