/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/type_b.c: Type B, a retry that waits for mmap_lock, and its Type C. Layer: analysis.
 *
 * A window runs from a fault's retry until its thread has mmap_lock again (pair.c: IV_RETRY). It
 * counts when it overlaps another thread's write hold of that mm, or a write wait that began before
 * the retry's own wait: a writer queued behind the retry is not what it waits for.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/inversion.h"
#include "analysis/join.h"

#define WINDOW_MAX_SEGMENTS 8192

struct window {
	struct task_id task;
	bool has_own_wait;
	u64 own_place, own_wait_ns, io_wait_ns;
	VEC(struct segment) segments;
};
/* A write hold or write wait in the join. */
struct write {
	struct task_id task;
	bool is_wait;
	u64 place; /* of its begin in the order */
};
struct type_b {
	struct analysis_ctx *ctx;
	struct join join;
	struct inversion inversion;
	u64 windows, pairs, overlap_ns, retry_wait_ns, io_wait_ns, open, refused;
	u64 untracked; /* writes open now that began before the trace's first fault event */
};

static int on_pair(void *ctx, struct join_node *left, struct join_node *right)
{
	struct type_b *b = ctx;
	struct window *win = left->owner;
	const struct write *w = right->owner;
	struct pair_row row = { .pairs = 1, .waiter = win->task, .blocker = w->task };
	struct segment *s, seg;

	if (task_same(win->task, w->task))
		return 0;
	if (w->is_wait && !(win->has_own_wait && w->place < win->own_place))
		return 0;
	seg.begin_ns = left->begin_ns > right->begin_ns ? left->begin_ns : right->begin_ns;
	seg.end_ns = left->end_ns < right->end_ns ? left->end_ns : right->end_ns;
	b->pairs++;
	row.waiter_prio = task_prio_at(b->ctx->tasks, win->task, seg.begin_ns);
	row.blocker_prio = task_prio_at(b->ctx->tasks, w->task, seg.begin_ns);
	row.overlap_ns = seg.end_ns - seg.begin_ns;
	seg.waiter_prio = row.waiter_prio;
	seg.blocker_prio = row.blocker_prio;
	inversion_add_pair(&b->inversion, &row);
	s = win->segments.n < WINDOW_MAX_SEGMENTS ? vec_push(&win->segments) : NULL;
	if (s)
		*s = seg;
	else
		b->refused++;
	return 0;
}

static int on_retire(void *ctx, struct join_node *node)
{
	struct type_b *b = ctx;
	struct window *win = node->owner;

	if (node->side == JOIN_RIGHT) {
		free(node->owner);
		return 0;
	}
	if (win && win->segments.n) {
		b->windows++;
		b->overlap_ns +=
			inversion_add_segments(&b->inversion, win->segments.v, win->segments.n);
		b->retry_wait_ns += win->own_wait_ns;
		b->io_wait_ns += win->io_wait_ns;
	}
	if (win)
		vec_done(&win->segments);
	free(win);
	return 0;
}

static void *type_b_new(struct analysis_ctx *ctx)
{
	struct type_b *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ctx = ctx;
	join_init(&b->join, on_pair, on_retire, b);
	inversion_init(&b->inversion);
	return b;
}

static void type_b_free(void *self)
{
	struct type_b *b = self;

	if (!b)
		return;
	join_drain(&b->join);
	join_done(&b->join);
	inversion_done(&b->inversion);
	free(b);
}

static bool is_write(const struct interval *iv)
{
	return (iv->kind == IV_LOCK_WAIT || iv->kind == IV_LOCK_HOLD) && iv->mode == MODE_WRITE &&
	       iv->mm.v;
}

static int type_b_open(void *self, struct interval *iv)
{
	struct type_b *b = self;
	struct write *w;

	if (iv->kind == IV_RETRY && iv->mm.v) {
		if (b->untracked)
			return PAIR_RESTART;
		iv->note[NOTE_TYPE_B] = join_open(&b->join, JOIN_LEFT, iv->mm, iv->begin_ns, NULL);
		return iv->note[NOTE_TYPE_B] ? 0 : -ENOMEM;
	}
	if (!is_write(iv))
		return 0;
	/* a trace without faults, most stock ones, need not follow its writers */
	if (!b->ctx->seen->faults) {
		b->untracked++;
		return 0;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->task = iv->task;
	w->is_wait = iv->kind == IV_LOCK_WAIT;
	w->place = iv->begin_place;
	iv->note[NOTE_TYPE_B] = join_open(&b->join, JOIN_RIGHT, iv->mm, iv->begin_ns, w);
	if (!iv->note[NOTE_TYPE_B]) {
		free(w);
		return -ENOMEM;
	}
	return 0;
}

static int window_close(struct type_b *b, struct interval *iv, struct join_node *n)
{
	struct window *win;

	if (iv->flags & IVF_OPEN_END)
		b->open++;
	if (!interval_is_whole(iv) || !analysis_counts(b->ctx, iv))
		return join_drop(&b->join, n);
	win = calloc(1, sizeof(*win));
	if (!win)
		return -ENOMEM;
	win->task = iv->task;
	win->has_own_wait = iv->has_own_wait;
	win->own_place = iv->own_place;
	win->own_wait_ns = iv->own_wait_ns;
	win->io_wait_ns = iv->io_wait_ns;
	n->owner = win;
	return join_close(&b->join, n, iv->end_ns);
}

static int type_b_close(void *self, struct interval *iv)
{
	struct type_b *b = self;
	struct join_node *n = iv->note[NOTE_TYPE_B];

	if (!n && is_write(iv) && !(iv->flags & (IVF_OPEN_BEGIN | IVF_BLOCKED)))
		b->untracked--;
	/* without an mm there is nothing to join, but a window that did not end is one all the same
	 */
	if (!n && iv->kind == IV_RETRY && (iv->flags & IVF_OPEN_END))
		b->open++;
	if (!n)
		return 0;
	iv->note[NOTE_TYPE_B] = NULL;
	if (iv->kind == IV_RETRY)
		return window_close(b, iv, n);
	return interval_is_whole(iv) ? join_close(&b->join, n, iv->end_ns) : join_drop(&b->join, n);
}

struct shown {
	const struct pair_row *row;
	u64 windows, overlap_ns, inverted;
};

static int compare_same(const void *a, const void *b)
{
	const struct pair_row *x = ((const struct shown *)a)->row,
			      *y = ((const struct shown *)b)->row;

	if (x->waiter.v != y->waiter.v)
		return x->waiter.v < y->waiter.v ? -1 : 1;
	return x->blocker.v < y->blocker.v ? -1 : x->blocker.v > y->blocker.v;
}

static int compare_overlap(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->overlap_ns != y->overlap_ns)
		return x->overlap_ns > y->overlap_ns ? -1 : 1;
	return compare_same(a, b);
}

static int pair_rows(struct type_b *b, struct result *r)
{
	struct inversion *v = &b->inversion;
	struct shown *s;
	size_t n = 0;
	int err = 0;

	if (!v->rows.n)
		return 0;
	s = calloc(v->rows.n, sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < v->rows.n; i++)
		s[i].row = &v->rows.v[i];
	qsort(s, v->rows.n, sizeof(*s), compare_same);
	for (size_t i = 0; i < v->rows.n; i++) {
		const struct pair_row *row = s[i].row;
		s32 waiter, blocker;
		bool late;

		if (!n || compare_same(&s[n - 1], &s[i]))
			s[n++] = (struct shown){ .row = row };
		s[n - 1].windows += row->pairs;
		s[n - 1].overlap_ns += row->overlap_ns;
		if (inversion_judge(b->ctx->tasks, row, &late, &waiter, &blocker) == PAIR_INVERTED)
			s[n - 1].inverted += row->pairs;
	}
	qsort(s, n, sizeof(*s), compare_overlap);
	for (size_t i = 0; i < n && !err; i++) {
		struct cell *c = result_row(r, TABLE_B_PAIRS);

		if (!c) {
			err = -ENOMEM;
			break;
		}
		cell_u64(c++, tasks_get(b->ctx->tasks, s[i].row->waiter)->tid);
		analysis_cell_comm(r, c++, b->ctx, s[i].row->waiter);
		cell_u64(c++, tasks_get(b->ctx->tasks, s[i].row->blocker)->tid);
		analysis_cell_comm(r, c++, b->ctx, s[i].row->blocker);
		cell_u64(c++, s[i].windows);
		cell_u64(c++, s[i].overlap_ns);
		cell_opt(c++, b->ctx->seen->prios, s[i].inverted);
	}
	free(s);
	return err;
}

static int type_b_finish(void *self, struct result *r)
{
	struct type_b *b = self;
	const struct pair_seen *seen = b->ctx->seen;
	struct inversion_verdict v;
	bool covered = seen->faults && pair_any_locks(seen);

	if (join_drain(&b->join))
		return -ENOMEM;
	b->ctx->refused += b->refused + b->join.retired_early + b->inversion.refused;
	r->tables[TABLE_B_PAIRS].covered = covered;
	if (!covered) {
		r->tables[TABLE_B_PAIRS].why =
			seen->faults ? "no mmap_lock events" : "no page cache fault events";
		return 0;
	}
	if (b->inversion.failed)
		return -ENOMEM;
	r->summary.b_windows = opt(b->windows);
	r->summary.b_pairs = opt(b->pairs);
	r->summary.b_overlap_ns = opt(b->overlap_ns);
	r->summary.b_retry_wait_ns = opt(b->retry_wait_ns);
	r->summary.b_io_wait_ns = opt(b->io_wait_ns);
	r->summary.b_open_windows = opt(b->open);
	if (seen->prios) {
		v = inversion_judge_all(&b->inversion, b->ctx->tasks);
		r->summary.c_b_windows = opt(v.groups);
		r->summary.c_b_score_ns = opt(v.score_ns);
		r->summary.c_b_unknown = opt(v.unknown_groups);
		r->summary.c_b_late = opt(v.late);
	}
	return pair_rows(b, r);
}

const struct analysis_ops analysis_type_b = {
	.key = "type_b",
	.kinds = 1u << IV_RETRY | 1u << IV_LOCK_WAIT | 1u << IV_LOCK_HOLD,
	.new = type_b_new,
	.free = type_b_free,
	.open = type_b_open,
	.close = type_b_close,
	.finish = type_b_finish,
};
