/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/verdict.h: the answer, by DESIGN section 5's rules, from the summary. Layer: analysis.
 */
#ifndef MMSCOPE_ANALYSIS_VERDICT_H
#define MMSCOPE_ANALYSIS_VERDICT_H

#include "result/result.h"

/* Fills r->verdict from r->summary and r->trace. Every rule is judged; the first that holds is
 * primary. */
int verdict_judge(struct result *r, u64 inversion_ns) MUST_CHECK;

#endif
