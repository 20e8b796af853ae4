/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_locks.h: one run of `mmscope locks`, shared by the files of its verb. Layer: cli. */
#ifndef MMSCOPE_CLI_CMD_LOCKS_H
#define MMSCOPE_CLI_CMD_LOCKS_H

#include "cli/bpf_options.h"
#include "cli/locks_screen.h"
#include "cli/options.h"
#include "cli/target.h"
#include "live/bpf_window.h"
#include "render/locks.h"

struct locks_opts {
	struct opt_u64s pids;
	struct opt_strings comms;
	bool all, json;
	u64 interval_ns, duration_ns;
	u64 top; /* or LOCKS_TOP_NOT_GIVEN */
	struct bpf_cli bpf;
};
#define LOCKS_TOP_NOT_GIVEN UINT64_MAX
#define LOCKS_TOP_DEFAULT 5 /* rows per table where no screen decides */

/* What was read so far, to tell what a window added. */
struct locks_sums {
	u64 records, bytes, lost, cpu_ns;
};

struct locks {
	const struct verb *verb;
	const struct locks_opts *o;
	struct target target;
	struct bpf_capture *capture;
	struct bpf_window *window;
	int cgroup_fd;
	struct screen screen;
	struct render_opts render;
	/* mmscope's own TOTALS in the snapshot that is being taken */
	bool in_snapshot;
	u64 own_waits, own_wait_ns;
	struct locks_sums before;
	u64 stop_cpu_ns; /* 0 until then */
	struct locks_frame frame;
	char clock[16], scope[256];
	struct {
		VEC(char *) list;
	} rungs;
	struct result result; /* of the last refresh, for a screen whose size changes */
	bool has_result;
};

/* A bpf_sink: into the window; ctx is the struct locks. */
int locks_take_records(void *ctx, const void *records, size_t len);
/* Keeps the lesser rungs for every refresh; says them on stderr. */
int locks_note_rungs(struct locks *l, struct error *e) MUST_CHECK;
/* Takes the programs off; what they cost until then is what the last refresh says. */
int locks_stop(struct locks *l, struct error *e) MUST_CHECK;
/* Where the first window begins, and what was spent before it. */
void locks_begin(struct locks *l);
/*
 * Analyses what was told up to now_ns, shows it and begins the next window. @last: the programs are
 * off. -EPIPE: nobody reads any more.
 */
int locks_refresh(struct locks *l, u64 now_ns, bool last, struct error *e) MUST_CHECK;
/* The last refresh once more, at the screen's new size. */
int locks_redraw(struct locks *l, struct error *e) MUST_CHECK;
void locks_done(struct locks *l);

#endif
