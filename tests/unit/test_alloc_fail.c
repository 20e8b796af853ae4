/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/test_alloc_fail.c: a whole analysis in which the n-th allocation fails, for every n.
 *
 * The linker sends the project's own calls of malloc, calloc and realloc here (-Wl,--wrap).
 * Whatever fails, there is no crash and no leak (the sanitizers say so), and the analysis either
 * says that it failed, or tells the same as without the failure, or says that something is missing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "render/json.h"
#include "session/analyze.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static struct {
	bool counting;
	unsigned long n, fail_at; /* 0 = none fails */
	bool from_then_on;	  /* all later ones fail too */
} injector;

static bool fails(void)
{
	if (!injector.counting)
		return false;
	injector.n++;
	return injector.fail_at && (injector.n == injector.fail_at ||
				    (injector.from_then_on && injector.n > injector.fail_at));
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static char *render(const struct result *r)
{
	struct render_opts opts = RENDER_OPTS_INIT;
	struct error e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(render_json(r, f, &opts, &e), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* One analysis with the @fail_at-th allocation failing; its JSON in *@ret_json when it went well.
 */
static int analyze(const char *path, unsigned long fail_at, bool from_then_on, char **ret_json,
		   bool *ret_incomplete)
{
	struct analyze_opts opts = { .analysis = { .contended_ns = ANALYZE_CONTENDED_NS,
						   .callers_window_ns = ANALYZE_WINDOW_NS,
						   .inversion_ns = ANALYZE_INVERSION_NS } };
	struct result r;
	struct error e = { 0 };
	int err;

	result_init(&r);
	injector.n = 0;
	injector.fail_at = fail_at;
	injector.from_then_on = from_then_on;
	injector.counting = true;
	err = session_analyze(path, &opts, &r, &e);
	injector.counting = false;
	*ret_json = NULL;
	*ret_incomplete = r.incomplete;
	if (err) {
		assert_true(err < 0);
		assert_true(e.msg[0] != 0);
		assert_null(strchr(e.msg, '\n'));
	} else {
		*ret_json = render(&r);
	}
	result_done(&r);
	return err;
}

static void case_path(char ret[4096], const char *name)
{
	const char *top = getenv("MMSCOPE_SOURCE");

	snprintf(ret, 4096, "%s/tests/golden/%s", top ? top : ".", name);
	if (access(ret, R_OK)) {
		print_message("%s is not here (MMSCOPE_SOURCE names the source tree)\n", ret);
		skip();
	}
}

static void check_path(const char *name, const char *path)
{
	unsigned long all, failed = 0;
	char *want, *got;
	bool incomplete;

	assert_int_equal(analyze(path, 0, false, &want, &incomplete), 0);
	all = injector.n;
	assert_true(all > 50);
	for (u32 then_on = 0; then_on < 2; then_on++) {
		/* all later ones failing too is much the same from one to the next */
		for (unsigned long n = 1; n <= all; n += then_on ? 3 : 1) {
			int err = analyze(path, n, then_on, &got, &incomplete);

			failed += err != 0;
			if (!err && strcmp(got, want) && !incomplete)
				fail_msg("%s: allocation %lu of %lu failed, and the result is "
					 "another one without a word",
					 name, n, all);
			free(got);
		}
	}
	assert_true(failed > 10);
	free(want);
}

static void check_case(const char *name)
{
	char path[4096];

	case_path(path, name);
	check_path(name, path);
}

/* A recording made from a script of tests/lib/gen_bpf. */
static void check_script(const char *name)
{
	const char *gen = getenv("MMSCOPE_BPF_GEN");
	char script[4096], command[12288], path[] = "/tmp/mmscope-alloc-XXXXXX";
	int fd;

	case_path(script, name);
	if (!gen) {
		print_message("MMSCOPE_BPF_GEN does not name bpf_gen\n");
		skip();
	}
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "'%s' -o %s '%s'", gen, path, script);
	assert_int_equal(system(command), 0);
	check_path(name, path);
	unlink(path);
}

static void test_bpf(void **state)
{
	(void)state;
	check_script("bpf_cases/03_retried.script");
	check_script("bpf_cases/04_open_with_holder.script");
	check_script("bpf_cases/05_loss_inside.script");
	check_script("bpf_cases/10_totals.script");
}

static void test_loss(void **state)
{
	(void)state;
	check_case("cases/14_lost_inside.txt");
}

static void test_two_families(void **state)
{
	(void)state;
	check_case("cases/20_vendor_and_stock.txt");
}

static void test_inversion(void **state)
{
	(void)state;
	check_case("cases/26_c_union_and_late.txt");
}

static void test_retries(void **state)
{
	(void)state;
	check_case("cases/27_c_of_b.txt");
}

static void test_blocked_only(void **state)
{
	(void)state;
	check_case("cases/30_blocked_only.txt");
}

static void test_blame(void **state)
{
	(void)state;
	check_case("cases/34_blame.txt");
	check_case("cases/23_a_held.txt");
}

static void test_text_forms(void **state)
{
	(void)state;
	check_case("cases/18_text_forms.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss),	     cmocka_unit_test(test_two_families),
		cmocka_unit_test(test_inversion),    cmocka_unit_test(test_retries),
		cmocka_unit_test(test_blocked_only), cmocka_unit_test(test_blame),
		cmocka_unit_test(test_text_forms),   cmocka_unit_test(test_bpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
