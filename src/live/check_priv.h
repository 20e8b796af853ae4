/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/check_priv.h: what the files of the check share. Layer: live. */
#ifndef MMSCOPE_LIVE_CHECK_PRIV_H
#define MMSCOPE_LIVE_CHECK_PRIV_H

#include "live/check.h"
#include "live/probe_bpf.h"
#include "live/probe_trace.h"

struct check {
	struct check_report *report;
	struct probe_trace trace;
	struct probe_bpf bpf;
	bool root; /* effective uid 0: a refusal then has another reason than the missing privilege
		    */
	bool has_vendor_event;
};

/* Sets status and detail; out of memory leaves the detail "". */
void check_say(struct check *c, struct check_row *row, enum check_status status, const char *fmt,
	       ...) PRINTF_LIKE(4, 5);
/* The same for a failure: status by @err (negative errno), the detail "@what: error text (who
 * helps)". */
void check_say_error(struct check *c, struct check_row *row, int err, const char *what);
/* Says why tracefs cannot be looked at; true when it did (so the check is done). */
bool check_needs_tracefs(struct check *c, struct check_row *row);

#define CHECK(id, group, key, what, needed_for, since) \
	void check_##id(struct check *c, struct check_row *row);
#include "live/checks.def"

#endif
