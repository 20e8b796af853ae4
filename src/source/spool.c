/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/spool.c: a pipe as a file that can be rewound (see spool.h). Layer: source. */
#include "source/spool.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPOOL_BUFFER_BYTES (256u << 10)

static const char *spool_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

static int open_unlinked(const char *dir)
{
	char path[PATH_MAX];
	int fd = open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	/* not every file system has O_TMPFILE (NFS, overlayfs before 6.1), nor does an old kernel
	 */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/mmscope-XXXXXX", dir) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int copy_all(int from, const char *name, int to, u64 *ret_size_bytes, struct error *e)
{
	char *buffer = malloc(SPOOL_BUFFER_BYTES);
	u64 size = 0;
	int r = 0;

	if (!buffer)
		return error_set(e, -ENOMEM, "%s: out of memory", name);
	for (;;) {
		ssize_t n = read(from, buffer, SPOOL_BUFFER_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = error_set(e, -errno, "%s: cannot read it: %s", name, strerror(errno));
		if (n <= 0)
			break;
		r = io_write_all(to, buffer, (size_t)n);
		if (r < 0) {
			error_set(e, r,
				  "%s: cannot keep it in %s: %s after %llu bytes; set TMPDIR to a "
				  "directory with room",
				  name, spool_dir(), strerror(-r), (unsigned long long)size);
			break;
		}
		size += (u64)n;
	}
	free(buffer);
	if (r)
		return r;
	*ret_size_bytes = size;
	return 0;
}

int spool_new(int fd, const char *name, u64 *ret_size_bytes, struct error *e)
{
	int spool = open_unlinked(spool_dir()), r;

	if (spool < 0)
		return error_set(e, -errno,
				 "%s: cannot make a temporary file in %s: %s; set TMPDIR to a "
				 "directory with room",
				 name, spool_dir(), strerror(errno));
	r = copy_all(fd, name, spool, ret_size_bytes, e);
	if (r < 0) {
		close(spool);
		return r;
	}
	return spool;
}
