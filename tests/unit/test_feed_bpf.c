/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_feed_bpf.c: records told late come out in order, each event once; blocks in
 * memory. */
#include "bpf_harness.h"

#include "random_help.h"
#include "session/feed_bpf.h"

#define MS 1000000ULL

struct fixture {
	struct intern strings;
	struct stacks stacks;
	struct gaps gaps;
	struct bpf_scan scan;
	VEC(struct event) out;
	struct error e;
};

static int on_out(void *ctx, const struct event *ev)
{
	struct fixture *f = ctx;
	struct event *copy = vec_push(&f->out);

	assert_non_null(copy);
	*copy = *ev;
	return 0;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	intern_init(&f->strings);
	stacks_init(&f->stacks);
	gaps_init(&f->gaps);
	bpf_scan_init(&f->scan);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vec_done(&f->out);
	bpf_scan_done(&f->scan);
	gaps_done(&f->gaps);
	stacks_done(&f->stacks);
	intern_done(&f->strings);
	free(f);
	return 0;
}

static void run(struct fixture *f, const struct analyze_block *blocks, size_t n)
{
	static const struct feed_ops ops = { .event = on_out };
	struct bpf_input in = { .blocks = blocks, .n_blocks = n };
	struct feed_bpf *feed;

	assert_int_equal(bpf_scan_run(&f->scan, &in, &f->gaps, &f->strings, &f->stacks, &f->e), 0);
	feed = feed_bpf_new(&in, &f->scan, &ops, f, &f->strings, &f->stacks);
	assert_non_null(feed);
	assert_int_equal(feed_bpf_run(feed, &f->e), 0);
	feed_bpf_free(feed);
}

static void run_bytes(struct fixture *f, const struct bytes *b)
{
	struct analyze_block block = { b->p, b->len };

	run(f, &block, 1);
}

static void add_wait(struct bytes *b, u32 tid, u64 begin_ns, u64 end_ns)
{
	struct bpf_rec_wait r = wait_of(tid, begin_ns, end_ns);

	bytes_add(b, &r, sizeof(r));
}

/* How far behind the newest event one came at most; each is as old as it says. */
static u64 disorder_ns(const struct fixture *f)
{
	u64 newest_ns = 0, worst_ns = 0;

	for (size_t i = 0; i < f->out.n; i++) {
		u64 t = f->out.v[i].time_ns;

		if (t > newest_ns)
			newest_ns = t;
		else if (newest_ns - t > worst_ns)
			worst_ns = newest_ns - t;
	}
	return worst_ns;
}

static void expect(const struct fixture *f, size_t i, u16 kind, u32 tid, u64 time_ns)
{
	assert_true(i < f->out.n);
	assert_int_equal(f->out.v[i].kind, kind);
	assert_int_equal(f->out.v[i].tid, tid);
	assert_int_equal(f->out.v[i].time_ns, time_ns);
}

static void test_late_is_put_in(void **state)
{
	struct fixture *f = *state;
	struct bytes b = { 0 };

	add_wait(&b, 1, 1000 * MS, 1001 * MS);
	add_wait(&b, 2, 2000 * MS, 2001 * MS);
	add_wait(&b, 3, 1500 * MS, 31500 * MS); /* 30 s */
	add_wait(&b, 4, 31000 * MS, 31505 * MS);
	run_bytes(f, &b);
	assert_int_equal(f->out.n, 8);
	assert_int_equal(f->scan.late.n, 2);
	expect(f, 0, EV_LOCK_WAIT_START, 1, 1000 * MS);
	expect(f, 1, EV_LOCK_WAIT_END, 1, 1001 * MS);
	expect(f, 2, EV_LOCK_WAIT_START, 3, 1500 * MS);
	expect(f, 3, EV_LOCK_WAIT_START, 2, 2000 * MS);
	expect(f, 4, EV_LOCK_WAIT_END, 2, 2001 * MS);
	expect(f, 5, EV_LOCK_WAIT_START, 4, 31000 * MS);
	expect(f, 6, EV_LOCK_WAIT_END, 3, 31500 * MS);
	expect(f, 7, EV_LOCK_WAIT_END, 4, 31505 * MS);
	assert_int_equal(f->scan.first_ns, 1000 * MS);
	assert_int_equal(f->scan.last_ns, 31505 * MS);
	bytes_done(&b);
}

/* A hold that begins when its thread's wait ends: the end comes first, however late the hold is
 * told. */
static void test_ends_before_begins(void **state)
{
	struct fixture *f = *state;
	struct bpf_rec_hold hold = { .head = HEAD(HOLD, hold, 900 * MS),
				     .who = who_of(1, BSTATE_RUNNING),
				     .begin_ns = 150 * MS,
				     .mm = 0xa000,
				     .call = { .nr = BPF_NO_CALL } };
	struct bytes b = { 0 };

	add_wait(&b, 1, 100 * MS, 150 * MS);
	add_wait(&b, 2, 800 * MS, 801 * MS);
	bytes_add(&b, &hold, sizeof(hold));
	run_bytes(f, &b);
	expect(f, 1, EV_LOCK_WAIT_END, 1, 150 * MS);
	expect(f, 2, EV_LOCK_HOLD_START, 1, 150 * MS);
	bytes_done(&b);
}

/* An open wait is told last of all, and belongs where it began; the trace reaches to its last
 * telling. */
static void test_open(void **state)
{
	struct fixture *f = *state;
	struct bpf_rec_wait open = wait_of(9, 500 * MS, 5000 * MS);
	struct bytes b = { 0 };

	open.flags = BFLAG_OPEN;
	add_wait(&b, 1, 100 * MS, 101 * MS);
	bytes_add(&b, &open, sizeof(open));
	add_wait(&b, 2, 4000 * MS, 4001 * MS);
	run_bytes(f, &b);
	assert_int_equal(f->out.n, 5);
	expect(f, 2, EV_LOCK_WAIT_START, 9, 500 * MS);
	expect(f, 4, EV_LOCK_WAIT_END, 2, 4001 * MS);
	assert_int_equal(f->scan.last_ns, 5000 * MS);
	bytes_done(&b);
}

static int compare_told(const void *a, const void *b)
{
	const struct bpf_rec_wait *x = a, *y = b;

	/* waker_tid: when it stands in the file */
	return (x->waker_tid > y->waker_tid) - (x->waker_tid < y->waker_tid);
}

/* Random lengths from us to many s, records of several CPUs a little the wrong way round. */
static void test_random(void **state)
{
	enum { N = 3000, ROUNDS = 20 };
	struct fixture *f = *state;
	struct bpf_rec_wait *r = calloc(N, sizeof(*r));
	u64 seed = 12345;

	assert_non_null(r);
	for (u32 round = 0; round < ROUNDS; round++) {
		struct bytes b = { 0 };
		u64 starts = 0, sum = 0, got = 0;

		for (u32 i = 0; i < N; i++) {
			u64 scale = 1000ULL << random_below(&seed, 24);
			u64 begin_ns = 1000 * MS + random_below(&seed, 20000 * MS);
			u64 end_ns = begin_ns + random_below(&seed, scale);

			r[i] = wait_of(i + 1, begin_ns, end_ns);
			r[i].waker_tid = (u32)(end_ns / 10000 + random_below(&seed, 500));
			sum += begin_ns * (i + 1) + end_ns;
		}
		qsort(r, N, sizeof(*r), compare_told);
		bytes_add(&b, r, N * sizeof(*r));
		f->out.n = 0;
		bpf_scan_done(&f->scan);
		run_bytes(f, &b);
		assert_int_equal(f->out.n, 2 * N);
		assert_true(disorder_ns(f) <= BPF_ORDER_WINDOW_NS);
		for (size_t i = 0; i < f->out.n; i++) {
			const struct event *ev = &f->out.v[i];
			bool start = ev->kind == EV_LOCK_WAIT_START;

			starts += start;
			got += ev->time_ns * (start ? ev->tid : 1);
		}
		assert_int_equal(starts, N);
		assert_true(got == sum);
		assert_true(f->scan.late.n > N / 20 && f->scan.late.n < N);
		bytes_done(&b);
	}
	free(r);
}

/* What a live command has in memory: several blocks are one stream, and only what ended late enough
 * counts. */
static void test_blocks(void **state)
{
	struct fixture *f = *state;
	struct bytes old = { 0 }, now = { 0 };
	struct analyze_block blocks[2];
	struct analyze_opts opts = { .analysis = { .contended_ns = 1000,
						   .ended_from_ns = 1000 * MS } };
	const struct cell *count, *total;
	struct result r;

	add_wait(&old, 1, 100 * MS, 200 * MS);
	add_wait(&now, 2, 150 * MS, 1200 * MS);
	add_wait(&now, 3, 1300 * MS, 1301 * MS);
	blocks[0] = (struct analyze_block){ old.p, old.len };
	blocks[1] = (struct analyze_block){ now.p, now.len };
	result_init(&r);
	assert_int_equal(session_analyze_records(blocks, 2, &opts, &r, &f->e), 0);
	count = result_cell(&r, TABLE_WAITS, 0, "count");
	total = result_cell(&r, TABLE_WAITS, 0, "total");
	assert_non_null(count);
	assert_int_equal(count->u, 2);
	assert_int_equal(total->u, 1051 * MS);
	assert_int_equal(r.trace.begin_ns, 100 * MS);
	assert_string_equal(r.trace.lock_family, "BPF");
	assert_null(r.trace.path);
	result_done(&r);
	/* nothing yet: a live command's first moments */
	result_init(&r);
	assert_int_equal(session_analyze_records(NULL, 0, &opts, &r, &f->e), 0);
	assert_true(r.tables[TABLE_WAITS].covered);
	assert_int_equal(r.trace.events, 0);
	result_done(&r);
	bytes_done(&old);
	bytes_done(&now);
}

#define FEED_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FEED_TEST(test_late_is_put_in), FEED_TEST(test_ends_before_begins),
		FEED_TEST(test_open),		FEED_TEST(test_random),
		FEED_TEST(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
