/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/assemble.c: what a pass found, as a result: coverage, notes, tables, verdict. Layer:
 * session. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict.h"
#include "session/run.h"

#define CLOCKS_APART_NS 10000000000ULL

static const char *copy(struct result *r, const char *s)
{
	return s ? arena_strndup(&r->arena, s, strlen(s)) : NULL;
}

static void name_line_classes(struct result_trace *t)
{
	t->n_line_classes = LINE_CLASSES;
	for (u32 c = 0; c < LINE_CLASSES; c++) {
		t->line_class_keys[c] = line_class_info[c].key;
		t->line_class_skipped[c] = line_class_info[c].skipped;
	}
}

/* Adds up what the streams said about themselves. */
static void fill_lines(const struct run *run, struct result_trace *t)
{
	t->format = "ftrace text";
	t->clock_has_seconds = true;
	for (size_t i = 0; i < run->set->n_streams; i++) {
		const struct ftrace_text_stats *s = feed_stats(run->feed, i);

		t->lines += s->lines;
		for (u32 c = 0; c < LINE_CLASSES; c++)
			t->line_classes[c] += s->by_class[c];
		t->lost_events += s->lost_events;
		t->lost_marks += s->lost_marks;
		t->lost_is_minimum |= s->lost_is_minimum;
		if (s->entries_written > s->entries_in_buffer)
			t->overwritten_events += s->entries_written - s->entries_in_buffer;
		t->pid_mismatch += s->pid_mismatch;
		if (s->header_cpus > t->cpus)
			t->cpus = s->header_cpus;
		if (s->clock_seen && !s->clock_has_seconds)
			t->clock_has_seconds = false;
	}
	t->events = t->line_classes[LINE_EVENT];
}

static void fill_coverage(const struct run *run, struct result_trace *t)
{
	u64 gap_ns = 0, span_ns = run->end_ns - run->begin_ns;
	__uint128_t lost;
	u32 seen = 0;

	for (size_t i = 0; i < run->gaps.cpus.n; i++) {
		const struct gap_cpu *g = &run->gaps.cpus.v[i];

		gap_ns += g->gap_ns;
		/* a CPU may show in LOST marks only */
		seen += g->marks && !g->seen;
	}
	for (size_t i = 0; i < ARRAY_LEN(run->cpus_seen); i++)
		seen += (u32)__builtin_popcountll(run->cpus_seen[i]);
	if (!t->cpus)
		t->cpus = seen;
	if (!run->any_event)
		return;
	lost = gap_ns + (__uint128_t)t->cpus * run->gaps.all.gap_ns;
	/* without a gap the first pass saw no need to look at CPUs */
	if (!lost || !span_ns || !t->cpus) {
		t->coverage_ppm = opt(1000000);
	} else {
		__uint128_t all = (__uint128_t)t->cpus * span_ns;

		t->coverage_ppm = opt(lost >= all ? 0 : (u64)((all - lost) * 1000000 / all));
	}
}

static void fill_trace(const struct run *run, struct result *r)
{
	const struct pair_seen *seen = &run->seen;
	struct result_trace *t = &r->trace;
	const struct order_stats *o = order_stats(run->order);

	t->path = copy(r, run->set ? run->set->path : NULL);
	t->clock = copy(r, run->info.clock);
	t->lock_family = seen->bpf		   ? "BPF"
			 : pair_vendor_locks(seen) ? "vendor"
			 : seen->stock_locks	   ? "stock"
			 : seen->lock_blocked	   ? "blocked"
						   : "none";
	t->vma_family = seen->bpf && seen->vma_waits ? "BPF"
			: seen->vma_waits	     ? "pairs"
			: seen->vma_blocked	     ? "blocked"
			: pair_any_vma(seen)	     ? "begin only"
						     : "none";
	t->resolution_ns = run->ctx.resolution_ns;
	t->begin_ns = run->begin_ns;
	t->end_ns = run->end_ns;
	fill_coverage(run, t);
	t->late_events = o->late_events;
	t->refused_strings = run->strings.refused;
	t->refused_stacks = run->stacks.refused;
	t->refused_intervals = pair_counts(run->pair)->refused_intervals + run->ctx.refused;
	t->refused_intervals += run->gaps.joined;
	t->has_sched_switch = seen->sched_switch;
	t->has_prios = seen->prios;
	t->has_stacks = seen->stacks;
	t->has_calls = seen->calls;
}

struct name_count {
	u32 name;
	u64 n;
};

static int compare_names(const void *a, const void *b)
{
	const struct name_count *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int fill_events(const struct run *run, struct result *r)
{
	VEC(struct name_count) names = VEC_INIT;
	struct map index;
	u64 others = 0;
	int err = 0;

	map_init(&index);
	r->tables[TABLE_LOCK_TOTALS].why = "only BPF records tell";
	r->tables[TABLE_EVENTS].covered = true;
	for (size_t i = 0; i < run->set->n_streams && !err; i++) {
		const struct ftrace_text_stats *s = feed_stats(run->feed, i);

		others += s->other_names;
		for (u32 k = 0; k < s->n_names && !err; k++) {
			u64 *known = map_get(&index, s->names[k].name);
			struct name_count *nc = known ? &names.v[*known] : vec_push(&names);

			if (!nc || (!known && !map_set(&index, s->names[k].name, names.n - 1))) {
				err = -ENOMEM;
				break;
			}
			nc->name = s->names[k].name;
			nc->n += s->names[k].n;
		}
	}
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), compare_names);
	for (size_t i = 0; i < names.n && !err; i++) {
		struct cell *c = result_row(r, TABLE_EVENTS);

		if (!c) {
			err = -ENOMEM;
			break;
		}
		analysis_cell_string(r, c++, &run->ctx, names.v[i].name, "");
		cell_u64(c++, names.v[i].n);
	}
	r->tables[TABLE_EVENTS].rows_left_out = others;
	vec_done(&names);
	map_done(&index);
	return err;
}

/* Where every CPU lost the same, the row names none. */
static int fill_lost_by_all(const struct gap_cpu *all, struct result *r)
{
	struct cell *c = result_row(r, TABLE_LOST);

	if (!c)
		return -ENOMEM;
	c++;
	cell_u64(c++, all->marks);
	cell_u64(c++, all->lost_events);
	cell_u64(c++, all->minimum);
	cell_u64(c++, all->gap_ns);
	return 0;
}

static int fill_lost(const struct run *run, struct result *r)
{
	r->tables[TABLE_LOST].covered = true;
	for (size_t i = 0; i < run->gaps.cpus.n; i++) {
		const struct gap_cpu *g = &run->gaps.cpus.v[i];
		struct cell *c;

		if (!g->marks)
			continue;
		c = result_row(r, TABLE_LOST);
		if (!c)
			return -ENOMEM;
		cell_u64(c++, i);
		cell_u64(c++, g->marks);
		cell_u64(c++, g->lost_events);
		cell_u64(c++, g->minimum);
		cell_u64(c++, g->gap_ns);
	}
	return run->gaps.all.marks ? fill_lost_by_all(&run->gaps.all, r) : 0;
}

static void fill_summary(const struct run *run, struct result *r)
{
	const struct pair_counts *n = pair_counts(run->pair);

	/* BPF sees those that slept only: their number says nothing of all */
	if (run->seen.bpf)
		return;
	if (run->seen.faults) {
		r->summary.fault_total = opt(n->faults);
		r->summary.fault_retries = opt(n->fault_retries);
	}
	if (pair_any_vma(&run->seen))
		r->summary.vma_write_total = opt(n->vma_writes);
}

static void note_losses(const struct run *run, struct result *r)
{
	const struct result_trace *t = &r->trace;
	u32 window_ms = (run->bpf ? BPF_ORDER_WINDOW_NS : ORDER_WINDOW_NS) / 1000000;

	for (size_t i = 0; run->set && i < run->set->n_streams; i++) {
		size_t n;
		const struct source_loss *l = source_losses(run->set->streams[i], &n);

		r->trace.broken_chunks += (u32)n;
		for (size_t k = 0; k < n; k++)
			result_note(r, NOTE_LOSS,
				    "%s: %s after %" PRIu64
				    " good bytes; the rest of it is missing",
				    l[k].path, l[k].why, l[k].offset_bytes);
	}
	if (t->lost_marks)
		result_note(r, NOTE_LOSS,
			    "%s%" PRIu64 " events were lost (%" PRIu64
			    " marks): intervals that such a gap touches "
			    "are in no figure; record with a larger buffer",
			    t->lost_is_minimum ? "at least " : "", t->lost_events, t->lost_marks);
	if (t->overwritten_events)
		result_note(r, NOTE_INFO,
			    "%" PRIu64
			    " older events had been overwritten before the trace was read",
			    t->overwritten_events);
	if (t->late_events)
		result_note(r, NOTE_LOSS,
			    "%" PRIu64 " events are out of order by more than %u ms and left out; "
			    "sort the trace by "
			    "time",
			    t->late_events, window_ms);
	if (order_stats(run->order)->shortened)
		result_note(r, NOTE_INFO,
			    "more than %u events in %u ms: the sorting window was shorter %" PRIu64
			    " times",
			    ORDER_MAX_EVENTS, window_ms, order_stats(run->order)->shortened);
	if (t->refused_strings || t->refused_stacks || t->refused_intervals)
		result_note(r, NOTE_LOSS,
			    "past a limit: %" PRIu64 " names, %" PRIu64 " stacks, %" PRIu64
			    " intervals or pairs left out",
			    t->refused_strings, t->refused_stacks, t->refused_intervals);
}

static void note_session(const struct run *run, struct result *r)
{
	const struct session_info *info = &run->info;
	s64 recorded = 0;

	if (!run->has_info)
		return;
	r->trace.cut = !info->ended_by || !strcmp(info->ended_by, "error");
	if (!info->ended_by)
		result_note(r, NOTE_LOSS, "the recording was cut off: it did not end by itself");
	else if (!strcmp(info->ended_by, "error"))
		result_note(r, NOTE_LOSS, "the recording ended with an error: %s",
			    info->error ? info->error : "unknown");
	for (size_t i = 0; i < info->per_cpu.list.n; i++)
		recorded += info->per_cpu.list.v[i].bytes;
	if (!run->bpf && recorded > 0 && feed_bytes(run->feed) < (u64)recorded) {
		result_note(r, NOTE_LOSS,
			    "the recording wrote %" PRId64 " bytes, and only %" PRIu64
			    " are here: files are missing or "
			    "cut short",
			    recorded, feed_bytes(run->feed));
		r->incomplete = true;
	}
	if (info->scope && !strcmp(info->scope, "all"))
		return;
	if (info->scope)
		result_note(r, NOTE_INFO,
			    "recorded: only the %s; lock holders outside it, such as a /proc "
			    "reader, do not show",
			    strcmp(info->scope, "command") ? "processes asked for"
							   : "command and its children");
}

/* One CPU's file may be idle for long, but files that never meet were hardly recorded on one clock.
 */
static void note_clocks(const struct run *run, struct result *r)
{
	u64 first_ns, last_ns, latest_first_ns = 0, earliest_last_ns = UINT64_MAX;

	for (size_t i = 0; i < run->set->n_streams; i++) {
		if (!feed_times(run->feed, i, &first_ns, &last_ns))
			continue;
		if (first_ns > latest_first_ns)
			latest_first_ns = first_ns;
		if (last_ns < earliest_last_ns)
			earliest_last_ns = last_ns;
	}
	if (latest_first_ns > earliest_last_ns &&
	    latest_first_ns - earliest_last_ns > CLOCKS_APART_NS)
		result_note(r, NOTE_WARNING,
			    "the files of different CPUs do not overlap in time by %" PRIu64
			    " s: were they recorded "
			    "together, on one clock?",
			    (latest_first_ns - earliest_last_ns) / 1000000000);
}

/* What a text trace does not tell, and what it would take. */
static void note_missing(const struct run *run, struct result *r)
{
	const struct pair_seen *seen = &run->seen;
	bool raw_unnamed = false;

	if (!r->trace.clock_has_seconds)
		result_note(r, NOTE_WARNING,
			    "the trace's clock has no seconds (counter, x86-tsc or uptime): counts "
			    "only, no durations");
	if (pair_any_locks(seen) && !seen->sched_switch)
		result_note(r, NOTE_INFO,
			    "no sched_switch events: priorities are unknown, Type C is n/a");
	if (seen->stock_locks && !seen->faults && !pair_any_vma(seen))
		result_note(r, NOTE_INFO,
			    "a stock kernel's text trace has no VMA writer events and no page "
			    "cache faults with an "
			    "address: Types A, B, C and callers are n/a, not 0");
	if (seen->faults && !seen->fault_ends)
		result_note(r, NOTE_WARNING,
			    "no filemap_fault_end and no filemap_fault_retry: no fault is seen "
			    "whole, so that Type A "
			    "finds nothing");
	if (seen->faults && !seen->fault_waits)
		result_note(r, NOTE_WARNING,
			    "no filemap_fault_wait events: no fault waited, or they were not "
			    "recorded; Type A and I/O "
			    "waits are 0 either way");
	if (pair_any_vma(seen) && !seen->vma_waits && !seen->vma_blocked)
		result_note(r, NOTE_WARNING,
			    "no vma_start_write_wait events: no VMA writer waited, or they were "
			    "not recorded; Type A is "
			    "0 either way");
	if (pair_vendor_locks(seen) && !seen->vendor_holds)
		result_note(r, NOTE_WARNING,
			    "no mmap_lock_hold events: Type B sees queued writers only, and blame "
			    "no holders");
	if (pair_vendor_locks(seen) && !seen->vendor_waits)
		result_note(r, NOTE_WARNING,
			    "no mmap_lock_wait events: nobody waited, or they were not recorded; a "
			    "retry's own wait is 0 "
			    "either way");
	if (pair_vendor_locks(seen) && seen->stock_locks)
		result_note(r, NOTE_INFO,
			    "both mmap_lock families are in the trace: the vendor events count, "
			    "the stock ones repeat "
			    "them");
	if (pair_vendor_locks(seen) || seen->lock_blocked)
		result_note(r, NOTE_INFO,
			    "vendor mmap_lock events tell of waits that waited only: do not "
			    "compare their counts with "
			    "stock ones");
	if (r->trace.pid_mismatch)
		result_note(r, NOTE_WARNING,
			    "%" PRIu64 " events print a pid= that is not their thread's: the "
			    "thread of the line counts",
			    r->trace.pid_mismatch);
	for (size_t i = 0; i < run->set->n_streams; i++)
		raw_unnamed |= feed_stats(run->feed, i)->raw_syscalls_unnamed;
	if (raw_unnamed)
		result_note(r, NOTE_INFO,
			    "raw system calls without a known architecture: give --arch to name "
			    "them for origins");
}

static void note_options(const struct run *run, struct result *r)
{
	if (run->opts->analysis.n_pids || run->opts->analysis.n_comms)
		result_note(r, NOTE_INFO,
			    "filtered by -p or -c: only what the threads asked for waited for or "
			    "held is counted; anybody "
			    "may be a blocker");
	if (run->out_of_range && run->out_of_range >= r->trace.events)
		result_note(r, NOTE_WARNING, "no event lies between --from and --to");
	else if (run->out_of_range)
		result_note(r, NOTE_INFO,
			    "%" PRIu64 " events outside --from and --to; waits that cross these "
			    "limits count as open",
			    run->out_of_range);
}

static u64 skipped_lines(const struct result_trace *t)
{
	u64 n = 0;

	for (u32 c = 0; c < t->n_line_classes; c++)
		n += t->line_class_skipped[c] ? t->line_classes[c] : 0;
	return n;
}

int run_assemble(struct run *run, struct result *r, struct error *e)
{
	struct result_trace *t = &r->trace;
	int err;

	run->ctx.begin_ns = run->begin_ns;
	run->ctx.end_ns = run->end_ns;
	r->kernel = copy(r, run->info.kernel);
	r->workload = copy(r, run->opts->workload ? run->opts->workload : run->info.workload);
	name_line_classes(t);
	if (run->bpf)
		assemble_bpf_trace(run, r);
	else
		fill_lines(run, t);
	run->ctx.clock_has_seconds = t->clock_has_seconds;
	fill_summary(run, r);
	err = run->bpf ? assemble_bpf_tables(run, r) : fill_events(run, r);
	for (u32 i = 0; i < ANALYSES && !err; i++)
		err = analysis_ops[i]->finish(run->analyses[i], r);
	if (!err)
		err = fill_lost(run, r);
	if (err)
		return error_set(e, err, "out of memory while writing the result");
	fill_trace(run, r);
	note_losses(run, r);
	note_session(run, r);
	if (run->bpf) {
		assemble_bpf_notes(run, r);
	} else {
		note_clocks(run, r);
		note_missing(run, r);
	}
	note_options(run, r);
	r->incomplete |= t->lost_marks || t->broken_chunks || t->late_events ||
			 t->refused_strings || t->refused_stacks || t->refused_intervals ||
			 skipped_lines(t) || (run->has_info && !run->info.ended_by);
	err = verdict_judge(r, run->opts->analysis.inversion_ns);
	/* a text that is missing somewhere would look like a value that is not there */
	if (!err && r->arena.failed)
		err = -ENOMEM;
	return err ? error_set(e, err, "out of memory while judging") : 0;
}
