/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line's task, cpu, time and event name in every layout: one row per layout. */
#include "ftrace_harness.h"

#define NO_TGID (-1)
#define S 1000000000ULL

struct header_row {
	const char *what, *line;
	const char *comm; /* NULL = unknown */
	u32 tid;
	s64 tgid;
	u32 cpu;
	u64 time_ns;
	const char *name; /* as counted */
};

static const struct header_row rows[] = {
	{ "flags of five", "          cap.sh-19626   [000] d..2.  1074.649282: foo: a=1", "cap.sh",
	  19626, NO_TGID, 0, 1074649282000, "foo" },
	{ "flags of four", "     systrace.sh-5441  [001] d...  1031.091570: foo: a=1",
	  "systrace.sh", 5441, NO_TGID, 1, 1031091570000, "foo" },
	{ "flags of seven", "     a-12 [001] -12     (   10) [002] d..1.11   100.000003: foo: a",
	  "a-12 [001] ", 12, 10, 2, 100000003000, "foo" },
	{ "flags of seven, wide",
	  "       swapper/0-1       [002] ....1..     0.831928: my: (x) a=8", "swapper/0", 1,
	  NO_TGID, 2, 831928000, "my" },
	{ "no flags", "          cap.sh-19626   [000]   1075.745250: foo: a=1", "cap.sh", 19626,
	  NO_TGID, 0, 1075745250000, "foo" },
	{ "no flags, no fraction of a blank", "   <idle>-0     [001]  4467.843475: foo: x",
	  "<idle>", 0, NO_TGID, 1, 4467843475000, "foo" },
	{ "thread group", "          cap.sh-19626   (  19626) [000] d..2.  1075.221520: foo: a",
	  "cap.sh", 19626, 19626, 0, 1075221520000, "foo" },
	{ "thread group of five", "     systrace.sh-5441  (54321) [001] d...  1031.091570: foo: a",
	  "systrace.sh", 5441, 54321, 1, 1031091570000, "foo" },
	{ "thread group of seven digits",
	  "          cap.sh-19626   (1234567) [000] ....  1.000000: foo:", "cap.sh", 19626, 1234567,
	  0, S, "foo" },
	{ "thread group unknown", "          <idle>-0      (-----) [000] d..2   100.000000: foo: a",
	  "<idle>", 0, NO_TGID, 0, 100 * S, "foo" },
	{ "thread group unknown, seven",
	  "          <idle>-0      (-------) [000] d..2   100.000000: foo: a", "<idle>", 0, NO_TGID,
	  0, 100 * S, "foo" },
	{ "trimmed", "bar-1002 (1001) [000] ...1 1.000000: foo: t=6", "bar", 1002, 1001, 0, S,
	  "foo" },
	{ "trimmed, no group", "systrace.sh-8170  [001] 15180.978813: foo: x", "systrace.sh", 8170,
	  NO_TGID, 1, 15180978813000, "foo" },
	{ "nanoseconds", "             app-11      [003] d..1. 100.000001002: foo: x", "app", 11,
	  NO_TGID, 3, 100000001002, "foo" },
	{ "tai", "              wl-19959   [000] d.... 1796069050.604954: foo: x", "wl", 19959,
	  NO_TGID, 0, 1796069050604954000, "foo" },
	{ "unknown name", "           <...>-21119   [000] d..2.  1156.184065: foo: x", NULL, 21119,
	  NO_TGID, 0, 1156184065000, "foo" },
	{ "empty name", "                -13     (   10) [003] ....   100.000005: foo: x", "", 13,
	  10, 3, 100000005000, "foo" },
	{ "name with blanks", "   my app thread-20784   [000] .....  1.000000: foo: x",
	  "my app thread", 20784, NO_TGID, 0, S, "foo" },
	{ "trailing blank", "         trail- -20791   [000] .....  1.000000: foo: x", "trail- ",
	  20791, NO_TGID, 0, S, "foo" },
	{ "name with dashes", "          x-12-3-20785   [000] .....  1.000000: foo: x", "x-12-3",
	  20785, NO_TGID, 0, S, "foo" },
	{ "only a dash", "               --20789   [000] .....  1.000000: foo: x", "-", 20789,
	  NO_TGID, 0, S, "foo" },
	{ "name with brackets", "       [brk]et:0-20786   [001] .....  1.000000: foo: x",
	  "[brk]et:0", 20786, NO_TGID, 1, S, "foo" },
	{ "name with a cpu", "    co:lon [001]-20162   [000] d.h4.  1.000000: foo: x",
	  "co:lon [001]", 20162, NO_TGID, 0, S, "foo" },
	{ "name like a group", "          (1234)-20796   [000] .....  1.000000: foo: x", "(1234)",
	  20796, NO_TGID, 0, S, "foo" },
	{ "name like a whole record", "  a-1 [0] 1.0: x-4242    [001] d...   100.000000: foo: x",
	  "a-1 [0] 1.0: x", 4242, NO_TGID, 1, 100 * S, "foo" },
	{ "name like a frame", "     => frame: x-11     (-----) [001] d..1.  100.000002: foo: x",
	  "=> frame: x", 11, NO_TGID, 1, 100000002000, "foo" },
	{ "name with a tab", "        tab\there-20794   [000] .....  1.000000: foo: x", "tab\there",
	  20794, NO_TGID, 0, S, "foo" },
	{ "name with any byte", "          \xff\xfe\x80raw-20792   [000] .....  1.000000: foo: x",
	  "\xff\xfe\x80raw", 20792, NO_TGID, 0, S, "foo" },
	{ "name with a hash", "#tag-77 [000] ....  1.000000: foo: x", "#tag", 77, NO_TGID, 0, S,
	  "foo" },
	{ "longer name of one word",
	  "com.android.systemui-611   (  611) [001] d..5 514769.086090: foo: x",
	  "com.android.systemui", 611, 611, 1, 514769086090000, "foo" },
	{ "a name that fills the field", "Surface Flinger -178   [001]  4467.843536: foo: x",
	  "Surface Flinger ", 178, NO_TGID, 1, 4467843536000, "foo" },
	{ "marker that quotes a record",
	  "          atrace-99      (   99) [003] ....   100.000013: foo: x-12 [001] .... 1.0: "
	  "bar: x",
	  "atrace", 99, 99, 3, 100000013000, "foo" },
	{ "carriage return", "              wl-1       [000] .....  1.000000: foo:\r", "wl", 1,
	  NO_TGID, 0, S, "foo" },
	{ "header glued before it",
	  "#              | |         |   |||||     |         |              wl-7       [001] "
	  ".....  1.000000: foo: x",
	  "wl", 7, NO_TGID, 1, S, "foo" },
	{ "TRACE: glued before it", "TRACE:              wl-7       [001] .....  1.000000: foo: x",
	  "wl", 7, NO_TGID, 1, S, "foo" },
	{ "a cut record before it",
	  "              wl-1       [000] d..2.  1.00000              wl-7       [001] .....  "
	  "1.000000: foo: x",
	  "wl", 7, NO_TGID, 1, S, "foo" },
	{ "trace-cmd report", "     kworker/4:1-51    [004]  1583.765274: thermal:  zone=1",
	  "kworker/4:1", 51, NO_TGID, 4, 1583765274000, "thermal" },
	{ "instance name", "mmhunt:             bash-21136 [000]  1156.184137: foo:   mm=1", "bash",
	  21136, NO_TGID, 0, 1156184137000, "foo" },
	{ "no instance name", "                    bash-21136 [000]  1156.184137: foo:   mm=1",
	  "bash", 21136, NO_TGID, 0, 1156184137000, "foo" },
	{ "latency format", "  cap.sh-19626     1d..2. 21498us : foo: x", "cap.sh", 19626, NO_TGID,
	  1, 21498000, "foo" },
	{ "latency format, +", "my app t-19697     1..... 332460us+: foo: x", "my app t", 19697,
	  NO_TGID, 1, 332460000, "foo" },
	{ "latency format, !", "      wl-19694   127..... 332460us!: foo: x", "wl", 19694, NO_TGID,
	  127, 332460000, "foo" },
	{ "latency format, #", "memfd:se-3253      0d..2. 334182us#: foo: x", "memfd:se", 3253,
	  NO_TGID, 0, 334182000, "foo" },
	{ "latency format without seconds", "  cap.sh-19626     1d..2.    3: foo: x", "cap.sh",
	  19626, NO_TGID, 1, 3, "foo" },
	{ "in the kernel's log", "[  352.770989]  systemd-1       1d... 346277982us : foo: x",
	  "systemd", 1, NO_TGID, 1, 346277982000, "foo" },
	{ "in a console's log",
	  "<4>[  352.770989][    T1]  systemd-1       1d... 346277982us : foo: x", "systemd", 1,
	  NO_TGID, 1, 346277982000, "foo" },
	{ "in the kernel's log, normal format",
	  "[  352.770989]           <idle>-0       [003] d..2.  1.000000: foo: x", "<idle>", 0,
	  NO_TGID, 3, S, "foo" },
	{ "counter", "          cap.sh-19920   [001] d..2.            3: foo: x", "cap.sh", 19920,
	  NO_TGID, 1, 3, "foo" },
	{ "event name with the system",
	  "              wl-1       [000] .....  1.000000: mmap_lock:foo_bar: x", "wl", 1, NO_TGID,
	  0, S, "foo_bar" },
	{ "system call", "              wl-1       [000] .....  1.000000: sys_read(fd: 1)", "wl", 1,
	  NO_TGID, 0, S, "sys_enter_read" },
	{ "its return", "              wl-1       [000] .....  1.000000: sys_read -> 0x10", "wl", 1,
	  NO_TGID, 0, S, "sys_exit_read" },
	{ "digits in the name",
	  "              wl-1       [000] .....  1.000000: ext4_da_write_begin: x", "wl", 1,
	  NO_TGID, 0, S, "ext4_da_write_begin" },
	{ "name without a text", "     curl-3421    [002] .... 1.0: inet_sock_set_state:", "curl",
	  3421, NO_TGID, 2, S, "inet_sock_set_state" },
	{ "largest cpu", "              wl-1       [4095] .....  1.000000: foo: x", "wl", 1,
	  NO_TGID, 4095, S, "foo" },
};

/* Each row alone, then as the tenth line like it, when the caches know its front. */
static void check_row(const struct header_row *row, u32 copies)
{
	struct harness h;
	const struct ftrace_text_opts opts = { .show_skipped = 10 };
	const struct event *ev;

	harness_init(&h, &opts);
	for (u32 i = 0; i < copies; i++) {
		harness_feed(&h, row->line, strlen(row->line), 0);
		harness_feed(&h, "\n", 1, 0);
	}
	harness_end(&h);
	if (h.result || h.events.n != copies)
		fail_msg("%s: result %d, %zu events: %s", row->what, h.result, h.events.n,
			 h.skipped.n ? line_class_info[h.skipped.v[0].why].key : "");
	ev = &h.events.v[copies - 1];
	if (row->comm ? (!ev->comm || strcmp(harness_str(&h, ev->comm), row->comm)) : ev->comm)
		fail_msg("%s: comm is \"%s\"", row->what,
			 ev->comm ? harness_str(&h, ev->comm) : "?");
	if (ev->tid != row->tid || ev->cpu != row->cpu || ev->time_ns != row->time_ns)
		fail_msg("%s: tid %u cpu %u time %llu", row->what, ev->tid, ev->cpu,
			 (unsigned long long)ev->time_ns);
	assert_int_equal(!!(ev->has & EVH_TGID), row->tgid != NO_TGID);
	assert_int_equal(ev->tgid, row->tgid == NO_TGID ? 0 : row->tgid);
	assert_int_equal(ev->line, copies);
	assert_int_equal(ev->kind, EV_OTHER);
	assert_str_id(&h, ev->name, row->name);
	if (harness_count(&h, row->name) != copies)
		fail_msg("%s: %s is not counted", row->what, row->name);
	assert_classes_sum(&h);
	harness_done(&h);
}

static void test_layouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_row(&rows[i], 1);
		check_row(&rows[i], 10);
	}
}

/* The scanning primitives work in words where there is room: the same with little behind the
 * header. */
static void test_layouts_with_long_text(void **state)
{
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct header_row row = rows[i];
		size_t len = strlen(row.line);

		if (row.line[len - 1] == '\r')
			continue;
		memcpy(line, row.line, len);
		memset(line + len, ' ', 1);
		memset(line + len + 1, 'z', 100);
		line[len + 101] = '\0';
		row.line = line;
		check_row(&row, 3);
	}
}

static const struct {
	const char *line;
	enum line_class class;
} no_records[] = {
	{ "x [000] .... 1.000001: swiotlb_bounced: size=12", LINE_SKIP_NO_RECORD },
	{ "4677  [001] d...  1118.654183: : ARG gzip", LINE_SKIP_NO_RECORD },
	{ "f  9566 [001] 18490161.191157: mm_pagevec_free: page=1", LINE_SKIP_NO_RECORD },
	{ "              wl-1       [4096] .....  1.000000: foo: x", LINE_SKIP_NO_RECORD },
	{ "              wl-99999999999 [000] .....  1.000000: foo: x", LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000] .....  99999999999999.000000: foo: x",
	  LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000] .....  99999999999999999999: foo: x",
	  LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000] .....  1.: foo: x", LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000] .....  1.000000 foo: x", LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000] a_very_long_flags_column 1.000000: foo: x",
	  LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000", LINE_SKIP_NO_RECORD },
	{ "second line of marker", LINE_SKIP_NO_RECORD },
	{ "E: some more words foo-12 [000] .... 1.000000: sched_switch: x", LINE_SKIP_NO_RECORD },
	{ "              wl-1       [000]", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....  1074", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....  1074.64", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....  1074.649282:", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....  1074.649282: sched_wak", LINE_SKIP_CUT },
	{ "              wl-1       [000] .....  1074.649282: do_fault <-handle_mm_fault",
	  LINE_SKIP_FUNCTION },
	{ "              wl-1       [000] .....  1074.649282: kfree(x=0x1) <-file_free",
	  LINE_SKIP_FUNCTION },
	{ " 0)   0.911 us    |                  rcu_irq_enter();", LINE_SKIP_FUNCTION },
	{ " 0)               |                irq_enter() {", LINE_SKIP_FUNCTION },
	{ " 0)  kworker-691   =>    cat-1464   ", LINE_SKIP_FUNCTION },
	{ " ------------------------------------------", LINE_SKIP_FUNCTION },
	{ "\x01\x02\x03 garbage", LINE_SKIP_BINARY },
	{ "# tracer: nop", LINE_HEADER },
	{ "#", LINE_HEADER },
	{ "TRACE:", LINE_HEADER },
	{ "cpus=6", LINE_HEADER },
	{ "version = 6", LINE_HEADER },
	{ "CPU 3 is empty", LINE_HEADER },
	{ "", LINE_BLANK },
	{ "   ", LINE_BLANK },
	{ "##### CPU 1 buffer started ####", LINE_BUFFER_START },
	{ " => do_syscall_64", LINE_STACK },
};

static void test_lines_without_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no_records); i++) {
		struct harness h;

		harness_decode(&h, no_records[i].line);
		if (!no_records[i].line[0]) {
			/* no bytes, no line */
			harness_done(&h);
			harness_decode(&h, "\n");
		}
		if (h.events.n || harness_class(&h, no_records[i].class) != 1)
			fail_msg("\"%s\": %zu events, not %s", no_records[i].line, h.events.n,
				 line_class_info[no_records[i].class].key);
		if (line_class_info[no_records[i].class].skipped) {
			assert_int_equal(h.skipped.n, 1);
			assert_int_equal(h.skipped.v[0].why, no_records[i].class);
			assert_int_equal(h.skipped.v[0].line_no, 1);
			assert_int_equal(h.skipped.v[0].len, strlen(no_records[i].line));
		} else {
			assert_int_equal(h.skipped.n, 0);
		}
		assert_classes_sum(&h);
		harness_done(&h);
	}
}

static void test_headers(void **state)
{
	struct harness h;
	const struct ftrace_text_stats *st;

	(void)state;
	harness_decode(&h, "# tracer: nop\n"
			   "# entries-in-buffer/entries-written: 12/20   #P:4\n"
			   "              wl-1       [000] .....  1.000000: foo: x\n"
			   "# entries-in-buffer/entries-written: 5/5   #P:2\n");
	st = ftrace_text_stats(h.d);
	assert_int_equal(st->header_cpus, 4);
	assert_int_equal(st->entries_in_buffer, 17);
	assert_int_equal(st->entries_written, 25);
	assert_int_equal(st->fraction_digits, 6);
	assert_true(st->clock_seen && st->clock_has_seconds && !st->latency_format);
	harness_done(&h);

	harness_decode(&h, "# nop latency trace v1.1.5 on 6.18.44\n"
			   "# latency: 0 us, #1387/1390, CPU#0 | (M:PREEMPT(none) VP:0, KP:0, SP:0 "
			   "HP:0 #P:2)\n");
	st = ftrace_text_stats(h.d);
	assert_int_equal(st->header_cpus, 2);
	assert_int_equal(st->entries_in_buffer, 1387);
	assert_int_equal(st->entries_written, 1390);
	assert_true(st->latency_format && !st->clock_seen);
	harness_done(&h);

	harness_decode(&h, "cpus=6\n              wl-1       [000] .....           17: foo: x\n");
	st = ftrace_text_stats(h.d);
	assert_int_equal(st->header_cpus, 6);
	assert_int_equal(st->fraction_digits, 0);
	assert_true(st->clock_seen && !st->clock_has_seconds);
	harness_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_layouts_with_long_text),
		cmocka_unit_test(test_lines_without_event),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
