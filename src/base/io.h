/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/io.h: what write(2) leaves to its callers. */
#ifndef MMSCOPE_BASE_IO_H
#define MMSCOPE_BASE_IO_H

#include "base/types.h"

/* All of @len bytes, however many calls it takes; 0 or a negative errno. */
int io_write_all(int fd, const char *data, size_t len) MUST_CHECK;

#endif
