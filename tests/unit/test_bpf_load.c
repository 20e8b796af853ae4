/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_bpf_load.c: the BPF programs on this kernel, on each rung: what they count is what a child
 * did, what they tell agrees with what they count. Needs root.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "live/bpf_load.h"
#include "sys/kallsyms.h"
#include "wire/bpf_record.h"

#define NOT_LOADED 3 /* exit code of a child that could not load */

static const char *const rungs[] = { NULL, "hash", "raw_tp", "tracepoint" };
static struct kallsyms syms;

/* --- what comes out --- */

struct seen {
	u32 tgid; /* of interest */
	u64 waits, retry_waits, short_waits, strange;
	u64 open, untold_stacks;
	u64 forks, execs, exits;
	struct bpf_rec_totals alive, dead; /* sums over that process */
	u64 stacks[1024];
	size_t n_stacks;
};

static void dist_add(struct bpf_dist *to, const struct bpf_dist *d)
{
	u64 log2 = 0, log10 = 0;

	for (int i = 0; i < BPF_LOG2_BUCKETS; i++)
		log2 += d->log2[i];
	for (int i = 0; i < BPF_LOG10_BUCKETS; i++) {
		log10 += d->log10[i];
		to->log10[i] += d->log10[i];
	}
	assert_int_equal(log2, d->count);
	assert_int_equal(log10, d->count);
	assert_true(d->max_ns <= d->sum_ns);
	to->count += d->count;
}

static void see_totals(struct seen *s, const struct bpf_rec_totals *t)
{
	struct bpf_rec_totals *to = t->flags & BFLAG_DEAD ? &s->dead : &s->alive;

	assert_int_equal(t->head.size, sizeof(*t));
	assert_true(t->flags & BFLAG_DEAD ? !t->tid : t->tid > 0);
	assert_int_equal(!!(t->flags & BFLAG_OWN), t->tgid == (u32)getpid());
	for (int i = 0; i < 2; i++) {
		dist_add(&to->wait[i], &t->wait[i]);
		dist_add(&to->hold[i], &t->hold[i]);
	}
}

static void see_wait(struct seen *s, const struct bpf_rec_wait *w, u64 min_wait_ns)
{
	size_t i = 0;

	assert_int_equal(w->head.size, sizeof(*w));
	s->open += !!(w->flags & BFLAG_OPEN);
	if (w->flags & BFLAG_OPEN)
		return;
	s->waits++;
	if (w->flags & BFLAG_RETRY_WAIT)
		s->retry_waits++;
	else if (w->head.time_ns - w->begin_ns < min_wait_ns)
		s->short_waits++;
	s->strange += !w->mm || w->head.time_ns < w->begin_ns || w->who.prio != 120 ||
		      (w->flags & BFLAG_SPUN && w->woken_ns);
	while (i < s->n_stacks && s->stacks[i] != w->stack)
		i++;
	s->untold_stacks += !w->stack || i == s->n_stacks;
}

#define MIN_WAIT_NS 10000

static int see(void *ctx, void *data, size_t len)
{
	const struct bpf_rec_head *h = data;
	struct seen *s = ctx;

	assert_true(h->size >= sizeof(*h) && h->size <= len && h->size % 8 == 0);
	if (h->kind == BREC_TOTALS && ((struct bpf_rec_totals *)data)->tgid == s->tgid)
		see_totals(s, data);
	else if (h->kind == BREC_WAIT && ((struct bpf_rec_wait *)data)->who.tgid == s->tgid)
		see_wait(s, data, MIN_WAIT_NS);
	else if (h->kind == BREC_STACK && s->n_stacks < ARRAY_LEN(s->stacks))
		s->stacks[s->n_stacks++] = ((struct bpf_rec_stack *)data)->id;
	if (h->kind == BREC_PROCESS && ((struct bpf_rec_process *)data)->who.tgid == s->tgid) {
		u32 what = ((struct bpf_rec_process *)data)->what;

		s->forks += what == BPROC_FORK;
		s->execs += what == BPROC_EXEC;
		s->exits += what == BPROC_EXIT;
	}
	return 0;
}

static int see_many(void *ctx, const void *records, size_t len)
{
	const char *p = records;
	struct bpf_rec_head h;

	for (size_t at = 0; at < len; at += h.size) {
		memcpy(&h, p + at, sizeof(h));
		assert_true(h.size >= sizeof(h) && h.size <= len - at);
		see(ctx, (void *)(p + at), h.size);
	}
	return 0;
}

/* --- what it comes from: a child that maps and unmaps when it is told to --- */

struct child {
	pid_t pid;
	int go, done;
	int pairs, threads;
	size_t populate_bytes; /* of each mapping; 0 = a page that is not touched */
};

static void pairs_play(int n, size_t populate_bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (populate_bytes ? MAP_POPULATE : 0);
	size_t bytes = populate_bytes ? populate_bytes : 4096;

	for (int i = 0; i < n; i++) {
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

		if (p == MAP_FAILED || munmap(p, bytes))
			_exit(99);
	}
}

static void *pairs_thread(void *arg)
{
	const struct child *c = arg;

	pairs_play(c->pairs, c->populate_bytes);
	return NULL;
}

static void child_play(const struct child *c, int go, int done)
{
	pthread_t threads[8];
	char byte = 0;

	pairs_play(10, 0);
	if (write(done, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		_exit(99);
	for (int i = 0; i < c->threads; i++)
		if (pthread_create(&threads[i], NULL, pairs_thread, (void *)c))
			_exit(99);
	for (int i = 0; i < c->threads; i++)
		pthread_join(threads[i], NULL);
	if (!c->threads)
		pairs_play(c->pairs, c->populate_bytes);
	/* the second read ends with the parent's end, if not before */
	if (write(done, &byte, 1) != 1 || read(go, &byte, 1) < 0)
		_exit(99);
	_exit(0);
}

static void byte_from(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

static struct child child_start(int pairs, int threads, size_t populate_bytes)
{
	struct child c = { .pairs = pairs, .threads = threads, .populate_bytes = populate_bytes };
	int go[2], done[2];

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(go[1]);
		close(done[0]);
		child_play(&c, go[0], done[1]);
	}
	close(go[0]);
	close(done[1]);
	c.go = go[1];
	c.done = done[0];
	byte_from(c.done);
	return c;
}

static void child_run(const struct child *c)
{
	assert_int_equal(write(c->go, "", 1), 1);
	byte_from(c->done);
}

static void child_end(struct child *c)
{
	int status;

	close(c->go);
	close(c->done);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}

/* --- the programs --- */

static struct bpf_load *load(const char *force, bool filter)
{
	struct bpf_load_opts opts = { .min_wait_ns = MIN_WAIT_NS,
				      .faults = true,
				      .filter_mm = filter,
				      .cgroup_fd = -1,
				      .ring_bytes = 16u << 20,
				      .own_tgid = (u64)getpid(),
				      .force = force };
	struct error e = { 0 };
	struct bpf_load *l;

	if (bpf_load_new(&opts, &syms, &l, &e))
		fail_msg("%s", e.msg);
	return l;
}

static void attach(struct bpf_load *l)
{
	struct error e = { 0 };

	if (bpf_load_attach(l, &e))
		fail_msg("%s", e.msg);
}

/* Takes the programs off and reads everything. */
static void finish(struct bpf_load *l, struct seen *s)
{
	struct ring_buffer *ring = ring_buffer__new(bpf_load_ring_fd(l), see, s, NULL);
	struct error e = { 0 };
	u64 first, last;

	assert_non_null(ring);
	bpf_load_detach(l);
	assert_true(ring_buffer__consume(ring) >= 0);
	ring_buffer__free(ring);
	if (bpf_load_snapshot(l, 0, true, see_many, s, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(bpf_load_take_lost(l, &first, &last), 0);
	assert_int_equal(bpf_load_refused(l), 0);
}

static void count_alive(const char *force, int pairs)
{
	struct child c = child_start(pairs, 0, 0);
	struct seen s = { .tgid = (u32)c.pid };
	struct bpf_load *l = load(force, false);

	attach(l);
	child_run(&c);
	finish(l, &s);
	/* munmap starts once and acquires twice: the second is its downgrade, which is no wait */
	assert_int_equal(s.alive.wait[1].count, 2 * pairs);
	assert_int_equal(s.alive.hold[1].count, 2 * pairs);
	assert_int_equal(s.alive.wait[0].count, 0);
	assert_int_equal(s.alive.hold[0].count, pairs);
	assert_int_equal(s.dead.wait[1].count, 0);
	bpf_load_free(l);
	child_end(&c);
}

static void test_counts_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++)
		count_alive(rungs[i], 1000);
}

/* Its threads end before it does, and it ends before the programs are taken off. */
static struct seen count_dead(const char *force, int pairs, int threads, size_t populate_bytes)
{
	struct child c = child_start(pairs, threads, populate_bytes);
	struct seen s = { .tgid = (u32)c.pid };
	struct bpf_load *l = load(force, false);

	attach(l);
	child_run(&c);
	child_end(&c);
	finish(l, &s);
	bpf_load_free(l);
	return s;
}

static void dead_counts(const char *force, int threads, u64 slack)
{
	struct seen few = count_dead(force, 10, threads, 0);
	struct seen many = count_dead(force, 510, threads, 0);
	u64 more = 2 * 500 * (u64)(threads ? threads : 1);

	assert_int_equal(few.alive.hold[1].count, 0);
	assert_int_equal(many.alive.hold[1].count, 0);
	/* what exit and the starts of threads take themselves is in both */
	assert_in_range(many.dead.hold[1].count - few.dead.hold[1].count, more - slack,
			more + slack);
	assert_in_range(many.dead.wait[1].count - few.dead.wait[1].count, more - slack,
			more + slack);
	assert_int_equal(few.forks, threads);
	assert_int_equal(few.exits, threads + 1);
}

static void test_the_dead_count_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
		dead_counts(rungs[i], 0, 0);
		/* libraries (the sanitizers' above all) map a few times more or less for threads */
		dead_counts(rungs[i], 3, 20);
	}
}

static u64 slow_waits(const struct bpf_rec_totals *t)
{
	u64 n = 0;

	for (int w = 0; w < 2; w++)
		for (int i = 2; i < BPF_LOG10_BUCKETS; i++) /* [10 us, ... */
			n += t->wait[w].log10[i];
	return n;
}

/* Every wait of min_wait_ns is told, no shorter one, and each with a stack that was told. */
static void test_what_is_told_is_what_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
		struct seen s = count_dead(rungs[i], 100, 4, 1 << 20);

		assert_int_equal(s.waits - s.retry_waits, slow_waits(&s.dead));
		assert_true(s.waits > 0);
		assert_int_equal(s.short_waits, 0);
		assert_int_equal(s.strange, 0);
		assert_int_equal(s.untold_stacks, 0);
		assert_int_equal(s.open, 0);
	}
}

static void filter(const char *force)
{
	struct child in = child_start(200, 0, 0), out = child_start(200, 0, 0);
	struct seen watched = { .tgid = (u32)in.pid }, other = { .tgid = (u32)out.pid };
	struct bpf_load *l = load(force, true);
	struct error e = { 0 };

	assert_int_equal(bpf_load_watch(l, in.pid, &e), 0);
	attach(l);
	child_run(&in);
	child_run(&out);
	finish(l, &watched);
	assert_int_equal(bpf_load_snapshot(l, 0, true, see_many, &other, &e), 0);
	assert_int_equal(watched.alive.wait[1].count, 400);
	assert_int_equal(other.alive.wait[1].count, 0);
	bpf_load_free(l);
	child_end(&out); /* it has the pipes of the first, too */
	child_end(&in);
}

static void test_filter_by_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++)
		filter(rungs[i]);
}

/* A watched shell: what it forks and execs is watched, before and behind the exec. */
static void test_filter_follows_children(void **state)
{
	struct bpf_load *l = load(NULL, true);
	struct error e = { 0 };
	struct seen s = { 0 };
	int gate[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(gate[1]);
		if (read(gate[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "(/bin/true); exit 0", NULL);
		_exit(99);
	}
	assert_int_equal(bpf_load_watch(l, pid, &e), 0);
	attach(l);
	assert_int_equal(write(gate[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	s.tgid = (u32)pid;
	finish(l, &s);
	assert_int_equal(s.execs, 1);
	assert_int_equal(s.exits, 1);
	assert_true(s.forks >= 1);
	/* the loader of a program maps its libraries */
	assert_true(s.dead.wait[1].count > 10);
	bpf_load_free(l);
	close(gate[0]);
	close(gate[1]);
}

static const struct bpf_rung *rung_named(const struct bpf_load *l, const char *part)
{
	const struct bpf_rungs *r = bpf_load_rungs(l);

	for (size_t i = 0; i < r->list.n; i++)
		if (!strcmp(r->list.v[i].part, part))
			return &r->list.v[i];
	fail_msg("no rung of %s", part);
	return NULL;
}

static void test_rungs_are_said(void **state)
{
	static const char *const events[] = { "tp_btf", "tp_btf", "raw_tp", "tracepoint" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
		struct bpf_load *l = load(rungs[i], false);

		assert_string_equal(rung_named(l, "mmap_lock events")->how, events[i]);
		assert_string_equal(rung_named(l, "state")->how, i ? "hash map" : "task storage");
		assert_int_equal(!rung_named(l, "state")->why[0], !i);
		assert_non_null(rung_named(l, "sleeps")->how);
		bpf_load_free(l);
	}
}

static void test_no_such_rung(void **state)
{
	struct bpf_load_opts opts = { .cgroup_fd = -1, .ring_bytes = 1 << 20, .force = "ladder" };
	struct bpf_load *l = (void *)1;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(bpf_load_new(&opts, &syms, &l, &e), -EINVAL);
	assert_null(l);
	assert_non_null(strstr(e.msg, "ladder"));
}

/* Without functions' addresses the sleeps are left out, and the rest goes on. */
static void test_without_kallsyms(void **state)
{
	struct bpf_load_opts opts = { .cgroup_fd = -1, .ring_bytes = 1 << 20 };
	struct kallsyms none = { 0 };
	struct error e = { 0 };
	struct bpf_load *l;

	(void)state;
	assert_int_equal(bpf_load_new(&opts, &none, &l, &e), 0);
	assert_null(rung_named(l, "sleeps")->how);
	assert_non_null(strstr(rung_named(l, "sleeps")->why, "kallsyms"));
	attach(l);
	bpf_load_free(l);
}

static void test_not_allowed(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct bpf_load_opts opts = { .cgroup_fd = -1, .ring_bytes = 1 << 20 };
		struct error e = { 0 };
		struct bpf_load *l;

		if (setgid(65534) || setuid(65534))
			_exit(99);
		if (bpf_load_new(&opts, &syms, &l, &e) != -EPERM || !strstr(e.msg, "root"))
			_exit(1);
		_exit(NOT_LOADED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), NOT_LOADED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_are_exact),
		cmocka_unit_test(test_the_dead_count_too),
		cmocka_unit_test(test_what_is_told_is_what_counts),
		cmocka_unit_test(test_filter_by_process),
		cmocka_unit_test(test_filter_follows_children),
		cmocka_unit_test(test_rungs_are_said),
		cmocka_unit_test(test_no_such_rung),
		cmocka_unit_test(test_without_kallsyms),
		cmocka_unit_test(test_not_allowed),
	};
	struct error e = { 0 };
	int failed;

	if (geteuid()) {
		puts("skipped: loading BPF programs needs root");
		return 77;
	}
	if (kallsyms_read(&syms, "", &e)) {
		printf("skipped: %s\n", e.msg);
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	kallsyms_done(&syms);
	return failed ? 1 : 0;
}
