/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/bench/split_loop.c: the least that any reader of a text trace must do, as a yardstick: find
 *each newline, split the line at blanks, split fields at the first '=', and add up the lengths.
 *
 *	usage: split_loop FILE	prints "lines fields pairs bytes"
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)

struct sums {
	uint64_t lines, fields, pairs, bytes;
};

static void split_line(struct sums *sums, const char *p, const char *end)
{
	sums->lines++;
	while (p < end) {
		const char *start, *equals = NULL;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p == end)
			break;
		for (start = p; p < end && *p != ' ' && *p != '\t'; p++)
			if (*p == '=' && !equals)
				equals = p;
		sums->fields++;
		sums->pairs += equals != NULL;
		/* Key and value, or the field as a whole. */
		sums->bytes += equals ? (uint64_t)(equals - start) + (uint64_t)(p - equals - 1)
				      : (uint64_t)(p - start);
	}
}

/* Returns the bytes of the last line, which may be cut by the end of the block. */
static size_t split_block(struct sums *sums, const char *data, size_t len)
{
	const char *p = data, *end = data + len, *newline;

	while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		split_line(sums, p, newline);
		p = newline + 1;
	}
	return (size_t)(end - p);
}

static int split_file(struct sums *sums, int fd, char *buffer)
{
	size_t kept = 0;

	for (;;) {
		ssize_t got = read(fd, buffer + kept, BUFFER_BYTES - kept);
		size_t len;

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len = kept + (size_t)got;
		kept = split_block(sums, buffer, len);
		if (kept == BUFFER_BYTES) /* one line longer than the buffer: in pieces */
			kept = 0;
		memmove(buffer, buffer + len - kept, kept);
	}
	if (kept)
		split_line(sums, buffer, buffer + kept);
	return 0;
}

int main(int argc, char **argv)
{
	struct sums sums = { 0 };
	char *buffer = malloc(BUFFER_BYTES);
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int failed = !buffer || fd < 0 || split_file(&sums, fd, buffer);

	if (failed)
		perror("split_loop");
	else
		printf("%llu %llu %llu %llu\n", (unsigned long long)sums.lines,
		       (unsigned long long)sums.fields, (unsigned long long)sums.pairs,
		       (unsigned long long)sums.bytes);
	free(buffer);
	if (fd >= 0)
		close(fd);
	return failed ? 1 : 0;
}
