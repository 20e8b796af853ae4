/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_load.c: the life of the BPF programs in the kernel (see bpf_load.h). Layer: live. */
#include "live/bpf_load.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/bpf_load_priv.h"

static int map_fd(const struct bpf_load *l, const char *name)
{
	return bpf_object__find_map_fd_by_name(l->object, name);
}

/* The programs' counters, shared: the loader reads them without a system call, and resets some. */
static int counters_map(struct bpf_load *l, struct error *e)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t bytes = (sizeof(*l->counters) + (size_t)page - 1) / (size_t)page * (size_t)page;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(l, ".data.counters"),
		       0);

	if (p == MAP_FAILED)
		return error_set(e, -errno, "cannot map the BPF counters: %s", strerror(errno));
	l->counters = p;
	l->counters_bytes = bytes;
	return 0;
}

static int cgroup_set(struct bpf_load *l, struct error *e)
{
	u32 zero = 0, fd = (u32)l->opts.cgroup_fd;

	if (l->opts.cgroup_fd < 0)
		return 0;
	if (bpf_map_update_elem(map_fd(l, "cgroups"), &zero, &fd, BPF_ANY))
		return error_set(e, -errno, "cannot filter by this cgroup (it must be of v2): %s",
				 strerror(errno));
	return 0;
}

/* Before anything else: the plain reasons, which the verifier would hide behind EPERM. */
static int may_load(struct error *e)
{
	int fd;

	if (bpf_facts_locked_down())
		return error_set(
			e, -EPERM,
			"the kernel is locked down (confidentiality): BPF programs may not "
			"read kernel memory; boot with lockdown=integrity, or use 'mmscope "
			"record', which reads ftrace events where they are allowed");
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "mmscope_probe", 0, 0, (u32)sysconf(_SC_PAGESIZE),
			    NULL);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EPERM)
		return error_set(e, -EPERM, "%s", BPF_NOT_ALLOWED);
	return error_set(e, -errno,
			 "this kernel has no BPF ring buffer (5.8): %s; use 'mmscope "
			 "record', which reads ftrace events",
			 strerror(errno));
}

int bpf_load_new(const struct bpf_load_opts *opts, const struct kallsyms *syms,
		 struct bpf_load **ret, struct error *e)
{
	struct bpf_load *l = calloc(1, sizeof(*l));
	int code;

	*ret = NULL;
	if (!l)
		return error_set(e, -ENOMEM, "out of memory");
	l->opts = *opts;
	code = may_load(e);
	if (!code)
		code = bpf_facts_read(&l->facts, e);
	if (!code && !l->facts.lock_events)
		code = error_set(e, -ENOENT,
				 "this kernel has no mmap_lock events (5.11, CONFIG_TRACEPOINTS): "
				 "nothing else tells of its waits");
	if (!code)
		code = bpf_rungs_load(l, syms, e);
	if (!code)
		code = counters_map(l, e);
	if (!code)
		code = cgroup_set(l, e);
	if (code) {
		bpf_load_free(l);
		return code;
	}
	*ret = l;
	return 0;
}

void bpf_load_free(struct bpf_load *l)
{
	if (!l)
		return;
	bpf_load_detach(l);
	bpf_link__destroy(l->iter);
	if (l->counters)
		munmap(l->counters, l->counters_bytes);
	bpf_object__close(l->object);
	vec_done(&l->rungs.list);
	free(l);
}

static int drop(void *ctx, const void *records, size_t len)
{
	(void)ctx;
	(void)records;
	(void)len;
	return 0;
}

int bpf_load_watch(struct bpf_load *l, pid_t tgid, struct error *e)
{
	struct bpf_watched_tgid none = { 0 };
	u32 key = (u32)tgid;

	if (!l->opts.filter_mm)
		return error_set(e, -EINVAL, "a filter by process was not asked for");
	if (bpf_map_update_elem(map_fd(l, "watched_tgids"), &key, &none, BPF_NOEXIST) &&
	    errno != EEXIST)
		return error_set(e, -errno, "cannot watch process %d: %s", (int)tgid,
				 errno == E2BIG ? "too many processes" : strerror(errno));
	__atomic_fetch_add(&l->counters->watch_gen, 1, __ATOMIC_RELAXED);
	/* The iterator finds its address space: a thread of another process may lock it first. */
	return l->iter ? bpf_load_snapshot(l, UINT64_MAX, false, drop, NULL, e) : 0;
}

int bpf_load_attach(struct bpf_load *l, struct error *e)
{
	int code = bpf_rungs_attach(l, e);

	if (!code && l->opts.filter_mm && l->iter)
		code = bpf_load_snapshot(l, UINT64_MAX, false, drop, NULL, e);
	if (code)
		bpf_load_detach(l);
	return code;
}

void bpf_load_detach(struct bpf_load *l)
{
	/* the last attached first: what starts a wait goes before what ends it */
	while (l->n_links)
		bpf_link__destroy(l->links[--l->n_links]);
}

const struct bpf_rungs *bpf_load_rungs(const struct bpf_load *l)
{
	return &l->rungs;
}

int bpf_load_ring_fd(const struct bpf_load *l)
{
	return map_fd(l, "ring");
}

u64 bpf_load_take_lost(struct bpf_load *l, u64 *ret_first_ns, u64 *ret_last_ns)
{
	struct bpf_lost *lost = &l->counters->lost;
	u64 n = 0;

	for (int i = 0; i < BREC_LIMIT; i++)
		n += __atomic_load_n(&lost->n[i], __ATOMIC_RELAXED);
	*ret_first_ns = *ret_last_ns = 0;
	if (n != l->lost_taken) {
		*ret_last_ns = __atomic_load_n(&lost->last_ns, __ATOMIC_RELAXED);
		*ret_first_ns = __atomic_exchange_n(&lost->first_ns, 0, __ATOMIC_RELAXED);
		if (!*ret_first_ns) /* lost while this was read */
			*ret_first_ns = *ret_last_ns;
	}
	l->lost_taken = n;
	return n;
}

u64 bpf_load_untold_holds(const struct bpf_load *l)
{
	return __atomic_load_n(&l->counters->holds_untold, __ATOMIC_RELAXED);
}

u64 bpf_load_refused(const struct bpf_load *l)
{
	return __atomic_load_n(&l->counters->states_refused, __ATOMIC_RELAXED) +
	       __atomic_load_n(&l->counters->slots_refused, __ATOMIC_RELAXED);
}
