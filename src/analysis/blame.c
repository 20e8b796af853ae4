/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis/blame.c: who made whom wait for mmap_lock or a VMA's lock. Layer: analysis.
 *
 * The time of every contended wait is cut at each begin and end of what was in its way; a slice
 * goes to the holders that exclude the waiter (shared equally, odd ns to the smallest TIDs), else
 * to the write wait that began first before it, else to the wake-up when the last holder had
 * already let go, else to unknown. The slices sum to the wait exactly. In a VMA writer's way are
 * faults: each holds the VMA's lock from its begin to its end, or, when it is retried, to its first
 * wait. This file listens and joins; the rest: blame.h.
 */
#include "analysis/blame.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/chain.h"

#define WAIT_MAX_SEGMENTS 4096
#define BLAME_MAX_CLOSED (1u << 14)

/* A fault that holds, or may hold, its VMA's lock. */
struct fault {
	struct join_node *node; /* NULL: its mm is not known yet */
	bool homeless, waited;
	bool dropped; /* BPF: it went on under mmap_lock, and let the VMA's lock go at the latest */
	u64 dropped_ns; /* here */
	u64 first_wait_ns, last_wait_end_ns;
	u64 longest_wait_ns;
	u32 reason, stack;
	/* when it is over */
	bool has_vma, has_address;
	u64 vma, address;
};
struct blame {
	struct analysis_ctx *ctx;
	struct join locks, vmas; /* left: waits; right: what is in their way */
	struct blame_pool pool;
	struct blame_rows *rows;
	struct chains chains;
	u64 now_ns, n_ends, refused;
};

static bool same_vma(const struct fault *f, const struct blame_wait *w)
{
	if (f->has_vma && w->has_vma)
		return f->vma == w->vma;
	return w->has_range && f->has_address && f->address >= w->vm_start &&
	       f->address < w->vm_end;
}

static bool is_in_the_way(const struct blame_wait *w, const struct join_node *left,
			  const struct join_node *right)
{
	if (right->task == w->task.v)
		return false;
	if (w->lock == BLAME_VMA)
		return same_vma(right->owner, w);
	if (right->what == BECAUSE_HOLDS_READ || right->what == BECAUSE_HANDED)
		return w->mode != MODE_READ;
	if (right->what == BECAUSE_QUEUED)
		return right->begin_ns < w->begin_ns ||
		       (right->begin_ns == w->begin_ns && right->place < left->place);
	return true;
}

static int on_pair(void *ctx, struct join_node *left, struct join_node *right)
{
	struct blame *b = ctx;
	struct blame_wait *w = left->owner;
	const struct fault *f = right->owner;
	struct blame_segment *s;

	if (!is_in_the_way(w, left, right))
		return 0;
	if (w->segments.n >= WAIT_MAX_SEGMENTS) {
		b->refused++;
		return 0;
	}
	if (w->has_waker && right->task == w->segments.v[0].task) {
		/* the reader that let go last is this fault: one blocker, with what is known of it
		 */
		s = &w->segments.v[0];
		s->because = right->what;
		s->origin = right->origin;
		s->stack = f ? f->stack : right->stack;
		s->reason = f ? f->reason : 0;
		return 0;
	}
	s = vec_push(&w->segments);
	if (!s)
		return -ENOMEM;
	s->begin_ns = left->begin_ns > right->begin_ns ? left->begin_ns : right->begin_ns;
	s->end_ns = left->end_ns < right->end_ns ? left->end_ns : right->end_ns;
	s->full_begin_ns = right->begin_ns;
	s->place = right->place;
	s->task = right->task;
	s->tid = tasks_get(b->ctx->tasks, (struct task_id){ right->task })->tid;
	s->because = right->what;
	s->origin = right->origin;
	s->stack = f ? f->stack : right->stack;
	s->reason = f ? f->reason : 0;
	return 0;
}

static int wait_settle(struct blame *b, struct blame_wait *w)
{
	int err = 0, failed;

	blame_wait_complete(w);
	if (w->charged)
		err = blame_rows_add(b->rows, w);
	failed = chains_settle(&b->chains, w);
	return err ? err : failed;
}

static int on_retire(void *ctx, struct join_node *node)
{
	struct blame *b = ctx;

	if (node->side == JOIN_LEFT && node->owner)
		return wait_settle(b, node->owner);
	free(node->side == JOIN_RIGHT ? node->owner : NULL);
	return 0;
}

static void *blame_new(struct analysis_ctx *ctx)
{
	struct blame *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ctx = ctx;
	join_init(&b->locks, on_pair, on_retire, b);
	join_init(&b->vmas, on_pair, on_retire, b);
	b->locks.max_closed = BLAME_MAX_CLOSED;
	b->vmas.max_closed = BLAME_MAX_CLOSED;
	chains_init(&b->chains, ctx, &b->pool);
	b->rows = blame_rows_new(ctx);
	if (!b->rows) {
		free(b);
		return NULL;
	}
	return b;
}

static void blame_free(void *self)
{
	struct blame *b = self;

	if (!b)
		return;
	/* owners of nodes are freed through the join, or go over to the chains */
	join_drain(&b->locks);
	join_drain(&b->vmas);
	join_done(&b->locks);
	join_done(&b->vmas);
	chains_done(&b->chains);
	blame_pool_done(&b->pool);
	blame_rows_free(b->rows);
	free(b);
}

static struct join_node *open_node(struct join *j, const struct interval *iv, enum join_side side,
				   enum because what, void *owner)
{
	struct join_node *n = join_open(j, side, iv->mm, iv->begin_ns, owner);

	if (n) {
		n->place = iv->begin_place;
		n->task = iv->task.v;
		n->what = (u8)what;
		n->origin = iv->origin;
		n->stack = iv->stack;
	}
	return n;
}

static int hold_open(struct blame *b, struct interval *iv)
{
	if (!iv->mm.v || iv->mode == MODE_UNKNOWN)
		return 0;
	iv->note[NOTE_BLAME] =
		open_node(&b->locks, iv, JOIN_RIGHT,
			  iv->mode == MODE_WRITE ? BECAUSE_HOLDS_WRITE : BECAUSE_HOLDS_READ, NULL);
	return iv->note[NOTE_BLAME] ? 0 : -ENOMEM;
}

static int hold_close(struct blame *b, struct interval *iv)
{
	struct join_node *n = iv->note[NOTE_BLAME];

	iv->note[NOTE_BLAME] = NULL;
	if (!n)
		return 0;
	/* what a vendor hold is for may have shown only while it lasted (pair_vma.c: explain_hold)
	 */
	n->origin = iv->origin;
	return interval_is_whole(iv) ? join_close(&b->locks, n, iv->end_ns)
				     : join_drop(&b->locks, n);
}

/* --- waits --- */

static struct join *join_of(struct blame *b, const struct blame_wait *w)
{
	return w->lock == BLAME_VMA ? &b->vmas : &b->locks;
}

static struct blame_wait *wait_new(struct blame *b, const struct interval *iv)
{
	struct blame_wait *w = blame_wait_new(&b->pool);

	if (!w)
		return NULL;
	w->begin_ns = iv->begin_ns;
	w->begin_place = iv->begin_place;
	w->task = iv->task;
	w->lock = iv->kind == IV_VMA_WAIT ? BLAME_VMA : BLAME_MMAP_LOCK;
	w->mode = iv->mode;
	w->stack = iv->stack;
	return w;
}

/* A fault that asks for mmap_lock has no VMA's lock any more. */
static void fault_goes_on_under_lock(struct fault *f, u64 now_ns)
{
	if (!f || f->dropped)
		return;
	f->dropped = true;
	f->dropped_ns = f->last_wait_end_ns ? f->last_wait_end_ns : now_ns;
}

static void note_fault_fallback(struct blame *b, const struct interval *iv)
{
	const struct interval *fault = tasks_get(b->ctx->tasks, iv->task)->fault;

	if (fault)
		fault_goes_on_under_lock(fault->note[NOTE_BLAME], iv->begin_ns);
}

static int wait_open(struct blame *b, struct interval *iv)
{
	struct blame_wait *w;
	bool bpf = b->ctx->seen->bpf && iv->kind == IV_LOCK_WAIT;

	if (iv->mode == MODE_UNKNOWN)
		return 0;
	if (bpf && iv->mode == MODE_READ)
		note_fault_fallback(b, iv);
	w = wait_new(b, iv);
	if (!w)
		return -ENOMEM;
	if (chains_open(&b->chains, w)) {
		blame_wait_free(&b->pool, w);
		return -ENOMEM;
	}
	iv->note[NOTE_BLAME] = w;
	if (iv->mm.v) {
		w->node = open_node(join_of(b, w), iv, JOIN_LEFT, BECAUSE_UNKNOWN, NULL);
		if (!w->node)
			return -ENOMEM;
	} else if (w->lock == BLAME_VMA) {
		w->homeless = join_hold(&b->vmas, JOIN_LEFT, iv->begin_ns);
	}
	if (w->lock == BLAME_VMA || !iv->mm.v || (iv->mode != MODE_WRITE && !bpf))
		return 0;
	iv->note[NOTE_BLAME_QUEUE] =
		open_node(&b->locks, iv, JOIN_RIGHT,
			  iv->mode == MODE_WRITE ? BECAUSE_QUEUED : BECAUSE_HANDED, NULL);
	return iv->note[NOTE_BLAME_QUEUE] ? 0 : -ENOMEM;
}

static void take_owner(struct blame *b, struct blame_wait *w, const struct interval *iv)
{
	const u64 *known;

	/* a reader's name stays in the lock after it has let go, and tells of the last one only */
	if (!iv->owner_write || !iv->owner_tid)
		return;
	known = map_get(&b->ctx->tasks->id_of_tid, iv->owner_tid);
	if (!known || *known == iv->task.v)
		return;
	w->owner = (u32)*known;
	w->owner_tid = iv->owner_tid;
	w->owner_stack = iv->owner_stack;
}

/* What is known of a wait only when it is over. */
static void wait_complete(struct blame *b, struct blame_wait *w, const struct interval *iv)
{
	w->end_ns = iv->end_ns;
	w->number = ++b->n_ends;
	w->charged = analysis_counts(b->ctx, iv);
	w->origin = iv->origin;
	w->granted_ns = iv->granted_ns;
	w->has_vma = iv->has_vma;
	w->vma = iv->vma;
	w->has_range = iv->has_range;
	w->vm_start = iv->vm_start;
	w->vm_end = iv->vm_end;
	take_owner(b, w, iv);
}

static bool is_explained(struct blame *b, const struct interval *iv)
{
	return interval_is_whole(iv) && analysis_is_contended(b->ctx, iv->end_ns - iv->begin_ns);
}

static int wait_drop(struct blame *b, struct blame_wait *w)
{
	int err = w->node ? join_drop(join_of(b, w), w->node) : 0;
	int failed = chains_drop(&b->chains, w);

	return err ? err : failed;
}

/*
 * While a writer waits no new reader gets the VMA's lock: the one that let go last and woke it had
 * it since before the wait.
 */
static int take_waker(struct blame *b, struct blame_wait *w, const struct interval *iv)
{
	const u64 *known = map_get(&b->ctx->tasks->id_of_tid, iv->blocker_tid);
	struct blame_segment *s;

	if (w->lock != BLAME_VMA || !known || *known == iv->task.v)
		return 0;
	s = vec_push(&w->segments);
	if (!s)
		return -ENOMEM;
	*s = (struct blame_segment){ .begin_ns = iv->begin_ns,
				     .end_ns = iv->granted_ns,
				     .full_begin_ns = iv->begin_ns,
				     .task = (u32)*known,
				     .tid = iv->blocker_tid,
				     .because = BECAUSE_HELD_VMA,
				     .origin = ORIGIN_OTHER };
	w->has_waker = true;
	return 0;
}

/* The node is the one that was opened at its begin, unless its mm was not known then or was another
 * than its end printed. */
static int wait_join(struct blame *b, struct blame_wait *w, const struct interval *iv)
{
	struct join *j = join_of(b, w);
	int err = 0, failed;

	if (w->node && w->node->mm != iv->mm.v) {
		err = join_drop(j, w->node);
		w->node = NULL;
	}
	if (!iv->mm.v) {
		/* nobody can be named; the time is waited all the same */
		failed = wait_settle(b, w);
		return err ? err : failed;
	}
	if (iv->granted_ns && iv->blocker_tid)
		err = err ? err : take_waker(b, w, iv);
	if (!w->node)
		w->node = open_node(j, iv, JOIN_LEFT, BECAUSE_UNKNOWN, NULL);
	if (!w->node) {
		failed = chains_drop(&b->chains, w);
		return failed ? failed : -ENOMEM;
	}
	w->node->owner = w;
	failed = join_close(j, w->node, iv->end_ns);
	return err ? err : failed;
}

/* A write wait stands in the queue; a read wait has the lock from when it was given to it. */
static int queue_close(struct blame *b, struct join_node *queue, const struct interval *iv)
{
	if (queue->what == BECAUSE_QUEUED)
		/* from its begin, however it ended, unless it only tried */
		return iv->flags & IVF_FAILED_TRY ? join_drop(&b->locks, queue)
						  : join_close(&b->locks, queue, iv->end_ns);
	if (!iv->granted_ns || !interval_is_whole(iv))
		return join_drop(&b->locks, queue);
	queue->begin_ns = iv->granted_ns;
	return join_close(&b->locks, queue, iv->end_ns);
}

static int wait_close(struct blame *b, struct interval *iv)
{
	struct blame_wait *w = iv->note[NOTE_BLAME];
	struct join_node *queue = iv->note[NOTE_BLAME_QUEUE];
	int err = 0, failed;

	iv->note[NOTE_BLAME] = NULL;
	iv->note[NOTE_BLAME_QUEUE] = NULL;
	if (queue)
		err = queue_close(b, queue, iv);
	if (!w)
		return err;
	if (w->homeless)
		join_unhold(&b->vmas, JOIN_LEFT, iv->begin_ns);
	if (!is_explained(b, iv)) {
		failed = wait_drop(b, w);
	} else {
		wait_complete(b, w, iv);
		failed = wait_join(b, w, iv);
	}
	return err ? err : failed;
}

/*
 * vma_start_write_blocked tells of the wait when it is over, and names the blocker: it is charged
 * with all of it.
 */
static int wait_blocked(struct blame *b, const struct interval *iv)
{
	const u64 *known = map_get(&b->ctx->tasks->id_of_tid, iv->blocker_tid);
	struct blame_segment *s;
	struct blame_wait *w;

	if (!is_explained(b, iv))
		return 0;
	w = wait_new(b, iv);
	if (!w)
		return -ENOMEM;
	wait_complete(b, w, iv);
	w->named = true;
	if (iv->blocker_tid && known && *known != iv->task.v) {
		s = vec_push(&w->segments);
		if (!s) {
			blame_wait_free(&b->pool, w);
			return -ENOMEM;
		}
		*s = (struct blame_segment){ .begin_ns = iv->begin_ns,
					     .end_ns = iv->end_ns,
					     .full_begin_ns = iv->begin_ns,
					     .task = (u32)*known,
					     .tid = iv->blocker_tid,
					     .because = BECAUSE_HOLDS_VMA,
					     .origin = ORIGIN_FAULT };
	}
	return wait_settle(b, w);
}

/* --- faults --- */

static int fault_open(struct blame *b, struct interval *iv)
{
	struct fault *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->stack = iv->stack;
	if (iv->mm.v) {
		f->node = open_node(&b->vmas, iv, JOIN_RIGHT, BECAUSE_HOLDS_VMA, f);
		if (!f->node) {
			free(f);
			return -ENOMEM;
		}
	} else {
		f->homeless = join_hold(&b->vmas, JOIN_RIGHT, iv->begin_ns);
	}
	iv->note[NOTE_BLAME] = f;
	return 0;
}

static int fault_wait_open(struct interval *iv)
{
	struct fault *f = iv->parent ? iv->parent->note[NOTE_BLAME] : NULL;

	if (!f)
		return 0;
	if (iv->under_mmap_lock)
		fault_goes_on_under_lock(f, f->waited ? iv->begin_ns : iv->parent->begin_ns);
	/* preempted, it has not dropped anything yet */
	if (!f->waited && !iv->preempted) {
		f->first_wait_ns = iv->begin_ns;
		f->waited = true;
	}
	if (!f->stack)
		f->stack = iv->stack;
	return 0;
}

static int fault_wait_close(struct interval *iv)
{
	struct fault *f = iv->parent ? iv->parent->note[NOTE_BLAME] : NULL;
	u64 ns = iv->end_ns - iv->begin_ns;

	if (!f || !interval_is_whole(iv))
		return 0;
	f->last_wait_end_ns = iv->end_ns;
	if (ns >= f->longest_wait_ns) {
		f->longest_wait_ns = ns;
		f->reason = iv->reason;
	}
	return 0;
}

/* Its hold ended at @end_ns, or (@held false) nothing is known of it. Its note is not valid any
 * more. */
static int fault_over(struct blame *b, struct interval *iv, bool held, u64 end_ns)
{
	struct fault *f = iv->note[NOTE_BLAME];
	struct join_node *n = f->node;

	iv->note[NOTE_BLAME] = NULL;
	if (f->homeless)
		join_unhold(&b->vmas, JOIN_RIGHT, iv->begin_ns);
	if (!n && held && iv->mm.v) {
		n = open_node(&b->vmas, iv, JOIN_RIGHT, BECAUSE_HOLDS_VMA, f);
		if (!n) {
			free(f);
			return -ENOMEM;
		}
	}
	if (!n) {
		free(f);
		return 0;
	}
	f->has_vma = iv->has_vma;
	f->vma = iv->vma;
	f->has_address = iv->has_address;
	f->address = iv->address;
	if (!held)
		return join_drop(&b->vmas, n);
	return join_close(&b->vmas, n, end_ns < iv->begin_ns ? iv->begin_ns : end_ns);
}

/* The lock was dropped before the fault's first wait; one that did not wait, now. */
static int blame_retry(void *self, struct interval *iv)
{
	struct blame *b = self;
	struct fault *f = iv->note[NOTE_BLAME];
	u64 end_ns;

	if (!f)
		return 0;
	/* what it waits for, it waits for without the lock */
	f->reason = 0;
	end_ns = f->waited	       ? f->first_wait_ns
		 : f->last_wait_end_ns ? f->last_wait_end_ns
				       : b->now_ns;
	if (f->dropped && f->dropped_ns < end_ns)
		end_ns = f->dropped_ns;
	return fault_over(b, iv, !(iv->flags & (IVF_OPEN_BEGIN | IVF_LOSS)), end_ns);
}

static int fault_close(struct blame *b, struct interval *iv)
{
	struct fault *f = iv->note[NOTE_BLAME];
	u64 end_ns = iv->end_ns;

	if (!f)
		return 0;
	/*
	 * BPF learns of a fault's end at the thread's next sign of life, which may be long after:
	 * that it held the lock is certain for its waits only.
	 */
	if (b->ctx->seen->bpf)
		end_ns = f->dropped ? f->dropped_ns : f->last_wait_end_ns;
	return fault_over(b, iv, interval_is_whole(iv) && end_ns, end_ns);
}

static int blame_open(void *self, struct interval *iv)
{
	struct blame *b = self;

	switch (iv->kind) {
	case IV_LOCK_HOLD:
		return hold_open(b, iv);
	case IV_LOCK_WAIT:
	case IV_VMA_WAIT:
		return wait_open(b, iv);
	case IV_FAULT:
		return fault_open(b, iv);
	case IV_FAULT_WAIT:
		return fault_wait_open(iv);
	default:
		return 0;
	}
}

static int blame_close(void *self, struct interval *iv)
{
	struct blame *b = self;

	switch (iv->kind) {
	case IV_LOCK_HOLD:
		return hold_close(b, iv);
	case IV_VMA_WAIT:
		if ((iv->flags & IVF_BLOCKED) && !iv->note[NOTE_BLAME])
			return wait_blocked(b, iv);
		return wait_close(b, iv);
	case IV_LOCK_WAIT:
		return wait_close(b, iv);
	case IV_FAULT:
		return fault_close(b, iv);
	case IV_FAULT_WAIT:
		return fault_wait_close(iv);
	default:
		return 0;
	}
}

static int blame_advance(void *self, u64 now_ns)
{
	struct blame *b = self;

	b->now_ns = now_ns;
	return 0;
}

static int blame_finish(void *self, struct result *r)
{
	struct blame *b = self;
	const struct pair_seen *seen = b->ctx->seen;
	bool covered =
		seen->stock_locks || seen->vendor_waits || seen->vma_waits || seen->vma_blocked;
	int err;

	if (join_drain(&b->locks) || join_drain(&b->vmas) || chains_drain(&b->chains))
		return -ENOMEM;
	b->ctx->refused += b->refused + b->locks.retired_early + b->vmas.retired_early;
	err = blame_rows_finish(b->rows, r, covered);
	return err ? err : chains_finish(&b->chains, r, covered);
}

const struct analysis_ops analysis_blame = {
	.key = "blame",
	.kinds = 1u << IV_LOCK_WAIT | 1u << IV_LOCK_HOLD | 1u << IV_VMA_WAIT | 1u << IV_FAULT |
		 1u << IV_FAULT_WAIT,
	.new = blame_new,
	.free = blame_free,
	.open = blame_open,
	.close = blame_close,
	.retry = blame_retry,
	.advance = blame_advance,
	.finish = blame_finish,
};
