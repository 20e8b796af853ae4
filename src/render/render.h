/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render/render.h: what every renderer is asked for. Layer: render.
 *
 * A renderer writes to the FILE it is given and to nothing else. It returns 0, or a negative errno
 * with @e set: a failed write (-EPIPE for a closed pipe) or -ENOMEM. It flushes, does not close.
 */
#ifndef MMSCOPE_RENDER_RENDER_H
#define MMSCOPE_RENDER_RENDER_H

#include <stdio.h>

#include "base/error.h"
#include "base/types.h"
#include "result/result.h"

#define RENDER_TOP_DEFAULT 10

enum render_section {
#define SECTION(key, doc) SECTION_##key,
#include "result/sections.def"
#undef SECTION
	SECTIONS
};
struct render_section_info {
	const char *key; /* as --only takes it */
	const char *doc;
};
extern const struct render_section_info render_sections[SECTIONS];

struct render_opts {
	u32 top;	/* rows per table, 0 = all */
	bool top_given; /* --top was on the command line: only then does it cut JSON too */
	u32 sections;	/* bit 1 << SECTION_x for each section chosen by --only; 0 = all */
	bool colour;	/* text only */
};
#define RENDER_OPTS_INIT                  \
	{                                 \
		.top = RENDER_TOP_DEFAULT \
	}

/* The index of the section named @key, or -1. */
int render_section_find(const char *key);
bool render_wants(const struct render_opts *o, enum render_section s);
bool render_wants_table(const struct render_opts *o, enum table_id t);

/* 100 * part / whole in 1/100 %, half up. @whole is not 0. */
u64 render_percent_x100(u64 part, u64 whole);
/* Flushes @out and turns its state into a return value; @err is the first errno seen while writing.
 */
int render_finish(FILE *out, int err, struct error *e) MUST_CHECK;

#endif
