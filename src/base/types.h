/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/types.h: the short integer names and the few attributes every layer uses. */
#ifndef MMSCOPE_BASE_TYPES_H
#define MMSCOPE_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
