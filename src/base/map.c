/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/map.c: linear probing with backward-shift deletion (see map.h). */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void map_init(struct map *m)
{
	memset(m, 0, sizeof(*m));
}

void map_done(struct map *m)
{
	free(m->slots);
	free(m->used);
	map_init(m);
}

static size_t map_find(const struct map *m, u64 key)
{
	size_t i = hash_u64(key) & m->mask;

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

u64 *map_get(const struct map *m, u64 key)
{
	size_t i;

	if (!m->slots)
		return NULL;
	i = map_find(m, key);
	return m->used[i] ? &m->slots[i].value : NULL;
}

static bool map_grow(struct map *m)
{
	size_t capacity = m->slots ? (m->mask + 1) * 2 : 16;
	struct map bigger = { .mask = capacity - 1, .n = m->n };

	bigger.slots = malloc(capacity * sizeof(*bigger.slots));
	bigger.used = calloc(capacity, 1);
	if (!bigger.slots || !bigger.used) {
		map_done(&bigger);
		return false;
	}
	for (size_t i = 0; m->slots && i <= m->mask; i++) {
		if (m->used[i]) {
			size_t j = map_find(&bigger, m->slots[i].key);

			bigger.used[j] = 1;
			bigger.slots[j] = m->slots[i];
		}
	}
	map_done(m);
	*m = bigger;
	return true;
}

u64 *map_set(struct map *m, u64 key, u64 value)
{
	size_t i;

	if ((!m->slots || m->n * 4 >= (m->mask + 1) * 3) && !map_grow(m))
		return NULL;
	i = map_find(m, key);
	if (!m->used[i]) {
		m->used[i] = 1;
		m->slots[i].key = key;
		m->n++;
	}
	m->slots[i].value = value;
	return &m->slots[i].value;
}

bool map_remove(struct map *m, u64 key)
{
	size_t hole, i, home;

	if (!m->slots)
		return false;
	hole = map_find(m, key);
	if (!m->used[hole])
		return false;
	for (i = (hole + 1) & m->mask; m->used[i]; i = (i + 1) & m->mask) {
		home = hash_u64(m->slots[i].key) & m->mask;
		/* may slot i move back into the hole without passing its home? */
		if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->used[hole] = 0;
	m->n--;
	return true;
}
