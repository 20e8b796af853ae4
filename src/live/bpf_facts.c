/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_facts.c: what this kernel's BTF and tracefs say of its events and structs. Layer: live.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "live/bpf_load_priv.h"
#include "live/probe_bpf.h"

/* The parameters of an event, typedef void (*btf_trace_NAME)(void *, ...); NULL: no such event. */
static const struct btf_type *event_proto(const struct btf *btf, const char *event)
{
	const struct btf_type *t;
	char name[96];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", event);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	t = t ? btf__type_by_id(btf, t->type) : NULL; /* the pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

static bool param_is_pointer(const struct btf *btf, const struct btf_type *proto, u32 i)
{
	const struct btf_type *t;
	u32 id;

	if (i >= btf_vlen(proto))
		return false;
	for (id = btf_params(proto)[i].type; (t = btf__type_by_id(btf, id)); id = t->type)
		if (!btf_is_mod(t) && !btf_is_typedef(t))
			return btf_is_ptr(t);
	return false;
}

static bool struct_has(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	const char *name;

	for (u32 i = 0; t && i < btf_vlen(t); i++) {
		name = btf__name_by_offset(btf, btf_members(t)[i].name_off);
		if (name && !strcmp(name, member))
			return true;
	}
	return false;
}

int bpf_facts_read(struct bpf_facts *f, struct error *e)
{
	const struct btf_type *start, *acquired, *sched;
	struct probe_bpf probe = { .vmlinux = btf__load_vmlinux_btf() };
	const struct btf *btf = probe.vmlinux;

	*f = (struct bpf_facts){ 0 };
	if (!btf)
		return error_set(
			e, -ENOENT,
			"this kernel tells no types (no BTF at /sys/kernel/btf/vmlinux, "
			"CONFIG_DEBUG_INFO_BTF): the BPF programs cannot be fitted to it; use "
			"'mmscope record', which reads ftrace events");
	start = event_proto(btf, "mmap_lock_start_locking");
	acquired = event_proto(btf, "mmap_lock_acquire_returned");
	sched = event_proto(btf, "sched_switch");
	f->lock_events = start && acquired && event_proto(btf, "mmap_lock_released");
	/* (void *, mm, const char *memcg_path, bool write[, bool success]) up to 6.13 */
	f->lock_arg_shift = start && param_is_pointer(btf, start, 2);
	f->lock_tells_success = acquired && btf_vlen(acquired) >= 4u + f->lock_arg_shift;
	/* (void *, bool preempt, prev, next[, unsigned prev_state]): 5.18 */
	f->switch_tells_state = sched && btf_vlen(sched) >= 5;
	f->fault_events =
		event_proto(btf, "page_fault_user") && event_proto(btf, "page_fault_kernel");
	f->contention_events =
		event_proto(btf, "contention_begin") && event_proto(btf, "contention_end");
	f->waking_event = event_proto(btf, "sched_waking");
	f->vma_refcnt = probe_bpf_vma_lock(&probe) == PROBE_VMA_LOCK_REFCOUNT;
	f->vma_rwsem = probe_bpf_vma_lock(&probe) == PROBE_VMA_LOCK_RWSEM;
	f->rwsem_count = struct_has(btf, "rw_semaphore", "count");
	f->task_from_pid = btf__find_by_name_kind(btf, "bpf_task_from_pid", BTF_KIND_FUNC) > 0 &&
			   btf__find_by_name_kind(btf, "bpf_task_release", BTF_KIND_FUNC) > 0;
	btf__free(probe.vmlinux);
	return 0;
}

/* "	field:bool write;	offset:24;	size:1;	signed:0;" -> 24, 0 = no such field */
static u16 field_offset(const char *format, const char *field)
{
	char key[32];
	const char *p;

	snprintf(key, sizeof(key), " %s;", field);
	p = strstr(format, key);
	p = p ? strstr(p, "offset:") : NULL;
	return p ? (u16)strtoul(p + strlen("offset:"), NULL, 10) : 0;
}

int bpf_facts_classic(u16 *ret_mm, u16 *ret_write, u16 *ret_success)
{
	char *format = tracefs_event_file_read(NULL, "mmap_lock", "mmap_lock_acquire_returned",
					       "format", NULL);

	if (!format)
		return -ENOENT;
	*ret_mm = field_offset(format, "*mm");
	if (!*ret_mm)
		*ret_mm = field_offset(format, "mm");
	*ret_write = field_offset(format, "write");
	*ret_success = field_offset(format, "success");
	free(format);
	return *ret_mm && *ret_write ? 0 : -EPROTO;
}

bool bpf_facts_locked_down(void)
{
	char text[128] = "";
	int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	/* "none integrity [confidentiality]" */
	return n > 0 && strstr(text, "[confidentiality]");
}
