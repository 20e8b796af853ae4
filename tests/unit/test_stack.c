/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_stack.c: equal stacks share an id, different ones never; limits are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/stack.h"

static void test_add_and_get(void **state)
{
	const u32 a[] = { 1, 2, 3 }, b[] = { 3, 2, 1 }, c[] = { 1, 2 };
	struct stacks s;
	u32 ids[3], n = 9;

	(void)state;
	stacks_init(&s);
	assert_null(stacks_get(&s, 0, &n));
	assert_int_equal(n, 0);
	assert_int_equal(stacks_add(&s, a, 0), 0); /* no frames is no stack */
	ids[0] = stacks_add(&s, a, 3);
	ids[1] = stacks_add(&s, b, 3);
	ids[2] = stacks_add(&s, c, 2);
	assert_true(ids[0] && ids[1] && ids[2]);
	assert_true(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
	assert_int_equal(stacks_add(&s, a, 3), ids[0]);
	assert_int_equal(stacks_add(&s, b, 3), ids[1]);
	assert_memory_equal(stacks_get(&s, ids[1], &n), b, sizeof(b));
	assert_int_equal(n, 3);
	assert_null(stacks_get(&s, 4000, &n));
	assert_int_equal(n, 0);
	assert_int_equal(s.refused, 0);
	stacks_done(&s);
}

/* The same 50,000 stacks twice: ids stay the same while the table grows and after. */
static void test_many(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	for (int pass = 0; pass < 2; pass++) {
		for (u32 i = 0; i < 50000; i++) {
			u32 frames[20], len = 1 + i % 20, n;

			for (u32 k = 0; k < len; k++)
				frames[k] = k ? k * 7 : i;
			assert_int_equal(stacks_add(&s, frames, len), i + 1);
			assert_memory_equal(stacks_get(&s, i + 1, &n), frames,
					    len * sizeof(*frames));
			assert_int_equal(n, len);
		}
	}
	assert_int_equal(s.refused, 0);
	stacks_done(&s);
}

static void test_limits(void **state)
{
	u32 frames[STACK_MAX_FRAMES + 10], n, id, refused = 0;
	struct stacks s;

	(void)state;
	stacks_init(&s);
	for (u32 i = 0; i < STACK_MAX_FRAMES + 10; i++)
		frames[i] = i;
	/* the outermost frames are cut */
	id = stacks_add(&s, frames, STACK_MAX_FRAMES + 10);
	assert_memory_equal(stacks_get(&s, id, &n), frames, STACK_MAX_FRAMES * sizeof(*frames));
	assert_int_equal(n, STACK_MAX_FRAMES);
	assert_int_equal(stacks_add(&s, frames, STACK_MAX_FRAMES), id);

	for (u32 i = 1; i < STACKS_MAX_BYTES / sizeof(frames) + 500; i++) {
		frames[0] = ~i;
		refused += stacks_add(&s, frames, STACK_MAX_FRAMES) == 0;
	}
	assert_true(refused > 0);
	assert_int_equal(s.refused, refused);
	frames[0] = 0; /* what is known is still found */
	assert_int_equal(stacks_add(&s, frames, STACK_MAX_FRAMES), id);
	assert_int_equal(s.refused, refused);
	stacks_done(&s);

	stacks_init(&s);
	refused = 0;
	for (u32 i = 0; i < STACKS_MAX + 10; i++)
		refused += stacks_add(&s, &i, 1) == 0;
	assert_int_equal(refused, 11); /* id 0 is one of the STACKS_MAX */
	assert_int_equal(s.refused, 11);
	stacks_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_get),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
