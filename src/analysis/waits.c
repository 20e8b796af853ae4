/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/waits.c: how often and how long threads waited for a lock and held it: by lock, origin,
 * process and thread. Layer: analysis.
 *
 * An interval is added to two distributions only, its origin's and its process's; totals by lock
 * are merged from the origins at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/stack_text.h"

/* What was waited for. The order is the order of the rows. */
enum wait_class {
	WAIT_LOCK_READ,
	WAIT_LOCK_WRITE,
	WAIT_LOCK_UNKNOWN,
	WAIT_VMA,
	WAIT_FAULT,
	WAIT_CLASSES
};

static const struct {
	const char *lock, *mode;
} class_names[WAIT_CLASSES] = {
	[WAIT_LOCK_READ] = { "mmap_lock", "read" },
	[WAIT_LOCK_WRITE] = { "mmap_lock", "write" },
	[WAIT_LOCK_UNKNOWN] = { "mmap_lock", "unknown" },
	[WAIT_VMA] = { "vma", "write" },
	[WAIT_FAULT] = { "fault", "read" },
};
static const char *const hold_modes[] = { "read", "write", "unknown" };
#define HOLD_MODES ARRAY_LEN(hold_modes)

struct dist {
	struct series s;
	u64 contended;
};
struct thread_row {
	u64 count, contended, total_ns, max_ns;
};
struct process {
	u32 tgid;	     /* 0 = not known */
	struct mm_id mm;     /* where an address space stands for the process */
	struct task_id main; /* whose name it bears */
	struct dist *waits[WAIT_CLASSES];
};
struct waits {
	struct analysis_ctx *ctx;
	struct dist *by_origin[WAIT_CLASSES][ORIGINS];
	struct dist *holds[HOLD_MODES][ORIGINS];
	u64 failed_tries[WAIT_CLASSES], failed_tries_ns[WAIT_CLASSES];
	u64 open[WAIT_CLASSES], loss[WAIT_CLASSES], hold_open[HOLD_MODES], hold_loss[HOLD_MODES];
	VEC(struct process) processes;
	struct map process_of_key;	  /* tgid, or 1 << 32 | mm, or 2 << 32 | task */
	VEC(struct thread_row *) threads; /* by task id: WAIT_CLASSES rows or NULL */
	VEC(u32) process_of_task;	  /* by task id: index + 1, 0 = not looked up */
	VEC(struct interval) still_open;
	bool failed;
};

static void *waits_new(struct analysis_ctx *ctx)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (w)
		w->ctx = ctx;
	return w;
}

static void dist_free(struct dist *d)
{
	if (d)
		series_done(&d->s);
	free(d);
}

static void waits_free(void *self)
{
	struct waits *w = self;

	if (!w)
		return;
	for (u32 o = 0; o < ORIGINS; o++) {
		for (u32 c = 0; c < WAIT_CLASSES; c++)
			dist_free(w->by_origin[c][o]);
		for (u32 m = 0; m < HOLD_MODES; m++)
			dist_free(w->holds[m][o]);
	}
	for (size_t i = 0; i < w->processes.n; i++) {
		for (u32 c = 0; c < WAIT_CLASSES; c++)
			dist_free(w->processes.v[i].waits[c]);
	}
	for (size_t i = 0; i < w->threads.n; i++)
		free(w->threads.v[i]);
	vec_done(&w->processes);
	vec_done(&w->threads);
	vec_done(&w->process_of_task);
	vec_done(&w->still_open);
	map_done(&w->process_of_key);
	free(w);
}

static void dist_add(struct waits *w, struct dist **d, u64 ns, bool contended)
{
	if (!*d) {
		*d = calloc(1, sizeof(**d));
		if (!*d) {
			w->failed = true;
			return;
		}
		series_init(&(*d)->s);
	}
	series_add(&(*d)->s, ns);
	w->failed |= (*d)->s.failed;
	(*d)->contended += contended;
}

static struct thread_row *thread_row(struct waits *w, struct task_id task, enum wait_class c)
{
	while (w->threads.n <= task.v) {
		if (!vec_push(&w->threads))
			return NULL;
	}
	if (!w->threads.v[task.v])
		w->threads.v[task.v] = calloc(WAIT_CLASSES, sizeof(struct thread_row));
	return w->threads.v[task.v] ? &w->threads.v[task.v][c] : NULL;
}

/* A process is its TGID; where the trace prints none, an address space stands for it. */
static struct process *process_of(struct waits *w, const struct interval *iv)
{
	const struct task *task = tasks_get(w->ctx->tasks, iv->task);
	struct process *p;
	u64 key, *known;

	if (task->tgid) {
		while (w->process_of_task.n <= iv->task.v) {
			if (!vec_push(&w->process_of_task))
				return NULL;
		}
		if (w->process_of_task.v[iv->task.v])
			return &w->processes.v[w->process_of_task.v[iv->task.v] - 1];
		key = task->tgid;
	} else {
		key = iv->mm.v ? 1ULL << 32 | iv->mm.v : 2ULL << 32 | iv->task.v;
	}
	known = map_get(&w->process_of_key, key);
	if (!known) {
		p = vec_push(&w->processes);
		if (!p || !map_set(&w->process_of_key, key, w->processes.n - 1))
			return NULL;
		p->tgid = task->tgid;
		p->mm = iv->mm;
		p->main = iv->task;
		known = map_get(&w->process_of_key, key);
	}
	p = &w->processes.v[*known];
	if (task->tgid && task->tid == task->tgid)
		p->main = iv->task;
	if (task->tgid)
		w->process_of_task.v[iv->task.v] = (u32)*known + 1;
	return p;
}

static int wait_closed(struct waits *w, const struct interval *iv, enum wait_class c)
{
	u64 ns = iv->end_ns - iv->begin_ns;
	bool contended = analysis_is_contended(w->ctx, ns);
	struct thread_row *t;
	struct process *p;

	if (iv->flags & IVF_FAILED_TRY) {
		w->failed_tries[c]++;
		w->failed_tries_ns[c] += ns;
		return 0;
	}
	if (iv->flags & (IVF_OPEN_BEGIN | IVF_OPEN_END)) {
		w->open[c]++;
		if (iv->flags & IVF_AT_END && !(iv->flags & IVF_OPEN_BEGIN)) {
			struct interval *copy = vec_push(&w->still_open);

			if (!copy)
				return -ENOMEM;
			*copy = *iv;
		}
		return 0;
	}
	if (iv->flags & IVF_LOSS) {
		w->loss[c]++;
		return 0;
	}
	dist_add(w, &w->by_origin[c][iv->origin], ns, contended);
	p = process_of(w, iv);
	t = thread_row(w, iv->task, c);
	if (!p || !t)
		return -ENOMEM;
	dist_add(w, &p->waits[c], ns, contended);
	t->count++;
	t->contended += contended;
	t->total_ns += ns;
	if (ns > t->max_ns)
		t->max_ns = ns;
	return 0;
}

static int waits_close(void *self, struct interval *iv)
{
	struct waits *w = self;
	enum wait_class c;

	switch (iv->kind) {
	case IV_LOCK_WAIT:
		c = iv->mode == MODE_READ    ? WAIT_LOCK_READ
		    : iv->mode == MODE_WRITE ? WAIT_LOCK_WRITE
					     : WAIT_LOCK_UNKNOWN;
		break;
	case IV_VMA_WAIT:
		c = WAIT_VMA;
		break;
	case IV_FAULT_WAIT:
		c = WAIT_FAULT;
		break;
	case IV_LOCK_HOLD:
		if (!analysis_counts(w->ctx, iv))
			return 0;
		if (iv->flags & (IVF_OPEN_BEGIN | IVF_OPEN_END))
			w->hold_open[iv->mode]++;
		else if (iv->flags & IVF_LOSS)
			w->hold_loss[iv->mode]++;
		else
			dist_add(w, &w->holds[iv->mode][iv->origin], iv->end_ns - iv->begin_ns,
				 analysis_is_contended(w->ctx, iv->end_ns - iv->begin_ns));
		return w->failed ? -ENOMEM : 0;
	default:
		return 0;
	}
	if (!analysis_counts(w->ctx, iv))
		return 0;
	return wait_closed(w, iv, c) || w->failed ? -ENOMEM : 0;
}

static struct dist merge_all(struct waits *w, struct dist *const *dists, u32 n)
{
	struct dist all = { .contended = 0 };

	series_init(&all.s);
	for (u32 i = 0; i < n; i++) {
		if (dists[i]) {
			series_merge(&all.s, &dists[i]->s);
			all.contended += dists[i]->contended;
		}
	}
	w->failed |= all.s.failed;
	return all;
}

static struct result_spread spread(struct series *s)
{
	struct result_spread sp = { 0 };

	if (!s->n)
		return sp;
	sp.min_ns = opt(s->min);
	sp.max_ns = opt(s->max);
	sp.median_ns.has = series_quantile(s, 500, &sp.median_ns.v);
	return sp;
}

static bool class_covered(const struct waits *w, enum wait_class c)
{
	const struct pair_seen *seen = w->ctx->seen;

	switch (c) {
	case WAIT_FAULT:
		return seen->faults;
	case WAIT_VMA:
		return pair_any_vma(seen);
	case WAIT_LOCK_UNKNOWN:
		return seen->lock_blocked && pair_lock_blocked_counts(seen);
	default:
		return seen->stock_locks || pair_vendor_locks(seen);
	}
}

static int finish_by_lock(struct waits *w, struct result *r)
{
	struct series locks;

	series_init(&locks);
	for (u32 c = 0; c < WAIT_CLASSES; c++) {
		struct dist all;
		struct cell *cell;

		if (!class_covered(w, c) && !w->open[c] && !w->loss[c])
			continue;
		all = merge_all(w, w->by_origin[c], ORIGINS);
		cell = result_row(r, TABLE_WAITS);
		if (!cell) {
			series_done(&all.s);
			series_done(&locks);
			return -ENOMEM;
		}
		cell_str(cell++, class_names[c].lock, strlen(class_names[c].lock));
		cell_str(cell++, class_names[c].mode, strlen(class_names[c].mode));
		cell = analysis_fill_distribution(r, cell, w->ctx, &all.s, all.contended);
		cell_u64(cell++, w->open[c]);
		cell_u64(cell++, w->loss[c]);
		if (c == WAIT_LOCK_READ || c == WAIT_LOCK_WRITE) {
			cell_u64(cell++, w->failed_tries[c]);
			cell_u64(cell++, w->failed_tries_ns[c]);
		}
		if (c == WAIT_VMA)
			r->summary.vma_write_wait = spread(&all.s);
		else if (c == WAIT_FAULT)
			r->summary.fault_wait = spread(&all.s);
		else
			series_merge(&locks, &all.s);
		series_done(&all.s);
	}
	r->summary.lock_wait = spread(&locks);
	w->failed |= locks.failed;
	series_done(&locks);
	return 0;
}

static int finish_by_origin(struct waits *w, struct result *r)
{
	for (u32 c = 0; c < WAIT_CLASSES; c++) {
		u32 order[ORIGINS], n = 0;

		for (u32 o = 0; o < ORIGINS; o++) {
			u32 i = n;

			if (!w->by_origin[c][o])
				continue;
			for (;
			     i && w->by_origin[c][order[i - 1]]->s.sum < w->by_origin[c][o]->s.sum;
			     i--)
				order[i] = order[i - 1];
			order[i] = o;
			n++;
		}
		for (u32 i = 0; i < n; i++) {
			struct cell *cell = result_row(r, TABLE_WAITS_BY_ORIGIN);
			const char *name = origin_name(order[i]);

			if (!cell)
				return -ENOMEM;
			cell_str(cell++, class_names[c].lock, strlen(class_names[c].lock));
			cell_str(cell++, class_names[c].mode, strlen(class_names[c].mode));
			cell_str(cell++, name, strlen(name));
			analysis_fill_distribution(r, cell, w->ctx, &w->by_origin[c][order[i]]->s,
						   w->by_origin[c][order[i]]->contended);
		}
	}
	return 0;
}

struct ranked {
	u64 total_ns;
	u32 index, class;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

struct ranking {
	struct ranked *v;
	size_t n, capacity;
};

static bool rank(struct ranking *rows, u64 total_ns, size_t index, u32 class)
{
	struct ranked *row = vec_push(rows);

	if (row)
		*row = (struct ranked){ total_ns, (u32)index, class };
	return row;
}

static void sort_ranked(struct ranking *rows)
{
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(*rows->v), compare_ranked);
}

static void dist_merge(struct waits *w, struct dist **into, struct dist **from)
{
	if (!*from)
		return;
	if (!*into) {
		*into = *from;
		*from = NULL;
		return;
	}
	series_merge(&(*into)->s, &(*from)->s);
	(*into)->contended += (*from)->contended;
	dist_free(*from);
	*from = NULL;
	w->failed |= (*into)->s.failed;
}

/* A TGID may be printed for some threads of an address space only, or late: their rows are one
 * process. */
static void unite_processes(struct waits *w)
{
	for (size_t i = 0; i < w->processes.n; i++) {
		struct process *p = &w->processes.v[i];
		u32 tgid = p->tgid ? 0 : w->ctx->tasks->mms.v[p->mm.v].tgid;
		u64 *known = tgid ? map_get(&w->process_of_key, tgid) : NULL;

		if (!known) {
			if (tgid)
				p->tgid = tgid;
			continue;
		}
		for (u32 c = 0; c < WAIT_CLASSES; c++)
			dist_merge(w, &w->processes.v[*known].waits[c], &p->waits[c]);
	}
}

/* The thread whose name the process bears: the main one, whether or not it ever waited. */
static struct task_id main_thread(const struct waits *w, const struct process *p)
{
	u64 *known = p->tgid ? map_get(&w->ctx->tasks->id_of_tid, p->tgid) : NULL;

	if (known && w->ctx->tasks->list.v[*known]->comm)
		return (struct task_id){ (u32)*known };
	return p->main;
}

static int finish_by_process(struct waits *w, struct result *r)
{
	struct ranking rows = VEC_INIT;
	int err = 0;

	unite_processes(w);
	for (size_t i = 0; i < w->processes.n; i++) {
		for (u32 c = 0; c < WAIT_CLASSES; c++) {
			const struct dist *d = w->processes.v[i].waits[c];

			if (d && !rank(&rows, d->s.sum, i, c))
				err = -ENOMEM;
		}
	}
	if (err)
		goto out;
	sort_ranked(&rows);
	for (size_t i = 0; i < rows.n; i++) {
		struct process *p = &w->processes.v[rows.v[i].index];
		struct cell *cell = result_row(r, TABLE_WAITS_BY_PROCESS);

		if (!cell) {
			err = -ENOMEM;
			goto out;
		}
		cell_opt(cell++, p->tgid, p->tgid);
		analysis_cell_comm(r, cell++, w->ctx, main_thread(w, p));
		cell_str(cell++, class_names[rows.v[i].class].lock,
			 strlen(class_names[rows.v[i].class].lock));
		cell_str(cell++, class_names[rows.v[i].class].mode,
			 strlen(class_names[rows.v[i].class].mode));
		analysis_fill_distribution(r, cell, w->ctx, &p->waits[rows.v[i].class]->s,
					   p->waits[rows.v[i].class]->contended);
	}
out:
	vec_done(&rows);
	return err;
}

static int finish_by_thread(struct waits *w, struct result *r)
{
	struct ranking rows = VEC_INIT;
	int err = 0;

	for (size_t i = 0; i < w->threads.n; i++) {
		for (u32 c = 0; w->threads.v[i] && c < WAIT_CLASSES; c++) {
			const struct thread_row *t = &w->threads.v[i][c];

			if (t->count && !rank(&rows, t->total_ns, i, c))
				err = -ENOMEM;
		}
	}
	if (err)
		goto out;
	sort_ranked(&rows);
	for (size_t i = 0; i < rows.n; i++) {
		struct thread_row *t = &w->threads.v[rows.v[i].index][rows.v[i].class];
		struct task_id id = { rows.v[i].index };
		struct cell *cell = result_row(r, TABLE_WAITS_BY_THREAD);

		if (!cell) {
			err = -ENOMEM;
			goto out;
		}
		cell_u64(cell++, tasks_get(w->ctx->tasks, id)->tid);
		analysis_cell_comm(r, cell++, w->ctx, id);
		cell_str(cell++, class_names[rows.v[i].class].lock,
			 strlen(class_names[rows.v[i].class].lock));
		cell_str(cell++, class_names[rows.v[i].class].mode,
			 strlen(class_names[rows.v[i].class].mode));
		cell_u64(cell++, t->count);
		cell_opt(cell++, w->ctx->clock_has_seconds, t->contended);
		cell_u64(cell++, t->total_ns);
		cell_u64(cell++, t->total_ns / t->count);
		cell_u64(cell++, t->max_ns);
	}
out:
	vec_done(&rows);
	return err;
}

static int hold_row(struct waits *w, struct result *r, u32 mode, const char *origin, struct dist *d)
{
	struct cell *cell = result_row(r, TABLE_HOLDS);

	if (!cell)
		return -ENOMEM;
	cell_str(cell++, hold_modes[mode], strlen(hold_modes[mode]));
	cell_str(cell++, origin, strlen(origin));
	cell = analysis_fill_distribution(r, cell, w->ctx, &d->s, d->contended);
	if (!strcmp(origin, "all")) {
		cell_u64(cell++, w->hold_open[mode]);
		cell_u64(cell++, w->hold_loss[mode]);
	}
	return 0;
}

static int finish_holds(struct waits *w, struct result *r)
{
	struct series both;
	int err = 0;

	series_init(&both);
	for (u32 m = 0; m < HOLD_MODES && !err; m++) {
		struct dist all;

		if (m == MODE_UNKNOWN && !w->hold_open[m] && !w->hold_loss[m] && !w->holds[m][0])
			continue;
		all = merge_all(w, w->holds[m], ORIGINS);
		err = hold_row(w, r, m, "all", &all);
		series_merge(&both, &all.s);
		series_done(&all.s);
		for (u32 o = 0; o < ORIGINS && !err; o++) {
			if (w->holds[m][o])
				err = hold_row(w, r, m, origin_name(o), w->holds[m][o]);
		}
	}
	r->summary.lock_hold = spread(&both);
	w->failed |= both.failed;
	series_done(&both);
	return err;
}

static void cell_stack(struct result *r, struct cell *c, struct stack_texts *texts, u32 stack)
{
	size_t len;
	const char *s = intern_get(&texts->texts, stack_text_id(texts, stack), &len);

	s = len ? arena_strndup(&r->arena, s, len) : NULL;
	if (s)
		cell_str(c, s, len);
}

/* "held to write, blocked in folio_wait_bit_common < ..." */
static const char *holder_doing(struct result *r, struct stack_texts *texts,
				const struct interval *iv)
{
	static const char *const states[] = { [SELF_UNKNOWN] = "",
					      [SELF_RUNNING] = ", running",
					      [SELF_RUNNABLE] = ", runnable, not running",
					      [SELF_SLEEPING] = ", sleeping",
					      [SELF_BLOCKED] = ", blocked" };
	const char *stack = intern_get(&texts->texts, stack_text_id(texts, iv->owner_stack), NULL);

	return arena_printf(&r->arena, "%s%s%s%s",
			    iv->owner_write ? "held to write" : "last to read",
			    states[iv->owner_state], *stack ? " in " : "", stack);
}

static int open_row(struct waits *w, struct result *r, struct stack_texts *texts,
		    const struct interval *iv)
{
	const char *what = iv->kind == IV_VMA_WAIT     ? "vma write"
			   : iv->kind == IV_FAULT_WAIT ? "fault"
			   : iv->mode == MODE_READ     ? "mmap_lock read"
			   : iv->mode == MODE_WRITE    ? "mmap_lock write"
						       : "mmap_lock";
	struct cell *cell = result_row(r, TABLE_OPEN);

	if (!cell)
		return -ENOMEM;
	cell_u64(cell++, tasks_get(w->ctx->tasks, iv->task)->tid);
	analysis_cell_comm(r, cell++, w->ctx, iv->task);
	cell_str(cell++, what, strlen(what));
	cell_str(cell++, origin_name(iv->origin), strlen(origin_name(iv->origin)));
	cell_u64(cell++, iv->begin_ns);
	cell_u64(cell++, iv->end_ns - iv->begin_ns);
	if (iv->owner_tid) {
		const char *doing = holder_doing(r, texts, iv);

		if (!doing)
			return -ENOMEM;
		cell_u64(cell++, iv->owner_tid);
		analysis_cell_string(r, cell++, w->ctx, iv->owner_comm, NULL);
		cell_str(cell++, doing, strlen(doing));
	} else {
		cell += 3;
	}
	cell_stack(r, cell, texts, iv->stack);
	return 0;
}

static int finish_open(struct waits *w, struct result *r)
{
	struct stack_texts texts;
	int err = 0;

	stack_texts_init(&texts, w->ctx->stacks, w->ctx->strings);
	for (size_t i = 0; i < w->still_open.n && !err; i++)
		err = open_row(w, r, &texts, &w->still_open.v[i]);
	w->ctx->refused += texts.texts.refused;
	stack_texts_done(&texts);
	return err;
}

static void cover(struct result *r, enum table_id t, bool covered, const char *why)
{
	r->tables[t].covered = covered;
	r->tables[t].why = covered ? NULL : why;
}

static int waits_finish(void *self, struct result *r)
{
	struct waits *w = self;
	const struct pair_seen *seen = w->ctx->seen;
	bool any = pair_any_locks(seen) || pair_any_vma(seen) || seen->faults;
	static const enum table_id wait_tables[] = { TABLE_WAITS, TABLE_WAITS_BY_ORIGIN,
						     TABLE_WAITS_BY_PROCESS, TABLE_WAITS_BY_THREAD,
						     TABLE_OPEN };
	int err;

	for (u32 i = 0; i < ARRAY_LEN(wait_tables); i++)
		cover(r, wait_tables[i], any, "no mmap_lock, VMA writer or fault events");
	cover(r, TABLE_HOLDS, seen->stock_locks || seen->vendor_holds, "no events tell of holds");
	err = finish_by_lock(w, r);
	if (!err)
		err = finish_by_origin(w, r);
	if (!err)
		err = finish_by_process(w, r);
	if (!err)
		err = finish_by_thread(w, r);
	if (!err)
		err = finish_holds(w, r);
	if (!err)
		err = finish_open(w, r);
	if (!err && w->failed)
		err = -ENOMEM;
	return err;
}

const struct analysis_ops analysis_waits = {
	.key = "waits",
	.kinds = 1u << IV_LOCK_WAIT | 1u << IV_LOCK_HOLD | 1u << IV_VMA_WAIT | 1u << IV_FAULT_WAIT,
	.new = waits_new,
	.free = waits_free,
	.close = waits_close,
	.finish = waits_finish,
};
