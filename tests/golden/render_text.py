#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The text report of every sample result, byte by byte: tests/golden/render_NAME.txt.

render_text.py             judges
render_text.py --update    writes the files anew: look at what changed, as a reader of the report would
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import suite  # noqa: E402

SAMPLE = os.environ.get("MMSCOPE_RENDER_SAMPLE", os.path.join(suite.BUILD, "tests", "unit", "render_sample"))
SAMPLES = ("full", "stock", "no_clock", "hostile", "empty")


def rendered(name):
    """The version is cut out: a release changes no golden file."""
    text = subprocess.run([SAMPLE, "text", name], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
    program, version, rest = text.split(" ", 2)
    assert program == "mmscope" and version.endswith(":"), text[:80]
    return "%s VERSION: %s" % (program, rest)


def golden(name):
    return os.path.join(HERE, "render_%s.txt" % name)


class Reports(unittest.TestCase):
    maxDiff = 8000

    def test_reports(self):
        for name in SAMPLES:
            with self.subTest(name), open(golden(name), encoding="utf-8") as f:
                self.assertMultiLineEqual(f.read(), rendered(name), "render_text.py --update")

    def test_reports_differ(self):
        self.assertEqual(len({rendered(name) for name in SAMPLES}), len(SAMPLES))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for sample in SAMPLES:
            with open(golden(sample), "w", encoding="utf-8") as out:
                out.write(rendered(sample))
    else:
        suite.main()
