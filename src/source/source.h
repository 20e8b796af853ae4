/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source/source.h: where stored or piped bytes come from. Layer: source.
 *
 * A path (file, directory of chunks, session directory, "-") becomes a source_set of one or more
 * streams; a stream is one series of chunks in natural order (trace_stream_2 before
 * trace_stream_10), decompressed on the way (gzip, zstd, xz, by content). Streams of one set are
 * parts of the same capture (one per CPU) and are merged by time by the session. Nothing is put
 * between two chunks, so a record cut at their border is whole again. A set and its streams belong
 * to one thread at a time.
 */
#ifndef MMSCOPE_SOURCE_SOURCE_H
#define MMSCOPE_SOURCE_SOURCE_H

#include "base/error.h"
#include "base/types.h"

#define SOURCE_MAX_CHUNKS 100000
#define SOURCE_MAX_STREAMS 4096 /* = CPUs */

struct source_block {
	const char *data; /* valid until the next call on the same stream */
	size_t len;	  /* 0 only in the last block, when a loss ends the stream */
	bool gap_before;  /* bytes are missing in front of this block (a broken chunk) */
};

/* A chunk, or part of one, that could not be read: told to the user, never silent. */
struct source_loss {
	const char *path;
	u64 offset_bytes; /* good (decompressed) bytes of that chunk before the break */
	char why[160];
};

struct source;
struct source_set {
	struct source **streams;
	size_t n_streams;
	char *path;	  /* as the user gave it */
	u64 stored_bytes; /* size on disk of all chunks, for progress; 0 = unknown */
	u64 read_bytes;	  /* of these, read so far (less again after a rewind) */
	size_t n_chunks;
	size_t n_left_out; /* entries of a directory that are no chunks (source/chunks.c) */
	size_t n_instead;  /* chunks that bpf.mmscope of the same directory is used instead of */
};

/*
 * Opens @path. Errors (one line in @e): missing, unreadable, a directory without chunks, empty
 * file, neither file, pipe nor directory, too many chunks or CPUs. Which files of a directory are
 * chunks, and of which stream: source/chunks.h. stdin ("-") and a named pipe are spooled to an
 * unlinked temporary file ($TMPDIR or /tmp), so that they can be rewound.
 */
int source_set_open(const char *path, struct source_set **ret, struct error *e) MUST_CHECK;
void source_set_free(struct source_set *set);
/*
 * Next block: 1, 0 at the end (again and again), negative errno with @e set. A broken chunk is no
 * error: what came out of it before the break was delivered, source_losses() names it, and the next
 * block has gap_before set; an empty block with gap_before comes at the end when the last chunk is
 * the broken one. It is an error when the whole set has not given one byte.
 */
int source_read(struct source *s, struct source_block *ret, struct error *e) MUST_CHECK;
/* Back to the first byte. Losses found so far stay known and are not counted twice. */
int source_rewind(struct source *s, struct error *e) MUST_CHECK;
/* Valid until the next source_read() of the stream. */
const struct source_loss *source_losses(const struct source *s, size_t *ret_n);
/* A name for messages: the file's path, or the first chunk's. */
const char *source_name(const struct source *s);

#endif
