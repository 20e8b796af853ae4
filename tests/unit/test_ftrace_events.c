/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ftrace_events.c: the list of events that a recording enables, and -e. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "live/ftrace_events.h"
#include "sys/tracefs.h"
#include "wire/event.h"

static size_t count(const struct ftrace_events *events, const char *system, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < events->list.n; i++)
		n += !strcmp(events->list.v[i].system, system) &&
		     !strcmp(events->list.v[i].name, name);
	return n;
}

static void every_row_once(void **state)
{
	struct ftrace_events events;

	(void)state;
	assert_true(ftrace_events_fill(&events));
	for (size_t i = 0; i < events.list.n; i++) {
		const struct ftrace_event *ev = &events.list.v[i];

		assert_true(sys_tracefs_name_is_valid(ev->system));
		assert_true(sys_tracefs_name_is_valid(ev->name));
		assert_int_equal(count(&events, ev->system, ev->name), 1);
		assert_true(*ev->why);
	}
	ftrace_events_done(&events);
}

/* What the analyses read must be recorded: all vendor and lock events, faults, identity. */
static void every_kind_is_there(void **state)
{
	static const struct {
		enum event_kind kind;
		const char *system, *name;
	} kinds[] = {
#define EVENT(id, KIND, system, name, class, payload, doc) { EV_##KIND, system, name },
#include "wire/events.def"
#undef EVENT
	};
	/* Text beside events, calls (by their own names), and wake-ups that waking tells already.
	 */
	static const enum event_kind not_recorded[] = { EV_SCHED_WAKEUP, EV_SCHED_WAKEUP_NEW,
							EV_CALL_ENTER,	 EV_CALL_EXIT,
							EV_MARKER,	 EV_STACK,
							EV_USER_STACK,	 EV_OTHER };
	struct ftrace_events events;

	(void)state;
	assert_true(ftrace_events_fill(&events));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t want = 1;

		for (size_t k = 0; k < ARRAY_LEN(not_recorded); k++)
			if (not_recorded[k] == kinds[i].kind)
				want = 0;
		if (count(&events, kinds[i].system, kinds[i].name) != want)
			fail_msg("%s:%s is there %zu times", kinds[i].system, kinds[i].name,
				 count(&events, kinds[i].system, kinds[i].name));
	}
	ftrace_events_done(&events);
}

static void calls_come_in_pairs(void **state)
{
	struct ftrace_events events;
	size_t enters = 0, exits = 0;

	(void)state;
	assert_true(ftrace_events_fill(&events));
	for (size_t i = 0; i < events.list.n; i++) {
		enters += !strncmp(events.list.v[i].name, "sys_enter_", 10);
		exits += !strncmp(events.list.v[i].name, "sys_exit_", 9);
	}
	assert_int_equal(enters, exits);
	assert_int_equal(count(&events, "syscalls", "sys_enter_mprotect"), 1);
	assert_int_equal(count(&events, "syscalls", "sys_exit_mprotect"), 1);
	/* Far too frequent for what they tell. */
	assert_int_equal(count(&events, "syscalls", "sys_enter_futex"), 0);
	ftrace_events_done(&events);
}

static void more_by_name(void **state)
{
	static const char *const bad[] = { "",		"sched",   ":",	     "sched:",
					   ":x",	"a:b:c",   "../x:y", "a:*",
					   "sched:a b", "sched:.", "a:b/c",  "a\n:b" };
	struct ftrace_events events;
	char longest[300];
	size_t n;

	(void)state;
	assert_true(ftrace_events_fill(&events));
	n = events.list.n;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(ftrace_events_add(&events, bad[i]), -EINVAL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[10] = ':';
	assert_int_equal(ftrace_events_add(&events, longest), -EINVAL);
	assert_int_equal(events.list.n, n);

	assert_int_equal(ftrace_events_add(&events, "block:block_rq_issue"), 0);
	assert_int_equal(ftrace_events_add(&events, "block/block_rq_issue"), 0);
	assert_int_equal(events.list.n, n + 1);
	assert_int_equal(events.list.v[n].origin, ORIGIN_USER_EVENT);
	/* One of ours, asked for by name: then it has to exist. */
	assert_int_equal(ftrace_events_add(&events, "filemap:filemap_fault_begin"), 0);
	assert_int_equal(events.list.n, n + 1);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(events.list.v[i].name, "filemap_fault_begin"))
			assert_int_equal(events.list.v[i].origin, ORIGIN_USER_EVENT);
	ftrace_events_done(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_once),
		cmocka_unit_test(every_kind_is_there),
		cmocka_unit_test(calls_come_in_pairs),
		cmocka_unit_test(more_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
