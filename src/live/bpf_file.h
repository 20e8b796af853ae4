/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_file.h: writes bpf.mmscope: header, then chunks of whole records with a checksum each
 * (wire/bpf_record.h, docs/FORMAT.md). Layer: live.
 * A chunk goes out in one write() when it is full or when the caller flushes, so that a killed
 * recording leaves whole chunks and at most one cut one.
 */
#ifndef MMSCOPE_LIVE_BPF_FILE_H
#define MMSCOPE_LIVE_BPF_FILE_H

#include "base/error.h"
#include "base/types.h"

#define BPF_FILE_NAME "bpf.mmscope"

struct bpf_file;
/* Makes @path, which must not exist, and writes the header. */
int bpf_file_create(const char *path, struct bpf_file **ret, struct error *e) MUST_CHECK;
int bpf_file_add(struct bpf_file *f, const void *records, size_t len, struct error *e) MUST_CHECK;
int bpf_file_flush(struct bpf_file *f, struct error *e) MUST_CHECK;
u64 bpf_file_bytes(const struct bpf_file *f);
/* Flushes and closes; the first error is returned. f is gone either way. */
int bpf_file_close(struct bpf_file *f, struct error *e) MUST_CHECK;

#endif
