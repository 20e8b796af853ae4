/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/fuzz/fuzz_target.h: what every fuzz target is made of. Compiled with -DFUZZ_REPLAY a target
 * is a program that replays the files and directories given as arguments.
 */
#ifndef MMSCOPE_FUZZ_TARGET_H
#define MMSCOPE_FUZZ_TARGET_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/types.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

static inline u64 hash_bytes(u64 h, const void *p, size_t len)
{
	const u8 *b = p;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3ULL;
	return h;
}

#ifdef FUZZ_REPLAY
static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n, capacity = 1 << 16, len = 0;
	u8 *data = malloc(capacity);

	if (!f || !data) {
		fprintf(stderr, "%s: cannot read it\n", path);
		return -1;
	}
	while ((n = fread(data + len, 1, capacity - len, f)) > 0) {
		len += n;
		if (len == capacity) {
			capacity *= 2;
			data = realloc(data, capacity);
			CHECK(data);
		}
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 1;
}

/* How many inputs were replayed, or -1. */
static int replay(const char *path)
{
	struct dirent *entry;
	struct stat st;
	char child[4096];
	int n = 0, r;
	DIR *dir;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return replay_file(path);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		r = replay(child);
		if (r < 0) {
			closedir(dir);
			return -1;
		}
		n += r;
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0, r;

	for (int i = 1; i < argc; i++) {
		r = replay(argv[i]);
		if (r < 0)
			return 1;
		total += r;
	}
	printf("%d inputs replayed\n", total);
	return total ? 0 : 1;
}
#endif

#endif
