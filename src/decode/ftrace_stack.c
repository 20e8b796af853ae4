/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_stack.c: stack records. Layer: decode.
 *
 *	              wl-20099   [001] .....  1090.726553: <stack trace>
 *	 => trace_event_raw_event_mmap_lock
 *	 => dup_mmap+0x1c0/0x6b0
 *	=> do_syscall_64 (ffffffff821ecc51)		trace-cmd report
 *	 =>  <00007fc86cc80353>				a user frame
 */
#include "decode/ftrace_internal.h"

#define CLASS_PREFIX "trace_event_raw_event_"

bool ftrace_stack_frame(const char *line, size_t len, const char **ret, size_t *ret_len)
{
	const char *end = line + len, *p = skip_blanks(line, end), *q;

	if (!STARTS(p, end, "=> "))
		return false;
	p = skip_blanks(p + 3, end);
	if (p < end && *p == '<') {
		/* " =>  <00007fc86cc80353>": no symbol, so the address is the frame */
		for (p++; p < end && *p == '0'; p++)
			;
		for (q = p; q < end && *q != '>'; q++)
			;
		if (q == p && p[-1] == '0')
			p--;
	} else {
		for (q = p; q < end && *q != ' '; q++)
			if (*q == '+' && q > p && q[-1] != '[' && STARTS(q, end, "+0x"))
				break;
	}
	/* "/usr/lib/x86_64-linux-gnu/libc.so.6[+0x80353]" */
	if (p < q && *p == '/')
		p = (const char *)memrchr(p, '/', (size_t)(q - p)) + 1;
	*ret = p;
	*ret_len = (size_t)(q - p);
	return true;
}

void ftrace_stack_open(struct ftrace_text *d, const struct event *base, bool user)
{
	struct open_stack *s = &d->stack;

	s->active = true;
	s->user = user;
	s->n = 0;
	s->ev = *base;
	s->ev.kind = user ? EV_USER_STACK : EV_STACK;
	memset(&s->ev.u, 0, sizeof(s->ev.u));
}

void ftrace_stack_add(struct ftrace_text *d, const char *frame, size_t len, const char *end)
{
	struct open_stack *s = &d->stack;

	if (!s->n && STARTS(frame, frame + len, CLASS_PREFIX)) {
		const char *class = frame + sizeof(CLASS_PREFIX) - 1;
		size_t class_len = len - (sizeof(CLASS_PREFIX) - 1);
		/* "trace_event_raw_event_mmap_lock.isra.0" */
		const char *dot = memchr(class, '.', class_len);

		if (dot)
			class_len = (size_t)(dot - class);
		s->ev.u.stack.class_name = ftrace_string_id(d, class, class_len, end);
	}
	if (s->n < STACK_MAX_FRAMES)
		s->frames[s->n++] = ftrace_string_id(d, frame, len, end);
}

int ftrace_stack_close(struct ftrace_text *d)
{
	struct open_stack *s = &d->stack;

	if (!s->active)
		return 0;
	s->active = false;
	s->ev.u.stack.stack = stacks_add(d->stacks, s->frames, s->n);
	return d->ops.event(d->ctx, &s->ev);
}
