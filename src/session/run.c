/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/run.c: one pass of the analysis: feed -> order -> pair -> analyses (see run.h). Layer:
 * session. */
#include "session/run.h"

#include <errno.h>
#include <string.h>

#define BPF_FRACTION_DIGITS 9

static u64 pow10_ns(u32 fraction_digits)
{
	u64 ns = 1000000000;

	for (u32 i = 0; i < fraction_digits && ns > 1; i++)
		ns /= 10;
	return ns;
}

static u32 fraction_digits(const struct run *run)
{
	return run->bpf ? BPF_FRACTION_DIGITS : feed_fraction_digits(run->feed);
}

static int on_ordered(void *ctx, const struct event *ev, u64 place)
{
	struct run *run = ctx;

	return pair_event(run->pair, ev, place);
}

/* Scheduling and process events are kept for what they say of threads: priorities, names, births.
 */
static bool is_context(const struct event *ev)
{
	switch (ev->kind) {
	case EV_SCHED_SWITCH:
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
	case EV_PROC_FORK:
	case EV_PROC_EXEC:
	case EV_PROC_EXIT:
	case EV_TASK_RENAME:
	case EV_TASK_NEWTASK:
		return true;
	default:
		return false;
	}
}

static bool in_range(const struct run *run, const struct event *ev)
{
	const struct time_limit *from = &run->opts->from, *to = &run->opts->to;

	if (from->has && ev->time_ns < from->ns + (from->relative ? run->begin_ns : 0))
		return false;
	return !to->has || ev->time_ns <= to->ns + (to->relative ? run->begin_ns : 0);
}

static int on_event(void *ctx, const struct event *ev)
{
	struct run *run = ctx;
	u32 digits;

	if (unlikely(!run->any_event)) {
		run->any_event = true;
		run->begin_ns = run->bpf ? run->scan.first_ns : ev->time_ns;
		run->end_ns = run->bpf ? run->scan.last_ns : ev->time_ns;
		digits = fraction_digits(run);
		if (digits > run->fraction_digits)
			run->fraction_digits = digits;
		run->ctx.resolution_ns = pow10_ns(run->fraction_digits);
	}
	if (likely(ev->cpu < FTRACE_MAX_CPU))
		run->cpus_seen[ev->cpu / 64] |= 1ULL << (ev->cpu % 64);
	if (ev->time_ns > run->end_ns)
		run->end_ns = ev->time_ns;
	else if (ev->time_ns < run->begin_ns)
		run->begin_ns = ev->time_ns;
	if (unlikely((run->opts->from.has || run->opts->to.has) && !in_range(run, ev))) {
		run->out_of_range++;
		if (!is_context(ev))
			return 0;
	}
	return order_push(run->order, ev);
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	struct run *run = ctx;

	(void)cpu;
	(void)n;
	(void)n_known;
	return run->gaps_known ? 0 : RUN_NEEDS_GAPS;
}

static void on_skipped(void *ctx, enum line_class why, u64 line_no, const char *line, size_t len)
{
	struct run *run = ctx;

	if (run->opts->skipped)
		run->opts->skipped(run->opts->ctx, line_class_info[why].key, line_no, line, len);
}

static void on_progress(void *ctx, u64 bytes)
{
	struct run *run = ctx;

	if (run->opts->progress)
		run->opts->progress(run->opts->ctx, bytes, run->set ? run->set->stored_bytes : 0);
}

static const struct feed_ops feed_ops = {
	.event = on_event, .lost = on_lost, .skipped = on_skipped, .progress = on_progress
};

static enum syscall_arch arch_of(const struct run *run)
{
	static const struct {
		const char *machine;
		enum syscall_arch arch;
	} machines[] = { { "x86_64", ARCH_X86_64 },
			 { "aarch64", ARCH_ARM64 },
			 { "i686", ARCH_I386 } };

	if (run->opts->arch != ARCH_UNKNOWN || !run->info.machine)
		return run->opts->arch;
	for (u32 i = 0; i < ARRAY_LEN(machines); i++) {
		if (!strcmp(run->info.machine, machines[i].machine))
			return machines[i].arch;
	}
	return ARCH_UNKNOWN;
}

static int pass_init(struct run *run)
{
	struct ftrace_text_opts decode = { .arch = arch_of(run),
					   .allow_step_back = run->opts->allow_step_back,
					   .show_skipped = run->opts->show_skipped };

	tasks_init(&run->tasks);
	run->begin_ns = 0;
	run->end_ns = 0;
	run->any_event = false;
	run->out_of_range = 0;
	memset(run->cpus_seen, 0, sizeof(run->cpus_seen));
	memset(&run->ctx, 0, sizeof(run->ctx));
	run->ctx.opts = &run->opts->analysis;
	run->ctx.tasks = &run->tasks;
	run->ctx.strings = &run->strings;
	run->ctx.stacks = &run->stacks;
	for (u32 i = 0; i < ANALYSES; i++) {
		const struct analysis_ops *ops = analysis_ops[i];

		run->analyses[i] = ops->new (&run->ctx);
		if (!run->analyses[i])
			return -ENOMEM;
		run->listeners[i] =
			(struct pair_listener){ run->analyses[i], ops->kinds, ops->open,
						ops->close,	  ops->retry, ops->advance };
	}
	run->pair = pair_new(&run->tasks, &run->gaps, &run->origins, &run->strings, &run->stacks,
			     &run->seen, run->listeners, ANALYSES);
	run->order = order_new(&run->strings, run->bpf ? BPF_ORDER_WINDOW_NS : ORDER_WINDOW_NS,
			       on_ordered, run);
	if (run->bpf)
		run->feed_bpf = feed_bpf_new(&run->input, &run->scan, &feed_ops, run, &run->strings,
					     &run->stacks);
	else
		run->feed =
			feed_new(run->set, &decode, &feed_ops, run, &run->strings, &run->stacks);
	if (!run->pair || !run->order || (!run->feed && !run->feed_bpf) || run->tasks.failed)
		return -ENOMEM;
	run->ctx.seen = pair_seen(run->pair);
	run->ctx.counts = pair_counts(run->pair);
	return 0;
}

int run_pass(struct run *run, struct error *e)
{
	u32 digits;
	int err;

	run->passes++;
	err = pass_init(run);
	if (!err)
		err = run->bpf ? feed_bpf_run(run->feed_bpf, e) : feed_run(run->feed, e);
	if (!err)
		err = order_flush(run->order);
	if (run->pair)
		run->seen = *pair_seen(run->pair);
	if (err)
		goto out;
	/* a finer time stamp came later: "contended" is judged against it */
	digits = fraction_digits(run);
	if (digits > run->fraction_digits) {
		run->fraction_digits = digits;
		return PAIR_RESTART;
	}
	err = pair_finish(run->pair, run->end_ns);
	run->ctx.begin_ns = run->begin_ns;
	run->ctx.end_ns = run->end_ns;
out:
	return err < 0 ? error_set(e, err, "%s", strerror(-err)) : err;
}

void run_pass_done(struct run *run)
{
	/* closes what is open, so that the analyses give back what they keep of it */
	if (run->pair && pair_finish(run->pair, run->end_ns)) {
		/* out of memory while ending: the analyses are freed all the same */
	}
	for (u32 i = 0; i < ANALYSES; i++) {
		if (run->analyses[i])
			analysis_ops[i]->free(run->analyses[i]);
		run->analyses[i] = NULL;
	}
	feed_free(run->feed);
	feed_bpf_free(run->feed_bpf);
	order_free(run->order);
	pair_free(run->pair);
	tasks_done(&run->tasks);
	run->feed = NULL;
	run->feed_bpf = NULL;
	run->order = NULL;
	run->pair = NULL;
}
