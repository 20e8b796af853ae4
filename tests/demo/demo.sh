#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo: watches this kernel under a known load, shows who waited for mmap_lock, and holds the figures
# against the load's own counts. Then two small bundled captures of the patched kernel's kind, for what
# stock text cannot show. Usage: demo.sh BUILD_DIR. Everything that it writes lies below build/demo.
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
	elif ! grep -qw tracefs /proc/filesystems; then
		echo "this kernel has no tracefs"
	fi
}

record_and_analyse() {
	say "1. This kernel ($(uname -r)): mmscope record -- mmscope stress, $seconds s"
	"$mmscope" record -o "$session" -- \
		"$mmscope" stress --json --readers 4 --writers 2 --writer-op mprotect \
		--writer-interval 500 --pages 16384 --seconds "$seconds" >"$dir/stress.json" &&
		say "2. Who waited for mmap_lock on this kernel: mmscope analyze $session" &&
		"$mmscope" analyze --top 5 "$session" &&
		say "3. Is that true? What the load counted itself, against what was recorded" &&
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
rm -rf "$session" "$dir/stress.json" "$dir/writers.json"

status=0
why=$(cannot_record)
if [ -z "$why" ]; then
	record_and_analyse || status=1
else
	say "No recording of this kernel: $why. Only the bundled captures follow."
fi

say "4. Two bundled captures of the patched kernel's kind (generated, NOT this machine)"
cat <<'END'
A stock kernel's text trace has no event for a VMA writer's wait, and none that pairs a page fault's begin
and end: it cannot tell whether a fault that waits for I/O keeps a VMA writer waiting. Kernels with the
study's tracepoints can. The project's generator made these two in their format: 4 readers fault a file's
pages in from a slow disk, 1 real-time writer changes the mapping.

END
bundled retry "4a. Faults drop the VMA lock before they wait for I/O, and retry (upstream)" --no-retry 0
bundled kept "4b. Faults keep the VMA lock while they wait for I/O" --no-retry 1

say "Kept: $dir (make clean removes it). Try: $mmscope analyze --help"
[ "$status" = 0 ] || echo "demo: a step above failed" >&2
exit "$status"
