/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire/event.h: the fixed-size event that every decoder makes and the model consumes.
 * Layer: wire. No pointers, no long: strings are ids of the trace's struct intern.
 */
#ifndef MMSCOPE_WIRE_EVENT_H
#define MMSCOPE_WIRE_EVENT_H

#include "base/types.h"

enum event_kind {
	EV_NONE = 0,
#define EVENT(id, KIND, system, name, class, payload, doc) EV_##KIND = id,
#include "wire/events.def"
#undef EVENT
	EV_LIMIT /* one more than the largest id */
};

enum as_call {
	CALL_NONE = 0,
#define CALL(id, KIND, name, x86_64, i386, arm64, origin) CALL_##KIND = id,
#include "wire/calls.def"
#undef CALL
	CALL_LIMIT
};

/* event.has: which optional fields the record really carried. A field without its bit is 0. */
enum event_has {
	EVH_MM = 1 << 0,      /* mm= with a usable value; (null) and (____ptrval____) are not */
	EVH_VMA = 1 << 1,     /* vma= with a usable value */
	EVH_RANGE = 1 << 2,   /* vm_start= and vm_end=, or vm=[a,b] */
	EVH_ADDRESS = 1 << 3, /* address= */
	EVH_RET = 1 << 4,     /* ret=, or a system call's result */
	EVH_FILE = 1 << 5,    /* ino= and dev= */
	EVH_WRITE = 1 << 6,   /* write= */
	EVH_SUCCESS = 1 << 7, /* success= */
	EVH_TGID = 1 << 8,    /* event.tgid was printed as a number */
	EVH_PRIO = 1 << 9,    /* priorities were printed */
	EVH_FLAGS = 1 << 10,  /* flags= */
	EVH_BAD_PID =
		1 << 11, /* pid= differs from the header's thread id (some trees print the tgid) */
	/* BPF records tell of the thread itself, whatever the event: */
	EVH_SELF_PRIO = 1 << 12,  /* event.prio */
	EVH_SELF_STATE = 1 << 13, /* event.state: from here on */
	EVH_WAKER = 1 << 15,	  /* VMA_WRITE_WAIT_END: ev_vma.woken_ns and waker_tid */
	EVH_SELF_CALL = 1 << 14	  /* event.call: CALL_NONE = in none that changes mappings */
};

struct ev_fault { /* filemap_fault_*, fault_mmap_lock_fallback */
	u64 vma, address, ino, pgoff;
	u32 dev; /* major << 20 | minor */
	u32 ret;
	u32 reason;	     /* intern id */
	u32 under_mmap_lock; /* FAULT_WAIT_START of BPF: it held mmap_lock to read, so no VMA lock
			      */
};
struct ev_vma { /* vma_start_write_*, vma_start_read* */
	u64 vma, vm_start, vm_end;
	union {
		u64 flags;
		u64 woken_ns; /* EVH_WAKER: when the last reader of the VMA let go */
	};
	u64 ino;
	u32 dev;
	u32 caller; /* intern id of the function name, without +0xoff/0xsize */
	u32 reason;
	union {
		u32 had_reader;
		u32 waker_tid; /* EVH_WAKER: that reader */
	};
};
struct ev_blocked { /* *_blocked: "this thread waited wait_ns for blocker_tid" */
	u64 wait_ns, vm_start, vm_end;
	u32 blocker_tid, blocker_tgid, blocker_comm;
	u32 pad;
};
struct ev_lock { /* mmap_lock_*, both families */
	u32 write, success;
	u32 caller;	/* intern id of ip= where a vendor prints it */
	u32 downgraded; /* a read hold that began as a downgrade, where the event says so */
	/* LOCK_WAIT_END of BPF, read: when the lock was given to it, though it did not run yet;
	 * else 0 */
	u64 granted_ns;
	/* LOCK_WAIT_START of BPF: the rwsem's owner when the waiter went to sleep; tid 0 = unknown
	 */
	u32 owner_tid, owner_tgid, owner_comm, owner_stack;
	u32 owner_state; /* enum self_state */
	u32 owner_write;
};
struct ev_sched {
	u32 prev_tid, next_tid, prev_comm, next_comm;
	s32 prev_prio, next_prio;
	u32 prev_state; /* enum sched_state */
	u32 pad;
};
/* What a thread does when it is switched away from. */
enum sched_state {
	SCHED_RUNNABLE = 0, /* R, R+: preempted */
	SCHED_SLEEPING,	    /* S and every other interruptible state */
	SCHED_BLOCKED,	    /* D: uninterruptible, mostly I/O or a lock */
	SCHED_DEAD	    /* X, Z */
};
/* What the thread of an event does from then on. */
enum self_state { SELF_UNKNOWN, SELF_RUNNING, SELF_RUNNABLE, SELF_SLEEPING, SELF_BLOCKED };
struct ev_wake {
	u32 tid, comm;
	s32 prio;
	u32 pad;
};
struct ev_fork {
	u32 parent_tid, child_tid, parent_comm, child_comm;
};
struct ev_exec {
	u32 filename, tid, old_tid, pad;
};
struct ev_exit {
	u32 tid, comm;
	s32 prio;
	u32 group_dead; /* 0 no, 1 yes, 2 not printed */
};
struct ev_rename {
	u32 tid, old_comm, new_comm, pad;
};
struct ev_newtask {
	u64 clone_flags;
	u32 tid, comm;
};
struct ev_call {
	u64 args[6]; /* as printed; on exit args[0] is the result, two's complement */
	u32 call;    /* enum as_call */
	u32 nr;	     /* raw number where only that was printed, else ~0 */
};
struct ev_page_fault {
	u64 address, ip, error_code;
};
struct ev_marker {
	u32 text; /* intern id; markers beyond the intern limit are 0 */
	u32 pad;
};
struct ev_stack {
	u32 stack;	/* id in the trace's struct stacks */
	u32 class_name; /* intern id of <class> when the first frame is
			   trace_event_raw_event_<class>, else 0 */
};

struct event {
	u64 time_ns;
	u64 line; /* line (text) or record number in its stream, from 1: for messages */
	u64 mm;	  /* as printed: hashed in text, the pointer in raw rings; 0 = none */
	u16 kind; /* enum event_kind */
	u16 cpu;
	u32 tid;
	u32 tgid;  /* valid with EVH_TGID */
	u32 comm;  /* intern id; 0 = unknown ("<...>") */
	u32 stack; /* kernel stack id, 0 = none; set when a STACK joins this event */
	u32 user_stack;
	u32 has;  /* enum event_has bits */
	u32 name; /* intern id of the event's name for EV_OTHER, else 0 */
	s32 prio; /* EVH_SELF_PRIO */
	u8 call;  /* EVH_SELF_CALL: enum as_call */
	u8 state; /* EVH_SELF_STATE: enum self_state */
	u16 pad;
	union {
		struct ev_fault fault;
		struct ev_vma vma;
		struct ev_blocked blocked;
		struct ev_lock lock;
		struct ev_sched sched;
		struct ev_wake wake;
		struct ev_fork fork;
		struct ev_exec exec;
		struct ev_exit exit;
		struct ev_rename rename;
		struct ev_newtask newtask;
		struct ev_call call;
		struct ev_page_fault page_fault;
		struct ev_marker marker;
		struct ev_stack stack;
	} u;
};

_Static_assert(sizeof(struct ev_vma) == 56, "struct ev_vma is the largest payload");
_Static_assert(sizeof(struct event) == 120,
	       "struct event is part of the contract between decoders and model");

#endif
