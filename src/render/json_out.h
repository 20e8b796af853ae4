/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/json_out.h: a result as a jansson tree, for the renderers that print JSON. Layer: render,
 * private to json.c and locks_json.c. */
#ifndef MMSCOPE_RENDER_JSON_OUT_H
#define MMSCOPE_RENDER_JSON_OUT_H

#include <jansson.h>

#include "render/json.h"

/* A new reference; NULL when out of memory. */
json_t *json_of_result(const struct result *r, const struct render_opts *o);
/* Writes @top (NULL: out of memory), takes its reference, ends the line and flushes. */
int json_write(json_t *top, size_t flags, FILE *out, struct error *e) MUST_CHECK;

#endif
