/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/locks_screen.c: see locks_screen.h. Layer: cli. */
#include "cli/locks_screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"

/* Alternate screen, no cursor, long lines cut by the terminal instead of wrapped. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
/* What lies between is shown at once by terminals that know it, and ignored by others. */
#define PAGE_BEGIN "\033[?2026h\033[H"
#define PAGE_END "\r\n\033[J\033[?2026l"
#define LINES_UNKNOWN 24

static void write_string(const char *s)
{
	(void)!write(STDOUT_FILENO, s, strlen(s));
}

/* Single keys without echo; ^C and ^Z stay signals. */
static void take_keys(struct screen *s)
{
	struct termios keys;

	s->has_keys = tcgetpgrp(STDIN_FILENO) == getpgrp() && !tcgetattr(STDIN_FILENO, &s->keys);
	if (!s->has_keys)
		return;
	keys = s->keys;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	s->has_keys = !tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

static void enter(struct screen *s)
{
	write_string(ENTER);
	take_keys(s);
}

static void leave(struct screen *s)
{
	if (s->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->keys);
	s->has_keys = false;
	write_string(LEAVE);
}

int screen_open(struct screen *s, struct error *e)
{
	sigset_t set;

	memset(s, 0, sizeof(*s));
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return error_set(e, -errno, "sigprocmask: %s", strerror(errno));
	s->signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals_fd < 0)
		return error_set(e, -errno, "signalfd: %s", strerror(errno));
	s->open = true;
	enter(s);
	return 0;
}

u32 screen_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return LINES_UNKNOWN - 1;
	return size.ws_row > 1 ? size.ws_row - 1u : 1;
}

int screen_show(const struct screen *s, const char *page, size_t len)
{
	char *out = NULL;
	size_t out_len = 0;
	FILE *f = s->open ? open_memstream(&out, &out_len) : NULL;
	int err;

	if (!f)
		return -ENOMEM;
	fputs(PAGE_BEGIN, f);
	/* The line is cleared before it is written: with a full last column "to the end of the
	 * line" would take that column away. */
	for (size_t i = 0; i < len;) {
		const char *end = memchr(page + i, '\n', len - i);
		size_t n = end ? (size_t)(end - page) - i : len - i;

		fprintf(f, "%s\033[2K", i ? "\r\n" : "\r");
		fwrite(page + i, 1, n, f);
		i += n + 1;
	}
	fputs(PAGE_END, f);
	err = fclose(f) ? -ENOMEM : io_write_all(STDOUT_FILENO, out, out_len);
	free(out);
	return err;
}

static bool quit_typed(const struct screen *s)
{
	char keys[64];
	ssize_t n;

	if (!s->has_keys)
		return false;
	n = read(STDIN_FILENO, keys, sizeof(keys));
	return n > 0 && (memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n));
}

enum screen_event screen_take_event(struct screen *s)
{
	enum screen_event event = SCREEN_NOTHING;
	struct signalfd_siginfo info;

	if (!s->open)
		return SCREEN_NOTHING;
	if (quit_typed(s))
		return SCREEN_QUIT;
	while (read(s->signals_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP) {
			leave(s);
			raise(SIGSTOP);
			enter(s);
		}
		event = SCREEN_REDRAW;
	}
	return event;
}

int screen_keys_fd(const struct screen *s)
{
	return s->open && s->has_keys ? STDIN_FILENO : -1;
}

void screen_close(struct screen *s)
{
	if (!s->open)
		return;
	leave(s);
	close(s->signals_fd);
	s->open = false;
}
