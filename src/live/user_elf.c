/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/user_elf.c: functions of an ELF file by address, by libdw (see user_elf.h). Layer: live. */
#include "live/user_elf.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A symbol without a size (hand-written assembly) ends where the next begins, but not behind this.
 */
#define UNSIZED_MAX_BYTES 65536
/* Functions may be nested (a cold part inside of another): so many are tried downwards. */
#define NESTED_MAX 8

static int no_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elfp)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file_name, (void)elfp;
	return -1;
}

/* libdw's own would look into /usr/lib/debug and ask debuginfod servers. */
static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			const char *file_name, const char *link_file, GElf_Word crc,
			char **debug_name)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file_name, (void)link_file;
	(void)crc, (void)debug_name;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = no_debuginfo,
};

static bool is_code(Elf *elf, GElf_Word shndx)
{
	Elf_Scn *scn = elf ? elf_getscn(elf, shndx) : NULL;
	GElf_Shdr shdr;

	return scn && gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

/* "malloc" before "__libc_malloc", a global name before a local one, one with a size first. */
static u32 rank_of(const GElf_Sym *sym, const char *name)
{
	u32 underscores = (u32)strspn(name, "_"), binding = GELF_ST_BIND(sym->st_info);
	u32 order = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;

	return (sym->st_size == 0) << 16 | (underscores < 15 ? underscores : 15) << 8 | order;
}

static int take_symbol(struct user_elf *elf, Dwfl_Module *mod, int i, GElf_Addr bias)
{
	struct user_elf_symbol *s;
	GElf_Sym sym;
	GElf_Addr address;
	GElf_Word shndx;
	Elf *from = NULL;
	const char *name = dwfl_module_getsym_info(mod, i, &sym, &address, &shndx, &from, NULL);
	u32 type;

	if (!name || !*name || shndx == SHN_UNDEF || shndx == SHN_ABS || shndx == (GElf_Word)-1)
		return 0;
	type = GELF_ST_TYPE(sym.st_info);
	if (type == STT_NOTYPE && (*name == '$' || *name == '.' || !is_code(from, shndx)))
		return 0; /* '$x': ARM's marks of code and data */
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (elf->symbols.n >= USER_ELF_MAX_SYMBOLS)
		return -E2BIG;
	s = vec_push(&elf->symbols);
	if (!s)
		return -ENOMEM;
	s->start = address - bias;
	s->end = s->start + sym.st_size < s->start ? s->start : s->start + sym.st_size;
	s->name = name;
	s->rank = rank_of(&sym, name);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct user_elf_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorted, one name for each start, and an end for those that lack one. */
static void sort_symbols(struct user_elf *elf)
{
	struct user_elf_symbol *v = elf->symbols.v;
	size_t n = elf->symbols.n, kept = 0;

	if (!n)
		return;
	qsort(v, n, sizeof(*v), compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || v[kept - 1].start != v[i].start)
			v[kept++] = v[i];
	for (size_t i = 0; i < kept; i++) {
		if (v[i].end != v[i].start)
			continue;
		v[i].end += UNSIZED_MAX_BYTES;
		if (v[i].end < v[i].start)
			v[i].end = UINT64_MAX;
		if (i + 1 < kept && v[i + 1].start < v[i].end)
			v[i].end = v[i + 1].start;
	}
	elf->symbols.n = kept;
}

static int read_segments(struct user_elf *elf, Elf *e)
{
	size_t n;

	if (elf_getphdrnum(e, &n))
		return -EPROTO;
	for (size_t i = 0; i < n && i < 65536; i++) {
		struct user_elf_segment *s;
		GElf_Phdr phdr;

		if (!gelf_getphdr(e, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		s = vec_push(&elf->segments);
		if (!s)
			return -ENOMEM;
		s->offset = phdr.p_offset;
		s->size = phdr.p_filesz;
		s->vaddr = phdr.p_vaddr;
	}
	return 0;
}

int user_elf_init(struct user_elf *elf, int fd)
{
	Dwfl_Module *mod = NULL;
	GElf_Addr bias = 0;
	Elf *e;
	int n, code = 0;

	memset(elf, 0, sizeof(*elf));
	elf->dwfl = dwfl_begin(&callbacks);
	if (elf->dwfl) {
		dwfl_report_begin(elf->dwfl);
		mod = dwfl_report_elf(elf->dwfl, "file", "file", fd, 0, true);
	}
	if (!mod) { /* else libdw owns it */
		close(fd);
		user_elf_done(elf);
		return -EPROTO;
	}
	dwfl_report_end(elf->dwfl, NULL, NULL);
	e = dwfl_module_getelf(mod, &bias);
	code = e ? read_segments(elf, e) : -EPROTO;
	n = code ? 0 : dwfl_module_getsymtab(mod); /* negative: none, addresses still help */
	for (int i = 1; i < n && !code; i++)
		code = take_symbol(elf, mod, i, bias);
	if (code == -E2BIG)
		code = 0;
	if (code) {
		user_elf_done(elf);
		return code;
	}
	sort_symbols(elf);
	return 0;
}

void user_elf_done(struct user_elf *elf)
{
	if (elf->dwfl)
		dwfl_end(elf->dwfl);
	elf->dwfl = NULL;
	vec_done(&elf->symbols);
	vec_done(&elf->segments);
}

bool user_elf_vaddr(const struct user_elf *elf, u64 offset, u64 *ret)
{
	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct user_elf_segment *s = &elf->segments.v[i];

		if (offset >= s->offset && offset - s->offset < s->size) {
			*ret = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

bool user_elf_at(const struct user_elf *elf, u64 vaddr, struct user_elf_symbol *ret)
{
	const struct user_elf_symbol *v = elf->symbols.v;
	size_t lo = 0, hi = elf->symbols.n;
	u64 from = 0, to;

	while (lo < hi) { /* the first that starts above the address */
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	to = lo < elf->symbols.n ? v[lo].start : UINT64_MAX;
	for (size_t i = 0; i < NESTED_MAX && i < lo; i++) {
		const struct user_elf_symbol *s = &v[lo - 1 - i];

		if (vaddr < s->end) {
			*ret = *s;
			ret->start = s->start > from ? s->start : from;
			ret->end = s->end < to ? s->end : to;
			return true;
		}
		from = s->end > from ? s->end : from;
	}
	return false;
}
