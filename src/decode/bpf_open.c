/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/bpf_open.c: waits, holds and sleeps that were told while they lasted. Layer: decode.
 *
 * The BPF programs tell an open wait again at each snapshot, and once more when it is over: only
 * what nobody told the end of is an event, at the end of the stream.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/bpf_internal.h"

/* What is the same in every record of one wait. */
struct open_key {
	u64 begin_ns;
	u32 tid, kind;
};

static struct open_key key_of(const struct bpf_rec_head *h)
{
	struct open_key k = { .kind = h->kind };

	switch (h->kind) {
	case BREC_WAIT:
		k.begin_ns = ((const struct bpf_rec_wait *)h)->begin_ns;
		k.tid = ((const struct bpf_rec_wait *)h)->who.tid;
		break;
	case BREC_HOLD:
		k.begin_ns = ((const struct bpf_rec_hold *)h)->begin_ns;
		k.tid = ((const struct bpf_rec_hold *)h)->who.tid;
		break;
	default:
		k.begin_ns = ((const struct bpf_rec_sleep *)h)->begin_ns;
		k.tid = ((const struct bpf_rec_sleep *)h)->who.tid;
		break;
	}
	return k;
}

static u64 key_hash(struct open_key k)
{
	return hash_u64(k.begin_ns ^ hash_u64((u64)k.kind << 32 | k.tid));
}

/* Another one with the same hash counts as there too. */
static struct bpf_open_record *find(struct bpf_decoder *d, struct open_key k, bool *ret_same)
{
	u64 *at = map_get(&d->open_at, key_hash(k));
	struct bpf_open_record *o = at ? &d->open.v[*at] : NULL;
	struct open_key other;

	*ret_same = false;
	if (o) {
		other = key_of(&o->r.head);
		*ret_same =
			other.begin_ns == k.begin_ns && other.tid == k.tid && other.kind == k.kind;
	}
	return o;
}

int bpf_open_keep(struct bpf_decoder *d, size_t size)
{
	struct open_key k = key_of(&d->record.head);
	struct bpf_open_record *o;
	bool same;

	o = find(d, k, &same);
	if (!o) {
		if (d->open.n >= BPF_DECODE_MAX_OPEN) {
			d->stats.refused_limits++;
			return 0;
		}
		if (!map_set(&d->open_at, key_hash(k), d->open.n))
			return -ENOMEM;
		o = vec_push(&d->open);
		if (!o) {
			map_remove(&d->open_at, key_hash(k));
			return -ENOMEM;
		}
	} else if (!same) {
		d->stats.refused_limits++;
		return 0;
	}
	o->record_no = d->stats.records;
	memcpy(&o->r, &d->record, size);
	return 0;
}

void bpf_open_forget(struct bpf_decoder *d, const struct bpf_rec_head *record)
{
	struct open_key k = key_of(record);
	struct bpf_open_record *o, *last;
	bool same;

	o = find(d, k, &same);
	if (!same)
		return;
	last = &d->open.v[d->open.n - 1];
	map_remove(&d->open_at, key_hash(k));
	if (o != last) {
		*o = *last;
		/* its slot is there: no memory is asked for */
		*map_get(&d->open_at, key_hash(key_of(&o->r.head))) = (u64)(o - d->open.v);
	}
	d->open.n--;
}

static int compare_open(const void *a, const void *b)
{
	struct open_key x = key_of(&((const struct bpf_open_record *)a)->r.head);
	struct open_key y = key_of(&((const struct bpf_open_record *)b)->r.head);

	if (x.begin_ns != y.begin_ns)
		return x.begin_ns < y.begin_ns ? -1 : 1;
	if (x.tid != y.tid)
		return x.tid < y.tid ? -1 : 1;
	return x.kind < y.kind ? -1 : x.kind > y.kind;
}

int bpf_open_tell_all(struct bpf_decoder *d)
{
	int err = 0;

	/* in an order that does not depend on how the others went */
	if (d->open.n)
		qsort(d->open.v, d->open.n, sizeof(*d->open.v), compare_open);
	map_done(&d->open_at);
	for (size_t i = 0; i < d->open.n && !err; i++)
		err = bpf_open_tell(d, &d->open.v[i]);
	d->open.n = 0;
	return err;
}
