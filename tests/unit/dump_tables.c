/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/dump_tables.c: prints the tables that define the output, for
 * tests/golden/json_docs.py. One row per line, its fields separated by tabs.
 */
#include <stdio.h>

#include "render/json.h"

static const char *const kinds[] = {
	[COL_COUNT] = "count",	   [COL_NS] = "us",	      [COL_TIME] = "ns",
	[COL_BYTES] = "bytes",	   [COL_HEX] = "hex",	      [COL_STR] = "string",
	[COL_PERCENT] = "percent", [COL_BUCKETS] = "buckets", [COL_QUANTILE] = "us",
	[COL_FLAG] = "flag",	   [COL_LINE] = "string",
};

int main(void)
{
	char key[JSON_KEY_MAX];

	for (u32 i = 0; i < SECTIONS; i++)
		printf("section\t%s\t%s\n", render_sections[i].key, render_sections[i].doc);
#define LINE_CLASS(KIND, key, skipped, doc) printf("class\t%s\t%d\t%s\n", key, skipped, doc);
#include "decode/line_classes.def"
#undef LINE_CLASS
	for (u32 t = 0; t < TABLES; t++) {
		const struct table_def *d = &table_defs[t];

		printf("table\t%s\t%s\t%s\t%s\n", d->key, d->section, d->title, d->doc);
		for (u32 c = 0; c < d->n_cols; c++) {
			json_column_key(&d->cols[c], key);
			printf("column\t%s\t%s\t%s\t%s\n", d->key, key, kinds[d->cols[c].kind],
			       d->cols[c].doc);
		}
	}
	return 0;
}
