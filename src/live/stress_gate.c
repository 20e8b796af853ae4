/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/stress_gate.c: the gate the threads wait at, and the tallies they keep. Layer: live.
 *
 * Raw private futexes, because they are waited for inside the workload's own mm: a private futex on
 * a touched page needs no mmap_lock, and nothing here allocates while the writers run.
 */
#include <linux/futex.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/stress_priv.h"

void stress_gate_wake(_Atomic u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void stress_gate_set(_Atomic u32 *word, u32 value)
{
	atomic_store(word, value);
	stress_gate_wake(word);
}

void stress_gate_wait(_Atomic u32 *word, u32 seen, u64 timeout_ns)
{
	struct timespec t = { (time_t)(timeout_ns / 1000000000u),
			      (long)(timeout_ns % 1000000000u) };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ns ? &t : NULL, NULL, 0);
}

void stress_latency_add(struct stress_latency *l, u64 ns)
{
	u64 edge_ns = 1000;
	u32 b = 0;

	while (b < STRESS_BUCKETS - 1 && ns >= edge_ns) {
		b++;
		edge_ns *= 10;
	}
	l->buckets[b]++;
	if (!l->n || ns < l->min_ns)
		l->min_ns = ns;
	if (ns > l->max_ns)
		l->max_ns = ns;
	l->n++;
	l->sum_ns += ns;
}

static void latency_merge(struct stress_latency *into, const struct stress_latency *from)
{
	if (!from->n)
		return;
	if (!into->n || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->n += from->n;
	into->sum_ns += from->sum_ns;
	for (u32 b = 0; b < STRESS_BUCKETS; b++)
		into->buckets[b] += from->buckets[b];
}

void stress_counts_add(struct stress_counts *into, const struct stress_counts *from)
{
	into->ops += from->ops;
	into->sweeps += from->sweeps;
	into->pages_touched += from->pages_touched;
	into->sink += from->sink;
	into->minor_faults += from->minor_faults;
	into->major_faults += from->major_faults;
	for (u32 c = 0; c < STRESS_CALL_N; c++) {
		into->calls[c] += from->calls[c];
		into->failed[c] += from->failed[c];
		latency_merge(&into->call_latency[c], &from->call_latency[c]);
	}
	for (u32 n = 0; n < STRESS_MAX_ERRNO; n++)
		into->errnos[n] += from->errnos[n];
	latency_merge(&into->op_latency, &from->op_latency);
	latency_merge(&into->touch_latency, &from->touch_latency);
}
