/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys/kallsyms.c: /proc/kallsyms into a table sorted by address (see kallsyms.h). Layer: sys. */
#include "sys/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#define READ_BYTES (256 * 1024)
#define NAME_BLOCK_BYTES (64 * 1024 - 64)
#define NAME_MAX_BYTES 512 /* KSYM_NAME_LEN since 6.1; 128 before */
/*
 * kallsyms knows no sizes, so a function ends where the next symbol begins. The last one before a
 * hole (the end of a module, of the image, of a BPF program) would reach across it: no function of
 * the kernel is that big, with any sanitizer.
 */
#define FUNCTION_MAX_BYTES (1u << 20)

struct reader {
	struct kallsyms *k;
	char *block; /* names are packed: the arena would round each up to 16 bytes */
	size_t block_left;
	u64 functions; /* lines, whatever their address */
	bool sorted;
};

static char *pack_name(struct reader *r, const char *name, size_t len)
{
	char *p;

	if (r->block_left < len + 1) {
		r->block = arena_alloc(&r->k->arena, NAME_BLOCK_BYTES);
		if (!r->block)
			return NULL;
		r->block_left = NAME_BLOCK_BYTES;
	}
	p = r->block;
	memcpy(p, name, len);
	p[len] = '\0';
	r->block += len + 1;
	r->block_left -= len + 1;
	return p;
}

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/*
 * One line without its newline. Data symbols get an entry without a name, since they end the
 * function in front of them; finish() drops it. What is no symbol is skipped.
 */
static int take_line(struct reader *r, const char *line, size_t len)
{
	struct kallsym *sym;
	const char *name, *end;
	size_t n, name_len;
	u64 start;
	char type;

	n = num_scan_hex(line, len, &start);
	if (!n || len < n + 4 || line[n] != ' ' || line[n + 2] != ' ')
		return 0;
	type = line[n + 1];
	name = line + n + 3;
	end = memchr(name, '\t', len - n - 3); /* "\t[module]" */
	name_len = end ? (size_t)(end - name) : len - n - 3;
	if (!name_len || name_len >= NAME_MAX_BYTES || memchr(name, '\0', name_len))
		return 0;
	r->functions += is_function(type);
	if (!start)
		return 0;
	if (r->k->list.n >= KALLSYMS_MAX)
		return -E2BIG;
	if (r->k->list.n && r->k->list.v[r->k->list.n - 1].start > start)
		r->sorted = false;
	sym = vec_push(&r->k->list);
	if (!sym)
		return -ENOMEM;
	sym->start = start;
	sym->end = r->k->list.n; /* until the ends are known: its place, for a stable sort */
	if (is_function(type)) {
		sym->name = pack_name(r, name, name_len);
		if (!sym->name)
			return -ENOMEM;
	}
	return 0;
}

static int read_lines(struct reader *r, int fd, char *buf)
{
	size_t have = 0;
	bool skipping = false; /* inside a line longer than the buffer */

	for (;;) {
		char *line = buf, *newline;
		ssize_t n = read(fd, buf + have, READ_BYTES - have);
		int code = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		have += (size_t)n;
		while ((newline = memchr(line, '\n', have))) {
			size_t len = (size_t)(newline - line);

			code = skipping ? 0 : take_line(r, line, len);
			if (code)
				return code;
			skipping = false;
			have -= len + 1;
			line = newline + 1;
		}
		if (!n) /* the last line may lack its newline */
			return have && !skipping ? take_line(r, line, have) : 0;
		if (line == buf && have == READ_BYTES) {
			skipping = true;
			have = 0;
		}
		memmove(buf, line, have);
	}
}

static int compare(const void *a, const void *b)
{
	const struct kallsym *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Ends, then only functions, and of equal starts only the first. */
static void finish(struct reader *r)
{
	struct kallsym *v = r->k->list.v, *smaller;
	size_t n = r->k->list.n, kept = 0;
	u64 next = 0; /* the nearest larger start */

	if (!r->sorted)
		qsort(v, n, sizeof(*v), compare);
	for (size_t i = n; i-- > 0;) {
		u64 end = v[i].start + FUNCTION_MAX_BYTES;

		if (i + 1 < n && v[i + 1].start != v[i].start)
			next = v[i + 1].start;
		if (end < v[i].start)
			end = UINT64_MAX;
		v[i].end = next && next < end ? next : end;
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].name && (!kept || v[kept - 1].start != v[i].start))
			v[kept++] = v[i];
	r->k->list.n = kept;
	smaller = kept ? realloc(v, kept * sizeof(*v)) : NULL;
	if (smaller) {
		r->k->list.v = smaller;
		r->k->list.capacity = kept;
	}
}

int kallsyms_read(struct kallsyms *k, const char *root, struct error *e)
{
	struct reader r = { .k = k, .sorted = true };
	char path[PATH_MAX];
	char *buf = NULL;
	int fd, code;

	memset(k, 0, sizeof(*k));
	arena_init(&k->arena);
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/kallsyms", root) >= sizeof(path))
		return error_set(e, -ENAMETOOLONG, "proc/kallsyms: path too long");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(e, -errno, "%s: %s", path, strerror(errno));
	buf = malloc(READ_BYTES);
	code = buf ? read_lines(&r, fd, buf) : -ENOMEM;
	if (code)
		error_set(e, code, "%s: %s", path,
			  code == -E2BIG ? "more symbols than any kernel has" : strerror(-code));
	free(buf);
	close(fd);
	if (code) {
		kallsyms_done(k);
		return code;
	}
	finish(&r);
	k->hidden = r.functions && !k->list.n;
	return 0;
}

void kallsyms_done(struct kallsyms *k)
{
	arena_done(&k->arena);
	vec_done(&k->list);
}

const struct kallsym *kallsyms_at(const struct kallsyms *k, u64 address)
{
	size_t lo = 0, hi = k->list.n;

	while (lo < hi) { /* the first that starts above the address */
		size_t mid = lo + (hi - lo) / 2;

		if (k->list.v[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || address >= k->list.v[lo - 1].end)
		return NULL;
	return &k->list.v[lo - 1];
}

const struct kallsym *kallsyms_named(const struct kallsyms *k, const char *name)
{
	for (size_t i = 0; i < k->list.n; i++)
		if (!strcmp(k->list.v[i].name, name))
			return &k->list.v[i];
	return NULL;
}
