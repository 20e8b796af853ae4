/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_render_json.c: a result as JSON, read back with jansson. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "render/json.h"
#include "sample_result.h"

static char *render(const struct result *r, const struct render_opts *o)
{
	struct render_opts defaults = RENDER_OPTS_INIT;
	struct error e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(render_json(r, f, o ? o : &defaults, &e), 0);
	assert_int_equal(e.code, 0);
	fclose(f);
	return text;
}

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *top = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!top)
		print_error("%s at line %d\n", error.text, error.line);
	assert_non_null(top);
	return top;
}

static json_t *read_back(const struct result *r, const struct render_opts *o)
{
	char *text = render(r, o);
	json_t *top = parse(text);

	free(text);
	return top;
}

static json_t *get(json_t *top, const char *a, const char *b)
{
	json_t *v = json_object_get(json_object_get(top, a), b);

	if (!v)
		print_error("no %s.%s\n", a, b);
	assert_non_null(v);
	return v;
}

static void test_null_is_not_zero(void **state)
{
	struct result r;
	json_t *top;

	(void)state;
	assert_true(sample_result("empty", &r));
	r.trace.clock_has_seconds = true;
	r.summary.a_pairs = opt(0);
	r.summary.a_union_ns = opt(0);
	r.summary.fault_total = opt(0);
	r.summary.fault_retries = opt(0);
	r.tables[TABLE_CALLERS].covered = true;
	top = read_back(&r, NULL);
	assert_true(json_is_null(json_object_get(top, "workload")));
	assert_true(json_is_null(get(top, "contention", "type_b_count")));
	assert_true(json_is_null(get(top, "filemap_fault", "retry_rate_pct")));
	assert_true(json_is_null(get(top, "trace", "begin_ns")));
	assert_true(json_is_null(get(top, "verdict", "primary")));
	assert_true(json_is_integer(get(top, "contention", "type_a_count")));
	assert_int_equal(json_integer_value(get(top, "contention", "type_a_count")), 0);
	assert_true(json_is_integer(get(top, "contention", "type_a_duration_sum_us")));
	assert_true(json_is_integer(get(top, "filemap_fault", "total_count")));
	assert_true(json_is_null(json_object_get(top, "waits")));
	assert_true(json_is_array(json_object_get(top, "callers")));
	assert_int_equal(json_array_size(json_object_get(top, "callers")), 0);
	json_decref(top);
	result_done(&r);
}

/* Rates are printed with two decimals at most and as plain numbers. */
static void test_retry_rate(void **state)
{
	static const struct {
		u64 retries, total;
		const char *printed;
	} rows[] = {
		{ 1, 3, "\"retry_rate_pct\": 33.33," },
		{ 2, 3, "\"retry_rate_pct\": 66.67," },
		{ 0, 7, "\"retry_rate_pct\": 0.0," },
		{ 7, 7, "\"retry_rate_pct\": 100.0," },
		{ 1, 800, "\"retry_rate_pct\": 0.13," },
		{ 586, 1222, "\"retry_rate_pct\": 47.95," },
	};
	struct result r;
	char *text;

	(void)state;
	result_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		r.summary.fault_total = opt(rows[i].total);
		r.summary.fault_retries = opt(rows[i].retries);
		text = render(&r, NULL);
		if (!strstr(text, rows[i].printed))
			print_error("not found: %s\n", rows[i].printed);
		assert_non_null(strstr(text, rows[i].printed));
		free(text);
	}
	result_done(&r);
}

static void test_floor_to_us(void **state)
{
	struct result r;
	json_t *top;

	(void)state;
	assert_true(sample_result("full", &r));
	r.summary.a_union_ns = opt(1999);
	r.summary.c_score_ns = opt(999);
	top = read_back(&r, NULL);
	assert_int_equal(json_integer_value(get(top, "contention", "type_a_duration_sum_us")), 1);
	assert_int_equal(json_integer_value(get(top, "contention", "type_c_score_us")), 0);
	json_decref(top);
	result_done(&r);
}

/* That no time is forgotten is seen by tests/golden/schema_validate.py. */
static void test_no_clock_no_times(void **state)
{
	struct result r;
	json_t *top, *row;

	(void)state;
	assert_true(sample_result("no_clock", &r));
	top = read_back(&r, NULL);
	row = json_array_get(json_object_get(top, "waits"), 0);
	assert_true(json_is_null(json_object_get(row, "total_us")));
	assert_true(json_is_null(json_object_get(row, "p50_us")));
	assert_true(json_is_null(json_object_get(row, "buckets")));
	assert_int_equal(json_integer_value(json_object_get(row, "count")), 3029);
	assert_true(json_is_null(get(top, "contention", "type_a_duration_sum_us")));
	assert_int_equal(json_integer_value(get(top, "contention", "type_a_count")), 158);
	assert_true(json_is_null(get(top, "trace", "begin_ns")));
	json_decref(top);
	result_done(&r);
}

static void test_hostile_names(void **state)
{
	static const char want[] = "a\\x09b\\x0a\\\\\\xff\\x1b[31m\\x00c\xc3\xa9\\xe2\\x80\\xae";
	struct result r;
	json_t *top, *row;

	(void)state;
	assert_true(sample_result("hostile", &r));
	top = read_back(&r, NULL);
	row = json_array_get(json_object_get(top, "waits_by_thread"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "comm")), want);
	/* jansson's integers are signed: counts beyond that stay at their end */
	assert_true(json_integer_value(json_object_get(row, "count")) == INT64_MAX);
	assert_true(json_integer_value(json_object_get(row, "total_us")) ==
		    (json_int_t)(UINT64_MAX / 1000));
	assert_string_equal(json_string_value(json_object_get(top, "workload")), "w\"\\x0d");
	json_decref(top);
	result_done(&r);
}

static void test_columns_and_flags(void **state)
{
	char key[JSON_KEY_MAX];
	struct result r;
	json_t *top;

	(void)state;
	assert_true(sample_result("full", &r));
	top = read_back(&r, NULL);
	for (u32 t = 0; t < TABLES; t++) {
		json_t *rows = json_object_get(top, table_defs[t].key), *row;
		size_t i;

		assert_int_equal(json_array_size(rows), r.tables[t].n_rows);
		json_array_foreach(rows, i, row)
		{
			assert_int_equal(json_object_size(row), table_defs[t].n_cols);
			for (u32 c = 0; c < table_defs[t].n_cols; c++) {
				json_column_key(&table_defs[t].cols[c], key);
				assert_non_null(json_object_get(row, key));
			}
		}
	}
	assert_true(json_is_false(
		json_object_get(json_array_get(json_object_get(top, "waits"), 0), "approximate")));
	assert_true(json_is_true(json_object_get(
		json_array_get(json_object_get(top, "waits_by_process"), 0), "approximate")));
	assert_true(json_is_null(json_object_get(
		json_array_get(json_object_get(top, "waits_by_process"), 1), "pid")));
	json_decref(top);
	result_done(&r);
}

static void test_top_and_sections(void **state)
{
	struct render_opts o = RENDER_OPTS_INIT;
	struct result r;
	json_t *top;

	(void)state;
	assert_true(sample_result("full", &r));
	o.top = 2; /* the default of the text report: JSON is cut only on request */
	top = read_back(&r, &o);
	assert_int_equal(json_array_size(json_object_get(top, "waits_by_thread")), 14);
	json_decref(top);
	o.top_given = true;
	top = read_back(&r, &o);
	assert_int_equal(json_array_size(json_object_get(top, "waits_by_thread")), 2);
	json_decref(top);
	o.sections = 1u << SECTION_blame | 1u << SECTION_open;
	top = read_back(&r, &o);
	assert_non_null(json_object_get(top, "blame"));
	assert_non_null(json_object_get(top, "still_waiting"));
	assert_null(json_object_get(top, "waits"));
	assert_non_null(json_object_get(top, "contention"));
	assert_non_null(json_object_get(top, "verdict"));
	json_decref(top);
	result_done(&r);
}

static void test_locale_changes_nothing(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8",
					       "C.UTF-8" };
	struct result r;
	char *before, *after;

	(void)state;
	assert_true(sample_result("full", &r));
	before = render(&r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(locales); i++) {
		if (!setlocale(LC_ALL, locales[i]))
			continue;
		after = render(&r, NULL);
		setlocale(LC_ALL, "C");
		assert_string_equal(before, after);
		free(after);
	}
	free(before);
	result_done(&r);
}

static void test_write_errors(void **state)
{
	struct render_opts o = RENDER_OPTS_INIT;
	struct error e = { 0 };
	struct result r;
	int fds[2];
	FILE *f;

	(void)state;
	assert_true(sample_result("full", &r));
	f = fopen("/dev/full", "w");
	assert_non_null(f);
	assert_int_equal(render_json(&r, f, &o, &e), -ENOSPC);
	assert_int_equal(e.code, -ENOSPC);
	assert_non_null(strstr(e.msg, "cannot write"));
	fclose(f);
	error_clear(&e);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	f = fdopen(fds[1], "w");
	assert_int_equal(render_json(&r, f, &o, &e), -EPIPE);
	fclose(f);
	result_done(&r);
}

static size_t allocations_left;

static void *limited_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left--;
	return malloc(size);
}

/* Whatever allocation fails, the answer is -ENOMEM, and nothing leaks. */
static void test_out_of_memory(void **state)
{
	struct render_opts o = RENDER_OPTS_INIT;
	struct result r;
	size_t n = 0;
	int err;

	(void)state;
	assert_true(sample_result("full", &r));
	o.sections = 1u << SECTION_blame; /* enough of everything, and not too many */
	json_set_alloc_funcs(limited_malloc, free);
	do {
		struct error e = { 0 };
		FILE *f = fopen("/dev/null", "w");

		assert_non_null(f);
		allocations_left = n++;
		err = render_json(&r, f, &o, &e);
		assert_true(err == 0 || err == -ENOMEM);
		assert_int_equal(e.code, err);
		fclose(f);
	} while (err);
	json_set_alloc_funcs(malloc, free);
	assert_true(n > 300);
	result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null_is_not_zero),
		cmocka_unit_test(test_retry_rate),
		cmocka_unit_test(test_floor_to_us),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_no_clock_no_times),
		cmocka_unit_test(test_columns_and_flags),
		cmocka_unit_test(test_top_and_sections),
		cmocka_unit_test(test_locale_changes_nothing),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
