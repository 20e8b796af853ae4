/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_session_dir.c: mmscope.json there and back, and files that somebody else made. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "session/session_dir.h"

struct fixture {
	char dir[64];
	char file[96];
	struct session_info info;
	struct error e;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/mmscope-session-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->file, sizeof(f->file), "%s/" SESSION_FILE, f->dir);
	session_info_init(&f->info);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	session_info_done(&f->info);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *content, size_t len)
{
	FILE *out = fopen(f->file, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(content, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* Loads @content: the code, with the message in f->e. */
static int load(struct fixture *f, const char *content)
{
	put(f, content, strlen(content));
	error_clear(&f->e);
	session_info_done(&f->info);
	return session_dir_load(f->dir, &f->info, &f->e);
}

static void fill(struct session_info *info)
{
	struct session_cpu *cpu;
	s64 *pid;

	info->format_version = (struct session_num){ true, SESSION_FORMAT_VERSION };
	info->tool = "mmscope 1.2";
	info->kernel = "6.18.0";
	info->machine = "x86_64";
	info->clock = "mono";
	info->cpus = (struct session_num){ true, 2 };
	info->start_ns = (struct session_num){ true, 123456789012345 };
	info->filemap_fault_no_retry = (struct session_num){ true, 0 };
	info->workload = "sh -c \"a\\b\" \n";
	assert_int_equal(session_info_add(info, &info->command, "mmscope"), 0);
	assert_int_equal(session_info_add(info, &info->command, ""), 0);
	assert_int_equal(session_info_add(info, &info->files, "cpu1-00001.txt"), 0);
	pid = vec_push(&info->pids.list);
	*pid = 4711;
	cpu = vec_push(&info->per_cpu.list);
	*cpu = (struct session_cpu){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
}

static void there_and_back(void **state)
{
	struct fixture *f = *state;
	struct session_info got;

	fill(&f->info);
	assert_int_equal(session_dir_save(f->dir, &f->info, &f->e), 0);
	session_info_init(&got);
	assert_int_equal(session_dir_load(f->dir, &got, &f->e), 0);
	assert_string_equal(got.tool, "mmscope 1.2");
	assert_string_equal(got.kernel, "6.18.0");
	assert_string_equal(got.workload, "sh -c \"a\\b\" \n");
	assert_true(got.start_ns.has && got.start_ns.v == 123456789012345);
	assert_false(got.end_ns.has);
	assert_true(got.filemap_fault_no_retry.has && got.filemap_fault_no_retry.v == 0);
	assert_null(got.ended_by);
	assert_int_equal(got.command.list.n, 2);
	assert_string_equal(got.command.list.v[1], "");
	assert_string_equal(got.files.list.v[0], "cpu1-00001.txt");
	assert_int_equal(got.pids.list.n, 1);
	assert_true(got.pids.list.v[0] == 4711);
	assert_int_equal(got.per_cpu.list.n, 1);
	assert_memory_equal(&got.per_cpu.list.v[0], &f->info.per_cpu.list.v[0],
			    sizeof(struct session_cpu));
	session_info_done(&got);
	session_info_done(&got);
}

static void any_bytes_in_strings(void **state)
{
	struct fixture *f = *state;

	fill(&f->info);
	f->info.workload = "a\xff\x80z\xc3\xa4";
	assert_int_equal(session_dir_save(f->dir, &f->info, &f->e), 0);
	session_info_done(&f->info);
	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), 0);
	/* It is no UTF-8, so each byte that is not ASCII becomes U+FFFD. */
	assert_string_equal(f->info.workload, "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd");
}

static void long_strings_are_cut(void **state)
{
	struct fixture *f = *state;
	char *longest = malloc(200000);

	memset(longest, 'x', 200000);
	longest[199999] = '\0';
	fill(&f->info);
	assert_int_equal(session_info_set(&f->info, &f->info.workload, longest), 0);
	free(longest);
	assert_int_equal(session_dir_save(f->dir, &f->info, &f->e), 0);
	session_info_done(&f->info);
	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), 0);
	assert_int_equal(strlen(f->info.workload), SESSION_MAX_STRING);
}

static void hostile_files(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *says;
	} rows[] = {
		{ "", -EINVAL, "line 1" },
		{ "[1]", -EINVAL, "not a JSON object" },
		{ "{\"format_version\":1", -EINVAL, "line 1" },
		{ "{}", -EINVAL, "no 'format_version'" },
		{ "{\"format_version\":2}", -EPROTO, "newer mmscope" },
		{ "{\"format_version\":0}", -ERANGE, "out of range" },
		{ "{\"format_version\":\"1\"}", -EINVAL, "not a whole number" },
		{ "{\"format_version\":1,\"format_version\":1}", -EINVAL, "duplicate" },
		{ "{\"format_version\":1,\"kernel\":5}", -EINVAL, "'kernel' is not a string" },
		{ "{\"format_version\":1,\"kernel\":\"a\\u0000b\"}", -EINVAL, "line 1" },
		{ "{\"format_version\":1,\"cpus\":1.5}", -EINVAL, "'cpus'" },
		{ "{\"format_version\":1,\"cpus\":1000000}", -ERANGE, "'cpus'" },
		{ "{\"format_version\":1,\"start_ns\":99999999999999999999}", -EINVAL, "line 1" },
		{ "{\"format_version\":1,\"start_ns\":-1}", -ERANGE, "'start_ns'" },
		{ "{\"format_version\":1,\"events\":{}}", -EINVAL, "'events' is not a list" },
		{ "{\"format_version\":1,\"events\":[\"a\",1]}", -EINVAL, "'events'" },
		{ "{\"format_version\":1,\"pids\":[0]}", -ERANGE, "'pids'" },
		{ "{\"format_version\":1,\"per_cpu\":[7]}", -EINVAL, "'per_cpu'" },
		{ "{\"format_version\":1,\"per_cpu\":[{\"cpu\":4096}]}", -EINVAL, "'per_cpu'" },
		{ "{\"format_version\":1,\"per_cpu\":[{\"cpu\":0,\"bytes\":\"x\"}]}", -EINVAL,
		  "'bytes'" },
		{ "{\"format_version\":1,\"files\":[\"../../etc/passwd\"]}", -EINVAL, "outside" },
		{ "{\"format_version\":1,\"files\":[\"\"]}", -EINVAL, "outside" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int code = load(f, rows[i].text);

		if (code != rows[i].code || !strstr(f->e.msg, rows[i].says) ||
		    !strstr(f->e.msg, SESSION_FILE))
			fail_msg("%s: code %d, message '%s'", rows[i].text, code, f->e.msg);
		assert_null(f->info.kernel);
		assert_int_equal(f->info.events.list.n, 0);
	}
}

static void tolerant_where_it_can_be(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, "{\"format_version\":1,\"later\":{\"x\":[1]},\"kernel\":null,"
				 "\"per_cpu\":[{}]}"),
			 0);
	assert_null(f->info.kernel);
	assert_int_equal(f->info.per_cpu.list.n, 1);
	assert_true(f->info.per_cpu.list.v[0].bytes == 0);
}

/* Nested far deeper than any parser's stack would like. */
static void deep_nesting(void **state)
{
	struct fixture *f = *state;
	char *deep = malloc(1000001);

	memset(deep, '[', 1000000);
	deep[1000000] = '\0';
	assert_int_equal(load(f, deep), -EINVAL);
	free(deep);
}

static void too_large(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(SESSION_MAX_BYTES + 1);

	memset(text, ' ', SESSION_MAX_BYTES + 1);
	memcpy(text, "{\"format_version\":1}", 20);
	put(f, text, SESSION_MAX_BYTES);
	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), 0);
	session_info_done(&f->info);
	put(f, text, SESSION_MAX_BYTES + 1);
	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), -EFBIG);
	free(text);
}

static void not_a_file(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), -ENOENT);
	assert_int_equal(f->e.code, 0); /* an ordinary directory: nothing to complain about */
	assert_int_equal(mkfifo(f->file, 0600), 0);
	assert_int_equal(session_dir_load(f->dir, &f->info, &f->e), -EINVAL); /* and no hang */
	error_clear(&f->e);
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(mkdir(f->file, 0700), 0);
	assert_true(session_dir_load(f->dir, &f->info, &f->e) < 0);
	assert_true(f->e.code < 0);
}

static void directories(void **state)
{
	struct fixture *f = *state;
	char sub[128], path[160];
	bool made;

	snprintf(sub, sizeof(sub), "%s/sub", f->dir);
	assert_int_equal(session_dir_create(sub, &made, &f->e), 0);
	assert_true(made);
	assert_int_equal(session_dir_create(sub, &made, &f->e), 0); /* empty */
	assert_false(made);
	fill(&f->info);
	assert_int_equal(session_dir_save(sub, &f->info, &f->e), 0);
	assert_int_equal(session_dir_create(sub, &made, &f->e), -EEXIST);
	assert_non_null(strstr(f->e.msg, "not empty"));
	error_clear(&f->e);
	snprintf(path, sizeof(path), "%s/none/deeper", f->dir);
	assert_int_equal(session_dir_create(path, &made, &f->e), -ENOENT);
	error_clear(&f->e);
	snprintf(path, sizeof(path), "%s/" SESSION_FILE, sub);
	assert_true(session_dir_create(path, &made, &f->e) < 0); /* a file */

	session_dir_reserve(sub, 10000);
	session_dir_discard(sub, &f->info, true);
	assert_int_equal(access(sub, F_OK), -1);
}

static void the_reserve_is_taken_over(void **state)
{
	struct fixture *f = *state;
	char tmp[128];
	struct stat st;

	snprintf(tmp, sizeof(tmp), "%s.tmp", f->file);
	fill(&f->info);
	session_dir_reserve(f->dir, 50000);
	assert_int_equal(stat(tmp, &st), 0);
	assert_int_equal(st.st_size, 50000);
	assert_int_equal(session_dir_save(f->dir, &f->info, &f->e), 0);
	assert_int_equal(access(tmp, F_OK), -1);
	assert_int_equal(stat(f->file, &st), 0);
	assert_true(st.st_size < 50000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(there_and_back),
		CASE(any_bytes_in_strings),
		CASE(long_strings_are_cut),
		CASE(hostile_files),
		CASE(tolerant_where_it_can_be),
		CASE(deep_nesting),
		CASE(too_large),
		CASE(not_a_file),
		CASE(directories),
		CASE(the_reserve_is_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
