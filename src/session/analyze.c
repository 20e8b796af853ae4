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

/* Refuses by name what another command or a later version reads. */
static int check_format(struct source_set *set, struct error *e)
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
					 "trace_pipe, trace-cmd report)",
					 source_name(set->streams[i]));
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

int session_analyze(const char *path, const struct analyze_opts *opts, struct result *r,
		    struct error *e)
{
	struct run run = { .opts = opts };
	int err;

	session_info_init(&run.info);
	intern_init(&run.strings);
	stacks_init(&run.stacks);
	gaps_init(&run.gaps);
	origins_init(&run.origins);
	err = source_set_open(path, &run.set, e);
	if (!err)
		err = check_format(run.set, e);
	if (err)
		goto out;
	load_info(&run, path, r);
	err = run_passes(&run, r, e);
out:
	source_set_free(run.set);
	origins_done(&run.origins);
	gaps_done(&run.gaps);
	stacks_done(&run.stacks);
	intern_done(&run.strings);
	session_info_done(&run.info);
	return err;
}
