/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/natural.c: natural order of numbered names (see natural.h). */
#include "base/natural.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits from *@at on without leading zeros, which are stepped over; *@at ends behind them. */
static size_t digit_run(const char *s, size_t len, size_t *at, const char **ret_first)
{
	size_t i = *at, first;

	while (i < len && s[i] == '0')
		i++;
	first = i;
	while (i < len && is_digit(s[i]))
		i++;
	*ret_first = s + first;
	*at = i;
	return i - first;
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len ? memcmp(a, b, len) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

int natural_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t i = 0, j = 0;

	while (i < a_len && j < b_len) {
		if (is_digit(a[i]) && is_digit(b[j])) {
			const char *a_digits, *b_digits;
			size_t a_n = digit_run(a, a_len, &i, &a_digits);
			size_t b_n = digit_run(b, b_len, &j, &b_digits);
			int order = (a_n > b_n) - (a_n < b_n);

			if (!order && a_n)
				order = memcmp(a_digits, b_digits, a_n);
			if (order)
				return order;
		} else if (a[i] != b[j]) {
			return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
		} else {
			i++;
			j++;
		}
	}
	if (i < a_len || j < b_len)
		return i < a_len ? 1 : -1;
	return compare_bytes(a, a_len, b, b_len);
}
