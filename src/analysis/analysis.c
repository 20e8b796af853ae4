/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/analysis.c: the table of analyses and what they share (see analysis.h). */
#include "analysis/analysis.h"

#include <fnmatch.h>
#include <string.h>

const struct analysis_ops *const analysis_ops[ANALYSES] = {
#define ANALYSIS(ID, ops, doc) [ANALYSIS_##ID] = &ops,
#include "analysis/analyses.def"
#undef ANALYSIS
};

bool analysis_selects(const struct analysis_ctx *ctx, struct task_id id)
{
	const struct analysis_opts *o = ctx->opts;
	const struct task *task;
	bool pid_ok = !o->n_pids, comm_ok = !o->n_comms;
	const char *comm;

	if (likely(pid_ok && comm_ok))
		return true;
	task = tasks_get(ctx->tasks, id);
	for (size_t i = 0; i < o->n_pids && !pid_ok; i++)
		pid_ok = o->pids[i] == task->tid || (task->tgid && o->pids[i] == task->tgid);
	if (!pid_ok || comm_ok)
		return pid_ok;
	comm = intern_get(ctx->strings, task->comm, NULL);
	for (size_t i = 0; i < o->n_comms && !comm_ok; i++)
		comm_ok = !fnmatch(o->comms[i], comm, 0);
	return comm_ok;
}

bool analysis_counts(const struct analysis_ctx *ctx, const struct interval *iv)
{
	return iv->end_ns >= ctx->opts->ended_from_ns && analysis_selects(ctx, iv->task);
}

bool analysis_is_contended(const struct analysis_ctx *ctx, u64 wait_ns)
{
	return wait_ns >= ctx->opts->contended_ns && wait_ns > ctx->resolution_ns;
}

void analysis_cell_comm(struct result *r, struct cell *c, const struct analysis_ctx *ctx,
			struct task_id id)
{
	const struct task *task = tasks_get(ctx->tasks, id);

	if (task && task->comm)
		analysis_cell_string(r, c, ctx, task->comm, NULL);
}

void analysis_cell_string(struct result *r, struct cell *c, const struct analysis_ctx *ctx, u32 id,
			  const char *otherwise)
{
	size_t len;
	const char *s = intern_get(ctx->strings, id, &len);

	if (!id && otherwise) {
		s = otherwise;
		len = strlen(otherwise);
	} else if (!id) {
		return;
	}
	s = arena_strndup(&r->arena, s, len);
	if (s)
		cell_str(c, s, len);
}

struct cell *analysis_fill_distribution(struct result *r, struct cell *c,
					const struct analysis_ctx *ctx, struct series *s,
					u64 contended)
{
	static const u32 permille[] = { 500, 900, 990, 999 };
	u64 *buckets = arena_alloc(&r->arena, sizeof(s->buckets));
	u64 v = 0;

	cell_u64(c++, s->n);
	cell_opt(c++, ctx->clock_has_seconds, contended);
	cell_u64(c++, s->sum);
	cell_opt(c++, s->n, s->n ? s->sum / s->n : 0);
	for (u32 i = 0; i < ARRAY_LEN(permille); i++, c++) {
		bool has = series_quantile(s, permille[i], &v);

		cell_opt(c, has, v);
	}
	cell_opt(c++, s->n, s->max);
	cell_opt(c++, ctx->clock_has_seconds, s->over_1ms);
	cell_opt(c++, ctx->clock_has_seconds, s->over_10ms);
	if (buckets) {
		memcpy(buckets, s->buckets, sizeof(s->buckets));
		c->null = false;
		c->p = buckets;
	}
	c++;
	cell_u64(c++, s->approximate);
	return c;
}
