/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_window.c: the records of one refresh, and what is carried on (see bpf_window.h). Layer:
 * live. */
#include "live/bpf_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "wire/bpf_record.h"

/*
 * A wait may begin after the snapshot that would have told it as open, and its blockers may have
 * ended before the window did: what ended this short before is carried in any case.
 */
#define MARGIN_NS 50000000ULL
#define PARTS BPF_WINDOW_BLOCKS

/*
 * Symbols before all stacks: what became known too late for its first stack (user frames) is known
 * at the next refresh.
 */
enum part { PART_SYMBOLS, PART_STACKS, PART_TOTALS, PART_CARRIED, PART_NEW };

struct part_buf {
	char *data;
	size_t len, capacity;
};
struct bpf_window {
	struct part_buf part[PARTS];
	struct map known;  /* hash of a dictionary record -> 1 */
	struct map totals; /* tgid << 32 | tid -> place in its part */
	bool totals_old;   /* they are of an earlier window: a new snapshot replaces them all */
	u64 begin_ns;
	u64 left_out;
};

/* What next() has to know of the records it goes through. */
struct carry {
	struct map open_mm; /* mm -> earliest begin of its open waits and sleeps */
	struct map open;    /* hash of (tid, begin) of what was told as open -> 0 once it is over */
	struct map faulting;  /* tid -> begin of a fault that slept and is not over */
	struct map fault_new; /* tid -> 1: this fault told something in this window */
	u64 margin_ns;	      /* what ended since then stays */
	u64 first_open_ns;    /* of any mm; UINT64_MAX = none */
};

struct bpf_window *bpf_window_new(void)
{
	return calloc(1, sizeof(struct bpf_window));
}

void bpf_window_free(struct bpf_window *w)
{
	if (!w)
		return;
	for (int i = 0; i < PARTS; i++)
		free(w->part[i].data);
	map_done(&w->known);
	map_done(&w->totals);
	free(w);
}

static u64 hash_bytes(u64 h, const void *data, size_t len)
{
	const char *p = data;
	u64 word;

	for (h ^= len; len; p += sizeof(word), len -= len < sizeof(word) ? len : sizeof(word)) {
		word = 0;
		memcpy(&word, p, len < sizeof(word) ? len : sizeof(word));
		h = hash_u64(h * 31 + word);
	}
	return h;
}

static u64 hash_two(u64 a, u64 b)
{
	return hash_u64(hash_u64(a) * 31 + b);
}

/* 0, -ENOMEM, or 1: past the limit, counted. */
static int append(struct bpf_window *w, enum part which, const void *record, size_t len)
{
	struct part_buf *b = &w->part[which];

	if (len > BPF_WINDOW_MAX_BYTES - b->len) {
		w->left_out++;
		return 1;
	}
	if (len > b->capacity - b->len) {
		size_t capacity = b->capacity ? b->capacity * 2 : 64 * 1024;
		char *data = realloc(b->data, capacity);

		if (!data)
			return -ENOMEM;
		b->data = data;
		b->capacity = capacity;
	}
	memcpy(b->data + b->len, record, len);
	b->len += len;
	return 0;
}

/* A record, as far as it goes, in a struct of this version: what it lacks is 0. */
#define TAKE(rec, p, head)               \
	(memset(&(rec), 0, sizeof(rec)), \
	 memcpy(&(rec), (p), (head)->size < sizeof(rec) ? (head)->size : sizeof(rec)))

static int add_once(struct bpf_window *w, enum part which, u64 key, const void *p, size_t len)
{
	int code;

	if (map_get(&w->known, key))
		return 0;
	code = append(w, which, p, len);
	if (code)
		return code < 0 ? code : 0;
	return map_set(&w->known, key, 1) ? 0 : -ENOMEM;
}

static int add_totals(struct bpf_window *w, const char *p, const struct bpf_rec_head *head)
{
	struct bpf_rec_totals t;
	struct part_buf *b = &w->part[PART_TOTALS];
	u64 key, *place;
	int code;

	TAKE(t, p, head);
	if (w->totals_old) {
		/* A thread that has ended since is in its process's sum now. */
		b->len = 0;
		map_done(&w->totals);
		w->totals_old = false;
	}
	key = (u64)t.tgid << 32 | t.tid;
	place = map_get(&w->totals, key);
	if (place) {
		struct bpf_rec_head old;

		memcpy(&old, b->data + *place, sizeof(old));
		if (old.size == head->size) {
			memcpy(b->data + *place, p, head->size);
			return 0;
		}
	}
	code = append(w, PART_TOTALS, p, head->size);
	if (code)
		return code < 0 ? code : 0;
	return map_set(&w->totals, key, b->len - head->size) ? 0 : -ENOMEM;
}

static int add_record(struct bpf_window *w, const char *p, const struct bpf_rec_head *head)
{
	struct bpf_rec_stack stack;
	int code;

	switch (head->kind) {
	case BREC_STACK: /* the head's time and CPU differ each time it is told */
		TAKE(stack, p, head);
		return add_once(w, PART_STACKS, hash_two(BREC_STACK, stack.id), p, head->size);
	case BREC_SYMBOL:
	case BREC_NOTE:
		return add_once(
			w, PART_SYMBOLS,
			hash_bytes(head->kind, p + sizeof(*head), head->size - sizeof(*head)), p,
			head->size);
	case BREC_TOTALS:
		return add_totals(w, p, head);
	default:
		code = append(w, PART_NEW, p, head->size);
		return code < 0 ? code : 0;
	}
}

/* The head at @p if a whole record lies there. */
static bool head_at(const char *p, size_t len, struct bpf_rec_head *head)
{
	if (len < sizeof(*head))
		return false;
	memcpy(head, p, sizeof(*head));
	return head->size >= sizeof(*head) && !(head->size % 8) && head->size <= len;
}

int bpf_window_add(void *ctx, const void *records, size_t len)
{
	struct bpf_window *w = ctx;
	struct bpf_rec_head head;
	const char *p = records;

	for (; len; p += head.size, len -= head.size) {
		int code;

		if (!head_at(p, len, &head)) {
			w->left_out++;
			return 0;
		}
		code = add_record(w, p, &head);
		if (code)
			return code;
	}
	return 0;
}

size_t bpf_window_blocks(const struct bpf_window *w, struct bpf_block ret[BPF_WINDOW_BLOCKS])
{
	size_t n = 0;

	for (int i = 0; i < PARTS; i++) {
		if (!w->part[i].len)
			continue;
		ret[n].records = w->part[i].data;
		ret[n++].len = w->part[i].len;
	}
	return n;
}

u64 bpf_window_begin_ns(const struct bpf_window *w)
{
	return w->begin_ns;
}

u64 bpf_window_left_out(const struct bpf_window *w)
{
	return w->left_out;
}

/* --- the next window --- */

/* What WAIT, HOLD, SLEEP, FAULT and PROCESS records have in common here. */
struct span {
	u64 begin_ns, end_ns;
	u64 mm, child_mm;
	u32 tid, flags;
	bool in_fault;
};

static bool span_of(const char *p, const struct bpf_rec_head *head, struct span *s)
{
	struct bpf_rec_wait wait;
	struct bpf_rec_hold hold;
	struct bpf_rec_sleep sleep;
	struct bpf_rec_fault fault;
	struct bpf_rec_process process;

	memset(s, 0, sizeof(*s));
	s->begin_ns = s->end_ns = head->time_ns;
#define SPAN(rec, begin, flag_bits)                                                           \
	(TAKE(rec, p, head), s->begin_ns = (begin), s->mm = (rec).mm, s->tid = (rec).who.tid, \
	 s->flags = (flag_bits))
	switch (head->kind) {
	case BREC_WAIT:
		SPAN(wait, wait.begin_ns, wait.flags);
		return true;
	case BREC_HOLD:
		SPAN(hold, hold.begin_ns, hold.flags);
		return true;
	case BREC_SLEEP:
		SPAN(sleep, sleep.begin_ns, sleep.flags);
		s->in_fault = sleep.sleep_class == BSLEEP_FAULT;
		return true;
	case BREC_FAULT:
		SPAN(fault, head->time_ns, fault.flags);
		s->in_fault = true;
		return true;
	case BREC_PROCESS:
		SPAN(process, head->time_ns, 0);
		s->child_mm = process.child_mm;
		return true;
	default:
		return false;
	}
#undef SPAN
}

typedef int (*record_fn)(void *ctx, enum part which, const char *p,
			 const struct bpf_rec_head *head);

static int each_record(const struct bpf_window *w, record_fn fn, void *ctx)
{
	for (enum part which = PART_CARRIED; which <= PART_NEW; which++) {
		const struct part_buf *b = &w->part[which];
		struct bpf_rec_head head;

		for (size_t at = 0; at < b->len; at += head.size) {
			int code;

			memcpy(&head, b->data + at, sizeof(head));
			code = fn(ctx, which, b->data + at, &head);
			if (code)
				return code;
		}
	}
	return 0;
}

static bool lasts(const struct bpf_rec_head *head)
{
	return head->kind == BREC_WAIT || head->kind == BREC_SLEEP;
}

/* First round: what the snapshots of this window told as open. */
static int see_open(void *ctx, enum part which, const char *p, const struct bpf_rec_head *head)
{
	struct carry *c = ctx;
	struct span s;

	if (which != PART_NEW || !lasts(head) || !span_of(p, head, &s) || !(s.flags & BFLAG_OPEN))
		return 0;
	return map_set(&c->open, hash_two(s.tid, s.begin_ns), 1) ? 0 : -ENOMEM;
}

static int see_fault(struct carry *c, enum part which, const struct bpf_rec_head *head,
		     const struct span *s)
{
	if (head->kind == BREC_FAULT && !(s->flags & BFLAG_RETRIED)) {
		map_remove(&c->faulting, s->tid);
		return 0;
	}
	if (head->kind == BREC_SLEEP &&
	    (s->flags & BFLAG_FIRST || !map_get(&c->faulting, s->tid)) &&
	    !map_set(&c->faulting, s->tid, s->begin_ns))
		return -ENOMEM;
	return which != PART_NEW || map_set(&c->fault_new, s->tid, 1) ? 0 : -ENOMEM;
}

/* Second round: what is over since its snapshot, and which faults are not. */
static int see_ends(void *ctx, enum part which, const char *p, const struct bpf_rec_head *head)
{
	struct bpf_rec_process process;
	struct carry *c = ctx;
	struct span s;
	u64 *is_open;

	if (!span_of(p, head, &s) || s.flags & BFLAG_OPEN)
		return 0;
	is_open = lasts(head) ? map_get(&c->open, hash_two(s.tid, s.begin_ns)) : NULL;
	if (is_open)
		*is_open = 0;
	if (head->kind == BREC_PROCESS) {
		TAKE(process, p, head);
		if (process.what != BPROC_FORK)
			map_remove(&c->faulting, s.tid);
	}
	return s.in_fault ? see_fault(c, which, head, &s) : 0;
}

/* Third round: since when has each mm had something open? */
static int see_open_mm(void *ctx, enum part which, const char *p, const struct bpf_rec_head *head)
{
	struct carry *c = ctx;
	struct span s;
	u64 *found;

	if (which != PART_NEW || !lasts(head) || !span_of(p, head, &s) || !(s.flags & BFLAG_OPEN))
		return 0;
	found = map_get(&c->open, hash_two(s.tid, s.begin_ns));
	if (!found || !*found)
		return 0;
	if (s.in_fault && !map_set(&c->fault_new, s.tid, 1))
		return -ENOMEM;
	if (s.begin_ns < c->first_open_ns)
		c->first_open_ns = s.begin_ns;
	found = map_get(&c->open_mm, s.mm);
	if (found && *found <= s.begin_ns)
		return 0;
	return map_set(&c->open_mm, s.mm, s.begin_ns) ? 0 : -ENOMEM;
}

static bool open_before(const struct carry *c, u64 mm, u64 end_ns)
{
	const u64 *begin = mm ? map_get(&c->open_mm, mm) : NULL;

	return begin && *begin < end_ns;
}

static bool is_carried(const struct carry *c, const char *p, const struct bpf_rec_head *head)
{
	const u64 *fault_begin;
	struct bpf_rec_lost lost;
	struct span s;

	if (head->kind == BREC_LOST) {
		TAKE(lost, p, head);
		return lost.last_ns > c->first_open_ns || lost.last_ns >= c->margin_ns;
	}
	if (!span_of(p, head, &s) || s.flags & BFLAG_OPEN)
		return false; /* the next snapshot tells what is still open */
	if (s.end_ns >= c->margin_ns || open_before(c, s.mm, s.end_ns) ||
	    open_before(c, s.child_mm, s.end_ns))
		return true;
	/*
	 * A fault that slept earlier and is not over. One of which nothing has been heard for a
	 * whole window has lost its end.
	 */
	fault_begin = s.in_fault ? map_get(&c->faulting, s.tid) : NULL;
	return fault_begin && *fault_begin <= s.begin_ns && map_get(&c->fault_new, s.tid);
}

struct carry_out {
	const struct carry *carry;
	struct bpf_window *to; /* only its PART_CARRIED */
};

static int carry_record(void *ctx, enum part which, const char *p, const struct bpf_rec_head *head)
{
	struct carry_out *out = ctx;
	int code;

	(void)which;
	if (!is_carried(out->carry, p, head))
		return 0;
	code = append(out->to, PART_CARRIED, p, head->size);
	return code < 0 ? code : 0;
}

int bpf_window_next(struct bpf_window *w, u64 now_ns)
{
	struct bpf_window to = { 0 };
	struct carry c = {
		.margin_ns = now_ns > MARGIN_NS ? now_ns - MARGIN_NS : 0,
		.first_open_ns = UINT64_MAX,
	};
	struct carry_out out = { &c, &to };
	int code;

	code = each_record(w, see_open, &c);
	if (!code)
		code = each_record(w, see_ends, &c);
	if (!code && c.open.n)
		code = each_record(w, see_open_mm, &c);
	if (!code)
		code = each_record(w, carry_record, &out);
	map_done(&c.open_mm);
	map_done(&c.open);
	map_done(&c.faulting);
	map_done(&c.fault_new);
	if (code) {
		free(to.part[PART_CARRIED].data);
		return code;
	}
	free(w->part[PART_CARRIED].data);
	w->part[PART_CARRIED] = to.part[PART_CARRIED];
	/* The same buffer again, unless one burst made it far bigger than needed. */
	if (w->part[PART_NEW].capacity / 8 > w->part[PART_NEW].len) {
		free(w->part[PART_NEW].data);
		memset(&w->part[PART_NEW], 0, sizeof(w->part[PART_NEW]));
	}
	w->part[PART_NEW].len = 0;
	w->left_out += to.left_out;
	w->totals_old = true;
	w->begin_ns = now_ns;
	return 0;
}
