/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/ftrace_events.c: the rows of ftrace_events.def with the names of wire/ (see
 * ftrace_events.h). Layer: live. */
#include "live/ftrace_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/tracefs.h"
#include "wire/event.h"

static const struct {
	const char *system, *name;
} kinds[EV_LIMIT] = {
#define EVENT(id, KIND, system, name, class, payload, doc) [EV_##KIND] = { system, name },
#include "wire/events.def"
#undef EVENT
};

static const char *const calls[CALL_LIMIT] = {
#define CALL(id, KIND, name, x86_64, i386, arm64, origin) [CALL_##KIND] = name,
#include "wire/calls.def"
#undef CALL
};

static const struct {
	enum event_kind kind;
	enum ftrace_event_origin origin;
	const char *why;
} event_rows[] = {
#define RECORD_EVENT(KIND, origin, why) { EV_##KIND, ORIGIN_##origin##_EVENT, why },
#include "live/ftrace_events.def"
};

static const struct {
	enum as_call call;
	const char *why;
} call_rows[] = {
#define RECORD_CALL(KIND, why) { CALL_##KIND, why },
#include "live/ftrace_events.def"
};

static bool push(struct ftrace_events *events, const char *system, const char *prefix,
		 const char *name, enum ftrace_event_origin origin, const char *why)
{
	struct ftrace_event *ev = vec_push(&events->list);

	if (!ev)
		return false;
	snprintf(ev->system, sizeof(ev->system), "%s", system);
	snprintf(ev->name, sizeof(ev->name), "%s%s", prefix, name);
	ev->origin = origin;
	ev->why = why;
	return true;
}

bool ftrace_events_fill(struct ftrace_events *ret)
{
	bool ok = true;

	*ret = (struct ftrace_events){ VEC_INIT };
	for (size_t i = 0; ok && i < ARRAY_LEN(event_rows); i++)
		ok = push(ret, kinds[event_rows[i].kind].system, "", kinds[event_rows[i].kind].name,
			  event_rows[i].origin, event_rows[i].why);
	for (size_t i = 0; ok && i < ARRAY_LEN(call_rows); i++)
		ok = push(ret, "syscalls", "sys_enter_", calls[call_rows[i].call],
			  ORIGIN_STOCK_EVENT, call_rows[i].why) &&
		     push(ret, "syscalls", "sys_exit_", calls[call_rows[i].call],
			  ORIGIN_STOCK_EVENT, call_rows[i].why);
	if (!ok)
		ftrace_events_done(ret);
	return ok;
}

int ftrace_events_add(struct ftrace_events *events, const char *spec)
{
	struct ftrace_event ev;
	size_t len = strcspn(spec, ":/");

	if (!spec[len] || len >= sizeof(ev.system) || strlen(spec + len + 1) >= sizeof(ev.name))
		return -EINVAL;
	memcpy(ev.system, spec, len);
	ev.system[len] = '\0';
	strcpy(ev.name, spec + len + 1);
	if (!sys_tracefs_name_is_valid(ev.system) || !sys_tracefs_name_is_valid(ev.name))
		return -EINVAL;
	for (size_t i = 0; i < events->list.n; i++) {
		struct ftrace_event *known = &events->list.v[i];

		if (!strcmp(known->system, ev.system) && !strcmp(known->name, ev.name)) {
			known->origin = ORIGIN_USER_EVENT; /* now it must exist */
			return 0;
		}
	}
	return push(events, ev.system, "", ev.name, ORIGIN_USER_EVENT, "asked for") ? 0 : -ENOMEM;
}

void ftrace_events_done(struct ftrace_events *events)
{
	vec_done(&events->list);
}
