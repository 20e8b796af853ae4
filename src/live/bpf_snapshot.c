/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_snapshot.c: what lasts and the totals, read out of the kernel. Layer: live. From task
 * storage by the iterator program, which writes whole records; from the hash map entry by entry.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "live/bpf_load_priv.h"

#define READ_BYTES (256u << 10)

typedef int (*sink_fn)(void *ctx, const void *records, size_t len);

/* How many of the bytes are whole records; -EPROTO when they are none. */
static ssize_t whole_records(const char *buf, size_t len)
{
	struct bpf_rec_head h;
	size_t at = 0;

	while (len - at >= sizeof(h)) {
		memcpy(&h, buf + at, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8)
			return -EPROTO;
		if (h.size > len - at)
			break;
		at += h.size;
	}
	return (ssize_t)at;
}

static int read_iter(struct bpf_load *l, sink_fn sink, void *ctx, struct error *e)
{
	int fd = bpf_iter_create(bpf_link__fd(l->iter)), code = 0;
	char *buf = malloc(READ_BYTES);
	size_t have = 0;

	if (fd < 0 || !buf) {
		code = error_set(e, fd < 0 ? -errno : -ENOMEM, "cannot read the BPF snapshot: %s",
				 strerror(fd < 0 ? errno : ENOMEM));
		goto out;
	}
	for (;;) {
		ssize_t n = read(fd, buf + have, READ_BYTES - have), whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			code = error_set(e, -errno, "cannot read the BPF snapshot: %s",
					 strerror(errno));
		if (n <= 0)
			break;
		have += (size_t)n;
		whole = whole_records(buf, have);
		if (whole < 0) {
			code = error_set(e, (int)whole, "the BPF snapshot is damaged");
			break;
		}
		if (whole > 0 && (code = sink(ctx, buf, (size_t)whole)))
			break;
		have -= (size_t)whole;
		memmove(buf, buf + whole, have);
	}
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return code;
}

static void head_fill(struct bpf_rec_head *h, u32 kind, size_t size, u64 now)
{
	*h = (struct bpf_rec_head){ .kind = (u16)kind, .size = (u16)size, .time_ns = now };
}

static int tell_totals(const struct bpf_totals *c, u32 tid, u32 tgid, const char *comm, u32 flags,
		       u64 now, sink_fn sink, void *ctx)
{
	struct bpf_rec_totals r = { .tid = tid, .tgid = tgid, .flags = flags };

	head_fill(&r.head, BREC_TOTALS, sizeof(r), now);
	memcpy(r.comm, comm, sizeof(r.comm));
	memcpy((char *)&r + BPF_TOTALS_AT, c, sizeof(*c));
	return sink(ctx, &r, sizeof(r));
}

static bool any(const struct bpf_totals *c)
{
	return c->wait[0].count || c->wait[1].count || c->hold[0].count || c->hold[1].count ||
	       c->failed_tries[0] || c->failed_tries[1] || c->faults[0] || c->faults[1];
}

static int tell_thread(const struct bpf_thread *t, u64 min_age_ns, bool totals, u64 now,
		       sink_fn sink, void *ctx)
{
	const struct bpf_slot *s =
		t->waits && t->waits <= BPF_SLOTS ? &t->slots[t->waits - 1] : NULL;
	int code = 0;

	if (s && s->phase == BSLOT_WAITS && !t->own && now >= s->begin_ns &&
	    now - s->begin_ns >= min_age_ns) {
		struct bpf_rec_wait r = {
			.who = { .tid = t->tid, .tgid = t->tgid, .state = BSTATE_UNKNOWN },
			.begin_ns = s->begin_ns,
			.mm = s->mm,
			.stack = t->slept ? t->wait_stack : 0,
			.woken_ns = t->slept ? t->woken_ns : 0,
			.waker_tid = t->slept ? t->waker_tid : 0,
			.call = { .nr = BPF_NO_CALL },
			.flags = BFLAG_OPEN | (s->write ? BFLAG_WRITE : 0) |
				 (t->slept ? 0 : BFLAG_SPUN),
		};

		head_fill(&r.head, BREC_WAIT, sizeof(r), now);
		memcpy(r.who.comm, t->comm, sizeof(r.who.comm));
		r.who.prio = t->wait_prio;
		r.who.state = t->slept ? BSTATE_BLOCKED : BSTATE_RUNNING;
		if (t->slept && t->owner.tid) {
			r.owner = t->owner;
			r.flags |= t->owner_writes ? BFLAG_OWNER_WRITES : 0;
		}
		code = sink(ctx, &r, sizeof(r));
	}
	if (!code && t->asleep && now >= t->sleep.begin_ns &&
	    now - t->sleep.begin_ns >= min_age_ns) {
		struct bpf_rec_sleep r = t->sleep;

		head_fill(&r.head, BREC_SLEEP, sizeof(r), now);
		r.flags |= BFLAG_OPEN;
		r.woken_ns = t->woken_ns;
		r.waker_tid = t->waker_tid;
		code = sink(ctx, &r, sizeof(r));
	}
	if (!code && totals && !t->exited && any(&t->totals))
		code = tell_totals(&t->totals, t->tid, t->tgid, t->comm, t->own ? BFLAG_OWN : 0,
				   now, sink, ctx);
	return code;
}

/* An entry that goes away under the walk makes it begin anew somewhere: each key is told once. */
static int read_hash(struct bpf_load *l, u64 min_age_ns, bool totals, sink_fn sink, void *ctx,
		     struct error *e)
{
	int fd = bpf_object__find_map_fd_by_name(l->object, "threads"), code = 0;
	struct bpf_thread *t = malloc(sizeof(*t));
	struct map seen;
	u32 key = 0, next;
	const u32 *at = NULL;

	map_init(&seen);
	if (!t)
		code = error_set(e, -ENOMEM, "out of memory");
	for (u32 steps = 0; !code && steps < 2 * BPF_MAX_THREADS; steps++) {
		if (bpf_map_get_next_key(fd, at, &next))
			break;
		key = next;
		at = &key;
		if (map_get(&seen, key) || bpf_map_lookup_elem(fd, &key, t))
			continue;
		if (!map_set(&seen, key, 1))
			code = error_set(e, -ENOMEM, "out of memory");
		else
			code = tell_thread(t, min_age_ns, totals, clock_mono_ns(), sink, ctx);
	}
	map_done(&seen);
	free(t);
	return code;
}

static void dist_add(struct bpf_dist *to, const struct bpf_dist *from)
{
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
	for (int i = 0; i < BPF_LOG10_BUCKETS; i++)
		to->log10[i] += from->log10[i];
	for (int i = 0; i < BPF_LOG2_BUCKETS; i++)
		to->log2[i] += from->log2[i];
}

static void dead_add(struct bpf_dead *to, const struct bpf_dead *from)
{
	for (int i = 0; i < 2; i++) {
		to->totals.failed_tries[i] += from->totals.failed_tries[i];
		to->totals.failed_tries_ns[i] += from->totals.failed_tries_ns[i];
		to->totals.faults[i] += from->totals.faults[i];
		dist_add(&to->totals.wait[i], &from->totals.wait[i]);
		dist_add(&to->totals.hold[i], &from->totals.hold[i]);
	}
}

struct dead_row {
	u32 tgid;
	struct bpf_dead sum;
};
struct dead_rows {
	VEC(struct dead_row) list;
	struct map by_tgid; /* -> index + 1 */
};

static int dead_take(struct dead_rows *rows, u32 tgid, const struct bpf_dead *d)
{
	const u64 *at = map_get(&rows->by_tgid, tgid);
	struct dead_row *row;

	if (at) {
		dead_add(&rows->list.v[*at - 1].sum, d);
		return 0;
	}
	row = vec_push(&rows->list);
	if (!row || !map_set(&rows->by_tgid, tgid, rows->list.n))
		return -ENOMEM;
	row->tgid = tgid;
	row->sum = *d;
	return 0;
}

/* What found no room of its own is told as process 0. */
static int dead_take_others(struct bpf_load *l, struct dead_rows *rows)
{
	int n = libbpf_num_possible_cpus(), code = 0;
	struct bpf_dead *values = n > 0 ? calloc((size_t)n, sizeof(*values)) : NULL;
	u32 zero = 0;

	if (!values)
		return -ENOMEM;
	if (!bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(l->object, "dead_others"), &zero,
				 values))
		for (int i = 0; i < n && !code; i++)
			code = any(&values[i].totals) ? dead_take(rows, 0, &values[i]) : 0;
	free(values);
	return code;
}

static int read_dead(struct bpf_load *l, sink_fn sink, void *ctx, struct error *e)
{
	int fd = bpf_object__find_map_fd_by_name(l->object, "dead"), code = 0;
	struct dead_rows rows = { .list = VEC_INIT };
	const struct bpf_dead_key *at = NULL;
	struct bpf_dead_key key, next;
	struct bpf_dead value;
	u64 now;

	map_init(&rows.by_tgid);
	while (!code && !bpf_map_get_next_key(fd, at, &next)) {
		key = next;
		at = &key;
		if (!bpf_map_lookup_elem(fd, &key, &value))
			code = dead_take(&rows, key.tgid, &value);
	}
	if (!code)
		code = dead_take_others(l, &rows);
	if (code)
		code = error_set(e, code, "out of memory");
	now = clock_mono_ns();
	for (size_t i = 0; !code && i < rows.list.n; i++) {
		const struct dead_row *r = &rows.list.v[i];

		if (any(&r->sum.totals))
			code = tell_totals(&r->sum.totals, 0, r->tgid, r->sum.comm,
					   BFLAG_DEAD | (r->sum.own ? BFLAG_OWN : 0), now, sink,
					   ctx);
	}
	vec_done(&rows.list);
	map_done(&rows.by_tgid);
	return code;
}

int bpf_load_snapshot(struct bpf_load *l, u64 min_age_ns, bool totals, sink_fn sink, void *ctx,
		      struct error *e)
{
	int code = 0;

	l->counters->snapshot_min_age_ns = min_age_ns;
	l->counters->snapshot_totals = totals;
	if (l->mode != BPF_MODE_STORAGE)
		code = read_hash(l, min_age_ns, totals, sink, ctx, e);
	else if (l->iter)
		code = read_iter(l, sink, ctx, e);
	if (!code && totals)
		code = read_dead(l, sink, ctx, e);
	return code;
}
