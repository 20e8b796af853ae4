/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the ftrace text decoder share: a text decoded into arrays. */
#ifndef MMSCOPE_TESTS_FTRACE_HARNESS_H
#define MMSCOPE_TESTS_FTRACE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "decode/ftrace_text.h"

struct lost_call {
	u16 cpu;
	bool n_known;
	u64 n;
	size_t events_before; /* how many events had come when the mark was told */
};
struct skipped_line {
	enum line_class why;
	u64 line_no;
	size_t len;
	char text[64];
};

struct harness {
	struct intern strings;
	struct stacks stacks;
	struct ftrace_text *d;
	struct error e;
	int result;
	int stop_after; /* the event callback returns 77 at this event, 0 = never */
	VEC(struct event) events;
	VEC(struct lost_call) lost;
	VEC(struct skipped_line) skipped;
};

static inline int harness_event(void *ctx, const struct event *ev)
{
	struct harness *h = ctx;
	struct event *copy = vec_push(&h->events);

	assert_non_null(copy);
	*copy = *ev;
	return h->stop_after && h->events.n == (size_t)h->stop_after ? 77 : 0;
}

static inline int harness_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	struct harness *h = ctx;
	struct lost_call *l = vec_push(&h->lost);

	assert_non_null(l);
	*l = (struct lost_call){ cpu, n_known, n, h->events.n };
	return 0;
}

static inline void harness_skipped(void *ctx, enum line_class why, u64 line_no, const char *line,
				   size_t len)
{
	struct harness *h = ctx;
	struct skipped_line *s = vec_push(&h->skipped);

	assert_non_null(s);
	s->why = why;
	s->line_no = line_no;
	s->len = len;
	memcpy(s->text, line, len < sizeof(s->text) ? len : sizeof(s->text) - 1);
}

static inline void harness_init(struct harness *h, const struct ftrace_text_opts *opts)
{
	static const struct ftrace_text_ops ops = { harness_event, harness_lost, harness_skipped };

	memset(h, 0, sizeof(*h));
	intern_init(&h->strings);
	stacks_init(&h->stacks);
	h->d = ftrace_text_new(opts, &ops, h, &h->strings, &h->stacks);
	assert_non_null(h->d);
}

/* Feeds in blocks of @block bytes (0 = all at once), each in memory of its own. */
static inline void harness_feed(struct harness *h, const char *text, size_t len, size_t block)
{
	if (!block)
		block = len ? len : 1;
	for (size_t at = 0; at < len && !h->result; at += block) {
		size_t n = len - at < block ? len - at : block;
		char *copy = malloc(n);

		assert_non_null(copy);
		memcpy(copy, text + at, n);
		h->result = ftrace_text_feed(h->d, copy, n, &h->e);
		free(copy);
	}
}

static inline void harness_end(struct harness *h)
{
	if (!h->result)
		h->result = ftrace_text_end(h->d, &h->e);
}

static inline void harness_decode(struct harness *h, const char *text)
{
	const struct ftrace_text_opts opts = { .arch = ARCH_X86_64, .show_skipped = 100 };

	harness_init(h, &opts);
	harness_feed(h, text, strlen(text), 0);
	harness_end(h);
	assert_int_equal(h->result, 0);
}

static inline void harness_done(struct harness *h)
{
	ftrace_text_free(h->d);
	intern_done(&h->strings);
	stacks_done(&h->stacks);
	vec_done(&h->events);
	vec_done(&h->lost);
	vec_done(&h->skipped);
}

static inline const char *harness_str(const struct harness *h, u32 id)
{
	return id ? intern_get(&h->strings, id, NULL) : NULL;
}

static inline void assert_str_id(const struct harness *h, u32 id, const char *want)
{
	if (want)
		assert_string_equal(harness_str(h, id) ? harness_str(h, id) : "(none)", want);
	else
		assert_int_equal(id, 0);
}

/* How often a name was counted. */
static inline u64 harness_count(const struct harness *h, const char *name)
{
	const struct ftrace_text_stats *st = ftrace_text_stats(h->d);
	u64 n = 0;

	for (u32 i = 0; i < st->n_names; i++)
		if (!strcmp(harness_str(h, st->names[i].name), name))
			n += st->names[i].n;
	return n;
}

static inline u64 harness_class(const struct harness *h, enum line_class c)
{
	return ftrace_text_stats(h->d)->by_class[c];
}

/* Every line is in exactly one class. */
static inline void assert_classes_sum(const struct harness *h)
{
	const struct ftrace_text_stats *st = ftrace_text_stats(h->d);
	u64 sum = 0;

	for (u32 i = 0; i < LINE_CLASSES; i++)
		sum += st->by_class[i];
	assert_int_equal(sum, st->lines);
}

#endif
