/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/options.c: parses a verb's options from its table through argp, which also writes the help.
 * Layer: cli.
 */
#include "cli/options.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

#define KEY_OF_ROW 0x1000 /* argp keys of the rows: above every character */

struct parse {
	const struct verb *verb;
	char *opts;
	VEC(char *) args;
	bool help, failed;
	const char *culprit; /* the argument at which argp gave up */
};

/* One line whatever it quotes: a path or a name may hold any byte. */
static void put_line(const struct verb *v, const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "mmscope%s%s: ", v ? " " : "", v ? v->name : "");
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			fprintf(stderr, "\\x%02x", (unsigned char)*c);
		else
			fputc(*c, stderr);
	}
	fputc('\n', stderr);
}

int cli_fail(const struct verb *v, enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(v, fmt, ap);
	va_end(ap);
	return code;
}

void cli_warn(const struct verb *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(v, fmt, ap);
	va_end(ap);
}

int cli_finish_output(const struct verb *v, int code)
{
	int err = ferror(stdout) ? EIO : 0;

	if (fflush(stdout))
		err = errno;
	/* whoever reads has had enough: head, less */
	if (err == EPIPE)
		return EXIT_DONE;
	if (err && code == EXIT_DONE)
		return cli_fail(v, EXIT_FAILED, "cannot write the output: %s", strerror(err));
	return code;
}

static bool bad_value(struct parse *p, const struct cli_opt *o, const char *value, const char *why)
{
	cli_fail(p->verb, EXIT_USAGE, "--%s %s: %s", o->name, value, why);
	p->failed = true;
	return false;
}

static bool in_range(struct parse *p, const struct cli_opt *o, const char *value, u64 v)
{
	char why[128];

	if (v >= o->min && v <= o->max)
		return true;
	if (o->kind == OPT_SECONDS)
		snprintf(why, sizeof(why), "out of range (%g to %g s)", (double)o->min / 1e9,
			 (double)o->max / 1e9);
	else
		snprintf(why, sizeof(why), "out of range (%" PRIu64 " to %" PRIu64 ")", o->min,
			 o->max);
	return bad_value(p, o, value, why);
}

static bool set_number(struct parse *p, const struct cli_opt *o, const char *value, void *to)
{
	size_t len = strlen(value);
	char why[128];
	s64 s;
	u64 u;

	switch (o->kind) {
	case OPT_S64:
		if (!num_parse_s64(value, len, &s))
			return bad_value(p, o, value, "not a number");
		if (s < (s64)o->min || s > (s64)o->max) {
			snprintf(why, sizeof(why), "out of range (%" PRId64 " to %" PRId64 ")",
				 (s64)o->min, (s64)o->max);
			return bad_value(p, o, value, why);
		}
		*(s64 *)to = s;
		return true;
	case OPT_SECONDS:
		if (!num_parse_seconds_ns(value, len, &u))
			return bad_value(p, o, value, "not a number of seconds");
		break;
	case OPT_SIZE:
		if (!num_parse_size_bytes(value, len, &u))
			return bad_value(p, o, value, "not a size (bytes, or with k, M, G)");
		break;
	default:
		if (!num_parse_u64(value, len, &u))
			return bad_value(p, o, value, "not a number");
	}
	if (!in_range(p, o, value, u))
		return false;
	*(u64 *)to = u;
	return true;
}

/* "a,b,c": each part goes into the list. The parts live as long as argv: commas become NULs. */
static bool add_to_list(struct parse *p, const struct cli_opt *o, char *value, void *to)
{
	char *save = NULL;

	/* an empty shell variable must not mean "all" */
	if (!value[strspn(value, ",")])
		return bad_value(p, o, value, "a list without a value");
	for (char *part = strtok_r(value, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		if (o->kind == OPT_STRINGS) {
			const char **slot = vec_push(&((struct opt_strings *)to)->list);

			if (!slot)
				return bad_value(p, o, part, "out of memory");
			*slot = part;
		} else {
			u64 *slot = vec_push(&((struct opt_u64s *)to)->list);

			if (!slot)
				return bad_value(p, o, part, "out of memory");
			if (!set_number(p, o, part, slot))
				return false;
		}
	}
	return true;
}

static bool set_option(struct parse *p, const struct cli_opt *o, char *value)
{
	void *to = p->opts + o->offset;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)to = true;
		return true;
	case OPT_STRING:
		*(const char **)to = value;
		return true;
	case OPT_STRINGS:
	case OPT_U64S:
		return add_to_list(p, o, value, to);
	default:
		return set_number(p, o, value, to);
	}
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	char **slot;

	if (key >= KEY_OF_ROW && (size_t)(key - KEY_OF_ROW) < p->verb->n_opts)
		return set_option(p, &p->verb->opts[key - KEY_OF_ROW], arg) ? 0 : EINVAL;
	for (size_t i = 0; key > 0 && key < 256 && i < p->verb->n_opts; i++) {
		if (p->verb->opts[i].short_name == key)
			return set_option(p, &p->verb->opts[i], arg) ? 0 : EINVAL;
	}
	if (key == '?') {
		p->help = true;
		return 0;
	}
	if (key == ARGP_KEY_ERROR && state->next > 1)
		p->culprit = state->argv[state->next - 1];
	if (key == ARGP_KEY_ARG) {
		slot = vec_push(&p->args);
		if (!slot)
			return ENOMEM;
		*slot = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* The verb's rows as argp wants them. The short name is the key where there is one. */
static struct argp_option *argp_options(const struct verb *v)
{
	struct argp_option *a = calloc(v->n_opts + 2, sizeof(*a));

	for (size_t i = 0; a && i < v->n_opts; i++) {
		const struct cli_opt *o = &v->opts[i];

		a[i].name = o->name;
		a[i].key = o->short_name ? o->short_name : KEY_OF_ROW + (int)i;
		a[i].arg = o->kind == OPT_FLAG ? NULL : o->arg;
		a[i].doc = o->doc;
	}
	if (a) {
		a[v->n_opts].name = "help";
		a[v->n_opts].key = '?';
		a[v->n_opts].doc = "show this help";
	}
	return a;
}

/* argp has its own idea of unknown options: several lines. One line is ours. */
static bool check_known(const struct verb *v, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *name = argv[i] + 2, *equals;
		size_t len, n_prefix = 0;
		bool exact = false;

		if (strncmp(argv[i], "--", 2))
			continue;
		equals = strchr(name, '=');
		len = equals ? (size_t)(equals - name) : strlen(name);
		for (size_t k = 0; k < v->n_opts; k++) {
			bool prefix = !strncmp(v->opts[k].name, name, len);

			n_prefix += prefix;
			exact |= prefix && !v->opts[k].name[len];
		}
		n_prefix += !strncmp("help", name, len);
		if (!exact && n_prefix != 1) {
			cli_fail(v, EXIT_USAGE, "--%.*s: %s option; see mmscope %s --help",
				 (int)len, name, n_prefix ? "ambiguous" : "unknown", v->name);
			return false;
		}
	}
	return true;
}

static int show_help(const struct verb *v, const struct argp *argp)
{
	char name[64];

	snprintf(name, sizeof(name), "mmscope %s", v->name);
	argp_help(argp, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
	return cli_finish_output(v, EXIT_DONE);
}

static void free_lists(const struct verb *v, char *opts)
{
	for (size_t i = 0; i < v->n_opts; i++) {
		if (v->opts[i].kind == OPT_STRINGS)
			vec_done(&((struct opt_strings *)(opts + v->opts[i].offset))->list);
		else if (v->opts[i].kind == OPT_U64S)
			vec_done(&((struct opt_u64s *)(opts + v->opts[i].offset))->list);
	}
}

/* Where the command after "--" begins, or argc. */
static int find_command(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--"))
		i++;
	return i;
}

int cli_run_verb(const struct verb *v, int argc, char **argv)
{
	struct argp_option *rows = argp_options(v);
	char *opts = calloc(1, v->opts_size ? v->opts_size : 1), *doc = NULL;
	struct parse p = { .verb = v, .opts = opts };
	struct argp argp = { rows, parse_one, v->args, NULL, NULL, NULL, NULL };
	int n = find_command(argc, argv), code = EXIT_USAGE;
	struct cli_args args = { 0 };
	error_t err;

	if (!rows || !opts || asprintf(&doc, "%s\v%s", v->doc, v->details ? v->details : "") < 0) {
		code = cli_fail(v, EXIT_FAILED, "out of memory");
		goto out;
	}
	argp.doc = doc;
	if (v->defaults)
		memcpy(opts, v->defaults, v->opts_size);
	if (!check_known(v, n, argv))
		goto out;
	/* argp prints nothing here; an error it finds itself is a missing value or an unknown short
	 * option */
	err = argp_parse(&argp, n, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL, &p);
	if (p.help) {
		code = show_help(v, &argp);
		goto out;
	}
	if (err) {
		if (!p.failed)
			cli_fail(v, EXIT_USAGE,
				 "%s: no such option, or its value is missing or not wanted; see "
				 "mmscope %s --help",
				 p.culprit ? p.culprit : "options", v->name);
		goto out;
	}
	args.argv = p.args.v;
	args.argc = (int)p.args.n;
	args.command = n < argc ? argv + n + 1 : NULL;
	code = v->run(v, opts, &args);
out:
	if (opts)
		free_lists(v, opts);
	vec_done(&p.args);
	free(doc);
	free(opts);
	free(rows);
	return code;
}
