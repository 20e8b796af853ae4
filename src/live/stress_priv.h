/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/stress_priv.h: what the files of the stress workload share. Layer: live. */
#ifndef MMSCOPE_LIVE_STRESS_PRIV_H
#define MMSCOPE_LIVE_STRESS_PRIV_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "live/stress.h"

enum gate_state { GATE_SHUT, GATE_READERS, GATE_WRITERS, GATE_END };

struct stress_thread {
	struct stress *s;
	pthread_t thread;
	bool created;
	_Atomic u32 tid; /* 0 until it runs */
	struct stress_thread_counts *out;
};
struct stress {
	struct stress_config config;
	struct stress_ident ident;
	int fd;
	char *map;
	size_t map_bytes;
	bool known_content;
	u64 page_size_bytes;

	_Atomic u32 gate;    /* enum gate_state, a futex */
	_Atomic u32 n_ready; /* threads that wait at the gate, a futex */
	_Atomic u32 writers_left;
	_Atomic u32 toggle; /* parity of the next mprotect: the calls of all writers alternate */
	int done_fd;	    /* eventfd: the last writer is done */
	char *stacks;
	size_t stacks_bytes;
	sigset_t old_mask;
	bool masked;

	struct stress_thread *threads;
	struct stress_thread_counts *counts;
	pid_t *tids;
	u32 n_threads;
};

/* stress_map.c */
MUST_CHECK int stress_map_init(struct stress *s, struct error *e);
void stress_map_done(struct stress *s);

/* stress_ops.c: the threads' bodies */
void *stress_thread_main(void *arg);

/* stress_gate.c */
/* Sets the word and wakes whoever waits for it. */
void stress_gate_set(_Atomic u32 *word, u32 value);
void stress_gate_wake(_Atomic u32 *word);
/* Waits while *word == @seen, at most @timeout_ns (0 = no limit). May return early. */
void stress_gate_wait(_Atomic u32 *word, u32 seen, u64 timeout_ns);

void stress_latency_add(struct stress_latency *l, u64 ns);
void stress_counts_add(struct stress_counts *into, const struct stress_counts *from);

#endif
