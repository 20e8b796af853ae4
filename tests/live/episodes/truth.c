/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth.c: what happened, one JSON object a line. A wait of a known thread:
 *
 *	{"episode": 3, "kind": "frozen", "call": "mmap", "waiter_tid": 812, "waits_for":
 *	 "mmap_lock write", "blocker_tid": 811, "root_tid": 810, "begin_ns": ..., "end_ns": ...,
 *	 "queued_ns": 12000, "wait_ns_min": 20093000, "wait_ns_max": 20135000}
 *
 * begin and end are stamps in user space around the call, so the wait lies between them and lasts
 * at most as long. It lasts at least as long as the blocker certainly was in the way, and as the
 * call less what the same call costs when nobody is, and less queued_ns, in which the thread could
 * have run but had no CPU (part of which may be the wake-up, which belongs to the wait). waits_for
 *null: the call takes part, and waits for no lock. The first line tells the processes and threads,
 *the last one the number of episodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "episodes.h"

static const char *const lock_names[] = { "\"mmap_lock read\"", "\"mmap_lock write\"",
					  "\"vma write\"", "null" };

const char *op_name(enum op op)
{
	static const char *const names[] = {
		[OP_EXIT] = "exit",	  [OP_MMAP] = "mmap",	      [OP_MAP_AT] = "mmap",
		[OP_MAP_FILE] = "mmap",	  [OP_MUNMAP] = "munmap",     [OP_MPROTECT] = "mprotect",
		[OP_MINCORE] = "mincore", [OP_TOUCH] = "write fault", [OP_LOOK] = "read fault",
		[OP_DROP] = "madvise",	  [OP_FORK] = "fork",	      [OP_READ_SMAPS] = "smaps",
	};

	return names[op];
}

enum waits_for op_lock(enum op op)
{
	return op == OP_MINCORE || op == OP_TOUCH || op == OP_LOOK || op == OP_READ_SMAPS
		       ? WAITS_READ
		       : WAITS_WRITE;
}

static void print_tid(const struct stage *s, const char *key, enum actor_id id)
{
	if (id == NOBODY)
		printf(", \"%s\": null", key);
	else
		printf(", \"%s\": %d", key, (int)s->sh->actors[id].tid);
}

static void print(const struct stage *s, const struct truth *t, const struct actor *a, u64 min_ns)
{
	u64 max_ns = t->waits_for == WAITS_NOTHING ? 0 : a->end_ns - a->begin_ns;

	printf("{\"episode\": %u, \"kind\": \"%s\", \"call\": \"%s\"", s->episodes, t->kind,
	       op_name(a->job.op));
	print_tid(s, "waiter_tid", t->waiter);
	printf(", \"waits_for\": %s", lock_names[t->waits_for]);
	print_tid(s, "blocker_tid", t->blocker);
	print_tid(s, "root_tid", t->root);
	printf(", \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 ", \"queued_ns\": %" PRIu64
	       ", \"wait_ns_min\": %" PRIu64 ", \"wait_ns_max\": %" PRIu64 "}\n",
	       a->begin_ns, a->end_ns, a->queued_ns, min_ns, max_ns);
}

void truth_begin(const struct stage *s, pid_t pid)
{
	printf("{\"program\": \"episodes\", \"pid\": %d, \"director_pid\": %d, \"tids\": [",
	       (int)pid, (int)getpid());
	for (int id = 0; id < ACTORS; id++)
		printf("%s%d", id ? ", " : "", (int)s->sh->actors[id].tid);
	printf("], \"throttled\": %s, \"mmap_cost_ns\": %" PRIu64 ", \"after_fork_ns\": %" PRIu64
	       "}\n",
	       s->sh->throttle[0] ? "true" : "false", s->cost_ns[ACTOR_THIRD][OP_MMAP],
	       s->after_fork_ns);
	fflush(stdout);
}

void truth_wait(const struct stage *s, const struct truth *t)
{
	const struct actor *a = &s->sh->actors[t->waiter];
	u64 other_ns = s->cost_ns[t->waiter][a->job.op] + a->queued_ns + t->more_ns;
	u64 until_ns = t->until_ns && t->until_ns < a->end_ns ? t->until_ns : a->end_ns;
	u64 min_ns = t->certain_ns;

	if (t->blocked && until_ns > a->begin_ns + min_ns + other_ns)
		min_ns = until_ns - a->begin_ns - other_ns;
	print(s, t, a, min_ns);
}

void truth_read(const struct stage *s, const char *kind, unsigned i, enum actor_id blocker)
{
	const struct truth t = { .kind = kind,
				 .waiter = ACTOR_READER,
				 .blocker = blocker,
				 .root = blocker,
				 .waits_for = WAITS_READ };
	struct actor a = s->sh->actors[ACTOR_READER];

	a.begin_ns = s->sh->read[i].begin_ns;
	a.end_ns = s->sh->read[i].end_ns;
	print(s, &t, &a, 0);
}

void truth_call(const struct stage *s, const char *kind, enum actor_id id)
{
	const struct actor *a = &s->sh->actors[id];
	const struct truth t = { .kind = kind,
				 .waiter = id,
				 .blocker = NOBODY,
				 .root = NOBODY,
				 .waits_for = WAITS_NOTHING };

	print(s, &t, a, 0);
}

/* The stage could not be set: this episode tells nothing. */
void truth_void(struct stage *s, const char *kind, const char *why)
{
	s->voids++;
	printf("{\"episode\": %u, \"kind\": \"%s\", \"void\": \"%s\"}\n", s->episodes, kind, why);
}

void truth_end(const struct stage *s)
{
	printf("{\"end\": true, \"episodes\": %u, \"voids\": %u}\n", s->episodes, s->voids);
	fflush(stdout);
}
