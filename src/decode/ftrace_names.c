/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_names.c: event names to kinds, how often each occurs, and the cache that makes
 * interning a known string one comparison. Layer: decode.
 */
#include "decode/ftrace_internal.h"

#include <errno.h>
#include <stdlib.h>

struct known_name {
	const char *s, *full;
	u16 kind;
	u8 payload, call, form;
};
static const struct known_name known_names[] = {
#define EVENT(id, KIND, system, name, class, payload, doc) \
	{ name, name, EV_##KIND, PAYLOAD_##payload, CALL_NONE, NAME_PLAIN },
#include "wire/events.def"
#undef EVENT
/* the four ways to write an address-space call's two events */
/* clang-format off */
#define CALL(id, KIND, name, x86_64, i386, arm64, origin)                                      \
	{ "sys_enter_" name, "sys_enter_" name, EV_CALL_ENTER, PAYLOAD_call, id, NAME_PLAIN }, \
	{ "sys_exit_" name, "sys_exit_" name, EV_CALL_EXIT, PAYLOAD_call, id, NAME_PLAIN },    \
	{ "sys_" name, "sys_enter_" name, EV_CALL_ENTER, PAYLOAD_call, id, NAME_CALL_ENTER },  \
	{ "sys_" name, "sys_exit_" name, EV_CALL_EXIT, PAYLOAD_call, id, NAME_CALL_EXIT },
/* clang-format on */
#include "wire/calls.def"
#undef CALL
	/*
	 * Other writings of a marker: trace-cmd report's "print: tracing_mark_write: B|1|x", what
	 * trace_printk() leaves, and "0: B|1|x" of kernels that could not resolve its address.
	 */
	{ "print", "print", EV_MARKER, PAYLOAD_marker, CALL_NONE, NAME_PLAIN },
	{ "bprint", "bprint", EV_MARKER, PAYLOAD_marker, CALL_NONE, NAME_PLAIN },
	{ "bputs", "bputs", EV_MARKER, PAYLOAD_marker, CALL_NONE, NAME_PLAIN },
	{ "0", "0", EV_MARKER, PAYLOAD_marker, CALL_NONE, NAME_PLAIN },
	/* lines of a latency tracer that show the same as the event */
	{ "sched_switch", "sched_switch", EV_SCHED_SWITCH, PAYLOAD_sched, CALL_NONE, NAME_SWITCH },
};
_Static_assert(ARRAY_LEN(known_names) < NAME_CHUNK, "the first chunk holds the known names");

static inline struct name_entry *name_at(const struct name_table *t, u32 i)
{
	return &t->chunks[i / NAME_CHUNK][i % NAME_CHUNK];
}

static inline u32 mix(u64 head, u64 tail, size_t len)
{
	u64 h = (head ^ (tail << 7) ^ (tail >> 21) ^ len) * 0x9e3779b97f4a7c15ULL;

	return (u32)(h >> 32);
}

static inline u64 load_tail(const char *s, size_t len)
{
	return len > 8 ? load8(s + len - 8) : 0;
}

static inline bool same_string(const char *a, const char *b, size_t len)
{
	/* head and tail are equal already: up to 16 bytes they are all of it */
	return len <= 16 || !memcmp(a + 8, b + 8, len - 16);
}

/* The slot of a name: its entry's, or the free one where it belongs. */
static inline u32 name_slot(const struct name_table *t, u64 head, u64 tail, const char *s,
			    size_t len, u8 form)
{
	u32 i = (mix(head, tail, len) + form) % NAME_SLOTS;

	for (; t->slots[i]; i = (i + 1) % NAME_SLOTS) {
		const struct name_entry *e = name_at(t, t->slots[i]);

		if (e->head == head && e->tail == tail && e->len == len && e->form == form &&
		    same_string(e->s, s, len))
			break;
	}
	return i;
}

/* NULL when there is no room. */
static struct name_entry *name_insert(struct name_table *t, const struct known_name *k, size_t len)
{
	u64 head = load_head(k->s, len, k->s + len), tail = load_tail(k->s, len);
	struct name_entry **chunk = &t->chunks[t->n / NAME_CHUNK], *e;
	u32 slot;

	if (!*chunk)
		*chunk = calloc(NAME_CHUNK, sizeof(**chunk));
	if (!*chunk)
		return NULL;
	slot = name_slot(t, head, tail, k->s, len, k->form);
	e = name_at(t, t->n);
	*e = (struct name_entry){ .head = head,
				  .tail = tail,
				  .s = k->s,
				  .full = k->full,
				  .len = (u32)len,
				  .stat = NAME_NO_STAT,
				  .kind = k->kind,
				  .form = k->form,
				  .call = k->call,
				  .payload = k->payload };
	t->slots[slot] = (u16)t->n++;
	return e;
}

int ftrace_names_init(struct ftrace_text *d)
{
	struct name_table *t = &d->names;

	t->chunks[0] = calloc(NAME_CHUNK, sizeof(*t->chunks[0]));
	if (!t->chunks[0])
		return -ENOMEM;
	*name_at(t, 0) = (struct name_entry){ .s = "", .full = "", .kind = EV_OTHER };
	t->n = 1;
	for (size_t i = 0; i < ARRAY_LEN(known_names); i++)
		if (known_names[i].s[0])
			name_insert(t, &known_names[i], strlen(known_names[i].s));
	return 0;
}

void ftrace_names_done(struct ftrace_text *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->names.chunks); i++)
		free(d->names.chunks[i]);
}

/* A name that no table knows; NULL past the limit. */
static struct name_entry *name_add_unknown(struct ftrace_text *d, const struct ftrace_event_name *n)
{
	struct known_name k = { .kind = EV_OTHER, .payload = PAYLOAD_none, .form = (u8)n->form };
	char full[256];
	const char *s = n->s;
	size_t len = n->len, prefix_len = 0;

	if (d->names.n >= NAME_ENTRIES || d->stats.n_names >= FTRACE_MAX_NAMES)
		return NULL;
	/* "sys_read(" is counted as sys_enter_read, "sys_read -> " as sys_exit_read */
	if (n->form == NAME_CALL_ENTER || n->form == NAME_CALL_EXIT) {
		const char *prefix = n->form == NAME_CALL_ENTER ? "sys_enter_" : "sys_exit_";

		prefix_len = strlen(prefix);
		memcpy(full, prefix, prefix_len);
		s += 4;
		len -= 4;
	}
	if (len > sizeof(full) - prefix_len)
		len = sizeof(full) - prefix_len;
	memcpy(full + prefix_len, s, len);
	/* the table must not point into the caller's block */
	k.full = intern_get(d->strings, intern_add(d->strings, full, prefix_len + len), NULL);
	k.s = intern_get(d->strings, intern_add(d->strings, n->s, n->len), NULL);
	if (!k.full[0] || !k.s[0])
		return NULL;
	return name_insert(&d->names, &k, n->len);
}

/* Gives an entry its row in the counts; a name written in two ways has one row. */
static void name_assign_stat(struct ftrace_text *d, struct name_entry *e)
{
	struct ftrace_text_stats *st = &d->stats;
	u32 i;

	e->id = intern_add(d->strings, e->full, strlen(e->full));
	if (!e->id)
		return;
	for (i = 0; i < st->n_names && st->names[i].name != e->id; i++)
		;
	if (i == st->n_names) {
		if (i == FTRACE_MAX_NAMES)
			return;
		st->names[i].name = e->id;
		st->n_names++;
	}
	e->stat = i;
}

const struct name_entry *ftrace_names_count(struct ftrace_text *d,
					    const struct ftrace_event_name *n, const char *end)
{
	struct name_table *t = &d->names;
	u64 head = load_head(n->s, n->len, end), tail = load_tail(n->s, n->len);
	u32 i = t->slots[name_slot(t, head, tail, n->s, n->len, (u8)n->form)];
	struct name_entry *e = likely(i) ? name_at(t, i) : name_add_unknown(d, n);

	if (unlikely(!e)) {
		d->stats.other_names++;
		return name_at(t, 0);
	}
	if (unlikely(e->stat == NAME_NO_STAT))
		name_assign_stat(d, e);
	if (likely(e->stat != NAME_NO_STAT))
		d->stats.names[e->stat].n++;
	else
		d->stats.other_names++;
	return e;
}

u32 ftrace_string_id(struct ftrace_text *d, const char *s, size_t len, const char *end)
{
	u64 head = load_head(s, len, end), tail = load_tail(s, len);
	struct string_slot *slot = &d->strings_cache[mix(head, tail, len) % STRING_SLOTS];

	if (likely(slot->id && slot->head == head && slot->tail == tail && slot->len == len &&
		   same_string(slot->s, s, len)))
		return slot->id;
	if (len > INTERN_MAX_LEN)
		return intern_add(d->strings, s, len);
	*slot = (struct string_slot){ .head = head, .tail = tail, .len = (u32)len };
	slot->id = intern_add(d->strings, s, len);
	slot->s = intern_get(d->strings, slot->id, NULL);
	return slot->id;
}

u32 ftrace_comm_id(struct ftrace_text *d, const char *s, size_t len, const char *end)
{
	if (len == 5 && !memcmp(s, "<...>", 5))
		return 0;
	return ftrace_string_id(d, s, len, end);
}
