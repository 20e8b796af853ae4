/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/check_kernel.c: the checks of the kernel itself, BPF and perf (checks.def). Layer: live. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "live/check_priv.h"
#include "sys/procfs.h"
#include "sys/tracefs.h"

#define CONFIG_MAX_LINES 100000 /* kernels have about 10,000 */

void check_release(struct check *c, struct check_row *row)
{
	char machine[64];

	procfs_read_machine(machine, sizeof(machine));
	check_say(c, row, CHECK_OK, "%s %s", c->report->kernel ? c->report->kernel : "?", machine);
}

void check_cpus(struct check *c, struct check_row *row)
{
	struct error e = { 0 };
	u32 n;
	int err = procfs_count_cpus("", &n, &e);

	if (err)
		check_say_error(c, row, err, "online CPUs");
	else
		check_say(c, row, CHECK_OK, "%u", n);
}

/* "none [integrity] confidentiality": the word in brackets holds. */
void check_lockdown(struct check *c, struct check_row *row)
{
	char text[256] = "", *from, *to;
	int err =
		sys_tracefs_read_file("/sys/kernel/security", "lockdown", text, sizeof(text), NULL);

	if (err == -ENOENT) /* securityfs is often not mounted in containers and small systems */
		err = probe_read_unmounted("securityfs", "lockdown", text, sizeof(text));
	if (err == -ENOENT || err == -ENODEV) {
		check_say(c, row, CHECK_OK, "this kernel has none");
		return;
	}
	if (err) {
		check_say(c, row, CHECK_UNKNOWN, "/sys/kernel/security/lockdown: %s%s",
			  strerror(-err), c->root ? "" : " (needs root)");
		return;
	}
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to) {
		check_say(c, row, CHECK_UNKNOWN, "not understood: %.100s", text);
		return;
	}
	*to = '\0';
	check_say(c, row, CHECK_OK, "%s", from + 1);
}

void check_btf(struct check *c, struct check_row *row)
{
	if (c->bpf.vmlinux)
		check_say(c, row, CHECK_OK, "/sys/kernel/btf/vmlinux");
	else
		check_say_error(c, row, c->bpf.vmlinux_err, "/sys/kernel/btf/vmlinux");
}

/* 'y', 'n', or '?' when no configuration can be read. gzopen() reads plain files as well. */
static char kernel_config(const struct check *c, const char *option)
{
	char boot[256], yes[128], line[1024], ret = 'n';
	gzFile f = gzopen("/proc/config.gz", "rbe");
	u32 n = 0;

	snprintf(boot, sizeof(boot), "/boot/config-%s", c->report->kernel ? c->report->kernel : "");
	if (!f)
		f = gzopen(boot, "rbe");
	if (!f)
		return '?';
	snprintf(yes, sizeof(yes), "%s=y\n", option);
	while (n++ < CONFIG_MAX_LINES && gzgets(f, line, sizeof(line)))
		if (!strcmp(line, yes))
			ret = 'y';
	if (n < 2) /* not one line could be read */
		ret = '?';
	gzclose(f);
	return ret;
}

static bool vmstat_has(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ';
	if (f)
		fclose(f);
	return found;
}

/* The struct tells most; a kernel without BTF still has its configuration or counters. */
void check_vma_lock(struct check *c, struct check_row *row)
{
	char config = kernel_config(c, "CONFIG_PER_VMA_LOCK");
	const char *source = config == 'y' ? "CONFIG_PER_VMA_LOCK=y" : "by BTF";

	switch (probe_bpf_vma_lock(&c->bpf)) {
	case PROBE_VMA_LOCK_REFCOUNT:
		check_say(
			c, row, CHECK_OK,
			"refcount (vm_refcnt, as from 6.15 on): writers wait in __vma_start_write, "
			"without a lock event; %s",
			source);
		return;
	case PROBE_VMA_LOCK_RWSEM:
		check_say(c, row, CHECK_OK,
			  "rwsem (vm_lock, as in 6.4 to 6.14): contention_begin shows writers' "
			  "waits; %s",
			  source);
		return;
	case PROBE_VMA_LOCK_NONE:
		check_say(c, row, CHECK_MISSING, "struct vm_area_struct has no lock of its own");
		return;
	case PROBE_VMA_LOCK_UNKNOWN:
		break;
	}
	if (config == 'y' || vmstat_has("vma_lock_success"))
		check_say(c, row, CHECK_OK, "%s; which design is unknown without BTF",
			  config == 'y' ? "CONFIG_PER_VMA_LOCK=y" : "vma_lock_* in vmstat");
	else if (config == 'n')
		check_say(c, row, CHECK_MISSING, "CONFIG_PER_VMA_LOCK is not set");
	else
		check_say(c, row, CHECK_UNKNOWN,
			  "no BTF, no kernel configuration, no vma_lock_* in vmstat");
}

void check_vma_lock_stats(struct check *c, struct check_row *row)
{
	if (vmstat_has("vma_lock_success"))
		check_say(c, row, CHECK_OK, "in /proc/vmstat");
	else
		check_say(c, row, CHECK_MISSING, "not in /proc/vmstat (CONFIG_PER_VMA_LOCK_STATS)");
}

void check_cgroup(struct check *c, struct check_row *row)
{
	char controllers[1024] = "";

	(void)!sys_tracefs_read_file("/sys/fs/cgroup", "cgroup.controllers", controllers,
				     sizeof(controllers), NULL);
	if (strstr(controllers, "memory"))
		check_say(c, row, CHECK_OK, "v2");
	else if (!access("/sys/fs/cgroup/memory/memory.usage_in_bytes", F_OK) ||
		 !access("/sys/fs/cgroup/memory/cgroup.procs", F_OK))
		check_say(c, row, CHECK_OK, "v1");
	else
		check_say(c, row, CHECK_MISSING, "no memory controller below /sys/fs/cgroup");
}

/* A sysctl that is one number; @meaning (may be NULL) explains it. */
static void check_number(struct check *c, struct check_row *row, const char *name,
			 const char *(*meaning)(u64))
{
	u64 v;
	int err = procfs_read_u64("", name, &v, NULL);

	if (err)
		check_say_error(c, row, err, name);
	else
		check_say(c, row, CHECK_OK, "%llu%s", (unsigned long long)v,
			  meaning ? meaning(v) : "");
}

void check_max_map_count(struct check *c, struct check_row *row)
{
	check_number(c, row, "proc/sys/vm/max_map_count", NULL);
}

static const char *kptr_meaning(u64 v)
{
	return v == 0	? ": addresses for root"
	       : v == 1 ? ": addresses with CAP_SYSLOG"
			: ": no addresses for anybody; kernel stacks have no names";
}

void check_kptr_restrict(struct check *c, struct check_row *row)
{
	check_number(c, row, "proc/sys/kernel/kptr_restrict", kptr_meaning);
}

/* The value is -1 on systems that allow everything: not a u64. */
void check_perf_paranoid(struct check *c, struct check_row *row)
{
	char text[32];
	int err = sys_tracefs_read_file("/proc/sys/kernel", "perf_event_paranoid", text,
					sizeof(text), NULL);

	if (err)
		check_say_error(c, row, err, "perf_event_paranoid");
	else
		check_say(c, row, CHECK_OK, "%s: %s", text,
			  text[0] == '-'   ? "everything for everybody"
			  : text[0] == '0' ? "tracepoints' data only for root"
			  : text[0] == '1' ? "no system-wide events without root"
					   : "no kernel events without root");
}

static void check_prog(struct check *c, struct check_row *row, enum probe_bpf_prog prog)
{
	struct probe_outcome o = probe_bpf_try_prog(&c->bpf, prog);
	char what[160];

	switch (o.stage) {
	case PROBE_STAGE_DONE:
		check_say(c, row, CHECK_OK, "loads, %s %s",
			  o.attached ? "attaches to" : "attaching not tried:", o.target);
		return;
	case PROBE_STAGE_TARGET:
		snprintf(what, sizeof(what), "no BTF for %s", o.target);
		break;
	case PROBE_STAGE_LOAD:
		snprintf(what, sizeof(what), "load for %s", o.target);
		break;
	case PROBE_STAGE_ATTACH:
		snprintf(what, sizeof(what), "loads, attach to %s", o.target);
		break;
	}
	check_say_error(c, row, o.err, what);
}

#define CHECK_PROG(id, PROG)                                    \
	void check_##id(struct check *c, struct check_row *row) \
	{                                                       \
		check_prog(c, row, PROBE_PROG_##PROG);          \
	}
CHECK_PROG(tracepoint, TRACEPOINT)
CHECK_PROG(raw_tracepoint, RAW_TRACEPOINT)
CHECK_PROG(tp_btf_mmap_lock, TP_BTF_MMAP_LOCK)
CHECK_PROG(tp_btf_sched_switch, TP_BTF_SCHED_SWITCH)
CHECK_PROG(fentry, FENTRY)
CHECK_PROG(lsm, LSM)
CHECK_PROG(iter_task, ITER_TASK)
CHECK_PROG(iter_task_vma, ITER_TASK_VMA)
CHECK_PROG(bpf_perf_event, PERF_EVENT)

/* The program type loads on kernels with uprobes alone; the event source tells them apart. */
void check_kprobe(struct check *c, struct check_row *row)
{
	u32 type;

	if (probe_perf_kprobe_type(&type) == -ENOENT)
		check_say(c, row, CHECK_MISSING,
			  "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)");
	else
		check_prog(c, row, PROBE_PROG_KPROBE);
}

static void check_map(struct check *c, struct check_row *row, enum probe_bpf_map map)
{
	struct probe_outcome o = probe_bpf_try_map(map);

	if (o.err)
		check_say_error(c, row, o.err, "create");
	else
		check_say(c, row, CHECK_OK, "can be created");
}

void check_ringbuf(struct check *c, struct check_row *row)
{
	check_map(c, row, PROBE_MAP_RINGBUF);
}

void check_task_storage(struct check *c, struct check_row *row)
{
	check_map(c, row, PROBE_MAP_TASK_STORAGE);
}

/* For this thread, and for all of CPU 0, which is what an observer needs. */
static void check_perf(struct check *c, struct check_row *row, struct perf_event_attr *attr)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = probe_perf_open(attr, -1, 0);
	if (fd >= 0) {
		close(fd);
		check_say(c, row, CHECK_OK, "opens system-wide");
		return;
	}
	check_say_error(c, row, fd, "perf_event_open, system-wide");
	attr->exclude_kernel = 1;
	fd = probe_perf_open(attr, 0, -1);
	if (fd < 0)
		return;
	close(fd);
	check_say(c, row, CHECK_REFUSED, "opens for one's own threads only%s",
		  c->root ? "" : " (needs root)");
}

void check_perf_tracepoint(struct check *c, struct check_row *row)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	u64 id = 0;
	int err;

	if (check_needs_tracefs(c, row))
		return;
	err = probe_trace_event_id(c->trace.dir, "sched", "sched_switch", &id);
	if (err) {
		check_say_error(c, row, err, "id of sched_switch");
		return;
	}
	attr.config = id;
	check_perf(c, row, &attr);
}

void check_perf_page_faults(struct check *c, struct check_row *row)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_PAGE_FAULTS };

	check_perf(c, row, &attr);
}
