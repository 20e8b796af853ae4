/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/user_maps.c: executable mappings of a process and their files (see user_maps.h). Layer:
 * live. */
#include "live/user_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/num.h"

#define READ_BYTES 65536
#define DELETED " (deleted)"

/* A number in hexadecimal, then @sep. */
static bool take_hex(const char **s, size_t *len, char sep, u64 *ret)
{
	size_t n = num_scan_hex(*s, *len, ret);

	if (!n || n >= *len || (*s)[n] != sep)
		return false;
	*s += n + 1;
	*len -= n + 1;
	return true;
}

bool user_maps_parse(const char *line, size_t len, struct user_map *ret, const char **ret_path,
		     size_t *ret_path_len)
{
	struct user_map m = { 0 };
	u64 major, minor;
	size_t n;

	if (!take_hex(&line, &len, '-', &m.start) || !take_hex(&line, &len, ' ', &m.end) ||
	    m.end <= m.start)
		return false;
	if (len < 5 || line[2] != 'x' || line[4] != ' ') /* "r-xp " */
		return false;
	line += 5;
	len -= 5;
	if (!take_hex(&line, &len, ' ', &m.offset) || !take_hex(&line, &len, ':', &major) ||
	    !take_hex(&line, &len, ' ', &minor))
		return false;
	n = num_scan_u64(line, len, &m.ino);
	if (!n || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m.major = (u32)major;
	m.minor = (u32)minor;
	line += n;
	len -= n;
	while (len && *line == ' ') {
		line++;
		len--;
	}
	n = sizeof(DELETED) - 1;
	if (len > n && !memcmp(line + len - n, DELETED, n)) {
		m.deleted = true;
		len -= n;
	}
	*ret = m;
	*ret_path = line;
	*ret_path_len = len;
	return true;
}

static int take_line(struct user_maps *maps, const char *line, size_t len)
{
	struct user_map map, *m;
	const char *path;
	size_t path_len;

	if (maps->list.n >= USER_MAPS_MAX || !user_maps_parse(line, len, &map, &path, &path_len))
		return 0;
	map.path = path_len < PATH_MAX && !memchr(path, '\0', path_len)
			   ? arena_strndup(&maps->arena, path, path_len)
			   : "";
	m = map.path ? vec_push(&maps->list) : NULL;
	if (!m)
		return -ENOMEM;
	*m = map;
	return 0;
}

static int read_lines(struct user_maps *maps, int fd)
{
	char buf[READ_BYTES];
	size_t have = 0, total = 0;

	for (;;) {
		char *line = buf, *newline;
		ssize_t n = read(fd, buf + have, sizeof(buf) - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		have += (size_t)n;
		total += (size_t)n;
		while ((newline = memchr(line, '\n', have))) {
			int code = take_line(maps, line, (size_t)(newline - line));

			if (code)
				return code;
			have -= (size_t)(newline - line) + 1;
			line = newline + 1;
		}
		if (!n || total >= USER_MAPS_MAX_BYTES)
			return 0;
		if (have == sizeof(buf)) /* no path is that long */
			have = 0;
		memmove(buf, line, have);
	}
}

int user_maps_read(struct user_maps *maps, const char *root, u32 tgid)
{
	char path[PATH_MAX];
	int fd, code;

	memset(maps, 0, sizeof(*maps));
	arena_init(&maps->arena);
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/%u/maps", root, tgid) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	code = read_lines(maps, fd);
	close(fd);
	if (code)
		user_maps_done(maps);
	return code;
}

void user_maps_done(struct user_maps *maps)
{
	arena_done(&maps->arena);
	vec_done(&maps->list);
}

const struct user_map *user_maps_at(const struct user_maps *maps, u64 address)
{
	size_t lo = 0, hi = maps->list.n;

	while (lo < hi) { /* the first that starts above the address */
		size_t mid = lo + (hi - lo) / 2;

		if (maps->list.v[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || address >= maps->list.v[lo - 1].end)
		return NULL;
	return &maps->list.v[lo - 1];
}

/* Opening a device can do things (rewind a tape, start a watchdog): looked at before it is opened.
 */
static int open_regular(const char *path, struct stat *st)
{
	char self[64];
	int fd = open(path, O_PATH | O_CLOEXEC), opened;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) || !S_ISREG(st->st_mode)) {
		close(fd);
		return -ENOENT;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	opened = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0)
		opened = -errno;
	close(fd);
	return opened;
}

int user_maps_open(const struct user_map *map, const char *root, u32 tgid)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = -ENOENT, by_map;

	if (!map->ino || *map->path != '/')
		return -ENOENT;
	if (!map->deleted && (size_t)snprintf(path, sizeof(path), "%s/proc/%u/root%s", root, tgid,
					      map->path) < sizeof(path))
		fd = open_regular(path, &st);
	if (fd >= 0 && st.st_ino != map->ino) { /* replaced, or seen through an overlay */
		close(fd);
		fd = -ESTALE;
	}
	if (fd >= 0 && major(st.st_dev) == map->major && minor(st.st_dev) == map->minor)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/%u/map_files/%llx-%llx", root, tgid,
			     (unsigned long long)map->start,
			     (unsigned long long)map->end) >= sizeof(path))
		return fd;
	by_map = open_regular(path, &st);
	if (by_map < 0)
		return fd; /* btrfs numbers its devices differently in maps: the path will do */
	if (fd >= 0)
		close(fd);
	return by_map;
}
