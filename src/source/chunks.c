/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/chunks.c: the chunks of a directory (see chunks.h). Layer: source. */
#include "source/chunks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/natural.h"
#include "base/num.h"
#include "source/source.h"

/*
 * Names that are no chunks (matched without .gz, .zst, .xz too): what else lies in a session
 * directory, and what people keep beside their traces. ONE row each.
 */
static const char *const left_out[] = {
	".*",	      /* hidden */
	"*.json",     /* mmscope.json, results */
	"*.tmp",      /* mmscope.json.tmp of a recording that was killed */
	"*.log",      /* runs.log, dmesg.log */
	"logcat.txt", /* of the device */
	"kallsyms",   /* of the kernel */
	"perf.data",  /* perf, simpleperf */
	"*.pftrace",  /* Perfetto */
	"*.dat",      /* trace.dat: a whole capture in itself */
	"*.mmscope",  /* but for BPF_STREAM */
};
#define BPF_STREAM "bpf.mmscope" /* what `record --bpf` writes: a whole capture */
static const char *const compressed_suffixes[] = { ".gz", ".zst", ".xz" };

void chunk_done(struct chunk *c)
{
	free(c->path);
	if (c->fd >= 0)
		close(c->fd);
	c->path = NULL;
	c->fd = -1;
}

void chunks_done(struct chunk_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		chunk_done(&list->v[i]);
	vec_done(list);
}

static size_t stem_length(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(compressed_suffixes); i++) {
		size_t n = strlen(compressed_suffixes[i]);

		if (len > n && !strcmp(name + len - n, compressed_suffixes[i]))
			return len - n;
	}
	return len;
}

static bool is_left_out(const char *name, size_t stem)
{
	char bare[NAME_MAX + 1];

	snprintf(bare, sizeof(bare), "%.*s", (int)stem, name);
	if (!strcmp(bare, BPF_STREAM))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		if (!fnmatch(left_out[i], bare, 0) || !fnmatch(left_out[i], name, 0))
			return true;
	}
	return false;
}

/* "cpu12-00001.txt": 12. A number too large for a CPU is UINT32_MAX - 1, which the caller refuses.
 */
static u32 name_cpu(const char *name)
{
	size_t digits;
	u64 cpu = 0;

	if (strncmp(name, "cpu", 3))
		return CHUNK_NO_CPU;
	name += 3;
	digits = strspn(name, "0123456789");
	if (!digits || name[digits] != '-')
		return CHUNK_NO_CPU;
	if (!num_parse_u64(name, digits, &cpu) || cpu >= SOURCE_MAX_STREAMS)
		return CHUNK_NO_CPU - 1;
	return (u32)cpu;
}

/* 1 added, 0 left out, negative errno with @e set. */
static int add_entry(const char *dir_path, int dir_fd, const char *name, struct chunk_list *list,
		     struct error *e)
{
	size_t stem = stem_length(name), dir_len = strlen(dir_path);
	const char *slash = dir_len && dir_path[dir_len - 1] == '/' ? "" : "/";
	u32 cpu = name_cpu(name);
	struct stat st = { 0 };
	struct chunk *c;

	if (is_left_out(name, stem))
		return 0;
	/* what cannot be looked at (a dangling link) is a chunk, and its loss is told when it is
	 * read */
	if (!fstatat(dir_fd, name, &st, 0) && !S_ISREG(st.st_mode))
		return 0;
	if (cpu == CHUNK_NO_CPU - 1)
		return error_set(e, -E2BIG, "%s%s%s: CPU numbers of chunks go up to %d; rename it",
				 dir_path, slash, name, SOURCE_MAX_STREAMS - 1);
	if (list->n >= SOURCE_MAX_CHUNKS)
		return error_set(e, -E2BIG, "%s: more than %d chunks; split the directory",
				 dir_path, SOURCE_MAX_CHUNKS);
	c = vec_push(list);
	if (!c)
		return error_set(e, -ENOMEM, "%s: out of memory", dir_path);
	*c = (struct chunk){ .cpu = cpu, .fd = -1, .size_bytes = (u64)st.st_size };
	c->name = (u32)(dir_len + strlen(slash));
	c->stem = (u32)stem;
	if (asprintf(&c->path, "%s%s%s", dir_path, slash, name) < 0) {
		c->path = NULL;
		return error_set(e, -ENOMEM, "%s: out of memory", dir_path);
	}
	return 1;
}

static int read_entries(const char *dir_path, struct chunk_list *list, size_t *left,
			struct error *e)
{
	DIR *dir = opendir(dir_path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return error_set(e, -errno,
				 "%s: cannot list this directory: %s; check its owner and mode",
				 dir_path, strerror(errno));
	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			r = -errno;
			if (r)
				error_set(e, r, "%s: cannot list this directory: %s", dir_path,
					  strerror(-r));
			break;
		}
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		r = add_entry(dir_path, dirfd(dir), entry->d_name, list, e);
		if (r < 0)
			break;
		*left += r == 0;
	}
	closedir(dir);
	return r;
}

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;
	const char *x_name = x->path + x->name, *y_name = y->path + y->name;
	int order = (x->cpu > y->cpu) - (x->cpu < y->cpu);

	if (!order)
		order = natural_compare(x_name, x->stem, y_name, y->stem);
	return order ? order : strcmp(x_name, y_name);
}

/* Where there are cpuN-* chunks, nothing else is one: CHUNK_NO_CPU sorts last, so cut there. */
static void drop_unnumbered(struct chunk_list *list, size_t *left)
{
	if (!list->n || list->v[0].cpu == CHUNK_NO_CPU)
		return;
	while (list->v[list->n - 1].cpu == CHUNK_NO_CPU) {
		chunk_done(&list->v[--list->n]);
		++*left;
	}
}

static bool is_bpf(const struct chunk *c)
{
	return c->stem == strlen(BPF_STREAM) && !strncmp(c->path + c->name, BPF_STREAM, c->stem);
}

/* Where there is a BPF stream, it is the capture. */
static void prefer_bpf(struct chunk_list *list, size_t *ret_instead)
{
	size_t n = 0, all = list->n;

	for (size_t i = 0; i < all; i++)
		n += is_bpf(&list->v[i]);
	*ret_instead = n ? all - n : 0;
	if (!n)
		return;
	n = 0;
	for (size_t i = 0; i < all; i++) {
		if (is_bpf(&list->v[i]))
			list->v[n++] = list->v[i];
		else
			chunk_done(&list->v[i]);
	}
	list->n = n;
}

int chunks_list(const char *dir_path, struct chunk_list *list, size_t *ret_left_out,
		size_t *ret_instead, struct error *e)
{
	size_t left = 0;
	int r = read_entries(dir_path, list, &left, e);

	if (r < 0)
		return r;
	prefer_bpf(list, ret_instead);
	if (!list->n)
		return error_set(
			e, -ENOENT,
			"%s: a directory without trace chunks (%zu other entries); "
			"give the trace file itself, or a directory of cpuN-* or numbered files",
			dir_path, left);
	qsort(list->v, list->n, sizeof(*list->v), compare_chunks);
	drop_unnumbered(list, &left);
	for (size_t i = 1; i < list->n; i++) {
		const struct chunk *a = &list->v[i - 1], *b = &list->v[i];

		if (a->stem == b->stem && !memcmp(a->path + a->name, b->path + b->name, a->stem))
			return error_set(e, -EEXIST,
					 "%s and %s are the same chunk twice; remove one", a->path,
					 b->path + b->name);
	}
	*ret_left_out = left;
	return 0;
}
