# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests written with unittest: the summary that tests/run counts, and the paths.

A test file ends with `suite.main()`. Its output: failures as unittest shows them, `skip name: reason`
per skipped part, and a last line `N passed, N failed, N skipped`. Tests that are one list of like
checks use checks.py instead.
"""
import os
import sys
import unittest

from checks import ROOT

BUILD = os.environ.get("MMSCOPE_BUILD", os.path.join(ROOT, "build", "asan"))
MMSCOPE = os.environ.get("MMSCOPE", os.path.join(BUILD, "mmscope"))
TRACE_GEN = os.environ.get("MMSCOPE_GEN", os.path.join(BUILD, "tests", "lib", "trace_gen"))


def main(module="__main__"):
    """Runs the TestCases of a module (those whose id holds argv[1], if given) and exits."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    if len(sys.argv) > 1:
        tests = unittest.TestSuite(t for t in _flatten(tests) if sys.argv[1] in t.id())
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(tests)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print("skip %s: %s" % (test.id().split(".", 1)[-1], reason))
    # A failed setUpClass counts as one failure and its tests do not run.
    passed = max(0, result.testsRun - failed - len(result.skipped))
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(result.skipped)))
    sys.exit(1 if failed else 0)


def why_not_bpf():
    """Why BPF programs cannot be loaded on this machine; None when they can. What else goes wrong is a failure."""
    if os.geteuid():
        return "needs root"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "needs BTF of the kernel"
    return None


def _flatten(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from _flatten(test)
        else:
            yield test
