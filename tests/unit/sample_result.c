/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/sample_result.c: results made by hand, for the tests of the renderers. */
#include "sample_result.h"

#include <stdarg.h>
#include <string.h>

const char *const sample_names[] = { "full", "stock", "no_clock", "hostile", "empty", NULL };

static const u64 buckets_read[SERIES_BUCKETS] = { 210, 1409, 731, 88, 402, 189, 0, 0 };
static const u64 buckets_write[SERIES_BUCKETS] = { 12, 160, 41, 3, 20, 31, 1, 0 };
static const char *const line_keys[] = {
#define LINE_CLASS(KIND, key, skipped, doc) key,
#include "decode/line_classes.def"
#undef LINE_CLASS
};
static const bool line_skipped[] = {
#define LINE_CLASS(KIND, key, skipped, doc) skipped,
#include "decode/line_classes.def"
#undef LINE_CLASS
};

/*
 * One row, a letter of @form per column: s = const char *, u = unsigned long long, b = const u64 *,
 * - = null (no argument).
 */
static bool row(struct result *r, enum table_id t, const char *form, ...)
{
	struct cell *c = result_row(r, t);
	va_list ap;

	r->tables[t].covered = true;
	if (!c || strlen(form) != table_defs[t].n_cols)
		return false;
	va_start(ap, form);
	for (; *form; form++, c++) {
		if (*form == 's') {
			const char *s = va_arg(ap, const char *);

			cell_str(c, s, strlen(s));
		} else if (*form == 'u') {
			cell_u64(c, va_arg(ap, unsigned long long));
		} else if (*form == 'b') {
			c->null = false;
			c->p = va_arg(ap, const u64 *);
		}
	}
	va_end(ap);
	return true;
}

#define US(us) ((us)*1000ULL + 7)

static void fill_trace(struct result *r)
{
	struct result_trace *t = &r->trace;

	r->kernel = "6.12.117";
	r->workload = "random";
	*t = (struct result_trace){
		.path = "traces/vendor/a1.txt",
		.format = "ftrace text",
		.lock_family = "vendor",
		.vma_family = "pairs",
		.clock = "mono",
		.clock_has_seconds = true,
		.resolution_ns = 1000,
		.begin_ns = 2101442000,
		.end_ns = 8107531000,
		.lines = 31204,
		.events = 31190,
		.coverage_ppm = opt(1000000),
		.cpus = 2,
		.has_sched_switch = true,
		.has_prios = true,
		.n_line_classes = ARRAY_LEN(line_keys),
	};
	for (u32 i = 0; i < ARRAY_LEN(line_keys); i++) {
		t->line_class_keys[i] = line_keys[i];
		t->line_class_skipped[i] = line_skipped[i];
	}
	t->line_classes[0] = 31190;
	t->line_classes[1] = 11;
	t->line_classes[7] = 2;
	t->line_classes[10] = 1;
}

static void fill_summary(struct result *r)
{
	r->summary = (struct result_summary){
		.fault_total = opt(1222),
		.fault_retries = opt(586),
		.fault_wait = { opt(41000), opt(18993000), opt(88123000) },
		.vma_write_total = opt(236),
		.vma_write_wait = { opt(211000), opt(19120000), opt(45090000) },
		.lock_wait = { opt(0), opt(9000), opt(120530000) },
		.lock_hold = { opt(1000), opt(12000), opt(45101000) },
		.a_pairs = opt(158),
		.a_union_ns = opt(2797312000),
		.a_writer_waits = opt(150),
		.a_coincident = opt(3),
		.a_undecided = opt(0),
		.b_windows = opt(12),
		.b_pairs = opt(14),
		.b_overlap_ns = opt(120311000),
		.b_open_windows = opt(1),
		.b_retry_wait_ns = opt(130904000),
		.b_io_wait_ns = opt(300120000),
		.c_pairs = opt(7),
		.c_score_ns = opt(941000),
		.c_unknown = opt(0),
		.c_late = opt(2),
		.c_rt_pairs = opt(2),
		.c_fair_pairs = opt(5),
		.c_b_windows = opt(0),
		.c_b_score_ns = opt(0),
		.c_b_unknown = opt(1),
		.c_b_late = opt(0),
	};
}

static void fill_verdict(struct result *r)
{
	r->verdict = (struct result_verdict){
		.primary = 2,
		.text = "Priority inversion was seen, below the threshold: 7 times a more important writer "
			"waited for a less important fault, 941 us together.",
		.advice = "record a longer run, or one with more load, before the lock handling is changed",
		.rules = {
			{ 1, "priority inversion is real", RULE_NO,
			  "A score 941 us, B score 0 us, threshold 1000 us" },
			{ 2, "inversion seen, below the threshold", RULE_HOLDS,
			  "A: 7 pairs, 941 us; B: 0 windows, 0 us; threshold 1000 us" },
			{ 3, "retrying costs more than waiting", RULE_NO,
			  "retries waited 130904 us for mmap_lock, 0.4 times the I/O wait of the same faults (300120 us)" },
			{ 4, "contention without inversion", RULE_NO, "A: 158 pairs, 150 writer waits, C: 7 pairs" },
			{ 5, "retries wait for mmap_lock", RULE_HOLDS, "B: 12 windows, 0.4 times the I/O wait" },
			{ 6, "not observed, or cannot be judged", RULE_NO, "A: 158 pairs, B: 12 windows" },
		},
	};
}

#define READ_STATS                                                                       \
	3029ULL, 1410ULL, US(5337114), US(1761), US(9), US(18120), US(44871), US(98121), \
		US(120530), 591ULL, 189ULL
#define WRITE_STATS 268ULL, 96ULL, US(81409), US(303), US(6), US(1204), US(31877)
#define WRITE_REST US(101204), 52ULL, 32ULL

static bool fill_waits(struct result *r)
{
	bool ok = true;

	ok &= row(r, TABLE_WAITS, "ssuuuuuuuuuuubuuuuu", "mmap_lock", "read", READ_STATS,
		  buckets_read, 0ULL, 1ULL, 0ULL, 4ULL, US(120));
	ok &= row(r, TABLE_WAITS, "ssuuuuuuu-uuubuuuuu", "mmap_lock", "write", WRITE_STATS,
		  WRITE_REST, buckets_write, 0ULL, 0ULL, 2ULL, 0ULL, US(0));
	ok &= row(r, TABLE_WAITS, "ssuuuuuuu-uuubuuuuu", "vma", "write", WRITE_STATS, WRITE_REST,
		  buckets_write, 0ULL, 0ULL, 0ULL, 0ULL, US(0));
	ok &= row(r, TABLE_WAITS_BY_ORIGIN, "sssuuuuuuuuuuubu", "mmap_lock", "read", "fault",
		  READ_STATS, buckets_read, 0ULL);
	ok &= row(r, TABLE_WAITS_BY_ORIGIN, "sssuuuuuuu-uuubu", "mmap_lock", "write", "mprotect",
		  WRITE_STATS, WRITE_REST, buckets_write, 0ULL);
	ok &= row(r, TABLE_WAITS_BY_PROCESS, "usssuuuuuuuuuuubu", 4711ULL, "clickhouse-serv",
		  "mmap_lock", "read", READ_STATS, buckets_read, 1ULL);
	ok &= row(r, TABLE_WAITS_BY_PROCESS, "-sssuuuuuuu-uuubu", "fault-reader", "mmap_lock",
		  "write", WRITE_STATS, WRITE_REST, buckets_write, 0ULL);
	for (u64 i = 0; i < 14; i++)
		ok &= row(r, TABLE_WAITS_BY_THREAD, "usssuuuuu", 4720 + i, "QueryPipelineEx",
			  "mmap_lock", "read", 300 - i, 120 - i, US(900000 - i * 50000), US(3000),
			  US(120530 - i));
	ok &= row(r, TABLE_HOLDS, "ssuuuuuuuuuuubuuu", "write", "all", READ_STATS, buckets_read,
		  0ULL, 1ULL, 0ULL);
	ok &= row(r, TABLE_HOLDS, "ssuuuuuuu-uuubuuu", "write", "mprotect", WRITE_STATS, WRITE_REST,
		  buckets_write, 0ULL, 1ULL, 0ULL);
	ok &= row(r, TABLE_LOCK_TOTALS, "-sssuuuuub", "all", "wait", "read", 9001ULL, US(1058712),
		  117ULL, US(30012), 12ULL, buckets_read);
	ok &= row(r, TABLE_LOCK_TOTALS, "usssuuuu-b", 4711ULL, "clickhouse-serv", "hold", "write",
		  3ULL, US(99), US(33), US(50), buckets_read);
	return ok;
}

static bool fill_faults(struct result *r)
{
	bool ok = true;

	ok &= row(r, TABLE_FAULT_WAITS, "ssuuuuuuuuuuubu", "read_folio", "kept the lock",
		  READ_STATS, buckets_read, 0ULL);
	ok &= row(r, TABLE_FAULT_WAITS, "ssuuuuuuu-uuubu", "folio_lock", "retried", WRITE_STATS,
		  WRITE_REST, buckets_write, 0ULL);
	ok &= row(r, TABLE_VMA_WRITERS, "suuuuuuuu", "mprotect_fixup", 236ULL, 150ULL, US(2797312),
		  US(18648), US(19120), US(44871), US(45090), 0ULL);
	ok &= row(r, TABLE_VMA_WRITERS, "suu-----u", "vma_expand", 3ULL, 0ULL, 0ULL);
	ok &= row(r, TABLE_CALLERS, "suu", "mprotect_fixup", 311ULL, 402ULL);
	ok &= row(r, TABLE_VMA_KINDS, "suuuuuu", "file", 1222ULL, 1180ULL, US(22410023), 230ULL,
		  150ULL, US(2797312));
	ok &= row(r, TABLE_VMA_KINDS, "suuuuuu", "unknown", 0ULL, 0ULL, US(0), 6ULL, 0ULL, US(0));
	return ok;
}

static bool fill_pairs(struct result *r)
{
	bool ok = true;

	ok &= row(r, TABLE_A_PAIRS, "ussussuuuu", 124ULL, "vma-writer", "mprotect_fixup", 120ULL,
		  "fault-reader", "read_folio, waiting for I/O", 41ULL, US(751204), 2ULL, 0ULL);
	ok &= row(r, TABLE_A_PAIRS, "ussussuuuu", 124ULL, "vma-writer", "mprotect_fixup", 121ULL,
		  "fault-reader", "read_folio, runnable but not running", 39ULL, US(688120), 5ULL,
		  0ULL);
	ok &= row(r, TABLE_B_PAIRS, "ususuuu", 120ULL, "fault-reader", 124ULL, "vma-writer", 12ULL,
		  US(120311), 0ULL);
	ok &= row(r, TABLE_BLAME, "usss--suu", 120ULL, "fault-reader", "mmap_lock", "read",
		  "wake-up", US(912), 44ULL);
	ok &= row(r, TABLE_BLAME, "usssussuu", 120ULL, "fault-reader", "mmap_lock", "read", 124ULL,
		  "vma-writer", "holds to write", US(1301877), 148ULL);
	ok &= row(r, TABLE_BLAME, "usssussuu", 124ULL, "vma-writer", "vma", "write", 120ULL,
		  "fault-reader", "fault holds the VMA lock", US(751204), 41ULL);
	ok &= row(r, TABLE_BLAME_CHAINS, "usssuusssuus", 121ULL, "mapper", "mmap_lock", "write",
		  2ULL, 120ULL, "fault-reader", "page_mkwrite (blocked)", "root", US(751000), 17ULL,
		  "mprotect tid 124 holds mmap_lock < fault tid 120 holds the VMA lock "
		  "(page_mkwrite), and so long that a line is not enough");
	ok &= row(r, TABLE_BLAME_CHAINS, "usssu---suu-", 120ULL, "fault-reader", "mmap_lock",
		  "read", 0ULL, "wake-up", US(912), 44ULL);
	ok &= row(r, TABLE_BLAME_ROOTS, "ussssuuuuu", 120ULL, "fault-reader", "fault",
		  "fault holds the VMA lock", "page_mkwrite", US(751204), US(1502204), 2ULL,
		  US(1200), US(0));
	ok &= row(r, TABLE_BLAME_ROOTS, "usss-uuu-u", 124ULL, "vma-writer", "mprotect",
		  "holds to write", US(1301877), US(1301877), 1ULL, US(1301877));
	ok &= row(r, TABLE_BLAME_BY_ORIGIN, "sssssuu", "mmap_lock", "read", "fault", "mprotect",
		  "holds to write", US(5207508), 591ULL);
	ok &= row(r, TABLE_BLAME_STACKS, "sssuuss", "mmap_lock", "read", "holds to write",
		  US(5207508), 591ULL, "lock_mm_and_find_vma < do_user_addr_fault < exc_page_fault",
		  "mprotect_fixup < do_mprotect_pkey < __x64_sys_mprotect");
	ok &= row(r, TABLE_BLAME_STACKS, "sssuu--", "mmap_lock", "read", "unknown", US(20), 3ULL);
	ok &= row(r, TABLE_OPEN, "usssuuusss", 122ULL, "fault-reader", "mmap_lock read", "fault",
		  8101442123ULL, US(6089), 124ULL, "vma-writer",
		  "held to write, blocked in __vma_start_write",
		  "do_user_addr_fault < exc_page_fault");
	ok &= row(r, TABLE_EVENTS, "su", "sched_switch", 20114ULL);
	ok &= row(r, TABLE_EVENTS, "su", "mmap_lock_wait_start", 3029ULL);
	r->tables[TABLE_LOST].covered = true;
	return ok;
}

static bool fill_full(struct result *r)
{
	fill_trace(r);
	fill_summary(r);
	fill_verdict(r);
	result_note(
		r, NOTE_INFO,
		"the stock mmap_lock events of this trace were not used: vendor events are there, "
		"which time the same waits without the failed tries");
	return fill_waits(r) && fill_faults(r) && fill_pairs(r);
}

/* What is null because a family is missing, and why. */
static void uncover(struct result *r, enum table_id t, const char *why)
{
	r->tables[t].covered = false;
	r->tables[t].why = why;
}

static bool fill_stock(struct result *r)
{
	bool ok;

	fill_trace(r);
	ok = fill_waits(r);
	r->kernel = NULL;
	r->workload = NULL;
	r->trace.path = "-";
	r->trace.lock_family = "stock";
	r->trace.vma_family = "none";
	r->trace.lost_events = 1234;
	r->trace.lost_marks = 3;
	r->trace.lost_is_minimum = true;
	r->trace.overwritten_events = 90210;
	r->trace.coverage_ppm = opt(981204);
	r->trace.late_events = 2;
	r->trace.has_sched_switch = false;
	r->trace.has_prios = false;
	r->trace.has_calls = true;
	r->incomplete = true;
	r->summary.lock_wait = (struct result_spread){ opt(0), opt(9000), opt(120530000) };
	r->verdict = (struct result_verdict){
		.primary = 6,
		.text = "Cannot be judged from this trace: it has no page cache fault and no VMA "
			"writer event.",
		.advice = "record on a kernel with the vendor tracepoints",
	};
	for (u32 i = 0; i < 6; i++)
		r->verdict.rules[i] = (struct verdict_rule){
			i + 1,
			i == 5 ? "cannot be judged from this trace" : "priority inversion is real",
			i == 5 ? RULE_HOLDS : RULE_CANNOT, i == 5 ? "A, B and C are null" : NULL
		};
	uncover(r, TABLE_LOCK_TOTALS, "only BPF records tell");
	r->tables[TABLE_LOCK_TOTALS].cells.n = 0;
	r->tables[TABLE_LOCK_TOTALS].n_rows = 0;
	uncover(r, TABLE_FAULT_WAITS, "no page cache fault events");
	uncover(r, TABLE_VMA_WRITERS, "no VMA writer events");
	uncover(r, TABLE_CALLERS, "no VMA writer events");
	uncover(r, TABLE_A_PAIRS, "no VMA writer events");
	uncover(r, TABLE_B_PAIRS, "no page cache fault events");
	uncover(r, TABLE_VMA_KINDS, "no page cache fault events");
	ok &= row(r, TABLE_LOST, "uuuuu", 0ULL, 2ULL, 1234ULL, 0ULL, US(60123));
	ok &= row(r, TABLE_LOST, "uuuuu", 1ULL, 1ULL, 0ULL, 1ULL, US(51));
	r->tables[TABLE_BLAME].covered = true;
	r->tables[TABLE_BLAME_CHAINS].covered = true;
	r->tables[TABLE_BLAME_ROOTS].covered = true;
	r->tables[TABLE_BLAME_BY_ORIGIN].covered = true;
	uncover(r, TABLE_BLAME_STACKS, "no kernel stacks in the trace");
	r->tables[TABLE_OPEN].covered = true;
	ok &= row(r, TABLE_EVENTS, "su", "mmap_lock_start_locking", 3029ULL);
	result_note(r, NOTE_LOSS, "1 wait touched a gap: it is in no figure");
	result_note(r, NOTE_WARNING, "no sched_switch events: priorities are unknown");
	return ok;
}

static bool fill_hostile(struct result *r)
{
	static const char name[] = "a\tb\n\\\xff\x1b[31m\0c\xc3\xa9\xe2\x80\xae";
	bool ok = fill_full(r);

	for (u32 t = 0; t < TABLES; t++) {
		for (size_t i = 0; i < r->tables[t].cells.n; i++) {
			struct cell *c = &r->tables[t].cells.v[i];
			enum col_kind kind = table_defs[t].cols[i % table_defs[t].n_cols].kind;

			if (kind == COL_STR || kind == COL_LINE)
				cell_str(c, name, sizeof(name) - 1);
			else if (kind != COL_BUCKETS)
				cell_u64(c, UINT64_MAX);
		}
		r->tables[t].rows_left_out = UINT64_MAX;
	}
	memset(&r->summary, 0xff, sizeof(r->summary)); /* every number the largest ... */
	for (size_t i = 0; i < sizeof(r->summary) / sizeof(struct opt_u64); i++)
		((struct opt_u64 *)&r->summary)[i].has = true; /* ... and known */
	r->trace.path = name;
	r->kernel = "\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80";
	r->workload = "w\"\r";
	r->trace.lost_events = r->trace.lost_marks = r->trace.overwritten_events = UINT64_MAX;
	r->trace.begin_ns = 0;
	r->trace.end_ns = UINT64_MAX;
	r->verdict.text = "x\ty\xc2\x80";
	result_note(r, NOTE_WARNING, "%0500d", 7);
	return ok;
}

bool sample_result(const char *name, struct result *r)
{
	bool ok;

	result_init(r);
	if (!strcmp(name, "full"))
		return fill_full(r);
	if (!strcmp(name, "stock"))
		return fill_stock(r);
	if (!strcmp(name, "hostile"))
		return fill_hostile(r);
	if (!strcmp(name, "no_clock")) {
		ok = fill_full(r);
		r->trace.clock_has_seconds = false;
		r->trace.clock = "counter";
		return ok;
	}
	return !strcmp(name, "empty");
}
