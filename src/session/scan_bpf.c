/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/scan_bpf.c: the first pass over a BPF stream (see scan_bpf.h). Layer: session. */
#include "session/scan_bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/ftrace_text.h"

#define PROGRESS_BYTES (16u << 20)
#define NOTE_MAX_BYTES 512

struct scan {
	struct bpf_scan *s;
	struct gaps *gaps;
	struct bpf_lateness lateness;
};

void bpf_scan_init(struct bpf_scan *s)
{
	memset(s, 0, sizeof(*s));
	map_init(&s->totals_of);
	arena_init(&s->arena);
}

void bpf_scan_done(struct bpf_scan *s)
{
	vec_done(&s->late);
	vec_done(&s->totals);
	vec_done(&s->notes);
	map_done(&s->totals_of);
	arena_done(&s->arena);
	bpf_scan_init(s);
}

static void note_time(struct bpf_scan *s, u64 time_ns)
{
	if (!s->any_event || time_ns < s->first_ns)
		s->first_ns = time_ns;
	if (!s->any_event || time_ns > s->last_ns)
		s->last_ns = time_ns;
	s->any_event = true;
}

static int on_event(void *ctx, const struct event *ev, u64 told_ns)
{
	struct scan *scan = ctx;
	struct bpf_scan *s = scan->s;
	struct bpf_late *late;

	s->events++;
	note_time(s, ev->time_ns);
	/* what is still open lasts until it was told */
	if (told_ns > s->last_ns)
		s->last_ns = told_ns;
	if (ev->cpu < GAPS_MAX_CPU) {
		gaps_event(scan->gaps, ev->cpu, ev->time_ns);
		gaps_event(scan->gaps, ev->cpu, s->last_ns);
	}
	if (!bpf_is_late(&scan->lateness, ev, told_ns))
		return 0;
	if (s->late.n >= BPF_MAX_LATE) {
		s->late_refused++;
		return 0;
	}
	late = vec_push(&s->late);
	if (!late)
		return -ENOMEM;
	*late = (struct bpf_late){ *ev, s->late.n };
	return 0;
}

static int on_lost(void *ctx, u64 first_ns, u64 last_ns, u64 n, bool n_known)
{
	struct scan *scan = ctx;

	/* no time known: anywhere in the recording */
	if (!first_ns && !last_ns)
		last_ns = UINT64_MAX;
	gaps_span(scan->gaps, first_ns, last_ns, n, n_known);
	return 0;
}

static struct bpf_sum sum_of(const struct bpf_dist *d)
{
	struct bpf_sum sum = { .count = d->count, .sum_ns = d->sum_ns, .max_ns = d->max_ns };

	for (u32 i = 0; i < BPF_LOG10_BUCKETS; i++)
		sum.log10[i] = d->log10[i];
	return sum;
}

static int on_totals(void *ctx, const struct bpf_rec_totals *t)
{
	struct bpf_scan *s = ((struct scan *)ctx)->s;
	u64 key = (u64)t->tgid << 32 | t->tid, *known = map_get(&s->totals_of, key);
	struct bpf_totals *to;

	if (!known && s->totals.n >= BPF_MAX_TOTALS) {
		s->totals_refused++;
		return 0;
	}
	to = known ? &s->totals.v[*known] : vec_push(&s->totals);
	if (!to || (!known && !map_set(&s->totals_of, key, s->totals.n - 1)))
		return -ENOMEM;
	to->time_ns = t->head.time_ns;
	to->tid = t->tid;
	to->tgid = t->tgid;
	to->flags = t->flags;
	memcpy(to->comm, t->comm, BPF_COMM_BYTES);
	to->comm[BPF_COMM_BYTES] = '\0';
	for (u32 mode = 0; mode < 2; mode++) {
		to->failed_tries[mode] = t->failed_tries[mode];
		to->wait[mode] = sum_of(&t->wait[mode]);
		to->hold[mode] = sum_of(&t->hold[mode]);
	}
	return 0;
}

static int on_note(void *ctx, const char *key, const char *value)
{
	struct bpf_scan *s = ((struct scan *)ctx)->s;
	struct bpf_note *note;

	/* a stream may repeat what it says of itself */
	for (size_t i = 0; i < s->notes.n; i++) {
		if (!strcmp(s->notes.v[i].key, key) && !strcmp(s->notes.v[i].value, value))
			return 0;
	}
	if (s->notes.n >= BPF_MAX_NOTES)
		return 0;
	note = vec_push(&s->notes);
	if (!note)
		return -ENOMEM;
	note->key = arena_strndup(&s->arena, key, strnlen(key, NOTE_MAX_BYTES));
	note->value = arena_strndup(&s->arena, value, strnlen(value, NOTE_MAX_BYTES));
	return note->key && note->value ? 0 : -ENOMEM;
}

const char *bpf_scan_note(const struct bpf_scan *s, const char *key)
{
	for (size_t i = s->notes.n; i--;) {
		if (!strcmp(s->notes.v[i].key, key))
			return s->notes.v[i].value;
	}
	return NULL;
}

static int decode_blocks(const struct bpf_input *in, struct bpf_decoder *d, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < in->n_blocks && !err; i++)
		err = bpf_decoder_records(d, in->blocks[i].records, in->blocks[i].len, e);
	return err;
}

static int decode_stream(struct source *source, struct bpf_decoder *d,
			 void (*progress)(void *ctx, u64 bytes), void *ctx, struct error *e)
{
	u64 bytes = 0, told_bytes = 0;
	struct source_block block;
	int err = source_rewind(source, e);

	while (!err) {
		err = source_read(source, &block, e);
		if (err <= 0)
			break;
		/* where bytes are missing, the checksum of the chunk they are of tells */
		err = bpf_decoder_feed(d, block.data, block.len, e);
		if (err < 0)
			error_prefix(e, "%s", source_name(source));
		bytes += block.len;
		if (progress && bytes - told_bytes >= PROGRESS_BYTES) {
			told_bytes = bytes;
			progress(ctx, bytes);
		}
	}
	return err;
}

int bpf_input_decode(const struct bpf_input *in, struct bpf_decoder *d,
		     void (*progress)(void *ctx, u64 bytes), void *ctx, struct error *e)
{
	int err = in->set ? decode_stream(in->set->streams[0], d, progress, ctx, e)
			  : decode_blocks(in, d, e);

	return err ? err : bpf_decoder_end(d, e);
}

static int compare_late(const void *a, const void *b)
{
	const struct bpf_late *x = a, *y = b;

	if (x->ev.time_ns != y->ev.time_ns)
		return x->ev.time_ns < y->ev.time_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int bpf_scan_run(struct bpf_scan *s, const struct bpf_input *in, struct gaps *gaps,
		 struct intern *strings, struct stacks *stacks, struct error *e)
{
	static const struct bpf_decode_ops ops = {
		.event = on_event, .lost = on_lost, .totals = on_totals, .note = on_note
	};
	struct scan scan = { .s = s, .gaps = gaps };
	struct bpf_decoder *d = bpf_decoder_new(&ops, &scan, strings, stacks);
	int err;

	if (!d)
		return error_set(e, -ENOMEM, "out of memory");
	err = bpf_input_decode(in, d, NULL, NULL, e);
	if (!err)
		s->stats = *bpf_decoder_stats(d);
	bpf_decoder_free(d);
	gaps_finish(gaps);
	if (!err && gaps->failed)
		err = -ENOMEM;
	if (err)
		return error_set(e, err, "%s", strerror(-err));
	if (s->late.n)
		qsort(s->late.v, s->late.n, sizeof(*s->late.v), compare_late);
	return 0;
}
