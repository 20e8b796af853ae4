#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`mmscope record` on the running kernel: known workloads in, exact counts out, nothing left behind.

usage: test_record.py [MMSCOPE [TEST]]     (or the environment variable MMSCOPE)
Exit: 0 passed, 1 failed, 77 skipped with a reason (no root, no tracefs), 99 the test could not be set up.
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import suite  # noqa: E402

MMSCOPE = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else suite.MMSCOPE)
LIMIT = 120  # seconds until a step counts as hung; no test measures time
# "  comm-TID ( TGID) [cpu] flags time: rest"
RECORD = re.compile(r"^\s*(.*)-(\d+)\s+\(\s*[\d-]+\)\s+\[\d+\]\s+\S+\s+[\d.]+: (.*)$")
WORK = None      # temporary directory
WORKLOAD = None  # compiled record_workload.c
MOUNTS = None    # /proc/self/mounts before the tests


def skip(reason):
    print("SKIP: " + reason)
    sys.exit(77)


def in_tracefs(command):
    """Runs a shell command with $T = tracefs, mounted for it alone where it is not."""
    script = ("set -e; T=$(awk '$3 == \"tracefs\" { print $2; exit }' /proc/self/mounts); "
              "if [ -z \"$T\" ]; then mount --make-rprivate /; T=/sys/kernel/tracing; "
              "mount -t tracefs tracefs $T; fi; " + command)
    return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=LIMIT)


def instances():
    r = in_tracefs("ls $T/instances")
    if r.returncode:
        raise RuntimeError("cannot list the trace instances: " + r.stderr)
    return r.stdout.split()


class Recording:
    """A running `mmscope record`."""

    def __init__(self, args, directory, **more):
        self.dir = directory
        self.err_path = tempfile.mktemp(dir=WORK)
        self.err_file = open(self.err_path, "wb")
        self.p = subprocess.Popen([MMSCOPE, "record", "-o", directory] + args, stderr=self.err_file, **more)

    def stderr(self):
        with open(self.err_path, "rb") as f:
            return f.read().decode(errors="replace")

    def wait_started(self):
        """Until mmscope.json is there and tracing is on (the remark is printed just before)."""
        end = time.monotonic() + LIMIT
        while "recording " not in self.stderr():
            if self.p.poll() is not None or time.monotonic() > end:
                raise AssertionError("no recording: " + self.stderr())
            time.sleep(0.01)
        r = in_tracefs("i=0; while [ $(cat $T/instances/mmscope-%d/tracing_on) != 1 ]; do "
                       "i=$((i+1)); [ $i -lt 1000 ]; sleep 0.01; done" % self.p.pid)
        if r.returncode:
            raise AssertionError("tracing never started: " + r.stderr)

    def wait(self):
        code = self.p.wait(timeout=LIMIT)
        self.err_file.close()
        return code

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        if not self.err_file.closed:
            self.err_file.close()


class Session:
    """What a recording left: mmscope.json and the lines of all its files."""

    def __init__(self, directory):
        with open(os.path.join(directory, "mmscope.json")) as f:
            self.info = json.load(f)
        self.lines = []
        for name in sorted(os.listdir(directory)):
            if name.endswith(".txt"):
                with open(os.path.join(directory, name), "rb") as f:
                    self.lines += f.read().decode("latin-1").split("\n")
        self.records = [m.groups() for m in map(RECORD.match, self.lines) if m]

    def count(self, tid, what):
        return sum(1 for _, t, rest in self.records if int(t) == tid and rest.startswith(what))

    def lost(self):
        return sum(c["overrun"] + c["dropped"] + c["lost_events"] + c["lost_marks"] for c in self.info["per_cpu"])


class TestRecord(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mktemp(prefix="session-", dir=WORK)
        self.running = []

    def tearDown(self):
        for r in self.running:
            r.kill()

    def record(self, args, **more):
        r = Recording(args, more.pop("directory", self.dir), **more)
        self.running.append(r)
        return r

    def run_record(self, args, **more):
        """(exit code, stderr, stdout) of a recording that ends by itself."""
        r = self.record(args, stdout=subprocess.PIPE, **more)
        out, _ = r.p.communicate(timeout=LIMIT)
        return r.wait(), r.stderr(), out.decode()

    def assert_gone(self, pid):
        self.assertNotIn("mmscope-%d" % pid, instances())

    def test_exact_counts(self):
        """Every call of a known workload is there as enter and exit, once."""
        code, err, out = self.run_record(["--", WORKLOAD])
        self.assertEqual(code, 0, err)
        said = dict(zip(out.split()[::2], map(int, out.split()[1::2])))
        tid = said.pop("tid")
        self.assertEqual(said, {"mprotect": 1009, "mmap": 503, "munmap": 503})
        s = Session(self.dir)
        self.assertEqual(s.lost(), 0, err)
        for call, n in said.items():
            self.assertEqual(s.count(tid, "sys_%s(" % call), n, call)
            self.assertEqual(s.count(tid, "sys_%s -> " % call), n, call)
        # One start of a write lock for each of them, at least.
        self.assertGreaterEqual(s.count(tid, "mmap_lock_start_locking:"), sum(said.values()))
        self.assertEqual(s.info["ended_by"], "command")
        self.assertEqual(s.info["exit_code"], 0)
        self.assertEqual(s.info["scope"], "command")
        self.assertEqual(s.info["clock"], "mono")
        self.assertEqual(s.info["workload"], WORKLOAD)
        self.assertEqual(sum(c["unread"] for c in s.info["per_cpu"]), 0)
        self.assertEqual(sum(c["read_events"] for c in s.info["per_cpu"]), len(s.records))
        self.assertEqual({f: os.path.getsize(os.path.join(self.dir, f)) for f in s.info["files"]},
                         {"cpu%d-00001.txt" % c["cpu"]: c["bytes"] for c in s.info["per_cpu"]})
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(s.info["files"] + ["mmscope.json"]))
        self.assertEqual((s.info["command"][1:], s.info["pids"]), (["record", "-o", self.dir, "--", WORKLOAD], []))
        self.assertIn("lost: 0 events", err)
        self.assertIn("mmscope analyze " + self.dir, err)

    def test_command_first_events(self):
        """The gate: the command's exec, and its loader's first mmap, are recorded; other processes are not."""
        code, err, _ = self.run_record(["--", WORKLOAD])
        self.assertEqual(code, 0, err)
        s = Session(self.dir)
        execs = [(t, rest) for _, t, rest in s.records if rest.startswith("sched_process_exec:")]
        self.assertEqual(len(execs), 1, execs)
        self.assertIn("filename=" + WORKLOAD, execs[0][1])
        main = int(execs[0][0])
        self.assertGreater(s.count(main, "sys_mmap("), 0)
        calls = {int(t) for _, t, rest in s.records if rest.startswith("sys_")}
        thread = [int(m.group(1)) for m in (re.search(r"task_newtask: pid=(\d+)", rest) for _, _, rest in s.records) if m]
        self.assertLessEqual(calls, {main, *thread})

    def test_exit_code_and_stdin(self):
        code, err, out = self.run_record(["--", "sh", "-c", "cat; exit 7"], stdin=subprocess.DEVNULL)
        self.assertEqual((code, out), (0, ""), err)
        self.assertEqual(Session(self.dir).info["exit_code"], 7)
        self.assertIn("exit code: 7", err)
        other = self.dir + "-2"
        with open("/etc/passwd") as f:
            code, err, out = self.run_record(["--", "sh", "-c", "cat; kill -SEGV $$"], stdin=f, directory=other)
        with open("/etc/passwd") as f:
            self.assertEqual(out, f.read())
        self.assertEqual(Session(other).info["exit_code"], 128 + signal.SIGSEGV)

    def test_same_mount_namespace(self):
        """The command sees the mounts that we see, not a private tracefs."""
        _, err, out = self.run_record(["--", "readlink", "/proc/self/ns/mnt"])
        self.assertEqual(out.strip(), os.readlink("/proc/self/ns/mnt"), err)

    def test_missing_command(self):
        code, err, _ = self.run_record(["--", "/nonexistent/program"])
        self.assertEqual(code, 1)
        self.assertIn("cannot run '/nonexistent/program': No such file or directory", err)
        self.assertFalse(os.path.exists(self.dir))
        self.assert_gone(self.running[0].p.pid)

    def test_existing_directory(self):
        os.mkdir(self.dir)
        code, err, _ = self.run_record(["--", "true"])  # an empty one is taken
        self.assertEqual(code, 0, err)
        before = sorted(os.listdir(self.dir))
        with open(os.path.join(self.dir, "mmscope.json"), "rb") as f:
            content = f.read()
        code, err, _ = self.run_record(["--", "true"])
        self.assertEqual(code, 1)
        self.assertIn("not empty", err)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        with open(os.path.join(self.dir, "mmscope.json"), "rb") as f:
            self.assertEqual(f.read(), content)
        self.assert_gone(self.running[1].p.pid)

    def test_usage(self):
        for args, word in ([], "say what to record"), (["-p", "1", "--", "true"], "-p"), (["-e", "nonsense", "-a"], "-e"):
            code, err, _ = self.run_record(args)
            self.assertEqual(code, 2, (args, err))
            self.assertIn(word, err)
            self.assertFalse(os.path.exists(self.dir))

    def test_unknown_event(self):
        code, err, _ = self.run_record(["-e", "sched:no_such_event", "-d", "1"])
        self.assertEqual(code, 1)
        self.assertIn("no event sched:no_such_event", err)
        self.assertFalse(os.path.exists(self.dir))
        self.assert_gone(self.running[0].p.pid)

    def test_extra_event(self):
        code, err, _ = self.run_record(["-e", "sched:sched_wakeup_new", "--", "sh", "-c", "true; true & wait"])
        self.assertEqual(code, 0, err)
        s = Session(self.dir)
        self.assertIn("sched:sched_wakeup_new", s.info["events"])
        self.assertTrue(any(rest.startswith("sched_wakeup_new:") for _, _, rest in s.records))

    def test_duration_everything(self):
        """-d alone records all processes but our own threads."""
        r = self.record(["-d", "1"])
        r.wait_started()
        own = set(map(int, os.listdir("/proc/%d/task" % r.p.pid)))
        busy = subprocess.Popen([WORKLOAD], stdout=subprocess.PIPE, text=True)
        out, _ = busy.communicate(timeout=LIMIT)
        self.assertEqual(r.wait(), 0, r.stderr())
        s = Session(self.dir)
        self.assertEqual((s.info["ended_by"], s.info["scope"], s.info["exit_code"]), ("duration", "all", None))
        self.assertGreaterEqual(s.info["end_ns"] - s.info["start_ns"], 10**9)
        self.assertGreater(s.count(int(out.split()[1]), "sys_mprotect("), 0)
        # The kernel keeps switches and wake-ups that concern another task too (an interrupt on top of our thread).
        mine = [rest for _, t, rest in s.records
                if int(t) in own and not rest.startswith(("sched_switch:", "sched_waking:"))]
        self.assertEqual(mine, [])
        self.assert_gone(r.p.pid)

    def test_duration_ends_command(self):
        code, err, _ = self.run_record(["-d", "0.2", "--", WORKLOAD, "spin"])
        self.assertEqual(code, 0, err)
        info = Session(self.dir).info
        self.assertEqual((info["ended_by"], info["exit_code"]), ("duration", 128 + signal.SIGTERM))

    def test_sigterm(self):
        for sig in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(sig=sig):
                directory = self.dir + sig.name
                r = self.record(["-a"], directory=directory)
                r.wait_started()
                r.p.send_signal(sig)
                self.assertEqual(r.wait(), 0, r.stderr())
                s = Session(directory)
                self.assertEqual(s.info["ended_by"], "signal")
                self.assertEqual(sum(c["bytes"] for c in s.info["per_cpu"]),
                                 sum(os.path.getsize(os.path.join(directory, f)) for f in s.info["files"]))
                self.assert_gone(r.p.pid)

    def test_interrupt_waits_for_command(self):
        """The first ^C is the command's: what it does then is recorded; a second kills it."""
        script = "trap 'echo caught; exec %s' INT; echo ready; while :; do sleep 0.05; done" % WORKLOAD
        r = self.record(["--", "sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        self.assertEqual(r.p.stdout.readline(), b"ready\n")
        r.p.send_signal(signal.SIGINT)  # a session without terminal: mmscope passes it on
        out = r.p.stdout.read().decode()
        r.p.stdout.close()
        self.assertEqual(r.wait(), 0, r.stderr())
        self.assertTrue(out.startswith("caught\ntid "), out)
        s = Session(self.dir)
        self.assertEqual((s.info["ended_by"], s.info["exit_code"]), ("signal", 0))
        self.assertEqual(s.count(int(out.split()[2]), "sys_mprotect("), 1009)

        r = self.record(["--", "sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.05; done"],
                        directory=self.dir + "-2", stdout=subprocess.PIPE, start_new_session=True)
        self.assertEqual(r.p.stdout.readline(), b"ready\n")
        r.p.send_signal(signal.SIGINT)
        end = time.monotonic() + LIMIT
        while "second ^C" not in r.stderr() and time.monotonic() < end:
            time.sleep(0.01)
        r.p.send_signal(signal.SIGINT)
        self.assertEqual(r.wait(), 0, r.stderr())
        r.p.stdout.close()
        self.assertEqual(Session(self.dir + "-2").info["exit_code"], 128 + signal.SIGKILL)

    def test_terminal_interrupt(self):
        """^C on a terminal reaches the command once: mmscope does not pass it on a second time."""
        script = "trap 'echo caught' INT; echo ready; read line; echo end"
        main, terminal = os.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        r = self.record(["--", "sh", "-c", script], stdin=terminal, stdout=subprocess.PIPE,
                        preexec_fn=take_terminal)
        os.close(terminal)
        self.assertEqual(r.p.stdout.readline(), b"ready\n")
        os.write(main, b"\x03")
        self.assertEqual(r.p.stdout.readline(), b"caught\n")
        end = time.monotonic() + LIMIT
        while "second ^C" not in r.stderr() and time.monotonic() < end:
            time.sleep(0.01)
        os.write(main, b"go on\n")
        self.assertEqual(r.p.stdout.read(), b"end\n")
        self.assertEqual(r.wait(), 0, r.stderr())
        r.p.stdout.close()
        os.close(main)
        info = Session(self.dir).info
        self.assertEqual((info["ended_by"], info["exit_code"]), ("signal", 0))

    def test_kill_9(self):
        """A killed recording is readable, says that it was cut, and its instance goes with the next one."""
        r = self.record(["-a"])
        r.wait_started()
        # what an idle machine does may not have reached the disk yet
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and not any(
                os.path.getsize(os.path.join(self.dir, name)) for name in os.listdir(self.dir) if name.startswith("cpu")):
            subprocess.run(["true"], check=True)
        r.p.kill()
        self.assertEqual(r.wait(), -signal.SIGKILL)
        with open(os.path.join(self.dir, "mmscope.json")) as f:
            info = json.load(f)
        self.assertIsNone(info["ended_by"])
        self.assertIsNone(info["end_ns"])
        p = subprocess.run([MMSCOPE, "analyze", self.dir], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("cut off", p.stdout)
        was_there = "mmscope-%d" % r.p.pid in instances()  # unless another mmscope on this machine was faster
        code, err, _ = self.run_record(["--", "true"], directory=self.dir + "-2")
        self.assertEqual(code, 0, err)
        self.assert_gone(r.p.pid)
        if was_there:
            self.assertRegex(err, "removed [0-9]+ trace instance")

    def test_pid(self):
        """-p: the threads of a running process, until it ends; its mmap_lock events too."""
        w = subprocess.Popen([WORKLOAD, "loop", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(w.stdout.readline(), "ready\n")
        r = self.record(["-p", str(w.pid)])
        r.wait_started()
        w.stdin.write("go\n")
        w.stdin.flush()
        self.assertEqual(w.stdout.readline(), "done\n")
        w.stdin.close()
        self.assertEqual(r.wait(), 0, r.stderr())  # w has ended, but nobody has reaped it yet
        w.wait()
        w.stdout.close()
        s = Session(self.dir)
        self.assertEqual((s.info["ended_by"], s.info["scope"], s.info["pids"]), ("pids", "pids", [w.pid]))
        self.assertEqual(s.lost(), 0)
        self.assertEqual(s.count(w.pid, "sys_mprotect("), 1009)
        self.assertEqual(s.count(w.pid, "sys_munmap -> "), 503)
        self.assertEqual({int(t) for _, t, rest in s.records if rest.startswith(("sys_", "mmap_lock"))}, {w.pid})

    def test_threads_of_a_pid(self):
        """-p takes the threads that are there already and those that come, and the children."""
        w = subprocess.Popen([WORKLOAD, "threads"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(w.stdout.readline(), "ready\n")
        r = self.record(["-p", str(w.pid)])
        r.wait_started()
        out, _ = w.communicate("go\n", timeout=LIMIT)
        self.assertEqual(r.wait(), 0, r.stderr())
        s = Session(self.dir)
        self.assertEqual(s.lost(), 0)
        tids = [int(word) for word in out.split()]
        self.assertEqual(len(tids), 3)  # an older thread, a newer one, a child process
        for tid in tids:
            self.assertEqual((s.count(tid, "sys_mprotect("), s.count(tid, "sys_munmap -> ")), (1009, 503), tids)

    def test_missing_pid(self):
        w = subprocess.Popen(["true"])
        w.wait()
        code, err, _ = self.run_record(["-p", str(w.pid)])
        self.assertEqual(code, 1)
        self.assertIn("process %d: No such process" % w.pid, err)
        self.assertFalse(os.path.exists(self.dir))
        self.assert_gone(self.running[0].p.pid)

    def test_loss_is_counted(self):
        """A recorder that cannot read (stopped) loses events, and says exactly how many."""
        w = subprocess.Popen([WORKLOAD, "loop", "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(w.stdout.readline(), "ready\n")
        r = self.record(["-b", "16", "-p", str(w.pid)])
        r.wait_started()
        r.p.send_signal(signal.SIGSTOP)
        w.stdin.write("go\n")
        w.stdin.flush()
        self.assertEqual(w.stdout.readline(), "done\n")
        r.p.send_signal(signal.SIGCONT)
        w.communicate(timeout=LIMIT)
        self.assertEqual(r.wait(), 0, r.stderr())
        s = Session(self.dir)
        marks = [re.match(r"CPU:\d+ \[LOST (?:(\d+) )?EVENTS\]$", line) for line in s.lines]
        marks = [m for m in marks if m]
        self.assertGreater(len(marks), 0)
        self.assertEqual(sum(c["lost_marks"] for c in s.info["per_cpu"]), len(marks))
        self.assertEqual(sum(c["lost_events"] for c in s.info["per_cpu"]), sum(int(m.group(1) or 0) for m in marks))
        lost = sum(c["overrun"] for c in s.info["per_cpu"])
        self.assertGreater(lost, 0)
        self.assertEqual(sum(c["read_events"] for c in s.info["per_cpu"]), len(s.records))
        self.assertRegex(r.stderr(), r"lost: (at least )?\d+ events; a larger buffer helps: -b 64")

    def test_disk_full(self):
        """A full disk ends the recording with one line; what was written stays, and the session says so."""
        mnt = os.path.join(WORK, "small")
        os.mkdir(mnt)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mnt]).returncode:
            self.skipTest("cannot mount a small tmpfs")
        try:
            code, err, out = self.run_record(["--", "sh", "-c", "%s; %s; echo end" % (WORKLOAD, WORKLOAD)],
                                             directory=os.path.join(mnt, "s"))
            self.assertEqual(code, 1, err)
            self.assertIn("No space left on device", err)
            self.assertTrue(out.endswith("end\n"), "the command was not left alone")
            s = Session(os.path.join(mnt, "s"))
            self.assertEqual(s.info["ended_by"], "error")
            self.assertIn("No space left on device", s.info["error"])
            self.assertEqual(s.info["exit_code"], 0)
            self.assertGreater(len(s.records), 0)
            self.assert_gone(self.running[0].p.pid)
        finally:
            subprocess.run(["umount", mnt], check=True)

    def test_no_privilege(self):
        """Without root: one line that names what is missing, exit 1, nothing made."""
        setpriv = shutil.which("setpriv")
        if not setpriv:
            self.skipTest("no setpriv")
        os.chmod(WORK, 0o777)
        p = subprocess.run([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", MMSCOPE, "record", "-o",
                            self.dir, "--", "true"], capture_output=True, text=True, timeout=LIMIT)
        if "Permission denied" in p.stderr and "setpriv" in p.stderr:
            self.skipTest("the program is out of reach for another user")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertEqual(p.stderr.count("\n"), 1, p.stderr)
        self.assertRegex(p.stderr, "CAP_SYS_ADMIN|access to tracefs")
        self.assertFalse(os.path.exists(self.dir))


def mounts():
    with open("/proc/self/mounts") as f:
        return f.read()


class TestZNothingLeft(unittest.TestCase):
    """Runs last (by name): the machine is as it was."""

    def test_mounts(self):
        self.assertEqual(mounts(), MOUNTS)


def main():
    global WORK, WORKLOAD, MOUNTS
    if os.geteuid():
        skip("needs root")
    if not os.access(MMSCOPE, os.X_OK):
        print("no program at %s: give its path as argument or in MMSCOPE" % MMSCOPE)
        return 99
    r = in_tracefs("test -d $T/instances")
    if r.returncode:
        skip("no tracefs here: " + (r.stderr.strip() or "no instances"))
    MOUNTS = mounts()
    WORK = tempfile.mkdtemp(prefix="mmscope-record-")
    WORKLOAD = os.path.join(WORK, "record_workload")
    try:
        cc = os.environ.get("CC", "cc").split()
        if subprocess.run(cc + ["-O1", "-D_GNU_SOURCE", "-pthread", "-o", WORKLOAD,
                                os.path.join(HERE, "record_workload.c")]).returncode:
            return 99
        suite.main()
    finally:
        shutil.rmtree(WORK)


if __name__ == "__main__":
    sys.exit(main())
