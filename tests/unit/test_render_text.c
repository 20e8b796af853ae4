/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/test_render_text.c: what must hold for every text report, and for the strings in it.
 * The reports themselves, byte by byte: tests/golden/render_text.py.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "render/escape.h"
#include "render/text.h"
#include "render/text_out.h"
#include "sample_result.h"

static char *render(const struct result *r, const struct render_opts *o)
{
	struct render_opts defaults = RENDER_OPTS_INIT;
	struct error e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(render_text(r, f, o ? o : &defaults, &e), 0);
	fclose(f);
	assert_int_equal(strlen(text), len); /* no NUL inside */
	return text;
}

static char *render_sample(const char *name, const struct render_opts *o)
{
	struct result r;
	char *text;

	assert_true(sample_result(name, &r));
	text = render(&r, o);
	result_done(&r);
	return text;
}

/* Code points; the samples hold wide ones, which take two columns, on the title line only. */
static size_t columns(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((u8)s[i] & 0xc0) != 0x80;
	return n;
}

static void check_lines(const char *name, const char *text)
{
	size_t len = strlen(text);

	assert_true(len > 0 && text[len - 1] == '\n');
	assert_null(strstr(text, "\n\n\n"));
	for (const char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (columns(line, (size_t)(end - line)) > TEXT_TABLE_WIDTH)
			print_error("%s: %.*s\n", name, (int)(end - line), line);
		assert_true(columns(line, (size_t)(end - line)) <= TEXT_TABLE_WIDTH);
		assert_false(end > line && end[-1] == ' ');
		for (const char *p = line; p < end; p++)
			assert_false((u8)*p < 0x20 || *p == 0x7f);
	}
}

static void test_lines(void **state)
{
	static const u32 tops[] = { 0, 1, 3, 10 };
	struct render_opts o = RENDER_OPTS_INIT;

	(void)state;
	for (size_t i = 0; sample_names[i]; i++)
		for (size_t k = 0; k < ARRAY_LEN(tops); k++) {
			char *text;

			o.top = tops[k];
			text = render_sample(sample_names[i], &o);
			check_lines(sample_names[i], text);
			free(text);
		}
}

static u64 next_random(u64 *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 11;
}

/* Names of any bytes and numbers of any size in every column of every table. */
static void fill_random(struct result *r, u64 *seed)
{
	static const u64 buckets[SERIES_BUCKETS] = { 0, 1, UINT64_MAX };

	r->trace.clock_has_seconds = next_random(seed) % 4 != 0;
	for (u32 t = 0; t < TABLES; t++) {
		u32 rows = (u32)(next_random(seed) % 4);

		r->tables[t].covered = next_random(seed) % 8 != 0;
		for (u32 i = 0; i < rows * table_defs[t].n_cols; i++) {
			struct cell *c;
			char name[24];

			if (i % table_defs[t].n_cols == 0)
				assert_non_null(result_row(r, t));
			c = &r->tables[t].cells.v[i];
			for (size_t k = 0; k < sizeof(name); k++)
				name[k] = (char)next_random(seed);
			if (next_random(seed) % 8 == 0)
				continue;
			if (table_defs[t].cols[i % table_defs[t].n_cols].kind == COL_BUCKETS) {
				c->null = false;
				c->p = buckets;
			} else if (table_defs[t].cols[i % table_defs[t].n_cols].kind == COL_STR ||
				   table_defs[t].cols[i % table_defs[t].n_cols].kind == COL_LINE) {
				size_t len = next_random(seed) % sizeof(name);

				cell_str(c, arena_strndup(&r->arena, name, len), len);
			} else {
				cell_u64(c, next_random(seed) >> next_random(seed) % 53);
			}
		}
	}
}

static void test_random_results(void **state)
{
	u64 seed = 20240229;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct result r;
		char *text;

		result_init(&r);
		fill_random(&r, &seed);
		text = render(&r, NULL);
		check_lines("random", text);
		free(text);
		result_done(&r);
	}
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("not found: %s\n", part);
	assert_non_null(strstr(text, part));
}

static void test_null_is_said(void **state)
{
	char *text = render_sample("stock", NULL);

	(void)state;
	assert_has(text, "fault waits that blocked a VMA writer: n/a (no VMA writer events)\n");
	assert_has(text, "  Writers    n/a (no VMA writer events)\n");
	assert_has(text, "VMA writers by caller: n/a (no VMA writer events)\n");
	assert_has(text, "Still waiting at the end of the trace: none\n");
	assert_has(text, "at least 1234 events, in 3 gaps; 98.1204 % of CPU time covered\n");
	assert_null(strstr(text, "pairs 0"));
	free(text);
}

static void test_zero_is_said(void **state)
{
	struct result r;
	char *text;

	(void)state;
	result_init(&r);
	r.trace.clock_has_seconds = true;
	r.summary.a_pairs = r.summary.a_writer_waits = r.summary.a_union_ns = opt(0);
	text = render(&r, NULL);
	assert_has(text,
		   "pairs 0   writer waits 0   time lost 0 us   coincident (lock dropped) n/a");
	free(text);
	result_done(&r);
}

/* A label with nothing behind it leaves no blanks. */
static void test_empty_strings(void **state)
{
	struct result r;
	char *text;

	(void)state;
	assert_true(sample_result("full", &r));
	result_note(&r, NOTE_WARNING, "%s", "");
	r.verdict.rules[0].figures = "";
	r.verdict.text = "";
	text = render(&r, NULL);
	check_lines("empty strings", text);
	assert_has(text, "\n  warning\n");
	free(text);
	result_done(&r);
}

static void test_no_clock_no_times(void **state)
{
	char *text = render_sample("no_clock", NULL);

	(void)state;
	assert_has(text, "the clock counter does not count seconds: counts only, no times\n");
	assert_has(text, "time lost n/a");
	assert_has(text, "page cache faults 1222");
	assert_null(strstr(text, "2797"));  /* ms of the summary and us of the tables */
	assert_null(strstr(text, "8.101")); /* a time stamp */
	assert_null(strstr(text, "how many lasted"));
	free(text);
}

static void test_top_cuts(void **state)
{
	struct render_opts o = { .top = 3 };
	char *text = render_sample("full", &o);

	(void)state;
	assert_has(text, "4722  QueryPipelineEx");
	assert_null(strstr(text, "4723  QueryPipelineEx"));
	assert_has(text, "  ... 11 more rows (--top 0 shows all)\n");
	free(text);
	o.top = 13;
	text = render_sample("full", &o);
	assert_has(text, "  ... 1 more row (--top 0 shows all)\n");
	free(text);
	o.top = 0;
	text = render_sample("full", &o);
	assert_has(text, "4733  QueryPipelineEx");
	assert_null(strstr(text, "more row"));
	free(text);
}

static void test_sections(void **state)
{
	struct render_opts o = { .sections = 1u << SECTION_blame };
	char *text = render_sample("full", &o);

	(void)state;
	assert_int_equal(strncmp(text, "mmscope ", 8), 0);
	assert_has(text, "\nWho made whom wait (times in us)");
	assert_null(strstr(text, "VERDICT"));
	assert_null(strstr(text, "CONTENTION"));
	assert_null(strstr(text, "DATA QUALITY"));
	assert_null(strstr(text, "Waits by lock"));
	free(text);
	o.sections = 1u << SECTION_verdict | 1u << SECTION_trace;
	text = render_sample("full", &o);
	assert_has(text, "\nVERDICT\n");
	assert_has(text, "\nDATA QUALITY, AND WHAT WAS NOT COVERED\n");
	assert_has(text, "\nEvents by name\n");
	assert_null(strstr(text, "CONTENTION"));
	free(text);
}

/* Colour adds bold to headings and changes nothing else. */
static void test_colour(void **state)
{
	struct render_opts o = { .top = 10, .colour = true };
	char *plain = render_sample("full", NULL), *bold = render_sample("full", &o);
	size_t n = 0, marks = 0;

	(void)state;
	assert_has(bold, "\033[1mVERDICT\033[0m\n");
	for (const char *p = bold; *p; p++) {
		if (!strncmp(p, "\033[1m", 4) || !strncmp(p, "\033[0m", 4)) {
			p += 3;
			marks++;
			continue;
		}
		bold[n++] = *p;
	}
	bold[n] = '\0';
	assert_true(marks > 20 && marks % 2 == 0);
	assert_string_equal(plain, bold);
	free(plain);
	free(bold);
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
	assert_int_equal(render_text(&r, f, &o, &e), -ENOSPC);
	assert_int_equal(e.code, -ENOSPC);
	fclose(f);
	/* unbuffered: the very first write fails, and all further ones with another errno */
	error_clear(&e);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	f = fdopen(fds[1], "w");
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(render_text(&r, f, &o, &e), -EPIPE);
	fclose(f);
	result_done(&r);
}

static void test_numbers(void **state)
{
	char s[TEXT_NUMBER_MAX];

	(void)state;
	text_number(0, 6, s);
	assert_string_equal(s, "0");
	text_number(1234567, 7, s);
	assert_string_equal(s, "1234567");
	text_number(1234567, 6, s);
	assert_string_equal(s, "1.23e6");
	text_number(UINT64_MAX, 20, s);
	assert_string_equal(s, "18446744073709551615");
	text_number(UINT64_MAX, 7, s);
	assert_string_equal(s, "1.84e19");
	text_number(UINT64_MAX, 5, s);
	assert_string_equal(s, "18e18");
	for (u64 v = 1; v < UINT64_MAX / 10; v = v * 10 + 9)
		for (u32 width = 5; width <= 20; width++) {
			text_number(v, width, s);
			assert_true(strlen(s) <= width);
		}
}

static void test_durations(void **state)
{
	struct result r;
	struct text t = { .r = &r };
	char s[TEXT_NUMBER_MAX];

	(void)state;
	result_init(&r);
	r.trace.clock_has_seconds = true;
	text_duration(&t, opt(999), s);
	assert_string_equal(s, "0 us");
	text_duration(&t, opt(9999999), s);
	assert_string_equal(s, "9999 us");
	text_duration(&t, opt(10000000), s);
	assert_string_equal(s, "10.0 ms");
	text_duration(&t, opt(2797399999), s);
	assert_string_equal(s, "2797.3 ms");
	text_duration(&t, (struct opt_u64){ 0 }, s);
	assert_string_equal(s, "n/a");
	r.trace.clock_has_seconds = false;
	text_duration(&t, opt(5000), s);
	assert_string_equal(s, "n/a");
	result_done(&r);
}

static void assert_escaped(const char *s, size_t len, const char *want)
{
	size_t n;
	char *got = escape_dup(s, len, &n);

	assert_non_null(got);
	assert_string_equal(got, want);
	assert_int_equal(n, strlen(want));
	free(got);
}

static void test_escape(void **state)
{
	(void)state;
	assert_escaped("", 0, "");
	assert_escaped("a b~", 4, "a b~");
	assert_escaped("\0\t\n\r\x1b\x7f\\", 7, "\\x00\\x09\\x0a\\x0d\\x1b\\x7f\\\\");
	assert_escaped("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", 9,
		       "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
	assert_escaped("\x80\xff", 2, "\\x80\\xff");
	assert_escaped("\xc3", 1, "\\xc3");					/* cut short */
	assert_escaped("\xc0\xaf\xe0\x80\xaf", 5, "\\xc0\\xaf\\xe0\\x80\\xaf"); /* overlong */
	assert_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");			/* a surrogate */
	assert_escaped("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
	assert_escaped("\xc2\x85", 2, "\\xc2\\x85");		       /* a C1 control */
	assert_escaped("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");	       /* right-to-left override */
	assert_escaped("\xf0\x9f\xbf\xbe", 4, "\\xf0\\x9f\\xbf\\xbe"); /* U+1FFFE, no character */
}

static void test_cut(void **state)
{
	char s[64];

	(void)state;
	assert_int_equal(escape_cut(s, sizeof(s), "abcdef", 6, 6), 6);
	assert_string_equal(s, "abcdef");
	assert_int_equal(escape_cut(s, sizeof(s), "abcdefg", 7, 6), 6);
	assert_string_equal(s, "abcde~");
	/* never inside an escape or a character */
	assert_int_equal(escape_cut(s, sizeof(s), "ab\xff\xff", 4, 9), 7);
	assert_string_equal(s, "ab\\xff~");
	assert_int_equal(escape_cut(s, sizeof(s), "\xe6\xbc\xa2\xe6\xbc\xa2", 6, 3), 3);
	assert_string_equal(s, "\xe6\xbc\xa2~");
	assert_int_equal(escape_cut(s, sizeof(s), "abc", 3, 0), 0);
	assert_string_equal(s, "");
	for (size_t size = 1; size < 12; size++) {
		escape_cut(s, size, "a\xff\xc3\xa9z", 5, 40);
		assert_true(strlen(s) < size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_results), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_null_is_said),   cmocka_unit_test(test_zero_is_said),
		cmocka_unit_test(test_empty_strings),  cmocka_unit_test(test_no_clock_no_times),
		cmocka_unit_test(test_top_cuts),       cmocka_unit_test(test_sections),
		cmocka_unit_test(test_colour),	       cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_numbers),	       cmocka_unit_test(test_durations),
		cmocka_unit_test(test_escape),	       cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
