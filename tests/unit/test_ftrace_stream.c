/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What needs more than one line: blocks, split names, stacks, LOST marks, clocks, limits, the quick
 * pass. */
#include <errno.h>
#include <stdio.h>

#include "ftrace_harness.h"

/* A bit of everything, so that a block border falls into everything. */
static const char mixed[] =
	"TRACE:\n"
	"# tracer: nop\r\n"
	"# entries-in-buffer/entries-written: 12/20   #P:2\n"
	"          cap.sh-19626   (  19626) [000] d..2.  1075.221520: sched_switch: "
	"prev_comm=cap.sh prev_pid=19626 prev_prio=120 prev_state=S ==> next_comm=nl\n"
	"line2 next_pid=20795 next_prio=120\n"
	"        nl\n"
	"line2-20795   (  19626) [000] .....  1075.221521: mmap_lock_start_locking: "
	"mm=000000009093a1f0 memcg_id=5507 write=false\r\n"
	"        nl\n"
	"line2-20795   (  19626) [000] .....  1075.221522: <stack trace>\n"
	" => trace_event_raw_event_mmap_lock\n"
	" => dup_mmap+0x1c0/0x6b0\n"
	" => mmap_lock_wait_start: pid=99 mm=1 write=1\n"
	"CPU:1 [LOST 123 EVENTS]\n"
	"              wl-7       (  19626) [001] .....  1075.221530: tracing_mark_write: "
	"B|7|first\n"
	"second line of marker\n"
	"\n"
	"              wl-7       (  19626) [001] .....  1075.221531: <user stack trace>\n"
	" =>  <00007fc86cc80353>\n"
	" => /usr/lib/x86_64-linux-gnu/libc.so.6[+0x80353]\n"
	"              wl-7       (  19626) [001] .....  1075.221532: do_fault <-handle_mm_fault\n"
	"##### CPU 0 buffer started ####\n"
	"\x01\x02 garbage \xff\n"
	"              wl-7       (  19626) [001] .....  1075.221533: sys_mmap(addr: 0, len: "
	"2d6d0, prot: 3, flags: 22, fd: ffffffff, off: 0)\n"
	"              wl-7       (  19626) [001] .....  1075.221534: sys_mmap -> 0x7faab969c000\n"
	"              wl-7       (  19626) [001] .....  1075.221535: sched_waking: comm=cat pid\n"
	"        nl\n"
	"line2-20795   (  19626) [000] .....  1075.221536: page_fault_user: address=0x1 ip=0x2 "
	"error_code=0x14\n"
	"              wl-7       (  19626) [001] .....  1075.2215";

static void assert_same(const struct harness *a, const struct harness *b)
{
	const struct ftrace_text_stats *sa = ftrace_text_stats(a->d), *sb = ftrace_text_stats(b->d);

	assert_int_equal(a->events.n, b->events.n);
	for (size_t i = 0; i < a->events.n; i++)
		assert_memory_equal(&a->events.v[i], &b->events.v[i], sizeof(struct event));
	assert_int_equal(a->lost.n, b->lost.n);
	for (size_t i = 0; i < a->lost.n; i++) {
		assert_int_equal(a->lost.v[i].cpu, b->lost.v[i].cpu);
		assert_int_equal(a->lost.v[i].n, b->lost.v[i].n);
		assert_int_equal(a->lost.v[i].events_before, b->lost.v[i].events_before);
	}
	assert_int_equal(a->skipped.n, b->skipped.n);
	for (size_t i = 0; i < a->skipped.n; i++)
		assert_memory_equal(&a->skipped.v[i], &b->skipped.v[i],
				    sizeof(struct skipped_line));
	assert_int_equal(sa->lines, sb->lines);
	assert_memory_equal(sa->by_class, sb->by_class, sizeof(sa->by_class));
	assert_int_equal(sa->n_names, sb->n_names);
}

static void test_blocks(void **state)
{
	static const size_t blocks[] = { 1, 2, 7, 64, 113, 4096 };
	const struct ftrace_text_opts opts = { .show_skipped = 100 };
	struct harness whole, parts;

	(void)state;
	harness_init(&whole, &opts);
	harness_feed(&whole, mixed, sizeof(mixed) - 1, 0);
	harness_end(&whole);
	assert_int_equal(whole.result, 0);
	assert_int_equal(whole.events.n, 9);
	assert_int_equal(harness_class(&whole, LINE_EVENT), 6);
	assert_int_equal(harness_class(&whole, LINE_SPLIT_COMM), 4);
	assert_int_equal(harness_class(&whole, LINE_STACK), 7);
	assert_int_equal(harness_class(&whole, LINE_SKIP_CUT), 1);
	assert_int_equal(harness_class(&whole, LINE_SKIP_BAD_FIELD), 1);
	assert_int_equal(harness_class(&whole, LINE_SKIP_NO_RECORD), 1);
	assert_int_equal(harness_class(&whole, LINE_SKIP_BINARY), 1);
	assert_int_equal(harness_class(&whole, LINE_SKIP_FUNCTION), 1);
	assert_classes_sum(&whole);
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		harness_init(&parts, &opts);
		harness_feed(&parts, mixed, sizeof(mixed) - 1, blocks[i]);
		harness_end(&parts);
		assert_same(&whole, &parts);
		harness_done(&parts);
	}
	harness_done(&whole);
}

/* Cut anywhere: what comes out is the same but for the last event, and every line is in a class. */
static void test_cuts(void **state)
{
	const struct ftrace_text_opts opts = { .show_skipped = 100 };
	struct harness whole, cut;

	(void)state;
	harness_init(&whole, &opts);
	harness_feed(&whole, mixed, sizeof(mixed) - 1, 0);
	harness_end(&whole);
	for (size_t at = 0; at < sizeof(mixed); at++) {
		harness_init(&cut, &opts);
		harness_feed(&cut, mixed, at, 0);
		harness_end(&cut);
		assert_int_equal(cut.result, 0);
		assert_true(cut.events.n <= whole.events.n);
		for (size_t i = 0; i + 1 < cut.events.n; i++)
			assert_memory_equal(&cut.events.v[i], &whole.events.v[i],
					    sizeof(struct event));
		assert_classes_sum(&cut);
		harness_done(&cut);
	}
	harness_done(&whole);
}

/* The quick pass sees the same records and marks, and keeps no strings. */
static void test_lost_only(void **state)
{
	const struct ftrace_text_opts opts = { 0 }, quick_opts = { .lost_only = true };
	struct harness full, quick;

	(void)state;
	harness_init(&full, &opts);
	harness_init(&quick, &quick_opts);
	harness_feed(&full, mixed, sizeof(mixed) - 1, 0);
	harness_feed(&quick, mixed, sizeof(mixed) - 1, 0);
	harness_end(&full);
	harness_end(&quick);
	assert_int_equal(full.events.n, quick.events.n);
	for (size_t i = 0; i < full.events.n; i++) {
		const struct event *q = &quick.events.v[i];
		struct event want = { .time_ns = full.events.v[i].time_ns,
				      .line = full.events.v[i].line,
				      .cpu = full.events.v[i].cpu,
				      .kind = EV_OTHER };

		assert_memory_equal(q, &want, sizeof(want));
	}
	assert_int_equal(quick.lost.n, 1);
	assert_int_equal(quick.lost.v[0].events_before, full.lost.v[0].events_before);
	assert_int_equal(quick.strings.n, 0);
	assert_int_equal(quick.stacks.n, 0);
	assert_classes_sum(&quick);
	harness_done(&full);
	harness_done(&quick);
}

static void test_split_names(void **state)
{
	struct harness h;

	(void)state;
	/* in the header, and in a payload; the marker's second line belongs to nobody */
	harness_decode(&h, mixed);
	assert_int_equal(h.events.v[0].kind, EV_SCHED_SWITCH);
	assert_int_equal(h.events.v[0].line, 4);
	assert_int_equal(h.events.v[0].u.sched.next_tid, 20795);
	assert_str_id(&h, h.events.v[0].u.sched.next_comm, "nl\nline2");
	assert_int_equal(h.events.v[1].kind, EV_LOCK_START);
	assert_int_equal(h.events.v[1].line, 7);
	assert_str_id(&h, h.events.v[1].comm, "nl\nline2");
	assert_int_equal(h.events.v[1].comm, h.events.v[0].u.sched.next_comm);
	/* a record that was cut does not swallow the front of the next one */
	assert_int_equal(h.events.v[7].kind, EV_OTHER);
	assert_int_equal(h.events.v[8].kind, EV_PAGE_FAULT_USER);
	assert_str_id(&h, h.events.v[8].comm, "nl\nline2");
	harness_done(&h);

	/* two newlines, one of them last */
	harness_decode(&h, "            a\n"
			   "b\n"
			   "-5       [000] .....  1.000000: foo: x\n");
	assert_int_equal(h.events.n, 1);
	assert_str_id(&h, h.events.v[0].comm, "a\nb\n");
	assert_int_equal(harness_class(&h, LINE_SPLIT_COMM), 2);
	harness_done(&h);

	/* trace-cmd report of an instance, and the latency format's eight characters */
	harness_decode(&h, "mmhunt:         nl\n"
			   "line2-21152 [000]  1.000000: foo:  x\n");
	assert_str_id(&h, h.events.v[0].comm, "nl\nline2");
	harness_done(&h);
	harness_decode(&h, "nl\n"
			   "line2-21152     0..... 21498us : foo: x\n");
	assert_str_id(&h, h.events.v[0].comm, "nl\nline2");
	harness_done(&h);

	/* a width that does not come out: the line before is no part of the name */
	harness_decode(&h, "    nl\n"
			   "line2-20795   [000] .....  1.000000: foo: x\n");
	assert_str_id(&h, h.events.v[0].comm, "line2");
	assert_int_equal(harness_class(&h, LINE_SKIP_NO_RECORD), 1);
	harness_done(&h);
	harness_decode(&h, "x [000] ... 1.0: net_dev_queue: len=-1\n"
			   "     curl-3421    [002] .... 1.0: foo: x\n");
	assert_str_id(&h, h.events.v[0].comm, "curl");
	harness_done(&h);
}

static void assert_stack(const struct harness *h, const struct event *ev, const char *const *want)
{
	u32 n;
	const u32 *frames = stacks_get(&h->stacks, ev->u.stack.stack, &n);

	for (u32 i = 0; i < n; i++) {
		assert_non_null(want[i]);
		assert_str_id(h, frames[i], want[i]);
	}
	assert_null(want[n]);
}

static void test_stacks(void **state)
{
	static const char *const kernel[] = { "trace_event_raw_event_mmap_lock", "dup_mmap",
					      "mmap_lock_wait_start:", NULL };
	static const char *const user[] = { "7fc86cc80353", "libc.so.6[+0x80353]", NULL };
	static const char *const report[] = { "trace_event_raw_event_sched_switch.isra.0",
					      "schedule", "f", NULL };
	struct harness h;

	(void)state;
	harness_decode(&h, mixed);
	assert_int_equal(h.events.v[2].kind, EV_STACK);
	assert_int_equal(h.events.v[2].line, 9);
	assert_int_equal(h.events.v[2].time_ns, 1075221522000);
	assert_int_equal(h.events.v[2].tid, 20795);
	assert_str_id(&h, h.events.v[2].u.stack.class_name, "mmap_lock");
	assert_stack(&h, &h.events.v[2], kernel);
	assert_int_equal(h.events.v[4].kind, EV_USER_STACK);
	assert_str_id(&h, h.events.v[4].u.stack.class_name, NULL);
	assert_stack(&h, &h.events.v[4], user);
	harness_done(&h);

	/* trace-cmd report */
	harness_decode(
		&h,
		"              tr-21119 [000]  1156.184127: kernel_stack:         <stack trace >\n"
		"=> trace_event_raw_event_sched_switch.isra.0 (ffffffff813a02c5)\n"
		"=> schedule (ffffffff821f8c03)\n"
		"=> f+0x12/0x34 [nf]\n"
		"              tr-21119 [000]  1156.184128: user_stack:         <user stack trace "
		">\n");
	assert_int_equal(h.events.n, 2);
	assert_int_equal(h.events.v[0].kind, EV_STACK);
	assert_str_id(&h, h.events.v[0].u.stack.class_name, "sched_switch");
	assert_stack(&h, &h.events.v[0], report);
	assert_int_equal(h.events.v[1].kind, EV_USER_STACK);
	assert_int_equal(h.events.v[1].u.stack.stack, 0);
	assert_int_equal(ftrace_text_stats(h.d)->n_names, 0);
	harness_done(&h);

	/* a record whose task is named like a frame ends the stack; frames of nobody are no event
	 */
	harness_decode(&h, " => orphan\n"
			   "              tr-9       [000] .....  1.000000: <stack trace>\n"
			   " => a\n"
			   "     => frame: x-11      [001] d..1.  1.000000: foo: x\n"
			   " => late\n");
	assert_int_equal(h.events.n, 2);
	assert_int_equal(h.events.v[0].kind, EV_STACK);
	assert_str_id(&h, h.events.v[1].comm, "=> frame: x");
	assert_int_equal(harness_class(&h, LINE_STACK), 4);
	harness_done(&h);

	/* a dump in the kernel's log */
	harness_decode(&h, "[  352.772408]  systemd-1       1d... 346277983us : <stack trace>\n"
			   "[  352.772408]  => error_entry\n");
	assert_int_equal(h.events.n, 1);
	assert_int_equal(harness_class(&h, LINE_STACK), 2);
	harness_done(&h);
}

/* A stack may have more frames than fit. */
static void test_deep_stack(void **state)
{
	const struct ftrace_text_opts opts = { 0 };
	static const char head[] =
		"              tr-9       [000] .....  1.000000: <stack trace>\n";
	struct harness h;
	char frame[32];
	u32 n;

	(void)state;
	harness_init(&h, &opts);
	harness_feed(&h, head, sizeof(head) - 1, 0);
	for (u32 i = 0; i < STACK_MAX_FRAMES + 50; i++) {
		snprintf(frame, sizeof(frame), " => f%u\n", i);
		harness_feed(&h, frame, strlen(frame), 0);
	}
	harness_end(&h);
	assert_int_equal(h.events.n, 1);
	stacks_get(&h.stacks, h.events.v[0].u.stack.stack, &n);
	assert_int_equal(n, STACK_MAX_FRAMES);
	harness_done(&h);
}

#define CPU0 "              wl-1       [000] .....  1.000000: foo: x\n"
#define CPU3 "              wl-1       [003] .....  1.000000: foo: x\n"

static const struct lost_row {
	const char *text;
	u64 events, marks;
	bool minimum;
	size_t calls;
	struct lost_call call[3];
} lost_rows[] = {
	{ CPU0 "CPU:1 [LOST 123 EVENTS]\n" CPU3, 123, 1, false, 1, { { 1, true, 123, 1 } } },
	{ "CPU:1 [LOST EVENTS]\n", 0, 1, true, 1, { { 1, false, 0, 0 } } },
	{ "CPU:2 [EVENTS DROPPED]\n", 0, 1, true, 1, { { 2, false, 0, 0 } } },
	{ "CPU:2 [7 EVENTS DROPPED]\n", 7, 1, false, 1, { { 2, true, 7, 0 } } },
	{ "mmhunt: CPU:2 [7 EVENTS DROPPED]\r\n", 7, 1, false, 1, { { 2, true, 7, 0 } } },
	{ CPU0 CPU3 "[LOST EVENTS]\n", 0, 1, true, 2, { { 0, false, 0, 2 }, { 3, false, 0, 2 } } },
	{ CPU0 CPU3 "LOST 11 events!\n",
	  11,
	  1,
	  false,
	  2,
	  { { 0, true, 11, 2 }, { 3, true, 0, 2 } } },
	{ "Processed 8 events and LOST 11 events!\n", 11, 1, false, 1, { { 0, true, 11, 0 } } },
	{ "CPU:0 [LOST 18446744073709551615 EVENTS]\nCPU:1 [LOST 2 EVENTS]\n",
	  UINT64_MAX,
	  2,
	  false,
	  2,
	  { { 0, true, UINT64_MAX, 0 }, { 1, true, 2, 0 } } },
	{ "CPU:9999 [LOST 1 EVENTS]\nCPU:1 [LOST 99999999999999999999 EVENTS]\nCPU:1 LOST 5 "
	  "EVENTS\nx CPU:1 [LOST 5 EVENTS]\n",
	  0,
	  0,
	  false,
	  0,
	  { { 0 } } },
};

static void test_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lost_rows); i++) {
		const struct lost_row *row = &lost_rows[i];
		const struct ftrace_text_stats *st;
		struct harness h;

		harness_decode(&h, row->text);
		st = ftrace_text_stats(h.d);
		if (st->lost_events != row->events || st->lost_marks != row->marks ||
		    st->lost_is_minimum != row->minimum || h.lost.n != row->calls)
			fail_msg("\"%s\": %llu events, %llu marks, %zu calls", row->text,
				 (unsigned long long)st->lost_events,
				 (unsigned long long)st->lost_marks, h.lost.n);
		assert_int_equal(st->by_class[LINE_LOST], row->marks);
		for (size_t j = 0; j < row->calls; j++) {
			assert_int_equal(h.lost.v[j].cpu, row->call[j].cpu);
			assert_int_equal(h.lost.v[j].n, row->call[j].n);
			assert_int_equal(h.lost.v[j].n_known, row->call[j].n_known);
			assert_int_equal(h.lost.v[j].events_before, row->call[j].events_before);
		}
		assert_classes_sum(&h);
		harness_done(&h);
	}
}

/* A mark comes behind the stack that stands before it. */
static void test_lost_order(void **state)
{
	struct harness h;

	(void)state;
	harness_decode(
		&h, "              tr-9       [000] .....  1.000000: <stack trace>\n"
		    " => a\n"
		    "CPU:0 [LOST 1 EVENTS]\n"
		    "              tr-9       [000] .....  1.000001: sched_waking: comm=cat pid\n"
		    "CPU:0 [LOST 2 EVENTS]\n");
	assert_int_equal(h.events.n, 2);
	assert_int_equal(h.lost.v[0].events_before, 1);
	assert_int_equal(h.lost.v[1].events_before, 2);
	harness_done(&h);
}

static void test_gap(void **state)
{
	const struct ftrace_text_opts opts = { .show_skipped = 9 };
	static const char text[] = CPU0 CPU3 "              wl-1       [001] ....";
	struct harness h;

	(void)state;
	harness_init(&h, &opts);
	harness_feed(&h, text, sizeof(text) - 1, 0);
	assert_int_equal(ftrace_text_gap(h.d, &h.e), 0);
	harness_feed(&h, CPU0, sizeof(CPU0) - 1, 0);
	harness_end(&h);
	assert_int_equal(h.events.n, 3);
	assert_int_equal(h.lost.n, 2);
	assert_int_equal(h.lost.v[0].cpu, 0);
	assert_int_equal(h.lost.v[1].cpu, 3);
	assert_false(h.lost.v[0].n_known);
	assert_int_equal(h.lost.v[0].events_before, 2);
	assert_true(ftrace_text_stats(h.d)->lost_is_minimum);
	assert_int_equal(harness_class(&h, LINE_SKIP_CUT), 1);
	assert_classes_sum(&h);
	harness_done(&h);
}

static void test_step_back(void **state)
{
	static const char text[] = "# tracer: nop\n"
				   "# two boots\n"
				   "             app-11      [000] d..1. 100.000000000: "
				   "mmap_lock_hold_start: pid=11 mm=1 write=1\n"
				   "             app-12      [001] d..1.  99.100000000: "
				   "mmap_lock_hold_start: pid=12 mm=2 write=1\n"
				   "             app-11      [000] d..1.  98.500000000: "
				   "mmap_lock_hold_end: pid=11 mm=1 write=1\n";
	struct ftrace_text_opts opts = { 0 };
	struct harness h;

	(void)state;
	for (int quick = 0; quick < 2; quick++) {
		opts.lost_only = quick;
		harness_init(&h, &opts);
		harness_feed(&h, text, sizeof(text) - 1, 0);
		assert_int_equal(h.result, -EPROTO);
		assert_string_equal(h.e.msg,
				    "line 5: CPU 0 steps back from 100.000000000 to 98.500000000: "
				    "another boot in one file; split it");
		assert_int_equal(h.events.n, 2);
		harness_done(&h);
	}
	opts = (struct ftrace_text_opts){ .allow_step_back = true };
	harness_init(&h, &opts);
	harness_feed(&h, text, sizeof(text) - 1, 0);
	harness_end(&h);
	assert_int_equal(h.result, 0);
	assert_int_equal(h.events.n, 3);
	harness_done(&h);

	/* exactly a second is none, and a clock without seconds has no second */
	harness_decode(&h, "              wl-1       [000] .....  2.000000: foo: x\n" CPU0);
	assert_int_equal(h.events.n, 2);
	harness_done(&h);
	harness_decode(&h, "              wl-1       [000] .....  9000000000: foo: x\n"
			   "              wl-1       [000] .....           3: foo: x\n");
	assert_int_equal(h.events.n, 2);
	assert_int_equal(h.events.v[1].time_ns, 3);
	harness_done(&h);
}

/* A line over the limit is dropped, whichever way it comes in; the next one is read. */
static void test_long_lines(void **state)
{
	static const size_t blocks[] = { 0, 1000, 65536, FTRACE_MAX_LINE };
	size_t head = strlen(CPU0) - 1, len = FTRACE_MAX_LINE;
	char *text = malloc(len * 3);
	const struct ftrace_text_opts opts = { .show_skipped = 5 };
	size_t n;

	(void)state;
	assert_non_null(text);
	for (size_t extra = 0; extra < 2; extra++) {
		/* a record of the longest line, or one byte more, then an ordinary one */
		memset(text, 'x', len * 3);
		memcpy(text, CPU0, head);
		n = len + extra;
		text[n++] = '\n';
		memcpy(text + n, CPU3, sizeof(CPU3) - 1);
		n += sizeof(CPU3) - 1;
		for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
			struct harness h;

			harness_init(&h, &opts);
			harness_feed(&h, text, n, blocks[i]);
			harness_end(&h);
			assert_int_equal(h.events.n, extra ? 1 : 2);
			assert_int_equal(harness_class(&h, LINE_SKIP_TOO_LONG), extra);
			assert_int_equal(h.skipped.n, extra);
			if (extra) {
				assert_int_equal(h.skipped.v[0].len, 256);
				assert_memory_equal(h.skipped.v[0].text, CPU0, head);
			}
			assert_classes_sum(&h);
			harness_done(&h);
		}
	}
	free(text);
}

/* A line without end keeps no more than its limit in memory. */
static void test_endless_line(void **state)
{
	const struct ftrace_text_opts opts = { 0 };
	char block[4096];
	struct harness h;

	(void)state;
	memset(block, '[', sizeof(block));
	harness_init(&h, &opts);
	for (int i = 0; i < 16384; i++) {
		h.result = ftrace_text_feed(h.d, block, sizeof(block), &h.e);
		assert_int_equal(h.result, 0);
	}
	harness_end(&h);
	assert_int_equal(harness_class(&h, LINE_SKIP_TOO_LONG), 1);
	assert_int_equal(ftrace_text_stats(h.d)->lines, 1);
	harness_done(&h);
}

/* Lines that would make a careless parser quadratic. */
static void test_hostile_lines(void **state)
{
	static const struct {
		const char *head, *unit;
	} rows[] = {
		{ "", "[0] " },
		{ "", " -1 [0] " },
		{ "", "x-1 [0] 1.0 " },
		{ "              wl-1       [000] .....  1.000000: mmap_lock_released: ",
		  "comm=a " },
		{ "              wl-1       [000] .....  1.000000: vma_start_write_begin_v2: comm=",
		  "vm_start=1 " },
		{ "              wl-1       [000] .....  1.000000: sched_switch: prev_comm=",
		  " prev_pid=1" },
		{ "              wl-1       [000] .....  1.000000: sched_process_exec: filename=",
		  " pid=1" },
		{ "              wl-1       [000] .....  1.000000: sys_mmap(", "a: 1, " },
		{ "CPU:1 [LOST ", "CPU:1 [LOST " },
		{ "", "00000000" },
	};
	char *text = malloc(FTRACE_MAX_LINE + 64);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].head), unit = strlen(rows[i].unit);
		const struct ftrace_text_opts opts = { 0 };
		struct harness h;

		memcpy(text, rows[i].head, n);
		while (n + unit < FTRACE_MAX_LINE) {
			memcpy(text + n, rows[i].unit, unit);
			n += unit;
		}
		text[n++] = '\n';
		harness_init(&h, &opts);
		for (int k = 0; k < 20; k++)
			harness_feed(&h, text, n, 0);
		harness_end(&h);
		assert_int_equal(h.result, 0);
		assert_int_equal(ftrace_text_stats(h.d)->lines, 20);
		assert_classes_sum(&h);
		harness_done(&h);
	}
	free(text);
}

/* The callback's answer comes back, and the decoder stops there. */
static void test_callback_stops(void **state)
{
	const struct ftrace_text_opts opts = { 0 };
	struct harness h;

	(void)state;
	harness_init(&h, &opts);
	h.stop_after = 2;
	harness_feed(&h, CPU0 CPU0 CPU0, 3 * (sizeof(CPU0) - 1), 0);
	assert_int_equal(h.result, 77);
	assert_int_equal(h.events.n, 2);
	harness_done(&h);
}

static void test_show_skipped_limit(void **state)
{
	const struct ftrace_text_opts opts = { .show_skipped = 2 };
	struct harness h;

	(void)state;
	harness_init(&h, &opts);
	harness_feed(&h, "one\ntwo\nthree\n" CPU0, sizeof("one\ntwo\nthree\n" CPU0) - 1, 0);
	harness_end(&h);
	assert_int_equal(h.skipped.n, 2);
	assert_string_equal(h.skipped.v[0].text, "one");
	assert_int_equal(h.skipped.v[1].line_no, 2);
	assert_int_equal(harness_class(&h, LINE_SKIP_NO_RECORD), 3);
	harness_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_lost_only),
		cmocka_unit_test(test_split_names),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_deep_stack),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_order),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_step_back),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_hostile_lines),
		cmocka_unit_test(test_callback_stops),
		cmocka_unit_test(test_show_skipped_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
