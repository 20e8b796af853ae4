/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/escape.h: strings out of a trace, made safe to print. Layer: render.
 *
 * A task name may hold any byte. Printable ASCII and printable valid UTF-8 pass; a backslash is
 * doubled; every other byte (control, broken UTF-8, invisible or direction-changing characters)
 * becomes \xNN. The same in text and JSON, so that a name found in one can be searched in the
 *other.
 *
 *	"a\tb"	-> a\x09b		"caf\xc3\xa9" -> passes		"a\xff" -> a\xff
 */
#ifndef MMSCOPE_RENDER_ESCAPE_H
#define MMSCOPE_RENDER_ESCAPE_H

#include "base/types.h"

#define ESCAPE_PIECE_MAX 16 /* four bytes, each as \xNN */

/* What one character of the source becomes; it is never cut inside. */
struct escape_piece {
	char bytes[ESCAPE_PIECE_MAX];
	u8 len;
	u8 columns; /* it takes on a terminal */
};

/* The next piece of @s (@len > 0); returns how many bytes of @s it stands for, 1..4. */
size_t escape_next(const char *s, size_t len, struct escape_piece *ret);
/* The whole string, NUL-terminated, to be freed; NULL when out of memory. */
char *escape_dup(const char *s, size_t len, size_t *ret_len);
/*
 * At most @columns columns of the string into @dst (NUL-terminated, as much as @size holds); a cut
 * one ends in "~". Returns the columns used.
 */
u32 escape_cut(char *dst, size_t size, const char *s, size_t len, u32 columns);

#endif
