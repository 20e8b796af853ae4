#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo: what it says with root and without, and that its comparison can disagree."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
import agree  # noqa: E402
import blocker  # noqa: E402
import suite  # noqa: E402

DEMO = os.path.join(HERE, "demo.sh")
NOBODY = 65534
MMSCOPE_IN_BUILD = "build/release/mmscope"
GEN_IN_BUILD = "build/release/tests/lib/trace_gen"


class Demo(unittest.TestCase):
    def setUp(self):
        """A copy of what the demo needs, so that it writes here and another user may run it."""
        self.dir = tempfile.mkdtemp(prefix="mmscope-demo-")
        self.addCleanup(shutil.rmtree, self.dir)
        for source, target in ((suite.MMSCOPE, MMSCOPE_IN_BUILD), (suite.TRACE_GEN, GEN_IN_BUILD)):
            target = os.path.join(self.dir, target)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)
        tests = os.path.join(self.dir, "tests")
        shutil.copytree(HERE, os.path.join(tests, "demo"), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(os.path.join(HERE, "..", "lib"), os.path.join(tests, "lib"),
                        ignore=shutil.ignore_patterns("__pycache__"))

    def run_demo(self, *before):
        return subprocess.run([*before, "sh", "tests/demo/demo.sh", "build/release"], cwd=self.dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)

    def test_without_root(self):
        before = []
        if os.geteuid() == 0:
            for folder, _, files in os.walk(self.dir):
                for path in [folder] + [os.path.join(folder, f) for f in files]:
                    os.chown(path, NOBODY, NOBODY)
            before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        done = self.run_demo(*before)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("needs root", done.stdout)
        self.assertIn("5. Two bundled captures", done.stdout)
        self.assertNotIn("=== 1.", done.stdout)
        self.assert_bundled_verdicts(done.stdout)

    def assert_bundled_verdicts(self, text):
        """With the retry no writer waits for a fault, without it a real-time one does."""
        dropped, kept = text.split("=== 5a.")[1].split("=== 5b.")
        self.assertRegex(dropped, r"\n\s+pairs 0   writer waits 0 ")
        self.assertRegex(kept, r"VERDICT\n\s+priority inversion is real")

    def test_with_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        if not tracefs_can_be_mounted():
            self.skipTest("no tracefs")
        done = self.run_demo()
        self.assertEqual(done.returncode, 0, done.stdout)
        for text in ("=== 1.", "=== 2.", "=== 3.", "\nagree: the writers made", "5. Two bundled captures"):
            self.assertIn(text, done.stdout)
        self.assertRegex(done.stdout, r"\n\S.* \(thread \d+\).* made others wait [\d.]+ ms")
        self.assertTrue("record --bpf" in done.stdout or "by ftrace" in done.stdout)
        self.assert_bundled_verdicts(done.stdout)
        self.assertEqual(sorted(os.listdir(self.dir)), ["build", "tests"])


def tracefs_can_be_mounted():
    return subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tracefs tracefs /sys/kernel/tracing || "
                           "test -d /sys/kernel/tracing/events"], stderr=subprocess.DEVNULL).returncode == 0


class Agree(unittest.TestCase):
    STRESS = {"writers": {"calls": {"mprotect": 1000}, "call_latency": {"mprotect": {"total_ns": 9000000}}}}

    @staticmethod
    def result(count, total_us=100, origin="mprotect", lossy=0):
        lock = {"lock": "mmap_lock", "mode": "write"}
        return {"waits": [dict(lock, open=0, loss_inside=lossy)],
                "waits_by_origin": [dict(lock, origin=origin, count=count, total_us=total_us)]}

    def test_agrees(self):
        for result in (self.result(1000), self.result(995), self.result(900, lossy=100)):
            good, line = agree.judge(self.STRESS, result)
            self.assertTrue(good, line)
            self.assertTrue(line.startswith("agree: "))

    def test_disagrees(self):
        for result in (self.result(980), self.result(1020), self.result(1000, origin="mmap"),
                       self.result(1000, total_us=9001), {"waits": None, "waits_by_origin": None}):
            good, line = agree.judge(self.STRESS, result)
            self.assertFalse(good, line)
            self.assertTrue(line.startswith("DISAGREE: "))


class Blocker(unittest.TestCase):
    ROOT = {"tid": 7, "comm": "w", "origin": "mprotect", "because": "holds to write", "time_us": 2500, "waiters": 3}
    PAIR = {"blocker_tid": 8, "blocker_comm": "v", "because": "queued to write", "time_us": 1200}

    def test_the_first_root(self):
        line = blocker.sentence({"blame_roots": [self.ROOT, dict(self.ROOT, tid=9, time_us=1)]})
        self.assertEqual(line, "w (thread 7), which holds to write in mprotect, made others wait 2.500 ms, 3 threads")

    def test_the_first_pair_that_names_one(self):
        line = blocker.sentence({"blame_roots": None, "blame": [dict(self.PAIR, blocker_tid=None), self.PAIR]})
        self.assertEqual(line, "v (thread 8), which is queued to write, made others wait 1.200 ms")

    def test_nobody(self):
        self.assertIsNone(blocker.sentence({"blame_roots": [], "blame": []}))


if __name__ == "__main__":
    suite.main()
