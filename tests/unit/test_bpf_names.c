/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bpf_names.c: live/bpf_names: SYMBOL records in front of the STACK records that need them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "live/bpf_names.h"
#include "wire/bpf_record.h"

/* What came out: one letter per record, "s(name)" for a symbol. */
struct out {
	char text[4096];
	char bytes[65536];
	size_t len;
	int fail_after; /* calls; 0 = never */
	int code;
};

static int take(void *ctx, const void *records, size_t len)
{
	struct out *o = ctx;
	const char *p = records;
	struct bpf_rec_head head;

	if (o->fail_after && !--o->fail_after)
		return o->code;
	assert_true(len && o->len + len <= sizeof(o->bytes));
	memcpy(o->bytes + o->len, records, len);
	o->len += len;
	for (size_t at = 0; at < len; at += head.size) {
		char *end = o->text + strlen(o->text);
		size_t left = sizeof(o->text) - strlen(o->text);

		memcpy(&head, p + at, sizeof(head));
		assert_true(head.size >= sizeof(head) && head.size % 8 == 0 &&
			    head.size <= len - at && head.size <= BPF_MAX_RECORD_BYTES);
		if (head.kind == BREC_SYMBOL) {
			struct bpf_rec_symbol s;

			memcpy(&s, p + at, sizeof(s));
			assert_true(s.start < s.end);
			assert_true(s.name_bytes <=
				    head.size - offsetof(struct bpf_rec_symbol, name));
			snprintf(end, left, "%c(%.*s)", s.tgid ? 'u' : 's', (int)s.name_bytes,
				 p + at + offsetof(struct bpf_rec_symbol, name));
		} else {
			snprintf(end, left, "%c", "?WHLFPKTXSN"[head.kind < 11 ? head.kind : 0]);
		}
	}
	return 0;
}

static struct kallsym table[] = {
	{ 0x1000, 0x1100, "schedule" },
	{ 0x1100, 0x1200, "io_schedule" },
	{ 0x2000, 0x2100, "filemap_fault" },
};
static const struct kallsyms syms = { .list = { table, 3, 3 } };

static size_t stack(char *buf, u32 flags, u32 tgid, u32 n, const u64 *frames)
{
	struct bpf_rec_stack *s = (struct bpf_rec_stack *)buf;

	memset(s, 0, sizeof(*s));
	s->head.kind = BREC_STACK;
	s->head.size = (u16)(sizeof(*s) + n * sizeof(u64));
	s->id = 1;
	s->n = n;
	s->flags = flags;
	s->tgid = tgid;
	memcpy(s->frames, frames, n * sizeof(u64));
	return s->head.size;
}

static size_t other(char *buf, u16 kind)
{
	struct bpf_rec_head head = { .kind = kind, .size = 24 };

	memset(buf, 0, 24);
	memcpy(buf, &head, sizeof(head));
	return 24;
}

static struct bpf_names *start(struct out *o, bool user)
{
	const struct bpf_names_opts opts = { .syms = &syms, .user = user, .root = "" };
	struct bpf_names *n;

	memset(o, 0, sizeof(*o));
	n = bpf_names_new(&opts, take, o);
	assert_non_null(n);
	return n;
}

static void symbols_come_before_their_stack(void **state)
{
	static const u64 first[] = { 0x1010, 0x1020, 0x2010, 0x9000 },
			 second[] = { 0x1150, 0x1010 };
	_Alignas(8) char buf[1024];
	struct bpf_names_counts counts;
	struct out o;
	struct bpf_names *n = start(&o, false);
	size_t len = 0;

	(void)state;
	len += other(buf + len, BREC_WAIT);
	len += other(buf + len, BREC_HOLD);
	len += stack(buf + len, 0, 0, 4, first);
	len += other(buf + len, BREC_WAIT);
	len += stack(buf + len, 0, 0, 2, second);
	len += other(buf + len, BREC_SLEEP);
	assert_int_equal(bpf_names_feed(n, buf, len), 0);
	assert_string_equal(o.text, "WHs(schedule)s(filemap_fault)KWs(io_schedule)KL");
	bpf_names_get_counts(n, &counts);
	assert_int_equal(counts.records, 6);
	assert_int_equal(counts.bytes, len);
	assert_int_equal(counts.stacks, 2);
	assert_int_equal(counts.symbols, 3);
	assert_int_equal(counts.symbols_missing, 1);
	assert_int_equal(counts.refused, 0);
	bpf_names_free(n);
	bpf_names_free(NULL);
}

/* All but the innermost frame are return addresses: the call before counts. */
static void a_call_at_the_end_of_a_function(void **state)
{
	static const u64 frames[] = { 0x1100, 0x1100, 0 }, zero_first[] = { 0, 0x2000, 0x2100 };
	_Alignas(8) char buf[256];
	struct out o;
	struct bpf_names *n = start(&o, false);

	(void)state;
	assert_int_equal(bpf_names_feed(n, buf, stack(buf, 0, 0, 3, frames)), 0);
	assert_string_equal(o.text, "s(io_schedule)s(schedule)K");
	assert_int_equal(bpf_names_feed(n, buf, stack(buf, 0, 0, 3, zero_first)), 0);
	assert_string_equal(o.text, "s(io_schedule)s(schedule)Ks(filemap_fault)K");
	bpf_names_free(n);
}

static void records_pass_unchanged(void **state)
{
	static const u64 frames[] = { 0x9000 };
	_Alignas(8) char buf[1024];
	struct out o;
	struct bpf_names *n = start(&o, false);
	size_t len = other(buf, BREC_WAIT);

	(void)state;
	len += stack(buf + len, 0, 0, 1, frames);
	len += other(buf + len, 999); /* a kind of a later version */
	assert_int_equal(bpf_names_feed(n, buf, len), 0);
	assert_int_equal(o.len, len);
	assert_memory_equal(o.bytes, buf, len);
	bpf_names_free(n);
}

static void hostile_records(void **state)
{
	static const u16 sizes[] = { 0, 8, 15, 20, 48, 4104, 65535 };
	static const u64 frames[] = { 0x1010, 0x1010 };
	char *exact = malloc(64); /* ASan sees one byte too many */
	struct bpf_names_counts counts;
	_Alignas(8) char buf[256];
	struct out o;
	struct bpf_names *n = start(&o, false);
	struct bpf_rec_head head;
	u32 frame_count = 0xffffffff;

	(void)state;
	assert_non_null(exact);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		other(exact, BREC_WAIT);
		other(exact + 24, BREC_STACK);
		memcpy(exact + 24 + offsetof(struct bpf_rec_head, size), &sizes[i], 2);
		assert_int_equal(bpf_names_feed(n, exact, 64), 0);
		bpf_names_get_counts(n, &counts);
		assert_int_equal(counts.refused, i + 1);
	}
	assert_string_equal(o.text, "WWWWWWW");
	/* a stack too short for its own head, and one that claims more frames than it has */
	o.text[0] = '\0';
	assert_int_equal(bpf_names_feed(n, exact, other(exact, BREC_STACK)), 0);
	stack(buf, 0, 0, 2, frames);
	memcpy(buf + offsetof(struct bpf_rec_stack, n), &frame_count, 4);
	memcpy(&head, buf, sizeof(head));
	memcpy(exact, buf, head.size);
	assert_int_equal(bpf_names_feed(n, exact, head.size), 0);
	assert_string_equal(o.text, "Ks(schedule)K");
	free(exact);
	bpf_names_free(n);
}

static void what_the_sink_returns_comes_back(void **state)
{
	static const u64 frames[] = { 0x1010 };
	_Alignas(8) char buf[256];

	(void)state;
	for (int at = 1; at <= 3; at++) {
		struct out o;
		struct bpf_names *n = start(&o, false);
		size_t len = other(buf, BREC_WAIT);

		len += stack(buf + len, 0, 0, 1, frames);
		o.fail_after = at; /* the WAIT, the SYMBOL, the STACK */
		o.code = -ENOSPC;
		assert_int_equal(bpf_names_feed(n, buf, len), -ENOSPC);
		bpf_names_free(n);
	}
}

static void texts_are_cut_at_what_a_record_holds(void **state)
{
	char *name = malloc(8000);
	struct bpf_rec_note note;
	struct out o = { 0 };

	(void)state;
	assert_non_null(name);
	memset(name, 'n', 8000);
	assert_int_equal(bpf_names_tell_symbol(take, &o, 0, 1, 2, name, 8000), 0);
	assert_int_equal(o.len, BPF_MAX_RECORD_BYTES);
	o.len = 0;
	name[7999] = '\0';
	assert_int_equal(bpf_names_tell_note(take, &o, "key=%s", name), 0);
	assert_int_equal(o.len, BPF_MAX_RECORD_BYTES);
	o.len = 0;
	assert_int_equal(bpf_names_tell_note(take, &o, "min_ns=%d", 7), 0);
	memcpy(&note, o.bytes, sizeof(note));
	assert_int_equal(o.len, note.head.size);
	assert_int_equal(note.text_bytes, 8);
	assert_memory_equal(o.bytes + offsetof(struct bpf_rec_note, text), "min_ns=7", 8);
	free(name);
}

static __attribute__((noinline)) int a_user_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void user_frames_of_this_process(void **state)
{
	const u64 frames[] = { (u64)(uintptr_t)a_user_function + 1 };
	const struct bpf_rec_process exec = { .head = { BREC_PROCESS, sizeof(exec), 0, 0 },
					      .who.tgid = (u32)getpid(),
					      .what = BPROC_EXEC };
	struct bpf_names_counts counts;
	_Alignas(8) char buf[256];
	struct out o;
	struct bpf_names *n = start(&o, true);
	size_t len = stack(buf, BFLAG_USER, (u32)getpid(), 1, frames);

	(void)state;
	a_user_function(1);
	for (int i = 0; i < 20 && !strchr(o.text, 'u'); i++) { /* a slow machine answers later */
		assert_int_equal(bpf_names_round(n), 0);
		o.text[0] = '\0';
		assert_int_equal(bpf_names_feed(n, buf, len), 0);
	}
	assert_non_null(strstr(o.text, "u(a_user_function)"));
	o.text[0] = '\0';
	assert_int_equal(bpf_names_feed(n, buf, len), 0);
	assert_string_equal(o.text, "K");
	/* addresses of a new program are asked for anew */
	for (int i = 0; i < 20 && !strchr(o.text, 'u'); i++) {
		assert_int_equal(bpf_names_round(n), 0);
		assert_int_equal(bpf_names_feed(n, &exec, sizeof(exec)), 0);
		o.text[0] = '\0';
		assert_int_equal(bpf_names_feed(n, buf, len), 0);
	}
	assert_non_null(strstr(o.text, "u(a_user_function)"));
	bpf_names_get_counts(n, &counts);
	assert_int_equal(counts.maps_timeouts, 0);
	bpf_names_free(n);

	/* without --user-stacks nobody is asked */
	n = start(&o, false);
	assert_int_equal(bpf_names_feed(n, buf, len), 0);
	assert_string_equal(o.text, "K");
	bpf_names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_come_before_their_stack),
		cmocka_unit_test(a_call_at_the_end_of_a_function),
		cmocka_unit_test(records_pass_unchanged),
		cmocka_unit_test(hostile_records),
		cmocka_unit_test(what_the_sink_returns_comes_back),
		cmocka_unit_test(texts_are_cut_at_what_a_record_holds),
		cmocka_unit_test(user_frames_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
