/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/codec_xz.c: xz through liblzma. Layer: source. */
#include "source/codec.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>

struct xz {
	lzma_stream z;
	bool ended; /* liblzma must not be called again */
};

static void *xz_new(void)
{
	struct xz *x = calloc(1, sizeof(*x));

	if (x && lzma_stream_decoder(&x->z, CODEC_MAX_MEMORY_BYTES, LZMA_CONCATENATED) != LZMA_OK) {
		free(x);
		return NULL;
	}
	return x;
}

static void xz_free(void *state)
{
	struct xz *x = state;

	if (!x)
		return;
	lzma_end(&x->z);
	free(x);
}

static int xz_broken(struct xz *x, lzma_ret r, char *why)
{
	const char *what = "corrupt";

	switch (r) {
	case LZMA_MEMLIMIT_ERROR:
		snprintf(why, CODEC_WHY_LEN,
			 "unpacking it takes %llu MB of memory, more than the limit of %llu; "
			 "unpack it with xz -d",
			 (unsigned long long)(lzma_memusage(&x->z) >> 20),
			 (unsigned long long)(CODEC_MAX_MEMORY_BYTES >> 20));
		return -EBADMSG;
	case LZMA_MEM_ERROR:
		snprintf(why, CODEC_WHY_LEN, "out of memory");
		return -ENOMEM;
	case LZMA_FORMAT_ERROR:
		what = "bytes that are no xz stream";
		break;
	case LZMA_OPTIONS_ERROR:
		what = "a compression option this liblzma does not know";
		break;
	default:
		break;
	}
	snprintf(why, CODEC_WHY_LEN, "broken xz data: %s", what);
	return -EBADMSG;
}

static int xz_run(void *state, struct codec_io *io, bool at_end, char why[CODEC_WHY_LEN])
{
	struct xz *x = state;
	lzma_stream *z = &x->z;
	lzma_ret r;

	if (x->ended)
		return 1;
	z->next_in = io->in;
	z->avail_in = io->in_len;
	z->next_out = io->out;
	z->avail_out = io->out_len;
	r = lzma_code(z, at_end ? LZMA_FINISH : LZMA_RUN);
	io->in = z->next_in;
	io->in_len = z->avail_in;
	io->out = z->next_out;
	io->out_len = z->avail_out;
	switch (r) {
	case LZMA_STREAM_END: /* with LZMA_CONCATENATED only after LZMA_FINISH: the very end */
		x->ended = true;
		return 1;
	case LZMA_OK:
	case LZMA_BUF_ERROR: /* no progress possible */
		return 0;
	default:
		return xz_broken(x, r, why);
	}
}

const struct codec_ops codec_xz = { "xz", xz_new, xz_free, xz_run };
