/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/blame_rows.c: blame summed by thread, by origin and by stack (see blame.h). Layer:
 * analysis. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blame.h"
#include "analysis/stack_text.h"

#define MAX_ROWS 50000

struct row {
	u32 waiter, blocker; /* task ids, or ids of stack texts; 0 = nobody, none */
	u8 lock, mode, because, waiter_origin, blocker_origin;
	u64 ns, waits;
	u64 last_wait; /* number of the wait that was counted last */
};
struct rows {
	VEC(struct row) list;
	struct map by_key;
};
struct blame_rows {
	struct analysis_ctx *ctx;
	struct rows by_thread, by_origin, by_stack;
	struct stack_texts texts;
	const struct blame_wait *wait; /* at hand */
	u64 n_waits, refused;
	bool failed;
};

struct blame_rows *blame_rows_new(struct analysis_ctx *ctx)
{
	struct blame_rows *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ctx = ctx;
	stack_texts_init(&b->texts, ctx->stacks, ctx->strings);
	return b;
}

static void rows_done(struct rows *rows)
{
	vec_done(&rows->list);
	map_done(&rows->by_key);
}

void blame_rows_free(struct blame_rows *b)
{
	if (!b)
		return;
	rows_done(&b->by_thread);
	rows_done(&b->by_origin);
	rows_done(&b->by_stack);
	stack_texts_done(&b->texts);
	free(b);
}

static struct row *find_row(struct blame_rows *b, struct rows *rows, u64 key,
			    const struct row *like)
{
	u64 *known = map_get(&rows->by_key, key);
	struct row *row;

	if (known)
		return &rows->list.v[*known];
	if (rows->list.n >= MAX_ROWS) {
		b->refused++;
		return NULL;
	}
	row = vec_push(&rows->list);
	if (!row || !map_set(&rows->by_key, key, rows->list.n - 1)) {
		b->failed = true;
		return NULL;
	}
	*row = *like;
	return row;
}

static void add(struct blame_rows *b, struct row *row, u64 ns)
{
	if (!row)
		return;
	row->ns += ns;
	row->waits += row->last_wait != b->n_waits;
	row->last_wait = b->n_waits;
}

/* Six bits: the key of a row beside its two parties. */
static u64 small_key(const struct row *r)
{
	_Static_assert(BECAUSES <= 16, "four bits of a key");
	return (u64)r->lock << 6 | (u64)r->mode << 4 | r->because;
}

static void charge(struct blame_rows *b, const struct blame_segment *s, u64 ns)
{
	const struct blame_wait *w = b->wait;
	struct row thread = { .waiter = w->task.v,
			      .blocker = s->task,
			      .lock = w->lock,
			      .mode = w->mode,
			      .because = s->because };
	struct row origin = thread, stack = thread;

	origin.waiter = origin.blocker = 0;
	origin.waiter_origin = w->origin;
	origin.blocker_origin = s->origin;
	stack.waiter = stack_text_id(&b->texts, w->stack);
	stack.blocker = stack_text_id(&b->texts, s->stack);
	/* ids of tasks and texts are below 2^29: memory ends before */
	add(b,
	    find_row(b, &b->by_thread,
		     (u64)thread.waiter << 35 ^ (u64)s->task << 7 ^ small_key(&thread), &thread),
	    ns);
	add(b,
	    find_row(b, &b->by_origin,
		     (u64)w->origin << 16 | (u64)s->origin << 8 | small_key(&origin), &origin),
	    ns);
	add(b,
	    find_row(b, &b->by_stack,
		     (u64)stack.waiter << 35 ^ (u64)stack.blocker << 7 ^ small_key(&stack), &stack),
	    ns);
}

static int on_slice(void *ctx, const struct blame_slice *s)
{
	struct blame_rows *b = ctx;

	for (size_t i = 0; i < s->n; i++)
		charge(b, s->blockers[i], blame_share(s->end_ns - s->begin_ns, s->n, i));
	return b->failed ? -ENOMEM : 0;
}

int blame_rows_add(struct blame_rows *b, const struct blame_wait *w)
{
	b->n_waits++;
	b->wait = w;
	return blame_slices(w, w->begin_ns, w->end_ns, on_slice, b);
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
	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
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

static int thread_rows(struct blame_rows *b, struct result *r)
{
	for (size_t i = 0; i < b->by_thread.list.n; i++) {
		const struct row *row = &b->by_thread.list.v[i];
		struct task_id waiter = { row->waiter }, blocker = { row->blocker };
		struct cell *c = result_row(r, TABLE_BLAME);

		if (!c)
			return -ENOMEM;
		cell_u64(c++, tasks_get(b->ctx->tasks, waiter)->tid);
		analysis_cell_comm(r, c++, b->ctx, waiter);
		cell_name(c++, blame_lock_name(row->lock));
		cell_name(c++, blame_mode_name(row->mode));
		cell_opt(c++, blocker.v, blocker.v ? tasks_get(b->ctx->tasks, blocker)->tid : 0);
		analysis_cell_comm(r, c++, b->ctx, blocker);
		cell_name(c++, because_name(row->because));
		cell_u64(c++, row->ns);
		cell_u64(c++, row->waits);
	}
	return 0;
}

static int origin_rows(struct blame_rows *b, struct result *r)
{
	for (size_t i = 0; i < b->by_origin.list.n; i++) {
		const struct row *row = &b->by_origin.list.v[i];
		struct cell *c = result_row(r, TABLE_BLAME_BY_ORIGIN);

		if (!c)
			return -ENOMEM;
		cell_name(c++, blame_lock_name(row->lock));
		cell_name(c++, blame_mode_name(row->mode));
		cell_name(c++, origin_name(row->waiter_origin));
		cell_name(c++, row->because >= BECAUSE_WAKE_UP ? because_name(row->because)
							       : origin_name(row->blocker_origin));
		cell_name(c++, because_name(row->because));
		cell_u64(c++, row->ns);
		cell_u64(c++, row->waits);
	}
	return 0;
}

static void cell_stack(struct result *r, struct cell *c, const struct stack_texts *t, u32 id)
{
	size_t len;
	const char *s = intern_get(&t->texts, id, &len);

	s = id ? arena_strndup(&r->arena, s, len) : NULL;
	if (s)
		cell_str(c, s, len);
}

static int stack_rows(struct blame_rows *b, struct result *r)
{
	struct result_table *t = &r->tables[TABLE_BLAME_STACKS];

	if (t->covered && !b->ctx->seen->stacks) {
		t->covered = false;
		t->why = "no kernel stacks in the trace";
	}
	for (size_t i = 0; t->covered && i < b->by_stack.list.n; i++) {
		const struct row *row = &b->by_stack.list.v[i];
		struct cell *c = result_row(r, TABLE_BLAME_STACKS);

		if (!c)
			return -ENOMEM;
		cell_name(c++, blame_lock_name(row->lock));
		cell_name(c++, blame_mode_name(row->mode));
		cell_name(c++, because_name(row->because));
		cell_u64(c++, row->ns);
		cell_u64(c++, row->waits);
		cell_stack(r, c++, &b->texts, row->waiter);
		cell_stack(r, c++, &b->texts, row->blocker);
	}
	return 0;
}

static void sort_rows(struct rows *rows)
{
	if (rows->list.n)
		qsort(rows->list.v, rows->list.n, sizeof(*rows->list.v), compare_rows);
}

int blame_rows_finish(struct blame_rows *b, struct result *r, bool covered)
{
	static const enum table_id tables[] = { TABLE_BLAME, TABLE_BLAME_BY_ORIGIN,
						TABLE_BLAME_STACKS };
	int err;

	for (u32 i = 0; i < ARRAY_LEN(tables); i++) {
		r->tables[tables[i]].covered = covered;
		r->tables[tables[i]].why = "no waits for mmap_lock or a VMA's lock in the trace";
	}
	b->ctx->refused += b->refused + b->texts.texts.refused;
	sort_rows(&b->by_thread);
	sort_rows(&b->by_origin);
	sort_rows(&b->by_stack);
	err = thread_rows(b, r);
	if (!err)
		err = origin_rows(b, r);
	return err ? err : stack_rows(b, r);
}
