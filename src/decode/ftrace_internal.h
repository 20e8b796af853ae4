/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_internal.h: what the parts of the ftrace text decoder share. Private to decode.
 *
 *	ftrace_text.c	lines out of blocks, what is undecided until the next line, the public calls
 *	ftrace_header.c	a line's task, cpu and time (also used by format.c)
 *	ftrace_names.c	event names, their counts, and the caches in front of the intern table
 *	ftrace_fields.c	key=value payloads, by table
 *	ftrace_sched.c	sched_*, task_*: payloads with free-text task names in fixed places
 *	ftrace_calls.c	system calls, markers
 *	ftrace_stack.c	stack records and their frames
 *	ftrace_marks.c	lines without a record: headers, LOST marks, and the classes of the rest
 */
#ifndef MMSCOPE_DECODE_FTRACE_INTERNAL_H
#define MMSCOPE_DECODE_FTRACE_INTERNAL_H

#include <string.h>

#include "base/map.h"
#include "decode/ftrace_scan.h"
#include "decode/ftrace_text.h"

/* TASK_COMM_LEN - 1: no kernel prints a longer task name. */
#define COMM_MAX 15
/* "%16s-%-7d" in the normal format, "%8.8s-%-7d" in the latency format. */
#define COMM_WIDTH 16
#define COMM_WIDTH_LATENCY 8

enum payload {
	PAYLOAD_none,
	PAYLOAD_sched,
	PAYLOAD_wake,
	PAYLOAD_fork,
	PAYLOAD_exec,
	PAYLOAD_exit,
	PAYLOAD_rename,
	PAYLOAD_newtask,
	PAYLOAD_lock,
	PAYLOAD_blocked,
	PAYLOAD_fault,
	PAYLOAD_vma,
	PAYLOAD_call,
	PAYLOAD_page_fault,
	PAYLOAD_marker,
	PAYLOAD_stack,
	PAYLOADS
};

/* ---- header ---- */

enum stamp_form {
	STAMP_SECONDS,	/* "1074.649282:" */
	STAMP_UNITLESS, /* "108163:", the counter, x86-tsc and uptime clocks */
	STAMP_LATENCY	/* "21498us :", the latency format: microseconds since its start */
};

struct ftrace_record {
	const char *line; /* the line without a dmesg prefix */
	const char *end;  /* its end */
	const char *dash; /* between the task's name and its id */
	const char *tail; /* behind "[cpu]"; NULL in the latency format */
	const char *rest; /* behind "time: " */
	u64 time_ns;
	u32 tid, tgid, cpu;
	bool has_tgid;
	bool latency; /* "%8.8s-%-7d %3d" in front of the flags */
	bool comm_known;
	u32 comm; /* with comm_known: the name's intern id */
	u8 fraction_digits;
	enum stamp_form stamp;
};

enum header_result { HEADER_NONE, HEADER_RECORD, HEADER_CUT };
enum header_result ftrace_header_parse(const char *line, size_t len, struct ftrace_record *ret);
/* The part behind "[cpu]", flags and time, of a line whose front is known. */
enum header_result ftrace_header_tail(const char *p, const char *end, struct ftrace_record *ret);
/* The task's name as far as this line has it; the blanks that pad it are no part of it. */
const char *ftrace_header_comm(const struct ftrace_record *r, size_t *ret_len);
/* The width of the field that the name is padded to. */
static inline u32 ftrace_comm_width(const struct ftrace_record *r)
{
	return r->latency ? COMM_WIDTH_LATENCY : COMM_WIDTH;
}
/* What stands in front of a padded task name in some files: "instance: ", or blanks. */
bool ftrace_is_instance_prefix(const char *p, size_t len);

/*
 * How an event's name is written: "name: ", "sys_name(", "sys_name -> "; the rest are not events.
 */
enum name_form {
	NAME_PLAIN,
	NAME_CALL_ENTER,
	NAME_CALL_EXIT,
	NAME_FUNCTION, /* "func <-caller" of the function tracer */
	NAME_STACK,
	NAME_USER_STACK,
	NAME_SWITCH, /* "3997:120:R ==> [01] 4055:120:R bash": context switch of a latency tracer */
	NAME_NONE
};
struct ftrace_event_name {
	const char *s;
	size_t len;
	const char *payload;
	enum name_form form;
};
void ftrace_header_name(const char *p, const char *end, struct ftrace_event_name *ret);

/* ---- names and strings ---- */

struct name_entry {
	u64 head, tail;
	const char *s;	  /* as a line has it ("sys_mmap"); static or in the intern table */
	const char *full; /* as it is counted ("sys_enter_mmap") */
	u32 len;
	u32 id;	  /* intern id of ->full, 0 = not counted yet */
	u32 stat; /* index in stats.names */
	u16 kind; /* enum event_kind */
	u8 form;
	u8 call; /* enum as_call */
	u8 payload;
};
#define NAME_CHUNK 512
#define NAME_ENTRIES (FTRACE_MAX_NAMES + NAME_CHUNK)
#define NAME_SLOTS (4 * FTRACE_MAX_NAMES)
#define NAME_NO_STAT UINT32_MAX

/* Open addressing; entry 0 stands for all names past the limit. Entries do not move. */
struct name_table {
	struct name_entry *chunks[NAME_ENTRIES / NAME_CHUNK];
	u32 n;
	u16 slots[NAME_SLOTS]; /* index of an entry, 0 = free */
};

struct string_slot {
	u64 head, tail;
	const char *s;
	u32 len, id;
};
#define STRING_SLOTS 1024

/* -ENOMEM or 0. */
int ftrace_names_init(struct ftrace_text *d);
void ftrace_names_done(struct ftrace_text *d);
/* The entry of a name, counted once more. */
const struct name_entry *ftrace_names_count(struct ftrace_text *d,
					    const struct ftrace_event_name *n, const char *end);
/* intern_add() behind a cache. @end: how far the bytes behind @s may be read. */
u32 ftrace_string_id(struct ftrace_text *d, const char *s, size_t len, const char *end);
/* The same for a task's name: "<...>" is no name. */
u32 ftrace_comm_id(struct ftrace_text *d, const char *s, size_t len, const char *end);

/* ---- payloads ---- */

/*
 * Fronts of lines up to "[cpu]" as they were last seen, by content: a busy thread prints the same
 * "              wl-20099   [001]" line after line.
 */
struct front_entry {
	u32 tid, tgid, cpu, comm;
	bool has_tgid;
	u8 len; /* 0 = free */
	char s[50];
};
#define FRONT_ENTRIES 256

struct field_set;
/* One payload: from behind "name: " to the end of the line. All fill ->u, ->mm, ->has. */
struct payload_ctx {
	struct ftrace_text *d;
	const struct name_entry *name;
	const char *p, *end;
	struct event *ev;
};
/* They return false when the event lacks a field it needs. */
bool ftrace_fields_fill(struct payload_ctx *c);
bool ftrace_sched_fill(struct payload_ctx *c);
bool ftrace_switch_fill(struct payload_ctx *c);
bool ftrace_call_fill(struct payload_ctx *c);
bool ftrace_raw_call_fill(struct payload_ctx *c);
void ftrace_marker_fill(struct payload_ctx *c);
void ftrace_fields_init(struct ftrace_text *d);
void ftrace_calls_init(struct ftrace_text *d);

/* A field of a key=value payload; rows in ftrace_fields.c. */
struct field {
	u64 head;	/* the key's first eight bytes */
	u64 word, mask; /* "key=" as far as it fits into eight bytes */
	const char *key;
	const char *next; /* comm: the key that the kernel prints behind it */
	u32 has;
	u16 offset;
	u8 key_len, type;
	u8 needed;
};
#define FIELDS_MAX 24
struct field_set {
	struct field f[FIELDS_MAX];
	u32 n;
	u32 needed; /* bit per field */
};

/* ---- what a decoder holds ---- */

#define HELD_LINES 8
#define HELD_BYTES 512
#define JOIN_MAX_LINE 2048
#define CALL_NR_MAX 512
/* All distinct marker texts together: user space may write any number of them. */
#define MARKER_MAX_BYTES (1u << 20)

/* Lines that are no records themselves: the next line may show that they are part of one. */
struct held_lines {
	char buf[HELD_BYTES];
	u64 first_line;
	u32 used;
	u32 n;
	u16 offset[HELD_LINES], len[HELD_LINES];
	u8 class[HELD_LINES];
};

/* A record that lacks a needed field: a newline in a name may have put it on the next line. */
struct pending_record {
	bool active;
	struct event ev;
	const struct name_entry *name;
	u32 len, payload_offset;
	char line[JOIN_MAX_LINE + HELD_BYTES + HELD_LINES];
};

struct open_stack {
	bool active;
	bool user;
	struct event ev;
	u32 n;
	u32 frames[STACK_MAX_FRAMES];
};

struct ftrace_text {
	struct ftrace_text_opts opts;
	struct ftrace_text_ops ops;
	void *ctx;
	struct intern *strings;
	struct stacks *stacks;
	struct ftrace_text_stats stats;

	/* a line that the last block did not end */
	char *carry;
	size_t carry_len, carry_capacity;
	bool carry_too_long;

	struct held_lines held;
	struct pending_record pending;
	struct open_stack stack;
	u32 skipped_shown;
	u32 marker_bytes;

	u64 cpu_time_ns[FTRACE_MAX_CPU]; /* latest seen */
	bool cpu_seen[FTRACE_MAX_CPU];
	u32 cpu_limit; /* one more than the largest CPU seen */

	struct field_set sets[PAYLOADS];
	u8 call_by_nr[CALL_NR_MAX];
	struct name_table names;
	struct string_slot strings_cache[STRING_SLOTS];
	struct front_entry fronts[FRONT_ENTRIES];
};

/* ---- stacks ---- */

/* Whether a line is " => frame"; the frame's text without address, offset and module. */
bool ftrace_stack_frame(const char *line, size_t len, const char **ret, size_t *ret_len);
void ftrace_stack_open(struct ftrace_text *d, const struct event *base, bool user);
void ftrace_stack_add(struct ftrace_text *d, const char *frame, size_t len, const char *end);
/* Emits the open stack, if there is one. */
int ftrace_stack_close(struct ftrace_text *d);

/* ---- lines without a record ---- */

/* Takes what header lines tell; LINE_SKIP_NO_RECORD or _BINARY for a line of no known kind. */
enum line_class ftrace_marks_class(struct ftrace_text *d, const char *line, size_t len);
/* "# entries-in-buffer/entries-written: 12/20   #P:4", and the same of the latency format. */
void ftrace_marks_header(struct ftrace_text *d, const char *line, size_t len);
struct lost_mark {
	bool has_cpu, n_known;
	u32 cpu;
	u64 n;
};
bool ftrace_marks_lost(const char *line, size_t len, struct lost_mark *ret);
bool ftrace_marks_is_function(const char *line, size_t len);
bool ftrace_marks_is_binary(const char *line, size_t len);
/* Tells ->lost() of a mark; one without a CPU counts for all CPUs. */
int ftrace_marks_report(struct ftrace_text *d, const struct lost_mark *m);

/* ---- small things ---- */

static inline bool starts_with(const char *p, const char *end, const char *s, size_t len)
{
	return (size_t)(end - p) >= len && !memcmp(p, s, len);
}
/* For string literals. */
#define STARTS(p, end, s) starts_with(p, end, s, sizeof(s) - 1)

#endif
