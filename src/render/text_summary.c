/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/text_summary.c: the summary of faults, writers, mmap_lock and Types A, B, C in words.
 * Layer: render.
 *
 * A family that the trace does not hold reads "n/a (why)", never 0.
 */
#include "render/text_out.h"

#include <string.h>

#define LABEL_COLUMN 13

/* One figure of a group. A group is null when its first figure is. */
struct figure {
	const char *label;
	struct opt_u64 v;
	bool is_ns;
};

static const char *first_of(const char *a, const char *b)
{
	return a ? a : b;
}

static const char *why_no_locks(const struct text *t)
{
	return first_of(t->r->tables[TABLE_WAITS].why, "no mmap_lock events");
}

static const char *why_no_faults(const struct text *t)
{
	return first_of(t->r->tables[TABLE_FAULT_WAITS].why, "no page cache fault events");
}

static const char *why_no_writers(const struct text *t)
{
	return first_of(t->r->tables[TABLE_VMA_WRITERS].why, "no VMA writer events");
}

static const char *why_no_a(const struct text *t)
{
	if (t->r->tables[TABLE_A_PAIRS].why)
		return t->r->tables[TABLE_A_PAIRS].why;
	return t->r->summary.vma_write_total.has ? why_no_faults(t) : why_no_writers(t);
}

static const char *why_no_b(const struct text *t)
{
	if (t->r->tables[TABLE_B_PAIRS].why)
		return t->r->tables[TABLE_B_PAIRS].why;
	return t->r->summary.fault_total.has ? why_no_locks(t) : why_no_faults(t);
}

static void put_label(struct text *t, const char *label)
{
	text_put(t, "  ");
	text_put(t, label);
	text_pad(t, LABEL_COLUMN);
}

static void put_na(struct text *t, const char *why)
{
	char s[512];

	snprintf(s, sizeof(s), "n/a (%s)", why);
	text_wrap(t, LABEL_COLUMN, s);
	text_end_line(t);
}

static void put_figures(struct text *t, const struct figure *figures, size_t n)
{
	char value[TEXT_NUMBER_MAX], s[128];

	for (size_t i = 0; i < n; i++) {
		const struct figure *f = &figures[i];

		if (f->is_ns)
			text_duration(t, f->v, value);
		else if (f->v.has)
			text_number(f->v.v, 20, value);
		else
			strcpy(value, "n/a");
		snprintf(s, sizeof(s), "%s %s", f->label, value);
		text_item(t, LABEL_COLUMN, 3, s);
	}
}

static void put_spread(struct text *t, const char *what, const struct result_spread *s)
{
	char min[TEXT_NUMBER_MAX], median[TEXT_NUMBER_MAX], max[TEXT_NUMBER_MAX], line[160];

	if (!text_knows_time(t)) {
		snprintf(line, sizeof(line), "%s: times n/a", what);
	} else if (!s->median_ns.has) {
		snprintf(line, sizeof(line), "%s: none", what);
	} else {
		text_duration(t, s->min_ns, min);
		text_duration(t, s->median_ns, median);
		text_duration(t, s->max_ns, max);
		snprintf(line, sizeof(line), "%s: min %s, median %s, max %s", what, min, median,
			 max);
	}
	text_item(t, LABEL_COLUMN, 3, line);
}

/* BPF records: how many there were in all is not known, but their waits are. */
static bool only_slept(struct text *t, enum table_id table, const struct result_spread *waits)
{
	if (!t->r->trace.from_bpf || !t->r->tables[table].covered)
		return false;
	text_item(t, LABEL_COLUMN, 3, "those that slept");
	put_spread(t, "waits", waits);
	text_end_line(t);
	return true;
}

static void put_faults(struct text *t)
{
	const struct result_summary *s = &t->r->summary;
	char line[80];

	put_label(t, "Faults");
	if (only_slept(t, TABLE_FAULT_WAITS, &s->fault_wait))
		return;
	if (!s->fault_total.has) {
		put_na(t, why_no_faults(t));
		return;
	}
	put_figures(t, (struct figure[]){ { "page cache faults", s->fault_total, false } }, 1);
	if (s->fault_retries.has && s->fault_total.v) {
		u64 rate = render_percent_x100(s->fault_retries.v, s->fault_total.v);

		snprintf(line, sizeof(line), "retried %llu (%llu.%02llu %%)",
			 (unsigned long long)s->fault_retries.v, (unsigned long long)rate / 100,
			 (unsigned long long)rate % 100);
		text_item(t, LABEL_COLUMN, 3, line);
	}
	put_spread(t, "waits", &s->fault_wait);
	text_end_line(t);
}

static void put_writers(struct text *t)
{
	const struct result_summary *s = &t->r->summary;

	put_label(t, "Writers");
	if (only_slept(t, TABLE_VMA_WRITERS, &s->vma_write_wait))
		return;
	if (!s->vma_write_total.has) {
		put_na(t, why_no_writers(t));
		return;
	}
	put_figures(t, (struct figure[]){ { "VMA writes", s->vma_write_total, false } }, 1);
	put_spread(t, "waits", &s->vma_write_wait);
	text_end_line(t);
}

static void put_locks(struct text *t)
{
	put_label(t, "mmap_lock");
	if (!t->r->tables[TABLE_WAITS].covered && !t->r->tables[TABLE_HOLDS].covered &&
	    !t->r->summary.lock_wait.median_ns.has && !t->r->summary.lock_hold.median_ns.has) {
		put_na(t, why_no_locks(t));
		return;
	}
	put_spread(t, "waits", &t->r->summary.lock_wait);
	put_spread(t, "holds", &t->r->summary.lock_hold);
	text_end_line(t);
}

/* "  Type A    fault waits that blocked a VMA writer", then its figures on lines of their own. */
static void put_type(struct text *t, const char *label, const char *doc, const char *why,
		     const struct figure *figures, size_t n)
{
	put_label(t, label);
	text_put(t, doc);
	if (!figures[0].v.has) {
		text_put(t, ":");
		put_na(t, why);
		return;
	}
	text_end_line(t);
	put_figures(t, figures, n);
	text_end_line(t);
}

static void put_a(struct text *t)
{
	const struct result_summary *s = &t->r->summary;
	const struct figure figures[] = {
		{ "pairs", s->a_pairs, false },
		{ "writer waits", s->a_writer_waits, false },
		{ "time lost", s->a_union_ns, true },
		{ "coincident (lock dropped)", s->a_coincident, false },
		{ "undecided", s->a_undecided, false },
	};

	put_type(t, "Type A", "fault waits that blocked a VMA writer", why_no_a(t), figures,
		 ARRAY_LEN(figures));
}

static void put_b(struct text *t)
{
	const struct result_summary *s = &t->r->summary;
	const struct figure figures[] = {
		{ "windows", s->b_windows, false },
		{ "pairs", s->b_pairs, false },
		{ "time behind writers", s->b_overlap_ns, true },
		{ "not ended", s->b_open_windows, false },
		{ "own wait for mmap_lock (with wake-up)", s->b_retry_wait_ns, true },
		{ "I/O wait of the same faults", s->b_io_wait_ns, true },
	};

	put_type(t, "Type B", "fault retries that waited for a writer of mmap_lock", why_no_b(t),
		 figures, ARRAY_LEN(figures));
}

static const char *why_no_c(const struct text *t, const char *why)
{
	return t->r->trace.has_prios ? why : "no sched_switch events";
}

static void put_c(struct text *t)
{
	const struct result_summary *s = &t->r->summary;
	const struct figure of_a[] = {
		{ "pairs", s->c_pairs, false },
		{ "score", s->c_score_ns, true },
		{ "RT behind fair", s->c_rt_pairs, false },
		{ "both fair", s->c_fair_pairs, false },
		{ "priority unknown", s->c_unknown, false },
		{ "known later", s->c_late, false },
	};
	const struct figure of_b[] = {
		{ "windows", s->c_b_windows, false },
		{ "score", s->c_b_score_ns, true },
		{ "priority unknown", s->c_b_unknown, false },
		{ "known later", s->c_b_late, false },
	};

	if (!s->c_pairs.has && !s->c_b_windows.has && !t->r->trace.has_prios) {
		put_type(t, "Type C", "the waiter is more important than its blocker",
			 why_no_c(t, NULL), of_a, ARRAY_LEN(of_a));
		return;
	}
	put_type(t, "Type C", "of A, the waiter more important than the blocker",
		 why_no_c(t, why_no_a(t)), of_a, ARRAY_LEN(of_a));
	put_type(t, "", "of B, the waiter more important than the blocker",
		 why_no_c(t, why_no_b(t)), of_b, ARRAY_LEN(of_b));
}

void text_summary(struct text *t)
{
	text_gap(t, false);
	text_heading(t, "CONTENTION");
	put_faults(t);
	put_writers(t);
	put_locks(t);
	put_a(t);
	put_b(t);
	put_c(t);
}
