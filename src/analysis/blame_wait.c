/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/blame_wait.c: a wait cut into slices, and who is to blame for each (see blame.h). Layer:
 * analysis. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blame.h"

/* More than this is given back to the system with its wait. */
#define SEGMENTS_KEPT 64

const char *because_name(enum because why)
{
	static const char *const names[BECAUSES] = {
#define BECAUSE(ID, name, phrase, doc) name,
#include "analysis/because.def"
#undef BECAUSE
	};

	return names[why];
}

const char *because_phrase(enum because why)
{
	static const char *const phrases[BECAUSES] = {
#define BECAUSE(ID, name, phrase, doc) phrase,
#include "analysis/because.def"
#undef BECAUSE
	};

	return phrases[why];
}

const char *blame_lock_name(enum blame_lock lock)
{
	return lock == BLAME_VMA ? "vma" : "mmap_lock";
}

const char *blame_mode_name(enum lock_mode mode)
{
	static const char *const names[] = { "read", "write", "unknown" };

	return names[mode];
}

struct blame_wait *blame_wait_new(struct blame_pool *pool)
{
	struct blame_wait *w = pool->free;
	struct blame_wait fresh = { 0 };

	if (!w)
		return calloc(1, sizeof(*w));
	pool->free = w->next_of_task;
	fresh.segments.v = w->segments.v;
	fresh.segments.capacity = w->segments.capacity;
	*w = fresh;
	return w;
}

void blame_wait_free(struct blame_pool *pool, struct blame_wait *w)
{
	if (!w)
		return;
	if (w->segments.capacity > SEGMENTS_KEPT)
		vec_done(&w->segments);
	w->next_of_task = pool->free;
	pool->free = w;
}

void blame_pool_done(struct blame_pool *pool)
{
	while (pool->free) {
		struct blame_wait *w = pool->free;

		pool->free = w->next_of_task;
		vec_done(&w->segments);
		free(w);
	}
}

static bool is_hold(const struct blame_segment *s)
{
	return s->because != BECAUSE_QUEUED;
}

void blame_wait_complete(struct blame_wait *w)
{
	w->first_hold_ns = 0;
	w->last_hold_ns = 0;
	for (size_t i = 0; i < w->segments.n; i++) {
		const struct blame_segment *s = &w->segments.v[i];

		if (!is_hold(s))
			continue;
		if (!w->first_hold_ns || s->begin_ns < w->first_hold_ns)
			w->first_hold_ns = s->begin_ns;
		if (s->end_ns > w->last_hold_ns)
			w->last_hold_ns = s->end_ns;
	}
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Mostly a handful: no call per comparison. */
void blame_sort_times(u64 *v, size_t n)
{
	if (n > 32) {
		qsort(v, n, sizeof(*v), compare_u64);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		u64 t = v[i];
		size_t at = i;

		for (; at && v[at - 1] > t; at--)
			v[at] = v[at - 1];
		v[at] = t;
	}
}

static int compare_tids(const void *a, const void *b)
{
	const struct blame_segment *x = *(const struct blame_segment *const *)a,
				   *y = *(const struct blame_segment *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	/* threads that had the tid one after the other */
	return x->task < y->task ? -1 : x->task > y->task;
}

static bool queued_before(const struct blame_segment *a, const struct blame_segment *b)
{
	if (a->full_begin_ns != b->full_begin_ns)
		return a->full_begin_ns < b->full_begin_ns;
	return a->place < b->place;
}

/* What of a range is in the way, and where that changes. */
struct slicing {
	const struct blame_segment **near, **active;
	u64 *cuts;
	size_t n_near, n_cuts;
};

static void gather(struct slicing *g, const struct blame_wait *w, u64 from_ns, u64 to_ns)
{
	g->cuts[g->n_cuts++] = from_ns;
	g->cuts[g->n_cuts++] = to_ns;
	for (size_t i = 0; i < w->segments.n; i++) {
		const struct blame_segment *s = &w->segments.v[i];

		if (s->begin_ns >= to_ns || s->end_ns <= from_ns)
			continue;
		/* one without length only cuts */
		g->near[g->n_near++] = s;
		if (s->begin_ns > from_ns)
			g->cuts[g->n_cuts++] = s->begin_ns;
		if (s->end_ns < to_ns)
			g->cuts[g->n_cuts++] = s->end_ns;
	}
	if (w->granted_ns > from_ns && w->granted_ns < to_ns)
		g->cuts[g->n_cuts++] = w->granted_ns;
	blame_sort_times(g->cuts, g->n_cuts);
}

/* For a slice that nothing known covers. */
static struct blame_segment nobody(const struct blame_wait *w, u64 from_ns)
{
	struct blame_segment s = { .because = BECAUSE_UNKNOWN, .origin = ORIGIN_OTHER };

	if ((w->last_hold_ns && from_ns >= w->last_hold_ns) ||
	    (w->granted_ns && from_ns >= w->granted_ns)) {
		s.because = BECAUSE_WAKE_UP;
	} else if (w->owner && from_ns < w->first_hold_ns) {
		/*
		 * The lock named a writer, whose name stays as long as it holds: until the first
		 * hold that is known, which could not have begun before.
		 */
		s.because = BECAUSE_OWNER;
		s.task = w->owner;
		s.tid = w->owner_tid;
		s.stack = w->owner_stack;
	}
	return s;
}

static int tell_slice(struct slicing *g, const struct blame_wait *w, u64 from_ns, u64 to_ns,
		      int (*on_slice)(void *, const struct blame_slice *), void *ctx)
{
	struct blame_slice slice = { .begin_ns = from_ns, .end_ns = to_ns };
	const struct blame_segment *queued = NULL, *rest = NULL;
	struct blame_segment none;

	for (size_t i = 0; i < g->n_near; i++) {
		const struct blame_segment *s = g->near[i];

		/* from there on nothing keeps it but the scheduler */
		if (w->granted_ns && from_ns >= w->granted_ns)
			break;
		if (s->begin_ns > from_ns || s->end_ns <= from_ns)
			continue;
		if (is_hold(s))
			g->active[slice.n++] = s;
		else if (!queued || queued_before(s, queued))
			queued = s;
	}
	slice.blockers = g->active;
	if (slice.n > 1) {
		qsort(g->active, slice.n, sizeof(*g->active), compare_tids);
	} else if (!slice.n) {
		none = nobody(w, from_ns);
		rest = queued ? queued : &none;
		slice.blockers = &rest;
		slice.n = 1;
	}
	return on_slice(ctx, &slice);
}

int blame_slices(const struct blame_wait *w, u64 from_ns, u64 to_ns,
		 int (*on_slice)(void *, const struct blame_slice *), void *ctx)
{
	const struct blame_segment *few[2][8];
	u64 few_cuts[2 * 8 + 3];
	struct slicing g = { few[0], few[1], few_cuts, 0, 0 };
	size_t n = w->segments.n;
	bool many = n > 8;
	int err = -ENOMEM;

	if (many) {
		g.near = malloc(n * sizeof(*g.near));
		g.active = malloc(n * sizeof(*g.active));
		g.cuts = malloc((2 * n + 3) * sizeof(*g.cuts));
		if (!g.near || !g.active || !g.cuts)
			goto out;
	}
	gather(&g, w, from_ns, to_ns);
	err = 0;
	for (size_t i = 0; i + 1 < g.n_cuts && !err; i++) {
		if (g.cuts[i] < g.cuts[i + 1])
			err = tell_slice(&g, w, g.cuts[i], g.cuts[i + 1], on_slice, ctx);
	}
out:
	if (many) {
		free(g.near);
		free(g.active);
		free(g.cuts);
	}
	return err;
}
