#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs each libFuzzer target for a time, from the seeds in tests/fuzz/corpus. What it learns, and a crash
# if it finds one, stays in the build directory. Usage: run.sh BUILD_DIR SECONDS
set -eu

build=$1
seconds=$2
seeds=$(dirname "$0")/corpus
work=$build/fuzz-work
status=0

for target in "$build"/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	name=$(basename "$target")
	mkdir -p "$work/$name"
	echo "fuzz: $name for $seconds s"
	if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$work/" "$work/$name" "$seeds/${name#fuzz_}" >"$work/$name.log" 2>&1; then
		status=1
		tail -n 60 "$work/$name.log"
		echo "fuzz: $name FAILED; the input is in $work, the log is $work/$name.log" >&2
		continue
	fi
	grep -E '^stat::(number_of_executed_units|peak_rss_mb)|DONE' "$work/$name.log"
done
exit "$status"
