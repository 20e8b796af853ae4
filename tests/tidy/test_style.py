#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The habits that a program can check: format, size, who may print, what may not be in the tree."""
import os
import re
import shutil
import subprocess
import unittest

import tidy

MAX_FILE_LINES = 800
MAX_TEST_LINES = 1000
MAX_FUNCTION_LINES = 80
MAX_TEST_FUNCTION_LINES = 100
MAX_FILE_BYTES = 200 * 1000
ROLE_WITHIN_LINES = 12

# Written in two halves where the whole would be found here.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|not imple" r"mented|for " r"now)\b|\bstu" r"b\b",
                        re.I)
PRINTS = re.compile(r"\b(?:v?printf|putchar|puts|perror|errx?|warnx?|vwarnx?|verrx?|exit|abort|quick_exit"
                    r"|psignal)\s*\(|\b(?:stdout|stderr)\b")
HOMES = re.compile(r"(?<![\w.$}-])/(?:home|root|Users)/[\w.]")
URL_HOST = re.compile(r"\b(?:https?|ftp|git)://([^\s/\"'<>)\]`:]+)")
PUBLIC_HOSTS = {
    "kernel.org", "debian.org", "gnu.org", "github.com", "spdx.org", "json-schema.org", "man7.org",
    "perfetto.dev", "ui.perfetto.dev", "mesonbuild.com", "cmocka.org", "llvm.org", "fsf.org", "sqlite.org",
    "android.com",
}
GENERATED = re.compile(r"(?:^|/)vmlinux\.h$|\.skel\.h$|\.o$|\.a$|\.so$|\.pyc$|(?:^|/)node_modules/")
FUNCTION_START = re.compile(r"^\{[ \t]*$", re.M)


def check_spdx_and_role(path, text):
    lines = text.split("\n")
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    if "SPDX-License-Identifier: GPL-2.0-or-later" not in first:
        return [(1, "the first line (after #!) is no SPDX line")]
    if path.endswith(("meson.build", "__init__.py")):
        return []
    head = "\n".join(lines[:ROLE_WITHIN_LINES]).replace(first, "", 1)
    if not re.search(r"/\*|^#(?!!|include|define|ifn?def)|\"\"\"", head, re.M):
        return [(2, "no comment says the file's role")]
    return []


def check_file_length(path, text):
    lines, most = text.count("\n"), MAX_TEST_LINES if path.startswith("tests/") else MAX_FILE_LINES
    return [(lines, "%d lines, at most %d" % (lines, most))] if lines > most else []


def check_function_length(path, text):
    """Kernel style puts a function's braces, and only those, alone in the first column."""
    found, code = [], tidy.c_code(text)
    most = MAX_TEST_FUNCTION_LINES if path.startswith("tests/") else MAX_FUNCTION_LINES
    for match in FUNCTION_START.finditer(code):
        end = code.find("\n}", match.start())
        length = code.count("\n", match.start(), end) + 1
        if length > most:
            found.append((tidy.line_of(code, match.start()),
                          "a function of %d lines, at most %d" % (length, most)))
    return found


def check_printing(path, text):
    return tidy.find_all(PRINTS, tidy.c_code(text), "only src/cli prints or exits")


def check_unfinished(path, text):
    return tidy.find_all(UNFINISHED, text, "unfinished")


def check_python_indent(path, text):
    return [(number, "a tab, or trailing blanks") for number, line in enumerate(text.split("\n"), 1)
            if re.match(r" *\t", line) or line != line.rstrip()]


def check_white_space(path, text):
    found = tidy.find_all(re.compile(r"[ \t]+$", re.M), text, "trailing blanks")
    found += [] if text.endswith("\n") or not text else [(text.count("\n"), "no newline at the end")]
    return found


def own_place():
    """The checkout's own path, where that says more than a common system folder does."""
    top = "/" + tidy.ROOT.lstrip("/").split("/")[0]
    return tidy.ROOT if top in ("/tmp", "/usr", "/var", "/opt", "/srv", "/mnt", "/home") else top


def check_machine(path, text):
    here = re.compile(r"(?<![\w.$}-])" + re.escape(own_place()) + r"/")
    found = tidy.find_all(HOMES, text, "a path of one machine")
    found += tidy.find_all(here, text, "a path of this machine")
    for match in URL_HOST.finditer(text):
        host = match.group(1).lower()
        if not any(host == public or host.endswith("." + public) for public in PUBLIC_HOSTS):
            found.append((tidy.line_of(text, match.start()), "a host that is not in PUBLIC_HOSTS: " + host))
    return found


def check_generated(path, text):
    return [(1, "a generated file")] if GENERATED.search(path) else []


def check_size(path, text):
    size = len(text.encode("utf-8", "surrogatepass"))
    return [(1, "%d bytes, at most %d" % (size, MAX_FILE_BYTES))] if size > MAX_FILE_BYTES else []


def is_python(path):
    return path.endswith(".py") or path == "tests/run"


def is_script(path):
    return is_python(path) or path.endswith(".sh") or path in (".ci/run", ".ci/deps")


def has_role(path):
    return tidy.is_source(path) or is_script(path) or path.startswith("tests/") and tidy.is_c(path)


def is_text(path):
    """Test data may be of any bytes."""
    return not path.startswith(("tests/golden/", "tests/fuzz/corpus/", "tests/lib/data/"))


SPDX = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n"
RULES = [
    tidy.Rule("spdx_and_role", has_role, check_spdx_and_role,
              bad=[("src/base/a.c", "int x;\n"), ("src/base/a.c", SPDX + "#include <a.h>\nint x;\n"),
                   ("src/base/a.c", "/* A role. */\n" + SPDX), ("tests/a.py", "#!/usr/bin/python3\nx = 1\n")],
              good=[("src/base/a.c", SPDX + "/* base/a.c: adds. */\nint x;\n"),
                    ("tests/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0-or-later\n# Adds.\n")]),
    tidy.Rule("file_length", lambda p: is_script(p) or tidy.is_c(p), check_file_length,
              bad=[("src/base/a.c", "\n" * (MAX_FILE_LINES + 1)), ("tests/run", "\n" * (MAX_TEST_LINES + 1))],
              good=[("src/base/a.c", "\n" * MAX_FILE_LINES), ("tests/a.py", "\n" * MAX_TEST_LINES)]),
    tidy.Rule("function_length", tidy.is_c, check_function_length,
              bad=[("src/base/a.c", "int f(void)\n{\n" + "\tx++;\n" * MAX_FUNCTION_LINES + "}\n")],
              good=[("src/base/a.c", "int f(void)\n{\n" + "\tx++;\n" * (MAX_FUNCTION_LINES - 2) + "}\n" * 2),
                    ("src/base/a.c", "int t[] = {\n" + "\t1,\n" * 200 + "};\n")]),
    tidy.Rule("printing", lambda p: tidy.is_source(p) and not p.startswith("src/cli/"), check_printing,
              bad=[("src/model/a.c", 'printf("x");\n'), ("src/model/a.c", 'fprintf(stderr, "x");\n'),
                   ("src/model/a.c", "FILE *f = stdout;\n"), ("src/sys/a.c", "if (x)\n\texit(1);\n"),
                   ("src/sys/a.c", "perror(path);\n"), ("src/sys/a.c", "abort ();\n")],
              good=[("src/render/a.c", 'fprintf(out, "x"); vfprintf(out, f, ap); snprintf(b, n, "x");\n'),
                    ("src/live/a.c", "_exit(127); /* exit() would flush */ s->on_exit(s);\n"),
                    ("src/model/a.c", '/* printf() */ const char *s = "stderr printf(";\n'),
                    ("src/cli/a.c", 'printf("x");\n')]),
    tidy.Rule("unfinished", is_text, check_unfinished,
              bad=[("src/a.c", "/* TO" "DO: more */\n"), ("docs/a.md", "fix" "me\n"), ("tests/run", "# XX" "X\n"),
                   ("src/a.c", "/* a stu" "b */\n"), ("src/a.c", "/* enough for " "now */\n")],
              good=[("src/a.c", "/* stubborn, prefixme */\n")]),
    tidy.Rule("python_indent", is_python, check_python_indent,
              bad=[("tests/a.py", "if x:\n\ty = 1\n"), ("tests/a.py", "if x:\n  \ty = 1\n"),
                   ("tests/a.py", "x = 1 \n")],
              good=[("tests/a.py", 'if x:\n    y = "a\\tb"\n')]),
    tidy.Rule("white_space", lambda p: is_text(p) and p != "LICENSE", check_white_space,
              bad=[("Makefile", "a: b \n"), ("docs/a.md", "no end")],
              good=[("Makefile", "a:\n\tb\n")]),
    tidy.Rule("machine", is_text, check_machine,
              bad=[("docs/a.md", "see " + "/ho" "me/" + "me/x\n"), ("src/a.c", '"' + own_place() + '/x"\n'),
                   ("Makefile", "x := http" "://registry.example.internal/simple\n"),
                   ("Makefile", "x := http" "://10.0.0.1:8080/\n")],
              good=[("docs/a.md", "see " + "https" "://www.kernel.org/doc and <root>/x, /proc/x\n")]),
    tidy.Rule("generated", lambda p: True, check_generated,
              bad=[("src/bpf/vmlinux.h", ""), ("src/live/a.skel.h", ""), ("src/a.o", ""),
                   ("web/node_modules/a/b.js", "")],
              good=[("src/a.h", "")]),
    tidy.Rule("size", lambda p: True, check_size,
              bad=[("tests/golden/a.txt", "x" * (MAX_FILE_BYTES + 1))],
              good=[("tests/golden/a.txt", "x" * MAX_FILE_BYTES)]),
]
Rules = tidy.rule_tests(RULES)


def clang_format(paths):
    return subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file"] + paths, cwd=tidy.ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Format(unittest.TestCase):
    def setUp(self):
        if not shutil.which("clang-format"):
            self.skipTest("clang-format is not installed")

    def test_clang_format(self):
        paths = [p for p in tidy.project_files() if tidy.is_c(p) and p.startswith(("src/", "tests/"))]
        done = clang_format(paths)
        heads = [line for line in done.stdout.decode().split("\n") if ": error:" in line]
        self.assertEqual(done.returncode, 0, "run clang-format -i:\n" + "\n".join(heads[:40]))

    def test_clang_format_can_fail(self):
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file",
                               "--assume-filename=src/base/a.c"], cwd=tidy.ROOT, input=b"int  f( ) {return 1;}\n",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertNotEqual(done.returncode, 0)


class Tree(unittest.TestCase):
    def test_files_are_found(self):
        paths = tidy.project_files()
        for path in ("Makefile", "tests/run", "src/base/types.h"):
            self.assertIn(path, paths)
        self.assertFalse([p for p in paths if p.startswith(("build/", ".git/"))])

    def test_every_unit_test_is_listed(self):
        """A test source that no meson.build names would vanish unseen."""
        listed = {folder: tidy.read(os.path.join(folder, "meson.build"))
                  for folder in ("tests/unit", "tests/golden", "tests/prop", "tests/fuzz", "tests/cli",
                                 "tests/live", "tests/tidy")}
        for path in tidy.project_files():
            folder, name = os.path.split(path)
            if folder in listed and re.match(r"(test|fuzz)_\w+\.(c|py|sh)$", name):
                stem = name.rsplit(".", 1)[0]
                thing = stem.split("_", 1)[1]  # a row of tests/unit names the thing alone
                named = re.search(r"'(%s|%s)(\.\w+)?'" % (re.escape(stem), re.escape(thing)), listed[folder])
                self.assertTrue(named, "%s stands in no row of %s/meson.build" % (path, folder))

    def test_every_source_is_built(self):
        for path in tidy.project_files():
            folder, name = os.path.split(path)
            if re.match(r"src/\w+/\w+\.c$", path):
                self.assertIn("'%s'" % name, tidy.read(os.path.join(folder, "meson.build")), path)


if __name__ == "__main__":
    tidy.suite.main()
