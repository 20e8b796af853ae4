/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_render_locks.c: a refresh of `mmscope locks` as text of any height, and as JSON.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "render/locks.h"
#include "sample_result.h"

static const char *const rungs[] = { "sleeps: not at all (sched_switch is missing)",
				     "state: hash map (no task storage)" };

static struct locks_frame frame(void)
{
	return (struct locks_frame){
		.refresh = 3,
		.scope = "process 812",
		.clock = "14:03:22",
		.begin_ns = 5000000000ULL,
		.end_ns = 7000000000ULL,
		.min_wait_ns = 10000,
		.records = 3000,
		.record_bytes = 600000,
		.cpu_ns = 6200000,
	};
}

static char *text(const struct result *r, const struct locks_frame *f, u32 max_lines, u32 top)
{
	struct render_opts o = { .top = top };
	struct error e = { 0 };
	char *page = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);

	assert_non_null(out);
	assert_int_equal(render_locks(r, f, max_lines, out, &o, &e), 0);
	fclose(out);
	return page;
}

static u32 lines(const char *s)
{
	u32 n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void assert_holds(const char *page, const char *what)
{
	if (!strstr(page, what))
		print_error("no '%s' in\n%s\n", what, page);
	assert_non_null(strstr(page, what));
}

static void what_hangs_comes_first(void **state)
{
	struct locks_frame f = frame();
	struct result r;
	char *page;

	(void)state;
	assert_true(sample_result("full", &r));
	page = text(&r, &f, 0, 5);
	assert_int_equal(strncmp(page, "mmscope locks  14:03:22  2.000 s, process 812\n", 46), 0);
	assert_holds(page, "mmscope itself: 0.31 % of a CPU, 1500 records/s, 0.30 MB/s");
	assert_holds(page, "\nWAITING NOW");
	assert_true(strstr(page, "\nWAITING NOW") < strstr(page, "\nWho waited"));
	assert_null(strstr(page, "LOST"));
	assert_null(strstr(page, "less:"));
	assert_null(strstr(page, "--top")); /* a screen has no use for that advice */
	free(page);
	result_done(&r);
}

static void loss_and_lesser_rungs_are_said(void **state)
{
	struct locks_frame f = frame();
	struct result r;
	char *page;

	(void)state;
	assert_true(sample_result("full", &r));
	f.lost_all = 12;
	f.left_out = 7;
	f.rungs = rungs;
	f.n_rungs = ARRAY_LEN(rungs);
	f.own_wait_ns = 3000000;
	f.last = true;
	page = text(&r, &f, 0, 5);
	assert_holds(page, "process 812 (last)\n");
	assert_holds(page, "LOST: 0 records in this window, 12 since the start");
	assert_holds(page, "LEFT OUT: 7 records");
	assert_holds(page, "less: sleeps: not at all (sched_switch is missing)\n");
	assert_holds(page, "waited for its own mmap_lock 3000 us so far");
	free(page);
	result_done(&r);
}

/* Any height: never a line more, and the more room, the more is shown. */
static void a_page_fits(void **state)
{
	struct locks_frame f = frame();

	(void)state;
	for (u32 s = 0; sample_names[s]; s++) {
		u32 before = 0;
		struct result r;

		assert_true(sample_result(sample_names[s], &r));
		for (u32 height = 1; height < 120; height++) {
			char *page = text(&r, &f, height, 0);
			u32 n = lines(page);

			assert_in_range(n, 1, height);
			/* more room is used, but for what a row more in every table would take */
			assert_true(n + 20 >= before);
			before = n;
			free(page);
		}
		result_done(&r);
	}
}

static void a_quiet_window_is_short(void **state)
{
	struct locks_frame f = frame();
	struct result r;
	char *page;

	(void)state;
	result_init(&r);
	r.trace.clock_has_seconds = true;
	page = text(&r, &f, 0, 5);
	assert_holds(page, "mmap_lock: no wait of 10 us or more has ended\n");
	assert_int_equal(lines(page), 3);
	free(page);
	result_done(&r);
}

static void json_is_one_line(void **state)
{
	struct locks_frame f = frame();
	struct render_opts o = RENDER_OPTS_INIT;

	(void)state;
	f.rungs = rungs;
	f.n_rungs = ARRAY_LEN(rungs);
	f.scope = "command \xff";
	for (u32 s = 0; sample_names[s]; s++) {
		struct error e = { 0 };
		json_t *top, *locks;
		json_error_t error;
		struct result r;
		char *line = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&line, &len);

		assert_true(sample_result(sample_names[s], &r));
		assert_int_equal(render_locks_json(&r, &f, out, &o, &e), 0);
		fclose(out);
		assert_int_equal(lines(line), 1);
		top = json_loads(line, JSON_REJECT_DUPLICATES, &error);
		assert_non_null(top);
		locks = json_object_get(top, "locks");
		assert_int_equal(json_integer_value(json_object_get(locks, "window_us")), 2000000);
		assert_int_equal(json_integer_value(json_object_get(locks, "waiting_count")),
				 r.tables[TABLE_OPEN].n_rows);
		assert_int_equal(json_array_size(json_object_get(locks, "lesser_rungs")), 2);
		assert_string_equal(json_string_value(json_object_get(locks, "scope")),
				    "command \\xff");
		assert_non_null(json_object_get(top, "verdict"));
		json_decref(top);
		free(line);
		result_done(&r);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct locks_frame f = frame();
	struct render_opts o = RENDER_OPTS_INIT;
	struct error e = { 0 };
	FILE *full = fopen("/dev/full", "w");
	struct result r;

	(void)state;
	if (!full)
		skip();
	assert_true(sample_result("full", &r));
	assert_int_equal(render_locks(&r, &f, 24, full, &o, &e), -ENOSPC);
	assert_int_equal(e.code, -ENOSPC);
	fclose(full);
	result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hangs_comes_first),
		cmocka_unit_test(a_page_fits),
		cmocka_unit_test(loss_and_lesser_rungs_are_said),
		cmocka_unit_test(a_quiet_window_is_short),
		cmocka_unit_test(json_is_one_line),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
