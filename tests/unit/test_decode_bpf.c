/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_decode_bpf.c: BPF records to events: every kind, hostile values, stacks, what stays open. */
#include "bpf_harness.h"

#define US 1000ULL
#define MS 1000000ULL

static void assert_common(const struct harness *h, const struct event *ev, u32 tid)
{
	assert_int_equal(ev->tid, tid);
	assert_int_equal(ev->tgid, 100);
	assert_true(ev->has & EVH_TGID);
	assert_string_equal(str_of(h, ev->comm), "app");
	assert_true(ev->has & EVH_SELF_PRIO);
	assert_int_equal(ev->prio, 98);
	assert_int_equal(ev->cpu, 1);
}

static void assert_event(const struct event *ev, enum event_kind kind, u64 time_ns,
			 enum self_state state)
{
	assert_int_equal(ev->kind, kind);
	assert_int_equal(ev->time_ns, time_ns);
	assert_int_equal(ev->state, state);
	assert_int_equal(!!(ev->has & EVH_SELF_STATE), state != SELF_UNKNOWN);
}

static void test_wait(void **state)
{
	struct bpf_rec_wait r = wait_of(101, 3 * MS, 8 * MS);
	struct bytes b = { 0 };
	struct harness h;
	const struct event *ev;

	(void)state;
	r.flags = BFLAG_WRITE | BFLAG_OWNER_WRITES;
	r.owner = who_of(102, BSTATE_BLOCKED);
	r.stack = 7;
	r.owner_stack = 8;
	r.user_stack = 9;
	add_named_stack(&b, 7, "down_write_killable vm_mmap_pgoff");
	add_named_stack(&b, 8, "schedule do_madvise");
	add_stack(&b, 9, 100, (u64[]){ 0x1234 }, 1);
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 2);
	ev = event_at(&h, 0);
	assert_common(&h, ev, 101);
	/* it ran when the record was written, and had left the CPU for the wait */
	assert_event(ev, EV_LOCK_WAIT_START, 3 * MS, SELF_BLOCKED);
	assert_int_equal(h.events.v[0].told_ns, 8 * MS);
	assert_int_equal(ev->line, 8); /* the eighth record */
	assert_int_equal(ev->mm, 0xa000);
	assert_true(ev->has & EVH_MM);
	assert_true(ev->has & EVH_WRITE);
	assert_true(ev->has & EVH_SELF_CALL);
	assert_int_equal(ev->call, CALL_NONE);
	assert_int_equal(ev->u.lock.write, 1);
	assert_int_equal(ev->u.lock.owner_tid, 102);
	assert_int_equal(ev->u.lock.owner_tgid, 100);
	assert_string_equal(str_of(&h, ev->u.lock.owner_comm), "app");
	assert_int_equal(ev->u.lock.owner_state, SELF_BLOCKED);
	assert_int_equal(ev->u.lock.owner_write, 1);
	assert_true(ev->stack && ev->user_stack && ev->u.lock.owner_stack);
	assert_true(ev->stack != ev->u.lock.owner_stack && ev->stack != ev->user_stack);
	ev = event_at(&h, 1);
	assert_common(&h, ev, 101);
	assert_event(ev, EV_LOCK_WAIT_END, 8 * MS, SELF_RUNNING);
	assert_int_equal(ev->u.lock.write, 1);
	assert_int_equal(ev->u.lock.owner_tid, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->records, 8);
	assert_int_equal(bpf_decoder_stats(h.d)->by_kind[BREC_WAIT], 1);
	assert_int_equal(bpf_decoder_stats(h.d)->by_kind[BREC_SYMBOL], 4);
	harness_done(&h);
	bytes_done(&b);
}

static void test_wait_states(void **state)
{
	static const struct {
		u32 flags, state;
		enum self_state want;
	} rows[] = {
		{ 0, BSTATE_RUNNING, SELF_BLOCKED },
		{ BFLAG_SPUN, BSTATE_RUNNING, SELF_RUNNING },
		{ 0, BSTATE_SLEEPING, SELF_SLEEPING },
		{ 0, BSTATE_UNKNOWN, SELF_UNKNOWN },
		{ BFLAG_OPEN, BSTATE_RUNNING, SELF_RUNNING },
		{ 0, BSTATE_RUNNABLE, SELF_RUNNABLE },
		{ 0, BSTATE_DEAD, SELF_UNKNOWN },
		{ 0, 77, SELF_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
		struct bytes b = { 0 };
		struct harness h;

		r.flags = rows[i].flags;
		r.who.state = rows[i].state;
		bytes_add(&b, &r, sizeof(r));
		harness_decode(&h, &b);
		assert_event(event_at(&h, 0), EV_LOCK_WAIT_START, MS, rows[i].want);
		assert_int_equal(event_at(&h, 0)->u.lock.write, 0);
		harness_done(&h);
		bytes_done(&b);
	}
}

static void test_hold(void **state)
{
	struct bpf_rec_hold r = { .head = HEAD(HOLD, hold, 9 * MS),
				  .who = who_of(103, BSTATE_RUNNING),
				  .begin_ns = 2 * MS,
				  .mm = 0xa000,
				  .call = { .nr = 9 },
				  .flags = BFLAG_WRITE };
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	add_note(&b, "machine=x86_64");
	bytes_add(&b, &r, sizeof(r));
	r.flags = BFLAG_DOWNGRADED;
	r.begin_ns = 9 * MS;
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 4);
	assert_event(event_at(&h, 0), EV_LOCK_HOLD_START, 2 * MS, SELF_RUNNING);
	assert_event(event_at(&h, 1), EV_LOCK_HOLD_END, 9 * MS, SELF_RUNNING);
	assert_event(event_at(&h, 2), EV_LOCK_HOLD_START, 9 * MS, SELF_RUNNING);
	assert_common(&h, event_at(&h, 1), 103);
	assert_int_equal(event_at(&h, 0)->u.lock.write, 1);
	assert_int_equal(event_at(&h, 0)->u.lock.downgraded, 0);
	assert_int_equal(event_at(&h, 2)->u.lock.write, 0);
	assert_int_equal(event_at(&h, 2)->u.lock.downgraded, 1);
	assert_int_equal(event_at(&h, 0)->call, CALL_MMAP);
	assert_string_equal(h.notes, "machine=x86_64;");
	harness_done(&h);
	bytes_done(&b);
}

static void test_writer_sleep(void **state)
{
	struct bpf_rec_sleep r = sleep_of(BSLEEP_VMA_WRITER, 104, 5 * MS, 6 * MS);
	struct bytes b = { 0 };
	struct harness h;
	const struct event *ev;

	(void)state;
	r.vma = 0xb000;
	r.vm_start = 0x10000;
	r.vm_end = 0x20000;
	r.vm_flags = 0x73;
	r.ino = 12;
	r.dev = 8 << 20 | 1;
	r.woken_ns = 5 * MS + 500000;
	r.waker_tid = 105;
	r.stack = 3;
	add_named_stack(&b, 3, "schedule __vma_start_write mprotect_fixup do_mprotect_pkey");
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 2);
	for (size_t i = 0; i < 2; i++) {
		ev = event_at(&h, i);
		assert_common(&h, ev, 104);
		assert_int_equal(ev->u.vma.vma, 0xb000);
		assert_int_equal(ev->u.vma.vm_start, 0x10000);
		assert_int_equal(ev->u.vma.vm_end, 0x20000);
		if (!i)
			assert_int_equal(ev->u.vma.flags, 0x73);
		assert_int_equal(ev->u.vma.ino, 12);
		assert_int_equal(ev->u.vma.dev, 8 << 20 | 1);
		assert_string_equal(str_of(&h, ev->u.vma.caller), "mprotect_fixup");
		assert_int_equal(ev->has & (EVH_VMA | EVH_RANGE | EVH_FLAGS | EVH_FILE | EVH_WAKER),
				 EVH_VMA | EVH_RANGE | EVH_FILE | (i ? EVH_WAKER : EVH_FLAGS));
	}
	assert_int_equal(event_at(&h, 1)->u.vma.waker_tid, 105);
	assert_int_equal(event_at(&h, 1)->u.vma.woken_ns, 5 * MS + 500000);
	assert_event(event_at(&h, 0), EV_VMA_WRITE_WAIT_START, 5 * MS, SELF_BLOCKED);
	assert_event(event_at(&h, 1), EV_VMA_WRITE_WAIT_END, 6 * MS, SELF_RUNNING);
	harness_done(&h);
	bytes_done(&b);
}

/* A writer whose VMA was not found: the range is that of its call, where the call has one. */
static void test_range_of_call(void **state)
{
	static const struct {
		s32 nr;
		u32 is_32bit;
		u64 args[4];
		bool has_range;
		u64 start, end;
	} rows[] = {
		{ 10, 0, { 0x5000, 1, 3 }, true, 0x5000, 0x6000 },	     /* mprotect */
		{ 11, 0, { 0x5000, 0x2001 }, true, 0x5000, 0x8000 },	     /* munmap */
		{ 125, 1, { 0x5000, 0x1000 }, true, 0x5000, 0x6000 },	     /* i386 mprotect */
		{ 9, 0, { 0x5000, 0x1000, 3, 0x22 }, false, 0, 0 },	     /* mmap, a hint */
		{ 9, 0, { 0x5000, 0x1000, 3, 0x32 }, true, 0x5000, 0x6000 }, /* MAP_FIXED */
		{ 90, 1, { 0x5000, 0x1000, 3, 0x32 }, false, 0, 0 },	     /* old_mmap */
		{ 12, 0, { 0x5000, 0x1000 }, false, 0, 0 },		     /* brk */
		{ 56, 0, { 0x5000, 0x1000 }, false, 0, 0 },		     /* clone */
		{ 10, 0, { 0x5000, 0 }, false, 0, 0 },
		{ 10, 0, { ~0ULL, 2 }, false, 0, 0 },
		{ 10, 0, { ~0ULL - 4096, 1 }, false, 0, 0 },
		{ -1, 0, { 0x5000, 0x1000 }, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_sleep r = sleep_of(BSLEEP_VMA_WRITER, 104, MS, 2 * MS);
		struct bytes b = { 0 };
		struct harness h;
		const struct event *ev;

		r.call.nr = rows[i].nr;
		r.call.is_32bit = rows[i].is_32bit;
		memcpy(r.call.args, rows[i].args, sizeof(r.call.args));
		add_note(&b, "machine=x86_64");
		bytes_add(&b, &r, sizeof(r));
		harness_decode(&h, &b);
		ev = event_at(&h, 0);
		assert_false(ev->has & EVH_VMA);
		assert_int_equal(!!(ev->has & EVH_RANGE), rows[i].has_range);
		assert_int_equal(ev->u.vma.vm_start, rows[i].start);
		assert_int_equal(ev->u.vma.vm_end, rows[i].end);
		harness_done(&h);
		bytes_done(&b);
	}
}

static void test_calls(void **state)
{
	static const struct {
		const char *machine;
		s32 nr;
		u32 is_32bit;
		bool known;
		enum as_call call;
	} rows[] = {
		{ "machine=x86_64", 10, 0, true, CALL_MPROTECT },
		{ "machine=x86_64", 0x4000000a, 0, true, CALL_MPROTECT }, /* x32 */
		{ "machine=x86_64", 125, 1, true, CALL_MPROTECT },
		{ "machine=x86_64", 125, 0, true, CALL_NONE },
		{ "machine=x86_64", 0, 0, true, CALL_NONE },
		{ "machine=x86_64", -1, 0, true, CALL_NONE },
		{ "machine=x86_64", INT32_MIN, 0, true, CALL_NONE },
		{ "machine=aarch64", 226, 0, true, CALL_MPROTECT },
		{ "machine=aarch64", 125, 1, false, CALL_NONE },
		{ "machine=riscv64", 226, 0, false, CALL_NONE },
		{ "kernel=6.18", 226, 0, false, CALL_NONE },
		{ "kernel=6.18", -1, 0, true, CALL_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_wait r = wait_of(104, MS, 2 * MS);
		struct bytes b = { 0 };
		struct harness h;

		r.call.nr = rows[i].nr;
		r.call.is_32bit = rows[i].is_32bit;
		add_note(&b, rows[i].machine);
		bytes_add(&b, &r, sizeof(r));
		harness_decode(&h, &b);
		assert_int_equal(!!(event_at(&h, 0)->has & EVH_SELF_CALL), rows[i].known);
		assert_int_equal(event_at(&h, 0)->call, rows[i].call);
		harness_done(&h);
		bytes_done(&b);
	}
}

static void test_fault_sleep(void **state)
{
	struct bpf_rec_sleep r = sleep_of(BSLEEP_FAULT, 105, 5 * MS, 6 * MS);
	struct bpf_rec_fault f = { .head = HEAD(FAULT, fault, 7 * MS),
				   .who = who_of(105, BSTATE_RUNNING),
				   .mm = 0xa000,
				   .flags = BFLAG_RETRIED };
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	r.flags = BFLAG_FIRST | BFLAG_USER_FAULT;
	r.fault_ns = 5 * MS - 400;
	r.address = 0x11000;
	r.vma = 0xb000;
	r.ino = 12;
	r.stack = 3;
	add_named_stack(&b, 3,
			"schedule io_schedule folio_wait_bit_common __folio_lock_killable "
			"filemap_fault handle_mm_fault");
	bytes_add(&b, &r, sizeof(r));
	r.flags = 0; /* the same fault sleeps again, this time preempted */
	r.who.state = BSTATE_RUNNABLE;
	r.begin_ns = 6 * MS;
	r.head.time_ns = 6 * MS + 5;
	bytes_add(&b, &r, sizeof(r));
	bytes_add(&b, &f, sizeof(f));
	f.flags = 0;
	f.head.time_ns = 8 * MS;
	bytes_add(&b, &f, sizeof(f));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 7);
	assert_event(event_at(&h, 0), EV_FAULT_BEGIN, 5 * MS - 400, SELF_RUNNING);
	assert_int_equal(event_at(&h, 0)->u.fault.reason, 0);
	assert_int_equal(event_at(&h, 0)->u.fault.address, 0x11000);
	assert_int_equal(event_at(&h, 0)->u.fault.ino, 12);
	assert_int_equal(event_at(&h, 0)->has & (EVH_VMA | EVH_ADDRESS | EVH_FILE),
			 EVH_VMA | EVH_ADDRESS | EVH_FILE);
	assert_event(event_at(&h, 1), EV_FAULT_WAIT_START, 5 * MS, SELF_BLOCKED);
	assert_string_equal(str_of(&h, event_at(&h, 1)->u.fault.reason), "io");
	assert_int_equal(event_at(&h, 1)->u.fault.vma, 0xb000);
	assert_event(event_at(&h, 2), EV_FAULT_WAIT_END, 6 * MS, SELF_RUNNING);
	assert_event(event_at(&h, 3), EV_FAULT_WAIT_START, 6 * MS, SELF_RUNNABLE);
	assert_string_equal(str_of(&h, event_at(&h, 3)->u.fault.reason), "preempted");
	assert_event(event_at(&h, 5), EV_FAULT_RETRY, 7 * MS, SELF_RUNNING);
	assert_true(event_at(&h, 5)->has & EVH_RET);
	assert_int_equal(event_at(&h, 5)->u.fault.ret, 0x400);
	assert_int_equal(event_at(&h, 5)->u.fault.reason, 0);
	assert_event(event_at(&h, 6), EV_FAULT_END, 8 * MS, SELF_RUNNING);
	assert_int_equal(event_at(&h, 6)->u.fault.ret, 0);
	assert_common(&h, event_at(&h, 6), 105);
	harness_done(&h);
	bytes_done(&b);
}

static void test_fault_begin_time(void **state)
{
	static const u64 begin = 5000 * MS;
	static const struct {
		u64 fault_ns, want;
	} rows[] = {
		{ 0, 5000 * MS },	   { 4999 * MS, 4999 * MS },
		{ 4000 * MS, 4000 * MS },  { 4000 * MS - 1, 5000 * MS },
		{ 5000 * MS, 5000 * MS },  { 5000 * MS + 1, 5000 * MS },
		{ UINT64_MAX, 5000 * MS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_sleep r = sleep_of(BSLEEP_FAULT, 105, begin, begin + MS);
		struct bytes b = { 0 };
		struct harness h;

		r.flags = BFLAG_FIRST;
		r.fault_ns = rows[i].fault_ns;
		bytes_add(&b, &r, sizeof(r));
		harness_decode(&h, &b);
		assert_event(event_at(&h, 0), EV_FAULT_BEGIN, rows[i].want, SELF_RUNNING);
		assert_int_equal(event_at(&h, 0)->has & (EVH_VMA | EVH_ADDRESS | EVH_FILE), 0);
		harness_done(&h);
		bytes_done(&b);
	}
}

/* What a kernel developer would say of these stacks, innermost first. */
static const struct {
	const char *frames, *reason;
} stack_reasons[] = {
	{ "schedule io_schedule folio_wait_bit_common __folio_lock_killable filemap_fault "
	  "__do_fault "
	  "do_read_fault __handle_mm_fault handle_mm_fault",
	  "io" },
	{ "schedule request_wait_answer fuse_simple_request fuse_read_folio "
	  "filemap_read_folio "
	  "filemap_fault __do_fault handle_mm_fault",
	  "io" },
	{ "schedule io_schedule folio_wait_bit_common __folio_lock do_page_mkwrite "
	  "do_wp_page "
	  "handle_mm_fault",
	  "folio lock" },
	{ "schedule io_schedule folio_wait_bit_common __folio_lock_or_retry do_swap_page "
	  "handle_mm_fault",
	  "swap-in" },
	{ "schedule percpu_rwsem_wait __percpu_down_read ext4_page_mkwrite do_page_mkwrite "
	  "handle_mm_fault",
	  "freeze" },
	{ "schedule wait_transaction_locked add_transaction_credits start_this_handle "
	  "jbd2__journal_start ext4_dirty_inode __mark_inode_dirty file_update_time "
	  "ext4_page_mkwrite do_page_mkwrite handle_mm_fault",
	  "journal" },
	{ "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
	  "do_get_write_access ext4_page_mkwrite do_page_mkwrite handle_mm_fault",
	  "journal" },
	{ "schedule __mutex_lock.constprop.0 __jbd2_log_wait_for_space "
	  "add_transaction_credits "
	  "start_this_handle.isra.0 ext4_page_mkwrite do_page_mkwrite",
	  "journal" },
	{ "schedule io_schedule folio_wait_bit_common folio_wait_writeback "
	  "folio_wait_stable "
	  "ext4_page_mkwrite do_page_mkwrite handle_mm_fault",
	  "writeback" },
	{ "schedule io_schedule __wait_on_buffer ext4_block_write_begin ext4_page_mkwrite "
	  "do_page_mkwrite handle_mm_fault",
	  "io" },
	{ "schedule fuse_flush_times do_page_mkwrite handle_mm_fault", "page_mkwrite" },
	{ "schedule rwsem_down_read_slowpath down_read filemap_fault handle_mm_fault",
	  "other lock" },
	{ "schedule rwsem_down_read_slowpath folio_lock_anon_vma_read rmap_walk_anon "
	  "shrink_folio_list shrink_node do_try_to_free_pages try_to_free_pages "
	  "__alloc_pages_slowpath filemap_fault handle_mm_fault",
	  "direct reclaim" },
	{ "schedule io_schedule folio_wait_bit_common folio_wait_writeback "
	  "shrink_folio_list "
	  "try_to_free_mem_cgroup_pages try_charge_memcg do_swap_page handle_mm_fault",
	  "direct reclaim" },
	{ "schedule io_schedule folio_wait_bit_common migrate_pages compact_zone "
	  "compact_zone_order try_to_compact_pages __alloc_pages_direct_compact "
	  "__alloc_pages_slowpath do_huge_pmd_anonymous_page handle_mm_fault",
	  "compaction" },
	{ "__cond_resched __alloc_pages_slowpath.constprop.0 do_anonymous_page "
	  "handle_mm_fault",
	  "allocation" },
	{ "schedule handle_userfault do_anonymous_page handle_mm_fault", "userfaultfd" },
	{ "schedule handle_userfault shmem_get_folio_gfp shmem_fault __do_fault "
	  "handle_mm_fault",
	  "userfaultfd" },
	{ "schedule io_schedule migration_entry_wait_on_locked migration_entry_wait "
	  "do_swap_page "
	  "handle_mm_fault",
	  "migration" },
	{ "schedule io_schedule_timeout balance_dirty_pages "
	  "balance_dirty_pages_ratelimited_flags "
	  "fault_dirty_shared_page do_shared_fault handle_mm_fault",
	  "dirty throttling" },
	{ "schedule __mutex_lock hugetlb_fault handle_mm_fault", "other lock" },
	{ "schedule gpu_fault __do_fault handle_mm_fault", "fault handler" },
	/* as seen on 6.18 */
	{ "__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
	  "do_fault "
	  "__handle_mm_fault handle_mm_fault",
	  "io" },
	{ "__schedule schedule wb_wait_for_completion __writeback_inodes_sb_nr "
	  "try_to_writeback_inodes_sb ext4_nonda_switch ext4_page_mkwrite do_page_mkwrite "
	  "do_fault "
	  "__handle_mm_fault",
	  "writeback" },
	{ "__schedule schedule io_schedule bit_wait_io __wait_on_bit "
	  "out_of_line_wait_on_bit "
	  "do_get_write_access jbd2_journal_get_write_access "
	  "__ext4_journal_get_write_access "
	  "ext4_reserve_inode_write __ext4_mark_inode_dirty ext4_dirty_inode "
	  "__mark_inode_dirty "
	  "generic_update_time file_update_time_flags ext4_page_mkwrite do_page_mkwrite "
	  "do_wp_page",
	  "journal" },
	{ "__schedule __cond_resched shrink_node do_try_to_free_pages "
	  "try_to_free_mem_cgroup_pages try_charge_memcg charge_memcg __mem_cgroup_charge "
	  "shmem_alloc_and_add_folio shmem_get_folio_gfp shmem_fault __do_fault do_fault",
	  "direct reclaim" },
	{ "schedule something handle_mm_fault", "other" },
	/* a name must be the whole function */
	{ "schedule io_schedule_more xfilemap_fault handle_mm_fault", "other" },
};

static void test_reasons(void **state)
{
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stack_reasons); i++) {
		struct bpf_rec_sleep r = sleep_of(BSLEEP_FAULT, 105, MS, 2 * MS);

		r.stack = i + 1;
		add_named_stack(&b, i + 1, stack_reasons[i].frames);
		bytes_add(&b, &r, sizeof(r));
	}
	harness_decode(&h, &b);
	for (size_t i = 0; i < ARRAY_LEN(stack_reasons); i++)
		assert_string_equal(str_of(&h, event_at(&h, 2 * i)->u.fault.reason),
				    stack_reasons[i].reason);
	harness_done(&h);
	bytes_done(&b);
}

static void test_callers(void **state)
{
	static const struct {
		const char *frames, *caller;
	} rows[] = {
		{ "schedule __vma_start_write vma_prepare commit_merge", "vma_prepare" },
		{ "schedule __vma_enter_locked __vma_start_write vma_start_write dup_mmap",
		  "dup_mmap" },
		{ "schedule rcuwait __vma_start_exclude_readers vma_mark_detached "
		  "vms_gather_munmap_vmas",
		  "vms_gather_munmap_vmas" },
		{ "schedule __vma_start_write.isra.0 free_pgtables", "free_pgtables" },
		/* up to 6.14 the lock was a rwsem, and vma_start_write inline */
		{ "schedule_preempt_disabled rwsem_down_write_slowpath down_write mprotect_fixup "
		  "do_mprotect_pkey",
		  "mprotect_fixup" },
		{ "schedule __vma_start_write", "(none)" },
		{ "schedule", "(none)" },
		{ "", "(none)" },
	};
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_sleep r = sleep_of(BSLEEP_VMA_WRITER, 105, MS, 2 * MS);

		r.stack = i + 1;
		add_named_stack(&b, i + 1, rows[i].frames);
		bytes_add(&b, &r, sizeof(r));
	}
	harness_decode(&h, &b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(str_of(&h, event_at(&h, 2 * i)->u.vma.caller), rows[i].caller);
	assert_int_equal(bpf_decoder_stats(h.d)->missing_stacks, 0);
	harness_done(&h);
	bytes_done(&b);
}

static void test_process(void **state)
{
	struct bpf_rec_process r = { .head = HEAD(PROCESS, process, 5 * MS),
				     .who = who_of(101, BSTATE_RUNNING),
				     .what = BPROC_FORK,
				     .child_tid = 201,
				     .child_tgid = 100,
				     .mm = 0xa000,
				     .child_mm = 0xa000 };
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	bytes_add(&b, &r, sizeof(r));
	r.child_tid = r.child_tgid = 300;
	r.child_mm = 0xc000;
	bytes_add(&b, &r, sizeof(r));
	r.what = BPROC_EXEC;
	bytes_add(&b, &r, sizeof(r));
	r.what = BPROC_EXIT;
	r.group_dead = 1;
	bytes_add(&b, &r, sizeof(r));
	r.what = 9;
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 6);
	assert_event(event_at(&h, 0), EV_TASK_NEWTASK, 5 * MS, SELF_RUNNING);
	assert_int_equal(event_at(&h, 0)->u.newtask.tid, 201);
	assert_int_equal(event_at(&h, 0)->u.newtask.clone_flags, 0x10100); /* a thread */
	assert_event(event_at(&h, 1), EV_PROC_FORK, 5 * MS, SELF_RUNNING);
	assert_int_equal(event_at(&h, 1)->u.fork.parent_tid, 101);
	assert_int_equal(event_at(&h, 1)->u.fork.child_tid, 201);
	assert_string_equal(str_of(&h, event_at(&h, 1)->u.fork.child_comm), "app");
	assert_int_equal(event_at(&h, 2)->u.newtask.clone_flags, 0); /* a process */
	assert_event(event_at(&h, 4), EV_PROC_EXEC, 5 * MS, SELF_RUNNING);
	assert_int_equal(event_at(&h, 4)->u.exec.tid, 101);
	assert_int_equal(event_at(&h, 4)->mm, 0);
	assert_event(event_at(&h, 5), EV_PROC_EXIT, 5 * MS, SELF_UNKNOWN);
	assert_int_equal(event_at(&h, 5)->u.exit.group_dead, 1);
	assert_int_equal(event_at(&h, 5)->u.exit.tid, 101);
	assert_int_equal(event_at(&h, 5)->mm, 0xa000);
	assert_int_equal(bpf_decoder_stats(h.d)->unknown_kinds, 1);
	harness_done(&h);
	bytes_done(&b);
}

static void test_totals_lost_notes(void **state)
{
	struct bpf_rec_totals t = {
		.head = HEAD(TOTALS, totals, 5 * MS), .tid = 101, .tgid = 100, .flags = BFLAG_OWN
	};
	struct bpf_rec_lost l = {
		.head = HEAD(LOST, lost, 5 * MS), .first_ns = 4 * MS, .last_ns = 3 * MS, .n = 17
	};
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	t.hold[1].log2[BPF_LOG2_BUCKETS - 1] = 9;
	bytes_add(&b, &t, sizeof(t));
	bytes_add(&b, &l, sizeof(l));
	add_note(&b, "a=b=c");
	add_note(&b, "empty=");
	add_note(&b, "=no key");
	add_note(&b, "no value");
	add_note(&b, "k=\xff\x01");
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 0);
	assert_int_equal(h.totals.n, 1);
	assert_memory_equal(&h.totals.v[0], &t, sizeof(t));
	assert_int_equal(h.lost.n, 1);
	assert_int_equal(h.lost.v[0].first_ns, 3 * MS);
	assert_int_equal(h.lost.v[0].last_ns, 4 * MS);
	assert_int_equal(h.lost.v[0].n, 17);
	assert_true(h.lost.v[0].n_known);
	assert_string_equal(h.notes, "a=b=c;empty=;k=\xff\x01;");
	assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 2);
	harness_done(&h);
	bytes_done(&b);
}

static void test_refused(void **state)
{
	struct bpf_rec_wait r;
	struct bpf_rec_sleep s = sleep_of(77, 101, MS, 2 * MS);
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	r = wait_of(101, 2 * MS + 1, 2 * MS); /* begins behind its end */
	bytes_add(&b, &r, sizeof(r));
	r = wait_of(101, UINT64_MAX - 5, UINT64_MAX);
	bytes_add(&b, &r, sizeof(r));
	r = wait_of(101, 1, 1ULL << 63);
	bytes_add(&b, &r, sizeof(r));
	r = wait_of(101, MS, 2 * MS);
	r.head.cpu = 4096;
	bytes_add(&b, &r, sizeof(r));
	r = wait_of(101, MS, 2 * MS);
	r.head.size = 40; /* nobody's */
	bytes_add(&b, &r, 40);
	bytes_add(&b, &s, sizeof(s)); /* a class of a later version */
	r.head = (struct bpf_rec_head)HEAD(WAIT, wait, 2 * MS);
	r.head.kind = BREC_LIMIT; /* a kind of a later version */
	bytes_add(&b, &r, sizeof(r));
	r.head.kind = 0;
	bytes_add(&b, &r, sizeof(r));
	r = wait_of(101, (1ULL << 63) - 2, (1ULL << 63) - 1);
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 2);
	assert_event(event_at(&h, 1), EV_LOCK_WAIT_END, (1ULL << 63) - 1, SELF_RUNNING);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 5);
	assert_int_equal(bpf_decoder_stats(h.d)->unknown_kinds, 3);
	assert_int_equal(bpf_decoder_stats(h.d)->records, 9);
	harness_done(&h);
	bytes_done(&b);
}

/* A later version's record is longer, an earlier one's shorter; the rest is 0. */
static void test_other_sizes(void **state)
{
	struct bpf_rec_wait r = wait_of(101, 0, 2 * MS);
	const char more[16] = "more than known";
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	r.head.size = sizeof(r) + sizeof(more);
	bytes_add(&b, &r, sizeof(r));
	bytes_add(&b, more, sizeof(more));
	r.owner.tid = 9;
	r.head.size = 48;
	bytes_add(&b, &r, 48);
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 4);
	assert_int_equal(event_at(&h, 0)->mm, 0xa000);
	assert_event(event_at(&h, 2), EV_LOCK_WAIT_START, 0, SELF_BLOCKED);
	assert_int_equal(event_at(&h, 2)->mm, 0);
	assert_false(event_at(&h, 2)->has & EVH_MM);
	assert_int_equal(event_at(&h, 2)->u.lock.owner_tid, 0);
	harness_done(&h);
	bytes_done(&b);
}

static void assert_frames(const struct harness *h, u32 stack, const char *want)
{
	char got[1024] = "";
	u32 n;
	const u32 *frames = stacks_get(&h->stacks, stack, &n);

	for (u32 i = 0; i < n; i++) {
		strcat(got, i ? " " : "");
		strcat(got, str_of(h, frames[i]));
	}
	assert_string_equal(got, want);
}

static void test_stacks_and_symbols(void **state)
{
	static const struct {
		u32 tgid;
		u64 frames[3];
		u32 n;
		const char *want;
	} rows[] = {
		{ 0, { 0x1010, 0x2010, 0x9999 }, 3, "a b 0x9999" },
		/* a return address behind a function's last call belongs to that function */
		{ 0, { 0x1fff, 0x2000, 0x3000 }, 3, "a a b" },
		/* the innermost address is no return address */
		{ 0, { 0x2000, 0x1000 }, 2, "b a" },
		{ 100, { 0x1010, 0x2010 }, 2, "user_f 0x2010" },
		{ 101, { 0x1010 }, 1, "0x1010" },
		{ 0, { 0, 0x1010, 0 }, 3, "a" },
		{ 0, { ~0ULL, ~0ULL }, 2, "0xffffffffffffffff 0xffffffffffffffff" },
	};
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	add_symbol(&b, 0, 0x1000, 0x2000, "a");
	add_symbol(&b, 0, 0x2000, 0x3000, "b");
	add_symbol(&b, 100, 0x1000, 0x2000, "user_f");
	add_symbol(&b, 0, 0x5000, 0x5000, "no size");
	add_symbol(&b, 0, 0x6000, 0x5000, "backwards");
	add_symbol(&b, 0, 0x6000, 0x7000, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);

		add_stack(&b, i + 1, rows[i].tgid, rows[i].frames, rows[i].n);
		r.stack = i + 1;
		r.user_stack = i ? 0 : 12345; /* nobody tells that one */
		bytes_add(&b, &r, sizeof(r));
	}
	harness_decode(&h, &b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_frames(&h, event_at(&h, 2 * i)->stack, rows[i].want);
	assert_int_equal(event_at(&h, 0)->user_stack, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->missing_stacks, 1);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 3);
	harness_done(&h);
	bytes_done(&b);
}

/* Of symbols that overlap, the one told last is right: a module or another program was loaded. */
static void test_overlapping_symbols(void **state)
{
	static const u64 frames[] = { 0x1000, 0x1801, 0x2801, 0x3801 };
	struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	add_symbol(&b, 0, 0x1000, 0x1800, "a");
	add_symbol(&b, 0, 0x1800, 0x2800, "b");
	add_symbol(&b, 0, 0x2800, 0x3800, "c");
	add_symbol(&b, 0, 0x3800, 0x4800, "d");
	add_symbol(&b, 0, 0x17ff, 0x3800, "new");
	add_stack(&b, 1, 0, frames, 4);
	r.stack = 1;
	bytes_add(&b, &r, sizeof(r));
	add_symbol(&b, 0, 0, UINT64_MAX, "all");
	add_symbol(&b, 0, 0x3800, 0x4800, "d2");
	add_stack(&b, 1, 0, frames, 4); /* the same id again */
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_frames(&h, event_at(&h, 0)->stack, "0x1000 new new d");
	assert_frames(&h, event_at(&h, 2)->stack, "0x1000 0x1801 0x2801 d2");
	harness_done(&h);
	bytes_done(&b);
}

static void test_bad_stacks(void **state)
{
	struct bpf_rec_stack s = { .head = HEAD(STACK, stack, 0), .id = 5, .n = 1 };
	struct bpf_rec_symbol y = {
		.head = HEAD(SYMBOL, symbol, 0), .start = 1, .end = 2, .name_bytes = 1
	};
	struct bpf_rec_note n = { .head = HEAD(NOTE, note, 0), .text_bytes = 1 };
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	bytes_add(&b, &s, sizeof(s)); /* a frame that is not there */
	s.n = UINT32_MAX;
	bytes_add(&b, &s, sizeof(s));
	s.n = 0;
	s.id = 0;
	bytes_add(&b, &s, sizeof(s));
	bytes_add(&b, &y, sizeof(y));
	y.name_bytes = UINT32_MAX;
	bytes_add(&b, &y, sizeof(y));
	bytes_add(&b, &n, sizeof(n));
	n.text_bytes = UINT32_MAX;
	bytes_add(&b, &n, sizeof(n));
	harness_decode(&h, &b);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 7);
	harness_done(&h);
	bytes_done(&b);
}

static void test_open(void **state)
{
	struct bpf_rec_wait open = wait_of(101, 5 * MS, 9 * MS),
			    ended = wait_of(102, 4 * MS, 9 * MS);
	struct bpf_rec_sleep sleeps = sleep_of(BSLEEP_FAULT, 103, 3 * MS, 9 * MS);
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	open.flags = ended.flags = BFLAG_OPEN;
	sleeps.flags = BFLAG_OPEN | BFLAG_FIRST;
	open.who.state = BSTATE_BLOCKED;
	bytes_add(&b, &open, sizeof(open));
	bytes_add(&b, &ended, sizeof(ended));
	bytes_add(&b, &sleeps, sizeof(sleeps));
	open.head.time_ns = 10 * MS; /* the next snapshot */
	open.owner.tid = 7;
	bytes_add(&b, &open, sizeof(open));
	ended.flags = 0;
	ended.head.time_ns = 11 * MS;
	bytes_add(&b, &ended, sizeof(ended));
	harness_decode(&h, &b);
	assert_int_equal(h.events.n, 5);
	assert_event(event_at(&h, 0), EV_LOCK_WAIT_START, 4 * MS, SELF_BLOCKED);
	assert_event(event_at(&h, 1), EV_LOCK_WAIT_END, 11 * MS, SELF_RUNNING);
	/* at the end, by their beginning */
	assert_event(event_at(&h, 2), EV_FAULT_BEGIN, 3 * MS, SELF_RUNNING);
	assert_event(event_at(&h, 3), EV_FAULT_WAIT_START, 3 * MS, SELF_BLOCKED);
	assert_event(event_at(&h, 4), EV_LOCK_WAIT_START, 5 * MS, SELF_BLOCKED);
	assert_int_equal(event_at(&h, 4)->u.lock.owner_tid, 7);
	assert_int_equal(h.events.v[4].told_ns, 10 * MS);
	harness_done(&h);
	bytes_done(&b);
}

static void test_open_limit(void **state)
{
	const u32 n = BPF_DECODE_MAX_OPEN + 10;
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	for (u32 i = 0; i < n; i++) {
		struct bpf_rec_wait r = wait_of(i, MS + i, 9 * MS);

		r.flags = BFLAG_OPEN;
		bytes_add(&b, &r, sizeof(r));
	}
	/* every second one that was kept ends */
	for (u32 i = 0; i < n; i += 2) {
		struct bpf_rec_wait r = wait_of(i, MS + i, 9 * MS);

		bytes_add(&b, &r, sizeof(r));
	}
	harness_init(&h);
	harness_records(&h, &b);
	assert_int_equal(h.result, 0);
	assert_int_equal(h.events.n, n);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_limits, 10);
	harness_end(&h);
	assert_int_equal(h.result, 0);
	assert_int_equal(h.events.n, n + BPF_DECODE_MAX_OPEN / 2);
	for (u32 i = 0; i < BPF_DECODE_MAX_OPEN / 2; i++)
		assert_int_equal(event_at(&h, n + i)->tid, 2 * i + 1);
	harness_done(&h);
	bytes_done(&b);
}

static void test_stack_limit(void **state)
{
	struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	for (u32 i = 1; i <= BPF_DECODE_MAX_STACKS + 3; i++)
		add_stack(&b, i, 0, (u64[]){ 0x1000 }, 1);
	add_stack(&b, 1, 0, (u64[]){ 0x2000 }, 1); /* a known one may come again */
	r.stack = 1;
	bytes_add(&b, &r, sizeof(r));
	r.stack = BPF_DECODE_MAX_STACKS + 1;
	bytes_add(&b, &r, sizeof(r));
	harness_decode(&h, &b);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_limits, 3);
	assert_int_equal(bpf_decoder_stats(h.d)->missing_stacks, 1);
	assert_frames(&h, event_at(&h, 0)->stack, "0x2000");
	harness_done(&h);
	bytes_done(&b);
}

static void test_callbacks(void **state)
{
	struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
	struct bpf_rec_totals t = { .head = HEAD(TOTALS, totals, 5 * MS) };
	struct bpf_rec_lost l = { .head = HEAD(LOST, lost, 5 * MS) };
	static const struct bpf_decode_ops none = { NULL, NULL, NULL, NULL };
	struct bpf_decoder *d;
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	bytes_add(&b, &r, sizeof(r));
	bytes_add(&b, &t, sizeof(t));
	bytes_add(&b, &l, sizeof(l));
	add_note(&b, "a=b");
	bytes_add(&b, &r, sizeof(r));
	harness_init(&h);
	h.stop_after = 1;
	harness_records(&h, &b);
	assert_int_equal(h.result, 77);
	assert_int_equal(h.events.n, 1);
	/* it stays stopped */
	assert_int_equal(bpf_decoder_records(h.d, b.p, b.len, &h.e), 77);
	assert_int_equal(bpf_decoder_end(h.d, &h.e), 77);
	d = bpf_decoder_new(&none, NULL, &h.strings, &h.stacks);
	assert_non_null(d);
	assert_int_equal(bpf_decoder_records(d, b.p, b.len, &h.e), 0);
	assert_int_equal(bpf_decoder_end(d, &h.e), 0);
	assert_int_equal(bpf_decoder_stats(d)->records, 5);
	bpf_decoder_free(d);
	bpf_decoder_free(NULL);
	harness_done(&h);
	bytes_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_wait_states),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_writer_sleep),
		cmocka_unit_test(test_range_of_call),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_fault_sleep),
		cmocka_unit_test(test_fault_begin_time),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_totals_lost_notes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_sizes),
		cmocka_unit_test(test_stacks_and_symbols),
		cmocka_unit_test(test_overlapping_symbols),
		cmocka_unit_test(test_bad_stacks),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_open_limit),
		cmocka_unit_test(test_stack_limit),
		cmocka_unit_test(test_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
