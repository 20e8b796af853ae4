/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render/render.c: what the renderers share: sections, percentages, write errors. Layer: render. */
#include "render/render.h"

#include <errno.h>
#include <string.h>

const struct render_section_info render_sections[SECTIONS] = {
#define SECTION(key, doc) { #key, doc },
#include "result/sections.def"
#undef SECTION
};

int render_section_find(const char *key)
{
	for (int i = 0; i < SECTIONS; i++)
		if (!strcmp(render_sections[i].key, key))
			return i;
	return -1;
}

bool render_wants(const struct render_opts *o, enum render_section s)
{
	return !o->sections || (o->sections & (1u << s));
}

bool render_wants_table(const struct render_opts *o, enum table_id t)
{
	int s = render_section_find(table_defs[t].section);

	return s < 0 || render_wants(o, (enum render_section)s);
}

u64 render_percent_x100(u64 part, u64 whole)
{
	unsigned __int128 x = ((unsigned __int128)part * 20000 + whole) / 2 / whole;

	return x > UINT64_MAX ? UINT64_MAX : (u64)x;
}

int render_finish(FILE *out, int err, struct error *e)
{
	errno = 0;
	if (fflush(out) && !err)
		err = errno;
	/* A write that failed before we were called leaves only the flag. */
	if (!err && ferror(out))
		err = EIO;
	if (!err)
		return 0;
	return error_set(e, -err, "cannot write the output: %s", strerror(err));
}
