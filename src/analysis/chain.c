/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/chain.c: follows a wait to its roots (see chain.h). Layer: analysis. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chain_priv.h"

#define MAX_ROWS 50000
/* Slices and blockers looked at for one wait; the time behind what comes later is CHAIN_CUT. */
#define MAX_STEPS (1u << 22)
/* Waits of one thread within one slice looked at without memory of their own. */
#define FEW_WAITS 8

/* A stretch of a wait's time that is being led on: @ns are the top waiter's share of it. */
struct stretch {
	struct chains *c;
	u64 from_ns, to_ns, ns;
	u32 depth; /* threads before it in the path */
	bool named;
};

/* What falls on the first @part_ns of the stretch: all parts together are the whole exactly. */
static u64 ns_until(const struct stretch *s, u64 part_ns)
{
	return (u64)((unsigned __int128)s->ns * part_ns / (s->to_ns - s->from_ns));
}

static u64 ns_of_part(const struct stretch *s, u64 from_ns, u64 to_ns)
{
	return ns_until(s, to_ns - s->from_ns) - ns_until(s, from_ns - s->from_ns);
}

/* What makes a row a row of its own, as bytes without padding. */
struct row_key {
	u32 waiter;
	u8 lock, mode, end, n_hops;
	struct chain_hop hops[CHAIN_MAX_HOPS];
};

static struct chain_row *find_row(struct chains *c, const struct row_key *key, u32 *ret_id)
{
	size_t len = offsetof(struct row_key, hops) + key->n_hops * sizeof(*key->hops);
	u32 id = intern_find(&c->keys, (const char *)key, len);
	struct chain_row *row;

	*ret_id = id;
	if (id)
		return &c->rows.v[id - 1];
	if (c->rows.n < MAX_ROWS)
		id = intern_add(&c->keys, (const char *)key, len);
	if (!id) {
		c->refused++;
		return NULL;
	}
	row = vec_push(&c->rows);
	if (!row) {
		c->failed = true;
		return NULL;
	}
	row->waiter = key->waiter;
	row->lock = key->lock;
	row->mode = key->mode;
	row->end = key->end;
	row->n_hops = key->n_hops;
	memcpy(row->hops, key->hops, sizeof(row->hops));
	*ret_id = id;
	return row;
}

static bool same_prio(struct prio_ref a, struct prio_ref b)
{
	return a.known == b.known && a.prio == b.prio && task_same(a.task, b.task);
}

void chain_flush_pair(struct chains *c, struct chain_row *row)
{
	if (row->newest.pairs)
		inversion_add_pair(&c->inversion, &row->newest);
	row->newest.pairs = 0;
}

/* Is the waiter more important than the root? What that depends on is kept; it is judged at the
 * end. */
static void add_pair(struct chains *c, struct chain_row *row, u32 id, struct task_id root,
		     const struct stretch *s)
{
	struct pair_row pair = { .waiter = c->top->task,
				 .blocker = root,
				 .caller = id,
				 .pairs = 1,
				 .overlap_ns = s->ns };
	struct pair_row *newest = &row->newest;

	pair.waiter_prio = task_prio_at(c->ctx->tasks, pair.waiter, s->from_ns);
	pair.blocker_prio = task_prio_at(c->ctx->tasks, pair.blocker, s->from_ns);
	if (newest->pairs && same_prio(newest->waiter_prio, pair.waiter_prio) &&
	    same_prio(newest->blocker_prio, pair.blocker_prio)) {
		newest->pairs++;
		newest->overlap_ns += s->ns;
		return;
	}
	chain_flush_pair(c, row);
	*newest = pair;
}

/* The path's first @n_hops threads are the chain of this stretch. */
static void chain_ends(const struct stretch *s, u32 n_hops, enum chain_end end)
{
	struct chains *c = s->c;
	struct row_key key = { .waiter = c->top->task.v,
			       .lock = c->top->lock,
			       .mode = c->top->mode,
			       .end = (u8)end,
			       .n_hops = (u8)n_hops };
	struct task_id root = { n_hops ? c->path[n_hops - 1].task : 0 };
	struct chain_row *row;
	u32 id;

	if (!s->ns)
		return;
	memcpy(key.hops, c->path, n_hops * sizeof(*key.hops));
	row = find_row(c, &key, &id);
	if (!row || c->failed)
		return;
	row->ns += s->ns;
	if (end == CHAIN_ROOT)
		row->state_ns[task_state_at(tasks_get(c->ctx->tasks, root), s->from_ns)] += s->ns;
	row->waits += row->last_wait != c->n_waits;
	row->last_wait = c->n_waits;
	if (n_hops && end != CHAIN_CYCLE)
		add_pair(c, row, id, root, s);
}

static bool on_path(const struct chains *c, u32 task, u32 depth)
{
	if (task == c->top->task.v)
		return true;
	for (u32 i = 0; i < depth; i++) {
		if (c->path[i].task == task)
			return true;
	}
	return false;
}

/* Of waits that overlap (on two address spaces at a time), what the thread does is the newest. */
static const struct blame_wait *newest_at(const struct blame_wait *const *waits, size_t n,
					  u64 at_ns)
{
	const struct blame_wait *newest = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct blame_wait *w = waits[i];

		if (w->begin_ns > at_ns || w->end_ns <= at_ns)
			continue;
		if (!newest || w->begin_ns > newest->begin_ns ||
		    (w->begin_ns == newest->begin_ns && w->begin_place > newest->begin_place))
			newest = w;
	}
	return newest;
}

static int on_slice(void *ctx, const struct blame_slice *slice);

static int follow_wait(const struct stretch *s, const struct blame_wait *w, u32 n_hops)
{
	struct stretch next = *s;

	if (n_hops == CHAIN_MAX_HOPS || s->c->steps >= MAX_STEPS) {
		s->c->refused += s->c->steps >= MAX_STEPS;
		chain_ends(s, n_hops, CHAIN_CUT);
		return 0;
	}
	next.depth = n_hops;
	next.named = w->named;
	return blame_slices(w, s->from_ns, s->to_ns, on_slice, &next);
}

/* The last thread of the path waited in parts of the stretch. */
static int follow_parts(const struct stretch *s, const struct blame_wait *const *waits, size_t n,
			u32 n_hops)
{
	u64 few[2 * FEW_WAITS + 2], *cuts = few;
	bool queued = s->c->path[n_hops - 1].because == BECAUSE_QUEUED;
	size_t n_cuts = 0;
	int err = 0;

	if (n > FEW_WAITS)
		cuts = malloc((2 * n + 2) * sizeof(*cuts));
	if (!cuts)
		return -ENOMEM;
	cuts[n_cuts++] = s->from_ns;
	cuts[n_cuts++] = s->to_ns;
	for (size_t i = 0; i < n; i++) {
		if (waits[i]->begin_ns > s->from_ns)
			cuts[n_cuts++] = waits[i]->begin_ns;
		if (waits[i]->end_ns < s->to_ns)
			cuts[n_cuts++] = waits[i]->end_ns;
	}
	blame_sort_times(cuts, n_cuts);
	for (size_t i = 0; i + 1 < n_cuts && !err; i++) {
		const struct blame_wait *w;
		struct stretch part = *s;

		if (cuts[i] == cuts[i + 1])
			continue;
		s->c->steps += (u32)n;
		part.from_ns = cuts[i];
		part.to_ns = cuts[i + 1];
		part.ns = ns_of_part(s, part.from_ns, part.to_ns);
		w = newest_at(waits, n, part.from_ns);
		if (w)
			err = follow_wait(&part, w, n_hops);
		else
			chain_ends(&part, n_hops, queued ? CHAIN_UNKNOWN : CHAIN_ROOT);
	}
	if (cuts != few)
		free(cuts);
	return err;
}

/* @s is one blocker's share of one slice. */
static int follow_blocker(const struct stretch *s, const struct blame_segment *blocker)
{
	struct chains *c = s->c;
	const struct blame_wait *few[FEW_WAITS], **waits = few;
	struct task_id task = { blocker->task };
	bool cycle;
	size_t n;
	int err;

	c->steps++;
	if (!blocker->task) {
		chain_ends(s, s->depth,
			   blocker->because == BECAUSE_WAKE_UP ? CHAIN_WAKE_UP : CHAIN_UNKNOWN);
		return 0;
	}
	cycle = on_path(c, blocker->task, s->depth);
	c->path[s->depth] = (struct chain_hop){ .task = blocker->task,
						.reason = blocker->reason,
						.because = blocker->because,
						.origin = blocker->origin };
	/* one that was given the lock waits for nothing but a CPU */
	if (cycle || s->named || blocker->because == BECAUSE_HANDED) {
		chain_ends(s, s->depth + 1, cycle ? CHAIN_CYCLE : CHAIN_ROOT);
		return 0;
	}
	n = chain_find(c, task, s->from_ns, s->to_ns, waits, FEW_WAITS);
	if (n > FEW_WAITS) {
		waits = malloc(n * sizeof(*waits));
		if (!waits)
			return -ENOMEM;
		(void)chain_find(c, task, s->from_ns, s->to_ns, waits, n);
	}
	err = follow_parts(s, waits, n, s->depth + 1);
	if (waits != few)
		free(waits);
	return err;
}

static int on_slice(void *ctx, const struct blame_slice *slice)
{
	const struct stretch *s = ctx;
	u64 ns = ns_of_part(s, slice->begin_ns, slice->end_ns);
	int err = 0;

	for (size_t i = 0; i < slice->n && !err; i++) {
		struct stretch part = *s;

		part.from_ns = slice->begin_ns;
		part.to_ns = slice->end_ns;
		part.ns = blame_share(ns, slice->n, i);
		if (part.ns)
			err = follow_blocker(&part, slice->blockers[i]);
	}
	return err;
}

void chain_follow(struct chains *c, const struct blame_wait *w)
{
	struct stretch all = {
		.c = c, .from_ns = w->begin_ns, .to_ns = w->end_ns, .ns = w->end_ns - w->begin_ns
	};

	c->top = w;
	c->steps = 0;
	c->n_waits++;
	if (all.ns && follow_wait(&all, w, 0))
		c->failed = true;
	c->top = NULL;
}
