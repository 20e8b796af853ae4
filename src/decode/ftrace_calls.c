/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_calls.c: system calls in their three writings, and trace markers. Layer: decode.
 *
 *	sys_mmap(addr: 0, len: 2d6d0, prot: 3, ...)	sys_mmap -> 0x7faab969c000
 *	sys_enter_mmap:       addr: 0x00000000, ...	sys_exit_mmap: 0x7fa036519000
 *	sys_enter: NR 9 (0, 2000, 3, 22, ...)		sys_exit: NR 9 = 140370
 */
#include "decode/ftrace_internal.h"

static const struct {
	s32 nr[4]; /* by enum syscall_arch */
	u8 call;
} call_numbers[] = {
#define CALL(id, KIND, name, x86_64, i386, arm64, origin) \
	{ { [ARCH_UNKNOWN] = -1,                          \
	    [ARCH_X86_64] = x86_64,                       \
	    [ARCH_I386] = i386,                           \
	    [ARCH_ARM64] = arm64 },                       \
	  id },
#include "wire/calls.def"
#undef CALL
};

void ftrace_calls_init(struct ftrace_text *d)
{
	for (size_t i = 0; i < ARRAY_LEN(call_numbers); i++) {
		s32 nr = call_numbers[i].nr[d->opts.arch];

		if (nr >= 0 && nr < CALL_NR_MAX)
			d->call_by_nr[nr] = call_numbers[i].call;
	}
}

/* Hex values parted by commas, each alone or behind "name: " or "name="; 0 for what is no number.
 */
static void args_fill(struct ev_call *call, const char *p, const char *end)
{
	const char *word;

	for (u32 i = 0; i < ARRAY_LEN(call->args) && p < end; i++) {
		p = skip_blanks(p, end);
		word = p;
		while (p < end && *p != ',' && *p != ')') {
			if (*p == ':' || *p == '=')
				word = p + 1;
			p++;
		}
		if (!parse_hex(skip_blanks(word, p), p, &call->args[i]))
			call->args[i] = 0;
		if (p < end && *p == ')')
			break;
		p++;
	}
}

bool ftrace_call_fill(struct payload_ctx *c)
{
	struct ev_call *call = &c->ev->u.call;
	const char *p = skip_blanks(c->p, c->end);

	call->call = c->name->call;
	call->nr = UINT32_MAX;
	if (c->ev->kind == EV_CALL_ENTER) {
		args_fill(call, p, c->end);
		return true;
	}
	if (STARTS(p, c->end, "ret="))
		p += 4;
	if (!parse_hex(p, c->end, &call->args[0]))
		return false;
	c->ev->has |= EVH_RET;
	return true;
}

bool ftrace_raw_call_fill(struct payload_ctx *c)
{
	struct ftrace_text *d = c->d;
	struct ev_call *call = &c->ev->u.call;
	const char *p = skip_blanks(c->p, c->end), *end = c->end;
	bool minus;
	u64 nr, ret;

	if (!STARTS(p, end, "NR "))
		return false;
	p += 3;
	minus = p < end && *p == '-'; /* NR -1: a call that ptrace or seccomp took away */
	p = parse_dec(p + minus, end, UINT32_MAX, &nr);
	if (!p)
		return false;
	call->nr = minus ? UINT32_MAX : (u32)nr;
	d->stats.raw_syscalls++;
	if (d->opts.arch == ARCH_UNKNOWN)
		d->stats.raw_syscalls_unnamed = true;
	else if (!minus && nr < CALL_NR_MAX)
		call->call = d->call_by_nr[nr];
	if (c->ev->kind == EV_CALL_ENTER) {
		if (!STARTS(p, end, " ("))
			return false;
		args_fill(call, p + 2, end);
		return true;
	}
	if (!STARTS(p, end, " = "))
		return false;
	p += 3;
	minus = p < end && *p == '-';
	p = parse_dec(p + minus, end, UINT64_MAX, &ret);
	if (!p)
		return false;
	call->args[0] = minus ? 0 - ret : ret;
	c->ev->has |= EVH_RET;
	return true;
}

/* "B|4829|queueBuffer"; trace-cmd report has "tracing_mark_write: " before it again. */
void ftrace_marker_fill(struct payload_ctx *c)
{
	static const char again[] = "tracing_mark_write: ";
	struct ftrace_text *d = c->d;
	const char *p = c->p, *end = c->end, *q = skip_blanks(p, end);
	u32 id;
	size_t len;

	if (STARTS(q, end, again))
		p = q + sizeof(again) - 1;
	else if (p < end && *p == ' ')
		p++;
	len = (size_t)(end - p);
	id = intern_find(d->strings, p, len);
	if (!id && len <= MARKER_MAX_BYTES - d->marker_bytes) {
		id = intern_add(d->strings, p, len);
		d->marker_bytes += (u32)len;
	}
	c->ev->u.marker.text = id;
}
