/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/json.h: a result as JSON; docs/JSON.md says what each key means. Layer: render. */
#ifndef MMSCOPE_RENDER_JSON_H
#define MMSCOPE_RENDER_JSON_H

#include "render/render.h"

#define JSON_KEY_MAX 64

/* Same result, same bytes: fixed key order, no locale. Sections not chosen leave their tables out.
 */
int render_json(const struct result *r, FILE *out, const struct render_opts *o,
		struct error *e) MUST_CHECK;
/* The key of a column in its table's row objects: its name and the unit ("total" -> "total_us"). */
void json_column_key(const struct col *c, char ret_key[JSON_KEY_MAX]);

#endif
