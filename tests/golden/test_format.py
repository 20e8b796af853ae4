#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/FORMAT.md is true of src/wire/bpf_record.h, and the reader in it reads what bpf_gen writes."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import suite  # noqa: E402

BPF_GEN = os.environ.get("MMSCOPE_BPF_GEN", os.path.join(suite.BUILD, "tests", "lib", "bpf_gen"))
SCRIPT = """
note machine=x86_64
thread tid=7 tgid=7 comm="a b" mm=0xa0
stack id=1 frames=down_read,do_madvise
stack id=2 frames=0x123,do_madvise
wait tid=7 begin=1ms time=3ms stack=2
wait tid=7 begin=10ms time=15ms stack=1
wait tid=8 begin=1ms time=2ms stack=2
chunk
hold tid=7 begin=1 time=2
wait tid=9 begin=0 time=1s
"""


def read(path):
    with open(os.path.join(suite.ROOT, path), encoding="utf-8") as file:
        return file.read()


def bpf_gen(*args, script=""):
    done = subprocess.run([BPF_GEN] + list(args), input=script.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout


def layout():
    """{struct: [(offset, member, type)]}, [(kind, name, struct, doc)], as the compiler has it."""
    structs, records, members = {}, [], None
    for line in bpf_gen("--layout").decode().splitlines():
        words = line.split()
        if words[0] == "struct":
            members = structs[words[1]] = []
        elif words[0] == "record":
            records.append((int(words[1]), words[2], words[3], line.split(None, 4)[4]))
        else:
            members.append((int(words[0]), words[1], words[2]))
    return structs, records


def table(text, heading):
    """Rows of the first table under a heading, as lists of cells."""
    match = re.search(r"^#+ %s$(.*?)(?=^#|\Z)" % re.escape(heading), text, re.M | re.S)
    rows = re.findall(r"^\|(.*)\|$", match.group(1) if match else "", re.M)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in rows[2:]]


def documented_members(text, heading):
    return [(int(row[0]), row[1].strip("`"), row[2].strip("`")) for row in table(text, heading)]


def heading_of(struct, records):
    for _, name, of, _ in records:
        if of == struct:
            return name
    return {"rec_head": "head", "in_call": "call"}.get(struct, struct)


def header_enum(name):
    """{KEY: number} of an enum of wire/bpf_record.h, without its prefix."""
    body = re.sub(r"/\*.*?\*/", "", re.search(r"enum %s \{(.*?)\};" % name, read("src/wire/bpf_record.h"),
                                              re.S).group(1), flags=re.S)
    values, at = {}, 0
    for entry in filter(None, (e.strip() for e in body.split(","))):
        key, _, value = (part.strip() for part in entry.partition("="))
        shift = re.fullmatch(r"1 << (\d+)", value)
        at = 1 << int(shift.group(1)) if shift else int(value) if value else at
        values[key.split("_", 1)[1]] = at
        at += 1
    return values


class Tables(unittest.TestCase):
    def setUp(self):
        self.text = read("docs/FORMAT.md")
        self.structs, self.records = layout()

    def test_members(self):
        self.assertGreater(len(self.structs), 10)
        for struct, members in self.structs.items():
            self.assertEqual(documented_members(self.text, heading_of(struct, self.records)), members, struct)

    def test_every_struct_of_the_header_is_known(self):
        """A struct that bpf_gen does not know would be compared with nothing."""
        in_header = set(re.findall(r"^struct bpf_(\w+) \{", read("src/wire/bpf_record.h"), re.M))
        self.assertEqual(in_header, set(self.structs))

    def test_members_can_fail(self):
        members = self.structs["rec_wait"]
        self.assertNotEqual(documented_members(self.text.replace("| `owner` |", "| `owners` |"), "WAIT"), members)
        self.assertNotEqual(documented_members(self.text.replace("### WAIT", "### WAITS"), "WAIT"), members)

    def test_described(self):
        for struct in self.structs:
            for row in table(self.text, heading_of(struct, self.records)):
                self.assertTrue(len(row) == 4 and row[3], "%s: %s" % (struct, row))

    def test_records(self):
        rows = [(int(row[0]), re.match(r"\[(\w+)\]", row[1]).group(1), row[2]) for row in table(self.text, "Records")]
        self.assertEqual(rows, [(kind, name, doc) for kind, name, _, doc in self.records])

    def test_flags(self):
        rows = {row[1].strip("`"): int(row[0]) for row in table(self.text, "Flags")}
        self.assertEqual(rows, header_enum("bpf_flags"))

    def test_enums(self):
        for heading, member, enum in (("who", "state", "bpf_task_state"), ("PROCESS", "what", "bpf_process_what"),
                                      ("SLEEP", "sleep_class", "bpf_sleep_class")):
            row = next(row for row in table(self.text, heading) if row[1] == "`%s`" % member)
            numbers = {int(n) for n in re.findall(r"(?<![\w`])(\d)(?= \w)", row[3])}
            self.assertEqual(numbers, set(header_enum(enum).values()), row)
        row = next(row for row in table(self.text, "who") if row[1] == "`state`")
        for name, value in header_enum("bpf_task_state").items():
            self.assertIn("%d %s" % (value, name.lower()), row[3])

    def test_limits(self):
        header = read("src/wire/bpf_record.h")
        self.assertIn("#define BPF_MAX_CHUNK_BYTES (8u << 20)", header)
        self.assertIn("#define BPF_MAX_RECORD_BYTES 4096", header)
        self.assertIn("#define BPF_FILE_VERSION 1\n", header)
        self.assertIn("at most 8 MiB", self.text)
        self.assertIn("16 to 4096", self.text)

    def test_notes(self):
        path = os.path.join(suite.ROOT, "src", "live", "bpf_capture.c")
        if not os.path.exists(path):
            self.skipTest("the tree has no src/live")
        written = {key.split(".")[0] for key in re.findall(r'\bNOTE\("([\w.]+?)(?:\.%s)?=', read("src/live/bpf_capture.c"))}
        documented = {row[0].strip("`").split(".")[0] for row in table(self.text, "Notes")}
        self.assertEqual(documented, written)


class Reader(unittest.TestCase):
    """The Python in the document, as it stands there."""

    def setUp(self):
        code = re.findall(r"^```python\n(.*?)^```$", read("docs/FORMAT.md"), re.M | re.S)
        self.assertEqual(len(code), 1)
        self.code = code[0]
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_reader(self, data):
        path = os.path.join(self.folder.name, "bpf.mmscope")
        with open(path, "wb") as file:
            file.write(data)
        done = subprocess.run([sys.executable, "-c", self.code, path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode()

    def test_short(self):
        self.assertLessEqual(len(self.code.splitlines()), 30)

    def test_reads(self):
        self.assertEqual(self.run_reader(bpf_gen("-", script=SCRIPT)),
                         (0, "7 a b 5000 us down_read\n8  1000 us\n9  1000000 us\n"))

    def test_reads_what_was_cut(self):
        data = bpf_gen("-", script=SCRIPT)
        self.assertEqual(self.run_reader(data[:-8]), (0, "7 a b 5000 us down_read\n8  1000 us\n"))

    def test_reads_a_scene(self):
        code, text = self.run_reader(bpf_gen("--random", "5", "--episodes", "500"))
        self.assertEqual(code, 0, text)
        self.assertGreater(len(text.splitlines()), 5)

    def test_refuses_others(self):
        self.assertNotEqual(self.run_reader(b"# tracer: nop\n" + bytes(24))[0], 0)


if __name__ == "__main__":
    suite.main()
