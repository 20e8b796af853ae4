#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mmscope as a user meets it: exit codes, one clear line per error, inputs of every kind and shape."""
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import suite  # noqa: E402

DONE, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3
VERBS = ("analyze", "locks", "record", "stress", "check")
MEGABYTE = 1 << 20
SANITIZER = re.compile(rb"AddressSanitizer|LeakSanitizer|runtime error:")


def run(*args, stdin=None, stdout=subprocess.PIPE, data=None):
    """Runs mmscope; data is fed to it, or stdin is its standard input."""
    given = {"input": data} if data is not None else {"stdin": stdin or subprocess.DEVNULL}
    done = subprocess.run([suite.MMSCOPE, *args], stdout=stdout, stderr=subprocess.PIPE, **given)
    if SANITIZER.search(done.stderr):
        raise AssertionError("a sanitizer stopped mmscope %s:\n%s" % (args, done.stderr.decode("utf-8", "replace")))
    return done


def generate(*args):
    return subprocess.run([suite.TRACE_GEN, *args], check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout


class Case(unittest.TestCase):
    """A temporary directory, one small capture made once, and what most tests assert."""
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="mmscope-cli-")
        cls.text = generate("--vendor", "--seconds", "1")
        cls.plain = cls.write("plain.txt", cls.text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def write(cls, name, data):
        path = os.path.join(cls.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def assert_fails(self, done, code, *names):
        """The exit code, nothing on stdout, and one line on stderr that holds each of names."""
        message = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, code, message)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(message, r"\Ammscope( \w+)?: [^\n]+\n\Z")
        for name in names:
            self.assertIn(name, message)

    def analyze(self, *args, code=DONE, **how):
        """The JSON result, and what was said on stderr."""
        done = run("analyze", "--json", *args, **how)
        said = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, code, said)
        return json.loads(done.stdout), said

    def assert_same_result(self, got, want):
        self.assertEqual(self.without_input(got), self.without_input(want))

    def assert_reports_loss(self, result, name):
        """One broken chunk, said by name."""
        losses = [note["text"] for note in result["notes"] if note["level"] == "loss" and name in note["text"]]
        self.assertEqual((len(losses), result["trace"]["broken_chunks"], result["trace"]["incomplete"]),
                         (1, 1, True), result["notes"])

    def without_input(self, result):
        """The result without the key that says where it came from."""
        result = json.loads(json.dumps(result))
        result["trace"].pop("path")
        return result


class Help(Case):
    def test_each_verb_has_help_on_stdout(self):
        for verb in VERBS:
            done = run(verb, "--help")
            self.assertEqual((done.returncode, done.stderr), (DONE, b""), verb)
            self.assertRegex(done.stdout, rb"\A[^\n]*mmscope " + verb.encode())

    def test_help_lists_the_verbs(self):
        for flag in ("--help", "-h", "help"):
            done = run(flag)
            self.assertEqual((done.returncode, done.stderr), (DONE, b""), flag)
            for verb in VERBS:
                self.assertIn(verb.encode(), done.stdout)

    def test_version(self):
        done = run("--version")
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))
        self.assertRegex(done.stdout, rb"\Ammscope \d+\.\d+(\.\d+)?\n\Z")


class Usage(Case):
    def test_unknown_verb(self):
        self.assert_fails(run("analyse"), USAGE, "analyse")

    def test_no_verb(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (USAGE, b""))
        self.assertIn(b"mmscope", done.stderr)

    def test_unknown_option(self):
        for verb in VERBS:
            self.assert_fails(run(verb, "--no-such-option"), USAGE, "mmscope %s:" % verb, "--no-such-option")

    def test_unknown_short_option(self):
        self.assert_fails(run("analyze", "-Q", self.plain), USAGE, "-Q")

    def test_value_out_of_range(self):
        for option, value in (("--top", "-1"), ("--top", "99999999999999999999"), ("--top", "ten"), ("--top", ""),
                              ("--contended-ns", "1.5"), ("--window-ms", "-1"), ("--window-ms", "1e300"),
                              ("--inversion-us", "18446744073709551616"), ("-p", "0x"), ("-p", "-5")):
            self.assert_fails(run("analyze", option, value, self.plain), USAGE, option.lstrip("-"))

    def test_value_missing(self):
        self.assert_fails(run("analyze", self.plain, "--top"), USAGE, "--top")

    def test_flag_with_a_value(self):
        self.assert_fails(run("analyze", "--json=1", self.plain), USAGE, "--json")

    def test_unknown_section(self):
        self.assert_fails(run("analyze", "--only", "waits,wiats", self.plain), USAGE, "wiats")

    def test_two_paths(self):
        self.assert_fails(run("analyze", self.plain, self.plain), USAGE)

    def test_record_without_an_end(self):
        """Neither -d nor a command, but an empty command."""
        self.assert_fails(run("record", "-o", os.path.join(self.dir, "never"), "--"), USAGE)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "never")))


    def test_live_verbs_watch_one_thing(self):
        for verb in (["record"], ["record", "--bpf"], ["locks"]):
            for args in (["-p", "1", "-a"], ["-p", "1", "--", "true"], ["-a", "--"], ["true"], ["-p", "0"],
                         ["-d", "0"], ["-d", "soon"]):
                self.assert_fails(run(*verb, *args), USAGE, "mmscope %s:" % verb[0])

    def test_values_of_the_bpf_options(self):
        for verb in (["record", "--bpf", "-a"], ["locks"]):
            for option, value in (("--min-us", "-1"), ("--min-us", "1.5"), ("--ring", "0"), ("--ring", "4096"),
                                  ("--ring", "64M"), ("--cgroup=", None), ("--no-faults=1", None)):
                done = run(*verb, *([option] if value is None else [option, value]))
                if option == "--cgroup=":
                    self.assert_fails(done, FAILED, "cgroup")
                else:
                    self.assert_fails(done, USAGE, option.split("=")[0])
        for value in ("0", "0.01", "1e9", ""):
            self.assert_fails(run("locks", "-i", value), USAGE, "interval")

    def test_options_of_the_other_source(self):
        out = os.path.join(self.dir, "never")
        for args in (["--min-us", "5"], ["--ring", "8"], ["--no-faults"], ["--user-stacks"], ["--cgroup", "/"],
                     ["--rung", "hash"]):
            self.assert_fails(run("record", "-o", out, "-a", *args), USAGE, args[0], "--bpf")
        for args in (["-b", "100"], ["-e", "sched:sched_wakeup"]):
            self.assert_fails(run("record", "--bpf", "-o", out, "-a", *args), USAGE, args[0], "ftrace")
        self.assertFalse(os.path.exists(out))

    def test_cgroup_of_no_v2_hierarchy(self):
        for path, what in ((self.dir, "cgroup v2"), ("/no/such/cgroup", "No such file"), (self.plain, "Not a directory")):
            self.assert_fails(run("locks", "--cgroup", path, "-d", "1"), FAILED, path, what)


class WithoutRoot(Case):
    """One line that says what is missing and what can be had instead; nothing is left behind."""
    def setUp(self):
        self.before = []
        if os.geteuid() == 0:
            self.before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
            if subprocess.run([*self.before, suite.MMSCOPE, "--version"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
                self.skipTest("needs a binary that an unprivileged user can run, not only root")
        self.there = tempfile.mkdtemp(prefix="mmscope-cli-")
        self.addCleanup(shutil.rmtree, self.there)
        os.chmod(self.there, 0o777)

    def run_as_nobody(self, *args):
        return subprocess.run([*self.before, suite.MMSCOPE, *args], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.there)

    def test_locks(self):
        for args in (["-d", "1"], ["--json", "-d", "1"], ["--", "true"], ["-p", str(os.getpid())]):
            self.assert_fails(self.run_as_nobody("locks", *args), FAILED, "root", "analyze")

    def test_record_bpf(self):
        self.assert_fails(self.run_as_nobody("record", "--bpf", "-o", "session", "-d", "1"), FAILED, "root")
        self.assertEqual(os.listdir(self.there), [])


class BadInput(Case):
    def test_missing_file(self):
        path = os.path.join(self.dir, "missing.txt")
        self.assert_fails(run("analyze", path), FAILED, path, "No such file")

    def test_empty_file(self):
        path = self.write("empty.txt", b"")
        self.assert_fails(run("analyze", path), FAILED, path, "empty")

    def test_empty_stdin(self):
        self.assert_fails(run("analyze", "-", data=b""), FAILED, "empty")

    def test_directory_without_chunks(self):
        path = os.path.join(self.dir, "nothing")
        os.mkdir(path)
        self.assert_fails(run("analyze", path), FAILED, path)

    def test_binary_garbage(self):
        noise = bytes((i * i * 7 + i // 3) % 256 for i in range(100000))
        path = self.write("garbage.bin", noise)
        self.assert_fails(run("analyze", path), FAILED, path)

    def test_text_that_is_no_trace(self):
        path = self.write("prose.txt", b"It was a dark and stormy night.\n" * 100)
        self.assert_fails(run("analyze", path), FAILED, path)

    def test_other_formats_are_named(self):
        """A format that is known by sight but not read is refused by its name."""
        for name, data, word in (
                ("a.html", b"<!DOCTYPE html>\n<html>\n<head i18n-values=\"dir:textdirection;\">\n", "HTML"),
                ("a.dat", b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0header_page\0", "trace.dat"),
                ("perf.data", b"PERFILE2" + bytes(200), "perf.data"),
                ("z.txt", b"TRACE:\nx\x9c\xcb\xc8,Q\0\x02\0", "atrace")):
            self.assert_fails(run("analyze", self.write(name, data)), FAILED, word)

    def test_one_line_of_a_gigabyte(self):
        """From a pipe, so that nothing of it is stored here."""
        script = "head -c 1073741824 /dev/zero | tr '\\0' x | \"$1\" analyze -"
        done = subprocess.run(["sh", "-c", script, "sh", suite.MMSCOPE], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assert_fails(done, FAILED)

    def test_a_long_line_loses_only_itself(self):
        want, _ = self.analyze(self.plain)
        half = self.text.index(b"\n", len(self.text) // 2) + 1
        long_line = b"y" * (32 * MEGABYTE) + b"\n"
        got, _ = self.analyze(self.write("long.txt", self.text[:half] + long_line + self.text[half:]))
        self.assertEqual(got["trace"]["lines"] - want["trace"]["lines"], 1)
        for key in ("filemap_fault", "vma_writer", "mmap_lock", "contention", "waits"):
            self.assertEqual(got[key], want[key], key)

    def test_corrupt_gz(self):
        packed = bytearray(gzip.compress(self.text))
        packed[len(packed) // 2] ^= 0xff
        packed[len(packed) // 2 + 1] ^= 0xff
        path = self.write("corrupt.gz", bytes(packed))
        self.assert_reports_loss(self.analyze(path)[0], path)

    def test_cut_gz(self):
        packed = gzip.compress(self.text)
        path = self.write("cut.gz", packed[:len(packed) // 2])
        got, _ = self.analyze(path)
        self.assert_reports_loss(got, path)
        self.assertLess(0, got["trace"]["lines"])
        self.assertLess(got["trace"]["lines"], self.text.count(b"\n"))

    def test_nothing_readable(self):
        """A chunk whose very first bytes are broken leaves nothing to analyse."""
        path = self.write("broken.gz", b"\x1f\x8b\x08" + bytes(50))
        self.assert_fails(run("analyze", path), FAILED, path)

    def test_unreadable(self):
        loop = os.path.join(self.dir, "loop")
        os.symlink(loop, loop)
        self.assert_fails(run("analyze", loop), FAILED, loop)


class Output(Case):
    def test_closed_pipe_is_success(self):
        for json_flag in ("", "--json"):
            script = '{ "$1" analyze %s "$2"; echo $? >"$3"; } | head -n 1' % json_flag
            code = os.path.join(self.dir, "code")
            done = subprocess.run(["bash", "-c", script, "bash", suite.MMSCOPE, self.plain, code],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(open(code).read(), "0\n")

    def test_reader_gone_before_the_first_byte(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = run("analyze", self.plain, stdout=write_end)
        os.close(write_end)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))

    def test_full_disk_is_failure(self):
        for verb in (["analyze", self.plain], ["analyze", "--json", self.plain], ["--help"], ["check", "--help"]):
            with open("/dev/full", "wb") as full:
                done = run(*verb, stdout=full)
            self.assertEqual(done.returncode, FAILED, verb)
            self.assertRegex(done.stderr, rb"\Ammscope[^\n]*No space left[^\n]*\n\Z")

    def test_same_input_same_bytes(self):
        for flags in ([], ["--json"]):
            self.assertEqual(run("analyze", *flags, self.plain).stdout, run("analyze", *flags, self.plain).stdout)

    def test_text_fits(self):
        done = run("analyze", self.plain)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))
        self.assertNotIn(b"\x1b", done.stdout, "colour without a terminal")


class Inputs(Case):
    """The same capture in every packing gives the same result."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.want = json.loads(run("analyze", "--json", cls.plain).stdout)

    def test_it_holds_something(self):
        self.assertGreater(self.want["filemap_fault"]["total_count"], 0)
        self.assertGreater(self.want["vma_writer"]["total_count"], 0)

    def test_stdin(self):
        self.assert_same_result(self.analyze("-", data=self.text)[0], self.want)
        with open(self.plain, "rb") as file:
            self.assert_same_result(self.analyze("-", stdin=file)[0], self.want)

    def test_gz(self):
        path = self.write("a.gz", gzip.compress(self.text))
        self.assert_same_result(self.analyze(path)[0], self.want)

    def test_gz_of_two_members(self):
        half = len(self.text) // 2
        path = self.write("two.gz", gzip.compress(self.text[:half]) + gzip.compress(self.text[half:]))
        self.assert_same_result(self.analyze(path)[0], self.want)

    def test_xz(self):
        path = self.write("a.xz", lzma.compress(self.text))
        self.assert_same_result(self.analyze(path)[0], self.want)

    def test_zst(self):
        if not shutil.which("zstd"):
            self.skipTest("zstd is not installed")
        packed = subprocess.run(["zstd", "-c"], input=self.text, stdout=subprocess.PIPE, check=True).stdout
        self.assert_same_result(self.analyze(self.write("a.zst", packed))[0], self.want)
        self.assert_same_result(self.analyze("-", data=packed)[0], self.want)

    def test_packed_by_content_not_by_name(self):
        path = self.write("misnamed.txt", gzip.compress(self.text))
        self.assert_same_result(self.analyze(path)[0], self.want)
        path = self.write("misnamed.gz", self.text)
        self.assert_same_result(self.analyze(path)[0], self.want)

    def test_crlf(self):
        path = self.write("crlf.txt", self.text.replace(b"\n", b"\r\n"))
        got, _ = self.analyze(path)
        for key in ("filemap_fault", "vma_writer", "mmap_lock", "contention"):
            self.assertEqual(got[key], self.want[key], key)


class Chunks(Case):
    """A directory of chunks, in natural order, cut anywhere."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.want = json.loads(run("analyze", "--json", cls.plain).stdout)

    def chunks(self, folder, count, pack=lambda data: data, suffix=".txt"):
        """Splits in mid-record into trace_1 ... trace_COUNT; 12 chunks tell natural order from 1, 10, 11, 2."""
        path = os.path.join(self.dir, folder)
        size = len(self.text) // count + 1
        cut = [self.text[i:i + size] for i in range(0, len(self.text), size)]
        self.assertTrue(any(not c.endswith(b"\n") for c in cut[:-1]), "no record is cut")
        for i, data in enumerate(cut, 1):
            self.write("%s/trace_%d%s" % (folder, i, suffix), pack(data))
        return path, cut

    def test_equal_to_the_unsplit_file(self):
        self.assert_same_result(self.analyze(self.chunks("plain", 12)[0])[0], self.want)

    def test_gz_chunks(self):
        path, _ = self.chunks("packed", 12, gzip.compress, ".txt.gz")
        self.assert_same_result(self.analyze(path)[0], self.want)

    def test_every_cut_of_a_line(self):
        """The border at each byte of one record, and on both sides of its newline."""
        start = self.text.index(b"\n", len(self.text) // 2) + 1
        end = self.text.index(b"\n", start) + 2
        for at in range(start, end + 1, 7):
            self.write("cut/trace_1.txt", self.text[:at])
            self.write("cut/trace_2.txt", self.text[at:])
            self.assert_same_result(self.analyze(os.path.join(self.dir, "cut"))[0], self.want)

    def lossy(self, folder, broken):
        """Breaks the middle chunk; the result must tell, and hold everything else."""
        path, cut = self.chunks(folder, 5, gzip.compress, ".gz")
        middle = os.path.join(path, "trace_3.gz")
        broken(middle)
        got, _ = self.analyze(path)
        self.assert_reports_loss(got, "trace_3.gz")
        self.assertIn(b"trace_3.gz", run("analyze", path).stdout)
        lines = self.text.count(b"\n") - cut[2].count(b"\n")
        # The records that were cut at the broken chunk's borders are lost with it.
        self.assertAlmostEqual(got["trace"]["lines"], lines, delta=2)
        self.assertNotEqual(self.without_input(got), self.without_input(self.want))
        done = run("analyze", "--strict", path)
        self.assertEqual(done.returncode, INCOMPLETE, "--strict")

    def test_corrupt_chunk(self):
        self.lossy("corrupt", lambda path: self.write(os.path.relpath(path, self.dir), b"\x1f\x8b\x08" + b"\0" * 50))

    def test_unreadable_chunk(self):
        def dangle(path):
            os.unlink(path)
            os.symlink("/nowhere/at/all", path)
        self.lossy("dangling", dangle)


class Filters(Case):
    def test_a_process_that_is_not_there(self):
        done = run("analyze", "-p", "4194303", self.plain)
        self.assertEqual(done.returncode, DONE)

    def test_only_prints_only_that(self):
        done = run("analyze", "--only", "trace", self.plain).stdout
        everything = run("analyze", self.plain).stdout
        self.assertLess(len(done), len(everything))


class Partial(Case):
    """Parts of an event family are missing, or of a recording: said, never a silent 0."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kept = generate("--vendor", "--seconds", "1", "--no-retry", "1", "--sched")

    def without(self, *events):
        pattern = re.compile(rb": (%s): " % b"|".join(events))
        lines = [line for line in self.kept.splitlines(True) if not pattern.search(line)]
        self.assertLess(len(lines), self.kept.count(b"\n"))
        return self.analyze("-", data=b"".join(lines))[0]

    def warnings(self, result):
        return " ".join(note["text"] for note in result["notes"] if note["level"] == "warning")

    def test_whole(self):
        result = self.analyze("-", data=self.kept)[0]
        self.assertGreater(result["contention"]["type_a_count"], 0)
        self.assertEqual(self.warnings(result), "")

    def test_faults_without_an_end(self):
        result = self.without(b"filemap_fault_end", b"filemap_fault_retry")
        self.assertGreater(result["contention"]["type_a_undecided_count"], 0)
        self.assertIn("undecided", result["verdict"]["text"])
        self.assertIn("no fault is seen whole", self.warnings(result))

    def test_no_waits_of_faults(self):
        self.assertIn("filemap_fault_wait", self.warnings(self.without(b"filemap_fault_wait_(start|end)")))

    def test_no_waits_of_writers(self):
        result = self.without(b"vma_start_write_wait_(start|end)", b"vma_start_write_blocked")
        self.assertIn("vma_start_write_wait", self.warnings(result))

    def test_no_holds(self):
        self.assertIn("mmap_lock_hold", self.warnings(self.without(b"mmap_lock_hold_(start|end)")))

    def test_no_waits_for_mmap_lock(self):
        result = self.without(b"mmap_lock_wait_(start|end)", b"mmap_lock_write_blocked")
        self.assertIn("mmap_lock_wait", self.warnings(result))

    def test_blocker_is_doing_what_only_sched_switch_tells(self):
        rows = self.without(b"sched_switch")["type_a_pairs"]
        self.assertTrue(rows)
        self.assertFalse([row for row in rows if "(" in row["doing"]])

    def test_a_recording_that_lost_a_file(self):
        info = {"format_version": 1, "scope": "all", "ended_by": "duration",
                "per_cpu": [{"cpu": 0, "bytes": len(self.text)}, {"cpu": 1, "bytes": 1000}]}
        self.write("short/mmscope.json", json.dumps(info).encode())
        self.write("short/cpu0-00001.txt", self.text)
        directory = os.path.join(self.dir, "short")
        result = self.analyze("--strict", directory, code=3)[0]
        self.assertIn("only %d are here" % len(self.text), " ".join(n["text"] for n in result["notes"]))
        self.write("short/cpu1-00001.txt", self.text[:self.text.index(b"\n", 900) + 1])
        info["per_cpu"][1]["bytes"] = os.path.getsize(os.path.join(directory, "cpu1-00001.txt"))
        self.write("short/mmscope.json", json.dumps(info).encode())
        self.analyze("--strict", directory)


class Range(Case):
    def test_reversed(self):
        self.assert_fails(run("analyze", "--from", "9", "--to", "8", self.plain), USAGE, "--from", "--to")

    def test_outside(self):
        result = self.analyze("--from", "+900", self.plain)[0]
        self.assertIn("no event lies between", " ".join(n["text"] for n in result["notes"]))

    def test_failed_tries_are_filtered_too(self):
        stock = generate("--bench", "20000")
        self.assertGreater(sum(r["failed_tries"] or 0 for r in self.analyze("-", data=stock)[0]["waits"]), 0)
        nobody = self.analyze("-p", "4194303", "-", data=stock)[0]
        self.assertEqual([r["failed_tries"] or 0 for r in nobody["waits"]], [0] * len(nobody["waits"]))
        self.assertIn("filtered", " ".join(n["text"] for n in nobody["notes"]))

    def test_streams_of_two_clocks(self):
        later = re.sub(rb"(\] \S+ +)(\d+)(\.\d+: )", lambda m: m[1] + b"%d" % (int(m[2]) + 5000) + m[3], self.text)
        for name, second in (("one", self.text), ("two", later)):
            self.write(name + "/cpu0-00001.txt", self.text)
            self.write(name + "/cpu1-00001.txt", second)
        one, two = (" ".join(n["text"] for n in self.analyze(os.path.join(self.dir, name))[0]["notes"])
                    for name in ("one", "two"))
        self.assertNotIn("on one clock?", one)
        self.assertIn("on one clock?", two)

    def test_another_boot_names_the_way_on(self):
        twice = re.sub(rb"(\] \S+ +)(\d+)(\.\d+: )", lambda m: m[1] + b"%d" % (int(m[2]) + 100) + m[3], self.text)
        done = run("analyze", "-", data=twice + self.text)
        self.assert_fails(done, FAILED, "another boot", "--allow-step-back")


if __name__ == "__main__":
    suite.main()
