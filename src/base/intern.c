/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/intern.c: byte strings as small ids (see intern.h). */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

void intern_init(struct intern *in)
{
	memset(in, 0, sizeof(*in));
	arena_init(&in->arena);
}

void intern_done(struct intern *in)
{
	arena_done(&in->arena);
	free(in->entries);
	free(in->table);
	memset(in, 0, sizeof(*in));
}

static u32 intern_hash(const char *s, size_t len)
{
	u64 h = 0x9e3779b97f4a7c15ULL ^ len, w;

	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&w, s, 8);
		h = hash_u64(h ^ w);
	}
	w = 0;
	if (len) /* @s may be NULL then */
		memcpy(&w, s, len);
	return (u32)hash_u64(h ^ w);
}

static u32 intern_slot(const struct intern *in, const char *s, size_t len, u32 hash)
{
	u32 i = hash & in->mask;

	for (; in->table[i]; i = (i + 1) & in->mask) {
		const struct intern_entry *e = &in->entries[in->table[i]];

		if (e->hash == hash && e->len == len && (!len || !memcmp(e->s, s, len)))
			break;
	}
	return i;
}

static bool intern_grow(struct intern *in)
{
	u32 capacity = in->table ? (in->mask + 1) * 2 : 256;
	struct intern_entry *entries = realloc(in->entries, capacity * sizeof(*entries));
	u32 *table = calloc(capacity, sizeof(*table));

	if (entries)
		in->entries = entries;
	if (!entries || !table) {
		free(table);
		return false;
	}
	if (!in->n) {
		in->entries[0] = (struct intern_entry){ "", 0, 0 };
		in->n = 1;
	}
	for (u32 id = 1; id < in->n; id++) {
		u32 i = entries[id].hash & (capacity - 1);

		while (table[i])
			i = (i + 1) & (capacity - 1);
		table[i] = id;
	}
	free(in->table);
	in->table = table;
	in->mask = capacity - 1;
	in->capacity = capacity;
	return true;
}

u32 intern_add(struct intern *in, const char *s, size_t len)
{
	u32 hash, i;
	char *copy;

	if (len > INTERN_MAX_LEN)
		len = INTERN_MAX_LEN;
	if ((!in->table || in->n * 2 >= in->capacity) && !intern_grow(in))
		goto refused;
	hash = intern_hash(s, len);
	i = intern_slot(in, s, len, hash);
	if (in->table[i])
		return in->table[i];
	if (in->n >= INTERN_MAX_STRINGS || in->arena.used_bytes >= INTERN_MAX_BYTES)
		goto refused;
	copy = arena_strndup(&in->arena, s, len);
	if (!copy)
		goto refused;
	in->entries[in->n] = (struct intern_entry){ copy, (u32)len, hash };
	in->table[i] = in->n;
	return in->n++;
refused:
	in->refused++;
	return 0;
}

u32 intern_find(const struct intern *in, const char *s, size_t len)
{
	if (!in->table)
		return 0;
	if (len > INTERN_MAX_LEN)
		len = INTERN_MAX_LEN;
	return in->table[intern_slot(in, s, len, intern_hash(s, len))];
}

const char *intern_get(const struct intern *in, u32 id, size_t *ret_len)
{
	if (!id || id >= in->n) {
		if (ret_len)
			*ret_len = 0;
		return "";
	}
	if (ret_len)
		*ret_len = in->entries[id].len;
	return in->entries[id].s;
}
