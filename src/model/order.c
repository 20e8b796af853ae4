/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/order.c: the sorting window (see order.h). Layer: model.
 *
 * Events that arrive in order, nearly all, go through a ring; the few that are older than the
 * ring's newest wait in a heap beside it, so that a hostile trace costs log n an event and not n.
 */
#include "model/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"

#define HUGE_PAGE_BYTES (2u << 20)
#define RECENT 4 /* how many of a thread's latest events a stack record may belong to */

struct heap_entry {
	u64 time_ns, seq;
	u32 slot; /* in side[] */
};
/* Where one of a thread's latest events is: position in the ring, or slot in side[]. */
struct event_ref {
	u64 seq;
	u64 where;
	bool aside;
};
struct order_task {
	struct event_ref recent[RECENT];
	u32 next;
};

struct order {
	u64 window_ns;
	order_sink sink;
	void *ctx;
	struct event *ring;   /* an event's ->line is replaced by its arrival number */
	u64 head, tail, mask; /* positions; ring[pos & mask] */
	struct event *side;
	u64 *side_seq; /* 0 = free */
	u32 *side_free, n_side_free, side_capacity;
	struct heap_entry *heap;
	u32 n_heap;
	u64 newest_ns, released_ns, seq, place;
	bool started;
	/* set up by the first stack record */
	bool has_stacks;
	struct map task_of_tid;
	struct order_task *tasks;
	u32 n_tasks, tasks_capacity;
	u32 class_of_kind[EV_LIMIT]; /* intern ids */
	struct order_stats stats;
};

static const char *const event_classes[EV_LIMIT] = {
#define EVENT(id, KIND, system, name, class, payload, doc) [EV_##KIND] = class,
#include "wire/events.def"
#undef EVENT
};

struct order *order_new(struct intern *strings, u64 window_ns, order_sink sink, void *ctx)
{
	struct order *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->window_ns = window_ns;
	o->sink = sink;
	o->ctx = ctx;
	map_init(&o->task_of_tid);
	for (u32 k = 1; k < EV_LIMIT; k++) {
		if (event_classes[k] && event_classes[k][0])
			o->class_of_kind[k] =
				intern_add(strings, event_classes[k], strlen(event_classes[k]));
	}
	return o;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	free(o->ring);
	free(o->side);
	free(o->side_seq);
	free(o->side_free);
	free(o->heap);
	free(o->tasks);
	map_done(&o->task_of_tid);
	free(o);
}

const struct order_stats *order_stats(const struct order *o)
{
	return &o->stats;
}

static bool heap_less(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->seq < b->seq;
}

static void heap_push(struct order *o, struct heap_entry e)
{
	u32 i = o->n_heap++;

	while (i) {
		u32 up = (i - 1) / 2;

		if (!heap_less(&e, &o->heap[up]))
			break;
		o->heap[i] = o->heap[up];
		i = up;
	}
	o->heap[i] = e;
}

static void heap_pop(struct order *o)
{
	struct heap_entry last = o->heap[--o->n_heap];
	u32 i = 0;

	for (;;) {
		u32 child = 2 * i + 1;

		if (child >= o->n_heap)
			break;
		if (child + 1 < o->n_heap && heap_less(&o->heap[child + 1], &o->heap[child]))
			child++;
		if (!heap_less(&o->heap[child], &last))
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = last;
}

/*
 * The ring is walked from end to end again and again: huge pages, where the system gives them on
 * request, spare most of its page faults and TLB misses.
 */
static struct event *ring_alloc(size_t size_bytes)
{
	void *p;

	if (size_bytes < HUGE_PAGE_BYTES)
		return malloc(size_bytes);
	if (posix_memalign(&p, HUGE_PAGE_BYTES, size_bytes))
		return NULL;
	madvise(p, size_bytes, MADV_HUGEPAGE);
	return p;
}

static bool ring_grow(struct order *o)
{
	u64 capacity = o->ring ? (o->mask + 1) * 2 : 1024;
	struct event *ring = ring_alloc(capacity * sizeof(*ring));

	if (!ring)
		return false;
	for (u64 p = o->head; p < o->tail; p++)
		ring[p & (capacity - 1)] = o->ring[p & o->mask];
	free(o->ring);
	o->ring = ring;
	o->mask = capacity - 1;
	return true;
}

static bool side_grow(struct order *o)
{
	u32 capacity = o->side_capacity ? o->side_capacity * 2 : 64;
	struct event *side = realloc(o->side, capacity * sizeof(*side));
	u64 *seq;
	u32 *free_slots;
	struct heap_entry *heap;

	if (!side)
		return false;
	o->side = side;
	seq = realloc(o->side_seq, capacity * sizeof(*seq));
	if (!seq)
		return false;
	o->side_seq = seq;
	free_slots = realloc(o->side_free, capacity * sizeof(*free_slots));
	if (!free_slots)
		return false;
	o->side_free = free_slots;
	heap = realloc(o->heap, capacity * sizeof(*heap));
	if (!heap)
		return false;
	o->heap = heap;
	for (u32 i = o->side_capacity; i < capacity; i++) {
		o->side_seq[i] = 0;
		o->side_free[o->n_side_free++] = i;
	}
	o->side_capacity = capacity;
	return true;
}

/* Releases the oldest event. */
static int release_one(struct order *o)
{
	bool aside = o->head == o->tail;
	int err;

	if (!aside && o->n_heap) {
		const struct event *first = &o->ring[o->head & o->mask];
		struct heap_entry ring_head = { first->time_ns, first->line, 0 };

		aside = heap_less(&o->heap[0], &ring_head);
	}
	if (aside) {
		u32 slot = o->heap[0].slot;

		heap_pop(o);
		o->released_ns = o->side[slot].time_ns;
		err = o->sink(o->ctx, &o->side[slot], o->place++);
		o->side_seq[slot] = 0;
		o->side_free[o->n_side_free++] = slot;
		return err;
	}
	o->released_ns = o->ring[o->head & o->mask].time_ns;
	err = o->sink(o->ctx, &o->ring[o->head & o->mask], o->place++);
	o->head++;
	return err;
}

static u64 oldest_ns(const struct order *o)
{
	u64 t = UINT64_MAX;

	if (o->head != o->tail)
		t = o->ring[o->head & o->mask].time_ns;
	if (o->n_heap && o->heap[0].time_ns < t)
		t = o->heap[0].time_ns;
	return t;
}

static struct order_task *order_task(struct order *o, u32 tid)
{
	u64 *index = map_get(&o->task_of_tid, tid);

	if (index)
		return &o->tasks[*index];
	if (o->n_tasks == o->tasks_capacity) {
		u32 capacity = o->tasks_capacity ? o->tasks_capacity * 2 : 64;
		struct order_task *tasks = realloc(o->tasks, capacity * sizeof(*tasks));

		if (!tasks)
			return NULL;
		o->tasks = tasks;
		o->tasks_capacity = capacity;
	}
	if (!map_set(&o->task_of_tid, tid, o->n_tasks))
		return NULL;
	memset(&o->tasks[o->n_tasks], 0, sizeof(*o->tasks));
	return &o->tasks[o->n_tasks++];
}

static void remember(struct order *o, u32 tid, struct event_ref ref)
{
	struct order_task *t = order_task(o, tid);

	if (t)
		t->recent[t->next++ % RECENT] = ref;
}

static void start_remembering(struct order *o)
{
	o->has_stacks = true;
	for (u64 p = o->head; p < o->tail; p++)
		remember(o, o->ring[p & o->mask].tid,
			 (struct event_ref){ o->ring[p & o->mask].line, p, false });
}

static struct event *event_at(struct order *o, const struct event_ref *ref)
{
	if (!ref->seq)
		return NULL;
	if (ref->aside)
		return o->side_seq[ref->where] == ref->seq ? &o->side[ref->where] : NULL;
	if (ref->where < o->head || o->ring[ref->where & o->mask].line != ref->seq)
		return NULL;
	return &o->ring[ref->where & o->mask];
}

/* Which of the thread's latest events the stack belongs to: the newest of its class, or the newest.
 */
static void join_stack(struct order *o, const struct event *st)
{
	u32 want = st->u.stack.class_name;
	struct order_task *t;

	if (!o->has_stacks)
		start_remembering(o);
	t = order_task(o, st->tid);
	for (u32 i = 0; t && i < RECENT && i < t->next; i++) {
		struct event *ev = event_at(o, &t->recent[(t->next - 1 - i) % RECENT]);
		u32 *field;

		if (!ev || ev->time_ns > st->time_ns)
			continue;
		/* EV_OTHER has no class of ours: it may be the one, when it is the newest */
		if (want && ev->kind != EV_OTHER && o->class_of_kind[ev->kind] != want)
			continue;
		if (want && ev->kind == EV_OTHER && i)
			continue;
		field = st->kind == EV_STACK ? &ev->stack : &ev->user_stack;
		if (*field)
			break;
		*field = st->u.stack.stack;
		o->stats.stacks_joined++;
		return;
	}
	o->stats.stacks_alone++;
}

static int make_room(struct order *o)
{
	int err = 0;

	while (!err && (o->tail - o->head) + o->n_heap >= ORDER_MAX_EVENTS) {
		o->stats.shortened++;
		err = release_one(o);
	}
	return err;
}

static int push_aside(struct order *o, const struct event *ev)
{
	u32 slot;

	if (!o->n_side_free && !side_grow(o))
		return -ENOMEM;
	slot = o->side_free[--o->n_side_free];
	o->side[slot] = *ev;
	o->side_seq[slot] = ++o->seq;
	heap_push(o, (struct heap_entry){ ev->time_ns, o->seq, slot });
	if (o->has_stacks)
		remember(o, ev->tid, (struct event_ref){ o->seq, slot, true });
	return 0;
}

int order_push(struct order *o, const struct event *ev)
{
	int err;

	if (ev->kind == EV_STACK || ev->kind == EV_USER_STACK) {
		join_stack(o, ev);
		return 0;
	}
	if (unlikely(o->started && ev->time_ns < o->newest_ns)) {
		if (o->newest_ns - ev->time_ns > o->window_ns || ev->time_ns < o->released_ns) {
			o->stats.late_events++;
			return 0;
		}
		err = make_room(o);
		/* making room may have released events newer than this one */
		if (!err && ev->time_ns < o->released_ns) {
			o->stats.late_events++;
			return 0;
		}
		return err ? err : push_aside(o, ev);
	}
	o->started = true;
	o->newest_ns = ev->time_ns;
	err = make_room(o);
	while (!err && (o->head != o->tail || o->n_heap) &&
	       ev->time_ns - oldest_ns(o) > o->window_ns)
		err = release_one(o);
	if (err)
		return err;
	if ((!o->ring || o->tail - o->head > o->mask) && !ring_grow(o))
		return -ENOMEM;
	o->ring[o->tail & o->mask] = *ev;
	o->ring[o->tail & o->mask].line = ++o->seq;
	if (o->has_stacks)
		remember(o, ev->tid, (struct event_ref){ o->seq, o->tail, false });
	o->tail++;
	return 0;
}

int order_flush(struct order *o)
{
	int err = 0;

	while (!err && (o->head != o->tail || o->n_heap))
		err = release_one(o);
	return err;
}
