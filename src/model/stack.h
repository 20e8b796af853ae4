/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/stack.h: distinct call stacks as small ids. Id 0 is "no stack". Layer: model.
 * A frame is an intern id of its text: the function's name without offset where there is one
 * ("mmap_region"), else the address as printed ("7fc86cc80353", "libc.so.6[+0x80353]").
 */
#ifndef MMSCOPE_MODEL_STACK_H
#define MMSCOPE_MODEL_STACK_H

#include "base/arena.h"
#include "base/types.h"

#define STACK_MAX_FRAMES 256
/* A frame of this text parts kernel frames from the user frames behind them (BPF records). */
#define STACK_USER_MARK "[user]"
#define STACKS_MAX (1u << 18)
#define STACKS_MAX_BYTES (16u << 20)

struct stacks {
	struct arena arena;
	const u32 **by_id; /* by_id[i][0] = number of frames, then the frames, innermost first */
	u32 n, capacity;
	u32 *table, mask;
	u64 refused; /* stacks past a limit: they got id 0 */
};

void stacks_init(struct stacks *s);
void stacks_done(struct stacks *s);
u32 stacks_add(struct stacks *s, const u32 *frames, u32 n);
/* The frames of an id, innermost first; NULL and 0 for id 0. */
const u32 *stacks_get(const struct stacks *s, u32 id, u32 *ret_n);

#endif
