/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decode/format.h: which trace format some bytes are in, by content. Layer: decode. */
#ifndef MMSCOPE_DECODE_FORMAT_H
#define MMSCOPE_DECODE_FORMAT_H

#include "base/types.h"

enum trace_format {
	FORMAT_UNKNOWN,
#define FORMAT(KIND, name, supported) FORMAT_##KIND,
#include "decode/formats.def"
#undef FORMAT
	FORMATS
};

/* "ftrace text", "perf script output", ... */
const char *format_name(enum trace_format f);
bool format_is_supported(enum trace_format f);
/*
 * Looks at the first bytes of a stream (64 kB are enough; fewer at its end). FORMAT_UNKNOWN when
 * nothing in them looks like a trace.
 */
enum trace_format format_detect(const char *data, size_t len);

#endif
