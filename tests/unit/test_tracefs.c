/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_tracefs.c: sys/tracefs and sys/procfs on a fixture directory. */
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

#include "sys/procfs.h"
#include "sys/tracefs.h"

struct fixture {
	char root[64];
	char tracing[128];
};

/* Makes @name below the root with all its parents; a directory when @content is NULL. */
static void put(const struct fixture *f, const char *name, const char *content)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	for (char *p = path + strlen(f->root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	if (!content) {
		assert_int_equal(mkdir(path, 0755), 0);
		return;
	}
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(content, out);
	assert_int_equal(fclose(out), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/mmscope-tracefs-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->tracing, sizeof(f->tracing), "%s/sys/kernel/tracing", f->root);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void find_takes_the_first_tracefs(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };
	char dir[PATH_MAX];

	put(f, "proc/self/mounts",
	    "/dev/sda / ext4 rw 0 0\ndebugfs /sys/kernel/debug debugfs rw 0 0\n"
	    "nodev /sys/kernel/tracing tracefs rw,relatime 0 0\ntracefs /other tracefs rw 0 0\n");
	assert_int_equal(sys_tracefs_find(f->root, dir, sizeof(dir), &e), 0);
	assert_string_equal(dir, f->tracing);
}

static void find_unescapes(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };
	char dir[PATH_MAX], want[PATH_MAX];

	put(f, "proc/self/mounts", "tracefs /mnt/a\\040b\\134c tracefs rw 0 0\n");
	assert_int_equal(sys_tracefs_find(f->root, dir, sizeof(dir), &e), 0);
	snprintf(want, sizeof(want), "%s/mnt/a b\\c", f->root);
	assert_string_equal(dir, want);
	assert_int_equal(sys_tracefs_find(f->root, dir, 8, &e), -ENAMETOOLONG);
}

static void find_falls_back_to_debugfs(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };
	char dir[PATH_MAX], want[PATH_MAX];

	put(f, "proc/self/mounts", "d /sys/kernel/debug debugfs rw 0 0\n");
	assert_int_equal(sys_tracefs_find(f->root, dir, sizeof(dir), &e),
			 -ENOENT); /* no tracing/ in it */
	assert_string_equal(e.msg, "tracefs is not mounted");
	put(f, "sys/kernel/debug/tracing/events", NULL);
	error_clear(&e);
	assert_int_equal(sys_tracefs_find(f->root, dir, sizeof(dir), &e), 0);
	snprintf(want, sizeof(want), "%s/sys/kernel/debug/tracing", f->root);
	assert_string_equal(dir, want);
}

static void find_without_any(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };
	char dir[PATH_MAX];

	assert_true(sys_tracefs_find(f->root, dir, sizeof(dir), &e) < 0); /* no proc at all */
	error_clear(&e);
	put(f, "proc/self/mounts", "tracefs\n\n x y\ntracefs /not/it nottracefs rw\n");
	assert_int_equal(sys_tracefs_find(f->root, dir, sizeof(dir), &e), -ENOENT);
}

static void events_are_listed_in_order(void **state)
{
	struct fixture *f = *state;
	struct sys_tracefs_events events;
	struct error e = { 0 };

	put(f, "sys/kernel/tracing/events/enable", "0\n");
	put(f, "sys/kernel/tracing/events/header_page", "\n");
	put(f, "sys/kernel/tracing/events/sched/enable", "0\n");
	put(f, "sys/kernel/tracing/events/sched/filter", "none\n");
	put(f, "sys/kernel/tracing/events/sched/sched_waking/enable", "0\n");
	put(f, "sys/kernel/tracing/events/sched/sched_switch/enable", "0\n");
	put(f, "sys/kernel/tracing/events/mmap_lock/mmap_lock_released/enable", "0\n");
	assert_int_equal(sys_tracefs_list_events(f->tracing, NULL, &events, &e), 0);
	assert_int_equal(events.list.n, 3);
	assert_string_equal(events.list.v[0].system, "mmap_lock");
	assert_string_equal(events.list.v[1].name, "sched_switch");
	assert_string_equal(events.list.v[2].name, "sched_waking");
	sys_tracefs_events_done(&events);

	assert_int_equal(sys_tracefs_list_events(f->tracing, "sched", &events, &e), 0);
	assert_int_equal(events.list.n, 2);
	sys_tracefs_events_done(&events);
	assert_int_equal(sys_tracefs_list_events(f->tracing, "filemap", &events, &e), -ENOENT);
	assert_int_equal(events.list.n, 0);
	error_clear(&e);
	assert_int_equal(sys_tracefs_list_events(f->tracing, "../events", &events, &e), -EINVAL);

	assert_true(sys_tracefs_has_event(f->tracing, "sched", "sched_switch"));
	assert_false(sys_tracefs_has_event(f->tracing, "sched", "sched_nothing"));
	assert_false(sys_tracefs_has_event(f->tracing, "sched", "."));
	assert_false(sys_tracefs_has_event(f->tracing, "sched", "../sched/sched_switch"));
	assert_false(sys_tracefs_has_event(f->tracing, "", "sched"));
}

static void cpus_and_stats(void **state)
{
	struct fixture *f = *state;
	struct sys_tracefs_stats st;
	struct sys_tracefs_cpus cpus;
	struct error e = { 0 };

	assert_true(sys_tracefs_list_cpus(f->tracing, &cpus, &e) < 0);
	error_clear(&e);
	put(f, "sys/kernel/tracing/per_cpu/cpu10/stats",
	    "entries: 7\noverrun: 56082\ncommit overrun: 3\nbytes: 12\noldest event ts:  1.0\nnow "
	    "ts: 2.0\n"
	    "dropped events: 4\nread events: 18446744073709551615\n");
	put(f, "sys/kernel/tracing/per_cpu/cpu2/stats", "entries: 1\nread events: 5\n");
	put(f, "sys/kernel/tracing/per_cpu/cpu4096/stats", "");
	put(f, "sys/kernel/tracing/per_cpu/cpux/stats", "");
	assert_int_equal(sys_tracefs_list_cpus(f->tracing, &cpus, &e), 0);
	assert_int_equal(cpus.list.n, 2);
	assert_int_equal(cpus.list.v[0], 2);
	assert_int_equal(cpus.list.v[1], 10);
	sys_tracefs_cpus_done(&cpus);

	assert_int_equal(sys_tracefs_read_stats(f->tracing, 10, &st, &e), 0);
	assert_int_equal(st.entries, 7);
	assert_int_equal(st.overrun, 56082); /* and not "commit overrun" */
	assert_int_equal(st.commit_overrun, 3);
	assert_int_equal(st.dropped, 4);
	assert_true(st.read_events == UINT64_MAX);
	assert_int_equal(sys_tracefs_read_stats(f->tracing, 2, &st, &e), -EPROTO);
	error_clear(&e);
	assert_int_equal(sys_tracefs_read_stats(f->tracing, 3, &st, &e), -ENOENT);
}

static void instances_and_clock(void **state)
{
	struct fixture *f = *state;
	struct sys_tracefs_pids pids;
	struct error e = { 0 };
	char clock[16];

	put(f, "sys/kernel/tracing/instances/mmscope-123/x", "");
	put(f, "sys/kernel/tracing/instances/mmscope-7/x", "");
	put(f, "sys/kernel/tracing/instances/mmscope-", NULL);
	put(f, "sys/kernel/tracing/instances/mmscope-12b", NULL);
	put(f, "sys/kernel/tracing/instances/mmscope-99999999999", NULL);
	put(f, "sys/kernel/tracing/instances/perfetto-5", NULL);
	assert_int_equal(sys_tracefs_list_instance_pids(f->tracing, "mmscope-", &pids, &e), 0);
	assert_int_equal(pids.list.n, 2);
	assert_int_equal(pids.list.v[0], 7);
	assert_int_equal(pids.list.v[1], 123);
	sys_tracefs_pids_done(&pids);

	put(f, "sys/kernel/tracing/trace_clock", "local global [mono] boot\n");
	assert_int_equal(sys_tracefs_read_clock(f->tracing, clock, sizeof(clock), &e), 0);
	assert_string_equal(clock, "mono");
	assert_int_equal(sys_tracefs_read_clock(f->tracing, clock, 3, &e), -EPROTO);
	error_clear(&e);
	put(f, "sys/kernel/tracing/trace_clock", "local mono\n");
	assert_int_equal(sys_tracefs_read_clock(f->tracing, clock, sizeof(clock), &e), -EPROTO);
}

static void proc_values(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };
	char release[64];
	u64 v = 5;
	u32 n;

	put(f, "proc/sys/kernel/osrelease", "6.12.0-mm\n");
	assert_int_equal(procfs_read_release(f->root, release, sizeof(release), &e), 0);
	assert_string_equal(release, "6.12.0-mm");
	assert_int_equal(procfs_filemap_fault_no_retry(f->root), -1);
	put(f, "proc/sys/vm/filemap_fault_no_retry", "1\n");
	assert_int_equal(procfs_filemap_fault_no_retry(f->root), 1);
	put(f, "proc/sys/vm/max_map_count", "65530\n");
	assert_int_equal(procfs_read_u64(f->root, "proc/sys/vm/max_map_count", &v, &e), 0);
	assert_int_equal(v, 65530);
	put(f, "proc/sys/vm/max_map_count", "-1\n");
	assert_int_equal(procfs_read_u64(f->root, "proc/sys/vm/max_map_count", &v, &e), -EPROTO);
	error_clear(&e);

	put(f, "sys/devices/system/cpu/online", "0-3,6,8-9\n");
	assert_int_equal(procfs_count_cpus(f->root, &n, &e), 0);
	assert_int_equal(n, 7);
	for (const char **bad = (const char *[]){ "", "3-1", "0-", "a", "0,,1x", "0-99999999999",
						  "0;1", NULL };
	     *bad; bad++) {
		put(f, "sys/devices/system/cpu/online", *bad);
		error_clear(&e);
		assert_int_equal(procfs_count_cpus(f->root, &n, &e), -EPROTO);
	}
}

static void threads(void **state)
{
	struct fixture *f = *state;
	struct procfs_tids tids;
	struct error e = { 0 };

	put(f, "proc/42/task/420/x", "");
	put(f, "proc/42/task/42/x", "");
	put(f, "proc/42/task/nonsense", NULL);
	put(f, "proc/43/task", NULL);
	assert_int_equal(procfs_list_tids(f->root, 42, &tids, &e), 0);
	assert_int_equal(tids.list.n, 2);
	assert_int_equal(tids.list.v[0], 42);
	assert_int_equal(tids.list.v[1], 420);
	procfs_tids_done(&tids);
	assert_int_equal(procfs_list_tids(f->root, 43, &tids, &e), -ESRCH);
	error_clear(&e);
	assert_int_equal(procfs_list_tids(f->root, 44, &tids, &e), -ESRCH);
	assert_string_equal(e.msg, "process 44: No such process");
}

static void pid_namespace(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];

	assert_true(
		procfs_in_first_pid_ns(f->root)); /* a kernel without namespaces has no such link */
	put(f, "proc/self/ns", NULL);
	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", f->root);
	assert_int_equal(symlink("pid:[4026531836]", path), 0);
	assert_true(procfs_in_first_pid_ns(f->root));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("pid:[4026532200]", path), 0);
	assert_false(procfs_in_first_pid_ns(f->root));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(find_takes_the_first_tracefs),
		CASE(find_unescapes),
		CASE(find_falls_back_to_debugfs),
		CASE(find_without_any),
		CASE(events_are_listed_in_order),
		CASE(cpus_and_stats),
		CASE(instances_and_clock),
		CASE(proc_values),
		CASE(threads),
		CASE(pid_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
