/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/text_table.c: one table of a result, in columns. Layer: render.
 *
 * A column is as wide as its widest shown value. A table that gets too wide loses, in this order:
 * the second blank between columns, the ends of long strings ("~"), the last digits of long numbers
 * ("1.2e9").
 */
#include "render/text_out.h"

#include <errno.h>
#include <string.h>

#include "render/escape.h"

#define TABLE_MAX_COLS 32
#define INDENT 2
#define STRING_MAX 40  /* columns a string gets while there is room */
#define STRING_GOOD 28 /* and keeps before the table grows past TEXT_WIDTH */
#define STRING_FLOOR 6
#define NUMBER_FLOOR 6

struct layout {
	const struct table_def *def;
	const char *title, *how_to_see_all;
	const struct result_table *table;
	u32 n_rows;	 /* shown */
	u32 n_wanted;	 /* of these */
	const u32 *rows; /* which, in their order; NULL = the first */
	u32 n;		 /* columns shown */
	u32 cols[TABLE_MAX_COLS], width[TABLE_MAX_COLS];
	u32 lines[TABLE_MAX_COLS], n_lines; /* columns shown as lines below the row */
	u32 gap;
	int approximate; /* the column that flags approximate percentiles, or -1 */
};

static bool col_is_string(const struct col *c)
{
	return c->kind == COL_STR;
}

static const struct cell *cell_at(const struct layout *l, u32 row, u32 col)
{
	size_t i = l->rows ? l->rows[row] : row;

	return &l->table->cells.v[i * l->def->n_cols + col];
}

static bool row_is_approximate(const struct layout *l, u32 row)
{
	const struct cell *c = l->approximate < 0 ? NULL : cell_at(l, row, (u32)l->approximate);

	return c && !c->null && c->u;
}

static void format_number(const struct text *t, const struct layout *l, u32 row, u32 col, u32 width,
			  char ret[TEXT_NUMBER_MAX])
{
	const struct cell *c = cell_at(l, row, col);
	enum col_kind kind = l->def->cols[col].kind;
	unsigned long long v = c->u;
	char number[TEXT_NUMBER_MAX];
	bool is_time = kind == COL_NS || kind == COL_QUANTILE || kind == COL_TIME;

	if (c->null || (is_time && !text_knows_time(t))) {
		strcpy(ret, "-");
		return;
	}
	switch (kind) {
	case COL_NS:
		text_number(v / 1000, width, ret);
		break;
	case COL_QUANTILE:
		if (row_is_approximate(l, row)) {
			text_number(v / 1000, width - 1, number);
			snprintf(ret, TEXT_NUMBER_MAX, "~%.*s", TEXT_NUMBER_MAX - 2, number);
		} else {
			text_number(v / 1000, width, ret);
		}
		break;
	case COL_TIME:
		snprintf(ret, TEXT_NUMBER_MAX, "%llu.%06llu", v / 1000000000, v / 1000 % 1000000);
		break;
	case COL_PERCENT:
		snprintf(ret, TEXT_NUMBER_MAX, "%llu.%02llu", v / 100, v % 100);
		break;
	case COL_HEX:
		snprintf(ret, TEXT_NUMBER_MAX, "0x%llx", v);
		break;
	case COL_FLAG:
		strcpy(ret, v ? "yes" : "no");
		break;
	default:
		text_number(v, width, ret);
	}
}

static u32 cell_columns(const struct text *t, const struct layout *l, u32 row, u32 col)
{
	const struct cell *c = cell_at(l, row, col);
	char s[STRING_MAX * 4 + 2];

	if (!col_is_string(&l->def->cols[col])) {
		format_number(t, l, row, col, TEXT_NUMBER_MAX - 2, s);
		return (u32)strlen(s);
	}
	return c->null ? 1 : escape_cut(s, sizeof(s), c->s, c->len, STRING_MAX);
}

static u32 total_width(const struct layout *l)
{
	u32 sum = l->n ? (l->n - 1) * l->gap : 0;

	for (u32 i = 0; i < l->n; i++)
		sum += l->width[i];
	return sum;
}

/* Takes columns off the widest shrinkable ones until the table fits @limit; none goes below @floor.
 */
static void shrink(struct layout *l, bool strings, u32 limit, u32 floor)
{
	while (total_width(l) > limit) {
		u32 widest = l->n;

		for (u32 i = 0; i < l->n; i++) {
			const struct col *c = &l->def->cols[l->cols[i]];
			u32 least = (u32)strlen(c->heading);

			if (least < floor)
				least = floor;
			if (c->kind == COL_TIME || c->kind == COL_PERCENT || c->kind == COL_HEX)
				continue;
			if (col_is_string(c) == strings && l->width[i] > least &&
			    (widest == l->n || l->width[i] > l->width[widest]))
				widest = i;
		}
		if (widest == l->n)
			return;
		l->width[widest]--;
	}
}

/* @keys: only these columns, ended by NULL; NULL = all of the report. */
static bool wants_column(const struct col *c, const char *const *keys)
{
	if (c->json_only || c->kind == COL_BUCKETS)
		return false;
	for (; keys && *keys; keys++)
		if (!strcmp(*keys, c->key))
			return true;
	return !keys;
}

static void layout_init(struct layout *l, const struct text *t, enum table_id id,
			const char *const *keys)
{
	memset(l, 0, sizeof(*l));
	l->def = &table_defs[id];
	l->title = l->def->title;
	l->how_to_see_all = " (--top 0 shows all)";
	l->table = &t->r->tables[id];
	l->n_rows = l->n_wanted = l->table->n_rows;
	if (t->o->top && t->o->top < l->n_rows)
		l->n_rows = t->o->top;
	l->approximate = -1;
	for (u32 i = 0; i < l->def->n_cols; i++) {
		const struct col *c = &l->def->cols[i];

		if (c->kind == COL_FLAG && !strcmp(c->key, "approximate"))
			l->approximate = (int)i;
		if (!wants_column(c, keys) || l->n + l->n_lines == TABLE_MAX_COLS)
			continue;
		if (c->kind == COL_LINE)
			l->lines[l->n_lines++] = i;
		else
			l->cols[l->n++] = i;
	}
}

static void layout_fit(struct layout *l, const struct text *t)
{
	for (u32 i = 0; i < l->n; i++) {
		l->width[i] = (u32)strlen(l->def->cols[l->cols[i]].heading);
		for (u32 row = 0; row < l->n_rows; row++) {
			u32 w = cell_columns(t, l, row, l->cols[i]);

			if (w > l->width[i])
				l->width[i] = w;
		}
	}
	l->gap = 2;
	if (total_width(l) > TEXT_WIDTH - INDENT)
		l->gap = 1;
	shrink(l, true, TEXT_WIDTH - INDENT, STRING_GOOD);
	shrink(l, true, TEXT_TABLE_WIDTH - INDENT, STRING_FLOOR);
	shrink(l, false, TEXT_TABLE_WIDTH - INDENT, NUMBER_FLOOR);
}

static void put_right(struct text *t, u32 end, const char *s)
{
	u32 len = (u32)strlen(s);

	if (len < end)
		text_pad(t, end - len);
	text_put(t, s);
}

static void put_header(struct text *t, const struct layout *l)
{
	u32 column = INDENT;

	for (u32 i = 0; i < l->n; i++) {
		const struct col *c = &l->def->cols[l->cols[i]];

		text_pad(t, column);
		column += l->width[i];
		if (col_is_string(c))
			text_put(t, c->heading);
		else
			put_right(t, column, c->heading);
		column += l->gap;
	}
	text_end_line(t);
}

static void put_row(struct text *t, const struct layout *l, u32 row)
{
	char number[TEXT_NUMBER_MAX];
	u32 column = INDENT;

	for (u32 i = 0; i < l->n; i++) {
		const struct cell *cell = cell_at(l, row, l->cols[i]);

		text_pad(t, column);
		column += l->width[i];
		if (!col_is_string(&l->def->cols[l->cols[i]])) {
			format_number(t, l, row, l->cols[i], l->width[i], number);
			put_right(t, column, number);
		} else if (cell->null) {
			text_put(t, "-");
		} else {
			text_cut(t, cell->s, cell->len, l->width[i]);
		}
		column += l->gap;
	}
	text_end_line(t);
}

/* "      behind: mprotect tid 12 holds mmap_lock < fault tid 34 holds the VMA lock" */
static void put_line(struct text *t, const struct col *c, const struct cell *cell)
{
	char s[TEXT_LINE_BYTES / 2];
	size_t n = cell->len < sizeof(s) - 1 ? cell->len : sizeof(s) - 1;

	if (cell->null)
		return;
	memcpy(s, cell->s, n);
	s[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!s[i])
			s[i] = '?';
	text_pad(t, INDENT * 3);
	text_printf(t, "%s:", c->heading);
	text_wrap(t, INDENT * 4, s);
	text_end_line(t);
}

static void put_remainder(struct text *t, const struct layout *l)
{
	u64 cut = l->n_wanted - l->n_rows;
	bool approximate = false;

	if (cut) {
		text_printf(t, "  ... %llu more row%s%s", (unsigned long long)cut,
			    cut == 1 ? "" : "s", l->how_to_see_all);
		text_end_line(t);
	}
	if (l->table->rows_left_out) {
		text_printf(t, "  ... %llu further row%s not kept: past the table's limit",
			    (unsigned long long)l->table->rows_left_out,
			    l->table->rows_left_out == 1 ? " was" : "s were");
		text_end_line(t);
	}
	for (u32 row = 0; row < l->n_rows && text_knows_time(t); row++)
		approximate |= row_is_approximate(l, row);
	if (approximate) {
		text_put(t,
			 "  ~ before a percentile: from a histogram, relative error at most 1 %");
		text_end_line(t);
	}
}

static void title_line(struct text *t, const struct layout *l, const char *tail)
{
	char s[256];

	snprintf(s, sizeof(s), "%s%s", l->title, tail);
	text_heading(t, s);
}

static bool has_durations(const struct layout *l)
{
	for (u32 i = 0; i < l->n; i++) {
		enum col_kind kind = l->def->cols[l->cols[i]].kind;

		if (kind == COL_NS || kind == COL_QUANTILE)
			return true;
	}
	return false;
}

/* What the short headings of the tables of durations mean; once, below the first of them. */
static void put_legend(struct text *t)
{
	text_put(t, "  CONT contended, OPEN not seen whole, LOSS events lost meanwhile (both in no "
		    "other figure),");
	text_end_line(t);
	text_put(t, "  FAILED tries that did not get the lock, - too few or not known");
	text_end_line(t);
	t->legend = true;
}

/* The column that holds the log10 buckets, which every table of durations has, or -1. */
static int buckets_column(const struct layout *l)
{
	for (u32 i = 0; i < l->def->n_cols; i++)
		if (l->def->cols[i].kind == COL_BUCKETS)
			return (int)i;
	return -1;
}

/* The log10 buckets of a table of waits, as a second, compact table with the same rows. */
static void put_buckets(struct text *t, const struct layout *l)
{
	static const char *const headings[SERIES_BUCKETS] = { "us: <1", "1-10",	    "10-100",
							      "100-1k", "ms: 1-10", "10-100",
							      "100-1k", "s: >=1" };
	char number[TEXT_NUMBER_MAX];
	int buckets = buckets_column(l);

	if (buckets < 0 || !text_knows_time(t))
		return;
	text_put(t, "  how many lasted");
	for (u32 i = 0; i < SERIES_BUCKETS; i++)
		put_right(t, 30 + i * 10, headings[i]);
	text_end_line(t);
	for (u32 row = 0; row < l->n_rows; row++) {
		const struct cell *c = cell_at(l, row, (u32)buckets);

		text_pad(t, INDENT);
		for (u32 i = 0; i < l->n && col_is_string(&l->def->cols[l->cols[i]]); i++) {
			const struct cell *name = cell_at(l, row, l->cols[i]);

			text_pad(t, INDENT + i * 11);
			text_cut(t, name->null ? "-" : name->s, name->null ? 1 : name->len, 10);
		}
		for (u32 i = 0; i < SERIES_BUCKETS; i++) {
			if (c->null || !c->p)
				strcpy(number, "-");
			else
				text_number(c->p[i], 9, number);
			put_right(t, 30 + i * 10, number);
		}
		text_end_line(t);
	}
}

static void put_rows(struct text *t, struct layout *l)
{
	layout_fit(l, t);
	title_line(t, l, has_durations(l) ? " (times in us)" : "");
	put_header(t, l);
	for (u32 row = 0; row < l->n_rows; row++) {
		put_row(t, l, row);
		for (u32 i = 0; i < l->n_lines; i++)
			put_line(t, &l->def->cols[l->lines[i]], cell_at(l, row, l->lines[i]));
	}
	put_remainder(t, l);
}

struct sort {
	const struct result *r;
	const struct text_part *part;
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct sort *s = ctx;
	u32 row_a = *(const u32 *)a, row_b = *(const u32 *)b;
	const struct cell *x = result_cell(s->r, s->part->id, row_a, s->part->sort_by);
	const struct cell *y = result_cell(s->r, s->part->id, row_b, s->part->sort_by);

	if (x && y && !x->null && !y->null && x->u != y->u)
		return x->u < y->u ? 1 : -1;
	return (row_a > row_b) - (row_a < row_b);
}

/* The rows that @part wants, of which @l then shows as many as it may. NULL when out of memory. */
static u32 *choose_rows(struct layout *l, const struct text *t, const struct text_part *part)
{
	u32 *rows = malloc(((size_t)l->table->n_rows + 1) * sizeof(*rows)), n = 0;

	for (u32 row = 0; rows && row < l->table->n_rows; row++)
		if (!part->wanted || part->wanted(t->r, row))
			rows[n++] = row;
	if (rows && part->sort_by)
		qsort_r(rows, n, sizeof(*rows), compare_rows, &(struct sort){ t->r, part });
	l->rows = rows;
	l->n_wanted = n;
	l->n_rows = part->top && part->top < n ? part->top : n;
	return rows;
}

bool text_table_part(struct text *t, const struct text_part *part)
{
	struct layout l;
	u32 *rows;

	layout_init(&l, t, part->id, part->columns);
	if (!l.table->covered || !l.n_rows)
		return false;
	rows = choose_rows(&l, t, part);
	if (!rows)
		t->err = ENOMEM;
	if (rows && l.n_rows) {
		l.title = part->title;
		l.how_to_see_all = "";
		text_gap(t, false);
		put_rows(t, &l);
	}
	free(rows);
	return rows && l.n_rows;
}

void text_table(struct text *t, enum table_id id)
{
	struct layout l;

	layout_init(&l, t, id, NULL);
	text_gap(t, !l.table->covered || !l.n_rows);
	if (!l.table->covered) {
		char why[512];

		snprintf(why, sizeof(why), "n/a (%s)",
			 l.table->why ? l.table->why : "not in this trace");
		text_printf(t, "%s:", l.def->title);
		text_wrap(t, INDENT, why);
		text_end_line(t);
		return;
	}
	if (!l.n_rows) {
		text_printf(t, "%s: none", l.def->title);
		text_end_line(t);
		return;
	}
	put_rows(t, &l);
	if (!t->legend && buckets_column(&l) >= 0)
		put_legend(t);
	if (id == TABLE_WAITS)
		put_buckets(t, &l);
}
