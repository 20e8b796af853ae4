/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/cmd_check.c: `mmscope check`: what this kernel allows, as a table or JSON. Layer: cli. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "live/check.h"

struct check_opts {
	bool json;
};
static const struct cli_opt check_options[] = {
	{ "json", 0, NULL, OPT_FLAG, offsetof(struct check_opts, json), 0, 0,
	  "one JSON object on stdout" },
};
static const struct check_opts check_defaults = { 0 };

static json_t *json_row(const struct check_row *row)
{
	return json_pack("{s:s s:s s:s s:s s:o? s:s s:o}", "key", row->key, "group", row->group,
			 "what", row->what, "status", check_status_name(row->status), "detail",
			 json_string(row->detail), "needed_for", row->needed_for, "since",
			 row->since ? json_string(row->since) : json_null());
}

static int print_json(const struct verb *v, const struct check_report *r)
{
	json_t *rows = json_array(), *o;

	for (size_t i = 0; i < r->rows.n; i++)
		json_array_append_new(rows, json_row(&r->rows.v[i]));
	o = json_pack("{s:s s:s s:s s:b s:b s:o}", "kernel", r->kernel, "summary", r->summary,
		      "best_rung", check_rung_name(r->rung), "can_record", r->can_record,
		      "can_watch", r->can_watch, "checks", rows);
	if (!o)
		return cli_fail(v, EXIT_FAILED, "out of memory");
	/* A failed write shows in stdout's error flag, which cli_finish_output() judges. */
	(void)json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
	return cli_finish_output(v, EXIT_DONE);
}

static void print_row(const char *what, const char *status, const char *detail)
{
	printf("  %-36s %-8s %s\n", what, status, detail);
}

/* "event.mmap_lock:mmap_lock_released" -> the length of "event.mmap_lock"; 0 for what is no event.
 */
static size_t event_system_len(const struct check_row *row)
{
	const char *colon =
		strncmp(row->key, "event.", strlen("event.")) ? NULL : strchr(row->key, ':');

	return colon ? (size_t)(colon - row->key) : 0;
}

static bool same_system(const struct check_row *a, const struct check_row *b)
{
	size_t len = event_system_len(a);

	return len && len == event_system_len(b) && !strncmp(a->key, b->key, len) &&
	       !strcmp(a->group, b->group);
}

/* One line per event system, "  mmap_lock  ok  3 of 3 events", and what is missing of those that
 * have some. */
static void print_system(const struct check_report *r, size_t first)
{
	const struct check_row *row = &r->rows.v[first];
	const char *system = row->key + strlen("event.");
	size_t n = 0, n_ok = 0, prefix = event_system_len(row) + 1;
	const struct check_row *bad = NULL;
	char label[64], detail[64];

	for (size_t i = first; i < r->rows.n; i++) {
		if (!same_system(row, &r->rows.v[i]))
			continue;
		n++;
		n_ok += r->rows.v[i].status == CHECK_OK;
		if (r->rows.v[i].status != CHECK_OK && !bad)
			bad = &r->rows.v[i];
	}
	snprintf(label, sizeof(label), "%.*s", (int)(prefix - 1 - strlen("event.")), system);
	snprintf(detail, sizeof(detail), "%zu of %zu events", n_ok, n);
	print_row(label, check_status_name(bad ? bad->status : CHECK_OK), detail);
	for (size_t i = first; bad && n_ok && i < r->rows.n; i++)
		if (same_system(row, &r->rows.v[i]) && r->rows.v[i].status != CHECK_OK)
			printf("  %-36s %-8s without %s: %s\n", "", "", r->rows.v[i].key + prefix,
			       r->rows.v[i].needed_for);
}

static bool system_printed_before(const struct check_report *r, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_system(&r->rows.v[at], &r->rows.v[i]))
			return true;
	return false;
}

static int print_text(const struct verb *v, const struct check_report *r)
{
	const char *group = "";

	printf("%s\nkernel %s\n", r->summary, r->kernel);
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct check_row *row = &r->rows.v[i];

		if (strcmp(group, row->group)) {
			group = row->group;
			printf("\n%s\n", group);
		}
		if (event_system_len(row)) {
			if (!system_printed_before(r, i))
				print_system(r, i);
			continue;
		}
		print_row(row->what, check_status_name(row->status), row->detail);
		if (row->status != CHECK_OK)
			printf("  %-36s %-8s %s: %s\n", "", "",
			       row->status == CHECK_TRAP ? "why" : "wanted for", row->needed_for);
	}
	return cli_finish_output(v, EXIT_DONE);
}

static int check_run_verb(const struct verb *v, void *opts, const struct cli_args *args)
{
	const struct check_opts *o = opts;
	struct check_report report;
	struct error e = { 0 };
	int code;

	if (args->argc || args->command)
		return cli_fail(v, EXIT_USAGE, "takes no arguments, only options");
	if (check_report_init(&report, &e))
		code = cli_fail(v, EXIT_FAILED, "%s", e.msg);
	else
		code = o->json ? print_json(v, &report) : print_text(v, &report);
	check_report_done(&report);
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.args = "",
	.doc = "what this kernel allows, and traps in its set-up",
	.details = "Tries tracefs, every event, every BPF program type and perf, and removes what "
		   "it made. "
		   "Status: ok, missing (this kernel has none), refused (it has, and does not let "
		   "us), "
		   "unknown (could not be looked at), trap (works, and would spoil results). "
		   "Without root "
		   "it tells what only root can see. Exit 0 whatever it finds.",
	.opts = check_options,
	.n_opts = ARRAY_LEN(check_options),
	.opts_size = sizeof(struct check_opts),
	.defaults = &check_defaults,
	.run = check_run_verb,
};
