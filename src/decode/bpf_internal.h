/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/bpf_internal.h: what the parts of the decoder of BPF records share. Private to decode.
 *
 *	bpf.c		the decoder itself, and the walk over records
 *	bpf_stream.c	header, chunks and checksums out of bytes cut anywhere
 *	bpf_records.c	records to events
 *	bpf_open.c	what is not over yet
 *	bpf_symbols.c	functions, stacks, and what a stack says of a sleep
 */
#ifndef MMSCOPE_DECODE_BPF_INTERNAL_H
#define MMSCOPE_DECODE_BPF_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "decode/bpf.h"

/* CLOCK_MONOTONIC counts from boot: a time of over 292 years is none. */
#define BPF_MAX_TIME_NS (1ULL << 63)
/* What wrong checksums may cost while a whole chunk is looked for (bpf_stream.c). */
#define BPF_RESYNC_BYTES (8ULL * BPF_MAX_CHUNK_BYTES)

/* The largest record of a fixed size is TOTALS; STACK, SYMBOL and NOTE fill the rest. */
union bpf_any_record {
	struct bpf_rec_head head;
	struct bpf_rec_wait wait;
	struct bpf_rec_hold hold;
	struct bpf_rec_sleep sleep;
	struct bpf_rec_fault fault;
	struct bpf_rec_process process;
	struct bpf_rec_stack stack;
	struct bpf_rec_totals totals;
	struct bpf_rec_lost lost;
	struct bpf_rec_symbol symbol;
	struct bpf_rec_note note;
	char bytes[BPF_MAX_RECORD_BYTES + 8]; /* and a NUL behind a text */
};

enum bpf_machine { BPF_MACHINE_UNKNOWN, BPF_MACHINE_X86_64, BPF_MACHINE_AARCH64 };

struct bpf_open_record {
	u64 record_no;
	union {
		struct bpf_rec_head head;
		struct bpf_rec_wait wait;
		struct bpf_rec_hold hold;
		struct bpf_rec_sleep sleep;
	} r;
};

struct bpf_stream {
	bool header_seen, searching; /* searching: bytes are bad until the next whole chunk */
	u64 skip_bytes;		     /* of the header, past what this version knows */
	u64 resync_left_bytes;
	char *buf;
	size_t at, len, capacity; /* [at, len) is to be read */
};

struct bpf_decoder {
	struct bpf_decode_ops ops;
	void *ctx;
	struct intern *strings;
	struct stacks *stacks;
	struct bpf_decode_stats stats;
	int failed; /* what the last call returned, if not 0: it stays so */

	struct bpf_stream stream;
	/* bytes were left out since the record at last_ns; told with the next record's time */
	bool loss_pending, any_time;
	u64 last_ns;

	enum bpf_machine machine; /* NOTE machine= */
	void *symbols;		  /* tsearch() tree of struct bpf_symbol */
	u32 n_symbols;
	struct map stack_of_id; /* by the record's id */
	struct map sleep_facts; /* by model stack id: reason << 32 | caller */
	struct map open_at;	/* index in open by the hash of its key */
	VEC(struct bpf_open_record) open;
	union bpf_any_record record; /* the one at hand: aligned, members it lacks are 0 */
};

/* ---- bpf.c ---- */

/*
 * Whole records out of [p, p + len); *@ret_done: how many bytes of them. Stops in front of one that
 * cannot be or is cut.
 */
int bpf_records_walk(struct bpf_decoder *d, const char *p, size_t len, size_t *ret_done,
		     struct error *e) MUST_CHECK;
/* Bytes are missing here. */
void bpf_loss_begin(struct bpf_decoder *d);
/* A time that can be trusted: what is missing ends here. */
int bpf_loss_end(struct bpf_decoder *d, u64 time_ns) MUST_CHECK;

/* ---- bpf_stream.c ---- */

void bpf_stream_done(struct bpf_stream *s);
int bpf_stream_feed(struct bpf_decoder *d, const char *data, size_t len,
		    struct error *e) MUST_CHECK;
int bpf_stream_end(struct bpf_decoder *d, struct error *e) MUST_CHECK;

/* ---- bpf_records.c ---- */

/* The record at hand, @d->record. -ENOMEM, or a callback's non-zero. */
int bpf_record_decode(struct bpf_decoder *d) MUST_CHECK;
/* The beginning of something that is not over. */
int bpf_open_tell(struct bpf_decoder *d, const struct bpf_open_record *o) MUST_CHECK;

/* ---- bpf_open.c ---- */

/* An open WAIT, HOLD or SLEEP, kept for the end; one told before is replaced. */
int bpf_open_keep(struct bpf_decoder *d, size_t size) MUST_CHECK;
/* The end of what may have been told as open. */
void bpf_open_forget(struct bpf_decoder *d, const struct bpf_rec_head *record);
int bpf_open_tell_all(struct bpf_decoder *d) MUST_CHECK;

/* ---- bpf_symbols.c ---- */

void bpf_symbols_done(struct bpf_decoder *d);
int bpf_symbol_add(struct bpf_decoder *d, const struct bpf_rec_symbol *r) MUST_CHECK;
int bpf_stack_add(struct bpf_decoder *d, const struct bpf_rec_stack *r) MUST_CHECK;
/* The model's id of a stack; 0 where there is none, counted where nobody told it. */
u32 bpf_stack_id(struct bpf_decoder *d, u64 id);
/* The user frames behind the kernel frames, as one stack; both are ids of the trace's stacks. */
u32 bpf_stack_join(struct bpf_decoder *d, u32 kernel, u32 user);
/* Why a thread sleeps inside a fault, by the stack; who asked for the VMA's lock. Intern ids. */
u32 bpf_stack_reason(struct bpf_decoder *d, u32 stack);
u32 bpf_stack_caller(struct bpf_decoder *d, u32 stack);

#endif
