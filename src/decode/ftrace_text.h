/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_text.h: ftrace text (trace, trace_pipe, trace-cmd report, the latency format) to
 * events. Layer: decode. A pure function of the bytes fed: no I/O. One struct per stream (file or
 * chunk series).
 *
 * Bytes may be fed in blocks of any size, cut anywhere. A line longer than FTRACE_MAX_LINE bytes is
 * skipped and counted. Events come out in file order; the stream's ordering rules are the model's.
 */
#ifndef MMSCOPE_DECODE_FTRACE_TEXT_H
#define MMSCOPE_DECODE_FTRACE_TEXT_H

#include "base/error.h"
#include "base/intern.h"
#include "model/stack.h"
#include "wire/event.h"

#define FTRACE_MAX_LINE (256 * 1024)
#define FTRACE_MAX_CPU 4096
#define FTRACE_MAX_NAMES 4096 /* distinct event names counted one by one; the rest as one */

/* What a line turned out to be. The first group is understood, the second is not. */
enum line_class {
#define LINE_CLASS(KIND, key, skipped, doc) LINE_##KIND,
#include "decode/line_classes.def"
#undef LINE_CLASS
	LINE_CLASSES
};

struct line_class_info {
	const char *key; /* JSON key and name in text output */
	bool skipped;	 /* counts as not understood */
	const char *doc;
};
extern const struct line_class_info line_class_info[LINE_CLASSES];

/* The machine whose system call numbers raw_syscalls prints. */
enum syscall_arch { ARCH_UNKNOWN, ARCH_X86_64, ARCH_I386, ARCH_ARM64 };

struct ftrace_text_ops {
	/*
	 * One decoded event, valid during the call. Non-zero stops the decoder, which returns it.
	 * A record of LINE_SKIP_BAD_FIELD comes as EV_OTHER: it shows that its thread ran.
	 */
	int (*event)(void *ctx, const struct event *ev);
	/* A LOST mark: @cpu lost @n events, an unknown number without @n_known. May be NULL. */
	int (*lost)(void *ctx, u16 cpu, u64 n, bool n_known);
	/* The first few skipped lines, for --show-skipped. May be NULL. */
	void (*skipped)(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len);
};

struct ftrace_text_opts {
	enum syscall_arch arch;
	/* The quick pass: EV_OTHER with time_ns, cpu and line for each record; keeps no strings. */
	bool lost_only;
	/* Several boots in one file are decoded instead of refused. */
	bool allow_step_back;
	/* How many skipped lines ->skipped() gets. */
	u32 show_skipped;
};

/* What the stream said about itself; counts are of the lines fed so far. */
struct ftrace_text_stats {
	u64 lines;
	u64 by_class[LINE_CLASSES];
	u64 lost_events; /* sum of the numbers of the LOST marks */
	u64 lost_marks;
	bool lost_is_minimum; /* one of them had no number */
	u64 pid_mismatch;     /* records whose pid= differs from the header's thread id */
	u32 header_cpus;      /* #P:n or cpus=n, 0 = not printed */
	/* sums over the headers; written > in_buffer = overwritten */
	u64 entries_in_buffer, entries_written;
	u8 fraction_digits;	/* most digits after the decimal point of a time stamp seen */
	bool clock_has_seconds; /* false: counter, x86-tsc or uptime: integers without a unit */
	bool clock_seen;
	bool latency_format;
	bool raw_syscalls_unnamed; /* sys_enter: NR n seen, but the architecture is unknown */
	u64 raw_syscalls;
	/* by the name as printed; "sys_mmap(" is sys_enter_mmap, "sys_mmap -> " sys_exit_mmap */
	struct {
		u32 name; /* intern id */
		u64 n;
	} names[FTRACE_MAX_NAMES];
	u32 n_names;
	u64 other_names; /* events whose name did not fit into names[] */
};

struct ftrace_text;
/* @strings and @stacks belong to the caller and outlive the decoder. NULL when out of memory. */
struct ftrace_text *ftrace_text_new(const struct ftrace_text_opts *opts,
				    const struct ftrace_text_ops *ops, void *ctx,
				    struct intern *strings, struct stacks *stacks);
void ftrace_text_free(struct ftrace_text *d);
/*
 * Feeds @len bytes. 0, or the callback's non-zero, or a negative errno with @e set: -EPROTO when
 * one CPU's clock steps back by over 1 s (another boot; the message names the line), -ENOMEM.
 */
int ftrace_text_feed(struct ftrace_text *d, const char *data, size_t len,
		     struct error *e) MUST_CHECK;
/* Bytes are missing here (a broken chunk): the partial line is dropped, every CPU seen so far gets
 * a LOST mark without a number. */
int ftrace_text_gap(struct ftrace_text *d, struct error *e) MUST_CHECK;
/* The end of the stream: the last line may lack its newline. */
int ftrace_text_end(struct ftrace_text *d, struct error *e) MUST_CHECK;
const struct ftrace_text_stats *ftrace_text_stats(const struct ftrace_text *d);

#endif
