/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bpf_window.c: live/bpf_window: what stays from one refresh to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live/bpf_window.h"
#include "wire/bpf_record.h"

#define MS 1000000ULL

static void add(struct bpf_window *w, const void *record)
{
	const struct bpf_rec_head *head = record;

	assert_int_equal(bpf_window_add(w, record, head->size), 0);
}

static void wait_of(struct bpf_window *w, u32 tid, u64 mm, u64 begin_ns, u64 end_ns, u32 flags)
{
	struct bpf_rec_wait r = { .head = { BREC_WAIT, sizeof(r), 0, end_ns },
				  .who.tid = tid,
				  .mm = mm,
				  .begin_ns = begin_ns,
				  .flags = flags };

	add(w, &r);
}

static void hold_of(struct bpf_window *w, u32 tid, u64 mm, u64 begin_ns, u64 end_ns)
{
	struct bpf_rec_hold r = { .head = { BREC_HOLD, sizeof(r), 0, end_ns },
				  .who.tid = tid,
				  .mm = mm,
				  .begin_ns = begin_ns };

	add(w, &r);
}

static void sleep_of(struct bpf_window *w, u32 tid, u64 mm, u64 begin_ns, u64 end_ns, u32 flags)
{
	struct bpf_rec_sleep r = { .head = { BREC_SLEEP, sizeof(r), 0, end_ns },
				   .who.tid = tid,
				   .mm = mm,
				   .begin_ns = begin_ns,
				   .flags = flags,
				   .sleep_class = BSLEEP_FAULT };

	add(w, &r);
}

static void fault_of(struct bpf_window *w, u32 tid, u64 mm, u64 time_ns, u32 flags)
{
	struct bpf_rec_fault r = { .head = { BREC_FAULT, sizeof(r), 0, time_ns },
				   .who.tid = tid,
				   .mm = mm,
				   .flags = flags };

	add(w, &r);
}

static void process_of(struct bpf_window *w, u32 tid, u64 mm, u64 time_ns, u32 what)
{
	struct bpf_rec_process r = { .head = { BREC_PROCESS, sizeof(r), 0, time_ns },
				     .who.tid = tid,
				     .mm = mm,
				     .what = what };

	add(w, &r);
}

static void lost_of(struct bpf_window *w, u64 first_ns, u64 last_ns)
{
	struct bpf_rec_lost r = { .head = { BREC_LOST, sizeof(r), 0, last_ns },
				  .first_ns = first_ns,
				  .last_ns = last_ns,
				  .n = 1 };

	add(w, &r);
}

static void totals_of(struct bpf_window *w, u32 tgid, u32 tid, u64 count)
{
	struct bpf_rec_totals r = { .head = { BREC_TOTALS, sizeof(r), 0, 1 },
				    .tgid = tgid,
				    .tid = tid,
				    .wait[0].count = count };

	add(w, &r);
}

static void text_of(struct bpf_window *w, u16 kind, u64 time_ns, u64 a, u64 b)
{
	struct {
		struct bpf_rec_head head;
		u64 words[2];
	} r = { { kind, sizeof(r), 0, time_ns }, { a, b } };

	add(w, &r);
}

/* Calls back for each record in the order it is to be decoded; returns how many there are. */
static u32 each(const struct bpf_window *w, void (*fn)(void *ctx, const void *record), void *ctx)
{
	struct bpf_block blocks[BPF_WINDOW_BLOCKS];
	size_t n = bpf_window_blocks(w, blocks);
	u32 records = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = blocks[i].records;
		struct bpf_rec_head head;

		for (size_t at = 0; at < blocks[i].len; at += head.size, records++) {
			memcpy(&head, p + at, sizeof(head));
			if (fn)
				fn(ctx, p + at);
		}
	}
	return records;
}

struct wanted {
	u16 kind;
	u64 time_ns;
	u32 n;
};

static void count_wanted(void *ctx, const void *record)
{
	struct bpf_rec_head head;
	struct wanted *want = ctx;

	memcpy(&head, record, sizeof(head));
	want->n += head.kind == want->kind && (!want->time_ns || head.time_ns == want->time_ns);
}

/* How many of a kind; @time_ns 0 = at any time. */
static u32 count(const struct bpf_window *w, u16 kind, u64 time_ns)
{
	struct wanted want = { kind, time_ns, 0 };

	each(w, count_wanted, &want);
	return want.n;
}

static void a_window_forgets_what_is_over(void **state)
{
	struct bpf_window *w = bpf_window_new();

	(void)state;
	assert_int_equal(each(w, NULL, NULL), 0);
	assert_int_equal(bpf_window_next(w, 1000 * MS), 0);
	assert_int_equal(bpf_window_begin_ns(w), 1000 * MS);
	wait_of(w, 1, 0xa, 1100 * MS, 1200 * MS, 0);
	hold_of(w, 2, 0xa, 1100 * MS, 1200 * MS);
	lost_of(w, 1100 * MS, 1150 * MS);
	process_of(w, 3, 0xa, 1100 * MS, BPROC_EXIT);
	assert_int_equal(each(w, NULL, NULL), 4);
	assert_int_equal(bpf_window_next(w, 2000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 0);
	assert_int_equal(bpf_window_begin_ns(w), 2000 * MS);
	assert_int_equal(bpf_window_left_out(w), 0);
	bpf_window_free(w);
	bpf_window_free(NULL);
}

static void an_open_wait_carries_its_address_space(void **state)
{
	struct bpf_window *w = bpf_window_new();

	(void)state;
	assert_int_equal(bpf_window_next(w, 1000 * MS), 0);
	hold_of(w, 2, 0xa, 1100 * MS, 1200 * MS); /* before it began */
	hold_of(w, 2, 0xa, 1250 * MS, 1300 * MS); /* ended as it began: no overlap */
	hold_of(w, 2, 0xa, 1250 * MS, 1301 * MS);
	hold_of(w, 3, 0xb, 1250 * MS, 1400 * MS); /* another mm */
	wait_of(w, 4, 0xa, 1350 * MS, 1401 * MS, 0);
	process_of(w, 5, 0xa, 1402 * MS, BPROC_EXIT);
	process_of(w, 5, 0xb, 1403 * MS, BPROC_EXIT);
	lost_of(w, 1200 * MS, 1300 * MS);
	lost_of(w, 1200 * MS, 1404 * MS);
	wait_of(w, 1, 0xa, 1300 * MS, 2000 * MS, BFLAG_OPEN);
	assert_int_equal(bpf_window_next(w, 2000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 4);
	assert_int_equal(count(w, BREC_HOLD, 1301 * MS), 1);
	assert_int_equal(count(w, BREC_WAIT, 1401 * MS), 1);
	assert_int_equal(count(w, BREC_PROCESS, 1402 * MS), 1);
	assert_int_equal(count(w, BREC_LOST, 1404 * MS), 1);

	/* for as long as it is open, in the order of arrival */
	hold_of(w, 2, 0xa, 2000 * MS, 2100 * MS);
	wait_of(w, 1, 0xa, 1300 * MS, 3000 * MS, BFLAG_OPEN);
	assert_int_equal(bpf_window_next(w, 3000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 5);
	assert_int_equal(count(w, BREC_HOLD, 0), 2);

	/* over: the window that tells its end still has its blockers, the next one nothing */
	wait_of(w, 1, 0xa, 1300 * MS, 3500 * MS, 0);
	assert_int_equal(each(w, NULL, NULL), 6);
	assert_int_equal(bpf_window_next(w, 4000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 0);
	bpf_window_free(w);
}

static void a_snapshot_that_is_out_of_date_carries_nothing(void **state)
{
	struct bpf_window *w = bpf_window_new();

	(void)state;
	hold_of(w, 2, 0xa, 1100 * MS, 1200 * MS);
	wait_of(w, 1, 0xa, 1100 * MS, 1150 * MS, BFLAG_OPEN);
	wait_of(w, 1, 0xa, 1100 * MS, 1201 * MS, 0);
	sleep_of(w, 3, 0xc, 1100 * MS, 1150 * MS, BFLAG_OPEN);
	process_of(w, 3, 0xc, 1120 * MS, BPROC_EXEC);
	assert_int_equal(bpf_window_next(w, 2000 * MS), 0);
	assert_int_equal(count(w, BREC_HOLD, 0), 0);
	assert_int_equal(count(w, BREC_WAIT, 0), 0);
	/* the sleep is open still */
	assert_int_equal(count(w, BREC_PROCESS, 0), 1);
	bpf_window_free(w);
}

static void what_ended_just_before_is_carried(void **state)
{
	struct bpf_window *w = bpf_window_new();

	(void)state;
	hold_of(w, 2, 0xa, 1100 * MS, 1900 * MS);
	hold_of(w, 2, 0xa, 1100 * MS, 1999 * MS);
	lost_of(w, 1100 * MS, 1999 * MS);
	assert_int_equal(bpf_window_next(w, 2000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 2);
	assert_int_equal(count(w, BREC_HOLD, 1999 * MS), 1);
	bpf_window_free(w);
}

static void a_fault_that_is_not_over_keeps_its_sleeps(void **state)
{
	struct bpf_window *w = bpf_window_new();

	(void)state;
	sleep_of(w, 1, 0xa, 1000 * MS, 1100 * MS, BFLAG_FIRST); /* of a fault that is over */
	fault_of(w, 1, 0xa, 1150 * MS, 0);
	sleep_of(w, 1, 0xa, 1200 * MS, 1300 * MS, BFLAG_FIRST);
	sleep_of(w, 1, 0xa, 1310 * MS, 1400 * MS, 0);
	fault_of(w, 1, 0xa, 1410 * MS, BFLAG_RETRIED);
	sleep_of(w, 2, 0xa, 1200 * MS, 1300 * MS, BFLAG_FIRST); /* its thread is gone */
	process_of(w, 2, 0xa, 1350 * MS, BPROC_EXIT);
	assert_int_equal(bpf_window_next(w, 2000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 3);
	assert_int_equal(count(w, BREC_SLEEP, 1300 * MS), 1);
	assert_int_equal(count(w, BREC_SLEEP, 1400 * MS), 1);
	assert_int_equal(count(w, BREC_FAULT, 1410 * MS), 1);

	/* it sleeps again, for a whole window */
	sleep_of(w, 1, 0xb, 2100 * MS, 3000 * MS, BFLAG_OPEN);
	assert_int_equal(bpf_window_next(w, 3000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 3);

	/* nothing is heard of it any more: its end was lost */
	assert_int_equal(bpf_window_next(w, 4000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 0);
	bpf_window_free(w);
}

static void the_dictionary_keeps_each_once(void **state)
{
	struct bpf_block blocks[BPF_WINDOW_BLOCKS];
	struct bpf_rec_head head;
	struct bpf_window *w = bpf_window_new();

	(void)state;
	for (u64 time_ns = 1; time_ns < 4; time_ns++) {
		text_of(w, BREC_STACK, time_ns, 77, 1);
		text_of(w, BREC_STACK, time_ns, 78, 1);
		text_of(w, BREC_SYMBOL, time_ns, 1, 2);
		text_of(w, BREC_SYMBOL, time_ns, 1, 3);
		text_of(w, BREC_NOTE, time_ns, 1, 2);
		assert_int_equal(bpf_window_next(w, time_ns * 1000 * MS), 0);
	}
	wait_of(w, 1, 0xa, 1, 2, 0);
	assert_int_equal(each(w, NULL, NULL), 6);
	assert_int_equal(count(w, BREC_STACK, 1), 2);
	assert_int_equal(count(w, BREC_SYMBOL, 1), 2);
	/* whatever came first, a stack finds its symbols told */
	assert_int_equal(bpf_window_blocks(w, blocks), 3);
	memcpy(&head, blocks[0].records, sizeof(head));
	assert_int_equal(head.kind, BREC_SYMBOL);
	memcpy(&head, blocks[1].records, sizeof(head));
	assert_int_equal(head.kind, BREC_STACK);
	assert_int_equal(count(w, BREC_NOTE, 1), 1);
	bpf_window_free(w);
}

static void sum_totals(void *ctx, const void *record)
{
	struct bpf_rec_totals t;

	memcpy(&t, record, sizeof(t.head));
	if (t.head.kind != BREC_TOTALS)
		return;
	memcpy(&t, record, sizeof(t));
	*(u64 *)ctx += t.wait[0].count;
}

static void totals_are_those_of_the_last_snapshot(void **state)
{
	struct bpf_window *w = bpf_window_new();
	u64 sum = 0;

	(void)state;
	totals_of(w, 10, 10, 1);
	totals_of(w, 10, 11, 5);
	totals_of(w, 10, 10, 2); /* a second snapshot of the same window */
	assert_int_equal(each(w, sum_totals, &sum), 2);
	assert_int_equal(sum, 7);
	/* kept where a window takes no snapshot */
	assert_int_equal(bpf_window_next(w, 1000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 2);
	/* thread 11 has ended: its 5 are in the process's sum now, not there twice */
	totals_of(w, 10, 10, 3);
	totals_of(w, 10, 0, 5);
	sum = 0;
	assert_int_equal(each(w, sum_totals, &sum), 2);
	assert_int_equal(sum, 8);
	bpf_window_free(w);
}

static void impossible_sizes_end_their_block(void **state)
{
	static const u16 sizes[] = { 0, 8, 15, 17, 20, 72, 65535 };
	struct bpf_window *w = bpf_window_new();
	struct bpf_rec_head *r = calloc(4, sizeof(*r)); /* exactly 64 bytes: ASan sees one more */

	(void)state;
	assert_non_null(r);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		r[0] = (struct bpf_rec_head){ BREC_WAIT, 16, 0, 1 };
		r[1] = (struct bpf_rec_head){ BREC_WAIT, sizes[i], 0, 1 };
		assert_int_equal(bpf_window_add(w, r, 64), 0);
		assert_int_equal(each(w, NULL, NULL), i + 1);
		assert_int_equal(bpf_window_left_out(w), i + 1);
	}
	assert_int_equal(bpf_window_add(w, r, 15), 0);
	assert_int_equal(bpf_window_left_out(w), ARRAY_LEN(sizes) + 1);
	/* too short for what they are, of every kind: read as if the rest were 0 */
	for (u16 kind = 0; kind < 20; kind++) {
		r[0] = (struct bpf_rec_head){ kind, 16, 0, 1 };
		assert_int_equal(bpf_window_add(w, r, 16), 0);
	}
	assert_int_equal(bpf_window_next(w, 1000 * MS), 0);
	free(r);
	bpf_window_free(w);
}

static void past_the_limit_is_counted(void **state)
{
	struct bpf_window *w = bpf_window_new();
	size_t size = 65528, n = BPF_WINDOW_MAX_BYTES / size;
	struct bpf_rec_head *r = calloc(1, size);

	(void)state;
	assert_non_null(r);
	*r = (struct bpf_rec_head){ BREC_HOLD, (u16)size, 0, 1 };
	for (size_t i = 0; i < n + 3; i++)
		assert_int_equal(bpf_window_add(w, r, size), 0);
	assert_int_equal(each(w, NULL, NULL), n);
	assert_int_equal(bpf_window_left_out(w), 3);
	assert_int_equal(bpf_window_next(w, 1000 * MS), 0);
	assert_int_equal(each(w, NULL, NULL), 0);
	assert_int_equal(bpf_window_add(w, r, size), 0);
	assert_int_equal(each(w, NULL, NULL), 1);
	free(r);
	bpf_window_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_forgets_what_is_over),
		cmocka_unit_test(an_open_wait_carries_its_address_space),
		cmocka_unit_test(a_snapshot_that_is_out_of_date_carries_nothing),
		cmocka_unit_test(what_ended_just_before_is_carried),
		cmocka_unit_test(a_fault_that_is_not_over_keeps_its_sleeps),
		cmocka_unit_test(the_dictionary_keeps_each_once),
		cmocka_unit_test(totals_are_those_of_the_last_snapshot),
		cmocka_unit_test(impossible_sizes_end_their_block),
		cmocka_unit_test(past_the_limit_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
