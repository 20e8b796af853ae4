/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/source_set.c: what a path stands for: its chunks and streams (see source.h). Layer:
 * source. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/source.h"
#include "source/spool.h"
#include "source/stream.h"

static int fail_errno(struct error *e, const char *path, int code)
{
	const char *hint = "";

	if (code == -ENOENT)
		hint = "; give a trace file, a directory of chunks, or - for stdin";
	else if (code == -EACCES || code == -EPERM)
		hint = "; check its owner and mode, or be root";
	return error_set(e, code, "%s: %s%s", path, strerror(-code), hint);
}

static int fail_empty(struct error *e, const char *path)
{
	return error_set(e, -ENODATA, "%s: empty file", path);
}

/* The one chunk of a file, pipe or stdin. Takes over @fd, also when it fails. */
static int add_file(struct source_set_full *full, const char *name, int fd, u64 begin,
		    u64 size_bytes, struct error *e)
{
	struct chunk *c = vec_push(&full->chunks);
	char first;
	ssize_t n;

	if (c)
		*c = (struct chunk){ .path = strdup(name),
				     .cpu = CHUNK_NO_CPU,
				     .fd = fd,
				     .begin = begin,
				     .size_bytes = size_bytes };
	else
		close(fd);
	if (!c || !c->path)
		return error_set(e, -ENOMEM, "%s: out of memory", name);
	/* tracefs and procfs files have size 0 and yet contents: only a read tells */
	do
		n = pread(fd, &first, 1, (off_t)begin);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(e, name, -errno);
	if (!n)
		return fail_empty(e, name);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint */
	return 0;
}

static int add_spooled(struct source_set_full *full, const char *name, int from, struct error *e)
{
	u64 size_bytes = 0;
	int fd = spool_new(from, name, &size_bytes, e);

	return fd < 0 ? fd : add_file(full, name, fd, 0, size_bytes, e);
}

/* `mmscope analyze - < file` reads the file itself, from where stdin stands. */
static int open_stdin(struct source_set_full *full, struct error *e)
{
	static const char name[] = "stdin";
	struct stat st;
	off_t at;
	int fd;

	if (fstat(STDIN_FILENO, &st))
		return fail_errno(e, name, -errno);
	if (isatty(STDIN_FILENO))
		return error_set(e, -EINVAL,
				 "stdin is a terminal; pipe a trace into it, or give a file");
	at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (!S_ISREG(st.st_mode) || at < 0)
		return add_spooled(full, name, STDIN_FILENO, e);
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return fail_errno(e, name, -errno);
	return add_file(full, name, fd, (u64)at, st.st_size > at ? (u64)(st.st_size - at) : 0, e);
}

static int open_file(struct source_set_full *full, const char *path, const struct stat *st,
		     struct error *e)
{
	int fd, r;

	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return error_set(e, -EINVAL, "%s: neither a file, a pipe nor a directory", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fail_errno(e, path, -errno);
	if (S_ISFIFO(st->st_mode)) {
		r = add_spooled(full, path, fd, e);
		close(fd);
		return r;
	}
	/* tracefs' trace_pipe: looks like a file, never ends, and what was read is gone */
	if (lseek(fd, 0, SEEK_CUR) < 0) {
		close(fd);
		return error_set(
			e, -ESPIPE,
			"%s: cannot be read twice; pipe it: timeout 10 cat %s | mmscope analyze -",
			path, path);
	}
	return add_file(full, path, fd, 0, (u64)st->st_size, e);
}

static bool is_empty(const struct chunk *c)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char first;
	ssize_t n = 1;

	if (fd >= 0) {
		n = pread(fd, &first, 1, 0);
		close(fd);
	}
	return n == 0; /* unreadable is not empty: its reason is told when it is read */
}

static int open_directory(struct source_set_full *full, const char *path, struct error *e)
{
	const struct chunk_list *list = &full->chunks;
	size_t i = 0;
	int r = chunks_list(path, &full->chunks, &full->set.n_left_out, &full->set.n_instead, e);

	if (r < 0)
		return r;
	while (i < list->n && !list->v[i].size_bytes && is_empty(&list->v[i]))
		i++;
	if (i == list->n)
		return error_set(e, -ENODATA, "%s: every trace chunk in it is empty", path);
	return 0;
}

/* Chunks are sorted by CPU: each run of one CPU is a stream. */
static int make_streams(struct source_set_full *full, struct error *e)
{
	struct source_set *set = &full->set;
	struct chunk_list *list = &full->chunks;
	size_t n_streams = 1;

	for (size_t i = 1; i < list->n; i++)
		n_streams += list->v[i].cpu != list->v[i - 1].cpu;
	set->streams = calloc(n_streams, sizeof(*set->streams));
	if (!set->streams)
		return error_set(e, -ENOMEM, "%s: out of memory", set->path);
	for (size_t first = 0, end; first < list->n; first = end) {
		for (end = first + 1; end < list->n && list->v[end].cpu == list->v[first].cpu;)
			end++;
		set->streams[set->n_streams] =
			stream_new(full, &list->v[first], end - first, n_streams);
		if (!set->streams[set->n_streams])
			return error_set(e, -ENOMEM, "%s: out of memory", set->path);
		set->n_streams++;
	}
	set->n_chunks = list->n;
	for (size_t i = 0; i < list->n; i++)
		set->stored_bytes += list->v[i].size_bytes;
	return 0;
}

int source_set_open(const char *path, struct source_set **ret, struct error *e)
{
	struct source_set_full *full = calloc(1, sizeof(*full));
	struct stat st;
	int r;

	if (full)
		full->set.path = strdup(path);
	if (!full || !full->set.path) {
		r = error_set(e, -ENOMEM, "%s: out of memory", path);
		goto fail;
	}
	if (!strcmp(path, "-"))
		r = open_stdin(full, e);
	else if (stat(path, &st))
		r = fail_errno(e, path, -errno);
	else if (S_ISDIR(st.st_mode))
		r = open_directory(full, path, e);
	else
		r = open_file(full, path, &st, e);
	if (r >= 0)
		r = make_streams(full, e);
	if (r < 0)
		goto fail;
	*ret = &full->set;
	return 0;
fail:
	if (full)
		source_set_free(&full->set);
	return r;
}

void source_set_free(struct source_set *set)
{
	struct source_set_full *full = (struct source_set_full *)set; /* its first member */

	if (!set)
		return;
	for (size_t i = 0; i < set->n_streams; i++)
		stream_free(set->streams[i]);
	free(set->streams);
	free(set->path);
	chunks_done(&full->chunks);
	free(full);
}
