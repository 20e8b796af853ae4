/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of the decoder of BPF records. The first byte of an input chooses what the rest is, and
 * the size of the blocks: a whole bpf.mmscope; records alone; records that are put into a file of
 * one chunk here, since no mutation finds a right checksum.
 *
 * Checked beside crashes: the result does not depend on how the bytes are cut into blocks; times,
 * CPUs and ids of events are what the model takes; a start never comes after its end.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "decode/bpf.h"
#include "decode/format.h"
#include "fuzz_target.h"
#include "model/gaps.h"

struct run {
	struct intern strings;
	struct stacks stacks;
	u64 events, lost, hash;
	u64 start_ns;
};

static bool is_start(u16 kind)
{
	return kind == EV_LOCK_WAIT_START || kind == EV_LOCK_HOLD_START ||
	       kind == EV_FAULT_WAIT_START || kind == EV_VMA_WRITE_WAIT_START;
}

static bool is_end(u16 kind)
{
	return kind == EV_LOCK_WAIT_END || kind == EV_LOCK_HOLD_END || kind == EV_FAULT_WAIT_END ||
	       kind == EV_VMA_WRITE_WAIT_END;
}

static int on_event(void *ctx, const struct event *ev, u64 told_ns)
{
	struct run *r = ctx;

	CHECK(ev->kind > EV_NONE && ev->kind < EV_LIMIT);
	CHECK(ev->cpu < GAPS_MAX_CPU);
	CHECK(ev->time_ns <= told_ns && told_ns < 1ULL << 63);
	CHECK(ev->comm < r->strings.n || !ev->comm);
	CHECK(ev->stack < r->stacks.n || !ev->stack);
	CHECK(ev->user_stack < r->stacks.n || !ev->user_stack);
	CHECK(ev->call < CALL_LIMIT && ev->state <= SELF_BLOCKED);
	CHECK(!(ev->has & EVH_MM) == !ev->mm);
	if (is_start(ev->kind))
		r->start_ns = ev->time_ns;
	if (is_end(ev->kind))
		CHECK(r->start_ns <= ev->time_ns);
	r->events++;
	r->hash = hash_bytes(r->hash, ev, sizeof(*ev));
	return 0;
}

static int on_lost(void *ctx, u64 first_ns, u64 last_ns, u64 n, bool n_known)
{
	struct run *r = ctx;

	CHECK(first_ns <= last_ns);
	r->lost++;
	r->hash = hash_bytes(r->hash, &first_ns, sizeof(first_ns));
	r->hash = hash_bytes(r->hash, &last_ns, sizeof(last_ns)) + n + n_known;
	return 0;
}

static int on_totals(void *ctx, const struct bpf_rec_totals *t)
{
	struct run *r = ctx;

	r->hash = hash_bytes(r->hash, t, sizeof(*t));
	return 0;
}

static int on_note(void *ctx, const char *key, const char *value)
{
	struct run *r = ctx;

	CHECK(key[0]);
	r->hash = hash_bytes(r->hash, key, strlen(key));
	r->hash = hash_bytes(r->hash, value, strlen(value));
	return 0;
}

static void run_one(struct run *r, const u8 *data, size_t size, bool records, size_t block)
{
	static const struct bpf_decode_ops ops = { on_event, on_lost, on_totals, on_note };
	const struct bpf_decode_stats *st;
	struct error e = { 0 };
	struct bpf_decoder *d;
	int res = 0;

	memset(r, 0, sizeof(*r));
	intern_init(&r->strings);
	stacks_init(&r->stacks);
	d = bpf_decoder_new(&ops, r, &r->strings, &r->stacks);
	CHECK(d);
	for (size_t at = 0; at < size && !res; at += block) {
		size_t n = size - at < block ? size - at : block;
		char *copy = malloc(n);

		/* memory of its own: a read past the block is found */
		CHECK(copy);
		memcpy(copy, data + at, n);
		res = records ? bpf_decoder_records(d, copy, n, &e)
			      : bpf_decoder_feed(d, copy, n, &e);
		free(copy);
	}
	if (!res)
		res = bpf_decoder_end(d, &e);
	CHECK(!res || (e.code == res && e.msg[0] && !records));
	st = bpf_decoder_stats(d);
	CHECK(res || st->bytes == size);
	CHECK(st->cut_bytes <= size && st->refused_records <= st->records + st->chunks + 1);
	/* an error may be told after more or fewer bytes */
	if (!res)
		r->hash = hash_bytes(r->hash, st, sizeof(*st));
	bpf_decoder_free(d);
	intern_done(&r->strings);
	stacks_done(&r->stacks);
}

/* The records as the one chunk of a file. */
static u8 *wrap(const u8 *data, size_t size, size_t *ret_size)
{
	struct bpf_file_header h = { .version = BPF_FILE_VERSION,
				     .header_bytes = sizeof(h),
				     .chunk_magic = BPF_CHUNK_MAGIC };
	struct bpf_chunk_header c = { .magic = BPF_CHUNK_MAGIC };
	u8 *file;

	size -= size % 8;
	if (size > BPF_MAX_CHUNK_BYTES)
		size = BPF_MAX_CHUNK_BYTES;
	memcpy(h.magic, BPF_FILE_MAGIC, sizeof(h.magic));
	c.payload_bytes = (u32)size;
	c.crc32 = (u32)crc32(0, data, (uInt)size);
	*ret_size = sizeof(h) + sizeof(c) + size;
	file = malloc(*ret_size);
	CHECK(file);
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), &c, sizeof(c));
	if (size)
		memcpy(file + sizeof(h) + sizeof(c), data, size);
	return file;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 choice = size ? data[0] : 0, *file = NULL;
	size_t block = 1 + 4 * (size_t)(choice >> 3) * (choice >> 3);
	struct run whole, parts;

	if (size) {
		data++;
		size--;
	}
	CHECK(format_name(format_detect((const char *)data, size)));
	switch (choice & 3) {
	case 0: /* a file */
		break;
	case 1: /* records: they are whole, so they are not cut */
		run_one(&whole, data, size, true, size ? size : 1);
		return 0;
	default:
		data = file = wrap(data, size, &size);
		break;
	}
	run_one(&whole, data, size, false, size ? size : 1);
	run_one(&parts, data, size, false, block);
	CHECK(whole.events == parts.events && whole.lost == parts.lost && whole.hash == parts.hash);
	free(file);
	return 0;
}
