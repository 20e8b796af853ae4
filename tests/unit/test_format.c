/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which format some bytes are in: one row per thing that people hand in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode/format.h"

#define RECORD "              wl-19628   [000] .....  1074.649287: foo: x\n"
#define BYTES(s) s, sizeof(s) - 1

static const struct {
	const char *what, *data;
	size_t len;
	enum trace_format want;
} rows[] = {
	{ "nothing", BYTES(""), FORMAT_UNKNOWN },
	{ "a record", BYTES(RECORD), FORMAT_FTRACE_TEXT },
	{ "a record without its newline", BYTES("  wl-19628   [000] .....  1074.649287: foo: x"),
	  FORMAT_FTRACE_TEXT },
	{ "only a header", BYTES("# tracer: nop\n#\n"), FORMAT_FTRACE_TEXT },
	{ "only a header, cut", BYTES("# tracer: nop"), FORMAT_FTRACE_TEXT },
	{ "only trace-cmd's header", BYTES("cpus=2\n"), FORMAT_FTRACE_TEXT },
	{ "only a LOST mark", BYTES("CPU:1 [LOST 7959 EVENTS]\n"), FORMAT_FTRACE_TEXT },
	{ "an empty line first", BYTES("\n" RECORD), FORMAT_FTRACE_TEXT },
	{ "with CRLF", BYTES("# tracer: nop\r\n"), FORMAT_FTRACE_TEXT },
	{ "atrace, not compressed", BYTES("TRACE:\n# tracer: nop\n" RECORD), FORMAT_FTRACE_TEXT },
	{ "latency format", BYTES("  cap.sh-19626     1d..2. 21498us : foo: x\n"),
	  FORMAT_FTRACE_TEXT },
	{ "trace-cmd report",
	  BYTES("cpus=2\nmmhunt:             bash-21136 [000]  1156.184137: foo:  x\n"),
	  FORMAT_FTRACE_TEXT },
	{ "a dump in the kernel's log",
	  BYTES("[  352.770989]  systemd-1       1d... 346277982us : foo: x\n"),
	  FORMAT_FTRACE_TEXT },
	{ "records between garbage", BYTES("\x01\x02\x03\n\xff\xfe\n" RECORD "\x7f\x01\n"),
	  FORMAT_FTRACE_TEXT },
	{ "function tracer",
	  BYTES("  wl-1   [000] .....  1074.649287: do_fault <-handle_mm_fault\n"),
	  FORMAT_FTRACE_TEXT },
	{ "compressed atrace", BYTES("TRACE:\n\x78\x9c\xbd\xdb\x6e"), FORMAT_ATRACE_Z },
	{ "compressed atrace behind adb's text",
	  BYTES("capturing trace... done\nTRACE:\r\n\x78\x01\x01\x02"), FORMAT_ATRACE_Z },
	{ "html", BYTES("<!DOCTYPE HTML>\n<html>\n"), FORMAT_SYSTRACE_HTML },
	{ "html with blanks and a mark", BYTES("\xef\xbb\xbf \n<html><head>"),
	  FORMAT_SYSTRACE_HTML },
	{ "a JS string",
	  BYTES("# tracer: nop\\n\\\n#\\n\\\n  wl-1  [000] 50260.647576: foo: x\\n\\\n"),
	  FORMAT_SYSTRACE_HTML },
	{ "perf script",
	  BYTES("perf 47118 [011] 51499.088689:          1 page-faults: \n\t 29ebc cmd_record "
		"(/usr/bin/perf)\n"),
	  FORMAT_PERF_SCRIPT },
	{ "perf script, pid/tid",
	  BYTES("              wl 21463/21463 [001]  1177.900484496:       sched:sched_switch: "
		"prev_comm=wl\n"),
	  FORMAT_PERF_SCRIPT },
	{ "perf script, no cpu", BYTES("DOM Worker 11320 186448.846888:    1008373 cycles: \n"),
	  FORMAT_PERF_SCRIPT },
	{ "perf script, 8-digit seconds",
	  BYTES("      f  9566 [001] 18490161.191157: kfree: call_site=1\n"), FORMAT_PERF_SCRIPT },
	{ "perf script, only stacks",
	  BYTES("node 31912 cpu-clock: \n            13a80b608e0a f (/tmp/perf-7539.map)\n         "
		"    c6d78 g (/tmp/x)\n"),
	  FORMAT_PERF_SCRIPT },
	{ "trace.dat", BYTES("\x17\x08\x44tracing6\0"), FORMAT_TRACE_DAT },
	{ "perf.data", BYTES("PERFILE2\x68\0\0\0"), FORMAT_PERF_DATA },
	{ "Perfetto", BYTES("\x0a\x05\x50\x81\x01\x08\x07\x0a\x03\x42\x01\x00"), FORMAT_PERFETTO },
	{ "Perfetto, cut in its second packet", BYTES("\x0a\x02\x50\x01\x0a\xff\x01\x42\x04\x01"),
	  FORMAT_PERFETTO },
	{ "function_graph",
	  BYTES(" 0)               |                irq_enter() {\n 0)   0.911 us    |             "
		"     rcu_irq_enter();\n"),
	  FORMAT_FUNCTION_GRAPH },
	{ "function_graph, only a header", BYTES("# tracer: function_graph\n#\n"),
	  FORMAT_FUNCTION_GRAPH },
	{ "an ELF file",
	  BYTES("\x7f"
		"ELF\x02\x01\x01\0\0\0\0\0\0"),
	  FORMAT_BINARY },
	{ "zeros", BYTES("\0\0\0\0\0\0\0\0"), FORMAT_BINARY },
	{ "prose", BYTES("Dear all,\n\nplease find the trace attached.\n"), FORMAT_UNKNOWN },
	{ "kallsyms", BYTES("ffff80007bfb6d60 d $d\t[openvswitch]\nffffffff81000000 T _stext\n"),
	  FORMAT_UNKNOWN },
	{ "the tail of trace_pipe with the names cut off",
	  BYTES("4677  [001] d...  1118.654183: : ARG x\n"), FORMAT_UNKNOWN },
	{ "JSON", BYTES("{\"workload\": null}\n"), FORMAT_UNKNOWN },
};

static void test_detect(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* memory of its own: a read past the end is found */
		char *copy = malloc(rows[i].len ? rows[i].len : 1);
		enum trace_format got;

		assert_non_null(copy);
		memcpy(copy, rows[i].data, rows[i].len);
		got = format_detect(copy, rows[i].len);
		free(copy);
		if (got != rows[i].want)
			fail_msg("%s: %s instead of %s", rows[i].what, format_name(got),
				 format_name(rows[i].want));
	}
}

/* One marker with a perf line in it, or one record in a perf file, decides nothing. */
static void test_majority(void **state)
{
	static const char ftrace[] =
		RECORD "perf 47118 [011] 51499.088689:          1 page-faults: \n" RECORD;
	static const char perf[] =
		"perf 47118 [011] 51499.088689:          1 page-faults: \n"
		"perf 47118 [011] 51499.088690:          1 page-faults: \n" RECORD;

	(void)state;
	assert_int_equal(format_detect(ftrace, sizeof(ftrace) - 1), FORMAT_FTRACE_TEXT);
	assert_int_equal(format_detect(perf, sizeof(perf) - 1), FORMAT_PERF_SCRIPT);
}

/* Every prefix of every row: no crash, and a name. */
static void test_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t len = 0; len <= rows[i].len; len++) {
			char *copy = malloc(len ? len : 1);

			assert_non_null(copy);
			memcpy(copy, rows[i].data, len);
			assert_non_null(format_name(format_detect(copy, len)));
			free(copy);
		}
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(format_name(FORMAT_FTRACE_TEXT), "ftrace text");
	assert_true(format_is_supported(FORMAT_FTRACE_TEXT));
	assert_false(format_is_supported(FORMAT_PERF_SCRIPT));
	assert_false(format_is_supported(FORMAT_UNKNOWN));
	assert_string_equal(format_name((enum trace_format)1000), "unknown");
	for (int f = 0; f < FORMATS; f++)
		assert_true(format_name((enum trace_format)f)[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_majority),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
