/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/text.h: a result as a report of fixed width, to be read or pasted into a mail. Layer:
 * render. */
#ifndef MMSCOPE_RENDER_TEXT_H
#define MMSCOPE_RENDER_TEXT_H

#include "render/render.h"

int render_text(const struct result *r, FILE *out, const struct render_opts *o,
		struct error *e) MUST_CHECK;

#endif
