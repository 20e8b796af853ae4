/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_harness.h: what the tests of the BPF record decoder share: records built, and decoded into
 * arrays. */
#ifndef MMSCOPE_TESTS_BPF_HARNESS_H
#define MMSCOPE_TESTS_BPF_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/vec.h"
#include "decode/bpf.h"

struct told_event {
	struct event ev;
	u64 told_ns;
};
struct told_loss {
	u64 first_ns, last_ns, n;
	bool n_known;
	size_t events_before;
};

struct harness {
	struct intern strings;
	struct stacks stacks;
	struct bpf_decoder *d;
	struct error e;
	int result;
	size_t stop_after; /* the event callback returns 77 at this event, 0 = never */
	VEC(struct told_event) events;
	VEC(struct told_loss) lost;
	VEC(struct bpf_rec_totals) totals;
	char notes[4096]; /* "key=value;" of each */
};

static inline int harness_event(void *ctx, const struct event *ev, u64 told_ns)
{
	struct harness *h = ctx;
	struct told_event *t = vec_push(&h->events);

	assert_non_null(t);
	*t = (struct told_event){ *ev, told_ns };
	return h->stop_after && h->events.n == h->stop_after ? 77 : 0;
}

static inline int harness_lost(void *ctx, u64 first_ns, u64 last_ns, u64 n, bool n_known)
{
	struct harness *h = ctx;
	struct told_loss *l = vec_push(&h->lost);

	assert_non_null(l);
	*l = (struct told_loss){ first_ns, last_ns, n, n_known, h->events.n };
	return 0;
}

static inline int harness_totals(void *ctx, const struct bpf_rec_totals *t)
{
	struct harness *h = ctx;
	struct bpf_rec_totals *copy = vec_push(&h->totals);

	assert_non_null(copy);
	memcpy(copy, t, sizeof(*copy));
	return 0;
}

static inline int harness_note(void *ctx, const char *key, const char *value)
{
	struct harness *h = ctx;
	size_t len = strlen(h->notes);

	snprintf(h->notes + len, sizeof(h->notes) - len, "%s=%s;", key, value);
	return 0;
}

static inline void harness_init(struct harness *h)
{
	static const struct bpf_decode_ops ops = { harness_event, harness_lost, harness_totals,
						   harness_note };

	memset(h, 0, sizeof(*h));
	intern_init(&h->strings);
	stacks_init(&h->stacks);
	h->d = bpf_decoder_new(&ops, h, &h->strings, &h->stacks);
	assert_non_null(h->d);
}

static inline void harness_done(struct harness *h)
{
	bpf_decoder_free(h->d);
	intern_done(&h->strings);
	stacks_done(&h->stacks);
	vec_done(&h->events);
	vec_done(&h->lost);
	vec_done(&h->totals);
}

/* Feeds a file in blocks of @block bytes (0 = all at once), each in memory of its own. */
static inline void harness_feed(struct harness *h, const char *data, size_t len, size_t block)
{
	if (!block)
		block = len ? len : 1;
	for (size_t at = 0; at < len && !h->result; at += block) {
		size_t n = len - at < block ? len - at : block;
		char *copy = malloc(n);

		assert_non_null(copy);
		memcpy(copy, data + at, n);
		h->result = bpf_decoder_feed(h->d, copy, n, &h->e);
		free(copy);
	}
}

static inline void harness_end(struct harness *h)
{
	if (!h->result)
		h->result = bpf_decoder_end(h->d, &h->e);
}

static inline const struct event *event_at(const struct harness *h, size_t i)
{
	assert_true(i < h->events.n);
	return &h->events.v[i].ev;
}

static inline const char *str_of(const struct harness *h, u32 id)
{
	return id ? intern_get(&h->strings, id, NULL) : "(none)";
}

/* ---- records ---- */

struct bytes {
	char *p;
	size_t len, capacity;
};

static inline void bytes_add(struct bytes *b, const void *p, size_t len)
{
	if (b->len + len > b->capacity) {
		b->capacity = 2 * (b->len + len);
		b->p = realloc(b->p, b->capacity);
		assert_non_null(b->p);
	}
	memcpy(b->p + b->len, p, len);
	b->len += len;
}

static inline void bytes_done(struct bytes *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

#define HEAD(KIND, member, time)                                                        \
	{                                                                               \
		.kind = BREC_##KIND, .size = sizeof(struct bpf_rec_##member), .cpu = 1, \
		.time_ns = (time)                                                       \
	}

static inline struct bpf_who who_of(u32 tid, u32 state)
{
	struct bpf_who w = { .tid = tid, .tgid = 100, .comm = "app", .prio = 98, .state = state };

	return w;
}

static inline struct bpf_rec_wait wait_of(u32 tid, u64 begin_ns, u64 end_ns)
{
	return (struct bpf_rec_wait){ .head = HEAD(WAIT, wait, end_ns),
				      .who = who_of(tid, BSTATE_RUNNING),
				      .begin_ns = begin_ns,
				      .mm = 0xa000,
				      .call = { .nr = BPF_NO_CALL } };
}

static inline struct bpf_rec_sleep sleep_of(u32 sleep_class, u32 tid, u64 begin_ns, u64 end_ns)
{
	return (struct bpf_rec_sleep){ .head = HEAD(SLEEP, sleep, end_ns),
				       .who = who_of(tid, BSTATE_BLOCKED),
				       .begin_ns = begin_ns,
				       .mm = 0xa000,
				       .call = { .nr = BPF_NO_CALL },
				       .sleep_class = sleep_class };
}

static inline void add_symbol(struct bytes *b, u32 tgid, u64 start, u64 end, const char *name)
{
	size_t len = strlen(name), padded = (len + 7) & ~(size_t)7;
	struct bpf_rec_symbol r = { .head = HEAD(SYMBOL, symbol, 0),
				    .start = start,
				    .end = end,
				    .tgid = tgid,
				    .name_bytes = (u32)len };
	char pad[4096] = "";

	memcpy(pad, name, len);
	r.head.size = (u16)(sizeof(r) + padded);
	bytes_add(b, &r, sizeof(r));
	bytes_add(b, pad, padded);
}

static inline void add_stack(struct bytes *b, u64 id, u32 tgid, const u64 *frames, u32 n)
{
	struct bpf_rec_stack r = { .head = HEAD(STACK, stack, 0),
				   .id = id,
				   .tgid = tgid,
				   .flags = tgid ? BFLAG_USER : 0,
				   .n = n };

	r.head.size = (u16)(sizeof(r) + n * sizeof(*frames));
	bytes_add(b, &r, sizeof(r));
	bytes_add(b, frames, n * sizeof(*frames));
}

/* A stack by the names of its functions, "innermost outer ...", with their symbols. */
static inline void add_named_stack(struct bytes *b, u64 id, const char *names)
{
	u64 frames[64];
	u32 n = 0;

	while (*names) {
		char name[128] = "";
		size_t len = strcspn(names, " ");
		u64 start = id << 32 | (u64)n << 12;

		memcpy(name, names, len);
		add_symbol(b, 0, start, start + 0x1000, name);
		frames[n++] = start + 0x10;
		names += len + (names[len] == ' ');
	}
	add_stack(b, id, 0, frames, n);
}

static inline void add_note(struct bytes *b, const char *text)
{
	size_t len = strlen(text), padded = (len + 7) & ~(size_t)7;
	struct bpf_rec_note r = { .head = HEAD(NOTE, note, 0), .text_bytes = (u32)len };
	char pad[4096] = "";

	memcpy(pad, text, len);
	r.head.size = (u16)(sizeof(r) + padded);
	bytes_add(b, &r, sizeof(r));
	bytes_add(b, pad, padded);
}

static inline void harness_records(struct harness *h, const struct bytes *b)
{
	h->result = bpf_decoder_records(h->d, b->p, b->len, &h->e);
}

/* Records that must be decoded without an error, the end included. */
static inline void harness_decode(struct harness *h, const struct bytes *b)
{
	harness_init(h);
	harness_records(h, b);
	harness_end(h);
	assert_int_equal(h->result, 0);
}

/* ---- files ---- */

static inline void add_header(struct bytes *file)
{
	struct bpf_file_header h = { .version = BPF_FILE_VERSION,
				     .header_bytes = sizeof(h),
				     .chunk_magic = BPF_CHUNK_MAGIC };

	memcpy(h.magic, BPF_FILE_MAGIC, sizeof(h.magic));
	bytes_add(file, &h, sizeof(h));
}

static inline void add_chunk(struct bytes *file, const struct bytes *records)
{
	struct bpf_chunk_header h = { .magic = BPF_CHUNK_MAGIC,
				      .payload_bytes = (u32)records->len };
	struct bpf_rec_head head;

	for (size_t at = 0; at < records->len; at += head.size) {
		memcpy(&head, records->p + at, sizeof(head));
		h.records++;
	}
	h.crc32 = (u32)crc32(0, (const Bytef *)records->p, (uInt)records->len);
	bytes_add(file, &h, sizeof(h));
	bytes_add(file, records->p, records->len);
}

#endif
