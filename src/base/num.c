/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/num.c: numbers out of unterminated bytes (see num.h). */
#include "base/num.h"

#define NS_DIGITS 9

static u32 digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (u32)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (u32)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (u32)(c - 'A') + 10;
	return 16; /* no digit of any base */
}

static size_t scan(const char *s, size_t len, u32 base, u64 *ret)
{
	size_t i;
	u64 v = 0;

	for (i = 0; i < len; i++) {
		u32 digit = digit_value(s[i]);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, (u64)base, &v) ||
		    __builtin_add_overflow(v, (u64)digit, &v))
			return 0;
	}
	if (i)
		*ret = v;
	return i;
}

size_t num_scan_u64(const char *s, size_t len, u64 *ret)
{
	return scan(s, len, 10, ret);
}

size_t num_scan_hex(const char *s, size_t len, u64 *ret)
{
	return scan(s, len, 16, ret);
}

static bool parse_whole(const char *s, size_t len, u32 base, u64 *ret)
{
	u64 v;

	if (!len || scan(s, len, base, &v) != len)
		return false;
	*ret = v;
	return true;
}

static bool has_0x(const char *s, size_t len)
{
	return len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
}

bool num_parse_u64(const char *s, size_t len, u64 *ret)
{
	return parse_whole(s, len, 10, ret);
}

bool num_parse_hex(const char *s, size_t len, u64 *ret)
{
	return has_0x(s, len) ? parse_whole(s + 2, len - 2, 16, ret) : parse_whole(s, len, 16, ret);
}

bool num_parse_any(const char *s, size_t len, u64 *ret)
{
	return has_0x(s, len) ? num_parse_hex(s, len, ret) : num_parse_u64(s, len, ret);
}

bool num_parse_s64(const char *s, size_t len, s64 *ret)
{
	bool negative = len && s[0] == '-';
	u64 v;

	if (!parse_whole(s + negative, len - negative, 10, &v) || v > (u64)INT64_MAX + negative)
		return false;
	/* INT64_MIN has no positive twin: negate one less, then take the one */
	*ret = negative && v ? -(s64)(v - 1) - 1 : (s64)v;
	return true;
}

bool num_parse_seconds_ns(const char *s, size_t len, u64 *ret_ns)
{
	u64 seconds = 0, ns = 0;
	size_t whole = num_scan_u64(s, len, &seconds), i, decimals;

	if (!whole && len && s[0] != '.')
		return false;
	decimals = whole < len ? len - whole - 1 : 0;
	if ((whole < len && s[whole] != '.') || whole + decimals == 0)
		return false;
	for (i = 0; i < decimals || i < NS_DIGITS; i++) {
		u32 digit = i < decimals ? digit_value(s[whole + 1 + i]) : 0;

		if (digit > 9)
			return false;
		if (i < NS_DIGITS)
			ns = ns * 10 + digit;
	}
	if (__builtin_mul_overflow(seconds, 1000000000ULL, &seconds) ||
	    __builtin_add_overflow(seconds, ns, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

bool num_parse_size_bytes(const char *s, size_t len, u64 *ret_bytes)
{
	u32 shift = 0;
	u64 v;

	switch (len ? s[len - 1] : 0) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	}
	if (!num_parse_u64(s, len - (shift != 0), &v) || v > UINT64_MAX >> shift)
		return false;
	*ret_bytes = v << shift;
	return true;
}
