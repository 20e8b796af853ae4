/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_script.c: lines of a script to records; bpf_gen.c describes them. Part of bpf_gen. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_gen.h"

#define MAX_THREADS 4096
#define MAX_NAMES 4096
#define MAX_LINE 65536
#define FUNCTION_BYTES 0x1000
#define KERNEL_TEXT 0xffffffff81000000ULL
#define USER_TEXT 0x400000ULL

static struct {
	const char *path;
	u64 line_no;
	struct bpf_who threads[MAX_THREADS];
	u64 thread_mm[MAX_THREADS];
	u32 n_threads;
	struct {
		char *name;
		u32 tgid;
	} names[MAX_NAMES];
	u32 n_names;
} s;

static const struct word {
	const char *key, *word;
	u32 value;
} words[] = {
	{ "state", "unknown", BSTATE_UNKNOWN },
	{ "state", "running", BSTATE_RUNNING },
	{ "state", "runnable", BSTATE_RUNNABLE },
	{ "state", "sleeping", BSTATE_SLEEPING },
	{ "state", "blocked", BSTATE_BLOCKED },
	{ "state", "dead", BSTATE_DEAD },
	{ "sleep_class", "vma_writer", BSLEEP_VMA_WRITER },
	{ "sleep_class", "fault", BSLEEP_FAULT },
	{ "what", "fork", BPROC_FORK },
	{ "what", "exec", BPROC_EXEC },
	{ "what", "exit", BPROC_EXIT },
	{ "flags", "write", BFLAG_WRITE },
	{ "flags", "open", BFLAG_OPEN },
	{ "flags", "downgraded", BFLAG_DOWNGRADED },
	{ "flags", "owner_writes", BFLAG_OWNER_WRITES },
	{ "flags", "spun", BFLAG_SPUN },
	{ "flags", "first", BFLAG_FIRST },
	{ "flags", "user_fault", BFLAG_USER_FAULT },
	{ "flags", "holds_mmap_read", BFLAG_HOLDS_MMAP_READ },
	{ "flags", "holds_mmap_write", BFLAG_HOLDS_MMAP_WRITE },
	{ "flags", "retried", BFLAG_RETRIED },
	{ "flags", "retry_wait", BFLAG_RETRY_WAIT },
	{ "flags", "own", BFLAG_OWN },
	{ "flags", "dead", BFLAG_DEAD },
	{ "flags", "user", BFLAG_USER },
};

/* One key=value of a line. */
struct pair {
	char *key, *value;
};
#define MAX_PAIRS 64
struct parsed {
	struct pair pairs[MAX_PAIRS];
	u32 n;
};

static void bad(const char *what, const char *where)
{
	die("%s:%llu: %s: %s", s.path, (unsigned long long)s.line_no, what, where);
}

/* "5", "-1", "0xff", "12us", "3ms", "2s" */
static bool parse_number(const char *v, u64 *ret)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
	};
	char *end;

	if (!isdigit((unsigned char)v[*v == '-']))
		return false;
	*ret = strncmp(v, "0x", 2) ? strtoull(v, &end, 10) : strtoull(v + 2, &end, 16);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!strcmp(end, units[i].unit)) {
			*ret *= units[i].ns;
			return true;
		}
	}
	return false;
}

static u64 to_number(const char *key, const char *v)
{
	const char *last = strrchr(key, '.');
	u64 n;

	if (parse_number(v, &n))
		return n;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].key, last ? last + 1 : key) && !strcmp(words[i].word, v))
			return words[i].value;
	bad(key, v);
	return 0;
}

/* Takes \xHH out, in place; the length, which may hold NULs. */
static size_t unescape(char *v)
{
	char *to = v;

	for (const char *p = v; *p;) {
		unsigned int byte;

		if (p[0] == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return (size_t)(to - v);
}

/* Splits 'key=value key="a value"' in place. */
static void parse_pairs(char *p, struct parsed *ret)
{
	ret->n = 0;
	for (;;) {
		struct pair *pair = &ret->pairs[ret->n];
		char *eq;

		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			return;
		eq = p + strcspn(p, "= \t");
		if (*eq != '=' || ret->n == MAX_PAIRS)
			bad("no key=value", p);
		*eq = '\0';
		pair->key = p;
		pair->value = p = eq + 1;
		if (*p == '"') {
			pair->value = ++p;
			p += strcspn(p, "\"");
		} else {
			p += strcspn(p, " \t");
		}
		ret->n++;
		if (*p)
			*p++ = '\0';
	}
}

static const char *value_of(const struct parsed *a, const char *key)
{
	for (u32 i = 0; i < a->n; i++)
		if (!strcmp(a->pairs[i].key, key))
			return a->pairs[i].value;
	return NULL;
}

static u64 number_of(const struct parsed *a, const char *key, u64 otherwise)
{
	const char *v = value_of(a, key);

	return v ? to_number(key, v) : otherwise;
}

static void store(char *at, u32 size, u64 v)
{
	u16 v16 = (u16)v;
	u32 v32 = (u32)v;

	memcpy(at, size == 2 ? (void *)&v16 : size == 4 ? (void *)&v32 : (void *)&v, size);
}

static void set_field(char *record, const struct field *f, const char *key, char *value)
{
	u32 element = f->type == F_U16 ? 2 : f->type == F_U64 ? 8 : 4, i = 0;
	bool is_flags = !strcmp(key, "flags");
	u64 flags = 0;

	if (f->type == F_TEXT) {
		size_t len = unescape(value);

		memset(record + f->offset, 0, f->size);
		memcpy(record + f->offset, value, len < f->size ? len : f->size);
		return;
	}
	if (f->type >= F_HEAD)
		bad("a struct", key);
	for (char *v = strtok(value, ","); v; v = strtok(NULL, ",")) {
		u64 n = to_number(key, v);

		if (is_flags) {
			flags |= n;
			continue;
		}
		if ((i + 1) * element > f->size)
			bad("too many values", key);
		store(record + f->offset + i++ * element, element, n);
	}
	if (is_flags)
		store(record + f->offset, element, flags);
}

static const struct bpf_who *thread_of(u64 tid, u64 *ret_mm)
{
	for (u32 i = s.n_threads; i--;) {
		if (s.threads[i].tid == tid) {
			*ret_mm = s.thread_mm[i];
			return &s.threads[i];
		}
	}
	return NULL;
}

static void fill_who(struct bpf_who *who, u64 tid, u64 *ret_mm)
{
	const struct bpf_who *known = thread_of(tid, ret_mm);

	if (known) {
		*who = *known;
		return;
	}
	who->tid = who->tgid = (u32)tid;
	who->prio = 120;
	*ret_mm = 0;
}

/* What a line need not say. */
static void fill_defaults(char *record, const struct layout *l, const struct parsed *a)
{
	struct field f;
	u64 mm = 0, ignored;

	if (layout_find(l, "who", &f)) {
		struct bpf_who who = { 0 };

		fill_who(&who, number_of(a, "tid", 1), &mm);
		who.state = !strcmp(l->name, "rec_sleep") ? BSTATE_BLOCKED : BSTATE_RUNNING;
		memcpy(record + f.offset, &who, sizeof(who));
	}
	if (layout_find(l, "owner", &f) && value_of(a, "owner.tid")) {
		struct bpf_who who = { 0 };

		fill_who(&who, number_of(a, "owner.tid", 0), &ignored);
		memcpy(record + f.offset, &who, sizeof(who));
	}
	if (layout_find(l, "mm", &f))
		memcpy(record + f.offset, &mm, sizeof(mm));
	if (layout_find(l, "nr", &f)) {
		s32 none = BPF_NO_CALL;

		memcpy(record + f.offset, &none, sizeof(none));
	}
}

static void emit(char *record, size_t len, const struct parsed *a)
{
	struct bpf_rec_head *h = (struct bpf_rec_head *)record;

	len = (len + 7) & ~(size_t)7;
	/* size=: what the record says of itself and how long it is; pads with zeros */
	len = number_of(a, "size", len);
	h->size = (u16)len;
	if (!value_of(a, "size") && len > BPF_MAX_RECORD_BYTES)
		bad("too long", "a record");
	if (value_of(a, "kind"))
		h->kind = (u16)number_of(a, "kind", 0);
	out_record(record, len < MAX_LINE ? len : MAX_LINE);
}

static void do_fixed(u16 kind, const struct layout *l, const struct parsed *a)
{
	static char record[MAX_LINE] __attribute__((aligned(8)));
	struct field f;

	memset(record, 0, sizeof(record));
	((struct bpf_rec_head *)record)->kind = kind;
	fill_defaults(record, l, a);
	for (u32 i = 0; i < a->n; i++) {
		if (!strcmp(a->pairs[i].key, "size") || !strcmp(a->pairs[i].key, "kind"))
			continue;
		if (!layout_find(l, a->pairs[i].key, &f))
			bad("no such member", a->pairs[i].key);
		set_field(record, &f, a->pairs[i].key, a->pairs[i].value);
	}
	emit(record, l->size, a);
}

static void do_symbol(const struct parsed *a)
{
	static char record[MAX_LINE] __attribute__((aligned(8)));
	struct bpf_rec_symbol *sym = (struct bpf_rec_symbol *)record;
	char *name = (char *)value_of(a, "name");
	size_t len = name ? unescape(name) : 0;

	memset(record, 0, sizeof(record));
	if (sizeof(*sym) + len > sizeof(record))
		bad("too long", "name");
	sym->head.kind = BREC_SYMBOL;
	sym->head.time_ns = number_of(a, "time", 0);
	sym->start = number_of(a, "start", 0);
	sym->end = number_of(a, "end", 0);
	sym->tgid = (u32)number_of(a, "tgid", 0);
	sym->name_bytes = (u32)number_of(a, "name_bytes", len);
	if (len)
		memcpy(sym->name, name, len);
	emit(record, sizeof(*sym) + len, a);
}

/* The address of a function by name; the first use of a name tells its SYMBOL. */
static u64 address_of(const char *name, u32 tgid)
{
	struct parsed a = { .n = 0 };
	char line[4096];
	u64 start;
	u32 i;

	for (i = 0; i < s.n_names; i++)
		if (s.names[i].tgid == tgid && !strcmp(s.names[i].name, name))
			break;
	if (i == MAX_NAMES)
		bad("too many names", name);
	start = (tgid ? USER_TEXT : KERNEL_TEXT) + (u64)i * FUNCTION_BYTES;
	if (i == s.n_names) {
		s.names[s.n_names].name = strdup(name);
		s.names[s.n_names++].tgid = tgid;
		snprintf(line, sizeof(line), "start=%llu end=%llu tgid=%u name=%s",
			 (unsigned long long)start, (unsigned long long)start + FUNCTION_BYTES,
			 tgid, name);
		parse_pairs(line, &a);
		do_symbol(&a);
	}
	return start + 0x10;
}

static void do_stack(const struct parsed *a)
{
	static char record[MAX_LINE] __attribute__((aligned(8)));
	struct bpf_rec_stack *st = (struct bpf_rec_stack *)record;
	char *frames = (char *)value_of(a, "frames"), *save;
	u32 n = 0;

	memset(record, 0, sizeof(record));
	st->head.kind = BREC_STACK;
	st->head.time_ns = number_of(a, "time", 0);
	st->id = number_of(a, "id", 0);
	st->tgid = (u32)number_of(a, "tgid", 0);
	st->flags = st->tgid ? BFLAG_USER : 0;
	for (char *f = frames ? strtok_r(frames, ",", &save) : NULL; f;
	     f = strtok_r(NULL, ",", &save)) {
		u64 address;

		if (sizeof(*st) + (n + 1) * 8 > sizeof(record))
			bad("too many", "frames");
		if (!parse_number(f, &address))
			address = address_of(f, st->tgid);
		st->frames[n++] = address;
	}
	st->n = (u32)number_of(a, "n", n);
	emit(record, sizeof(*st) + n * 8, a);
}

static void do_note(const char *text)
{
	static char record[MAX_LINE] __attribute__((aligned(8)));
	struct bpf_rec_note *note = (struct bpf_rec_note *)record;
	struct parsed none = { .n = 0 };
	char *copy = strdup(text);
	size_t len = unescape(copy);

	memset(record, 0, sizeof(record));
	if (sizeof(*note) + len > sizeof(record))
		bad("too long", "note");
	note->head.kind = BREC_NOTE;
	note->text_bytes = (u32)len;
	memcpy(note->text, copy, len);
	free(copy);
	emit(record, sizeof(*note) + len, &none);
}

static void do_thread(const struct parsed *a)
{
	struct bpf_who *who = &s.threads[s.n_threads];
	const char *comm = value_of(a, "comm");

	if (s.n_threads == MAX_THREADS)
		bad("too many", "threads");
	who->tid = (u32)number_of(a, "tid", 0);
	who->tgid = (u32)number_of(a, "tgid", who->tid);
	who->prio = (s32)number_of(a, "prio", 120);
	if (comm) {
		size_t len = unescape((char *)comm);

		memcpy(who->comm, comm, len < sizeof(who->comm) ? len : sizeof(who->comm));
	}
	s.thread_mm[s.n_threads++] = number_of(a, "mm", 0);
}

static void do_header(const struct parsed *a)
{
	struct bpf_file_header h = { .version = (u32)number_of(a, "version", BPF_FILE_VERSION),
				     .header_bytes = (u32)number_of(a, "header_bytes", sizeof(h)),
				     .chunk_magic =
					     (u32)number_of(a, "chunk_magic", BPF_CHUNK_MAGIC),
				     .pad = (u32)number_of(a, "pad", 0) };
	const char *magic = value_of(a, "magic");

	if (!magic)
		magic = BPF_FILE_MAGIC;
	memcpy(h.magic, magic, strnlen(magic, sizeof(h.magic)));
	out_header(&h);
}

static void do_chunk(const struct parsed *a)
{
	struct out_lies lies = { (s64)number_of(a, "magic", (u64)-1),
				 (s64)number_of(a, "payload_bytes", (u64)-1),
				 (s64)number_of(a, "crc32", (u64)-1),
				 (s64)number_of(a, "records", (u64)-1) };

	out_chunk(&lies);
}

static void do_hex(const char *p, bool inside)
{
	static char bytes[MAX_LINE / 2];
	unsigned int byte;
	size_t n = 0;

	for (; sscanf(p, "%2x", &byte) == 1 && isxdigit((unsigned char)p[1]); p += 2)
		bytes[n++] = (char)byte;
	if (*p)
		bad("no hexadecimal bytes", p);
	if (inside)
		out_record(bytes, n);
	else
		out_junk(bytes, n);
}

void script_line(const char *text)
{
	static const struct {
		const char *word;
		u16 kind;
		const char *layout;
	} records[] = {
		{ "wait", BREC_WAIT, "rec_wait" },	    { "hold", BREC_HOLD, "rec_hold" },
		{ "sleep", BREC_SLEEP, "rec_sleep" },	    { "fault", BREC_FAULT, "rec_fault" },
		{ "process", BREC_PROCESS, "rec_process" }, { "totals", BREC_TOTALS, "rec_totals" },
		{ "lost", BREC_LOST, "rec_lost" },
	};
	static char line[MAX_LINE];
	static struct parsed a;
	char *rest;
	size_t len;

	while (*text == ' ' || *text == '\t')
		text++;
	if (!*text || *text == '#')
		return;
	snprintf(line, sizeof(line), "%s", text);
	len = strcspn(line, " \t");
	rest = line + len + (line[len] != '\0');
	line[len] = '\0';
	if (!strcmp(line, "note")) {
		do_note(rest);
		return;
	}
	if (!strcmp(line, "raw") || !strcmp(line, "junk")) {
		do_hex(rest, line[0] == 'r');
		return;
	}
	parse_pairs(rest, &a);
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		if (!strcmp(line, records[i].word)) {
			do_fixed(records[i].kind, layout_of(records[i].layout), &a);
			return;
		}
	}
	if (!strcmp(line, "stack"))
		do_stack(&a);
	else if (!strcmp(line, "symbol"))
		do_symbol(&a);
	else if (!strcmp(line, "thread"))
		do_thread(&a);
	else if (!strcmp(line, "header"))
		do_header(&a);
	else if (!strcmp(line, "chunk"))
		do_chunk(&a);
	else
		bad("no such line", line);
}

void script_run(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
	static char line[MAX_LINE];

	if (!f)
		die("cannot read %s", path);
	s.path = path;
	while (fgets(line, sizeof(line), f)) {
		s.line_no++;
		line[strcspn(line, "\n")] = '\0';
		script_line(line);
	}
	if (f != stdin)
		fclose(f);
}
