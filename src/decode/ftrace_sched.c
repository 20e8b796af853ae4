/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_sched.c: scheduler and process events, whose payloads hold task names between
 * fixed words. Layer: decode.
 *
 * A name may hold " prev_pid=7", " ==> " and anything else, but at most 15 bytes: the word behind
 * it is the last one within reach that has all that belongs to it.
 */
#include "decode/ftrace_internal.h"

struct name_and_number {
	const char *name;
	size_t name_len;
	s64 number;
	const char *rest; /* behind the words */
};

static const char *parse_int(const char *p, const char *end, s64 *ret)
{
	bool minus = p < end && *p == '-';
	u64 v = 0;

	p = parse_dec(p + minus, end, INT32_MAX, &v);
	*ret = minus ? -(s64)v : (s64)v;
	return p;
}

/* "@key number @after" at @p? */
static inline __attribute__((always_inline)) bool number_at(const char *p, const char *end,
							    const char *key, size_t key_len,
							    const char *after, size_t after_len,
							    struct name_and_number *ret)
{
	if (*p != key[0] || !starts_with(p, end, key, key_len))
		return false;
	p = parse_int(p + key_len, end, &ret->number);
	if (!p || !starts_with(p, end, after, after_len))
		return false;
	ret->rest = p + after_len;
	return true;
}

/* "NAME@keyNUMBER@after": the last fit behind a name of at most 15 bytes, else the first. */
static inline __attribute__((always_inline)) bool take_name(const char *p, const char *end,
							    const char *key, size_t key_len,
							    const char *after, size_t after_len,
							    struct name_and_number *ret)
{
	const char *reach = end - p > COMM_MAX ? p + COMM_MAX : end - 1, *q;

	ret->name = p;
	for (q = reach; q >= p; q--) {
		if (number_at(q, end, key, key_len, after, after_len, ret)) {
			ret->name_len = (size_t)(q - p);
			return true;
		}
	}
	for (q = reach + 1; q < end; q++) {
		if (number_at(q, end, key, key_len, after, after_len, ret)) {
			ret->name_len = (size_t)(q - p);
			return true;
		}
	}
	return false;
}
#define TAKE_NAME(p, end, key, after, ret) \
	take_name(p, end, key, sizeof(key) - 1, after, sizeof(after) - 1, ret)

static u32 name_id(struct payload_ctx *c, const struct name_and_number *n)
{
	return ftrace_comm_id(c->d, n->name, n->name_len, c->end);
}

/* "R+", "D|K", "S", "x", "I": what matters is the first letter. */
static u32 state_of(char letter)
{
	switch (letter) {
	case 'R':
		return SCHED_RUNNABLE;
	case 'D':
		return SCHED_BLOCKED;
	case 'X':
	case 'x':
	case 'Z':
		return SCHED_DEAD;
	default:
		return SCHED_SLEEPING;
	}
}

/* Behind @p, within reach of the longest list of states ("D|K|W+  "). */
static const char *find_arrow(const char *p, const char *end, const char *arrow, size_t len)
{
	const char *limit = end - p > 48 ? p + 48 : end;

	for (; p < limit; p++)
		if (*p == arrow[0] && starts_with(p, end, arrow, len))
			return p;
	return NULL;
}
#define FIND_ARROW(p, end, arrow) find_arrow(p, end, arrow, sizeof(arrow) - 1)

/* prev_comm=tr prev_pid=21119 prev_prio=120 prev_state=S ==> next_comm=bash next_pid=21136
 * next_prio=120 */
static bool switch_fill_pairs(struct payload_ctx *c, const char *p)
{
	struct ev_sched *s = &c->ev->u.sched;
	struct name_and_number prev, next;
	const char *end = c->end, *arrow;
	s64 prio;

	if (p == end || !TAKE_NAME(p, end, " prev_pid=", " prev_prio=", &prev))
		return false;
	p = parse_int(prev.rest, end, &prio);
	if (!p || !STARTS(p, end, " prev_state="))
		return false;
	s->prev_prio = (s32)prio;
	p += sizeof(" prev_state=") - 1;
	arrow = FIND_ARROW(p, end, "==> next_comm=");
	if (!arrow)
		return false;
	s->prev_state = state_of(*p);
	p = arrow + sizeof("==> next_comm=") - 1;
	if (p == end || !TAKE_NAME(p, end, " next_pid=", " next_prio=", &next))
		return false;
	p = parse_int(next.rest, end, &prio);
	if (!p)
		return false;
	s->next_prio = (s32)prio;
	s->prev_tid = (u32)prev.number;
	s->next_tid = (u32)next.number;
	s->prev_comm = name_id(c, &prev);
	s->next_comm = name_id(c, &next);
	return true;
}

/* trace-cmd report: "tr:21119 [120] S ==> bash:21136 [120]"; older: "task tr:21119 [120] (S) ==>
 * ..." */
static bool switch_fill_short(struct payload_ctx *c, const char *p)
{
	struct ev_sched *s = &c->ev->u.sched;
	struct name_and_number prev, next;
	const char *end = c->end, *arrow, *state;
	s64 prio;

	if (!TAKE_NAME(p, end, ":", " [", &prev))
		return false;
	p = parse_int(prev.rest, end, &prio);
	if (!p || !STARTS(p, end, "]"))
		return false;
	s->prev_prio = (s32)prio;
	state = skip_blanks(p + 1, end);
	arrow = FIND_ARROW(state, end, "==> ");
	if (!arrow)
		return false;
	if (*state == '(' || arrow == state) {
		if (STARTS(prev.name, end, "task ") && prev.name_len > 5) {
			prev.name += 5;
			prev.name_len -= 5;
		}
		state += *state == '(';
	}
	s->prev_state = arrow == state ? SCHED_RUNNABLE : state_of(*state);
	p = arrow + 4;
	if (p == end || !TAKE_NAME(p, end, ":", " [", &next))
		return false;
	p = parse_int(next.rest, end, &prio);
	if (!p || !STARTS(p, end, "]"))
		return false;
	s->next_prio = (s32)prio;
	s->prev_tid = (u32)prev.number;
	s->next_tid = (u32)next.number;
	s->prev_comm = name_id(c, &prev);
	s->next_comm = name_id(c, &next);
	return true;
}

/* A latency tracer's own line: "  3997:120:R ==> [001]  4055:120:R bash"; names: the header's, and
 * the last word. */
bool ftrace_switch_fill(struct payload_ctx *c)
{
	struct ev_sched *s = &c->ev->u.sched;
	const char *p = c->p, *end = c->end;
	s64 prev_tid, prev_prio, next_tid, next_prio;
	char state;

	p = parse_int(p, end, &prev_tid);
	if (!p || !STARTS(p, end, ":"))
		return false;
	p = parse_int(skip_blanks(p + 1, end), end, &prev_prio);
	if (!p || !STARTS(p, end, ":") || end - p < 2)
		return false;
	state = p[1];
	p = skip_blanks(p + 2, end);
	if (!STARTS(p, end, "==> ["))
		return false;
	p = memchr(p, ']', (size_t)(end - p));
	if (!p)
		return false;
	p = parse_int(skip_blanks(p + 1, end), end, &next_tid);
	if (!p || !STARTS(p, end, ":"))
		return false;
	p = parse_int(skip_blanks(p + 1, end), end, &next_prio);
	if (!p || !STARTS(p, end, ":") || end - p < 3)
		return false;
	p = skip_blanks(p + 2, end);
	s->prev_tid = (u32)prev_tid;
	s->next_tid = (u32)next_tid;
	s->prev_prio = (s32)prev_prio;
	s->next_prio = (s32)next_prio;
	s->prev_state = state_of(state);
	s->prev_comm = s->prev_tid == c->ev->tid ? c->ev->comm : 0;
	s->next_comm = ftrace_comm_id(c->d, p, (size_t)(end - p), end);
	c->ev->has |= EVH_PRIO;
	return true;
}

static bool switch_fill(struct payload_ctx *c)
{
	const char *p = c->p, *end = c->end;

	c->ev->has |= EVH_PRIO;
	if (likely(STARTS(p, end, "prev_comm=")))
		return switch_fill_pairs(c, p + 10);
	return p < end && switch_fill_short(c, p);
}

/* "comm=wl pid=9 prio=120 target_cpu=000"; trace-cmd report: "wl:9 [120] success=1 CPU:000" */
static bool wake_fill(struct payload_ctx *c)
{
	struct ev_wake *w = &c->ev->u.wake;
	const char *p = c->p, *end = c->end;
	struct name_and_number n;
	s64 prio;

	if (likely(STARTS(p, end, "comm="))) {
		p += 5;
		if (p == end || !TAKE_NAME(p, end, " pid=", " prio=", &n))
			return false;
	} else if (p == end || !TAKE_NAME(p, end, ":", " [", &n)) {
		return false;
	}
	if (!parse_int(n.rest, end, &prio))
		return false;
	w->tid = (u32)n.number;
	w->comm = name_id(c, &n);
	w->prio = (s32)prio;
	c->ev->has |= EVH_PRIO;
	return true;
}

/* comm=bash pid=8 child_comm=bash child_pid=9 */
static bool fork_fill(struct payload_ctx *c)
{
	struct ev_fork *f = &c->ev->u.fork;
	const char *p = c->p, *end = c->end;
	struct name_and_number parent, child;

	if (!STARTS(p, end, "comm=") || p + 5 == end)
		return false;
	if (!TAKE_NAME(p + 5, end, " pid=", " child_comm=", &parent))
		return false;
	p = parent.rest;
	if (p == end || !TAKE_NAME(p, end, " child_pid=", "", &child))
		return false;
	f->parent_tid = (u32)parent.number;
	f->parent_comm = name_id(c, &parent);
	f->child_tid = (u32)child.number;
	f->child_comm = name_id(c, &child);
	return true;
}

/* filename=/usr/bin/true pid=9 old_pid=9; a path may hold anything, so the last " pid=" ends it */
static bool exec_fill(struct payload_ctx *c)
{
	struct ev_exec *x = &c->ev->u.exec;
	const char *p = c->p, *end = c->end, *q;
	struct name_and_number n;
	s64 old_tid;

	if (!STARTS(p, end, "filename="))
		return false;
	p += 9;
	for (q = end - 1; q >= p; q--) {
		if (*q == ' ' && number_at(q, end, " pid=", 5, " old_pid=", 9, &n) &&
		    parse_int(n.rest, end, &old_tid)) {
			x->filename = ftrace_string_id(c->d, p, (size_t)(q - p), end);
			x->tid = (u32)n.number;
			x->old_tid = (u32)old_tid;
			return true;
		}
	}
	return false;
}

/* comm=true pid=9 prio=120 group_dead=true; the last one is new in 6.16 */
static bool exit_fill(struct payload_ctx *c)
{
	struct ev_exit *x = &c->ev->u.exit;
	const char *p = c->p, *end = c->end;
	struct name_and_number n;
	s64 prio;

	if (!STARTS(p, end, "comm=") || p + 5 == end)
		return false;
	if (!TAKE_NAME(p + 5, end, " pid=", " prio=", &n))
		return false;
	p = parse_int(n.rest, end, &prio);
	if (!p)
		return false;
	x->tid = (u32)n.number;
	x->comm = name_id(c, &n);
	x->prio = (s32)prio;
	x->group_dead = 2;
	p = skip_blanks(p, end);
	if (STARTS(p, end, "group_dead=true") || STARTS(p, end, "group_dead=1"))
		x->group_dead = 1;
	else if (STARTS(p, end, "group_dead="))
		x->group_dead = 0;
	c->ev->has |= EVH_PRIO;
	return true;
}

/* The last @key within reach of a name, else the first one; NULL when there is none. */
static const char *find_word(const char *p, const char *end, const char *key, size_t len)
{
	const char *reach = end - p > COMM_MAX ? p + COMM_MAX : end, *q;

	for (q = reach; q >= p; q--)
		if (starts_with(q, end, key, len))
			return q;
	return memmem(reach, (size_t)(end - reach), key, len);
}
#define FIND_WORD(p, end, key) find_word(p, end, key, sizeof(key) - 1)

/* pid=9 oldcomm=bash newcomm=true oom_score_adj=0; newer kernels print no pid= (it is the thread
 * itself) */
static bool rename_fill(struct payload_ctx *c)
{
	struct ev_rename *r = &c->ev->u.rename;
	const char *p = c->p, *end = c->end, *old, *new, *after;
	s64 tid = c->ev->tid;

	if (STARTS(p, end, "pid=")) {
		p = parse_int(p + 4, end, &tid);
		if (!p)
			return false;
		p = skip_blanks(p, end);
	}
	if (!STARTS(p, end, "oldcomm="))
		return false;
	old = p + 8;
	p = FIND_WORD(old, end, " newcomm=");
	if (!p)
		return false;
	new = p + 9;
	after = FIND_WORD(new, end, " oom_score_adj=");
	if (!after)
		return false;
	r->tid = (u32)tid;
	r->old_comm = ftrace_comm_id(c->d, old, (size_t)(p - old), end);
	r->new_comm = ftrace_comm_id(c->d, new, (size_t)(after - new), end);
	return true;
}

/* pid=9 comm=bash clone_flags=1200011 oom_score_adj=0 */
static bool newtask_fill(struct payload_ctx *c)
{
	struct ev_newtask *t = &c->ev->u.newtask;
	const char *p = c->p, *end = c->end, *comm;
	s64 tid;

	if (!STARTS(p, end, "pid="))
		return false;
	p = parse_int(p + 4, end, &tid);
	if (!p || !STARTS(p, end, " comm="))
		return false;
	comm = p + 6;
	p = FIND_WORD(comm, end, " clone_flags=");
	if (!p || !parse_hex(p + 13, end, &t->clone_flags))
		return false;
	t->tid = (u32)tid;
	t->comm = ftrace_comm_id(c->d, comm, (size_t)(p - comm), end);
	return true;
}

bool ftrace_sched_fill(struct payload_ctx *c)
{
	c->p = skip_blanks(c->p, c->end);
	switch ((enum payload)c->name->payload) {
	case PAYLOAD_sched:
		return switch_fill(c);
	case PAYLOAD_wake:
		return wake_fill(c);
	case PAYLOAD_fork:
		return fork_fill(c);
	case PAYLOAD_exec:
		return exec_fill(c);
	case PAYLOAD_exit:
		return exit_fill(c);
	case PAYLOAD_rename:
		return rename_fill(c);
	case PAYLOAD_newtask:
		return newtask_fill(c);
	default:
		return false;
	}
}
