/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/error.h: an error that travels up with its context.
 *
 * Functions below cli/ never print. They return 0 (or a value) on success and a negative errno on
 * failure, and fill a caller-owned struct error with one line: what, where, what to do. Only the
 * first error_set() of a struct sticks; error_prefix() adds context in front of it on the way up.
 */
#ifndef MMSCOPE_BASE_ERROR_H
#define MMSCOPE_BASE_ERROR_H

#include "base/types.h"

struct error {
	int code;	/* negative errno, 0 = no error */
	char msg[1024]; /* one line, no newline at the end */
};

/* Sets @e (which may be NULL) and returns @code, so that `return error_set(e, -EINVAL, ...)` reads
 * well. */
int error_set(struct error *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts "context: " in front of the message of @e, if it has one. */
void error_prefix(struct error *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Forgets the error, so that the struct can be used for another try. */
void error_clear(struct error *e);

#endif
