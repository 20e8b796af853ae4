/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/stream.h: what is behind struct source. Layer: source, private to it. */
#ifndef MMSCOPE_SOURCE_STREAM_H
#define MMSCOPE_SOURCE_STREAM_H

#include "base/vec.h"
#include "source/chunks.h"
#include "source/codec.h"
#include "source/source.h"

/* A set and what its streams share. */
struct source_set_full {
	struct source_set set; /* first: the public part */
	struct chunk_list chunks;
	size_t chunks_done; /* read to their end at least once */
	u64 delivered_bytes;
};

struct source {
	struct source_set_full *full;
	struct chunk *chunks; /* part of full->chunks */
	size_t n_chunks;
	size_t in_size, out_size;
	bool keep_open; /* a chunk stays open from read to read (few streams only) */
	bool gap, ended;
	VEC(struct source_loss) losses;

	/* the chunk being read */
	size_t at;
	bool begun;
	int fd;
	u64 stored_bytes; /* read of it */
	u64 good_bytes;	  /* given of it */
	u8 *in, *out;
	struct codec_io io;
	const struct codec_ops *codec; /* NULL: plain bytes */
	void *codec_state;
	bool may_end, no_more_input;

	u64 read_bytes; /* stored bytes of all chunks since the start or the last rewind */
};

struct source *stream_new(struct source_set_full *full, struct chunk *chunks, size_t n_chunks,
			  size_t n_streams);
void stream_free(struct source *s);

#endif
