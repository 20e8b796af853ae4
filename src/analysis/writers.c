/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/writers.c: VMA writers by caller, fault waits by reason and outcome, and both by the
 * kind of VMA, as far as the trace tells. Layer: analysis.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"

#define MAX_ROWS 4096 /* distinct callers or reasons; the rest is one row */

enum outcome { OUTCOME_HELD, OUTCOME_RETRIED, OUTCOME_UNSEEN, OUTCOMES };
static const char *const outcome_names[OUTCOMES] = { "kept the lock", "retried", "not seen whole" };

/*
 * A text trace names no VMA: an inode tells of a file, inode 0 of anonymous memory (heap, stack and
 * the named kinds among it), and without an inode nothing is known.
 */
enum vma_kind { KIND_FILE, KIND_ANONYMOUS, KIND_UNKNOWN, KINDS };
static const char *const kind_names[KINDS] = { "file", "anonymous", "unknown" };

struct caller_row {
	u32 caller;
	u64 writes;
	struct series waits;
};
struct reason_row {
	u32 reason;
	struct series waits[OUTCOMES];
	u64 contended[OUTCOMES];
};
struct kind_row {
	u64 faults, fault_waits, fault_wait_ns, writes, write_waits, write_wait_ns;
};
/* A closed wait of a fault whose outcome is not known yet. */
struct pending_wait {
	u64 wait_ns;
	u32 reason;
};
struct pending_fault {
	VEC(struct pending_wait) waits;
};
struct writers {
	struct analysis_ctx *ctx;
	VEC(struct caller_row) callers;
	struct map caller_of;
	VEC(struct reason_row) reasons;
	struct map reason_of;
	struct kind_row kinds[KINDS];
	VEC(struct pending_fault) pending; /* by task id */
};

static void *writers_new(struct analysis_ctx *ctx)
{
	struct writers *w = calloc(1, sizeof(*w));

	if (w)
		w->ctx = ctx;
	return w;
}

static void writers_free(void *self)
{
	struct writers *w = self;

	if (!w)
		return;
	for (size_t i = 0; i < w->callers.n; i++)
		series_done(&w->callers.v[i].waits);
	for (size_t i = 0; i < w->reasons.n; i++) {
		for (u32 o = 0; o < OUTCOMES; o++)
			series_done(&w->reasons.v[i].waits[o]);
	}
	for (size_t i = 0; i < w->pending.n; i++)
		vec_done(&w->pending.v[i].waits);
	vec_done(&w->callers);
	vec_done(&w->reasons);
	vec_done(&w->pending);
	map_done(&w->caller_of);
	map_done(&w->reason_of);
	free(w);
}

static struct caller_row *caller_row(struct writers *w, u32 caller)
{
	u64 *known = map_get(&w->caller_of, caller);
	struct caller_row *row;

	if (!known && w->callers.n >= MAX_ROWS) {
		w->ctx->refused++;
		caller = 0;
		known = map_get(&w->caller_of, 0);
	}
	if (known)
		return &w->callers.v[*known];
	row = vec_push(&w->callers);
	if (!row || !map_set(&w->caller_of, caller, w->callers.n - 1))
		return NULL;
	row->caller = caller;
	series_init(&row->waits);
	return row;
}

static struct reason_row *reason_row(struct writers *w, u32 reason)
{
	u64 *known = map_get(&w->reason_of, reason);
	struct reason_row *row;

	if (!known && w->reasons.n >= MAX_ROWS) {
		w->ctx->refused++;
		reason = 0;
		known = map_get(&w->reason_of, 0);
	}
	if (known)
		return &w->reasons.v[*known];
	row = vec_push(&w->reasons);
	if (!row || !map_set(&w->reason_of, reason, w->reasons.n - 1))
		return NULL;
	row->reason = reason;
	for (u32 o = 0; o < OUTCOMES; o++)
		series_init(&row->waits[o]);
	return row;
}

static enum vma_kind kind_of(const struct interval *iv)
{
	if (!iv->has_file)
		return KIND_UNKNOWN;
	return iv->ino ? KIND_FILE : KIND_ANONYMOUS;
}

static struct pending_fault *pending_of(struct writers *w, struct task_id task)
{
	while (w->pending.n <= task.v) {
		if (!vec_push(&w->pending))
			return NULL;
	}
	return &w->pending.v[task.v];
}

static int fault_wait_closed(struct writers *w, const struct interval *iv)
{
	struct pending_fault *f = pending_of(w, iv->task);
	struct kind_row *kind = &w->kinds[kind_of(iv)];
	struct pending_wait *p;

	if (!f)
		return -ENOMEM;
	if (!interval_is_whole(iv))
		return 0;
	kind->fault_waits++;
	kind->fault_wait_ns += iv->end_ns - iv->begin_ns;
	p = vec_push(&f->waits);
	if (!p)
		return -ENOMEM;
	p->wait_ns = iv->end_ns - iv->begin_ns;
	p->reason = iv->reason;
	return 0;
}

static int fault_closed(struct writers *w, const struct interval *iv)
{
	enum outcome o = iv->retried		 ? OUTCOME_RETRIED
			 : interval_is_whole(iv) ? OUTCOME_HELD
						 : OUTCOME_UNSEEN;
	struct pending_fault *f = pending_of(w, iv->task);

	if (!f)
		return -ENOMEM;
	if (!(iv->flags & IVF_OPEN_BEGIN))
		w->kinds[kind_of(iv)].faults++;
	for (size_t i = 0; i < f->waits.n; i++) {
		struct reason_row *row = reason_row(w, f->waits.v[i].reason);

		if (!row)
			return -ENOMEM;
		series_add(&row->waits[o], f->waits.v[i].wait_ns);
		if (row->waits[o].failed)
			return -ENOMEM;
		row->contended[o] += analysis_is_contended(w->ctx, f->waits.v[i].wait_ns);
	}
	f->waits.n = 0;
	return 0;
}

static int write_closed(struct writers *w, const struct interval *iv)
{
	struct kind_row *kind = &w->kinds[kind_of(iv)];
	struct caller_row *row = caller_row(w, iv->caller);

	if (!row)
		return -ENOMEM;
	if (iv->kind == IV_VMA_WRITE) {
		if (!(iv->flags & IVF_OPEN_BEGIN)) {
			row->writes++;
			kind->writes++;
		}
	} else if (interval_is_whole(iv)) {
		series_add(&row->waits, iv->end_ns - iv->begin_ns);
		if (row->waits.failed)
			return -ENOMEM;
		kind->write_waits++;
		kind->write_wait_ns += iv->end_ns - iv->begin_ns;
	}
	return 0;
}

static int writers_close(void *self, struct interval *iv)
{
	struct writers *w = self;

	if (iv->kind > IV_VMA_WAIT || !analysis_counts(w->ctx, iv))
		return 0;
	switch (iv->kind) {
	case IV_FAULT:
		return fault_closed(w, iv);
	case IV_FAULT_WAIT:
		return fault_wait_closed(w, iv);
	default:
		return write_closed(w, iv);
	}
}

static void cell_quantile(struct cell *c, struct series *s, u32 permille)
{
	u64 v = 0;
	bool has = series_quantile(s, permille, &v);

	cell_opt(c, has, v);
}

static int compare_callers(const void *a, const void *b)
{
	const struct caller_row *x = a, *y = b;

	if (x->waits.sum != y->waits.sum)
		return x->waits.sum > y->waits.sum ? -1 : 1;
	if (x->writes != y->writes)
		return x->writes > y->writes ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static int finish_callers(struct writers *w, struct result *r)
{
	if (w->callers.n)
		qsort(w->callers.v, w->callers.n, sizeof(*w->callers.v), compare_callers);
	for (size_t i = 0; i < w->callers.n; i++) {
		struct caller_row *row = &w->callers.v[i];
		struct cell *c = result_row(r, TABLE_VMA_WRITERS);

		if (!c)
			return -ENOMEM;
		analysis_cell_string(r, c++, w->ctx, row->caller, "not printed");
		cell_opt(c++, !w->ctx->seen->bpf, row->writes);
		cell_u64(c++, row->waits.n);
		cell_u64(c++, row->waits.sum);
		cell_opt(c++, row->waits.n, row->waits.n ? row->waits.sum / row->waits.n : 0);
		cell_quantile(c++, &row->waits, 500);
		cell_quantile(c++, &row->waits, 990);
		cell_opt(c++, row->waits.n, row->waits.max);
		cell_u64(c++, row->waits.approximate);
	}
	return 0;
}

static int reason_cells(struct writers *w, struct result *r, struct reason_row *row, enum outcome o)
{
	struct cell *c = result_row(r, TABLE_FAULT_WAITS);

	if (!c)
		return -ENOMEM;
	analysis_cell_string(r, c++, w->ctx, row->reason, "not printed");
	cell_str(c++, outcome_names[o], strlen(outcome_names[o]));
	return analysis_fill_distribution(r, c, w->ctx, &row->waits[o], row->contended[o])
		       ? 0
		       : -ENOMEM;
}

static int finish_kinds(struct writers *w, struct result *r)
{
	for (u32 k = 0; k < KINDS; k++) {
		const struct kind_row *row = &w->kinds[k];
		struct cell *c;

		if (!row->faults && !row->writes && !row->fault_waits && !row->write_waits)
			continue;
		c = result_row(r, TABLE_VMA_KINDS);
		if (!c)
			return -ENOMEM;
		cell_str(c++, kind_names[k], strlen(kind_names[k]));
		cell_opt(c++, !w->ctx->seen->bpf, row->faults);
		cell_u64(c++, row->fault_waits);
		cell_u64(c++, row->fault_wait_ns);
		cell_opt(c++, !w->ctx->seen->bpf, row->writes);
		cell_u64(c++, row->write_waits);
		cell_u64(c++, row->write_wait_ns);
	}
	return 0;
}

static int compare_reasons(const void *a, const void *b)
{
	const struct reason_row *x = a, *y = b;
	u64 sum_x = 0, sum_y = 0;

	for (u32 o = 0; o < OUTCOMES; o++) {
		sum_x += x->waits[o].sum;
		sum_y += y->waits[o].sum;
	}
	if (sum_x != sum_y)
		return sum_x > sum_y ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

static int writers_finish(void *self, struct result *r)
{
	struct writers *w = self;
	const struct pair_seen *seen = w->ctx->seen;
	int err = 0;

	r->tables[TABLE_VMA_WRITERS].covered = pair_any_vma(seen);
	r->tables[TABLE_VMA_WRITERS].why = "no VMA writer events";
	r->tables[TABLE_FAULT_WAITS].covered = seen->faults;
	r->tables[TABLE_FAULT_WAITS].why = "no page cache fault events";
	r->tables[TABLE_VMA_KINDS].covered = seen->faults || pair_any_vma(seen);
	r->tables[TABLE_VMA_KINDS].why = "no page cache fault or VMA writer events";
	if (pair_any_vma(seen))
		err = finish_callers(w, r);
	if (w->reasons.n)
		qsort(w->reasons.v, w->reasons.n, sizeof(*w->reasons.v), compare_reasons);
	for (size_t i = 0; i < w->reasons.n && !err; i++) {
		for (u32 o = 0; o < OUTCOMES && !err; o++) {
			if (w->reasons.v[i].waits[o].n)
				err = reason_cells(w, r, &w->reasons.v[i], o);
		}
	}
	if (!err)
		err = finish_kinds(w, r);
	return err;
}

const struct analysis_ops analysis_writers = {
	.key = "writers",
	.kinds = 1u << IV_FAULT | 1u << IV_FAULT_WAIT | 1u << IV_VMA_WRITE | 1u << IV_VMA_WAIT,
	.new = writers_new,
	.free = writers_free,
	.close = writers_close,
	.finish = writers_finish,
};
