/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/shared.h: what the BPF programs and their loader (src/live/bpf_load.c) both see: the
 * settings, the counters, and what is kept of each thread. Layer: bpf. Not stored anywhere: may
 * change.
 */
#ifndef MMSCOPE_BPF_SHARED_H
#define MMSCOPE_BPF_SHARED_H

#ifdef __bpf__
#include "bpf/kernel_types.h"
#endif
#include "wire/bpf_record.h"

#define BPF_MAX_RANGES 16
#define BPF_MAX_TRACING 32
#define BPF_SKIP_FRAMES 4  /* main program, emitter, stack_kernel(), stack_walk() */
#define BPF_MAX_FRAMES 127 /* kernel.perf_event_max_stack, unless it was raised */
#define BPF_SLOTS 4	   /* address spaces that one thread locks at a time; fork needs 2 */

/* Constants for the verifier: what they turn off is never loaded. In ".rodata.config". */
struct bpf_range {
	u64 start, end;
	u64 sleep_class; /* enum bpf_sleep_class */
};
struct bpf_config {
	u64 min_wait_ns;
	u32 own_tgid;
	u32 n_ranges;
	u64 ranges_lo, ranges_hi; /* around all of them */
	struct bpf_range ranges[BPF_MAX_RANGES];
	/* of the functions between the event and the program: their frames are told as 0 */
	struct bpf_range tracing[BPF_MAX_TRACING];
	u32 n_tracing;
	u8 user_stacks, faults, filter_mm, cgroup;
	/* up to 6.13 the mmap_lock events have a memcg_path behind mm: the rest is one further */
	u8 lock_arg_shift;
	u8 switch_tells_state; /* 5.18: fourth argument of sched_switch */
	u8 lock_tells_success; /* acquire_returned has it */
	u8 faults_traced;      /* page_fault_user, page_fault_kernel */
	/* of the classic tracepoints' records, in bytes */
	u16 tp_mm, tp_write, tp_success;
	u16 lock_skip; /* frames of the program itself in the stacks of these events */
};

/* In ".data.counters", mapped by the loader. */
struct bpf_lost {
	u64 n[BREC_LIMIT];
	u64 first_ns, last_ns; /* the loader sets first_ns to 0 when it has read them */
};
struct bpf_counters {
	struct bpf_lost lost;
	u64 states_refused; /* threads there was no room for */
	u64 slots_refused;  /* a thread that locks more than BPF_SLOTS address spaces */
	u64 dead_refused;   /* processes that are in the sum of all others */
	u64 holds_untold; /* short ones in a flood, see lock.bpf.h; a little less than there were */
	u64 watch_gen;	  /* changes with the set of watched address spaces */
	s64 asleep;	  /* threads in a sleep that will be told */
	s64 asleep_lightly; /* those of them that sleep interruptibly */
	s64 faults_open;    /* threads whose fault slept and is not known to be over */
	/* what the next snapshot is to tell: set by the loader */
	u64 snapshot_min_age_ns;
	u64 snapshot_totals;
};

enum bpf_slot_phase { BSLOT_IDLE = 0, BSLOT_WAITS, BSLOT_HOLDS };
/* A thread and one mmap_lock. */
struct bpf_slot {
	u64 mm;
	u64 begin_ns; /* of the phase */
	u64 owner;    /* rwsem.owner at the start of a wait */
	u8 phase;     /* enum bpf_slot_phase */
	u8 write;
	u8 downgraded; /* the hold began so */
	u8 retry;      /* the wait of a fault's retry */
	u32 pad;
};
/* Where a thread last gave a lock back in some way, inside a system call. */
struct bpf_hold_stack {
	u64 walked_ns;
	u64 stack, user_stack;
	s32 nr;
	u32 pad;
};
#define BPF_SHORT_HOLDS 64	    /* of a thread that are told in each */
#define BPF_SHORT_HOLDS_NS 10000000 /* ... 10 ms */
#define BPF_HOLD_WAYS 4		    /* read, write; with or without a downgrade */
#define BPF_HOLD_STACK_NS 1000000   /* for so long it stands for that of a short hold */
enum bpf_fault_phase {
	BFAULT_NONE = 0,
	BFAULT_SLEPT,  /* at least once, and is not over */
	BFAULT_RETRIED /* and went on under mmap_lock */
};

/* As in struct bpf_rec_totals, which see. */
struct bpf_totals {
	u64 failed_tries[2], failed_tries_ns[2];
	u64 faults[2];
	struct bpf_dist wait[2], hold[2];
};
#define BPF_TOTALS_AT __builtin_offsetof(struct bpf_rec_totals, failed_tries)

/* What is kept of a thread; its first members are all that the uncontended path touches. */
struct bpf_thread {
	u64 judged_mm; /* whether this one is watched: as of watch_gen */
	u64 judged_gen;
	u32 tid, tgid;
	u8 judged;
	u8 own;	   /* a thread of mmscope */
	u8 exited; /* its totals are with those of the dead */
	u8 waits;  /* 1 + the slot it waits in, 0 = none */
	u8 slept;  /* during that wait */
	u8 tells;  /* that wait is to be told: its thread is in the cgroup */
	u8 fault_phase;
	u8 asleep; /* ->sleep lasts */
	struct bpf_slot slots[BPF_SLOTS];
	u64 task;     /* struct task_struct *: what a hash map's entry is of */
	u64 vma_lock; /* up to 6.14: the rwsem it contends for while it holds mmap_lock */
	u64 fault_ns; /* its last page_fault_user/kernel */
	u64 fault_address;
	u64 fault_done; /* min_flt + maj_flt while ->fault_phase */
	u64 fault_mm;
	u64 woken_ns;
	u32 waker_tid;
	u32 lightly;		   /* ->sleep is interruptible */
	char comm[BPF_COMM_BYTES]; /* hash map only: user space reads it from there */
	struct bpf_who owner;	   /* of the lock it waits for */
	u64 owner_stack;
	u64 wait_stack; /* hash map only: of its first sleep in this wait */
	struct bpf_hold_stack hold_stacks[BPF_HOLD_WAYS];
	u64 short_since_ns;
	u32 short_told, short_untold; /* holds since then */
	u32 owner_writes;
	s32 wait_prio; /* hash map only */
	struct bpf_totals totals;
	struct bpf_rec_sleep sleep; /* filled when it left the CPU */
};

/* Sums over the ended threads of a process; one entry per CPU so that nobody adds to it twice. */
struct bpf_dead_key {
	u32 tgid, cpu;
};
#define BPF_MAX_DEAD 16384
struct bpf_dead {
	struct bpf_totals totals;
	char comm[BPF_COMM_BYTES];
	u32 own;
	u32 pad;
};

struct bpf_watched_mm {
	u32 tgid; /* whose end is its end; others that have it too put it back when it is missed */
	u32 pad;
};
struct bpf_watched_tgid {
	u64 mm; /* 0 = not known yet */
};
#define BPF_MAX_WATCHED 16384
#define BPF_MAX_THREADS 16384 /* hash map */

#endif
