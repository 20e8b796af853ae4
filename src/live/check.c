/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/check.c: goes through checks.def and draws the sum (see check.h). Layer: live. */
#include "live/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/check_priv.h"
#include "live/ftrace_events.h"
#include "sys/procfs.h"
#include "sys/tracefs.h"

#define ERRNO_ENOTSUPP 524 /* the kernel's own, which user space headers lack */

struct check_def {
	const char *group, *key, *what, *needed_for, *since;
	void (*find_out)(struct check *c, struct check_row *row); /* NULL: the events of ->origin */
	enum ftrace_event_origin origin;
};
static const struct check_def defs[] = {
#define CHECK(id, group, key, what, needed_for, since) \
	{ group, key, what, needed_for, since, check_##id, 0 },
#define CHECK_EVENTS(group, origin) { group, NULL, NULL, NULL, "-", NULL, ORIGIN_##origin##_EVENT },
#include "live/checks.def"
};

const char *check_status_name(enum check_status s)
{
	static const char *const names[] = {
#define X(id, name) [CHECK_##id] = name,
		CHECK_STATUSES(X)
#undef X
	};

	return s < ARRAY_LEN(names) ? names[s] : "?";
}

static const struct {
	const char *name, *shows;
} rungs[] = {
#define X(id, name, shows) [CHECK_RUNG_##id] = { name, shows },
	CHECK_RUNGS(X)
#undef X
};

const char *check_rung_name(enum check_rung r)
{
	return r < ARRAY_LEN(rungs) ? rungs[r].name : "?";
}

void check_say(struct check *c, struct check_row *row, enum check_status status, const char *fmt,
	       ...)
{
	char text[1024], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = arena_strndup(&c->report->arena, text, strlen(text));
	row->status = status;
	row->detail = copy ? copy : "";
}

static enum check_status status_of_error(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return CHECK_REFUSED;
	case ENOENT:
	case ENODEV:
	case ENOSYS:
	case EINVAL:
	case ESRCH:
	case EOPNOTSUPP:
	case ERRNO_ENOTSUPP:
		return CHECK_MISSING;
	}
	return CHECK_UNKNOWN;
}

void check_say_error(struct check *c, struct check_row *row, int err, const char *what)
{
	enum check_status status = status_of_error(err);
	const char *text = err == -ERRNO_ENOTSUPP ? "not supported by this kernel" : strerror(-err);
	const char *hint = "";

	if (status == CHECK_REFUSED)
		hint = c->root ? " (although root: lockdown, a security module or a sandbox)"
			       : " (needs root)";
	check_say(c, row, status, "%s: %s%s", what, text, hint);
}

bool check_needs_tracefs(struct check *c, struct check_row *row)
{
	if (c->trace.dir[0])
		return false;
	check_say(c, row, CHECK_UNKNOWN, "tracefs cannot be read%s",
		  c->root ? "" : " (needs root)");
	return true;
}

static bool add_event(struct check *c, const struct ftrace_event *ev, const struct check_def *def)
{
	struct check_report *r = c->report;
	struct check_row *row = vec_push(&r->rows);
	const char *key;

	if (!row)
		return false;
	key = arena_printf(&r->arena, "event.%s:%s", ev->system, ev->name);
	if (!key)
		return false;
	*row = (struct check_row){ .key = key,
				   .group = def->group,
				   .what = key + strlen("event."),
				   .needed_for = ev->why };
	if (check_needs_tracefs(c, row))
		return true;
	if (!sys_tracefs_has_event(c->trace.dir, ev->system, ev->name)) {
		check_say(c, row, CHECK_MISSING, "no such event");
		return true;
	}
	check_say(c, row, CHECK_OK, "exists");
	c->has_vendor_event |= ev->origin == ORIGIN_VENDOR_EVENT;
	return true;
}

static bool add_events(struct check *c, const struct check_def *def)
{
	struct ftrace_events events;
	bool ok = ftrace_events_fill(&events);

	if (!ok)
		return false;
	for (size_t i = 0; ok && i < events.list.n; i++)
		if (events.list.v[i].origin == def->origin)
			ok = add_event(c, &events.list.v[i], def);
	ftrace_events_done(&events);
	return ok;
}

static bool add_check(struct check *c, const struct check_def *def)
{
	struct check_row row = { def->key,
				 def->group,
				 def->what,
				 CHECK_UNKNOWN,
				 "",
				 def->needed_for,
				 strcmp(def->since, "-") ? def->since : NULL };
	struct check_row *slot;

	def->find_out(c, &row);
	slot = vec_push(&c->report->rows);
	if (slot)
		*slot = row;
	return slot;
}

static bool is_ok(const struct check_report *r, const char *key)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (!strcmp(r->rows.v[i].key, key))
			return r->rows.v[i].status == CHECK_OK;
	return false;
}

static enum check_rung find_rung(const struct check *c)
{
	const struct check_report *r = c->report;

	if (r->can_record && c->has_vendor_event)
		return CHECK_RUNG_VENDOR;
	if (is_ok(r, "bpf.tp_btf_mmap_lock") && is_ok(r, "bpf.tp_btf_sched_switch"))
		return CHECK_RUNG_TP_BTF;
	if (is_ok(r, "bpf.tracepoint") && is_ok(r, "event.mmap_lock:mmap_lock_start_locking"))
		return CHECK_RUNG_TRACEPOINT;
	return r->can_record ? CHECK_RUNG_INSTANCE : CHECK_RUNG_TEXT;
}

static bool conclude(struct check *c)
{
	struct check_report *r = c->report;
	size_t n_traps = 0;

	for (size_t i = 0; i < r->rows.n; i++)
		n_traps += r->rows.v[i].status == CHECK_TRAP;
	r->can_record = is_ok(r, "tracefs.instance") &&
			is_ok(r, "event.mmap_lock:mmap_lock_start_locking") &&
			is_ok(r, "event.mmap_lock:mmap_lock_acquire_returned");
	r->can_watch = is_ok(r, "kernel.btf") && is_ok(r, "bpf.map_ringbuf") &&
		       (is_ok(r, "bpf.tp_btf_mmap_lock") || is_ok(r, "bpf.raw_tracepoint") ||
			is_ok(r, "bpf.tracepoint"));
	r->rung = find_rung(c);
	r->summary = arena_printf(&r->arena,
				  "`mmscope record` %s here, `mmscope locks` %s%s; best rung: %u "
				  "of %zu, %s (%s); %zu "
				  "trap%s",
				  r->can_record ? "works" : "does not work",
				  r->can_watch ? "works" : "does not",
				  (r->can_record && r->can_watch) || c->root ? "" : " (needs root)",
				  r->rung + 1u, ARRAY_LEN(rungs), rungs[r->rung].name,
				  rungs[r->rung].shows, n_traps, n_traps == 1 ? "" : "s");
	return r->summary;
}

int check_report_init(struct check_report *r, struct error *e)
{
	struct check c = { .report = r, .root = !geteuid() };
	char release[128];
	bool ok = true;

	memset(r, 0, sizeof(*r));
	arena_init(&r->arena);
	if (procfs_read_release("", release, sizeof(release), NULL))
		snprintf(release, sizeof(release), "unknown");
	r->kernel = arena_strndup(&r->arena, release, strlen(release));
	probe_trace_init(&c.trace);
	probe_bpf_init(&c.bpf, c.trace.dir[0] ? c.trace.dir : NULL);
	for (size_t i = 0; ok && i < ARRAY_LEN(defs); i++)
		ok = defs[i].find_out ? add_check(&c, &defs[i]) : add_events(&c, &defs[i]);
	ok = ok && r->kernel && conclude(&c);
	probe_bpf_done(&c.bpf);
	return ok ? 0 : error_set(e, -ENOMEM, "out of memory");
}

void check_report_done(struct check_report *r)
{
	vec_done(&r->rows);
	arena_done(&r->arena);
}
