/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_join.c: the streaming overlap join against a list of all pairs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/join.h"
#include "random_help.h"

/* One interval of the test; a join node's owner. */
struct item {
	u64 begin_ns, end_ns;
	u32 mm;
	u8 side;
	bool drop, homeless; /* homeless: its mm is known when it ends */
	struct join_node *node;
	u32 retired;
};
struct fixture {
	struct join j;
	struct item *items;
	size_t n;
	u8 *told; /* n x n: how often the pair was told, left x right */
	u64 pairs, retired;
	int pair_answer, retire_answer;
};

static int on_pair(void *ctx, struct join_node *left, struct join_node *right)
{
	struct fixture *f = ctx;
	struct item *l = left->owner, *r = right->owner;

	assert_int_equal(left->side, JOIN_LEFT);
	assert_int_equal(right->side, JOIN_RIGHT);
	assert_true(left->closed && right->closed);
	assert_int_equal(l->retired + r->retired, 0);
	if (f->told)
		f->told[(size_t)(l - f->items) * f->n + (size_t)(r - f->items)]++;
	f->pairs++;
	return f->pair_answer;
}

static int on_retire(void *ctx, struct join_node *node)
{
	struct fixture *f = ctx;
	struct item *item = node->owner;

	item->retired++;
	f->retired++;
	return f->retire_answer;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	join_init(&f->j, on_pair, on_retire, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	join_done(&f->j);
	free(f);
	return 0;
}

static struct join_node *open_node(struct fixture *f, enum join_side side, u32 mm, u64 begin_ns,
				   struct item *item)
{
	struct join_node *n = join_open(&f->j, side, (struct mm_id){ mm }, begin_ns, item);

	assert_non_null(n);
	return n;
}

static u32 nodes_in(const struct join_list *l)
{
	u32 n = 0;

	for (const struct join_node *node = l->first; node; node = node->next) {
		assert_ptr_equal(node->next ? node->next->prev : l->last, node);
		n++;
	}
	return n;
}

static u32 kept_nodes(const struct fixture *f)
{
	u32 n = 0;

	for (size_t i = 0; i < f->j.mms.n; i++) {
		for (u32 side = 0; side < 2; side++)
			n += nodes_in(&f->j.mms.v[i].open[side]) +
			     nodes_in(&f->j.mms.v[i].closed[side]);
	}
	return n;
}

static bool overlap(const struct item *a, const struct item *b)
{
	return a->begin_ns < b->end_ns && b->begin_ns < a->end_ns;
}

/* What happens at a time: ends come in any order among equal stamps, and before begins or after. */
struct step {
	u64 time_ns, tie;
	u32 item;
	bool ends;
};

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->item == y->item)
		return x->ends - y->ends;
	return x->tie < y->tie ? -1 : x->tie > y->tie;
}

static void begin_item(struct fixture *f, struct item *item)
{
	if (item->homeless)
		assert_true(join_hold(&f->j, item->side, item->begin_ns));
	else
		item->node = open_node(f, item->side, item->mm, item->begin_ns, item);
}

static void end_item(struct fixture *f, struct item *item)
{
	if (item->homeless) {
		join_unhold(&f->j, item->side, item->begin_ns);
		item->node = open_node(f, item->side, item->mm, item->begin_ns, item);
	}
	if (item->drop)
		assert_int_equal(join_drop(&f->j, item->node), 0);
	else
		assert_int_equal(join_close(&f->j, item->node, item->end_ns), 0);
}

static void make_items(struct fixture *f, u64 *seed, u64 span_ns, u64 longest_ns, u32 mms)
{
	for (size_t i = 0; i < f->n; i++) {
		struct item *item = &f->items[i];

		item->begin_ns = 1000 + random_below(seed, span_ns);
		item->end_ns = item->begin_ns + random_below(seed, longest_ns);
		item->mm = 1 + (u32)random_below(seed, mms);
		item->side = (u8)random_below(seed, 2);
		item->drop = random_below(seed, 8) == 0;
		item->homeless = random_below(seed, 8) == 0;
	}
}

static void check_random(struct fixture *f, u64 seed, u64 span_ns, u64 longest_ns, u32 mms)
{
	enum { N = 150 };
	struct item items[N] = { { 0 } };
	struct step steps[2 * N];
	u8 *told = calloc(N * N, 1);
	u64 want_pairs = 0;

	assert_non_null(told);
	f->items = items;
	f->n = N;
	f->told = told;
	f->pairs = 0;
	f->retired = 0;
	make_items(f, &seed, span_ns, longest_ns, mms);
	for (u32 i = 0; i < N; i++) {
		steps[2 * i] = (struct step){ items[i].begin_ns, random_next(&seed), i, false };
		steps[2 * i + 1] = (struct step){ items[i].end_ns, random_next(&seed), i, true };
	}
	/* one item's own two steps keep their order where it has no length */
	for (u32 i = 0; i < N; i++) {
		if (items[i].begin_ns == items[i].end_ns)
			steps[2 * i + 1].tie = steps[2 * i].tie;
	}
	qsort(steps, 2 * N, sizeof(*steps), compare_steps);
	for (u32 i = 0; i < 2 * N; i++)
		(steps[i].ends ? end_item : begin_item)(f, &items[steps[i].item]);
	for (u32 l = 0; l < N; l++) {
		for (u32 r = 0; r < N; r++) {
			bool want = items[l].side == JOIN_LEFT && items[r].side == JOIN_RIGHT &&
				    items[l].mm == items[r].mm && !items[l].drop &&
				    !items[r].drop && overlap(&items[l], &items[r]);

			want_pairs += want;
			assert_int_equal(told[l * N + r], want);
		}
	}
	assert_int_equal(f->pairs, want_pairs);
	assert_int_equal(f->j.retired_early, 0);
	assert_int_equal(join_drain(&f->j), 0);
	assert_int_equal(f->j.n_closed, 0);
	for (u32 i = 0; i < N; i++)
		assert_int_equal(items[i].retired, 1);
	free(told);
}

static void test_random(void **state)
{
	for (u64 seed = 1; seed <= 100; seed++) {
		/* few distinct stamps, so that many ends are shared and many have no length */
		check_random(*state, seed * 0x9e3779b97f4a7c15ULL, 60, 8, 1);
		check_random(*state, seed * 0xd1342543de82ef95ULL, 200, 60, 3);
		check_random(*state, seed * 0x2545f4914f6cdd1dULL, 1000000, 30000, 5);
	}
}

static void test_touching_ends(void **state)
{
	struct fixture *f = *state;
	struct item l = { 0 }, r = { 0 }, zero = { 0 }, edge = { 0 };
	struct join_node *nl = open_node(f, JOIN_LEFT, 1, 100, &l), *nr;

	/* no length, strictly inside: a pair; at its begin or end: none */
	nr = open_node(f, JOIN_RIGHT, 1, 100, &edge);
	assert_int_equal(join_close(&f->j, nr, 100), 0);
	nr = open_node(f, JOIN_RIGHT, 1, 150, &zero);
	assert_int_equal(join_close(&f->j, nr, 150), 0);
	assert_int_equal(join_close(&f->j, nl, 200), 0);
	assert_int_equal(f->pairs, 1);
	nr = open_node(f, JOIN_RIGHT, 1, 200, &r);
	assert_int_equal(join_close(&f->j, nr, 300), 0);
	assert_int_equal(f->pairs, 1);
	assert_int_equal(f->retired, 4);
}

/* Nothing is open: nothing is kept. Every closed node's memory is used again. */
static void test_memory_stays_flat(void **state)
{
	struct fixture *f = *state;
	struct item item = { 0 };
	u32 spare = 0;

	for (u64 t = 0; t < 20000; t += 10) {
		struct join_node *l = open_node(f, JOIN_LEFT, 1, t, &item);
		struct join_node *r = open_node(f, JOIN_RIGHT, 1, t + 2, &item);

		item.retired = 0;
		assert_int_equal(join_close(&f->j, l, t + 5), 0);
		assert_int_equal(join_close(&f->j, r, t + 7), 0);
		assert_int_equal(kept_nodes(f), 0);
		assert_int_equal(f->j.n_closed, 0);
	}
	for (const struct join_node *n = f->j.free_nodes; n; n = n->next)
		spare++;
	assert_int_equal(spare, 2);
	assert_int_equal(f->pairs, 2000);
	assert_int_equal(f->retired, 4000);
}

/* One side alone needs nothing kept, and an open node keeps only what ended after its begin. */
static void test_what_an_open_node_keeps(void **state)
{
	struct fixture *f = *state;
	struct item items[8] = { { 0 } };
	struct join_node *r;

	for (u32 i = 0; i < 4; i++)
		assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 2, i, &items[i]), i + 1),
				 0);
	assert_int_equal(kept_nodes(f), 0);
	r = open_node(f, JOIN_RIGHT, 2, 10, &items[4]);
	assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 2, 9, &items[5]), 10), 0);
	assert_int_equal(kept_nodes(f), 1);
	assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 2, 9, &items[6]), 11), 0);
	assert_int_equal(kept_nodes(f), 2);
	/* another address space's does not matter to it */
	assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 3, 9, &items[7]), 11), 0);
	assert_int_equal(kept_nodes(f), 2);
	assert_int_equal(join_drop(&f->j, r), 0);
	assert_int_equal(kept_nodes(f), 0);
	assert_int_equal(f->pairs, 0);
	assert_int_equal(f->retired, 8);
}

/* Begins in the past, as *_blocked events make them, keep the open list sorted. */
static void test_begins_in_the_past(void **state)
{
	struct fixture *f = *state;
	struct item items[4] = { { 0 } };
	struct join_node *a = open_node(f, JOIN_RIGHT, 1, 50, &items[0]);
	struct join_node *b = open_node(f, JOIN_RIGHT, 1, 20, &items[1]);
	struct join_node *l = open_node(f, JOIN_LEFT, 1, 10, &items[2]);

	assert_int_equal(join_close(&f->j, a, 60), 0);
	assert_int_equal(join_close(&f->j, l, 30), 0);
	/* b can still overlap it */
	assert_int_equal(kept_nodes(f), 2);
	assert_int_equal(join_close(&f->j, b, 70), 0);
	assert_int_equal(f->pairs, 1);
	assert_int_equal(kept_nodes(f), 0);
}

static void test_too_many_closed(void **state)
{
	struct fixture *f = *state;
	struct item items[12] = { { 0 } };
	struct join_node *r = open_node(f, JOIN_RIGHT, 1, 0, &items[0]);

	f->j.max_closed = 4;
	for (u32 i = 1; i <= 10; i++)
		assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 1, i, &items[i]), i + 1),
				 0);
	assert_int_equal(f->j.retired_early, 6);
	assert_int_equal(f->j.n_closed, 4);
	for (u32 i = 1; i <= 10; i++)
		assert_int_equal(items[i].retired, i <= 6);
	assert_int_equal(join_close(&f->j, r, 20), 0);
	/* the pairs of the oldest six are missing, and counted */
	assert_int_equal(f->pairs, 4);
	assert_int_equal(f->j.retired_early, 6);
	assert_int_equal(f->retired, 11);
}

static void test_too_many_homeless(void **state)
{
	struct fixture *f = *state;
	struct item item = { 0 };
	u64 n = 0;

	while (join_hold(&f->j, JOIN_RIGHT, n))
		assert_true(++n < 1000000);
	assert_int_equal(f->j.retired_early, 1);
	assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 1, 5, &item), 6), 0);
	assert_int_equal(kept_nodes(f), 1);
	/* one that was never held is no other's */
	join_unhold(&f->j, JOIN_RIGHT, n + 5);
	join_unhold(&f->j, JOIN_LEFT, 0);
	for (u64 i = 0; i < n; i++)
		join_unhold(&f->j, JOIN_RIGHT, i);
	assert_int_equal(f->j.homeless[JOIN_RIGHT].n, 0);
	assert_int_equal(join_close(&f->j, open_node(f, JOIN_LEFT, 1, 7, &item), 8), 0);
	assert_int_equal(kept_nodes(f), 0);
}

static void test_listener_fails(void **state)
{
	struct fixture *f = *state;
	struct item items[4] = { { 0 } };
	struct join_node *l = open_node(f, JOIN_LEFT, 1, 0, &items[0]);
	struct join_node *r = open_node(f, JOIN_RIGHT, 1, 0, &items[1]);

	open_node(f, JOIN_LEFT, 1, 0, &items[2]);
	assert_int_equal(join_close(&f->j, l, 10), 0);
	f->pair_answer = -EIO;
	assert_int_equal(join_close(&f->j, r, 10), -EIO);
	f->pair_answer = 0;
	f->retire_answer = -ENOMEM;
	assert_int_equal(join_drop(&f->j, open_node(f, JOIN_LEFT, 1, 20, &items[3])), -ENOMEM);
	/* the drain goes on to the end, so that all memory is given back */
	assert_int_equal(join_drain(&f->j), -ENOMEM);
	assert_int_equal(f->retired, 4);
	assert_int_equal(kept_nodes(f), 0);
}

int main(void)
{
#define JOIN_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		JOIN_TEST(test_random),
		JOIN_TEST(test_touching_ends),
		JOIN_TEST(test_memory_stays_flat),
		JOIN_TEST(test_what_an_open_node_keeps),
		JOIN_TEST(test_begins_in_the_past),
		JOIN_TEST(test_too_many_closed),
		JOIN_TEST(test_too_many_homeless),
		JOIN_TEST(test_listener_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
