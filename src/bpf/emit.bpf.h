/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/emit.bpf.h: records into the ring buffer: threads, system calls, stacks. Layer: bpf. */
#ifndef MMSCOPE_BPF_EMIT_BPF_H
#define MMSCOPE_BPF_EMIT_BPF_H

#include "bpf/maps.bpf.h"

GLOBAL int record_lost(u32 kind)
{
	u64 now = bpf_ktime_get_ns();

	if (kind < BREC_LIMIT)
		__sync_fetch_and_add(&counters.lost.n[kind], 1);
	if (!counters.lost.first_ns)
		counters.lost.first_ns = now;
	counters.lost.last_ns = now;
	return 0;
}

/* The reader drains on a timer: waking it up for a record costs more than all the rest. */
#define record_submit(r) bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP)

INLINE void head_fill(struct bpf_rec_head *h, u32 kind, u32 size, u64 now)
{
	h->kind = kind;
	h->size = size;
	h->cpu = bpf_get_smp_processor_id();
	h->time_ns = now;
}

INLINE u32 task_state(u32 state)
{
	if (!state)
		return BSTATE_RUNNABLE;
	if (state & TASK_INTERRUPTIBLE)
		return BSTATE_SLEEPING;
	if (state & TASK_UNINTERRUPTIBLE)
		return BSTATE_BLOCKED;
	return state & TASK_DEAD ? BSTATE_DEAD : BSTATE_UNKNOWN;
}

/* The running thread. */
INLINE void who_current(struct bpf_who *w, struct bpf_thread *t, struct task_struct *task,
			u32 state)
{
	w->tid = t->tid;
	w->tgid = t->tgid;
	w->prio = FIELD(task, prio);
	w->state = state;
	bpf_get_current_comm(w->comm, sizeof(w->comm));
}

/*
 * Any other task, by probe reads: safe wherever @task points to, as an owner that has let go and
 * died may be. False when no thread can be there.
 */
GLOBAL int who_read(struct bpf_who *w, u64 address)
{
	struct task_struct *task = (void *)address;
	u32 state;

	if (!w)
		return 0;
	w->tid = BPF_CORE_READ(task, pid);
	w->tgid = BPF_CORE_READ(task, tgid);
	if (!w->tgid || w->tid > 1 << 22 || w->tgid > 1 << 22) {
		w->tid = w->tgid = 0;
		return 0;
	}
	w->prio = BPF_CORE_READ(task, prio);
	bpf_core_read(&w->comm, sizeof(w->comm), &task->comm);
	state = task_state(BPF_CORE_READ(task, __state));
	if (state == BSTATE_RUNNABLE && bpf_core_field_exists(task->on_cpu) &&
	    BPF_CORE_READ(task, on_cpu))
		state = BSTATE_RUNNING;
	w->state = state;
	return 1;
}

/*
 * The saved user registers say which call a thread is inside: in a fault or interrupt from user
 * mode x86 has -1 for its number, arm64 NO_SYSCALL (-1).
 */
INLINE struct pt_regs *user_regs(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

#ifdef __TARGET_ARCH_x86
#define TS_COMPAT 2 /* thread_info.status: in a call of the 32-bit table */
INLINE s64 call_nr(struct task_struct *task)
{
	return (s64)user_regs(task)->orig_ax;
}

INLINE void call_args(struct bpf_in_call *c, struct task_struct *task)
{
	struct pt_regs *regs = user_regs(task);

	c->is_32bit = (FIELD(task, thread_info.status) & TS_COMPAT) != 0;
	if (c->is_32bit) {
		c->args[0] = (u32)regs->bx;
		c->args[1] = (u32)regs->cx;
		c->args[2] = (u32)regs->dx;
		c->args[3] = (u32)regs->si;
	} else {
		c->args[0] = regs->di;
		c->args[1] = regs->si;
		c->args[2] = regs->dx;
		c->args[3] = regs->r10;
	}
}
#else
#define TIF_32BIT 22
INLINE s64 call_nr(struct task_struct *task)
{
	return user_regs(task)->syscallno;
}

INLINE void call_args(struct bpf_in_call *c, struct task_struct *task)
{
	struct pt_regs *regs = user_regs(task);

	c->is_32bit = (FIELD(task, thread_info.flags) >> TIF_32BIT) & 1;
	c->args[0] = regs->orig_x0;
	c->args[1] = regs->regs[1];
	c->args[2] = regs->regs[2];
	c->args[3] = regs->regs[3];
}
#endif

/* @task: typed by the verifier (the running one, or an iterator's). */
NOINLINE int call_fill(struct bpf_in_call *c, struct task_struct *task)
{
	s64 nr = BPF_NO_CALL;

	if (!(FIELD(task, flags) & PF_KTHREAD))
		nr = call_nr(task);
	c->nr = nr < 0 ? BPF_NO_CALL : (s32)nr;
	c->is_32bit = 0;
	c->args[0] = c->args[1] = c->args[2] = c->args[3] = 0;
	if (nr >= 0)
		call_args(c, task);
	return 0;
}

INLINE struct scratch *scratch_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/* A number for the frames, never 0. Equal frames of two processes differ when @tgid does. */
GLOBAL u64 stack_hash(const struct scratch *s, u32 n, u32 tgid)
{
	u64 h = 0xcbf29ce484222325ULL ^ tgid;

	if (!s)
		return 0;
	for (u32 i = 0; i < BPF_MAX_FRAMES && i < n; i++) {
		h = (h ^ s->frames[i]) * 0x9fb21c651e98df25ULL;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

INLINE u32 stack_record(struct scratch *s, u64 id, u32 n, u32 tgid)
{
	u32 size = sizeof(s->stack) + n * sizeof(s->frames[0]);

	head_fill(&s->stack.head, BREC_STACK, size, bpf_ktime_get_ns());
	s->stack.id = id;
	s->stack.tgid = tgid;
	s->stack.flags = tgid ? BFLAG_USER : 0;
	s->stack.n = n;
	s->stack.pad = 0;
	return size;
}

/* The frames in scratch, into the ring if they were not yet. Their id, 0 = none. */
GLOBAL u64 stack_tell(struct scratch *s, u64 n, u32 tgid)
{
	u64 id;
	u8 one = 1;

	if (!s || !n)
		return 0;
	/* one test of n - 1 for both would leave n without a bound for verifiers before 6.10 */
	barrier_var(n);
	if (n > BPF_MAX_FRAMES)
		return 0;
	id = stack_hash(s, n, tgid);
	if (bpf_map_lookup_elem(&stacks_told, &id))
		return id;
	if (bpf_ringbuf_output(&ring, s, stack_record(s, id, n, tgid), BPF_RB_NO_WAKEUP))
		record_lost(BREC_STACK);
	else
		bpf_map_update_elem(&stacks_told, &id, &one, BPF_ANY);
	return id;
}

INLINE bool is_tracing(u64 ip)
{
	for (u32 i = 0; i < BPF_MAX_TRACING && i < config.n_tracing; i++) {
		if (ip - config.tracing[i].start < config.tracing[i].end - config.tracing[i].start)
			return true;
	}
	return false;
}

/*
 * How many frames lie between an event and a program differs between kernels:
 *	bpf_trace_run3 __traceiter_mmap_lock_acquire_returned __mmap_lock_do_trace_acquire_returned
 */
#define TRACING_FRAMES 5
GLOBAL int stack_strip(struct scratch *s)
{
	if (!s)
		return 0;
#pragma unroll
	for (u32 i = 0; i < TRACING_FRAMES; i++) {
		if (!is_tracing(s->frames[i]))
			break;
		s->frames[i] = 0;
	}
	return 0;
}

/*
 * Frames of the running thread into scratch; their number. @flags: how many calls deep the program
 * is itself.
 */
NOINLINE u64 stack_walk(void *ctx, struct scratch *s, u64 flags)
{
	long bytes = bpf_get_stack(ctx, s->frames, sizeof(s->frames), flags);

	if (bytes <= 0)
		return 0;
	if (!(flags & BPF_F_USER_STACK))
		stack_strip(s);
	return (u64)bytes / sizeof(s->frames[0]);
}

/* @skip: BPF_SKIP_FRAMES from a function that the program calls. */
NOINLINE u64 stack_kernel(void *ctx, u64 skip)
{
	struct scratch *s = scratch_get();

	return s ? stack_tell(s, stack_walk(ctx, s, skip), 0) : 0;
}

NOINLINE u64 stack_user(void *ctx, u32 tgid)
{
	struct scratch *s = scratch_get();

	return s ? stack_tell(s, stack_walk(ctx, s, BPF_F_USER_STACK), tgid) : 0;
}

/* Whether the running thread's waits are asked for. */
INLINE bool in_cgroup(void)
{
	return !config.cgroup || bpf_current_task_under_cgroup(&cgroups, 0) == 1;
}

#endif
