/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/inversion.c: priority inversion with priorities that may be known late (see
 * inversion.h). */
#include "analysis/inversion.h"

#include <stdlib.h>
#include <string.h>

#define INVERSION_MAX_ROWS 100000
#define MAX_RT_PRIO 100	   /* kernel priorities below are deadline and RT */
#define SLICE_MAX_OPEN 256 /* pairs of a key: it fits INTERN_MAX_LEN */

/* A prio_ref as 8 bytes: known priorities and waiting tasks do not collide. */
static u64 ref_key(struct prio_ref r)
{
	return r.known ? 1ULL << 63 | (u32)r.prio : r.task.v;
}

static struct prio_ref key_ref(u64 key)
{
	struct prio_ref r = { 0 };

	r.known = key >> 63;
	if (r.known)
		r.prio = (s32)(u32)key;
	else
		r.task.v = (u32)key;
	return r;
}

void inversion_init(struct inversion *v)
{
	memset(v, 0, sizeof(*v));
	intern_init(&v->row_keys);
	intern_init(&v->slice_keys);
	intern_init(&v->group_keys);
}

void inversion_done(struct inversion *v)
{
	intern_done(&v->row_keys);
	intern_done(&v->slice_keys);
	intern_done(&v->group_keys);
	vec_done(&v->rows);
	vec_done(&v->slices_ns);
	vec_done(&v->groups);
}

void inversion_add_pair(struct inversion *v, const struct pair_row *row)
{
	struct {
		u64 waiter_prio, blocker_prio;
		u32 waiter, blocker, caller, reason, doing, pad;
	} key = { ref_key(row->waiter_prio),
		  ref_key(row->blocker_prio),
		  row->waiter.v,
		  row->blocker.v,
		  row->caller,
		  row->reason,
		  row->doing,
		  0 };
	u32 id = intern_find(&v->row_keys, (const char *)&key, sizeof(key));
	struct pair_row *known;

	/* a key without its row: out of memory, the whole is of no use any more */
	if (v->failed)
		return;
	if (!id) {
		if (v->rows.n < INVERSION_MAX_ROWS)
			id = intern_add(&v->row_keys, (const char *)&key, sizeof(key));
		if (!id) {
			v->refused += row->pairs;
			return;
		}
		known = vec_push(&v->rows);
		if (!known) {
			v->failed = true;
			return;
		}
		*known = *row;
		return;
	}
	known = &v->rows.v[id - 1];
	known->pairs += row->pairs;
	known->overlap_ns += row->overlap_ns;
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A pair of priorities that may still turn out to be an inversion. */
struct open_pair {
	u64 waiter, blocker; /* ref_key() */
};

static int compare_open_pairs(const void *a, const void *b)
{
	const struct open_pair *x = a, *y = b;

	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	return x->blocker < y->blocker ? -1 : x->blocker > y->blocker;
}

/*
 * What decides whether a stretch of time is inverted: true when one of its pairs is already, else
 * the pairs that may still be (distinct, sorted). Of the segments active at *@at_ns, or of all.
 */
static bool find_open_pairs(struct inversion *v, const struct segment *s, size_t n,
			    const u64 *at_ns, struct open_pair *ret, size_t *ret_n,
			    bool *ret_active)
{
	size_t n_open = 0, kept = 0;

	*ret_active = false;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		if (at_ns && (s[i].begin_ns > *at_ns || s[i].end_ns <= *at_ns))
			continue;
		*ret_active = true;
		if (s[i].waiter_prio.known && s[i].blocker_prio.known) {
			if (s[i].waiter_prio.prio < s[i].blocker_prio.prio)
				return true;
		} else if (n_open < SLICE_MAX_OPEN) {
			ret[n_open++] = (struct open_pair){ ref_key(s[i].waiter_prio),
							    ref_key(s[i].blocker_prio) };
		} else {
			v->refused++;
		}
	}
	if (n_open)
		qsort(ret, n_open, sizeof(*ret), compare_open_pairs);
	for (size_t i = 0; i < n_open; i++) {
		if (!i || compare_open_pairs(&ret[i], &ret[i - 1]))
			ret[kept++] = ret[i];
	}
	*ret_n = kept;
	return false;
}

static void add_to_key(struct inversion *v, struct intern *keys, void *sums,
		       const struct open_pair *key, size_t n_key, u64 n)
{
	VEC(u64) *by_id = sums;
	u32 id = intern_add(keys, (const char *)key, n_key * sizeof(*key));

	if (!id) {
		v->refused++;
		return;
	}
	while (by_id->n <= id) {
		if (!vec_push(by_id)) {
			v->failed = true;
			return;
		}
	}
	by_id->v[id] += n;
}

u64 inversion_add_segments(struct inversion *v, struct segment *s, size_t n)
{
	struct open_pair open[SLICE_MAX_OPEN];
	size_t n_cuts = 0, n_open;
	u64 union_ns = 0, *cuts;
	bool active;

	if (!n)
		return 0;
	cuts = malloc(2 * n * sizeof(*cuts));
	if (!cuts) {
		v->failed = true;
		return 0;
	}
	if (find_open_pairs(v, s, n, NULL, open, &n_open, &active))
		v->sure_groups++;
	else if (n_open)
		add_to_key(v, &v->group_keys, &v->groups, open, n_open, 1);
	for (size_t i = 0; i < n; i++) {
		cuts[n_cuts++] = s[i].begin_ns;
		cuts[n_cuts++] = s[i].end_ns;
	}
	qsort(cuts, n_cuts, sizeof(*cuts), compare_u64);
	for (size_t i = 0; i + 1 < n_cuts; i++) {
		u64 ns = cuts[i + 1] - cuts[i];
		bool sure;

		if (!ns)
			continue;
		sure = find_open_pairs(v, s, n, &cuts[i], open, &n_open, &active);
		if (!active)
			continue;
		union_ns += ns;
		if (sure)
			v->sure_ns += ns;
		else if (n_open)
			add_to_key(v, &v->slice_keys, &v->slices_ns, open, n_open, ns);
	}
	free(cuts);
	return union_ns;
}

/* 0 known, 1 known late, -1 never known. */
static int resolve(const struct tasks *t, struct prio_ref ref, s32 *ret)
{
	if (ref.known) {
		*ret = ref.prio;
		return 0;
	}
	return task_late_prio(t, ref, ret) ? 1 : -1;
}

enum pair_judgement inversion_judge(const struct tasks *t, const struct pair_row *row,
				    bool *ret_late, s32 *ret_waiter_prio, s32 *ret_blocker_prio)
{
	int w = resolve(t, row->waiter_prio, ret_waiter_prio);
	int b = resolve(t, row->blocker_prio, ret_blocker_prio);

	*ret_late = w == 1 || b == 1;
	if (w < 0 || b < 0)
		return PAIR_UNKNOWN;
	return *ret_waiter_prio < *ret_blocker_prio ? PAIR_INVERTED : PAIR_NO_INVERSION;
}

static enum pair_judgement judge_key(const struct tasks *t, const struct intern *keys, u32 id)
{
	struct open_pair open[SLICE_MAX_OPEN];
	size_t len;
	const char *bytes = intern_get(keys, id, &len);
	bool unknown = false;
	s32 waiter, blocker;

	memcpy(open, bytes, len);
	for (size_t i = 0; i < len / sizeof(*open); i++) {
		if (resolve(t, key_ref(open[i].waiter), &waiter) < 0 ||
		    resolve(t, key_ref(open[i].blocker), &blocker) < 0)
			unknown = true;
		else if (waiter < blocker)
			return PAIR_INVERTED;
	}
	return unknown ? PAIR_UNKNOWN : PAIR_NO_INVERSION;
}

struct inversion_verdict inversion_judge_all(const struct inversion *v, const struct tasks *t)
{
	struct inversion_verdict verdict = { .score_ns = v->sure_ns, .groups = v->sure_groups };

	for (size_t i = 0; i < v->rows.n; i++) {
		const struct pair_row *row = &v->rows.v[i];
		s32 waiter, blocker;
		bool late;
		enum pair_judgement j = inversion_judge(t, row, &late, &waiter, &blocker);

		if (j == PAIR_UNKNOWN)
			verdict.unknown += row->pairs;
		else if (late)
			verdict.late += row->pairs;
		if (j != PAIR_INVERTED)
			continue;
		verdict.pairs += row->pairs;
		if (waiter < MAX_RT_PRIO && blocker >= MAX_RT_PRIO)
			verdict.rt_pairs += row->pairs;
		else if (waiter >= MAX_RT_PRIO)
			verdict.fair_pairs += row->pairs;
	}
	for (u32 id = 1; id < v->slice_keys.n; id++) {
		if (judge_key(t, &v->slice_keys, id) == PAIR_INVERTED)
			verdict.score_ns += v->slices_ns.v[id];
	}
	for (u32 id = 1; id < v->group_keys.n; id++) {
		enum pair_judgement j = judge_key(t, &v->group_keys, id);

		verdict.groups += j == PAIR_INVERTED ? v->groups.v[id] : 0;
		verdict.unknown_groups += j == PAIR_UNKNOWN ? v->groups.v[id] : 0;
	}
	return verdict;
}
