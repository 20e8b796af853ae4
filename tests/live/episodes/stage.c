/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stage.c: the memory that is fought over, lengths by a seeded generator, and what calls cost. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "episodes.h"

void sleep_until(u64 ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* xorshift64* */
u64 stage_random(struct stage *s, u64 below)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (s->random * 0x2545f4914f6cdd1dull >> 16) % below;
}

int prot_flip(int *prot)
{
	*prot ^= PROT_EXEC;
	return *prot;
}

u64 stage_length_ns(struct stage *s)
{
	return s->min_ns + stage_random(s, s->max_ns - s->min_ns + 1);
}

static int make_file(int dir, const char *name, size_t pages)
{
	static const char page[PAGE_BYTES] = { 1 };
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	for (size_t i = 0; fd >= 0 && i < pages; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return -1;
	return fd < 0 || fsync(fd) ? -1 : fd;
}

static int map_files(struct stage *s)
{
	s->frozen_fd = make_file(s->fs_fd, "frozen", FROZEN_PAGES);
	s->cold_fd = make_file(s->fs_fd, "cold", COLD_PAGES);
	if (s->frozen_fd < 0 || s->cold_fd < 0)
		return -1;
	s->frozen = mmap(NULL, FROZEN_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 s->frozen_fd, 0);
	s->cold = mmap(NULL, COLD_PAGES * PAGE_BYTES, PROT_READ, MAP_SHARED, s->cold_fd, 0);
	if (s->frozen == MAP_FAILED || s->cold == MAP_FAILED)
		return -1;
	/* no read-ahead: each look at the cold file is a read of its own */
	return madvise(s->cold, COLD_PAGES * PAGE_BYTES, MADV_RANDOM);
}

static int map_uffd(struct stage *s)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg;

	s->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (s->uffd < 0 || ioctl(s->uffd, UFFDIO_API, &api))
		return -1;
	s->uffd_area = mmap(NULL, UFFD_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->uffd_area == MAP_FAILED)
		return -1;
	reg = (struct uffdio_register){ .range = { (uintptr_t)s->uffd_area,
						   UFFD_PAGES * PAGE_BYTES },
					.mode = UFFDIO_REGISTER_MODE_MISSING };
	return ioctl(s->uffd, UFFDIO_REGISTER, &reg);
}

/* In a reservation, so that nothing merges with it and no call of libc lands there. */
static int map_area(struct stage *s)
{
	size_t bytes = s->area_bytes + 8 * PAGE_BYTES;
	char *all =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *small;

	if (all == MAP_FAILED)
		return -1;
	s->fresh = all + PAGE_BYTES;
	s->area = all + 4 * PAGE_BYTES;
	small = mmap(NULL, 2 * SMALL_VMAS * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (small == MAP_FAILED)
		return -1;
	for (int i = 0; i < SMALL_VMAS; i++)
		if (mprotect(small + 2 * i * PAGE_BYTES, PAGE_BYTES, PROT_NONE))
			return -1;
	return 0;
}

int stage_map(struct stage *s, char *why, size_t why_bytes)
{
	const char *what = NULL;

	s->cold_prot = PROT_READ;
	s->frozen_prot = s->uffd_prot = s->area_prot = PROT_READ | PROT_WRITE;
	if (s->fs_fd >= 0 && map_files(s))
		what = "the files to be frozen";
	else if (map_uffd(s))
		what = "userfaultfd";
	else if (map_area(s))
		what = "memory";
	if (what)
		snprintf(why, why_bytes, "no %s: %s", what, strerror(errno));
	return what ? -1 : 0;
}

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/*
 * What a call may take beside the wait in it: twice what nine calls of ten take at most when nobody
 * is in the way, and how long a thread that is woken usually takes to be back in user space, which
 * it is soon after the wait is over.
 */
static u64 cost_of(struct stage *s, enum actor_id id, const struct job *job)
{
	struct actor *a = &s->sh->actors[id];
	u64 took_ns[100], back_ns[100], told_ns;

	for (int i = 0; i < 100; i++) {
		struct job j = *job;

		if (j.op == OP_TOUCH)
			third_prepare_fresh(s);
		if (j.op == OP_MPROTECT)
			j.prot = prot_flip(&s->uffd_prot);
		told_ns = now_ns();
		actor_do(a, &j);
		took_ns[i] = a->end_ns - a->begin_ns;
		back_ns[i] = a->begin_ns - told_ns;
		if (j.op == OP_MMAP)
			third_clean_up(s, &j);
	}
	qsort(took_ns, 100, sizeof(took_ns[0]), by_size);
	qsort(back_ns, 100, sizeof(back_ns[0]), by_size);
	return 2 * took_ns[89] + back_ns[49];
}

/*
 * A fork changes all page tables, and on a virtual machine each page that is touched afterwards may
 * have to go through the hypervisor: what a thread takes, from its wake-up on, to make a call then.
 */
static u64 cost_after_fork(struct stage *s)
{
	const struct job fork_job = { .op = OP_FORK }, job = { .op = OP_MINCORE, .at = s->fresh };
	struct actor *third = &s->sh->actors[ACTOR_THIRD];
	u64 took_ns[20], told_ns;

	for (int i = 0; i < 20; i++) {
		actor_do(&s->sh->actors[ACTOR_FORKER], &fork_job);
		told_ns = now_ns();
		actor_do(third, &job);
		took_ns[i] = third->end_ns - told_ns;
	}
	qsort(took_ns, 20, sizeof(took_ns[0]), by_size);
	return 2 * took_ns[17];
}

/*
 * Which read() of smaps lasts longest, of several tries: the one that walks the large area. That is
 * when the third thread should come.
 */
static void find_longest_read(struct stage *s)
{
	const struct job job = { .op = OP_READ_SMAPS, .fd = s->smaps_fd };
	const struct shared *sh = s->sh;

	for (int tries = 0; tries < 3; tries++) {
		s->longest_read_ns = 0;
		actor_do(&s->sh->actors[ACTOR_READER], &job);
		for (unsigned i = 0; i < sh->reads; i++) {
			u64 took_ns = sh->read[i].end_ns - sh->read[i].begin_ns;

			if (took_ns <= s->longest_read_ns)
				continue;
			s->longest_read_ns = took_ns;
			s->longest_read_at_ns =
				sh->read[i].begin_ns - sh->actors[ACTOR_READER].begin_ns;
		}
	}
}

/* By the director, before the first episode; also brings in all code and stack that is used. */
void stage_calibrate(struct stage *s)
{
	const struct job map_area = { .op = OP_MAP_AT,
				      .at = s->area,
				      .bytes = s->area_bytes,
				      .prot = PROT_READ | PROT_WRITE,
				      .populate = true };
	const struct job jobs[] = {
		{ .op = OP_MMAP },
		{ .op = OP_MINCORE, .at = s->fresh },
		{ .op = OP_TOUCH, .at = s->fresh },
		{ .op = OP_MPROTECT, .at = s->uffd_area, .bytes = UFFD_PAGES * PAGE_BYTES },
	};

	s->after_fork_ns = cost_after_fork(s);
	actor_do(&s->sh->actors[ACTOR_WRITER], &map_area);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		enum actor_id id = jobs[i].op == OP_MPROTECT ? ACTOR_WRITER : ACTOR_THIRD;

		s->cost_ns[id][jobs[i].op] = cost_of(s, id, &jobs[i]);
	}
	find_longest_read(s);
	/* those of populated memory also wait for the other CPUs to flush their TLB */
	s->cost_ns[ACTOR_WRITER][OP_MPROTECT] += 150000;
	s->cost_ns[ACTOR_WRITER][OP_MUNMAP] = s->cost_ns[ACTOR_WRITER][OP_MPROTECT];
}

bool third_prepare_fresh(struct stage *s)
{
	struct job job = {
		.op = OP_MAP_AT, .at = s->fresh, .bytes = PAGE_BYTES, .prot = PROT_READ | PROT_WRITE
	};

	return actor_do(&s->sh->actors[ACTOR_THIRD], &job) &&
	       s->sh->actors[ACTOR_THIRD].result >= 0;
}

bool third_prepare(struct stage *s, struct job *job, bool writers_only)
{
	static const enum op ops[] = { OP_MMAP, OP_MINCORE, OP_TOUCH };

	*job = (struct job){ .op = writers_only ? OP_MMAP : ops[stage_random(s, 3)],
			     .at = s->fresh };
	return job->op != OP_TOUCH || third_prepare_fresh(s);
}

void third_clean_up(struct stage *s, const struct job *job)
{
	struct actor *a = &s->sh->actors[ACTOR_THIRD];
	struct job undo = { .op = OP_MUNMAP, .bytes = PAGE_BYTES };

	if (job->op != OP_MMAP || a->result < 0)
		return;
	undo.at = (char *)a->result;
	actor_do(a, &undo);
}
