/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/user_symbols.c: asks the helper process, never longer than allowed (see user_symbols.h).
 * Layer: live. */
#include "live/user_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "live/user_helper.h"

#define MAX_PROCESSES 4096
#define MAX_TOLD (1u << 19) /* addresses remembered; past it all are forgotten and told again */
#define MAX_HELPERS 64	    /* started in all: something kills them, do without */
#define MAX_UNREAPED 16	    /* killed, but not dead yet: stuck in the kernel */

enum process_state {
	PROCESS_NEW,   /* nothing read yet */
	PROCESS_KNOWN, /* its maps have been read */
	PROCESS_FAILED /* not asked for again */
};
struct user_symbols {
	struct user_symbols_opts opts;
	user_symbol_fn fn;
	void *ctx;
	struct user_symbols_counts counts;
	int fd; /* to the helper; -1 = none */
	pid_t pid;
	pid_t unreaped[MAX_UNREAPED];
	bool off;
	u64 round_left_ns; /* so long this round may still wait */
	/* The question the helper is at. */
	bool busy, maps_read;
	u64 asked_ns;
	struct user_question question;
	bool answered[USER_HELPER_MAX_ADDRESSES];
	struct map states; /* tgid -> enum process_state | generation << 8 */
	struct map told;   /* hash of (tgid, generation, address) -> 1 */
	u64 generation;
};

/* --- the helper process --- */

/*
 * BPF links and maps above all must not live on in a helper that cannot be killed, nor the pipe
 * that the output goes to.
 */
static void close_all_but(int fd)
{
	long max = sysconf(_SC_OPEN_MAX);
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3; i++)
		if (null < 0 || dup2(null, i) < 0)
			close(i);
	/* Since 5.9; the loop is for older kernels. */
	if (!syscall(SYS_close_range, fd + 1, ~0U, 0) &&
	    (fd < 4 || !syscall(SYS_close_range, 3, fd - 1, 0)))
		return;
	for (int i = 3; i < (max > 0 && max < 65536 ? max : 65536); i++)
		if (i != fd)
			close(i);
}

static void run_child(int fd, const char *root, pid_t parent)
{
	static const int ends[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM };
	sigset_t none;

	/* Signals of the terminal are for the parent: the helper goes when the socket does. */
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		signal(ends[i], SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, USER_HELPER_NAME);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_all_but(fd);
	if (getppid() == parent)
		user_helper_serve(fd, root);
	_exit(0);
}

static void start_helper(struct user_symbols *u)
{
	pid_t parent = getpid();
	int pair[2];

	if (u->counts.helpers >= MAX_HELPERS ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		u->off = true;
		return;
	}
	u->pid = fork();
	if (!u->pid) {
		close(pair[0]);
		run_child(pair[1], u->opts.root, parent);
	}
	close(pair[1]);
	if (u->pid < 0) {
		close(pair[0]);
		u->off = true;
		return;
	}
	u->fd = pair[0];
	u->counts.helpers++;
}

/* Never waits: a process that hangs in the kernel may take its time to die. */
static void reap(struct user_symbols *u)
{
	for (size_t i = 0; i < MAX_UNREAPED; i++)
		if (u->unreaped[i] && waitpid(u->unreaped[i], NULL, WNOHANG))
			u->unreaped[i] = 0;
}

static void stop_helper(struct user_symbols *u)
{
	size_t i = 0;

	if (u->fd < 0)
		return;
	close(u->fd);
	u->fd = -1;
	u->busy = false;
	kill(u->pid, SIGKILL);
	reap(u);
	while (i < MAX_UNREAPED && u->unreaped[i])
		i++;
	if (i < MAX_UNREAPED)
		u->unreaped[i] = u->pid;
	else
		u->off = true; /* too many hang already */
	reap(u);
}

static void helper_lost(struct user_symbols *u)
{
	u->counts.helpers_lost++;
	stop_helper(u);
}

/* --- what is known of a process --- */

static enum process_state state_of(const struct user_symbols *u, u32 tgid, u64 *ret_generation)
{
	const u64 *s = map_get(&u->states, tgid);

	*ret_generation = s ? *s >> 8 : 0;
	return s ? (enum process_state)(*s & 0xff) : PROCESS_NEW;
}

static void set_state(struct user_symbols *u, u32 tgid, enum process_state state)
{
	u64 generation;

	if (u->states.n >= MAX_PROCESSES && !map_get(&u->states, tgid)) {
		map_done(&u->states);
		map_done(&u->told);
	}
	state_of(u, tgid, &generation);
	if (!generation)
		generation = ++u->generation;
	/* Out of memory: the process counts as new, and is asked for again. */
	(void)!map_set(&u->states, tgid, generation << 8 | state);
}

static u64 told_key(u32 tgid, u64 generation, u64 address)
{
	return hash_u64(hash_u64(generation << 32 | tgid) ^ address);
}

static bool is_told(const struct user_symbols *u, u32 tgid, u64 address)
{
	u64 generation;

	if (state_of(u, tgid, &generation) != PROCESS_KNOWN)
		return false;
	return map_get(&u->told, told_key(tgid, generation, address)) != NULL;
}

static void set_told(struct user_symbols *u, u32 tgid, u64 address)
{
	u64 generation;

	if (u->told.n >= MAX_TOLD)
		map_done(&u->told);
	if (state_of(u, tgid, &generation) == PROCESS_KNOWN)
		(void)!map_set(&u->told, told_key(tgid, generation, address), 1);
}

void user_symbols_forget(struct user_symbols *u, u32 tgid)
{
	map_remove(&u->states, tgid);
	/* An answer on its way is of the old program. */
	if (u->busy && u->question.tgid == tgid)
		u->question.tgid = 0;
}

/* --- questions and answers --- */

static int take_symbol(struct user_symbols *u, const struct user_answer *a)
{
	const struct user_question *q = &u->question;
	u64 generation, key;

	if (a->end <= a->start || !a->name_bytes ||
	    state_of(u, q->tgid, &generation) != PROCESS_KNOWN)
		return 0;
	for (u32 i = 0; i < q->n; i++)
		if (q->addresses[i] >= a->start && q->addresses[i] < a->end)
			u->answered[i] = true;
	/* Another address of a function told before. */
	key = hash_u64(told_key(q->tgid, generation, a->start) + a->end);
	if (map_get(&u->told, key))
		return 0;
	if (u->told.n < MAX_TOLD)
		(void)!map_set(&u->told, key, 1);
	return u->fn(u->ctx, q->tgid, a->start, a->end, a->name, a->name_bytes);
}

static void take_end(struct user_symbols *u, s32 code)
{
	const struct user_question *q = &u->question;

	u->busy = false;
	if (code && q->tgid)
		set_state(u, q->tgid, PROCESS_FAILED); /* gone, most of all */
	for (u32 i = 0; i < q->n; i++) {
		u->counts.missing += !u->answered[i];
		set_told(u, q->tgid, q->addresses[i]);
	}
}

/*
 * Reads answers until the question is done or @until_ns has come. 0 or what the callback returned.
 */
static int read_answers(struct user_symbols *u, u64 until_ns)
{
	while (u->busy) {
		struct pollfd f = { .fd = u->fd, .events = POLLIN };
		u64 now = clock_mono_ns();
		struct timespec left = { 0 };
		struct user_answer a;
		ssize_t n;
		int code = 0;

		if (now < until_ns) {
			left.tv_sec = (time_t)((until_ns - now) / 1000000000ULL);
			left.tv_nsec = (long)((until_ns - now) % 1000000000ULL);
		}
		n = ppoll(&f, 1, &left, NULL);
		if (n <= 0) /* a signal ends the wait: the user may want to stop */
			return 0;
		n = recv(u->fd, &a, sizeof(a), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n < (ssize_t)USER_ANSWER_HEAD_BYTES || a.name_bytes > sizeof(a.name) ||
		    (size_t)n != USER_ANSWER_HEAD_BYTES + a.name_bytes) {
			/* It died over this process's files. */
			if (u->question.tgid)
				set_state(u, u->question.tgid, PROCESS_FAILED);
			u->counts.missing += u->question.n;
			helper_lost(u);
			return 0;
		}
		if (a.kind == USER_ANSWER_MAPS) {
			u->maps_read = true;
			if (u->question.tgid)
				set_state(u, u->question.tgid, PROCESS_KNOWN);
		} else if (a.kind == USER_ANSWER_SYMBOL) {
			code = take_symbol(u, &a);
		} else {
			take_end(u, a.code);
		}
		if (code)
			return code;
	}
	return 0;
}

/* A helper that is at one question for too long is stuck with that process. */
static void check_stuck(struct user_symbols *u)
{
	u64 limit = u->maps_read ? u->opts.files_ns : u->opts.wait_ns;

	if (!u->busy || clock_mono_ns() - u->asked_ns < limit)
		return;
	u->counts.maps_timeouts += !u->maps_read;
	u->counts.missing += u->question.n;
	if (u->question.tgid)
		set_state(u, u->question.tgid, PROCESS_FAILED);
	helper_lost(u);
}

/* Waits for the answers as long as this round may. */
static int settle(struct user_symbols *u)
{
	u64 begin_ns = clock_mono_ns(), waited_ns;
	int code = read_answers(u, begin_ns + u->round_left_ns);

	check_stuck(u);
	waited_ns = clock_mono_ns() - begin_ns;
	u->round_left_ns -= waited_ns < u->round_left_ns ? waited_ns : u->round_left_ns;
	return code;
}

/* Puts the question to the helper; false when there is none. */
static bool send_question(struct user_symbols *u)
{
	struct user_question *q = &u->question;
	size_t size = offsetof(struct user_question, addresses) + q->n * sizeof(q->addresses[0]);

	for (int tries = 0; tries < 2; tries++) {
		if (u->fd < 0 && !u->off)
			start_helper(u);
		if (u->off)
			return false;
		if (send(u->fd, q, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size) {
			u->busy = true;
			u->maps_read = false;
			u->asked_ns = clock_mono_ns();
			memset(u->answered, 0, sizeof(u->answered));
			return true;
		}
		helper_lost(u); /* killed from outside since the last question */
	}
	return false;
}

int user_symbols_ask(struct user_symbols *u, u32 tgid, const u64 *addresses, size_t n)
{
	u64 generation;
	int code = 0;

	while (n && !code) {
		struct user_question q = { .tgid = tgid };
		enum process_state state;

		for (; n && q.n < USER_HELPER_MAX_ADDRESSES; addresses++, n--)
			if (*addresses && !is_told(u, tgid, *addresses))
				q.addresses[q.n++] = *addresses;
		if (!q.n)
			continue;
		u->counts.asked += q.n;
		if (u->busy)
			code = settle(u);
		state = state_of(u, tgid, &generation);
		/* Told meanwhile, failed, or no time left: these stay addresses this time. */
		if (code || u->busy || u->off || !tgid || state == PROCESS_FAILED ||
		    !u->round_left_ns) {
			u->counts.missing += q.n;
			continue;
		}
		q.reread = state == PROCESS_NEW;
		u->question = q;
		if (send_question(u))
			code = settle(u);
		else
			u->counts.missing += q.n;
	}
	return code;
}

int user_symbols_round(struct user_symbols *u)
{
	int code;

	reap(u);
	u->round_left_ns = 0;
	code = u->busy ? settle(u) : 0;
	u->round_left_ns = u->opts.wait_ns;
	return code;
}

struct user_symbols *user_symbols_new(const struct user_symbols_opts *opts, user_symbol_fn fn,
				      void *ctx)
{
	struct user_symbols *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->opts = *opts;
	u->fn = fn;
	u->ctx = ctx;
	u->fd = -1;
	start_helper(u);
	if (u->off) {
		user_symbols_free(u);
		return NULL;
	}
	return u;
}

void user_symbols_free(struct user_symbols *u)
{
	if (!u)
		return;
	stop_helper(u);
	for (int tries = 0; tries < 50; tries++) { /* a healthy one is dead in less than 1 ms */
		size_t left = 0;

		reap(u);
		for (size_t i = 0; i < MAX_UNREAPED; i++)
			left += u->unreaped[i] != 0;
		if (!left)
			break;
		usleep(1000);
	}
	map_done(&u->states);
	map_done(&u->told);
	free(u);
}

const struct user_symbols_counts *user_symbols_counts(const struct user_symbols *u)
{
	return &u->counts;
}
