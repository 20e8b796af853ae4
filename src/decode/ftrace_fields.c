/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_fields.c: payloads of key=value pairs in any order, by one table. Layer: decode.
 *
 *	mmap_lock_start_locking: mm=000000009093a1f0 memcg_id=5507 write=false
 *	vma_start_write_begin: pid=193 mm=.. vm_start=7f64 vm_end=7f65 caller=vma_expand+0x4e/0x150
 *
 * Trees differ in order, in missing and in extra keys. Two kinds of value may hold blanks, even
 * " key=value": a task's name and a cgroup's path.
 */
#include "decode/ftrace_internal.h"

enum field_type {
	TYPE_PTR, /* %p: an identity; (null), (____ptrval____) and 0 are none */
	TYPE_HEX, /* %lx, with or without 0x */
	TYPE_HEX32,
	TYPE_DEC,
	TYPE_DEC32,
	TYPE_BOOL,    /* 0, 1, true, false */
	TYPE_ADDR,    /* %ps: hex, or a symbol's name */
	TYPE_DEV,     /* "254:3" */
	TYPE_RANGE,   /* "[7f986e000000,7f9872000000]" */
	TYPE_STRING,  /* a word */
	TYPE_SYMBOL,  /* %pS: "vma_expand+0x4e/0x150" */
	TYPE_COMM,    /* a task's name */
	TYPE_PATH,    /* free text up to a key that must still come */
	TYPE_IGNORED, /* known only so that it needs no search */
	TYPE_PID,     /* the thread itself */
	TYPE_TGID     /* its thread group */
};

/* Bits beside enum event_has, for fields that only count together. */
#define HAS_VM_START (1u << 26)
#define HAS_VM_END (1u << 27)
#define HAS_INO (1u << 28)
#define HAS_DEV (1u << 29)

struct field_row {
	enum payload payload;
	const char *key;
	enum field_type type;
	u16 offset;
	u32 has;
	bool needed;
	const char *next;
};
#define AT(member) offsetof(struct event, member)
#define NOWHERE UINT16_MAX

static const struct field_row field_rows[] = {
	{ PAYLOAD_lock, "pid", TYPE_PID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_lock, "mm", TYPE_PTR, AT(mm), EVH_MM, false, NULL },
	{ PAYLOAD_lock, "memcg_id", TYPE_IGNORED, NOWHERE, 0, false, NULL },
	{ PAYLOAD_lock, "memcg_path", TYPE_PATH, NOWHERE, 0, false, NULL },
	{ PAYLOAD_lock, "write", TYPE_BOOL, AT(u.lock.write), EVH_WRITE, true, NULL },
	{ PAYLOAD_lock, "success", TYPE_BOOL, AT(u.lock.success), EVH_SUCCESS, false, NULL },
	{ PAYLOAD_lock, "ip", TYPE_SYMBOL, AT(u.lock.caller), 0, false, NULL },
	{ PAYLOAD_lock, "caller", TYPE_SYMBOL, AT(u.lock.caller), 0, false, NULL },
	{ PAYLOAD_lock, "tgid", TYPE_TGID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_lock, "comm", TYPE_COMM, NOWHERE, 0, false, NULL },

	{ PAYLOAD_fault, "pid", TYPE_PID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_fault, "mm", TYPE_PTR, AT(mm), EVH_MM, false, NULL },
	{ PAYLOAD_fault, "vma", TYPE_PTR, AT(u.fault.vma), EVH_VMA, false, NULL },
	{ PAYLOAD_fault, "reason", TYPE_STRING, AT(u.fault.reason), 0, false, NULL },
	{ PAYLOAD_fault, "ret", TYPE_HEX32, AT(u.fault.ret), EVH_RET, false, NULL },
	{ PAYLOAD_fault, "dev", TYPE_DEV, AT(u.fault.dev), HAS_DEV, false, NULL },
	{ PAYLOAD_fault, "ino", TYPE_DEC, AT(u.fault.ino), HAS_INO, false, NULL },
	{ PAYLOAD_fault, "pgoff", TYPE_DEC, AT(u.fault.pgoff), 0, false, NULL },
	{ PAYLOAD_fault, "address", TYPE_HEX, AT(u.fault.address), EVH_ADDRESS, false, NULL },
	{ PAYLOAD_fault, "tgid", TYPE_TGID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_fault, "comm", TYPE_COMM, NOWHERE, 0, false, NULL },

	{ PAYLOAD_vma, "pid", TYPE_PID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_vma, "mm", TYPE_PTR, AT(mm), EVH_MM, false, NULL },
	{ PAYLOAD_vma, "vma", TYPE_PTR, AT(u.vma.vma), EVH_VMA, false, NULL },
	{ PAYLOAD_vma, "tgid", TYPE_TGID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_vma, "comm", TYPE_COMM, NOWHERE, 0, false, "vm_start" },
	{ PAYLOAD_vma, "vm_start", TYPE_HEX, AT(u.vma.vm_start), HAS_VM_START, false, NULL },
	{ PAYLOAD_vma, "vm_end", TYPE_HEX, AT(u.vma.vm_end), HAS_VM_END, false, NULL },
	{ PAYLOAD_vma, "had_reader", TYPE_DEC32, AT(u.vma.had_reader), 0, false, NULL },
	{ PAYLOAD_vma, "flags", TYPE_HEX, AT(u.vma.flags), EVH_FLAGS, false, NULL },
	{ PAYLOAD_vma, "caller", TYPE_SYMBOL, AT(u.vma.caller), 0, false, NULL },
	{ PAYLOAD_vma, "ino", TYPE_DEC, AT(u.vma.ino), HAS_INO, false, NULL },
	{ PAYLOAD_vma, "dev", TYPE_DEV, AT(u.vma.dev), HAS_DEV, false, NULL },
	{ PAYLOAD_vma, "reason", TYPE_STRING, AT(u.vma.reason), 0, false, NULL },
	{ PAYLOAD_vma, "vm", TYPE_RANGE, AT(u.vma.vm_start), HAS_VM_START | HAS_VM_END, false,
	  NULL },

	/* write_ and waiter_: the thread itself; fault_ and holder_: whom it waited for */
	{ PAYLOAD_blocked, "write_pid", TYPE_IGNORED, NOWHERE, 0, false, NULL },
	{ PAYLOAD_blocked, "write_tgid", TYPE_TGID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_blocked, "write_comm", TYPE_COMM, NOWHERE, 0, false, "fault_pid" },
	{ PAYLOAD_blocked, "fault_pid", TYPE_DEC32, AT(u.blocked.blocker_tid), 0, false, NULL },
	{ PAYLOAD_blocked, "fault_tgid", TYPE_DEC32, AT(u.blocked.blocker_tgid), 0, false, NULL },
	{ PAYLOAD_blocked, "fault_comm", TYPE_COMM, AT(u.blocked.blocker_comm), 0, false,
	  "wait_ns" },
	{ PAYLOAD_blocked, "holder_pid", TYPE_DEC32, AT(u.blocked.blocker_tid), 0, false, NULL },
	{ PAYLOAD_blocked, "holder_tgid", TYPE_DEC32, AT(u.blocked.blocker_tgid), 0, false, NULL },
	{ PAYLOAD_blocked, "holder_comm", TYPE_COMM, AT(u.blocked.blocker_comm), 0, false,
	  "waiter_pid" },
	{ PAYLOAD_blocked, "waiter_pid", TYPE_IGNORED, NOWHERE, 0, false, NULL },
	{ PAYLOAD_blocked, "waiter_tgid", TYPE_TGID, NOWHERE, 0, false, NULL },
	{ PAYLOAD_blocked, "waiter_comm", TYPE_COMM, NOWHERE, 0, false, "wait_ns" },
	{ PAYLOAD_blocked, "wait_ns", TYPE_DEC, AT(u.blocked.wait_ns), 0, true, NULL },
	{ PAYLOAD_blocked, "vm", TYPE_RANGE, AT(u.blocked.vm_start), HAS_VM_START | HAS_VM_END,
	  false, NULL },
	{ PAYLOAD_blocked, "mm", TYPE_PTR, AT(mm), EVH_MM, false, NULL },

	{ PAYLOAD_page_fault, "address", TYPE_ADDR, AT(u.page_fault.address), EVH_ADDRESS, true,
	  NULL },
	{ PAYLOAD_page_fault, "ip", TYPE_ADDR, AT(u.page_fault.ip), 0, false, NULL },
	{ PAYLOAD_page_fault, "error_code", TYPE_HEX, AT(u.page_fault.error_code), 0, false, NULL },
};
/* TYPE_RANGE fills two neighbours */
_Static_assert(AT(u.vma.vm_end) == AT(u.vma.vm_start) + 8, "vm_end behind vm_start");
_Static_assert(AT(u.blocked.vm_end) == AT(u.blocked.vm_start) + 8, "vm_end behind vm_start");

void ftrace_fields_init(struct ftrace_text *d)
{
	for (size_t i = 0; i < ARRAY_LEN(field_rows); i++) {
		const struct field_row *row = &field_rows[i];
		struct field_set *set = &d->sets[row->payload];
		struct field *f = &set->f[set->n];
		size_t len = strlen(row->key);

		f->head = load_head(row->key, len, row->key + len);
		memset(&f->mask, 0xff, len < 8 ? len + 1 : 8);
		memcpy(&f->word, row->key, len < 8 ? len : 8);
		if (len < 8)
			((char *)&f->word)[len] = '=';
		f->key = row->key;
		f->next = row->next;
		f->has = row->has;
		f->offset = row->offset;
		f->key_len = (u8)len;
		f->type = (u8)row->type;
		if (row->needed)
			set->needed |= 1u << set->n;
		set->n++;
	}
}

static const char *parse_signed_dec(const char *p, const char *end, u64 *ret)
{
	bool minus = p < end && *p == '-';

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		return parse_hex(p, end, ret);
	p = parse_dec(p + minus, end, minus ? INT64_MAX : UINT64_MAX, ret);
	if (p && minus)
		*ret = 0 - *ret;
	return p;
}

static const char *parse_bool(const char *p, const char *end, u64 *ret)
{
	if (STARTS(p, end, "false")) {
		*ret = 0;
		return p + 5;
	}
	if (STARTS(p, end, "true")) {
		*ret = 1;
		return p + 4;
	}
	return parse_dec(p, end, 1, ret);
}

/* "254:3": major and minor */
static const char *parse_dev(const char *p, const char *end, u64 *ret)
{
	u64 minor = 0;

	p = parse_dec(p, end, 0xfff, ret);
	if (!p || p == end || *p != ':')
		return NULL;
	p = parse_dec(p + 1, end, 0xfffff, &minor);
	*ret = *ret << 20 | minor;
	return p;
}

/* "[7f986e000000,7f9872000000]" */
static const char *parse_range(const char *p, const char *end, u64 *ret)
{
	if (p == end || *p != '[')
		return NULL;
	p = parse_hex(p + 1, end, &ret[0]);
	if (!p || p == end || *p != ',')
		return NULL;
	p = parse_hex(p + 1, end, &ret[1]);
	if (!p || p == end || *p != ']')
		return NULL;
	return p + 1;
}

static const u8 key_chars[256] = {
	['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = 1, ['_'] = 1
};

static inline const char *key_end(const char *p, const char *end)
{
	p = scan_low(p, end);
	if (likely(p < end && *p == '='))
		return p;
	/* a digit inside */
	while (p < end && key_chars[(u8)*p])
		p++;
	return p;
}

/* Index of the field named by @key, or -1; @hint is where it is if the usual order holds. */
static inline int field_find(const struct field_set *set, const char *key, size_t len,
			     const char *end, u32 hint)
{
	u64 head = load_head(key, len, end);

	for (u32 n = 0, i = hint; n < set->n; n++, i++) {
		if (i >= set->n)
			i = 0;
		if (set->f[i].head == head && set->f[i].key_len == len &&
		    (len <= 8 || !memcmp(set->f[i].key + 8, key + 8, len - 8)))
			return (int)i;
	}
	return -1;
}

/* The field that the usual order has here (or the next one), when "key=" stands at @p. */
static inline int field_expected(const struct field_set *set, const char *p, const char *end,
				 u32 hint)
{
	u32 limit = hint + 2 < set->n ? hint + 2 : set->n;
	u64 word;

	if (!SCAN_WORDS || end - p < 8)
		return -1;
	word = load8(p);
	for (u32 i = hint; i < limit; i++) {
		const struct field *f = &set->f[i];

		if ((word & f->mask) != f->word)
			continue;
		if (f->key_len < 8)
			return (int)i;
		if (end - p > f->key_len && p[f->key_len] == '=' &&
		    !memcmp(f->key + 8, p + 8, f->key_len - 8u))
			return (int)i;
	}
	return -1;
}

/* Whether a word is "key=..."; the field's index or -1 in @field. */
static bool word_is_pair(const struct field_set *set, const char *word, const char *end, int *field)
{
	const char *p = word;

	while (p < end && key_chars[(u8)*p])
		p++;
	if (p == word || p == end || *p != '=')
		return false;
	*field = field_find(set, word, (size_t)(p - word), end, 0);
	return true;
}

/*
 * Where a name ends whose next key is not where the kernel prints it: behind the last word that is
 * no key=value, or whose key comes again further right.
 *
 *	comm=x mm=1 vm_start=0 vm_start=7000 vm_end=9000	the name is "x mm=1 vm_start=0"
 */
static const char *comm_end_by_words(const struct field_set *set, const char *comm, const char *end)
{
	const char *first_end = word_end(comm, end), *p = end, *word;
	u32 seen = 0;
	int field;

	while (p > first_end) {
		for (word = p; word > first_end && word[-1] != ' '; word--)
			;
		if (p > word) {
			/* "caller=func+0x1/0x2 [module]" is one value */
			bool module = *word == '[' && p[-1] == ']' && p - word > 2;

			if (!word_is_pair(set, word, p, &field)) {
				if (!module)
					return p;
			} else if (field >= 0) {
				if (seen & (1u << field))
					return p;
				seen |= 1u << field;
			}
		}
		p = word > first_end ? word - 1 : first_end;
	}
	return first_end;
}

static const char *comm_end(const struct field_set *set, const struct field *f, const char *comm,
			    const char *end)
{
	size_t len = f->next ? strlen(f->next) : 0;

	for (const char *p = end - len - 2; f->next && p >= comm; p--) {
		if (*p == ' ' && p[len + 1] == '=' && !memcmp(p + 1, f->next, len)) {
			if (p - comm <= COMM_MAX)
				return p;
			break;
		}
	}
	return comm_end_by_words(set, comm, end);
}

struct field_value {
	u64 v[2];
	bool absent; /* no usable value, but not malformed */
	u32 size;
};

/* The value at @p; its end, or NULL when it is malformed. */
static inline const char *value_parse(struct payload_ctx *c, const struct field_set *set,
				      const struct field *f, const char *p, struct field_value *v)
{
	const char *end = c->end, *q;

	v->absent = false;
	v->size = 8;
	switch ((enum field_type)f->type) {
	case TYPE_PTR:
		q = parse_hex(p, end, &v->v[0]);
		if (!q || !v->v[0])
			v->absent = true;
		return q ? q : word_end(p, end);
	case TYPE_HEX32:
		v->size = 4;
		q = parse_hex(p, end, &v->v[0]);
		return q && v->v[0] <= UINT32_MAX ? q : NULL;
	case TYPE_HEX:
		return parse_hex(p, end, &v->v[0]);
	case TYPE_ADDR:
		q = parse_hex(p, end, &v->v[0]);
		if (q && (q == end || *q == ' '))
			return q;
		v->absent = true;
		q = word_end(p, end);
		return q == p ? NULL : q;
	case TYPE_DEC:
		return parse_signed_dec(p, end, &v->v[0]);
	case TYPE_DEC32:
	case TYPE_PID:
	case TYPE_TGID:
		v->size = 4;
		return parse_dec(p, end, UINT32_MAX, &v->v[0]);
	case TYPE_BOOL:
		v->size = 4;
		return parse_bool(p, end, &v->v[0]);
	case TYPE_DEV:
		v->size = 4;
		return parse_dev(p, end, &v->v[0]);
	case TYPE_RANGE:
		v->size = 16;
		return parse_range(p, end, v->v);
	case TYPE_STRING:
		v->size = 4;
		q = word_end(p, end);
		v->v[0] = ftrace_string_id(c->d, p, (size_t)(q - p), end);
		return q;
	case TYPE_SYMBOL:
		v->size = 4;
		for (q = p; q < end && *q != ' ' && *q != '+'; q++)
			;
		v->v[0] = q > p ? ftrace_string_id(c->d, p, (size_t)(q - p), end) : 0;
		return word_end(q, end);
	case TYPE_COMM:
		v->size = 4;
		q = comm_end(set, f, p, end);
		if (f->offset != NOWHERE)
			v->v[0] = ftrace_comm_id(c->d, p, (size_t)(q - p), end);
		return q;
	case TYPE_PATH:
	case TYPE_IGNORED:
		v->absent = true;
		return word_end(p, end);
	}
	return NULL;
}

static inline void value_store(struct event *ev, const struct field *f, const struct field_value *v)
{
	char *to = (char *)ev + f->offset;
	u32 v32 = (u32)v->v[0];

	/* sizes that the compiler knows: no calls */
	if (v->size == 4)
		memcpy(to, &v32, 4);
	else if (likely(v->size == 8))
		memcpy(to, v->v, 8);
	else
		memcpy(to, v->v, 16);
}

static void value_identity(struct payload_ctx *c, const struct field *f, u64 v)
{
	if (f->type == TYPE_TGID) {
		if (c->ev->has & EVH_TGID)
			return;
		c->ev->tgid = (u32)v;
		c->ev->has |= EVH_TGID;
	} else if (v != c->ev->tid) {
		c->ev->has |= EVH_BAD_PID;
	}
}

static u32 has_fold(u32 has)
{
	u32 ret = has & (HAS_VM_START - 1);

	if ((has & (HAS_VM_START | HAS_VM_END)) == (HAS_VM_START | HAS_VM_END))
		ret |= EVH_RANGE;
	if ((has & (HAS_INO | HAS_DEV)) == (HAS_INO | HAS_DEV))
		ret |= EVH_FILE;
	return ret;
}

bool ftrace_fields_fill(struct payload_ctx *c)
{
	const struct field_set *set = &c->d->sets[c->name->payload];
	const char *p = c->p, *end = c->end, *key, *q;
	u32 seen = 0, good = 0, frozen = UINT32_MAX, has = 0, hint = 0;
	struct field_value v;
	const struct field *f;
	int i;

	for (;;) {
		p = skip_blanks(p, end);
		if (p == end)
			break;
		i = field_expected(set, p, end, hint);
		if (likely(i >= 0)) {
			p += set->f[i].key_len + 1;
		} else {
			key = p;
			p = key_end(p, end);
			if (p == end || *p != '=' || p == key) {
				p = word_end(p, end);
				continue;
			}
			i = field_find(set, key, (size_t)(p - key), end, hint);
			p++;
		}
		/*
		 * The first of two equal keys counts, but behind a cgroup's path (which may hold
		 * " write=true") the last.
		 */
		f = &set->f[i < 0 ? 0 : i];
		if (i < 0 ||
		    ((seen & (1u << i)) && ((frozen & (1u << i)) || f->type == TYPE_COMM))) {
			p = word_end(p, end);
			continue;
		}
		hint = (u32)i + 1;
		seen |= 1u << i;
		if (f->type == TYPE_PATH)
			frozen = seen;
		q = value_parse(c, set, f, p, &v);
		if (!q || (q < end && *q != ' ')) {
			/* a malformed success= must not read as "not printed", which means yes */
			if (f->has & EVH_SUCCESS)
				return false;
			good &= ~(1u << i);
			p = word_end(p, end);
			continue;
		}
		p = q;
		good |= 1u << i;
		if (v.absent)
			continue;
		has |= f->has;
		if (f->offset != NOWHERE)
			value_store(c->ev, f, &v);
		else if (f->type >= TYPE_PID)
			value_identity(c, f, v.v[0]);
	}
	c->ev->has |= has_fold(has);
	return (good & set->needed) == set->needed;
}
