/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/num.h: numbers out of (pointer, length): nothing is read behind the length, so the bytes
 * need no NUL, and nothing overflows silently.
 *
 * num_parse_*() want the whole string to be one number: no blanks, no sign but the one named, at
 * least one digit. False when it is not one or does not fit; *@ret is then unchanged.
 */
#ifndef MMSCOPE_BASE_NUM_H
#define MMSCOPE_BASE_NUM_H

#include "base/types.h"

/* "0", "42": decimal. */
bool num_parse_u64(const char *s, size_t len, u64 *ret) MUST_CHECK;
/* The same with an optional '-' in front. */
bool num_parse_s64(const char *s, size_t len, s64 *ret) MUST_CHECK;
/* "ffff8881000", "0xFFFF": hexadecimal, 0x or 0X in front or not. */
bool num_parse_hex(const char *s, size_t len, u64 *ret) MUST_CHECK;
/* "0x1f" is hexadecimal, all else decimal (a leading 0 is no octal: CPU 08 is CPU 8). */
bool num_parse_any(const char *s, size_t len, u64 *ret) MUST_CHECK;
/* "12", "0.5", "100.000001234", ".5", "3.": seconds as ns; digits past the ninth decimal are cut.
 */
bool num_parse_seconds_ns(const char *s, size_t len, u64 *ret_ns) MUST_CHECK;
/* "4096", "64k", "8M", "2G": bytes; k, M, G of either case are powers of 1024. */
bool num_parse_size_bytes(const char *s, size_t len, u64 *ret_bytes) MUST_CHECK;

/*
 * The decimal (hexadecimal, without 0x) number at the start of the bytes: how many of them it has,
 * 0 when they start with no digit or the number does not fit.
 */
size_t num_scan_u64(const char *s, size_t len, u64 *ret) MUST_CHECK;
size_t num_scan_hex(const char *s, size_t len, u64 *ret) MUST_CHECK;

#endif
