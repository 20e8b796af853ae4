/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/inversion.c: priority inversion with priorities that may be known late (see inversion.h). */
#include "analysis/inversion.h"

#include <stdlib.h>
#include <string.h>

#define INVERSION_MAX_ROWS 100000
#define MAX_RT_PRIO 100 /* kernel priorities below are deadline and RT */
#define SLICE_MAX_ACTIVE 500 /* a key fits INTERN_MAX_LEN */

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
}

void inversion_done(struct inversion *v)
{
	intern_done(&v->row_keys);
	intern_done(&v->slice_keys);
	vec_done(&v->rows);
	vec_done(&v->slices_ns);
}

void inversion_add_pair(struct inversion *v, const struct pair_row *row)
{
	struct {
		u64 waiter_prio, blocker_prio;
		u32 waiter, blocker, caller, reason, doing, pad;
	} key = { ref_key(row->waiter_prio), ref_key(row->blocker_prio), row->waiter.v, row->blocker.v,
		  row->caller, row->reason, row->doing, 0 };
	u32 id = intern_find(&v->row_keys, (const char *)&key, sizeof(key));
	struct pair_row *known;

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

static void add_slice(struct inversion *v, u64 waiter, u64 *blockers, size_t n, u64 ns)
{
	u64 key[SLICE_MAX_ACTIVE + 1];
	size_t n_key = 0;
	u32 id;

	key[n_key++] = waiter;
	for (size_t i = 0; i < n; i++) {
		if (i && blockers[i] == blockers[i - 1])
			continue;
		key[n_key++] = blockers[i];
	}
	id = intern_add(&v->slice_keys, (const char *)key, n_key * sizeof(*key));
	if (!id) {
		v->refused++;
		return;
	}
	while (v->slices_ns.n <= id) {
		if (!vec_push(&v->slices_ns)) {
			v->failed = true;
			return;
		}
	}
	v->slices_ns.v[id] += ns;
}

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * The blockers active in [from, to), reduced to what decides: all that are not known yet, and of the
 * known ones only the least important (the largest number), which inverts if any does.
 */
static size_t active_blockers(const struct segment *s, size_t n, u64 from, u64 *ret, u64 *refused)
{
	size_t n_active = 0;
	bool any_known = false;
	s32 least = 0;

	for (size_t i = 0; i < n && s[i].begin_ns <= from; i++) {
		if (s[i].end_ns <= from)
			continue;
		if (s[i].blocker_prio.known) {
			if (!any_known || s[i].blocker_prio.prio > least)
				least = s[i].blocker_prio.prio;
			any_known = true;
		} else if (n_active < SLICE_MAX_ACTIVE - 1) {
			ret[n_active++] = ref_key(s[i].blocker_prio);
		} else {
			(*refused)++;
		}
	}
	if (any_known)
		ret[n_active++] = ref_key((struct prio_ref){ .known = true, .prio = least });
	if (n_active)
		qsort(ret, n_active, sizeof(*ret), compare_u64);
	return n_active;
}

u64 inversion_add_segments(struct inversion *v, struct prio_ref waiter, struct segment *s, size_t n)
{
	u64 active[SLICE_MAX_ACTIVE], union_ns = 0, *cuts;
	size_t n_cuts = 0;

	if (!n)
		return 0;
	cuts = malloc(2 * n * sizeof(*cuts));
	if (!cuts) {
		v->failed = true;
		return 0;
	}
	qsort(s, n, sizeof(*s), compare_segments);
	for (size_t i = 0; i < n; i++) {
		cuts[n_cuts++] = s[i].begin_ns;
		cuts[n_cuts++] = s[i].end_ns;
	}
	qsort(cuts, n_cuts, sizeof(*cuts), compare_u64);
	for (size_t i = 0; i + 1 < n_cuts; i++) {
		u64 ns = cuts[i + 1] - cuts[i];
		size_t n_active;

		if (!ns)
			continue;
		n_active = active_blockers(s, n, cuts[i], active, &v->refused);
		if (!n_active)
			continue;
		union_ns += ns;
		add_slice(v, ref_key(waiter), active, n_active, ns);
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

enum pair_judgement inversion_judge(const struct tasks *t, const struct pair_row *row, bool *ret_late,
				    s32 *ret_waiter_prio, s32 *ret_blocker_prio)
{
	int w = resolve(t, row->waiter_prio, ret_waiter_prio);
	int b = resolve(t, row->blocker_prio, ret_blocker_prio);

	*ret_late = w == 1 || b == 1;
	if (w < 0 || b < 0)
		return PAIR_UNKNOWN;
	return *ret_waiter_prio < *ret_blocker_prio ? PAIR_INVERTED : PAIR_NO_INVERSION;
}

static bool slice_is_inverted(const struct tasks *t, const u64 *key, size_t n)
{
	s32 waiter, blocker;

	if (resolve(t, key_ref(key[0]), &waiter) < 0)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (resolve(t, key_ref(key[i]), &blocker) >= 0 && waiter < blocker)
			return true;
	}
	return false;
}

struct inversion_verdict inversion_judge_all(const struct inversion *v, const struct tasks *t)
{
	struct inversion_verdict verdict = { 0 };

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
		u64 key[SLICE_MAX_ACTIVE + 1];
		size_t len;
		const char *bytes = intern_get(&v->slice_keys, id, &len);

		memcpy(key, bytes, len);
		if (slice_is_inverted(t, key, len / sizeof(*key)))
			verdict.score_ns += v->slices_ns.v[id];
	}
	return verdict;
}
