/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_origin.c: what callers, stacks and calls tell of where a lock was taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/origin.h"

static const struct {
	const char *function;
	enum origin origin;
} rows[] = {
#define FRAME(function, KIND) { function, ORIGIN_##KIND },
#include "model/origins.def"
};

struct fixture {
	struct origins o;
	struct intern strings;
	struct stacks stacks;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	origins_init(&f->o);
	intern_init(&f->strings);
	stacks_init(&f->stacks);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	origins_done(&f->o);
	stacks_done(&f->stacks);
	intern_done(&f->strings);
	free(f);
	return 0;
}

static u32 add(struct fixture *f, const char *s)
{
	u32 id = intern_add(&f->strings, s, strlen(s));

	assert_true(id > 0);
	return id;
}

/* -1: nothing is known. */
static int of_bytes(struct fixture *f, const char *s, size_t len)
{
	enum origin o = ORIGINS;
	u32 id = intern_add(&f->strings, s, len);
	bool found = origin_of_caller(&f->o, &f->strings, id, &o);

	assert_true(id > 0);
	/* without a find, the caller's value stays as it was */
	assert_int_equal(found, o != ORIGINS);
	return found ? (int)o : -1;
}

static int of_caller(struct fixture *f, const char *s)
{
	return of_bytes(f, s, strlen(s));
}

static int of_stack(struct fixture *f, const char *const *frames, u32 n)
{
	u32 ids[STACK_MAX_FRAMES], stack;
	enum origin o = ORIGINS;
	bool found;

	for (u32 i = 0; i < n; i++)
		ids[i] = add(f, frames[i]);
	stack = stacks_add(&f->stacks, ids, n);
	found = origin_of_stack(&f->o, &f->strings, &f->stacks, stack, &o);
	assert_int_equal(found, o != ORIGINS);
	return found ? (int)o : -1;
}
#define OF_STACK(f, ...)                                  \
	of_stack(f, (const char *const[]){ __VA_ARGS__ }, \
		 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void test_every_row(void **state)
{
	struct fixture *f = *state;

	for (u32 pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			assert_int_equal(of_caller(f, rows[i].function), rows[i].origin);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(rows[i].function, rows[k].function);
	}
}

static void test_compiler_suffixes(void **state)
{
	static const char *const suffixes[] = { ".isra.0", ".constprop.0",	  ".part.12",
						".cold",   ".isra.0.constprop.3", "." };
	struct fixture *f = *state;
	char name[128];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(suffixes); k++) {
			snprintf(name, sizeof(name), "%s%s", rows[i].function, suffixes[k]);
			assert_int_equal(of_caller(f, name), rows[i].origin);
		}
	}
}

static void test_unknown(void **state)
{
	struct fixture *f = *state;
	enum origin o = ORIGIN_BRK;
	char name[128];

	assert_false(origin_of_caller(&f->o, &f->strings, 0, &o));
	assert_int_equal(o, ORIGIN_BRK);
	assert_int_equal(of_caller(f, "schedule"), -1);
	assert_int_equal(of_caller(f, ""), -1);
	assert_int_equal(of_caller(f, ".isra.0"), -1);
	assert_int_equal(of_caller(f, "ffffffff81234567"), -1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].function);

		snprintf(name, sizeof(name), "%s_more", rows[i].function);
		assert_int_equal(of_caller(f, name), -1);
		snprintf(name, sizeof(name), "x%s", rows[i].function);
		assert_int_equal(of_caller(f, name), -1);
		/* a name cut by one is another row's, or none: never this one's by its prefix */
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			if (strlen(rows[k].function) == len - 1 &&
			    !strncmp(rows[k].function, rows[i].function, len - 1))
				len = 0;
		}
		if (len)
			assert_int_equal(of_bytes(f, rows[i].function, len - 1), -1);
	}
}

/* Names out of a hostile trace hold any byte. With enough of them, each row is compared with some.
 */
static void test_names_with_nuls(void **state)
{
	struct fixture *f = *state;
	char name[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].function);

		memcpy(name, rows[i].function, len);
		name[len] = 0;
		for (u32 k = 0; k < 256; k++) {
			name[len + 1] = k == '.' ? 'x' : (char)k;
			assert_int_equal(of_bytes(f, name, len + 2), -1);
			memset(name + len + 2, 'y', sizeof(name) - len - 2);
			assert_int_equal(of_bytes(f, name, sizeof(name)), -1);
		}
	}
}

static void test_first_known_frame(void **state)
{
	struct fixture *f = *state;

	for (u32 pass = 0; pass < 2; pass++) {
		assert_int_equal(OF_STACK(f, "rwsem_down_write_slowpath", "down_write", "vma_merge",
					  "mprotect_fixup", "do_mprotect_pkey"),
				 ORIGIN_MODIFY);
		assert_int_equal(OF_STACK(f, "down_read", "do_user_addr_fault", "do_mprotect_pkey"),
				 ORIGIN_FAULT);
		assert_int_equal(OF_STACK(f, "do_mprotect_pkey.constprop.0", "do_user_addr_fault"),
				 ORIGIN_MPROTECT);
		assert_int_equal(OF_STACK(f, "schedule", "entry_SYSCALL_64_after_hwframe"), -1);
		assert_int_equal(OF_STACK(f, "m_start"), ORIGIN_PROC_READER);
	}
	assert_int_equal(of_stack(f, NULL, 0), -1);
}

/* The lists of what was looked up grow with the ids, in whatever order these come. */
static void test_caches_grow(void **state)
{
	enum { N = 3000 };
	struct fixture *f = *state;
	static u32 ids[N], stacks[N];
	enum origin o;
	char name[64];

	for (u32 i = 0; i < N; i++) {
		u32 frames[2];

		snprintf(name, sizeof(name), "%s.%u", i % 3 ? "mmap_region" : "some_function", i);
		ids[i] = add(f, name);
		frames[0] = i ? ids[i - 1] : ids[0];
		frames[1] = ids[i];
		stacks[i] = stacks_add(&f->stacks, frames, 2);
	}
	for (u32 i = N; i--;) {
		assert_int_equal(origin_of_caller(&f->o, &f->strings, ids[i], &o), i % 3 != 0);
		if (i % 3)
			assert_int_equal(o, ORIGIN_MMAP);
	}
	for (u32 i = 0; i < N; i++) {
		u32 at = (i * 7) % N;

		assert_int_equal(origin_of_stack(&f->o, &f->strings, &f->stacks, stacks[at], &o),
				 at != 0);
	}
	/* an id that the stacks do not have */
	assert_false(origin_of_stack(&f->o, &f->strings, &f->stacks, N + 100, &o));
}

static void test_calls_and_names(void **state)
{
	static const struct {
		enum as_call call;
		enum origin origin;
	} calls[] = {
		{ CALL_NONE, ORIGIN_OTHER },	    { CALL_MMAP, ORIGIN_MMAP },
		{ CALL_MUNMAP, ORIGIN_MUNMAP },	    { CALL_SHMDT, ORIGIN_MUNMAP },
		{ CALL_MPROTECT, ORIGIN_MPROTECT }, { CALL_PKEY_MPROTECT, ORIGIN_MPROTECT },
		{ CALL_CLONE3, ORIGIN_FORK },	    { CALL_EXECVEAT, ORIGIN_EXEC },
		{ CALL_EXIT_GROUP, ORIGIN_EXIT },   { CALL_FUTEX, ORIGIN_FUTEX },
		{ CALL_LIMIT, ORIGIN_OTHER },	    { (enum as_call)9999, ORIGIN_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(origin_of_call(calls[i].call), calls[i].origin);
	assert_string_equal(origin_name(ORIGIN_FAULT), "fault");
	assert_string_equal(origin_name(ORIGIN_PROC_READER), "/proc reader");
	assert_string_equal(origin_name(ORIGINS), "other");
	for (u32 a = 0; a < ORIGINS; a++) {
		for (u32 b = 0; b < a; b++)
			assert_string_not_equal(origin_name(a), origin_name(b));
	}
}

int main(void)
{
#define ORIGIN_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		ORIGIN_TEST(test_every_row),	     ORIGIN_TEST(test_compiler_suffixes),
		ORIGIN_TEST(test_unknown),	     ORIGIN_TEST(test_names_with_nuls),
		ORIGIN_TEST(test_first_known_frame), ORIGIN_TEST(test_caches_grow),
		ORIGIN_TEST(test_calls_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
