/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/blame.c: who made whom wait for mmap_lock. Layer: analysis.
 *
 * The time of every contended wait is cut at each begin and end of what was in its way; a slice
 * goes to the holders that exclude the waiter (shared equally, odd ns to the smallest TIDs), else
 * to the write wait that began first before it, else to the wake-up when the last holder had
 * already let go, else to unknown. The slices sum to the wait exactly.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/join.h"

#define WAIT_MAX_SEGMENTS 4096
#define MAX_ROWS 50000

enum because { HOLDS_READ, HOLDS_WRITE, QUEUED_WRITE, WAKE_UP, UNKNOWN, BECAUSES };
static const char *const because_names[BECAUSES] = { "holds to read", "holds to write",
						     "queued to write", "wake-up", "unknown" };
static const char *const mode_names[] = { "read", "write", "unknown" };

struct segment_of {
	u64 begin_ns, end_ns, full_begin_ns, place;
	u32 task;
	u8 what, origin; /* enum because, enum origin */
};
struct wait {
	u64 begin_ns, end_ns;
	struct task_id task;
	u8 mode, origin;
	VEC(struct segment_of) segments;
};
struct row {
	u32 waiter, blocker; /* task ids, 0 = nobody */
	u8 mode, because, waiter_origin, blocker_origin;
	u64 ns, waits;
	u64 last_wait; /* number of the wait that was counted last */
};
struct rows {
	VEC(struct row) list;
	struct map by_key;
};
struct blame {
	struct analysis_ctx *ctx;
	struct join join;
	struct rows by_thread, by_origin;
	u64 n_waits, refused;
	bool failed;
};

static struct row *find_row(struct blame *b, struct rows *rows, u64 key, const struct row *like)
{
	u64 *known = map_get(&rows->by_key, key);
	struct row *row;

	if (known)
		return &rows->list.v[*known];
	if (rows->list.n >= MAX_ROWS)
		return NULL;
	row = vec_push(&rows->list);
	if (!row || !map_set(&rows->by_key, key, rows->list.n - 1)) {
		b->failed = true;
		return NULL;
	}
	*row = *like;
	return row;
}

static void charge(struct blame *b, const struct wait *w, u32 blocker, enum because why,
		   enum origin origin, u64 ns)
{
	struct row like = { .waiter = w->task.v,
			    .blocker = blocker,
			    .mode = w->mode,
			    .because = (u8)why,
			    .waiter_origin = w->origin,
			    .blocker_origin = (u8)origin };
	u64 by_thread = (u64)w->task.v << 35 ^ (u64)blocker << 5 ^ (u64)w->mode << 3 ^ (u64)why;
	u64 by_origin = (u64)w->mode << 24 | (u64)w->origin << 16 | (u64)origin << 8 | (u64)why;
	struct row *row[] = { find_row(b, &b->by_thread, by_thread, &like),
			      find_row(b, &b->by_origin, by_origin, &like) };

	for (u32 i = 0; i < 2; i++) {
		if (!row[i]) {
			b->refused++;
			continue;
		}
		row[i]->ns += ns;
		row[i]->waits += row[i]->last_wait != b->n_waits;
		row[i]->last_wait = b->n_waits;
	}
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct holder {
	u32 tid;
	const struct segment_of *segment;
};

static int compare_holders(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* One slice: everything in the way is active in all of it or in none of it. */
static void charge_slice(struct blame *b, const struct wait *w, u64 from, u64 to, u64 last_hold_ns,
			 struct holder *holders)
{
	const struct segment_of *queued = NULL;
	u64 ns = to - from;
	size_t n = 0;

	for (size_t i = 0; i < w->segments.n; i++) {
		const struct segment_of *s = &w->segments.v[i];

		if (s->begin_ns > from || s->end_ns <= from)
			continue;
		if (s->what != QUEUED_WRITE)
			holders[n++] = (struct holder){
				tasks_get(b->ctx->tasks, (struct task_id){ s->task })->tid, s
			};
		else if (!queued || s->full_begin_ns < queued->full_begin_ns ||
			 (s->full_begin_ns == queued->full_begin_ns && s->place < queued->place))
			queued = s;
	}
	if (n) {
		qsort(holders, n, sizeof(*holders), compare_holders);
		for (size_t i = 0; i < n; i++)
			charge(b, w, holders[i].segment->task, holders[i].segment->what,
			       holders[i].segment->origin, ns / n + (i < ns % n));
	} else if (queued) {
		charge(b, w, queued->task, QUEUED_WRITE, queued->origin, ns);
	} else {
		charge(b, w, 0, last_hold_ns && from >= last_hold_ns ? WAKE_UP : UNKNOWN,
		       ORIGIN_OTHER, ns);
	}
}

static void settle(struct blame *b, struct wait *w)
{
	size_t n = 0, capacity = 2 * w->segments.n + 2;
	struct holder *holders = calloc(w->segments.n + 1, sizeof(*holders));
	u64 *cuts = calloc(capacity, sizeof(*cuts)), last_hold_ns = 0;

	b->n_waits++;
	if (!cuts || !holders) {
		b->failed = true;
		goto out;
	}
	cuts[n++] = w->begin_ns;
	cuts[n++] = w->end_ns;
	for (size_t i = 0; i < w->segments.n; i++) {
		const struct segment_of *s = &w->segments.v[i];

		cuts[n++] = s->begin_ns;
		cuts[n++] = s->end_ns;
		if (s->what != QUEUED_WRITE && s->end_ns > last_hold_ns)
			last_hold_ns = s->end_ns;
	}
	qsort(cuts, n, sizeof(*cuts), compare_u64);
	for (size_t i = 0; i + 1 < n; i++) {
		if (cuts[i] < cuts[i + 1])
			charge_slice(b, w, cuts[i], cuts[i + 1], last_hold_ns, holders);
	}
out:
	free(cuts);
	free(holders);
}

static int on_pair(void *ctx, struct join_node *left, struct join_node *right)
{
	struct blame *b = ctx;
	struct wait *w = left->owner;
	struct segment_of *s;

	if (right->task == w->task.v)
		return 0;
	if (right->what == HOLDS_READ && w->mode == MODE_READ)
		return 0;
	if (right->what == QUEUED_WRITE &&
	    (right->begin_ns > w->begin_ns ||
	     (right->begin_ns == w->begin_ns && right->place > left->place)))
		return 0;
	s = w->segments.n < WAIT_MAX_SEGMENTS ? vec_push(&w->segments) : NULL;
	if (!s) {
		b->refused++;
		return 0;
	}
	s->begin_ns = left->begin_ns > right->begin_ns ? left->begin_ns : right->begin_ns;
	s->end_ns = left->end_ns < right->end_ns ? left->end_ns : right->end_ns;
	s->full_begin_ns = right->begin_ns;
	s->place = right->place;
	s->task = right->task;
	s->what = right->what;
	s->origin = right->origin;
	return 0;
}

static int on_retire(void *ctx, struct join_node *node)
{
	struct blame *b = ctx;
	struct wait *w = node->owner;

	if (!w)
		return 0;
	settle(b, w);
	vec_done(&w->segments);
	free(w);
	return b->failed ? -ENOMEM : 0;
}

static void *blame_new(struct analysis_ctx *ctx)
{
	struct blame *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ctx = ctx;
	join_init(&b->join, on_pair, on_retire, b);
	b->join.max_closed = 1u << 14;
	return b;
}

static void blame_free(void *self)
{
	struct blame *b = self;

	if (!b)
		return;
	join_drain(&b->join);
	join_done(&b->join);
	vec_done(&b->by_thread.list);
	vec_done(&b->by_origin.list);
	map_done(&b->by_thread.by_key);
	map_done(&b->by_origin.by_key);
	free(b);
}

static struct join_node *open_node(struct blame *b, const struct interval *iv, enum join_side side,
				   enum because what)
{
	struct join_node *n = join_open(&b->join, side, iv->mm, iv->begin_ns, NULL);

	if (n) {
		n->place = iv->begin_place;
		n->task = iv->task.v;
		n->what = (u8)what;
		n->origin = iv->origin;
	}
	return n;
}

static int blame_open(void *self, struct interval *iv)
{
	struct blame *b = self;

	if (!iv->mm.v || iv->mode == MODE_UNKNOWN)
		return 0;
	if (iv->kind == IV_LOCK_HOLD) {
		iv->note[NOTE_BLAME] = open_node(b, iv, JOIN_RIGHT,
						 iv->mode == MODE_WRITE ? HOLDS_WRITE : HOLDS_READ);
	} else if (iv->kind == IV_LOCK_WAIT) {
		iv->note[NOTE_BLAME] = open_node(b, iv, JOIN_LEFT, UNKNOWN);
		if (iv->mode != MODE_WRITE)
			return iv->note[NOTE_BLAME] ? 0 : -ENOMEM;
		iv->note[NOTE_BLAME_QUEUE] = open_node(b, iv, JOIN_RIGHT, QUEUED_WRITE);
		if (!iv->note[NOTE_BLAME_QUEUE])
			return -ENOMEM;
	} else {
		return 0;
	}
	return iv->note[NOTE_BLAME] ? 0 : -ENOMEM;
}

static int wait_close(struct blame *b, struct interval *iv, struct join_node *n)
{
	struct wait *w;

	if (!interval_is_whole(iv) || !analysis_is_contended(b->ctx, iv->end_ns - iv->begin_ns) ||
	    !analysis_selects(b->ctx, iv->task))
		return join_drop(&b->join, n);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->begin_ns = iv->begin_ns;
	w->end_ns = iv->end_ns;
	w->task = iv->task;
	w->mode = iv->mode;
	w->origin = iv->origin;
	n->owner = w;
	return join_close(&b->join, n, iv->end_ns);
}

/* Without an mm nobody can be named; the time is waited all the same. */
static int blame_nobody(struct blame *b, const struct interval *iv)
{
	struct wait w = { .task = iv->task, .mode = iv->mode, .origin = iv->origin };

	if (iv->mode == MODE_UNKNOWN || !interval_is_whole(iv) ||
	    !analysis_is_contended(b->ctx, iv->end_ns - iv->begin_ns) ||
	    !analysis_selects(b->ctx, iv->task))
		return 0;
	b->n_waits++;
	charge(b, &w, 0, UNKNOWN, ORIGIN_OTHER, iv->end_ns - iv->begin_ns);
	return b->failed ? -ENOMEM : 0;
}

static int blame_close(void *self, struct interval *iv)
{
	struct blame *b = self;
	struct join_node *n = iv->note[NOTE_BLAME], *queue = iv->note[NOTE_BLAME_QUEUE];
	int err = 0;

	iv->note[NOTE_BLAME] = NULL;
	iv->note[NOTE_BLAME_QUEUE] = NULL;
	if (!n)
		return iv->kind == IV_LOCK_WAIT && !iv->mm.v ? blame_nobody(b, iv) : 0;
	/* what a vendor hold is for may have shown only while it lasted (pair_vma.c: explain_hold)
	 */
	n->origin = iv->origin;
	if (iv->kind == IV_LOCK_HOLD)
		return interval_is_whole(iv) ? join_close(&b->join, n, iv->end_ns)
					     : join_drop(&b->join, n);
	/* it stood in the queue from its begin, however it ended, unless it only tried */
	if (queue && (iv->flags & IVF_FAILED_TRY))
		err = join_drop(&b->join, queue);
	else if (queue)
		err = join_close(&b->join, queue, iv->end_ns);
	return err ? err : wait_close(b, iv, n);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	if (x->blocker != y->blocker)
		return x->blocker < y->blocker ? -1 : 1;
	if (x->mode != y->mode)
		return x->mode < y->mode ? -1 : 1;
	if (x->waiter_origin != y->waiter_origin)
		return x->waiter_origin < y->waiter_origin ? -1 : 1;
	if (x->blocker_origin != y->blocker_origin)
		return x->blocker_origin < y->blocker_origin ? -1 : 1;
	return x->because < y->because ? -1 : x->because > y->because;
}

static void cell_name(struct cell *c, const char *s)
{
	cell_str(c, s, strlen(s));
}

static int thread_rows(struct blame *b, struct result *r)
{
	for (size_t i = 0; i < b->by_thread.list.n; i++) {
		const struct row *row = &b->by_thread.list.v[i];
		struct task_id waiter = { row->waiter }, blocker = { row->blocker };
		struct cell *c = result_row(r, TABLE_BLAME);

		if (!c)
			return -ENOMEM;
		cell_u64(c++, tasks_get(b->ctx->tasks, waiter)->tid);
		analysis_cell_comm(r, c++, b->ctx, waiter);
		cell_name(c++, mode_names[row->mode]);
		cell_opt(c++, blocker.v, blocker.v ? tasks_get(b->ctx->tasks, blocker)->tid : 0);
		analysis_cell_comm(r, c++, b->ctx, blocker);
		cell_name(c++, because_names[row->because]);
		cell_u64(c++, row->ns);
		cell_u64(c++, row->waits);
	}
	return 0;
}

static int origin_rows(struct blame *b, struct result *r)
{
	for (size_t i = 0; i < b->by_origin.list.n; i++) {
		const struct row *row = &b->by_origin.list.v[i];
		struct cell *c = result_row(r, TABLE_BLAME_BY_ORIGIN);

		if (!c)
			return -ENOMEM;
		cell_name(c++, mode_names[row->mode]);
		cell_name(c++, origin_name(row->waiter_origin));
		cell_name(c++, row->because >= WAKE_UP ? because_names[row->because]
						       : origin_name(row->blocker_origin));
		cell_name(c++, because_names[row->because]);
		cell_u64(c++, row->ns);
		cell_u64(c++, row->waits);
	}
	return 0;
}

static int blame_finish(void *self, struct result *r)
{
	struct blame *b = self;
	const struct pair_seen *seen = b->ctx->seen;
	bool covered = seen->stock_locks || seen->vendor_waits;
	int err;

	if (join_drain(&b->join))
		return -ENOMEM;
	b->ctx->refused += b->refused + b->join.retired_early;
	r->tables[TABLE_BLAME].covered = covered;
	r->tables[TABLE_BLAME].why = "no mmap_lock waits in the trace";
	r->tables[TABLE_BLAME_BY_ORIGIN].covered = covered;
	r->tables[TABLE_BLAME_BY_ORIGIN].why = "no mmap_lock waits in the trace";
	if (b->by_thread.list.n) {
		qsort(b->by_thread.list.v, b->by_thread.list.n, sizeof(*b->by_thread.list.v),
		      compare_rows);
		qsort(b->by_origin.list.v, b->by_origin.list.n, sizeof(*b->by_origin.list.v),
		      compare_rows);
	}
	err = thread_rows(b, r);
	return err ? err : origin_rows(b, r);
}

const struct analysis_ops analysis_blame = {
	.key = "blame",
	.kinds = 1u << IV_LOCK_WAIT | 1u << IV_LOCK_HOLD,
	.new = blame_new,
	.free = blame_free,
	.open = blame_open,
	.close = blame_close,
	.finish = blame_finish,
};
