/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/join.c: streaming overlap join of two kinds of intervals (see join.h). Layer: analysis.
 */
#include "analysis/join.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_HOMELESS 1024

void join_init(struct join *j, int (*pair)(void *, struct join_node *, struct join_node *),
	       int (*retire)(void *, struct join_node *), void *ctx)
{
	memset(j, 0, sizeof(*j));
	j->pair = pair;
	j->retire = retire;
	j->ctx = ctx;
	j->max_closed = JOIN_MAX_CLOSED;
}

static void list_free(struct join_list *l)
{
	struct join_node *n = l->first, *next;

	for (; n; n = next) {
		next = n->next;
		free(n);
	}
}

void join_done(struct join *j)
{
	struct join_list spare = { .first = j->free_nodes };

	for (size_t i = 0; i < j->mms.n; i++) {
		for (u32 side = 0; side < 2; side++) {
			list_free(&j->mms.v[i].open[side]);
			list_free(&j->mms.v[i].closed[side]);
		}
	}
	list_free(&spare);
	vec_done(&j->mms);
	vec_done(&j->homeless[0]);
	vec_done(&j->homeless[1]);
}

static void list_remove(struct join_list *l, struct join_node *n)
{
	*(n->prev ? &n->prev->next : &l->first) = n->next;
	*(n->next ? &n->next->prev : &l->last) = n->prev;
}

/* Behind @at, or in front when @at is NULL. */
static void list_insert(struct join_list *l, struct join_node *at, struct join_node *n)
{
	n->prev = at;
	n->next = at ? at->next : l->first;
	*(n->prev ? &n->prev->next : &l->first) = n;
	*(n->next ? &n->next->prev : &l->last) = n;
}

struct join_node *join_open(struct join *j, enum join_side side, struct mm_id mm, u64 begin_ns,
			    void *owner)
{
	struct join_node *n = j->free_nodes, *at;
	struct join_list *l;

	while (j->mms.n <= mm.v) {
		if (!vec_push(&j->mms))
			return NULL;
	}
	if (n)
		j->free_nodes = n->next;
	else
		n = malloc(sizeof(*n));
	if (!n)
		return NULL;
	*n = (struct join_node){
		.begin_ns = begin_ns, .owner = owner, .mm = mm.v, .side = (u8)side
	};
	/* begins come in order, but for the past ones of *_blocked events */
	l = &j->mms.v[mm.v].open[side];
	for (at = l->last; at && at->begin_ns > begin_ns; at = at->prev)
		;
	list_insert(l, at, n);
	return n;
}

static int give_back(struct join *j, struct join_node *n)
{
	int err = j->retire(j->ctx, n);

	n->next = j->free_nodes;
	j->free_nodes = n;
	return err;
}

bool join_hold(struct join *j, enum join_side side, u64 begin_ns)
{
	u64 *slot = j->homeless[side].n < MAX_HOMELESS ? vec_push(&j->homeless[side]) : NULL;

	if (!slot) {
		j->retired_early++;
		return false;
	}
	/* begins come in order: the oldest is first */
	*slot = begin_ns;
	return true;
}

void join_unhold(struct join *j, enum join_side side, u64 begin_ns)
{
	for (size_t i = 0; i < j->homeless[side].n; i++) {
		if (j->homeless[side].v[i] != begin_ns)
			continue;
		j->homeless[side].n--;
		memmove(&j->homeless[side].v[i], &j->homeless[side].v[i + 1],
			(j->homeless[side].n - i) * sizeof(*j->homeless[side].v));
		return;
	}
}

/* Retires the closed nodes of @side that no open node of the other side can overlap any more. */
static int prune(struct join *j, struct join_mm *mm, u32 side)
{
	struct join_list *closed = &mm->closed[side];
	u64 oldest_ns = mm->open[!side].first ? mm->open[!side].first->begin_ns : UINT64_MAX;
	int err = 0;

	if (j->homeless[!side].n && j->homeless[!side].v[0] < oldest_ns)
		oldest_ns = j->homeless[!side].v[0];
	while (!err && closed->first) {
		struct join_node *n = closed->first;
		bool reachable = oldest_ns < n->end_ns;

		if (reachable && j->n_closed <= j->max_closed)
			break;
		j->retired_early += reachable;
		list_remove(closed, n);
		j->n_closed--;
		err = give_back(j, n);
	}
	return err;
}

int join_close(struct join *j, struct join_node *n, u64 end_ns)
{
	struct join_mm *mm = &j->mms.v[n->mm];
	struct join_list *closed = &mm->closed[n->side];
	struct join_node *o, *at;
	int err = 0;

	list_remove(&mm->open[n->side], n);
	n->end_ns = end_ns;
	n->closed = true;
	for (o = mm->closed[!n->side].last; o && o->end_ns > n->begin_ns && !err; o = o->prev) {
		if (o->begin_ns < n->end_ns)
			err = n->side == JOIN_LEFT ? j->pair(j->ctx, n, o) : j->pair(j->ctx, o, n);
	}
	for (at = closed->last; at && at->end_ns > end_ns; at = at->prev)
		;
	list_insert(closed, at, n);
	j->n_closed++;
	if (!err)
		err = prune(j, mm, JOIN_LEFT);
	if (!err)
		err = prune(j, mm, JOIN_RIGHT);
	return err;
}

int join_drop(struct join *j, struct join_node *n)
{
	struct join_mm *mm = &j->mms.v[n->mm];
	int err;

	list_remove(&mm->open[n->side], n);
	err = give_back(j, n);
	if (!err)
		err = prune(j, mm, JOIN_LEFT);
	if (!err)
		err = prune(j, mm, JOIN_RIGHT);
	return err;
}

int join_drain(struct join *j)
{
	int err = 0;

	for (size_t i = 0; i < j->mms.n; i++) {
		struct join_mm *mm = &j->mms.v[i];
		struct join_list *lists[] = { &mm->open[0], &mm->open[1], &mm->closed[0],
					      &mm->closed[1] };

		for (u32 l = 0; l < ARRAY_LEN(lists); l++) {
			while (lists[l]->first) {
				struct join_node *n = lists[l]->first;
				int failed;

				list_remove(lists[l], n);
				failed = give_back(j, n);
				err = err ? err : failed;
			}
		}
	}
	j->n_closed = 0;
	return err;
}
