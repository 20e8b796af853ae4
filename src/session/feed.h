/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/feed.h: the events of a source set as one stream: decoded, and merged by time when the
 * capture is one series of chunks per CPU. Layer: session.
 */
#ifndef MMSCOPE_SESSION_FEED_H
#define MMSCOPE_SESSION_FEED_H

#include "decode/ftrace_text.h"
#include "source/source.h"

struct feed_ops {
	/* Non-zero stops the feed, which returns it. */
	int (*event)(void *ctx, const struct event *ev);
	int (*lost)(void *ctx, u16 cpu, u64 n, bool n_known);
	void (*skipped)(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len);
	/* Bytes read so far, decompressed; now and then. May be NULL. */
	void (*progress)(void *ctx, u64 bytes);
};
struct feed;
struct feed *feed_new(struct source_set *set, const struct ftrace_text_opts *opts,
		      const struct feed_ops *ops, void *ctx, struct intern *strings,
		      struct stacks *stacks);
void feed_free(struct feed *f);
/* Everything, to the end. 0, a callback's non-zero, or a negative errno with @e set. */
int feed_run(struct feed *f, struct error *e) MUST_CHECK;
/* One per stream of the set, in its order. */
const struct ftrace_text_stats *feed_stats(const struct feed *f, size_t stream);
/* First and last time stamp of a stream; false when it had no event or is the only one. */
bool feed_times(const struct feed *f, size_t stream, u64 *ret_first_ns, u64 *ret_last_ns);
/* Bytes decoded so far, of all streams. */
u64 feed_bytes(const struct feed *f);
/* Most digits after the decimal point of a time stamp so far, over all streams. */
u32 feed_fraction_digits(const struct feed *f);

#endif
