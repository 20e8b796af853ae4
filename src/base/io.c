/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/io.c: whole writes (see io.h). */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

int io_write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}
