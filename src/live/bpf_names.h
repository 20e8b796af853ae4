/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_names.h: puts a SYMBOL record for each function that was not told yet in front of the
 * STACK record that needs it. Layer: live. Needs no BPF: records in, records out.
 */
#ifndef MMSCOPE_LIVE_BPF_NAMES_H
#define MMSCOPE_LIVE_BPF_NAMES_H

#include "base/types.h"
#include "live/user_symbols.h"
#include "sys/kallsyms.h"

/* Gets whole records, valid during the call. Non-zero stops and is returned. */
typedef int (*bpf_names_sink)(void *ctx, const void *records, size_t len);

struct bpf_names_opts {
	const struct kallsyms *syms; /* outlives the names */
	bool user;		     /* user frames too */
	const char *root;	     /* in front of /proc; "" = the running system */
};
struct bpf_names_counts {
	u64 records, bytes; /* fed */
	u64 stacks, symbols;
	u64 symbols_missing; /* frames whose function is not known */
	u64 maps_timeouts;
	u64 refused; /* blocks with a record of an impossible size: the rest of them is left out */
};
struct bpf_names;
/* Early, while the process is small: with @user it starts a helper process (user_symbols.h). */
struct bpf_names *bpf_names_new(const struct bpf_names_opts *opts, bpf_names_sink sink, void *ctx);
void bpf_names_free(struct bpf_names *n);
/* Where the kernel's functions come from, when that is not known at bpf_names_new(). */
void bpf_names_set_kernel(struct bpf_names *n, const struct kallsyms *syms);
/* A new drain begins. */
int bpf_names_round(struct bpf_names *n) MUST_CHECK;
/* Whole records; @ctx is the struct bpf_names. 0, what the sink returned, or -ENOMEM. */
int bpf_names_feed(void *ctx, const void *records, size_t len) MUST_CHECK;
void bpf_names_get_counts(const struct bpf_names *n, struct bpf_names_counts *ret);

/* One SYMBOL record; @name is cut at what a record holds. */
int bpf_names_tell_symbol(bpf_names_sink sink, void *ctx, u32 tgid, u64 start, u64 end,
			  const char *name, size_t name_len) MUST_CHECK;
/* One NOTE record, "key=value", cut at what a record holds. */
int bpf_names_tell_note(bpf_names_sink sink, void *ctx, const char *fmt, ...)
	PRINTF_LIKE(3, 4) MUST_CHECK;

#endif
