/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/locks_json.c: one refresh of `mmscope locks` as a line of JSON. Layer: render. */
#include <errno.h>
#include <string.h>

#include "render/escape.h"
#include "render/json_out.h"
#include "render/locks.h"

static bool put(json_t *object, const char *key, json_t *value)
{
	return !json_object_set_new(object, key, value);
}

static json_t *number(u64 v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *string(const char *s)
{
	size_t len;
	char *clean = escape_dup(s, strlen(s), &len);
	json_t *value = clean ? json_stringn(clean, len) : NULL;

	free(clean);
	return value;
}

static json_t *overhead(const struct locks_frame *f, u64 window_ns)
{
	json_t *o = json_object();
	bool ok = put(o, "cpu_us", number(f->cpu_ns / 1000));

	ok &= put(o, "cpu_pct",
		  window_ns ? json_real((double)render_percent_x100(f->cpu_ns, window_ns) / 100)
			    : json_null());
	ok &= put(o, "record_count", number(f->records));
	ok &= put(o, "record_bytes", number(f->record_bytes));
	ok &= put(o, "own_wait_count", number(f->own_waits));
	ok &= put(o, "own_wait_us", number(f->own_wait_ns / 1000));
	if (ok)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *frame(const struct result *r, const struct locks_frame *f)
{
	u64 window_ns = f->end_ns > f->begin_ns ? f->end_ns - f->begin_ns : 0;
	json_t *o = json_object(), *rungs = json_array();
	bool ok = true;

	for (size_t i = 0; i < f->n_rungs; i++)
		ok &= !json_array_append_new(rungs, string(f->rungs[i]));
	ok &= put(o, "refresh", number(f->refresh));
	ok &= put(o, "last", json_boolean(f->last));
	ok &= put(o, "scope", string(f->scope));
	ok &= put(o, "begin_ns", number(f->begin_ns));
	ok &= put(o, "end_ns", number(f->end_ns));
	ok &= put(o, "window_us", number(window_ns / 1000));
	ok &= put(o, "min_wait_us", number(f->min_wait_ns / 1000));
	ok &= put(o, "lost_count", number(f->lost));
	ok &= put(o, "lost_all_count", number(f->lost_all));
	ok &= put(o, "left_out_count", number(f->left_out));
	ok &= put(o, "waiting_count", number(r->tables[TABLE_OPEN].n_rows));
	ok &= put(o, "lesser_rungs", rungs);
	ok &= put(o, "overhead", overhead(f, window_ns));
	if (ok)
		return o;
	json_decref(o);
	return NULL;
}

int render_locks_json(const struct result *r, const struct locks_frame *f, FILE *out,
		      const struct render_opts *o, struct error *e)
{
	json_t *top = json_of_result(r, o);

	if (top && !put(top, "locks", frame(r, f))) {
		json_decref(top);
		top = NULL;
	}
	return json_write(top, JSON_COMPACT, out, e);
}
