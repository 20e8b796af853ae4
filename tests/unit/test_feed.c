/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_feed.c: the streams of a capture as one, by time; broken chunks; both passes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/vec.h"
#include "random_help.h"
#include "session/feed.h"
#include "source_help.h"

struct seen {
	u64 time_ns, line;
	u32 tid;
	u16 cpu;
	u16 kind;
};
struct lost {
	u16 cpu;
	bool n_known;
	u64 n;
	size_t after; /* events before it */
};
struct fixture {
	struct intern strings;
	struct stacks stacks;
	struct source_set *set;
	struct feed *feed;
	VEC(struct seen) seen;
	VEC(struct lost) lost;
	size_t n_skipped;
	size_t stop_after;
	int answer;
};

static int on_event(void *ctx, const struct event *ev)
{
	struct fixture *f = ctx;
	struct seen *s = vec_push(&f->seen);

	assert_non_null(s);
	*s = (struct seen){ ev->time_ns, ev->line, ev->tid, ev->cpu, ev->kind };
	return f->stop_after && f->seen.n == f->stop_after ? f->answer : 0;
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	struct fixture *f = ctx;
	struct lost *l = vec_push(&f->lost);

	assert_non_null(l);
	*l = (struct lost){ cpu, n_known, n, f->seen.n };
	return 0;
}

static void on_skipped(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len)
{
	struct fixture *f = ctx;

	assert_true(line_class_info[why].skipped && line_no && len && line);
	f->n_skipped++;
}

static const struct feed_ops all_ops = { on_event, on_lost, on_skipped, NULL };

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	intern_init(&f->strings);
	stacks_init(&f->stacks);
	*state = f;
	return source_make_root(state) ? -1 : (*state = f, 0);
}

static void close_set(struct fixture *f)
{
	feed_free(f->feed);
	source_set_free(f->set);
	f->feed = NULL;
	f->set = NULL;
	f->seen.n = 0;
	f->lost.n = 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close_set(f);
	stacks_done(&f->stacks);
	intern_done(&f->strings);
	vec_done(&f->seen);
	vec_done(&f->lost);
	free(f);
	return source_remove_root(state);
}

/* Opens once, and feeds with a new feed for each pass. */
static int run_feed(struct fixture *f, const char *name, bool lost_only)
{
	struct ftrace_text_opts opts = { .lost_only = lost_only, .show_skipped = 5 };
	struct error e = { 0 };
	int err;

	f->seen.n = 0;
	f->lost.n = 0;
	if (!f->set)
		f->set = open_set(at(name));
	feed_free(f->feed);
	f->feed = feed_new(f->set, &opts, &all_ops, f, &f->strings, &f->stacks);
	assert_non_null(f->feed);
	err = feed_run(f->feed, &e);
	if (err < 0 && err != f->answer)
		assert_true(e.msg[0] != 0);
	return err;
}

static size_t add_line(char *to, u32 cpu, u32 tid, u64 time_ns)
{
	return (size_t)sprintf(
		to, "             app-%u      [%03u] d..1. %llu.%09llu: something: of=no use\n",
		tid, cpu, (unsigned long long)(time_ns / 1000000000),
		(unsigned long long)(time_ns % 1000000000));
}

static int by_time_then_stream(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Streams of different length and speed, of several slices each; many stamps are equal. */
static void test_merges_by_time(void **state)
{
	enum { CPUS = 7, MAX = 1500 };
	struct fixture *f = *state;
	struct seen *want = calloc(CPUS * MAX, sizeof(*want));
	char *text = malloc(MAX * 120);
	size_t n_want = 0;
	u64 seed = 7;

	assert_true(want && text);
	make_dir("merge");
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		u32 lines = cpu == 3 ? 1 : 200 * (cpu + 1), line = 0;
		u64 now = 100000000000ULL + cpu * 1000;
		char name[64];

		for (u32 part = 0; part < 2; part++) {
			size_t len = 0;

			for (u32 i = 0; i < lines / 2 + 1; i++) {
				now += random_below(&seed, 4) * 1000;
				len += add_line(text + len, cpu, 10 + cpu, now);
				want[n_want++] =
					(struct seen){ now, ++line, 10 + cpu, (u16)cpu, EV_OTHER };
			}
			/* a line is cut between two chunks: nothing is put between them */
			snprintf(name, sizeof(name), "merge/cpu%u-0000%u.txt", cpu, part + 1);
			put(name, text, len);
		}
	}
	qsort(want, n_want, sizeof(*want), by_time_then_stream);
	for (u32 pass = 0; pass < 2; pass++) {
		assert_int_equal(run_feed(f, "merge", false), 0);
		assert_int_equal(f->set->n_streams, CPUS);
		assert_int_equal(f->seen.n, n_want);
		for (size_t i = 0; i < n_want; i++) {
			assert_int_equal(f->seen.v[i].time_ns, want[i].time_ns);
			assert_int_equal(f->seen.v[i].cpu, want[i].cpu);
			assert_int_equal(f->seen.v[i].tid, want[i].tid);
			assert_int_equal(f->seen.v[i].line, want[i].line);
		}
		assert_int_equal(f->lost.n, 0);
	}
	assert_int_equal(feed_fraction_digits(f->feed), 9);
	assert_int_equal(feed_stats(f->feed, 6)->lines, 1402);
	/* the quick pass reads one stream after the other */
	assert_int_equal(run_feed(f, "merge", true), 0);
	assert_int_equal(f->seen.n, n_want);
	for (size_t i = 1; i < n_want; i++)
		assert_true(f->seen.v[i - 1].cpu <= f->seen.v[i].cpu);
	free(want);
	free(text);
}

/* Within a stream the order is the file's, also where its stamps step back a little. */
static void test_out_of_order_within_a_stream(void **state)
{
	struct fixture *f = *state;
	static const u64 us[] = { 10, 5, 20 }, want_us[] = { 7, 10, 5, 15, 20 };
	char text[1024];
	size_t len = 0;

	make_dir("steps");
	for (u32 i = 0; i < 3; i++)
		len += add_line(text + len, 0, 10, 100000000000ULL + us[i] * 1000);
	put("steps/cpu0-00001.txt", text, len);
	len = add_line(text, 1, 11, 100000007000ULL);
	len += add_line(text + len, 1, 11, 100000015000ULL);
	put("steps/cpu1-00001.txt", text, len);
	assert_int_equal(run_feed(f, "steps", false), 0);
	assert_int_equal(f->seen.n, 5);
	/* 7 of CPU 1, 10 and 5 of CPU 0, 15 of CPU 1, 20 of CPU 0 */
	for (u32 i = 0; i < 5; i++)
		assert_int_equal(f->seen.v[i].time_ns, 100000000000ULL + want_us[i] * 1000);
}

/* A chunk of one stream breaks off: the others lose nothing, and its next chunk is read. */
static void test_broken_chunk(void **state)
{
	enum { LINES = 3000 };
	struct fixture *f = *state;
	char *text = malloc(LINES * 120);
	u64 start = 100000000000ULL, last = 0;
	struct bytes packed;
	size_t len = 0, n0 = 0, n1 = 0, cut, first_after = 0;

	assert_non_null(text);
	make_dir("broken");
	for (u32 i = 0; i < LINES; i++)
		len += add_line(text + len, 1, 11, start + i * 1009 + (i * i) % 997);
	packed = pack(GZIP, text, len);
	cut = packed.n / 2;
	put("broken/cpu1-00001.txt.gz", packed.v, cut);
	free(packed.v);
	len = 0;
	for (u32 i = 0; i < 10; i++)
		len += add_line(text + len, 1, 11, start + 10000000 + i * 1000);
	put("broken/cpu1-00002.txt", text, len);
	len = 0;
	for (u32 i = 0; i < 500; i++)
		len += add_line(text + len, 0, 10, start + i * 30000);
	put("broken/cpu0-00001.txt", text, len);
	free(text);
	for (u32 pass = 0; pass < 3; pass++) {
		n0 = n1 = first_after = 0;
		last = 0;
		assert_int_equal(run_feed(f, "broken", pass == 2), 0);
		for (size_t i = 0; i < f->seen.n; i++) {
			const struct seen *s = &f->seen.v[i];

			n0 += s->cpu == 0;
			n1 += s->cpu == 1;
			if (s->cpu == 1 && s->time_ns >= start + 10000000)
				first_after++;
			assert_true(pass == 2 || s->time_ns >= last);
			last = s->time_ns;
		}
		assert_int_equal(n0, 500);
		assert_int_equal(first_after, 10);
		/* about half of the lines came before the break */
		assert_true(n1 > LINES / 4 && n1 < LINES);
		assert_int_equal(f->lost.n, 1);
		assert_int_equal(f->lost.v[0].cpu, 1);
		assert_false(f->lost.v[0].n_known);
		assert_int_equal(n_losses(f->set), 1);
	}
}

static void test_one_stream(void **state)
{
	struct fixture *f = *state;
	char text[1024];
	size_t len;

	len = add_line(text, 0, 10, 100000009000ULL);
	len += add_line(text + len, 3, 11, 100000008000ULL);
	len += (size_t)sprintf(text + len, "CPU:3 [LOST 12 EVENTS]\nno line of any trace [\n");
	len += add_line(text + len, 0, 10, 100000010000ULL);
	put("one.txt", text, len - 1); /* without the last newline */
	assert_int_equal(run_feed(f, "one.txt", false), 0);
	assert_int_equal(f->seen.n, 3);
	/* as they stand: the sorting window is the model's */
	assert_int_equal(f->seen.v[1].time_ns, 100000008000ULL);
	assert_int_equal(f->lost.n, 1);
	assert_int_equal(f->lost.v[0].cpu, 3);
	assert_int_equal(f->lost.v[0].n, 12);
	assert_int_equal(f->lost.v[0].after, 2);
	assert_int_equal(f->n_skipped, 1);
	assert_int_equal(feed_stats(f->feed, 0)->lines, 5);
}

static void test_sink_stops(void **state)
{
	struct fixture *f = *state;
	char text[2048];
	size_t len = 0;

	make_dir("stop");
	for (u32 i = 0; i < 8; i++)
		len += add_line(text + len, 0, 10, 100000000000ULL + i * 1000);
	put("stop/cpu0-00001.txt", text, len);
	f->answer = 17;
	for (u32 streams = 1; streams <= 2; streams++) {
		for (f->stop_after = 1; f->stop_after <= 8; f->stop_after++) {
			assert_int_equal(run_feed(f, "stop", false), 17);
			assert_int_equal(f->seen.n, f->stop_after);
		}
		close_set(f);
		put("stop/cpu1-00001.txt", text, len);
	}
	f->stop_after = 0;
	assert_int_equal(run_feed(f, "stop", false), 0);
	assert_int_equal(f->seen.n, 16);
}

/* Another boot in one of the streams is an error that names the line. */
static void test_decoder_fails(void **state)
{
	struct fixture *f = *state;
	struct ftrace_text_opts opts = { .arch = ARCH_UNKNOWN };
	struct error e = { 0 };
	char text[1024];
	size_t len;

	make_dir("boots");
	len = add_line(text, 0, 10, 100000000000ULL);
	put("boots/cpu0-00001.txt", text, len);
	len = add_line(text, 1, 10, 100000000000ULL);
	len += add_line(text + len, 1, 10, 5000000000ULL);
	put("boots/cpu1-00001.txt", text, len);
	f->set = open_set(at("boots"));
	f->feed = feed_new(f->set, &opts, &all_ops, f, &f->strings, &f->stacks);
	assert_non_null(f->feed);
	assert_int_equal(feed_run(f->feed, &e), -EPROTO);
	assert_non_null(strstr(e.msg, "line 2"));
}

int main(void)
{
#define FEED_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		FEED_TEST(test_merges_by_time), FEED_TEST(test_out_of_order_within_a_stream),
		FEED_TEST(test_broken_chunk),	FEED_TEST(test_one_stream),
		FEED_TEST(test_sink_stops),	FEED_TEST(test_decoder_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
