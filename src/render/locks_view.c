/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/locks_view.c: one refresh of `mmscope locks` as text. Layer: render.
 *
 * Read at three in the morning: what hangs now comes first, then who loses time, behind whom, then
 * the details; what has nothing to say is not there. On a screen every table gets as many rows as
 * fit.
 */
#include "render/locks.h"

#include <errno.h>
#include <string.h>

#include "render/text_out.h"

#define TOP_ON_SCREEN 20 /* rows a table gets at most where the height decides */
#define LONG_FAULT_NS 100000000ULL
#define TOP_LEAST 3 /* rows below which rather the last tables go */

/* Columns of a block, by key; NULL = all of the report. */
static const char *const open_columns[] = { "tid",	   "comm",	   "waits_for",
					    "origin",	   "so_far",	   "holder_tid",
					    "holder_comm", "holder_doing", NULL };
static const char *const roots_columns[] = { "tid",  "comm",   "origin",  "because",  "reason",
					     "time", "direct", "waiters", "inverted", NULL };
static const char *const chains_columns[] = { "waiter_tid", "waiter_comm", "root_tid", "root_comm",
					      "root_doing", "end",	   "time",     "waits",
					      "path",	    NULL };
static const char *const origin_columns[] = { "lock", "mode", "origin", "count", "total",
					      "mean", "p99",  "max",	NULL };
static const char *const waits_columns[] = { "lock",	 "mode",      "count", "contended",
					     "total",	 "p50",	      "p99",   "max",
					     "over_1ms", "over_10ms", NULL };
static const char *const faults_columns[] = { "reason", "outcome", "count", "total",
					      "mean",	"p99",	   "max",   NULL };
static const char *const totals_columns[] = { "what", "mode", "count",	      "total",
					      "mean", "max",  "failed_tries", NULL };

static bool cell_is(const struct cell *c, const char *s)
{
	return c && !c->null && c->len == strlen(s) && !memcmp(c->s, s, c->len);
}

/* A fault that sleeps for I/O waits for no lock; who waits for it does. */
static bool row_is_lock(const struct result *r, enum table_id id, u32 row)
{
	return !cell_is(result_cell(r, id, row, "lock"), "fault");
}

static bool thread_waits_for_lock(const struct result *r, u32 row)
{
	return row_is_lock(r, TABLE_WAITS_BY_THREAD, row);
}

static bool origin_waits_for_lock(const struct result *r, u32 row)
{
	return row_is_lock(r, TABLE_WAITS_BY_ORIGIN, row);
}

static bool lock_was_waited_for(const struct result *r, u32 row)
{
	const struct cell *count = result_cell(r, TABLE_WAITS, row, "count");

	return row_is_lock(r, TABLE_WAITS, row) && count && !count->null && count->u;
}

static bool open_is_of(const struct result *r, u32 row, const char *what)
{
	return cell_is(result_cell(r, TABLE_OPEN, row, "waits_for"), what);
}

/* A fault that sleeps is worth a line when it has slept long, or when a VMA writer may be behind
 * it. */
static bool open_is_worth_a_line(const struct result *r, u32 row)
{
	const struct cell *age = result_cell(r, TABLE_OPEN, row, "so_far");

	if (!open_is_of(r, row, "fault") || (age && !age->null && age->u >= LONG_FAULT_NS))
		return true;
	for (u32 i = 0; i < r->tables[TABLE_OPEN].n_rows; i++)
		if (open_is_of(r, i, "vma write"))
			return true;
	return false;
}

static bool blocker_has_a_name(const struct result *r, u32 row)
{
	const struct cell *tid = result_cell(r, TABLE_BLAME, row, "blocker_tid");

	return tid && !tid->null;
}

/* Chains of one hop are what the table of pairs says already. */
static bool chain_is_long(const struct result *r, u32 row)
{
	const struct cell *hops = result_cell(r, TABLE_BLAME_CHAINS, row, "hops");

	return hops && !hops->null && hops->u > 1;
}

static bool totals_are_of_all(const struct result *r, u32 row)
{
	const struct cell *pid = result_cell(r, TABLE_LOCK_TOTALS, row, "pid");

	return pid && pid->null;
}

/* The blocks, in their order; ->top: rows it gets at least. */
static const struct text_part blocks[] = {
	{ TABLE_OPEN, "WAITING NOW", open_columns, open_is_worth_a_line, "so_far", 0 },
	{ TABLE_WAITS_BY_THREAD, "Who waited", NULL, thread_waits_for_lock, NULL, 0 },
	{ TABLE_BLAME_ROOTS, "Who is at the root of it", roots_columns, NULL, NULL, 0 },
	{ TABLE_BLAME, "Who made whom wait", NULL, blocker_has_a_name, NULL, 0 },
	{ TABLE_BLAME_CHAINS, "Through whom", chains_columns, chain_is_long, NULL, 0 },
	{ TABLE_A_PAIRS, "VMA writers behind a fault that holds the VMA lock", NULL, NULL, NULL,
	  0 },
	{ TABLE_B_PAIRS, "Fault retries behind a writer of mmap_lock", NULL, NULL, NULL, 0 },
	{ TABLE_WAITS_BY_ORIGIN, "In which calls", origin_columns, origin_waits_for_lock, NULL, 0 },
	{ TABLE_BLAME_BY_ORIGIN, "Which call behind which", NULL, NULL, NULL, 0 },
	{ TABLE_BLAME_STACKS, "Where", NULL, NULL, NULL, 0 },
	{ TABLE_WAITS, "Readers and writers", waits_columns, lock_was_waited_for, NULL, 0 },
	{ TABLE_FAULT_WAITS, "What faults slept for", faults_columns, NULL, NULL, 0 },
	{ TABLE_LOCK_TOTALS, "All waits and holds of mmap_lock since the start, however short",
	  totals_columns, totals_are_of_all, NULL, 4 },
};

static void put_title(struct text *t, const struct locks_frame *f)
{
	u64 window_ms = f->end_ns > f->begin_ns ? (f->end_ns - f->begin_ns) / 1000000 : 0;

	if (t->o->colour)
		text_put(t, "\033[1m");
	t->columns = 0;
	text_printf(t, "mmscope locks  %s  %llu.%03llu s,", f->clock,
		    (unsigned long long)window_ms / 1000, (unsigned long long)window_ms % 1000);
	text_wrap(t, 2, f->scope);
	if (f->last)
		text_wrap(t, 2, "(last)");
	if (t->o->colour)
		text_put(t, "\033[0m");
	text_end_line(t);
}

static void put_summary(struct text *t, const struct locks_frame *f)
{
	const char *waits = t->r->verdict.lock_waits;
	char none[64];

	snprintf(none, sizeof(none), "no wait of %llu us or more has ended",
		 (unsigned long long)f->min_wait_ns / 1000);
	text_put(t, "  mmap_lock:");
	text_wrap(t, 13, waits ? waits : none);
	text_end_line(t);
}

/* "  of the contended time 61 % behind named threads, 30 % until the waiter ran, 9 % unknown" */
static void put_shares(struct text *t)
{
	u64 named = 0, wake_up = 0, unknown = 0, all;

	for (u32 row = 0; row < t->r->tables[TABLE_BLAME].n_rows; row++) {
		const struct cell *time = result_cell(t->r, TABLE_BLAME, row, "time");
		const struct cell *why = result_cell(t->r, TABLE_BLAME, row, "because");
		u64 ns = time && !time->null ? time->u / 1000 : 0; /* us: no sum runs over */

		if (blocker_has_a_name(t->r, row))
			named += ns;
		else if (cell_is(why, "wake-up"))
			wake_up += ns;
		else
			unknown += ns;
	}
	all = named + wake_up + unknown;
	if (!all)
		return;
	text_printf(t,
		    "  of the contended time %llu %% behind named threads, %llu %% until the "
		    "waiter ran, "
		    "%llu %% unknown",
		    (unsigned long long)(render_percent_x100(named, all) + 50) / 100,
		    (unsigned long long)(render_percent_x100(wake_up, all) + 50) / 100,
		    (unsigned long long)(render_percent_x100(unknown, all) + 50) / 100);
	text_end_line(t);
}

static void put_inversion(struct text *t, const char *what, struct opt_u64 n, struct opt_u64 ns,
			  struct opt_u64 unknown)
{
	char time[TEXT_NUMBER_MAX], line[200];
	int len;

	if (!n.has || (!n.v && !unknown.v))
		return;
	text_duration(t, ns, time);
	len = snprintf(line, sizeof(line), "%s: %llu, %s", what, (unsigned long long)n.v, time);
	if (unknown.v)
		snprintf(line + len, sizeof(line) - (size_t)len, " (%llu with a priority unknown)",
			 (unsigned long long)unknown.v);
	text_put(t, "  PRIORITY INVERSION,");
	text_wrap(t, 4, line);
	text_end_line(t);
}

static void put_inversions(struct text *t)
{
	const struct result_summary *s = &t->r->summary;

	put_inversion(t, "writers behind faults of less important threads", s->c_pairs,
		      s->c_score_ns, s->c_unknown);
	put_inversion(t, "fault retries behind less important writers", s->c_b_windows,
		      s->c_b_score_ns, s->c_b_unknown);
}

static void put_loss(struct text *t, const struct locks_frame *f)
{
	if (f->lost || f->lost_all) {
		text_printf(t,
			    "  LOST: %llu records in this window, %llu since the start: waits are "
			    "missing; try a larger --ring",
			    (unsigned long long)f->lost, (unsigned long long)f->lost_all);
		text_end_line(t);
	}
	if (f->left_out) {
		text_printf(
			t,
			"  LEFT OUT: %llu records since the start, too many for one window; try "
			"a larger --min-us or a shorter -i",
			(unsigned long long)f->left_out);
		text_end_line(t);
	}
	for (size_t i = 0; i < f->n_rungs; i++) {
		text_put(t, "  less:");
		text_wrap(t, 8, f->rungs[i]);
		text_end_line(t);
	}
}

/* "  mmscope itself: 0.31 % of a CPU, 1204 records/s, 0.24 MB/s, no wait for mmap_lock" */
static void put_overhead(struct text *t, const struct locks_frame *f)
{
	u64 ns = f->end_ns > f->begin_ns ? f->end_ns - f->begin_ns : 1;
	u64 cpu = render_percent_x100(f->cpu_ns, ns);
	double seconds = (double)ns / 1e9;

	text_printf(t, "  mmscope itself: %llu.%02llu %% of a CPU, %.0f records/s, %.2f MB/s, ",
		    (unsigned long long)cpu / 100, (unsigned long long)cpu % 100,
		    (double)f->records / seconds, (double)f->record_bytes / seconds / 1e6);
	if (f->own_wait_ns >= 1000)
		text_printf(t, "waited for its own mmap_lock %llu us so far",
			    (unsigned long long)f->own_wait_ns / 1000);
	else
		text_put(t, "no wait for its own mmap_lock");
	text_end_line(t);
}

/* The first @n_blocks blocks with @top rows each, and a line that says what is not there. */
static void put_blocks(struct text *t, size_t n_blocks, u32 top)
{
	size_t n_left = 0;

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		const struct result_table *table = &t->r->tables[blocks[i].id];
		struct text_part part = blocks[i];

		part.top = top && part.top > top ? part.top : top;
		if (i < n_blocks)
			(void)text_table_part(t, &part);
		else
			n_left += table->covered && table->n_rows;
	}
	if (n_left) {
		text_printf(t, "  ... %zu more table%s: a larger window shows them", n_left,
			    n_left == 1 ? "" : "s");
		text_end_line(t);
	}
}

static int put_all(const struct result *r, const struct locks_frame *f, size_t n_blocks, u32 top,
		   FILE *out, const struct render_opts *o, struct error *e)
{
	struct text *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return error_set(e, -ENOMEM, "out of memory while the tables were made");
	t->r = r;
	t->o = o;
	t->out = out;
	put_title(t, f);
	put_summary(t, f);
	put_shares(t);
	put_inversions(t);
	put_loss(t, f);
	put_overhead(t, f);
	t->blocks = true;
	put_blocks(t, n_blocks, top);
	err = t->err;
	free(t);
	return render_finish(out, err, e);
}

static size_t count_lines(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += s[i] == '\n';
	return n;
}

/* The first @max_lines - 1 lines, and one that says how many more there are. */
static void put_cut(FILE *out, const char *s, size_t len, size_t n_lines, u32 max_lines)
{
	const char *end = s;

	for (u32 i = 0; i + 1 < max_lines; i++)
		end = (const char *)memchr(end, '\n', len - (size_t)(end - s)) + 1;
	fwrite(s, 1, (size_t)(end - s), out);
	fprintf(out, "  ... %zu more lines: a larger window shows them\n", n_lines - max_lines + 1);
}

/* A page in memory, to be freed. */
static int make_page(const struct result *r, const struct locks_frame *f, size_t n_blocks, u32 top,
		     const struct render_opts *o, char **ret, size_t *ret_len, struct error *e)
{
	FILE *mem;
	int err;

	*ret = NULL;
	mem = open_memstream(ret, ret_len);
	if (!mem)
		return error_set(e, -ENOMEM, "out of memory while the tables were made");
	err = put_all(r, f, n_blocks, top, mem, o, e);
	if (fclose(mem) && !err)
		err = error_set(e, -ENOMEM, "out of memory while the tables were made");
	return err;
}

int render_locks(const struct result *r, const struct locks_frame *f, u32 max_lines, FILE *out,
		 const struct render_opts *o, struct error *e)
{
	u32 top = o->top && o->top < TOP_ON_SCREEN ? o->top : TOP_ON_SCREEN;
	size_t n_blocks = ARRAY_LEN(blocks), len = 0, lines = SIZE_MAX;
	char *page = NULL;
	int err = 0;

	if (!max_lines)
		return put_all(r, f, n_blocks, o->top, out, o, e);
	while (lines > max_lines) {
		free(page);
		err = make_page(r, f, n_blocks, top, o, &page, &len, e);
		if (err)
			goto out;
		lines = count_lines(page, len);
		if (top > TOP_LEAST)
			top--;
		else if (n_blocks > 1)
			n_blocks--;
		else
			break;
	}
	if (lines <= max_lines)
		fwrite(page, 1, len, out);
	else
		put_cut(out, page, len, lines, max_lines);
	err = render_finish(out, 0, e);
out:
	free(page);
	return err;
}
