/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/scan_bpf.h: the first pass over a BPF stream, which finds what must be known before its
 * events are put in order. Layer: session.
 *
 * A record is told when what it tells is over, so its first events come as late as it lasted: a
 * wait of 30 s is 30 s out of order. The scan keeps those that come more than a few ms late; the
 * main pass (feed_bpf.h) puts each in at its time and passes over it when its record comes. It
 * finds the spans of lost records, the totals and the notes too.
 */
#ifndef MMSCOPE_SESSION_SCAN_BPF_H
#define MMSCOPE_SESSION_SCAN_BPF_H

#include "base/map.h"
#include "base/vec.h"
#include "decode/bpf.h"
#include "model/gaps.h"
#include "session/analyze.h"
#include "source/source.h"

/* Later than this behind the newest record, an event is put in by the main pass. */
#define BPF_LATE_NS 10000000ULL
/* The window that sorts the rest: they are BPF_LATE_NS late at most, and so are what was put in. */
#define BPF_ORDER_WINDOW_NS 20000000ULL
/* Past this many, what began earlier is not seen to begin: counted, and open at its begin. */
#define BPF_MAX_LATE (1u << 20)
#define BPF_MAX_TOTALS (1u << 16) /* threads and ended processes */
#define BPF_MAX_NOTES 256

/* Where the records come from: a stored stream, or blocks in memory. */
struct bpf_input {
	struct source_set *set; /* one stream; NULL: the blocks */
	const struct analyze_block *blocks;
	size_t n_blocks;
};
/* How far the newest record has come, in the order of the stream. */
struct bpf_lateness {
	u64 told_ns;
};
/* Takes an event of a record told at @told_ns: is it one of those that come late? Both passes ask
 * for all events in the same order, and so agree. */
static inline bool bpf_is_late(struct bpf_lateness *l, const struct event *ev, u64 told_ns)
{
	if (told_ns > l->told_ns)
		l->told_ns = told_ns;
	return l->told_ns > ev->time_ns && l->told_ns - ev->time_ns > BPF_LATE_NS;
}

struct bpf_late {
	struct event ev;
	u64 seq; /* in the order of the stream */
};
struct bpf_note {
	const char *key, *value;
};
/* The newest TOTALS of one thread, or of the ended threads of a process (tid 0). */
struct bpf_sum {
	u64 count, sum_ns, max_ns, log10[BPF_LOG10_BUCKETS];
};
struct bpf_totals {
	u64 time_ns;
	u32 tid, tgid, flags;
	char comm[BPF_COMM_BYTES + 1];
	u64 failed_tries[2];
	struct bpf_sum wait[2], hold[2]; /* by enum lock_mode: read, write */
};
struct bpf_scan {
	VEC(struct bpf_late) late; /* by (time, seq) */
	u64 late_refused;
	u64 events;
	u64 first_ns, last_ns; /* earliest event, newest event or record */
	bool any_event;
	VEC(struct bpf_totals) totals; /* unordered, one per (tgid, tid) */
	struct map totals_of;
	u64 totals_refused;
	VEC(struct bpf_note) notes;
	struct arena arena; /* of notes */
	struct bpf_decode_stats stats;
	bool failed; /* out of memory */
};

void bpf_scan_init(struct bpf_scan *s);
void bpf_scan_done(struct bpf_scan *s);
/* Fills @s and @gaps (initialised by the caller). @strings, @stacks: those of the main pass. */
int bpf_scan_run(struct bpf_scan *s, const struct bpf_input *in, struct gaps *gaps,
		 struct intern *strings, struct stacks *stacks, struct error *e) MUST_CHECK;
/* The newest value of a note, NULL when there is none. */
const char *bpf_scan_note(const struct bpf_scan *s, const char *key);

/* All bytes of the input through the decoder. @progress may be NULL. */
int bpf_input_decode(const struct bpf_input *in, struct bpf_decoder *d,
		     void (*progress)(void *ctx, u64 bytes), void *ctx, struct error *e) MUST_CHECK;

#endif
