/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_kallsyms.c: sys/kallsyms on files made for it, and on the running kernel. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/kallsyms.h"

static char root[64];

static int setup(void **state)
{
	char dir[96];

	(void)state;
	strcpy(root, "/tmp/mmscope-kallsyms-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/proc", root);
	return mkdir(dir, 0755);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static FILE *begin(void)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	out = fopen(path, "w");
	assert_non_null(out);
	return out;
}

static void read_text(struct kallsyms *k, const char *text, size_t len)
{
	struct error e = { 0 };
	FILE *out = begin();

	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(kallsyms_read(k, root, &e), 0);
}

static void functions_end_where_the_next_symbol_begins(void **state)
{
	static const char text[] = "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t handle_mm_fault\n"
				   "ffffffff81000180 d some_data\n"
				   "ffffffff81000200 W weak_one\n"
				   "ffffffffc0a01000 t in_module\t[ext4]\n";
	struct kallsyms k;

	(void)state;
	read_text(&k, text, sizeof(text) - 1);
	assert_false(k.hidden);
	assert_int_equal(k.list.n, 4);
	assert_string_equal(kallsyms_at(&k, 0xffffffff81000000)->name, "_stext");
	assert_string_equal(kallsyms_at(&k, 0xffffffff810000ff)->name, "_stext");
	assert_string_equal(kallsyms_at(&k, 0xffffffff81000100)->name, "handle_mm_fault");
	assert_int_equal(kallsyms_at(&k, 0xffffffff81000100)->end, 0xffffffff81000180);
	assert_null(kallsyms_at(&k, 0xffffffff81000180)); /* data */
	assert_string_equal(kallsyms_at(&k, 0xffffffff81000200)->name, "weak_one");
	/* no function reaches from the image into the modules, or on to the end of memory */
	assert_null(kallsyms_at(&k, 0xffffffff90000000));
	assert_string_equal(kallsyms_at(&k, 0xffffffffc0a01fff)->name, "in_module");
	assert_null(kallsyms_at(&k, 0xffffffffffffffff));
	assert_null(kallsyms_at(&k, 0));
	assert_ptr_equal(kallsyms_named(&k, "in_module"), kallsyms_at(&k, 0xffffffffc0a01000));
	assert_null(kallsyms_named(&k, "startup_64")); /* of equal starts the first */
	kallsyms_done(&k);
}

static void unsorted_lines_are_sorted_stably(void **state)
{
	static const char text[] = "0000000000003000 T c\n0000000000001000 T a\n"
				   "0000000000002000 T b1\n0000000000002000 T b2\n"
				   "0000000000001000 T a2";
	struct kallsyms k;

	(void)state;
	read_text(&k, text, sizeof(text) - 1);
	assert_int_equal(k.list.n, 3);
	assert_string_equal(k.list.v[0].name, "a");
	assert_string_equal(k.list.v[1].name, "b1");
	assert_string_equal(k.list.v[2].name, "c");
	assert_int_equal(k.list.v[0].end, 0x2000);
	kallsyms_done(&k);
}

static void zeros_are_hidden(void **state)
{
	static const char text[] = "0000000000000000 T _stext\n0000000000000000 t other\n"
				   "0000000000000000 D data\n";
	struct kallsyms k;

	(void)state;
	read_text(&k, text, sizeof(text) - 1);
	assert_true(k.hidden);
	assert_int_equal(k.list.n, 0);
	assert_null(kallsyms_at(&k, 0x1000));
	kallsyms_done(&k);
	read_text(&k, "", 0); /* nothing at all is not hidden */
	assert_false(k.hidden);
	kallsyms_done(&k);
}

static void hostile_lines_are_skipped(void **state)
{
	static const char text[] = "\n \nzzz T x\n1000\n1000 T\n1000 T \n1000 Tx\n"
				   "11112222333344445 T too_big\n1000\tT\ttabs\n"
				   "ffffffffffffffff T last\n1000 T na\0me\n1000 t good\t[\n";
	size_t big = 700 * 1024;
	char *line = malloc(big);
	struct kallsyms k;
	char name[600];

	(void)state;
	read_text(&k, text, sizeof(text) - 1);
	assert_int_equal(k.list.n, 2);
	assert_string_equal(k.list.v[0].name, "good");
	assert_string_equal(k.list.v[1].name, "last");
	assert_int_equal(k.list.v[1].end, UINT64_MAX);
	kallsyms_done(&k);

	/* a line of any length, then one that is read again */
	assert_non_null(line);
	memset(line, 'a', big);
	memcpy(line, "1000 T ", 7);
	memcpy(line + big - 17, "\n00002000 T after", 17);
	read_text(&k, line, big);
	assert_int_equal(k.list.n, 1);
	assert_string_equal(k.list.v[0].name, "after");
	kallsyms_done(&k);
	free(line);

	memset(name, 'n', sizeof(name));
	memcpy(name, "1000 T ", 7);
	read_text(&k, name, 7 + 511);
	assert_int_equal(k.list.n, 1);
	kallsyms_done(&k);
	read_text(&k, name, 7 + 512);
	assert_int_equal(k.list.n, 0);
	kallsyms_done(&k);
}

static void many_symbols_stay_small(void **state)
{
	struct error e = { 0 };
	FILE *out = begin();
	struct kallsyms k;
	u64 n = 250000;

	(void)state;
	for (u64 i = 0; i < n; i++)
		fprintf(out, "%016" PRIx64 " t function_%06" PRIu64 "\n", (i + 1) * 64, i);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(kallsyms_read(&k, root, &e), 0);
	assert_int_equal(k.list.n, n);
	assert_int_equal(k.list.capacity, n);
	/* 16 bytes a name and what is left at the ends of blocks */
	assert_true(k.arena.used_bytes < n * 17);
	for (u64 i = 0; i < n; i += 997) {
		char want[32];

		snprintf(want, sizeof(want), "function_%06" PRIu64, i);
		assert_string_equal(kallsyms_at(&k, (i + 1) * 64 + 63)->name, want);
	}
	kallsyms_done(&k);
}

static void no_file_is_an_error(void **state)
{
	struct error e = { 0 };
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_read(&k, "/nonexistent", &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/nonexistent/proc/kallsyms"));
	kallsyms_done(&k);
}

static void the_running_kernel(void **state)
{
	struct error e = { 0 };
	struct kallsyms k;

	(void)state;
	if (access("/proc/kallsyms", R_OK)) {
		print_message("no /proc/kallsyms here\n");
		skip();
	}
	assert_int_equal(kallsyms_read(&k, "", &e), 0);
	if (!k.hidden) {
		const struct kallsym *s = kallsyms_named(&k, "handle_mm_fault");

		assert_non_null(s);
		assert_ptr_equal(kallsyms_at(&k, s->start + 1), s);
		for (size_t i = 1; i < k.list.n; i++) {
			assert_true(k.list.v[i - 1].start < k.list.v[i - 1].end);
			assert_true(k.list.v[i - 1].end <= k.list.v[i].start);
		}
	}
	kallsyms_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(functions_end_where_the_next_symbol_begins, setup,
						teardown),
		cmocka_unit_test_setup_teardown(unsorted_lines_are_sorted_stably, setup, teardown),
		cmocka_unit_test_setup_teardown(zeros_are_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_lines_are_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(many_symbols_stay_small, setup, teardown),
		cmocka_unit_test(no_file_is_an_error),
		cmocka_unit_test(the_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
