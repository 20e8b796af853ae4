/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/assemble_bpf.c: what only a BPF stream tells: records by kind, the kernel's own totals,
 * and which parts were recorded how. Layer: session.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "session/run.h"

/* A read-out of all totals takes moments, and the next one comes a second later at the earliest. */
#define SAME_READ_OUT_NS 100000000ULL

enum { READ, WRITE, MODES };
static const char *const mode_names[MODES] = { "read", "write" };

struct process_totals {
	u32 tgid;
	bool has_main;
	const char *comm;
	u64 failed_tries[MODES];
	struct bpf_sum wait[MODES], hold[MODES];
};
struct lock_totals {
	VEC(struct process_totals) processes;
	struct map of_tgid;
	struct process_totals all, own;
};

static u64 add(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_sum(struct bpf_sum *to, const struct bpf_sum *from)
{
	to->count = add(to->count, from->count);
	to->sum_ns = add(to->sum_ns, from->sum_ns);
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (u32 i = 0; i < BPF_LOG10_BUCKETS; i++)
		to->log10[i] = add(to->log10[i], from->log10[i]);
}

static void add_totals(struct process_totals *to, const struct bpf_totals *from)
{
	for (u32 mode = 0; mode < MODES; mode++) {
		to->failed_tries[mode] = add(to->failed_tries[mode], from->failed_tries[mode]);
		add_sum(&to->wait[mode], &from->wait[mode]);
		add_sum(&to->hold[mode], &from->hold[mode]);
	}
}

static int compare_times(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* When the newest read-out of the totals began. */
static int newest_read_out(const struct bpf_scan *s, u64 *ret_begin_ns)
{
	u64 *times = calloc(s->totals.n, sizeof(*times));
	size_t i = s->totals.n - 1;

	if (!times)
		return -ENOMEM;
	for (size_t k = 0; k < s->totals.n; k++)
		times[k] = s->totals.v[k].time_ns;
	qsort(times, s->totals.n, sizeof(*times), compare_times);
	while (i && times[i] - times[i - 1] <= SAME_READ_OUT_NS)
		i--;
	*ret_begin_ns = times[i];
	free(times);
	return 0;
}

/*
 * A thread that an earlier read-out told of and the newest does not has ended: what it did is in
 * the sum of its process's ended threads by now, and must not count twice.
 */
static bool is_superseded(const struct bpf_scan *s, const struct bpf_totals *t, u64 read_out_ns)
{
	u64 *dead = map_get(&s->totals_of, (u64)t->tgid << 32);

	return t->time_ns < read_out_ns && t->tid && dead &&
	       s->totals.v[*dead].time_ns >= read_out_ns;
}

static bool is_asked_for(const struct analysis_opts *o, const struct bpf_totals *t)
{
	bool pid_ok = !o->n_pids, comm_ok = !o->n_comms;

	for (size_t i = 0; i < o->n_pids && !pid_ok; i++)
		pid_ok = o->pids[i] == t->tgid || (t->tid && o->pids[i] == t->tid);
	for (size_t i = 0; i < o->n_comms && !comm_ok; i++)
		comm_ok = !fnmatch(o->comms[i], t->comm, 0);
	return pid_ok && comm_ok;
}

static struct process_totals *process_of(struct lock_totals *l, const struct bpf_totals *t)
{
	u64 *known = map_get(&l->of_tgid, t->tgid);
	struct process_totals *p = known ? &l->processes.v[*known] : vec_push(&l->processes);

	if (!p || (!known && !map_set(&l->of_tgid, t->tgid, l->processes.n - 1)))
		return NULL;
	p->tgid = t->tgid;
	/* its main thread's name, else that of its ended threads' sum, else any */
	if (t->tid == t->tgid || !p->comm || (!t->tid && !p->has_main))
		p->comm = t->comm;
	p->has_main |= t->tid == t->tgid;
	return p;
}

static int collect(const struct run *run, struct lock_totals *l)
{
	const struct bpf_scan *s = &run->scan;
	u64 read_out_ns;
	int err = newest_read_out(s, &read_out_ns);

	if (err)
		return err;
	for (size_t i = 0; i < s->totals.n; i++) {
		const struct bpf_totals *t = &s->totals.v[i];
		struct process_totals *p;

		if (is_superseded(s, t, read_out_ns))
			continue;
		if (t->flags & BFLAG_OWN) {
			add_totals(&l->own, t);
			continue;
		}
		if (!is_asked_for(&run->opts->analysis, t))
			continue;
		p = process_of(l, t);
		if (!p)
			return -ENOMEM;
		add_totals(p, t);
		add_totals(&l->all, t);
	}
	return 0;
}

static u64 wait_ns(const struct process_totals *p)
{
	return add(p->wait[READ].sum_ns, p->wait[WRITE].sum_ns);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_totals *x = a, *y = b;

	if (wait_ns(x) != wait_ns(y))
		return wait_ns(x) > wait_ns(y) ? -1 : 1;
	return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

static int put_row(struct result *r, const struct process_totals *p, const char *what, u32 mode,
		   const struct bpf_sum *sum)
{
	struct cell *c = result_row(r, TABLE_LOCK_TOTALS);
	u64 *buckets = arena_alloc(&r->arena, sizeof(*buckets) * SERIES_BUCKETS);
	const char *comm = p->comm ? arena_strndup(&r->arena, p->comm, strlen(p->comm)) : "all";

	if (!c || !buckets || !comm)
		return -ENOMEM;
	_Static_assert(SERIES_BUCKETS == BPF_LOG10_BUCKETS, "the same buckets on both sides");
	memcpy(buckets, sum->log10, sizeof(sum->log10));
	cell_opt(c++, p->comm, p->tgid);
	cell_str(c++, comm, strlen(comm));
	cell_str(c++, what, strlen(what));
	cell_str(c++, mode_names[mode], strlen(mode_names[mode]));
	cell_u64(c++, sum->count);
	cell_u64(c++, sum->sum_ns);
	cell_opt(c++, sum->count, sum->count ? sum->sum_ns / sum->count : 0);
	cell_opt(c++, sum->count, sum->max_ns);
	cell_opt(c++, sum == &p->wait[mode], p->failed_tries[mode]);
	c->null = false;
	c->p = buckets;
	return 0;
}

static int put_rows(struct result *r, const struct process_totals *p, bool also_empty)
{
	int err = 0;

	for (u32 mode = 0; mode < MODES && !err; mode++) {
		if (also_empty || p->wait[mode].count || p->failed_tries[mode])
			err = put_row(r, p, "wait", mode, &p->wait[mode]);
	}
	for (u32 mode = 0; mode < MODES && !err; mode++) {
		if (also_empty || p->hold[mode].count)
			err = put_row(r, p, "hold", mode, &p->hold[mode]);
	}
	return err;
}

static void note_own(struct result *r, const struct process_totals *own)
{
	u64 waits = add(own->wait[READ].count, own->wait[WRITE].count);
	u64 holds = add(own->hold[READ].count, own->hold[WRITE].count);

	if (waits || holds)
		result_note(r, NOTE_INFO,
			    "mmscope itself took mmap_lock %" PRIu64 " times, waited %" PRIu64
			    " us and held it %" PRIu64 " us; that is in no figure",
			    holds > waits ? holds : waits, wait_ns(own) / 1000,
			    add(own->hold[READ].sum_ns, own->hold[WRITE].sum_ns) / 1000);
}

static int fill_totals(const struct run *run, struct result *r)
{
	struct result_table *t = &r->tables[TABLE_LOCK_TOTALS];
	struct lock_totals l = { .all = { .tgid = 0 } };
	int err;

	t->covered = run->scan.totals.n != 0;
	if (!t->covered) {
		t->why = "the recording has no totals";
		return 0;
	}
	map_init(&l.of_tgid);
	err = collect(run, &l);
	if (!err)
		err = put_rows(r, &l.all, true);
	if (!err && l.processes.n)
		qsort(l.processes.v, l.processes.n, sizeof(*l.processes.v), compare_processes);
	for (size_t i = 0; i < l.processes.n && !err; i++)
		err = put_rows(r, &l.processes.v[i], false);
	if (!err)
		note_own(r, &l.own);
	t->rows_left_out = run->scan.totals_refused;
	vec_done(&l.processes);
	map_done(&l.of_tgid);
	return err;
}

struct kind_count {
	const char *name;
	u64 n;
};

static int compare_kinds(const void *a, const void *b)
{
	const struct kind_count *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* What an event name is to a text trace, the kind of record is here. */
static int fill_kinds(const struct run *run, struct result *r)
{
	struct kind_count kinds[BREC_LIMIT] = {
#define BPF_RECORD(id, KIND, member, doc) [id] = { #member, 0 },
#include "wire/bpf_records.def"
#undef BPF_RECORD
	};
	u32 n = 0;

	r->tables[TABLE_EVENTS].covered = true;
	for (u32 k = 0; k < BREC_LIMIT; k++) {
		if (kinds[k].name && run->scan.stats.by_kind[k])
			kinds[n++] =
				(struct kind_count){ kinds[k].name, run->scan.stats.by_kind[k] };
	}
	qsort(kinds, n, sizeof(*kinds), compare_kinds);
	for (u32 k = 0; k < n; k++) {
		struct cell *c = result_row(r, TABLE_EVENTS);

		if (!c)
			return -ENOMEM;
		cell_str(c++, kinds[k].name, strlen(kinds[k].name));
		cell_u64(c++, kinds[k].n);
	}
	return 0;
}

int assemble_bpf_tables(const struct run *run, struct result *r)
{
	int err = fill_kinds(run, r);

	return err ? err : fill_totals(run, r);
}

void assemble_bpf_trace(const struct run *run, struct result *r)
{
	const struct bpf_scan *s = &run->scan;
	const struct gap_cpu *lost = &run->gaps.all;
	const char *kernel = bpf_scan_note(s, "kernel"), *cpus = bpf_scan_note(s, "cpus");
	struct result_trace *t = &r->trace;
	u64 n;

	t->format = "BPF records";
	t->from_bpf = true;
	t->clock_has_seconds = true;
	t->lines = s->stats.records;
	t->line_classes[LINE_EVENT] = s->stats.records;
	t->events = s->events;
	t->lost_events = lost->lost_events;
	t->lost_marks = lost->marks;
	t->lost_is_minimum = lost->minimum;
	t->broken_chunks =
		(u32)(s->stats.bad_chunks < UINT32_MAX ? s->stats.bad_chunks : UINT32_MAX);
	if (cpus && num_parse_u64(cpus, strlen(cpus), &n) && n && n <= SESSION_MAX_CPUS)
		t->cpus = (u32)n;
	else if (run->info.cpus.has && run->info.cpus.v > 0 && run->info.cpus.v <= SESSION_MAX_CPUS)
		t->cpus = (u32)run->info.cpus.v;
	if (!r->kernel && kernel)
		r->kernel = arena_strndup(&r->arena, kernel, strlen(kernel));
}

static void note_min_wait(const struct run *run, struct result *r)
{
	const char *text = bpf_scan_note(&run->scan, "min_ns");
	char fraction[16] = "";
	u64 min_ns = 0;

	if (text && !num_parse_u64(text, strlen(text), &min_ns))
		min_ns = 0;
	if (!text && run->info.min_wait_ns.has && run->info.min_wait_ns.v > 0)
		min_ns = (u64)run->info.min_wait_ns.v;
	if (min_ns % 1000)
		snprintf(fraction, sizeof(fraction), ".%03u", (u32)(min_ns % 1000));
	if (min_ns)
		result_note(r, NOTE_INFO,
			    "waits below %" PRIu64 "%s us are counted only (table lock_totals), "
			    "but for those of fault retries",
			    min_ns / 1000, fraction);
}

static u64 note_number(const struct run *run, const char *key)
{
	const char *text = bpf_scan_note(&run->scan, key);
	u64 n = 0;

	return text && num_parse_u64(text, strlen(text), &n) ? n : 0;
}

/* What the programs counted and could not, or would not, tell one by one. */
static void note_untold(const struct run *run, struct result *r)
{
	u64 holds = note_number(run, "holds_untold"), refused = note_number(run, "events_refused");

	if (holds)
		result_note(r, NOTE_INFO,
			    "%" PRIu64
			    " short holds in floods of them are counted only (table lock_totals); "
			    "what waited behind them may show as unknown",
			    holds);
	if (refused) {
		result_note(r, NOTE_LOSS,
			    "%" PRIu64
			    " mmap_lock events are in no figure: no memory to follow their thread, "
			    "or it holds too many locks",
			    refused);
		r->incomplete = true;
	}
}

/* "rung.sleeps=none (no sched_switch)": a part that is missing, or done in a lesser way. */
static void note_rungs(const struct run *run, struct result *r)
{
	const struct bpf_scan *s = &run->scan;

	for (size_t i = 0; i < s->notes.n; i++) {
		const char *key = s->notes.v[i].key, *how = s->notes.v[i].value;
		const char *why = strstr(how, " (");

		if (strncmp(key, "rung.", 5))
			continue;
		if (!strncmp(how, "none", 4) && (!how[4] || how[4] == ' '))
			result_note(r, NOTE_WARNING, "not recorded: %s%s", key + 5, how + 4);
		else if (why)
			result_note(r, NOTE_INFO, "recorded in a lesser way: %s by %s", key + 5,
				    how);
	}
}

static void note_damage(const struct run *run, struct result *r)
{
	const struct bpf_scan *s = &run->scan;
	const struct bpf_decode_stats *d = &s->stats;
	const struct {
		u64 n;
		enum note_level level;
		const char *text;
	} rows[] = {
		{ d->bad_chunks, NOTE_LOSS,
		  "chunks are damaged and left out: what they told counts as lost" },
		{ d->cut_bytes, NOTE_LOSS,
		  "bytes at the end are no whole record: the recording was cut off there" },
		{ d->refused_records, NOTE_LOSS, "records cannot be true and are left out" },
		{ d->unknown_kinds, NOTE_WARNING,
		  "records are of a later version of mmscope and left out" },
		{ d->missing_stacks, NOTE_INFO,
		  "records name a stack that was not recorded: no origin from it" },
		{ d->refused_limits, NOTE_LOSS, "open waits, stacks or symbols are past a limit" },
		{ s->late_refused, NOTE_LOSS,
		  "waits told more than 10 ms after their begin are past a limit: open at their "
		  "begin" },
		{ s->totals_refused, NOTE_LOSS,
		  "threads are past the limit of table lock_totals and not in it" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].n)
			continue;
		result_note(r, rows[i].level, "%" PRIu64 " %s", rows[i].n, rows[i].text);
		r->incomplete |= rows[i].level == NOTE_LOSS;
	}
}

void assemble_bpf_notes(const struct run *run, struct result *r)
{
	const char *symbols = bpf_scan_note(&run->scan, "symbols");
	const struct pair_seen *seen = &run->seen;

	note_min_wait(run, r);
	note_untold(run, r);
	result_note(r, NOTE_INFO, "holds of mmap_lock are those that kept somebody waiting%s",
		    seen->faults ? ", faults and VMA writers those that slept: how many there were "
				   "in all is n/a"
		    : seen->vma_waits ? ", VMA writers those that slept: how many there were in "
					"all is n/a"
				      : "");
	if (!seen->faults)
		result_note(
			r, NOTE_INFO,
			"recorded without sleeps in page faults: Types A, B and C are n/a, not 0");
	note_rungs(run, r);
	if (symbols && !strncmp(symbols, "none", 4))
		result_note(r, NOTE_WARNING,
			    "recorded without the kernel's function names%s: no "
			    "origins from stacks, no callers",
			    symbols + 4);
	note_damage(run, r);
}
