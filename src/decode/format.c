/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/format.c: which trace format some bytes are in. Layer: decode.
 *
 * Binary formats have a magic number. Text is told by counting what its lines look like: one odd
 * line (a marker, garbage in a name) must not decide.
 */
#include "decode/format.h"

#include <string.h>
#include <strings.h>

#include "decode/ftrace_internal.h"
#include "wire/bpf_record.h"

#define DETECT_BYTES (64 * 1024)

static const struct {
	const char *name;
	bool supported;
} formats[FORMATS] = {
	[FORMAT_UNKNOWN] = { "unknown", false },
#define FORMAT(KIND, name, supported) [FORMAT_##KIND] = { name, supported },
#include "decode/formats.def"
#undef FORMAT
};

const char *format_name(enum trace_format f)
{
	return formats[(u32)f < FORMATS ? f : FORMAT_UNKNOWN].name;
}

bool format_is_supported(enum trace_format f)
{
	return formats[(u32)f < FORMATS ? f : FORMAT_UNKNOWN].supported;
}

/* "TRACE:\n" (after what adb may have printed), then a zlib stream */
static bool is_atrace_z(const char *p, size_t len)
{
	const char *end = p + len, *q = memmem(p, len < 4096 ? len : 4096, "TRACE:", 6);

	if (!q || (q > p && q[-1] != '\n'))
		return false;
	for (q += 6; q < end && (*q == '\r' || *q == '\n'); q++)
		;
	return end - q >= 2 && q[0] == 0x78 && ((u8)q[0] << 8 | (u8)q[1]) % 31 == 0;
}

static bool is_html(const char *p, size_t len)
{
	const char *end = p + len;

	if (len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3;
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return (end - p >= 14 && !strncasecmp(p, "<!DOCTYPE html", 14)) ||
	       (end - p >= 5 && !strncasecmp(p, "<html", 5));
}

static const u8 *parse_varint(const u8 *p, const u8 *end, u64 *ret)
{
	*ret = 0;
	for (u32 shift = 0; p < end && shift < 64; shift += 7) {
		*ret |= (u64)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80))
			return p;
	}
	return NULL;
}

/* Whether the bytes of one TracePacket are protobuf fields; they may be cut at @data_end. */
static bool is_packet(const u8 *p, const u8 *end, const u8 *data_end)
{
	u64 tag, v;

	if (end > data_end)
		end = data_end;
	while (p < end) {
		p = parse_varint(p, end, &tag);
		if (!p)
			return end == data_end;
		if (!(tag >> 3) || tag >> 3 > 0x1fffffff)
			return false;
		switch (tag & 7) {
		case 0:
			p = parse_varint(p, end, &v);
			if (!p)
				return end == data_end;
			break;
		case 1:
		case 5:
			v = (tag & 7) == 1 ? 8 : 4;
			if ((u64)(end - p) < v)
				return end == data_end;
			p += v;
			break;
		case 2:
			p = parse_varint(p, end, &v);
			if (!p)
				return end == data_end;
			if ((u64)(end - p) < v)
				return end == data_end;
			p += v;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* A Perfetto trace is field 1 (0x0a, varint length, TracePacket) again and again. */
static bool is_perfetto(const char *data, size_t len)
{
	const u8 *p = (const u8 *)data, *end = p + len;
	u32 packets = 0;
	u64 size;

	while (p < end && packets < 16) {
		if (*p != 0x0a)
			return false;
		p = parse_varint(p + 1, end, &size);
		if (!p)
			break;
		if (!size || size > 1u << 30 || !is_packet(p, p + (size_t)size, end))
			return false;
		packets++;
		if ((u64)(end - p) < size)
			break;
		p += size;
	}
	return packets > 0;
}

/* Text that starts with an empty line starts with 0x0a too. */
static bool has_control_bytes(const char *p, size_t len)
{
	return ftrace_marks_is_binary(p, len) || memchr(p, '\0', len) ||
	       ((u8)p[0] == 0x0a && len > 1 && (u8)p[1] >= 0x80);
}

struct line_counts {
	u32 ftrace, ftrace_header, perf, perf_frame, function_graph, js_string, binary, other;
};

/*
 * What stands in front of a perf event: "comm  pid[/tid] [cpu] time:", the cpu may be missing.
 * ftrace's "comm-pid" has a dash there.
 */
static bool is_perf_line(const char *line, const char *end)
{
	const char *colon = line, *p, *q;
	u32 fraction = 0;

	while ((colon = memchr(colon, ':', (size_t)(end - colon)))) {
		if (colon > line && is_digit(colon[-1]) && colon + 1 < end && colon[1] == ' ')
			break;
		colon++;
	}
	if (!colon)
		return false;
	for (p = colon; p > line && is_digit(p[-1]); p--)
		fraction++;
	if (fraction < 3 || p == line || p[-1] != '.')
		return false;
	for (q = --p; p > line && is_digit(p[-1]); p--)
		;
	if (p == q || p == line || p[-1] != ' ')
		return false;
	while (p > line && p[-1] == ' ')
		p--;
	if (p > line && p[-1] == ']') {
		for (p--; p > line && is_digit(p[-1]); p--)
			;
		if (p == line || p[-1] != '[')
			return false;
		for (p--; p > line && p[-1] == ' '; p--)
			;
	}
	for (q = p; p > line && (is_digit(p[-1]) || p[-1] == '/'); p--)
		;
	/* a command in front of the number */
	return p < q && p > line + 1 && p[-1] == ' ' && skip_blanks(line, end) < p;
}

/* "	          3d6b4c vfs_read (/lib/modules/4.1.0/build/vmlinux)" */
static bool is_perf_frame(const char *line, const char *end)
{
	const char *p = line;
	u64 address;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == line)
		return false;
	p = parse_hex(p, end, &address);
	return p && p < end && *p == ' ' && end[-1] == ')' && memmem(p, (size_t)(end - p), " (", 2);
}

static bool is_ftrace_header(const char *line, size_t len)
{
	const char *end = line + len;
	u64 v;

	if (STARTS(line, end, "# tracer: "))
		return !STARTS(line, end, "# tracer: function_graph");
	if (STARTS(line, end, "cpus="))
		return parse_dec(line + 5, end, FTRACE_MAX_CPU, &v) == end;
	return STARTS(line, end, "##### CPU ") || STARTS(line, end, "# entries-in-buffer/");
}

static void count_text_line(struct line_counts *n, const char *line, size_t len)
{
	struct ftrace_record r;
	struct lost_mark mark;
	const char *end;

	if (len && line[len - 1] == '\r')
		len--;
	end = line + len;
	if (len >= 3 && !memcmp(end - 3, "\\n\\", 3))
		n->js_string++;
	if (ftrace_header_parse(line, len, &r) == HEADER_RECORD)
		n->ftrace++;
	else if (is_ftrace_header(line, len) || ftrace_marks_lost(line, len, &mark))
		n->ftrace_header++;
	else if (STARTS(line, end, "# tracer: function_graph") ||
		 ftrace_marks_is_function(line, len))
		n->function_graph++;
	else if (is_perf_line(line, end))
		n->perf++;
	else if (is_perf_frame(line, end))
		n->perf_frame++;
	else if (ftrace_marks_is_binary(line, len))
		n->binary++;
	else if (len)
		n->other++;
}

static enum trace_format detect_text(const char *data, size_t len)
{
	struct line_counts n = { 0 };
	const char *p = data, *end = data + len, *newline;

	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline) {
			/* cut off by the window, or a short file's last line */
			count_text_line(&n, p, (size_t)(end - p));
			break;
		}
		count_text_line(&n, p, (size_t)(newline - p));
	}
	if (n.js_string && n.js_string * 2 > n.ftrace + n.ftrace_header)
		return FORMAT_SYSTRACE_HTML;
	if (n.ftrace && n.ftrace >= n.perf && n.ftrace * 2 >= n.function_graph)
		return FORMAT_FTRACE_TEXT;
	if (n.function_graph && n.function_graph >= n.perf)
		return FORMAT_FUNCTION_GRAPH;
	if (n.perf || n.perf_frame > n.other)
		return FORMAT_PERF_SCRIPT;
	if (n.ftrace_header)
		return FORMAT_FTRACE_TEXT;
	return n.binary ? FORMAT_BINARY : FORMAT_UNKNOWN;
}

enum trace_format format_detect(const char *data, size_t len)
{
	static const char trace_dat[] = "\x17\x08\x44tracing";
	const char *end = data + len;

	if (len > DETECT_BYTES)
		len = DETECT_BYTES, end = data + len;
	if (!len)
		return FORMAT_UNKNOWN;
	if (STARTS(data, end, BPF_FILE_MAGIC))
		return FORMAT_BPF;
	if (STARTS(data, end, trace_dat))
		return FORMAT_TRACE_DAT;
	if (STARTS(data, end, "PERFILE2"))
		return FORMAT_PERF_DATA;
	if (is_atrace_z(data, len))
		return FORMAT_ATRACE_Z;
	if (is_html(data, len))
		return FORMAT_SYSTRACE_HTML;
	if (has_control_bytes(data, len) && is_perfetto(data, len))
		return FORMAT_PERFETTO;
	return detect_text(data, len);
}
