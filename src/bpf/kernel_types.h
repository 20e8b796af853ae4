/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/kernel_types.h: the kernel's structs as far as the BPF programs read them, and the few
 * constants of its BPF interface. Layer: bpf.
 *
 * Written by hand: neither the size nor the place of a member matters, since each access is
 * relocated against the BTF of the kernel it is loaded into (CO-RE). So the build needs no BTF of
 * its machine. A type of two shapes has a variant named type___shape; libbpf drops the suffix.
 */
#ifndef MMSCOPE_BPF_KERNEL_TYPES_H
#define MMSCOPE_BPF_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* uapi/linux/bpf.h, which clang -target bpf cannot include without the host's asm/ */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_F_USER_STACK = 1 << 8 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };

/* linux/sched.h, uapi/linux/sched.h; unchanged for many years */
enum { TASK_INTERRUPTIBLE = 1, TASK_UNINTERRUPTIBLE = 2, TASK_DEAD = 0x80 };
enum { PF_EXITING = 0x4, PF_KTHREAD = 0x200000 };
/* kernel/locking/rwsem.c */
enum { RWSEM_WRITER_LOCKED = 1, RWSEM_FLAG_WAITERS = 2 };
enum { RWSEM_READER_OWNED = 1, RWSEM_OWNER_FLAGS = 7 };
/* mm/: VMA_LOCK_OFFSET, 6.15: added to vm_refcnt by a writer that waits for the readers */
enum { VMA_LOCK_OFFSET = 0x40000000 };
enum { PAGE_SHIFT = 12 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;
typedef struct {
	s64 counter;
} atomic_long_t;
struct refcount_struct {
	atomic_t refs;
};
typedef struct refcount_struct refcount_t;

struct optimistic_spin_queue {
	atomic_t tail;
};
/* PREEMPT_RT: neither count nor owner nor osq */
struct rw_semaphore {
	atomic_long_t count;
	atomic_long_t owner;
	struct optimistic_spin_queue osq;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
};
struct super_block {
	u32 s_dev;
};
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};
struct file {
	struct inode *f_inode;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
	refcount_t vm_refcnt; /* from 6.15 on */
};
struct vma_lock {
	struct rw_semaphore lock;
};
struct vm_area_struct___rwsem { /* 6.4 to 6.14 */
	struct vma_lock *vm_lock;
};
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	unsigned long address;	    /* of the page */
	unsigned long real_address; /* from 5.17 on */
};

struct signal_struct {
	atomic_t live;
};
struct thread_info {
	unsigned long flags;
#ifdef __TARGET_ARCH_x86
	u32 status;
#endif
};
struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu; /* SMP */
	int prio;
	int pid, tgid;
	char comm[16];
	struct mm_struct *mm, *active_mm;
	struct signal_struct *signal;
	unsigned long min_flt, maj_flt;
};

#ifdef __TARGET_ARCH_x86
struct pt_regs {
	unsigned long bx, cx, dx, si, di, r10, orig_ax;
};
#else
struct pt_regs {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
};
#endif

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
