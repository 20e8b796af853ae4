/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/feed.c: source -> decoder -> one stream of events (see feed.h). Layer: session. */
#include "session/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes decoded at a time when streams are merged: each queues the events of that many. */
#define SLICE_BYTES 16384
#define PROGRESS_BYTES (16u << 20)

struct feed_stream {
	struct feed *feed;
	struct source *source;
	struct ftrace_text *decoder;
	struct source_block block;
	size_t block_at;
	struct event *queue; /* decoded, not yet passed on; only when there are several streams */
	u32 n_queue, queue_at, queue_capacity;
	u64 first_ns, last_ns; /* of its events; only when there are several streams */
	bool any_event, ended;
};
struct feed {
	struct feed_stream *streams;
	size_t n_streams;
	u32 *heap; /* indices of streams with a queued event, by its time */
	size_t n_heap;
	const struct feed_ops *ops;
	void *ctx;
	bool direct; /* events go on as they are decoded */
	u64 bytes, told_bytes;
};

static int on_event_direct(void *ctx, const struct event *ev)
{
	struct feed *f = ((struct feed_stream *)ctx)->feed;

	return f->ops->event(f->ctx, ev);
}

static int on_event_queued(void *ctx, const struct event *ev)
{
	struct feed_stream *s = ctx;

	if (s->n_queue == s->queue_capacity) {
		u32 capacity = s->queue_capacity ? s->queue_capacity * 2 : 128;
		struct event *queue = realloc(s->queue, capacity * sizeof(*queue));

		if (!queue)
			return -ENOMEM;
		s->queue = queue;
		s->queue_capacity = capacity;
	}
	s->queue[s->n_queue++] = *ev;
	if (!s->any_event || ev->time_ns < s->first_ns)
		s->first_ns = ev->time_ns;
	if (!s->any_event || ev->time_ns > s->last_ns)
		s->last_ns = ev->time_ns;
	s->any_event = true;
	return 0;
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	struct feed *f = ((struct feed_stream *)ctx)->feed;

	return f->ops->lost ? f->ops->lost(f->ctx, cpu, n, n_known) : 0;
}

static void on_skipped(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len)
{
	struct feed *f = ((struct feed_stream *)ctx)->feed;

	if (f->ops->skipped)
		f->ops->skipped(f->ctx, why, line_no, line, len);
}

static const struct ftrace_text_ops direct_ops = { on_event_direct, on_lost, on_skipped };
static const struct ftrace_text_ops queued_ops = { on_event_queued, on_lost, on_skipped };

struct feed *feed_new(struct source_set *set, const struct ftrace_text_opts *opts,
		      const struct feed_ops *ops, void *ctx, struct intern *strings,
		      struct stacks *stacks)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops;
	f->ctx = ctx;
	/* the quick pass wants no order: each stream goes to its sink as it is read */
	f->direct = set->n_streams == 1 || opts->lost_only;
	f->streams = calloc(set->n_streams, sizeof(*f->streams));
	f->heap = calloc(set->n_streams, sizeof(*f->heap));
	if (!f->streams || !f->heap)
		goto fail;
	for (size_t i = 0; i < set->n_streams; i++) {
		struct feed_stream *s = &f->streams[i];

		s->feed = f;
		s->source = set->streams[i];
		s->decoder = ftrace_text_new(opts, f->direct ? &direct_ops : &queued_ops, s,
					     strings, stacks);
		f->n_streams++;
		if (!s->decoder)
			goto fail;
	}
	return f;
fail:
	feed_free(f);
	return NULL;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_streams; i++) {
		ftrace_text_free(f->streams[i].decoder);
		free(f->streams[i].queue);
	}
	free(f->streams);
	free(f->heap);
	free(f);
}

const struct ftrace_text_stats *feed_stats(const struct feed *f, size_t stream)
{
	return ftrace_text_stats(f->streams[stream].decoder);
}

bool feed_times(const struct feed *f, size_t stream, u64 *ret_first_ns, u64 *ret_last_ns)
{
	*ret_first_ns = f->streams[stream].first_ns;
	*ret_last_ns = f->streams[stream].last_ns;
	return f->streams[stream].any_event;
}

u64 feed_bytes(const struct feed *f)
{
	return f->bytes;
}

u32 feed_fraction_digits(const struct feed *f)
{
	u32 digits = 0;

	for (size_t i = 0; i < f->n_streams; i++) {
		if (feed_stats(f, i)->fraction_digits > digits)
			digits = feed_stats(f, i)->fraction_digits;
	}
	return digits;
}

/* An error of the decoder names the line; which file it is, only the source knows. */
static int decoded(const struct feed_stream *s, int err, struct error *e)
{
	if (err < 0)
		error_prefix(e, "%s", source_name(s->source));
	return err;
}

/* Reads and decodes up to @max bytes more of the stream. */
static int step(struct feed_stream *s, size_t max, struct error *e)
{
	struct feed *f = s->feed;
	size_t n;
	int err;

	if (s->block_at == s->block.len) {
		err = source_read(s->source, &s->block, e);
		s->block_at = 0;
		if (err <= 0) {
			s->block.len = 0;
			s->ended = true;
			return err ? err : decoded(s, ftrace_text_end(s->decoder, e), e);
		}
		if (s->block.gap_before) {
			err = decoded(s, ftrace_text_gap(s->decoder, e), e);
			if (err)
				return err;
		}
	}
	n = s->block.len - s->block_at;
	if (n > max)
		n = max;
	err = decoded(s, ftrace_text_feed(s->decoder, s->block.data + s->block_at, n, e), e);
	s->block_at += n;
	f->bytes += n;
	if (!err && f->ops->progress && f->bytes - f->told_bytes >= PROGRESS_BYTES) {
		f->told_bytes = f->bytes;
		f->ops->progress(f->ctx, f->bytes);
	}
	return err;
}

/* Decodes until the stream has an event queued, or ends. */
static int fill(struct feed_stream *s, struct error *e)
{
	int err = 0;

	s->n_queue = 0;
	s->queue_at = 0;
	while (!err && !s->n_queue && !s->ended)
		err = step(s, SLICE_BYTES, e);
	return err;
}

static bool before(const struct feed *f, u32 a, u32 b)
{
	const struct feed_stream *x = &f->streams[a], *y = &f->streams[b];
	u64 tx = x->queue[x->queue_at].time_ns, ty = y->queue[y->queue_at].time_ns;

	return tx != ty ? tx < ty : a < b;
}

static void sift_down(struct feed *f, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		u32 swap;

		if (child >= f->n_heap)
			return;
		if (child + 1 < f->n_heap && before(f, f->heap[child + 1], f->heap[child]))
			child++;
		if (!before(f, f->heap[child], f->heap[i]))
			return;
		swap = f->heap[i];
		f->heap[i] = f->heap[child];
		f->heap[child] = swap;
		i = child;
	}
}

static int run_one_by_one(struct feed *f, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < f->n_streams && !err; i++) {
		while (!err && !f->streams[i].ended)
			err = step(&f->streams[i], SIZE_MAX, e);
	}
	return err;
}

static int run_merged(struct feed *f, struct error *e)
{
	int err;

	for (size_t i = 0; i < f->n_streams; i++) {
		err = fill(&f->streams[i], e);
		if (err)
			return err;
		if (f->streams[i].n_queue)
			f->heap[f->n_heap++] = (u32)i;
	}
	for (size_t i = f->n_heap; i--;)
		sift_down(f, i);
	while (f->n_heap) {
		struct feed_stream *s = &f->streams[f->heap[0]];

		err = f->ops->event(f->ctx, &s->queue[s->queue_at++]);
		if (!err && s->queue_at == s->n_queue)
			err = fill(s, e);
		if (err)
			return err;
		if (!s->n_queue)
			f->heap[0] = f->heap[--f->n_heap];
		sift_down(f, 0);
	}
	return 0;
}

int feed_run(struct feed *f, struct error *e)
{
	for (size_t i = 0; i < f->n_streams; i++) {
		int err = source_rewind(f->streams[i].source, e);

		if (err)
			return err;
	}
	return f->direct ? run_one_by_one(f, e) : run_merged(f, e);
}
