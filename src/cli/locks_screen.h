/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli/locks_screen.h: the terminal of `mmscope locks`. Layer: cli.
 *
 * The alternate screen is used, so that what the terminal showed before comes back at the end. A
 * page is composed in memory and goes out in one write(); nothing is cleared first, so that nothing
 * flickers.
 */
#ifndef MMSCOPE_CLI_LOCKS_SCREEN_H
#define MMSCOPE_CLI_LOCKS_SCREEN_H

#include <termios.h>

#include "base/error.h"
#include "base/types.h"

struct screen {
	bool open;
	bool has_keys;	     /* standard input is this terminal, and we are in its foreground */
	int signals_fd;	     /* SIGWINCH, SIGTSTP */
	struct termios keys; /* as they were */
};
enum screen_event { SCREEN_NOTHING, SCREEN_REDRAW, SCREEN_QUIT };

int screen_open(struct screen *s, struct error *e) MUST_CHECK;
/* Lines that a page may have: one less than the terminal, so that nothing scrolls. */
u32 screen_lines(void);
/* 0, or the negative errno of a failed write. */
int screen_show(const struct screen *s, const char *page, size_t len);
/* What happened since the last call: the size changed or we were stopped (^Z) and go on; q was
 * typed. */
enum screen_event screen_take_event(struct screen *s);
/* To be polled: readable when screen_take_event() has something to tell. -1: none. */
int screen_keys_fd(const struct screen *s);
void screen_close(struct screen *s);

#endif
