/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/stack_text.c: kernel stacks as lines (see stack_text.h). Layer: analysis. */
#include "analysis/stack_text.h"

#include <string.h>

static const char *const hidden[] = {
#define FRAME_HIDDEN(name) name,
#include "analysis/stack_frames.def"
#undef FRAME_HIDDEN
};

void stack_texts_init(struct stack_texts *t, const struct stacks *stacks,
		      const struct intern *strings)
{
	memset(t, 0, sizeof(*t));
	t->stacks = stacks;
	t->strings = strings;
	intern_init(&t->texts);
}

void stack_texts_done(struct stack_texts *t)
{
	intern_done(&t->texts);
	vec_done(&t->of_stack);
}

static bool is_hidden(const char *frame, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
		size_t n = strlen(hidden[i]);
		bool prefix = hidden[i][n - 1] == '*';

		n -= prefix;
		if ((prefix ? len >= n : len == n) && !memcmp(frame, hidden[i], n))
			return true;
	}
	return false;
}

static size_t append(char *text, size_t used, const char *s, size_t len)
{
	if (len > STACK_TEXT_MAX - used)
		len = STACK_TEXT_MAX - used;
	memcpy(text + used, s, len);
	return used + len;
}

/* A stack of hidden frames only has an empty text: a text, not "no stack". */
static size_t stack_write(const struct stack_texts *t, u32 stack, char text[STACK_TEXT_MAX])
{
	size_t used = 0;
	u32 n, shown = 0, room = STACK_TEXT_FRAMES;
	const u32 *frames = stacks_get(t->stacks, stack, &n);
	bool user = false;

	for (u32 i = 0; i < n && (room || !user); i++) {
		size_t len;
		const char *frame = intern_get(t->strings, frames[i], &len);

		if (!user && len == strlen(STACK_USER_MARK) &&
		    !memcmp(frame, STACK_USER_MARK, len)) {
			user = true;
			room = STACK_TEXT_USER;
		} else if (!len || !room || (!user && is_hidden(frame, len))) {
			continue;
		} else {
			room--;
		}
		if (shown++)
			used = append(text, used, " < ", 3);
		used = append(text, used, frame, len);
	}
	return used;
}

u32 stack_text_id(struct stack_texts *t, u32 stack)
{
	char text[STACK_TEXT_MAX];
	u32 id;

	if (!stack || !t->stacks || stack >= t->stacks->n)
		return 0;
	while (t->of_stack.n <= stack) {
		if (!vec_push(&t->of_stack)) {
			t->texts.refused++;
			return 0;
		}
	}
	if (t->of_stack.v[stack])
		return t->of_stack.v[stack] - 1;
	id = intern_add(&t->texts, text, stack_write(t, stack, text));
	t->of_stack.v[stack] = id + 1;
	return id;
}
