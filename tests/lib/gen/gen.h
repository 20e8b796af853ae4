/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gen.h: what the modes of trace_gen share. Part of the tests: makes ftrace text, reads nothing. */
#ifndef TRACE_GEN_H
#define TRACE_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NS_US 1000ULL
#define NS_MS 1000000ULL
#define NS_S 1000000000ULL
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* splitmix64: the same numbers on every machine for the same seed */
struct rng {
	u64 state;
};
u64 rng_next(struct rng *r);
/* 0 .. n-1; 0 for n = 0 */
u64 rng_below(struct rng *r, u64 n);
/* low .. high */
u64 rng_range(struct rng *r, u64 low, u64 high);
bool rng_percent(struct rng *r, u32 percent);
/* A waiting time around @mean: exponential in shape, made of integers. */
u64 rng_wait(struct rng *r, u64 mean);

/* The output: stdout, buffered; a write error ends the program with a message. */
void out_bytes(const char *s, size_t len);
void out_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);
void out_flush(void);

struct gen_options {
	u64 seed;
	u64 lines;	/* --bench, --random */
	double seconds; /* of trace time */
	bool seconds_given;
	/* --vendor */
	bool no_retry, sched, rt, nice;
	u32 readers, writers;
	u32 io_us, period_us;
};

void *gen_alloc(size_t size);
/* Sets a feature of --random: "NAME=VALUE". False when there is no such feature. */
bool random_set(const char *assignment);
void random_list(void);
void random_run(const struct gen_options *o);
void bench_run(const struct gen_options *o);
void vendor_run(const struct gen_options *o);

#endif
