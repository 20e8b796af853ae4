/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode/ftrace_scan.h: reading digits, blanks and words eight bytes at a time. Layer: decode,
 * private.
 *
 * Lines are short and the lengths in them vary, so that a loop over bytes costs a mispredicted
 * branch at almost every field. Where eight bytes can be read (and the machine is little-endian)
 * the length of a run is one count of trailing zeros; near a line's end plain loops take over.
 * Nothing here reads at or behind @end.
 */
#ifndef MMSCOPE_DECODE_FTRACE_SCAN_H
#define MMSCOPE_DECODE_FTRACE_SCAN_H

#include <string.h>

#include "base/types.h"

#define SCAN_ALL(byte) ((u64)(byte)*0x0101010101010101ULL)
#define SCAN_HIGH SCAN_ALL(0x80)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SCAN_WORDS 1
#else
#define SCAN_WORDS 0
#endif

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline u64 load8(const char *p)
{
	u64 v;

	memcpy(&v, p, 8);
	return v;
}

/* Index of the first byte whose high bit is set in @mask, which is not 0. */
static inline u32 scan_first(u64 mask)
{
	return (u32)__builtin_ctzll(mask) / 8;
}

/* The first @len (at most 8) bytes at @p, zeros behind them. */
static inline u64 load_head(const char *p, size_t len, const char *end)
{
	u64 v = 0;

	if (SCAN_WORDS && likely(end - p >= 8)) {
		v = load8(p);
		return len >= 8 ? v : v & ((1ULL << (8 * len)) - 1);
	}
	memcpy(&v, p, len < 8 ? len : 8);
	return v;
}

static inline const char *skip_blanks(const char *p, const char *end)
{
	while (SCAN_WORDS && likely(end - p >= 8)) {
		u64 other = load8(p) ^ SCAN_ALL(' ');

		if (likely(other))
			return p + scan_first(other);
		p += 8;
	}
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* The next blank, or @end. */
static inline const char *word_end(const char *p, const char *end)
{
	while (SCAN_WORDS && likely(end - p >= 8)) {
		u64 v = load8(p) ^ SCAN_ALL(' ');
		/* exact up to the first zero byte, which is all that is used */
		u64 zero = (v - SCAN_ALL(1)) & ~v & SCAN_HIGH;

		if (likely(zero))
			return p + scan_first(zero);
		p += 8;
	}
	while (p < end && *p != ' ')
		p++;
	return p;
}

/* The next byte below '@' (a blank, a digit, punctuation but for '[\]^_'), or @end. */
static inline const char *scan_low(const char *p, const char *end)
{
	while (SCAN_WORDS && likely(end - p >= 8)) {
		u64 v = load8(p);
		u64 low = ~(v | v << 1) & SCAN_HIGH;

		if (low)
			return p + scan_first(low);
		p += 8;
	}
	while (p < end && (u8)*p >= '@')
		p++;
	return p;
}

/* How many of the eight bytes in @v are decimal digits, from the first on. */
static inline u32 scan_digits(u64 v)
{
	u64 t = v ^ SCAN_ALL('0');
	u64 other = ((t + SCAN_ALL(0x76)) | t) & SCAN_HIGH;

	return other ? scan_first(other) : 8;
}

/* The value of the first @n (1 to 8) bytes, which are digits. */
static inline u64 scan_dec_value(u64 v, u32 n)
{
	v = (v ^ SCAN_ALL('0')) << (64 - 8 * n);
	v = v * 10 + (v >> 8);
	return (((v & 0x000000ff000000ffULL) * 0x000f424000000064ULL) +
		((v >> 16 & 0x000000ff000000ffULL) * 0x0000271000000001ULL)) >>
	       32;
}

/* Decimal digits at @p; NULL when there are none or they exceed @max. */
static inline const char *parse_dec(const char *p, const char *end, u64 max, u64 *ret)
{
	const char *start = p;
	u64 v = 0;

	if (SCAN_WORDS && likely(end - p >= 8)) {
		u64 word = load8(p);
		u32 n = scan_digits(word);

		if (!n)
			return NULL;
		v = scan_dec_value(word, n);
		if (unlikely(v > max))
			return NULL;
		p += n;
		if (likely(n < 8)) {
			*ret = v;
			return p;
		}
	}
	for (; p < end && is_digit(*p); p++) {
		if (unlikely(__builtin_mul_overflow(v, 10, &v) ||
			     __builtin_add_overflow(v, (u64)(*p - '0'), &v) || v > max))
			return NULL;
	}
	*ret = v;
	return p == start ? NULL : p;
}

/* 0 = other, else the digit's value + 1 */
static const u8 hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Hex digits at @p, with or without 0x; NULL when there are none or they exceed 64 bits. */
static inline const char *parse_hex(const char *p, const char *end, u64 *ret)
{
	const char *start, *limit;
	u64 v = 0;
	u8 digit;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	start = p;
	/* a hashed pointer: "00000000c92b7aa3" */
	if (end - p >= 8 && load8(p) == SCAN_ALL('0'))
		p += 8;
	limit = end - p > 16 ? p + 16 : end;
	for (; p < limit && (digit = hex_digits[(u8)*p]); p++)
		v = v << 4 | (digit - 1u);
	if (unlikely(p < end && hex_digits[(u8)*p]))
		return NULL;
	*ret = v;
	return p == start ? NULL : p;
}

#endif
