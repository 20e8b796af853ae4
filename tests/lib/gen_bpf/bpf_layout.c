/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_layout.c: members of the records by name, out of bpf_fields.def. Part of bpf_gen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_gen.h"

#define BPF_STRUCT(s) static const struct field fields_##s[] = {
#define BPF_FIELD(s, member, type)                        \
	{ #member, (u32)offsetof(struct bpf_##s, member), \
	  (u32)sizeof(((struct bpf_##s *)0)->member), F_##type },
#define BPF_TAIL(s, member, type) { #member, (u32)offsetof(struct bpf_##s, member), 0, F_##type },
#define BPF_STRUCT_END(s)         \
	{                         \
		NULL, 0, 0, F_U16 \
	}                         \
	}                         \
	;

#include "bpf_fields.def"

static const struct layout layouts[] = {
#define BPF_STRUCT(s) { #s, (u32)sizeof(struct bpf_##s), fields_##s },
#define BPF_FIELD(s, member, type)
#define BPF_TAIL(s, member, type)
#define BPF_STRUCT_END(s)
#include "bpf_fields.def"
};

static const char *const struct_of_type[] = {
	[F_HEAD] = "rec_head", [F_WHO] = "who", [F_CALL] = "in_call", [F_DIST] = "dist"
};
static const char *const type_names[] = {
	[F_U16] = "u16", [F_U32] = "u32",      [F_S32] = "s32",
	[F_U64] = "u64", [F_TEXT] = "char",    [F_HEAD] = "rec_head",
	[F_WHO] = "who", [F_CALL] = "in_call", [F_DIST] = "dist"
};

static bool is_struct(enum field_type t)
{
	return t >= F_HEAD;
}

static u32 element_size(enum field_type t)
{
	static const u32 sizes[] = {
		[F_U16] = 2, [F_U32] = 4, [F_S32] = 4, [F_U64] = 8, [F_TEXT] = 1
	};

	return is_struct(t) ? layout_of(struct_of_type[t])->size : sizes[t];
}

const struct layout *layout_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		if (!strcmp(layouts[i].name, name))
			return &layouts[i];
	return NULL;
}

static bool is_named(const struct field *f, const char *key, size_t len)
{
	size_t n = strlen(f->name);

	return (n == len || (n == len + 3 && !strcmp(f->name + len, "_ns"))) &&
	       !memcmp(f->name, key, len);
}

bool layout_find(const struct layout *l, const char *key, struct field *ret)
{
	static const char *const transparent[] = { "head", "who", "call" };
	size_t len = strcspn(key, ".[");

	for (const struct field *f = l->fields; f->name; f++) {
		const char *rest = key + len;
		struct field at = *f, inner;

		if (!is_named(f, key, len))
			continue;
		if (*rest == '[') {
			u64 i = strtoull(rest + 1, (char **)&rest, 10);
			u32 size = element_size(f->type);

			if (*rest++ != ']' || (f->size && i >= f->size / size))
				return false;
			at.offset += (u32)i * size;
			at.size = size;
		}
		if (!*rest) {
			*ret = at;
			return true;
		}
		if (*rest != '.' || !is_struct(f->type) ||
		    !layout_find(layout_of(struct_of_type[f->type]), rest + 1, &inner))
			return false;
		inner.offset += at.offset;
		*ret = inner;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(transparent); i++) {
		struct field inner;

		for (const struct field *f = l->fields; f->name; f++) {
			if (strcmp(f->name, transparent[i]) || !is_struct(f->type) ||
			    !layout_find(layout_of(struct_of_type[f->type]), key, &inner))
				continue;
			inner.offset += f->offset;
			*ret = inner;
			return true;
		}
	}
	return false;
}

void layout_print(void)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		const struct layout *l = &layouts[i];
		u32 at = 0;

		printf("struct %s %u\n", l->name, l->size);
		for (const struct field *f = l->fields; f->name; f++) {
			u32 n = f->size / element_size(f->type);

			if (f->offset != at)
				die("%s: a hole at %u in front of %s", l->name, at, f->name);
			printf("%u %s %s", f->offset, f->name, type_names[f->type]);
			printf(f->size && n == 1 ? "\n" : f->size ? "[%u]\n" : "[]\n", n);
			at += f->size;
		}
		if (at != l->size)
			die("%s: the rows end at %u of %u bytes", l->name, at, l->size);
	}
#define BPF_RECORD(id, KIND, member, doc) \
	printf("record %d %s rec_%s %s\n", id, #KIND, #member, doc);
#include "wire/bpf_records.def"
#undef BPF_RECORD
}
