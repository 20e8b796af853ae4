/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/bpf.h: the records of the BPF programs (wire/bpf_record.h, docs/FORMAT.md) to events.
 * Layer: decode. A pure function of the bytes fed: no I/O.
 *
 * A record tells of something that lasts when it is over, so it becomes several events, the first
 *of them as old as the wait was long:
 *
 *	WAIT	LOCK_WAIT_START at begin_ns, LOCK_WAIT_END at the end
 *	HOLD	LOCK_HOLD_START, LOCK_HOLD_END
 *	SLEEP	of a VMA writer: VMA_WRITE_WAIT_START, VMA_WRITE_WAIT_END;
 *		in a fault: FAULT_BEGIN (its first sleep only), FAULT_WAIT_START, FAULT_WAIT_END
 *	FAULT	FAULT_RETRY or FAULT_END
 *	PROCESS	PROC_FORK (with TASK_NEWTASK's tgid in ->tgid of the child), PROC_EXEC, PROC_EXIT
 *
 * Each event carries the thread's priority, state and system call of that time (event.has). An open
 * record (BFLAG_OPEN) gives only the START events, once for each (tid, begin_ns), at
 * bpf_decoder_end(), and only if no record told of the end.
 */
#ifndef MMSCOPE_DECODE_BPF_H
#define MMSCOPE_DECODE_BPF_H

#include "base/error.h"
#include "base/intern.h"
#include "model/stack.h"
#include "wire/bpf_record.h"
#include "wire/event.h"

/* Open records, stacks and symbols kept at a time; more are refused and counted. */
#define BPF_DECODE_MAX_OPEN (1u << 16)
#define BPF_DECODE_MAX_STACKS (1u << 18)
#define BPF_DECODE_MAX_SYMBOLS (1u << 20)

struct bpf_decode_ops {
	/*
	 * Valid during the call. @told_ns: the time of the record it comes from; the caller puts in
	 * order what was told late. Non-zero stops the decoder, which returns it.
	 */
	int (*event)(void *ctx, const struct event *ev, u64 told_ns);
	/* @n records lost between the two times; bytes that could not be read: @n_known false. */
	int (*lost)(void *ctx, u64 first_ns, u64 last_ns, u64 n, bool n_known);
	/* Totals of a thread so far, or of the dead threads of a process; may come again. */
	int (*totals)(void *ctx, const struct bpf_rec_totals *t);
	/* "key", "value" of a NOTE; NUL-terminated, any other byte possible. */
	int (*note)(void *ctx, const char *key, const char *value);
};
/* Any of the ops may be NULL. */

struct bpf_decode_stats {
	u64 bytes, chunks, records;
	u64 by_kind[BREC_LIMIT];
	u64 unknown_kinds;   /* records of a later version: skipped */
	u64 refused_records; /* sizes or values that cannot be */
	u64 bad_chunks;	     /* checksum or length wrong: left out, told as lost */
	u64 cut_bytes;	     /* after the last whole record: the recording was cut off here */
	u64 missing_stacks;  /* records that name a stack nobody told */
	u64 refused_limits;  /* past a limit above */
};

struct bpf_decoder;
/* @strings and @stacks belong to the caller and outlive the decoder. NULL when out of memory. */
struct bpf_decoder *bpf_decoder_new(const struct bpf_decode_ops *ops, void *ctx,
				    struct intern *strings, struct stacks *stacks);
void bpf_decoder_free(struct bpf_decoder *d);
/*
 * Bytes of a bpf.mmscope, cut anywhere: header, chunks. 0, a callback's non-zero, or a negative
 * errno with @e set: -EPROTO (not this format, a newer version, the other byte order), -ENOMEM.
 */
int bpf_decoder_feed(struct bpf_decoder *d, const char *data, size_t len,
		     struct error *e) MUST_CHECK;
/* Whole records without header and chunks, as the live commands have them. */
int bpf_decoder_records(struct bpf_decoder *d, const void *records, size_t len,
			struct error *e) MUST_CHECK;
/* The end: what is still open is told. A cut chunk gives its whole records. */
int bpf_decoder_end(struct bpf_decoder *d, struct error *e) MUST_CHECK;
const struct bpf_decode_stats *bpf_decoder_stats(const struct bpf_decoder *d);

#endif
