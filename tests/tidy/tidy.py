# SPDX-License-Identifier: GPL-2.0-or-later
"""The machinery of the tidy tests: the project's files, C without its comments, and rules.

A rule looks at one file and names its findings. Beside its check a rule carries samples that it must
find and samples that it must let pass, so that every rule is known to be able to fail.
"""
import collections
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import suite  # noqa: E402

ROOT = suite.ROOT
SKIPPED_DIRS = {".git", "build", "__pycache__", "node_modules"}

# name: what the test is called; applies(path); check(path, text) -> [(line, message)]
# bad, good: (path, text) samples
Rule = collections.namedtuple("Rule", "name applies check bad good")


def project_files():
    """Paths of what is, or would be, tracked, relative to the root and sorted."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    except OSError:  # a tarball on a machine without git
        names = []
    if not any(names):
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in SKIPPED_DIRS]
            names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return sorted({n for n in names if n and os.path.isfile(os.path.join(ROOT, n))})


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_code(text):
    """C text with comments and the insides of literals blanked; lines and columns stay."""
    def blank(match):
        token = match.group()
        inside = re.sub(r"[^\n]", " ", token)
        return token[0] + inside[1:-1] + token[-1] if token[0] in "\"'" else inside
    return C_TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def find_all(pattern, text, message):
    """[(line, message with the match)] for each match of a compiled pattern."""
    return [(line_of(text, m.start()), "%s: %s" % (message, m.group().strip()))
            for m in pattern.finditer(text)]


def is_c(path):
    return path.endswith((".c", ".h"))


def is_source(path):
    return path.startswith("src/") and path.endswith((".c", ".h", ".def"))


def rule_tests(rules):
    """A TestCase with two tests for each rule: on the project, and on the rule's own samples."""
    body = {}
    for rule in rules:
        def on_project(self, rule=rule):
            paths = [p for p in project_files() if rule.applies(p)]
            self.assertTrue(paths, "the rule applies to no file")
            found = ["%s:%d: %s" % (path, line, message)
                     for path in paths for line, message in rule.check(path, read(path))]
            if found:
                self.fail("\n" + "\n".join(found))

        def on_samples(self, rule=rule):
            self.assertTrue(rule.bad, "a rule needs a sample that it finds")
            for path, text in rule.bad:
                self.assertTrue(rule.applies(path), path)
                self.assertTrue(rule.check(path, text), "not found in %s: %r" % (path, text))
            for path, text in rule.good:
                found = rule.check(path, text) if rule.applies(path) else []
                self.assertEqual(found, [], "wrongly found in %s: %r" % (path, text))
        body["test_" + rule.name] = on_project
        body["test_" + rule.name + "_can_fail"] = on_samples
    return type("Rules", (unittest.TestCase,), body)
