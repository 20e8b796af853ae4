/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/bpf_stream.c: header, chunks and checksums of a bpf.mmscope. Layer: decode.
 *
 * What is done with the bytes depends on the bytes alone, not on how they are cut into calls: a
 * chunk is looked at when it is there as a whole. After a bad one, a whole chunk with a right
 * checksum is looked for from the next byte on, since its length may be what is wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "decode/bpf_internal.h"

/* Bytes taken in at a time: the buffer holds one chunk and this. */
#define FEED_BYTES (1u << 20)
/* A header of a later version may be longer, within reason. */
#define MAX_HEADER_BYTES (64u << 10)

enum chunk_look { CHUNK_GOOD, CHUNK_BAD, CHUNK_CUT };

void bpf_stream_done(struct bpf_stream *s)
{
	free(s->buf);
	s->buf = NULL;
	s->at = s->len = s->capacity = 0;
}

static bool stream_append(struct bpf_stream *s, const char *data, size_t len)
{
	size_t want;
	char *p;

	if (s->at) {
		memmove(s->buf, s->buf + s->at, s->len - s->at);
		s->len -= s->at;
		s->at = 0;
	}
	if (len > s->capacity - s->len) {
		want = s->len + len > 2 * s->capacity ? s->len + len : 2 * s->capacity;
		p = realloc(s->buf, want);
		if (!p)
			return false;
		s->buf = p;
		s->capacity = want;
	}
	memcpy(s->buf + s->len, data, len);
	s->len += len;
	return true;
}

static size_t stream_left(const struct bpf_stream *s)
{
	return s->len - s->at;
}

/* 0 when the header is read, 1 when more bytes are needed. */
static int read_header(struct bpf_decoder *d, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	struct bpf_file_header h;

	if (stream_left(s) < sizeof(h))
		return 1;
	memcpy(&h, s->buf + s->at, sizeof(h));
	if (memcmp(h.magic, BPF_FILE_MAGIC, sizeof(h.magic)))
		return error_set(e, -EPROTO, "no BPF records: it does not begin with %s",
				 BPF_FILE_MAGIC);
	if (h.chunk_magic == __builtin_bswap32(BPF_CHUNK_MAGIC))
		return error_set(e, -EPROTO,
				 "written by a machine of the other byte order; analyse it there");
	if (h.chunk_magic != BPF_CHUNK_MAGIC)
		return error_set(e, -EPROTO, "the header of the BPF records is damaged");
	if (!h.version || h.version > BPF_FILE_VERSION)
		return error_set(e, -EPROTO,
				 "BPF records of version %u; this mmscope reads up to %u: use a "
				 "newer one",
				 h.version, BPF_FILE_VERSION);
	if (h.header_bytes < sizeof(h) || h.header_bytes > MAX_HEADER_BYTES)
		return error_set(e, -EPROTO, "the header of the BPF records is damaged");
	s->at += sizeof(h);
	s->skip_bytes = h.header_bytes - sizeof(h);
	s->header_seen = true;
	return 0;
}

static bool is_believable(const struct bpf_chunk_header *h)
{
	return h->magic == BPF_CHUNK_MAGIC && h->payload_bytes <= BPF_MAX_CHUNK_BYTES &&
	       h->payload_bytes % 8 == 0 &&
	       h->records <= h->payload_bytes / sizeof(struct bpf_rec_head);
}

/* The chunk that may begin at @at. */
static enum chunk_look look_at(const struct bpf_stream *s, size_t at, struct bpf_chunk_header *ret)
{
	if (s->len - at < sizeof(*ret))
		return CHUNK_CUT;
	memcpy(ret, s->buf + at, sizeof(*ret));
	if (!is_believable(ret)) {
		ret->payload_bytes = 0;
		return CHUNK_BAD;
	}
	if (s->len - at - sizeof(*ret) < ret->payload_bytes)
		return CHUNK_CUT;
	return crc32(0, (const Bytef *)s->buf + at + sizeof(*ret), ret->payload_bytes) == ret->crc32
		       ? CHUNK_GOOD
		       : CHUNK_BAD;
}

/*
 * Where to look on after a bad chunk at @at: behind its first byte, unless wrong checksums have
 * cost too much already. A hostile file could ask for 8 MB of them at every 16 bytes.
 */
static size_t after_bad(struct bpf_stream *s, size_t at, const struct bpf_chunk_header *h)
{
	if (h->payload_bytes > s->resync_left_bytes)
		return at + sizeof(*h) + h->payload_bytes;
	s->resync_left_bytes -= h->payload_bytes;
	return at + 1;
}

/* The next place at or behind @at where a chunk's magic stands, or may yet stand: see there. */
static size_t next_magic(const struct bpf_stream *s, size_t at)
{
	const u32 magic = BPF_CHUNK_MAGIC;
	const char *p = memmem(s->buf + at, s->len - at, &magic, sizeof(magic));

	if (p)
		return (size_t)(p - s->buf);
	return s->len - at >= sizeof(magic) ? s->len - (sizeof(magic) - 1) : at;
}

static int take_chunk(struct bpf_decoder *d, const struct bpf_chunk_header *h, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	u64 before = d->stats.records;
	size_t done;
	int err = bpf_records_walk(d, s->buf + s->at + sizeof(*h), h->payload_bytes, &done, e);

	d->stats.chunks++;
	s->searching = false;
	s->at += sizeof(*h) + h->payload_bytes;
	if (err)
		return err;
	if (done < h->payload_bytes)
		bpf_loss_begin(d);
	if (done < h->payload_bytes || d->stats.records - before != h->records)
		d->stats.refused_records++;
	return 0;
}

/* A chunk, or what stands in its place, is no good. */
static void leave_out(struct bpf_decoder *d, const struct bpf_chunk_header *h)
{
	struct bpf_stream *s = &d->stream;

	if (!s->searching) {
		d->stats.bad_chunks++;
		bpf_loss_begin(d);
	}
	s->searching = true;
	s->at = after_bad(s, s->at, h);
}

/* Reads what is there as a whole. */
static int read_chunks(struct bpf_decoder *d, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	struct bpf_chunk_header h;
	int err = 0;

	while (!err) {
		if (s->searching)
			s->at = next_magic(s, s->at);
		switch (look_at(s, s->at, &h)) {
		case CHUNK_GOOD:
			err = take_chunk(d, &h, e);
			break;
		case CHUNK_BAD:
			leave_out(d, &h);
			break;
		case CHUNK_CUT:
			return 0;
		}
	}
	return err;
}

static int read_on(struct bpf_decoder *d, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	int err;

	if (!s->header_seen) {
		err = read_header(d, e);
		if (err)
			return err < 0 ? err : 0;
	}
	if (s->skip_bytes) {
		size_t n = stream_left(s) < s->skip_bytes ? stream_left(s) : s->skip_bytes;

		s->at += n;
		s->skip_bytes -= n;
		if (s->skip_bytes)
			return 0;
	}
	return read_chunks(d, e);
}

int bpf_stream_feed(struct bpf_decoder *d, const char *data, size_t len, struct error *e)
{
	int err = 0;

	while (len && !err) {
		size_t n = len < FEED_BYTES ? len : FEED_BYTES;

		if (!stream_append(&d->stream, data, n))
			return error_set(e, -ENOMEM, "out of memory");
		err = read_on(d, e);
		data += n;
		len -= n;
	}
	return err;
}

/* Is there a whole chunk behind the one at hand, which is cut? Then its length is what is wrong. */
static bool has_chunk_behind(struct bpf_stream *s)
{
	size_t at = s->at + 1;
	struct bpf_chunk_header h;

	for (;;) {
		at = at < s->len ? next_magic(s, at) : s->len;
		if (s->len - at < sizeof(h))
			return false;
		switch (look_at(s, at, &h)) {
		case CHUNK_GOOD:
			return true;
		case CHUNK_BAD:
			at = after_bad(s, at, &h);
			break;
		case CHUNK_CUT:
			at++;
			break;
		}
	}
}

/* The recording was cut off here: the last chunk's whole records. */
static int take_tail(struct bpf_decoder *d, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	struct bpf_chunk_header h;
	size_t done = 0;
	int err = 0;

	if (stream_left(s) > sizeof(h)) {
		s->at += sizeof(h);
		err = bpf_records_walk(d, s->buf + s->at, stream_left(s), &done, e);
	}
	d->stats.cut_bytes = stream_left(s) - done;
	s->at = s->len;
	return err;
}

int bpf_stream_end(struct bpf_decoder *d, struct error *e)
{
	struct bpf_stream *s = &d->stream;
	int err = 0;

	if (!s->header_seen) {
		size_t n = stream_left(s) < sizeof(BPF_FILE_MAGIC) - 1 ? stream_left(s)
								       : sizeof(BPF_FILE_MAGIC) - 1;

		if (n && memcmp(s->buf + s->at, BPF_FILE_MAGIC, n))
			return error_set(e, -EPROTO, "no BPF records: it does not begin with %s",
					 BPF_FILE_MAGIC);
		d->stats.cut_bytes = stream_left(s);
		return 0;
	}
	/* read_chunks() stops at the next chunk that is cut */
	while (!err && stream_left(s) && !s->skip_bytes) {
		if (!s->searching && !has_chunk_behind(s))
			return take_tail(d, e);
		if (!s->searching) {
			d->stats.bad_chunks++;
			bpf_loss_begin(d);
			s->searching = true;
		}
		s->at++;
		err = read_chunks(d, e);
	}
	return err;
}
