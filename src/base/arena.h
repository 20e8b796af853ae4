/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/arena.h: memory that is freed as a whole (one arena per trace, one per result). */
#ifndef MMSCOPE_BASE_ARENA_H
#define MMSCOPE_BASE_ARENA_H

#include "base/types.h"

struct arena_block;
struct arena {
	struct arena_block *head;
	size_t used_bytes;
	bool failed; /* an allocation failed: what points into the arena may miss something */
};

void arena_init(struct arena *a);
void arena_done(struct arena *a);
/* Zeroed, aligned to 16 bytes; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size_bytes);
/* A copy of @len bytes with a NUL behind them (the bytes may hold NULs themselves). */
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
