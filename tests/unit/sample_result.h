/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/unit/sample_result.h: results made by hand, for the tests of the renderers. */
#ifndef MMSCOPE_TESTS_SAMPLE_RESULT_H
#define MMSCOPE_TESTS_SAMPLE_RESULT_H

#include "result/result.h"

/*
 * full		every table filled, as a trace of the patched kernel gives it
 * stock	a stock text trace: A, B, C null, lossy
 * no_clock	as full, with a clock that does not count seconds
 * hostile	as full, with names of any bytes and the largest numbers
 * empty	nothing set: what result_init() makes
 */
extern const char *const sample_names[];
/* false when there is no such sample or memory is out; the caller calls result_done() either way.
 */
bool sample_result(const char *name, struct result *r);

#endif
