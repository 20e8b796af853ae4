/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/pair_help.h: hand-made events into model/pair.c, and what its listener was told. */
#ifndef MMSCOPE_TESTS_PAIR_HELP_H
#define MMSCOPE_TESTS_PAIR_HELP_H

#include "base/vec.h"
#include "model/pair.h"

#define MM_A 0xaaaaULL
#define MM_B 0xbbbbULL
#define VMA_1 0x1111ULL
#define VMA_2 0x2222ULL

struct pair_fixture {
	struct tasks tasks;
	struct gaps gaps;
	struct origins origins;
	struct intern strings;
	struct stacks stacks;
	struct pair_listener listener;
	struct pair *p;
	VEC(struct interval) closed; /* as they were when they ended */
	VEC(struct interval) retried;
	u64 opened, place, last_ns;
	int answer; /* what the listener returns from now on */
};

int pair_setup(void **state);
/* Ends the trace if that was not done, and checks that every interval was closed once. */
int pair_teardown(void **state);
/* The trace is run again, with what is known of it by now. */
void pair_again(struct pair_fixture *f);

/* Feeds an event and expects 0. */
void feed(struct pair_fixture *f, struct event ev);
void feed_restarts(struct pair_fixture *f, struct event ev);
void finish(struct pair_fixture *f, u64 end_ns);

struct event ev_lock(u16 kind, u32 tid, u64 time_ns, u64 mm, enum lock_mode mode);
struct event ev_fault(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 vma);
struct event ev_fault_end(u32 tid, u64 time_ns, u64 mm, u64 vma, u32 ret);
struct event ev_vma(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 vma);
struct event ev_blocked(u16 kind, u32 tid, u64 time_ns, u64 mm, u64 wait_ns, u32 blocker_tid);
struct event ev_fork(u32 tid, u64 time_ns, u32 child_tid);
struct event ev_newtask(u32 tid, u64 time_ns, u32 child_tid, u64 clone_flags);
struct event ev_exec(u32 tid, u64 time_ns);
struct event ev_exit(u32 tid, u64 time_ns, u32 group_dead);
struct event ev_switch(u64 time_ns, u32 prev_tid, u32 prev_state, u32 next_tid);
struct event ev_call(u16 kind, u32 tid, u64 time_ns, enum as_call call);
struct event ev_other(u16 kind, u32 tid, u64 time_ns);

/* A stock wait [at, at + 5] and hold from at + 5 on. */
void stock_lock(struct pair_fixture *f, u32 tid, u64 at_ns, u64 mm, enum lock_mode mode);

u32 n_closed(const struct pair_fixture *f, enum interval_kind kind);
/* The nth closed one of a kind, from 0, with these ends and flags. */
const struct interval *expect(const struct pair_fixture *f, enum interval_kind kind, u32 nth,
			      u64 begin_ns, u64 end_ns, u8 flags);

#endif
