/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/stress_map.c: the file and the mapping of the stress workload. Layer: live.
 *
 * The mapping is dirtied once, so that its blocks exist on disk, written back, and dropped: first
 * the PTEs, then the page cache, which keeps pages that anybody maps.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "live/live.h"
#include "live/stress_priv.h"

static bool fd_in_memory(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return (u32)fs.f_type == TMPFS_MAGIC || (u32)fs.f_type == RAMFS_MAGIC ||
	       (u32)fs.f_type == HUGETLBFS_MAGIC;
}

/* An unlinked file in @dir: O_TMPFILE, or (where the file system has none) a name for a moment. */
static int temp_file_open(const char *dir)
{
	char path[PATH_MAX];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/mmscope-stress-XXXXXX", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* The first directory that is no tmpfs; when all are, the first that takes a file. */
static int temp_file_pick(struct stress *s, struct error *e)
{
	const char *dirs[] = { getenv("TMPDIR"), ".", "/var/tmp" };
	const char *chosen = NULL;
	int best = -1, first_err = 0;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		int fd;

		if (!dirs[i] || !*dirs[i])
			continue;
		fd = temp_file_open(dirs[i]);
		if (fd < 0) {
			first_err = first_err ? first_err : fd;
			continue;
		}
		if (best >= 0 && fd_in_memory(fd)) {
			close(fd);
			continue;
		}
		if (best >= 0)
			close(best);
		best = fd;
		chosen = dirs[i];
		if (!fd_in_memory(fd))
			break;
	}
	if (best < 0)
		return error_set(e, first_err,
				 "cannot create a temporary file in $TMPDIR, the current "
				 "directory or /var/tmp: %s; name one with --file",
				 strerror(-first_err));
	snprintf(s->ident.dir, sizeof(s->ident.dir), "%s", chosen);
	s->fd = best;
	s->known_content = true;
	return 0;
}

/* An existing file keeps its bytes and must be long enough; a new one is unlinked at once. */
static int named_file_open(struct stress *s, struct error *e)
{
	const char *path = s->config.path;
	struct stat st;

	snprintf(s->ident.dir, sizeof(s->ident.dir), "%s", path);
	s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->fd >= 0) {
		unlink(path);
		s->known_content = true;
		return 0;
	}
	if (errno == EEXIST)
		s->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0 || fstat(s->fd, &st))
		return error_set(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "%s: not a regular file", path);
	if ((u64)st.st_size < s->map_bytes)
		return error_set(e, -EINVAL,
				 "%s: has %lld bytes, %llu pages need %zu; ask for fewer --pages",
				 path, (long long)st.st_size, (unsigned long long)s->config.pages,
				 s->map_bytes);
	return 0;
}

static int file_allocate(struct stress *s, struct error *e)
{
	int err;

	if (!s->known_content)
		return 0;
	do {
		err = posix_fallocate(s->fd, 0, (off_t)s->map_bytes);
	} while (err == EINTR && !live_stop_signal);
	if (err)
		return error_set(e, -err, "cannot allocate %zu bytes in %s: %s", s->map_bytes,
				 s->ident.dir, strerror(err));
	return 0;
}

/* A file of our own gets its page numbers; another's bytes stay, only the page gets dirty. */
static int map_dirty(struct stress *s, struct error *e)
{
	for (u64 page = 0; page < s->config.pages; page++) {
		char *p = s->map + page * s->page_size_bytes;

		if (s->known_content)
			*(volatile u64 *)p = page;
		else
			__atomic_fetch_or((u8 *)p, 0, __ATOMIC_RELAXED);
		if (live_stop_signal)
			return error_set(e, -EINTR, "ended by a signal before the gate opened");
	}
	if (msync(s->map, s->map_bytes, MS_SYNC))
		return error_set(e, -errno, "msync %s: %s", s->ident.dir, strerror(errno));
	return 0;
}

static u64 map_count_resident(struct stress *s)
{
	unsigned char vec[4096];
	u64 n = 0;

	for (u64 page = 0; page < s->config.pages; page += sizeof(vec)) {
		u64 left = s->config.pages - page;
		u64 part = left < sizeof(vec) ? left : sizeof(vec);

		if (mincore(s->map + page * s->page_size_bytes, part * s->page_size_bytes, vec))
			return 0;
		for (u64 i = 0; i < part; i++)
			n += vec[i] & 1;
	}
	return n;
}

/*
 * dev:ino as a tracer sees them: those of the VMA's inode. On btrfs and overlayfs stat() gives
 * others. A line of maps: "7f0c1c000000-7f0c1d000000 rw-s 00000000 fe:00 131 /tmp/#131 (deleted)".
 * Nothing else of us runs yet, so that reading our own maps waits for nobody.
 */
static void ident_find_inode(struct stress *s)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct stat st;
	char line[PATH_MAX + 128];

	if (!fstat(s->fd, &st)) {
		s->ident.dev_major = major(st.st_dev);
		s->ident.dev_minor = minor(st.st_dev);
		s->ident.ino = st.st_ino;
	}
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long start, ino;
		unsigned int major, minor;

		if (sscanf(line, "%llx-%*x %*s %*x %x:%x %llu", &start, &major, &minor, &ino) !=
			    4 ||
		    start != s->ident.vm_start)
			continue;
		s->ident.dev_major = major;
		s->ident.dev_minor = minor;
		s->ident.ino = ino;
		break;
	}
	if (f)
		fclose(f);
}

int stress_map_init(struct stress *s, struct error *e)
{
	int err;

	s->map_bytes = s->config.pages * s->page_size_bytes;
	err = s->config.path ? named_file_open(s, e) : temp_file_pick(s, e);
	if (err)
		return err;
	err = file_allocate(s, e);
	if (err)
		return err;
	s->map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return error_set(e, -errno, "mmap of %zu bytes: %s", s->map_bytes, strerror(errno));
	}
	if (madvise(s->map, s->map_bytes, s->config.random_advice ? MADV_RANDOM : MADV_NORMAL))
		return error_set(e, -errno, "madvise: %s", strerror(errno));
	err = map_dirty(s, e);
	if (err)
		return err;
	if (madvise(s->map, s->map_bytes, MADV_DONTNEED))
		return error_set(e, -errno, "madvise(MADV_DONTNEED): %s", strerror(errno));
	/* A file system that cannot drop its cache still works: resident_pages tells. */
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
	s->ident.resident_pages = map_count_resident(s);
	s->ident.in_memory = fd_in_memory(s->fd);
	s->ident.vm_start = (u64)(uintptr_t)s->map;
	s->ident.vm_end = s->ident.vm_start + s->map_bytes;
	ident_find_inode(s);
	return 0;
}

void stress_map_done(struct stress *s)
{
	if (s->map)
		munmap(s->map, s->map_bytes);
	if (s->fd >= 0)
		close(s->fd);
}
