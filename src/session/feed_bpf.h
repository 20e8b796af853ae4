/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/feed_bpf.h: the events of a BPF stream, near enough to their order for the window of
 * model/order.h (BPF_ORDER_WINDOW_NS). Layer: session. scan_bpf.h says how.
 */
#ifndef MMSCOPE_SESSION_FEED_BPF_H
#define MMSCOPE_SESSION_FEED_BPF_H

#include "session/feed.h"
#include "session/scan_bpf.h"

struct feed_bpf;
/* @scan: of the same input. Of @ops, event and progress are used. NULL when out of memory. */
struct feed_bpf *feed_bpf_new(const struct bpf_input *in, const struct bpf_scan *scan,
			      const struct feed_ops *ops, void *ctx, struct intern *strings,
			      struct stacks *stacks);
void feed_bpf_free(struct feed_bpf *f);
/* Everything, to the end. 0, a callback's non-zero, or a negative errno with @e set. */
int feed_bpf_run(struct feed_bpf *f, struct error *e) MUST_CHECK;

#endif
