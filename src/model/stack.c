/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/stack.c: hash-consed call stacks (see stack.h). */
#include "model/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

void stacks_init(struct stacks *s)
{
	memset(s, 0, sizeof(*s));
	arena_init(&s->arena);
}

void stacks_done(struct stacks *s)
{
	arena_done(&s->arena);
	free(s->by_id);
	free(s->table);
	memset(s, 0, sizeof(*s));
}

static u32 stack_hash(const u32 *frames, u32 n)
{
	u64 h = n;

	for (u32 i = 0; i < n; i++)
		h = hash_u64(h * 31 + frames[i]);
	return (u32)h;
}

static bool stacks_grow(struct stacks *s)
{
	u32 capacity = s->table ? (s->mask + 1) * 2 : 256;
	const u32 **by_id = realloc(s->by_id, capacity * sizeof(*by_id));
	u32 *table = calloc(capacity, sizeof(*table));

	if (by_id)
		s->by_id = by_id;
	if (!by_id || !table) {
		free(table);
		return false;
	}
	if (!s->n) {
		by_id[0] = NULL;
		s->n = 1;
	}
	for (u32 id = 1; id < s->n; id++) {
		u32 i = stack_hash(by_id[id] + 1, by_id[id][0]) & (capacity - 1);

		while (table[i])
			i = (i + 1) & (capacity - 1);
		table[i] = id;
	}
	free(s->table);
	s->table = table;
	s->mask = capacity - 1;
	s->capacity = capacity;
	return true;
}

u32 stacks_add(struct stacks *s, const u32 *frames, u32 n)
{
	u32 i, *copy;

	if (!n)
		return 0;
	if (n > STACK_MAX_FRAMES)
		n = STACK_MAX_FRAMES;
	if ((!s->table || s->n * 2 >= s->capacity) && !stacks_grow(s))
		goto refused;
	for (i = stack_hash(frames, n) & s->mask; s->table[i]; i = (i + 1) & s->mask) {
		const u32 *known = s->by_id[s->table[i]];

		if (known[0] == n && !memcmp(known + 1, frames, n * sizeof(*frames)))
			return s->table[i];
	}
	if (s->n >= STACKS_MAX || s->arena.used_bytes >= STACKS_MAX_BYTES)
		goto refused;
	copy = arena_alloc(&s->arena, (n + 1) * sizeof(*copy));
	if (!copy)
		goto refused;
	copy[0] = n;
	memcpy(copy + 1, frames, n * sizeof(*frames));
	s->by_id[s->n] = copy;
	s->table[i] = s->n;
	return s->n++;
refused:
	s->refused++;
	return 0;
}

const u32 *stacks_get(const struct stacks *s, u32 id, u32 *ret_n)
{
	if (!id || id >= s->n) {
		*ret_n = 0;
		return NULL;
	}
	*ret_n = s->by_id[id][0];
	return s->by_id[id] + 1;
}
