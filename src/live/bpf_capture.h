/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_capture.h: the BPF programs at work: loaded, attached, their ring drained on a timer,
 * and each stack's functions named before its first use. Layer: live. What comes out is a stream of
 * whole records (wire/bpf_record.h) that decode/bpf.h reads.
 *
 *	bpf_capture_new(), bpf_capture_watch()..., bpf_capture_start()
 *	bpf_capture_drain() every few ms
 *	bpf_capture_snapshot() when open waits or totals are wanted
 *	bpf_capture_stop() drains the rest and takes the last snapshot
 *
 * An error that the sink returns comes back from each of them; what the sink has put into the same
 * struct error stays there.
 */
#ifndef MMSCOPE_LIVE_BPF_CAPTURE_H
#define MMSCOPE_LIVE_BPF_CAPTURE_H

#include "live/bpf_load.h"

#define BPF_CAPTURE_DRAIN_MS 50

/* Gets whole records, valid during the call. Non-zero stops and is returned. */
typedef int (*bpf_sink)(void *ctx, const void *records, size_t len);

struct bpf_capture_counts {
	u64 records, bytes; /* out of the ring so far */
	u64 lost;
	u64 stacks, symbols;
	u64 symbols_missing; /* frames whose function is not known */
	u64 maps_timeouts;   /* processes whose maps could not be read in time: addresses stay */
};

struct bpf_capture;
int bpf_capture_new(const struct bpf_load_opts *opts, bpf_sink sink, void *ctx,
		    struct bpf_capture **ret, struct error *e) MUST_CHECK;
void bpf_capture_free(struct bpf_capture *c);
int bpf_capture_watch(struct bpf_capture *c, pid_t tgid, struct error *e) MUST_CHECK;
/* Attaches, and writes the NOTE records (kernel, min_ns, rungs, ...). */
int bpf_capture_start(struct bpf_capture *c, struct error *e) MUST_CHECK;
int bpf_capture_drain(struct bpf_capture *c, struct error *e) MUST_CHECK;
int bpf_capture_snapshot(struct bpf_capture *c, u64 min_age_ns, bool totals,
			 struct error *e) MUST_CHECK;
int bpf_capture_stop(struct bpf_capture *c, struct error *e) MUST_CHECK;
const struct bpf_rungs *bpf_capture_rungs(const struct bpf_capture *c);
const struct bpf_capture_counts *bpf_capture_counts(const struct bpf_capture *c);

#endif
