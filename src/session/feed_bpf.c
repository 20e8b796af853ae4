/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/feed_bpf.c: BPF records as one stream of events (see feed_bpf.h). Layer: session. */
#include "session/feed_bpf.h"

#include <stdlib.h>

/*
 * What was told late goes in this long after its time, when whatever ended at the very same time
 * has been told by its own record: ends come before begins of the same stamp.
 */
#define AFTER_NS 1000000

struct feed_bpf {
	struct bpf_input in;
	const struct bpf_scan *scan;
	const struct feed_ops *ops;
	void *ctx;
	struct bpf_decoder *decoder;
	struct bpf_lateness lateness;
	size_t next_late;
};

static int put_in(struct feed_bpf *f, u64 until_ns)
{
	int err = 0;

	while (!err && f->next_late < f->scan->late.n &&
	       f->scan->late.v[f->next_late].ev.time_ns <= until_ns)
		err = f->ops->event(f->ctx, &f->scan->late.v[f->next_late++].ev);
	return err;
}

static int on_event(void *ctx, const struct event *ev, u64 told_ns)
{
	struct feed_bpf *f = ctx;
	bool late = bpf_is_late(&f->lateness, ev, told_ns);
	u64 now_ns = f->lateness.told_ns;
	int err = now_ns >= AFTER_NS ? put_in(f, now_ns - AFTER_NS) : 0;

	return err || late ? err : f->ops->event(f->ctx, ev);
}

struct feed_bpf *feed_bpf_new(const struct bpf_input *in, const struct bpf_scan *scan,
			      const struct feed_ops *ops, void *ctx, struct intern *strings,
			      struct stacks *stacks)
{
	static const struct bpf_decode_ops decode = { .event = on_event };
	struct feed_bpf *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->in = *in;
	f->scan = scan;
	f->ops = ops;
	f->ctx = ctx;
	f->decoder = bpf_decoder_new(&decode, f, strings, stacks);
	if (!f->decoder) {
		free(f);
		return NULL;
	}
	return f;
}

void feed_bpf_free(struct feed_bpf *f)
{
	if (!f)
		return;
	bpf_decoder_free(f->decoder);
	free(f);
}

int feed_bpf_run(struct feed_bpf *f, struct error *e)
{
	int err = bpf_input_decode(&f->in, f->decoder, f->ops->progress, f->ctx, e);

	return err ? err : put_in(f, UINT64_MAX);
}
