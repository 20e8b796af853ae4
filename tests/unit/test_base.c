/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/test_base.c: map, intern, arena, vec, error, numbers and natural order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/natural.h"
#include "base/num.h"
#include "base/vec.h"

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define MAP_KEYS 400

/* A key whose home slot in a table of 512 is one of the last few or first few: clusters that wrap.
 */
static u64 clustered_key(u64 *seed)
{
	u64 key;

	do
		key = random_next(seed);
	while (((hash_u64(key) + 4) & 511) >= 8);
	return key;
}

static void check_map(struct map *m, const u64 *keys, const u64 *values, const bool *there)
{
	size_t n = 0;

	for (size_t i = 0; i < MAP_KEYS; i++) {
		u64 *v = map_get(m, keys[i]);

		assert_int_equal(v != NULL, there[i]);
		if (v)
			assert_true(*v == values[i]);
		n += there[i];
	}
	assert_int_equal(m->n, n);
}

/* Random sets and removals against plain arrays, with spread keys, clustered keys, and the edge
 * keys. */
static void test_map(void **state)
{
	u64 seed = 99, keys[MAP_KEYS], values[MAP_KEYS];

	(void)state;
	for (int clustered = 0; clustered < 2; clustered++) {
		bool there[MAP_KEYS] = { false };
		struct map m;

		for (size_t i = 0; i < MAP_KEYS; i++)
			keys[i] = clustered && i < 60 ? clustered_key(&seed) : random_next(&seed);
		keys[0] = 0;
		keys[1] = UINT64_MAX;
		map_init(&m);
		assert_null(map_get(&m, 5));
		assert_false(map_remove(&m, 5));
		for (u32 op = 0; op < 40000; op++) {
			/* in phases, so that the map fills, empties, and fills again */
			size_t span = clustered ? 60 : MAP_KEYS, i = random_next(&seed) % span;
			bool set = random_next(&seed) % 100 < (op / 5000 & 1 ? 20 : 70);

			if (set) {
				values[i] = random_next(&seed);
				assert_true(*map_set(&m, keys[i], values[i]) == values[i]);
				there[i] = true;
			} else {
				assert_int_equal(map_remove(&m, keys[i]), there[i]);
				there[i] = false;
			}
			if (op % 97 == 0)
				check_map(&m, keys, values, there);
		}
		check_map(&m, keys, values, there);
		map_done(&m);
		assert_null(map_get(&m, keys[0]));
	}
}

static void test_intern(void **state)
{
	struct intern in;
	char *big = malloc(INTERN_MAX_LEN + 100);
	size_t len;
	u32 id, empty;

	(void)state;
	intern_init(&in);
	assert_int_equal(intern_find(&in, "x", 1), 0);
	assert_string_equal(intern_get(&in, 0, &len), "");
	assert_int_equal(len, 0);
	empty = intern_add(&in, NULL, 0); /* the empty string is a string */
	assert_true(empty != 0);
	assert_int_equal(intern_add(&in, "", 0), empty);
	id = intern_add(&in, "a\0b\xff\n", 5);
	assert_true(id != intern_add(&in, "a\0b\xff", 4));
	assert_true(id != intern_add(&in, "a\0c\xff\n", 5));
	assert_int_equal(intern_add(&in, "a\0b\xff\n", 5), id);
	assert_memory_equal(intern_get(&in, id, &len), "a\0b\xff\n", 6);
	assert_int_equal(len, 5);
	assert_string_equal(intern_get(&in, 12345678, NULL), "");

	/* cut at the limit: equal from there on */
	memset(big, 'z', INTERN_MAX_LEN + 100);
	id = intern_add(&in, big, INTERN_MAX_LEN + 100);
	intern_get(&in, id, &len);
	assert_int_equal(len, INTERN_MAX_LEN);
	big[INTERN_MAX_LEN + 1] = '!';
	assert_int_equal(intern_add(&in, big, INTERN_MAX_LEN + 2), id);
	assert_int_equal(intern_find(&in, big, INTERN_MAX_LEN), id);
	assert_int_equal(in.refused, 0);
	free(big);
	intern_done(&in);
}

/* Every length and alignment of the hash; ids stay while the table grows. */
static void test_intern_many(void **state)
{
	u64 seed = 1;
	struct intern in;
	u8 bytes[64];

	(void)state;
	intern_init(&in);
	for (int pass = 0; pass < 2; pass++) {
		seed = 77;
		for (u32 i = 0; i < 20000; i++) {
			size_t len = 8 + i % 40, got;
			u32 id;

			for (size_t k = 0; k < sizeof(bytes); k++)
				bytes[k] = (u8)random_next(&seed);
			id = intern_add(&in, (char *)bytes, len);
			assert_int_equal(id, i + 1);
			assert_memory_equal(intern_get(&in, id, &got), bytes, len);
			assert_int_equal(got, len);
		}
	}
	intern_done(&in);
}

static void test_intern_limits(void **state)
{
	struct intern in;
	char s[INTERN_MAX_LEN];
	u32 known, refused = 0;

	(void)state;
	intern_init(&in);
	memset(s, 0, sizeof(s));
	known = intern_add(&in, s, sizeof(s));
	for (u32 i = 1; i < INTERN_MAX_BYTES / INTERN_MAX_LEN + 10; i++) {
		memcpy(s, &i, sizeof(i));
		refused += intern_add(&in, s, sizeof(s)) == 0;
	}
	assert_true(refused > 9);
	assert_int_equal(in.refused, refused);
	assert_true(in.arena.used_bytes <= INTERN_MAX_BYTES + 2 * INTERN_MAX_LEN);
	memset(s, 0, sizeof(s));
	assert_int_equal(intern_add(&in, s, sizeof(s)), known); /* what is known is still found */
	assert_int_equal(in.refused, refused);
	intern_done(&in);

	intern_init(&in);
	refused = 0;
	for (u32 i = 0; i < INTERN_MAX_STRINGS + 100; i++)
		refused += intern_add(&in, (char *)&i, sizeof(i)) == 0;
	assert_int_equal(refused, 101); /* id 0 is one of the INTERN_MAX_STRINGS */
	assert_int_equal(in.refused, refused);
	intern_done(&in);
}

static void test_arena(void **state)
{
	struct arena a;
	u64 seed = 3;
	char *s;

	(void)state;
	arena_init(&a);
	for (u32 i = 0; i < 3000; i++) {
		size_t n = random_next(&seed) % (i % 100 ? 300 : 200000);
		u8 *p = arena_alloc(&a, n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xaa, n); /* a later overlap would not be zero */
	}
	s = arena_strndup(&a, "ab\0cd", 5);
	assert_memory_equal(s, "ab\0cd", 6);
	assert_string_equal(arena_strndup(&a, NULL, 0), "");
	assert_string_equal(arena_printf(&a, "%s-%d", "x", 42), "x-42");
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_strndup(&a, "", SIZE_MAX));
	arena_done(&a);
	assert_int_equal(a.used_bytes, 0);
	arena_done(&a);
}

static void test_vec(void **state)
{
	struct pair {
		u64 a, b;
	};
	VEC(struct pair) v = VEC_INIT;
	size_t capacity = SIZE_MAX / 32;
	void *none = NULL;

	(void)state;
	for (u64 i = 0; i < 1000; i++) {
		struct pair *p = vec_push(&v);

		assert_non_null(p);
		assert_true(p->a == 0 && p->b == 0);
		p->a = i;
		p->b = ~i;
	}
	assert_int_equal(v.n, 1000);
	for (u64 i = 0; i < 1000; i++)
		assert_true(v.v[i].a == i && v.v[i].b == ~i);
	vec_done(&v);
	assert_null(v.v);
	/* a size that would overflow is out of memory, not a small block */
	assert_false(vec_grow_raw(&none, capacity, &capacity, sizeof(struct pair)));
	assert_null(none);
}

static void test_error(void **state)
{
	struct error e = { 0 };
	char huge[3000];

	(void)state;
	assert_int_equal(error_set(NULL, -EIO, "nobody listens"), -EIO);
	error_prefix(NULL, "x");
	error_prefix(&e, "no error yet");
	assert_string_equal(e.msg, "");
	assert_int_equal(error_set(&e, -ENOENT, "%s: missing", "a.txt"), -ENOENT);
	assert_int_equal(error_set(&e, -EIO, "a later one"), -EIO);
	assert_int_equal(e.code, -ENOENT); /* the first one sticks */
	error_prefix(&e, "analyze %d", 7);
	assert_string_equal(e.msg, "analyze 7: a.txt: missing");
	error_clear(&e);
	assert_int_equal(e.code, 0);
	memset(huge, 'm', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	error_set(&e, -EINVAL, "%s", huge);
	error_prefix(&e, "%s", huge);
	error_prefix(&e, "first");
	assert_true(strlen(e.msg) < sizeof(e.msg));
	assert_memory_equal(e.msg, "first: mmm", 10);
}

struct num_case {
	const char *s;
	bool ok;
	u64 want;
};

/* Each case is parsed out of an exact heap copy: a read behind its length is a sanitizer's find. */
static void check_numbers(bool (*parse)(const char *, size_t, u64 *), const struct num_case *cases,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(cases[i].s);
		char *s = malloc(len ? len : 1);
		u64 got = 4711;

		memcpy(s, cases[i].s, len);
		if (parse(s, len, &got) != cases[i].ok ||
		    got != (cases[i].ok ? cases[i].want : 4711))
			fail_msg("\"%s\" gave %llu", cases[i].s, (unsigned long long)got);
		free(s);
	}
}

static bool parse_s64(const char *s, size_t len, u64 *ret)
{
	s64 v;
	bool ok = num_parse_s64(s, len, &v);

	if (ok)
		*ret = (u64)v;
	return ok;
}

static void test_numbers(void **state)
{
	static const struct num_case decimal[] = {
		{ "0", true, 0 },
		{ "007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "00000000000000000000000000001", true, 1 },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1a", false, 0 },
		{ "0x10", false, 0 },
	};
	static const struct num_case hex[] = {
		{ "0", true, 0 },
		{ "ffffffffffffffff", true, UINT64_MAX },
		{ "0xFfAa", true, 0xffaa },
		{ "0X1", true, 1 },
		{ "10000000000000000", false, 0 },
		{ "0x", false, 0 },
		{ "", false, 0 },
		{ "x1", false, 0 },
		{ "0x0x1", false, 0 },
		{ "fg", false, 0 },
	};
	static const struct num_case any[] = {
		{ "0x1f", true, 31 }, { "08", true, 8 },  { "1f", false, 0 },
		{ "0x", false, 0 },   { "12", true, 12 },
	};
	static const struct num_case sign[] = {
		{ "-1", true, UINT64_MAX },
		{ "-0", true, 0 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, 1ULL << 63 },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "-", false, 0 },
		{ "--1", false, 0 },
		{ "", false, 0 },
	};
	static const struct num_case seconds[] = {
		{ "12", true, 12000000000 },
		{ "0.5", true, 500000000 },
		{ ".5", true, 500000000 },
		{ "3.", true, 3000000000 },
		{ "100.000001234", true, 100000001234 },
		{ "0.0000000019", true, 1 },
		{ "18446744073.709551615", true, UINT64_MAX },
		{ "18446744073.709551616", false, 0 },
		{ "18446744074", false, 0 },
		{ ".", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "1.x", false, 0 },
		{ "1.0000000001x", false, 0 },
		{ "1,5", false, 0 },
		{ "1..5", false, 0 },
		{ "1e3", false, 0 },
		{ "99999999999999999999.5", false, 0 },
	};
	static const struct num_case sizes[] = {
		{ "4096", true, 4096 },
		{ "64k", true, 65536 },
		{ "8M", true, 8 << 20 },
		{ "2G", true, 2ULL << 30 },
		{ "17179869183G", true, 17179869183ULL << 30 },
		{ "17179869184G", false, 0 },
		{ "k", false, 0 },
		{ "", false, 0 },
		{ "1T", false, 0 },
		{ "1kk", false, 0 },
		{ "1.5M", false, 0 },
	};
	u64 v = 0;

	(void)state;
	check_numbers(num_parse_u64, decimal, ARRAY_LEN(decimal));
	check_numbers(num_parse_hex, hex, ARRAY_LEN(hex));
	check_numbers(num_parse_any, any, ARRAY_LEN(any));
	check_numbers(parse_s64, sign, ARRAY_LEN(sign));
	check_numbers(num_parse_seconds_ns, seconds, ARRAY_LEN(seconds));
	check_numbers(num_parse_size_bytes, sizes, ARRAY_LEN(sizes));
	assert_int_equal(num_scan_u64("123abc", 6, &v), 3);
	assert_int_equal(v, 123);
	assert_int_equal(num_scan_u64("123456", 2, &v), 2);
	assert_int_equal(v, 12);
	assert_int_equal(num_scan_hex("12fz", 4, &v), 3);
	assert_int_equal(v, 0x12f);
	assert_int_equal(num_scan_u64("x", 1, &v), 0);
	assert_int_equal(num_scan_u64("99999999999999999999x", 21, &v), 0);
	assert_int_equal(v, 0x12f);
}

static int compare_names(const char *a, const char *b)
{
	return natural_compare(a, strlen(a), b, strlen(b));
}

static void test_natural(void **state)
{
	/* in order, each strictly before the next; leading zeros decide only when all else is equal
	 */
	static const char *const sorted[] = {
		"",
		"0",
		"00",
		"01",
		"1",
		"2",
		"10",
		"99999999999999999999998",
		"99999999999999999999999",
		"a",
		"a1",
		"a1.gz",
		"a1b1",
		"a1b2",
		"a1b10",
		"a2",
		"a010",
		"a10",
		"a11",
		"b",
		"cpu0-00009.txt",
		"cpu0-00010.txt",
		"trace_stream",
		"trace_stream_1",
		"trace_stream_2",
		"trace_stream_10",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
		for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
			int order = compare_names(sorted[i], sorted[j]);

			if (i == j)
				assert_int_equal(order, 0);
			else
				assert_true(i < j ? order < 0 : order > 0);
		}
	}
}

static void test_clock(void **state)
{
	u64 a = clock_mono_ns(), b = clock_mono_ns();

	(void)state;
	assert_true(a > 0 && b >= a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),	    cmocka_unit_test(test_intern),
		cmocka_unit_test(test_intern_many), cmocka_unit_test(test_intern_limits),
		cmocka_unit_test(test_arena),	    cmocka_unit_test(test_vec),
		cmocka_unit_test(test_error),	    cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_natural),	    cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
