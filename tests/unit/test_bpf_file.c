/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bpf_file.c: live/bpf_file: what is in the file, also when its writer fails or is killed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "live/bpf_file.h"
#include "wire/bpf_record.h"

static char dir[64];
static char path[96];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/mmscope-bpf-file-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, BPF_FILE_NAME);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* Records of several sizes, numbered. */
static size_t make(char *buf, u64 number)
{
	struct bpf_rec_head head = { .kind = BREC_NOTE, .time_ns = number };

	head.size = (u16)(16 + number % 64 * 8);
	memset(buf, (int)(number % 251), head.size);
	memcpy(buf, &head, sizeof(head));
	return head.size;
}

struct found {
	u64 chunks, records, cut_bytes;
};

/* An independent reader: every whole chunk must be right; how much lies behind the last? */
static struct found read_back(void)
{
	struct bpf_file_header header;
	struct bpf_chunk_header chunk;
	struct found f = { 0 };
	FILE *in = fopen(path, "r");
	char *payload = malloc(BPF_MAX_CHUNK_BYTES);
	char want[BPF_MAX_RECORD_BYTES];
	size_t n;

	assert_non_null(in);
	assert_non_null(payload);
	assert_int_equal(fread(&header, 1, sizeof(header), in), sizeof(header));
	assert_memory_equal(header.magic, "MMSCOPEB", 8);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.header_bytes, sizeof(header));
	assert_int_equal(header.chunk_magic, 0x4b434d4du);
	while ((n = fread(&chunk, 1, sizeof(chunk), in)) == sizeof(chunk)) {
		u64 records = 0;
		size_t at = 0;

		assert_int_equal(chunk.magic, BPF_CHUNK_MAGIC);
		assert_true(chunk.payload_bytes && chunk.payload_bytes <= BPF_MAX_CHUNK_BYTES);
		n = fread(payload, 1, chunk.payload_bytes, in);
		if (n < chunk.payload_bytes) {
			n += sizeof(chunk);
			break;
		}
		assert_int_equal(chunk.crc32, crc32(0, (u8 *)payload, chunk.payload_bytes));
		for (; at < chunk.payload_bytes; records++) {
			size_t size = make(want, f.records + records);

			assert_true(at + size <= chunk.payload_bytes);
			assert_memory_equal(payload + at, want, size);
			at += size;
		}
		assert_int_equal(records, chunk.records);
		f.records += records;
		f.chunks++;
		n = 0;
	}
	f.cut_bytes = n;
	free(payload);
	fclose(in);
	return f;
}

static void add_many(struct bpf_file *file, u64 from, u64 to)
{
	char buf[BPF_MAX_RECORD_BYTES * 2];
	struct error e = { 0 };

	for (u64 i = from; i < to; i += 2) { /* two at a time */
		size_t len = make(buf, i);

		len += make(buf + len, i + 1);
		assert_int_equal(bpf_file_add(file, buf, len, &e), 0);
	}
}

static void chunks_hold_whole_records(void **state)
{
	struct error e = { 0 };
	struct bpf_file *file;
	struct found f;
	struct stat st;

	(void)state;
	assert_int_equal(bpf_file_create(path, &file, &e), 0);
	assert_int_equal(bpf_file_flush(file, &e), 0); /* nothing yet: no empty chunk */
	assert_int_equal(bpf_file_bytes(file), sizeof(struct bpf_file_header));
	add_many(file, 0, 20000); /* about 5 MB */
	assert_int_equal(bpf_file_flush(file, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(bpf_file_bytes(file), st.st_size);
	f = read_back();
	assert_int_equal(f.records, 20000);
	assert_int_equal(f.cut_bytes, 0);
	assert_true(f.chunks >= 5 && f.chunks <= 7);
	add_many(file, 20000, 20010);
	assert_int_equal(bpf_file_close(file, &e), 0);
	assert_int_equal(read_back().records, 20010);
	assert_int_equal(read_back().chunks, f.chunks + 1);
}

static void an_old_file_is_not_overwritten(void **state)
{
	struct error e = { 0 };
	struct bpf_file *file;

	(void)state;
	assert_int_equal(bpf_file_create(path, &file, &e), 0);
	assert_int_equal(bpf_file_close(file, &e), 0);
	assert_int_equal(bpf_file_create(path, &file, &e), -EEXIST);
	assert_null(file);
	assert_non_null(strstr(e.msg, path));
	assert_int_equal(bpf_file_close(NULL, &e), 0);
}

static void what_is_no_record_is_refused(void **state)
{
	struct bpf_rec_head head = { .kind = BREC_WAIT, .size = 24 };
	static const u16 sizes[] = { 0, 8, 15, 17, 20, BPF_MAX_RECORD_BYTES + 8 };
	char buf[BPF_MAX_RECORD_BYTES * 2] = { 0 };
	struct error e = { 0 };
	struct bpf_file *file;

	(void)state;
	assert_int_equal(bpf_file_create(path, &file, &e), 0);
	assert_int_equal(bpf_file_add(file, buf, 15, &e), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		head.size = sizes[i];
		memcpy(buf, &head, sizeof(head));
		error_clear(&e);
		assert_int_equal(bpf_file_add(file, buf, sizeof(buf), &e), -EINVAL);
	}
	head.size = 24;
	memcpy(buf, &head, sizeof(head));
	error_clear(&e);
	assert_int_equal(bpf_file_add(file, buf, 16, &e), -EINVAL); /* longer than what is there */
	assert_int_equal(bpf_file_add(file, buf, 24, &e), 0);
	error_clear(&e);
	assert_int_equal(bpf_file_close(file, &e), 0);
}

/* A disk that is full: here a limit on the size of the file, which cuts a chunk in two. */
static void a_failed_write_is_told_and_stays(void **state)
{
	struct rlimit old, small;
	struct error e = { 0 }, again = { 0 };
	struct bpf_file *file;
	char buf[BPF_MAX_RECORD_BYTES];
	int code = 0;
	struct found f;
	u64 i = 0;

	(void)state;
	assert_int_equal(bpf_file_create(path, &file, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 2500000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (; i < 20000 && !code; i++)
		code = bpf_file_add(file, buf, make(buf, i), &e);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(code, -EFBIG);
	assert_non_null(strstr(e.msg, path));
	assert_non_null(strstr(e.msg, strerror(EFBIG)));
	/* there would be room again, but behind a torn chunk */
	error_clear(&e);
	assert_int_equal(bpf_file_add(file, buf, make(buf, i), &e), 0);
	assert_int_equal(bpf_file_flush(file, &e), -EFBIG);
	assert_int_equal(bpf_file_close(file, &again), -EFBIG);
	assert_non_null(strstr(again.msg, path));
	f = read_back();
	assert_int_equal(f.chunks, 2);
	assert_true(f.cut_bytes > 0);
}

static void a_killed_writer_leaves_whole_chunks(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct error e = { 0 };
		struct bpf_file *file;
		struct stat st = { 0 };
		struct found f;
		pid_t child = fork();
		int status;

		if (!child) {
			char buf[BPF_MAX_RECORD_BYTES];

			if (bpf_file_create(path, &file, &e))
				_exit(1);
			/* bounded, so that a lost child does not fill the disk */
			for (u64 i = 0; i < 2000000; i++)
				if (bpf_file_add(file, buf, make(buf, i), &e))
					_exit(1);
			pause();
			_exit(2);
		}
		assert_true(child > 0);
		while (st.st_size < (1 + round) * 3000000) { /* at any place in a chunk */
			usleep(200);
			if (stat(path, &st))
				st.st_size = 0;
			assert_int_equal(waitpid(child, &status, WNOHANG), 0);
		}
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		f = read_back();
		assert_true(f.chunks >= 2);
		assert_true(f.records > 10000);
		assert_int_equal(unlink(path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(chunks_hold_whole_records, setup, teardown),
		cmocka_unit_test_setup_teardown(an_old_file_is_not_overwritten, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_record_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_write_is_told_and_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(a_killed_writer_leaves_whole_chunks, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
