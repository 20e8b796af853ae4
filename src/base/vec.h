/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/vec.h: a growing array of one type.
 *
 *	VEC(struct row) rows = VEC_INIT;
 *	struct row *r = vec_push(&rows);	zeroed new element, NULL when out of memory
 *	rows.v[i], rows.n
 *	vec_done(&rows);
 */
#ifndef MMSCOPE_BASE_VEC_H
#define MMSCOPE_BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "base/types.h"

#define VEC(type)                \
	struct {                 \
		type *v;         \
		size_t n;        \
		size_t capacity; \
	}
#define VEC_INIT           \
	{                  \
		NULL, 0, 0 \
	}

/* Makes room for one more element; false when out of memory (the old array stays valid). */
static inline bool vec_grow_raw(void **v, size_t n, size_t *capacity, size_t size)
{
	size_t want;
	void *p;

	if (n < *capacity)
		return true;
	want = *capacity ? *capacity * 2 : 8;
	if (want > SIZE_MAX / size / 2)
		return false;
	p = realloc(*v, want * size);
	if (!p)
		return false;
	*v = p;
	*capacity = want;
	return true;
}

#define vec_push(vec)                                                                    \
	(vec_grow_raw((void **)&(vec)->v, (vec)->n, &(vec)->capacity, sizeof(*(vec)->v)) \
	 ? memset(&(vec)->v[(vec)->n++], 0, sizeof(*(vec)->v)),                          \
	 &(vec)->v[(vec)->n - 1] : NULL)
#define vec_done(vec)                \
	do {                         \
		free((vec)->v);      \
		(vec)->v = NULL;     \
		(vec)->n = 0;        \
		(vec)->capacity = 0; \
	} while (0)

#endif
