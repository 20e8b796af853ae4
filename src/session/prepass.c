/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/prepass.c: finds LOST marks before the analysis (see prepass.h). Layer: session. */
#include "session/prepass.h"

#include <errno.h>
#include <string.h>

#include "session/feed.h"

/* ftrace: "CPU:1 [LOST 12 EVENTS]", "LOST 11 events!"; trace-cmd: "CPU:1 [12 EVENTS DROPPED]" */
#define MARK_1 "LOST"
#define MARK_2 "DROPPED"
#define MARK_MAX 8

/* Capitals are rare in a trace, so that searching for the first one runs at the memory's speed. */
static bool has_word(const char *data, size_t len, const char *word, size_t word_len)
{
	const char *end = data + len;

	while ((data = memchr(data, word[0], (size_t)(end - data)))) {
		if ((size_t)(end - data) >= word_len && !memcmp(data, word, word_len))
			return true;
		data++;
	}
	return false;
}

static bool has_mark(const char *data, size_t len)
{
	return has_word(data, len, MARK_1, strlen(MARK_1)) || has_word(data, len, MARK_2, strlen(MARK_2));
}

/* The last bytes of a block and the first of the next: a mark may lie across. */
struct seam {
	char bytes[2 * MARK_MAX];
	size_t len;
};

static bool seam_has_mark(struct seam *s, const struct source_block *b)
{
	size_t head = b->len < MARK_MAX ? b->len : MARK_MAX;
	bool found;

	memcpy(s->bytes + s->len, b->data, head);
	found = has_mark(s->bytes, s->len + head);
	if (b->len >= MARK_MAX) {
		s->len = MARK_MAX;
		memcpy(s->bytes, b->data + b->len - MARK_MAX, MARK_MAX);
	} else {
		size_t all = s->len + head, drop = all > MARK_MAX ? all - MARK_MAX : 0;

		memmove(s->bytes, s->bytes + drop, all - drop);
		s->len = all - drop;
	}
	return found;
}

/* To the end, even after a mark was found: broken chunks count as loss too. 1 = something was lost. */
static int search_stream(struct source *source, struct error *e)
{
	struct seam seam = { .len = 0 };
	struct source_block b;
	bool found = false;
	int err;

	while ((err = source_read(source, &b, e)) > 0) {
		if (b.gap_before)
			return 1;
		if (b.len)
			found |= seam_has_mark(&seam, &b) || has_mark(b.data, b.len);
		if (found)
			return 1;
	}
	return err;
}

static int on_event(void *ctx, const struct event *ev)
{
	gaps_event(ctx, ev->cpu, ev->time_ns);
	return 0;
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	gaps_lost(ctx, cpu, n, n_known);
	return 0;
}

int prepass_find_gaps(struct source_set *set, struct gaps *ret_gaps, struct error *e)
{
	static const struct ftrace_text_opts opts = { .lost_only = true };
	static const struct feed_ops ops = { .event = on_event, .lost = on_lost };
	struct intern strings;
	struct stacks stacks;
	struct feed *f;
	int err = 0, found = 0;

	for (size_t i = 0; i < set->n_streams && !found; i++) {
		err = source_rewind(set->streams[i], e);
		if (!err)
			found = search_stream(set->streams[i], e);
		if (err || found < 0)
			return err ? err : found;
	}
	if (!found)
		return 0;
	intern_init(&strings);
	stacks_init(&stacks);
	f = feed_new(set, &opts, &ops, ret_gaps, &strings, &stacks);
	if (!f)
		err = error_set(e, -ENOMEM, "out of memory");
	else
		err = feed_run(f, e);
	feed_free(f);
	stacks_done(&stacks);
	intern_done(&strings);
	if (!err)
		gaps_finish(ret_gaps);
	if (!err && ret_gaps->failed)
		err = error_set(e, -ENOMEM, "out of memory for the list of lost events");
	return err;
}
