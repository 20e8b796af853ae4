/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/test_source_damage.c: cut, flipped, oversized and unreadable chunks. What came before
 * the damage must come out, the damage must be told, and nothing may crash or run on for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "source_help.h"

static void test_bytes_behind(void **state)
{
	struct bytes lines = make_lines(5000, 3);

	(void)state;
	for (int p = GZIP; p < PACKINGS; p++) {
		struct bytes x = pack(p, lines.v, lines.n);
		struct source_set *set;
		struct outcome o;
		size_t n;

		x.v = realloc(x.v, x.n + 8);
		memcpy(x.v + x.n, "garbage!", 8);
		put("behind", x.v, x.n + 8);
		set = open_set(at("behind"));
		o = drain(set->streams[0]);
		assert_int_equal(o.error, 0);
		assert_int_equal(o.data.n, lines.n);
		assert_memory_equal(o.data.v, lines.v, lines.n);
		assert_true(o.ends_with_gap);
		assert_int_equal(source_losses(set->streams[0], &n)->offset_bytes, lines.n);
		assert_int_equal(n, 1);
		free(o.data.v);
		source_set_free(set);
		free(x.v);
	}
	free(lines.v);
}

/*
 * Cut at every byte: a prefix comes out, with a loss; or, when nothing can come out, an error. What
 * is shorter than the magic number is just bytes.
 */
static void test_cut_everywhere(void **state)
{
	struct bytes lines = make_lines(1500, 4);

	(void)state;
	for (int p = GZIP; p < PACKINGS; p++) {
		struct bytes x = pack(p, lines.v, lines.n);
		size_t prefixes = 0;
		char path[64];
		int fd = put_memory(x.v, x.n, path);

		for (size_t cut = x.n - 1; cut >= magic_len[p]; cut--) {
			struct source_set *set;
			struct outcome o;

			assert_int_equal(ftruncate(fd, (off_t)cut), 0);
			set = open_set(path);
			o = drain(set->streams[0]);
			assert_int_equal(n_losses(set), 1);
			assert_true(o.data.n <= lines.n);
			assert_memory_equal(o.data.v, lines.v, o.data.n);
			if (o.data.n) {
				assert_int_equal(o.error, 0);
				assert_true(o.ends_with_gap);
				assert_int_equal(o.gap_at[0], o.data.n);
				prefixes++;
			} else {
				assert_int_equal(o.error, -EBADMSG);
				assert_non_null(strstr(o.e.msg, "cut short"));
			}
			free(o.data.v);
			source_set_free(set);
		}
		assert_true(prefixes >=
			    (p == GZIP ? x.n / 2 : 4)); /* zstd gives whole blocks only */
		close(fd);
		free(x.v);
	}
	free(lines.v);
}

static void test_bit_flips(void **state)
{
	struct bytes lines = make_lines(400, 5);

	(void)state;
	for (int p = GZIP; p < PACKINGS; p++) {
		struct bytes x = pack(p, lines.v, lines.n);
		size_t noticed = 0;
		char path[64];
		int fd = put_memory(x.v, x.n, path);

		for (size_t bit = magic_len[p] * 8; bit < x.n * 8; bit++) {
			struct source_set *set;
			struct outcome o;
			char flipped = (char)(x.v[bit / 8] ^ 1 << bit % 8);

			assert_int_equal(pwrite(fd, &flipped, 1, (off_t)bit / 8), 1);
			set = open_set(path);
			o = drain(set->streams[0]);
			assert_true(o.data.n <= lines.n + (1 << 20));
			assert_int_equal(n_losses(set) == 0, o.error == 0 && !o.ends_with_gap);
			if (!n_losses(set)) {
				/* a bit without meaning: gzip's time, system and flags */
				assert_int_equal(o.data.n, lines.n);
				assert_memory_equal(o.data.v, lines.v, lines.n);
			} else {
				noticed++;
			}
			free(o.data.v);
			source_set_free(set);
			assert_int_equal(pwrite(fd, &x.v[bit / 8], 1, (off_t)bit / 8), 1);
		}
		close(fd);
		assert_true(noticed + 128 >= (x.n - magic_len[p]) * 8);
		free(x.v);
	}
	free(lines.v);
}

/* 64 MB out of a few kB: given in blocks of 1 MB at most. */
static void test_bomb(void **state)
{
	struct source_set *set;
	struct source_block b;
	struct error e = { 0 };
	size_t n = 64 << 20, got = 0;
	char *zeros = calloc(1, n);

	(void)state;
	put_packed("bomb", ZSTD, zeros, n);
	free(zeros);
	set = open_set(at("bomb"));
	while (source_read(set->streams[0], &b, &e) == 1) {
		assert_true(b.len <= 1 << 20);
		got += b.len;
	}
	assert_int_equal(e.code, 0);
	assert_int_equal(got, n);
	source_set_free(set);
}

static void check_refused(const char *name, const char *why)
{
	struct source_set *set = open_set(at(name));
	struct outcome o = drain(set->streams[0]);

	assert_true(o.error < 0);
	if (!strstr(o.e.msg, why) || !strstr(o.e.msg, at(name)))
		fail_msg("\"%s\" does not say \"%s\"", o.e.msg, why);
	free(o.data.v);
	source_set_free(set);
}

static void test_memory_limits(void **state)
{
	static const char magic[] = "some lines of a trace\n";
	ZSTD_CCtx *c = ZSTD_createCCtx();
	char out[1024];
	ZSTD_inBuffer zin = { magic, sizeof(magic) - 1, 0 };
	ZSTD_outBuffer zout = { out, sizeof(out), 0 };
	struct bytes x = pack(XZ, magic, sizeof(magic) - 1);
	u32 header_bytes = ((u32)x.v[12] + 1) * 4, crc;
	char *filter = memchr(x.v + 12, 0x21, header_bytes);

	(void)state;
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 28);
	ZSTD_compressStream2(c, &zout, &zin,
			     ZSTD_e_flush); /* the size is not known: the window stays */
	ZSTD_compressStream2(c, &zout, &zin, ZSTD_e_end);
	ZSTD_freeCCtx(c);
	put("window.zst", out, zout.pos);
	check_refused("window.zst", "larger than 128 MB");

	/* the dictionary size of the block header, made 512 MB */
	assert_non_null(filter);
	filter[2] = 34;
	crc = lzma_crc32((u8 *)x.v + 12, header_bytes - 4, 0);
	memcpy(x.v + 12 + header_bytes - 4, &crc, 4); /* little endian, as the hosts we build on */
	put("dictionary.xz", x.v, x.n);
	check_refused("dictionary.xz", "limit of 128");
	free(x.v);
	put("bz", "BZh91AY&SY\x01\x02\x03", 13);
	check_refused("bz", "bzip2 data, which is not read here");
	put_packed("nothing.gz", GZIP, "", 0);
	check_refused("nothing.gz", "empty once unpacked");
}

/* Broken in the middle: what came before the break, a gap, the next chunk; the loss is told once.
 */
static void test_broken_middle(void **state)
{
	struct bytes lines = make_lines(100000, 7), packed = pack(GZIP, lines.v, lines.n);
	struct source_set *set;
	struct error e = { 0 };
	size_t before = 0;

	(void)state;
	make_dir("broken");
	put_text("broken/t1", "one\n");
	put("broken/t2.gz", packed.v, packed.n / 2);
	put_text("broken/t3", "three\n");
	assert_int_equal(symlink("/nowhere/at/all", at("broken/t4")), 0);
	put_text("broken/t5", "five\n");
	assert_int_equal(symlink("/proc/self/mem", at("broken/t6")), 0); /* EIO at its first byte */
	set = open_set(at("broken"));
	for (int pass = 0; pass < 2; pass++) {
		struct outcome o = drain(set->streams[0]);
		const struct source_loss *loss;
		size_t n;

		assert_int_equal(o.error, 0);
		assert_int_equal(o.n_gaps, 3);
		loss = source_losses(set->streams[0], &n);
		assert_int_equal(n, 3);
		assert_string_equal(loss[0].path, at("broken/t2.gz"));
		assert_non_null(strstr(loss[0].why, "cut short"));
		assert_string_equal(loss[1].path, at("broken/t4"));
		assert_non_null(strstr(loss[1].why, "No such file"));
		assert_non_null(strstr(loss[2].why, "Input/output error"));
		before = 4 + loss[0].offset_bytes;
		assert_true(before > 20000 && before < lines.n);
		assert_memory_equal(o.data.v, "one\n", 4);
		assert_memory_equal(o.data.v + 4, lines.v, loss[0].offset_bytes);
		assert_int_equal(o.gap_at[0], before);
		assert_memory_equal(o.data.v + before, "three\n", 6);
		assert_int_equal(o.gap_at[1], before + 6);
		assert_memory_equal(o.data.v + before + 6, "five\n", 5);
		assert_int_equal(o.gap_at[2], before + 11);
		assert_int_equal(o.data.n, before + 11);
		assert_true(o.ends_with_gap);
		free(o.data.v);
		assert_int_equal(source_rewind(set->streams[0], &e), 0);
	}
	source_set_free(set);
	free(packed.v);
	free(lines.v);
}

static void test_nothing_readable(void **state)
{
	struct source_set *set;
	struct source_block b;
	struct error e = { 0 };

	(void)state;
	make_dir("dead");
	assert_int_equal(symlink("/nowhere", at("dead/cpu0-1")), 0);
	assert_int_equal(symlink("/nowhere", at("dead/cpu1-1")), 0);
	set = open_set(at("dead"));
	/* CPU 0 alone is a loss; only with CPU 1 is it known that the set has nothing */
	assert_int_equal(source_read(set->streams[0], &b, &e), 1);
	assert_true(b.gap_before && !b.len);
	assert_int_equal(source_read(set->streams[0], &b, &e), 0);
	assert_true(source_read(set->streams[1], &b, &e) < 0);
	assert_non_null(strstr(e.msg, "dead/cpu0-1: cannot read it: No such file"));
	source_set_free(set);
	if (geteuid()) { /* root reads anything */
		put_text("closed", "x");
		assert_int_equal(chmod(at("closed"), 0), 0);
		check_open_fails(at("closed"), -EACCES,
				 "closed: Permission denied; check its owner");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_behind),	 cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_bit_flips),	 cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_memory_limits),	 cmocka_unit_test(test_broken_middle),
		cmocka_unit_test(test_nothing_readable),
	};

	return cmocka_run_group_tests(tests, source_make_root, source_remove_root);
}
