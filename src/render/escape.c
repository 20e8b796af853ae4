/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/escape.c: strings out of a trace, made safe to print (see escape.h). Layer: render. */
#include "render/escape.h"

#include <stdlib.h>
#include <string.h>

struct range {
	u32 first, last;
};
/* Valid code points that would be invisible, move the cursor or turn the direction of the text. */
static const struct range unprintable[] = {
	{ 0x80, 0x9f },	       { 0xad, 0xad },	   { 0x61c, 0x61c },   { 0x180e, 0x180e },
	{ 0x200b, 0x200f },    { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xe000, 0xf8ff },
	{ 0xfdd0, 0xfdef },    { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
	{ 0xe0000, 0x10ffff },
};
/* East Asian wide characters and emoji: two columns. wcwidth() would need a locale. */
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },	  { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

static bool in_ranges(const struct range *ranges, size_t n, u32 cp)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}

/* Length of the valid UTF-8 sequence at @s, 0 when there is none: no overlong form, no surrogate.
 */
static size_t utf8_decode(const u8 *s, size_t len, u32 *ret_cp)
{
	static const u32 smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n;
	u32 cp;

	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	cp = s[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3f);
	}
	if (cp < smallest[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return n;
}

static void piece_hex(struct escape_piece *p, const u8 *s, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	p->len = 0;
	for (size_t i = 0; i < n; i++) {
		p->bytes[p->len++] = '\\';
		p->bytes[p->len++] = 'x';
		p->bytes[p->len++] = digits[s[i] >> 4];
		p->bytes[p->len++] = digits[s[i] & 15];
	}
	p->columns = p->len;
}

static void piece_copy(struct escape_piece *p, const void *s, size_t n, u8 columns)
{
	memcpy(p->bytes, s, n);
	p->len = (u8)n;
	p->columns = columns;
}

size_t escape_next(const char *s, size_t len, struct escape_piece *ret)
{
	const u8 *u = (const u8 *)s;
	size_t n;
	u32 cp;

	if (u[0] == '\\') {
		piece_copy(ret, "\\\\", 2, 2);
		return 1;
	}
	if (u[0] >= 0x20 && u[0] < 0x7f) {
		piece_copy(ret, u, 1, 1);
		return 1;
	}
	n = utf8_decode(u, len, &cp);
	if (!n) {
		piece_hex(ret, u, 1);
		return 1;
	}
	if (in_ranges(unprintable, ARRAY_LEN(unprintable), cp) || (cp & 0xfffe) == 0xfffe)
		piece_hex(ret, u, n);
	else
		piece_copy(ret, u, n, in_ranges(wide, ARRAY_LEN(wide), cp) ? 2 : 1);
	return n;
}

char *escape_dup(const char *s, size_t len, size_t *ret_len)
{
	struct escape_piece p;
	size_t n = 0;
	char *dst;

	if (len > (SIZE_MAX - 1) / 4)
		return NULL;
	dst = malloc(len * 4 + 1);
	if (!dst)
		return NULL;
	while (len) {
		size_t taken = escape_next(s, len, &p);

		memcpy(dst + n, p.bytes, p.len);
		n += p.len;
		s += taken;
		len -= taken;
	}
	dst[n] = '\0';
	*ret_len = n;
	return dst;
}

u32 escape_cut(char *dst, size_t size, const char *s, size_t len, u32 columns)
{
	size_t n = 0, n_cut = 0; /* n_cut: bytes that leave room for the "~" */
	u32 used = 0, used_cut = 0;
	struct escape_piece p;

	while (len) {
		size_t taken = escape_next(s, len, &p);

		if (used + p.columns > columns || n + p.len + 2 > size) {
			n = n_cut;
			used = used_cut;
			if (used < columns && n + 2 <= size) {
				dst[n++] = '~';
				used++;
			}
			break;
		}
		memcpy(dst + n, p.bytes, p.len);
		n += p.len;
		used += p.columns;
		if (used < columns) {
			n_cut = n;
			used_cut = used;
		}
		s += taken;
		len -= taken;
	}
	if (size)
		dst[n < size ? n : size - 1] = '\0';
	return used;
}
