#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF against ftrace on one gated process, and a tracer that must not hang with what it watches."""
import collections
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import bpf_read  # noqa: E402
import suite  # noqa: E402

PROGRAM = os.path.join(suite.BUILD, "tests", "live", "episodes", "episodes")
LIMIT = 120       # seconds until a step counts as hung; no test measures time
STUCK_MS = 15000  # how long a stuck process stays so; what must end before it ends
OVER_NS = 10000
# "  comm-TID ( TGID) [cpu] flags time: name: rest"
LINE = re.compile(r"^\s*.*-(\d+)\s+\(\s*[\d-]+\)\s+\[\d+\]\s+\S+\s+(\d+)\.(\d+): (mmap_lock_\w+|contention_\w+): (.*)$")
FIELD = re.compile(r"(\w+)=([^\s()]+)")


class Case(unittest.TestCase):
    def setUp(self):
        if suite.why_not_bpf():
            self.skipTest(suite.why_not_bpf())
        self.work = tempfile.mkdtemp(prefix="mmscope-cross-")
        self.addCleanup(shutil.rmtree, self.work)

    def start(self, command, **more):
        p = subprocess.Popen(command, text=True, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                                    "stderr": subprocess.PIPE, **more})
        self.addCleanup(self.end, p)
        return p

    @staticmethod
    def end(p):
        if p.poll() is None:
            p.kill()
        p.wait()
        for f in (p.stdin, p.stdout, p.stderr):
            if f:
                f.close()

    def wait_attached(self, session):
        """BPF is, once a chunk is on disk: its first records are notes, written after attaching."""
        path, end = os.path.join(session, "bpf.mmscope"), time.monotonic() + LIMIT
        while not os.path.exists(path) or os.path.getsize(path) <= bpf_read.FILE_HEADER.size:
            self.assertLess(time.monotonic(), end, "nothing is written")
            time.sleep(0.02)

    def line_with(self, stream, text):
        line = stream.readline()
        while text not in line:
            self.assertTrue(line, "no line with " + text)
            line = stream.readline()
        return line


class Counts(Case):
    """Both tracers are attached while the process waits at its gate, and end while it is stopped."""

    def trace(self, *args):
        """The load's own first line, BPF's records, ftrace's events."""
        load = self.start([suite.MMSCOPE, "stress", "--json", "--wait-fd", "0", "--writer-delay", "0", *args], stdin=subprocess.PIPE)
        said = json.loads(self.line_with(load.stderr, "{"))
        tracers = []
        for name, more in ("bpf", ["--bpf", "--min-us", "0"]), ("ftrace", ["-b", "32768", "-e", "lock:contention_begin",
                                                                          "-e", "lock:contention_end"]):
            p = self.start([suite.MMSCOPE, "record", *more, "-p", str(load.pid), "-o", os.path.join(self.work, name)],
                           stdout=subprocess.DEVNULL)
            self.line_with(p.stderr, "recording ")
            tracers.append(p)
        self.wait_attached(os.path.join(self.work, "bpf"))
        self.wait_traced(tracers[1])
        load.stdin.write("x")
        load.stdin.flush()
        time.sleep(0.4)
        self.stop(load)
        for p in tracers:
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=LIMIT)
            self.assertEqual(p.returncode, 0, err)
        load.kill()
        _, records = bpf_read.read(os.path.join(self.work, "bpf", "bpf.mmscope"))
        return said, records, self.ftrace()

    def wait_traced(self, recorder):
        """The remark comes just before tracing is switched on."""
        script = ("T=$(awk '$3 == \"tracefs\" { print $2; exit }' /proc/self/mounts); if [ -z \"$T\" ]; then "
                  "mount --make-rprivate /; T=/sys/kernel/tracing; mount -t tracefs tracefs $T; fi; i=0; "
                  "while [ $(cat $T/instances/mmscope-%d/tracing_on) != 1 ]; do i=$((i+1)); [ $i -lt 1000 ] || exit 1; "
                  "sleep 0.01; done" % recorder.pid)
        subprocess.run(["unshare", "-m", "sh", "-c", script], check=True, timeout=LIMIT)

    def stop(self, p):
        """Until each thread is stopped, which it is where it holds no lock."""
        p.send_signal(signal.SIGSTOP)
        end = time.monotonic() + LIMIT
        while True:
            states = set()
            for tid in os.listdir("/proc/%d/task" % p.pid):
                with open("/proc/%d/task/%s/stat" % (p.pid, tid), encoding="latin-1") as f:
                    states.add(f.read().rpartition(")")[2].split()[0])
            if states == {"T"}:
                return
            self.assertLess(time.monotonic(), end, states)

    def ftrace(self):
        folder = os.path.join(self.work, "ftrace")
        with open(os.path.join(folder, "mmscope.json"), encoding="utf-8") as f:
            info = json.load(f)
        lost = sum(c["overrun"] + c["dropped"] + c["lost_events"] + c["lost_marks"] for c in info["per_cpu"])
        self.assertEqual(lost, 0, "ftrace lost events: the comparison says nothing")
        events = []
        for name in sorted(os.listdir(folder)):
            if name.endswith(".txt"):
                with open(os.path.join(folder, name), encoding="latin-1") as f:
                    matches = map(LINE.match, f)
                    events += [(int(m[2]) * 10**9 + int(m[3].ljust(9, "0")), int(m[1]), m[4],
                                dict(FIELD.findall(m[5]), first=m[5].split()[0])) for m in matches if m]
        return sorted(events, key=lambda e: e[0])

    def assert_equal(self, records, events, tids):
        self.assertEqual([r["n"] for r in records if r["kind"] == bpf_read.LOST], [])
        totals = {r["tid"]: r for r in records if r["kind"] == bpf_read.TOTALS and r["tid"]}
        counted = collections.Counter((tid, name, f.get("write"), f.get("success")) for _, tid, name, f in events)
        all_of_them = 0
        for tid in tids:
            bpf = totals.get(tid)
            started = [counted[tid, "mmap_lock_start_locking", w, None] for w in ("false", "true")]
            acquired = [counted[tid, "mmap_lock_acquire_returned", w, "true"] for w in ("false", "true")]
            failed = [counted[tid, "mmap_lock_acquire_returned", w, "false"] for w in ("false", "true")]
            released = sum(counted[tid, "mmap_lock_released", w, None] for w in ("false", "true"))
            all_of_them += sum(started)
            if not bpf:
                self.assertEqual((sum(started), released), (0, 0), tid)
                continue
            self.assertEqual([bpf["wait"][i]["count"] + bpf["failed_tries"][i] for i in (0, 1)], started, tid)
            self.assertEqual(bpf["failed_tries"], failed, tid)
            # a downgrade ends one hold and begins another, without a release or a start
            downgrades = acquired[0] + failed[0] - started[0]
            self.assertEqual(bpf["hold"][0]["count"] + bpf["hold"][1]["count"], released + downgrades, tid)
        return all_of_them

    def test_uncontended(self):
        said, records, events = self.trace("--readers", "0", "--writers", "1", "--writer-interval", "20")
        self.assertGreater(self.assert_equal(records, events, self.tids(said)), 500)

    def test_contended(self):
        said, records, events = self.trace("--readers", "0", "--writers", "4", "--writer-interval", "0")
        self.assertGreater(self.assert_equal(records, events, self.tids(said)), 500)

    def test_faults_and_writers(self):
        said, records, events = self.trace("--readers", "3", "--writers", "2", "--writer-op", "split",
                                           "--writer-interval", "50")
        self.assertGreater(self.assert_equal(records, events, self.tids(said)), 500)

    def test_contention_events_agree(self):
        """lock:contention_begin/_end of the same lock cover the part of a wait in which the thread sleeps or is queued."""
        said, records, events = self.trace("--readers", "3", "--writers", "3", "--writer-op", "split",
                                           "--writer-interval", "0")
        tids = self.tids(said)
        told = [r for r in records if r["kind"] == bpf_read.WAIT and r["tid"] in tids
                and r["time_ns"] - r["begin_ns"] >= OVER_NS and not r["flags"] & bpf_read.FLAG_OPEN]
        contended = self.contended(events, tids)
        bpf_ns = other_ns = 0
        for r in told:
            # time stamps of text have microseconds
            mine = [c for c in contended[r["tid"]] if c[0] >= r["begin_ns"] - 1000 and c[1] <= r["time_ns"] + 1000]
            if mine:
                bpf_ns += r["time_ns"] - r["begin_ns"]
                other_ns += sum(end - begin for begin, end in mine)
        self.assertGreater(bpf_ns, 100 * OVER_NS)
        self.assertLess(abs(bpf_ns - other_ns), 0.05 * bpf_ns, "BPF %d ns, lock:contention %d ns" % (bpf_ns, other_ns))
        # and every long one of theirs is one of ours
        for tid, pairs in contended.items():
            for begin, end in pairs:
                if end - begin >= 2 * OVER_NS:
                    self.assertTrue([r for r in told if r["tid"] == tid and r["begin_ns"] - 1000 <= begin
                                     and end <= r["time_ns"] + 1000], (tid, begin, end))

    @staticmethod
    def tids(said):
        return set(said["reader_tids"]) | set(said["writer_tids"])

    @staticmethod
    def contended(events, tids):
        """By thread: (begin, end) of contention of the rwsem for which the thread has asked as mmap_lock."""
        asks, begun, found = {}, {}, collections.defaultdict(list)
        for time_ns, tid, name, fields in events:
            if tid not in tids:
                continue
            if name == "mmap_lock_start_locking":
                asks[tid] = True
            elif name == "mmap_lock_acquire_returned":
                asks[tid] = False
            elif name == "contention_begin" and asks.get(tid) and fields.get("flags") in ("READ", "WRITE"):
                begun[tid] = (fields["first"], time_ns)  # "00000000f00d (flags=WRITE)"
            elif name == "contention_end" and begun.get(tid, ("",))[0] == fields["first"]:
                found[tid].append((begun.pop(tid)[1], time_ns))
        return found


class NeverHangs(Case):
    """A process whose threads wait for a frozen file system, one of them with its mmap_lock held for writing."""

    def stuck(self):
        """At the gate; the process and what opens it."""
        p = self.start([PROGRAM, "--kinds", "frozen", "--episodes", "1", "--min-ms", str(STUCK_MS), "--max-ms",
                        str(STUCK_MS), "--gate"], stdin=subprocess.PIPE)
        line = p.stdout.readline()
        if line.startswith("skip: "):
            self.skipTest(line[len("skip: "):].strip())
        said = json.loads(line)
        # before p is killed, which would have to wait for the thaw: the director's end brings it at once
        self.addCleanup(self.kill, said["director_pid"])
        return p, said

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the episode was over

    @staticmethod
    def open_gate(p):
        p.stdin.write("\n")
        p.stdin.flush()

    def assert_still_stuck(self, p):
        """What has ended did so before the process could go on: it tells nothing until it does."""
        self.assertEqual(select.select([p.stdout], [], [], 0)[0], [], "it waited for the stuck process")
        self.assertIsNone(p.poll())

    def test_locks_goes_on_and_ends(self):
        p, said = self.stuck()
        third, writer = said["tids"][2], said["tids"][1]
        locks = self.start([suite.MMSCOPE, "locks", "--json", "-i", "0.5", "-p", str(said["pid"])])
        self.assertTrue(locks.stdout.readline())
        self.open_gate(p)
        shown = []
        while len(shown) < 3:  # refreshes that show it, each with a greater age
            refresh = json.loads(locks.stdout.readline())
            shown += [row for row in refresh["still_waiting"] if row["tid"] == third]
        locks.send_signal(signal.SIGINT)
        _, err = locks.communicate(timeout=LIMIT)
        self.assert_still_stuck(p)
        self.assertEqual(locks.returncode, 0, err)
        ages = [row["so_far_us"] for row in shown]
        self.assertEqual(ages, sorted(set(ages)))
        self.assertEqual({row["holder_tid"] for row in shown}, {writer}, shown)
        self.assertTrue(all(row["waits_for"].startswith("mmap_lock") for row in shown), shown)

    def test_locks_ends_by_itself(self):
        p, said = self.stuck()
        locks = self.start([suite.MMSCOPE, "locks", "-i", "1", "-d", "5", "-p", str(said["pid"])])
        self.line_with(locks.stdout, "mmscope locks")
        self.open_gate(p)
        out, err = locks.communicate(timeout=LIMIT)
        self.assert_still_stuck(p)
        self.assertEqual(locks.returncode, 0, err)
        self.assertIn("ep-third", out)

    def test_record_ends(self):
        p, said = self.stuck()
        folder = os.path.join(self.work, "session")
        record = self.start([suite.MMSCOPE, "record", "--bpf", "-p", str(said["pid"]), "-o", folder])
        self.wait_attached(folder)
        self.open_gate(p)
        asleep = 0
        while asleep < 10:  # at the gate it sleeps otherwise, and on its way it may sleep shortly
            asleep = asleep + 1 if self.asleep(said["tids"][2]) else 0
            time.sleep(0.05)
        record.send_signal(signal.SIGINT)
        _, err = record.communicate(timeout=LIMIT)
        self.assertEqual(record.returncode, 0, err)
        done = subprocess.run([suite.MMSCOPE, "analyze", "--json", folder], capture_output=True, text=True, timeout=LIMIT)
        self.assert_still_stuck(p)
        self.assertEqual(done.returncode, 0, done.stderr)
        waiting = {row["tid"]: row["waits_for"] for row in json.loads(done.stdout)["still_waiting"]}
        self.assertLessEqual({said["tids"][1], said["tids"][2]}, set(waiting), waiting)
        self.assertEqual(waiting[said["tids"][1]], "vma write")

    @staticmethod
    def asleep(tid):
        with open("/proc/%d/stat" % tid, encoding="latin-1") as f:
            return f.read().rpartition(")")[2].split()[0] == "D"


if __name__ == "__main__":
    suite.main()
