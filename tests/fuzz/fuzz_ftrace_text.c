/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of the ftrace text decoder and of format_detect(). The first byte of an input chooses the
 * options and the size of the blocks, the rest is the trace.
 *
 * Checked beside crashes: every line is in exactly one class; the result does not depend on how
 * the bytes are cut into blocks; the quick pass sees the same records at the same times.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/format.h"
#include "decode/ftrace_text.h"
#include "fuzz_target.h"

struct run {
	struct intern strings;
	struct stacks stacks;
	u64 events, lost, event_hash, place_hash;
};

static int on_event(void *ctx, const struct event *ev)
{
	struct run *r = ctx;

	CHECK(ev->kind > EV_NONE && ev->kind < EV_LIMIT);
	CHECK(ev->cpu < FTRACE_MAX_CPU);
	CHECK(ev->comm == 0 || ev->comm < r->strings.n);
	r->events++;
	r->event_hash = hash_bytes(r->event_hash, ev, sizeof(*ev));
	r->place_hash = hash_bytes(r->place_hash, &ev->time_ns, sizeof(ev->time_ns));
	r->place_hash = hash_bytes(r->place_hash, &ev->cpu, sizeof(ev->cpu));
	r->place_hash = hash_bytes(r->place_hash, &ev->line, sizeof(ev->line));
	return 0;
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	struct run *r = ctx;

	r->lost++;
	r->event_hash = hash_bytes(r->event_hash, &n, sizeof(n)) + cpu + n_known;
	r->place_hash = hash_bytes(r->place_hash, &n, sizeof(n)) + cpu + n_known;
	return 0;
}

static void on_skipped(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len)
{
	struct run *r = ctx;

	CHECK(line_class_info[why].skipped && line_no);
	r->event_hash = hash_bytes(r->event_hash, line, len) + why + line_no;
}

static void run_one(struct run *r, const struct ftrace_text_opts *opts, const u8 *data, size_t size,
		    size_t block)
{
	const struct ftrace_text_ops ops = { on_event, on_lost, on_skipped };
	const struct ftrace_text_stats *st;
	struct error e = { 0 };
	struct ftrace_text *d;
	u64 sum = 0;
	int res = 0;

	memset(r, 0, sizeof(*r));
	intern_init(&r->strings);
	stacks_init(&r->stacks);
	d = ftrace_text_new(opts, &ops, r, &r->strings, &r->stacks);
	CHECK(d);
	for (size_t at = 0; at < size && !res; at += block) {
		size_t n = size - at < block ? size - at : block;
		char *copy = malloc(n);

		/* memory of its own: a read past the block is found */
		CHECK(copy);
		memcpy(copy, data + at, n);
		res = ftrace_text_feed(d, copy, n, &e);
		free(copy);
	}
	if (!res)
		res = ftrace_text_end(d, &e);
	st = ftrace_text_stats(d);
	for (u32 i = 0; i < LINE_CLASSES; i++)
		sum += st->by_class[i];
	/* an error names its line, which is in no class */
	CHECK(res ? e.code == res && e.msg[0] && sum <= st->lines : sum == st->lines);
	ftrace_text_free(d);
	intern_done(&r->strings);
	stacks_done(&r->stacks);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct ftrace_text_opts opts = { .show_skipped = 20 };
	struct run whole, parts, quick;
	u8 choice = size ? data[0] : 0;
	size_t block = 1 + 4 * (size_t)(choice >> 3) * (choice >> 3);

	if (size) {
		data++;
		size--;
	}
	opts.arch = (enum syscall_arch)(choice & 3);
	opts.allow_step_back = choice & 4;
	CHECK(format_name(format_detect((const char *)data, size)));
	run_one(&whole, &opts, data, size, size ? size : 1);
	run_one(&parts, &opts, data, size, block);
	CHECK(whole.events == parts.events && whole.lost == parts.lost &&
	      whole.event_hash == parts.event_hash);
	opts.lost_only = true;
	run_one(&quick, &opts, data, size, size ? size : 1);
	CHECK(whole.events == quick.events && whole.place_hash == quick.place_hash);
	return 0;
}
