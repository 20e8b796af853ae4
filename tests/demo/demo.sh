#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo: watches this kernel under a known load, shows who waited for mmap_lock, and holds the figures
# against the load's own counts; by BPF, or by ftrace where BPF is not allowed. Then two small bundled
# captures of the patched kernel's kind, for the difference that the study is about. Usage: demo.sh BUILD_DIR. Everything that it writes lies below build/demo.
set -eu

build=$1
mmscope=$build/mmscope
gen=$build/tests/lib/trace_gen
here=$(dirname "$0")
dir=$(dirname "$build")/demo
session=$dir/session
seconds=3

say() {
	printf '\n=== %s\n\n' "$*"
}

# Why this machine cannot record, on stdout; nothing when it can.
cannot_record() {
	if [ "$(id -u)" != 0 ]; then
		echo "recording needs root (sudo make demo)"
	elif ! grep -qw tracefs /proc/filesystems && [ ! -e /sys/kernel/btf/vmlinux ]; then
		echo "this kernel has neither tracefs nor BTF"
	fi
}

# "--bpf" where the kernel lets BPF programs in, else nothing: ftrace.
choose_source() {
	if why_not=$("$mmscope" record --bpf -o "$dir/probe" -- true 2>&1); then
		echo "--bpf --min-us 0"
	else
		echo "Not by BPF here, so by ftrace: $why_not" >&2
	fi
	rm -rf "$dir/probe"
}

record_and_analyse() {
	source=$(choose_source)
	say "1. This kernel ($(uname -r)): mmscope record $source -- mmscope stress, $seconds s"
	# shellcheck disable=SC2086
	"$mmscope" record $source -o "$session" -- \
		"$mmscope" stress --json --readers 4 --writers 2 --writer-op mprotect \
		--writer-interval 500 --pages 16384 --seconds "$seconds" >"$dir/stress.json" &&
		say "2. Who waited for mmap_lock on this kernel: mmscope analyze $session" &&
		"$mmscope" analyze --top 5 "$session" &&
		"$mmscope" analyze --json "$session" >"$dir/all.json" &&
		say "3. Who made the others wait, by name" &&
		"$here/blocker.py" "$dir/all.json" &&
		say "4. Is that true? What the load counted itself, against what was recorded" &&
		"$mmscope" analyze --json -c mms-writer-0 -c mms-writer-1 "$session" >"$dir/writers.json" &&
		"$here/agree.py" "$dir/stress.json" "$dir/writers.json"
}

# NAME TITLE GENERATOR-OPTIONS...
bundled() {
	capture=$dir/bundled-$1.txt
	title=$2
	shift 2
	"$gen" --vendor --rt --seconds 2 "$@" >"$capture"
	say "$title"
	"$mmscope" analyze --top 5 --only verdict,contention "$capture"
}

mkdir -p "$dir"
rm -rf "$session" "$dir/stress.json" "$dir/all.json" "$dir/writers.json"

status=0
why=$(cannot_record)
if [ -z "$why" ]; then
	record_and_analyse || status=1
else
	say "No recording of this kernel: $why. Only the bundled captures follow."
fi

say "5. Two bundled captures of the patched kernel's kind (generated, NOT this machine)"
cat <<'END'
Whether a fault that waits for I/O keeps a VMA writer waiting depends on the kernel. The project's generator made these two in their format: 4 readers fault a file's
pages in from a slow disk, 1 real-time writer changes the mapping.

END
bundled retry "5a. Faults drop the VMA lock before they wait for I/O, and retry (upstream)" --no-retry 0
bundled kept "5b. Faults keep the VMA lock while they wait for I/O" --no-retry 1

say "Kept: $dir (make clean removes it). Try: $mmscope analyze --help"
[ "$status" = 0 ] || echo "demo: a step above failed" >&2
exit "$status"
