/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/chain_keep.c: which settled waits are kept, and when one is followed (see chain.h).
 * Layer: analysis. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chain_priv.h"

#define MAX_KEPT (1u << 14)
#define MAX_KEPT_SEGMENTS (1u << 20)

void chains_init(struct chains *c, struct analysis_ctx *ctx, struct blame_pool *pool)
{
	memset(c, 0, sizeof(*c));
	c->ctx = ctx;
	c->pool = pool;
	c->max_kept = MAX_KEPT;
	intern_init(&c->keys);
	inversion_init(&c->inversion);
}

void chains_done(struct chains *c)
{
	struct blame_wait *w, *next;

	for (w = c->lists[LIST_KEPT].first; w; w = next) {
		next = w->links[LIST_KEPT].next;
		blame_wait_free(c->pool, w);
	}
	for (size_t i = 0; i < c->tasks.n; i++)
		vec_done(&c->tasks.v[i].refs);
	vec_done(&c->tasks);
	vec_done(&c->rows);
	intern_done(&c->keys);
	inversion_done(&c->inversion);
}

static void list_remove(struct chains *c, enum blame_list which, struct blame_wait *w)
{
	struct blame_wait_list *l = &c->lists[which];
	struct blame_link *link = &w->links[which];

	if (!w->linked[which])
		return;
	w->linked[which] = false;
	*(link->prev ? &link->prev->links[which].next : &l->first) = link->next;
	*(link->next ? &link->next->links[which].prev : &l->last) = link->prev;
}

/* Sorted by begin or by end; what comes is nearly always the last. */
static void list_insert(struct chains *c, enum blame_list which, struct blame_wait *w)
{
	struct blame_wait_list *l = &c->lists[which];
	bool by_end = which == LIST_PENDING || which == LIST_KEPT;
	struct blame_wait *at = l->last;

	while (at && (by_end ? at->end_ns > w->end_ns : at->begin_ns > w->begin_ns))
		at = at->links[which].prev;
	w->linked[which] = true;
	w->links[which].prev = at;
	w->links[which].next = at ? at->links[which].next : l->first;
	*(w->links[which].prev ? &at->links[which].next : &l->first) = w;
	*(w->links[which].next ? &w->links[which].next->links[which].prev : &l->last) = w;
}

static u64 oldest_begin_ns(const struct chains *c, enum blame_list which)
{
	return c->lists[which].first ? c->lists[which].first->begin_ns : UINT64_MAX;
}

static struct chain_task *task_of(struct chains *c, struct task_id id)
{
	while (c->tasks.n <= id.v) {
		if (!vec_push(&c->tasks)) {
			c->failed = true;
			return NULL;
		}
	}
	return &c->tasks.v[id.v];
}

int chains_open(struct chains *c, struct blame_wait *w)
{
	struct chain_task *t = task_of(c, w->task);

	if (!t)
		return -ENOMEM;
	w->next_of_task = t->unsettled;
	t->unsettled = w;
	list_insert(c, LIST_UNSETTLED, w);
	list_insert(c, LIST_UNRESOLVED, w);
	return 0;
}

static void is_settled(struct chains *c, struct blame_wait *w)
{
	struct blame_wait **slot;

	if (!w->linked[LIST_UNSETTLED])
		return;
	list_remove(c, LIST_UNSETTLED, w);
	for (slot = &c->tasks.v[w->task.v].unsettled; *slot; slot = &(*slot)->next_of_task) {
		if (*slot == w) {
			*slot = w->next_of_task;
			return;
		}
	}
}

static void compact(struct chain_task *t)
{
	while (t->first < t->refs.n && !t->refs.v[t->first].wait)
		t->first++;
	if (t->first < 32 || t->first < t->refs.n / 2)
		return;
	t->refs.n -= t->first;
	memmove(t->refs.v, t->refs.v + t->first, t->refs.n * sizeof(*t->refs.v));
	t->first = 0;
}

static bool ref_add(struct chains *c, struct blame_wait *w)
{
	struct chain_task *t = task_of(c, w->task);
	size_t at;

	if (!t)
		return false;
	compact(t);
	if (!vec_push(&t->refs))
		return false;
	for (at = t->refs.n - 1; at > t->first && t->refs.v[at - 1].begin_ns > w->begin_ns; at--)
		t->refs.v[at] = t->refs.v[at - 1];
	t->refs.v[at] = (struct chain_ref){ .begin_ns = w->begin_ns, .wait = w };
	for (; at < t->refs.n; at++) {
		struct chain_ref *ref = &t->refs.v[at];
		u64 before_ns = at > t->first ? t->refs.v[at - 1].reach_ns : 0;
		u64 end_ns = ref->wait ? ref->wait->end_ns : ref->reach_ns;

		ref->reach_ns = end_ns > before_ns ? end_ns : before_ns;
	}
	return true;
}

static void ref_remove(struct chains *c, const struct blame_wait *w)
{
	struct chain_task *t = &c->tasks.v[w->task.v];

	for (size_t i = t->first; i < t->refs.n; i++) {
		if (t->refs.v[i].wait == w) {
			t->refs.v[i].wait = NULL;
			break;
		}
	}
	compact(t);
}

static void forget(struct chains *c, struct blame_wait *w)
{
	ref_remove(c, w);
	list_remove(c, LIST_KEPT, w);
	c->n_kept--;
	c->kept_segments -= w->segments.n;
	blame_wait_free(c->pool, w);
}

static void follow_now(struct chains *c, struct blame_wait *w)
{
	list_remove(c, LIST_PENDING, w);
	list_remove(c, LIST_UNRESOLVED, w);
	chain_follow(c, w);
}

/* Follows the waits that can be, and forgets those that explain nothing any more. */
static void advance(struct chains *c)
{
	struct blame_wait *w;
	u64 settled_ns = oldest_begin_ns(c, LIST_UNSETTLED), oldest_ns;

	while ((w = c->lists[LIST_PENDING].first) && w->end_ns <= settled_ns)
		follow_now(c, w);
	oldest_ns = oldest_begin_ns(c, LIST_UNRESOLVED);
	while ((w = c->lists[LIST_KEPT].first) && w->end_ns <= oldest_ns)
		forget(c, w);
	/* a wait that hangs must not keep all that came after it */
	while (c->n_kept > c->max_kept || c->kept_segments > MAX_KEPT_SEGMENTS) {
		u64 *until_ns;

		w = c->lists[LIST_KEPT].first;
		until_ns = &c->tasks.v[w->task.v].forgotten_until_ns;
		if (w->linked[LIST_PENDING])
			follow_now(c, w);
		if (w->end_ns > *until_ns)
			*until_ns = w->end_ns;
		forget(c, w);
	}
}

int chains_drop(struct chains *c, struct blame_wait *w)
{
	bool was_first =
		c->lists[LIST_UNRESOLVED].first == w || c->lists[LIST_UNSETTLED].first == w;

	is_settled(c, w);
	list_remove(c, LIST_UNRESOLVED, w);
	blame_wait_free(c->pool, w);
	if (was_first)
		advance(c);
	return c->failed ? -ENOMEM : 0;
}

int chains_settle(struct chains *c, struct blame_wait *w)
{
	is_settled(c, w);
	if (!ref_add(c, w)) {
		list_remove(c, LIST_UNRESOLVED, w);
		blame_wait_free(c->pool, w);
		c->failed = true;
		return -ENOMEM;
	}
	list_insert(c, LIST_KEPT, w);
	c->n_kept++;
	c->kept_segments += w->segments.n;
	if (!w->charged) {
		list_remove(c, LIST_UNRESOLVED, w);
	} else {
		if (!w->linked[LIST_UNRESOLVED])
			list_insert(c, LIST_UNRESOLVED, w);
		list_insert(c, LIST_PENDING, w);
	}
	advance(c);
	return c->failed ? -ENOMEM : 0;
}

int chains_drain(struct chains *c)
{
	struct blame_wait *w;

	while ((w = c->lists[LIST_PENDING].first))
		follow_now(c, w);
	while ((w = c->lists[LIST_KEPT].first))
		forget(c, w);
	for (size_t i = 0; i < c->rows.n; i++)
		chain_flush_pair(c, &c->rows.v[i]);
	return c->failed ? -ENOMEM : 0;
}

size_t chain_find(struct chains *c, struct task_id id, u64 from_ns, u64 to_ns,
		  const struct blame_wait **ret, size_t max)
{
	struct chain_task *t = id.v < c->tasks.n ? &c->tasks.v[id.v] : NULL;
	size_t lo, hi, n = 0;

	if (!t)
		return 0;
	c->refused += from_ns < t->forgotten_until_ns;
	for (const struct blame_wait *w = t->unsettled; w; w = w->next_of_task)
		c->refused += w->begin_ns < to_ns;
	/* the first that begins too late */
	for (lo = t->first, hi = t->refs.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->refs.v[mid].begin_ns < to_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- > t->first && t->refs.v[lo].reach_ns > from_ns) {
		const struct blame_wait *w = t->refs.v[lo].wait;

		if (!w || w->end_ns <= from_ns || (w->named && w->number > c->top->number))
			continue;
		if (n < max)
			ret[n] = w;
		n++;
	}
	return n;
}
