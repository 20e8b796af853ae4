/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frozen.c: three threads in a row. A write fault on a page of a frozen file system sleeps in
 * page_mkwrite with the VMA's lock held; an mprotect or munmap of that VMA waits for the fault,
 * with mmap_lock held for writing; a third thread's call waits for mmap_lock. The thaw frees them
 * in turn.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "episodes.h"

struct frozen {
	const char *kind;
	struct actor *fault, *writer, *third;
	struct job third_job;
	u64 fault_seen_ns, writer_seen_ns, third_seen_ns, thaw_ns;
};

/* Freezes; false with a reason when somebody is not where he should be. The thaw is the caller's.
 */
static const char *line_up(struct stage *s, struct frozen *f, u64 length_ns)
{
	const size_t bytes = FROZEN_PAGES * PAGE_BYTES;
	const struct job touch = {
		.op = OP_TOUCH, .at = s->frozen + s->episodes % (FROZEN_PAGES - 1) * PAGE_BYTES
	};
	const struct job change[] = {
		{ .op = OP_MPROTECT,
		  .at = s->frozen,
		  .bytes = bytes,
		  .prot = prot_flip(&s->frozen_prot) },
		/* not the fault's page: it is written to again when the thread goes on */
		{ .op = OP_MUNMAP, .at = s->frozen + bytes - PAGE_BYTES, .bytes = PAGE_BYTES },
	};

	/* writes back the page of the last time: only a write to a clean one asks the file system
	 */
	if (loopfs_freeze(s, length_ns + 5000000000))
		return "FIFREEZE failed";
	actor_tell(f->fault, &touch);
	f->fault_seen_ns = actor_seen(f->fault, 'D', LIMIT_MS);
	if (!f->fault_seen_ns)
		return "the fault did not sleep";
	actor_tell(f->writer, &change[stage_random(s, 4) == 0]);
	f->writer_seen_ns = actor_seen(f->writer, 'D', LIMIT_MS);
	if (!f->writer_seen_ns)
		return "the VMA writer did not sleep";
	actor_tell(f->third, &f->third_job);
	f->third_seen_ns = actor_seen(f->third, 'D', LIMIT_MS);
	if (!f->third_seen_ns)
		return "the third thread did not sleep";
	return NULL;
}

static bool done(struct actor *a)
{
	return !a->begin_ns || actor_wait(a, LIMIT_MS);
}

static void tell(struct stage *s, const struct frozen *f)
{
	truth_call(s, f->kind, ACTOR_FAULTER);
	truth_wait(s, &(struct truth){ .kind = f->kind,
				       .waiter = ACTOR_WRITER,
				       .blocker = ACTOR_FAULTER,
				       .root = ACTOR_FAULTER,
				       .waits_for = WAITS_VMA,
				       .certain_ns = f->thaw_ns - f->writer_seen_ns,
				       .blocked = true });
	truth_wait(s, &(struct truth){ .kind = f->kind,
				       .waiter = ACTOR_THIRD,
				       .blocker = ACTOR_WRITER,
				       .root = ACTOR_FAULTER,
				       .waits_for = op_lock(f->third_job.op),
				       .certain_ns = f->thaw_ns - f->third_seen_ns,
				       .blocked = true });
}

static void play(struct stage *s, const char *kind)
{
	struct actor *actors = s->sh->actors;
	struct frozen f = { .kind = kind,
			    .fault = &actors[ACTOR_FAULTER],
			    .writer = &actors[ACTOR_WRITER],
			    .third = &actors[ACTOR_THIRD] };
	const struct job again = { .op = OP_MAP_FILE,
				   .at = s->frozen,
				   .bytes = FROZEN_PAGES * PAGE_BYTES,
				   .prot = PROT_READ | PROT_WRITE,
				   .fd = s->frozen_fd };
	u64 length_ns = stage_length_ns(s);
	const char *why;
	bool all_done;

	f.fault->begin_ns = f.writer->begin_ns = f.third->begin_ns = 0;
	if (!third_prepare(s, &f.third_job, false)) {
		truth_void(s, kind, "no fresh page");
		return;
	}
	f.third->begin_ns = 0;
	why = line_up(s, &f, length_ns);
	if (!why)
		sleep_until(f.fault_seen_ns + length_ns);
	f.thaw_ns = now_ns();
	loopfs_thaw(s);
	all_done = done(f.fault) + done(f.writer) + done(f.third) == 3; /* waits for each */
	if (!all_done || s->sh->watchdog_thawed) {
		fprintf(stderr, "episodes: stuck although the file system is thawed\n");
		_exit(99);
	}
	if (why)
		truth_void(s, kind, why);
	else
		tell(s, &f);
	third_clean_up(s, &f.third_job);
	if (f.writer->job.op == OP_MUNMAP) {
		actor_do(f.writer, &again);
		s->frozen_prot = again.prot;
	}
}

void frozen_episode(struct stage *s)
{
	play(s, "frozen");
}

/* The VMA writer is a real-time thread, the fault it waits for is not. */
void frozen_fifo_episode(struct stage *s)
{
	const struct sched_param fifo = { .sched_priority = 10 }, fair = { 0 };
	pid_t tid = s->sh->actors[ACTOR_WRITER].tid;

	if (sched_setscheduler(tid, SCHED_FIFO, &fifo)) {
		truth_void(s, "frozen_fifo", "no SCHED_FIFO");
		return;
	}
	play(s, "frozen_fifo");
	sched_setscheduler(tid, SCHED_OTHER, &fair);
}
