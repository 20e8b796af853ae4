/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_workload.c: calls that a recording has to show, by threads that make no others like it.
 *
 *	record_workload		1009 mprotect, 503 mmap, 503 munmap (all prime) in a thread, then
 *				"tid 123 mprotect 1009 mmap 503 munmap 503"
 *	record_workload loop N	prints "ready", reads a line, does the same N times in the main
 *				thread, prints "done", waits for the end of stdin
 *	record_workload threads	prints "ready"; the same in a thread made before it read a line, in
 *				one made after it, and in a child process; prints the three ids
 *	record_workload spin	prints "ready", sleeps until it is killed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROTECTS = 1009, MAPS = 503, BYTES = 4096 };

/* Raw system calls: nothing of libc in between that might map something itself. */
static void *work(void *area)
{
	for (int i = 0; i < PROTECTS; i++)
		if (syscall(SYS_mprotect, area, BYTES, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE))
			abort();
	for (int i = 0; i < MAPS; i++) {
		long at = syscall(SYS_mmap, NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				  0);

		if (at == -1 || syscall(SYS_munmap, at, BYTES))
			abort();
	}
	return (void *)syscall(SYS_gettid);
}

static void *map_area(void)
{
	void *area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		abort();
	return area;
}

static int loop(int n)
{
	void *area = map_area();
	char line[64];

	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < n; i++)
		work(area);
	printf("done\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}

static void *wait_and_work(void *area)
{
	char line[64];

	return fgets(line, sizeof(line), stdin) ? work(area) : NULL;
}

static int threads(void)
{
	void *area = map_area(), *first, *second;
	pthread_t older, newer;
	pid_t child;

	if (pthread_create(&older, NULL, wait_and_work, area))
		return 1;
	printf("ready\n");
	fflush(stdout);
	if (pthread_join(older, &first) || pthread_create(&newer, NULL, work, map_area()) ||
	    pthread_join(newer, &second))
		return 1;
	child = fork();
	if (!child) {
		work(area);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		return 1;
	printf("%ld %ld %d\n", (long)first, (long)second, (int)child);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *tid;

	if (argc == 3 && !strcmp(argv[1], "loop"))
		return loop(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "threads"))
		return threads();
	if (argc == 2 && !strcmp(argv[1], "spin")) {
		printf("ready\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (pthread_create(&thread, NULL, work, map_area()) || pthread_join(thread, &tid))
		return 1;
	printf("tid %ld mprotect %d mmap %d munmap %d\n", (long)tid, PROTECTS, MAPS, MAPS);
	return 0;
}
