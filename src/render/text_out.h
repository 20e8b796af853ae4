/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/text_out.h: the page that the text renderer writes on. Layer: render, private to text*.c.
 *
 * Lines are built in a buffer and written whole, without trailing blanks. Positions are columns,
 * not bytes. The first failed write is remembered and ends all output; text.c turns it into the
 * result.
 */
#ifndef MMSCOPE_RENDER_TEXT_OUT_H
#define MMSCOPE_RENDER_TEXT_OUT_H

#include "render/render.h"

#define TEXT_WIDTH 100	     /* what everything but a crowded table keeps to */
#define TEXT_TABLE_WIDTH 118 /* what a table may take at most */
#define TEXT_NUMBER_MAX 32
#define TEXT_LINE_BYTES 2048

struct text {
	const struct result *r;
	const struct render_opts *o;
	FILE *out;
	int err;       /* first errno of a write, 0 = none */
	bool blocks;   /* something was printed: an empty line goes in front of the next block */
	bool one_line; /* the last block was a single line */
	bool legend;   /* the short headings were explained */
	u32 columns;
	size_t len;
	char line[TEXT_LINE_BYTES];
};

/* Printable ASCII that the project itself made, as it is. */
void text_put(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Blanks up to column @column. */
void text_pad(struct text *t, u32 column);
void text_end_line(struct text *t);
/* An empty line in front of the next block; none between blocks of one line each. */
void text_gap(struct text *t, bool one_line);
/* One line, bold where colour is on. */
void text_heading(struct text *t, const char *s);
/* A string of any bytes, escaped, its words filled up to TEXT_WIDTH; further lines begin at
 * @indent. */
void text_wrap(struct text *t, u32 indent, const char *s);
/* The same for a phrase that is not to be broken where it fits a line; @gap blanks in front of it.
 */
void text_item(struct text *t, u32 indent, u32 gap, const char *s);
/* A string of any bytes, escaped, in at most @columns columns. */
void text_cut(struct text *t, const char *s, size_t len, u32 columns);

/*
 * The ONE place where text gets its times: false when the clock does not count seconds, for then
 * nothing is known of any duration or time stamp.
 */
bool text_knows_time(const struct text *t);
/* "850 us", "2797.3 ms" or "n/a". */
void text_duration(const struct text *t, struct opt_u64 ns, char ret[TEXT_NUMBER_MAX]);
/* A number in at most @columns columns (5 or more): "1234567", "1.23e12" or "12e11" (cut, not
 * rounded). */
void text_number(u64 v, u32 columns, char ret[TEXT_NUMBER_MAX]);

/* Blocks of the report. */
void text_summary(struct text *t);
void text_table(struct text *t, enum table_id id);
/* Some columns and rows of a table under a title of their own. */
struct text_part {
	enum table_id id;
	const char *title;
	const char *const *columns;			 /* by key, ended by NULL; NULL = all */
	bool (*wanted)(const struct result *r, u32 row); /* NULL = every row */
	const char *sort_by; /* a column of numbers, largest first; NULL = as they are */
	u32 top;	     /* rows, 0 = all */
};
/* False, and nothing printed, when there is no such row. */
bool text_table_part(struct text *t, const struct text_part *part);

#endif
