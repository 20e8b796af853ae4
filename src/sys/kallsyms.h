/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys/kallsyms.h: the kernel's functions by address, read once. Layer: sys.
 * A line of /proc/kallsyms: "ffffffff81605710 T handle_mm_fault" or "ffffffffc0a01000 t
 * foo\t[module]".
 */
#ifndef MMSCOPE_SYS_KALLSYMS_H
#define MMSCOPE_SYS_KALLSYMS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

#define KALLSYMS_MAX (4u << 20)

struct kallsym {
	u64 start, end;	  /* end: the next symbol's start */
	const char *name; /* without module */
};
struct kallsyms {
	struct arena arena;
	VEC(struct kallsym)
	list;	     /* by start; functions (t, T, w, W) only; of equal starts the first */
	bool hidden; /* every address is 0: kptr_restrict, or no privilege */
};

/* @root is put in front of the path ("" = the running system). */
int kallsyms_read(struct kallsyms *k, const char *root, struct error *e) MUST_CHECK;
void kallsyms_done(struct kallsyms *k);
/* The function an address lies in; NULL when none. */
const struct kallsym *kallsyms_at(const struct kallsyms *k, u64 address);
/* A function by its name; NULL when there is none. Linear: for a few lookups at start. */
const struct kallsym *kallsyms_named(const struct kallsyms *k, const char *name);

#endif
