/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/codec_gzip.c: gzip through zlib. Layer: source. */
#include "source/codec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

struct gzip {
	z_stream z;
	bool between; /* behind a member: another one, zero bytes or the end may follow */
	bool padding; /* zero bytes were seen there (tapes, raw devices): only more of them may
			 follow */
};

static void *gzip_new(void)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (g && inflateInit2(&g->z, 15 + 16) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

static void gzip_free(void *state)
{
	struct gzip *g = state;

	if (!g)
		return;
	inflateEnd(&g->z);
	free(g);
}

/* Behind a member: steps over padding and starts on the next one, if there is one. */
static int gzip_next_member(struct gzip *g, struct codec_io *io, char *why)
{
	while (io->in_len && !*io->in) {
		g->padding = true;
		io->in++;
		io->in_len--;
	}
	if (!io->in_len)
		return 1;
	if (g->padding || *io->in != 0x1f) {
		snprintf(why, CODEC_WHY_LEN, "bytes behind the end of the gzip data");
		return -EBADMSG;
	}
	g->between = false;
	return inflateReset(&g->z) == Z_OK ? 0 : -EBADMSG;
}

static int gzip_run(void *state, struct codec_io *io, bool at_end, char why[CODEC_WHY_LEN])
{
	struct gzip *g = state;
	z_stream *z = &g->z;
	int r;

	(void)at_end;
	if (g->between) {
		r = gzip_next_member(g, io, why);
		if (r)
			return r;
	}
	/* both lengths are those of our buffers, far below UINT_MAX */
	z->next_in = (u8 *)io->in;
	z->avail_in = (uInt)io->in_len;
	z->next_out = io->out;
	z->avail_out = (uInt)io->out_len;
	r = inflate(z, Z_NO_FLUSH);
	io->in = z->next_in;
	io->in_len = z->avail_in;
	io->out = z->next_out;
	io->out_len = z->avail_out;
	switch (r) {
	case Z_STREAM_END:
		g->between = true;
		return 1;
	case Z_OK:
	case Z_BUF_ERROR: /* no progress possible: not an error of the data */
		return 0;
	case Z_MEM_ERROR:
		snprintf(why, CODEC_WHY_LEN, "out of memory");
		return -ENOMEM;
	default:
		snprintf(why, CODEC_WHY_LEN, "broken gzip data: %s",
			 z->msg ? z->msg : "no reason given");
		return -EBADMSG;
	}
}

const struct codec_ops codec_gzip = { "gzip", gzip_new, gzip_free, gzip_run };
