/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_load.c: the loads by which the benchmark tells what a tracer of mmap_lock costs. They print
 * their own figure, taken inside.
 *
 *	lock_load alone N	mmap, touch, munmap of a page, N times, one thread: "ns 3712.4" of
 *CPU time each (what else runs on the machine moves that least) lock_load untouched N	the same
 *without the touch: no page fault
 *	lock_load contend T MS	T threads do that in one address space for MS milliseconds, each
 *time with an area large enough that they get into each other's way: "ops 123456"
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_THREADS = 64, AREA_PAGES = 8 };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void once(size_t pages, size_t touched)
{
	volatile char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	for (size_t i = 0; i < touched; i++)
		at[i * PAGE] = 1;
	if (munmap((void *)at, pages * PAGE))
		abort();
}

static int alone(long n, size_t touched)
{
	uint64_t begin_ns;

	for (long i = 0; i < n / 20; i++) /* warm */
		once(1, touched);
	begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < n; i++)
		once(1, touched);
	printf("ns %.1f\n", (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / (double)n);
	return 0;
}

struct gate {
	pthread_barrier_t barrier;
	uint64_t run_ns;
};
struct worker {
	pthread_t thread;
	struct gate *gate;
	uint64_t ops;
};

static void *contend_one(void *worker)
{
	struct worker *w = worker;
	uint64_t end_ns;

	pthread_barrier_wait(&w->gate->barrier);
	end_ns = clock_ns(CLOCK_MONOTONIC) + w->gate->run_ns;
	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; w->ops++)
		once(AREA_PAGES, AREA_PAGES);
	return NULL;
}

static int contend(long threads, long run_ms)
{
	static struct worker workers[MAX_THREADS];
	struct gate gate = { .run_ns = (uint64_t)run_ms * 1000000 };
	uint64_t ops = 0;

	if (threads < 1 || threads > MAX_THREADS ||
	    pthread_barrier_init(&gate.barrier, NULL, (unsigned)threads))
		return 2;
	for (long i = 0; i < threads; i++) {
		workers[i].gate = &gate;
		if (pthread_create(&workers[i].thread, NULL, contend_one, &workers[i]))
			return 1;
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		ops += workers[i].ops;
	}
	printf("ops %llu\n", (unsigned long long)ops);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "alone") && atol(argv[2]) > 0)
		return alone(atol(argv[2]), 1);
	if (argc == 3 && !strcmp(argv[1], "untouched") && atol(argv[2]) > 0)
		return alone(atol(argv[2]), 0);
	if (argc == 4 && !strcmp(argv[1], "contend"))
		return contend(atol(argv[2]), atol(argv[3]));
	fprintf(stderr, "usage: lock_load alone N | untouched N | contend THREADS MS\n");
	return 2;
}
