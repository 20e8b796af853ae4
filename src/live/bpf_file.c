/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_file.c: bpf.mmscope, chunk by chunk (see bpf_file.h). Layer: live. */
#include "live/bpf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "wire/bpf_record.h"

/* Of records: far below BPF_MAX_CHUNK_BYTES, and little to lose when the last one is cut. */
#define CHUNK_BYTES (1u << 20)
_Static_assert(CHUNK_BYTES + BPF_MAX_RECORD_BYTES <= BPF_MAX_CHUNK_BYTES,
	       "a chunk holds any record");

struct bpf_file {
	int fd;
	int failed; /* the first error of a write: nothing is written behind it */
	u64 bytes;  /* in the file */
	u32 records, used_bytes;
	char *path;
	/* The header in front of the records: both go out in one write(). */
	struct {
		struct bpf_chunk_header header;
		char records[CHUNK_BYTES];
	} chunk;
};

static int write_out(struct bpf_file *f, const void *data, size_t len, struct error *e)
{
	if (!f->failed)
		f->failed = io_write_all(f->fd, data, len);
	if (f->failed)
		return error_set(e, f->failed, "%s: cannot write behind %llu bytes: %s", f->path,
				 (unsigned long long)f->bytes, strerror(-f->failed));
	f->bytes += len;
	return 0;
}

int bpf_file_create(const char *path, struct bpf_file **ret, struct error *e)
{
	struct bpf_file_header header = {
		.version = BPF_FILE_VERSION,
		.header_bytes = sizeof(header),
		.chunk_magic = BPF_CHUNK_MAGIC,
	};
	struct bpf_file *f = calloc(1, sizeof(*f));
	int code;

	*ret = NULL;
	if (!f || !(f->path = strdup(path))) {
		free(f);
		return error_set(e, -ENOMEM, "out of memory");
	}
	memcpy(header.magic, BPF_FILE_MAGIC, sizeof(header.magic));
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (f->fd < 0)
		code = error_set(e, -errno, "%s: %s", path, strerror(errno));
	else
		code = write_out(f, &header, sizeof(header), e);
	if (code) {
		if (f->fd >= 0)
			close(f->fd);
		free(f->path);
		free(f);
		return code;
	}
	*ret = f;
	return 0;
}

int bpf_file_flush(struct bpf_file *f, struct error *e)
{
	struct bpf_chunk_header *h = &f->chunk.header;
	int code;

	if (!f->used_bytes)
		return 0;
	h->magic = BPF_CHUNK_MAGIC;
	h->payload_bytes = f->used_bytes;
	h->records = f->records;
	h->crc32 = (u32)crc32(crc32(0, NULL, 0), (const u8 *)f->chunk.records, f->used_bytes);
	code = write_out(f, &f->chunk, sizeof(*h) + f->used_bytes, e);
	f->used_bytes = 0;
	f->records = 0;
	return code;
}

int bpf_file_add(struct bpf_file *f, const void *records, size_t len, struct error *e)
{
	const char *p = records;

	while (len) {
		struct bpf_rec_head head;
		int code;

		if (len < sizeof(head))
			return error_set(e, -EINVAL, "%s: %zu bytes are no record", f->path, len);
		memcpy(&head, p, sizeof(head));
		if (head.size < sizeof(head) || head.size % 8 || head.size > len ||
		    head.size > BPF_MAX_RECORD_BYTES)
			return error_set(e, -EINVAL, "%s: a record of kind %u cannot have %u bytes",
					 f->path, head.kind, head.size);
		if (head.size > CHUNK_BYTES - f->used_bytes) {
			code = bpf_file_flush(f, e);
			if (code)
				return code;
		}
		memcpy(f->chunk.records + f->used_bytes, p, head.size);
		f->used_bytes += head.size;
		f->records++;
		p += head.size;
		len -= head.size;
	}
	return 0;
}

u64 bpf_file_bytes(const struct bpf_file *f)
{
	return f->bytes;
}

int bpf_file_close(struct bpf_file *f, struct error *e)
{
	int code;

	if (!f)
		return 0;
	code = bpf_file_flush(f, e);
	if (!code && f->failed)
		code = write_out(f, NULL, 0, e);
	if (close(f->fd) && !code)
		code = error_set(e, -errno, "%s: %s", f->path, strerror(errno));
	free(f->path);
	free(f);
	return code;
}
