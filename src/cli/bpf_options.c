/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/bpf_options.c: see bpf_options.h. Layer: cli. */
#include "cli/bpf_options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *bpf_cli_any_given(const struct bpf_cli *o)
{
	if (o->min_us != BPF_CLI_NOT_GIVEN)
		return "--min-us";
	if (o->ring_mb != BPF_CLI_NOT_GIVEN)
		return "--ring";
	if (o->no_faults)
		return "--no-faults";
	if (o->user_stacks)
		return "--user-stacks";
	if (o->rung)
		return "--rung";
	return o->cgroup ? "--cgroup" : NULL;
}

static int open_cgroup(const char *path, int *ret_fd, struct error *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return error_set(e, -errno, "--cgroup %.300s: %s", path, strerror(errno));
	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		close(fd);
		return error_set(e, -EINVAL,
				 "--cgroup %.300s: not a directory of a cgroup v2 hierarchy "
				 "(often /sys/fs/cgroup, beside v1 /sys/fs/cgroup/unified)",
				 path);
	}
	*ret_fd = fd;
	return 0;
}

int bpf_cli_load_opts(const struct bpf_cli *o, bool filter_mm, struct bpf_load_opts *ret,
		      struct error *e)
{
	u64 ring_bytes = 1u << 20;

	*ret = (struct bpf_load_opts){
		.min_wait_ns = (o->min_us == BPF_CLI_NOT_GIVEN ? BPF_CLI_MIN_US : o->min_us) * 1000,
		.user_stacks = o->user_stacks,
		.faults = !o->no_faults,
		.filter_mm = filter_mm,
		.cgroup_fd = -1,
		.ring_bytes = BPF_LOAD_RING_BYTES,
		.own_tgid = (u64)getpid(),
		.force = o->rung,
	};
	if (o->ring_mb != BPF_CLI_NOT_GIVEN) {
		while (ring_bytes < o->ring_mb << 20)
			ring_bytes *= 2;
		ret->ring_bytes = ring_bytes;
	}
	return o->cgroup ? open_cgroup(o->cgroup, &ret->cgroup_fd, e) : 0;
}

bool bpf_cli_describe_rung(const struct bpf_rung *r, char *ret, size_t size)
{
	snprintf(ret, size, "%s: %s%s%s%s", r->part, r->how ? r->how : "not at all",
		 r->why[0] ? " (" : "", r->why, r->why[0] ? ")" : "");
	return !r->how || r->why[0];
}

void bpf_cli_warn_rungs(const struct verb *v, const struct bpf_rungs *rungs)
{
	char text[256];

	for (size_t i = 0; i < rungs->list.n; i++)
		if (bpf_cli_describe_rung(&rungs->list.v[i], text, sizeof(text)))
			cli_warn(v, "%s", text);
}
