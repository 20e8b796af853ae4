/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/text.c: the report: title, verdict, what was not covered, summary, tables. Layer: render.
 *
 * Made to be read in a terminal and pasted into a mail: fixed width, no tabs, units in the
 * headings.
 */
#include "render/text.h"

#include <errno.h>
#include <string.h>

#include "render/text_out.h"

#define LABEL_COLUMN 16
#define LABEL_MAX (LABEL_COLUMN - 4)

static void put_title(struct text *t)
{
	const struct result *r = t->r;

	text_put(t, "mmscope " MMSCOPE_VERSION ":");
	text_wrap(t, 4,
		  r->trace.path && strcmp(r->trace.path, "-") ? r->trace.path : "standard input");
	if (r->kernel) {
		text_put(t, ",");
		text_wrap(t, 4, "kernel");
		text_wrap(t, 4, r->kernel);
	}
	if (r->workload) {
		text_put(t, ",");
		text_wrap(t, 4, "workload");
		text_wrap(t, 4, r->workload);
	}
	text_end_line(t);
	t->blocks = true;
}

static u32 rule_name_width(const struct result_verdict *v)
{
	size_t width = 0;

	for (size_t i = 0; i < ARRAY_LEN(v->rules); i++)
		if (v->rules[i].id && v->rules[i].name && strlen(v->rules[i].name) > width)
			width = strlen(v->rules[i].name);
	return width < 40 ? (u32)width : 40;
}

/* "* 4 contention without inversion  holds    A pairs 150, ..."; the star marks the answer. */
static void put_rules(struct text *t, const struct result_verdict *v)
{
	static const char *const states[] = {
		[RULE_NO] = "no",
		[RULE_HOLDS] = "holds",
		[RULE_CANNOT] = "unknown",
	};
	u32 states_column = 6 + rule_name_width(v) + 2, figures_column = states_column + 9;

	if (!v->primary)
		return;
	text_put(t, "  Rules, in their order; * is the first that holds:");
	text_end_line(t);
	for (size_t i = 0; i < ARRAY_LEN(v->rules); i++) {
		const struct verdict_rule *rule = &v->rules[i];
		const char *name = rule->name ? rule->name : "";

		if (!rule->id) /* never judged */
			continue;
		text_printf(t, "  %c %u ", rule->id == v->primary ? '*' : ' ', rule->id);
		text_cut(t, name, strlen(name), 40);
		text_pad(t, states_column);
		text_put(t, states[rule->state]);
		if (rule->figures) {
			text_pad(t, figures_column);
			text_wrap(t, figures_column, rule->figures);
		}
		text_end_line(t);
	}
}

static void put_lock_waits(struct text *t, const struct result_verdict *v)
{
	if (!v->lock_waits)
		return;
	text_put(t, "  mmap_lock:");
	text_wrap(t, 13, v->lock_waits);
	text_end_line(t);
}

static void put_verdict(struct text *t)
{
	const struct result_verdict *v = &t->r->verdict;
	bool first;

	text_gap(t, false);
	text_heading(t, "VERDICT");
	/* where types A and B are n/a, as on every stock kernel, this is what the trace tells */
	first = !t->r->summary.a_pairs.has && !t->r->summary.b_windows.has;
	if (first)
		put_lock_waits(t, v);
	text_wrap(t, 2, v->text ? v->text : "none was made");
	text_end_line(t);
	if (v->advice) {
		text_put(t, "  Advice:");
		text_wrap(t, 10, v->advice);
		text_end_line(t);
	}
	if (!first)
		put_lock_waits(t, v);
	put_rules(t, v);
}

static void put_label(struct text *t, const char *label)
{
	text_put(t, "  ");
	text_cut(t, label, strlen(label), LABEL_MAX);
	text_pad(t, LABEL_COLUMN);
}

/* A line of the data quality block: a label, and text that is filled up to the width. */
static void put_line(struct text *t, const char *label, const char *s)
{
	put_label(t, label);
	text_wrap(t, LABEL_COLUMN, s);
	text_end_line(t);
}

static void put_trace_lines(struct text *t)
{
	const struct result_trace *tr = &t->r->trace;
	unsigned long long begin = tr->begin_ns, end = tr->end_ns,
			   span = end > begin ? end - begin : 0;
	char s[512], res[64] = "";

	if (tr->resolution_ns >= 1000 && tr->resolution_ns % 1000 == 0)
		snprintf(res, sizeof(res), ", resolution %llu us",
			 (unsigned long long)tr->resolution_ns / 1000);
	else if (tr->resolution_ns)
		snprintf(res, sizeof(res), ", resolution %llu ns",
			 (unsigned long long)tr->resolution_ns);
	if (!tr->clock_has_seconds)
		snprintf(s, sizeof(s),
			 "the clock%s%.64s does not count seconds: counts only, no times",
			 tr->clock ? " " : "", tr->clock ? tr->clock : "");
	else if (!tr->events)
		snprintf(s, sizeof(s), "no events");
	else
		snprintf(s, sizeof(s), "%llu.%06llu s, from %llu.%06llu to %llu.%06llu s%s%.64s%s",
			 span / 1000000000, span / 1000 % 1000000, begin / 1000000000,
			 begin / 1000 % 1000000, end / 1000000000, end / 1000 % 1000000,
			 tr->clock ? ", clock " : "", tr->clock ? tr->clock : "", res);
	put_line(t, "time", s);
	snprintf(s, sizeof(s), "%.64s: %llu %s, %llu events, %u CPU%s",
		 tr->format ? tr->format : "trace", (unsigned long long)tr->lines,
		 tr->from_bpf ? "records" : "lines", (unsigned long long)tr->events, tr->cpus,
		 tr->cpus == 1 ? "" : "s");
	put_line(t, "read", s);
	snprintf(s, sizeof(s),
		 "mmap_lock events: %.32s; VMA writer events: %.32s; %s: %s; stacks: %s; "
		 "system calls: %s",
		 tr->lock_family ? tr->lock_family : "none",
		 tr->vma_family ? tr->vma_family : "none",
		 tr->from_bpf ? "priorities" : "sched_switch",
		 (tr->from_bpf ? tr->has_prios : tr->has_sched_switch) ? "yes" : "no",
		 tr->has_stacks ? "yes" : "no", tr->has_calls ? "yes" : "no");
	put_line(t, "used", s);
}

/* "coverage 99.8123 %" with what was lost; said also when nothing was. */
static void put_loss(struct text *t)
{
	const struct result_trace *tr = &t->r->trace;
	char s[256], coverage[64] = "";

	if (tr->coverage_ppm.has)
		snprintf(coverage, sizeof(coverage), "; %llu.%04llu %% of CPU time covered",
			 (unsigned long long)tr->coverage_ppm.v / 10000,
			 (unsigned long long)tr->coverage_ppm.v % 10000);
	if (tr->lost_marks || tr->lost_events)
		snprintf(s, sizeof(s), "%s%llu events, in %llu gaps%s",
			 tr->lost_is_minimum ? "at least " : "",
			 (unsigned long long)tr->lost_events, (unsigned long long)tr->lost_marks,
			 coverage);
	else if (tr->cut)
		snprintf(s, sizeof(s),
			 "nothing that the recording could still tell: it was cut off, and what "
			 "came "
			 "behind the cut is missing");
	else
		snprintf(s, sizeof(s), "nothing%s", coverage);
	put_line(t, "lost", s);
	if (tr->overwritten_events) {
		snprintf(s, sizeof(s),
			 "%llu events before the first one kept (the ring buffer was full)",
			 (unsigned long long)tr->overwritten_events);
		put_line(t, "overwritten", s);
	}
}

static void put_skipped(struct text *t)
{
	const struct result_trace *tr = &t->r->trace;
	u32 n = tr->n_line_classes < ARRAY_LEN(tr->line_classes) ? tr->n_line_classes
								 : ARRAY_LEN(tr->line_classes);
	u64 sum = 0;
	char s[128];

	for (u32 i = 0; i < n; i++)
		sum += tr->line_class_skipped[i] ? tr->line_classes[i] : 0;
	if (tr->from_bpf)
		return; /* the notes tell of records that were left out */
	put_label(t, "skipped");
	if (!sum) {
		text_put(t, "no line");
		text_end_line(t);
		return;
	}
	snprintf(s, sizeof(s), "%llu line%s:", (unsigned long long)sum, sum == 1 ? "" : "s");
	text_wrap(t, LABEL_COLUMN, s);
	for (u32 i = 0; i < n; i++) {
		if (!tr->line_class_skipped[i] || !tr->line_classes[i] || !tr->line_class_keys[i])
			continue;
		snprintf(s, sizeof(s), "%.64s %llu", tr->line_class_keys[i],
			 (unsigned long long)tr->line_classes[i]);
		text_item(t, LABEL_COLUMN, 2, s);
	}
	text_end_line(t);
}

/* What must be said only where it happened. */
static void put_refused(struct text *t)
{
	const struct result_trace *tr = &t->r->trace;
	const struct {
		const char *label;
		u64 n;
		const char *what;
	} rows[] = {
		{ "late", tr->late_events,
		  "events out of order by more than the window, left out" },
		{ "pid differs", tr->pid_mismatch,
		  "events whose pid= is not the thread (taken from the line's header)" },
		{ "broken", tr->broken_chunks, "chunks that could not be read to their end" },
		{ "refused", tr->refused_strings, "strings past the limit: shown as unknown" },
		{ "refused", tr->refused_stacks, "stacks past the limit: no origin from them" },
		{ "refused", tr->refused_intervals, "intervals past the limit: in no figure" },
	};
	char s[160];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].n)
			continue;
		snprintf(s, sizeof(s), "%llu %s", (unsigned long long)rows[i].n, rows[i].what);
		put_line(t, rows[i].label, s);
	}
}

static const char *why_of(const struct text *t, u32 id)
{
	const struct result_table *table = &t->r->tables[id];

	return table->covered || !table->why ? "" : table->why;
}

/* The tables that the trace cannot fill, one line per reason. */
static void put_not_covered(struct text *t)
{
	for (u32 i = 0; i < TABLES; i++) {
		const char *why = why_of(t, i);
		bool seen = !*why;

		for (u32 k = 0; k < i && !seen; k++)
			seen = !strcmp(why_of(t, k), why);
		if (seen)
			continue;
		put_label(t, "not covered");
		text_wrap(t, LABEL_COLUMN, why);
		text_put(t, ":");
		for (u32 k = i; k < TABLES; k++)
			if (!strcmp(why_of(t, k), why))
				text_wrap(t, LABEL_COLUMN, table_defs[k].key);
		text_end_line(t);
	}
}

static void put_notes(struct text *t)
{
	static const char *const labels[] = {
		[NOTE_INFO] = "note",
		[NOTE_LOSS] = "loss",
		[NOTE_WARNING] = "warning",
	};

	for (size_t i = 0; i < t->r->notes.n; i++)
		put_line(t, labels[t->r->notes.v[i].level], t->r->notes.v[i].text);
}

static void put_data_quality(struct text *t)
{
	text_gap(t, false);
	text_heading(t, "DATA QUALITY, AND WHAT WAS NOT COVERED");
	put_trace_lines(t);
	put_loss(t);
	put_skipped(t);
	put_refused(t);
	put_not_covered(t);
	put_notes(t);
}

int render_text(const struct result *r, FILE *out, const struct render_opts *o, struct error *e)
{
	struct text *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return error_set(e, -ENOMEM, "out of memory while the report was made");
	t->r = r;
	t->o = o;
	t->out = out;
	put_title(t);
	if (render_wants(o, SECTION_verdict))
		put_verdict(t);
	if (render_wants(o, SECTION_trace))
		put_data_quality(t);
	if (render_wants(o, SECTION_contention))
		text_summary(t);
	for (u32 i = 0; i < TABLES; i++)
		if (render_wants_table(o, i))
			text_table(t, i);
	err = t->err;
	free(t);
	return render_finish(out, err, e);
}
