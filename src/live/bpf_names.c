/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_names.c: SYMBOL records in front of STACK records (see bpf_names.h). Layer: live. */
#include "live/bpf_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "wire/bpf_record.h"

struct bpf_names {
	struct bpf_names_opts opts;
	bpf_names_sink sink;
	void *ctx;
	struct bpf_names_counts counts;
	u8 *told; /* a bit for each symbol of the kernel */
	struct user_symbols *user;
};

/* A record whose tail is text: @rec is its fixed part, with the members but head.size set. */
static int tell_text(bpf_names_sink sink, void *ctx, struct bpf_rec_head *rec, size_t fixed_bytes,
		     const char *text, size_t len)
{
	_Alignas(8) char buf[BPF_MAX_RECORD_BYTES] = { 0 };
	size_t size = (fixed_bytes + len + 7) & ~(size_t)7;

	rec->size = (u16)size;
	rec->time_ns = clock_mono_ns();
	memcpy(buf, rec, fixed_bytes);
	memcpy(buf + fixed_bytes, text, len);
	return sink(ctx, buf, size);
}

int bpf_names_tell_symbol(bpf_names_sink sink, void *ctx, u32 tgid, u64 start, u64 end,
			  const char *name, size_t name_len)
{
	struct bpf_rec_symbol rec = {
		.head.kind = BREC_SYMBOL, .start = start, .end = end, .tgid = tgid
	};
	size_t fixed = offsetof(struct bpf_rec_symbol, name), most = BPF_MAX_RECORD_BYTES - fixed;

	rec.name_bytes = (u32)(name_len < most ? name_len : most);
	return tell_text(sink, ctx, &rec.head, fixed, name, rec.name_bytes);
}

int bpf_names_tell_note(bpf_names_sink sink, void *ctx, const char *fmt, ...)
{
	struct bpf_rec_note rec = { .head.kind = BREC_NOTE };
	size_t fixed = offsetof(struct bpf_rec_note, text), most = BPF_MAX_RECORD_BYTES - fixed;
	char text[BPF_MAX_RECORD_BYTES];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0)
		return -EINVAL;
	rec.text_bytes = (u32)((size_t)len < most ? (size_t)len : most);
	return tell_text(sink, ctx, &rec.head, fixed, text, rec.text_bytes);
}

static int user_symbol(void *ctx, u32 tgid, u64 start, u64 end, const char *name, size_t name_len)
{
	struct bpf_names *n = ctx;

	n->counts.symbols++;
	return bpf_names_tell_symbol(n->sink, n->ctx, tgid, start, end, name, name_len);
}

struct bpf_names *bpf_names_new(const struct bpf_names_opts *opts, bpf_names_sink sink, void *ctx)
{
	struct user_symbols_opts user = {
		.root = opts->root,
		.wait_ns = USER_SYMBOLS_WAIT_NS,
		.files_ns = USER_SYMBOLS_FILES_NS,
	};
	struct bpf_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->opts = *opts;
	n->sink = sink;
	n->ctx = ctx;
	/* Without a helper the user frames stay addresses. */
	if (opts->user)
		n->user = user_symbols_new(&user, user_symbol, n);
	return n;
}

void bpf_names_free(struct bpf_names *n)
{
	if (!n)
		return;
	user_symbols_free(n->user);
	free(n->told);
	free(n);
}

void bpf_names_set_kernel(struct bpf_names *n, const struct kallsyms *syms)
{
	n->opts.syms = syms;
}

int bpf_names_round(struct bpf_names *n)
{
	return n->user ? user_symbols_round(n->user) : 0;
}

static int name_kernel_frame(struct bpf_names *n, u64 address)
{
	const struct kallsyms *syms = n->opts.syms;
	const struct kallsym *sym = syms ? kallsyms_at(syms, address) : NULL;
	size_t i;

	if (!address)
		return 0;
	if (!sym) {
		n->counts.symbols_missing++;
		return 0;
	}
	if (!n->told) {
		n->told = calloc(1, syms->list.n / 8 + 1);
		if (!n->told)
			return -ENOMEM;
	}
	i = (size_t)(sym - syms->list.v);
	if (n->told[i / 8] & 1 << i % 8)
		return 0;
	n->told[i / 8] |= (u8)(1 << i % 8);
	n->counts.symbols++;
	return bpf_names_tell_symbol(n->sink, n->ctx, 0, sym->start, sym->end, sym->name,
				     strlen(sym->name));
}

static int name_stack(struct bpf_names *n, const char *p, size_t size)
{
	struct bpf_rec_stack rec;
	u64 frames[BPF_MAX_RECORD_BYTES / sizeof(u64)];
	size_t fixed = offsetof(struct bpf_rec_stack, frames), room;
	bool innermost = true;
	int code = 0;

	if (size < fixed)
		return 0;
	memcpy(&rec, p, fixed);
	room = (size - fixed) / sizeof(u64);
	if (room > ARRAY_LEN(frames))
		room = ARRAY_LEN(frames);
	if (rec.n < room)
		room = rec.n;
	memcpy(frames, p + fixed, room * sizeof(u64));
	n->counts.stacks++;
	/*
	 * All but the innermost are return addresses, and a call that never returns may be the last
	 * of its function: it is the call itself that is looked up, as decode/bpf does.
	 */
	for (size_t i = 0; i < room; i++) {
		if (frames[i] && !innermost)
			frames[i]--;
		innermost &= !frames[i];
	}
	if (rec.flags & BFLAG_USER) {
		if (n->user)
			return user_symbols_ask(n->user, rec.tgid, frames, room);
		n->counts.symbols_missing += room;
		return 0;
	}
	for (size_t i = 0; i < room && !code; i++)
		code = name_kernel_frame(n, frames[i]);
	return code;
}

/* User addresses mean something else after an exec, and the tgid may come again after an exit. */
static void forget(struct bpf_names *n, const char *p, size_t size)
{
	struct bpf_rec_process rec = { 0 };

	memcpy(&rec, p, size < sizeof(rec) ? size : sizeof(rec));
	if (rec.what == BPROC_EXEC || (rec.what == BPROC_EXIT && rec.group_dead))
		user_symbols_forget(n->user, rec.who.tgid);
	else if (rec.what == BPROC_FORK && rec.child_tgid != rec.who.tgid)
		user_symbols_forget(n->user, rec.child_tgid);
}

int bpf_names_feed(void *ctx, const void *records, size_t len)
{
	struct bpf_names *n = ctx;
	const char *p = records, *from = p, *end = p + len;
	struct bpf_rec_head head;
	int code = 0;

	for (; p < end; p += head.size) {
		if ((size_t)(end - p) < sizeof(head))
			break;
		memcpy(&head, p, sizeof(head));
		if (head.size < sizeof(head) || head.size % 8 || head.size > (size_t)(end - p) ||
		    head.size > BPF_MAX_RECORD_BYTES)
			break;
		n->counts.records++;
		n->counts.bytes += head.size;
		if (head.kind == BREC_PROCESS && n->user)
			forget(n, p, head.size);
		if (head.kind != BREC_STACK)
			continue;
		/* What came before goes out first: the order stays that of the ring. */
		code = p > from ? n->sink(n->ctx, from, (size_t)(p - from)) : 0;
		from = p;
		if (!code)
			code = name_stack(n, p, head.size);
		if (code)
			return code;
	}
	n->counts.refused += p < end;
	return p > from ? n->sink(n->ctx, from, (size_t)(p - from)) : 0;
}

void bpf_names_get_counts(const struct bpf_names *n, struct bpf_names_counts *ret)
{
	*ret = n->counts;
	if (n->user) {
		ret->symbols_missing += user_symbols_counts(n->user)->missing;
		ret->maps_timeouts += user_symbols_counts(n->user)->maps_timeouts;
	}
}
