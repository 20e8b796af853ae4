/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.h: the parts of trace_gen --random. */
#ifndef TRACE_GEN_RANDOM_H
#define TRACE_GEN_RANDOM_H

#include "gen.h"

enum feature {
#define FEATURE(ID, name, often, low, high, doc) F_##ID,
#include "features.def"
#undef FEATURE
	FEATURES
};

#define LINE_MAX_BYTES 512
#define MAX_PROCS 12
#define MAX_THREADS 40
#define MAX_STEPS 32

struct record {
	u64 time_ns, key_ns; /* key: when it comes in the file */
	u32 seq, cpu;
	char text[LINE_MAX_BYTES];
};

/* One thing a thread does next. */
enum op {
	OP_FAULT_BEGIN,
	OP_FAULT_WAIT,
	OP_FAULT_WAITED,
	OP_FAULT_RETRY,
	OP_FAULT_END,
	OP_FALLBACK,
	OP_READ_VMA,
	OP_WRITE_BEGIN,
	OP_WRITE_WAIT,
	OP_WRITE_WAITED,
	OP_WRITE_DONE,
	OP_LOCK_WAIT,
	OP_LOCK_FAIL,
	OP_LOCK_GOT,
	OP_LOCK_HOLD,
	OP_UNLOCK,
	OP_FORKED,
	OP_EXEC,
	OP_EXIT,
	OP_PAGE_FAULT,
	OPS
};
struct step {
	enum op op;
	bool write, plain; /* plain: an acquisition without a wait */
	u64 mm;
};

struct proc {
	u64 mm;
	u32 tgid, living;
	bool mortal; /* its threads may exit; nobody else touches its mm then */
	u64 died_ns; /* 0 = lives */
};
struct thread {
	u32 tid, proc, cpu, fault_vma, write_vma;
	int prio;
	bool alive, null_mm;
	const char *comm;
	u64 address, retried_ret;
	u64 lock_since_ns, write_since_ns;
	struct step steps[MAX_STEPS];
	u32 n_steps, at;
};

struct world {
	struct rng rng;
	u32 f[FEATURES];
	u64 now_ns, start_ns;
	struct record *records;
	u32 n, max;
	struct proc procs[MAX_PROCS];
	struct thread threads[MAX_THREADS];
	u32 n_procs, n_threads, next_tid, next_mm;
	u64 cpu_delay_ns[8];
	bool certain; /* the next lines are neither dropped nor moved */
};

static inline bool chance(struct world *w, enum feature f)
{
	return rng_percent(&w->rng, w->f[f]);
}
/* random_world.c: threads and what they do */
void world_start(struct world *w);
void world_step(struct world *w);
/* random_line.c: one event as a line */
void line_event(struct world *w, struct thread *t, const char *fmt, ...) PRINTF_LIKE(3, 4);
void line_step(struct world *w, struct thread *t, const struct step *s);
void line_noise(struct world *w, struct thread *t);
void line_switch(struct world *w, struct thread *prev, struct thread *next);

#endif
