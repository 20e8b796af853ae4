/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_window.h: the records of one refresh of `mmscope locks`, with what earlier ones are
 * still needed for. Layer: live; looks at record heads only.
 *
 * Kept for good: STACK, SYMBOL and NOTE records (the dictionary), the TOTALS of
 * the last snapshot that had any: the first TOTALS record of a window replaces all those of earlier
 * ones, since a thread that has ended is in the sum of its process now.
 * Carried into the next window:
 *	records of an address space in which a wait or sleep is open that began before their end,
 *	since its blame will need them; LOST records that end inside of any open wait;
 *	the sleeps of a fault that is not over, since it is told when it began by the first of them;
 *	what ended less than 50 ms before @now_ns, for waits that began after the snapshot.
 * What is open is what the snapshots of the window told as open and no record told as over. The
 * open records themselves go: the next snapshot tells them anew. Everything else lives for one
 * window.
 */
#ifndef MMSCOPE_LIVE_BPF_WINDOW_H
#define MMSCOPE_LIVE_BPF_WINDOW_H

#include "base/error.h"
#include "base/types.h"

#define BPF_WINDOW_MAX_BYTES (256u << 20) /* per part; more is left out and counted */

struct bpf_block {
	const void *records;
	size_t len;
};
struct bpf_window;
struct bpf_window *bpf_window_new(void);
void bpf_window_free(struct bpf_window *w);
/* A bpf_sink. -ENOMEM, or 0. */
int bpf_window_add(void *w, const void *records, size_t len);
/* To be decoded in this order: symbols and notes, stacks, totals, what is carried, what is new. */
#define BPF_WINDOW_BLOCKS 5
size_t bpf_window_blocks(const struct bpf_window *w, struct bpf_block ret[BPF_WINDOW_BLOCKS]);
/*
 * Begins the next window. @now_ns: when the last drain before this window's snapshot began; what
 * ended later belongs to the next one.
 */
int bpf_window_next(struct bpf_window *w, u64 now_ns) MUST_CHECK;
/* When this window began; only what ended since then is counted. */
u64 bpf_window_begin_ns(const struct bpf_window *w);
u64 bpf_window_left_out(const struct bpf_window *w); /* records past the limit */

#endif
