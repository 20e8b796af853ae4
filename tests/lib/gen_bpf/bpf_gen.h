/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_gen.h: what the parts of bpf_gen share. Part of the tests: makes BPF record streams. */
#ifndef BPF_GEN_H
#define BPF_GEN_H

#include "wire/bpf_record.h"

/* ---- bpf_out.c: the file ---- */

struct out_options {
	bool records_only; /* no header, no chunks: what the live commands have in memory */
};
/* What a chunk, or the header, says instead of the truth; -1 = the truth. */
struct out_lies {
	s64 magic, payload_bytes, crc32, records;
};
#define OUT_NO_LIES ((struct out_lies){ -1, -1, -1, -1 })

void out_open(const char *path, const struct out_options *opts);
/* Replaces the header, before anything else is written. */
void out_header(const struct bpf_file_header *h);
/* Ends the chunk; the next one tells these lies. */
void out_chunk(const struct out_lies *next);
void out_record(const void *record, size_t len);
/* Bytes behind the chunk so far. */
void out_junk(const void *bytes, size_t len);
void out_close(void);

void die(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* ---- bpf_layout.c: members by name ---- */

enum field_type { F_U16, F_U32, F_S32, F_U64, F_TEXT, F_HEAD, F_WHO, F_CALL, F_DIST };
struct field {
	const char *name;
	u32 offset, size; /* size 0: the flexible array */
	enum field_type type;
};
struct layout {
	const char *name; /* "rec_wait" */
	u32 size;
	const struct field *fields; /* up to one without a name */
};
/* NULL when there is none of that name. */
const struct layout *layout_of(const char *name);
/*
 * Where "mm", "owner.tid", "wait[1].log2[3]" is, counted from the record's start; members of who,
 * call and head need no prefix, and "_ns" at the end of a name may be left out.
 */
bool layout_find(const struct layout *l, const char *key, struct field *ret);
/* Prints every struct; dies when the rows do not cover one of them exactly. */
void layout_print(void);

/* ---- bpf_script.c, bpf_random.c ---- */

void script_run(const char *path);
/* A line of a script; what bpf_random.c writes with. */
void script_line(const char *line);
void random_run(u64 seed, u32 episodes);

#endif
