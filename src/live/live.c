/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/live.c: the signals that ask a recording or a workload to end (see live.h). Layer: live. */
#include "live/live.h"

#include <stddef.h>

volatile sig_atomic_t live_stop_signal;

static void note_signal(int sig)
{
	live_stop_signal = sig;
}

void live_catch_signals(void)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
	/* No SA_RESTART: a poll() or a sleep has to end early. */
	struct sigaction stop = { .sa_handler = note_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;

	sigemptyset(&stop.sa_mask);
	sigemptyset(&ignore.sa_mask);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		/* Under nohup SIGHUP comes in ignored, and must stay so. */
		if (stops[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(stops[i], &stop, NULL);
	}
	sigaction(SIGPIPE, &ignore, NULL);
}
