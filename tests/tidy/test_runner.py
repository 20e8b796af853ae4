#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The test runner itself: what it makes of a finished test, and which skips it lets pass."""
import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import sys
import unittest

import tidy
from tidy import suite

LOADER = importlib.machinery.SourceFileLoader("runner", os.path.join(tidy.ROOT, "tests", "run"))
RUNNER = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", LOADER))
LOADER.exec_module(RUNNER)

CMOCKA = "[  PASSED  ] %d test(s).\n"
CMOCKA_FAILED = CMOCKA + "[  FAILED  ] %d test(s), listed below:\n[  FAILED  ] test_x\n"


class Interpret(unittest.TestCase):
    def expect(self, outcome, passed, failed, skipped=0):
        self.assertEqual((outcome.passed, outcome.failed, len(outcome.skips)), (passed, failed, skipped), outcome)

    def test_exit_status(self):
        self.expect(RUNNER.interpret(0, "done\n", ""), 1, 0)
        self.expect(RUNNER.interpret(1, "", "no\n"), 0, 1)
        self.expect(RUNNER.interpret(99, "1 passed, 0 failed, 0 skipped\n", ""), 0, 1)
        self.expect(RUNNER.interpret(-11, "1 passed, 0 failed, 0 skipped\n", ""), 0, 1)
        self.expect(RUNNER.interpret(0, "", "", 10), 0, 1)

    def test_whole_skip(self):
        outcome = RUNNER.interpret(77, "looking\nneeds root\n", "")
        self.expect(outcome, 0, 0, 1)
        self.assertEqual(outcome.skips, [("", "needs root")])

    def test_own_summary(self):
        self.expect(RUNNER.interpret(0, "5 passed, 0 failed, 0 skipped\n", ""), 5, 0)
        self.expect(RUNNER.interpret(1, "5 passed, 2 failed, 0 skipped\n", ""), 5, 2)
        self.expect(RUNNER.interpret(0, "skip a.b: no root\n5 passed, 0 failed, 1 skipped\n", ""), 5, 0, 1)

    def test_summary_that_lies(self):
        self.expect(RUNNER.interpret(0, "5 passed, 2 failed, 0 skipped\n", ""), 5, 2)
        self.expect(RUNNER.interpret(1, "5 passed, 0 failed, 0 skipped\n", ""), 5, 1)
        self.expect(RUNNER.interpret(0, "0 passed, 0 failed, 0 skipped\n", ""), 0, 1)
        self.expect(RUNNER.interpret(0, "5 passed, 0 failed, 1 skipped\n", ""), 5, 1)

    def test_cmocka(self):
        self.expect(RUNNER.interpret(0, "", CMOCKA % 4), 4, 0)
        self.expect(RUNNER.interpret(2, "", CMOCKA_FAILED % (4, 2)), 4, 2)
        self.expect(RUNNER.interpret(77, "", CMOCKA_FAILED % (4, 77)), 4, 77)
        self.expect(RUNNER.interpret(1, "", CMOCKA % 4 + "ERROR: LeakSanitizer\n"), 4, 1)
        self.expect(RUNNER.interpret(0, "", CMOCKA % 4 + "[  SKIPPED ] test_y\n"), 4, 0, 1)


class Signals(unittest.TestCase):
    def test_a_background_job_ignores_none(self):
        """The test of ^C in a recording hung for ever in a run that was started with SIGINT ignored."""
        code = "import test_runner as t, signal as s; t.RUNNER.default_signals(); print(s.getsignal(s.SIGINT) == s.SIG_DFL)"
        done = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), check=True,
                              stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertEqual(done.stdout, b"True\n")


class Skips(unittest.TestCase):
    ROWS = [("no-root", "live/*", re.compile("root")), ("any", "cli/a:one", re.compile("zstd"))]

    def expected(self, here, test, part, reason):
        return RUNNER.skip_is_expected(self.ROWS, here, test, part, reason)

    def test_listed(self):
        self.assertTrue(self.expected({"any", "no-root"}, "live/x", "", "needs root"))
        self.assertTrue(self.expected({"any"}, "cli/a", "one", "no zstd"))

    def test_not_listed(self):
        self.assertFalse(self.expected({"any"}, "live/x", "", "needs root"))
        self.assertFalse(self.expected({"any", "no-root"}, "live/x", "", "too tired"))
        self.assertFalse(self.expected({"any", "no-root"}, "unit/x", "", "needs root"))
        self.assertFalse(self.expected({"any"}, "cli/a", "two", "no zstd"))

    def test_the_list_is_readable(self):
        rows = RUNNER.read_expected_skips(RUNNER.EXPECTED_SKIPS)
        known = {"any", "root-here", "no-root", "no-tracefs", "no-shared"}
        self.assertEqual({row[0] for row in rows} - known, set())


class Builds(unittest.TestCase):
    def test_a_program_that_never_ends(self):
        status, _, _, late = RUNNER.run_limited(["sh", "-c", "sleep 60 & wait"], "/", dict(os.environ), 0.2)
        self.assertTrue(late)
        self.assertLess(status, 0)

    def test_a_program_that_is_not_there(self):
        self.assertEqual(RUNNER.run_limited(["/no/such"], "/", {}, 5)[0], 99)

    def test_every_suite_runs_sanitized(self):
        self.assertEqual(RUNNER.BUILDS["asan"].suites, RUNNER.SUITES)
        self.assertTrue(any("b_sanitize=address,undefined" in o for o in RUNNER.BUILDS["asan"].options))
        for name in RUNNER.CHECKED:
            self.assertIn("-Dwerror=true", RUNNER.BUILDS[name].options)


if __name__ == "__main__":
    suite.main()
