#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real traces decode to exactly the event counts by name that a plain scan of them gave.

decode_counts.py PROGRAM	PROGRAM is the test tool decode_counts

The traces lie in $MMSCOPE_SHARED/traces (default ../shared beside the project); without them the
test is skipped (exit 77). Each text file is also cut at 200 random places: what is left must give
the same events but for the last one. Every other file there is only fed, whatever its format.
"""
import os
import subprocess
import sys

TEXT_FORMATS = ("ftrace text", "ftrace latency format", "trace-cmd report")
CUTS = "200"


def expected_rows(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or line.startswith("file\t"):
                continue
            columns = line.rstrip("\n").split("\t")
            yield columns[0], columns[1], columns[10], columns[11]


def counts_of(text):
    counts = {}
    for item in filter(None, text.split(";")):
        name, _, n = item.rpartition("=")
        counts[name] = counts.get(name, 0) + int(n)
    return counts


def difference(got, want):
    names = sorted(set(got) | set(want))
    return ", ".join(f"{n}: {got.get(n, 0)} instead of {want.get(n, 0)}"
                     for n in names if got.get(n, 0) != want.get(n, 0))


def check_text_file(program, root, name, want_format, want_lost, want_events):
    run = subprocess.run([program, "-c", CUTS, os.path.join(root, name)], capture_output=True,
                         text=True, errors="replace", check=False, timeout=600)
    fields = run.stdout.split("\n")[0].split("\t")
    if run.returncode or len(fields) != 5:
        return f"exit {run.returncode}: {run.stdout}{run.stderr}"
    problems = []
    if fields[1] != "ftrace text":
        problems.append(f"taken for {fields[1]}")
    if fields[3] != want_lost:
        problems.append(f"lost {fields[3]} instead of {want_lost}")
    wrong = difference(counts_of(fields[4]), counts_of(want_events))
    if wrong:
        problems.append(wrong)
    return "; ".join(problems)


def main():
    project = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    shared = os.environ.get("MMSCOPE_SHARED", os.path.join(project, "..", "shared"))
    root = os.path.join(shared, "traces")
    expected = os.path.join(root, "EXPECTED.tsv")
    if len(sys.argv) != 2:
        sys.exit("usage: decode_counts.py PROGRAM")
    if not os.path.exists(expected):
        print(f"skipped: no {expected}")
        return 77
    failed = checked = 0
    seen = set()
    for name, form, lost, events in expected_rows(expected):
        if form not in TEXT_FORMATS:
            continue
        seen.add(name)
        checked += 1
        problem = check_text_file(sys.argv[1], root, name, form, lost, events)
        print(f"{'FAIL' if problem else 'ok'}\t{name}\t{problem}")
        failed += bool(problem)
    for folder, _, files in sorted(os.walk(root)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            if os.path.relpath(path, root) in seen:
                continue
            run = subprocess.run([sys.argv[1], path], capture_output=True, check=False, timeout=600)
            if run.returncode:
                print(f"FAIL\t{path}\texit {run.returncode}: {run.stderr.decode(errors='replace')}")
                failed += 1
            else:
                print(f"fed\t{os.path.relpath(path, root)}\t"
                      f"{run.stdout.decode(errors='replace').split(chr(9))[1:2]}")
    print(f"{checked} text traces, {failed} failures")
    if not checked:
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
