/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_decode_bpf_oom.c: BPF records decoded while the n-th allocation fails, for every n. The
 * linker sends the project's own allocations here (-Wl,--wrap). There is no crash and no leak (the
 * sanitizers say so), and the decoder either fails with -ENOMEM or says that something was refused.
 */
#include "bpf_harness.h"

#define MS 1000000ULL

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static struct {
	unsigned long n, fail_at; /* 0 = none fails */
} injector;

static bool fails(void)
{
	return injector.fail_at && ++injector.n == injector.fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static int count_event(void *ctx, const struct event *ev, u64 told_ns)
{
	(void)ev;
	(void)told_ns;
	++*(u64 *)ctx;
	return 0;
}

static void make_file(struct bytes *file)
{
	struct bytes records = { 0 };

	add_note(&records, "machine=x86_64");
	for (u32 i = 1; i <= 40; i++) {
		struct bpf_rec_wait w = wait_of(i, i * MS, (i + 1) * MS);
		struct bpf_rec_sleep s = sleep_of(BSLEEP_FAULT, i, i * MS, (i + 1) * MS);

		add_named_stack(&records, i, "schedule handle_userfault handle_mm_fault");
		w.flags = BFLAG_OPEN;
		w.stack = s.stack = i;
		snprintf(w.who.comm, sizeof(w.who.comm), "t%u", i);
		bytes_add(&records, &w, sizeof(w));
		bytes_add(&records, &s, sizeof(s));
	}
	add_header(file);
	add_chunk(file, &records);
	bytes_done(&records);
}

/* One run; how many events came, or a negative errno. *@ret_whole: nothing is missing. */
static s64 decode(const struct bytes *file, unsigned long fail_at, bool *ret_whole)
{
	const struct bpf_decode_ops ops = { .event = count_event };
	struct error e = { 0 };
	struct stacks stacks;
	struct intern strings;
	struct bpf_decoder *d;
	u64 events = 0;
	int err = -ENOMEM;

	intern_init(&strings);
	stacks_init(&stacks);
	injector.n = 0;
	injector.fail_at = fail_at;
	d = bpf_decoder_new(&ops, &events, &strings, &stacks);
	if (d) {
		err = bpf_decoder_feed(d, file->p, file->len, &e);
		if (!err)
			err = bpf_decoder_end(d, &e);
		assert_true(!err || e.code == err);
		*ret_whole = !bpf_decoder_stats(d)->refused_limits && !strings.refused &&
			     !stacks.refused;
	}
	injector.fail_at = 0;
	bpf_decoder_free(d);
	intern_done(&strings);
	stacks_done(&stacks);
	return err ? err : (s64)events;
}

static void test_every_allocation(void **state)
{
	struct bytes file = { 0 };
	unsigned long n = 0, failed = 0;
	bool whole = false;
	s64 got;

	(void)state;
	make_file(&file);
	assert_int_equal(decode(&file, 0, &whole), 3 * 40);
	assert_true(whole);
	do {
		got = decode(&file, ++n, &whole);
		assert_true(got == -ENOMEM || got == 3 * 40);
		failed += got == -ENOMEM;
		/* behind the last allocation none fails */
	} while (n < 10000 && injector.n >= n);
	assert_true(n > 100 && n < 10000);
	assert_true(failed > 20);
	assert_true(got == 3 * 40 && whole);
	bytes_done(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
