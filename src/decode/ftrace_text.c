/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_text.c: blocks to lines, lines to events. Layer: decode.
 *
 * A line is decided when it is seen, with three exceptions that the next line settles: a stack's
 * frames follow its record; a newline in a task's name puts the front of a record on a line of its
 * own, or the rest of a payload on the next one.
 */
#include "decode/ftrace_internal.h"

#include <errno.h>
#include <stdlib.h>

#define SKIPPED_SHOW_BYTES 256
#define STEP_BACK_NS 1000000000ULL

const struct line_class_info line_class_info[LINE_CLASSES] = {
#define LINE_CLASS(KIND, key, skipped, doc) { key, skipped, doc },
#include "decode/line_classes.def"
#undef LINE_CLASS
};

struct ftrace_text *ftrace_text_new(const struct ftrace_text_opts *opts,
				    const struct ftrace_text_ops *ops, void *ctx,
				    struct intern *strings, struct stacks *stacks)
{
	struct ftrace_text *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->opts = *opts;
	d->ops = *ops;
	d->ctx = ctx;
	d->strings = strings;
	d->stacks = stacks;
	if (ftrace_names_init(d)) {
		free(d);
		return NULL;
	}
	ftrace_fields_init(d);
	ftrace_calls_init(d);
	return d;
}

void ftrace_text_free(struct ftrace_text *d)
{
	if (!d)
		return;
	ftrace_names_done(d);
	free(d->carry);
	free(d);
}

const struct ftrace_text_stats *ftrace_text_stats(const struct ftrace_text *d)
{
	return &d->stats;
}

static void count_line(struct ftrace_text *d, enum line_class class, u64 line_no, const char *line,
		       size_t len)
{
	d->stats.by_class[class]++;
	if (!line_class_info[class].skipped || d->skipped_shown >= d->opts.show_skipped)
		return;
	d->skipped_shown++;
	if (d->ops.skipped)
		d->ops.skipped(d->ctx, class, line_no, line,
			       len < SKIPPED_SHOW_BYTES ? len : SKIPPED_SHOW_BYTES);
}

/* ---- lines that wait for the next one ---- */

static void held_drop(struct ftrace_text *d, u32 n_as_split)
{
	struct held_lines *h = &d->held;

	for (u32 i = 0; i < h->n; i++) {
		bool split = i + n_as_split >= h->n;

		count_line(d, split ? LINE_SPLIT_COMM : (enum line_class)h->class[i],
			   h -> first_line + i, h -> buf + h -> offset[i], h -> len[i]);
	}
	h->n = 0;
	h->used = 0;
}

static bool held_add(struct ftrace_text *d, enum line_class class, const char *line, size_t len)
{
	struct held_lines *h = &d->held;

	if (h->n == HELD_LINES || len > HELD_BYTES - h->used)
		return false;
	if (!h->n)
		h->first_line = d->stats.lines;
	memcpy(h->buf + h->used, line, len);
	h->offset[h->n] = (u16)h->used;
	h->len[h->n] = (u16)len;
	h->class[h->n] = (u8) class;
	h->used += (u32)len;
	h->n++;
	return true;
}

/* The last @n held lines with their newlines, then @tail. */
static u32 held_join(const struct held_lines *h, u32 n, const char *tail, size_t tail_len, char *to)
{
	u32 used = 0;

	for (u32 i = h->n - n; i < h->n; i++) {
		memcpy(to + used, h->buf + h->offset[i], h->len[i]);
		used += h->len[i];
		to[used++] = '\n';
	}
	memcpy(to + used, tail, tail_len);
	return used + (u32)tail_len;
}

/*
 * The held lines may be the front of this record's task name:
 *
 *	        nl
 *	line2-20795   [000] .....  1138.590593: ...
 *
 * The name is padded to a fixed width, and that must come out exactly. Returns how many lines
 * belong to it and the whole name.
 */
static u32 held_match_comm(const struct ftrace_text *d, const struct ftrace_record *r, char *name,
			   u32 *ret_start, u32 *ret_len)
{
	u32 width = ftrace_comm_width(r), total;
	size_t part = (size_t)(r->dash - r->line);

	if (part >= width)
		return 0;
	for (u32 n = 1; n <= d->held.n; n++) {
		total = held_join(&d->held, n, r->line, part, name);
		if (total < width || !ftrace_is_instance_prefix(name, total - width))
			continue;
		*ret_start = (u32)(skip_blanks(name + total - width, name + total) - name);
		*ret_len = total - *ret_start;
		return *ret_len <= COMM_MAX ? n : 0;
	}
	return 0;
}

static bool payload_fill(struct ftrace_text *d, const struct name_entry *name, const char *p,
			 const char *end, struct event *ev)
{
	struct payload_ctx c = { .d = d, .name = name, .p = p, .end = end, .ev = ev };

	switch ((enum payload)name->payload) {
	case PAYLOAD_lock:
	case PAYLOAD_blocked:
	case PAYLOAD_fault:
	case PAYLOAD_vma:
	case PAYLOAD_page_fault:
		return ftrace_fields_fill(&c);
	case PAYLOAD_sched:
		if (name->form == NAME_SWITCH)
			return ftrace_switch_fill(&c);
		return ftrace_sched_fill(&c);
	case PAYLOAD_wake:
	case PAYLOAD_fork:
	case PAYLOAD_exec:
	case PAYLOAD_exit:
	case PAYLOAD_rename:
	case PAYLOAD_newtask:
		return ftrace_sched_fill(&c);
	case PAYLOAD_call:
		return name->call ? ftrace_call_fill(&c) : ftrace_raw_call_fill(&c);
	case PAYLOAD_marker:
		ftrace_marker_fill(&c);
		return true;
	case PAYLOAD_none:
	case PAYLOAD_stack:
	case PAYLOADS:
		break;
	}
	ev->name = name->id;
	return true;
}

static int emit(struct ftrace_text *d, const struct event *ev)
{
	if (ev->has & EVH_BAD_PID)
		d->stats.pid_mismatch++;
	return d->ops.event(d->ctx, ev);
}

/* A record whose payload cannot be used still shows that its thread ran. */
static int emit_as_other(struct ftrace_text *d, struct event *ev, const struct name_entry *name)
{
	ev->kind = EV_OTHER;
	ev->name = name->id;
	ev->mm = 0;
	ev->has &= EVH_TGID;
	memset(&ev->u, 0, sizeof(ev->u));
	return emit(d, ev);
}

static int pending_give_up(struct ftrace_text *d)
{
	struct pending_record *p = &d->pending;

	if (!p->active)
		return 0;
	p->active = false;
	count_line(d, LINE_SKIP_BAD_FIELD, p->ev.line, p->line, p->len);
	return emit_as_other(d, &p->ev, p->name);
}

/* Tries the pending record with the held lines behind it. */
static int pending_retry(struct ftrace_text *d)
{
	struct pending_record *p = &d->pending;
	struct event ev = p->ev;
	u32 len = p->len;

	for (u32 i = 0; i < d->held.n; i++) {
		p->line[len++] = '\n';
		memcpy(p->line + len, d->held.buf + d->held.offset[i], d->held.len[i]);
		len += d->held.len[i];
	}
	if (!payload_fill(d, p->name, p->line + p->payload_offset, p->line + len, &ev))
		return 0;
	p->active = false;
	d->stats.by_class[LINE_EVENT]++;
	held_drop(d, d->held.n);
	return emit(d, &ev);
}

static bool pending_set(struct ftrace_text *d, const char *line, size_t len, const char *payload,
			const struct name_entry *name, const struct event *ev)
{
	struct pending_record *p = &d->pending;

	if (len > JOIN_MAX_LINE)
		return false;
	memcpy(p->line, line, len);
	p->len = (u32)len;
	p->payload_offset = (u32)(payload - line);
	p->name = name;
	p->ev = *ev;
	p->active = true;
	return true;
}

/* All that waits is settled without the line that comes now. */
static int settle(struct ftrace_text *d)
{
	int r = ftrace_stack_close(d);

	if (!r)
		r = pending_give_up(d);
	held_drop(d, 0);
	return r;
}

/* ---- records ---- */

/* The clock of one CPU; a step back of over a second is another boot. */
static int note_time(struct ftrace_text *d, const struct ftrace_record *r, struct error *e)
{
	struct ftrace_text_stats *st = &d->stats;
	u64 *last = &d->cpu_time_ns[r->cpu];

	if (unlikely(!st->clock_seen)) {
		st->clock_seen = true;
		st->clock_has_seconds = r->stamp != STAMP_UNITLESS;
	}
	if (r->fraction_digits > st->fraction_digits)
		st->fraction_digits = r->fraction_digits;
	if (r->latency)
		st->latency_format = true;
	if (unlikely(!d->cpu_seen[r->cpu])) {
		d->cpu_seen[r->cpu] = true;
		if (r->cpu >= d->cpu_limit)
			d->cpu_limit = r->cpu + 1;
		*last = r->time_ns;
	}
	if (likely(r->time_ns >= *last)) {
		*last = r->time_ns;
	} else if (*last - r->time_ns > STEP_BACK_NS && st->clock_has_seconds &&
		   !d->opts.allow_step_back) {
		return error_set(e, -EPROTO,
				 "line %llu: CPU %u steps back from %llu.%09llu to %llu.%09llu: "
				 "another boot in one file; split it",
				 (unsigned long long)st->lines, r->cpu,
				 (unsigned long long)(*last / 1000000000),
				 (unsigned long long)(*last % 1000000000),
				 (unsigned long long)(r->time_ns / 1000000000),
				 (unsigned long long)(r->time_ns % 1000000000));
	}
	return 0;
}

static inline void event_base(struct ftrace_text *d, const struct ftrace_record *r,
			      struct event *ev)
{
	bool full = !d->opts.lost_only;

	/* field by field: one memset() of it all is a slow string instruction */
	ev->time_ns = r->time_ns;
	ev->line = d->stats.lines;
	ev->mm = 0;
	ev->kind = EV_OTHER;
	ev->cpu = (u16)r->cpu;
	ev->tid = full ? r->tid : 0;
	ev->tgid = full ? r->tgid : 0;
	ev->comm = 0;
	ev->stack = 0;
	ev->user_stack = 0;
	ev->has = full && r->has_tgid ? EVH_TGID : 0;
	ev->name = 0;
	ev->prio = 0;
	ev->call = 0;
	ev->state = 0;
	ev->pad = 0;
	memset(&ev->u, 0, sizeof(ev->u));
}

/* Sets the task's name, with the lines before this one where they are part of it. */
static void event_comm(struct ftrace_text *d, const struct ftrace_record *r, struct event *ev)
{
	char name[HELD_BYTES + HELD_LINES + COMM_WIDTH];
	u32 n = 0, start = 0, joined = 0;
	const char *comm;
	size_t len;

	if (unlikely(d->held.n)) {
		n = held_match_comm(d, r, name, &start, &joined);
		held_drop(d, n);
	}
	if (unlikely(n)) {
		ev->comm = ftrace_comm_id(d, name + start, joined, name + start + joined);
		return;
	}
	if (likely(r->comm_known)) {
		ev->comm = r->comm;
		return;
	}
	comm = ftrace_header_comm(r, &len);
	ev->comm = ftrace_comm_id(d, comm, len, r->end);
}

static int stack_record(struct ftrace_text *d, const struct event *ev, bool user)
{
	d->stats.by_class[LINE_STACK]++;
	if (d->opts.lost_only)
		return d->ops.event(d->ctx, ev);
	ftrace_stack_open(d, ev, user);
	return 0;
}

static int record_line(struct ftrace_text *d, const struct ftrace_record *r, const char *line,
		       size_t len, struct error *e)
{
	struct ftrace_event_name n;
	const struct name_entry *name;
	struct event ev;
	int res;

	if (unlikely(d->stack.active || d->pending.active)) {
		res = ftrace_stack_close(d);
		if (!res)
			res = pending_give_up(d);
		if (res)
			return res;
	}
	if (unlikely(line[0] == '#'))
		ftrace_marks_header(d, line, len);
	res = note_time(d, r, e);
	if (unlikely(res))
		return res;
	event_base(d, r, &ev);
	if (!d->opts.lost_only)
		event_comm(d, r, &ev);
	else if (unlikely(d->held.n))
		held_drop(d, 0);
	ftrace_header_name(r->rest, r->end, &n);
	switch (n.form) {
	case NAME_PLAIN:
	case NAME_CALL_ENTER:
	case NAME_CALL_EXIT:
		break;
	case NAME_SWITCH:
		n.s = "sched_switch";
		n.len = sizeof("sched_switch") - 1;
		break;
	case NAME_STACK:
	case NAME_USER_STACK:
		return stack_record(d, &ev, n.form == NAME_USER_STACK);
	case NAME_FUNCTION:
		count_line(d, LINE_SKIP_FUNCTION, d->stats.lines, line, len);
		return 0;
	case NAME_NONE:
		count_line(d, LINE_SKIP_CUT, d->stats.lines, line, len);
		return 0;
	}
	/* trace-cmd report's "kernel_stack:         <stack trace >" */
	if (unlikely(n.len == 12 && !memcmp(n.s, "kernel_stack", 12)))
		return stack_record(d, &ev, false);
	if (unlikely(n.len == 10 && !memcmp(n.s, "user_stack", 10)))
		return stack_record(d, &ev, true);
	if (d->opts.lost_only) {
		d->stats.by_class[LINE_EVENT]++;
		return d->ops.event(d->ctx, &ev);
	}
	name = ftrace_names_count(d, &n, n.form == NAME_SWITCH ? n.s + n.len : r->end);
	ev.kind = name->kind;
	if (likely(payload_fill(d, name, n.payload, r->end, &ev))) {
		d->stats.by_class[LINE_EVENT]++;
		return emit(d, &ev);
	}
	ev.mm = 0;
	ev.has &= EVH_TGID;
	memset(&ev.u, 0, sizeof(ev.u));
	if (pending_set(d, line, len, n.payload, name, &ev))
		return 0;
	count_line(d, LINE_SKIP_BAD_FIELD, d->stats.lines, line, len);
	return emit_as_other(d, &ev, name);
}

/* ---- fronts of lines ---- */

static inline struct front_entry *front_slot(struct ftrace_text *d, const char *line)
{
	u64 h = load8(line + COMM_WIDTH) * 0x9e3779b97f4a7c15ULL ^ load8(line + COMM_WIDTH + 8);

	return &d->fronts[(h * 0x9e3779b97f4a7c15ULL >> 32) % FRONT_ENTRIES];
}

/* Whether a line in the kernel's padded layout may begin here; the two loads above stay inside. */
static inline bool front_is_padded(const char *line, size_t len)
{
	return len > COMM_WIDTH + sizeof(((struct front_entry *)0)->s) && line[COMM_WIDTH] == '-';
}

static inline bool front_equal(const struct front_entry *f, const char *line)
{
	u64 diff = 0;

	/* in words, the last one overlapping; len is at least 16 */
	for (u32 i = 0; i + 8 < f->len; i += 8)
		diff |= load8(f->s + i) ^ load8(line + i);
	return !(diff | (load8(f->s + f->len - 8) ^ load8(line + f->len - 8)));
}

static inline bool front_find(struct ftrace_text *d, const char *line, size_t len,
			      struct ftrace_record *r)
{
	const struct front_entry *f;

	if (!front_is_padded(line, len))
		return false;
	f = front_slot(d, line);
	if (!f->len || !front_equal(f, line))
		return false;
	r->line = line;
	r->end = line + len;
	r->dash = line + COMM_WIDTH;
	r->tail = line + f->len;
	r->tid = f->tid;
	r->tgid = f->tgid;
	r->has_tgid = f->has_tgid;
	r->cpu = f->cpu;
	r->comm = f->comm;
	r->comm_known = true;
	r->latency = false;
	return ftrace_header_tail(r->tail, r->end, r) == HEADER_RECORD;
}

static void front_keep(struct ftrace_text *d, const char *line, size_t len,
		       const struct ftrace_record *r)
{
	struct front_entry *f;
	const char *comm;
	size_t comm_len;

	if (!front_is_padded(line, len) || r->line != line || r->dash != line + COMM_WIDTH ||
	    !r->tail || (size_t)(r->tail - line) > sizeof(f->s))
		return;
	f = front_slot(d, line);
	comm = ftrace_header_comm(r, &comm_len);
	f->comm = d->opts.lost_only ? 0 : ftrace_comm_id(d, comm, comm_len, r->end);
	f->tid = r->tid;
	f->tgid = r->tgid;
	f->has_tgid = r->has_tgid;
	f->cpu = r->cpu;
	f->len = (u8)(r->tail - line);
	memcpy(f->s, line, f->len);
}

/* ---- lines ---- */

/* A line that is not understood by itself: it may go with the one before or the next one. */
static int undecided_line(struct ftrace_text *d, enum line_class class, const char *line,
			  size_t len)
{
	bool front_of_name = len && len <= 3 * COMM_WIDTH;
	int r;

	if (d->opts.lost_only || !(d->pending.active || front_of_name || (d->held.n && !len)) ||
	    !held_add(d, class, line, len)) {
		r = settle(d);
		count_line(d, class, d->stats.lines, line, len);
		return r;
	}
	return d->pending.active ? pending_retry(d) : 0;
}

static int other_line(struct ftrace_text *d, const char *line, size_t len)
{
	enum line_class class;
	struct lost_mark mark;
	const char *frame;
	size_t frame_len;
	int r;

	if (ftrace_stack_frame(line, len, &frame, &frame_len)) {
		d->stats.by_class[LINE_STACK]++;
		if (d->stack.active) {
			ftrace_stack_add(d, frame, frame_len, line + len);
			return 0;
		}
		return settle(d);
	}
	r = ftrace_stack_close(d);
	if (r)
		return r;
	if (ftrace_marks_lost(line, len, &mark)) {
		d->stats.by_class[LINE_LOST]++;
		r = settle(d);
		return r ? r : ftrace_marks_report(d, &mark);
	}
	class = ftrace_marks_class(d, line, len);
	if (class == LINE_SKIP_NO_RECORD || class == LINE_SKIP_BINARY || class == LINE_BLANK)
		return undecided_line(d, class, line, len);
	r = settle(d);
	count_line(d, class, d->stats.lines, line, len);
	return r;
}

/* One line without its newline. */
static int decode_line(struct ftrace_text *d, const char *line, size_t len, struct error *e)
{
	struct ftrace_record rec;
	int r;

	d->stats.lines++;
	if (unlikely(len > FTRACE_MAX_LINE)) {
		r = settle(d);
		count_line(d, LINE_SKIP_TOO_LONG, d->stats.lines, line, len);
		return r;
	}
	if (len && unlikely(line[len - 1] == '\r'))
		len--;
	if (likely(front_find(d, line, len, &rec)))
		return record_line(d, &rec, line, len, e);
	switch (ftrace_header_parse(line, len, &rec)) {
	case HEADER_RECORD:
		front_keep(d, line, len, &rec);
		return record_line(d, &rec, line, len, e);
	case HEADER_CUT:
		r = settle(d);
		count_line(d, LINE_SKIP_CUT, d->stats.lines, line, len);
		return r;
	case HEADER_NONE:
		break;
	}
	/* a frame or a mark of a dump has the log's prefix too */
	return other_line(d, rec.line, (size_t)(rec.end - rec.line));
}

static int carry_add(struct ftrace_text *d, const char *data, size_t len, struct error *e)
{
	size_t want = d->carry_len + len, capacity = d->carry_capacity ? d->carry_capacity : 4096;
	char *p;

	if (d->carry_too_long)
		return 0;
	if (want > FTRACE_MAX_LINE + 1) {
		/* too long: what is kept is enough to know so and to show its start */
		d->carry_too_long = true;
		if (d->carry_len >= SKIPPED_SHOW_BYTES)
			return 0;
		len = SKIPPED_SHOW_BYTES - d->carry_len;
		want = SKIPPED_SHOW_BYTES;
	}
	if (want > d->carry_capacity) {
		while (capacity < want)
			capacity *= 2;
		p = realloc(d->carry, capacity);
		if (!p)
			return error_set(e, -ENOMEM, "out of memory for a line of %zu bytes", want);
		d->carry = p;
		d->carry_capacity = capacity;
	}
	memcpy(d->carry + d->carry_len, data, len);
	d->carry_len = want;
	return 0;
}

static int carry_decode(struct ftrace_text *d, struct error *e)
{
	size_t len = d->carry_too_long ? FTRACE_MAX_LINE + 1 : d->carry_len;

	d->carry_len = 0;
	d->carry_too_long = false;
	return decode_line(d, d->carry, len, e);
}

int ftrace_text_feed(struct ftrace_text *d, const char *data, size_t len, struct error *e)
{
	const char *end = data + len, *newline;
	int r;

	for (; data < end; data = newline + 1) {
		newline = memchr(data, '\n', (size_t)(end - data));
		if (unlikely(!newline))
			return carry_add(d, data, (size_t)(end - data), e);
		if (unlikely(d->carry_len || d->carry_too_long)) {
			r = carry_add(d, data, (size_t)(newline - data), e);
			if (!r)
				r = carry_decode(d, e);
		} else {
			r = decode_line(d, data, (size_t)(newline - data), e);
		}
		if (unlikely(r))
			return r;
	}
	return 0;
}

int ftrace_text_gap(struct ftrace_text *d, struct error *e)
{
	struct lost_mark mark = { .has_cpu = true };
	int r;

	(void)e;
	if (d->carry_len || d->carry_too_long) {
		d->stats.lines++;
		r = settle(d);
		count_line(d, LINE_SKIP_CUT, d->stats.lines, d->carry ? d->carry : "",
			   d->carry_len);
		d->carry_len = 0;
		d->carry_too_long = false;
	} else {
		r = settle(d);
	}
	for (u32 cpu = 0; !r && cpu < d->cpu_limit; cpu++) {
		if (!d->cpu_seen[cpu])
			continue;
		mark.cpu = cpu;
		r = ftrace_marks_report(d, &mark);
	}
	if (!r && !d->cpu_limit)
		r = ftrace_marks_report(d, &mark);
	return r;
}

int ftrace_text_end(struct ftrace_text *d, struct error *e)
{
	int r = 0;

	if (d->carry_len || d->carry_too_long)
		r = carry_decode(d, e);
	return r ? r : settle(d);
}
