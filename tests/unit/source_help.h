/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/source_help.h: for the tests of sources: files packed every way, and what came out. */
#ifndef MMSCOPE_TESTS_SOURCE_HELP_H
#define MMSCOPE_TESTS_SOURCE_HELP_H

#include "source/source.h"

struct bytes {
	char *v;
	size_t n;
};
enum packing { PLAIN, GZIP, ZSTD, XZ, PACKINGS };
extern const size_t magic_len[PACKINGS]; /* first bytes that tell the packing */

/* What a stream gave from its start to its end. */
struct outcome {
	struct bytes data;
	size_t n_blocks, n_gaps, largest;
	size_t gap_at[16]; /* bytes in front of each gap */
	bool ends_with_gap;
	int error;
	struct error e;
};

/* Group set-up and tear-down: a temporary directory for all files. */
int source_make_root(void **state);
int source_remove_root(void **state);
/* "ROOT/name" in a buffer of its own for each of the last four calls. */
const char *at(const char *name);
void put(const char *name, const void *data, size_t n);
/* A file in memory, for the thousands of damaged ones: its descriptor, and a path to open it by. */
int put_memory(const void *data, size_t n, char path[64]);
void put_text(const char *name, const char *text);
void make_dir(const char *name);
struct bytes pack(enum packing p, const void *data, size_t n);
void put_packed(const char *name, enum packing p, const void *data, size_t n);
/* Lines that compress as a trace does, different for each seed. */
struct bytes make_lines(size_t n, u32 seed);
struct outcome drain(struct source *s);
struct source_set *open_set(const char *path);
size_t n_losses(const struct source_set *set);
/* Opens, reads twice (with a rewind), expects exactly @want without loss. */
void check_gives(const char *path, const void *want, size_t n);
void check_open_fails(const char *path, int code, const char *text);

#endif
