/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decode/bpf.c: the decoder of BPF records, and the walk over them (see bpf.h). Layer: decode. */
#include "decode/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/bpf_internal.h"

struct bpf_decoder *bpf_decoder_new(const struct bpf_decode_ops *ops, void *ctx,
				    struct intern *strings, struct stacks *stacks)
{
	struct bpf_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->ops = *ops;
	d->ctx = ctx;
	d->strings = strings;
	d->stacks = stacks;
	d->stream.resync_left_bytes = BPF_RESYNC_BYTES;
	map_init(&d->stack_of_id);
	map_init(&d->sleep_facts);
	map_init(&d->open_at);
	return d;
}

void bpf_decoder_free(struct bpf_decoder *d)
{
	if (!d)
		return;
	bpf_stream_done(&d->stream);
	bpf_symbols_done(d);
	map_done(&d->open_at);
	vec_done(&d->open);
	free(d);
}

const struct bpf_decode_stats *bpf_decoder_stats(const struct bpf_decoder *d)
{
	return &d->stats;
}

void bpf_loss_begin(struct bpf_decoder *d)
{
	d->loss_pending = true;
}

static int tell_loss(struct bpf_decoder *d, u64 last_ns)
{
	u64 first_ns = d->any_time ? d->last_ns : 0;

	d->loss_pending = false;
	if (!d->ops.lost)
		return 0;
	/* records of two CPUs may stand in the file the other way round */
	return d->ops.lost(d->ctx, first_ns < last_ns ? first_ns : last_ns,
			   first_ns < last_ns ? last_ns : first_ns, 0, false);
}

int bpf_loss_end(struct bpf_decoder *d, u64 time_ns)
{
	int err = d->loss_pending ? tell_loss(d, time_ns) : 0;

	d->any_time = true;
	d->last_ns = time_ns;
	return err;
}

static bool is_whole(const struct bpf_rec_head *h, size_t len)
{
	return h->size >= sizeof(*h) && h->size % 8 == 0 && h->size <= BPF_MAX_RECORD_BYTES &&
	       h->size <= len;
}

int bpf_records_walk(struct bpf_decoder *d, const char *p, size_t len, size_t *ret_done,
		     struct error *e)
{
	size_t at = 0;
	int err = 0;

	while (len - at >= sizeof(d->record.head) && !err) {
		memcpy(&d->record.head, p + at, sizeof(d->record.head));
		if (!is_whole(&d->record.head, len - at))
			break;
		memcpy(&d->record, p + at, d->record.head.size);
		/* no member is behind TOTALS' last one, but the NUL behind a text */
		if (d->record.head.size < sizeof(d->record.totals))
			memset(d->record.bytes + d->record.head.size, 0,
			       sizeof(d->record.totals) - d->record.head.size);
		memset(d->record.bytes + d->record.head.size, 0, 8);
		at += d->record.head.size;
		d->stats.records++;
		err = bpf_record_decode(d);
	}
	*ret_done = at;
	if (err == -ENOMEM)
		error_set(e, err, "out of memory");
	return err;
}

int bpf_decoder_feed(struct bpf_decoder *d, const char *data, size_t len, struct error *e)
{
	if (d->failed)
		return error_set(e, d->failed, "the decoder failed before");
	d->stats.bytes += len;
	d->failed = bpf_stream_feed(d, data, len, e);
	return d->failed;
}

int bpf_decoder_records(struct bpf_decoder *d, const void *records, size_t len, struct error *e)
{
	size_t done;

	if (d->failed)
		return error_set(e, d->failed, "the decoder failed before");
	d->stats.bytes += len;
	d->failed = bpf_records_walk(d, records, len, &done, e);
	if (!d->failed && done < len) {
		d->stats.refused_records++;
		bpf_loss_begin(d);
	}
	return d->failed;
}

int bpf_decoder_end(struct bpf_decoder *d, struct error *e)
{
	int err = d->failed;

	if (err)
		return error_set(e, err, "the decoder failed before");
	err = bpf_stream_end(d, e);
	if (!err && d->loss_pending)
		err = tell_loss(d, UINT64_MAX);
	if (!err)
		err = bpf_open_tell_all(d);
	if (err == -ENOMEM)
		error_set(e, err, "out of memory");
	d->failed = err;
	return err;
}
