/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/verdict.c: the verdict rules (see verdict.h). Layer: analysis. */
#include "analysis/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define RETRY_COST_FACTOR \
	3 /* rule 3: the retry waits this many times as long as the I/O it avoids */

static u64 value(struct opt_u64 v)
{
	return v.has ? v.v : 0;
}

/* "2797.3 ms", "14 us" */
static const char *ms(struct result *r, u64 ns)
{
	if (ns < 10000000)
		return arena_printf(&r->arena, "%" PRIu64 " us", ns / 1000);
	return arena_printf(&r->arena, "%" PRIu64 ".%" PRIu64 " ms", ns / 1000000,
			    ns / 100000 % 10);
}

static const char *count_or_null(struct result *r, struct opt_u64 v)
{
	return v.has ? arena_printf(&r->arena, "%" PRIu64, v.v) : "n/a";
}

static const char *ms_or_null(struct result *r, struct opt_u64 v)
{
	return v.has ? ms(r, v.v) : "n/a";
}

/* Pairs of A and B whose priorities are not both known. */
static u64 unknown_pairs(const struct result_summary *s)
{
	return s->c_unknown.has ? s->c_unknown.v : value(s->a_pairs);
}

static enum verdict_state inversion_state(const struct result_summary *s, u64 limit_ns, bool above)
{
	u64 pairs = value(s->c_pairs) + value(s->c_b_windows);
	bool real = value(s->c_score_ns) > limit_ns || value(s->c_b_score_ns) > limit_ns;

	if (!s->c_pairs.has && !s->c_b_windows.has)
		return RULE_CANNOT;
	if (above)
		return real ? RULE_HOLDS : RULE_NO;
	return pairs && !real ? RULE_HOLDS : RULE_NO;
}

static enum verdict_state retry_cost_state(const struct result_summary *s)
{
	if (!s->b_windows.has)
		return RULE_CANNOT;
	return s->b_windows.v && value(s->b_io_wait_ns) &&
			       value(s->b_retry_wait_ns) / RETRY_COST_FACTOR >=
				       value(s->b_io_wait_ns)
		       ? RULE_HOLDS
		       : RULE_NO;
}

static void judge_rules(struct result *r, u64 limit_ns)
{
	const struct result_summary *s = &r->summary;
	struct verdict_rule *rule = r->verdict.rules;
	const char *scores = arena_printf(
		&r->arena, "score A %s, B %s; threshold %s; pairs A %s, B %s",
		ms_or_null(r, s->c_score_ns), ms_or_null(r, s->c_b_score_ns), ms(r, limit_ns),
		count_or_null(r, s->c_pairs), count_or_null(r, s->c_b_windows));
	bool any = false;

	rule[0] = (struct verdict_rule){ 1, "priority inversion is real",
					 inversion_state(s, limit_ns, true), scores };
	rule[1] = (struct verdict_rule){ 2, "inversion seen, below the threshold",
					 inversion_state(s, limit_ns, false), scores };
	rule[2] = (struct verdict_rule){
		3, "retrying costs more than waiting", retry_cost_state(s),
		arena_printf(&r->arena,
			     "retries' own mmap_lock wait %s, I/O wait of the same faults %s",
			     ms_or_null(r, s->b_retry_wait_ns), ms_or_null(r, s->b_io_wait_ns))
	};
	rule[3] = (struct verdict_rule){
		4, "contention without inversion",
		!s->a_pairs.has			     ? RULE_CANNOT
		: s->a_pairs.v && !value(s->c_pairs) ? RULE_HOLDS
						     : RULE_NO,
		arena_printf(&r->arena,
			     "A pairs %s, writer waits %s, time lost %s; unknown priorities %s",
			     count_or_null(r, s->a_pairs), count_or_null(r, s->a_writer_waits),
			     ms_or_null(r, s->a_union_ns),
			     s->a_pairs.has ? count_or_null(r, opt(unknown_pairs(s))) : "n/a")
	};
	rule[4] = (struct verdict_rule){ 5, "retries wait for mmap_lock",
					 !s->b_windows.has ? RULE_CANNOT
					 : s->b_windows.v  ? RULE_HOLDS
							   : RULE_NO,
					 arena_printf(&r->arena, "B windows %s, overlap %s",
						      count_or_null(r, s->b_windows),
						      ms_or_null(r, s->b_overlap_ns)) };
	for (u32 i = 0; i < 5; i++)
		any |= rule[i].state == RULE_HOLDS;
	rule[5] = (struct verdict_rule){ 6, "not observed, or cannot be judged",
					 any ? RULE_NO : RULE_HOLDS,
					 arena_printf(&r->arena, "A %s, B %s",
						      s->a_pairs.has ? "covered" : "n/a",
						      s->b_windows.has ? "covered" : "n/a") };
}

/* R of "R times the I/O wait", with two decimals. */
static const char *ratio(struct result *r)
{
	u64 io_ns = value(r->summary.b_io_wait_ns), own_ns = value(r->summary.b_retry_wait_ns);
	u64 whole = io_ns ? own_ns / io_ns : 0;

	if (!io_ns)
		return "with no I/O wait to compare it with";
	return arena_printf(&r->arena,
			    "%" PRIu64 ".%02" PRIu64 " times the I/O wait of the same faults",
			    whole, (own_ns - whole * io_ns) * 100 / io_ns);
}

static void explain_contention(struct result *r)
{
	const struct result_summary *s = &r->summary;
	u64 unknown = unknown_pairs(s);
	struct result_verdict *v = &r->verdict;

	if (unknown) {
		v->text = arena_printf(&r->arena,
				       "inversion cannot be judged: %" PRIu64 " of %" PRIu64
				       " pairs unknown. %s that keep their VMA lock "
				       "while they wait "
				       "kept %" PRIu64 " VMA writer waits waiting, %s in all.",
				       unknown, s->a_pairs.v,
				       r->trace.from_bpf ? "Faults" : "Page cache faults",
				       s->a_writer_waits.v, ms(r, s->a_union_ns.v));
		v->advice = r->trace.from_bpf
				    ? "record longer: a thread's first record tells its priority"
				    : "record sched_switch too: priorities come from it";
		return;
	}
	v->text = arena_printf(&r->arena,
			       "contention without inversion: %s that keep their "
			       "VMA lock while they "
			       "wait kept %" PRIu64
			       " VMA writer waits waiting, %s in all; no writer was more "
			       "important than the fault it waited for.",
			       r->trace.from_bpf ? "faults" : "page cache faults",
			       s->a_writer_waits.v, ms(r, s->a_union_ns.v));
	v->advice = "quantify it: compare with a run that drops the lock for I/O";
}

static void explain_nothing(struct result *r)
{
	const struct result_summary *s = &r->summary;
	struct result_verdict *v = &r->verdict;

	if (value(s->a_undecided)) {
		v->text = arena_printf(
			&r->arena,
			"cannot be judged from this trace: %" PRIu64
			" waits of faults overlap a VMA writer's wait, and whether they held the "
			"lock is undecided, since the faults were not seen whole.",
			s->a_undecided.v);
		v->advice = r->trace.from_bpf
				    ? "record on: a fault is over when its thread does something "
				      "else, until the end of the recording"
				    : "record filemap_fault_begin, _retry and _end too, without "
				      "loss";
		return;
	}
	if (s->a_pairs.has && s->b_windows.has) {
		v->text = "not observed in this workload: no fault wait blocked a VMA writer, and "
			  "no retry waited "
			  "for mmap_lock behind a writer.";
		v->advice = r->incomplete
				    ? "the trace is incomplete (see below): absence proves little"
				    : NULL;
		return;
	}
	if (!s->a_pairs.has && !s->b_windows.has)
		v->text = "cannot be judged from this trace: it has no events that tell whether "
			  "page cache faults block "
			  "VMA writers (Type A) or wait for them after a retry (Type B).";
	else
		v->text = arena_printf(&r->arena,
				       "cannot be judged from this trace: Type %s has no events, "
				       "and the other type shows "
				       "nothing.",
				       s->a_pairs.has ? "B" : "A");
	v->advice = r->trace.from_bpf ? "record without --no-faults, on a kernel that lets BPF "
					"programs see sched_switch"
		    : s->b_windows.has || s->a_pairs.has
			    ? "record the mmap_lock and vma_start_write events beside the "
			      "filemap_fault ones"
			    : "for Types A to C record on a kernel with the filemap_fault_* "
			      "and vma_start_write_* tracepoints";
}

static void explain(struct result *r)
{
	const struct result_summary *s = &r->summary;
	struct result_verdict *v = &r->verdict;

	switch (v->primary) {
	case 1:
		v->text = arena_printf(&r->arena,
				       "priority inversion is real: more important threads waited "
				       "%s behind less important "
				       "ones.",
				       ms(r, value(s->c_score_ns) + value(s->c_b_score_ns)));
		v->advice = "keep dropping the lock for I/O, but retry under the per-VMA lock";
		break;
	case 2:
		v->text = arena_printf(&r->arena,
				       "inversion seen, below the threshold: %" PRIu64
				       " pairs, %s in all.",
				       value(s->c_pairs) + value(s->c_b_windows),
				       ms(r, value(s->c_score_ns) + value(s->c_b_score_ns)));
		break;
	case 3:
		v->text = arena_printf(
			&r->arena,
			"retrying costs more than waiting: retries waited %s for mmap_lock, %s.",
			ms(r, value(s->b_retry_wait_ns)), ratio(r));
		v->advice = "not dropping the lock, or retrying under the per-VMA lock, pays";
		break;
	case 4:
		explain_contention(r);
		break;
	case 5:
		v->text = arena_printf(
			&r->arena,
			"retries wait for mmap_lock: %" PRIu64 " windows, own wait %s, %s.",
			value(s->b_windows), ms(r, value(s->b_retry_wait_ns)), ratio(r));
		break;
	default:
		explain_nothing(r);
	}
}

static u64 number(const struct result *r, enum table_id t, u32 row, const char *key)
{
	const struct cell *c = result_cell(r, t, row, key);

	return c && !c->null ? c->u : 0;
}

static bool is_mmap_lock(const struct result *r, enum table_id t, u32 row)
{
	const struct cell *c = result_cell(r, t, row, "lock");

	return c && !c->null && !strcmp(c->s, "mmap_lock");
}

/* "fault (read, 1058.7 ms) and mprotect (write, 990.1 ms)": the calls that waited longest. */
static const char *longest_origins(struct result *r)
{
	const struct result_table *t = &r->tables[TABLE_WAITS_BY_ORIGIN];
	u32 best[2] = { UINT32_MAX, UINT32_MAX };
	const char *name[2] = { NULL, NULL };

	for (u32 row = 0; row < t->n_rows; row++) {
		u64 ns = number(r, TABLE_WAITS_BY_ORIGIN, row, "total");

		if (!is_mmap_lock(r, TABLE_WAITS_BY_ORIGIN, row) || !ns)
			continue;
		if (best[0] == UINT32_MAX ||
		    ns > number(r, TABLE_WAITS_BY_ORIGIN, best[0], "total")) {
			best[1] = best[0];
			best[0] = row;
		} else if (best[1] == UINT32_MAX ||
			   ns > number(r, TABLE_WAITS_BY_ORIGIN, best[1], "total")) {
			best[1] = row;
		}
	}
	for (u32 i = 0; i < 2 && best[i] != UINT32_MAX; i++)
		name[i] = arena_printf(&r->arena, "%s (%s, %s)",
				       result_cell(r, TABLE_WAITS_BY_ORIGIN, best[i], "origin")->s,
				       result_cell(r, TABLE_WAITS_BY_ORIGIN, best[i], "mode")->s,
				       ms(r, number(r, TABLE_WAITS_BY_ORIGIN, best[i], "total")));
	if (!name[1])
		return name[0];
	return arena_printf(&r->arena, "%s and %s", name[0], name[1]);
}

/* What a trace of any kernel tells: who waited for mmap_lock, how long, in which calls. */
static void describe_lock_waits(struct result *r)
{
	const struct result_table *t = &r->tables[TABLE_WAITS];
	u64 count = 0, contended = 0, total_ns = 0, max_ns = 0;
	const char *where;

	for (u32 row = 0; row < t->n_rows; row++) {
		if (!is_mmap_lock(r, TABLE_WAITS, row))
			continue;
		count += number(r, TABLE_WAITS, row, "count");
		contended += number(r, TABLE_WAITS, row, "contended");
		total_ns += number(r, TABLE_WAITS, row, "total");
		if (number(r, TABLE_WAITS, row, "max") > max_ns)
			max_ns = number(r, TABLE_WAITS, row, "max");
	}
	if (!count || !r->trace.clock_has_seconds)
		return;
	where = longest_origins(r);
	r->verdict.lock_waits = arena_printf(&r->arena,
					     "%" PRIu64 " waits, %" PRIu64
					     " contended; %s in all, the longest %s%s%s",
					     count, contended, ms(r, total_ns), ms(r, max_ns),
					     where ? "; most of it in " : "", where ? where : "");
}

int verdict_judge(struct result *r, u64 inversion_ns)
{
	struct result_verdict *v = &r->verdict;

	judge_rules(r, inversion_ns);
	v->primary = 6;
	for (u32 i = 6; i--;) {
		if (v->rules[i].state == RULE_HOLDS)
			v->primary = v->rules[i].id;
	}
	explain(r);
	describe_lock_waits(r);
	for (u32 i = 0; i < ARRAY_LEN(v->rules); i++) {
		if (!v->rules[i].figures)
			return -ENOMEM;
	}
	return v->text ? 0 : -ENOMEM;
}
