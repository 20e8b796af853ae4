/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/spool.h: a pipe as a file that can be rewound. Layer: source, private to it. */
#ifndef MMSCOPE_SOURCE_SPOOL_H
#define MMSCOPE_SOURCE_SPOOL_H

#include "base/error.h"
#include "base/types.h"

/*
 * Copies all of @fd (to its end) into an unlinked temporary file in $TMPDIR, else /tmp, and returns
 * that file's descriptor. @name is for messages. Negative errno with @e set: no room, unreadable.
 */
int spool_new(int fd, const char *name, u64 *ret_size_bytes, struct error *e) MUST_CHECK;

#endif
