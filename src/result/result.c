/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result/result.c: the life of a result, its rows and notes (see result.h). Layer: result. */
#include "result/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOTE_MAX_BYTES 1024

void result_init(struct result *r)
{
	memset(r, 0, sizeof(*r));
	arena_init(&r->arena);
}

void result_done(struct result *r)
{
	for (u32 t = 0; t < TABLES; t++)
		vec_done(&r->tables[t].cells);
	vec_done(&r->notes);
	arena_done(&r->arena);
	memset(r, 0, sizeof(*r));
}

struct cell *result_row(struct result *r, enum table_id t)
{
	struct result_table *table = &r->tables[t];
	u32 n_cols = table_defs[t].n_cols;
	size_t first = table->cells.n;

	if (table->n_rows == UINT32_MAX)
		return NULL;
	for (u32 i = 0; i < n_cols; i++) {
		struct cell *c = vec_push(&table->cells);

		if (!c) {
			table->cells.n = first; /* no row is half there */
			return NULL;
		}
		c->null = true;
	}
	table->n_rows++;
	return &table->cells.v[first];
}

static void note_push(struct result *r, enum note_level level, const char *text)
{
	struct result_note *n = text ? vec_push(&r->notes) : NULL;

	if (!n) {
		r->incomplete = true; /* what the note said is not known any more */
		return;
	}
	n->level = level;
	n->text = text;
}

void result_note(struct result *r, enum note_level level, const char *fmt, ...)
{
	char text[NOTE_MAX_BYTES];
	va_list ap;

	if (r->notes.n > RESULT_MAX_NOTES)
		return;
	if (r->notes.n == RESULT_MAX_NOTES) {
		note_push(r, NOTE_WARNING, "more notes were left out");
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note_push(r, level, arena_strndup(&r->arena, text, strlen(text)));
}

const struct cell *result_cell(const struct result *r, enum table_id t, u32 row, const char *key)
{
	const struct table_def *def = &table_defs[t];

	for (u32 c = 0; c < def->n_cols && row < r->tables[t].n_rows; c++) {
		if (!strcmp(def->cols[c].key, key))
			return &r->tables[t].cells.v[(size_t)row * def->n_cols + c];
	}
	return NULL;
}
