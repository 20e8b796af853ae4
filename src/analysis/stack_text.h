/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/stack_text.h: a kernel stack as one line, "mprotect_fixup < do_mprotect_pkey < ...".
 * Layer: analysis.
 */
#ifndef MMSCOPE_ANALYSIS_STACK_TEXT_H
#define MMSCOPE_ANALYSIS_STACK_TEXT_H

#include "base/intern.h"
#include "base/vec.h"
#include "model/stack.h"

#define STACK_TEXT_FRAMES 6 /* innermost, without those of stack_frames.def */
#define STACK_TEXT_USER 4   /* user frames behind them */
#define STACK_TEXT_MAX 512  /* bytes */

/* Stacks that look alike have one text. */
struct stack_texts {
	const struct stacks *stacks;
	const struct intern *strings;
	struct intern texts;
	VEC(u32) of_stack; /* by stack id: text id + 1 */
};

void stack_texts_init(struct stack_texts *t, const struct stacks *stacks,
		      const struct intern *strings);
void stack_texts_done(struct stack_texts *t);
/* The id of the stack's text in ->texts; 0 for stack 0, and where memory or a limit ends. */
u32 stack_text_id(struct stack_texts *t, u32 stack);

#endif
