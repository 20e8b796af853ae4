/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/bpf_options.h: the options of the BPF programs (bpf_options.def), and what each verb says of
 * the programs. Layer: cli. */
#ifndef MMSCOPE_CLI_BPF_OPTIONS_H
#define MMSCOPE_CLI_BPF_OPTIONS_H

#include "cli/options.h"
#include "live/bpf_capture.h"

#define BPF_CLI_NOT_GIVEN UINT64_MAX
struct bpf_cli {
	u64 min_us, ring_mb; /* or BPF_CLI_NOT_GIVEN */
	bool no_faults, user_stacks;
	const char *cgroup, *rung;
};
#define BPF_CLI_INIT                                                      \
	{                                                                 \
		.min_us = BPF_CLI_NOT_GIVEN, .ring_mb = BPF_CLI_NOT_GIVEN \
	}
#define BPF_CLI_MIN_US 10

/* The name of an option that was given, for a verb that cannot use it; NULL when none was. */
const char *bpf_cli_any_given(const struct bpf_cli *o);
/*
 * What the loader wants. @ret->cgroup_fd belongs to the caller (-1: none).
 */
int bpf_cli_load_opts(const struct bpf_cli *o, bool filter_mm, struct bpf_load_opts *ret,
		      struct error *e) MUST_CHECK;
/* "sleeps: not at all (no sched_switch)" into @ret; false when the part is done the best way. */
bool bpf_cli_describe_rung(const struct bpf_rung *r, char *ret, size_t size);
/* One line on stderr for each part that is missing or done in a lesser way. */
void bpf_cli_warn_rungs(const struct verb *v, const struct bpf_rungs *rungs);

#endif
