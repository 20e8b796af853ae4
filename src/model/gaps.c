/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/gaps.c: where events were lost (see gaps.h). Layer: model. */
#include "model/gaps.h"

/*
 * Stand for the trace's first and last event until gaps_finish(). They compare as the earliest and
 * the latest time, so that gaps which are joined before that hide nothing.
 */
#define OPEN_BEGIN 0
#define OPEN_END UINT64_MAX

static u64 saturating_add(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void gaps_init(struct gaps *g)
{
	memset(g, 0, sizeof(*g));
}

void gaps_done(struct gaps *g)
{
	vec_done(&g->list);
	vec_done(&g->cpus);
	vec_done(&g->spans);
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

void gaps_span(struct gaps *g, u64 begin_ns, u64 end_ns, u64 n, bool n_known)
{
	struct gap *span;

	g->all.marks++;
	g->all.lost_events = saturating_add(g->all.lost_events, n);
	g->all.minimum |= !n_known;
	if (begin_ns > end_ns) {
		u64 swap = begin_ns;

		begin_ns = end_ns;
		end_ns = swap;
	}
	if (g->spans.n >= GAPS_MAX) {
		g->joined++;
		span = &g->spans.v[g->spans.n - 1];
		if (begin_ns < span->begin_ns)
			span->begin_ns = begin_ns;
		if (end_ns > span->end_ns)
			span->end_ns = end_ns;
		return;
	}
	span = vec_push(&g->spans);
	if (!span) {
		g->failed = true;
		return;
	}
	*span = (struct gap){ begin_ns, end_ns };
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Sorted, and those that overlap made one. Gaps that only touch stay two: an interval between them
 * would have no length. */
static size_t unite(struct gap *v, size_t n)
{
	size_t last = 0;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), compare_gaps);
	for (size_t i = 1; i < n; i++) {
		if (v[i].begin_ns >= v[last].end_ns)
			v[++last] = v[i];
		else if (v[i].end_ns > v[last].end_ns)
			v[last].end_ns = v[i].end_ns;
	}
	return last + 1;
}

/* A side that is missing, or outside the trace, is the trace's own. */
static void finish_spans(struct gaps *g)
{
	for (size_t i = 0; i < g->spans.n; i++) {
		struct gap *s = &g->spans.v[i];

		if (s->begin_ns < g->first_ns)
			s->begin_ns = g->first_ns;
		if (s->end_ns > g->last_ns)
			s->end_ns = g->last_ns;
		if (s->end_ns < s->begin_ns)
			s->end_ns = s->begin_ns;
	}
	g->spans.n = unite(g->spans.v, g->spans.n);
	for (size_t i = 0; i < g->spans.n; i++) {
		struct gap *gap = vec_push(&g->list);

		if (!gap) {
			g->failed = true;
			return;
		}
		*gap = g->spans.v[i];
		g->all.gap_ns += gap->end_ns - gap->begin_ns;
	}
}

void gaps_finish(struct gaps *g)
{
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
	finish_spans(g);
	g->list.n = unite(g->list.v, g->list.n);
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
