/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_bpf_capture.c: live/bpf_capture over a true BPF ring buffer, with a double of bpf_load that
 * fills it by running a BPF program of a few instructions. Needs the right to load one.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "live/bpf_capture.h"
#include "wire/bpf_record.h"

#define RING_BYTES 4096

/* --- the double --- */

struct bpf_load {
	int map_fd;
	struct bpf_rungs rungs;
	u64 lost, snapshot_age_ns;
	bool attached, snapshot_totals;
};
static struct bpf_load *the_load; /* of the test that runs */

int bpf_load_new(const struct bpf_load_opts *opts, const struct kallsyms *syms,
		 struct bpf_load **ret, struct error *e)
{
	struct bpf_load *l = calloc(1, sizeof(*l));
	struct bpf_rung *r;

	(void)syms;
	assert_non_null(l);
	l->map_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, (u32)opts->ring_bytes, NULL);
	if (l->map_fd < 0) {
		int code = error_set(e, -errno, "no BPF ring buffer: %s", strerror(errno));

		free(l);
		return code;
	}
	r = vec_push(&l->rungs.list);
	*r = (struct bpf_rung){ .part = "state", .how = "hash map", .why = "no task storage" };
	r = vec_push(&l->rungs.list);
	*r = (struct bpf_rung){ .part = "page faults", .how = NULL, .why = "no event" };
	*ret = the_load = l;
	return 0;
}

void bpf_load_free(struct bpf_load *l)
{
	if (!l)
		return;
	close(l->map_fd);
	vec_done(&l->rungs.list);
	free(l);
	the_load = NULL;
}

int bpf_load_watch(struct bpf_load *l, pid_t tgid, struct error *e)
{
	(void)l;
	return tgid == 1 ? error_set(e, -EINVAL, "not that one") : 0;
}

int bpf_load_attach(struct bpf_load *l, struct error *e)
{
	(void)e;
	l->attached = true;
	return 0;
}

void bpf_load_detach(struct bpf_load *l)
{
	l->attached = false;
}

const struct bpf_rungs *bpf_load_rungs(const struct bpf_load *l)
{
	return &l->rungs;
}

int bpf_load_ring_fd(const struct bpf_load *l)
{
	return l->map_fd;
}

u64 bpf_load_untold_holds(const struct bpf_load *l)
{
	(void)l;
	return 7;
}

u64 bpf_load_refused(const struct bpf_load *l)
{
	(void)l;
	return 3;
}

u64 bpf_load_take_lost(struct bpf_load *l, u64 *ret_first_ns, u64 *ret_last_ns)
{
	*ret_first_ns = 10;
	*ret_last_ns = 20;
	return l->lost;
}

int bpf_load_snapshot(struct bpf_load *l, u64 min_age_ns, bool totals,
		      int (*sink)(void *ctx, const void *records, size_t len), void *ctx,
		      struct error *e)
{
	struct bpf_rec_totals t = { .head = { BREC_TOTALS, sizeof(t), 0, 1 } };

	(void)e;
	l->snapshot_age_ns = min_age_ns;
	l->snapshot_totals = totals;
	return totals ? sink(ctx, &t, sizeof(t)) : 0;
}

/* Puts a record into the ring as a BPF program does; false when there is no room. */
static bool produce(const void *record, u32 size)
{
	int array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "record", 4, size, 1, NULL);
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = the_load->map_fd },
		{ 0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = array },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = (s32)size },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_4,
		  .imm = BPF_RB_NO_WAKEUP },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, load, .prog_flags = BPF_F_SLEEPABLE);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	u32 key = 0;
	int fd, code;

	assert_true(array >= 0);
	assert_int_equal(bpf_map_update_elem(array, &key, record, BPF_ANY), 0);
	fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "put", "GPL", insns, ARRAY_LEN(insns), &load);
	assert_true(fd >= 0);
	code = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	close(array);
	assert_int_equal(code, 0);
	return run.retval == 0;
}

/* --- what comes out --- */

struct out {
	char text[512]; /* a letter for each record but notes */
	char notes[4096];
	struct bpf_rec_lost lost;
	u32 fail_kind;
	int code;
};

static int take(void *ctx, const void *records, size_t len)
{
	struct out *o = ctx;
	const char *p = records;
	struct bpf_rec_head head;

	for (size_t at = 0; at < len; at += head.size) {
		struct bpf_rec_note note;

		memcpy(&head, p + at, sizeof(head));
		assert_true(head.size >= sizeof(head) && head.size <= len - at);
		if (head.kind == o->fail_kind)
			return o->code;
		if (head.kind == BREC_LOST)
			memcpy(&o->lost, p + at, sizeof(o->lost));
		if (head.kind == BREC_NOTE) {
			memcpy(&note, p + at, sizeof(note));
			snprintf(o->notes + strlen(o->notes), sizeof(o->notes) - strlen(o->notes),
				 "%.*s\n", (int)note.text_bytes,
				 p + at + offsetof(struct bpf_rec_note, text));
		} else {
			snprintf(o->text + strlen(o->text), sizeof(o->text) - strlen(o->text), "%c",
				 "?WHLFPKTXSN"[head.kind < 11 ? head.kind : 0]);
		}
	}
	return 0;
}

static struct bpf_capture *start(struct out *o)
{
	const struct bpf_load_opts opts = {
		.min_wait_ns = 10000, .ring_bytes = RING_BYTES, .own_tgid = 7, .cgroup_fd = -1
	};
	struct bpf_capture *c = NULL;
	struct error e = { 0 };

	memset(o, 0, sizeof(*o));
	assert_int_equal(bpf_capture_new(&opts, take, o, &c, &e), 0);
	assert_int_equal(bpf_capture_watch(c, 2, &e), 0);
	assert_int_equal(bpf_capture_watch(c, 1, &e), -EINVAL);
	assert_string_equal(o->notes, "");
	assert_int_equal(bpf_capture_start(c, &e), 0);
	assert_true(the_load->attached);
	return c;
}

static void put(u16 kind, u32 room, u16 size)
{
	_Alignas(8) char buf[1024] = { 0 };
	struct bpf_rec_head head = { .kind = kind, .size = size };

	memcpy(buf, &head, sizeof(head));
	assert_true(produce(buf, room));
}

static void the_notes_describe_the_recording(void **state)
{
	static const char *const wanted[] = { "kernel=",
					      "machine=",
					      "cpus=",
					      "start_ns=",
					      "realtime_offset_ns=",
					      "min_ns=10000\n",
					      "ring_bytes=4096\n",
					      "own_tgid=7\n",
					      "filter=none\n",
					      "rung.state=hash map (no task storage)\n",
					      "rung.page faults=none (no event)\n" };
	struct out o;
	struct bpf_capture *c = start(&o);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (!strstr(o.notes, wanted[i]))
			fail_msg("%s is not in:\n%s", wanted[i], o.notes);
	assert_string_equal(o.text, "");
	bpf_capture_free(c);
}

static void a_drain_tells_records_and_losses(void **state)
{
	struct error e = { 0 };
	struct out o;
	struct bpf_capture *c = start(&o);

	(void)state;
	assert_int_equal(bpf_capture_drain(c, &e), 0);
	assert_string_equal(o.text, "");
	put(BREC_WAIT, 24, 24);
	put(BREC_HOLD, 512, 24); /* more room than it needed */
	put(BREC_STACK, 48, 48);
	put(BREC_SLEEP, 24, 4000); /* a size that cannot be: left out, and nothing behind it is */
	put(BREC_WAIT, 24, 24);
	the_load->lost = 5;
	assert_int_equal(bpf_capture_drain(c, &e), 0);
	assert_string_equal(o.text, "WHKWX");
	assert_int_equal(o.lost.n, 5);
	assert_int_equal(o.lost.first_ns, 10);
	assert_int_equal(o.lost.last_ns, 20);
	/* told once, then what is new */
	assert_int_equal(bpf_capture_drain(c, &e), 0);
	the_load->lost = 6;
	assert_int_equal(bpf_capture_drain(c, &e), 0);
	assert_string_equal(o.text, "WHKWXX");
	assert_int_equal(o.lost.n, 1);
	assert_int_equal(bpf_capture_counts(c)->lost, 6);
	assert_int_equal(bpf_capture_counts(c)->records, 4);
	assert_int_equal(bpf_capture_counts(c)->stacks, 1);
	bpf_capture_free(c);
}

static void what_was_drained_makes_room(void **state)
{
	_Alignas(8) char buf[256] = { 0 };
	struct bpf_rec_head head = { .kind = BREC_WAIT, .size = sizeof(buf) };
	struct error e = { 0 };
	struct out o;
	struct bpf_capture *c = start(&o);

	(void)state;
	memcpy(buf, &head, sizeof(head));
	for (int round = 0; round < 4; round++) {
		u32 n = 0;

		while (produce(buf, sizeof(buf)))
			n++;
		assert_true(n > 10 && n < 16);
		o.text[0] = '\0';
		assert_int_equal(bpf_capture_drain(c, &e), 0);
		assert_int_equal(strlen(o.text), n);
	}
	bpf_capture_free(c);
}

static void the_sinks_error_comes_back(void **state)
{
	struct error e = { 0 };
	struct out o;
	struct bpf_capture *c = start(&o);

	(void)state;
	put(BREC_WAIT, 24, 24);
	put(BREC_HOLD, 24, 24);
	put(BREC_WAIT, 24, 24);
	o.fail_kind = BREC_HOLD;
	o.code = -ENOSPC;
	error_set(&e, -ENOSPC, "said by the sink");
	assert_int_equal(bpf_capture_drain(c, &e), -ENOSPC);
	assert_string_equal(e.msg, "said by the sink");
	error_clear(&e);
	assert_int_equal(bpf_capture_drain(c, &e), 0);
	assert_string_equal(o.text, "WW");
	the_load->lost = 1;
	o.fail_kind = BREC_LOST;
	assert_int_equal(bpf_capture_drain(c, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, strerror(ENOSPC)));
	bpf_capture_free(c);
}

static void stop_reads_the_rest(void **state)
{
	struct error e = { 0 };
	struct out o;
	struct bpf_capture *c = start(&o);

	(void)state;
	assert_int_equal(bpf_capture_snapshot(c, 77, false, &e), 0);
	assert_int_equal(the_load->snapshot_age_ns, 77);
	assert_false(the_load->snapshot_totals);
	put(BREC_WAIT, 24, 24);
	o.notes[0] = '\0';
	assert_int_equal(bpf_capture_stop(c, &e), 0);
	assert_false(the_load->attached);
	assert_string_equal(o.text, "TW");
	assert_non_null(strstr(o.notes, "end_ns="));
	assert_int_equal(bpf_capture_stop(c, &e), 0);
	assert_string_equal(o.text, "TW");
	bpf_capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_notes_describe_the_recording),
		cmocka_unit_test(a_drain_tells_records_and_losses),
		cmocka_unit_test(what_was_drained_makes_room),
		cmocka_unit_test(the_sinks_error_comes_back),
		cmocka_unit_test(stop_reads_the_rest),
	};
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_BYTES, NULL);

	if (fd < 0) {
		printf("no BPF ring buffer may be made here: %s\n", strerror(errno));
		return 77;
	}
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
