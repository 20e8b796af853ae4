/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source/stream.c: one series of chunks as a stream of bytes (see source.h). Layer: source.
 *
 * Plain chunks are given straight out of the input buffer; compressed ones go through a codec into
 * the output buffer. A chunk that breaks is noted once as a loss, and the stream goes on with the
 * next.
 */
#include "source/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IN_BYTES (256u << 10)
#define OUT_BYTES (1u << 20)
#define MIN_BUFFER_BYTES (16u << 10)
/* Many streams (one per CPU) share these, so that memory does not follow the number of CPUs. */
#define IN_TOTAL_BYTES (8u << 20)
#define OUT_TOTAL_BYTES (16u << 20)
#define MAX_OPEN_STREAMS 256 /* 1,024 open files are a usual limit */

static size_t buffer_size(u64 useful, size_t most, size_t total, size_t n_streams)
{
	size_t size = total / n_streams;

	if (size > most)
		size = most;
	if (size > useful)
		size = (size_t)useful;
	return size < MIN_BUFFER_BYTES ? MIN_BUFFER_BYTES : size;
}

/* Stored bytes of the largest chunk; where a size is unknown (tracefs), any. */
static u64 largest_chunk(const struct chunk *chunks, size_t n_chunks)
{
	u64 largest = 0;

	for (size_t i = 0; i < n_chunks; i++) {
		if (!chunks[i].size_bytes)
			return UINT32_MAX;
		if (chunks[i].size_bytes > largest)
			largest = chunks[i].size_bytes;
	}
	return largest < UINT32_MAX ? largest : UINT32_MAX;
}

struct source *stream_new(struct source_set_full *full, struct chunk *chunks, size_t n_chunks,
			  size_t n_streams)
{
	struct source *s = calloc(1, sizeof(*s));
	u64 largest = largest_chunk(chunks, n_chunks);

	if (!s)
		return NULL;
	s->full = full;
	s->chunks = chunks;
	s->n_chunks = n_chunks;
	/* small captures get small buffers; traces shrink to about a tenth, so 16 is one block for
	 * most */
	s->in_size = buffer_size(largest + 1, IN_BYTES, IN_TOTAL_BYTES, n_streams);
	s->out_size = buffer_size(largest * 16, OUT_BYTES, OUT_TOTAL_BYTES, n_streams);
	s->keep_open = n_streams <= MAX_OPEN_STREAMS;
	s->fd = -1;
	return s;
}

static void close_fd(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void end_chunk(struct source *s)
{
	close_fd(s);
	if (s->codec)
		s->codec->free(s->codec_state);
	s->codec = NULL;
	s->codec_state = NULL;
	s->begun = false;
}

static void free_buffers(struct source *s)
{
	free(s->in);
	free(s->out);
	s->in = NULL;
	s->out = NULL;
}

void stream_free(struct source *s)
{
	if (!s)
		return;
	end_chunk(s);
	free_buffers(s);
	vec_done(&s->losses);
	free(s);
}

static struct chunk *current_chunk(const struct source *s)
{
	return &s->chunks[s->at];
}

static void next_chunk(struct source *s)
{
	struct chunk *c = current_chunk(s);

	end_chunk(s);
	s->full->chunks_done += !c->done;
	c->done = true;
	s->at++;
}

/* The chunk is broken here: notes it (the first time) and leaves the chunk. 0, or -ENOMEM. */
static int lose_chunk(struct source *s, struct error *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int lose_chunk(struct source *s, struct error *e, const char *fmt, ...)
{
	struct chunk *c = current_chunk(s);

	if (!c->broken) {
		struct source_loss *loss = vec_push(&s->losses);
		va_list ap;

		if (!loss)
			return error_set(e, -ENOMEM, "%s: out of memory", c->path);
		loss->path = c->path;
		loss->offset_bytes = s->good_bytes;
		va_start(ap, fmt);
		vsnprintf(loss->why, sizeof(loss->why), fmt, ap);
		va_end(ap);
		c->broken = true;
	}
	s->gap = true;
	next_chunk(s);
	return 0;
}

/* Non-blocking: a chunk may have been replaced by a pipe since the directory was listed. */
static int open_chunk(struct source *s)
{
	struct chunk *c = current_chunk(s);
	struct stat st;

	if (c->fd >= 0 || s->fd >= 0)
		return 0;
	s->fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	if (fstat(s->fd, &st) || !S_ISREG(st.st_mode)) {
		close_fd(s);
		return -EINVAL;
	}
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint */
	return 0;
}

/* Reads the input buffer full, or to the end of the chunk. Bytes, 0 at the end, negative errno. */
static ssize_t fill_input(struct source *s)
{
	struct chunk *c = current_chunk(s);
	size_t got = 0;
	int r = open_chunk(s);

	if (r < 0)
		return r;
	while (got < s->in_size) {
		ssize_t n = pread(c->fd >= 0 ? c->fd : s->fd, s->in + got, s->in_size - got,
				  (off_t)(c->begin + s->stored_bytes));

		if (n < 0 && errno == EINTR)
			continue;
		/* an error behind good bytes comes again, and is handled, in the next call */
		if (n < 0 && !got)
			r = -errno;
		if (n <= 0)
			break;
		got += (size_t)n;
		s->stored_bytes += (u64)n;
	}
	s->read_bytes += got;
	s->full->set.read_bytes += got;
	if (!s->keep_open)
		close_fd(s);
	return r < 0 ? r : (ssize_t)got;
}

static int lose_unreadable(struct source *s, int code, struct error *e)
{
	return lose_chunk(s, e, "cannot read it: %s%s", strerror(-code),
			  code == -EACCES ? "; check its owner and mode, or be root" : "");
}

static void give(struct source *s, struct source_block *ret, const u8 *data, size_t len)
{
	*ret = (struct source_block){ (const char *)data, len, s->gap };
	s->gap = false;
	s->good_bytes += len;
	s->full->delivered_bytes += len;
}

/*
 * First bytes of a chunk: plain or compressed? 1: a (plain) block was given, 0: go on, negative
 * errno: fatal.
 */
static int begin_chunk(struct source *s, struct source_block *ret, struct error *e)
{
	const struct codec_magic *magic;
	ssize_t got;

	s->begun = true;
	s->stored_bytes = 0;
	s->good_bytes = 0;
	s->may_end = false;
	s->no_more_input = false;
	if (!s->in)
		s->in = malloc(s->in_size);
	if (!s->in)
		goto no_memory;
	got = fill_input(s);
	if (got < 0)
		return lose_unreadable(s, (int)got, e);
	magic = codec_find(s->in, (size_t)got);
	if (!magic) {
		if (got)
			give(s, ret, s->in, (size_t)got);
		else
			next_chunk(s);
		return got > 0;
	}
	if (!magic->ops)
		return lose_chunk(s, e, "%s data, which is not read here; unpack it first",
				  magic->name);
	if (!s->out)
		s->out = malloc(s->out_size);
	s->codec_state = s->out ? magic->ops->new () : NULL;
	if (!s->codec_state)
		goto no_memory;
	s->codec = magic->ops;
	s->io.in = s->in;
	s->io.in_len = (size_t)got;
	return 0;
no_memory:
	s->begun = false;
	return error_set(e, -ENOMEM, "%s: out of memory", current_chunk(s)->path);
}

static int read_plain(struct source *s, struct source_block *ret, struct error *e)
{
	ssize_t got = fill_input(s);

	if (got < 0)
		return lose_unreadable(s, (int)got, e);
	if (got)
		give(s, ret, s->in, (size_t)got);
	else
		next_chunk(s);
	return got > 0;
}

/*
 * Decompresses until the output buffer is full or the chunk has no more to give. 1: not at its end
 * yet, 0: at its end, negative errno: broken, and @why says how.
 */
static int run_codec(struct source *s, char why[CODEC_WHY_LEN])
{
	struct codec_io *io = &s->io;

	io->out = s->out;
	io->out_len = s->out_size;
	while (io->out_len) {
		size_t in_before, out_before = io->out_len;
		int r;

		if (!io->in_len && !s->no_more_input) {
			ssize_t got = fill_input(s);

			if (got < 0) {
				snprintf(why, CODEC_WHY_LEN, "cannot read it: %s",
					 strerror((int)-got));
				return (int)got;
			}
			io->in = s->in;
			io->in_len = (size_t)got;
			s->no_more_input = got == 0;
		}
		in_before = io->in_len;
		r = s->codec->run(s->codec_state, io, s->no_more_input, why);
		if (r < 0)
			return r;
		if (io->in_len != in_before || io->out_len != out_before) {
			s->may_end = r;
		} else if (io->in_len || !s->no_more_input) {
			snprintf(why, CODEC_WHY_LEN, "broken %s data: it does not move on",
				 s->codec->name);
			return -EBADMSG;
		} else if (s->may_end || r) {
			return 0;
		} else {
			snprintf(why, CODEC_WHY_LEN, "its %s data is cut short", s->codec->name);
			return -ENODATA;
		}
	}
	return 1;
}

static int read_compressed(struct source *s, struct source_block *ret, struct error *e)
{
	char why[CODEC_WHY_LEN] = "";
	int r = run_codec(s, why), fatal = 0;
	size_t len = s->out_size - s->io.out_len;

	if (len)
		give(s, ret, s->out, len);
	if (r < 0)
		fatal = lose_chunk(s, e, "%s", why);
	else if (!r)
		next_chunk(s);
	return fatal ? fatal : len > 0;
}

/* Nothing at all came out of the whole set: what the user wants to hear is why. */
static int fail_without_data(struct source *s, struct error *e)
{
	const struct source_set *set = &s->full->set;

	for (size_t i = 0; i < set->n_streams; i++) {
		const struct source *other = set->streams[i];

		if (other->losses.n)
			return error_set(e, -EBADMSG, "%s: %s", other->losses.v[0].path,
					 other->losses.v[0].why);
	}
	return error_set(e, -ENODATA, "%s: empty once unpacked", set->path);
}

int source_read(struct source *s, struct source_block *ret, struct error *e)
{
	*ret = (struct source_block){ NULL, 0, false };
	while (s->at < s->n_chunks) {
		int r;

		if (!s->begun)
			r = begin_chunk(s, ret, e);
		else if (s->codec)
			r = read_compressed(s, ret, e);
		else
			r = read_plain(s, ret, e);
		if (r)
			return r;
	}
	if (s->ended)
		return 0;
	s->ended = true;
	free_buffers(s);
	if (!s->full->delivered_bytes && s->full->chunks_done == s->full->set.n_chunks)
		return fail_without_data(s, e);
	if (!s->gap)
		return 0;
	give(s, ret, (const u8 *)"", 0);
	return 1;
}

int source_rewind(struct source *s, struct error *e)
{
	(void)e; /* every kind of source can be rewound; opening again may fail, and is then a loss
		  */
	end_chunk(s);
	s->at = 0;
	s->gap = false;
	s->ended = false;
	s->full->set.read_bytes -= s->read_bytes;
	s->read_bytes = 0;
	return 0;
}

const struct source_loss *source_losses(const struct source *s, size_t *ret_n)
{
	*ret_n = s->losses.n;
	return s->losses.v;
}

const char *source_name(const struct source *s)
{
	return s->chunks[0].path;
}
