/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/origin.h: what a thread was doing, from a stack or a caller (table: origins.def). Layer:
 * model. */
#ifndef MMSCOPE_MODEL_ORIGIN_H
#define MMSCOPE_MODEL_ORIGIN_H

#include "base/intern.h"
#include "model/stack.h"
#include "wire/event.h"

enum origin {
#define ORIGIN(KIND, name, doc) ORIGIN_##KIND,
#include "model/origins.def"
	ORIGINS
};

struct origins {
	u8 *of_string; /* by intern id: origin + 1, 0 = not looked up yet, 255 = gives nothing away
			*/
	u32 n_strings;
	u8 *of_stack; /* by stack id, the same */
	u32 n_stacks;
	u32 by_frame[256]; /* hash of the function rows: row + 1 */
};

void origins_init(struct origins *o);
void origins_done(struct origins *o);
const char *origin_name(enum origin o);
/* Both return false when nothing is known; *ret is untouched then. */
bool origin_of_caller(struct origins *o, const struct intern *strings, u32 caller,
		      enum origin *ret);
/* The first known frame, innermost first. */
bool origin_of_stack(struct origins *o, const struct intern *strings, const struct stacks *stacks,
		     u32 stack, enum origin *ret);
enum origin origin_of_call(enum as_call call);

#endif
