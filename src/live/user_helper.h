/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live/user_helper.h: the helper process of user_symbols.c and what the two say to each other.
 * Layer: live. Over a SOCK_SEQPACKET pair, so that a message is read whole or not at all.
 */
#ifndef MMSCOPE_LIVE_USER_HELPER_H
#define MMSCOPE_LIVE_USER_HELPER_H

#include "base/types.h"

#define USER_HELPER_MAX_ADDRESSES 256
#define USER_HELPER_MAX_NAME 1024 /* longer ones (C++) are cut */
#define USER_HELPER_NAME "mmscope-symbols"

struct user_question {
	u32 tgid;
	u32 reread; /* not from maps read earlier */
	u32 n;
	u32 pad;
	u64 addresses[USER_HELPER_MAX_ADDRESSES]; /* @n are sent */
};
enum user_answer_kind {
	USER_ANSWER_MAPS = 1, /* the maps have been read: the process is not stuck */
	USER_ANSWER_SYMBOL,   /* one function */
	USER_ANSWER_END	      /* nothing more for this question */
};
struct user_answer {
	u32 kind;
	s32 code; /* END: 0 or the negative errno of reading the maps */
	u64 start, end;
	u32 name_bytes;
	u32 pad;
	char name[USER_HELPER_MAX_NAME]; /* @name_bytes are sent */
};
#define USER_ANSWER_HEAD_BYTES offsetof(struct user_answer, name)

/* Serves @fd until its other end is closed. In the child only: it calls no code of the parent. */
void user_helper_serve(int fd, const char *root);

#endif
