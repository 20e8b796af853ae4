/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_analyze.c: `mmscope analyze`: every analysis of a stored trace. Layer: cli. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/options.h"
#include "render/json.h"
#include "render/text.h"
#include "session/analyze.h"

#define NS_PER_S 1000000000ULL

struct analyze_cli {
	bool json, strict, allow_step_back;
	struct opt_strings only, comms;
	struct opt_u64s pids;
	u64 top;
	const char *from, *to, *arch, *workload;
	u64 contended_ns, window_ms, inversion_us, show_skipped;
};

#define AT(member) offsetof(struct analyze_cli, member)
static const struct cli_opt analyze_options[] = {
	{ "json", 'j', NULL, OPT_FLAG, AT(json), 0, 0, "print the result as JSON (docs/JSON.md)" },
	{ "only", 0, "SECTION,...", OPT_STRINGS, AT(only), 0, 0,
	  "only these sections: verdict, trace, contention, waits, faults, writers, mappings, "
	  "blame, open" },
	{ "top", 't', "N", OPT_U64, AT(top), 0, 1000000,
	  "rows per table, 0 = all (default 10; JSON: all)" },
	{ "pid", 'p', "PID,...", OPT_U64S, AT(pids), 0, UINT32_MAX,
	  "count only what threads of these processes (TGID or TID) waited for" },
	{ "comm", 'c', "NAME,...", OPT_STRINGS, AT(comms), 0, 0,
	  "count only what threads of these names (glob patterns) waited for" },
	{ "from", 0, "SECONDS", OPT_STRING, AT(from), 0, 0,
	  "leave out events before this time stamp; +SECONDS counts from the trace's begin" },
	{ "to", 0, "SECONDS", OPT_STRING, AT(to), 0, 0, "leave out events after it" },
	{ "contended-ns", 0, "NS", OPT_U64, AT(contended_ns), 0, 1000ULL * NS_PER_S,
	  "a shorter wait is no contention (default 1000)" },
	{ "window-ms", 0, "MS", OPT_U64, AT(window_ms), 0, 10000,
	  "how near a fault and a VMA write must begin to meet (default 1)" },
	{ "inversion-us", 0, "US", OPT_U64, AT(inversion_us), 0, 1000000000,
	  "Type C score above which an inversion is real (default 1000)" },
	{ "arch", 0, "ARCH", OPT_STRING, AT(arch), 0, 0,
	  "machine of the trace, for raw system call numbers: x86_64, i386, arm64 (default: the "
	  "recording's)" },
	{ "workload", 0, "NAME", OPT_STRING, AT(workload), 0, 0,
	  "name of the workload for the result" },
	{ "allow-step-back", 0, NULL, OPT_FLAG, AT(allow_step_back), 0, 0,
	  "read a file whose clock steps back by over 1 s (several captures glued together): count "
	  "all its "
	  "events, analyse those in order" },
	{ "show-skipped", 0, "N", OPT_U64, AT(show_skipped), 0, 10000,
	  "print the first N lines that were not understood to stderr" },
	{ "strict", 0, NULL, OPT_FLAG, AT(strict), 0, 0,
	  "exit 3 when anything was lost, skipped or refused" },
};

static const struct analyze_cli analyze_defaults = {
	.top = UINT64_MAX, /* not given */
	.contended_ns = ANALYZE_CONTENDED_NS,
	.window_ms = ANALYZE_WINDOW_NS / 1000000,
	.inversion_us = ANALYZE_INVERSION_NS / 1000,
};

static bool parse_limit(const char *s, struct time_limit *ret)
{
	if (!s)
		return true;
	ret->has = true;
	ret->relative = *s == '+';
	return num_parse_seconds_ns(s + ret->relative, strlen(s + ret->relative), &ret->ns);
}

static bool parse_arch(const char *s, enum syscall_arch *ret)
{
	static const struct {
		const char *name;
		enum syscall_arch arch;
	} archs[] = { { "x86_64", ARCH_X86_64 }, { "i386", ARCH_I386 }, { "arm64", ARCH_ARM64 } };

	for (size_t i = 0; s && i < ARRAY_LEN(archs); i++) {
		if (!strcmp(s, archs[i].name)) {
			*ret = archs[i].arch;
			return true;
		}
	}
	return !s;
}

static void show_skipped(void *ctx, const char *why, u64 line_no, const char *line, size_t len)
{
	(void)ctx;
	fprintf(stderr, "skipped line %" PRIu64 " (%s): ", line_no, why);
	for (size_t i = 0; i < len && i < 300; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c >= ' ' && c < 127)
			fputc(c, stderr);
		else
			fprintf(stderr, "\\x%02x", c);
	}
	fputc('\n', stderr);
}

static void show_progress(void *ctx, u64 done, u64 all)
{
	(void)ctx;
	if (all && done <= all)
		fprintf(stderr, "\r%3" PRIu64 " %%", done * 100 / all);
	else
		fprintf(stderr, "\r%" PRIu64 " MB", done >> 20);
}

static int build_opts(const struct verb *v, const struct analyze_cli *cli, struct analyze_opts *o,
		      struct render_opts *ro)
{
	if (!parse_limit(cli->from, &o->from))
		return cli_fail(v, EXIT_USAGE, "--from %s: not a number of seconds", cli->from);
	if (!parse_limit(cli->to, &o->to))
		return cli_fail(v, EXIT_USAGE, "--to %s: not a number of seconds", cli->to);
	if (o->from.has && o->to.has && o->from.relative == o->to.relative && o->from.ns > o->to.ns)
		return cli_fail(v, EXIT_USAGE, "--from %s lies behind --to %s", cli->from, cli->to);
	if (!parse_arch(cli->arch, &o->arch))
		return cli_fail(v, EXIT_USAGE, "--arch %s: not one of x86_64, i386, arm64",
				cli->arch);
	for (size_t i = 0; i < cli->only.list.n; i++) {
		int section = render_section_find(cli->only.list.v[i]);

		if (section < 0)
			return cli_fail(v, EXIT_USAGE,
					"--only %s: no such section; see mmscope analyze --help",
					cli->only.list.v[i]);
		ro->sections |= 1u << section;
	}
	if (cli->top != UINT64_MAX) {
		ro->top = (u32)cli->top;
		ro->top_given = true;
	}
	o->analysis.contended_ns = cli->contended_ns;
	o->analysis.callers_window_ns = cli->window_ms * 1000000;
	o->analysis.inversion_ns = cli->inversion_us * 1000;
	o->analysis.pids = cli->pids.list.v;
	o->analysis.n_pids = cli->pids.list.n;
	o->analysis.comms = cli->comms.list.v;
	o->analysis.n_comms = cli->comms.list.n;
	o->allow_step_back = cli->allow_step_back;
	o->workload = cli->workload;
	o->show_skipped = (u32)cli->show_skipped;
	o->skipped = show_skipped;
	if (isatty(STDERR_FILENO))
		o->progress = show_progress;
	ro->colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	return EXIT_DONE;
}

static int run_analyze(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct analyze_cli *cli = opts;
	struct analyze_opts o = { 0 };
	struct render_opts ro = RENDER_OPTS_INIT;
	struct error e = { 0 };
	struct result r;
	int err, code;

	if (args->argc != 1 || args->command)
		return cli_fail(v, EXIT_USAGE,
				"give one trace: a file, a directory, or - for stdin");
	code = build_opts(v, cli, &o, &ro);
	if (code)
		return code;
	result_init(&r);
	err = session_analyze(args->argv[0], &o, &r, &e);
	if (o.progress)
		fputs("\r       \r", stderr);
	if (err) {
		code = cli_fail(v, EXIT_FAILED, "%s%s", e.msg,
				err == -EPROTO ? " (or --allow-step-back to use what is in order)"
					       : "");
		goto out;
	}
	err = cli->json ? render_json(&r, stdout, &ro, &e) : render_text(&r, stdout, &ro, &e);
	if (err && err != -EPIPE) {
		code = cli_fail(v, EXIT_FAILED, "%s", e.msg);
		goto out;
	}
	code = err ? EXIT_DONE : cli_finish_output(v, EXIT_DONE);
	if (code == EXIT_DONE && cli->strict && r.incomplete)
		code = EXIT_INCOMPLETE;
out:
	result_done(&r);
	return code;
}

const struct verb verb_analyze = {
	.name = "analyze",
	.args = "PATH",
	.doc = "all analyses of a session directory, a trace file, a directory of chunks, or stdin "
	       "(-)",
	.details = "Reads what mmscope record writes, and ftrace text: trace, trace_pipe, "
		   "trace-cmd report, the latency format; "
		   "plain, gzip, zstd or "
		   "xz. The report says first what was found, then what was not covered, then the "
		   "tables.",
	.opts = analyze_options,
	.n_opts = ARRAY_LEN(analyze_options),
	.opts_size = sizeof(struct analyze_cli),
	.defaults = &analyze_defaults,
	.run = run_analyze,
};
