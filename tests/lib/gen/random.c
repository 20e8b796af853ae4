/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random.c: --random: draws the features of a trace, lets its threads run, and writes the file: out
 * of order where the features say so, with LOST marks.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	u32 often, low, high;
	const char *doc;
} features[FEATURES] = {
#define FEATURE(ID, name, often, low, high, doc) [F_##ID] = { name, often, low, high, doc },
#include "features.def"
#undef FEATURE
};

static struct {
	bool given;
	u32 value;
} settings[FEATURES];

bool random_set(const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	char *end;
	unsigned long value;

	if (!equals)
		return false;
	value = strtoul(equals + 1, &end, 10);
	if (*end || end == equals + 1 || value > 100)
		return false;
	for (u32 i = 0; i < FEATURES; i++) {
		if (strlen(features[i].name) == (size_t)(equals - assignment) &&
		    !strncmp(features[i].name, assignment, (size_t)(equals - assignment))) {
			settings[i].given = true;
			settings[i].value = (u32)value;
			return true;
		}
	}
	return false;
}

void random_list(void)
{
	for (u32 i = 0; i < FEATURES; i++)
		out_printf("%-11s %3u %% of traces, %u..%u: %s\n", features[i].name,
			   features[i].often, features[i].low, features[i].high, features[i].doc);
}

static void draw_features(struct world *w)
{
	for (u32 i = 0; i < FEATURES; i++) {
		/* drawn even when set: setting one must not change the others */
		bool on = rng_percent(&w->rng, features[i].often);
		u32 value = (u32)rng_range(&w->rng, features[i].low, features[i].high);

		w->f[i] = settings[i].given ? settings[i].value : on ? value : 0;
	}
	if (!w->f[F_CPUS] || w->f[F_CPUS] > ARRAY_LEN(w->cpu_delay_ns))
		w->f[F_CPUS] = 1;
	if (!w->f[F_FAULTS] && !w->f[F_WRITES] && !w->f[F_LOCKS])
		w->f[F_LOCKS] = 1;
	if (w->f[F_FAMILY] == 3 && !w->f[F_LOCKS])
		w->f[F_LOCKS] = 1;
	for (u32 i = 0; i < ARRAY_LEN(w->cpu_delay_ns); i++)
		w->cpu_delay_ns[i] = w->f[F_DISORDER] ? rng_below(&w->rng, 300 * NS_US) : 0;
}

static int by_key(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->key_ns != y->key_ns)
		return x->key_ns < y->key_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void write_file(struct world *w)
{
	u32 marks = w->f[F_LOST], lost_at[8], n_lost = 0;

	if (!w->f[F_NO_HEADER])
		out_printf(
			"# tracer: nop\n#\n# entries-in-buffer/entries-written: %u/%u   #P:%u\n#\n",
			w->n, w->n, w->f[F_CPUS]);
	for (u32 i = 0; i < marks && i < ARRAY_LEN(lost_at); i++)
		lost_at[n_lost++] = (u32)rng_below(&w->rng, w->n + 1);
	for (u32 i = 0; i <= w->n; i++) {
		for (u32 k = 0; k < n_lost; k++) {
			u32 cpu = (u32)rng_below(&w->rng, w->f[F_CPUS]);

			if (lost_at[k] != i)
				continue;
			if (rng_percent(&w->rng, 25))
				out_printf("CPU:%u [LOST EVENTS]\n", cpu);
			else
				out_printf("CPU:%u [LOST %u EVENTS]\n", cpu,
					   (u32)rng_range(&w->rng, 1, 500));
		}
		if (i < w->n)
			out_printf("%s\n", w->records[i].text);
	}
}

void random_run(const struct gen_options *o)
{
	struct world *w = gen_alloc(sizeof(*w));
	u64 limit = o->lines * 50 + 1000;

	w->rng.state = o->seed;
	draw_features(w);
	w->max = (u32)o->lines;
	w->records = gen_alloc(sizeof(*w->records) * w->max);
	w->start_ns = 100 * NS_S;
	w->now_ns = w->start_ns;
	world_start(w);
	while (w->n < w->max && limit--)
		world_step(w);
	qsort(w->records, w->n, sizeof(*w->records), by_key);
	write_file(w);
	free(w->records);
	free(w);
}
