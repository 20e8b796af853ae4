/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/bpf_rungs.c: which BPF programs this kernel gets: the best way it takes, found by loading.
 * Layer: live. A part that is refused is left out and said; without the mmap_lock events the next
 * way is tried.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/bpf_load_priv.h"

/* behind the structs that they show as global variables */
#include "bpf/mmscope_hash.skel.h"
#include "bpf/mmscope_storage.skel.h"

#define LOG_BYTES (64u << 10)

/* How a part's programs are named in each mode; raw ones have a prefix. */
struct prog_row {
	const char *name;
	enum bpf_part part;
};
/* In the order of attaching: a thread is not to be seen half. */
static const struct prog_row prog_rows[] = {
	{ "process_fork", BPF_PART_PROCESSES },	   { "process_exec", BPF_PART_PROCESSES },
	{ "process_exit", BPF_PART_PROCESSES },	   { "contend_end", BPF_PART_VMA_RWSEM },
	{ "contend_begin", BPF_PART_VMA_RWSEM },   { "wake", BPF_PART_SLEEPS },
	{ "switch_owner", BPF_PART_OWNER_STACKS }, { "switch_plain", BPF_PART_SLEEPS },
	{ "fault_kernel", BPF_PART_FAULTS },	   { "fault_user", BPF_PART_FAULTS },
	{ "lock_release", BPF_PART_LOCK },	   { "lock_acquire", BPF_PART_LOCK },
	{ "lock_start", BPF_PART_LOCK },	   { "snapshot_owner_stacks", BPF_PART_SNAPSHOT },
	{ "snapshot", BPF_PART_SNAPSHOT },
};
static const char *const part_names[BPF_PART_N] = {
	[BPF_PART_LOCK] = "mmap_lock events",	      [BPF_PART_SLEEPS] = "sleeps",
	[BPF_PART_OWNER_STACKS] = "stacks of owners", [BPF_PART_FAULTS] = "page faults",
	[BPF_PART_VMA_RWSEM] = "VMA locks",	      [BPF_PART_PROCESSES] = "processes",
	[BPF_PART_SNAPSHOT] = "open waits",
};
struct mode_row {
	const char *force; /* struct bpf_load_opts */
	const char *events, *state;
};
static const struct mode_row mode_rows[BPF_MODE_N] = {
	[BPF_MODE_STORAGE] = { NULL, "tp_btf", "task storage" },
	[BPF_MODE_HASH] = { "hash", "tp_btf", "hash map" },
	[BPF_MODE_RAW] = { "raw_tp", "raw_tp", "hash map" },
	[BPF_MODE_CLASSIC] = { "tracepoint", "tracepoint", "hash map" },
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static void part_off(struct bpf_load *l, enum bpf_part part, const char *why)
{
	if (!l->on[part])
		return;
	l->on[part] = false;
	snprintf(l->off_why[part], sizeof(l->off_why[part]), "%s", why);
}

/* What the types and the options say can be done at all. */
static void parts_choose(struct bpf_load *l)
{
	const struct bpf_facts *f = &l->facts;

	for (int i = 0; i < BPF_PART_N; i++)
		l->on[i] = true;
	if (!l->opts.faults)
		part_off(l, BPF_PART_FAULTS, "not asked for");
	else if (!f->fault_events)
		part_off(l, BPF_PART_FAULTS,
			 "no page_fault_user event: their number and begin are not known, their "
			 "sleeps are");
	if (!f->vma_rwsem)
		part_off(l, BPF_PART_VMA_RWSEM, "");
	else if (!f->contention_events)
		part_off(l, BPF_PART_VMA_RWSEM,
			 "no contention_begin event (5.19): waits of VMA writers are not seen");
	if (!f->task_from_pid)
		part_off(l, BPF_PART_OWNER_STACKS, "no kfunc bpf_task_from_pid (6.2)");
}

static bool prog_wanted(const struct bpf_load *l, const struct prog_row *row)
{
	bool owner = l->on[BPF_PART_OWNER_STACKS] && l->mode == BPF_MODE_STORAGE;

	if (!strcmp(row->name, "switch_owner"))
		return owner && l->on[BPF_PART_SLEEPS];
	if (!strcmp(row->name, "switch_plain"))
		return !owner && l->on[BPF_PART_SLEEPS];
	if (!strcmp(row->name, "snapshot_owner_stacks"))
		return owner && l->on[BPF_PART_SNAPSHOT];
	if (!strcmp(row->name, "snapshot"))
		return !owner && l->on[BPF_PART_SNAPSHOT] && l->mode == BPF_MODE_STORAGE;
	if (!strcmp(row->name, "wake"))
		return l->on[BPF_PART_SLEEPS] && l->facts.waking_event;
	return l->on[row->part];
}

static struct bpf_program *prog_of(const struct bpf_load *l, const struct prog_row *row)
{
	const char *prefix = "";
	char name[64];

	if (l->mode == BPF_MODE_RAW || l->mode == BPF_MODE_CLASSIC)
		prefix = l->mode == BPF_MODE_CLASSIC && row->part == BPF_PART_LOCK ? "tp_" : "raw_";
	snprintf(name, sizeof(name), "%s%s", prefix, row->name);
	return bpf_object__find_program_by_name(l->object, name);
}

static void *map_memory(const struct bpf_load *l, const char *map, size_t *ret_size)
{
	struct bpf_map *m = bpf_object__find_map_by_name(l->object, map);

	return m ? (void *)(uintptr_t)bpf_map__initial_value(m, ret_size) : NULL;
}

/* "name", or what a compiler makes of it: "name.isra.0", "name.constprop.0" */
static bool is_function(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (!symbol[n] || symbol[n] == '.');
}

static void config_ranges(struct bpf_config *c, const struct kallsyms *syms)
{
	static const struct {
		u32 sleep_class;
		const char *name;
	} frames[] = {
#define SLEEP_FRAME(CLASS, function) { BSLEEP_##CLASS, function },
#include "wire/bpf_frames.def"
#undef SLEEP_FRAME
	};

	c->ranges_lo = UINT64_MAX;
	for (size_t i = 0; i < syms->list.n && !syms->hidden; i++) {
		const struct kallsym *s = &syms->list.v[i];

		for (size_t k = 0; k < ARRAY_LEN(frames); k++) {
			if (c->n_ranges >= BPF_MAX_RANGES || !is_function(s->name, frames[k].name))
				continue;
			c->ranges[c->n_ranges++] =
				(struct bpf_range){ s->start, s->end, frames[k].sleep_class };
			c->ranges_lo = s->start < c->ranges_lo ? s->start : c->ranges_lo;
			c->ranges_hi = s->end > c->ranges_hi ? s->end : c->ranges_hi;
		}
	}
	if (!c->n_ranges)
		c->ranges_lo = c->ranges_hi = 0;
}

/* Functions that do the tracing; neighbours make one range. */
static void config_tracing(struct bpf_config *c, const struct kallsyms *syms)
{
	static const char *const starts[] = {
		"__bpf_trace_mmap_lock", "__bpf_trace_sched_switch",  "__mmap_lock_do_trace",
		"__traceiter_mmap_lock", "__traceiter_sched_switch",  "bpf_trace_run",
		"perf_trace_mmap_lock",	 "perf_trace_run_bpf_submit", "trace_call_bpf",
	};

	for (size_t i = 0; i < syms->list.n && !syms->hidden; i++) {
		const struct kallsym *s = &syms->list.v[i];

		for (size_t k = 0; k < ARRAY_LEN(starts); k++) {
			if (strncmp(s->name, starts[k], strlen(starts[k])))
				continue;
			if (c->n_tracing && c->tracing[c->n_tracing - 1].end == s->start)
				c->tracing[c->n_tracing - 1].end = s->end;
			else if (c->n_tracing < BPF_MAX_TRACING)
				c->tracing[c->n_tracing++] =
					(struct bpf_range){ s->start, s->end, 0 };
		}
	}
}

static int config_fill(struct bpf_load *l, const struct kallsyms *syms, struct error *e)
{
	const struct bpf_facts *f = &l->facts;
	struct bpf_config *c;
	size_t size = 0;

	c = map_memory(l, ".rodata.config", &size);
	if (!c || size < sizeof(*c))
		return error_set(e, -EPROTO, "the BPF object has no settings");
	*c = (struct bpf_config){
		.min_wait_ns = l->opts.min_wait_ns,
		.own_tgid = (u32)l->opts.own_tgid,
		.user_stacks = l->opts.user_stacks,
		.faults = l->opts.faults,
		.filter_mm = l->opts.filter_mm,
		.cgroup = l->opts.cgroup_fd >= 0,
		.lock_arg_shift = f->lock_arg_shift,
		.lock_tells_success = f->lock_tells_success,
		.switch_tells_state = f->switch_tells_state,
		/* a classic tracepoint's stack begins at the event, not in the program */
		.lock_skip = l->mode == BPF_MODE_CLASSIC ? 0 : BPF_SKIP_FRAMES,
		.faults_traced = l->on[BPF_PART_FAULTS],
	};
	config_ranges(c, syms);
	config_tracing(c, syms);
	if (!c->n_ranges)
		part_off(
			l, BPF_PART_SLEEPS,
			"the kernel's functions are not known (/proc/kallsyms shows no addresses)");
	if (l->mode == BPF_MODE_CLASSIC &&
	    bpf_facts_classic(&c->tp_mm, &c->tp_write, &c->tp_success))
		return error_set(e, -ENOENT,
				 "tracefs does not show the format of the mmap_lock "
				 "events");
	return 0;
}

static int maps_size(struct bpf_load *l, struct error *e)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(l->object, "ring"), *m;
	static const char *const filters[] = { "watched_mms", "watched_tgids" };
	int code;

	if (!ring || (code = bpf_map__set_max_entries(ring, (u32)l->opts.ring_bytes)))
		return error_set(e, -EINVAL, "a ring buffer of %llu bytes is not possible",
				 (unsigned long long)l->opts.ring_bytes);
	for (size_t i = 0; i < ARRAY_LEN(filters) && !l->opts.filter_mm; i++)
		if ((m = bpf_object__find_map_by_name(l->object, filters[i])))
			(void)bpf_map__set_max_entries(m, 1); /* saves its memory */
	return 0;
}

/* The last thing the verifier said, on one line: "R1 invalid mem access 'scalar'". */
static void last_words(const char *log, char *ret, size_t size)
{
	const char *end = log + strlen(log), *line;

	for (;;) {
		while (end > log && end[-1] == '\n')
			end--;
		for (line = end; line > log && line[-1] != '\n';)
			line--;
		if (strncmp(line, "processed ", 10) || line == log)
			break;
		end = line;
	}
	snprintf(ret, size, "%.*s", (int)(end - line), line);
	for (; *ret; ret++)
		if ((unsigned char)*ret < ' ')
			*ret = ' ';
}

/* The program that the kernel refused, by the log it left; NULL: it was something else. */
static const struct prog_row *refused_row(const struct bpf_load *l, const char *logs, char *ret_why,
					  size_t size)
{
	char words[96];

	for (size_t i = 0; i < ARRAY_LEN(prog_rows); i++) {
		const char *log = logs + i * LOG_BYTES;

		if (!log[0])
			continue;
		last_words(log, words, sizeof(words));
		snprintf(ret_why, size, "the kernel refused program %s: %s", prog_rows[i].name,
			 words);
		return &prog_rows[i];
	}
	(void)l;
	return NULL;
}

static int object_open(struct bpf_load *l, char *logs, struct error *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "mmscope");
	const void *elf;
	size_t size = 0;

	elf = l->mode == BPF_MODE_STORAGE ? mmscope_storage__elf_bytes(&size)
					  : mmscope_hash__elf_bytes(&size);
	bpf_object__close(l->object);
	l->object = bpf_object__open_mem(elf, size, &opts);
	if (!l->object)
		return error_set(e, errno ? -errno : -EINVAL, "cannot open the BPF programs: %s",
				 strerror(errno));
	memset(logs, 0, ARRAY_LEN(prog_rows) * LOG_BYTES);
	return 0;
}

static void progs_select(struct bpf_load *l, char *logs)
{
	for (size_t i = 0; i < ARRAY_LEN(prog_rows); i++) {
		struct bpf_program *p = prog_of(l, &prog_rows[i]);

		if (!p || !prog_wanted(l, &prog_rows[i]))
			continue;
		(void)bpf_program__set_autoload(p, true);
		(void)bpf_program__set_log_buf(p, logs + i * LOG_BYTES, LOG_BYTES);
	}
}

/*
 * One mode: a part that the kernel refuses is taken out, as often as it takes. -EAGAIN: this mode
 * is not possible, l->mode_why says why.
 */
static int mode_try(struct bpf_load *l, const struct kallsyms *syms, char *logs, struct error *e)
{
	const struct prog_row *row;
	char why[128];
	int code;

	for (int attempt = 0; attempt <= BPF_PART_N; attempt++) {
		code = object_open(l, logs, e);
		if (!code)
			code = config_fill(l, syms, e);
		if (!code)
			code = maps_size(l, e);
		if (code)
			return code;
		progs_select(l, logs);
		code = bpf_object__load(l->object);
		if (!code)
			return 0;
		row = refused_row(l, logs, why, sizeof(why));
		if (!row && code == -EPERM)
			return error_set(e, code, "%s", BPF_NOT_ALLOWED);
		if (!row && code == -ENOMEM)
			return error_set(e, code, "cannot load the BPF programs: out of memory");
		if (!row || row->part == BPF_PART_LOCK || !l->on[row->part]) {
			snprintf(l->mode_why, sizeof(l->mode_why), "%s: %s",
				 mode_rows[l->mode].events, row ? why : strerror(-code));
			return -EAGAIN;
		}
		part_off(l, row->part, why);
	}
	return error_set(e, -ELOOP, "cannot load the BPF programs: %s", l->mode_why);
}

static int rung_add(struct bpf_load *l, const char *part, const char *how, const char *why)
{
	struct bpf_rung *r = vec_push(&l->rungs.list);

	if (!r)
		return -ENOMEM;
	r->part = part;
	r->how = how;
	snprintf(r->why, sizeof(r->why), "%s", why);
	return 0;
}

static const char *part_how(const struct bpf_load *l, enum bpf_part part)
{
	if (!l->on[part])
		return NULL;
	if (part == BPF_PART_LOCK || l->mode != BPF_MODE_CLASSIC)
		return part == BPF_PART_SNAPSHOT ? "task iterator" : mode_rows[l->mode].events;
	return "raw_tp";
}

static int rungs_list(struct bpf_load *l)
{
	const struct bpf_facts *f = &l->facts;
	const char *better = l->mode == BPF_MODE_STORAGE ? "" : l->mode_why;
	int code = rung_add(l, part_names[BPF_PART_LOCK], mode_rows[l->mode].events, better);

	code = code ? code : rung_add(l, "state", mode_rows[l->mode].state, better);
	code = code ? code
		    : rung_add(l, part_names[BPF_PART_SLEEPS], part_how(l, BPF_PART_SLEEPS),
			       l->on[BPF_PART_SLEEPS] ? "" : l->off_why[BPF_PART_SLEEPS]);
	if (l->mode != BPF_MODE_STORAGE)
		part_off(l, BPF_PART_OWNER_STACKS, "needs tp_btf and task storage");
	code = code ? code
		    : rung_add(l, part_names[BPF_PART_OWNER_STACKS],
			       l->on[BPF_PART_OWNER_STACKS] ? "bpf_task_from_pid" : NULL,
			       l->off_why[BPF_PART_OWNER_STACKS]);
	if (l->opts.faults)
		code = code ? code
			    : rung_add(l, part_names[BPF_PART_FAULTS], part_how(l, BPF_PART_FAULTS),
				       l->off_why[BPF_PART_FAULTS]);
	if (f->vma_refcnt)
		code = code ? code : rung_add(l, part_names[BPF_PART_VMA_RWSEM], "stacks", "");
	else
		code = code ? code
			    : rung_add(l, part_names[BPF_PART_VMA_RWSEM],
				       f->vma_rwsem ? part_how(l, BPF_PART_VMA_RWSEM)
						    : "none in this kernel (6.4)",
				       l->off_why[BPF_PART_VMA_RWSEM]);
	code = code ? code
		    : rung_add(l, part_names[BPF_PART_PROCESSES], part_how(l, BPF_PART_PROCESSES),
			       l->off_why[BPF_PART_PROCESSES]);
	code = code ? code
		    : rung_add(l, part_names[BPF_PART_SNAPSHOT],
			       l->mode != BPF_MODE_STORAGE ? "hash map"
							   : part_how(l, BPF_PART_SNAPSHOT),
			       l->mode != BPF_MODE_STORAGE ? "stacks are those of the first sleep"
							   : l->off_why[BPF_PART_SNAPSHOT]);
	if (!f->rwsem_count)
		code = code ? code
			    : rung_add(l, "holds", "by their length",
				       "PREEMPT_RT: the lock does not show whether somebody waits");
	return code;
}

static int start_mode(const char *force, enum bpf_mode *ret, struct error *e)
{
	*ret = BPF_MODE_STORAGE;
	if (!force)
		return 0;
	for (int i = BPF_MODE_HASH; i < BPF_MODE_N; i++) {
		if (strcmp(force, mode_rows[i].force))
			continue;
		*ret = (enum bpf_mode)i;
		return 0;
	}
	return error_set(e, -EINVAL, "no rung is called '%.40s': hash, raw_tp or tracepoint",
			 force);
}

int bpf_rungs_load(struct bpf_load *l, const struct kallsyms *syms, struct error *e)
{
	libbpf_print_fn_t old = libbpf_set_print(print_nothing);
	char *logs = malloc(ARRAY_LEN(prog_rows) * LOG_BYTES);
	enum bpf_mode mode = BPF_MODE_STORAGE;
	int code =
		logs ? start_mode(l->opts.force, &mode, e) : error_set(e, -ENOMEM, "out of memory");

	if (!code && mode != BPF_MODE_STORAGE)
		snprintf(l->mode_why, sizeof(l->mode_why), "asked for");
	for (; !code; mode++) {
		if (mode == BPF_MODE_N) {
			code = error_set(e, -ENOTSUP,
					 "cannot load the BPF programs: %s; use "
					 "'mmscope record', which reads ftrace events",
					 l->mode_why);
			break;
		}
		l->mode = mode;
		parts_choose(l);
		code = mode_try(l, syms, logs, e);
		if (!code) {
			code = rungs_list(l) ? error_set(e, -ENOMEM, "out of memory") : 0;
			break;
		}
		if (code == -EAGAIN)
			code = 0;
	}
	for (size_t i = 0; !code && i < ARRAY_LEN(prog_rows); i++) {
		struct bpf_program *p = prog_of(l, &prog_rows[i]);

		if (p)
			(void)bpf_program__set_log_buf(p, NULL, 0);
	}
	free(logs);
	libbpf_set_print(old);
	return code;
}

/* What a program that cannot be attached costs: its part, or everything. */
static int attach_failed(struct bpf_load *l, const struct prog_row *row, int err, struct error *e)
{
	struct bpf_rung *r;

	if (row->part == BPF_PART_LOCK)
		return error_set(e, err, "cannot attach to the mmap_lock events (%s): %s",
				 row->name, strerror(-err));
	for (size_t i = 0; i < l->rungs.list.n; i++) {
		r = &l->rungs.list.v[i];
		if (strcmp(r->part, part_names[row->part]))
			continue;
		r->how = NULL;
		snprintf(r->why, sizeof(r->why), "cannot attach %s: %s", row->name, strerror(-err));
	}
	return 0;
}

int bpf_rungs_attach(struct bpf_load *l, struct error *e)
{
	libbpf_print_fn_t old = libbpf_set_print(print_nothing);
	int code = 0;

	for (size_t i = 0; !code && i < ARRAY_LEN(prog_rows); i++) {
		const struct prog_row *row = &prog_rows[i];
		struct bpf_program *p = prog_of(l, row);
		struct bpf_link *link;

		if (!p || !prog_wanted(l, row))
			continue;
		errno = 0;
		link = bpf_program__attach(p);
		if (!link)
			code = attach_failed(l, row, errno ? -errno : -EINVAL, e);
		else if (row->part == BPF_PART_SNAPSHOT)
			l->iter = link;
		else if (l->n_links < BPF_MAX_LINKS)
			l->links[l->n_links++] = link;
	}
	libbpf_set_print(old);
	return code;
}
