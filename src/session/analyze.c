/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/analyze.c: analyses a stored trace (see analyze.h). Layer: session. */
#include "session/analyze.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "decode/format.h"
#include "session/prepass.h"
#include "session/run.h"

/* Each family flag of struct pair_seen and each digit of the clock can ask for another pass once.
 */
#define MAX_PASSES 24
#define DETECT_BYTES 65536

/*
 * Refuses by name what another command or a later version reads. *@ret_bpf: BPF records rather than
 * text.
 */
static int check_format(struct source_set *set, bool *ret_bpf, struct error *e)
{
	for (size_t i = 0; i < set->n_streams; i++) {
		struct source_block b;
		enum trace_format f;
		int err = source_read(set->streams[i], &b, e);

		if (err < 0)
			return err;
		if (!err || !b.len)
			continue;
		f = format_detect(b.data, b.len < DETECT_BYTES ? b.len : DETECT_BYTES);
		if (f != FORMAT_UNKNOWN && !format_is_supported(f))
			return error_set(e, -ENOTSUP,
					 "%s: this is %s, which mmscope does not read yet",
					 source_name(set->streams[i]), format_name(f));
		if (f == FORMAT_UNKNOWN)
			return error_set(e, -EINVAL,
					 "%s: no trace format that mmscope knows; expected ftrace "
					 "text (trace, "
					 "trace_pipe, trace-cmd report) or a recording of "
					 "mmscope's",
					 source_name(set->streams[i]));
		if (f != FORMAT_BPF)
			continue;
		if (set->n_chunks > 1)
			return error_set(e, -ENOTSUP,
					 "%s: BPF records are one file; give it by itself",
					 set->path);
		*ret_bpf = true;
	}
	return 0;
}

static void load_info(struct run *run, const char *path, struct result *r)
{
	struct error e = { 0 };
	struct stat st;
	int err;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return;
	err = session_dir_load(path, &run->info, &e);
	run->has_info = !err;
	if (err && err != -ENOENT)
		result_note(r, NOTE_WARNING, "%s", e.msg);
}

static int run_passes(struct run *run, struct result *r, struct error *e)
{
	int err;

	do {
		err = run_pass(run, e);
		if (!err)
			err = run_assemble(run, r, e);
		run_pass_done(run);
		if (err == RUN_NEEDS_GAPS) {
			run->gaps_known = true;
			err = prepass_find_gaps(run->set, run->opts->allow_step_back, &run->gaps,
						e);
			err = err ? err : PAIR_RESTART;
		}
	} while (err == PAIR_RESTART && run->passes < MAX_PASSES);
	if (err == PAIR_RESTART)
		err = error_set(e, -ELOOP,
				"the trace's event families keep changing; please report this");
	return err;
}

/* Is that part of the recording missing? "faults=0", "rung.sleeps=none (no sched_switch)" */
static bool is_missing(const struct bpf_scan *s, const char *key, const char *value)
{
	const char *v = bpf_scan_note(s, key);
	size_t len = strlen(value);

	return v && !strncmp(v, value, len) && (!v[len] || v[len] == ' ');
}

/*
 * Which families a BPF recording covers is not told by its events, of which there may be none: it
 * covers all, but for what its notes say was left out.
 */
static int scan_bpf(struct run *run, struct error *e)
{
	const struct bpf_scan *s = &run->scan;
	int err = bpf_scan_run(&run->scan, &run->input, &run->gaps, &run->strings, &run->stacks, e);
	bool sleeps = !is_missing(s, "rung.sleeps", "none");

	run->gaps_known = true;
	run->seen = (struct pair_seen){ .bpf = true, .prios = true, .states = true };
	run->seen.vendor_waits = run->seen.vendor_holds = true;
	run->seen.vma_waits = sleeps;
	run->seen.faults = sleeps && !is_missing(s, "faults", "0");
	run->seen.fault_waits = run->seen.fault_ends = run->seen.faults;
	return err;
}

static void run_init(struct run *run)
{
	session_info_init(&run->info);
	intern_init(&run->strings);
	stacks_init(&run->stacks);
	gaps_init(&run->gaps);
	origins_init(&run->origins);
	bpf_scan_init(&run->scan);
}

static void run_done(struct run *run)
{
	source_set_free(run->set);
	bpf_scan_done(&run->scan);
	origins_done(&run->origins);
	gaps_done(&run->gaps);
	stacks_done(&run->stacks);
	intern_done(&run->strings);
	session_info_done(&run->info);
}

int session_analyze(const char *path, const struct analyze_opts *opts, struct result *r,
		    struct error *e)
{
	struct run run = { .opts = opts };
	int err;

	run_init(&run);
	err = source_set_open(path, &run.set, e);
	if (!err)
		err = check_format(run.set, &run.bpf, e);
	if (err)
		goto out;
	load_info(&run, path, r);
	if (run.set->n_instead)
		result_note(r, NOTE_INFO,
			    "used: %s; %zu trace files beside it in the directory are not, give "
			    "one of them by itself",
			    source_name(run.set->streams[0]), run.set->n_instead);
	run.input.set = run.set;
	if (run.bpf)
		err = scan_bpf(&run, e);
	if (!err)
		err = run_passes(&run, r, e);
out:
	run_done(&run);
	return err;
}

int session_analyze_records(const struct analyze_block *blocks, size_t n_blocks,
			    const struct analyze_opts *opts, struct result *r, struct error *e)
{
	struct run run = { .opts = opts,
			   .bpf = true,
			   .input = { .blocks = blocks, .n_blocks = n_blocks } };
	int err;

	run_init(&run);
	err = scan_bpf(&run, e);
	if (!err)
		err = run_passes(&run, r, e);
	run_done(&run);
	return err;
}
