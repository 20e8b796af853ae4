/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_options.c: the option tables: every kind of value, and one line for every
 * mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/options.h"

#define MAX_ARGS 16

struct test_opts {
	bool flag, fast;
	u64 number, big, seconds_ns, size_bytes;
	s64 offset;
	const char *string;
	struct opt_strings strings;
	struct opt_u64s numbers;
};
static const struct cli_opt rows[] = {
	{ "flag", 'f', NULL, OPT_FLAG, offsetof(struct test_opts, flag), 0, 0, "a flag" },
	{ "fast", 0, NULL, OPT_FLAG, offsetof(struct test_opts, fast), 0, 0, "another one" },
	{ "number", 'n', "N", OPT_U64, offsetof(struct test_opts, number), 5, 10, "5 to 10" },
	{ "number-big", 0, "N", OPT_U64, offsetof(struct test_opts, big), 0, UINT64_MAX, "any" },
	{ "offset", 'o', "N", OPT_S64, offsetof(struct test_opts, offset), (u64)-20, 19,
	  "-20 to 19" },
	{ "seconds", 's', "S", OPT_SECONDS, offsetof(struct test_opts, seconds_ns), 1000,
	  2000000000, "1 us to 2 s" },
	{ "size", 'z', "SIZE", OPT_SIZE, offsetof(struct test_opts, size_bytes), 1024, 1 << 20,
	  "1k to 1M" },
	{ "text", 't', "TEXT", OPT_STRING, offsetof(struct test_opts, string), 0, 0, "text" },
	{ "comm", 'c', "NAME", OPT_STRINGS, offsetof(struct test_opts, strings), 0, 0, "names" },
	{ "pid", 'p', "PID", OPT_U64S, offsetof(struct test_opts, numbers), 1, 4194304, "ids" },
};
static const struct test_opts defaults = { .number = 7, .offset = -1, .string = "unset" };

/* What the verb saw: its option struct is freed when it returns. */
static struct seen {
	u32 runs;
	struct test_opts o;
	char *strings[8];
	u64 numbers[8];
	char *args[MAX_ARGS], *command[MAX_ARGS];
	int argc;
	bool has_command;
} seen;
static char err_text[4096], out_text[8192];

static int verb_run(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct test_opts *o = opts;

	(void)v;
	seen.runs++;
	seen.o = *o;
	for (size_t i = 0; i < o->strings.list.n && i < ARRAY_LEN(seen.strings); i++)
		seen.strings[i] = (char *)o->strings.list.v[i];
	for (size_t i = 0; i < o->numbers.list.n && i < ARRAY_LEN(seen.numbers); i++)
		seen.numbers[i] = o->numbers.list.v[i];
	seen.argc = args->argc;
	for (int i = 0; i < args->argc; i++)
		seen.args[i] = args->argv[i];
	seen.has_command = args->command != NULL;
	for (u32 i = 0; args->command && args->command[i]; i++)
		seen.command[i] = args->command[i];
	return EXIT_INCOMPLETE; /* the verb's own code is what comes out */
}

static const struct verb verb = {
	"tested", "[PATH]",	   "A verb for tests.",	     "More about it.",
	rows,	  ARRAY_LEN(rows), sizeof(struct test_opts), &defaults,
	verb_run
};

static void slurp(FILE *f, char *to, size_t size)
{
	size_t n;

	rewind(f);
	n = fread(to, 1, size - 1, f);
	to[n] = 0;
	assert_int_equal(fclose(f), 0);
}

/* Runs the verb with what it prints going to files. The arguments are copied: lists are cut in
 * place. */
static int run_args(const char *const *args)
{
	static char copies[MAX_ARGS][128];
	char *argv[MAX_ARGS + 1] = { NULL };
	FILE *err = tmpfile(), *out = tmpfile();
	int argc = 0, code, old_err, old_out;

	assert_true(err && out);
	memset(&seen, 0, sizeof(seen));
	strcpy(copies[0], "tested");
	argv[argc++] = copies[0];
	for (; args[argc - 1]; argc++) {
		assert_true(argc < MAX_ARGS && strlen(args[argc - 1]) < sizeof(copies[0]));
		argv[argc] = strcpy(copies[argc], args[argc - 1]);
	}
	fflush(stdout);
	fflush(stderr);
	old_err = dup(STDERR_FILENO);
	old_out = dup(STDOUT_FILENO);
	assert_true(old_err >= 0 && old_out >= 0);
	assert_true(dup2(fileno(err), STDERR_FILENO) >= 0 && dup2(fileno(out), STDOUT_FILENO) >= 0);
	code = cli_run_verb(&verb, argc, argv);
	fflush(stdout);
	fflush(stderr);
	assert_true(dup2(old_err, STDERR_FILENO) >= 0 && dup2(old_out, STDOUT_FILENO) >= 0);
	close(old_err);
	close(old_out);
	slurp(err, err_text, sizeof(err_text));
	slurp(out, out_text, sizeof(out_text));
	return code;
}
#define RUN(...) run_args((const char *const[]){ __VA_ARGS__, NULL })

/* The verb ran, and nothing was said. */
#define RUNS(...)                                                    \
	do {                                                         \
		assert_int_equal(RUN(__VA_ARGS__), EXIT_INCOMPLETE); \
		assert_int_equal(seen.runs, 1);                      \
		assert_string_equal(err_text, "");                   \
		assert_string_equal(out_text, "");                   \
	} while (0)

/* Wrong usage: code 2, one line that holds @text, and the verb did not run. */
static void check_refused(int code, const char *text)
{
	const char *end = strchr(err_text, '\n');

	assert_int_equal(code, EXIT_USAGE);
	assert_int_equal(seen.runs, 0);
	assert_string_equal(out_text, "");
	assert_memory_equal(err_text, "mmscope tested: ", 16);
	assert_non_null(end);
	assert_string_equal(end, "\n");
	if (!strstr(err_text, text))
		fail_msg("\"%s\" is not in: %s", text, err_text);
}
#define REFUSED(text, ...) check_refused(RUN(__VA_ARGS__), text)

static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(run_args((const char *const[]){ NULL }), EXIT_INCOMPLETE);
	assert_int_equal(seen.runs, 1);
	assert_int_equal(seen.o.number, 7);
	assert_int_equal(seen.o.offset, -1);
	assert_string_equal(seen.o.string, "unset");
	assert_false(seen.o.flag);
	assert_int_equal(seen.o.strings.list.n + seen.o.numbers.list.n, 0);
	assert_int_equal(seen.argc, 0);
	assert_false(seen.has_command);
}

static void test_flags(void **state)
{
	(void)state;
	RUNS("--flag");
	assert_true(seen.o.flag);
	assert_false(seen.o.fast);
	RUNS("-f", "--fast");
	assert_true(seen.o.flag && seen.o.fast);
	RUNS("-fn", "8");
	assert_true(seen.o.flag);
	assert_int_equal(seen.o.number, 8);
	REFUSED("--flag=1", "--flag=1");
}

static void test_numbers(void **state)
{
	(void)state;
	RUNS("--number", "5");
	assert_int_equal(seen.o.number, 5);
	RUNS("-n10");
	assert_int_equal(seen.o.number, 10);
	RUNS("--number=6", "--number=9");
	assert_int_equal(seen.o.number, 9);
	REFUSED("--number 4: out of range (5 to 10)", "-n", "4");
	REFUSED("--number 11: out of range (5 to 10)", "--number", "11");
	REFUSED("not a number", "-n", "5x");
	REFUSED("not a number", "-n", "");
	REFUSED("not a number", "-n", "-5");
	REFUSED("not a number", "-n", " 5");
	REFUSED("not a number", "-n", "0x5");
	RUNS("--number-big", "18446744073709551615");
	assert_true(seen.o.big == UINT64_MAX);
	REFUSED("not a number", "--number-big", "18446744073709551616");
	/* the first mistake is told, not all of them */
	REFUSED("--number 4", "-n", "4", "-n", "12");
}

static void test_signed_numbers(void **state)
{
	(void)state;
	RUNS("--offset", "-20");
	assert_int_equal(seen.o.offset, -20);
	RUNS("-o", "19");
	assert_int_equal(seen.o.offset, 19);
	RUNS("--offset=0");
	assert_int_equal(seen.o.offset, 0);
	REFUSED("--offset -21: out of range (-20 to 19)", "-o", "-21");
	REFUSED("--offset 20: out of range (-20 to 19)", "-o", "20");
	REFUSED("out of range", "-o", "-9223372036854775808");
	REFUSED("not a number", "-o", "-9223372036854775809");
	REFUSED("not a number", "--offset=--5");
}

static void test_seconds(void **state)
{
	(void)state;
	RUNS("--seconds", "0.5");
	assert_int_equal(seen.o.seconds_ns, 500000000);
	RUNS("-s", "0.000001");
	assert_int_equal(seen.o.seconds_ns, 1000);
	RUNS("-s", "2");
	assert_int_equal(seen.o.seconds_ns, 2000000000);
	REFUSED("--seconds 0.000000999: out of range (1e-06 to 2 s)", "-s", "0.000000999");
	REFUSED("out of range", "-s", "2.000000001");
	REFUSED("not a number of seconds", "-s", "1s");
	REFUSED("not a number of seconds", "-s", "-1");
	REFUSED("not a number of seconds", "-s", "99999999999999999999");
}

static void test_sizes(void **state)
{
	(void)state;
	RUNS("--size", "1024");
	assert_int_equal(seen.o.size_bytes, 1024);
	RUNS("-z", "1k");
	assert_int_equal(seen.o.size_bytes, 1024);
	RUNS("-z", "1M");
	assert_int_equal(seen.o.size_bytes, 1 << 20);
	REFUSED("out of range (1024 to 1048576)", "-z", "1023");
	REFUSED("out of range", "-z", "1048577");
	REFUSED("out of range", "-z", "1G");
	REFUSED("not a size", "-z", "1T");
	REFUSED("not a size", "-z", "k");
	REFUSED("not a size", "-z", "99999999999999999999");
}

static void test_strings(void **state)
{
	(void)state;
	RUNS("--text", "some, text");
	assert_string_equal(seen.o.string, "some, text");
	RUNS("-t", "");
	assert_string_equal(seen.o.string, "");
	RUNS("-t", "-f");
	assert_string_equal(seen.o.string, "-f");
	assert_false(seen.o.flag);
	RUNS("--text=a=b");
	assert_string_equal(seen.o.string, "a=b");
}

static void test_lists(void **state)
{
	static const char *const names[] = { "a", "b c", "d", "e" };
	static const u64 ids[] = { 1, 2, 4194304 };

	(void)state;
	RUNS("-c", "a,b c", "--comm=d", "-ce");
	assert_int_equal(seen.o.strings.list.n, 4);
	for (u32 i = 0; i < 4; i++)
		assert_string_equal(seen.strings[i], names[i]);
	RUNS("-p", "1,2", "--pid", "4194304");
	assert_int_equal(seen.o.numbers.list.n, 3);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(seen.numbers[i], ids[i]);
	RUNS("-p", "1,,2,");
	assert_int_equal(seen.o.numbers.list.n, 2);
	REFUSED("--pid 0: out of range (1 to 4194304)", "-p", "5,0");
	REFUSED("--pid 4194305: out of range", "-p", "4194305");
	REFUSED("--pid x: not a number", "-p", "1,x,0");
	/* an empty shell variable must not mean "all" */
	REFUSED("--pid : ", "-p", "");
	REFUSED("--comm : ", "--comm=");
	REFUSED("--pid ,: ", "-p", ",");
}

static void test_many_values(void **state)
{
	const char *args[] = { "-p", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", "-c",
			       "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t", NULL };

	(void)state;
	assert_int_equal(run_args(args), EXIT_INCOMPLETE);
	assert_int_equal(seen.o.numbers.list.n, 20);
	assert_int_equal(seen.o.strings.list.n, 20);
}

static void test_abbreviations(void **state)
{
	(void)state;
	RUNS("--fl");
	assert_true(seen.o.flag);
	RUNS("--off=3");
	assert_int_equal(seen.o.offset, 3);
	/* the whole name of one that is the begin of another */
	RUNS("--number", "8");
	assert_int_equal(seen.o.number, 8);
	assert_int_equal(seen.o.big, 0);
	RUNS("--number-", "8");
	assert_int_equal(seen.o.big, 8);
	REFUSED("--f: ambiguous option; see mmscope tested --help", "--f");
	REFUSED("--numb: ambiguous", "--numb", "6");
	REFUSED("--s: ambiguous", "--s", "1");
}

static void test_unknown(void **state)
{
	(void)state;
	REFUSED("--nonesuch: unknown option; see mmscope tested --help", "--nonesuch");
	REFUSED("--nonesuch: unknown option", "--nonesuch=5", "path");
	REFUSED("--flagg: unknown", "--flagg");
	REFUSED("-x", "-x");
	REFUSED("-fx", "-fx");
	REFUSED("--: ", "--=1");
}

static void test_missing_values(void **state)
{
	(void)state;
	REFUSED("--number", "--number");
	REFUSED("-n", "-n");
	REFUSED("-p", "path", "-p");
	/* what comes behind "--" is no value */
	REFUSED("-n", "-n", "--", "5");
}

static void test_arguments(void **state)
{
	(void)state;
	RUNS("one", "-f", "two", "-n", "6", "-");
	assert_int_equal(seen.argc, 3);
	assert_string_equal(seen.args[0], "one");
	assert_string_equal(seen.args[1], "two");
	assert_string_equal(seen.args[2], "-");
	assert_true(seen.o.flag);
	assert_false(seen.has_command);
}

static void test_command(void **state)
{
	(void)state;
	RUNS("-f", "path", "--", "cmd", "-n", "99", "--nonesuch", "--", "x");
	assert_int_equal(seen.argc, 1);
	assert_true(seen.has_command);
	assert_string_equal(seen.command[0], "cmd");
	assert_string_equal(seen.command[1], "-n");
	assert_string_equal(seen.command[3], "--nonesuch");
	assert_string_equal(seen.command[4], "--");
	assert_string_equal(seen.command[5], "x");
	assert_null(seen.command[6]);
	assert_int_equal(seen.o.number, 7);
	RUNS("--");
	assert_true(seen.has_command);
	assert_null(seen.command[0]);
}

static void test_help(void **state)
{
	static const char *const forms[] = { "--help", "-?", "--he" };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(forms); i++) {
		assert_int_equal(RUN(forms[i]), EXIT_DONE);
		assert_int_equal(seen.runs, 0);
		assert_string_equal(err_text, "");
		assert_non_null(strstr(out_text, "mmscope tested"));
		assert_non_null(strstr(out_text, "[PATH]"));
		assert_non_null(strstr(out_text, "A verb for tests."));
		assert_non_null(strstr(out_text, "More about it."));
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			char name[64];

			snprintf(name, sizeof(name), "--%s", rows[k].name);
			assert_non_null(strstr(out_text, name));
			assert_non_null(strstr(out_text, rows[k].doc));
		}
	}
}

static void test_fail_without_verb(void **state)
{
	int old_err = dup(STDERR_FILENO);
	FILE *err = tmpfile();

	(void)state;
	assert_true(old_err >= 0 && err);
	fflush(stderr);
	assert_true(dup2(fileno(err), STDERR_FILENO) >= 0);
	assert_int_equal(cli_fail(NULL, EXIT_FAILED, "%s: %d", "what", 5), EXIT_FAILED);
	cli_warn(&verb, "remark %d", 6);
	fflush(stderr);
	assert_true(dup2(old_err, STDERR_FILENO) >= 0);
	close(old_err);
	slurp(err, err_text, sizeof(err_text));
	assert_string_equal(err_text, "mmscope: what: 5\nmmscope tested: remark 6\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_flags),
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_signed_numbers),
		cmocka_unit_test(test_seconds),	    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_strings),	    cmocka_unit_test(test_lists),
		cmocka_unit_test(test_many_values), cmocka_unit_test(test_abbreviations),
		cmocka_unit_test(test_unknown),	    cmocka_unit_test(test_missing_values),
		cmocka_unit_test(test_arguments),   cmocka_unit_test(test_command),
		cmocka_unit_test(test_help),	    cmocka_unit_test(test_fail_without_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
