/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/type_a.c: Type A, a fault's wait that blocks a VMA writer, and its Type C. Layer:
 * analysis.
 *
 * Fault waits and writer waits of one mm that overlap are candidates as soon as both have ended.
 * What a candidate is depends on the fault, and is known when that ends: a pair (it held the lock),
 * coincident (it was retried: the lock was dropped before the wait), or undecided (it was not seen
 * whole).
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/inversion.h"
#include "analysis/join.h"

#define WRITER_MAX_SEGMENTS 8192
#define MAX_UNNAMED 1024

enum fault_fate { FATE_OPEN, FATE_HELD, FATE_RETRIED, FATE_UNDECIDED };

struct writer {
	struct task_id task;
	u32 caller;
	u32 blocker_tid; /* a *_blocked event without an mm: only that thread's faults */
	bool has_vma, has_range, retired;
	u64 vma, vm_start, vm_end, begin_ns, end_ns;
	u32 n_undecided;
	VEC(struct segment) segments;
};
struct candidate {
	struct writer *writer;
	u64 begin_ns, end_ns;
	u32 reason;
};
struct fault {
	struct task_id task;
	enum fault_fate fate;
	u32 refs; /* the open fault, and its waits in the join */
	VEC(struct candidate) candidates;
};
/* A fault wait in the join. */
struct fault_wait {
	struct fault *fault;
	u32 reason;
	bool has_vma, has_address;
	u64 vma, address;
};
/* A thread's latest closed waits, for a *_blocked event that names the thread and no mm. */
#define RECENT_WAITS 8
struct recent_wait {
	struct fault *fault; /* counted in its refs */
	u64 begin_ns, end_ns;
	u32 reason;
};
struct recent_waits {
	struct recent_wait waits[RECENT_WAITS];
	u32 n;
};
/* A writer's closed wait without an mm whose blocker is still in the wait that may have kept it
 * waiting. */
struct unnamed_writer {
	struct writer *writer;
	struct task_id blocker;
	u64 begin_ns, end_ns;
};
struct type_a {
	struct analysis_ctx *ctx;
	VEC(struct unnamed_writer) unnamed;
	VEC(struct recent_waits) recent; /* by task id; empty where wait pairs make it needless */
	struct join join;
	struct inversion inversion;
	u64 pairs, writer_waits, coincident, undecided, union_ns, refused;
	bool failed;
};

/* Stands in a note for "no node yet: its mm is not known". */
static struct join_node *const homeless = (struct join_node *)-1;

static void writer_free(struct writer *w)
{
	if (w)
		vec_done(&w->segments);
	free(w);
}

/* No more pairs and no open question: what it was blocked by is complete. */
static void writer_settle(struct type_a *a, struct writer *w)
{
	if (!w->retired || w->n_undecided)
		return;
	if (w->segments.n) {
		a->writer_waits++;
		a->union_ns += inversion_add_segments(&a->inversion, w->segments.v, w->segments.n);
	}
	writer_free(w);
}

static void judge(struct type_a *a, struct fault *f, const struct candidate *c)
{
	struct writer *w = c->writer;
	struct pair_row row = { .pairs = 1 };
	struct segment *s;

	if (f->fate == FATE_RETRIED) {
		a->coincident++;
		return;
	}
	if (f->fate == FATE_UNDECIDED) {
		a->undecided++;
		return;
	}
	a->pairs++;
	row.waiter = w->task;
	row.blocker = f->task;
	row.caller = w->caller;
	row.reason = c->reason;
	row.waiter_prio = task_prio_at(a->ctx->tasks, w->task, c->begin_ns);
	row.blocker_prio = task_prio_at(a->ctx->tasks, f->task, c->begin_ns);
	row.doing = (u8)task_state_at(tasks_get(a->ctx->tasks, f->task), c->begin_ns);
	row.overlap_ns = c->end_ns - c->begin_ns;
	inversion_add_pair(&a->inversion, &row);
	s = w->segments.n < WRITER_MAX_SEGMENTS ? vec_push(&w->segments) : NULL;
	if (!s) {
		a->refused++;
		return;
	}
	s->begin_ns = c->begin_ns;
	s->end_ns = c->end_ns;
	s->waiter_prio = row.waiter_prio;
	s->blocker_prio = row.blocker_prio;
}

static void fault_decide(struct type_a *a, struct fault *f, enum fault_fate fate)
{
	if (f->fate != FATE_OPEN)
		return;
	f->fate = fate;
	for (size_t i = 0; i < f->candidates.n; i++) {
		judge(a, f, &f->candidates.v[i]);
		f->candidates.v[i].writer->n_undecided--;
		writer_settle(a, f->candidates.v[i].writer);
	}
	vec_done(&f->candidates);
}

static void fault_put(struct fault *f)
{
	if (--f->refs)
		return;
	vec_done(&f->candidates);
	free(f);
}

static bool same_vma(const struct fault_wait *fw, const struct writer *w)
{
	if (fw->has_vma && w->has_vma)
		return fw->vma == w->vma;
	return w->has_range && fw->has_address && fw->address >= w->vm_start &&
	       fw->address < w->vm_end;
}

static int add_candidate(struct type_a *a, struct fault *f, const struct candidate *c)
{
	struct candidate *kept;

	if (f->fate != FATE_OPEN) {
		judge(a, f, c);
		return 0;
	}
	kept = vec_push(&f->candidates);
	if (!kept)
		return -ENOMEM;
	*kept = *c;
	c->writer->n_undecided++;
	return 0;
}

static int on_pair(void *ctx, struct join_node *left, struct join_node *right)
{
	struct fault_wait *fw = left->owner;
	struct writer *w = right->owner;
	struct candidate c = { .writer = w, .reason = fw->reason };

	if (task_same(fw->fault->task, w->task) || !same_vma(fw, w))
		return 0;
	c.begin_ns = left->begin_ns > right->begin_ns ? left->begin_ns : right->begin_ns;
	c.end_ns = left->end_ns < right->end_ns ? left->end_ns : right->end_ns;
	return add_candidate(ctx, fw->fault, &c);
}

static int on_retire(void *ctx, struct join_node *node)
{
	struct type_a *a = ctx;

	if (node->side == JOIN_LEFT) {
		struct fault_wait *fw = node->owner;

		fault_put(fw->fault);
		free(fw);
	} else if (node->owner) {
		struct writer *w = node->owner;

		w->retired = true;
		writer_settle(a, w);
	}
	return 0;
}

static void *type_a_new(struct analysis_ctx *ctx)
{
	struct type_a *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->ctx = ctx;
	join_init(&a->join, on_pair, on_retire, a);
	inversion_init(&a->inversion);
	return a;
}

static int fault_open(struct type_a *a, struct interval *iv)
{
	struct fault *f = calloc(1, sizeof(*f));

	(void)a;
	if (!f)
		return -ENOMEM;
	f->task = iv->task;
	f->refs = 1;
	iv->note[NOTE_TYPE_A] = f;
	return 0;
}

static int fault_wait_join(struct type_a *a, struct interval *iv);

static int fault_wait_open(struct type_a *a, struct interval *iv)
{
	int err;

	/* it keeps writers of mmap_lock waiting, and a VMA writer is one that has got it */
	if (!iv->parent || iv->under_mmap_lock)
		return 0;
	if (!iv->parent->note[NOTE_TYPE_A]) {
		/* a fault whose begin was not seen */
		err = fault_open(a, iv->parent);
		if (err)
			return err;
	}
	if (!iv->mm.v) {
		iv->note[NOTE_TYPE_A] =
			join_hold(&a->join, JOIN_LEFT, iv->begin_ns) ? homeless : NULL;
		return 0;
	}
	return fault_wait_join(a, iv);
}

static int fault_wait_join(struct type_a *a, struct interval *iv)
{
	struct fault_wait *fw;

	fw = calloc(1, sizeof(*fw));
	if (!fw)
		return -ENOMEM;
	fw->fault = iv->parent->note[NOTE_TYPE_A];
	iv->note[NOTE_TYPE_A] = join_open(&a->join, JOIN_LEFT, iv->mm, iv->begin_ns, fw);
	if (!iv->note[NOTE_TYPE_A]) {
		free(fw);
		return -ENOMEM;
	}
	fw->fault->refs++;
	return 0;
}

static int type_a_open(void *self, struct interval *iv)
{
	struct type_a *a = self;

	switch (iv->kind) {
	case IV_FAULT:
		return fault_open(a, iv);
	case IV_FAULT_WAIT:
		return fault_wait_open(a, iv);
	case IV_VMA_WRITE:
		/*
		 * Keeps fault waits within reach for a wait of this write that is told only when it
		 * is over (vma_start_write_blocked).
		 */
		if (!a->ctx->seen->vma_waits && iv->mm.v) {
			iv->note[NOTE_TYPE_A] =
				join_open(&a->join, JOIN_RIGHT, iv->mm, iv->begin_ns, NULL);
			return iv->note[NOTE_TYPE_A] ? 0 : -ENOMEM;
		}
		return 0;
	case IV_VMA_WAIT:
		if (!iv->mm.v) {
			iv->note[NOTE_TYPE_A] =
				join_hold(&a->join, JOIN_RIGHT, iv->begin_ns) ? homeless : NULL;
			return 0;
		}
		iv->note[NOTE_TYPE_A] = join_open(&a->join, JOIN_RIGHT, iv->mm, iv->begin_ns, NULL);
		return iv->note[NOTE_TYPE_A] ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

/* Keeps a closed wait with its thread, as long as no trace event pairs the writers' waits. */
static int remember_wait(struct type_a *a, const struct interval *iv, struct fault *f)
{
	struct recent_wait *slot;

	if (a->ctx->seen->vma_waits)
		return 0;
	while (a->recent.n <= iv->task.v) {
		if (!vec_push(&a->recent))
			return -ENOMEM;
	}
	slot = &a->recent.v[iv->task.v].waits[a->recent.v[iv->task.v].n++ % RECENT_WAITS];
	if (slot->fault)
		fault_put(slot->fault);
	*slot = (struct recent_wait){ f, iv->begin_ns, iv->end_ns, iv->reason };
	f->refs++;
	return 0;
}

/* vma_start_write_blocked without an mm: joined to the waits of the thread that fault_pid names. */
static int join_by_blocker(struct type_a *a, const struct interval *iv)
{
	u64 *known = map_get(&a->ctx->tasks->id_of_tid, iv->blocker_tid);
	const struct interval *open_wait;
	struct unnamed_writer *unnamed;
	struct writer *w;
	int err = 0;

	if (!known || *known == iv->task.v)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->task = iv->task;
	w->caller = iv->caller;
	for (u32 i = 0; *known < a->recent.n && i < RECENT_WAITS && !err; i++) {
		const struct recent_wait *r = &a->recent.v[*known].waits[i];
		struct candidate c = { .writer = w, .reason = r->reason };

		if (!r->fault || r->begin_ns >= iv->end_ns || iv->begin_ns >= r->end_ns)
			continue;
		c.begin_ns = r->begin_ns > iv->begin_ns ? r->begin_ns : iv->begin_ns;
		c.end_ns = r->end_ns < iv->end_ns ? r->end_ns : iv->end_ns;
		err = add_candidate(a, r->fault, &c);
	}
	open_wait = a->ctx->tasks->list.v[*known]->fault_wait;
	if (open_wait && open_wait->begin_ns < iv->end_ns) {
		unnamed = a->unnamed.n < MAX_UNNAMED ? vec_push(&a->unnamed) : NULL;
		if (unnamed) {
			*unnamed = (struct unnamed_writer){
				w, { (u32)*known }, iv->begin_ns, iv->end_ns
			};
			return err;
		}
		a->refused++;
	}
	w->retired = true;
	writer_settle(a, w);
	return err;
}

/* The fault wait that unnamed writers were waiting for is over: do they overlap it? */
static int join_unnamed(struct type_a *a, const struct interval *iv, struct fault *f)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < a->unnamed.n; i++) {
		struct unnamed_writer *u = &a->unnamed.v[i];
		struct candidate c = { .writer = u->writer, .reason = iv->reason };

		if (!task_same(u->blocker, iv->task)) {
			a->unnamed.v[kept++] = *u;
			continue;
		}
		c.begin_ns = iv->begin_ns > u->begin_ns ? iv->begin_ns : u->begin_ns;
		c.end_ns = iv->end_ns < u->end_ns ? iv->end_ns : u->end_ns;
		if (f && !err && interval_is_whole(iv) && iv->begin_ns < u->end_ns &&
		    u->begin_ns < iv->end_ns)
			err = add_candidate(a, f, &c);
		u->writer->retired = true;
		writer_settle(a, u->writer);
	}
	a->unnamed.n = kept;
	return err;
}

static int fault_close(struct type_a *a, struct interval *iv)
{
	struct fault *f = iv->note[NOTE_TYPE_A];

	if (!f)
		return 0;
	fault_decide(a, f, interval_is_whole(iv) ? FATE_HELD : FATE_UNDECIDED);
	iv->note[NOTE_TYPE_A] = NULL;
	fault_put(f);
	return 0;
}

static int fault_wait_close(struct type_a *a, struct interval *iv)
{
	struct join_node *n = iv->note[NOTE_TYPE_A];
	struct fault_wait *fw;
	bool late = false;
	int err = 0;

	if (a->unnamed.n)
		err = join_unnamed(a, iv, iv->parent ? iv->parent->note[NOTE_TYPE_A] : NULL);
	if (err || !n)
		return err;
	iv->note[NOTE_TYPE_A] = NULL;
	if (n != homeless && n->mm != iv->mm.v) {
		/* its end printed the mm, and it is not its fault's */
		err = join_drop(&a->join, n);
		if (err)
			return err;
		late = true;
	} else if (n == homeless) {
		/* its mm became known on the way, or never */
		join_unhold(&a->join, JOIN_LEFT, iv->begin_ns);
		late = true;
	}
	if (late) {
		if (!iv->mm.v || !interval_is_whole(iv))
			return 0;
		err = fault_wait_join(a, iv);
		if (err)
			return err;
		n = iv->note[NOTE_TYPE_A];
		iv->note[NOTE_TYPE_A] = NULL;
	}
	fw = n->owner;
	fw->reason = iv->reason;
	fw->has_vma = iv->has_vma;
	fw->vma = iv->vma;
	fw->has_address = iv->has_address;
	fw->address = iv->address;
	if (!interval_is_whole(iv))
		return join_drop(&a->join, n);
	err = remember_wait(a, iv, fw->fault);
	return err ? err : join_close(&a->join, n, iv->end_ns);
}

static int writer_close(struct type_a *a, struct interval *iv)
{
	struct join_node *n = iv->note[NOTE_TYPE_A];
	bool late = n == homeless;
	struct writer *w;
	int err;

	if (n && !late && n->mm != iv->mm.v) {
		/* its end printed the mm, and it is not its write's */
		err = join_drop(&a->join, n);
		if (err)
			return err;
		n = NULL;
		late = true;
	}
	iv->note[NOTE_TYPE_A] = NULL;
	if (n == homeless) {
		join_unhold(&a->join, JOIN_RIGHT, iv->begin_ns);
		n = NULL;
	}
	if (!n && !iv->mm.v && (iv->flags & IVF_BLOCKED) && interval_is_whole(iv) &&
	    analysis_counts(a->ctx, iv))
		return join_by_blocker(a, iv);
	if (!n && !(iv->mm.v && (late || (iv->flags & IVF_BLOCKED))))
		return 0;
	if (!interval_is_whole(iv) || !analysis_counts(a->ctx, iv))
		return n ? join_drop(&a->join, n) : 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->task = iv->task;
	w->caller = iv->caller;
	w->has_vma = iv->has_vma;
	w->vma = iv->vma;
	w->has_range = iv->has_range;
	w->vm_start = iv->vm_start;
	w->vm_end = iv->vm_end;
	if (!n)
		n = join_open(&a->join, JOIN_RIGHT, iv->mm, iv->begin_ns, NULL);
	if (!n) {
		free(w);
		return -ENOMEM;
	}
	n->owner = w;
	return join_close(&a->join, n, iv->end_ns);
}

static int type_a_close(void *self, struct interval *iv)
{
	struct type_a *a = self;
	struct join_node *n = iv->note[NOTE_TYPE_A];

	switch (iv->kind) {
	case IV_FAULT:
		return fault_close(a, iv);
	case IV_FAULT_WAIT:
		return fault_wait_close(a, iv);
	case IV_VMA_WRITE:
		iv->note[NOTE_TYPE_A] = NULL;
		return n ? join_drop(&a->join, n) : 0;
	case IV_VMA_WAIT:
		return writer_close(a, iv);
	default:
		return 0;
	}
}

static int type_a_retry(void *self, struct interval *fault)
{
	struct type_a *a = self;
	struct fault *f = fault->note[NOTE_TYPE_A];

	if (f)
		fault_decide(a, f, fault->flags & IVF_LOSS ? FATE_UNDECIDED : FATE_RETRIED);
	return 0;
}

static int pair_rows(struct type_a *a, struct result *r);

static int type_a_finish(void *self, struct result *r)
{
	struct type_a *a = self;
	const struct pair_seen *seen = a->ctx->seen;
	struct inversion_verdict v;
	bool covered = seen->faults && pair_any_vma(seen);

	if (join_drain(&a->join))
		return -ENOMEM;
	a->ctx->refused += a->refused + a->join.retired_early + a->inversion.refused;
	r->tables[TABLE_A_PAIRS].covered = covered;
	if (!covered) {
		r->tables[TABLE_A_PAIRS].why =
			seen->faults ? "no VMA writer events" : "no page cache fault events";
		return 0;
	}
	if (a->failed || a->inversion.failed)
		return -ENOMEM;
	r->summary.a_pairs = opt(a->pairs);
	r->summary.a_union_ns = opt(a->union_ns);
	r->summary.a_writer_waits = opt(a->writer_waits);
	r->summary.a_coincident = opt(a->coincident);
	r->summary.a_undecided = opt(a->undecided);
	if (seen->prios) {
		v = inversion_judge_all(&a->inversion, a->ctx->tasks);
		r->summary.c_pairs = opt(v.pairs);
		r->summary.c_score_ns = opt(v.score_ns);
		r->summary.c_unknown = opt(v.unknown);
		r->summary.c_late = opt(v.late);
		r->summary.c_rt_pairs = opt(v.rt_pairs);
		r->summary.c_fair_pairs = opt(v.fair_pairs);
	}
	return pair_rows(a, r);
}

static const char *doing_name(struct result *r, const struct analysis_ctx *ctx,
			      const struct pair_row *row)
{
	static const char *const states[] = { [TASK_UNKNOWN] = NULL,
					      [TASK_RUNNING] = "running",
					      [TASK_RUNNABLE] = "runnable, not running",
					      [TASK_SLEEPING] = "sleeping",
					      [TASK_BLOCKED] = "blocked" };
	/* wake-ups alone do not tell what a thread does */
	const char *state = ctx->seen->states ? states[row->doing] : NULL;
	const char *reason = intern_get(ctx->strings, row->reason, NULL);

	if (!row->reason)
		reason = "waiting";
	return state ? arena_printf(&r->arena, "%s (%s)", reason, state)
		     : arena_printf(&r->arena, "%s", reason);
}

struct shown {
	const struct pair_row *row;
	u64 pairs, overlap_ns, inverted, unknown;
};

static int compare_same(const void *a, const void *b)
{
	const struct pair_row *x = ((const struct shown *)a)->row,
			      *y = ((const struct shown *)b)->row;

	if (x->waiter.v != y->waiter.v)
		return x->waiter.v < y->waiter.v ? -1 : 1;
	if (x->blocker.v != y->blocker.v)
		return x->blocker.v < y->blocker.v ? -1 : 1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return x->doing < y->doing ? -1 : x->doing > y->doing;
}

static int compare_overlap(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->overlap_ns != y->overlap_ns)
		return x->overlap_ns > y->overlap_ns ? -1 : 1;
	return compare_same(a, b);
}

/* Rows that differ in priorities only are one row for the reader. */
static size_t fold_rows(const struct type_a *a, struct shown *s)
{
	const struct inversion *v = &a->inversion;
	size_t n = 0;

	for (size_t i = 0; i < v->rows.n; i++)
		s[i] = (struct shown){ .row = &v->rows.v[i] };
	qsort(s, v->rows.n, sizeof(*s), compare_same);
	for (size_t i = 0; i < v->rows.n; i++) {
		const struct pair_row *row = s[i].row;
		s32 waiter, blocker;
		bool late;
		enum pair_judgement j =
			inversion_judge(a->ctx->tasks, row, &late, &waiter, &blocker);

		if (!n || compare_same(&s[n - 1], &s[i]))
			s[n++] = (struct shown){ .row = row };
		s[n - 1].pairs += row->pairs;
		s[n - 1].overlap_ns += row->overlap_ns;
		s[n - 1].inverted += j == PAIR_INVERTED ? row->pairs : 0;
		s[n - 1].unknown += j == PAIR_UNKNOWN ? row->pairs : 0;
	}
	qsort(s, n, sizeof(*s), compare_overlap);
	return n;
}

static int pair_rows(struct type_a *a, struct result *r)
{
	struct shown *s;
	size_t n;
	int err = 0;

	if (!a->inversion.rows.n)
		return 0;
	s = calloc(a->inversion.rows.n, sizeof(*s));
	if (!s)
		return -ENOMEM;
	n = fold_rows(a, s);
	for (size_t i = 0; i < n; i++) {
		const struct pair_row *row = s[i].row;
		const char *doing = doing_name(r, a->ctx, row);
		struct cell *c = result_row(r, TABLE_A_PAIRS);

		if (!c || !doing) {
			err = -ENOMEM;
			break;
		}
		cell_u64(c++, tasks_get(a->ctx->tasks, row->waiter)->tid);
		analysis_cell_comm(r, c++, a->ctx, row->waiter);
		analysis_cell_string(r, c++, a->ctx, row->caller, NULL);
		cell_u64(c++, tasks_get(a->ctx->tasks, row->blocker)->tid);
		analysis_cell_comm(r, c++, a->ctx, row->blocker);
		cell_str(c++, doing, strlen(doing));
		cell_u64(c++, s[i].pairs);
		cell_u64(c++, s[i].overlap_ns);
		cell_opt(c++, a->ctx->seen->prios, s[i].inverted);
		cell_u64(c++, s[i].unknown);
	}
	free(s);
	return err;
}

static void type_a_free(void *self)
{
	struct type_a *a = self;

	if (!a)
		return;
	/* owners of nodes still in the join are freed through it: after finish there are none open
	 */
	join_drain(&a->join);
	join_done(&a->join);
	for (size_t t = 0; t < a->recent.n; t++) {
		for (u32 i = 0; i < RECENT_WAITS; i++) {
			if (a->recent.v[t].waits[i].fault)
				fault_put(a->recent.v[t].waits[i].fault);
		}
	}
	vec_done(&a->recent);
	vec_done(&a->unnamed);
	inversion_done(&a->inversion);
	free(a);
}

const struct analysis_ops analysis_type_a = {
	.key = "type_a",
	.kinds = 1u << IV_FAULT | 1u << IV_FAULT_WAIT | 1u << IV_VMA_WRITE | 1u << IV_VMA_WAIT,
	.new = type_a_new,
	.free = type_a_free,
	.open = type_a_open,
	.close = type_a_close,
	.retry = type_a_retry,
	.finish = type_a_finish,
};
