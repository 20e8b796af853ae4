#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures mmscope analyze against trace-cmd report and a bare split loop, in one run, and judges the bars.

    bench.py BUILD_DIR [--lines N]

Captures come from trace_gen and live in a temporary directory; the page cache is warm; the programs take
turns, and every figure is the median of several runs. trace-cmd reads a trace.dat of the same events
(trace_dat.py). All of them are single-threaded: ratios are of CPU time, which other load on the machine
moves least; where it is far from the wall time, the machine was busy. Exit 0 unless something cannot run:
a missed bar is printed, not failed.
"""
import argparse
import collections
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MINE = "mmscope analyze"
SPLIT = "split loop (tests/bench)"
REPORT = "trace-cmd report (same events)"

LINES = 2000000
LONGER = 10
RUNS = 5
MEGABYTE = 1 << 20

MIN_TIMES_TRACE_CMD = 10
MAX_TIMES_SPLIT = 2.5
MAX_RSS_BYTES = 64 * MEGABYTE
MAX_RSS_GROWTH = 1.10

Run = collections.namedtuple("Run", "seconds cpu_seconds rss_bytes")


class CannotRun(Exception):
    pass


def measure(command, out):
    """One run: wall and CPU time, and the child's own peak memory (at least this program's own 12 MB: what
    a process weighed before its exec counts)."""
    with open(os.devnull, "r+b") as null, open(out, "wb") as file:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=null, stdout=file, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise CannotRun("%s: exit status %d" % (" ".join(command), process.returncode))
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def median(runs):
    return Run(statistics.median(r.seconds for r in runs), statistics.median(r.cpu_seconds for r in runs),
               max(r.rss_bytes for r in runs))


def generate(trace_gen, lines, path):
    with open(path, "wb") as out:
        if subprocess.run([trace_gen, "--bench", str(lines)], stdin=subprocess.DEVNULL, stdout=out).returncode:
            raise CannotRun("trace_gen failed")
    warm(path)


def warm(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(4 * MEGABYTE):
            pass


def row(name, run, count, size, reference):
    print("%-32s %8.3f %8.3f %9.2f %8.0f %8.1f %8.2f" % (
        name, run.seconds, run.cpu_seconds, count / run.cpu_seconds / 1e6, size / run.cpu_seconds / 1e6,
        run.rss_bytes / MEGABYTE, run.cpu_seconds / reference.cpu_seconds))


def bar(good, text):
    print("%-5s %s" % ("pass" if good else "MISS", text))
    return good


def make_dat(path, dat, lines):
    """In a process of its own, which may grow. Returns the events in it."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "trace_dat.py"), path, dat], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise CannotRun("trace_dat.py failed")
    events, left_out = (int(word) for word in done.stdout.split() if word.isdigit())
    if left_out > lines // 1000:
        raise CannotRun("%d of %d records would be missing in the trace.dat" % (left_out, lines))
    warm(dat)
    print("%d lines: %d events as text (%d MB) and as trace.dat (%d MB), %d records only in the text"
          % (lines, events, os.path.getsize(path) // 10 ** 6, os.path.getsize(dat) // 10 ** 6, left_out))
    return events


def speed(tools, path, dat, lines):
    """The table on the shorter capture; returns (runs by name, events that trace-cmd read)."""
    events = make_dat(path, dat, lines)
    null, counted = os.devnull, path + ".count"
    commands = collections.OrderedDict([
        (MINE, ([tools["mmscope"], "analyze", path], null)),
        ("mmscope analyze --json", ([tools["mmscope"], "analyze", "--json", path], null)),
        (SPLIT, ([tools["split_loop"], path], null)),
        (REPORT, ([tools["trace-cmd"], "report", "-i", dat], null)),
        ("wc -l", (["wc", "-l", path], null)),
        ("grep -c mmap_lock", (["grep", "-c", "mmap_lock", path], counted)),  # into /dev/null it would not count
    ])
    done = collections.defaultdict(list)
    for _ in range(RUNS):
        for name, how in commands.items():
            done[name].append(measure(*how))
    runs, size = {name: median(done[name]) for name in commands}, os.path.getsize(path)
    print("\n%-32s %8s %8s %9s %8s %8s %8s" % ("median of %d" % RUNS, "wall s", "cpu s", "Mlines/s", "MB/s", "RSS MB",
                                              "x cpu"))
    for name, run in runs.items():
        row(name, run, events if name == REPORT else lines, size, runs[MINE])
    return runs, events


def judge(tools, folder, lines):
    path, dat = os.path.join(folder, "capture.txt"), os.path.join(folder, "capture.dat")
    generate(tools["trace_gen"], lines, path)
    lines = sum(1 for _ in open(path, "rb"))
    runs, events = speed(tools, path, dat, lines)
    os.unlink(path)
    os.unlink(dat)

    generate(tools["trace_gen"], lines * LONGER, path)
    many = sum(1 for _ in open(path, "rb"))
    longer = measure([tools["mmscope"], "analyze", path], os.devnull)
    row("mmscope analyze, %.0f M lines" % (many / 1e6), longer, many, os.path.getsize(path), runs[MINE])

    mine = runs[MINE]
    against = (lines / mine.cpu_seconds) / (events / runs[REPORT].cpu_seconds)
    split = mine.cpu_seconds / runs[SPLIT].cpu_seconds
    growth = longer.rss_bytes / mine.rss_bytes
    peak = max(mine.rss_bytes, longer.rss_bytes)
    print()
    good = [
        bar(against >= MIN_TIMES_TRACE_CMD, "%.1f x the lines/s of trace-cmd report on the same events (bar: at least %d x)"
            % (against, MIN_TIMES_TRACE_CMD)),
        bar(split <= MAX_TIMES_SPLIT, "%.2f x the time of the split loop (bar: at most %.1f x)"
            % (split, MAX_TIMES_SPLIT)),
        bar(peak < MAX_RSS_BYTES, "%.1f MB peak memory (bar: under %d MB)"
            % (peak / MEGABYTE, MAX_RSS_BYTES / MEGABYTE)),
        bar(1 / MAX_RSS_GROWTH <= growth <= MAX_RSS_GROWTH, "%.3f x the memory for %d x the lines (bar: within %d %%)"
            % (growth, LONGER, round(MAX_RSS_GROWTH * 100 - 100))),
    ]
    print("%d of %d bars met" % (sum(good), len(good)))


def find_tools(build):
    tools = {"mmscope": os.path.join(build, "mmscope"),
             "trace_gen": os.path.join(build, "tests", "lib", "trace_gen"),
             "split_loop": os.path.join(build, "tests", "bench", "split_loop"),
             "trace-cmd": shutil.which("trace-cmd")}
    for name, path in tools.items():
        if not path or not os.access(path, os.X_OK):
            raise CannotRun("no %s (make deps build)" % name)
    return tools


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--lines", type=int, default=LINES)
    given = parser.parse_args()
    folder = None
    try:
        tools = find_tools(given.build_dir)
        folder = tempfile.mkdtemp(prefix="mmscope-bench-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        free, needed = shutil.disk_usage(folder).free, given.lines * (LONGER + 2) * 150
        if free < needed:
            raise CannotRun("%s has %d MB free, %d MB are needed (TMPDIR names another place)"
                            % (folder, free // 10 ** 6, needed // 10 ** 6))
        judge(tools, folder, given.lines)
    except CannotRun as why:
        print("bench: " + str(why), file=sys.stderr)
        return 1
    finally:
        if folder:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
