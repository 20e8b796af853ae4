/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/options.h: one row per option gives parsing, range check, help and (tests compare) the docs.
 * Layer: cli. A verb fills a plain struct of its own; `offset` says which member a row sets.
 */
#ifndef MMSCOPE_CLI_OPTIONS_H
#define MMSCOPE_CLI_OPTIONS_H

#include <stddef.h>

#include "base/types.h"
#include "base/vec.h"

enum opt_kind {
	OPT_FLAG,    /* bool */
	OPT_U64,     /* u64, min..max */
	OPT_S64,     /* s64, (s64)min..(s64)max */
	OPT_STRING,  /* const char *, points into argv */
	OPT_STRINGS, /* struct opt_strings: may be given several times, and as a comma list */
	OPT_U64S,    /* struct opt_u64s: the same, of numbers in min..max */
	OPT_SECONDS, /* u64 ns from a decimal number of seconds ("0.5"), min..max in ns */
	OPT_SIZE /* u64 bytes from a number with an optional k, M, G (1024), min..max in bytes */
};
struct opt_strings {
	VEC(const char *) list;
};
struct opt_u64s {
	VEC(u64) list;
};
struct cli_opt {
	const char *name; /* long name without -- */
	char short_name;  /* 0 = none */
	const char *arg;  /* name of its value in help, NULL for OPT_FLAG */
	enum opt_kind kind;
	size_t offset;	 /* of the member in the verb's option struct */
	u64 min, max;	 /* inclusive */
	const char *doc; /* help text; names the default */
};

/* What is left after the options. */
struct cli_args {
	char **argv; /* positional arguments before "--" */
	int argc;
	char **command; /* after "--": NULL-terminated, NULL when there is no "--" */
};

struct verb {
	const char *name;
	const char *args;    /* "[PATH]" for the usage line */
	const char *doc;     /* one line */
	const char *details; /* more text for --help, or NULL */
	const struct cli_opt *opts;
	size_t n_opts;
	size_t opts_size;     /* sizeof the verb's option struct */
	const void *defaults; /* initial value of it */
	/* @opts: the filled struct. Returns the exit code. */
	int (*run)(const struct verb *v, void *opts, const struct cli_args *args);
};

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INCOMPLETE = 3 };

/* "mmscope VERB: message" on stderr, one line; returns @code so that a verb can `return
 * cli_fail(...)`. */
int cli_fail(const struct verb *v, enum exit_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A remark on stderr that is no failure ("mmscope VERB: message"). */
void cli_warn(const struct verb *v, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Parses argv (argv[0] is the verb) and runs it. Handles --help. Returns the exit code. */
int cli_run_verb(const struct verb *v, int argc, char **argv);
/* Flushes stdout: EXIT_DONE, also for a closed pipe; EXIT_FAILED (said on stderr) on a real write
 * error. */
int cli_finish_output(const struct verb *v, int code);

extern const struct verb verb_analyze, verb_locks, verb_record, verb_stress, verb_check;

#endif
