/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/prepass.c: decodes headers only, to find gaps (see prepass.h). Layer: session. */
#include "session/prepass.h"

#include <errno.h>

#include "session/feed.h"

static int on_event(void *ctx, const struct event *ev)
{
	gaps_event(ctx, ev->cpu, ev->time_ns);
	return 0;
}

static int on_lost(void *ctx, u16 cpu, u64 n, bool n_known)
{
	gaps_lost(ctx, cpu, n, n_known);
	return 0;
}

int prepass_find_gaps(struct source_set *set, bool allow_step_back, struct gaps *ret_gaps,
		      struct error *e)
{
	struct ftrace_text_opts opts = { .lost_only = true, .allow_step_back = allow_step_back };
	static const struct feed_ops ops = { .event = on_event, .lost = on_lost };
	struct intern strings;
	struct stacks stacks;
	struct feed *f;
	int err;

	intern_init(&strings);
	stacks_init(&stacks);
	f = feed_new(set, &opts, &ops, ret_gaps, &strings, &stacks);
	if (!f)
		err = error_set(e, -ENOMEM, "out of memory");
	else
		err = feed_run(f, e);
	feed_free(f);
	stacks_done(&stacks);
	intern_done(&strings);
	if (!err)
		gaps_finish(ret_gaps);
	if (!err && ret_gaps->failed)
		err = error_set(e, -ENOMEM, "out of memory for the list of lost events");
	return err;
}
