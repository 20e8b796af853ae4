/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/user_elf.h: the functions of one ELF file, sorted by address, by elfutils' libdw: .symtab,
 * else .dynsym with .gnu_debugdata where there is one. No separate debug files, no network.
 * Layer: live; used in the helper process of user_symbols.c only, since the files are hostile.
 */
#ifndef MMSCOPE_LIVE_USER_ELF_H
#define MMSCOPE_LIVE_USER_ELF_H

#include "base/types.h"
#include "base/vec.h"

#define USER_ELF_MAX_SYMBOLS (4 << 20)

struct user_elf_symbol {
	u64 start, end;	  /* as the file counts: virtual addresses before relocation */
	const char *name; /* may have a version behind it: "memcpy@@GLIBC_2.14" */
	u32 rank;	  /* of several names for one start the lowest is kept */
};
struct user_elf_segment {
	u64 offset, size, vaddr;
};
struct user_elf {
	struct Dwfl *dwfl; /* owns the names */
	VEC(struct user_elf_symbol) symbols;
	VEC(struct user_elf_segment) segments; /* PT_LOAD */
};

/* Takes @fd over in any case. A negative errno when it is no ELF file that libdw can read. */
int user_elf_init(struct user_elf *elf, int fd) MUST_CHECK;
void user_elf_done(struct user_elf *elf);
/* The virtual address of what lies at @offset of the file; false when no segment has it. */
bool user_elf_vaddr(const struct user_elf *elf, u64 offset, u64 *ret) MUST_CHECK;
/*
 * The function at a virtual address; of its range the part around the address that belongs to no
 * other function, so that the ranges told of a file never overlap.
 */
bool user_elf_at(const struct user_elf *elf, u64 vaddr, struct user_elf_symbol *ret) MUST_CHECK;

#endif
