/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model/origin.c: the origin of a function name or stack, looked up once each (see origin.h). */
#include "model/origin.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING 255

static const char *const names[ORIGINS] = {
#define ORIGIN(KIND, name, doc) [ORIGIN_##KIND] = name,
#include "model/origins.def"
};

static const struct {
	const char *function;
	u8 origin;
} frames[] = {
#define FRAME(function, KIND) { function, ORIGIN_##KIND },
#include "model/origins.def"
};

_Static_assert(ARRAY_LEN(frames) < 200, "struct origins.by_frame is sized for this table");

static u32 frame_hash(const char *s, size_t len)
{
	u32 h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (u8)s[i]) * 16777619u;
	return h ^ h >> 15;
}

void origins_init(struct origins *o)
{
	memset(o, 0, sizeof(*o));
	for (u32 row = 0; row < ARRAY_LEN(frames); row++) {
		u32 i = frame_hash(frames[row].function, strlen(frames[row].function)) & 255;

		while (o->by_frame[i])
			i = (i + 1) & 255;
		o->by_frame[i] = row + 1;
	}
}

void origins_done(struct origins *o)
{
	free(o->of_string);
	free(o->of_stack);
	memset(o, 0, sizeof(*o));
}

const char *origin_name(enum origin o)
{
	return o < ORIGINS ? names[o] : names[ORIGIN_OTHER];
}

enum origin origin_of_call(enum as_call call)
{
	static const u8 of_call[CALL_LIMIT] = {
#define CALL(id, KIND, name, x86_64, i386, arm64, origin) [CALL_##KIND] = ORIGIN_##origin,
#include "wire/calls.def"
#undef CALL
	};

	return call < CALL_LIMIT ? of_call[call] : ORIGIN_OTHER;
}

/* "do_mprotect_pkey.constprop.0" is do_mprotect_pkey: compilers add suffixes to clones. */
static u8 look_up(const struct origins *o, const char *s, size_t len)
{
	const char *dot = memchr(s, '.', len);
	u32 i;

	if (dot)
		len = (size_t)(dot - s);
	for (i = frame_hash(s, len) & 255; o->by_frame[i]; i = (i + 1) & 255) {
		const char *f = frames[o->by_frame[i] - 1].function;

		/* the name may hold any byte, NULs too: strncmp() would end at one */
		if (strlen(f) == len && !memcmp(f, s, len))
			return frames[o->by_frame[i] - 1].origin + 1;
	}
	return NOTHING;
}

static u8 *cache_slot(u8 **cache, u32 *n, u32 id)
{
	if (id >= *n) {
		u32 want = id + id / 2 + 64;
		u8 *p = realloc(*cache, want);

		if (!p)
			return NULL;
		memset(p + *n, 0, want - *n);
		*cache = p;
		*n = want;
	}
	return &(*cache)[id];
}

bool origin_of_caller(struct origins *o, const struct intern *strings, u32 caller, enum origin *ret)
{
	u8 *known, uncached = 0;
	size_t len;
	const char *s;

	if (!caller)
		return false;
	known = cache_slot(&o->of_string, &o->n_strings, caller);
	if (!known)
		known = &uncached;
	if (!*known) {
		s = intern_get(strings, caller, &len);
		*known = look_up(o, s, len);
	}
	if (*known == NOTHING)
		return false;
	*ret = *known - 1;
	return true;
}

bool origin_of_stack(struct origins *o, const struct intern *strings, const struct stacks *stacks,
		     u32 stack, enum origin *ret)
{
	u8 *known, uncached = 0;

	if (!stack)
		return false;
	known = cache_slot(&o->of_stack, &o->n_stacks, stack);
	if (!known)
		known = &uncached;
	if (!*known) {
		const u32 *frame;
		enum origin found;
		u32 n;

		*known = NOTHING;
		frame = stacks_get(stacks, stack, &n);
		for (u32 i = 0; i < n && *known == NOTHING; i++) {
			const char *name = intern_get(strings, frame[i], NULL);

			/* a user function may have any name */
			if (!strcmp(name, STACK_USER_MARK))
				break;
			if (origin_of_caller(o, strings, frame[i], &found))
				*known = (u8)(found + 1);
		}
	}
	if (*known == NOTHING)
		return false;
	*ret = *known - 1;
	return true;
}
