/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_header.c: a line's task, thread group, cpu, time and event name. Layer: decode.
 *
 *	          cap.sh-19626   (  19626) [000] d..2.  1075.221520: sched_switch: prev_comm=...
 *	  cap.sh-19626     1d..2. 21498us+: sched_switch: prev_comm=...		latency format
 *	mmhunt:             bash-21136 [000]  1156.184137: foo:   mm=...	trace-cmd report
 *
 * A task's name may hold any byte, even something that looks like the rest of a header. The kernel
 * pads names to a fixed width, so the place of the dash decides; lines that some tool trimmed are
 * anchored at the first "[cpu]" with all that belongs around it.
 */
#include "decode/ftrace_internal.h"

#define TID_MAX 0x7fffffffu
#define FLAGS_MAX 12
#define NAME_MAX_LEN 128
#define LONG_COMM_MAX 64 /* of tools that put longer names in place of the kernel's */

static const u64 pow10_ns[10] = { 1000000000, 100000000, 10000000, 1000000, 100000,
				  10000,      1000,	 100,	   10,	    1 };

/* The value of the first nine of the digits at @p; behind all of them. */
static const char *parse_fraction(const char *p, const char *end, u64 *ret)
{
	u32 n = 0;

	*ret = 0;
	if (SCAN_WORDS && likely(end - p >= 8)) {
		u64 word = load8(p);

		n = scan_digits(word);
		if (!n)
			return p;
		*ret = scan_dec_value(word, n);
		p += n;
		if (likely(n < 8))
			return p;
	}
	for (; p < end && is_digit(*p); p++, n++)
		if (n < 9)
			*ret = *ret * 10 + (u64)(*p - '0');
	return p;
}

/* "1074.649282:" or "108163:", then a blank or the end of the line. */
static enum header_result parse_stamp(const char *p, const char *end, struct ftrace_record *r)
{
	u64 whole, fraction;
	u32 digits = 0;

	p = parse_dec(p, end, UINT64_MAX, &whole);
	if (!p)
		return HEADER_NONE;
	if (p == end)
		return HEADER_CUT;
	if (likely(*p == '.')) {
		const char *start = ++p;

		/* nanoseconds have nine digits; more mean nothing to us */
		p = parse_fraction(p, end, &fraction);
		if (p == end)
			return HEADER_CUT;
		digits = p - start > 9 ? 9 : (u32)(p - start);
		if (!digits || whole > UINT64_MAX / 1000000000 - 1)
			return HEADER_NONE;
		r->time_ns = whole * 1000000000 + fraction * pow10_ns[digits];
		r->stamp = STAMP_SECONDS;
	} else {
		r->time_ns = whole;
		r->stamp = STAMP_UNITLESS;
	}
	if (*p != ':')
		return HEADER_NONE;
	p++;
	if (p < end && *p != ' ')
		return HEADER_NONE;
	r->fraction_digits = (u8)digits;
	r->rest = skip_blanks(p, end);
	return HEADER_RECORD;
}

/* Behind the ']': " d..2.  1075.221520: ", the flags of any width or none. */
enum header_result ftrace_header_tail(const char *p, const char *end, struct ftrace_record *r)
{
	enum header_result res;
	const char *flags;

	if (p < end && *p != ' ')
		return HEADER_NONE;
	p = skip_blanks(p, end);
	if (p == end)
		return HEADER_CUT;
	if (is_digit(*p)) {
		res = parse_stamp(p, end, r);
		if (res != HEADER_NONE)
			return res;
	}
	flags = p;
	p = word_end(p, end);
	if (p - flags > FLAGS_MAX)
		return HEADER_NONE;
	p = skip_blanks(p, end);
	return p == end ? HEADER_CUT : parse_stamp(p, end, r);
}

/* From the '[' on: "[000] d..2.  1075.221520: " */
static enum header_result parse_cpu_and_stamp(const char *p, const char *end,
					      struct ftrace_record *r)
{
	u64 cpu;

	p = parse_dec(p + 1, end, FTRACE_MAX_CPU - 1, &cpu);
	if (!p || p == end || *p != ']')
		return HEADER_NONE;
	r->cpu = (u32)cpu;
	r->tail = p + 1;
	return ftrace_header_tail(p + 1, end, r);
}

/* Behind the dash: "19626   (  19626) [000] d..2.  1075.221520: ". */
static enum header_result parse_from_dash(const char *dash, const char *end,
					  struct ftrace_record *r)
{
	const char *p, *open;
	u64 v;

	p = parse_dec(dash + 1, end, TID_MAX, &v);
	if (!p || p == end || *p != ' ')
		return HEADER_NONE;
	r->tid = (u32)v;
	r->dash = dash;
	r->has_tgid = false;
	r->tgid = 0;
	p = skip_blanks(p, end);
	if (p < end && *p == '(') {
		open = p;
		p = skip_blanks(p + 1, end);
		if (p < end && is_digit(*p)) {
			p = parse_dec(p, end, TID_MAX, &v);
			if (!p)
				return HEADER_NONE;
			r->tgid = (u32)v;
			r->has_tgid = true;
		} else {
			while (p < end && *p == '-')
				p++;
		}
		if (p == end || *p != ')' || p - open > 16)
			return HEADER_NONE;
		p = skip_blanks(p + 1, end);
	}
	if (p == end || *p != '[')
		return HEADER_NONE;
	return parse_cpu_and_stamp(p, end, r);
}

/* Where the '-' stands that belongs to a "[cpu]" at @bracket, or NULL. */
static const char *find_dash(const char *line, const char *bracket)
{
	const char *p = bracket;

	while (p > line && p[-1] == ' ')
		p--;
	if (p == bracket || p == line)
		return NULL;
	if (p[-1] == ')') {
		const char *close = p;

		while (p > line && p[-1] != '(' && close - p < 16)
			p--;
		if (p == line || p[-1] != '(')
			return NULL;
		p--;
		while (p > line && p[-1] == ' ')
			p--;
	}
	bracket = p;
	while (p > line && is_digit(p[-1]))
		p--;
	if (p == bracket || p == line || p[-1] != '-')
		return NULL;
	return p - 1;
}

bool ftrace_is_instance_prefix(const char *p, size_t len)
{
	const char *end = p + len;

	p = skip_blanks(p, end);
	if (p == end)
		return true;
	return end - p >= 3 && end[-1] == ' ' && end[-2] == ':' &&
	       !memchr(p, ' ', (size_t)(end - p - 1));
}

/*
 * A name field that starts further right than the line follows a prefix or the rest of another
 * line. It is ours only when the name is padded, as the kernel and trace-cmd do (the text of a
 * marker may quote a whole record), or when all before the dash is one word: systrace writes
 * "com.android.systemui-611   (  611) [001] d..5 514769.086090: ".
 */
static bool is_plausible_dash(const char *line, const char *dash)
{
	const char *p;

	if (dash - line <= COMM_WIDTH || dash[-COMM_WIDTH] == ' ')
		return true;
	p = skip_blanks(line, dash);
	return dash - p <= LONG_COMM_MAX && !memchr(p, ' ', (size_t)(dash - p));
}

static enum header_result find_record(const char *line, const char *end, struct ftrace_record *r)
{
	enum header_result best = HEADER_NONE, res;
	const char *p, *dash;

	for (p = line; (p = memchr(p, '[', (size_t)(end - p))); p++) {
		if (end - p < 2 || !is_digit(p[1]))
			continue;
		dash = find_dash(line, p);
		if (!dash || !is_plausible_dash(line, dash))
			continue;
		res = parse_from_dash(dash, end, r);
		if (res == HEADER_RECORD)
			return res;
		if (res == HEADER_CUT)
			best = res;
	}
	return best;
}

/* "19626     1d..2. 21498us+: ", "19626     1d..2.    3: " with a clock without seconds. */
static enum header_result parse_latency(const char *dash, const char *end, bool padded,
					struct ftrace_record *r)
{
	const char *p, *flags;
	u64 v;

	p = parse_dec(dash + 1, end, TID_MAX, &v);
	if (!p || p == end || *p != ' ')
		return HEADER_NONE;
	r->tid = (u32)v;
	p = parse_dec(skip_blanks(p, end), end, FTRACE_MAX_CPU - 1, &v);
	if (!p || p == end || *p == ' ')
		return HEADER_NONE;
	r->cpu = (u32)v;
	flags = p;
	p = word_end(p, end);
	if (p - flags < 3 || p - flags > FLAGS_MAX)
		return HEADER_NONE;
	p = parse_dec(skip_blanks(p, end), end, UINT64_MAX / 1000, &v);
	if (!p)
		return HEADER_NONE;
	if (STARTS(p, end, "us")) {
		/* one character tells a long delay: ' ', '+', '!', '#', '*', '@', '$' */
		p += 2;
		if (p < end && *p != ':')
			p++;
		r->time_ns = v * 1000;
		r->stamp = STAMP_LATENCY;
		r->fraction_digits = 6;
	} else if (padded) {
		r->time_ns = v;
		r->stamp = STAMP_UNITLESS;
		r->fraction_digits = 0;
	} else {
		return HEADER_NONE;
	}
	if (p == end)
		return HEADER_CUT;
	if (*p != ':' || (p + 1 < end && p[1] != ' '))
		return HEADER_NONE;
	r->dash = dash;
	r->rest = skip_blanks(p + 1, end);
	r->latency = true;
	r->has_tgid = false;
	r->tgid = 0;
	return HEADER_RECORD;
}

static enum header_result find_latency(const char *line, const char *end, struct ftrace_record *r)
{
	const char *limit = end - line > 2 * COMM_WIDTH ? line + 2 * COMM_WIDTH : end;
	enum header_result res;
	const char *p;

	if (end - line > COMM_WIDTH_LATENCY && line[COMM_WIDTH_LATENCY] == '-') {
		res = parse_latency(line + COMM_WIDTH_LATENCY, end, true, r);
		if (res != HEADER_NONE)
			return res;
	}
	for (p = line; (p = memchr(p, '-', (size_t)(limit - p))); p++) {
		res = parse_latency(p, end, false, r);
		if (res != HEADER_NONE)
			return res;
	}
	return HEADER_NONE;
}

/* "[  352.770989] ", "<4>[  352.770989][    T1] ": a dump in the kernel's log. */
static const char *skip_dmesg_prefix(const char *line, const char *end)
{
	const char *p = line;
	u64 v;

	if (STARTS(p, end, "<")) {
		p = parse_dec(p + 1, end, 1024, &v);
		if (!p || !STARTS(p, end, ">["))
			return line;
		p++;
	}
	p = parse_dec(skip_blanks(p + 1, end), end, UINT64_MAX, &v);
	if (!p || p == end || *p != '.')
		return line;
	p = parse_dec(p + 1, end, UINT64_MAX, &v);
	if (!p || p == end || *p != ']')
		return line;
	p++;
	if (STARTS(p, end, "[")) {
		while (p < end && *p != ']')
			p++;
		if (p < end)
			p++;
	}
	return p < end && *p == ' ' ? p + 1 : line;
}

enum header_result ftrace_header_parse(const char *line, size_t len, struct ftrace_record *r)
{
	const char *end = line + len;
	enum header_result res, latency;

	if (unlikely(len && (line[0] == '[' || line[0] == '<')))
		line = skip_dmesg_prefix(line, end);
	r->line = line;
	r->end = end;
	r->latency = false;
	r->comm_known = false;
	r->tail = NULL;
	if (likely(end - line > COMM_WIDTH + 1 && line[COMM_WIDTH] == '-' &&
		   is_digit(line[COMM_WIDTH + 1]))) {
		res = parse_from_dash(line + COMM_WIDTH, end, r);
		if (likely(res == HEADER_RECORD))
			return res;
	}
	if (end == line)
		return HEADER_NONE;
	res = find_record(line, end, r);
	if (res == HEADER_RECORD)
		return res;
	latency = find_latency(line, end, r);
	return latency != HEADER_NONE ? latency : res;
}

const char *ftrace_header_comm(const struct ftrace_record *r, size_t *ret_len)
{
	const char *p = r->line;

	if (r->dash - p > COMM_WIDTH && r->dash[-COMM_WIDTH] == ' ')
		p = r->dash - COMM_WIDTH;
	p = skip_blanks(p, r->dash);
	*ret_len = (size_t)(r->dash - p);
	return p;
}

/* "  3997:120:R ==> [01]  4055:120:R bash", or "+" for a wake-up. */
static bool is_switch_name(const char *p, const char *end)
{
	u64 v;

	p = parse_dec(p, end, TID_MAX, &v);
	if (!p || !STARTS(p, end, ":"))
		return false;
	p = parse_dec(skip_blanks(p + 1, end), end, 1000, &v);
	return p && STARTS(p, end, ":") && end - p > 2 && p[2] == ' ';
}

/* The next ':', ' ' or '('. */
static inline const char *name_end(const char *p, const char *limit)
{
	for (;; p++) {
		p = scan_low(p, limit);
		if (p == limit || *p == ':' || *p == ' ' || *p == '(')
			return p;
	}
}

static enum name_form special_name(const char *p, const char *end)
{
	if (STARTS(p, end, "<stack trace>"))
		return NAME_STACK;
	if (STARTS(p, end, "<user stack trace>"))
		return NAME_USER_STACK;
	return NAME_NONE;
}

void ftrace_header_name(const char *p, const char *end, struct ftrace_event_name *n)
{
	const char *start = p, *limit = end - p > NAME_MAX_LEN ? p + NAME_MAX_LEN : end;

	n->s = start;
	n->form = NAME_NONE;
	if (p == end)
		return;
	if (unlikely(*p == '<')) {
		n->form = special_name(p, end);
		n->payload = end;
		return;
	}
	p = name_end(p, limit);
	n->len = (size_t)(p - start);
	if (p == limit || p == start)
		return;
	if (likely(*p == ':')) {
		if (unlikely(is_digit(*start) && is_switch_name(start, end))) {
			n->form = NAME_SWITCH;
			n->payload = start;
			return;
		}
		n->form = NAME_PLAIN;
		n->payload = p + 1;
		/* "syscalls:sys_enter_mmap: ": some tools print the system too */
		if (unlikely(p + 1 < limit && p[1] != ' ')) {
			const char *q = p + 1;

			q = name_end(q, limit);
			if (q < limit && *q == ':' && q > p + 1 && (q + 1 == end || q[1] == ' ')) {
				n->s = p + 1;
				n->len = (size_t)(q - n->s);
				n->payload = q + 1;
			}
		}
		return;
	}
	if (STARTS(p, end, " <-")) {
		n->form = NAME_FUNCTION;
	} else if (STARTS(start, end, "sys_")) {
		if (*p == '(') {
			n->form = NAME_CALL_ENTER;
			n->payload = p + 1;
		} else if (STARTS(p, end, " -> ")) {
			n->form = NAME_CALL_EXIT;
			n->payload = p + 4;
		}
	} else if (*p == '(') {
		/* function tracer with arguments: "kmem_cache_free(s=0x.., x=0x..) <-file_free" */
		const char *close = memchr(p, ')', (size_t)(end - p));

		if (close && STARTS(close, end, ") <-"))
			n->form = NAME_FUNCTION;
	}
}
