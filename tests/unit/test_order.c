/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_order.c: the sorting window, and which event a stack record joins. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/vec.h"
#include "model/order.h"
#include "random_help.h"

#define MS 1000000ULL

struct out {
	u64 time_ns, id; /* id: event.mm */
	u32 stack, user_stack;
};
struct fixture {
	struct intern strings;
	struct order *o;
	VEC(struct out) out;
	int answer; /* what the sink returns from its answer_at-th event on */
	size_t answer_at;
};

static int on_event(void *ctx, const struct event *ev, u64 place)
{
	struct fixture *f = ctx;
	struct out *out = vec_push(&f->out);

	assert_non_null(out);
	assert_int_equal(place, f->out.n - 1);
	*out = (struct out){ ev->time_ns, ev->mm, ev->stack, ev->user_stack };
	return f->answer && f->out.n >= f->answer_at ? f->answer : 0;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	intern_init(&f->strings);
	f->o = order_new(&f->strings, ORDER_WINDOW_NS, on_event, f);
	assert_non_null(f->o);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	order_free(f->o);
	intern_done(&f->strings);
	vec_done(&f->out);
	free(f);
	return 0;
}

static void push_of(struct fixture *f, u16 kind, u32 tid, u64 time_ns, u64 id)
{
	struct event ev = { .time_ns = time_ns, .mm = id, .kind = kind, .tid = tid };

	assert_int_equal(order_push(f->o, &ev), 0);
}

static void push(struct fixture *f, u64 time_ns, u64 id)
{
	push_of(f, EV_OTHER, 1, time_ns, id);
}

static void push_stack(struct fixture *f, u16 kind, u32 tid, u64 time_ns, u32 stack,
		       const char *class)
{
	struct event ev = { .time_ns = time_ns, .kind = kind, .tid = tid };

	ev.u.stack.stack = stack;
	if (class)
		ev.u.stack.class_name = intern_add(&f->strings, class, strlen(class));
	assert_int_equal(order_push(f->o, &ev), 0);
}

/* The ids that came out so far, all of them, in this order. */
static void check_ids(const struct fixture *f, const u64 *ids, size_t n)
{
	assert_int_equal(f->out.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(f->out.v[i].id, ids[i]);
}
#define CHECK_IDS(f, ...)                          \
	check_ids(f, (const u64[]){ __VA_ARGS__ }, \
		  sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64))

static const struct out *find_out(const struct fixture *f, u64 id)
{
	for (size_t i = 0; i < f->out.n; i++) {
		if (f->out.v[i].id == id)
			return &f->out.v[i];
	}
	fail_msg("event %lu did not come out", (unsigned long)id);
	return NULL;
}

static void test_in_order(void **state)
{
	struct fixture *f = *state;

	push(f, 100 * MS, 1);
	push(f, 150 * MS, 2);
	push(f, 200 * MS, 3);
	/* exactly 100 ms after the first one, something as old as that may still come */
	assert_int_equal(f->out.n, 0);
	push(f, 200 * MS + 1, 4);
	CHECK_IDS(f, 1);
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 1, 2, 3, 4);
	assert_int_equal(order_stats(f->o)->late_events, 0);
	assert_int_equal(order_stats(f->o)->shortened, 0);
}

static void test_out_of_order(void **state)
{
	struct fixture *f = *state;

	push(f, 1000 * MS, 1);
	push(f, 1002 * MS, 2);
	push(f, 1001 * MS, 3);
	push(f, 950 * MS, 4);
	push(f, 1003 * MS, 5);
	push(f, 999 * MS, 6);
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 4, 6, 1, 3, 2, 5);
	assert_int_equal(order_stats(f->o)->late_events, 0);
}

static void test_edge_of_window(void **state)
{
	struct fixture *f = *state;

	push(f, 1000 * MS, 1);
	push(f, 900 * MS, 2);	  /* exactly 100 ms: in */
	push(f, 900 * MS - 1, 3); /* one ns more: out */
	push(f, 0, 4);
	assert_int_equal(order_stats(f->o)->late_events, 2);
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 2, 1);
}

static void test_equal_stamps_keep_arrival(void **state)
{
	struct fixture *f = *state;

	push(f, 10 * MS, 1);
	push(f, 12 * MS, 2);
	push(f, 10 * MS, 3);
	push(f, 12 * MS, 4);
	push(f, 10 * MS, 5);
	push(f, 11 * MS, 6);
	push(f, 11 * MS, 7);
	push(f, 12 * MS, 8);
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 1, 3, 5, 6, 7, 2, 4, 8);
}

/* Stamps at the end of what 64 bits hold: the sums with the window must not wrap. */
static void test_huge_stamps(void **state)
{
	struct fixture *f = *state;

	push(f, UINT64_MAX - 50 * MS, 1);
	push(f, UINT64_MAX, 2);
	push(f, UINT64_MAX - 10 * MS, 3);
	push(f, UINT64_MAX - 100 * MS, 4);
	push(f, UINT64_MAX - 100 * MS - 1, 5);
	assert_int_equal(order_stats(f->o)->late_events, 1);
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 4, 1, 3, 2);
	assert_int_equal(order_stats(f->o)->shortened, 0);
}

static void test_full_window_is_shortened(void **state)
{
	struct fixture *f = *state;

	for (u64 i = 0; i < ORDER_MAX_EVENTS; i++)
		push(f, 1000 * MS + i, i);
	assert_int_equal(f->out.n, 0);
	for (u64 i = 0; i < 10; i++)
		push(f, 1000 * MS + ORDER_MAX_EVENTS + i, ORDER_MAX_EVENTS + i);
	assert_int_equal(f->out.n, 10);
	assert_int_equal(order_stats(f->o)->shortened, 10);
	/* within 100 ms, but older than what went out: left out, and nothing goes out for it */
	push(f, 1000 * MS + 8, 1);
	assert_int_equal(order_stats(f->o)->late_events, 1);
	assert_int_equal(f->out.n, 10);
	/* not older: it takes the room of one more */
	push(f, 1000 * MS + 20, 7000000);
	assert_int_equal(order_stats(f->o)->shortened, 11);
	assert_int_equal(f->out.n, 11);
	/* the room for this one would be made by an event that is newer than it */
	push(f, 1000 * MS + 10, 7000001);
	assert_int_equal(order_stats(f->o)->late_events, 2);
	assert_int_equal(order_flush(f->o), 0);
	for (size_t i = 1; i < f->out.n; i++)
		assert_true(f->out.v[i - 1].time_ns <= f->out.v[i].time_ns);
	assert_int_equal(f->out.n, ORDER_MAX_EVENTS + 11);
}

static void test_sink_stops(void **state)
{
	struct fixture *f = *state;
	struct event ev = { .time_ns = 500 * MS, .kind = EV_OTHER, .tid = 1 };

	push(f, 1 * MS, 1);
	push(f, 2 * MS, 2);
	f->answer = -EIO;
	f->answer_at = 2;
	assert_int_equal(order_push(f->o, &ev), -EIO);
	assert_int_equal(f->out.n, 2);
	f->answer = 7;
	assert_int_equal(order_flush(f->o), 0);
	push(f, 600 * MS, 3);
	assert_int_equal(order_flush(f->o), 7);
}

struct arrival {
	u64 time_ns, key, id;
};

static int by_key(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_time_then_place(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/*
 * Events that arrive up to @delay_ns late, in an order that @share of them keep: the window must
 * give what a stable sort of those that are not too late gives.
 */
static void check_random(struct fixture *f, u64 seed, u64 delay_ns, u64 on_time_of_ten, u64 step_ns)
{
	enum { N = 4000 };
	struct arrival *a = calloc(N, sizeof(*a));
	u64 newest = 0, now = 1000 * MS, late = order_stats(f->o)->late_events;
	size_t kept = 0;

	assert_non_null(a);
	f->out.n = 0;
	for (u64 i = 0; i < N; i++) {
		bool on_time = random_below(&seed, 10) < on_time_of_ten;

		now += random_below(&seed, step_ns);
		a[i] = (struct arrival){ now,
					 now + (on_time ? 0 : random_below(&seed, delay_ns + 1)),
					 i };
	}
	qsort(a, N, sizeof(*a), by_key);
	for (u64 i = 0; i < N; i++) {
		push(f, a[i].time_ns, a[i].id);
		if (a[i].time_ns > newest)
			newest = a[i].time_ns;
		else if (newest - a[i].time_ns > ORDER_WINDOW_NS)
			continue;
		a[kept] = a[i];
		a[kept].key = i;
		kept++;
	}
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(order_stats(f->o)->late_events - late, N - kept);
	qsort(a, kept, sizeof(*a), by_time_then_place);
	assert_int_equal(f->out.n, kept);
	for (size_t i = 0; i < kept; i++)
		assert_int_equal(f->out.v[i].id, a[i].id);
	assert_int_equal(order_stats(f->o)->shortened, 0);
	free(a);
}

static void test_random_permutations(void **state)
{
	static const struct {
		u64 delay_ns, on_time_of_ten, step_ns;
		bool some_late;
	} runs[] = {
		{ 100 * MS, 0, 1 * MS, false }, { 100 * MS, 9, 1 * MS, false },
		{ 1 * MS, 5, 3, false },	{ 100 * MS, 3, 20, false },
		{ 130 * MS, 5, 1 * MS, true },	{ 400 * MS, 9, 10 * MS, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct fixture *f;
		u64 late;

		/* a new window for each: the clock starts again */
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
		f = *state;
		/* the out array counts places from 0, so one run a window */
		check_random(f, 0x9e3779b97f4a7c15ULL + i, runs[i].delay_ns, runs[i].on_time_of_ten,
			     runs[i].step_ns);
		late = order_stats(f->o)->late_events;
		assert_int_equal(late > 0, runs[i].some_late);
	}
}

static void test_stack_joins_newest(void **state)
{
	struct fixture *f = *state;

	push_of(f, EV_SCHED_SWITCH, 5, 1 * MS, 1);
	push_of(f, EV_LOCK_START, 5, 2 * MS, 2);
	push_of(f, EV_LOCK_START, 6, 3 * MS, 3);
	push_stack(f, EV_STACK, 5, 4 * MS, 77, NULL);
	push_stack(f, EV_USER_STACK, 5, 4 * MS, 78, NULL);
	/* no event of that thread */
	push_stack(f, EV_STACK, 9, 4 * MS, 79, NULL);
	/* the newest has one already: whose is this? */
	push_stack(f, EV_STACK, 5, 4 * MS, 80, NULL);
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(find_out(f, 1)->stack, 0);
	assert_int_equal(find_out(f, 2)->stack, 77);
	assert_int_equal(find_out(f, 2)->user_stack, 78);
	assert_int_equal(find_out(f, 3)->stack, 0);
	assert_int_equal(order_stats(f->o)->stacks_joined, 2);
	assert_int_equal(order_stats(f->o)->stacks_alone, 2);
}

static void test_stack_of_another_class(void **state)
{
	struct fixture *f = *state;

	push_of(f, EV_LOCK_START, 5, 1 * MS, 1);
	push_of(f, EV_SCHED_SWITCH, 5, 2 * MS, 2);
	push_of(f, EV_SCHED_WAKING, 5, 3 * MS, 3);
	/* mmap_lock is the class of start_locking and released, not of acquire_returned */
	push_stack(f, EV_STACK, 5, 4 * MS, 70, "mmap_lock");
	push_stack(f, EV_STACK, 5, 4 * MS, 71, "sched_wakeup_template");
	push_stack(f, EV_STACK, 5, 4 * MS, 72, "mmap_lock_acquire_returned");
	push_stack(f, EV_STACK, 5, 4 * MS, 73, "no_such_class");
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(find_out(f, 1)->stack, 70);
	assert_int_equal(find_out(f, 2)->stack, 0);
	assert_int_equal(find_out(f, 3)->stack, 71);
	assert_int_equal(order_stats(f->o)->stacks_joined, 2);
	assert_int_equal(order_stats(f->o)->stacks_alone, 2);
}

/* An event that mmscope does not know may be of any class, but only while it is the newest. */
static void test_stack_of_other_events(void **state)
{
	struct fixture *f = *state;

	push_of(f, EV_LOCK_START, 5, 1 * MS, 1);
	push_of(f, EV_OTHER, 5, 2 * MS, 2);
	push_stack(f, EV_STACK, 5, 3 * MS, 70, "mmap_lock");
	push_of(f, EV_OTHER, 6, 4 * MS, 3);
	push_of(f, EV_SCHED_SWITCH, 6, 5 * MS, 4);
	push_stack(f, EV_STACK, 6, 6 * MS, 71, "kmem_alloc");
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(find_out(f, 1)->stack, 0);
	assert_int_equal(find_out(f, 2)->stack, 70);
	assert_int_equal(find_out(f, 3)->stack, 0);
	assert_int_equal(find_out(f, 4)->stack, 0);
	assert_int_equal(order_stats(f->o)->stacks_alone, 1);
}

static void test_stack_of_out_of_order_event(void **state)
{
	struct fixture *f = *state;

	push_of(f, EV_LOCK_START, 7, 20 * MS, 1);
	push_stack(f, EV_STACK, 7, 20 * MS, 60, NULL); /* the window remembers threads from here */
	push_of(f, EV_LOCK_RELEASED, 8, 21 * MS, 2);
	push_of(f, EV_SCHED_SWITCH, 5, 10 * MS, 3); /* aside */
	push_stack(f, EV_STACK, 5, 11 * MS, 61, "sched_switch");
	push_of(f, EV_SCHED_SWITCH, 5, 12 * MS, 4);		 /* aside too */
	push_stack(f, EV_STACK, 5, 11 * MS, 62, "sched_switch"); /* older than 4, 3 has one */
	push_of(f, EV_LOCK_START, 5, 22 * MS, 5);
	push_stack(f, EV_USER_STACK, 5, 12 * MS, 63, NULL); /* older than 5 */
	push_stack(f, EV_STACK, 5, 23 * MS, 64, "sched_switch");
	assert_int_equal(order_flush(f->o), 0);
	CHECK_IDS(f, 3, 4, 1, 2, 5);
	assert_int_equal(find_out(f, 1)->stack, 60);
	assert_int_equal(find_out(f, 2)->stack, 0);
	assert_int_equal(find_out(f, 3)->stack, 61);
	assert_int_equal(find_out(f, 4)->stack, 64);
	assert_int_equal(find_out(f, 4)->user_stack, 63);
	assert_int_equal(find_out(f, 5)->stack, 0);
	assert_int_equal(order_stats(f->o)->stacks_alone, 1);
}

static void test_stack_too_late_or_too_far(void **state)
{
	struct fixture *f = *state;

	push_of(f, EV_LOCK_START, 5, 1 * MS, 1);
	push_of(f, EV_LOCK_START, 6, 2 * MS, 2);
	for (u64 i = 0; i < 4; i++)
		push_of(f, EV_SCHED_SWITCH, 6, 3 * MS, 10 + i);
	/* 2 is the fifth latest of its thread */
	push_stack(f, EV_STACK, 6, 4 * MS, 70, "mmap_lock");
	push_of(f, EV_OTHER, 9, 110 * MS, 3);
	/* 1 has left the window */
	push_stack(f, EV_STACK, 5, 110 * MS, 71, "mmap_lock");
	/* its place in the ring, and aside, may hold another event by now */
	push_of(f, EV_LOCK_START, 5, 109 * MS, 4);
	push_of(f, EV_OTHER, 9, 300 * MS, 5);
	push_of(f, EV_LOCK_START, 8, 299 * MS, 6);
	push_stack(f, EV_STACK, 5, 300 * MS, 72, NULL);
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(order_stats(f->o)->stacks_alone, 3);
	for (size_t i = 0; i < f->out.n; i++)
		assert_int_equal(f->out.v[i].stack, 0);
}

/* Many events and many threads: the ring and the list of threads grow while stacks are joined. */
static void test_stacks_of_many_threads(void **state)
{
	enum { N = 20000, THREADS = 700 };
	struct fixture *f = *state;
	u32 *want = calloc(N, sizeof(*want));
	u64 seed = 42;

	assert_non_null(want);
	for (u64 i = 0; i < N; i++) {
		u32 tid = (u32)random_below(&seed, THREADS);
		u64 t = 1000 * MS + i * 2000 -
			(i && random_below(&seed, 4) == 0 ? 1500 * random_below(&seed, 100) : 0);

		if (t < 1000 * MS)
			t = 1000 * MS;
		push_of(f, EV_LOCK_START, tid, t, i);
		if (random_below(&seed, 2)) {
			want[i] = (u32)i + 1;
			push_stack(f, EV_STACK, tid, t, want[i], NULL);
		}
	}
	assert_int_equal(order_flush(f->o), 0);
	assert_int_equal(f->out.n, N);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(f->out.v[i].stack, want[f->out.v[i].id]);
	assert_int_equal(order_stats(f->o)->stacks_alone, 0);
	free(want);
}

int main(void)
{
#define ORDER_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		ORDER_TEST(test_in_order),
		ORDER_TEST(test_out_of_order),
		ORDER_TEST(test_edge_of_window),
		ORDER_TEST(test_equal_stamps_keep_arrival),
		ORDER_TEST(test_huge_stamps),
		ORDER_TEST(test_full_window_is_shortened),
		ORDER_TEST(test_sink_stops),
		ORDER_TEST(test_random_permutations),
		ORDER_TEST(test_stack_joins_newest),
		ORDER_TEST(test_stack_of_another_class),
		ORDER_TEST(test_stack_of_other_events),
		ORDER_TEST(test_stack_of_out_of_order_event),
		ORDER_TEST(test_stack_too_late_or_too_far),
		ORDER_TEST(test_stacks_of_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
