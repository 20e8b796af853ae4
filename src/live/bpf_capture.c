/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/bpf_capture.c: the BPF programs at work, as a stream of records (see bpf_capture.h). Layer:
 * live. */
#include "live/bpf_capture.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/bpf_names.h"
#include "sys/procfs.h"
#include "wire/bpf_record.h"

struct bpf_capture {
	struct bpf_load_opts opts;
	bpf_sink sink;
	void *ctx;
	struct kallsyms syms;
	struct bpf_load *load;
	struct ring_buffer *ring;
	struct bpf_names *names;
	struct bpf_capture_counts counts;
	u64 drained_bytes;	   /* in this drain */
	u64 untold_holds, refused; /* told so far */
	int code;		   /* what ended this drain early */
	u64 lost;		   /* told so far */
	char no_symbols[256];	   /* why kernel frames have no names; "" = they have */
	bool user_symbols, started, stopped;
};

/* Every record passes here on its way to the caller, those of the reader too. */
static int pass_on(void *ctx, const void *records, size_t len)
{
	struct bpf_capture *c = ctx;

	return c->sink(c->ctx, records, len);
}

/*
 * libbpf reads until the ring is empty, which it may never be: a drain ends when it has read the
 * ring twice over.
 */
static int take_sample(void *ctx, void *data, size_t size)
{
	struct bpf_capture *c = ctx;
	struct bpf_rec_head head;

	c->drained_bytes += size;
	if (size >= sizeof(head)) {
		memcpy(&head, data, sizeof(head));
		if (head.size < size) /* room reserved for more than was needed */
			size = head.size;
	}
	c->code = bpf_names_feed(c->names, data, size);
	if (!c->code && c->drained_bytes > 2 * c->opts.ring_bytes)
		return -EAGAIN;
	return c->code ? -ECANCELED : 0;
}

static void read_symbols(struct bpf_capture *c)
{
	struct error why = { 0 };

	if (kallsyms_read(&c->syms, "", &why))
		memcpy(c->no_symbols, why.msg, sizeof(c->no_symbols) - 1);
	else if (c->syms.hidden)
		strcpy(c->no_symbols, "/proc/kallsyms shows no addresses: kernel.kptr_restrict");
	bpf_names_set_kernel(c->names, &c->syms);
}

int bpf_capture_new(const struct bpf_load_opts *opts, bpf_sink sink, void *ctx,
		    struct bpf_capture **ret, struct error *e)
{
	struct bpf_capture *c = calloc(1, sizeof(*c));
	struct bpf_names_opts names = { .root = "" };
	int code;

	*ret = NULL;
	if (!c)
		return error_set(e, -ENOMEM, "out of memory");
	c->opts = *opts;
	c->sink = sink;
	c->ctx = ctx;
	/* The kernel's tgids name other processes in the /proc of a container. */
	c->user_symbols = opts->user_stacks && procfs_in_first_pid_ns("");
	names.user = c->user_symbols;
	/* First: the helper process that this forks shall not hold all that comes now. */
	c->names = bpf_names_new(&names, pass_on, c);
	if (!c->names) {
		code = error_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	read_symbols(c);
	code = bpf_load_new(opts, &c->syms, &c->load, e);
	if (code)
		goto fail;
	/* Again: our own programs stand on every stack, and have names since they are loaded. */
	kallsyms_done(&c->syms);
	read_symbols(c);
	errno = 0;
	c->ring = ring_buffer__new(bpf_load_ring_fd(c->load), take_sample, c, NULL);
	if (!c->ring) {
		code = error_set(e, errno ? -errno : -ENOMEM, "cannot map the BPF ring buffer: %s",
				 strerror(errno ? errno : ENOMEM));
		goto fail;
	}
	*ret = c;
	return 0;
fail:
	bpf_capture_free(c);
	return code;
}

void bpf_capture_free(struct bpf_capture *c)
{
	if (!c)
		return;
	ring_buffer__free(c->ring);
	bpf_load_free(c->load);
	bpf_names_free(c->names);
	kallsyms_done(&c->syms);
	free(c);
}

int bpf_capture_watch(struct bpf_capture *c, pid_t tgid, struct error *e)
{
	return bpf_load_watch(c->load, tgid, e);
}

/* Where the sink put its own message into the same @e, that one stays. */
static int sink_failed(int code, struct error *e)
{
	if (!code)
		return 0;
	return error_set(e, code, "the records cannot be passed on: %s",
			 code < 0 ? strerror(-code) : "stopped");
}

#define NOTE(...) (code = code ? code : bpf_names_tell_note(pass_on, c, __VA_ARGS__))

static u64 realtime_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec - clock_mono_ns();
}

static int tell_rungs(struct bpf_capture *c)
{
	const struct bpf_rungs *rungs = bpf_load_rungs(c->load);
	int code = 0;

	for (size_t i = 0; i < rungs->list.n; i++) {
		const struct bpf_rung *r = &rungs->list.v[i];

		NOTE("rung.%s=%s%s%s%s", r->part, r->how ? r->how : "none", *r->why ? " (" : "",
		     r->why, *r->why ? ")" : "");
	}
	return code;
}

static int tell_start(struct bpf_capture *c)
{
	char release[128] = "unknown", machine[64];
	u32 cpus = 0;
	int code = 0;

	if (procfs_read_release("", release, sizeof(release), NULL))
		strcpy(release, "unknown");
	procfs_read_machine(machine, sizeof(machine));
	NOTE("kernel=%s", release);
	NOTE("machine=%s", machine);
	if (!procfs_count_cpus("", &cpus, NULL))
		NOTE("cpus=%u", cpus);
	NOTE("start_ns=%llu", (unsigned long long)clock_mono_ns());
	NOTE("realtime_offset_ns=%llu", (unsigned long long)realtime_offset_ns());
	NOTE("min_ns=%llu", (unsigned long long)c->opts.min_wait_ns);
	NOTE("ring_bytes=%llu", (unsigned long long)c->opts.ring_bytes);
	NOTE("own_tgid=%llu", (unsigned long long)c->opts.own_tgid);
	NOTE("faults=%d", c->opts.faults);
	NOTE("filter=%s", c->opts.filter_mm ? "mm" : c->opts.cgroup_fd >= 0 ? "cgroup" : "none");
	NOTE("user_stacks=%s", !c->opts.user_stacks ? "0"
			       : c->user_symbols    ? "1"
						    : "1 (addresses only: not in the first PID "
						      "namespace)");
	if (*c->no_symbols)
		NOTE("symbols=none (%s)", c->no_symbols);
	else
		NOTE("symbols=kallsyms");
	return code ? code : tell_rungs(c);
}

int bpf_capture_start(struct bpf_capture *c, struct error *e)
{
	int code = bpf_load_attach(c->load, e);

	if (code)
		return code;
	c->started = true;
	return sink_failed(tell_start(c), e);
}

static int tell_lost(struct bpf_capture *c)
{
	struct bpf_rec_lost rec = {
		.head = { .kind = BREC_LOST, .size = sizeof(rec), .time_ns = clock_mono_ns() },
	};
	u64 all = bpf_load_take_lost(c->load, &rec.first_ns, &rec.last_ns);

	if (all <= c->lost)
		return 0;
	rec.n = all - c->lost;
	c->lost = all;
	return pass_on(c, &rec, sizeof(rec));
}

static void count(struct bpf_capture *c)
{
	struct bpf_names_counts names;

	bpf_names_get_counts(c->names, &names);
	c->counts = (struct bpf_capture_counts){
		.records = names.records,
		.bytes = names.bytes,
		.lost = c->lost,
		.stacks = names.stacks,
		.symbols = names.symbols,
		.symbols_missing = names.symbols_missing,
		.maps_timeouts = names.maps_timeouts,
	};
}

static int drain(struct bpf_capture *c, struct error *e)
{
	int code = bpf_names_round(c->names), n;

	if (code)
		return sink_failed(code, e);
	c->drained_bytes = 0;
	c->code = 0;
	n = ring_buffer__consume(c->ring);
	if (c->code)
		return sink_failed(c->code, e);
	if (n < 0 && n != -EAGAIN)
		return error_set(e, n, "cannot read the BPF ring buffer: %s", strerror(-n));
	return sink_failed(tell_lost(c), e);
}

int bpf_capture_drain(struct bpf_capture *c, struct error *e)
{
	int code = drain(c, e);

	count(c);
	return code;
}

/* What the programs counted and did not tell; a later note replaces an earlier one. */
static int tell_untold(struct bpf_capture *c)
{
	u64 holds = bpf_load_untold_holds(c->load), refused = bpf_load_refused(c->load);
	int code = 0;

	if (holds != c->untold_holds)
		NOTE("holds_untold=%llu", (unsigned long long)holds);
	if (refused != c->refused)
		NOTE("events_refused=%llu", (unsigned long long)refused);
	c->untold_holds = holds;
	c->refused = refused;
	return code;
}

int bpf_capture_snapshot(struct bpf_capture *c, u64 min_age_ns, bool totals, struct error *e)
{
	int code = bpf_load_snapshot(c->load, min_age_ns, totals, bpf_names_feed, c->names, e);

	if (!code)
		code = sink_failed(tell_untold(c), e);
	count(c);
	return code;
}

int bpf_capture_stop(struct bpf_capture *c, struct error *e)
{
	int code;

	if (!c->started || c->stopped)
		return 0;
	c->stopped = true;
	bpf_load_detach(c->load);
	/* At once: a wait that ends unseen from now on would seem to last until the snapshot. */
	code = bpf_capture_snapshot(c, c->opts.min_wait_ns, true, e);
	/* Nothing is added any more, so this ends. */
	do {
		if (!code)
			code = bpf_capture_drain(c, e);
	} while (!code && c->drained_bytes > 2 * c->opts.ring_bytes);
	if (code)
		return code;
	NOTE("end_ns=%llu", (unsigned long long)clock_mono_ns());
	NOTE("symbols_missing=%llu", (unsigned long long)c->counts.symbols_missing);
	NOTE("maps_timeouts=%llu", (unsigned long long)c->counts.maps_timeouts);
	return sink_failed(code, e);
}

const struct bpf_rungs *bpf_capture_rungs(const struct bpf_capture *c)
{
	return bpf_load_rungs(c->load);
}

const struct bpf_capture_counts *bpf_capture_counts(const struct bpf_capture *c)
{
	return &c->counts;
}
