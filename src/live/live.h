/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/live.h: the one mutable global besides the log level: a signal asked us to end. Layer: live.
 */
#ifndef MMSCOPE_LIVE_LIVE_H
#define MMSCOPE_LIVE_LIVE_H

#include <signal.h>

extern volatile sig_atomic_t
	live_stop_signal; /* 0, or the number of the signal that asked for the end */

/* Installs handlers (SIGINT, SIGTERM, SIGHUP) that set live_stop_signal; SIGPIPE is ignored. */
void live_catch_signals(void);

#endif
