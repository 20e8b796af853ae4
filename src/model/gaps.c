/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/gaps.c: where events were lost (see gaps.h). Layer: model. */
#include "model/gaps.h"

/*
 * Stand for the trace's first and last event until gaps_finish(). They compare as the earliest and
 * the latest time, so that gaps which are joined before that hide nothing.
 */
#define OPEN_BEGIN 0
#define OPEN_END UINT64_MAX

void gaps_init(struct gaps *g)
{
	memset(g, 0, sizeof(*g));
}

void gaps_done(struct gaps *g)
{
	vec_done(&g->list);
	vec_done(&g->cpus);
	gaps_init(g);
}

static struct gap_cpu *gap_cpu(struct gaps *g, u16 cpu)
{
	while (g->cpus.n <= cpu) {
		if (cpu >= GAPS_MAX_CPU || !vec_push(&g->cpus)) {
			g->failed = true;
			return NULL;
		}
	}
	return &g->cpus.v[cpu];
}

static void add_gap(struct gaps *g, struct gap_cpu *c, u64 begin_ns, u64 end_ns)
{
	struct gap *gap;

	/* a live capture may be out of order by a little */
	if (begin_ns > end_ns) {
		u64 swap = begin_ns;

		begin_ns = end_ns;
		end_ns = swap;
	}
	if (g->list.n >= GAPS_MAX) {
		g->joined++;
		gap = &g->list.v[g->list.n - 1];
		if (end_ns > gap->end_ns)
			gap->end_ns = end_ns;
		if (begin_ns < gap->begin_ns)
			gap->begin_ns = begin_ns;
	} else {
		gap = vec_push(&g->list);
		if (!gap) {
			g->failed = true;
			return;
		}
		gap->begin_ns = begin_ns;
		gap->end_ns = end_ns;
	}
	if (begin_ns != OPEN_BEGIN && end_ns != OPEN_END)
		c->gap_ns += end_ns - begin_ns;
}

void gaps_event(struct gaps *g, u16 cpu, u64 time_ns)
{
	struct gap_cpu *c = gap_cpu(g, cpu);

	if (!g->any_event || time_ns < g->first_ns)
		g->first_ns = time_ns;
	if (!g->any_event || time_ns > g->last_ns)
		g->last_ns = time_ns;
	g->any_event = true;
	if (!c)
		return;
	if (c->pending) {
		c->pending = false;
		add_gap(g, c, c->pending_begin_ns, time_ns);
		if (c->pending_begin_ns == OPEN_BEGIN)
			c->head_gap_end_ns = time_ns;
	}
	c->seen = true;
	c->last_ns = time_ns;
}

void gaps_lost(struct gaps *g, u16 cpu, u64 n, bool n_known)
{
	struct gap_cpu *c;

	if (cpu == GAPS_ALL_CPUS) {
		for (size_t i = 0; i < g->cpus.n; i++) {
			if (!g->cpus.v[i].seen)
				continue;
			/* the number is told once */
			gaps_lost(g, (u16)i, n, n_known);
			n = 0;
		}
		return;
	}
	c = gap_cpu(g, cpu);
	if (!c)
		return;
	c->marks++;
	c->lost_events += n;
	c->minimum |= !n_known;
	if (c->pending)
		return;
	c->pending = true;
	c->pending_begin_ns = c->seen ? c->last_ns : OPEN_BEGIN;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void gaps_finish(struct gaps *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->cpus.n; i++) {
		struct gap_cpu *c = &g->cpus.v[i];

		if (c->head_gap_end_ns)
			c->gap_ns += c->head_gap_end_ns - g->first_ns;
		if (!c->pending)
			continue;
		c->pending = false;
		add_gap(g, c, c->pending_begin_ns, OPEN_END);
		c->gap_ns += g->last_ns - (c->pending_begin_ns == OPEN_BEGIN ? g->first_ns
									     : c->pending_begin_ns);
	}
	for (size_t i = 0; i < g->list.n; i++) {
		struct gap *gap = &g->list.v[i];

		if (gap->begin_ns == OPEN_BEGIN)
			gap->begin_ns = g->first_ns;
		if (gap->end_ns == OPEN_END)
			gap->end_ns = g->last_ns;
	}
	if (g->list.n)
		qsort(g->list.v, g->list.n, sizeof(*g->list.v), compare_gaps);
	for (size_t i = 1; i < g->list.n; i++) {
		struct gap *last = &g->list.v[n], *gap = &g->list.v[i];

		/* gaps that only touch stay two: an interval between them would have no length */
		if (gap->begin_ns < last->end_ns) {
			if (gap->end_ns > last->end_ns)
				last->end_ns = gap->end_ns;
		} else {
			g->list.v[++n] = *gap;
		}
	}
	if (g->list.n)
		g->list.n = n + 1;
}

bool gaps_touch(struct gaps *g, u64 begin_ns, u64 end_ns)
{
	size_t low = 0, high = g->list.n;

	/* first gap that ends after the interval begins */
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->list.v[mid].end_ns > begin_ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low < g->list.n && g->list.v[low].begin_ns < end_ns;
}
