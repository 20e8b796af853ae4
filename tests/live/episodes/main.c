/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * episodes: makes known threads wait for a known time behind known blockers, and says so.
 *
 *	episodes [--kinds frozen,fork,...] [--episodes N] [--seed N] [--min-ms N] [--max-ms N]
 *		 [--area-mb N] [--dir DIR] [--gate]
 *
 * Kinds are played in turn; --kinds is a list of the names below (all of them if not given).
 * --gate: prints the first line and waits for a line of input. What is printed: truth.c.
 * Exit: 0, 77 (cannot be done here, with a reason), 2 (usage), 99 (an episode went wrong).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "episodes.h"

#define READS_PER_S 25 /* of the cold file: 40 ms each */

static const struct kind {
	const char *name;
	void (*play)(struct stage *s);
	bool needs_fs;
} kinds[] = {
	{ "frozen", frozen_episode, true },	{ "frozen_fifo", frozen_fifo_episode, true },
	{ "fork", fork_episode, false },	{ "munmap", munmap_episode, false },
	{ "mprotect", protect_episode, false }, { "smaps", smaps_episode, false },
	{ "uffd", uffd_episode, false },	{ "cold", cold_episode, true },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct options {
	const struct kind *kinds[KINDS];
	unsigned n_kinds, episodes;
	bool gate;
	const char *dir;
};

static int parse_kinds(struct options *o, char *names)
{
	o->n_kinds = 0;
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
		unsigned i = 0;

		while (i < KINDS && strcmp(kinds[i].name, name))
			i++;
		if (i == KINDS || o->n_kinds == KINDS)
			return -1;
		o->kinds[o->n_kinds++] = &kinds[i];
	}
	return o->n_kinds ? 0 : -1;
}

static int parse(int argc, char **argv, struct options *o, struct stage *s)
{
	static const struct option names[] = {
		{ "kinds", 1, NULL, 'k' },   { "episodes", 1, NULL, 'n' }, { "seed", 1, NULL, 's' },
		{ "min-ms", 1, NULL, 'm' },  { "max-ms", 1, NULL, 'M' },   { "dir", 1, NULL, 'd' },
		{ "area-mb", 1, NULL, 'a' }, { "gate", 0, NULL, 'g' },	   { NULL, 0, NULL, 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", names, NULL)) != -1) {
		u64 n = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (opt == '?' || (opt == 'k' && parse_kinds(o, optarg)))
			return -1;
		if (opt == 'n')
			o->episodes = (unsigned)n;
		else if (opt == 's')
			s->random = n * 0x9e3779b97f4a7c15ull | 1;
		else if (opt == 'm')
			s->min_ns = n * 1000000;
		else if (opt == 'M')
			s->max_ns = n * 1000000;
		else if (opt == 'a')
			s->area_bytes = n << 20;
		else if (opt == 'd')
			o->dir = optarg;
		else if (opt == 'g')
			o->gate = true;
	}
	return optind < argc || s->max_ns < s->min_ns || !s->area_bytes ? -1 : 0;
}

/* The director's process. */
static int direct(struct stage *s, const struct options *o, pid_t pid)
{
	char line[16];

	for (int id = 0; id < ACTORS; id++)
		if (!actor_wait(&s->sh->actors[id], 10000))
			return 99;
	stage_calibrate(s);
	truth_begin(s, pid);
	if (o->gate && !fgets(line, sizeof(line), stdin))
		return 0;
	while (s->episodes < o->episodes) {
		o->kinds[s->episodes % o->n_kinds]->play(s);
		s->episodes++;
		fflush(stdout);
	}
	truth_end(s);
	actor_tell(&s->sh->actors[ACTOR_READER], &(struct job){ .op = OP_EXIT });
	return 0;
}

static pid_t start_reader(struct stage *s)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		actor_run(&s->sh->actors[ACTOR_READER]);
		_exit(0);
	}
	return pid;
}

static int play_all(struct stage *s, const struct options *o)
{
	pthread_t threads[ACTORS];
	int status = 0, reader_status;
	pid_t pid = getpid(), director = fork(), reader;

	if (!director) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "ep-director");
		_exit(direct(s, o, pid));
	}
	if (s->alive_fd >= 0)
		close(s->alive_fd); /* the director's alone */
	reader = start_reader(s);
	if (reader < 0 || director < 0)
		return 99;
	for (int id = 0; id < ACTOR_READER; id++)
		if (actor_start(&s->sh->actors[id], &threads[id]))
			return 99;
	if (waitpid(director, &status, 0) != director || !WIFEXITED(status))
		return 99;
	if (WEXITSTATUS(status) == 0)
		waitpid(reader, &reader_status, 0);
	/* else the reader ends with us, as the threads do */
	return WEXITSTATUS(status);
}

static int set_up(struct stage *s, const struct options *o, char *why, size_t why_bytes)
{
	bool needs_fs = false;
	char path[64];

	s->fs_fd = s->alive_fd = -1;
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)getpid());
	s->smaps_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->smaps_fd < 0)
		return -1;
	s->sh = mmap(NULL, sizeof(*s->sh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s->sh == MAP_FAILED)
		return -1;
	for (int id = 0; id < ACTORS; id++)
		if (actor_init(s->sh, id))
			return -1;
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* pages by the thousand, not by the two */
	for (unsigned i = 0; i < o->n_kinds; i++)
		needs_fs |= o->kinds[i]->needs_fs;
	if (needs_fs && loopfs_make(s, o->dir, why, why_bytes))
		return -1;
	if (stage_map(s, why, why_bytes))
		return -1;
	if (needs_fs && watchdog_start(s, &s->alive_fd) < 0)
		return -1;
	if (needs_fs)
		loopfs_throttle(s, READS_PER_S);
	return 0;
}

int main(int argc, char **argv)
{
	const char *tmpdir = getenv("TMPDIR");
	struct options o = { .n_kinds = KINDS, .episodes = 50, .dir = tmpdir ? tmpdir : "/tmp" };
	struct stage s = {
		.random = 1, .min_ns = 1000000, .max_ns = 60000000, .area_bytes = 256 << 20
	};
	char why[256] = "out of memory";

	for (int i = 0; i < KINDS; i++)
		o.kinds[i] = &kinds[i];
	if (parse(argc, argv, &o, &s)) {
		fprintf(stderr, "episodes: wrong usage; see main.c\n");
		return 2;
	}
	if (set_up(&s, &o, why, sizeof(why))) {
		printf("skip: %s\n", why);
		return 77;
	}
	fflush(stdout);
	return play_all(&s, &o);
}
