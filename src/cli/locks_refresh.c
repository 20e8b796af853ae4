/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/locks_refresh.c: one window of records to a result, and that to a screen, to plain text or to
 * a line of JSON (see cmd_locks.h). Layer: cli.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/cmd_locks.h"
#include "session/analyze.h"
#include "wire/bpf_record.h"

#define OPEN_AGE_NS 1000000ULL /* a wait that is open for less is about to end */

/* Sums our own waits, which the programs count apart. */
static void take_own_totals(struct locks *l, const char *records, size_t len)
{
	struct bpf_rec_totals t;
	struct bpf_rec_head head;

	for (size_t i = 0; i + sizeof(head) <= len; i += head.size) {
		memcpy(&head, records + i, sizeof(head));
		if (head.size < sizeof(head) || head.size > len - i)
			return;
		if (head.kind != BREC_TOTALS || head.size < sizeof(t))
			continue;
		memcpy(&t, records + i, sizeof(t));
		if (!(t.flags & BFLAG_OWN))
			continue;
		l->own_waits += t.wait[0].count + t.wait[1].count;
		l->own_wait_ns += t.wait[0].sum_ns + t.wait[1].sum_ns;
	}
}

int locks_take_records(void *ctx, const void *records, size_t len)
{
	struct locks *l = ctx;

	if (l->in_snapshot)
		take_own_totals(l, records, len);
	return bpf_window_add(l->window, records, len);
}

int locks_note_rungs(struct locks *l, struct error *e)
{
	const struct bpf_rungs *rungs = bpf_capture_rungs(l->capture);
	char text[256], **slot;

	bpf_cli_warn_rungs(l->verb, rungs);
	for (size_t i = 0; i < rungs->list.n; i++) {
		if (!bpf_cli_describe_rung(&rungs->list.v[i], text, sizeof(text)))
			continue;
		slot = vec_push(&l->rungs.list);
		if (slot)
			*slot = strdup(text);
		if (!slot || !*slot)
			return error_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static u64 own_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u))
		return 0;
	return ((u64)u.ru_utime.tv_sec + (u64)u.ru_stime.tv_sec) * 1000000000ULL +
	       ((u64)u.ru_utime.tv_usec + (u64)u.ru_stime.tv_usec) * 1000ULL;
}

static struct locks_sums sums_now(const struct locks *l)
{
	const struct bpf_capture_counts *c = bpf_capture_counts(l->capture);

	return (struct locks_sums){ .records = c->records,
				    .bytes = c->bytes,
				    .lost = c->lost,
				    .cpu_ns = l->stop_cpu_ns ? l->stop_cpu_ns : own_cpu_ns() };
}

static void note_clock(struct locks *l)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(l->clock, sizeof(l->clock), "%H:%M:%S", &tm);
}

void locks_begin(struct locks *l)
{
	l->before = sums_now(l);
	l->frame.begin_ns = bpf_window_begin_ns(l->window);
}

static void fill_frame(struct locks *l, u64 now_ns, bool last)
{
	struct locks_sums now = sums_now(l);
	struct locks_frame *f = &l->frame;

	note_clock(l);
	f->refresh++;
	f->last = last;
	f->scope = l->scope;
	f->clock = l->clock;
	f->end_ns = now_ns;
	f->lost = now.lost - l->before.lost;
	f->lost_all = now.lost;
	f->left_out = bpf_window_left_out(l->window);
	f->records = now.records - l->before.records;
	f->record_bytes = now.bytes - l->before.bytes;
	f->cpu_ns = now.cpu_ns - l->before.cpu_ns;
	f->own_waits = l->own_waits;
	f->own_wait_ns = l->own_wait_ns;
	/* On stderr they were said once; there a screen hides them. */
	f->rungs = (const char *const *)l->rungs.list.v;
	f->n_rungs = l->o->json || l->screen.open ? l->rungs.list.n : 0;
	l->before = now;
}

static int analyze(struct locks *l, struct error *e)
{
	struct bpf_block blocks[BPF_WINDOW_BLOCKS];
	struct analyze_block all[BPF_WINDOW_BLOCKS];
	struct analyze_opts o = {
		.analysis = { .contended_ns = ANALYZE_CONTENDED_NS,
			      .callers_window_ns = ANALYZE_WINDOW_NS,
			      .inversion_ns = ANALYZE_INVERSION_NS,
			      .comms = l->o->comms.list.v,
			      .n_comms = l->o->comms.list.n,
			      .ended_from_ns = bpf_window_begin_ns(l->window) },
	};
	size_t n = bpf_window_blocks(l->window, blocks);

	for (size_t i = 0; i < n; i++)
		all[i] = (struct analyze_block){ blocks[i].records, blocks[i].len };
	if (l->has_result)
		result_done(&l->result);
	result_init(&l->result);
	l->has_result = true;
	return session_analyze_records(all, n, &o, &l->result, e);
}

static int show_page(struct locks *l, struct error *e)
{
	char *page = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&page, &len);
	int err;

	if (!mem)
		return error_set(e, -ENOMEM, "out of memory");
	err = render_locks(&l->result, &l->frame, screen_lines(), mem, &l->render, e);
	if (fclose(mem) && !err)
		err = error_set(e, -ENOMEM, "out of memory");
	if (!err)
		err = screen_show(&l->screen, page, len);
	free(page);
	return err && !e->code
		       ? error_set(e, err, "cannot write to the terminal: %s", strerror(-err))
		       : err;
}

static int show(struct locks *l, struct error *e)
{
	if (l->o->json)
		return render_locks_json(&l->result, &l->frame, stdout, &l->render, e);
	/* The last one stays behind on the normal screen, in full. */
	if (l->frame.last)
		screen_close(&l->screen);
	if (l->screen.open)
		return show_page(l, e);
	if (l->frame.refresh > 1)
		putchar('\n');
	return render_locks(&l->result, &l->frame, 0, stdout, &l->render, e);
}

int locks_redraw(struct locks *l, struct error *e)
{
	return l->has_result && l->screen.open ? show_page(l, e) : 0;
}

/* Open waits and totals; of the latter ours are summed on the way. */
static int snapshot(struct locks *l, bool stop, struct error *e)
{
	int err;

	l->own_waits = 0;
	l->own_wait_ns = 0;
	l->in_snapshot = true;
	err = stop ? bpf_capture_stop(l->capture, e)
		   : bpf_capture_snapshot(l->capture, OPEN_AGE_NS, true, e);
	l->in_snapshot = false;
	return err;
}

int locks_stop(struct locks *l, struct error *e)
{
	l->stop_cpu_ns = own_cpu_ns();
	return snapshot(l, true, e);
}

int locks_refresh(struct locks *l, u64 now_ns, bool last, struct error *e)
{
	int err = last ? 0 : snapshot(l, false, e);

	if (!err)
		err = analyze(l, e);
	if (err)
		return err;
	fill_frame(l, now_ns, last);
	err = show(l, e);
	if (!err && bpf_window_next(l->window, now_ns))
		err = error_set(e, -ENOMEM, "out of memory");
	l->frame.begin_ns = now_ns;
	return err;
}

void locks_done(struct locks *l)
{
	if (l->has_result)
		result_done(&l->result);
	for (size_t i = 0; i < l->rungs.list.n; i++)
		free(l->rungs.list.v[i]);
	vec_done(&l->rungs.list);
	bpf_capture_free(l->capture);
	bpf_window_free(l->window);
	target_done(&l->target);
}
