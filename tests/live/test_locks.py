#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`mmscope locks` on the running kernel: known loads in, what it shows; how it begins, refreshes and ends."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import checks  # noqa: E402
import suite  # noqa: E402

LIMIT = 120  # seconds until a step counts as hung; no test measures time
LOAD = [suite.MMSCOPE, "stress", "--json", "--readers", "3", "--writers", "2", "--writer-interval", "100",
        "--pages", "2048"]
SCHEMA = os.path.join(checks.ROOT, "docs", "result.schema.json")


def locks(*args, **more):
    """A run to its end: the exit code, stdout, stderr."""
    done = subprocess.run([suite.MMSCOPE, "locks", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, **more)
    return done.returncode, done.stdout, done.stderr


def refreshes(text):
    return [json.loads(line) for line in text.splitlines()]


def rows(all_refreshes, table):
    return [row for r in all_refreshes for row in checks.rows(r, table)]


class Case(unittest.TestCase):
    def setUp(self):
        why = suite.why_not_bpf()
        if why:
            self.skipTest(why)

    def start(self, *args, **more):
        p = subprocess.Popen([suite.MMSCOPE, "locks", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(self.end, p)
        return p

    def load(self, *args, seconds="60"):
        """A running load that has opened its gate; its thread ids."""
        p = subprocess.Popen([*LOAD, "--seconds", seconds, *args], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, p)
        line = p.stderr.readline()
        while not line.startswith("{"):
            self.assertTrue(line, "the load did not start")
            line = p.stderr.readline()
        return p, json.loads(line)

    @staticmethod
    def end(p):
        if p.poll() is None:
            p.kill()
        p.wait()
        for f in (p.stdout, p.stderr):
            if f:
                f.close()

    def all_json(self, *args):
        code, out, err = locks("--json", *args)
        self.assertEqual(code, 0, err)
        got = refreshes(out)
        self.assertTrue(got, "not one refresh")
        self.assertEqual([r["locks"]["refresh"] for r in got], list(range(1, len(got) + 1)))
        self.assertEqual([r["locks"]["last"] for r in got], [False] * (len(got) - 1) + [True])
        return got


    def json_of_command(self, *args, load=("--seconds", "2")):
        """The refreshes, and the load's own result: its stdout is another file than mmscope's."""
        own = tempfile.NamedTemporaryFile("r")
        self.addCleanup(own.close)
        command = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", own.name, *LOAD, *load]
        return self.all_json(*args, "--", *command), json.load(own)


class Json(Case):
    def test_windows_follow_each_other(self):
        got, _ = self.json_of_command("-i", "0.5")
        self.assertGreaterEqual(len(got), 3)
        for before, after in zip(got, got[1:]):
            self.assertEqual(before["locks"]["end_ns"], after["locks"]["begin_ns"])
        for r in got:
            self.assertEqual(r["locks"]["window_us"], (r["locks"]["end_ns"] - r["locks"]["begin_ns"]) // 1000)
            self.assertEqual(r["locks"]["min_wait_us"], 10)

    def test_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("needs python3-jsonschema")
        with open(SCHEMA, encoding="utf-8") as f:
            schema = json.load(f)
        for r in self.json_of_command("-i", "0.5")[0]:
            jsonschema.validate(r, schema)
        broken = dict(r, locks=dict(r["locks"], refresh="one"))
        self.assertRaises(jsonschema.ValidationError, jsonschema.validate, broken, schema)

    def test_it_names_the_threads_of_the_load(self):
        """Waiters are the load's threads and nobody else's; the writers wait behind named threads of it."""
        got, stress = self.json_of_command("--min-us", "0", "-i", "0.5")
        threads = set(stress["reader_tids"] + stress["writer_tids"])
        lost = sum(r["locks"]["lost_count"] for r in got)
        self.assertEqual(lost, 0)
        waits = [row for row in rows(got, "waits_by_thread") if row["lock"] == "mmap_lock"]
        self.assertTrue(threads & {row["tid"] for row in waits}, waits)
        named = [row for row in rows(got, "blame") if row["blocker_tid"] in threads and row["waiter_tid"] in threads]
        self.assertTrue(named, "nobody behind anybody")
        for row in named:
            # a thread has the program's name until it sets its own
            self.assertRegex(row["blocker_comm"], r"^(mms-(reader|writer)-\d+|mmscope)$")

    def test_totals_are_exact(self):
        """The kernel-side counts know every write wait of the load, however short, windows or not."""
        got, stress = self.json_of_command("--min-us", "100000", "-i", "0.7")
        calls = sum(stress["writers"]["calls"].values())
        totals = [row for row in checks.rows(got[-1], "lock_totals")
                  if row["pid"] == stress["tgid"] and (row["what"], row["mode"]) == ("wait", "write")]
        self.assertEqual(len(totals), 1, got[-1]["lock_totals"])
        # exec, the threads' stacks and the end of the process take it too
        self.assertGreaterEqual(totals[0]["count"], calls)
        self.assertLess(totals[0]["count"], calls + 1000)

    def test_each_wait_is_in_one_window(self):
        """With every wait told, the windows' counts sum to the exact total."""
        got, stress = self.json_of_command("--min-us", "0", "-i", "0.3")
        self.assertEqual([r["locks"]["lost_all_count"] for r in got], [0] * len(got))
        told = sum(row["count"] for row in rows(got, "waits")
                   if (row["lock"], row["mode"]) == ("mmap_lock", "write"))
        exact = sum(row["count"] for row in checks.rows(got[-1], "lock_totals")
                    if row["pid"] is None and (row["what"], row["mode"]) == ("wait", "write"))
        self.assertGreater(exact, 0)
        self.assertGreaterEqual(told, exact * 0.99)
        self.assertLessEqual(told, exact * 1.01)

    def test_min_us(self):
        got, _ = self.json_of_command("--min-us", "200")
        for row in rows(got, "waits_by_thread"):
            if row["lock"] == "mmap_lock":
                # a retry's wait is told however short, since it tells what became of the fault
                self.assertTrue(row["max_us"] >= 200 or row["mode"] == "read", row)

    def test_no_faults(self):
        got, _ = self.json_of_command("--no-faults")
        self.assertEqual([row for row in rows(got, "fault_waits")], [])

    def test_comm(self):
        got, _ = self.json_of_command("--min-us", "0", "-c", "mms-writer-*")
        names = {row["comm"] for row in rows(got, "waits_by_thread")}
        self.assertTrue(names)
        for name in names:
            self.assertTrue(name.startswith("mms-writer-"), name)

    def test_top(self):
        for r in self.json_of_command("--min-us", "0", "--top", "1")[0]:
            self.assertLessEqual(len(checks.rows(r, "waits_by_thread")), 1)

    def test_pid_and_its_end(self):
        """-p: that process, and the end when it ends; others' waits are not told."""
        other, other_id = self.load()
        load, ident = self.load()
        p = self.start("--json", "-p", str(load.pid), "--min-us", "0", "-i", "0.5")
        got = [json.loads(p.stdout.readline()) for _ in range(3)]
        load.terminate()
        out, err = p.communicate(timeout=LIMIT)
        self.assertEqual(p.returncode, 0, err)
        got += refreshes(out)
        self.assertEqual((got[0]["locks"]["scope"], got[-1]["locks"]["last"]), ("process %d" % load.pid, True))
        tids = {row["tid"] for row in rows(got, "waits_by_thread")}
        self.assertTrue(tids & set(ident["writer_tids"]), tids)
        self.assertFalse(tids & set(other_id["writer_tids"] + other_id["reader_tids"]))

    def test_missing_pid(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        code, out, err = locks("-p", str(gone.pid), "-d", "1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("process %d: No such process" % gone.pid, err)

    def test_cgroup(self):
        """Only waiters in that cgroup: one of two loads is moved there."""
        root = self.cgroup2_root()
        group = os.path.join(root, "mmscope-test-%d" % os.getpid())
        os.mkdir(group)
        self.addCleanup(self.remove_group, group)
        start = "echo $$ >%s/cgroup.procs && exec \"$@\"" % group
        inside = subprocess.Popen(["sh", "-c", start, "sh", *LOAD, "--seconds", "60"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, inside)
        line = inside.stderr.readline()
        if not line.startswith("{"):
            self.skipTest("cgroup v2 takes no process here: " + line)
        inside_id = json.loads(line)
        _, outside_id = self.load()
        got = self.all_json("--cgroup", group, "--min-us", "0", "-d", "2")
        tids = {row["tid"] for row in rows(got, "waits_by_thread") if row["lock"] == "mmap_lock"}
        self.assertTrue(tids & set(inside_id["writer_tids"]), tids)
        self.assertFalse(tids & set(outside_id["writer_tids"] + outside_id["reader_tids"]))
        self.end(inside)

    def cgroup2_root(self):
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as f:
            mounts = [line.split() for line in f]
        for m in mounts:
            if m[2] == "cgroup2" and os.access(m[1], os.W_OK):
                return m[1]
        path = tempfile.mkdtemp(prefix="mmscope-cgroup2-")
        if subprocess.run(["mount", "-t", "cgroup2", "none", path], stderr=subprocess.DEVNULL).returncode:
            os.rmdir(path)
            self.skipTest("no cgroup v2 can be mounted")
        self.addCleanup(os.rmdir, path)
        self.addCleanup(subprocess.run, ["umount", path], check=True)
        return path

    @staticmethod
    def remove_group(group):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                return os.rmdir(group)
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the cgroup of the test stays behind: " + group)


class Ends(Case):
    def test_duration(self):
        got = self.all_json("-d", "1.2", "-i", "0.5")
        self.assertGreaterEqual(sum(r["locks"]["window_us"] for r in got), 1100000)

    def test_exit_code_is_its_own(self):
        """The command's end is its end, whatever the command returns; as with record."""
        code, _, err = locks("--", "sh", "-c", "exit 7")
        self.assertEqual(code, 0, err)
        code, _, err = locks("--", "/nonexistent/program")
        self.assertEqual(code, 1)
        self.assertIn("cannot run '/nonexistent/program': No such file or directory", err)

    def test_gate(self):
        """The programs are there before the command's first instruction: its exec is among what is seen."""
        got, stress = self.json_of_command("--min-us", "0", load=("--seconds", "0.3"))
        totals = [row for r in got for row in checks.rows(r, "lock_totals") if row["pid"] == stress["tgid"]]
        self.assertTrue(totals)

    def test_signals(self):
        for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(sig=sig):
                p = self.start("--json", "-i", "0.2")
                first = json.loads(p.stdout.readline())
                self.assertEqual(first["locks"]["refresh"], 1)
                p.send_signal(sig)
                out, err = p.communicate(timeout=LIMIT)
                self.assertEqual(p.returncode, 0, err)
                self.assertIs(json.loads(out.splitlines()[-1])["locks"]["last"], True)

    def test_interrupt_is_first_the_commands(self):
        p = self.start("--json", "-i", "0.2", "--", "sh", "-c",
                       "trap '' INT; while :; do sleep 0.05; done", start_new_session=True)
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        line = p.stderr.readline()
        while "second ^C" not in line:
            self.assertTrue(line)
            line = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=LIMIT)
        self.assertEqual(p.returncode, 0, err)
        self.assertNotIn("still runs", err)

    def test_reader_that_has_had_enough(self):
        p = self.start("--json", "-i", "0.1")
        p.stdout.readline()
        p.stdout.close()
        self.assertEqual(p.wait(timeout=LIMIT), 0)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([suite.MMSCOPE, "locks", "-d", "0.3"], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)

    def test_nothing_stays(self):
        """The programs go with the process that loaded them, a killed one too."""
        for sig in signal.SIGINT, signal.SIGKILL:
            p = self.start("--json", "-i", "0.2")
            p.stdout.readline()
            ids = self.programs_of(p.pid)
            self.assertTrue(ids, "no program is loaded")
            p.send_signal(sig)
            p.communicate(timeout=LIMIT)
            end = time.monotonic() + LIMIT  # the kernel frees them a moment later
            while ids & self.all_programs() and time.monotonic() < end:
                time.sleep(0.05)
            self.assertFalse(ids & self.all_programs())

    @staticmethod
    def programs_of(pid):
        """Ids of the programs that a process holds open."""
        ids = set()
        for fd in os.listdir("/proc/%d/fdinfo" % pid):
            with open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="utf-8") as f:
                found = re.search(r"^prog_id:\s+(\d+)$", f.read(), re.M)
            if found:
                ids.add(int(found.group(1)))
        return ids

    @staticmethod
    def all_programs():
        bpftool = "/usr/sbin/bpftool"
        if not os.access(bpftool, os.X_OK):
            raise unittest.SkipTest("needs bpftool")
        out = subprocess.run([bpftool, "-j", "prog", "list"], capture_output=True, stdin=subprocess.DEVNULL)
        return {prog["id"] for prog in json.loads(out.stdout)}


class Plain(Case):
    def test_tables_one_after_the_other(self):
        p, ident = self.load()
        code, out, err = locks("-p", str(p.pid), "--min-us", "0", "-i", "0.5", "-d", "1.7")
        self.assertEqual(code, 0, err)
        heads = re.findall(r"(?m)^mmscope locks  \d\d:\d\d:\d\d  \d+\.\d{3} s, process %d( \(last\))?$" % p.pid, out)
        self.assertGreaterEqual(len(heads), 3)
        self.assertEqual([bool(h) for h in heads], [False] * (len(heads) - 1) + [True])
        self.assertIn("Who waited (times in us)", out)
        self.assertIn("mms-writer-", out)
        self.assertNotIn("\033", out)
        self.assertEqual([line for line in out.splitlines() if len(line) > 118 or line != line.rstrip()], [])

    def test_every_lesser_rung_is_said_on_stderr(self):
        """What JSON lists is what stderr says, one line each; on a kernel with everything: none."""
        p = subprocess.run([suite.MMSCOPE, "locks", "--json", "-d", "0.2"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=LIMIT)
        said = [line.split(": ", 1)[1] for line in p.stderr.splitlines() if "watching" not in line]
        self.assertEqual(refreshes(p.stdout)[-1]["locks"]["lesser_rungs"], said)


class Rungs(Case):
    def test_lesser_ones_see_the_same(self):
        """Each way into the kernel that works here counts every write wait of the load, and says what it is."""
        for rung, how in (("hash", "hash map"), ("raw_tp", "raw_tp"), ("tracepoint", "tracepoint")):
            with self.subTest(rung=rung):
                got, stress = self.json_of_command("--rung", rung, "--min-us", "0")
                self.assertTrue([r for r in got[-1]["locks"]["lesser_rungs"] if how in r and "asked for" in r],
                                got[-1]["locks"])
                self.assertEqual(got[-1]["locks"]["lost_all_count"], 0)
                totals = [row["count"] for row in checks.rows(got[-1], "lock_totals")
                          if row["pid"] == stress["tgid"] and (row["what"], row["mode"]) == ("wait", "write")]
                self.assertEqual(len(totals), 1, got[-1]["lock_totals"])
                calls = sum(stress["writers"]["calls"].values())
                self.assertGreaterEqual(totals[0], calls)
                self.assertLess(totals[0], calls + 1000)
                threads = set(stress["writer_tids"])
                self.assertTrue(threads & {row["tid"] for row in rows(got, "waits_by_thread")})

    def test_no_such_rung(self):
        code, out, err = locks("--rung", "ladder", "-d", "1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("ladder", err)


class Terminal:
    """A terminal of a size that `mmscope locks` runs on; what it wrote so far."""
    def __init__(self, args, lines=24, columns=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(suite.MMSCOPE, [suite.MMSCOPE, "locks", *args])
        self.out = b""
        self.resize(lines, columns)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read_until(self, what, count=1):
        end = time.monotonic() + LIMIT
        start = len(self.out)
        while self.out[start:].count(what) < count:
            if time.monotonic() > end:
                raise AssertionError("never %r in %r" % (what, self.out[-2000:]))
            if select.select([self.fd], [], [], 1)[0]:
                self.out += os.read(self.fd, 65536)
        return self.out[start:]

    def wait(self):
        """Reads to the end; the exit code."""
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                break
            self.out += data
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


ENTER, LEAVE, PAGE = b"\033[?1049h", b"\033[?1049l", b"\033[?2026h"


class Screen(Case):
    def pages(self, out):
        return [page.split(b"\033[?2026l")[0] for page in out.split(PAGE)[1:]]

    def test_refreshes_in_place_and_restores(self):
        t = Terminal(["-i", "0.2"])
        t.read_until(PAGE, 3)
        now = termios.tcgetattr(t.fd)
        self.assertFalse(now[3] & (termios.ICANON | termios.ECHO))
        os.write(t.fd, b"q")
        t.read_until(LEAVE)
        self.assertEqual(termios.tcgetattr(t.fd)[3], t.before[3])
        self.assertEqual(t.wait(), 0)
        self.assertEqual((t.out.count(ENTER), t.out.count(LEAVE)), (1, 1))
        after = t.out.split(LEAVE)[1].decode()
        self.assertRegex(after, r"mmscope locks  \d\d:\d\d:\d\d .*\(last\)")
        self.assertIn(b"\033[?25h", t.out)

    def test_fits_the_height(self):
        p, _ = self.load()
        for lines in (10, 40):
            t = Terminal(["-i", "0.2", "--min-us", "0", "-p", str(p.pid)], lines=lines)
            t.read_until(PAGE, 4)
            os.kill(t.pid, signal.SIGINT)
            self.assertEqual(t.wait(), 0)
            sizes = [page.count(b"\r\n") for page in self.pages(t.out)[1:]]  # the first may be of the size before
            self.assertTrue(sizes)
            self.assertLess(max(sizes), lines)
            self.assertGreater(max(sizes), 4)

    def test_resize_redraws(self):
        """A new size shows at once, not at the next refresh."""
        p, _ = self.load()
        t = Terminal(["-i", "1", "--min-us", "0", "-p", str(p.pid)], lines=50)
        t.read_until(PAGE, 2)
        t.resize(8, 100)
        t.read_until(PAGE)
        t.read_until(b"\033[?2026l")
        os.write(t.fd, b"q")
        self.assertEqual(t.wait(), 0)
        self.assertTrue([page for page in self.pages(t.out) if page.count(b"\r\n") < 8])

    def test_suspend_gives_the_terminal_back(self):
        t = Terminal(["-i", "0.2"])
        t.read_until(PAGE, 2)
        os.kill(t.pid, signal.SIGTSTP)
        t.read_until(LEAVE)
        pid, status = os.waitpid(t.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertEqual(termios.tcgetattr(t.fd)[3], t.before[3])
        os.kill(t.pid, signal.SIGCONT)
        t.read_until(ENTER)
        t.read_until(PAGE)
        os.write(t.fd, b"\x03")
        self.assertEqual(t.wait(), 0)

    def test_beside_a_command_there_is_no_screen(self):
        t = Terminal(["-i", "0.2", "--", "sleep", "0.5"])
        self.assertEqual(t.wait(), 0)
        self.assertNotIn(ENTER, t.out)
        self.assertIn(b"mmscope locks  ", t.out)


if __name__ == "__main__":
    suite.main()
