/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_load_none.c: the loader of a build without BPF programs: it says so. Layer: live. */
#include <errno.h>

#include "live/bpf_load.h"

int bpf_load_new(const struct bpf_load_opts *opts, const struct kallsyms *syms,
		 struct bpf_load **ret, struct error *e)
{
	(void)opts;
	(void)syms;
	*ret = NULL;
	return error_set(e, -ENOTSUP,
			 "this mmscope was built without its BPF programs (clang and bpftool were "
			 "not there); use 'mmscope record', which reads ftrace events");
}

/* The rest needs a loader, and there is none. */
void bpf_load_free(struct bpf_load *l)
{
	(void)l;
}

int bpf_load_watch(struct bpf_load *l, pid_t tgid, struct error *e)
{
	(void)l;
	(void)tgid;
	return error_set(e, -ENOTSUP, "no BPF programs in this build");
}

int bpf_load_attach(struct bpf_load *l, struct error *e)
{
	(void)l;
	return error_set(e, -ENOTSUP, "no BPF programs in this build");
}

void bpf_load_detach(struct bpf_load *l)
{
	(void)l;
}

const struct bpf_rungs *bpf_load_rungs(const struct bpf_load *l)
{
	static const struct bpf_rungs none = { .list = VEC_INIT };

	(void)l;
	return &none;
}

int bpf_load_ring_fd(const struct bpf_load *l)
{
	(void)l;
	return -ENOTSUP;
}

u64 bpf_load_take_lost(struct bpf_load *l, u64 *ret_first_ns, u64 *ret_last_ns)
{
	(void)l;
	*ret_first_ns = *ret_last_ns = 0;
	return 0;
}

u64 bpf_load_untold_holds(const struct bpf_load *l)
{
	(void)l;
	return 0;
}

u64 bpf_load_refused(const struct bpf_load *l)
{
	(void)l;
	return 0;
}

int bpf_load_snapshot(struct bpf_load *l, u64 min_age_ns, bool totals,
		      int (*sink)(void *ctx, const void *records, size_t len), void *ctx,
		      struct error *e)
{
	(void)l;
	(void)min_age_ns;
	(void)totals;
	(void)sink;
	(void)ctx;
	return error_set(e, -ENOTSUP, "no BPF programs in this build");
}
