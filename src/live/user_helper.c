/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/user_helper.c: looks up user frames in a process of its own (see user_helper.h). Layer:
 * live. */
#include "live/user_helper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/user_elf.h"
#include "live/user_maps.h"

#define MAX_PROCESSES 64
#define MAX_FILES 64
#define MAX_SYMBOLS (4u << 20) /* of all files kept; the one in use may have as many again */
/* An address outside of all mappings is a new mapping, or nothing at all (generated code). */
#define REREAD_NS 1000000000ULL

struct process {
	struct user_maps maps;
	u64 read_ns, used;
	u32 tgid; /* 0 = free */
};
struct file {
	struct user_elf elf;
	u64 ino, used;
	u32 major, minor;
	bool known;    /* this slot is taken */
	bool readable; /* else: tried, and no ELF file */
};
struct helper {
	const char *root;
	int fd;
	u64 clock; /* counts uses, for the least recent */
	struct process processes[MAX_PROCESSES];
	struct file files[MAX_FILES];
};

static bool answer(struct helper *h, struct user_answer *a)
{
	return send(h->fd, a, USER_ANSWER_HEAD_BYTES + a->name_bytes, MSG_NOSIGNAL) >= 0;
}

static bool answer_symbol(struct helper *h, u64 start, u64 end, const char *name, size_t len)
{
	struct user_answer a = { .kind = USER_ANSWER_SYMBOL, .start = start, .end = end };

	a.name_bytes = (u32)(len < sizeof(a.name) ? len : sizeof(a.name));
	memcpy(a.name, name, a.name_bytes);
	return answer(h, &a);
}

/* The maps of a process: kept ones, or new ones in the place of those not used for longest. */
static int find_process(struct helper *h, u32 tgid, bool reread, struct process **ret)
{
	struct process *p = NULL, *oldest = &h->processes[0];
	int code;

	for (size_t i = 0; i < MAX_PROCESSES && !p; i++) {
		if (h->processes[i].tgid == tgid)
			p = &h->processes[i];
		else if (h->processes[i].used < oldest->used)
			oldest = &h->processes[i];
	}
	if (p && !reread) {
		p->used = ++h->clock;
		*ret = p;
		return 0;
	}
	if (!p)
		p = oldest;
	user_maps_done(&p->maps);
	memset(p, 0, sizeof(*p));
	code = user_maps_read(&p->maps, h->root, tgid);
	if (code)
		return code;
	p->tgid = tgid;
	p->used = ++h->clock;
	p->read_ns = clock_mono_ns();
	*ret = p;
	return 0;
}

static void drop_file(struct file *f)
{
	if (f->readable)
		user_elf_done(&f->elf);
	memset(f, 0, sizeof(*f));
}

/* A free slot, else the one not used for longest; or, to drop it, only a @known one. */
static struct file *oldest_file(struct helper *h, bool known, const struct file *but)
{
	struct file *oldest = NULL;

	for (size_t i = 0; i < MAX_FILES; i++) {
		struct file *f = &h->files[i];

		if (f != but && (f->known || !known) && (!oldest || f->used < oldest->used))
			oldest = f;
	}
	return oldest;
}

static void bound_symbols(struct helper *h, const struct file *but)
{
	struct file *f;
	size_t total = 0;

	for (size_t i = 0; i < MAX_FILES; i++)
		total += &h->files[i] == but ? 0 : h->files[i].elf.symbols.n;
	while (total > MAX_SYMBOLS && (f = oldest_file(h, true, but))) {
		total -= f->elf.symbols.n;
		drop_file(f);
	}
}

static struct file *find_file(struct helper *h, const struct user_map *map, u32 tgid)
{
	struct file *f;
	int fd;

	for (size_t i = 0; i < MAX_FILES; i++) {
		f = &h->files[i];
		if (f->known && f->ino == map->ino && f->major == map->major &&
		    f->minor == map->minor) {
			f->used = ++h->clock;
			return f;
		}
	}
	fd = user_maps_open(map, h->root, tgid);
	if (fd < 0)
		return NULL;
	f = oldest_file(h, false, NULL);
	drop_file(f);
	f->known = true;
	f->ino = map->ino;
	f->major = map->major;
	f->minor = map->minor;
	f->used = ++h->clock;
	f->readable = !user_elf_init(&f->elf, fd);
	bound_symbols(h, f);
	return f;
}

/* "libfoo.so+0x1234": where there is a file but no function. */
static bool answer_place(struct helper *h, const struct user_map *map, u64 address, u64 vaddr)
{
	const char *slash = strrchr(map->path, '/');
	char name[300];
	int n = snprintf(name, sizeof(name), "%.255s+0x%llx", slash ? slash + 1 : map->path,
			 (unsigned long long)vaddr);

	return answer_symbol(h, address, address + 1, name, (size_t)n);
}

/* False when the other end is gone. */
static bool answer_address(struct helper *h, const struct user_map *map, u32 tgid, u64 address)
{
	struct user_elf_symbol s;
	u64 offset = address - map->start + map->offset, vaddr = offset, start, end, shift;
	struct file *f = map->ino ? find_file(h, map, tgid) : NULL;
	size_t len;

	if (!f || !f->readable || !user_elf_vaddr(&f->elf, offset, &vaddr) ||
	    !user_elf_at(&f->elf, vaddr, &s))
		return !*map->path || answer_place(h, map, address, vaddr);
	shift = address - vaddr; /* as numbers modulo 2^64 */
	start = s.start + shift;
	end = s.end + shift;
	if (start > address || start < map->start)
		start = map->start;
	if (end <= address || end > map->end)
		end = map->end;
	len = strcspn(s.name, "@"); /* without the version */
	return answer_symbol(h, start, end, s.name, len ? len : strlen(s.name));
}

static bool serve(struct helper *h, const struct user_question *q)
{
	struct user_answer a = { .kind = USER_ANSWER_MAPS };
	struct process *p;
	int code = find_process(h, q->tgid, q->reread, &p);
	bool more = code || answer(h, &a);

	for (u32 i = 0; i < q->n && !code && more; i++) {
		const struct user_map *map = user_maps_at(&p->maps, q->addresses[i]);

		if (!map && clock_mono_ns() - p->read_ns > REREAD_NS) {
			code = find_process(h, q->tgid, true, &p);
			map = code ? NULL : user_maps_at(&p->maps, q->addresses[i]);
		}
		if (map)
			more = answer_address(h, map, q->tgid, q->addresses[i]);
	}
	a.kind = USER_ANSWER_END;
	a.code = code;
	return more && answer(h, &a);
}

void user_helper_serve(int fd, const char *root)
{
	struct helper h = { .fd = fd, .root = root };
	struct user_question q;

	for (;;) {
		ssize_t n = recv(fd, &q, sizeof(q), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)offsetof(struct user_question, addresses) ||
		    q.n > USER_HELPER_MAX_ADDRESSES ||
		    (size_t)n != offsetof(struct user_question, addresses) +
					 q.n * sizeof(q.addresses[0]))
			return;
		if (!serve(&h, &q))
			return;
	}
}
