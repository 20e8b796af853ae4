/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/user_symbols.h: the functions that user frames lie in, from the process's own files.
 * Layer: live.
 *
 * A helper process does the work (user_helper.c): reading /proc/PID/maps hangs with a process whose
 * mmap_lock is stuck, a file may lie on a file system that does not answer, and an ELF file may be
 * made to break its reader. Whoever asks waits a limited time; a helper that is stuck is killed and
 * the process that it was stuck with is not asked for again.
 */
#ifndef MMSCOPE_LIVE_USER_SYMBOLS_H
#define MMSCOPE_LIVE_USER_SYMBOLS_H

#include "base/types.h"

struct user_symbols_opts {
	const char *root; /* in front of /proc; "" = the running system */
	u64 wait_ns;	  /* what a round of questions may cost; and the maps of one process */
	u64 files_ns;	  /* how long the helper may read a process's files, in the background */
};
#define USER_SYMBOLS_WAIT_NS 200000000ULL
#define USER_SYMBOLS_FILES_NS 5000000000ULL

struct user_symbols_counts {
	u64 asked;	   /* addresses asked for */
	u64 missing;	   /* ... that got no function, or no answer in time */
	u64 maps_timeouts; /* processes whose maps could not be read in time */
	u64 helpers;	   /* started so far */
	u64 helpers_lost;  /* killed, or died by themselves */
};

/* [start, end) of process @tgid. Non-zero stops and is returned. */
typedef int (*user_symbol_fn)(void *ctx, u32 tgid, u64 start, u64 end, const char *name,
			      size_t name_len);

struct user_symbols;
/*
 * Starts the helper: to be called early, while this process is small and has little open.
 * NULL when out of memory or processes.
 */
struct user_symbols *user_symbols_new(const struct user_symbols_opts *opts, user_symbol_fn fn,
				      void *ctx);
void user_symbols_free(struct user_symbols *u);
/*
 * A new round of questions: the time they may wait begins anew. Tells what has been answered since
 * the last one. 0 or what the callback returned.
 */
int user_symbols_round(struct user_symbols *u) MUST_CHECK;
/*
 * Tells the functions of those addresses that were not told yet. 0 (also when nothing is known), or
 * what the callback returned. An answer that comes too late is told at a later question or round.
 */
int user_symbols_ask(struct user_symbols *u, u32 tgid, const u64 *addresses, size_t n) MUST_CHECK;
/* The process has ended or runs another program: what was told of it holds no more. */
void user_symbols_forget(struct user_symbols *u, u32 tgid);
const struct user_symbols_counts *user_symbols_counts(const struct user_symbols *u);

#endif
