/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source/codec.h: a decompressor as the stream sees it. Layer: source, private to it.
 * Each takes concatenated members (frames, streams), as the command line tools of its format do.
 */
#ifndef MMSCOPE_SOURCE_CODEC_H
#define MMSCOPE_SOURCE_CODEC_H

#include "base/types.h"

#define CODEC_WHY_LEN 160
#define CODEC_MAGIC_LEN 10 /* so many first bytes tell any of them */
/* What an archive may make us hold at once: its window, dictionary. `zstd --long=28` and up need
 * more. */
#define CODEC_MAX_WINDOW_LOG 27
#define CODEC_MAX_MEMORY_BYTES (128ULL << 20)

struct codec_io {
	const u8 *in;
	size_t in_len;
	u8 *out;
	size_t out_len; /* room left */
};
struct codec_ops {
	const char *name;
	void *(*new)(void); /* NULL when out of memory */
	void (*free)(void *state);
	/*
	 * Moves on as far as input and room allow, stepping @io on. @at_end: no more input will
	 * come. 1: the compressed data may end here; 0: more has to come; negative errno: broken,
	 * @why says how. Bytes written before a break count.
	 */
	int (*run)(void *state, struct codec_io *io, bool at_end, char why[CODEC_WHY_LEN]);
};
extern const struct codec_ops codec_gzip, codec_zstd, codec_xz;

struct codec_magic {
	const char *name;
	u8 offset, len;
	const char *bytes;
	const struct codec_ops *ops; /* NULL: known by sight, not read */
};
/* By the first bytes of a file; NULL = not compressed in a way known here. */
const struct codec_magic *codec_find(const void *data, size_t len);

#endif
