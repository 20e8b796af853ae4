/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_marks.c: lines that are no records: headers, LOST marks, the rest by class.
 * Layer: decode.
 */
#include "decode/ftrace_internal.h"

static const char *find_text(const char *line, size_t len, const char *s)
{
	return memmem(line, len, s, strlen(s));
}

static u64 add_saturating(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* "LOST 123 EVENTS]", "LOST EVENTS]", trace-cmd's "123 EVENTS DROPPED]", "EVENTS DROPPED]" */
static bool parse_lost_bracket(const char *p, const char *end, struct lost_mark *m)
{
	bool dropped = true;
	const char *q;

	if (STARTS(p, end, "LOST ")) {
		dropped = false;
		p += 5;
	}
	q = parse_dec(p, end, UINT64_MAX, &m->n);
	if (q) {
		if (!STARTS(q, end, " "))
			return false;
		m->n_known = true;
		p = q + 1;
	} else if (p < end && is_digit(*p)) {
		return false; /* no number that the kernel could print */
	}
	return dropped ? STARTS(p, end, "EVENTS DROPPED]") : STARTS(p, end, "EVENTS]");
}

bool ftrace_marks_lost(const char *line, size_t len, struct lost_mark *m)
{
	const char *end = line + len, *p, *q;
	u64 cpu;

	*m = (struct lost_mark){ 0 };
	if (len < 5)
		return false;
	p = find_text(line, len < 80 ? len : 80, "CPU:");
	if (p && ftrace_is_instance_prefix(line, (size_t)(p - line))) {
		q = parse_dec(p + 4, end, FTRACE_MAX_CPU - 1, &cpu);
		if (q && STARTS(q, end, " [") && parse_lost_bracket(q + 2, end, m)) {
			m->has_cpu = true;
			m->cpu = (u32)cpu;
			return true;
		}
		return false;
	}
	p = skip_blanks(line, end);
	if (STARTS(p, end, "["))
		return parse_lost_bracket(p + 1, end, m);
	/* perf: "LOST 11 events!", "Processed 8 events and LOST 11 events!" */
	p = find_text(line, len < 160 ? len : 160, "LOST ");
	if (!p)
		return false;
	q = parse_dec(p + 5, end, UINT64_MAX, &m->n);
	if (!q || !STARTS(q, end, " events!"))
		return false;
	m->n_known = true;
	return true;
}

int ftrace_marks_report(struct ftrace_text *d, const struct lost_mark *m)
{
	u32 first = m->has_cpu ? m->cpu : 0, limit = m->has_cpu ? m->cpu + 1 : d->cpu_limit;
	bool told = false;
	int r;

	d->stats.lost_marks++;
	d->stats.lost_events = add_saturating(d->stats.lost_events, m->n);
	if (!m->n_known)
		d->stats.lost_is_minimum = true;
	if (!d->ops.lost)
		return 0;
	if (!m->has_cpu && !limit)
		limit = 1; /* no record yet: let it stand for the first CPU */
	for (u32 cpu = first; cpu < limit; cpu++) {
		if (!m->has_cpu && d->cpu_limit && !d->cpu_seen[cpu])
			continue;
		/* the number of a mark without a CPU is told once */
		r = d->ops.lost(d->ctx, (u16)cpu, told ? 0 : m->n, m->n_known);
		if (r)
			return r;
		told = true;
	}
	return 0;
}

void ftrace_marks_header(struct ftrace_text *d, const char *line, size_t len)
{
	static const char entries[] = "entries-in-buffer/entries-written: ";
	struct ftrace_text_stats *st = &d->stats;
	const char *end = line + len, *p, *q;
	u64 in_buffer, written, cpus;

	p = find_text(line, len, entries);
	if (p) {
		p += sizeof(entries) - 1;
	} else if (find_text(line, len, "latency: ")) {
		/* # latency: 0 us, #1387/1387, CPU#0 | (M:PREEMPT(none) VP:0, HP:0 #P:2) */
		p = find_text(line, len, ", #");
		p = p ? p + 3 : NULL;
	}
	if (p) {
		q = parse_dec(p, end, UINT64_MAX, &in_buffer);
		if (q && STARTS(q, end, "/") && parse_dec(q + 1, end, UINT64_MAX, &written)) {
			st->entries_in_buffer = add_saturating(st->entries_in_buffer, in_buffer);
			st->entries_written = add_saturating(st->entries_written, written);
		}
	}
	if (find_text(line, len, "latency trace v"))
		st->latency_format = true;
	p = find_text(line, len, "#P:");
	if (p)
		p += 3;
	else if (STARTS(line, end, "cpus="))
		p = line + 5;
	if (p && parse_dec(p, end, FTRACE_MAX_CPU, &cpus) && cpus > st->header_cpus)
		st->header_cpus = (u32)cpus;
}

/* "version = 6", "CPU 0 is empty", "cpus=2": what trace-cmd report prints first */
static bool is_header(const char *line, size_t len)
{
	const char *end = line + len, *q;
	u64 v;

	if (line[0] == '#')
		return true;
	if (STARTS(line, end, "TRACE:") || STARTS(line, end, "version = ") ||
	    STARTS(line, end, "Dumping ftrace buffer:"))
		return true;
	if (STARTS(line, end, "cpus="))
		return parse_dec(line + 5, end, UINT32_MAX, &v) == end;
	if (STARTS(line, end, "CPU ")) {
		q = parse_dec(line + 4, end, UINT32_MAX, &v);
		return q && STARTS(q, end, " is empty");
	}
	if (line[0] == '-') {
		/* around a dump in the kernel's log */
		while (line < end && *line == '-')
			line++;
		return line == end && len >= 16;
	}
	return false;
}

/* " 0)   0.911 us    |                  rcu_irq_enter();" */
bool ftrace_marks_is_function(const char *line, size_t len)
{
	const char *end = line + len, *p = skip_blanks(line, end), *bar;
	u64 v;

	bar = memchr(line, '|', len < 100 ? len : 100);
	if (bar && end - bar > 2 && bar[1] == ' ') {
		if (find_text(bar, (size_t)(end - bar), "();") || end[-1] == '{' ||
		    find_text(bar, (size_t)(end - bar), "} /* ") ||
		    find_text(bar, (size_t)(end - bar), "  /* ") || end[-1] == '}')
			return true;
	}
	/* " 0)  kworker-691   =>    cat-1464", and the lines around it */
	if (p > line && STARTS(p, end, "-----------------------"))
		return true;
	p = parse_dec(p, end, FTRACE_MAX_CPU, &v);
	return p && STARTS(p, end, ") ") && (bar || find_text(p, (size_t)(end - p), " => "));
}

/* Control characters that no kernel puts into a name or a message; UTF-8 and tabs are text. */
bool ftrace_marks_is_binary(const char *line, size_t len)
{
	size_t limit = len < 4096 ? len : 4096;

	for (size_t i = 0; i < limit; i++) {
		u8 c = (u8)line[i];

		if ((c < ' ' && c != '\t' && c != '\r' && c != 0x1b) || c == 0x7f)
			return true;
	}
	return false;
}

enum line_class ftrace_marks_class(struct ftrace_text *d, const char *line, size_t len)
{
	const char *end = line + len;

	if (skip_blanks(line, end) == end)
		return LINE_BLANK;
	/* ##### CPU 1 buffer started #### */
	if (STARTS(line, end, "##### CPU ") && find_text(line, len, " buffer started"))
		return LINE_BUFFER_START;
	if (is_header(line, len)) {
		ftrace_marks_header(d, line, len);
		return LINE_HEADER;
	}
	if (ftrace_marks_is_function(line, len))
		return LINE_SKIP_FUNCTION;
	return ftrace_marks_is_binary(line, len) ? LINE_SKIP_BINARY : LINE_SKIP_NO_RECORD;
}
