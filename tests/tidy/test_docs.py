#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written about the program is true of it: options, sections, table rows, links, paths."""
import glob
import os
import re
import subprocess
import unittest

import tidy
from tidy import suite

# Options in the docs that belong to other programs.
FOREIGN_OPTIONS = {
    "--no-install-recommends": "apt-get",
    "--all": "tests/run", "--list": "tests/run", "--build": "tests/run", "--build-only": "tests/run",
    "--bench": "trace_gen", "--vendor": "trace_gen", "--random": "trace_gen", "--seed": "trace_gen",
    "--signoff": "git", "--update": "tests/golden", "--dry-run": "clang-format", "--prefix": "meson",
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]\b")
OPTION_ROW = re.compile(r'^\s*\{\s*(?:\.name\s*=\s*)?"([a-z][a-z0-9-]*)"\s*,', re.M)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
NAMED_PATH = re.compile(r"`((?:src|tests|docs|man|kernel|vm|web|\.ci)/[\w./*-]+)`")
# Fields that may be empty: records that no tracepoint makes have no system, name or class.
MAY_BE_EMPTY = {"src/wire/events.def": (3, 4, 5)}
DEF_ROW = re.compile(r"^([A-Z][A-Z_]+)\((.*)\)[ \t]*(?:/\*.*\*/)?$")


def is_doc(path):
    return path.endswith((".md", ".1", ".5"))


def anchor(heading):
    """GitHub's: lower case, blanks to dashes, punctuation dropped."""
    text = re.sub(r"[`*_]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    return {anchor(h) for h in re.findall(r"^#+ (.+)$", text, re.M)}


def check_links(path, text):
    found = []
    for match in LINK.finditer(text):
        target, line = match.group(1), tidy.line_of(text, match.start())
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        aim = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if name and not os.path.exists(os.path.join(tidy.ROOT, aim)):
            found.append((line, "a link to nothing: " + target))
        elif fragment and fragment not in anchors(text if not name else tidy.read(aim)):
            found.append((line, "no such heading: " + target))
    for match in NAMED_PATH.finditer(text):
        if not glob.glob(os.path.join(tidy.ROOT, match.group(1))):
            found.append((tidy.line_of(text, match.start()), "no such file: " + match.group(1)))
    return found


def split_arguments(row):
    """The arguments of a macro row, split at the commas that are outside of strings and brackets."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(row):
        if char == '"' and row[i - 1:i] != "\\":
            quoted = not quoted
        elif not quoted and char in "([{":
            depth += 1
        elif not quoted and char in ")]}":
            depth -= 1
        elif not quoted and depth == 0 and char == ",":
            parts.append(row[start:i].strip())
            start = i + 1
    return parts + [row[start:].strip()]


def check_def_rows(path, text):
    found, rows, widths = [], 0, {}
    joined = text.replace("\\\n", "  ")
    for number, line in enumerate(joined.split("\n"), 1):
        row = DEF_ROW.match(line)
        if not row:
            continue
        rows += 1
        fields = split_arguments(row.group(2))
        width = widths.setdefault(row.group(1), len(fields))
        if len(fields) != width:
            found.append((number, "%d fields, the rows above have %d" % (len(fields), width)))
        found += [(number, "field %d is empty" % i) for i, field in enumerate(fields, 1)
                  if not field.strip('" ') and not (field and i in MAY_BE_EMPTY.get(path, ()))]
    return found if rows else [(1, "no row found")]


RULES = [
    tidy.Rule("links", is_doc, check_links,
              bad=[("docs/a.md", "[x](no-such-file.md)"), ("docs/a.md", "# Here\n[x](#there)"),
                   ("README.md", "see `src/no/such.c`"), ("docs/a.md", "[x](../Makefile#none)")],
              good=[("docs/a.md", "# The end, and `x`\n[x](../Makefile) [y](#the-end-and-x)"),
                    ("README.md", "`src/base/*.h` [k](https" "://kernel.org/none)")]),
    tidy.Rule("def_rows", lambda p: p.startswith("src/") and p.endswith(".def"), check_def_rows,
              bad=[("src/a.def", 'ROW(A, "", 1)\n'), ("src/a.def", "ROW(A, , 1)\n"), ("src/a.def", "/* none */\n"),
                   ("src/a.def", 'ROW(A, "x")\nROW(B)\n'), ("src/a.def", 'ROW(A, " ")\n')],
              good=[("src/a.def", 'ROW(A, "x, (y", {1, 2})\nROW(B, "z", 0) /* why */\n')]),
]
Rules = tidy.rule_tests(RULES)


def mmscope(*args):
    return subprocess.run([suite.MMSCOPE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)


def verbs():
    """The verbs, by the source that implements each: src/cli/cmd_<verb>.c."""
    paths = [p for p in tidy.project_files() if re.match(r"src/cli/cmd_[a-z]+\.c$", p)]
    return {re.search(r"cmd_(\w+)\.c", p).group(1): p for p in paths}


def options_in_source(text):
    """The first field of each row of a struct cli_opt table."""
    tables = re.findall(r"struct cli_opt \w+\[\]\s*=\s*\{(.*?)\n\};", text, re.S)
    return {"--" + name for table in tables for name in OPTION_ROW.findall(table)}


def unknown_options(text, known):
    return sorted(set(OPTION.findall(text)) - known)


class Options(unittest.TestCase):
    def test_help_names_every_option(self):
        self.assertTrue(verbs())
        for verb, path in verbs().items():
            done = mmscope(verb, "--help")
            self.assertEqual(done.returncode, 0, verb)
            options = options_in_source(tidy.read(path))
            self.assertTrue(options, "no option table found in " + path)
            missing = options - set(OPTION.findall(done.stdout))
            self.assertEqual(missing, set(), "not in mmscope %s --help" % verb)

    def test_main_help_names_every_verb(self):
        done = mmscope("--help")
        for verb in verbs():
            self.assertRegex(done.stdout, r"(?m)^\s+%s\b" % verb)

    def test_docs_name_only_real_options(self):
        known = {"--help", "--version"} | set(FOREIGN_OPTIONS)
        for verb in verbs():
            known |= set(OPTION.findall(mmscope(verb, "--help").stdout))
        for path in filter(is_doc, tidy.project_files()):
            self.assertEqual(unknown_options(tidy.read(path), known), [], path)

    def test_rules_can_fail(self):
        table = 'static const struct cli_opt opts[] = {\n\t{ "top", 0 },\n\t{ "json", 0 },\n};\n'
        self.assertEqual(options_in_source(table), {"--top", "--json"})
        self.assertEqual(unknown_options("use --top or --tops, never ----", {"--top"}), ["--tops"])


class Sections(unittest.TestCase):
    RECORD = "cat-1 [000] ..... 1.000000: sched_process_exit: comm=cat pid=1 prio=120\n"

    def analyze(self, only):
        return subprocess.run([suite.MMSCOPE, "analyze", "--only", only, "-"], input=self.RECORD,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def test_only_takes_every_section(self):
        keys = re.findall(r"^SECTION\((\w+),", tidy.read("src/result/sections.def"), re.M)
        self.assertTrue(keys)
        for key in keys + [",".join(keys)]:
            done = self.analyze(key)
            self.assertEqual((done.returncode, done.stderr), (0, ""), key)

    def test_only_refuses_others(self):
        done = self.analyze("no_such_section")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no_such_section", done.stderr)


if __name__ == "__main__":
    suite.main()
