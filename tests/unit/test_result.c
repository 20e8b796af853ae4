/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_result.c: rows, notes and the limits of a result; the tables that define them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "render/render.h"
#include "result/result.h"

static void test_rows_start_null(void **state)
{
	struct result r;
	struct cell *c;

	(void)state;
	result_init(&r);
	for (u32 t = 0; t < TABLES; t++) {
		assert_false(r.tables[t].covered);
		c = result_row(&r, t);
		assert_non_null(c);
		for (u32 i = 0; i < table_defs[t].n_cols; i++)
			assert_true(c[i].null);
	}
	for (u32 i = 0; i < 1000; i++) {
		c = result_row(&r, TABLE_EVENTS);
		assert_non_null(c);
		cell_str(&c[0], "x", 1);
		cell_u64(&c[1], i);
	}
	assert_int_equal(r.tables[TABLE_EVENTS].n_rows, 1001);
	assert_int_equal(r.tables[TABLE_EVENTS].cells.n, 1001 * table_defs[TABLE_EVENTS].n_cols);
	assert_int_equal(r.tables[TABLE_EVENTS].cells.v[1000 * 2 + 1].u, 999);
	result_done(&r);
	result_done(&r); /* twice does no harm */
}

static void test_notes_end(void **state)
{
	struct result r;

	(void)state;
	result_init(&r);
	for (int i = 0; i < 1000; i++)
		result_note(&r, NOTE_LOSS, "note %d", i);
	assert_int_equal(r.notes.n, RESULT_MAX_NOTES + 1);
	assert_string_equal(r.notes.v[0].text, "note 0");
	assert_string_equal(r.notes.v[RESULT_MAX_NOTES - 1].text, "note 199");
	assert_string_equal(r.notes.v[RESULT_MAX_NOTES].text, "more notes were left out");
	assert_int_equal(r.notes.v[0].level, NOTE_LOSS);
	assert_false(r.incomplete);
	result_done(&r);
}

static void test_exactly_all_notes(void **state)
{
	struct result r;

	(void)state;
	result_init(&r);
	for (int i = 0; i < RESULT_MAX_NOTES; i++)
		result_note(&r, NOTE_INFO, "%0*d", 5000, i); /* far longer than a note may be */
	assert_int_equal(r.notes.n, RESULT_MAX_NOTES);
	assert_true(strlen(r.notes.v[0].text) < 5000);
	result_done(&r);
}

static void test_table_definitions(void **state)
{
	(void)state;
	for (u32 t = 0; t < TABLES; t++) {
		assert_true(table_defs[t].n_cols > 0);
		assert_true(render_section_find(table_defs[t].section) >= 0);
		for (u32 k = 0; k < t; k++)
			assert_string_not_equal(table_defs[t].key, table_defs[k].key);
		for (u32 i = 0; i < table_defs[t].n_cols; i++)
			for (u32 k = 0; k < i; k++)
				assert_string_not_equal(table_defs[t].cols[i].key,
							table_defs[t].cols[k].key);
	}
	assert_int_equal(render_section_find("verdict"), SECTION_verdict);
	assert_int_equal(render_section_find("verdicts"), -1);
	assert_int_equal(render_section_find(""), -1);
}

static void test_sections_are_chosen(void **state)
{
	struct render_opts o = RENDER_OPTS_INIT;

	(void)state;
	for (u32 s = 0; s < SECTIONS; s++)
		assert_true(render_wants(&o, s));
	o.sections = 1u << SECTION_blame;
	for (u32 t = 0; t < TABLES; t++)
		assert_int_equal(render_wants_table(&o, t),
				 !strcmp(table_defs[t].section, "blame"));
}

static void test_percent(void **state)
{
	(void)state;
	assert_int_equal(render_percent_x100(1, 3), 3333);
	assert_int_equal(render_percent_x100(2, 3), 6667);
	assert_int_equal(render_percent_x100(0, 3), 0);
	assert_int_equal(render_percent_x100(3, 3), 10000);
	assert_int_equal(render_percent_x100(1, 20000), 1); /* 0.005 %: half goes up */
	assert_int_equal(render_percent_x100(1, 20001), 0);
	assert_int_equal(render_percent_x100(UINT64_MAX, UINT64_MAX), 10000);
	assert_true(render_percent_x100(UINT64_MAX, 1) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_start_null),
		cmocka_unit_test(test_notes_end),
		cmocka_unit_test(test_exactly_all_notes),
		cmocka_unit_test(test_table_definitions),
		cmocka_unit_test(test_sections_are_chosen),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
