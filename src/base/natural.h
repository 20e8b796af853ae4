/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/natural.h: the order people expect of numbered names: trace_stream_2 before
 * trace_stream_10, cpu0-00009.txt before cpu0-00010.txt.
 */
#ifndef MMSCOPE_BASE_NATURAL_H
#define MMSCOPE_BASE_NATURAL_H

#include "base/types.h"

/*
 * Like memcmp(), with every run of decimal digits compared as one number of any length. A total
 * order: numbers that differ only in leading zeros ("1", "01") compare by the plain bytes last, so
 * 0 is returned for equal byte strings only.
 */
int natural_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
