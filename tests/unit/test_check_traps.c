/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traps of `mmscope check` on a made-up tracefs: what a real one shows is up to whoever uses
 * the machine, and setting traps there would spoil their traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/check_priv.h"

struct fixture {
	struct check_report report;
	struct check check;
	struct check_row row;
};

static void put_file(const struct fixture *f, const char *name, const char *text)
{
	char path[5000];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", f->check.trace.dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void put_dir(const struct fixture *f, const char *name)
{
	char path[5000];

	snprintf(path, sizeof(path), "%s/%s", f->check.trace.dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* As a kernel shows it that nobody traces on, but for what every kernel has as a default. */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	arena_init(&f->report.arena);
	f->check.report = &f->report;
	strcpy(f->check.trace.dir, "/tmp/mmscope-traps-XXXXXX");
	assert_non_null(mkdtemp(f->check.trace.dir));
	put_dir(f, "events");
	put_dir(f, "events/sched");
	put_dir(f, "events/sched/sched_switch");
	put_file(f, "events/sched/sched_switch/enable", "0\n");
	put_file(f, "tracing_on", "1\n");
	put_file(f, "set_event", "");
	put_file(f, "current_tracer", "nop\n");
	put_file(f, "trace_clock",
		 "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n");
	put_file(f, "buffer_size_kb", "7 (expanded: 1408)\n");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[5000];

	snprintf(command, sizeof(command), "rm -r '%s'", f->check.trace.dir);
	assert_int_equal(system(command), 0);
	arena_done(&f->report.arena);
	free(f);
	return 0;
}

static void expect(struct fixture *f, void (*find_out)(struct check *, struct check_row *),
		   enum check_status status, const char *word)
{
	find_out(&f->check, &f->row);
	if (f->row.status != status || !strstr(f->row.detail, word))
		fail_msg("status %s, detail '%s': wanted %s and '%s'",
			 check_status_name(f->row.status), f->row.detail, check_status_name(status),
			 word);
}

static void test_clock(void **state)
{
	struct fixture *f = *state;

	expect(f, check_trap_clock, CHECK_TRAP, "local");
	expect(f, check_clock_top, CHECK_OK, "local");
	expect(f, check_clock_mono, CHECK_OK, "available");
	put_file(f, "trace_clock", "local global [mono] boot\n");
	expect(f, check_trap_clock, CHECK_OK, "it is");
	expect(f, check_clock_boot, CHECK_OK, "available");
	/* mono_raw is another clock */
	put_file(f, "trace_clock", "[local] global mono_raw x86-tsc\n");
	expect(f, check_clock_mono, CHECK_MISSING, "");
	expect(f, check_clock_boot, CHECK_MISSING, "");
	put_file(f, "trace_clock", "nothing in brackets\n");
	check_trap_clock(&f->check, &f->row);
	assert_int_not_equal(f->row.status, CHECK_OK);
}

static void test_buffer(void **state)
{
	static const struct {
		const char *text;
		enum check_status status;
		const char *word;
	} rows[] = {
		{ "7 (expanded: 1408)\n", CHECK_TRAP, "1408 kB" },
		{ "4095\n", CHECK_TRAP, "4095 kB" },
		{ "4096\n", CHECK_OK, "4096 kB" },
		{ "7 (expanded: 32768)\n", CHECK_OK, "32768 kB" },
		{ "X\n", CHECK_UNKNOWN, "X" },
		{ "", CHECK_UNKNOWN, "" },
		{ "99999999999999999999999\n", CHECK_UNKNOWN, "9999" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_file(f, "buffer_size_kb", rows[i].text);
		expect(f, check_trap_buffer, rows[i].status, rows[i].word);
	}
}

static void test_in_use(void **state)
{
	struct fixture *f = *state;

	expect(f, check_trap_in_use, CHECK_OK, "no tracer");
	put_file(f, "set_event", "mmap_lock:mmap_lock_released\nsched:sched_switch\n");
	expect(f, check_trap_in_use, CHECK_TRAP, "2 events");
	put_file(f, "tracing_on", "0\n");
	expect(f, check_trap_in_use, CHECK_OK, "no tracer");
	put_file(f, "current_tracer", "function_graph\n");
	expect(f, check_trap_in_use, CHECK_TRAP, "function_graph");
}

static void test_pipe_reader(void **state)
{
	struct fixture *f = *state;
	char path[5000];
	FILE *pipe;

	put_file(f, "trace_pipe", "");
	snprintf(path, sizeof(path), "%s/trace_pipe", f->check.trace.dir);
	pipe = fopen(path, "r");
	assert_non_null(pipe);
	/* Somebody else on this machine may be one too: then that one is named. */
	expect(f, check_trap_in_use, CHECK_TRAP, "reads trace_pipe");
	fclose(pipe);
}

static void test_sched_switch(void **state)
{
	struct fixture *f = *state;
	char path[5000];

	expect(f, check_trap_sched_switch, CHECK_OK, "record");
	put_file(f, "set_event", "mmap_lock:mmap_lock_released\n");
	expect(f, check_trap_sched_switch, CHECK_TRAP, "1 events without");
	put_file(f, "set_event", "mmap_lock:mmap_lock_released\nsched:sched_switch\n");
	expect(f, check_trap_sched_switch, CHECK_OK, "record");
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch/enable", f->check.trace.dir);
	assert_int_equal(unlink(path), 0);
	expect(f, check_trap_sched_switch, CHECK_TRAP, "no sched_switch");
}

static void test_no_tracefs(void **state)
{
	static void (*const all[])(struct check *, struct check_row *) = {
		check_instance,	  check_clock_mono,	 check_clock_boot,  check_clock_top,
		check_trap_clock, check_trap_buffer,	 check_trap_in_use, check_trap_sched_switch,
		check_trap_stale, check_perf_tracepoint,
	};
	struct fixture *f = *state;
	char dir[sizeof(f->check.trace.dir)];

	strcpy(dir, f->check.trace.dir);
	f->check.trace.dir[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		expect(f, all[i], CHECK_UNKNOWN, "needs root");
	f->check.root = true;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		expect(f, all[i], CHECK_UNKNOWN, "cannot be read");
	strcpy(f->check.trace.dir, dir);
}

static void test_empty_tracefs(void **state)
{
	static const char *const files[] = { "tracing_on", "set_event", "current_tracer",
					     "trace_clock", "buffer_size_kb" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[5000];

		snprintf(path, sizeof(path), "%s/%s", f->check.trace.dir, files[i]);
		assert_int_equal(unlink(path), 0);
	}
	expect(f, check_trap_clock, CHECK_MISSING, "No such file");
	expect(f, check_trap_buffer, CHECK_MISSING, "No such file");
	expect(f, check_trap_in_use, CHECK_MISSING, "No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_buffer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_in_use, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pipe_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sched_switch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_tracefs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty_tracefs, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
