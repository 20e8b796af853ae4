/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/render_sample.c: prints a sample result, for the golden and schema tests: json|text
 * SAMPLE [TOP] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/json.h"
#include "render/text.h"
#include "sample_result.h"

int main(int argc, char **argv)
{
	struct render_opts o = RENDER_OPTS_INIT;
	struct error e = { 0 };
	struct result r;
	bool json;
	int err;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: render_sample json|text SAMPLE [TOP]\n");
		return 99;
	}
	json = !strcmp(argv[1], "json");
	if (argc == 4) {
		o.top = (u32)strtoul(argv[3], NULL, 10);
		o.top_given = true;
	}
	if (!sample_result(argv[2], &r)) {
		fprintf(stderr, "render_sample: no sample %s\n", argv[2]);
		result_done(&r);
		return 99;
	}
	err = json ? render_json(&r, stdout, &o, &e) : render_text(&r, stdout, &o, &e);
	result_done(&r);
	if (err) {
		fprintf(stderr, "render_sample: %s\n", e.msg);
		return 1;
	}
	return 0;
}
