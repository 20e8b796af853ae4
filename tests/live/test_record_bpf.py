#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`mmscope record --bpf` on the running kernel: counts equal to the load's own, cut-off recordings readable."""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import checks  # noqa: E402
import suite  # noqa: E402

LIMIT = 120  # seconds until a step counts as hung; no test measures time
LOAD = [suite.MMSCOPE, "stress", "--json", "--readers", "3", "--writers", "2", "--writer-interval", "200",
        "--pages", "4096"]
FILE = "bpf.mmscope"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


class Case(unittest.TestCase):
    def setUp(self):
        if suite.why_not_bpf():
            self.skipTest(suite.why_not_bpf())
        self.work = tempfile.mkdtemp(prefix="mmscope-record-bpf-")
        self.addCleanup(shutil.rmtree, self.work)
        self.dir = os.path.join(self.work, "session")

    def command(self, *args, directory=None):
        return [suite.MMSCOPE, "record", "--bpf", "-o", directory or self.dir, *args]

    def record(self, *args, directory=None, **more):
        """A recording to its end: its exit code and stderr."""
        done = subprocess.run(self.command(*args, directory=directory), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, **more)
        return done.returncode, done.stderr

    def record_load(self, *args, seconds="2"):
        """The load's own result, and what was said."""
        own = os.path.join(self.work, "load.json")
        script = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", own, *LOAD, "--seconds", seconds]
        code, err = self.record(*args, "--", *script)
        self.assertEqual(code, 0, err)
        with open(own, encoding="utf-8") as f:
            return json.load(f), err

    def start(self, *args, directory=None):
        """A running recording, once it has begun."""
        p = subprocess.Popen(self.command(*args, directory=directory), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, p)
        line = p.stderr.readline()
        while "recording " not in line:
            self.assertTrue(line, "no recording")
            line = p.stderr.readline()
        return p

    def load(self):
        """A running load that has opened its gate."""
        load = subprocess.Popen([*LOAD, "--seconds", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, load)
        while not load.stderr.readline().startswith("{"):
            self.assertIsNone(load.poll())
        return load

    @staticmethod
    def end(p):
        if p.poll() is None:
            p.kill()
        p.wait()
        p.stderr.close()

    def info(self, directory=None):
        with open(os.path.join(directory or self.dir, "mmscope.json"), encoding="utf-8") as f:
            return json.load(f)

    def analyze(self, *args, before=(), path=None):
        done = subprocess.run([*before, suite.MMSCOPE, "analyze", "--json", *args, path or self.dir],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def wait_for_bytes(self, more_than, path=None):
        path = path or os.path.join(self.dir, FILE)
        end = time.monotonic() + LIMIT
        while not os.path.exists(path) or os.path.getsize(path) <= more_than:
            self.assertLess(time.monotonic(), end, "nothing is written")
            time.sleep(0.05)


class Recording(Case):
    def test_session(self):
        stress, err = self.record_load()
        info = self.info()
        self.assertEqual(sorted(os.listdir(self.dir)), [FILE, "mmscope.json"])
        self.assertEqual((info["source"], info["scope"], info["ended_by"], info["exit_code"], info["clock"]),
                         ("bpf", "command", "command", 0, "mono"))
        self.assertEqual((info["files"], info["min_wait_ns"], info["per_cpu"]), ([FILE], 10000, []))
        self.assertGreater(info["records"], 0)
        self.assertEqual(info["lost_records"], 0)
        self.assertIn("%d records, %d bytes; lost: 0 records" % (info["records"], info["record_bytes"]), err)
        self.assertTrue(info["rungs"])
        with open(os.path.join(self.dir, FILE), "rb") as f:
            magic, version = struct.unpack("=8sI", f.read(12))
        self.assertEqual((magic, version), (b"MMSCOPEB", 1))

    def test_counts_are_the_loads(self):
        """Each mprotect takes mmap_lock for writing once: all told with --min-us 0, all counted with any."""
        stress, _ = self.record_load("--min-us", "0")
        # by name: ld.so calls mprotect too, before main()
        result = self.analyze("-c", "mms-writer-*")
        calls = stress["writers"]["calls"]["mprotect"]
        self.assertGreater(calls, 100)
        told = sum(row["count"] for row in checks.rows(result, "waits_by_origin")
                   if (row["lock"], row["mode"], row["origin"]) == ("mmap_lock", "write", "mprotect"))
        self.assertEqual(told, calls)
        self.assert_totals_hold(self.analyze(), stress, calls)

    def test_totals_with_a_high_threshold(self):
        stress, _ = self.record_load("--min-us", "1000000")
        result = self.analyze()
        self.assertEqual([row for row in checks.rows(result, "waits_by_origin")
                          if (row["lock"], row["origin"]) == ("mmap_lock", "mprotect")], [])
        self.assert_totals_hold(result, stress, stress["writers"]["calls"]["mprotect"])

    def assert_totals_hold(self, result, stress, calls):
        rows = [row for row in checks.rows(result, "lock_totals") if row["pid"] == stress["tgid"]]
        write = [row["count"] for row in rows if (row["what"], row["mode"]) == ("wait", "write")]
        self.assertEqual(len(write), 1, rows)
        self.assertGreaterEqual(write[0], calls)
        self.assertLess(write[0], calls + 1000)  # exec, stacks of threads, the end of the process

    def test_a_lesser_rung_is_said_and_counts_the_same(self):
        stress, err = self.record_load("--min-us", "0", "--rung", "raw_tp")
        self.assertRegex(err, r"(?m)^mmscope record: .*raw_tp \(asked for\)")
        self.assertTrue([r for r in self.info()["rungs"] if "raw_tp" in r])
        result = self.analyze("-c", "mms-writer-*")
        told = sum(row["count"] for row in checks.rows(result, "waits_by_origin")
                   if (row["lock"], row["mode"], row["origin"]) == ("mmap_lock", "write", "mprotect"))
        self.assertEqual(told, stress["writers"]["calls"]["mprotect"])

    def test_blockers_have_names(self):
        stress, _ = self.record_load("--min-us", "0")
        threads = set(stress["reader_tids"] + stress["writer_tids"])
        blame = checks.rows(self.analyze(), "blame")
        self.assertTrue([row for row in blame if row["blocker_tid"] in threads
                         and row["blocker_comm"].startswith("mms-")], blame)

    def test_pid(self):
        load = self.load()
        p = self.start("-p", str(load.pid), "--min-us", "0")
        self.wait_for_bytes(50000)
        load.terminate()
        p.communicate(timeout=LIMIT)
        self.assertEqual(p.returncode, 0)
        info = self.info()
        self.assertEqual((info["ended_by"], info["scope"], info["pids"]), ("pids", "pids", [load.pid]))
        pids = {row["pid"] for row in checks.rows(self.analyze(), "waits_by_process")}
        self.assertIn(load.pid, pids)

    def test_signals(self):
        for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(sig=sig):
                directory = self.dir + sig.name
                p = self.start("-a", directory=directory)
                p.send_signal(sig)
                p.communicate(timeout=LIMIT)
                self.assertEqual(p.returncode, 0)
                self.assertEqual(self.info(directory)["ended_by"], "signal")
                self.analyze(path=directory)

    def test_exit_code_of_the_command(self):
        code, err = self.record("--", "sh", "-c", "exit 7")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.info()["exit_code"], 7)

    def test_missing_command(self):
        code, err = self.record("--", "/nonexistent/program")
        self.assertEqual(code, 1)
        self.assertIn("cannot run '/nonexistent/program': No such file or directory", err)
        self.assertFalse(os.path.exists(self.dir))

    def test_missing_pid(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        code, err = self.record("-p", str(gone.pid))
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("process %d: No such process" % gone.pid, err)
        self.assertFalse(os.path.exists(self.dir))

    def test_existing_directory(self):
        os.mkdir(self.dir)
        with open(os.path.join(self.dir, "mine"), "w"):
            pass
        code, err = self.record("-d", "0.2")
        self.assertEqual(code, 1)
        self.assertIn("not empty", err)
        self.assertEqual(os.listdir(self.dir), ["mine"])

    def test_small_ring_loses_and_says_so(self):
        """A recorder that is stopped cannot read: what finds no room is counted, and the analysis knows."""
        p = self.start("--min-us", "0", "--ring", "1", "-a")
        self.wait_for_bytes(1000)  # the line that start() waits for comes before the first record
        p.send_signal(signal.SIGSTOP)
        subprocess.run([*LOAD, "--writers", "8", "--ops", "5000", "--writer-interval", "0"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        p.send_signal(signal.SIGCONT)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=LIMIT)
        lost = self.info()["lost_records"]
        self.assertGreater(lost, 0)
        self.assertRegex(err, r"lost: %d records; a larger ring helps: --ring 4" % lost)
        trace = self.analyze()["trace"]
        self.assertEqual(trace["lost_events"], lost)
        self.assertIs(trace["incomplete"], True)


class CutOff(Case):
    def test_kill_9(self):
        """The prefix of a killed recording is readable, says that it was cut, and lists who waits."""
        p = self.start("--min-us", "0", "-a")
        self.load()
        self.wait_for_bytes(100000)
        p.kill()
        p.wait()
        self.assertIsNone(self.info()["ended_by"])
        result = self.analyze()
        self.assertTrue(any("cut off" in note["text"] for note in result["notes"]), result["notes"])
        self.assertTrue(checks.rows(result, "waits_by_thread"))

    def test_every_cut_of_the_file(self):
        """Wherever it ends, what was whole is read."""
        self.record_load("--min-us", "0", seconds="0.5")
        path = os.path.join(self.dir, FILE)
        size = os.path.getsize(path)
        whole = self.analyze()["trace"]["events"]
        events = []
        for part in (0.25, 0.5, 0.75, 0.99):
            other = os.path.join(self.work, "cut-%s" % part)
            shutil.copytree(self.dir, other)
            os.truncate(os.path.join(other, FILE), int(size * part))
            events.append(self.analyze(path=other)["trace"]["events"])
        self.assertEqual(events, sorted(events))
        self.assertLessEqual(events[-1], whole)
        self.assertGreater(events[-1], 0)

    def test_disk_full(self):
        """One line; what was written stays readable, the command goes on."""
        small = os.path.join(self.work, "small")
        os.mkdir(small)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small]).returncode:
            self.skipTest("cannot mount a small tmpfs")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        directory = os.path.join(small, "s")
        marker = os.path.join(self.work, "marker")
        code, err = self.record("--min-us", "0", "--", "sh", "-c", '"$@" >/dev/null && echo end >%s' % marker, "sh",
                                *LOAD, "--seconds", "4", "--writer-interval", "0", directory=directory)
        self.assertEqual(code, 1, err)
        self.assertIn("No space left on device", err)
        self.assertTrue(os.path.exists(marker), "the command was not left alone")
        info = self.info(directory)
        self.assertEqual((info["ended_by"], info["exit_code"]), ("error", 0))
        self.assertIn("No space left on device", info["error"])
        self.analyze(path=directory)


class Elsewhere(Case):
    def test_read_by_another_user_at_another_place(self):
        self.record_load(seconds="0.5")
        where = os.path.join(self.work, "copy")
        shutil.copytree(self.dir, where)
        os.chmod(self.work, 0o755)
        for folder, _, files in os.walk(where):
            os.chmod(folder, 0o755)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o444)
        if subprocess.run([*NOBODY, suite.MMSCOPE, "--version"], capture_output=True).returncode:
            self.skipTest("needs a binary that an unprivileged user can run, not only root")
        result = self.analyze(before=NOBODY, path=where)
        mine = self.analyze()
        for one in (result, mine):
            one["trace"].pop("path")
        self.assertEqual(result, mine)

    def test_text_report(self):
        self.record_load("--min-us", "0", seconds="0.5")
        done = subprocess.run([suite.MMSCOPE, "analyze", self.dir], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("VERDICT", done.stdout)


if __name__ == "__main__":
    suite.main()
