/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/source_help.c: what the tests of sources share (see source_help.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "source_help.h"

const size_t magic_len[PACKINGS] = { 0, 2, 4, 6 };
static char root[PATH_MAX / 2]; /* temporary directory of this run */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int source_make_root(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(root, sizeof(root), "%s/mmscope-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(root) ? 0 : -1;
}

int source_remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *at(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", root, name);
	return path;
}

void put(const char *name, const void *data, size_t n)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

int put_memory(const void *data, size_t n, char path[64])
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, 0), n);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

void make_dir(const char *name)
{
	assert_int_equal(mkdir(at(name), 0700), 0);
}

static struct bytes pack_gzip(const void *data, size_t n)
{
	z_stream z = { 0 };
	struct bytes b;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	b.v = malloc(deflateBound(&z, n));
	z.next_in = (Bytef *)data;
	z.avail_in = (uInt)n;
	z.next_out = (Bytef *)b.v;
	z.avail_out = (uInt)deflateBound(&z, n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.n = z.total_out;
	deflateEnd(&z);
	return b;
}

static struct bytes pack_zstd(const void *data, size_t n)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	struct bytes b = { malloc(ZSTD_compressBound(n)), 0 };

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	b.n = ZSTD_compress2(c, b.v, ZSTD_compressBound(n), data, n);
	assert_false(ZSTD_isError(b.n));
	ZSTD_freeCCtx(c);
	return b;
}

static struct bytes pack_xz(const void *data, size_t n)
{
	size_t room = lzma_stream_buffer_bound(n), len = 0;
	struct bytes b = { malloc(room), 0 };

	assert_int_equal(
		lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, data, n, (u8 *)b.v, &len, room),
		LZMA_OK);
	b.n = len;
	return b;
}

struct bytes pack(enum packing p, const void *data, size_t n)
{
	struct bytes b = { NULL, n };

	switch (p) {
	case GZIP:
		return pack_gzip(data, n);
	case ZSTD:
		return pack_zstd(data, n);
	case XZ:
		return pack_xz(data, n);
	default:
		b.v = malloc(n + 1);
		memcpy(b.v, data, n);
		return b;
	}
}

void put_packed(const char *name, enum packing p, const void *data, size_t n)
{
	struct bytes b = pack(p, data, n);

	put(name, b.v, b.n);
	free(b.v);
}

struct bytes make_lines(size_t n, u32 seed)
{
	struct bytes b = { malloc(n + 128), 0 };

	while (b.n < n) {
		seed = seed * 1664525 + 1013904223;
		b.n += (size_t)sprintf(
			b.v + b.n, "app-%u [%03u] d..1. %u.%06u: mmap_lock_released: mm=%08x\n",
			seed >> 20, seed >> 29, seed >> 12 & 1023, seed % 1000000, seed);
	}
	b.n = n;
	return b;
}

struct outcome drain(struct source *s)
{
	struct outcome o = { .data = { malloc(1), 0 } };
	struct source_block b;
	int r;

	while ((r = source_read(s, &b, &o.e)) == 1) {
		assert_false(o.ends_with_gap); /* an empty block is the last one */
		assert_true(b.len || b.gap_before);
		if (b.gap_before && o.n_gaps < ARRAY_LEN(o.gap_at))
			o.gap_at[o.n_gaps] = o.data.n;
		o.n_gaps += b.gap_before;
		o.ends_with_gap = !b.len;
		o.n_blocks++;
		if (b.len > o.largest)
			o.largest = b.len;
		o.data.v = realloc(o.data.v, o.data.n + b.len + 1);
		memcpy(o.data.v + o.data.n, b.data, b.len);
		o.data.n += b.len;
	}
	o.error = r;
	assert_int_equal(o.e.code, r);
	if (!r) { /* the end stays the end */
		assert_int_equal(source_read(s, &b, &o.e), 0);
		assert_int_equal(source_read(s, &b, &o.e), 0);
	}
	return o;
}

struct source_set *open_set(const char *path)
{
	struct source_set *set = NULL;
	struct error e = { 0 };

	if (source_set_open(path, &set, &e))
		fail_msg("%s", e.msg);
	return set;
}

size_t n_losses(const struct source_set *set)
{
	size_t all = 0, n;

	for (size_t i = 0; i < set->n_streams; i++) {
		source_losses(set->streams[i], &n);
		all += n;
	}
	return all;
}

void check_gives(const char *path, const void *want, size_t n)
{
	struct source_set *set = open_set(path);
	struct error e = { 0 };

	assert_int_equal(set->n_streams, 1);
	for (int pass = 0; pass < 2; pass++) {
		struct outcome o = drain(set->streams[0]);

		assert_int_equal(o.error, 0);
		assert_int_equal(o.n_gaps, 0);
		assert_int_equal(o.data.n, n);
		assert_memory_equal(o.data.v, want, n);
		if (set->stored_bytes)
			assert_int_equal(set->read_bytes, set->stored_bytes);
		free(o.data.v);
		assert_int_equal(source_rewind(set->streams[0], &e), 0);
		assert_int_equal(set->read_bytes, 0);
	}
	assert_int_equal(n_losses(set), 0);
	source_set_free(set);
}

void check_open_fails(const char *path, int code, const char *text)
{
	struct source_set *set = (void *)1;
	struct error e = { 0 };

	assert_int_equal(source_set_open(path, &set, &e), code);
	assert_int_equal(e.code, code);
	assert_ptr_equal(set, (void *)1); /* set on success only */
	if (!strstr(e.msg, text))
		fail_msg("\"%s\" does not say \"%s\"", e.msg, text);
	assert_null(strchr(e.msg, '\n'));
}
