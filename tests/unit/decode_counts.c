/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test tool: decodes the ftrace text files given as arguments (gzip too) and prints a line each:
 *
 *	decode_counts FILE...		FILE<tab>format<tab>lines<tab>lost<tab>name=count;...
 *	decode_counts -s FILE...	the classes of the lines, and lines not understood
 *	decode_counts -c N FILE...	each file also cut at N random places: same events, no crash
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "decode/format.h"
#include "decode/ftrace_text.h"

struct bytes {
	char *p;
	size_t len;
};

/* A hash of each event. */
struct decoded {
	u64 *hashes;
	size_t n, capacity;
	struct intern strings;
	struct stacks stacks;
	struct ftrace_text *d;
	struct error e;
	bool keep;
};

static int read_file(const char *path, struct bytes *b)
{
	size_t capacity = 1 << 20;
	gzFile f = gzopen(path, "rb");
	int n;

	b->p = malloc(capacity);
	b->len = 0;
	if (!f || !b->p)
		return -1;
	while ((n = gzread(f, b->p + b->len, (unsigned int)(capacity - b->len))) > 0) {
		b->len += (size_t)n;
		if (b->len == capacity) {
			capacity *= 2;
			b->p = realloc(b->p, capacity);
			if (!b->p)
				return -1;
		}
	}
	gzclose(f);
	return n < 0 ? -1 : 0;
}

static int on_event(void *ctx, const struct event *ev)
{
	struct decoded *dec = ctx;
	u64 h = 0xcbf29ce484222325ULL;
	const unsigned char *p = (const unsigned char *)ev;

	if (!dec->keep)
		return 0;
	/* ids are handed out in order of appearance: the same prefix gives the same ids */
	for (size_t i = 0; i < sizeof(*ev); i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	if (dec->n == dec->capacity) {
		dec->capacity = dec->capacity ? dec->capacity * 2 : 1024;
		dec->hashes = realloc(dec->hashes, dec->capacity * sizeof(u64));
		if (!dec->hashes)
			abort();
	}
	dec->hashes[dec->n++] = h;
	return 0;
}

static void on_skipped(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len)
{
	(void)ctx;
	printf("  %s, line %llu: %.*s\n", line_class_info[why].key, (unsigned long long)line_no,
	       (int)len, line);
}

static int decode(struct decoded *dec, const char *p, size_t len, bool keep, u32 show)
{
	const struct ftrace_text_ops ops = { .event = on_event, .skipped = on_skipped };
	const struct ftrace_text_opts opts = { .arch = ARCH_X86_64,
					       .show_skipped = show,
					       /* some real files are joined from several */
					       .allow_step_back = true };
	int r;

	memset(dec, 0, sizeof(*dec));
	dec->keep = keep;
	intern_init(&dec->strings);
	stacks_init(&dec->stacks);
	dec->d = ftrace_text_new(&opts, &ops, dec, &dec->strings, &dec->stacks);
	if (!dec->d)
		abort();
	r = ftrace_text_feed(dec->d, p, len, &dec->e);
	return r ? r : ftrace_text_end(dec->d, &dec->e);
}

static void decoded_done(struct decoded *dec)
{
	ftrace_text_free(dec->d);
	intern_done(&dec->strings);
	stacks_done(&dec->stacks);
	free(dec->hashes);
}

struct name_count {
	const char *name;
	u64 n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct name_count *)a)->name, ((const struct name_count *)b)->name);
}

static void print_counts(const char *path, const struct bytes *b, struct decoded *dec, bool classes)
{
	const struct ftrace_text_stats *st = ftrace_text_stats(dec->d);
	struct name_count *rows = calloc(st->n_names + 1, sizeof(*rows));

	for (u32 i = 0; i < st->n_names; i++) {
		rows[i].name = intern_get(&dec->strings, st->names[i].name, NULL);
		rows[i].n = st->names[i].n;
	}
	qsort(rows, st->n_names, sizeof(*rows), by_name);
	printf("%s\t%s\t%llu\t%llu%s\t", path, format_name(format_detect(b->p, b->len)),
	       (unsigned long long)st->lines, (unsigned long long)st->lost_events,
	       st->lost_is_minimum ? "+" : "");
	for (u32 i = 0; i < st->n_names; i++)
		printf("%s%s=%llu", i ? ";" : "", rows[i].name, (unsigned long long)rows[i].n);
	printf("\n");
	for (u32 i = 0; classes && i < LINE_CLASSES; i++)
		if (st->by_class[i])
			printf("  %s: %llu\n", line_class_info[i].key,
			       (unsigned long long)st->by_class[i]);
	free(rows);
}

/* The file cut short must give the same events, but for the last one. */
static int check_cuts(const char *path, const struct bytes *b, u32 n)
{
	struct decoded whole, cut;
	u64 seed = 88172645463325252ULL;
	int bad = 0;

	decode(&whole, b->p, b->len, true, 0);
	for (u32 i = 0; i < n && !bad; i++) {
		size_t at, same = 0;
		char *copy;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		at = (size_t)(seed % (b->len + 1));
		copy = malloc(at ? at : 1); /* its own block: a read past the cut is found */
		memcpy(copy, b->p, at);
		decode(&cut, copy, at, true, 0);
		while (same < cut.n && same < whole.n && cut.hashes[same] == whole.hashes[same])
			same++;
		if (same + 1 < cut.n) {
			printf("%s: cut at %zu: event %zu of %zu differs\n", path, at, same, cut.n);
			bad = 1;
		}
		decoded_done(&cut);
		free(copy);
	}
	decoded_done(&whole);
	return bad;
}

int main(int argc, char **argv)
{
	struct decoded dec;
	struct bytes b;
	bool classes = false;
	u32 cuts = 0, show = 0;
	int i = 1, bad = 0;

	if (i < argc && !strcmp(argv[i], "-s")) {
		classes = true;
		show = 40;
		i++;
	}
	if (i + 1 < argc && !strcmp(argv[i], "-c")) {
		cuts = (u32)strtoul(argv[i + 1], NULL, 10);
		i += 2;
	}
	for (; i < argc; i++) {
		if (read_file(argv[i], &b)) {
			fprintf(stderr, "%s: cannot read it\n", argv[i]);
			return 1;
		}
		if (decode(&dec, b.p, b.len, false, show))
			printf("%s: %s\n", argv[i], dec.e.msg);
		print_counts(argv[i], &b, &dec, classes);
		decoded_done(&dec);
		if (cuts)
			bad |= check_cuts(argv[i], &b, cuts);
		free(b.p);
	}
	return bad;
}
