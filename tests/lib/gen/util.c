/* SPDX-License-Identifier: GPL-2.0-or-later */
/* util.c: random numbers and buffered output for trace_gen. */
#include "gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

u64 rng_next(struct rng *r)
{
	u64 z = (r->state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 rng_below(struct rng *r, u64 n)
{
	return n ? rng_next(r) % n : 0;
}

u64 rng_range(struct rng *r, u64 low, u64 high)
{
	return low + rng_below(r, high - low + 1);
}

bool rng_percent(struct rng *r, u32 percent)
{
	return rng_below(r, 100) < percent;
}

u64 rng_wait(struct rng *r, u64 mean)
{
	/* -ln(u) by halving: the number of leading zero bits is geometric, the rest is linear */
	u64 bits = rng_next(r) | 1;
	u32 halvings = (u32)__builtin_clzll(bits);

	return mean * 7 / 10 * halvings + rng_below(r, mean * 6 / 10 + 1) + 1;
}

void *gen_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		fprintf(stderr, "trace_gen: out of memory\n");
		exit(1);
	}
	return p;
}

static char buffer[1 << 18];
static size_t used;

static void write_all(const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, s, len);

		if (n < 0) {
			perror("trace_gen: writing to stdout");
			exit(1);
		}
		s += n;
		len -= (size_t)n;
	}
}

void out_flush(void)
{
	write_all(buffer, used);
	used = 0;
}

void out_bytes(const char *s, size_t len)
{
	if (used + len > sizeof(buffer))
		out_flush();
	if (len > sizeof(buffer)) {
		write_all(s, len);
		return;
	}
	memcpy(buffer + used, s, len);
	used += len;
}

void out_printf(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_bytes(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
