/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/error.c: error messages with context (see error.h). */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e || e->code)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return code;
}

void error_prefix(struct error *e, const char *fmt, ...)
{
	char context[256], old[sizeof(e->msg)];
	va_list ap;

	if (!e || !e->code)
		return;
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, e->msg, sizeof(old));
	snprintf(e->msg, sizeof(e->msg), "%s: %.*s", context,
		 (int)(sizeof(e->msg) - sizeof(context) - 4), old);
}

void error_clear(struct error *e)
{
	e->code = 0;
	e->msg[0] = '\0';
}
