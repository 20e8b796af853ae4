/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/unit/test_source.c: files, directories of chunks, compressed ones, pipes. What was put in
 * must come out; what is no source is refused in one line. Damaged ones: test_source_damage.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source_help.h"

static void test_single_files(void **state)
{
	static const size_t sizes[] = { 1, 100, 256 << 10, (256 << 10) + 1, 3 << 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct bytes lines = make_lines(sizes[i], (u32)i);

		for (int p = PLAIN; p < PACKINGS; p++) {
			put_packed("single", p, lines.v, lines.n); /* the name says nothing */
			check_gives(at("single"), lines.v, lines.n);
		}
		free(lines.v);
	}
}

/* Concatenated members, as `cat a.gz b.gz` and log rotation make them. */
static void test_concatenated(void **state)
{
	struct bytes a = make_lines(300000, 1), b = make_lines(5000, 2), both;

	(void)state;
	both.n = a.n + b.n;
	both.v = malloc(both.n);
	memcpy(both.v, a.v, a.n);
	memcpy(both.v + a.n, b.v, b.n);
	for (int p = GZIP; p < PACKINGS; p++) {
		struct bytes x = pack(p, a.v, a.n), y = pack(p, b.v, b.n), none = pack(p, "", 0);
		char *all = calloc(1, x.n + y.n + none.n + 512);

		memcpy(all, x.v, x.n);
		memcpy(all + x.n, none.v, none.n);
		memcpy(all + x.n + none.n, y.v, y.n);
		put("concatenated", all, x.n + none.n + y.n);
		check_gives(at("concatenated"), both.v, both.n);
		if (p != ZSTD) { /* padding with zero bytes; xz wants a multiple of four */
			size_t n = (x.n + none.n + y.n + 511) & ~(size_t)3;

			put("padded", all, p == XZ ? x.n + none.n + y.n + 8 : n);
			check_gives(at("padded"), both.v, both.n);
		}
		free(all);
		free(x.v);
		free(y.v);
		free(none.v);
	}
	free(a.v);
	free(b.v);
	free(both.v);
}

/* Natural order; a line cut at a border is whole again; packed and plain mixed; other files left
 * out. */
static void test_numbered_chunks(void **state)
{
	static const char *const left_out[] = { ".hidden",    "mmscope.json", "x.json.gz",
						"logcat.txt", "kallsyms",     "kallsyms.gz",
						"perf.data",  "a.pftrace",    "runs.log",
						"ftrace.dat", "old.mmscope" };
	char name[64];
	struct source_set *set;

	(void)state;
	make_dir("numbered");
	make_dir("numbered/maps");
	put_text("numbered/trace_stream_1", "app-1 [000] 1.000");
	put_packed("numbered/trace_stream_2.gz", GZIP, "001: first\napp-", 15);
	put_packed("numbered/trace_stream_10.zst", ZSTD, "2 [001]", 7);
	put_text("numbered/trace_stream_11", "");
	put_packed("numbered/trace_stream_20.xz", XZ, " 2.0: second\n", 13);
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		snprintf(name, sizeof(name), "numbered/%s", left_out[i]);
		put_text(name, "not this\n");
	}
	assert_int_equal(mkfifo(at("numbered/pipe"), 0600), 0);
	check_gives(at("numbered"), "app-1 [000] 1.000001: first\napp-2 [001] 2.0: second\n", 52);
	check_gives(at("numbered/"), "app-1 [000] 1.000001: first\napp-2 [001] 2.0: second\n", 52);
	set = open_set(at("numbered"));
	assert_int_equal(set->n_chunks, 5);
	assert_int_equal(set->n_left_out, ARRAY_LEN(left_out) + 2);
	assert_string_equal(source_name(set->streams[0]), at("numbered/trace_stream_1"));
	source_set_free(set);
}

/* A recording of BPF is the capture, whatever lies beside it. */
static void test_bpf_stream(void **state)
{
	struct source_set *set;

	(void)state;
	make_dir("bpf");
	put_text("bpf/cpu0-00001.txt", "text\n");
	put_text("bpf/cpu1-00001.txt", "text\n");
	put_text("bpf/mmscope.json", "{}");
	put_text("bpf/other.mmscope", "not this\n");
	put_packed("bpf/bpf.mmscope.xz", XZ, "records", 7);
	check_gives(at("bpf"), "records", 7);
	set = open_set(at("bpf"));
	assert_int_equal(set->n_chunks, 1);
	assert_int_equal(set->n_instead, 2);
	assert_int_equal(set->n_left_out, 2);
	source_set_free(set);
}

static void test_cpu_chunks(void **state)
{
	static const char *const want[] = { "zero 1\nzero 2\nzero 10\n", "two\n", "eleven\n" };
	struct source_set *set;

	(void)state;
	make_dir("cpus");
	put_text("cpus/cpu0-00010.txt", "zero 10\n");
	put_text("cpus/cpu0-00001.txt", "zero 1\n");
	put_packed("cpus/cpu0-00002.txt.gz", GZIP, "zero 2\n", 7);
	put_text("cpus/cpu11-00001.txt", "eleven\n");
	put_text("cpus/cpu2-1", "two\n");
	put_text("cpus/notes.txt", "not a chunk where there are cpuN-*\n");
	put_text("cpus/cpux-1", "nor this\n");
	set = open_set(at("cpus"));
	assert_int_equal(set->n_streams, 3);
	assert_int_equal(set->n_left_out, 2);
	for (size_t i = 0; i < 3; i++) {
		struct outcome o = drain(set->streams[i]);

		assert_int_equal(o.error, 0);
		assert_int_equal(o.data.n, strlen(want[i]));
		assert_memory_equal(o.data.v, want[i], o.data.n);
		free(o.data.v);
	}
	source_set_free(set);
	put_text("cpus/cpu4096-1", "x");
	check_open_fails(at("cpus"), -E2BIG, "go up to 4095");
}

/* More streams than may stay open: each is opened for every read. */
static void test_many_streams(void **state)
{
	struct bytes lines = make_lines(100000, 6);
	char name[64];
	struct source_set *set;
	struct source_block b;
	struct error e = { 0 };
	size_t live = 0, got[300] = { 0 };

	(void)state;
	make_dir("many");
	for (u32 i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "many/cpu%u-1", i);
		put_packed(name, i & 1 ? PLAIN : GZIP, lines.v, lines.n - i);
	}
	set = open_set(at("many"));
	assert_int_equal(set->n_streams, 300);
	do { /* in turn, as a merge does */
		live = 0;
		for (u32 i = 0; i < 300; i++) {
			int r = source_read(set->streams[i], &b, &e);

			assert_true(r >= 0);
			if (r == 0)
				continue;
			assert_memory_equal(b.data, lines.v + got[i], b.len);
			got[i] += b.len;
			live++;
		}
	} while (live);
	for (u32 i = 0; i < 300; i++)
		assert_int_equal(got[i], lines.n - i);
	source_set_free(set);
	free(lines.v);
}

static void test_open_errors(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	check_open_fails(at("missing"), -ENOENT, "missing: No such file or directory; give");
	check_open_fails("", -ENOENT, "No such file");
	put_text("empty", "");
	check_open_fails(at("empty"), -ENODATA, "empty: empty file");
	make_dir("hollow");
	check_open_fails(at("hollow"), -ENOENT,
			 "hollow: a directory without trace chunks (0 other");
	put_text("hollow/mmscope.json", "{}");
	check_open_fails(at("hollow"), -ENOENT, "(1 other entries)");
	put_text("hollow/a", "");
	put_text("hollow/b", "");
	check_open_fails(at("hollow"), -ENODATA, "every trace chunk in it is empty");
	put_text("hollow/a.gz", "x");
	check_open_fails(at("hollow"), -EEXIST, "a.gz are the same chunk twice");
	check_open_fails("/dev/null", -EINVAL, "neither a file, a pipe nor a directory");
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", at("socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	check_open_fails(at("socket"), -EINVAL, "neither a file");
	close(fd);
}

/* Writes @b into @fd from a child, so that a full pipe does not block the test. */
static pid_t feed(int fd, int other_end, struct bytes b)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	close(other_end);
	while (b.n) {
		ssize_t n = write(fd, b.v, b.n < 777 ? b.n : 777);

		if (n < 0)
			_exit(1);
		b.v += n;
		b.n -= (size_t)n;
	}
	_exit(0);
}

static void check_child(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void check_stdin_pipe(struct bytes sent, struct bytes want)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = feed(ends[1], ends[0], sent);
	close(ends[1]);
	assert_true(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
	close(ends[0]);
	check_gives("-", want.v, want.n);
	check_child(child);
}

static void test_stdin(void **state)
{
	struct bytes lines = make_lines(400000, 8), packed = pack(XZ, lines.v, lines.n);
	int saved = dup(STDIN_FILENO), fd;

	(void)state;
	check_stdin_pipe(lines, lines);
	check_stdin_pipe(packed, lines);

	/* a redirected file is read in place, from where stdin stands */
	put("redirected", lines.v, lines.n);
	fd = open(at("redirected"), O_RDONLY);
	assert_int_equal(lseek(fd, 1000, SEEK_SET), 1000);
	dup2(fd, STDIN_FILENO);
	check_gives("-", lines.v + 1000, lines.n - 1000);
	close(fd);

	fd = open("/dev/null", O_RDONLY);
	dup2(fd, STDIN_FILENO);
	close(fd);
	check_open_fails("-", -ENODATA, "stdin: empty file");
	fd = open(at(""), O_RDONLY);
	dup2(fd, STDIN_FILENO);
	close(fd);
	check_open_fails("-", -EISDIR, "stdin: cannot read it: Is a directory");
	close(STDIN_FILENO);
	check_open_fails("-", -EBADF, "stdin: Bad file descriptor");
	dup2(saved, STDIN_FILENO);
	close(saved);
	free(packed.v);
	free(lines.v);
}

static void test_fifo_and_spool(void **state)
{
	struct bytes lines = make_lines(200000, 9);
	char *saved = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
	pid_t child;
	int fd;

	(void)state;
	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		fd = open(at("fifo"), O_WRONLY);
		child = feed(fd, -1, lines);
		close(fd);
		_exit(waitpid(child, &fd, 0) != child || fd);
	}
	setenv("TMPDIR", at(""), 1);
	check_gives(at("fifo"), lines.v, lines.n);
	check_child(child);

	fd = open("/dev/zero", O_RDONLY); /* never read: there is nowhere to keep it */
	child = dup(STDIN_FILENO);
	dup2(fd, STDIN_FILENO);
	close(fd);
	setenv("TMPDIR", at("nowhere"), 1);
	check_open_fails("-", -ENOENT, "set TMPDIR to a directory with room");
	dup2(child, STDIN_FILENO);
	close(child);
	if (saved)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	free(saved);
	free(lines.v);
}

static void test_too_many_chunks(void **state)
{
	char name[64];

	(void)state;
	make_dir("crowd");
	put_text("crowd/0", "x");
	/* links make no inodes: quick on any file system, but some limit them per file */
	for (u32 i = 1; i <= SOURCE_MAX_CHUNKS; i++) {
		snprintf(name, sizeof(name), "crowd/%u", i);
		assert_int_equal(symlink("0", at(name)), 0);
	}
	check_open_fails(at("crowd"), -E2BIG, "more than 100000 chunks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_files),	cmocka_unit_test(test_concatenated),
		cmocka_unit_test(test_numbered_chunks), cmocka_unit_test(test_cpu_chunks),
		cmocka_unit_test(test_many_streams),	cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_stdin),		cmocka_unit_test(test_fifo_and_spool),
		cmocka_unit_test(test_too_many_chunks), cmocka_unit_test(test_bpf_stream),
	};

	return cmocka_run_group_tests(tests, source_make_root, source_remove_root);
}
