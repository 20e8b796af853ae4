/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/totals.bpf.h: exact counts and histograms, per thread without atomics; an ended thread's go
 * to those of its process. Layer: bpf.
 */
#ifndef MMSCOPE_BPF_TOTALS_BPF_H
#define MMSCOPE_BPF_TOTALS_BPF_H

#include "bpf/maps.bpf.h"

/* Position of the highest bit + 1; BPF has no instruction for it. */
INLINE u32 bits_of(u64 v)
{
	u32 n = 0;

	if (v >> 32) {
		v >>= 32;
		n = 32;
	}
	if (v >> 16) {
		v >>= 16;
		n += 16;
	}
	if (v >> 8) {
		v >>= 8;
		n += 8;
	}
	if (v >> 4) {
		v >>= 4;
		n += 4;
	}
	if (v >> 2) {
		v >>= 2;
		n += 2;
	}
	if (v >> 1) {
		v >>= 1;
		n += 1;
	}
	return n + (u32)v;
}

INLINE u32 log10_bucket(u64 ns)
{
	if (ns < 1000)
		return 0;
	if (ns < 10000)
		return 1;
	if (ns < 100000)
		return 2;
	if (ns < 1000000)
		return 3;
	if (ns < 10000000)
		return 4;
	if (ns < 100000000)
		return 5;
	return ns < 1000000000 ? 6 : 7;
}

GLOBAL int dist_add(struct bpf_dist *d, u64 ns)
{
	u32 b = bits_of(ns);

	if (!d)
		return 0;
	d->count++;
	d->sum_ns += ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
	if (b >= BPF_LOG2_BUCKETS)
		b = BPF_LOG2_BUCKETS - 1;
	d->log2[b]++;
	d->log10[log10_bucket(ns)]++;
	return 0;
}

/* The entry of the ended threads of @tgid on this CPU. */
NOINLINE struct bpf_dead *dead_of(u32 tgid)
{
	struct bpf_dead_key key = { .tgid = tgid, .cpu = bpf_get_smp_processor_id() };
	struct bpf_dead *d = bpf_map_lookup_elem(&dead, &key);
	u32 zero = 0;

	if (d)
		return d;
	d = bpf_map_lookup_elem(&dead_zero, &zero);
	if (!d)
		return NULL;
	bpf_map_update_elem(&dead, &key, d, BPF_NOEXIST);
	d = bpf_map_lookup_elem(&dead, &key);
	if (d) {
		bpf_get_current_comm(d->comm, sizeof(d->comm));
		d->own = tgid == config.own_tgid;
		return d;
	}
	__sync_fetch_and_add(&counters.dead_refused, 1);
	return bpf_map_lookup_elem(&dead_others, &zero);
}

/* Where the running thread's events are counted. After its exit event a few more come. */
INLINE struct bpf_totals *totals_of(struct bpf_thread *t)
{
	struct bpf_dead *d;

	if (likely(!t->exited))
		return &t->totals;
	d = dead_of(t->tgid);
	return d ? &d->totals : NULL;
}

GLOBAL int dist_fold(struct bpf_dist *to, const struct bpf_dist *from)
{
	if (!to || !from)
		return 0;
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (u32 i = 0; i < BPF_LOG10_BUCKETS; i++)
		to->log10[i] += from->log10[i];
	for (u32 i = 0; i < BPF_LOG2_BUCKETS; i++)
		to->log2[i] += from->log2[i];
	return 0;
}

/* The running thread ends: from here on totals_of() counts for its process. */
INLINE void totals_fold(struct bpf_thread *t)
{
	struct bpf_dead *d;

	if (t->exited)
		return;
	d = dead_of(t->tgid);
	if (!d)
		return;
	for (u32 i = 0; i < 2; i++) {
		d->totals.failed_tries[i] += t->totals.failed_tries[i];
		d->totals.failed_tries_ns[i] += t->totals.failed_tries_ns[i];
		d->totals.faults[i] += t->totals.faults[i];
		dist_fold(&d->totals.wait[i], &t->totals.wait[i]);
		dist_fold(&d->totals.hold[i], &t->totals.hold[i]);
	}
	t->exited = 1;
}

#endif
