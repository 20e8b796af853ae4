/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/text_out.c: the page that the text renderer writes on (see text_out.h). Layer: render. */
#include "render/text_out.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "render/escape.h"

#define WRAP_WIDTH (TEXT_WIDTH - 1) /* a comma or colon still fits behind the last word */
#define WORD_BYTES (TEXT_WIDTH * 4)

static void write_bytes(struct text *t, const char *s, size_t len)
{
	if (t->err)
		return;
	errno = 0;
	if (fwrite(s, 1, len, t->out) != len)
		t->err = errno ? errno : EIO;
}

static void put_bytes(struct text *t, const char *s, size_t len, u32 columns)
{
	if (len >= sizeof(t->line) - t->len)
		return; /* cannot be: every caller keeps to a width, and a column is at most 4 bytes
			 */
	memcpy(t->line + t->len, s, len);
	t->len += len;
	t->columns += columns;
}

void text_put(struct text *t, const char *s)
{
	size_t len = strlen(s);

	put_bytes(t, s, len, (u32)len);
}

void text_printf(struct text *t, const char *fmt, ...)
{
	char s[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	text_put(t, s);
}

void text_pad(struct text *t, u32 column)
{
	while (t->columns < column)
		put_bytes(t, " ", 1, 1);
}

void text_end_line(struct text *t)
{
	while (t->len && t->line[t->len - 1] == ' ')
		t->len--;
	t->line[t->len++] = '\n';
	write_bytes(t, t->line, t->len);
	t->len = 0;
	t->columns = 0;
}

void text_gap(struct text *t, bool one_line)
{
	if (t->blocks && !(one_line && t->one_line))
		text_end_line(t);
	t->blocks = true;
	t->one_line = one_line;
}

void text_heading(struct text *t, const char *s)
{
	if (t->o->colour)
		put_bytes(t, "\033[1m", 4, 0);
	text_put(t, s);
	if (t->o->colour)
		put_bytes(t, "\033[0m", 4, 0);
	text_end_line(t);
}

/* Puts a word, or a phrase, on this line, or on the next one when it is full. */
static void place(struct text *t, u32 indent, u32 gap, const char *s, size_t len, u32 columns)
{
	if (!len)
		return;
	if (t->columns > indent && t->columns + gap + columns > WRAP_WIDTH)
		text_end_line(t);
	if (t->columns > indent)
		text_pad(t, t->columns + gap);
	else
		text_pad(t, indent);
	put_bytes(t, s, len, columns);
}

void text_wrap(struct text *t, u32 indent, const char *s)
{
	size_t left = strlen(s), n = 0;
	struct escape_piece p;
	char word[WORD_BYTES];
	u32 columns = 0;

	while (left) {
		size_t taken = escape_next(s, left, &p);
		bool blank = *s == ' ';

		/* A word wider than the page is broken at its edge. */
		if (blank || columns + p.columns > WRAP_WIDTH - indent) {
			place(t, indent, 1, word, n, columns);
			n = 0;
			columns = 0;
		}
		if (!blank) {
			memcpy(word + n, p.bytes, p.len);
			n += p.len;
			columns += p.columns;
		}
		s += taken;
		left -= taken;
	}
	place(t, indent, 1, word, n, columns);
}

void text_item(struct text *t, u32 indent, u32 gap, const char *s)
{
	size_t len = strlen(s);

	place(t, indent, gap, s, len, (u32)len);
}

void text_cut(struct text *t, const char *s, size_t len, u32 columns)
{
	char buf[TEXT_TABLE_WIDTH * 4 + 1];
	u32 used = escape_cut(buf, sizeof(buf), s, len, columns);

	put_bytes(t, buf, strlen(buf), used);
}

bool text_knows_time(const struct text *t)
{
	return t->r->trace.clock_has_seconds;
}

void text_duration(const struct text *t, struct opt_u64 ns, char ret[TEXT_NUMBER_MAX])
{
	unsigned long long us = ns.v / 1000;

	if (!ns.has || !text_knows_time(t))
		snprintf(ret, TEXT_NUMBER_MAX, "n/a");
	else if (us < 10000)
		snprintf(ret, TEXT_NUMBER_MAX, "%llu us", us);
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%llu.%llu ms", us / 1000, us / 100 % 10);
}

void text_number(u64 v, u32 columns, char ret[TEXT_NUMBER_MAX])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	int room;

	if ((u32)n <= columns) {
		memcpy(ret, digits, (size_t)n + 1);
		return;
	}
	/* d.ddde16: what the exponent and the point leave is for digits */
	room = (int)columns - 2 - (n - 1 > 9 ? 3 : 2);
	if (room < 1) /* no place for a point */
		snprintf(ret, TEXT_NUMBER_MAX, "%.2se%d", digits, n - 2);
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%c.%.*se%d", digits[0], room, digits + 1, n - 1);
}
