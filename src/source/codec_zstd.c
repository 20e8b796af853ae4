/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/codec_zstd.c: Zstandard through libzstd. Layer: source. */
#include "source/codec.h"

#include <errno.h>
#include <stdio.h>
#include <zstd.h>
#include <zstd_errors.h>

static void *zstd_new(void)
{
	ZSTD_DStream *d = ZSTD_createDStream();

	if (d &&
	    ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, CODEC_MAX_WINDOW_LOG))) {
		ZSTD_freeDStream(d);
		return NULL;
	}
	return d;
}

static void zstd_free(void *state)
{
	ZSTD_freeDStream(state);
}

static int zstd_run(void *state, struct codec_io *io, bool at_end, char why[CODEC_WHY_LEN])
{
	ZSTD_inBuffer in = { io->in, io->in_len, 0 };
	ZSTD_outBuffer out = { io->out, io->out_len, 0 };
	size_t r = ZSTD_decompressStream(state, &out, &in);

	(void)at_end;
	io->in += in.pos;
	io->in_len -= in.pos;
	io->out += out.pos;
	io->out_len -= out.pos;
	if (!ZSTD_isError(r))
		return r == 0; /* a frame is complete and flushed */
	if (ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge)
		snprintf(why, CODEC_WHY_LEN,
			 "its zstd window is larger than %llu MB; unpack it with zstd -d --long=31",
			 (1ULL << CODEC_MAX_WINDOW_LOG) >> 20);
	else
		snprintf(why, CODEC_WHY_LEN, "broken zstd data: %s", ZSTD_getErrorName(r));
	return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
}

const struct codec_ops codec_zstd = { "zstd", zstd_new, zstd_free, zstd_run };
