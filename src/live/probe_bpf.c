/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/probe_bpf.c: BPF program and map types by trying (see probe_bpf.h). Layer: live. */
#include "live/probe_bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "live/probe_trace.h"

/* How a loaded program is attached for a moment. */
enum attach_how {
	ATTACH_PERF_TRACEPOINT,
	ATTACH_RAW_TRACEPOINT,
	ATTACH_BTF, /* the target is in the program: raw_tracepoint_open without a name */
	ATTACH_KPROBE,
	ATTACH_ITER, /* opened, never read: reading task_vma takes the mmap_lock of every process */
	ATTACH_PERF_SOFTWARE
};
struct prog_row {
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	const char *btf_format; /* of the BTF type to attach to, NULL = none */
	u32 btf_kind;
	const char *target;
	enum attach_how how;
};

static const struct prog_row prog_rows[PROBE_PROG_N] = {
	[PROBE_PROG_TRACEPOINT] = { BPF_PROG_TYPE_TRACEPOINT, 0, NULL, 0, "sched_switch",
				    ATTACH_PERF_TRACEPOINT },
	[PROBE_PROG_RAW_TRACEPOINT] = { BPF_PROG_TYPE_RAW_TRACEPOINT, 0, NULL, 0, "sched_switch",
					ATTACH_RAW_TRACEPOINT },
	[PROBE_PROG_TP_BTF_MMAP_LOCK] = { BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "btf_trace_%s",
					  BTF_KIND_TYPEDEF, "mmap_lock_start_locking", ATTACH_BTF },
	[PROBE_PROG_TP_BTF_SCHED_SWITCH] = { BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP,
					     "btf_trace_%s", BTF_KIND_TYPEDEF, "sched_switch",
					     ATTACH_BTF },
	[PROBE_PROG_FENTRY] = { BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "%s", BTF_KIND_FUNC,
				"handle_mm_fault", ATTACH_BTF },
	[PROBE_PROG_KPROBE] = { BPF_PROG_TYPE_KPROBE, 0, NULL, 0, "handle_mm_fault",
				ATTACH_KPROBE },
	[PROBE_PROG_LSM] = { BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_%s", BTF_KIND_FUNC,
			     "file_mprotect", ATTACH_BTF },
	[PROBE_PROG_ITER_TASK] = { BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "bpf_iter_%s",
				   BTF_KIND_FUNC, "task", ATTACH_ITER },
	[PROBE_PROG_ITER_TASK_VMA] = { BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "bpf_iter_%s",
				       BTF_KIND_FUNC, "task_vma", ATTACH_ITER },
	[PROBE_PROG_PERF_EVENT] = { BPF_PROG_TYPE_PERF_EVENT, 0, NULL, 0, "page-faults",
				    ATTACH_PERF_SOFTWARE },
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void probe_bpf_init(struct probe_bpf *p, const char *tracing_dir)
{
	*p = (struct probe_bpf){ .tracing_dir = tracing_dir };
	p->old_print = (void *)libbpf_set_print(print_nothing);
	p->vmlinux = btf__load_vmlinux_btf();
	if (!p->vmlinux)
		p->vmlinux_err = errno ? -errno : -ENOENT;
}

void probe_bpf_done(struct probe_bpf *p)
{
	btf__free(p->vmlinux);
	p->vmlinux = NULL;
	libbpf_set_print((libbpf_print_fn_t)p->old_print);
}

static int prog_load(const struct prog_row *row, u32 btf_id)
{
	/* r0 = 0; exit: what the verifier accepts for every type here */
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = row->attach,
		    .attach_btf_id = btf_id, .attempts = 2);

	return bpf_prog_load(row->type, "mmscope_probe", "GPL", insns, ARRAY_LEN(insns), &opts);
}

/* Attaches to a disabled event of this thread alone: no program ever runs. */
static int attach_perf(struct perf_event_attr *attr, int prog_fd)
{
	int fd, err;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = probe_perf_open(attr, 0, -1);
	if (fd < 0)
		return fd;
	err = ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) ? -errno : 0;
	close(fd);
	return err;
}

static int attach_kprobe(const char *function, int prog_fd)
{
	struct perf_event_attr attr = { .config1 = (u64)(uintptr_t)function };
	int err = probe_perf_kprobe_type(&attr.type);

	return err ? err : attach_perf(&attr, prog_fd);
}

static int attach_tracepoint(const struct probe_bpf *p, const char *name, int prog_fd)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	u64 id = 0;
	int err = probe_trace_event_id(p->tracing_dir, "sched", name, &id);

	attr.config = id;
	return err ? err : attach_perf(&attr, prog_fd);
}

static int attach_iter(int prog_fd)
{
	int link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL), fd;

	if (link < 0)
		return -errno;
	fd = bpf_iter_create(link);
	close(link);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int attach_raw(const char *name, int prog_fd)
{
	int fd = bpf_raw_tracepoint_open(name, prog_fd);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int prog_attach(const struct probe_bpf *p, const struct prog_row *row, int prog_fd)
{
	struct perf_event_attr software = { .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_PAGE_FAULTS,
					    .sample_period = 1 };

	switch (row->how) {
	case ATTACH_PERF_TRACEPOINT:
		return attach_tracepoint(p, row->target, prog_fd);
	case ATTACH_RAW_TRACEPOINT:
		return attach_raw(row->target, prog_fd);
	case ATTACH_BTF:
		return attach_raw(NULL, prog_fd);
	case ATTACH_KPROBE:
		return attach_kprobe(row->target, prog_fd);
	case ATTACH_ITER:
		return attach_iter(prog_fd);
	case ATTACH_PERF_SOFTWARE:
		return attach_perf(&software, prog_fd);
	}
	return -EINVAL;
}

struct probe_outcome probe_bpf_try_prog(const struct probe_bpf *p, enum probe_bpf_prog prog)
{
	const struct prog_row *row = &prog_rows[prog];
	struct probe_outcome o = { .target = row->target };
	int btf_id = 0, fd;

	if (row->btf_format) {
		char name[128];

		snprintf(name, sizeof(name), row->btf_format, row->target);
		btf_id = p->vmlinux ? btf__find_by_name_kind(p->vmlinux, name, row->btf_kind)
				    : p->vmlinux_err;
		if (btf_id < 0) {
			o.stage = PROBE_STAGE_TARGET;
			o.err = btf_id;
			return o;
		}
	}
	fd = prog_load(row, (u32)btf_id);
	if (fd < 0) {
		o.stage = PROBE_STAGE_LOAD;
		o.err = fd;
		return o;
	}
	/* A classic tracepoint is found by its id in tracefs: without it, loading is all there is.
	 */
	if (row->how != ATTACH_PERF_TRACEPOINT || p->tracing_dir) {
		o.err = prog_attach(p, row, fd);
		o.attached = !o.err;
		o.stage = o.err ? PROBE_STAGE_ATTACH : PROBE_STAGE_DONE;
	}
	close(fd);
	return o;
}

/* Local storage describes key (int) and value (int) by BTF. */
static int task_storage_create(void)
{
	struct btf *btf = btf__new_empty();
	int id, fd = -ENOMEM;

	if (!btf)
		return -errno;
	id = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	if (id > 0 && !(fd = btf__load_into_kernel(btf))) {
		LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC,
			    .btf_fd = (u32)btf__fd(btf), .btf_key_type_id = (u32)id,
			    .btf_value_type_id = (u32)id);

		fd = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "mmscope_probe", 4, 4, 0, &opts);
	}
	btf__free(btf);
	return fd;
}

struct probe_outcome probe_bpf_try_map(enum probe_bpf_map map)
{
	struct probe_outcome o = { 0 };
	int fd = map == PROBE_MAP_RINGBUF ? bpf_map_create(BPF_MAP_TYPE_RINGBUF, "mmscope_probe", 0,
							   0, (u32)sysconf(_SC_PAGESIZE), NULL)
					  : task_storage_create();

	if (fd < 0) {
		o.stage = PROBE_STAGE_LOAD;
		o.err = fd;
		return o;
	}
	close(fd);
	return o;
}

/* Whether the struct has the member, unnamed structs and unions inside it included. */
static bool btf_has_member(const struct btf *btf, u32 type_id, const char *name, u32 depth)
{
	const struct btf_type *t = btf__type_by_id(btf, type_id);
	const struct btf_member *m;

	if (!t || !btf_is_composite(t) || depth > 4)
		return false;
	m = btf_members(t);
	for (u32 i = 0; i < btf_vlen(t); i++) {
		const char *member = btf__name_by_offset(btf, m[i].name_off);

		if (!member)
			continue;
		if (!*member ? btf_has_member(btf, m[i].type, name, depth + 1)
			     : !strcmp(member, name))
			return true;
	}
	return false;
}

enum probe_vma_lock probe_bpf_vma_lock(const struct probe_bpf *p)
{
	int id = p->vmlinux ? btf__find_by_name_kind(p->vmlinux, "vm_area_struct", BTF_KIND_STRUCT)
			    : -ENOENT;

	if (id < 0)
		return PROBE_VMA_LOCK_UNKNOWN;
	if (btf_has_member(p->vmlinux, (u32)id, "vm_refcnt", 0))
		return PROBE_VMA_LOCK_REFCOUNT;
	if (btf_has_member(p->vmlinux, (u32)id, "vm_lock", 0))
		return PROBE_VMA_LOCK_RWSEM;
	return PROBE_VMA_LOCK_NONE;
}
