/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/arena.c: bump allocation in blocks (see arena.h). */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES (64 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	_Alignas(16) char data[];
};

void arena_init(struct arena *a)
{
	a->head = NULL;
	a->used_bytes = 0;
	a->failed = false;
}

void arena_done(struct arena *a)
{
	struct arena_block *b = a->head, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	arena_init(a);
}

void *arena_alloc(struct arena *a, size_t size_bytes)
{
	struct arena_block *b = a->head;
	size_t size;
	void *p;

	if (size_bytes > SIZE_MAX / 2)
		return NULL;
	size = (size_bytes + 15) & ~(size_t)15;
	if (!b || b->size - b->used < size) {
		size_t block = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;

		b = calloc(1, sizeof(*b) + block);
		if (!b) {
			a->failed = true;
			return NULL;
		}
		b->size = block;
		b->next = a->head;
		a->head = b;
	}
	p = b->data + b->used;
	b->used += size;
	a->used_bytes += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;

	if (p && len)
		memcpy(p, s, len);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
