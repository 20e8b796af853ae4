/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/user_maps.h: the executable mappings of a process, from /proc/PID/maps. Layer: live.
 * Reading that file waits for the process's mmap_lock: only the helper process of user_symbols.c
 * does it.
 */
#ifndef MMSCOPE_LIVE_USER_MAPS_H
#define MMSCOPE_LIVE_USER_MAPS_H

#include "base/arena.h"
#include "base/types.h"
#include "base/vec.h"

#define USER_MAPS_MAX_BYTES (64u << 20) /* of the file that are read */
#define USER_MAPS_MAX 65536		/* executable mappings kept */

/* "7f0a1c028000-7f0a1c1bd000 r-xp 00028000 fe:01 1835093   /usr/lib/libc.so.6" */
struct user_map {
	u64 start, end, offset, ino;
	u32 major, minor;
	const char *path; /* without " (deleted)"; "" = none; "[vdso]" */
	bool deleted;
};
struct user_maps {
	struct arena arena;
	VEC(struct user_map) list; /* ascending, as the kernel prints them */
};

/* @root: in front of /proc; "" = the running system. */
int user_maps_read(struct user_maps *maps, const char *root, u32 tgid) MUST_CHECK;
void user_maps_done(struct user_maps *maps);
/* One line without its newline; false when it is no executable mapping. */
bool user_maps_parse(const char *line, size_t len, struct user_map *ret, const char **ret_path,
		     size_t *ret_path_len) MUST_CHECK;
const struct user_map *user_maps_at(const struct user_maps *maps, u64 address);
/*
 * The mapped file, for reading: by its path as the process sees it if that is still the same file,
 * else by the mapping itself. Only regular files. A descriptor, or a negative errno.
 */
int user_maps_open(const struct user_map *map, const char *root, u32 tgid) MUST_CHECK;

#endif
