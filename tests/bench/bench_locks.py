#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what `mmscope locks` costs those whom it watches, and how right it is; judges the bars.

    bench_locks.py BUILD_DIR [--rounds N] [--episodes N]

Cost: loads that take their own time (lock_load), alone and with a tracer running; all of them take turns, and a
ratio is the median of those of the rounds. The uncontended loop is measured in CPU time of its thread. perf and bpftrace run
beside it for comparison. Accuracy: random episodes with a known truth (tests/live/episodes). Exit 0 unless
something cannot run: a missed bar is printed, not failed.
"""
import argparse
import collections
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import episodes  # noqa: E402

ROUNDS = 7
EPISODES = 1000
IDLE_S = 20
LIMIT_S = 60

ALONE = ["alone", "20000"]
UNTOUCHED = ["untouched", "100000"]
CONTEND = ["contend", "4", "1000"]

MAX_LOCKS = 1.35
MAX_NO_FAULTS = 1.20
MIN_THROUGHPUT = 0.9
MAX_IDLE_PCT = 0.5
MIN_RIGHT_PCT = 99

PERF = ["perf", "record", "-q", "-a", "-e", "mmap_lock:*", "-o"]
BPFTRACE = """
tracepoint:mmap_lock:mmap_lock_start_locking { @s[tid] = nsecs; }
tracepoint:mmap_lock:mmap_lock_acquire_returned /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }
"""
MOUNT = ("grep -qs ' /sys/kernel/tracing tracefs' /proc/self/mounts || { mount --make-rprivate / && "
         "mount -t tracefs tracefs /sys/kernel/tracing; } || exit 1; exec \"$@\"")


class CannotRun(Exception):
    pass


def load(tools, args):
    """One run of a load: its own figure."""
    done = subprocess.run([tools["lock_load"], *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode:
        raise CannotRun("lock_load %s: exit status %d" % (" ".join(args), done.returncode))
    return float(done.stdout.split()[1])


@contextlib.contextmanager
def nobody():
    yield


class Locks:
    """A running `mmscope locks --json`, attached; afterwards .lost, and .cpu_s since its first refresh."""

    def __init__(self, tools, *args, interval="0.5"):
        self.command = [tools["mmscope"], "locks", "--json", "-i", interval, *args]
        self.lost = self.cpu_s = self.wall_s = 0

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="latin-1") as f:
            return sum(int(n) for n in f.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        self.out = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + LIMIT_S
        while not os.fstat(self.out.fileno()).st_size:
            if self.process.poll() is not None or time.monotonic() > end:
                raise CannotRun("mmscope locks: " + self.process.stderr.read())
            time.sleep(0.05)
        self.cpu_before_s, self.begin_s = self.cpu(), time.monotonic()
        return self

    def __exit__(self, *_):
        self.cpu_s, self.wall_s = self.cpu() - self.cpu_before_s, time.monotonic() - self.begin_s
        self.process.terminate()
        self.process.communicate(timeout=LIMIT_S)
        self.out.seek(0)
        refreshes = [json.loads(line) for line in self.out if line.endswith("}\n")]
        self.lost = max((r["locks"]["lost_all_count"] for r in refreshes), default=0)
        self.out.close()


@contextlib.contextmanager
def other(command, begun):
    """Another tracer, in a mount namespace with tracefs; @begun(process) waits until it traces."""
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", MOUNT, "sh", *command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun(process)
        if process.poll() is not None:
            raise CannotRun("%s: %s" % (command[0], process.stderr.read()))
        yield
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)


def perf(folder):
    return other(PERF + [os.path.join(folder, "perf.data")], lambda process: time.sleep(1.5))


def bpftrace():
    return other(["bpftrace", "-e", 'BEGIN { printf("begun\\n"); } ' + BPFTRACE], lambda process: process.stdout.readline())


def bar(good, text):
    print("%-5s %s" % ("pass" if good else "MISS", text))
    return good


def ratio_table(title, runs, reference, unit):
    """The median of each round's ratio: what else the machine does changes from round to round."""
    print("\n%-36s %12s %8s" % (title, unit, "ratio"))
    ratios = {}
    for name, values in runs.items():
        ratios[name] = statistics.median(value / base for value, base in zip(values, runs[reference]))
        print("%-36s %12.0f %8.2f" % (name, statistics.median(values), ratios[name]))
    return ratios


def cost(tools, folder, rounds):
    """Interleaved: each round runs every load with every tracer. Returns the bars."""
    lost = 0
    bare, mine, without = "nobody watches", "mmscope locks", "mmscope locks --no-faults"
    tracers = collections.OrderedDict([(bare, nobody), (mine, lambda: Locks(tools)),
                                       (without, lambda: Locks(tools, "--no-faults"))])
    skipped = []
    for name, tool, start in (("perf record -e mmap_lock:*", "perf", lambda: perf(folder)),
                              ("bpftrace histogram of waits", "bpftrace", bpftrace)):
        if shutil.which(tool):
            tracers[name] = start
        else:
            skipped.append("%s: %s is not installed" % (name, tool))
    alone, untouched, contend = (collections.OrderedDict((name, []) for name in tracers) for _ in range(3))
    for number in range(rounds):
        turn = number % len(tracers)
        for name, start in list(tracers.items())[turn:] + list(tracers.items())[:turn]:
            with start() as running:
                alone[name].append(load(tools, ALONE))
                untouched[name].append(load(tools, UNTOUCHED))
                contend[name].append(load(tools, CONTEND))
            lost += getattr(running, "lost", 0)
    loop = ratio_table("mmap+touch+munmap, median of %d" % rounds, alone, bare, "ns CPU")
    ratio_table("mmap+munmap, no touch", untouched, bare, "ns CPU")
    threads = ratio_table("4 threads contend for 1 s", contend, bare, "operations")
    for line in skipped:
        print("skip  " + line)
    print()
    return [bar(loop[mine] <= MAX_LOCKS, "%.2f x the uncontended loop's time with locks (bar: at most %.2f)"
                % (loop[mine], MAX_LOCKS)),
            bar(loop[without] <= MAX_NO_FAULTS, "%.2f x with locks --no-faults (bar: at most %.2f)"
                % (loop[without], MAX_NO_FAULTS)),
            bar(threads[mine] >= MIN_THROUGHPUT, "%.2f x the contended throughput with locks (bar: at least %.1f)"
                % (threads[mine], MIN_THROUGHPUT)),
            bar(lost == 0, "%d records lost under these loads (bar: none)" % lost)]


def idle(tools):
    with Locks(tools, interval="2") as locks:
        time.sleep(IDLE_S)
    percent = 100 * locks.cpu_s / locks.wall_s
    return [bar(percent < MAX_IDLE_PCT, "%.2f %% of a CPU for locks over %d s (bar: under %.1f %%; what else runs here "
                "adds to it)" % (percent, IDLE_S, MAX_IDLE_PCT))]


def accuracy(tools, folder, n):
    try:
        run = episodes.Run(tools["mmscope"], tools["episodes"], folder, ["--episodes", str(n), "--seed",
                                                                         str(time.time_ns() % 1000000)])
    except episodes.Skip as why:
        print("skip  episodes: %s" % why)
        return []
    run.judge()
    print("\n%d episodes (%d void), %d waits over %d us with a known truth; durations off their bounds by at most %.1f us"
          % (run.end["episodes"], run.end["voids"], run.found.total(), episodes.JUDGED_NS // 1000,
             max(run.offs_ns, default=0) / 1000))
    type_a = episodes.Score()
    for number, truths in run.episodes().items():
        if truths[0]["kind"].startswith("frozen"):
            type_a.add(*episodes.type_a_is_right(truths, run.results[number]))
    good = []
    for score, what in ((run.found, "of these waits found"), (run.durations, "of their durations right"),
                        (run.blockers, "of their blockers right"), (run.roots, "of their root blockers right"),
                        (run.invented, "of the waits told are true"), (type_a, "of the Type A overlaps right")):
        good.append(bar(score.percent() >= MIN_RIGHT_PCT, "%.2f %% %s: %d of %d (bar: at least %d %%)"
                        % (score.percent(), what, score.good, score.total(), MIN_RIGHT_PCT)))
        for line in score.bad[:5]:
            print("        " + line[:160])
    good.append(bar(run.lost == 0, "%d records lost (bar: none)" % run.lost))
    return good


def find_tools(build):
    tools = {"mmscope": os.path.join(build, "mmscope"),
             "lock_load": os.path.join(build, "tests", "bench", "lock_load"),
             "episodes": os.path.join(build, "tests", "live", "episodes", "episodes")}
    for name, path in tools.items():
        if not os.access(path, os.X_OK):
            raise CannotRun("no %s (make deps build)" % name)
    return {name: os.path.abspath(path) for name, path in tools.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    given = parser.parse_args()
    if os.geteuid():
        print("bench: skipped: mmscope locks needs root")
        return 0
    try:
        tools = find_tools(given.build_dir)
        with tempfile.TemporaryDirectory(prefix="mmscope-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
            good = cost(tools, folder, given.rounds) + idle(tools) + accuracy(tools, folder, given.episodes)
    except (CannotRun, RuntimeError) as why:
        print("bench: " + str(why), file=sys.stderr)
        return 1
    print("%d of %d bars met" % (sum(good), len(good)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
