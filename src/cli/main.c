/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/main.c: looks the verb up and runs it. Layer: cli. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

static const struct verb *const verbs[] = {
	&verb_analyze,
#if MMSCOPE_LIVE
	&verb_locks,   &verb_record, &verb_stress, &verb_check,
#endif
};

static int show_usage(FILE *out)
{
	fputs("mmscope: who waits for mmap_lock or a VMA lock, how long, and who made them wait\n\n"
	      "usage: mmscope VERB [options]\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->doc);
	fputs("\nmmscope VERB --help tells more; mmscope --version prints the version.\n"
	      "Exit: 0 done, 1 failed, 2 wrong usage, 3 done but data incomplete under --strict.\n",
	      out);
	return out == stdout ? cli_finish_output(NULL, EXIT_DONE) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	/* a closed pipe is seen by the write that fails (cli_finish_output) */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2)
		return show_usage(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return show_usage(stdout);
	if (!strcmp(argv[1], "--version")) {
		puts("mmscope " MMSCOPE_VERSION);
		return cli_finish_output(NULL, EXIT_DONE);
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!strcmp(argv[1], verbs[i]->name))
			return cli_run_verb(verbs[i], argc - 1, argv + 1);
	}
	return cli_fail(NULL, EXIT_USAGE, "unknown verb '%s'; see mmscope --help", argv[1]);
}
