/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/callers.c: which functions write VMAs that other threads fault in at the same time.
 * Layer: analysis.
 *
 * A fault and a VMA write of another thread meet when the fault's address lies in the written range
 * of the same mm and they begin within --window-ms of each other. Per mm the begins of the last
 * window are kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"

#define MAX_HOMELESS 1024
#define MAX_RECENT 65536 /* begins kept per mm and side; the oldest go first, counted */

struct recent_fault {
	u64 time_ns, address;
	struct task_id task;
	VEC(u32) callers; /* those it was counted for */
};
struct recent_write {
	u64 time_ns, vm_start, vm_end;
	struct task_id task;
	u32 caller;
};
struct near_mm {
	VEC(struct recent_fault) faults;
	VEC(struct recent_write) writes;
	size_t first_fault, first_write; /* older ones are out of the window */
};
struct caller_row {
	u32 caller;
	u64 faults, pairs;
};
/* An open interval whose mm is not known yet. */
struct homeless {
	u64 begin_ns;
	const struct interval *interval;
};
struct callers {
	struct analysis_ctx *ctx;
	VEC(struct homeless) homeless; /* by begin */
	VEC(struct near_mm) mms;
	VEC(struct caller_row) rows;
	struct map row_of_caller;
	u64 refused;
};

static void *callers_new(struct analysis_ctx *ctx)
{
	struct callers *c = calloc(1, sizeof(*c));

	if (c)
		c->ctx = ctx;
	return c;
}

static void callers_free(void *self)
{
	struct callers *c = self;

	if (!c)
		return;
	for (size_t i = 0; i < c->mms.n; i++) {
		for (size_t f = 0; f < c->mms.v[i].faults.n; f++)
			vec_done(&c->mms.v[i].faults.v[f].callers);
		vec_done(&c->mms.v[i].faults);
		vec_done(&c->mms.v[i].writes);
	}
	vec_done(&c->homeless);
	vec_done(&c->mms);
	vec_done(&c->rows);
	map_done(&c->row_of_caller);
	free(c);
}

static struct caller_row *row_of(struct callers *c, u32 caller)
{
	u64 *known = map_get(&c->row_of_caller, caller);
	struct caller_row *row;

	if (known)
		return &c->rows.v[*known];
	row = vec_push(&c->rows);
	if (!row || !map_set(&c->row_of_caller, caller, c->rows.n - 1))
		return NULL;
	row->caller = caller;
	return row;
}

static int count(struct callers *c, struct recent_fault *f, const struct recent_write *w)
{
	struct caller_row *row;
	u32 *slot;

	if (task_same(f->task, w->task) || f->address < w->vm_start || f->address >= w->vm_end)
		return 0;
	row = row_of(c, w->caller);
	if (!row)
		return -ENOMEM;
	row->pairs++;
	for (size_t i = 0; i < f->callers.n; i++) {
		if (f->callers.v[i] == w->caller)
			return 0;
	}
	slot = vec_push(&f->callers);
	if (!slot)
		return -ENOMEM;
	*slot = w->caller;
	row->faults++;
	return 0;
}

/*
 * Drops what can meet nothing any more: begins over a window before now, and before the oldest
 * begin whose mm is still to be told. Storage moves down when half of it is dead.
 */
static void forget_old(struct callers *c, struct near_mm *m, u64 now_ns)
{
	u64 window_ns = c->ctx->opts->callers_window_ns;

	if (c->homeless.n && c->homeless.v[0].begin_ns < now_ns)
		now_ns = c->homeless.v[0].begin_ns;
	while (m->first_fault < m->faults.n &&
	       (m->faults.v[m->first_fault].time_ns + window_ns < now_ns ||
		m->faults.n - m->first_fault > MAX_RECENT)) {
		c->refused += m->faults.v[m->first_fault].time_ns + window_ns >= now_ns;
		vec_done(&m->faults.v[m->first_fault].callers);
		m->first_fault++;
	}
	while (m->first_write < m->writes.n &&
	       (m->writes.v[m->first_write].time_ns + window_ns < now_ns ||
		m->writes.n - m->first_write > MAX_RECENT)) {
		c->refused += m->writes.v[m->first_write].time_ns + window_ns >= now_ns;
		m->first_write++;
	}
	if (m->first_fault > 32 && m->first_fault * 2 >= m->faults.n) {
		m->faults.n -= m->first_fault;
		memmove(m->faults.v, m->faults.v + m->first_fault,
			m->faults.n * sizeof(*m->faults.v));
		m->first_fault = 0;
	}
	if (m->first_write > 32 && m->first_write * 2 >= m->writes.n) {
		m->writes.n -= m->first_write;
		memmove(m->writes.v, m->writes.v + m->first_write,
			m->writes.n * sizeof(*m->writes.v));
		m->first_write = 0;
	}
}

static bool within(const struct callers *c, u64 a_ns, u64 b_ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) <= c->ctx->opts->callers_window_ns;
}

static int place_fault(struct callers *c, struct near_mm *m, const struct interval *iv)
{
	struct recent_fault *f = vec_push(&m->faults), mine;
	size_t at = m->faults.n - 1;
	int err = 0;

	if (!f)
		return -ENOMEM;
	mine = (struct recent_fault){ .time_ns = iv->begin_ns,
				      .address = iv->address,
				      .task = iv->task };
	for (; at > m->first_fault && m->faults.v[at - 1].time_ns > iv->begin_ns; at--)
		m->faults.v[at] = m->faults.v[at - 1];
	m->faults.v[at] = mine;
	for (size_t i = m->first_write; i < m->writes.n && !err; i++) {
		if (within(c, m->writes.v[i].time_ns, iv->begin_ns))
			err = count(c, &m->faults.v[at], &m->writes.v[i]);
	}
	return err;
}

static int place_write(struct callers *c, struct near_mm *m, const struct interval *iv)
{
	struct recent_write *w = vec_push(&m->writes), mine;
	size_t at = m->writes.n - 1;
	int err = 0;

	if (!w)
		return -ENOMEM;
	mine = (struct recent_write){ iv->begin_ns, iv->vm_start, iv->vm_end, iv->task,
				      iv->caller };
	for (; at > m->first_write && m->writes.v[at - 1].time_ns > iv->begin_ns; at--)
		m->writes.v[at] = m->writes.v[at - 1];
	m->writes.v[at] = mine;
	for (size_t i = m->first_fault; i < m->faults.n && !err; i++) {
		if (within(c, m->faults.v[i].time_ns, iv->begin_ns))
			err = count(c, &m->faults.v[i], &mine);
	}
	return err;
}

static int place(struct callers *c, const struct interval *iv)
{
	struct near_mm *m;

	while (c->mms.n <= iv->mm.v) {
		if (!vec_push(&c->mms))
			return -ENOMEM;
	}
	m = &c->mms.v[iv->mm.v];
	forget_old(c, m, iv->begin_ns);
	if (iv->kind == IV_FAULT)
		return iv->has_address ? place_fault(c, m, iv) : 0;
	return iv->has_range && analysis_selects(c->ctx, iv->task) ? place_write(c, m, iv) : 0;
}

static int callers_open(void *self, struct interval *iv)
{
	struct callers *c = self;
	struct homeless *h;

	if (iv->kind != IV_FAULT && iv->kind != IV_VMA_WRITE)
		return 0;
	if (iv->mm.v && (iv->has_range || iv->kind == IV_FAULT))
		return place(c, iv);
	/* vma_start_write_begin_v2 prints no mm; a later event of the same write may */
	if (c->homeless.n >= MAX_HOMELESS) {
		c->refused++;
		return 0;
	}
	h = vec_push(&c->homeless);
	if (!h)
		return -ENOMEM;
	h->begin_ns = iv->begin_ns;
	h->interval = iv;
	iv->note[NOTE_CALLERS] = c;
	return 0;
}

static int callers_close(void *self, struct interval *iv)
{
	struct callers *c = self;

	if (!iv->note[NOTE_CALLERS])
		return 0;
	iv->note[NOTE_CALLERS] = NULL;
	for (size_t i = 0; i < c->homeless.n; i++) {
		if (c->homeless.v[i].interval != iv)
			continue;
		c->homeless.n--;
		memmove(&c->homeless.v[i], &c->homeless.v[i + 1],
			(c->homeless.n - i) * sizeof(*c->homeless.v));
		return iv->mm.v ? place(c, iv) : 0;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct caller_row *x = a, *y = b;

	if (x->faults != y->faults)
		return x->faults > y->faults ? -1 : 1;
	if (x->pairs != y->pairs)
		return x->pairs > y->pairs ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static int callers_finish(void *self, struct result *r)
{
	struct callers *c = self;
	const struct pair_seen *seen = c->ctx->seen;
	struct result_table *t = &r->tables[TABLE_CALLERS];

	c->ctx->refused += c->refused;
	t->covered = seen->faults && pair_any_vma(seen) && !seen->bpf;
	if (!t->covered) {
		t->why = seen->bpf ? "BPF records tell of faults and VMA writers that slept only"
			 : seen->faults ? "no VMA writer events"
					: "no page cache fault events";
		return 0;
	}
	if (c->rows.n)
		qsort(c->rows.v, c->rows.n, sizeof(*c->rows.v), compare_rows);
	for (size_t i = 0; i < c->rows.n; i++) {
		struct cell *cell = result_row(r, TABLE_CALLERS);

		if (!cell)
			return -ENOMEM;
		analysis_cell_string(r, cell++, c->ctx, c->rows.v[i].caller, "not printed");
		cell_u64(cell++, c->rows.v[i].faults);
		cell_u64(cell++, c->rows.v[i].pairs);
	}
	return 0;
}

const struct analysis_ops analysis_callers = {
	.key = "callers",
	.kinds = 1u << IV_FAULT | 1u << IV_VMA_WRITE,
	.new = callers_new,
	.free = callers_free,
	.open = callers_open,
	.close = callers_close,
	.finish = callers_finish,
};
