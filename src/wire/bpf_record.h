/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire/bpf_record.h: the records that the BPF programs (src/bpf) write, the ring buffer carries and
 * bpf.mmscope stores, byte by byte. Layer: wire; shared with BPF. docs/FORMAT.md describes the
 * file.
 *
 * Rules: native endian (the file header tells which), every member naturally aligned, no pointers,
 * every record a multiple of 8 bytes. A record may grow at its end: readers take what they know of
 * it and skip the rest by head.size; members that a shorter record lacks are 0. All times are
 * CLOCK_MONOTONIC in ns (bpf_ktime_get_ns()). A tid or tgid is that of the first PID namespace.
 */
#ifndef MMSCOPE_WIRE_BPF_RECORD_H
#define MMSCOPE_WIRE_BPF_RECORD_H

#ifndef __bpf__ /* there bpf/shared.h comes first and has the integers */
#include "base/types.h"
#endif

/* --- the file: a header, then chunks; a chunk carries records --- */

#define BPF_FILE_MAGIC "MMSCOPEB" /* 8 bytes, no NUL */
#define BPF_FILE_VERSION 1
#define BPF_CHUNK_MAGIC 0x4b434d4du /* "MMCK" in little endian; also tells the byte order */
#define BPF_MAX_CHUNK_BYTES (8u << 20)
#define BPF_MAX_RECORD_BYTES 4096 /* fits u16, holds 256 frames of a stack */

struct bpf_file_header {
	char magic[8];
	u32 version;
	u32 header_bytes; /* where the first chunk begins; >= sizeof(this) */
	u32 chunk_magic;  /* BPF_CHUNK_MAGIC as the writer's machine stores it */
	u32 pad;
};
struct bpf_chunk_header {
	u32 magic;	   /* BPF_CHUNK_MAGIC */
	u32 payload_bytes; /* of the records behind this header: whole records only */
	u32 crc32;	   /* of the payload (zlib's crc32()) */
	u32 records;	   /* their number */
};

/* --- records --- */

enum bpf_record_kind {
	BREC_NONE = 0,
#define BPF_RECORD(id, KIND, member, doc) BREC_##KIND = id,
#include "wire/bpf_records.def"
#undef BPF_RECORD
	BREC_LIMIT
};

struct bpf_rec_head {
	u16 kind;    /* enum bpf_record_kind */
	u16 size;    /* of the whole record in bytes, a multiple of 8, >= sizeof(head) */
	u32 cpu;     /* where it was written */
	u64 time_ns; /* when: the end of what lasts; now, where it is flagged open */
};

#define BPF_COMM_BYTES 16
#define BPF_NO_CALL (-1)

/* A thread as it is when the record is written. */
struct bpf_who {
	u32 tid, tgid;
	char comm[BPF_COMM_BYTES]; /* NUL-padded, any bytes */
	s32 prio; /* task->prio: kernel priority, smaller = more important; 100..139 fair, below RT,
		     -1 deadline */
	u32 state; /* enum bpf_task_state */
};
/* What a thread does, or did when it left the CPU. */
enum bpf_task_state {
	BSTATE_UNKNOWN = 0,
	BSTATE_RUNNING,	 /* on a CPU */
	BSTATE_RUNNABLE, /* preempted, or woken and not running yet */
	BSTATE_SLEEPING, /* interruptible */
	BSTATE_BLOCKED,	 /* uninterruptible */
	BSTATE_DEAD
};
/*
 * The system call the thread is inside, from its saved user registers: costs nothing until it is
 * needed, and knows 32-bit callers, which syscalls:* events never show.
 */
struct bpf_in_call {
	s32 nr;	      /* BPF_NO_CALL: in no call (a fault from user mode, a kernel thread) */
	u32 is_32bit; /* nr is of the machine's 32-bit table */
	u64 args[4];
};

enum bpf_flags {
	BFLAG_WRITE = 1 << 0,	     /* WAIT, HOLD: for writing */
	BFLAG_OPEN = 1 << 1,	     /* not over yet: a snapshot; the same begin may come again */
	BFLAG_DOWNGRADED = 1 << 2,   /* HOLD: began (read) or ended (write) as a downgrade */
	BFLAG_OWNER_WRITES = 1 << 3, /* WAIT: the owner below had it for writing */
	BFLAG_SPUN = 1 << 4,	     /* WAIT: never left the CPU */
	BFLAG_FIRST = 1 << 5,	     /* SLEEP in a fault: the first of this fault */
	BFLAG_USER_FAULT = 1 << 6,   /* SLEEP: the fault came from user mode */
	BFLAG_HOLDS_MMAP_READ = 1 << 7,	 /* SLEEP: the thread holds this mm's mmap_lock to read */
	BFLAG_HOLDS_MMAP_WRITE = 1 << 8, /* SLEEP: ... to write */
	BFLAG_RETRIED = 1 << 9,	    /* FAULT: it reads mmap_lock now, having dropped its VMA lock;
				       without: the fault is over */
	BFLAG_RETRY_WAIT = 1 << 10, /* WAIT: the read lock of such a retry, told however short */
	BFLAG_OWN = 1 << 11,	    /* TOTALS: of mmscope itself */
	BFLAG_DEAD = 1 << 12, /* TOTALS: sum over the threads of tgid that have ended (tid 0) */
	BFLAG_USER = 1 << 13  /* STACK: user frames of the process tgid */
};

struct bpf_rec_wait { /* time_ns = end */
	struct bpf_rec_head head;
	struct bpf_who who;
	u64 begin_ns;
	u64 mm;
	u64 woken_ns;	       /* sched_waking of the waiter, 0 = none seen */
	u64 stack, user_stack; /* of the waiter, 0 = none */
	struct bpf_in_call call;
	u32 flags;
	u32 waker_tid; /* who woke it, 0 = not seen */
	/*
	 * The rwsem's owner when the waiter first left the CPU (or, spinning, at the start): the
	 * writer, or the reader that came last, which may have let go already. tid 0 = not known.
	 */
	struct bpf_who owner;
	u64 owner_stack; /* 0 unless it slept */
};
struct bpf_rec_hold { /* time_ns = end */
	struct bpf_rec_head head;
	struct bpf_who who;
	u64 begin_ns;
	u64 mm;
	u64 stack, user_stack; /* where it was given back */
	struct bpf_in_call call;
	u32 flags;
	u32 pad;
};
enum bpf_sleep_class {
	BSLEEP_VMA_WRITER = 1, /* __vma_start_write and the like */
	BSLEEP_FAULT	       /* handle_mm_fault */
};
struct bpf_rec_sleep { /* time_ns = end; who.state = how it left the CPU */
	struct bpf_rec_head head;
	struct bpf_who who;
	u64 begin_ns;
	u64 mm;
	u64 woken_ns;
	u64 stack, user_stack;
	struct bpf_in_call call;
	u32 flags;
	u32 waker_tid;
	u32 sleep_class; /* enum bpf_sleep_class */
	u32 dev;	 /* of the VMA's file: major << 20 | minor, as the kernel's s_dev */
	u64 ino;	 /* 0 = no file, or not known */
	u64 fault_ns;	 /* page_fault_user/kernel of this fault, 0 = not traced */
	u64 address;	 /* faulting, 0 = not known */
	u64 vma;	 /* 0 = not found */
	u64 vm_start, vm_end, vm_flags; /* of that VMA */
};
struct bpf_rec_fault { /* time_ns = when the retry or the end was seen */
	struct bpf_rec_head head;
	struct bpf_who who;
	u64 mm;
	u64 stack;
	u32 flags;
	u32 pad;
};
enum bpf_process_what { BPROC_FORK = 1, BPROC_EXEC, BPROC_EXIT };
struct bpf_rec_process { /* who = the thread that forks, execs or ends */
	struct bpf_rec_head head;
	struct bpf_who who;
	u32 what;		   /* enum bpf_process_what */
	u32 child_tid, child_tgid; /* FORK; same tgid as who = a thread */
	u32 group_dead;		   /* EXIT: the last thread of its process */
	u64 mm;			   /* of who, at that time; EXEC: the new one; 0 = kernel thread */
	u64 child_mm;		   /* FORK */
};
struct bpf_rec_stack { /* size tells n */
	struct bpf_rec_head head;
	u64 id;	   /* hash of the frames, never 0 */
	u32 tgid;  /* of user frames, else 0 */
	u32 flags; /* BFLAG_USER */
	u32 n;
	u32 pad;
	u64 frames[]; /* innermost first */
};

#define BPF_LOG10_BUCKETS                                                                         \
	8		    /* [0,1) [1,10) [10,100) [100,1000) us, ... [1 s, inf): lower edge in \
			     */
#define BPF_LOG2_BUCKETS 40 /* bucket i: [2^(i-1), 2^i) ns, 0: exactly 0 ns, the last: the rest */
struct bpf_dist {
	u64 count, sum_ns, max_ns;
	u32 log10[BPF_LOG10_BUCKETS];
	u32 log2[BPF_LOG2_BUCKETS];
};
struct bpf_rec_totals { /* since the recording began; a later one replaces an earlier one of the
			   same tgid and tid */
	struct bpf_rec_head head;
	u32 tid, tgid; /* tid 0: the ended threads of tgid */
	char comm[BPF_COMM_BYTES];
	u32 flags;
	u32 pad;
	u64 failed_tries[2], failed_tries_ns[2]; /* read, write */
	u64 faults[2];				 /* user, kernel; 0 where not traced */
	struct bpf_dist wait[2], hold[2];	 /* read, write */
};
struct bpf_rec_lost { /* written by the reader; time_ns = when it was noticed */
	struct bpf_rec_head head;
	u64 first_ns, last_ns; /* the span in which records were lost */
	u64 n;
};
struct bpf_rec_symbol { /* written by the reader */
	struct bpf_rec_head head;
	u64 start, end; /* [start, end) */
	u32 tgid;	/* 0 = the kernel, else user addresses of that process */
	u32 name_bytes; /* without the padding */
	char name[];
};
struct bpf_rec_note { /* written by the reader */
	struct bpf_rec_head head;
	u32 text_bytes;
	u32 pad;
	char text[]; /* "key=value"; keys: docs/FORMAT.md */
};

#ifndef __bpf__
_Static_assert(sizeof(struct bpf_who) == 32, "struct bpf_who is part of the format");
_Static_assert(sizeof(struct bpf_rec_wait) % 8 == 0, "records are multiples of 8 bytes");
_Static_assert(sizeof(struct bpf_rec_hold) % 8 == 0, "records are multiples of 8 bytes");
_Static_assert(sizeof(struct bpf_rec_sleep) % 8 == 0, "records are multiples of 8 bytes");
_Static_assert(sizeof(struct bpf_rec_fault) % 8 == 0, "records are multiples of 8 bytes");
_Static_assert(sizeof(struct bpf_rec_process) % 8 == 0, "records are multiples of 8 bytes");
_Static_assert(sizeof(struct bpf_rec_totals) % 8 == 0, "records are multiples of 8 bytes");
#endif

#endif
