/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actor.c: a thread (or the reader's process) that makes one call when it is told to and stamps the
 * time around it. Between calls it sleeps in read() of an eventfd, and it makes no other call that
 * needs its address space: its stack is there already.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "episodes.h"

static const char *const actor_names[ACTORS] = { "ep-faulter", "ep-writer", "ep-third", "ep-forker",
						 "ep-reader" };

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* Raw system calls: nothing of libc in between that might map something itself. */
static long call(const struct job *j)
{
	unsigned char there[1];
	volatile char *at = j->at;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	switch (j->op) {
	case OP_MMAP:
		return syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ, flags, -1, 0);
	case OP_MAP_AT:
		flags |= MAP_FIXED | (j->populate ? MAP_POPULATE : 0);
		return syscall(SYS_mmap, j->at, j->bytes, j->prot, flags, -1, 0);
	case OP_MAP_FILE:
		return syscall(SYS_mmap, j->at, j->bytes, j->prot, MAP_SHARED | MAP_FIXED, j->fd,
			       0);
	case OP_MUNMAP:
		return syscall(SYS_munmap, j->at, j->bytes);
	case OP_MPROTECT:
		return syscall(SYS_mprotect, j->at, j->bytes, j->prot);
	case OP_MINCORE:
		return syscall(SYS_mincore, j->at, PAGE_BYTES, there);
	case OP_TOUCH:
		*at = 1;
		return 0;
	case OP_LOOK:
		return *at & 0;
	case OP_DROP:
		return syscall(SYS_madvise, j->at, j->bytes, MADV_DONTNEED);
	case OP_FORK:
		return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	default:
		return -1;
	}
}

/* All of smaps, a page at a time: a read() holds mmap_lock for the VMAs it shows. */
static long read_smaps(struct shared *sh, const struct job *j)
{
	char text[PAGE_BYTES];
	ssize_t n = 1;

	sh->reads = 0;
	if (lseek(j->fd, 0, SEEK_SET))
		return -1;
	while (n > 0 && sh->reads < MAX_READS) {
		unsigned i = sh->reads;

		sh->read[i].begin_ns = now_ns();
		n = read(j->fd, text, sizeof(text));
		sh->read[i].end_ns = now_ns();
		__atomic_store_n(&sh->reads, i + 1, __ATOMIC_RELEASE);
	}
	return n < 0 ? -1 : 0;
}

/* Awake, so that it begins on time. */
static void wait_for_turn(const struct job *j)
{
	u64 begin_ns = 0;

	while (j->after && !begin_ns) {
		begin_ns = __atomic_load_n(&j->after->begin_ns, __ATOMIC_ACQUIRE);
		if (!begin_ns)
			sched_yield();
	}
	while (j->after && now_ns() < begin_ns + j->delay_ns)
		;
}

/* "1234 567 89": time on a CPU, time in its queue. Costs no mmap_lock. 0 where it is not told. */
static u64 queued_ns(int schedstat_fd)
{
	char text[96] = "", *end;
	ssize_t n = pread(schedstat_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

static void work(struct actor *a, int schedstat_fd)
{
	const struct job *j = &a->job;
	u64 begin_ns, end_ns, queued_before_ns;
	long result;

	wait_for_turn(j);
	queued_before_ns = queued_ns(schedstat_fd);
	begin_ns = now_ns();
	__atomic_store_n(&a->begin_ns, begin_ns, __ATOMIC_RELEASE);
	errno = 0;
	result = j->op == OP_READ_SMAPS ? read_smaps(a->sh, j) : call(j);
	end_ns = now_ns();
	if (j->op == OP_FORK && result == 0) /* the child: *a is shared with the parent */
		syscall(SYS_exit_group, 0);
	a->result = result;
	a->error = errno;
	a->queued_ns = queued_ns(schedstat_fd) - queued_before_ns;
	__atomic_store_n(&a->end_ns, end_ns, __ATOMIC_RELEASE);
	if (j->op == OP_FORK && result > 0)
		waitpid((pid_t)result, NULL, 0);
}

void *actor_run(void *actor)
{
	struct actor *a = actor;
	int schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	u64 n;

	prctl(PR_SET_NAME, actor_names[a->id]);
	a->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		n = 1;
		if (write(a->done_fd, &n, sizeof(n)) != sizeof(n) ||
		    read(a->go_fd, &n, sizeof(n)) != sizeof(n))
			_exit(99);
		if (a->job.op == OP_EXIT)
			return NULL;
		work(a, schedstat_fd);
	}
}

int actor_init(struct shared *sh, enum actor_id id)
{
	struct actor *a = &sh->actors[id];

	a->sh = sh;
	a->id = id;
	a->go_fd = eventfd(0, EFD_CLOEXEC);
	a->done_fd = eventfd(0, EFD_CLOEXEC);
	return a->go_fd < 0 || a->done_fd < 0 ? -1 : 0;
}

/*
 * A stack of its own that is populated, and that fork does not copy: a fork write-protects what it
 * copies, and the next push would be a page fault that waits for the fork.
 */
int actor_start(struct actor *a, pthread_t *ret)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pthread_attr_t attr;

	if (stack == MAP_FAILED ||
	    (a->id != ACTOR_FORKER && madvise(stack, STACK_BYTES, MADV_DONTFORK)))
		return -1;
	if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, STACK_BYTES))
		return -1;
	return pthread_create(ret, &attr, actor_run, a) ? -1 : 0;
}

void actor_tell(struct actor *a, const struct job *job)
{
	u64 one = 1;

	a->job = *job;
	a->begin_ns = a->end_ns = 0;
	if (write(a->go_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

bool actor_wait(struct actor *a, int limit_ms)
{
	struct pollfd p = { .fd = a->done_fd, .events = POLLIN };
	u64 n;

	return poll(&p, 1, limit_ms) == 1 && read(a->done_fd, &n, sizeof(n)) == sizeof(n);
}

bool both_wait(struct actor *a, struct actor *b)
{
	bool a_done = actor_wait(a, LIMIT_MS), b_done = actor_wait(b, LIMIT_MS);

	return a_done && b_done;
}

bool actor_do(struct actor *a, const struct job *job)
{
	actor_tell(a, job);
	return actor_wait(a, LIMIT_MS);
}

/* "123 (ep-third) D 1 ...": this file, unlike most of /proc, needs no mmap_lock. */
static char state_of(pid_t tid)
{
	char path[64], text[256], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

u64 actor_seen(struct actor *a, char state, int limit_ms)
{
	u64 limit_ns = now_ns() + (u64)limit_ms * 1000000;

	do {
		if (__atomic_load_n(&a->begin_ns, __ATOMIC_ACQUIRE) && state_of(a->tid) == state)
			return now_ns();
		sleep_until(now_ns() + 50000);
	} while (now_ns() < limit_ns);
	return 0;
}
