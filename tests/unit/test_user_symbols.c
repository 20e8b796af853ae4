/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_user_symbols.c: live/user_symbols on this process, on a stripped one, and on processes of a
 * made-up /proc: one whose maps can never be read, one whose files are no ELF files.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/num.h"
#include "live/user_helper.h"
#include "live/user_maps.h"
#include "live/user_symbols.h"

#define MAX_TOLD 64

struct told {
	u32 n;
	struct {
		u32 tgid;
		u64 start, end;
		char name[USER_HELPER_MAX_NAME + 1];
	} v[MAX_TOLD];
	int stop; /* what the callback returns */
};

static char root[64];

static int take(void *ctx, u32 tgid, u64 start, u64 end, const char *name, size_t len)
{
	struct told *t = ctx;

	assert_true(t->n < MAX_TOLD);
	assert_true(start < end);
	assert_true(len && len <= USER_HELPER_MAX_NAME);
	t->v[t->n].tgid = tgid;
	t->v[t->n].start = start;
	t->v[t->n].end = end;
	memcpy(t->v[t->n].name, name, len);
	t->v[t->n++].name[len] = '\0';
	return t->stop;
}

static const char *name_at(const struct told *t, u32 tgid, u64 address)
{
	for (u32 i = 0; i < t->n; i++)
		if (t->v[i].tgid == tgid && address >= t->v[i].start && address < t->v[i].end)
			return t->v[i].name;
	return "";
}

static struct user_symbols *start(const char *where, u64 wait_ns, struct told *t)
{
	const struct user_symbols_opts opts = { .root = where,
						.wait_ns = wait_ns,
						.files_ns = 20000000000ULL };
	struct user_symbols *u;

	memset(t, 0, sizeof(*t));
	u = user_symbols_new(&opts, take, t);
	assert_non_null(u);
	assert_int_equal(user_symbols_round(u), 0);
	return u;
}

/* Asks, and lets a slow machine answer in later rounds. */
static void ask(struct user_symbols *u, u32 tgid, const u64 *addresses, size_t n)
{
	assert_int_equal(user_symbols_ask(u, tgid, addresses, n), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(user_symbols_round(u), 0);
		assert_int_equal(user_symbols_ask(u, tgid, addresses, n), 0);
	}
}

#define LONG_NS 5000000000ULL

static __attribute__((noinline)) int a_function_of_this_test(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void functions_of_this_process(void **state)
{
	struct told t;
	struct user_symbols *u = start("", LONG_NS, &t);
	u64 addresses[] = { (u64)(uintptr_t)a_function_of_this_test + 1, (u64)(uintptr_t)qsort,
			    (u64)(uintptr_t)qsort + 1, 1 };
	u32 n;

	(void)state;
	a_function_of_this_test(1);
	ask(u, (u32)getpid(), addresses, ARRAY_LEN(addresses));
	assert_string_equal(name_at(&t, (u32)getpid(), addresses[0]), "a_function_of_this_test");
	assert_string_equal(name_at(&t, (u32)getpid(), addresses[1]), "qsort");
	assert_string_equal(name_at(&t, (u32)getpid(), 1), "");
	/* each function once, each address asked for once */
	assert_int_equal(t.n, 2);
	assert_int_equal(user_symbols_counts(u)->asked, ARRAY_LEN(addresses));
	assert_int_equal(user_symbols_counts(u)->missing, 1);
	/* an address beside it, of the same function */
	addresses[0]++;
	ask(u, (u32)getpid(), addresses, 1);
	assert_int_equal(t.n, 2);
	assert_int_equal(user_symbols_counts(u)->missing, 1);
	/* the same tgid may be another program now */
	user_symbols_forget(u, (u32)getpid());
	n = t.n;
	ask(u, (u32)getpid(), addresses, 1);
	assert_int_equal(t.n, n + 1);
	/* no such process */
	ask(u, 0x7ffffffe, addresses, 1);
	assert_int_equal(t.n, n + 1);
	assert_int_equal(user_symbols_counts(u)->maps_timeouts, 0);
	assert_int_equal(user_symbols_counts(u)->helpers, 1);
	user_symbols_free(u);
	user_symbols_free(NULL);
}

static void the_callback_can_stop(void **state)
{
	struct told t;
	struct user_symbols *u = start("", LONG_NS, &t);
	u64 address = (u64)(uintptr_t)qsort;

	(void)state;
	t.stop = -EPIPE;
	assert_int_equal(user_symbols_ask(u, (u32)getpid(), &address, 1), -EPIPE);
	user_symbols_free(u);
}

static void a_stripped_program_gives_places(void **state)
{
	struct told t;
	struct user_symbols *u = start("", LONG_NS, &t);
	struct user_maps maps;
	u64 address = 0;
	pid_t child = fork();
	char want[64];

	(void)state;
	if (!child) {
		execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	for (int i = 0; i < 5000 && !address; i++) { /* until it has run exec */
		usleep(1000);
		if (user_maps_read(&maps, "", (u32)child))
			continue;
		for (size_t m = 0; m < maps.list.n && !address; m++)
			if (strstr(maps.list.v[m].path, "/sleep")) {
				address = maps.list.v[m].start + 0x100;
				snprintf(want, sizeof(want), "sleep+0x%llx",
					 (unsigned long long)maps.list.v[m].offset + 0x100);
			}
		user_maps_done(&maps);
	}
	if (address)
		ask(u, (u32)child, &address, 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	user_symbols_free(u);
	if (!address) {
		print_message("/bin/sleep is no program of its own here\n");
		skip();
	}
	assert_int_equal(t.n, 1);
	if (!strstr(t.v[0].name, "+0x")) { /* not stripped here */
		print_message("/bin/sleep has symbols here\n");
		skip();
	}
	assert_string_equal(t.v[0].name, want);
	assert_int_equal(t.v[0].start, address);
	assert_int_equal(t.v[0].end, address + 1);
}

/* --- a /proc of our own --- */

static int make_root(void **state)
{
	char path[160];

	(void)state;
	strcpy(root, "/tmp/mmscope-user-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/proc", root);
	return mkdir(path, 0755);
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

/* A process whose maps are @text; NULL = a FIFO that nobody writes: reading it never ends. */
static void make_process(u32 tgid, const char *text)
{
	char path[160];
	FILE *out;

	snprintf(path, sizeof(path), "%s/proc/%u", root, tgid);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/proc/%u/root", root, tgid);
	assert_int_equal(symlink("/", path), 0);
	snprintf(path, sizeof(path), "%s/proc/%u/maps", root, tgid);
	if (!text) {
		assert_int_equal(mkfifo(path, 0600), 0);
		return;
	}
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* A line of maps for the whole of a file. */
static void line_of(char *ret, size_t size, const char *file, u64 at, u64 ino_plus)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	snprintf(ret, size, "%llx-%llx r-xp 00000000 %02x:%02x %llu   %s\n", (unsigned long long)at,
		 (unsigned long long)(at + 0x100000), major(st.st_dev), minor(st.st_dev),
		 (unsigned long long)(st.st_ino + ino_plus), file);
}

static void a_stuck_process_costs_its_time_once(void **state)
{
	struct told t;
	struct user_symbols *u;
	char line[4096], self[1024];
	u64 address = 0x10000000, other = 0x10000;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	line_of(line, sizeof(line), self, 0x10000, 0);
	make_process(41, NULL);
	make_process(42, line);
	u = start(root, 20000000, &t);
	assert_int_equal(user_symbols_ask(u, 41, &address, 1), 0);
	for (int i = 0; i < 1000 && !user_symbols_counts(u)->maps_timeouts; i++)
		assert_int_equal(user_symbols_round(u), 0);
	assert_int_equal(user_symbols_counts(u)->maps_timeouts, 1);
	assert_int_equal(user_symbols_counts(u)->helpers_lost, 1);
	/* it is not asked again, neither for this address nor for another */
	for (u64 i = 0; i < 20; i++) {
		address += i;
		ask(u, 41, &address, 1);
	}
	assert_int_equal(user_symbols_counts(u)->maps_timeouts, 1);
	assert_int_equal(user_symbols_counts(u)->helpers, 1);
	/* others are, by a new helper */
	for (int i = 0; i < 1000 && !t.n; i++)
		ask(u, 42, &other, 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.v[0].tgid, 42);
	/* an exec makes a new process of it */
	user_symbols_forget(u, 41);
	assert_int_equal(user_symbols_round(u), 0);
	assert_int_equal(user_symbols_ask(u, 41, &address, 1), 0);
	for (int i = 0; i < 1000 && user_symbols_counts(u)->maps_timeouts < 2; i++)
		assert_int_equal(user_symbols_round(u), 0);
	assert_int_equal(user_symbols_counts(u)->maps_timeouts, 2);
	user_symbols_free(u);
}

static void hostile_files_give_places_or_nothing(void **state)
{
	struct told t;
	struct user_symbols *u;
	char text[4096], path[128], elf[4096] = { 0 };
	struct user_map fifo;
	struct stat st;
	const u64 addresses[] = { 0x100123, 0x200123, 0x300123, 0x400123, 0x500123 };
	FILE *in = fopen("/proc/self/exe", "r"), *out;
	size_t at = 0;

	(void)state;
	assert_non_null(in);
	assert_int_equal(fread(elf, 1, sizeof(elf), in), sizeof(elf));
	fclose(in);
	memset(elf + 40, 0xff, 24); /* where its sections are, and how many */
	for (u64 i = 0; i < 3; i++) {
		static const char *const names[] = { "garbage", "cut.so", "empty" };
		static const size_t sizes[] = { 37, 4096, 0 };

		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		out = fopen(path, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(elf + (i ? 0 : 1), 1, sizes[i], out), sizes[i]);
		assert_int_equal(fclose(out), 0);
		line_of(text + at, sizeof(text) - at, path, 0x100000 * (i + 1), 0);
		at += strlen(text + at);
	}
	/* replaced since it was mapped; and a FIFO, which must not be opened */
	snprintf(path, sizeof(path), "%s/cut.so", root);
	line_of(text + at, sizeof(text) - at, path, 0x400000, 1);
	at += strlen(text + at);
	snprintf(path, sizeof(path), "%s/fifo", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	line_of(text + at, sizeof(text) - at, path, 0x500000, 0);
	fifo = (struct user_map){ .start = 0x500000, .end = 0x600000, .path = path };
	assert_int_equal(stat(path, &st), 0);
	fifo.ino = st.st_ino;
	fifo.major = major(st.st_dev);
	fifo.minor = minor(st.st_dev);
	make_process(43, text);
	assert_true(user_maps_open(&fifo, root, 43) < 0);
	u = start(root, LONG_NS, &t);
	ask(u, 43, addresses, ARRAY_LEN(addresses));
	assert_int_equal(user_symbols_counts(u)->helpers, 1);
	assert_string_equal(name_at(&t, 43, 0x100123), "garbage+0x123");
	assert_string_equal(name_at(&t, 43, 0x200123), "cut.so+0x123");
	assert_string_equal(name_at(&t, 43, 0x300123), "empty+0x123");
	assert_string_equal(name_at(&t, 43, 0x400123), "cut.so+0x123");
	assert_string_equal(name_at(&t, 43, 0x500123), "fifo+0x123");
	assert_int_equal(t.n, 5);
	user_symbols_free(u);
}

static pid_t only_child(void)
{
	char path[64], text[64] = "";
	FILE *in;
	u64 pid;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	in = fopen(path, "r");
	if (!in)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	return num_scan_u64(text, n, &pid) ? (pid_t)pid : 0;
}

static void a_killed_helper_is_replaced(void **state)
{
	struct told t;
	struct user_symbols *u = start("", LONG_NS, &t);
	u64 address = (u64)(uintptr_t)qsort;
	pid_t helper = only_child();

	(void)state;
	if (!helper) {
		print_message("no /proc/self/task/TID/children here\n");
		user_symbols_free(u);
		skip();
	}
	for (int i = 0; i < 100; i++) { /* far more often than helpers are started */
		siginfo_t info;

		helper = only_child();
		if (helper) {
			kill(helper, SIGKILL);
			assert_int_equal(waitid(P_PID, (id_t)helper, &info, WEXITED | WNOWAIT), 0);
		}
		user_symbols_forget(u, (u32)getpid());
		ask(u, (u32)getpid(), &address, 1);
		if (i < 10)
			assert_true(t.n > (u32)i);
		if (t.n > 32)
			t.n = 32;
	}
	assert_true(user_symbols_counts(u)->helpers <= 64);
	assert_true(user_symbols_counts(u)->helpers_lost >= 20);
	user_symbols_free(u);
	assert_int_equal(only_child(), 0); /* none is left behind, nor a zombie */
}

static void lines_of_maps(void **state)
{
	static const struct {
		const char *line, *path; /* NULL = no executable mapping */
		bool deleted;
	} rows[] = {
		{ "7f0a1c028000-7f0a1c1bd000 r-xp 00028000 fe:01 1835093   /usr/lib/libc.so.6",
		  "/usr/lib/libc.so.6", false },
		{ "1000-2000 r-xp 00000000 00:00 0", "", false },
		{ "1000-2000 r-xp 00000000 00:00 0 ", "", false },
		{ "1000-2000 --xs 00000000 00:01 5 /memfd:a b (deleted)", "/memfd:a b", true },
		{ "1000-2000 r-xp 0 00:00 0  [vdso]", "[vdso]", false },
		{ "1000-2000 rw-p 00000000 00:00 0 [heap]", NULL, false },
		{ "2000-2000 r-xp 00000000 00:00 0 x", NULL, false },
		{ "2000-1000 r-xp 00000000 00:00 0 x", NULL, false },
		{ "10000000000000000-2 r-xp 00000000 00:00 0 x", NULL, false },
		{ "1000-2000 r-x", NULL, false },
		{ "1000-2000 r-xp 0 100000000:00 0 x", NULL, false },
		{ "1000-2000 r-xp 0 00:00 x", NULL, false },
		{ "1000-", NULL, false },
		{ "", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].line), path_len = 0;
		char *exact = malloc(len + !len); /* ASan sees one byte too many */
		const char *path = NULL;
		struct user_map m;
		bool ok;

		assert_non_null(exact);
		memcpy(exact, rows[i].line, len);
		ok = user_maps_parse(exact, len, &m, &path, &path_len);
		assert_int_equal(ok, rows[i].path != NULL);
		if (ok) {
			assert_int_equal(path_len, strlen(rows[i].path));
			assert_memory_equal(path, rows[i].path, path_len);
			assert_int_equal(m.deleted, rows[i].deleted);
		}
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_maps),
		cmocka_unit_test(functions_of_this_process),
		cmocka_unit_test(the_callback_can_stop),
		cmocka_unit_test(a_stripped_program_gives_places),
		cmocka_unit_test(a_killed_helper_is_replaced),
		cmocka_unit_test_setup_teardown(a_stuck_process_costs_its_time_once, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(hostile_files_give_places_or_nothing, make_root,
						remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
