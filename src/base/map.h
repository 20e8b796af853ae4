/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/map.h: hash map from a u64 key to a u64 value (open addressing, tombstone-free deletion).
 * The keys are hostile (task ids, pointers out of a trace), so the hash mixes all bits.
 * It has no seed: the same input fills the map the same way on every run.
 */
#ifndef MMSCOPE_BASE_MAP_H
#define MMSCOPE_BASE_MAP_H

#include "base/types.h"

struct map_slot {
	u64 key, value;
};
struct map {
	struct map_slot *slots; /* a slot is free when used[i] is 0 */
	u8 *used;
	size_t n, mask; /* mask = capacity - 1; capacity 0 = nothing allocated */
};

void map_init(struct map *m);
void map_done(struct map *m);
/* Where the value of @key is, or NULL. Valid until the next map_set() or map_remove(). */
u64 *map_get(const struct map *m, u64 key);
/* Sets @key, returns where its value is; NULL when out of memory (the map is unchanged). */
u64 *map_set(struct map *m, u64 key, u64 value);
bool map_remove(struct map *m, u64 key);

static inline u64 hash_u64(u64 x)
{
	x ^= x >> 32;
	x *= 0xe9846af9b1a615dULL;
	x ^= x >> 32;
	x *= 0xe9846af9b1a615dULL;
	x ^= x >> 28;
	return x;
}

#endif
