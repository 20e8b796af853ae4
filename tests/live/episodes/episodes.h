/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * episodes.h: the parts of `episodes`, which makes a known thread wait for a known time behind a
 * known blocker and prints what happened as lines of JSON (main.c says how it is used).
 *
 * Processes: P has the address space that is fought over, and in it the actors, threads that were
 * all made before anything is frozen. The director (a child of P) tells the actors what to do,
 * freezes and thaws, and prints; it never touches P's address space, so that nothing can block it.
 * The reader (another child) reads /proc/P/smaps. The watchdog thaws whatever happens.
 */
#ifndef EPISODES_H
#define EPISODES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint64_t u64;

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES = 256 << 10,
	FROZEN_PAGES = 64,
	COLD_PAGES = 4096,
	UFFD_PAGES = 64,
	SMALL_VMAS = 500,
	MAX_READS = 4096,
	LIMIT_MS = 2000, /* until an actor that should be done, or asleep, is given up */
};

/* --- actors: actor.c --- */

enum actor_id {
	ACTOR_FAULTER, /* touches memory */
	ACTOR_WRITER,  /* changes VMAs */
	ACTOR_THIRD,   /* comes last */
	ACTOR_FORKER,
	ACTOR_READER, /* a process of its own: reads /proc/P/smaps */
	ACTORS,
	NOBODY = ACTORS
};
enum op {
	OP_EXIT,
	OP_MMAP,     /* an anonymous page anywhere */
	OP_MAP_AT,   /* anonymous, at a place, populated on request */
	OP_MAP_FILE, /* shared, at a place */
	OP_MUNMAP,
	OP_MPROTECT,
	OP_MINCORE, /* reads mmap_lock and does nothing */
	OP_TOUCH,   /* writes a byte */
	OP_LOOK,    /* reads a byte */
	OP_DROP,    /* MADV_DONTNEED */
	OP_FORK,
	OP_READ_SMAPS
};
struct shared;
struct actor;
struct job {
	enum op op;
	char *at;
	size_t bytes;
	int prot;
	int fd;
	bool populate;
	/* begins @delay_ns after @after's call; NULL = at once */
	const struct actor *after;
	u64 delay_ns;
};
struct actor {
	struct shared *sh;
	enum actor_id id;
	pid_t tid;
	int go_fd, done_fd; /* eventfds */
	struct job job;
	u64 begin_ns, end_ns; /* around the call; 0 = not there yet */
	u64 queued_ns;	      /* of that time, runnable and without a CPU */
	long result;
	int error;
};

/* What all processes see. */
struct shared {
	struct actor actors[ACTORS];
	u64 thaw_by_ns; /* when the watchdog thaws; 0 = nothing is frozen */
	bool watchdog_thawed;
	char throttle[128]; /* cgroup directory, "" = none */
	/* of the reader: each of its read() calls in this job */
	unsigned reads;
	struct {
		u64 begin_ns, end_ns;
	} read[MAX_READS];
};

u64 now_ns(void);
int actor_init(struct shared *sh, enum actor_id id);
int actor_start(struct actor *a, pthread_t *ret); /* as a thread */
void *actor_run(void *actor);			  /* its loop; the reader's process runs it too */
/* The director's side. */
void actor_tell(struct actor *a, const struct job *job);
bool actor_wait(struct actor *a, int limit_ms);	  /* false: not done in time */
bool both_wait(struct actor *a, struct actor *b); /* the same of two, each waited for */
/* When @a was seen in state @state (of /proc/P/task/T/stat) inside its call; 0 = not in time. */
u64 actor_seen(struct actor *a, char state, int limit_ms);
bool actor_do(struct actor *a, const struct job *job); /* tell and wait */

/* --- where it happens: stage.c, loopfs.c --- */

struct stage {
	struct shared *sh;
	int fs_fd; /* the root of the loop mount; -1 = none */
	int frozen_fd, cold_fd, smaps_fd;
	int alive_fd; /* its end tells the watchdog that the director is gone */
	int uffd;
	char *frozen, *cold, *uffd_area; /* in P */
	char *area;			 /* big, populated, anonymous */
	size_t area_bytes;
	char *fresh; /* one page of its own VMA, never touched at the start of an episode */
	u64 longest_read_ns, longest_read_at_ns; /* of smaps, and when it begins in a job */
	int frozen_prot, cold_prot, uffd_prot, area_prot;
	u64 cost_ns[ACTORS][OP_READ_SMAPS + 1]; /* of a call that nobody is in the way of */
	u64 after_fork_ns;			/* more, of the first one after a fork */
	u64 random;
	u64 min_ns, max_ns; /* length of an episode */
	unsigned episodes, voids;
};
/* 0, or -1 with a reason why it can't be had here. */
int loopfs_make(struct stage *s, const char *dir, char *why, size_t why_bytes);
int loopfs_freeze(struct stage *s, u64 limit_ns);
int loopfs_thaw(struct stage *s);
/* Slows reads of the mount by this process and its children from now on. Best effort. */
void loopfs_throttle(struct stage *s, unsigned reads_per_s);
void loopfs_unthrottle(struct stage *s);
/* Before loopfs_throttle(): it must not be in the cgroup that it removes. */
pid_t watchdog_start(struct stage *s, int *ret_alive_fd);

int stage_map(struct stage *s, char *why, size_t why_bytes);
void stage_calibrate(struct stage *s);
u64 stage_random(struct stage *s, u64 below);
u64 stage_length_ns(struct stage *s);
int prot_flip(int *prot); /* a protection that differs from the present one */
void sleep_until(u64 ns);
/* An untouched page: the first touch has to read mmap_lock, since its VMA has no anon_vma yet. */
bool third_prepare_fresh(struct stage *s);
/* The third actor's call: one of mmap, mincore, a first touch; made ready before the episode. */
bool third_prepare(struct stage *s, struct job *job, bool writers_only);
void third_clean_up(struct stage *s, const struct job *job);

/* --- what is printed: truth.c --- */

enum waits_for { WAITS_READ, WAITS_WRITE, WAITS_VMA, WAITS_NOTHING };
struct truth {
	const char *kind;
	enum actor_id waiter, blocker, root;
	enum waits_for waits_for;
	u64 more_ns;	/* that the call may take beside the wait and its usual cost */
	u64 certain_ns; /* for so long the blocker was in the way, whatever else */
	bool blocked;	/* it was in the way when the waiter came, */
	u64 until_ns;	/* and until then; 0 = all the time */
};
void truth_begin(const struct stage *s, pid_t pid);
void truth_wait(const struct stage *s, const struct truth *t);
/* A wait of the reader inside one of its read() calls. */
void truth_read(const struct stage *s, const char *kind, unsigned i, enum actor_id blocker);
/* Actor @id's call took part, and is no wait for a lock. */
void truth_call(const struct stage *s, const char *kind, enum actor_id id);
void truth_void(struct stage *s, const char *kind, const char *why);
void truth_end(const struct stage *s);
const char *op_name(enum op op);
enum waits_for op_lock(enum op op); /* of mmap_lock */

/* --- the kinds; each plays one episode --- */

void frozen_episode(struct stage *s);
void frozen_fifo_episode(struct stage *s);
void fork_episode(struct stage *s);
void munmap_episode(struct stage *s);
void protect_episode(struct stage *s);
void smaps_episode(struct stage *s);
void uffd_episode(struct stage *s);
void cold_episode(struct stage *s);

#endif
