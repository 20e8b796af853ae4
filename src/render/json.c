/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/json.c: a result as JSON (see json.h). Layer: render.
 *
 * The document is built as a jansson tree and written at the end. A failed allocation anywhere on
 * the way sets ->failed (jansson's setters take NULL and say so), and nothing is written then.
 */
#include "render/json.h"

#include <errno.h>
#include <string.h>

#include "render/escape.h"
#include "render/json_out.h"

struct json_out {
	const struct result *r;
	const struct render_opts *o;
	bool failed;
};

static void put(struct json_out *j, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		j->failed = true;
}

static void append(struct json_out *j, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		j->failed = true;
}

/* JSON has no limit for integers, jansson has: counts beyond it (only a hostile trace has them)
 * stay there. */
static json_t *value_u64(u64 v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *value_bytes(const char *s, size_t len)
{
	json_t *value;
	char *clean;

	if (!s)
		return json_null();
	clean = escape_dup(s, len, &len);
	if (!clean)
		return NULL;
	value = json_stringn(clean, len);
	free(clean);
	return value;
}

static json_t *value_str(const char *s)
{
	return s ? value_bytes(s, strlen(s)) : json_null();
}

static json_t *value_count(struct opt_u64 v)
{
	return v.has ? value_u64(v.v) : json_null();
}

/*
 * The ONE place where times become numbers: with a clock that does not count seconds nothing is
 * known of any duration or time stamp.
 */
static json_t *value_time(const struct json_out *j, struct opt_u64 v, u64 unit_ns)
{
	return v.has && j->r->trace.clock_has_seconds ? value_u64(v.v / unit_ns) : json_null();
}

static json_t *value_us(const struct json_out *j, struct opt_u64 ns)
{
	return value_time(j, ns, 1000);
}

static json_t *value_ns(const struct json_out *j, struct opt_u64 ns)
{
	return value_time(j, ns, 1);
}

static json_t *value_percent(u64 x100)
{
	return json_real((double)x100 / 100);
}

static json_t *value_spread(struct json_out *j, const struct result_spread *s)
{
	json_t *object = json_object();

	put(j, object, "min", value_us(j, s->min_ns));
	put(j, object, "median", value_us(j, s->median_ns));
	put(j, object, "max", value_us(j, s->max_ns));
	return object;
}

static void put_summary(struct json_out *j, json_t *top)
{
	const struct result_summary *s = &j->r->summary;
	json_t *fault = json_object(), *writer = json_object(), *lock = json_object();
	bool rate = s->fault_total.has && s->fault_total.v && s->fault_retries.has;

	put(j, fault, "total_count", value_count(s->fault_total));
	put(j, fault, "retry_count", value_count(s->fault_retries));
	put(j, fault, "retry_rate_pct",
	    rate ? value_percent(render_percent_x100(s->fault_retries.v, s->fault_total.v))
		 : json_null());
	put(j, fault, "wait_durations_us", value_spread(j, &s->fault_wait));
	put(j, top, "filemap_fault", fault);
	put(j, writer, "total_count", value_count(s->vma_write_total));
	put(j, writer, "wait_durations_us", value_spread(j, &s->vma_write_wait));
	put(j, top, "vma_writer", writer);
	put(j, lock, "wait_durations_us", value_spread(j, &s->lock_wait));
	put(j, lock, "hold_durations_us", value_spread(j, &s->lock_hold));
	put(j, top, "mmap_lock", lock);
}

static void put_contention(struct json_out *j, json_t *top)
{
	const struct result_summary *s = &j->r->summary;
	const struct {
		const char *key;
		struct opt_u64 v;
		bool is_ns;
	} rows[] = {
		{ "type_a_count", s->a_pairs, false },
		{ "type_a_duration_sum_us", s->a_union_ns, true },
		{ "type_a_writer_wait_count", s->a_writer_waits, false },
		{ "type_a_coincident_count", s->a_coincident, false },
		{ "type_a_undecided_count", s->a_undecided, false },
		{ "type_b_count", s->b_windows, false },
		{ "type_b_pair_count", s->b_pairs, false },
		{ "type_b_open_count", s->b_open_windows, false },
		{ "type_b_retry_to_mmap_lock_sum_us", s->b_overlap_ns, true },
		{ "type_b_retry_wait_sum_us", s->b_retry_wait_ns, true },
		{ "type_b_io_wait_sum_us", s->b_io_wait_ns, true },
		{ "type_c_count", s->c_pairs, false },
		{ "type_c_score_us", s->c_score_ns, true },
		{ "type_c_rt_count", s->c_rt_pairs, false },
		{ "type_c_fair_count", s->c_fair_pairs, false },
		{ "type_c_unknown_count", s->c_unknown, false },
		{ "type_c_late_priority_count", s->c_late, false },
		{ "type_c_b_count", s->c_b_windows, false },
		{ "type_c_b_score_us", s->c_b_score_ns, true },
		{ "type_c_b_unknown_count", s->c_b_unknown, false },
		{ "type_c_b_late_priority_count", s->c_b_late, false },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		put(j, object, rows[i].key,
		    rows[i].is_ns ? value_us(j, rows[i].v) : value_count(rows[i].v));
	put(j, top, "contention", object);
}

static const char *const state_names[] = {
	[RULE_NO] = "does not hold",
	[RULE_HOLDS] = "holds",
	[RULE_CANNOT] = "cannot be judged",
};

static void put_verdict(struct json_out *j, json_t *top)
{
	const struct result_verdict *v = &j->r->verdict;
	json_t *object = json_object(), *rules = json_array();

	put(j, object, "primary", v->primary ? value_u64(v->primary) : json_null());
	put(j, object, "text", value_str(v->text));
	put(j, object, "advice", value_str(v->advice));
	put(j, object, "lock_waits", value_str(v->lock_waits));
	for (size_t i = 0; i < ARRAY_LEN(v->rules); i++) {
		const struct verdict_rule *rule = &v->rules[i];
		json_t *o;

		if (!rule->id) /* never judged */
			continue;
		o = json_object();
		put(j, o, "id", value_u64(rule->id));
		put(j, o, "name", value_str(rule->name));
		put(j, o, "state", json_string(state_names[rule->state]));
		put(j, o, "figures", value_str(rule->figures));
		append(j, rules, o);
	}
	put(j, object, "rules", rules);
	put(j, top, "verdict", object);
}

static void put_line_classes(struct json_out *j, json_t *object)
{
	const struct result_trace *t = &j->r->trace;
	json_t *classes = json_object();
	u64 skipped = 0;

	for (u32 i = 0; i < t->n_line_classes && i < ARRAY_LEN(t->line_classes); i++) {
		if (!t->line_class_keys[i])
			continue;
		put(j, classes, t->line_class_keys[i], value_u64(t->line_classes[i]));
		if (t->line_class_skipped[i])
			skipped += t->line_classes[i];
	}
	put(j, object, "line_classes", classes);
	put(j, object, "skipped_lines", value_u64(skipped));
}

/* Why a table is null, and how many rows of one a limit cut off. */
static void put_table_remarks(struct json_out *j, json_t *object)
{
	json_t *why = json_object(), *left_out = json_object();

	for (u32 i = 0; i < TABLES; i++) {
		const struct result_table *t = &j->r->tables[i];

		if (!t->covered)
			put(j, why, table_defs[i].key, value_str(t->why));
		if (t->covered && t->rows_left_out)
			put(j, left_out, table_defs[i].key, value_u64(t->rows_left_out));
	}
	put(j, object, "not_covered", why);
	put(j, object, "rows_left_out", left_out);
}

static void put_trace(struct json_out *j, json_t *top)
{
	const struct result_trace *t = &j->r->trace;
	bool any = t->events > 0;
	json_t *o = json_object();

	put(j, o, "path", value_str(t->path));
	put(j, o, "format", value_str(t->format));
	put(j, o, "lock_family", value_str(t->lock_family));
	put(j, o, "vma_family", value_str(t->vma_family));
	put(j, o, "clock", value_str(t->clock));
	put(j, o, "clock_has_seconds", json_boolean(t->clock_has_seconds));
	put(j, o, "resolution_ns", value_ns(j, opt(t->resolution_ns)));
	put(j, o, "begin_ns", value_ns(j, (struct opt_u64){ any, t->begin_ns }));
	put(j, o, "end_ns", value_ns(j, (struct opt_u64){ any, t->end_ns }));
	put(j, o, "cpus", value_u64(t->cpus));
	put(j, o, "lines", value_u64(t->lines));
	put(j, o, "events", value_u64(t->events));
	put_line_classes(j, o);
	put(j, o, "lost_events", value_u64(t->lost_events));
	put(j, o, "lost_marks", value_u64(t->lost_marks));
	put(j, o, "lost_is_minimum", json_boolean(t->lost_is_minimum));
	put(j, o, "overwritten_events", value_u64(t->overwritten_events));
	put(j, o, "coverage_ppm", value_count(t->coverage_ppm));
	put(j, o, "late_events", value_u64(t->late_events));
	put(j, o, "pid_mismatch", value_u64(t->pid_mismatch));
	put(j, o, "refused_strings", value_u64(t->refused_strings));
	put(j, o, "refused_stacks", value_u64(t->refused_stacks));
	put(j, o, "refused_intervals", value_u64(t->refused_intervals));
	put(j, o, "broken_chunks", value_u64(t->broken_chunks));
	put(j, o, "has_sched_switch", json_boolean(t->has_sched_switch));
	put(j, o, "has_priorities", json_boolean(t->has_prios));
	put(j, o, "has_stacks", json_boolean(t->has_stacks));
	put(j, o, "has_calls", json_boolean(t->has_calls));
	put(j, o, "incomplete", json_boolean(j->r->incomplete));
	put_table_remarks(j, o);
	put(j, top, "trace", o);
}

static const char *const note_levels[] = {
	[NOTE_INFO] = "info",
	[NOTE_LOSS] = "loss",
	[NOTE_WARNING] = "warning",
};

static void put_notes(struct json_out *j, json_t *top)
{
	json_t *notes = json_array();

	for (size_t i = 0; i < j->r->notes.n; i++) {
		json_t *o = json_object();

		put(j, o, "level", json_string(note_levels[j->r->notes.v[i].level]));
		put(j, o, "text", value_str(j->r->notes.v[i].text));
		append(j, notes, o);
	}
	put(j, top, "notes", notes);
}

void json_column_key(const struct col *c, char ret_key[JSON_KEY_MAX])
{
	static const char *const suffixes[] = {
		[COL_NS] = "_us",	[COL_QUANTILE] = "_us", [COL_TIME] = "_ns",
		[COL_BYTES] = "_bytes", [COL_PERCENT] = "_pct", [COL_FLAG] = "",
	};
	const char *suffix = c->kind < ARRAY_LEN(suffixes) ? suffixes[c->kind] : NULL;

	snprintf(ret_key, JSON_KEY_MAX, "%s%s", c->key, suffix ? suffix : "");
}

static json_t *value_buckets(const struct json_out *j, const u64 *counts)
{
	json_t *array;

	/* What is sorted into them is durations. */
	if (!counts || !j->r->trace.clock_has_seconds)
		return json_null();
	array = json_array();
	for (u32 i = 0; i < SERIES_BUCKETS; i++)
		if (json_array_append_new(array, value_u64(counts[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *value_cell(const struct json_out *j, const struct col *col, const struct cell *c)
{
	char hex[24];

	if (c->null)
		return json_null();
	switch (col->kind) {
	case COL_NS:
	case COL_QUANTILE:
		return value_us(j, opt(c->u));
	case COL_TIME:
		return value_ns(j, opt(c->u));
	case COL_HEX:
		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)c->u);
		return json_string(hex);
	case COL_STR:
	case COL_LINE:
		return value_bytes(c->s, c->len);
	case COL_PERCENT:
		return value_percent(c->u);
	case COL_BUCKETS:
		return value_buckets(j, c->p);
	case COL_FLAG:
		return json_boolean(c->u);
	case COL_COUNT:
	case COL_BYTES:
		break;
	}
	return value_u64(c->u);
}

static json_t *value_table(struct json_out *j, u32 id)
{
	const struct table_def *def = &table_defs[id];
	const struct result_table *t = &j->r->tables[id];
	u32 n = t->n_rows;
	char key[JSON_KEY_MAX];
	json_t *rows;

	if (!t->covered)
		return json_null();
	if (j->o->top_given && j->o->top && j->o->top < n)
		n = j->o->top;
	rows = json_array();
	for (u32 i = 0; i < n && !j->failed; i++) {
		json_t *row = json_object();

		for (u32 c = 0; c < def->n_cols; c++) {
			json_column_key(&def->cols[c], key);
			put(j, row, key,
			    value_cell(j, &def->cols[c], &t->cells.v[(size_t)i * def->n_cols + c]));
		}
		append(j, rows, row);
	}
	return rows;
}

/* A sink of jansson: stops at the first failed write and remembers its errno, which stdio may not.
 */
struct sink {
	FILE *out;
	int err;
};

static int sink_write(const char *data, size_t len, void *ctx)
{
	struct sink *s = ctx;

	errno = 0;
	if (fwrite(data, 1, len, s->out) == len)
		return 0;
	s->err = errno ? errno : EIO;
	return -1;
}

int json_write(json_t *top, size_t flags, FILE *out, struct error *e)
{
	struct sink sink = { .out = out };
	int failed;

	/* 15 digits: 33.33 stays 33.33, which has no exact double. */
	failed =
		!top || json_dump_callback(top, sink_write, &sink, flags | JSON_REAL_PRECISION(15));
	json_decref(top);
	if (failed && !sink.err)
		return error_set(e, -ENOMEM, "out of memory while the JSON was made");
	if (!sink.err)
		sink_write("\n", 1, &sink);
	return render_finish(out, sink.err, e);
}

json_t *json_of_result(const struct result *r, const struct render_opts *o)
{
	struct json_out j = { .r = r, .o = o };
	json_t *top = json_object();

	put(&j, top, "workload", value_str(r->workload));
	put(&j, top, "kernel", value_str(r->kernel));
	put_summary(&j, top);
	put_contention(&j, top);
	put_verdict(&j, top);
	put_trace(&j, top);
	put_notes(&j, top);
	for (u32 i = 0; i < TABLES; i++)
		if (render_wants_table(o, i))
			put(&j, top, table_defs[i].key, value_table(&j, i));
	if (!j.failed)
		return top;
	json_decref(top);
	return NULL;
}

int render_json(const struct result *r, FILE *out, const struct render_opts *o, struct error *e)
{
	return json_write(json_of_result(r, o), JSON_INDENT(1), out, e);
}
