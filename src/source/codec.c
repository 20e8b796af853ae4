/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source/codec.c: how compressed data begins; ONE row per magic number. Layer: source. */
#include "source/codec.h"

#include <string.h>

#define SKIPPABLE(n)                                        \
	{                                                   \
		"zstd", 0, 4, n "\x2a\x4d\x18", &codec_zstd \
	} /* a zstd frame of user data */

static const struct codec_magic magics[] = {
	{ "gzip", 0, 2, "\x1f\x8b", &codec_gzip },
	{ "zstd", 0, 4, "\x28\xb5\x2f\xfd", &codec_zstd },
	SKIPPABLE("\x50"),
	SKIPPABLE("\x51"),
	SKIPPABLE("\x52"),
	SKIPPABLE("\x53"),
	SKIPPABLE("\x54"),
	SKIPPABLE("\x55"),
	SKIPPABLE("\x56"),
	SKIPPABLE("\x57"),
	SKIPPABLE("\x58"),
	SKIPPABLE("\x59"),
	SKIPPABLE("\x5a"),
	SKIPPABLE("\x5b"),
	SKIPPABLE("\x5c"),
	SKIPPABLE("\x5d"),
	SKIPPABLE("\x5e"),
	SKIPPABLE("\x5f"),
	{ "xz", 0, 6,
	  "\xfd"
	  "7zXZ\0",
	  &codec_xz },
	{ "bzip2", 4, 6, "1AY&SY", NULL },
	{ "lz4", 0, 4, "\x04\x22\x4d\x18", NULL },
	{ "zip", 0, 4, "PK\x03\x04", NULL },
};

const struct codec_magic *codec_find(const void *data, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(magics); i++) {
		const struct codec_magic *m = &magics[i];

		if (len >= (size_t)m->offset + m->len &&
		    !memcmp((const char *)data + m->offset, m->bytes, m->len))
			return m;
	}
	return NULL;
}
