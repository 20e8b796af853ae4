/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_out.c: header, chunks and checksums of what bpf_gen writes. Part of bpf_gen. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bpf_gen.h"

static struct {
	FILE *f;
	struct out_options opts;
	struct bpf_file_header header;
	bool header_written;
	struct out_lies lies;
	char *chunk;
	size_t len, capacity;
	u32 records;
} out;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("bpf_gen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static void out_bytes(const void *p, size_t len)
{
	if (len && fwrite(p, len, 1, out.f) != 1)
		die("cannot write");
}

void out_open(const char *path, const struct out_options *opts)
{
	memset(&out, 0, sizeof(out));
	out.f = path ? fopen(path, "wb") : stdout;
	if (!out.f)
		die("cannot write %s", path);
	out.opts = *opts;
	out.lies = OUT_NO_LIES;
	memcpy(out.header.magic, BPF_FILE_MAGIC, sizeof(out.header.magic));
	out.header.version = BPF_FILE_VERSION;
	out.header.header_bytes = sizeof(out.header);
	out.header.chunk_magic = BPF_CHUNK_MAGIC;
}

void out_header(const struct bpf_file_header *h)
{
	out.header = *h;
}

static void write_header(void)
{
	static const char zeros[4096];
	size_t more = out.header.header_bytes > sizeof(out.header)
			      ? out.header.header_bytes - sizeof(out.header)
			      : 0;

	if (out.header_written || out.opts.records_only)
		return;
	out.header_written = true;
	out_bytes(&out.header, sizeof(out.header));
	out_bytes(zeros, more < sizeof(zeros) ? more : sizeof(zeros));
}

static u32 or_lie(s64 lie, u32 truth)
{
	return lie < 0 ? truth : (u32)lie;
}

void out_chunk(const struct out_lies *next)
{
	struct bpf_chunk_header h;

	write_header();
	if (out.len) {
		h.magic = or_lie(out.lies.magic, BPF_CHUNK_MAGIC);
		h.payload_bytes = or_lie(out.lies.payload_bytes, (u32)out.len);
		h.crc32 = or_lie(out.lies.crc32,
				 (u32)crc32(0, (const Bytef *)out.chunk, (uInt)out.len));
		h.records = or_lie(out.lies.records, out.records);
		if (!out.opts.records_only)
			out_bytes(&h, sizeof(h));
		out_bytes(out.chunk, out.len);
	}
	out.len = 0;
	out.records = 0;
	out.lies = *next;
}

void out_record(const void *record, size_t len)
{
	if (out.len + len > BPF_MAX_CHUNK_BYTES)
		out_chunk(&OUT_NO_LIES);
	if (out.len + len > out.capacity) {
		out.capacity = 2 * (out.len + len);
		out.chunk = realloc(out.chunk, out.capacity);
		if (!out.chunk)
			die("out of memory");
	}
	memcpy(out.chunk + out.len, record, len);
	out.len += len;
	out.records++;
}

void out_junk(const void *bytes, size_t len)
{
	out_chunk(&OUT_NO_LIES);
	out_bytes(bytes, len);
}

void out_close(void)
{
	out_chunk(&OUT_NO_LIES);
	free(out.chunk);
	if (fflush(out.f) || (out.f != stdout && fclose(out.f)))
		die("cannot write");
}
