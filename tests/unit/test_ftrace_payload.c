/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event's text becomes: one case per form, with every field expected. */
#include <stdio.h>

#include "ftrace_harness.h"

/* One event of thread 11 of process 10, "app", on CPU 1. */
static const struct event *decode_one(struct harness *h, const char *payload)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "             app-11      (     10) [001] d..1.   100.000001: %s\n", payload);
	harness_decode(h, line);
	if (h->events.n != 1)
		fail_msg("\"%s\": %zu events", payload, h->events.n);
	assert_classes_sum(h);
	return &h->events.v[0];
}

/* ---- lock events ---- */

static const struct lock_row {
	const char *payload;
	u16 kind;
	u64 mm;
	u32 has; /* beside EVH_TGID */
	u32 write, success;
	const char *caller;
} lock_rows[] = {
	{ "mmap_lock_start_locking: mm=000000009093a1f0 memcg_id=5507 write=false", EV_LOCK_START,
	  0x9093a1f0, EVH_MM | EVH_WRITE, 0, 0, NULL },
	{ "mmap_lock_acquire_returned: mm=ffff888298e13200 memcg_id=5507 write=true success=true",
	  EV_LOCK_ACQUIRED, 0xffff888298e13200, EVH_MM | EVH_WRITE | EVH_SUCCESS, 1, 1, NULL },
	{ "mmap_lock_acquire_returned: mm=1 memcg_id=1 write=false success=false", EV_LOCK_ACQUIRED,
	  1, EVH_MM | EVH_WRITE | EVH_SUCCESS, 0, 0, NULL },
	{ "mmap_lock_acquire_returned: mm=1 memcg_path= write=true", EV_LOCK_ACQUIRED, 1,
	  EVH_MM | EVH_WRITE, 1, 0, NULL },
	{ "mmap_lock_released: mm=1 memcg_path=/user.slice/session-2.scope write=true",
	  EV_LOCK_RELEASED, 1, EVH_MM | EVH_WRITE, 1, 0, NULL },
	{ "mmap_lock_released: mm=1 memcg_path=/a b write=true mm=2 write=false", EV_LOCK_RELEASED,
	  1, EVH_MM | EVH_WRITE, 0, 0, NULL },
	{ "mmap_lock_start_locking: mm=4395a005 memcg_path=/x write=false "
	  "ip=do_user_addr_fault+0x270/0x4d0",
	  EV_LOCK_START, 0x4395a005, EVH_MM | EVH_WRITE, 0, 0, "do_user_addr_fault" },
	{ "mmap_lock_wait_start: pid=11 mm=00000000aaaa0001 write=1", EV_LOCK_WAIT_START,
	  0xaaaa0001, EVH_MM | EVH_WRITE, 1, 0, NULL },
	{ "mmap_lock_wait_end: write=true mm=00000000AAAA0001 pid=11", EV_LOCK_WAIT_END, 0xaaaa0001,
	  EVH_MM | EVH_WRITE, 1, 0, NULL },
	{ "mmap_lock_hold_start: write=0 pid=12 extra mm=0xaaaa0001", EV_LOCK_HOLD_START,
	  0xaaaa0001, EVH_MM | EVH_WRITE | EVH_BAD_PID, 0, 0, NULL },
	{ "mmap_lock_hold_end: mm=(null) write=0", EV_LOCK_HOLD_END, 0, EVH_WRITE, 0, 0, NULL },
	{ "mmap_lock_hold_end: mm=(____ptrval____) write=0", EV_LOCK_HOLD_END, 0, EVH_WRITE, 0, 0,
	  NULL },
	{ "mmap_lock_hold_end: mm=0000000000000000 write=0", EV_LOCK_HOLD_END, 0, EVH_WRITE, 0, 0,
	  NULL },
	{ "mmap_lock_hold_end: comm=a b c mm=5 write=0", EV_LOCK_HOLD_END, 5, EVH_MM | EVH_WRITE, 0,
	  0, NULL },
	{ "mmap_lock_released:   [FAILED TO PARSE] mm=0xffff8881053b9f40 memcg_id=5507 write=1",
	  EV_LOCK_RELEASED, 0xffff8881053b9f40, EVH_MM | EVH_WRITE, 1, 0, NULL },
};

static void test_lock(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lock_rows); i++) {
		const struct lock_row *row = &lock_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);

		if (ev->kind != row->kind || ev->mm != row->mm ||
		    ev->has != (row->has | EVH_TGID) || ev->u.lock.write != row->write ||
		    ev->u.lock.success != row->success)
			fail_msg("\"%s\": kind %u mm %llx has %x write %u success %u", row->payload,
				 ev->kind, (unsigned long long)ev->mm, ev->has, ev->u.lock.write,
				 ev->u.lock.success);
		assert_str_id(&h, ev->u.lock.caller, row->caller);
		assert_int_equal(ftrace_text_stats(h.d)->pid_mismatch, !!(row->has & EVH_BAD_PID));
		harness_done(&h);
	}
}

/* ---- faults ---- */

static const struct fault_row {
	const char *payload;
	u16 kind;
	u32 has;
	u64 mm;
	struct ev_fault f; /* without reason */
	const char *reason;
} fault_rows[] = {
	{ "filemap_fault_begin: pid=11 mm=00000000aaaa0001 vma=00000000bbbb0001 dev=254:3 ino=77 "
	  "pgoff=5 address=0x7000",
	  EV_FAULT_BEGIN,
	  EVH_MM | EVH_VMA | EVH_FILE | EVH_ADDRESS,
	  0xaaaa0001,
	  { .vma = 0xbbbb0001, .address = 0x7000, .ino = 77, .pgoff = 5, .dev = 254u << 20 | 3 },
	  NULL },
	{ "filemap_fault_begin: vma=bbbb0001 address=7000 mm=0xAAAA0001 extra=5 pid=11",
	  EV_FAULT_BEGIN,
	  EVH_MM | EVH_VMA | EVH_ADDRESS,
	  0xaaaa0001,
	  { .vma = 0xbbbb0001, .address = 0x7000 },
	  NULL },
	{ "filemap_fault_begin: ino=77 address=0",
	  EV_FAULT_BEGIN,
	  EVH_ADDRESS,
	  0,
	  { .ino = 77 },
	  NULL },
	{ "filemap_fault_wait_start: reason=folio_lock pid=11",
	  EV_FAULT_WAIT_START,
	  0,
	  0,
	  { 0 },
	  "folio_lock" },
	{ "filemap_fault_wait_end: pid=11 mm=1 vma=2 reason=io",
	  EV_FAULT_WAIT_END,
	  EVH_MM | EVH_VMA,
	  1,
	  { .vma = 2 },
	  "io" },
	{ "filemap_fault_retry: pid=11 mm=1 vma=2 ret=0x400 reason=io",
	  EV_FAULT_RETRY,
	  EVH_MM | EVH_VMA | EVH_RET,
	  1,
	  { .vma = 2, .ret = 0x400 },
	  "io" },
	{ "filemap_fault_end: pid=11 mm=(null) vma=(null) ret=0x200",
	  EV_FAULT_END,
	  EVH_RET,
	  0,
	  { .ret = 0x200 },
	  NULL },
	{ "filemap_fault_end: pid=11 mm=1 vma=2 ret=0x123456789",
	  EV_FAULT_END,
	  EVH_MM | EVH_VMA,
	  1,
	  { .vma = 2 },
	  NULL },
	{ "fault_mmap_lock_fallback: pid=11 mm=1 address=0x7f0000000000 reason=vma_busy",
	  EV_FAULT_FALLBACK,
	  EVH_MM | EVH_ADDRESS,
	  1,
	  { .address = 0x7f0000000000 },
	  "vma_busy" },
};

static void test_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fault_rows); i++) {
		const struct fault_row *row = &fault_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);
		struct ev_fault f = ev->u.fault;

		f.reason = 0;
		if (ev->kind != row->kind || ev->mm != row->mm ||
		    ev->has != (row->has | EVH_TGID) || memcmp(&f, &row->f, sizeof(f)))
			fail_msg("\"%s\": kind %u mm %llx has %x", row->payload, ev->kind,
				 (unsigned long long)ev->mm, ev->has);
		assert_str_id(&h, ev->u.fault.reason, row->reason);
		harness_done(&h);
	}
}

/* ---- VMA writers and readers ---- */

static const struct vma_row {
	const char *payload;
	u16 kind;
	u32 has;
	struct ev_vma v; /* without strings */
	const char *caller, *reason;
} vma_rows[] = {
	{ "vma_start_write_begin: pid=11 mm=1 vma=00000000bbbb0001 vm_start=7000 vm_end=9000 "
	  "had_reader=1 flags=8000075 caller=mprotect_fixup+0x88/0x2c0",
	  EV_VMA_WRITE_BEGIN,
	  EVH_MM | EVH_VMA | EVH_RANGE | EVH_FLAGS,
	  { .vma = 0xbbbb0001,
	    .vm_start = 0x7000,
	    .vm_end = 0x9000,
	    .flags = 0x8000075,
	    .had_reader = 1 },
	  "mprotect_fixup",
	  NULL },
	{ "vma_start_write_wait_start: caller=dup_mmap.constprop.0+0x1c0/0x6b0 [ext4] vm_end=9000 "
	  "vm_start=0x7000 vma=2 mm=1 pid=11",
	  EV_VMA_WRITE_WAIT_START,
	  EVH_MM | EVH_VMA | EVH_RANGE,
	  { .vma = 2, .vm_start = 0x7000, .vm_end = 0x9000 },
	  "dup_mmap.constprop.0",
	  NULL },
	{ "vma_start_write_wait_end: pid=11", EV_VMA_WRITE_WAIT_END, 0, { 0 }, NULL, NULL },
	{ "vma_start_write_done: pid=11 vm_start=7000",
	  EV_VMA_WRITE_DONE,
	  0,
	  { .vm_start = 0x7000 },
	  NULL,
	  NULL },
	{ "vma_start_write_done: pid=11 vm=[7000,9000]",
	  EV_VMA_WRITE_DONE,
	  EVH_RANGE,
	  { .vm_start = 0x7000, .vm_end = 0x9000 },
	  NULL,
	  NULL },
	{ "vma_start_read: pid=11 mm=1 vma=2 vm_start=7f7300000000 vm_end=7f7400000000",
	  EV_VMA_READ,
	  EVH_MM | EVH_VMA | EVH_RANGE,
	  { .vma = 2, .vm_start = 0x7f7300000000, .vm_end = 0x7f7400000000 },
	  NULL,
	  NULL },
	{ "vma_start_read_fail: pid=11 mm=1 vma=2 reason=writer",
	  EV_VMA_READ_FAIL,
	  EVH_MM | EVH_VMA,
	  { .vma = 2 },
	  NULL,
	  "writer" },
	/* the name of begin_v2 is free text */
	{ "vma_start_write_begin_v2: pid=11 tgid=10 comm=x mm=1 vm_start=0 vm_start=7000 "
	  "vm_end=9000 flags=75 caller=f+0x8/0x20 ino=77 dev=254:3",
	  EV_VMA_WRITE_BEGIN_V2,
	  EVH_RANGE | EVH_FLAGS | EVH_FILE,
	  { .vm_start = 0x7000, .vm_end = 0x9000, .flags = 0x75, .ino = 77, .dev = 254u << 20 | 3 },
	  "f",
	  NULL },
	{ "vma_start_write_begin_v2: pid=11 tgid=10 comm=a vma=3 vm_start=7000 vm_end=9000 "
	  "flags=75",
	  EV_VMA_WRITE_BEGIN_V2,
	  EVH_RANGE | EVH_FLAGS,
	  { .vm_start = 0x7000, .vm_end = 0x9000, .flags = 0x75 },
	  NULL,
	  NULL },
	{ "vma_start_write_begin_v2: comm=my app thread mm=00000000aaaa0001 vma=00000000bbbb0001 "
	  "vm_start=7000 vm_end=9000",
	  EV_VMA_WRITE_BEGIN_V2,
	  EVH_MM | EVH_VMA | EVH_RANGE,
	  { .vma = 0xbbbb0001, .vm_start = 0x7000, .vm_end = 0x9000 },
	  NULL,
	  NULL },
	{ "vma_start_write_begin_v2: vm_start=7000 vm_end=9000 comm=a b flags=1 caller=g+0x1/0x2 "
	  "[mod] flags=75",
	  EV_VMA_WRITE_BEGIN_V2,
	  EVH_RANGE | EVH_FLAGS,
	  { .vm_start = 0x7000, .vm_end = 0x9000, .flags = 0x75 },
	  "g",
	  NULL },
};

static void test_vma(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vma_rows); i++) {
		const struct vma_row *row = &vma_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);
		struct ev_vma v = ev->u.vma;

		v.caller = 0;
		v.reason = 0;
		if (ev->kind != row->kind || ev->has != (row->has | EVH_TGID) ||
		    memcmp(&v, &row->v, sizeof(v)))
			fail_msg("\"%s\": kind %u has %x %llx-%llx", row->payload, ev->kind,
				 ev->has, (unsigned long long)v.vm_start,
				 (unsigned long long)v.vm_end);
		assert_str_id(&h, ev->u.vma.caller, row->caller);
		assert_str_id(&h, ev->u.vma.reason, row->reason);
		harness_done(&h);
	}
}

/* ---- *_blocked ---- */

static void test_blocked(void **state)
{
	struct harness h;
	const struct event *ev;

	(void)state;
	ev = decode_one(&h, "vma_start_write_blocked: write_pid=11 write_tgid=10 write_comm=w r "
			    "fault_pid=21 fault_tgid=20 fault_comm=rd thread 3 wait_ns=17968896 "
			    "vm=[7f986e000000,7f9872000000]");
	assert_int_equal(ev->kind, EV_VMA_WRITE_BLOCKED);
	assert_int_equal(ev->has, EVH_TGID | EVH_RANGE);
	assert_int_equal(ev->u.blocked.blocker_tid, 21);
	assert_int_equal(ev->u.blocked.blocker_tgid, 20);
	assert_str_id(&h, ev->u.blocked.blocker_comm, "rd thread 3");
	assert_int_equal(ev->u.blocked.wait_ns, 17968896);
	assert_int_equal(ev->u.blocked.vm_start, 0x7f986e000000);
	assert_int_equal(ev->u.blocked.vm_end, 0x7f9872000000);
	harness_done(&h);

	/* another thread's pid= is no mismatch, its own name may say anything */
	ev = decode_one(
		&h, "vma_start_write_blocked: write_pid=11 write_tgid=10 write_comm=a fault_pid=9 "
		    "b fault_pid=21 fault_tgid=20 fault_comm=c wait_ns=1 wait_ns=5");
	assert_int_equal(ev->has, EVH_TGID);
	assert_int_equal(ev->u.blocked.blocker_tid, 21);
	assert_str_id(&h, ev->u.blocked.blocker_comm, "c wait_ns=1");
	assert_int_equal(ev->u.blocked.wait_ns, 5);
	harness_done(&h);

	ev = decode_one(&h, "mmap_lock_write_blocked: holder_pid=99 holder_tgid=94 "
			    "holder_comm=writer 0 waiter_pid=12 waiter_comm=app wait_ns=3000");
	assert_int_equal(ev->kind, EV_LOCK_WRITE_BLOCKED);
	assert_int_equal(ev->has, EVH_TGID);
	assert_int_equal(ev->u.blocked.blocker_tid, 99);
	assert_int_equal(ev->u.blocked.blocker_tgid, 94);
	assert_str_id(&h, ev->u.blocked.blocker_comm, "writer 0");
	assert_int_equal(ev->u.blocked.wait_ns, 3000);
	harness_done(&h);
}

/* ---- scheduler ---- */

static const struct switch_row {
	const char *payload, *prev, *next;
	u32 prev_tid, next_tid;
	s32 prev_prio, next_prio;
	u32 state;
} switch_rows[] = {
	{ "sched_switch: prev_comm=tr prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=bash "
	  "next_pid=8 next_prio=49",
	  "tr", "bash", 7, 8, 120, 49, SCHED_SLEEPING },
	{ "sched_switch: prev_comm=tr prev_pid=7 prev_prio=-1 prev_state=R+ ==> next_comm=bash "
	  "next_pid=8 next_prio=-1",
	  "tr", "bash", 7, 8, -1, -1, SCHED_RUNNABLE },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=D|K ==> next_comm=b "
	  "next_pid=8 next_prio=2",
	  "a", "b", 7, 8, 1, 2, SCHED_BLOCKED },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=D  ==> next_comm=b "
	  "next_pid=8 next_prio=2",
	  "a", "b", 7, 8, 1, 2, SCHED_BLOCKED },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=S|W ==> next_comm=b "
	  "next_pid=8 next_prio=2",
	  "a", "b", 7, 8, 1, 2, SCHED_SLEEPING },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=x ==> next_comm=b "
	  "next_pid=8 next_prio=2",
	  "a", "b", 7, 8, 1, 2, SCHED_DEAD },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=Z ==> next_comm=b "
	  "next_pid=8 next_prio=2",
	  "a", "b", 7, 8, 1, 2, SCHED_DEAD },
	{ "sched_switch: prev_comm=a prev_pid=7 prev_prio=1 prev_state=I ==> next_comm=b "
	  "next_pid=8 next_prio=2 extra=9",
	  "a", "b", 7, 8, 1, 2, SCHED_SLEEPING },
	{ "sched_switch: prev_comm=x prev_pid=7 y prev_pid=13 prev_prio=120 prev_state=D|K ==> "
	  "next_comm=a next_pid=1 b next_pid=12 next_prio=49",
	  "x prev_pid=7 y", "a next_pid=1 b", 13, 12, 120, 49, SCHED_BLOCKED },
	{ "sched_switch: prev_comm===> next prev_pid=7 prev_prio=120 prev_state=S ==> "
	  "next_comm===> next next_pid=8 next_prio=120",
	  "==> next", "==> next", 7, 8, 120, 120, SCHED_SLEEPING },
	{ "sched_switch: prev_comm=x ==> next_comm= prev_pid=7 prev_prio=120 prev_state=S ==> "
	  "next_comm= next_pid=8 next_prio=120",
	  "x ==> next_comm=", "", 7, 8, 120, 120, SCHED_SLEEPING },
	{ "sched_switch: prev_comm=a_name_longer_than_any_kernel_has prev_pid=7 prev_prio=120 "
	  "prev_state=S ==> next_comm=b next_pid=8 next_prio=120",
	  "a_name_longer_than_any_kernel_has", "b", 7, 8, 120, 120, SCHED_SLEEPING },
	{ "sched_switch:         tr:7 [120] S ==> bash:8 [49]", "tr", "bash", 7, 8, 120, 49,
	  SCHED_SLEEPING },
	{ "sched_switch:         kworker/0:1:7 [120] R+ ==> a:1 [2] b:8 [49]", "kworker/0:1",
	  "a:1 [2] b", 7, 8, 120, 49, SCHED_RUNNABLE },
	{ "sched_switch: task tr:7 [120] (D) ==> bash:8 [49]", "tr", "bash", 7, 8, 120, 49,
	  SCHED_BLOCKED },
	{ "sched_switch: task tr:7 [120] ==> bash:8 [49]", "tr", "bash", 7, 8, 120, 49,
	  SCHED_RUNNABLE },
	/* a latency tracer's line; the first name is the header's */
	{ "  11:120:D ==> [001]  4055: 49:R bash", "app", "bash", 11, 4055, 120, 49,
	  SCHED_BLOCKED },
};

static void test_switch(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(switch_rows); i++) {
		const struct switch_row *row = &switch_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);
		const struct ev_sched *s = &ev->u.sched;

		if (ev->kind != EV_SCHED_SWITCH || s->prev_tid != row->prev_tid ||
		    s->next_tid != row->next_tid || s->prev_prio != row->prev_prio ||
		    s->next_prio != row->next_prio || s->prev_state != row->state)
			fail_msg("\"%s\": kind %u %u %d %u -> %u %d", row->payload, ev->kind,
				 s->prev_tid, s->prev_prio, s->prev_state, s->next_tid,
				 s->next_prio);
		assert_int_equal(ev->has, EVH_TGID | EVH_PRIO);
		assert_str_id(&h, s->prev_comm, row->prev);
		assert_str_id(&h, s->next_comm, row->next);
		assert_int_equal(harness_count(&h, "sched_switch"), 1);
		harness_done(&h);
	}
}

static const struct wake_row {
	const char *payload, *comm;
	u16 kind;
	u32 tid;
	s32 prio;
} wake_rows[] = {
	{ "sched_waking: comm=wl pid=21136 prio=120 target_cpu=000", "wl", EV_SCHED_WAKING, 21136,
	  120 },
	{ "sched_wakeup: comm=debugd pid=4978 prio=120 success=1 target_cpu=000", "debugd",
	  EV_SCHED_WAKEUP, 4978, 120 },
	{ "sched_wakeup_new:      comm=shutils pid=19428 prio=-1 success=1 target_cpu=2", "shutils",
	  EV_SCHED_WAKEUP_NEW, 19428, -1 },
	{ "sched_waking: comm=a pid=1 prio=2 pid=9 prio=120 target_cpu=000", "a pid=1 prio=2",
	  EV_SCHED_WAKING, 9, 120 },
	{ "sched_waking: comm= pid=20799 prio=120 target_cpu=000", "", EV_SCHED_WAKING, 20799,
	  120 },
	{ "sched_wakeup:         wl:21136 [120] success=1 CPU:000", "wl", EV_SCHED_WAKEUP, 21136,
	  120 },
	{ "sched_wakeup:         rcuos/0:9:21136 [120] CPU:000", "rcuos/0:9", EV_SCHED_WAKEUP,
	  21136, 120 },
};

static void test_wake(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wake_rows); i++) {
		const struct wake_row *row = &wake_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);

		if (ev->kind != row->kind || ev->u.wake.tid != row->tid ||
		    ev->u.wake.prio != row->prio || ev->has != (EVH_TGID | EVH_PRIO))
			fail_msg("\"%s\": kind %u tid %u prio %d", row->payload, ev->kind,
				 ev->u.wake.tid, ev->u.wake.prio);
		assert_str_id(&h, ev->u.wake.comm, row->comm);
		harness_done(&h);
	}
}

static void test_process(void **state)
{
	struct harness h;
	const struct event *ev;

	(void)state;
	ev = decode_one(
		&h, "sched_process_fork: comm=ba sh pid=8 child_comm=x child_pid=1 child_pid=9");
	assert_int_equal(ev->kind, EV_PROC_FORK);
	assert_int_equal(ev->u.fork.parent_tid, 8);
	assert_int_equal(ev->u.fork.child_tid, 9);
	assert_str_id(&h, ev->u.fork.parent_comm, "ba sh");
	assert_str_id(&h, ev->u.fork.child_comm, "x child_pid=1");
	harness_done(&h);

	ev = decode_one(&h, "sched_process_exec: filename=/tmp/a pid=1 old_pid=2 pid=9 old_pid=10");
	assert_int_equal(ev->kind, EV_PROC_EXEC);
	assert_int_equal(ev->u.exec.tid, 9);
	assert_int_equal(ev->u.exec.old_tid, 10);
	assert_str_id(&h, ev->u.exec.filename, "/tmp/a pid=1 old_pid=2");
	harness_done(&h);

	ev = decode_one(&h, "sched_process_exit: comm=true pid=9 prio=120");
	assert_int_equal(ev->kind, EV_PROC_EXIT);
	assert_int_equal(ev->u.exit.tid, 9);
	assert_int_equal(ev->u.exit.prio, 120);
	assert_int_equal(ev->u.exit.group_dead, 2);
	assert_str_id(&h, ev->u.exit.comm, "true");
	harness_done(&h);
	ev = decode_one(&h, "sched_process_exit: comm=true pid=9 prio=120 group_dead=true");
	assert_int_equal(ev->u.exit.group_dead, 1);
	harness_done(&h);
	ev = decode_one(&h, "sched_process_exit: comm=true pid=9 prio=120 group_dead=false");
	assert_int_equal(ev->u.exit.group_dead, 0);
	harness_done(&h);

	ev = decode_one(&h, "task_rename: pid=9 oldcomm=ba newcomm=x newcomm=t r oom_score_adj=-5");
	assert_int_equal(ev->kind, EV_TASK_RENAME);
	assert_int_equal(ev->u.rename.tid, 9);
	assert_str_id(&h, ev->u.rename.old_comm, "ba newcomm=x");
	assert_str_id(&h, ev->u.rename.new_comm, "t r");
	harness_done(&h);
	ev = decode_one(&h, "task_rename: oldcomm=bash newcomm=true oom_score_adj=0");
	assert_int_equal(ev->u.rename.tid, 11);
	assert_str_id(&h, ev->u.rename.new_comm, "true");
	harness_done(&h);

	ev = decode_one(&h, "task_newtask: pid=9 comm=b h clone_flags=1200011 oom_score_adj=0");
	assert_int_equal(ev->kind, EV_TASK_NEWTASK);
	assert_int_equal(ev->u.newtask.tid, 9);
	assert_int_equal(ev->u.newtask.clone_flags, 0x1200011);
	assert_str_id(&h, ev->u.newtask.comm, "b h");
	assert_int_equal(ftrace_text_stats(h.d)->pid_mismatch, 0);
	harness_done(&h);
}

/* ---- system calls ---- */

static const struct call_row {
	const char *payload, *name;
	u16 kind;
	u32 call, nr;
	u64 args[6];
} call_rows[] = {
	{ "sys_mmap(addr: 0, len: 2d6d0, prot: 3, flags: 22, fd: ffffffff, off: 1000)",
	  "sys_enter_mmap",
	  EV_CALL_ENTER,
	  CALL_MMAP,
	  UINT32_MAX,
	  { 0, 0x2d6d0, 3, 0x22, 0xffffffff, 0x1000 } },
	{ "sys_mmap(addr: 0, len: 0x2000, prot: 3, flags: 0x22, fd: 0xffffffff, off: 0)",
	  "sys_enter_mmap",
	  EV_CALL_ENTER,
	  CALL_MMAP,
	  UINT32_MAX,
	  { 0, 0x2000, 3, 0x22, 0xffffffff, 0 } },
	{ "sys_mmap -> 0x7faab969c000",
	  "sys_exit_mmap",
	  EV_CALL_EXIT,
	  CALL_MMAP,
	  UINT32_MAX,
	  { 0x7faab969c000 } },
	{ "sys_mmap -> 0xfffffffffffffff4",
	  "sys_exit_mmap",
	  EV_CALL_EXIT,
	  CALL_MMAP,
	  UINT32_MAX,
	  { 0xfffffffffffffff4 } },
	{ "sys_enter_munmap:     addr: 0x7fa03650e000, len: 0x0000af83",
	  "sys_enter_munmap",
	  EV_CALL_ENTER,
	  CALL_MUNMAP,
	  UINT32_MAX,
	  { 0x7fa03650e000, 0xaf83 } },
	{ "sys_enter_munmap:     addr=0x7fa03650e000, len=0x0000af83",
	  "sys_enter_munmap",
	  EV_CALL_ENTER,
	  CALL_MUNMAP,
	  UINT32_MAX,
	  { 0x7fa03650e000, 0xaf83 } },
	{ "sys_exit_munmap:      0x0",
	  "sys_exit_munmap",
	  EV_CALL_EXIT,
	  CALL_MUNMAP,
	  UINT32_MAX,
	  { 0 } },
	{ "sys_madvise(start: 7faab969b000, len_in: 1000, behavior: 4)",
	  "sys_enter_madvise",
	  EV_CALL_ENTER,
	  CALL_MADVISE,
	  UINT32_MAX,
	  { 0x7faab969b000, 0x1000, 4 } },
	{ "sys_execve(filename: 7ffe \"/bin/true\", argv: 1, envp: 2)",
	  "sys_enter_execve",
	  EV_CALL_ENTER,
	  CALL_EXECVE,
	  UINT32_MAX,
	  { 0x7ffe, 1, 2 } },
	{ "sys_brk()", "sys_enter_brk", EV_CALL_ENTER, CALL_BRK, UINT32_MAX, { 0 } },
	{ "sys_enter: NR 9 (0, 2000, 3, 22, ffffffff, 0)",
	  "sys_enter",
	  EV_CALL_ENTER,
	  CALL_MMAP,
	  9,
	  { 0, 0x2000, 3, 0x22, 0xffffffff, 0 } },
	{ "sys_exit: NR 9 = 140370", "sys_exit", EV_CALL_EXIT, CALL_MMAP, 9, { 140370 } },
	{ "sys_exit: NR 11 = -22", "sys_exit", EV_CALL_EXIT, CALL_MUNMAP, 11, { (u64)-22 } },
	{ "sys_enter: NR 142 (e, 1001a717b30, 0, 0, 0, 2008)",
	  "sys_enter",
	  EV_CALL_ENTER,
	  CALL_NONE,
	  142,
	  { 0xe, 0x1001a717b30, 0, 0, 0, 0x2008 } },
	{ "sys_enter: NR 100000 (1, 2, 3, 4, 5, 6)",
	  "sys_enter",
	  EV_CALL_ENTER,
	  CALL_NONE,
	  100000,
	  { 1, 2, 3, 4, 5, 6 } },
	{ "sys_exit: NR -1 = -38", "sys_exit", EV_CALL_EXIT, CALL_NONE, UINT32_MAX, { (u64)-38 } },
};

static void test_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(call_rows); i++) {
		const struct call_row *row = &call_rows[i];
		struct harness h;
		const struct event *ev = decode_one(&h, row->payload);
		u32 has = EVH_TGID | (row->kind == EV_CALL_EXIT ? EVH_RET : 0u);

		if (ev->kind != row->kind || ev->u.call.call != row->call ||
		    ev->u.call.nr != row->nr || ev->has != has ||
		    memcmp(ev->u.call.args, row->args, sizeof(row->args)))
			fail_msg("\"%s\": kind %u call %u nr %u has %x args %llx %llx",
				 row->payload, ev->kind, ev->u.call.call, ev->u.call.nr, ev->has,
				 (unsigned long long)ev->u.call.args[0],
				 (unsigned long long)ev->u.call.args[1]);
		assert_int_equal(harness_count(&h, row->name), 1);
		harness_done(&h);
	}
}

static void test_raw_calls_by_machine(void **state)
{
	static const char text[] =
		"              wl-1       [000] .....  1.000000: sys_enter: NR 222 (1, 2)\n";
	static const struct {
		enum syscall_arch arch;
		u32 call;
	} rows[] = {
		{ ARCH_UNKNOWN, CALL_NONE },
		{ ARCH_X86_64, CALL_NONE },
		{ ARCH_ARM64, CALL_MMAP },
		{ ARCH_I386, CALL_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct ftrace_text_opts opts = { .arch = rows[i].arch };
		struct harness h;

		harness_init(&h, &opts);
		harness_feed(&h, text, sizeof(text) - 1, 0);
		harness_end(&h);
		assert_int_equal(h.events.n, 1);
		assert_int_equal(h.events.v[0].u.call.call, rows[i].call);
		assert_int_equal(h.events.v[0].u.call.nr, 222);
		assert_int_equal(ftrace_text_stats(h.d)->raw_syscalls, 1);
		assert_int_equal(ftrace_text_stats(h.d)->raw_syscalls_unnamed,
				 rows[i].arch == ARCH_UNKNOWN);
		harness_done(&h);
	}
}

/* ---- the rest ---- */

static void test_page_fault(void **state)
{
	struct harness h;
	const struct event *ev;

	(void)state;
	ev = decode_one(
		&h, "page_fault_user: address=0x7f66b49e6353 ip=0x7f66b49e5ed6 error_code=0x14");
	assert_int_equal(ev->kind, EV_PAGE_FAULT_USER);
	assert_int_equal(ev->has, EVH_TGID | EVH_ADDRESS);
	assert_int_equal(ev->u.page_fault.address, 0x7f66b49e6353);
	assert_int_equal(ev->u.page_fault.ip, 0x7f66b49e5ed6);
	assert_int_equal(ev->u.page_fault.error_code, 0x14);
	harness_done(&h);
	ev = decode_one(&h, "page_fault_kernel: address=init_task ip=__put_user_4 error_code=0x3");
	assert_int_equal(ev->kind, EV_PAGE_FAULT_KERNEL);
	assert_int_equal(ev->has, EVH_TGID);
	assert_int_equal(ev->u.page_fault.address, 0);
	assert_int_equal(ev->u.page_fault.ip, 0);
	assert_int_equal(ev->u.page_fault.error_code, 3);
	harness_done(&h);
}

static const struct {
	const char *payload, *name, *text;
} marker_rows[] = {
	{ "tracing_mark_write: B|99|filemap_fault_begin: pid=99 mm=1", "tracing_mark_write",
	  "B|99|filemap_fault_begin: pid=99 mm=1" },
	{ "tracing_mark_write: E", "tracing_mark_write", "E" },
	{ "tracing_mark_write:   indented", "tracing_mark_write", "  indented" },
	{ "print:                tracing_mark_write: B|21136|x", "print", "B|21136|x" },
	{ "0: C|124|VSYNC|1", "0", "C|124|VSYNC|1" },
	{ "bputs: 0xffff0000080feeb8s: equals_event: my_field=foo", "bputs",
	  "0xffff0000080feeb8s: equals_event: my_field=foo" },
};

static void test_markers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(marker_rows); i++) {
		struct harness h;
		const struct event *ev = decode_one(&h, marker_rows[i].payload);

		assert_int_equal(ev->kind, EV_MARKER);
		assert_str_id(&h, ev->u.marker.text, marker_rows[i].text);
		assert_int_equal(harness_count(&h, marker_rows[i].name), 1);
		assert_int_equal(ftrace_text_stats(h.d)->n_names, 1);
		harness_done(&h);
	}
}

/* Lacking or malformed where it matters: the line is counted by its name, the thread ran, no more.
 */
static const char *const bad_fields[] = {
	"mmap_lock_start_locking: mm=000000009093a1f0 memcg_id=5507",
	"mmap_lock_start_locking: mm=000000009093a1f0 memcg_id=5507 write=fals",
	"mmap_lock_start_locking: mm=000000009093a1f0 memcg_id=5507 write=2",
	"mmap_lock_acquire_returned: mm=1 memcg_id=5507 write=true success=tru",
	"mmap_lock_write_blocked: holder_pid=99",
	"mmap_lock_write_blocked: holder_pid=99 wait_ns=99999999999999999999999",
	"vma_start_write_blocked: write_comm=wait_ns=5",
	"sched_switch: prev_comm=tr prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=ba",
	("sched_switch: prev_comm=tr prev_pid=99999999999 prev_prio=120 prev_state=S ==> "
	 "next_comm=b next_pid=1 next_prio=1"),
	"sched_switch: tr:7 [120] S ==> bash",
	"sched_switch:",
	"sched_waking: comm=cat pid",
	"sched_waking: comm=cat pid=5",
	"sched_process_fork: comm=a pid=1 child_comm=b",
	"sched_process_exec: filename=/bin/true",
	"sched_process_exit: comm=a pid=",
	"task_rename: pid=1 oldcomm=a",
	"task_newtask: pid=1 comm=a clone_flags=",
	"page_fault_user: ip=0x7f66b49e5ed6 error_code=0x14",
	"page_fault_user: address= ip=1",
	"sys_mmap -> x",
	"sys_enter: NR x (1)",
	"sys_enter: NR 9",
	"sys_exit: NR 9 = ",
};

static void test_bad_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad_fields); i++) {
		struct harness h;
		const struct event *ev = decode_one(&h, bad_fields[i]);

		if (ev->kind != EV_OTHER || harness_class(&h, LINE_SKIP_BAD_FIELD) != 1)
			fail_msg("\"%s\": kind %u", bad_fields[i], ev->kind);
		assert_int_equal(ev->has, EVH_TGID);
		assert_int_equal(ev->tid, 11);
		assert_int_equal(ev->mm, 0);
		assert_int_equal(ftrace_text_stats(h.d)->n_names, 1);
		assert_int_equal(ftrace_text_stats(h.d)->names[0].n, 1);
		assert_int_equal(ev->name, ftrace_text_stats(h.d)->names[0].name);
		assert_int_equal(h.skipped.n, 1);
		harness_done(&h);
	}
}

/* tgid= counts where the header has none, and is no thread id. */
static void test_own_group(void **state)
{
	struct harness h;

	(void)state;
	harness_decode(
		&h, "             app-11      [001] d..1.   100.000001: vma_start_write_blocked: "
		    "write_pid=11 write_tgid=10 write_comm=a fault_pid=21 wait_ns=5\n");
	assert_int_equal(h.events.v[0].has, EVH_TGID);
	assert_int_equal(h.events.v[0].tgid, 10);
	harness_done(&h);
}

/* Names past the limit are counted together; known events keep their meaning. */
static void test_many_names(void **state)
{
	const struct ftrace_text_opts opts = { 0 };
	struct harness h;
	char line[128];
	u64 sum = 0;
	const struct ftrace_text_stats *st;

	(void)state;
	harness_init(&h, &opts);
	for (u32 i = 0; i < FTRACE_MAX_NAMES + 100; i++) {
		snprintf(line, sizeof(line),
			 "              wl-1       [000] .....  1.000000: odd_%u: x\n", i);
		harness_feed(&h, line, strlen(line), 0);
	}
	snprintf(line, sizeof(line),
		 "              wl-1       [000] .....  1.000000: mmap_lock_hold_start: mm=5 "
		 "write=1\n");
	harness_feed(&h, line, strlen(line), 0);
	harness_end(&h);
	st = ftrace_text_stats(h.d);
	assert_int_equal(h.events.n, FTRACE_MAX_NAMES + 101);
	assert_int_equal(st->n_names, FTRACE_MAX_NAMES);
	for (u32 i = 0; i < st->n_names; i++)
		sum += st->names[i].n;
	assert_int_equal(sum, FTRACE_MAX_NAMES);
	assert_int_equal(st->other_names, 101);
	assert_int_equal(h.events.v[FTRACE_MAX_NAMES].name, 0);
	assert_int_equal(h.events.v[FTRACE_MAX_NAMES + 100].kind, EV_LOCK_HOLD_START);
	assert_int_equal(h.events.v[FTRACE_MAX_NAMES + 100].mm, 5);
	harness_done(&h);
}

/* Any number of different markers must not use up the strings that names need. */
static void test_marker_limit(void **state)
{
	const struct ftrace_text_opts opts = { 0 };
	struct harness h;
	char line[1200];
	u32 without_text = 0;

	(void)state;
	harness_init(&h, &opts);
	for (u32 i = 0; i < 2000; i++) {
		snprintf(line, sizeof(line),
			 "              wl-1       [000] .....  1.000000: tracing_mark_write: "
			 "%01000u\n",
			 i);
		harness_feed(&h, line, strlen(line), 0);
	}
	harness_end(&h);
	for (size_t i = 0; i < h.events.n; i++)
		without_text += !h.events.v[i].u.marker.text;
	assert_int_equal(h.events.n, 2000);
	assert_in_range(without_text, 900, 1000);
	assert_in_range(h.strings.arena.used_bytes, 1, 2u << 20);
	harness_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lock),	     cmocka_unit_test(test_fault),
		cmocka_unit_test(test_vma),	     cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_switch),	     cmocka_unit_test(test_wake),
		cmocka_unit_test(test_process),	     cmocka_unit_test(test_calls),
		cmocka_unit_test(test_page_fault),   cmocka_unit_test(test_raw_calls_by_machine),
		cmocka_unit_test(test_markers),	     cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_own_group),    cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_marker_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
