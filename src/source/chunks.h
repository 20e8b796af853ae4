/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source/chunks.h: which files of a directory are chunks of a capture, of which stream, and in
 * which order. Layer: source, private to it.
 *
 *	cpu0-00001.txt cpu0-00002.txt.gz cpu3-00001.txt	  one stream for CPU 0, one for CPU 3;
 *							  other names in that directory are left out
 *	trace_stream_1 trace_stream_2.gz trace_stream_10  no cpuN-*: one stream of all, in natural
 *order
 *
 *	bpf.mmscope					  the only stream, whatever lies beside it
 *
 * The order is that of the names without .gz, .zst, .xz; a chunk that is there twice, compressed
 *and not, is an error. Left out: sub-directories and whatever else is no file, and the names in
 * chunks.c's table.
 */
#ifndef MMSCOPE_SOURCE_CHUNKS_H
#define MMSCOPE_SOURCE_CHUNKS_H

#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

#define CHUNK_NO_CPU UINT32_MAX

struct chunk {
	char *path;	/* owned */
	u32 name, stem; /* where in the path the file's name begins, and its length without .gz etc.
			 */
	u32 cpu;	/* of cpuN-*, else CHUNK_NO_CPU */
	int fd;		/* of a spooled or inherited file: owned, open all the time; else -1 */
	u64 begin; /* where in the file the chunk begins (stdin may have been read by others) */
	u64 size_bytes;	   /* stored, 0 = unknown (tracefs) */
	bool done, broken; /* read to its end at least once; a loss was noted */
};
struct chunk_list {
	struct chunk *v;
	size_t n, capacity; /* as VEC() */
};

/*
 * The chunks of @dir_path, sorted by stream and order. *@ret_left_out counts the entries that are
 * none, *@ret_instead the chunks that bpf.mmscope is used instead of. Errors: unreadable, no
 * chunks, a chunk twice, too many. @list is owned by the caller also then: chunks_done().
 */
int chunks_list(const char *dir_path, struct chunk_list *list, size_t *ret_left_out,
		size_t *ret_instead, struct error *e) MUST_CHECK;
void chunk_done(struct chunk *c);
void chunks_done(struct chunk_list *list);

#endif
