/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/ids.h: ids as one-member structs, so that mixing them does not compile. Layer: model. */
#ifndef MMSCOPE_MODEL_IDS_H
#define MMSCOPE_MODEL_IDS_H

#include "base/types.h"

/* A thread's lifetime: (tid, start). 0 = none. */
struct task_id {
	u32 v;
};
/* An address space's lifetime: (pointer as printed, epoch). 0 = none: equal to nothing, not even
 * itself. */
struct mm_id {
	u32 v;
};

static inline bool task_same(struct task_id a, struct task_id b)
{
	return a.v == b.v;
}
static inline bool mm_same(struct mm_id a, struct mm_id b)
{
	return a.v && a.v == b.v;
}

#endif
