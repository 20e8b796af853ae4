#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""No mutable globals: what the compiled libraries hold in .data and .bss."""
import os
import re
import subprocess
import tempfile
import unittest

import tidy
from tidy import suite

LIBRARIES = ("libmmscope_analyser.a", "libmmscope_live.a")
# A signal handler can reach nothing else (src/live/live.h).
ALLOWED = {"live_stop_signal"}
# "0000000000000000 g     O .bss	0000000000000004 live_stop_signal"; .data.rel.ro is constant.
SYMBOL = re.compile(r"^\w+ .{6}O (\.(?:data|bss)(?!\.rel\.ro)\S*|\*COM\*)\t\w+ (?:\.hidden )?(\S+)$", re.M)


def mutable_globals(path):
    listed = subprocess.run(["objdump", "-t", path], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return sorted({name for _, name in SYMBOL.findall(listed.stdout)
                   if not name.startswith(("__odr_asan", ".L"))})


class Globals(unittest.TestCase):
    def test_none_in_the_libraries(self):
        for name in LIBRARIES:
            path = os.path.join(suite.BUILD, name)
            if name == LIBRARIES[0] or os.path.exists(path):
                self.assertEqual(set(mutable_globals(path)) - ALLOWED, set(), name)

    def test_it_can_fail(self):
        source = ('int counter; static int calls = 1; int *f(void);\nint *f(void) { static int n; n += calls++;'
                  ' return &n; }\nextern const char *const names[]; const char *const names[] = { "a" };\n')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.o")
            subprocess.run(["cc", "-fPIE", "-c", "-x", "c", "-o", path, "-"], input=source.encode(), check=True)
            found = [re.sub(r"\.\d+$", "", name) for name in mutable_globals(path)]
        self.assertEqual(found, ["calls", "counter", "n"])


if __name__ == "__main__":
    tidy.suite.main()
