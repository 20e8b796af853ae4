/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/bpf_symbols.c: functions by address, stacks by id, and what a stack says of a sleep.
 * Layer: decode.
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/bpf_internal.h"

/* Ranges of one process never overlap here: a later one takes the place of those it touches. */
struct bpf_symbol {
	u32 tgid, name;
	u64 start, end;
};

static int compare_symbols(const void *a, const void *b)
{
	const struct bpf_symbol *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

struct floor_search {
	u32 tgid;
	u64 address;
	struct bpf_symbol *found; /* the last on the way down that begins at or below it */
};

static int compare_floor(const void *key, const void *node)
{
	struct floor_search *f = (struct floor_search *)key;
	struct bpf_symbol *s = (struct bpf_symbol *)node;

	if (s->tgid > f->tgid || (s->tgid == f->tgid && s->start > f->address))
		return -1;
	if (s->tgid == f->tgid)
		f->found = s;
	return 1;
}

/* The symbol that begins last at or below an address. */
static struct bpf_symbol *symbol_below(const struct bpf_decoder *d, u32 tgid, u64 address)
{
	struct floor_search f = { .tgid = tgid, .address = address };

	tfind(&f, (void *const *)&d->symbols, compare_floor);
	return f.found;
}

static const struct bpf_symbol *symbol_at(const struct bpf_decoder *d, u32 tgid, u64 address)
{
	const struct bpf_symbol *s = symbol_below(d, tgid, address);

	return s && address < s->end ? s : NULL;
}

void bpf_symbols_done(struct bpf_decoder *d)
{
	tdestroy(d->symbols, free);
	d->symbols = NULL;
	map_done(&d->stack_of_id);
	map_done(&d->sleep_facts);
}

int bpf_symbol_add(struct bpf_decoder *d, const struct bpf_rec_symbol *r)
{
	struct bpf_symbol *s;

	if (r->start >= r->end || !r->name_bytes ||
	    r->name_bytes > r->head.size - offsetof(struct bpf_rec_symbol, name)) {
		d->stats.refused_records++;
		return 0;
	}
	while ((s = symbol_below(d, r->tgid, r->end - 1)) && s->end > r->start) {
		tdelete(s, &d->symbols, compare_symbols);
		free(s);
		d->n_symbols--;
	}
	if (d->n_symbols >= BPF_DECODE_MAX_SYMBOLS) {
		d->stats.refused_limits++;
		return 0;
	}
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct bpf_symbol){ .tgid = r->tgid, .start = r->start, .end = r->end };
	s->name = intern_add(d->strings, r->name, r->name_bytes);
	if (!s->name)
		d->stats.refused_limits++;
	if (!s->name || !tsearch(s, &d->symbols, compare_symbols)) {
		bool refused = !s->name;

		free(s);
		return refused ? 0 : -ENOMEM;
	}
	d->n_symbols++;
	return 0;
}

/*
 * The name of a frame. All but the innermost are return addresses: one behind a function's last
 * call, which never returns, is the first of the next function.
 */
static u32 frame_name(struct bpf_decoder *d, u32 tgid, u64 address, bool innermost)
{
	const struct bpf_symbol *s = NULL;
	char hex[24];
	int n;

	if (!innermost)
		s = symbol_at(d, tgid, address - 1);
	if (!s)
		s = symbol_at(d, tgid, address);
	if (s)
		return s->name;
	n = snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)address);
	return intern_add(d->strings, hex, (size_t)n);
}

int bpf_stack_add(struct bpf_decoder *d, const struct bpf_rec_stack *r)
{
	u32 names[STACK_MAX_FRAMES], n = 0, tgid = r->flags & BFLAG_USER ? r->tgid : 0;
	u32 id;

	if (!r->id || r->head.size < offsetof(struct bpf_rec_stack, frames) ||
	    r->n > (r->head.size - offsetof(struct bpf_rec_stack, frames)) / sizeof(u64)) {
		d->stats.refused_records++;
		return 0;
	}
	if (!map_get(&d->stack_of_id, r->id) && d->stack_of_id.n >= BPF_DECODE_MAX_STACKS) {
		d->stats.refused_limits++;
		return 0;
	}
	for (u32 i = 0; i < r->n && n < STACK_MAX_FRAMES; i++) {
		if (!r->frames[i])
			continue;
		names[n] = frame_name(d, tgid, r->frames[i], n == 0);
		if (!names[n])
			d->stats.refused_limits++;
		n++;
	}
	id = stacks_add(d->stacks, names, n);
	if (n && !id)
		d->stats.refused_limits++;
	return map_set(&d->stack_of_id, r->id, id) ? 0 : -ENOMEM;
}

u32 bpf_stack_id(struct bpf_decoder *d, u64 id)
{
	u64 *known = id ? map_get(&d->stack_of_id, id) : NULL;

	if (id && !known)
		d->stats.missing_stacks++;
	return known ? (u32)*known : 0;
}

u32 bpf_stack_join(struct bpf_decoder *d, u32 kernel, u32 user)
{
	u32 frames[STACK_MAX_FRAMES], n_kernel, n_user;
	const u32 *k = stacks_get(d->stacks, kernel, &n_kernel);
	const u32 *u = stacks_get(d->stacks, user, &n_user);

	if (!n_user)
		return kernel;
	if (n_kernel > STACK_MAX_FRAMES / 2)
		n_kernel = STACK_MAX_FRAMES / 2;
	if (n_user > STACK_MAX_FRAMES - 1 - n_kernel)
		n_user = STACK_MAX_FRAMES - 1 - n_kernel;
	if (n_kernel)
		memcpy(frames, k, n_kernel * sizeof(*frames));
	frames[n_kernel] = intern_add(d->strings, STACK_USER_MARK, strlen(STACK_USER_MARK));
	memcpy(frames + n_kernel + 1, u, n_user * sizeof(*frames));
	return stacks_add(d->stacks, frames, n_kernel + 1 + n_user);
}

/* "__mutex_lock.constprop.0" is __mutex_lock: compilers add suffixes to clones. */
static bool is_function(const char *name, size_t len, const char *function)
{
	const char *dot = memchr(name, '.', len);

	if (dot)
		len = (size_t)(dot - name);
	return strlen(function) == len && !memcmp(function, name, len);
}

static u32 find_reason(struct bpf_decoder *d, const u32 *frames, u32 n)
{
	static const struct {
		const char *function, *reason;
		u32 rank;
	} rows[] = {
#define FAULT_REASON(rank, function, reason) { function, reason, rank },
#include "decode/fault_reasons.def"
#undef FAULT_REASON
	};
	const char *reason = "other", *name;
	u32 rank = 0;
	size_t len;

	for (u32 i = 0; i < n; i++) {
		name = intern_get(d->strings, frames[i], &len);
		for (u32 row = 0; row < ARRAY_LEN(rows); row++) {
			if (rows[row].rank > rank && is_function(name, len, rows[row].function)) {
				rank = rows[row].rank;
				reason = rows[row].reason;
			}
		}
	}
	return intern_add(d->strings, reason, strlen(reason));
}

/* How a frame stands to the VMA's lock. */
enum writer_frame {
	FRAME_ELSE,
	FRAME_WRITER, /* part of taking it */
	FRAME_WAIT /* how the thread sleeps: all there is up to 6.14, where the lock was a rwsem */
};

static enum writer_frame writer_frame(const char *name, size_t len)
{
	static const struct {
		const char *function;
		u8 is_writer;
	} rows[] = {
#define SLEEP_FRAME(CLASS, function) { function, BSLEEP_##CLASS == BSLEEP_VMA_WRITER },
#include "wire/bpf_frames.def"
#undef SLEEP_FRAME
		/* inline here or there */
		{ "vma_start_write", true },
		{ "vma_start_write_killable", true },
	};
	static const char *const waits[] = { "__schedule",
					     "schedule",
					     "schedule_preempt_disabled",
					     "preempt_schedule",
					     "preempt_schedule_common",
					     "__cond_resched",
					     "rwsem_down_write_slowpath",
					     "__down_write",
					     "__down_write_common",
					     "down_write",
					     "down_write_killable" };

	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].is_writer && is_function(name, len, rows[i].function))
			return FRAME_WRITER;
	for (u32 i = 0; i < ARRAY_LEN(waits); i++)
		if (is_function(name, len, waits[i]))
			return FRAME_WAIT;
	return FRAME_ELSE;
}

/* The first frame above those that take the VMA's lock; where none shows, above the sleep. */
static u32 find_caller(struct bpf_decoder *d, const u32 *frames, u32 n)
{
	u32 caller = 0;
	bool in_writer = false;
	size_t len;

	for (u32 i = 0; i < n; i++) {
		const char *name = intern_get(d->strings, frames[i], &len);
		enum writer_frame f = writer_frame(name, len);

		if (f == FRAME_ELSE && in_writer)
			return frames[i];
		in_writer |= f == FRAME_WRITER;
		if (f == FRAME_ELSE && !caller)
			caller = frames[i];
	}
	return in_writer ? 0 : caller;
}

static u64 sleep_facts(struct bpf_decoder *d, u32 stack)
{
	u64 *known = map_get(&d->sleep_facts, stack), facts;
	const u32 *frames;
	u32 n;

	if (known)
		return *known;
	frames = stacks_get(d->stacks, stack, &n);
	facts = (u64)find_reason(d, frames, n) << 32 | find_caller(d, frames, n);
	/* out of memory it is found anew the next time */
	map_set(&d->sleep_facts, stack, facts);
	return facts;
}

u32 bpf_stack_reason(struct bpf_decoder *d, u32 stack)
{
	return stack ? (u32)(sleep_facts(d, stack) >> 32) : 0;
}

u32 bpf_stack_caller(struct bpf_decoder *d, u32 stack)
{
	return stack ? (u32)sleep_facts(d, stack) : 0;
}
