/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_gen: makes a stream of BPF records (bpf.mmscope) from a script, or at random. For tests.
 *
 *	bpf_gen [-o FILE] [--records] SCRIPT	SCRIPT "-" = stdin
 *	bpf_gen [-o FILE] [--records] --random SEED [--episodes N]
 *	bpf_gen --layout			every struct's members, with offset and type
 *
 * --records: the records alone, without header and chunks. --random: the same seed gives the same
 * bytes; threads fault, wait for and hold mmap_lock and VMA locks as the kernel would let them.
 *
 * A script has one line per record, in the order of the file: a word and key=value pairs. A key is
 *a member of the record's struct (wire/bpf_record.h) by name; those of who, call and head need no
 * prefix, "_ns" may be left out, "a[1].b[2]" works. Numbers: 12, -1, 0xff, 5us, 20ms, 1s; words for
 * state, flags (several, parted by commas), what, sleep_class; arrays: values parted by commas;
 *text: plain or in "", \xHH = any byte. Lines that begin with # are comments.
 *
 *	thread tid=101 tgid=100 comm=app prio=120 mm=0xa000	no record: what records of that tid,
 *		and owner.tid, say of themselves unless told otherwise. (Unknown tid: tgid=tid,
 *prio=120.)
 *	stack id=5 frames=__vma_start_write,mprotect_fixup,do_mprotect_pkey	innermost first; a
 *name gets an address and, at its first use, a SYMBOL record; tgid=100 makes it a user stack symbol
 *start=0x1000 end=0x2000 name=f [tgid=100] note machine=x86_64		the rest of the line is the
 *text wait tid=101 begin=1ms time=3ms flags=write stack=5 nr=10 args=0x1000,4096 owner.tid=102
 *owner.state=blocked hold tid=102 begin=500us time=3ms flags=write sleep tid=101 begin=1ms time=2ms
 *sleep_class=vma_writer vma=0xb0 vm_start=0x1000 vm_end=0x3000 sleep tid=102 begin=1ms time=2ms
 *sleep_class=fault flags=first,user_fault address=0x1000 vma=0xb0 stack=5 fault tid=102 time=2ms
 *[flags=retried] process tid=100 time=1ms what=fork child_tid=102 child_tgid=102 totals tid=101
 *tgid=100 comm=app wait[0].count=5 wait[0].sum=10us lost first=1ms last=2ms n=5
 *
 * To break things: size=N (of any record: what it says and how long it is), kind=N, n=N,
 * name_bytes=N; "raw 0011ff" puts bytes in as a record; "junk 0011ff" puts them between chunks;
 * "chunk" begins a new chunk, "chunk crc32=1 magic=2 payload_bytes=64 records=9" one that says so;
 * "header version=2 magic=XXXXXXXX header_bytes=32 chunk_magic=1" in front of everything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_gen.h"

static u64 number(const char *s)
{
	char *end;
	u64 v = strtoull(s ? s : "", &end, 0);

	if (!s || !*s || *end)
		die("not a number: %s", s ? s : "(nothing)");
	return v;
}

int main(int argc, char **argv)
{
	const char *path = NULL, *script = NULL;
	struct out_options opts = { 0 };
	bool at_random = false;
	u32 episodes = 100;
	u64 seed = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--layout")) {
			layout_print();
			return 0;
		}
		if (!strcmp(argv[i], "-o") && i + 1 < argc) {
			path = argv[++i];
		} else if (!strcmp(argv[i], "--records")) {
			opts.records_only = true;
		} else if (!strcmp(argv[i], "--random")) {
			at_random = true;
			seed = number(argv[++i]);
		} else if (!strcmp(argv[i], "--episodes")) {
			episodes = (u32)number(argv[++i]);
		} else if (!script && (argv[i][0] != '-' || !argv[i][1])) {
			script = argv[i];
		} else {
			die("usage: bpf_gen [-o FILE] [--records] SCRIPT | --random SEED "
			    "[--episodes N] | "
			    "--layout");
		}
	}
	if (!at_random == !script)
		die("one of SCRIPT, --random SEED and --layout");
	out_open(path, &opts);
	if (at_random)
		random_run(seed, episodes);
	else
		script_run(script);
	out_close();
	return 0;
}
