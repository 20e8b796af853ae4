/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/ftrace_events.h: the events a recording enables (ftrace_events.def), by system and name.
 * Layer: live. */
#ifndef MMSCOPE_LIVE_FTRACE_EVENTS_H
#define MMSCOPE_LIVE_FTRACE_EVENTS_H

#include "base/types.h"
#include "base/vec.h"

enum ftrace_event_origin { ORIGIN_STOCK_EVENT, ORIGIN_VENDOR_EVENT, ORIGIN_USER_EVENT };

struct ftrace_event {
	char system[64];
	char name[96];
	enum ftrace_event_origin origin; /* USER: asked for with -e */
	const char *why;
};
struct ftrace_events {
	VEC(struct ftrace_event) list;
};

/* All rows of ftrace_events.def, a call as its enter and its exit event. False: out of memory. */
bool ftrace_events_fill(struct ftrace_events *ret) MUST_CHECK;
/*
 * One more, "SYSTEM:EVENT" (or SYSTEM/EVENT). -EINVAL: not of that form; 0 also when it was there
 * already.
 */
int ftrace_events_add(struct ftrace_events *events, const char *spec) MUST_CHECK;
void ftrace_events_done(struct ftrace_events *events);

#endif
