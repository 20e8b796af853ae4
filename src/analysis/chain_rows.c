/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/chain_rows.c: the tables of chains and of their roots (see chain.h). Layer: analysis. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chain.h"

#define PATH_MAX_BYTES 1024 /* of a path's text: eight hops, and room for long wait reasons */

static void cell_name(struct cell *c, const char *s)
{
	cell_str(c, s, strlen(s));
}

static u32 tid_of(const struct chains *c, u32 task)
{
	return tasks_get(c->ctx->tasks, (struct task_id){ task })->tid;
}

static bool has_root(const struct chain_row *row)
{
	return row->n_hops && row->end != CHAIN_CYCLE;
}

static const struct chain_hop *root_of(const struct chain_row *row)
{
	return &row->hops[row->n_hops - 1];
}

/* "mprotect tid 12 holds mmap_lock < fault tid 34 holds the VMA lock (page_mkwrite)" */
static const char *path_text(const struct chains *c, struct result *r, const struct chain_row *row)
{
	char text[PATH_MAX_BYTES];
	size_t used = 0;

	for (u32 i = 0; i < row->n_hops && used < sizeof(text); i++) {
		const struct chain_hop *hop = &row->hops[i];
		const char *reason = intern_get(c->ctx->strings, hop->reason, NULL);
		bool known = hop->origin != ORIGIN_OTHER;

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%s%stid %u %s%s%.80s%s", i ? " < " : "",
					 known ? origin_name(hop->origin) : "", known ? " " : "",
					 tid_of(c, hop->task), because_phrase(hop->because),
					 hop->reason ? " (" : "", reason, hop->reason ? ")" : "");
	}
	if (used >= sizeof(text))
		used = sizeof(text) - 1;
	return arena_strndup(&r->arena, text, used);
}

static enum task_state mostly(const struct chain_row *row)
{
	u32 longest = TASK_UNKNOWN;

	for (u32 i = TASK_RUNNING; i < ARRAY_LEN(row->state_ns); i++) {
		if (row->state_ns[i] > row->state_ns[longest])
			longest = i;
	}
	return longest;
}

/* "page_mkwrite (blocked)" */
static const char *doing_text(const struct chains *c, struct result *r, const struct chain_row *row)
{
	static const char *const states[] = { [TASK_UNKNOWN] = NULL,
					      [TASK_RUNNING] = "running",
					      [TASK_RUNNABLE] = "runnable, not running",
					      [TASK_SLEEPING] = "sleeping",
					      [TASK_BLOCKED] = "blocked" };
	static const char *const ends[CHAIN_ENDS] = { [CHAIN_WAKE_UP] = "being woken up",
						      [CHAIN_UNKNOWN] = "waiting",
						      [CHAIN_CUT] = "waiting" };
	const struct chain_hop *root = root_of(row);
	const char *what = root->reason ? intern_get(c->ctx->strings, root->reason, NULL)
					: origin_name(root->origin);
	const char *state = ends[row->end];

	/* wake-ups alone do not tell what a thread does */
	if (!state && c->ctx->seen->states)
		state = states[mostly(row)];
	if (state && !root->reason && root->origin == ORIGIN_OTHER)
		return state;
	return state ? arena_printf(&r->arena, "%s (%s)", what, state)
		     : arena_printf(&r->arena, "%s", what);
}

static int chain_cells(const struct chains *c, struct result *r, const struct chain_row *row)
{
	static const char *const ends[CHAIN_ENDS] = { "root", "wake-up", "unknown", "cycle",
						      "cut" };
	struct task_id waiter = { row->waiter };
	struct cell *cell = result_row(r, TABLE_BLAME_CHAINS);
	const char *path, *doing;

	if (!cell)
		return -ENOMEM;
	cell_u64(cell++, tid_of(c, row->waiter));
	analysis_cell_comm(r, cell++, c->ctx, waiter);
	cell_name(cell++, blame_lock_name(row->lock));
	cell_name(cell++, blame_mode_name(row->mode));
	cell_u64(cell++, row->n_hops);
	if (has_root(row)) {
		struct task_id root = { root_of(row)->task };

		doing = doing_text(c, r, row);
		if (!doing)
			return -ENOMEM;
		cell_u64(cell++, tid_of(c, root.v));
		analysis_cell_comm(r, cell++, c->ctx, root);
		cell_name(cell++, doing);
	} else {
		cell += 3;
	}
	cell_name(cell++, ends[row->end]);
	cell_u64(cell++, row->ns);
	cell_u64(cell++, row->waits);
	if (row->n_hops) {
		path = path_text(c, r, row);
		if (!path)
			return -ENOMEM;
		cell_name(cell, path);
	}
	return 0;
}

static int compare_numbers(u64 x, u64 y)
{
	return x < y ? -1 : x > y;
}

static int compare_rows(const void *a, const void *b)
{
	const struct chain_row *x = a, *y = b;
	int d = compare_numbers(y->ns, x->ns);

	if (!d)
		d = compare_numbers(x->waiter, y->waiter);
	if (!d)
		d = compare_numbers(x->lock, y->lock);
	if (!d)
		d = compare_numbers(x->mode, y->mode);
	if (!d)
		d = compare_numbers(x->end, y->end);
	if (!d)
		d = compare_numbers(x->n_hops, y->n_hops);
	/* no padding in hops */
	return d ? d : memcmp(x->hops, y->hops, x->n_hops * sizeof(*x->hops));
}

/* --- roots --- */

struct root {
	const struct chain_row *row; /* one of it */
	u64 direct_ns, ns, inverted_ns, judged_ns;
	u64 waiters;
};

static int compare_roots(const struct chain_row *x, const struct chain_row *y)
{
	const struct chain_hop *a = root_of(x), *b = root_of(y);
	int d = compare_numbers(a->task, b->task);

	if (!d)
		d = compare_numbers(a->because, b->because);
	if (!d)
		d = compare_numbers(a->origin, b->origin);
	return d ? d : compare_numbers(a->reason, b->reason);
}

static int by_root_and_waiter(const void *a, const void *b)
{
	const struct chain_row *const *x = a, *const *y = b;
	int d = compare_roots(*x, *y);

	return d ? d : compare_numbers((*x)->waiter, (*y)->waiter);
}

static int by_time(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	int d = compare_numbers(y->ns, x->ns);

	return d ? d : compare_roots(x->row, y->row);
}

static size_t group_roots(const struct chain_row **rows, size_t n, struct root *ret)
{
	size_t n_roots = 0;

	qsort(rows, n, sizeof(*rows), by_root_and_waiter);
	for (size_t i = 0; i < n; i++) {
		const struct chain_row *row = rows[i];
		struct root *root;

		if (!i || compare_roots(rows[i - 1], row))
			ret[n_roots++] = (struct root){ .row = row };
		root = &ret[n_roots - 1];
		root->waiters += root->row == row || rows[i - 1]->waiter != row->waiter;
		root->ns += row->ns;
		root->direct_ns += row->n_hops == 1 ? row->ns : 0;
		root->inverted_ns += row->inverted_ns;
		root->judged_ns += row->judged_ns;
	}
	qsort(ret, n_roots, sizeof(*ret), by_time);
	return n_roots;
}

static int root_cells(const struct chains *c, struct result *r, const struct root *root)
{
	const struct chain_hop *hop = root_of(root->row);
	struct cell *cell = result_row(r, TABLE_BLAME_ROOTS);

	if (!cell)
		return -ENOMEM;
	cell_u64(cell++, tid_of(c, hop->task));
	analysis_cell_comm(r, cell++, c->ctx, (struct task_id){ hop->task });
	cell_name(cell++, origin_name(hop->origin));
	cell_name(cell++, because_name(hop->because));
	analysis_cell_string(r, cell++, c->ctx, hop->reason, NULL);
	cell_u64(cell++, root->direct_ns);
	cell_u64(cell++, root->ns);
	cell_u64(cell++, root->waiters);
	cell_opt(cell++, root->judged_ns, root->inverted_ns);
	cell_u64(cell++, root->ns - root->judged_ns);
	return 0;
}

static int root_rows(const struct chains *c, struct result *r)
{
	const struct chain_row **rows = calloc(c->rows.n + 1, sizeof(*rows));
	struct root *roots = calloc(c->rows.n + 1, sizeof(*roots));
	size_t n = 0;
	int err = -ENOMEM;

	if (!rows || !roots)
		goto out;
	for (size_t i = 0; i < c->rows.n; i++) {
		if (has_root(&c->rows.v[i]))
			rows[n++] = &c->rows.v[i];
	}
	err = 0;
	n = n ? group_roots(rows, n, roots) : 0;
	for (size_t i = 0; i < n && !err; i++)
		err = root_cells(c, r, &roots[i]);
out:
	free(rows);
	free(roots);
	return err;
}

/* Priorities may have become known after the wait: only now is it said what was inverted. */
static void judge(struct chains *c)
{
	for (size_t i = 0; i < c->inversion.rows.n; i++) {
		const struct pair_row *pair = &c->inversion.rows.v[i];
		struct chain_row *row = &c->rows.v[pair->caller - 1];
		s32 waiter, blocker;
		bool late;
		enum pair_judgement j =
			inversion_judge(c->ctx->tasks, pair, &late, &waiter, &blocker);

		row->judged_ns += j == PAIR_UNKNOWN ? 0 : pair->overlap_ns;
		row->inverted_ns += j == PAIR_INVERTED ? pair->overlap_ns : 0;
	}
}

int chains_finish(struct chains *c, struct result *r, bool covered)
{
	static const enum table_id tables[] = { TABLE_BLAME_CHAINS, TABLE_BLAME_ROOTS };
	int err = 0;

	for (u32 i = 0; i < ARRAY_LEN(tables); i++) {
		r->tables[tables[i]].covered = covered;
		r->tables[tables[i]].why = "no waits for mmap_lock or a VMA's lock in the trace";
	}
	if (c->failed || c->inversion.failed)
		return -ENOMEM;
	c->ctx->refused += c->refused + c->inversion.refused;
	judge(c);
	/* ids of rows have no meaning from here */
	if (c->rows.n)
		qsort(c->rows.v, c->rows.n, sizeof(*c->rows.v), compare_rows);
	for (size_t i = 0; i < c->rows.n && !err; i++)
		err = chain_cells(c, r, &c->rows.v[i]);
	return err ? err : root_rows(c, r);
}
