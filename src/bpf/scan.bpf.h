/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/scan.bpf.h: which VMA a sleeping thread is about, found on its own kernel stack. Layer: bpf.
 *
 * No event names it and no argument of a function can be read later, but its address lies in a
 * frame of the path it sleeps in. The outermost frames come first, so what is found is of a frame
 * that is live; a word is only taken for what verifiably is it.
 */
#ifndef MMSCOPE_BPF_SCAN_BPF_H
#define MMSCOPE_BPF_SCAN_BPF_H

#include "bpf/emit.bpf.h"

#define WORD_OF(type, member) (bpf_core_field_offset(type, member) / 8)
#define SCAN_FAULT_WORDS 8 /* of a struct vm_fault that are looked at */

/* The running thread's stack below its user registers. */
NOINLINE struct scan *scan_read(struct task_struct *task)
{
	u64 top = (u64)bpf_task_pt_regs(task);
	u32 zero = 0;
	struct scan *s = bpf_map_lookup_elem(&scans, &zero);

	if (!s || bpf_probe_read_kernel(s->words, SCAN_BYTES, (void *)(top - SCAN_BYTES)))
		return NULL;
	return s;
}

INLINE bool is_kernel(u64 p)
{
	return (s64)p < 0 && !(p & 7);
}

/* The VMA at @p, which is known to be one. */
GLOBAL int vma_fill(struct bpf_rec_sleep *r, u64 p)
{
	struct vm_area_struct *vma = (void *)p;
	struct inode *inode;
	struct file *file;

	if (!r)
		return 0;
	r->vma = p;
	r->vm_start = BPF_CORE_READ(vma, vm_start);
	r->vm_end = BPF_CORE_READ(vma, vm_end);
	r->vm_flags = BPF_CORE_READ(vma, vm_flags);
	file = BPF_CORE_READ(vma, vm_file);
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode)
		return 0;
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	return 0;
}

/* Whether @p is a VMA of @mm that holds @address. */
GLOBAL int vma_is_faulting(u64 p, u64 mm, u64 address)
{
	struct vm_area_struct *vma = (void *)p;

	return (u64)BPF_CORE_READ(vma, vm_mm) == mm && BPF_CORE_READ(vma, vm_start) <= address &&
	       address < BPF_CORE_READ(vma, vm_end);
}

/*
 * A fault: __handle_mm_fault() has a struct vm_fault on the stack. Its members agree with each
 * other as no other words do: a VMA, the page's address, and an address in that page.
 */
GLOBAL int scan_fault(struct scan *s, struct bpf_rec_sleep *r)
{
	struct vm_fault *vmf = NULL;
	u32 at_vma = WORD_OF(struct vm_fault, vma), at_page = WORD_OF(struct vm_fault, address);
	u32 at_address = bpf_core_field_exists(vmf->real_address)
				 ? WORD_OF(struct vm_fault, real_address)
				 : at_page;

	if (!s || !r || at_vma >= SCAN_FAULT_WORDS || at_page >= SCAN_FAULT_WORDS ||
	    at_address >= SCAN_FAULT_WORDS)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < SCAN_WORDS - SCAN_FAULT_WORDS; i++) {
		u64 *w = &s->words[SCAN_WORDS - SCAN_FAULT_WORDS - 1 - i];
		u64 page = w[at_page], address = w[at_address], vma = w[at_vma];

		if (!is_kernel(vma) || (page & ((1 << PAGE_SHIFT) - 1)) ||
		    (address ^ page) >> PAGE_SHIFT || !page)
			continue;
		if (!vma_is_faulting(vma, r->mm, address))
			continue;
		r->address = address;
		return vma_fill(r, vma) + 1;
	}
	return 0;
}

/*
 * Whether @p is the VMA of @mm that a writer waits for: its count has the writer's share, which
 * only one VMA of an mm has at a time; up to 6.14 its lock is @lock, that the thread contends for.
 */
GLOBAL int vma_is_written(u64 p, u64 mm, u64 lock)
{
	struct vm_area_struct *vma = (void *)p;
	struct vm_area_struct___rwsem *old = (void *)p;

	if ((u64)BPF_CORE_READ(vma, vm_mm) != mm)
		return 0;
	if (bpf_core_field_exists(vma->vm_refcnt))
		return (BPF_CORE_READ(vma, vm_refcnt.refs.counter) & VMA_LOCK_OFFSET) != 0;
	if (bpf_core_field_exists(old->vm_lock))
		return lock && (u64)BPF_CORE_READ(old, vm_lock) == lock;
	return 0;
}

GLOBAL int scan_writer(struct scan *s, struct bpf_rec_sleep *r, u64 lock)
{
	u64 last = 0;

	if (!s || !r)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < SCAN_WORDS; i++) {
		u64 p = s->words[SCAN_WORDS - 1 - i];

		/* neither text and data of the kernel, nor what was just looked at */
		if (!is_kernel(p) || p >> 31 == 0x1ffffffffULL || p == last)
			continue;
		last = p;
		if (vma_is_written(p, r->mm, lock))
			return vma_fill(r, p) + 1;
	}
	return 0;
}

#endif
