/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/intern.h: byte strings as small ids. Id 0 is "no string" (not the empty one). A string may
 * hold any byte, NULs included, and is at most INTERN_MAX_LEN bytes (longer ones are cut there).
 */
#ifndef MMSCOPE_BASE_INTERN_H
#define MMSCOPE_BASE_INTERN_H

#include "base/arena.h"
#include "base/types.h"

#define INTERN_MAX_LEN 4096
#define INTERN_MAX_STRINGS (1u << 20)
#define INTERN_MAX_BYTES (32u << 20) /* of all strings together */

struct intern_entry {
	const char *s;
	u32 len;
	u32 hash;
};
struct intern {
	struct arena arena;
	struct intern_entry *entries; /* by id */
	u32 n, capacity;
	u32 *table; /* open addressing, id or 0 */
	u32 mask;
	u64 refused; /* strings past a limit or out of memory: they got id 0 */
};

void intern_init(struct intern *in);
void intern_done(struct intern *in);
/* The id of the string, new or known; 0 when refused (counted in ->refused). */
u32 intern_add(struct intern *in, const char *s, size_t len);
/* The id if the string is known, else 0. */
u32 intern_find(const struct intern *in, const char *s, size_t len);
/* The bytes of an id (NUL-terminated too); "" with length 0 for id 0. @ret_len may be NULL. */
const char *intern_get(const struct intern *in, u32 id, size_t *ret_len);

#endif
