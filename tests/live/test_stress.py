#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mmscope stress: exact counts, the gate, what it says about itself against what the kernel says."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import suite  # noqa: E402

PAGE = os.sysconf("SC_PAGE_SIZE")
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
# writer operation -> calls one operation makes
CALLS = {
    "mprotect": {"mprotect": 1},
    "split": {"mprotect": 2},
    "mmap": {"mmap": 1, "munmap": 1},
    "fork": {"fork": 1},
    "madvise": {"madvise": 1},
}
ALL_CALLS = ("mprotect", "mmap", "munmap", "madvise", "fadvise", "fork")


def sum_of_pages(start, touched, pages):
    """What a reader must have read: page N of the file holds the number N."""
    whole, rest = divmod(touched, pages)
    return whole * pages * (pages - 1) // 2 + sum((start + i) % pages for i in range(rest))


class Case(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory(prefix="mmscope-stress-test-")
        self.dir = self.temp.name
        self.env = dict(os.environ, TMPDIR=self.dir)
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        left = os.listdir(self.dir)
        self.temp.cleanup()
        self.assertEqual(left, getattr(self, "may_stay", []), "left behind")

    def run_stress(self, *args, **more):
        return subprocess.run([suite.MMSCOPE, "stress", *map(str, args)], cwd=self.dir, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              **more)

    def result_of(self, *args, **more):
        done = self.run_stress("--json", *args, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start(self, *args, fd=None):
        """Starts it with --json; the ready line is read: (process, ready)."""
        process = subprocess.Popen([suite.MMSCOPE, "stress", "--json", *map(str, args)], cwd=self.dir,
                                   env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   pass_fds=[] if fd is None else [fd])
        self.processes.append(process)
        while True:
            line = process.stderr.readline()
            self.assertTrue(line, "no ready line")
            if line.startswith("{"):
                return process, json.loads(line)

    def start_gated(self, *args):
        """(process, ready, the gate's end to write to or close)"""
        theirs, ours = os.pipe()
        try:
            process, ready = self.start("--wait-fd", theirs, *args, fd=theirs)
        finally:
            os.close(theirs)
        return process, ready, ours

    def assert_one_line(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Counts(Case):
    def exact(self, op, ops):
        writers, readers, pages = 2, 2, 127
        r = self.result_of("--writer-op", op, "--ops", ops, "--writers", writers, "--readers", readers,
                           "--pages", pages, "--writer-interval", 0, "--writer-delay", 0)
        self.assertEqual(r["writers"]["ops"], ops * writers)
        self.assertEqual(r["writers"]["op_latency"]["count"], ops * writers)
        for call in ALL_CALLS:
            wanted = CALLS[op].get(call, 0) * ops
            self.assertEqual(r["writers"]["calls"][call], wanted * writers, call)
            for thread in r["threads"]:
                if thread["role"] == "writer":
                    self.assertEqual(thread["calls"][call], wanted, call)
                elif call not in ("madvise", "fadvise"):
                    self.assertEqual(thread["calls"][call], 0, call)
        self.assertEqual(r["writers"]["failed_calls"], dict.fromkeys(ALL_CALLS, 0))
        self.assertEqual(r["writers"]["errors"], {})
        if op == "mmap":
            self.assertEqual(r["writers"]["pages_touched"], ops * writers * (1 << 20) // PAGE)
            self.assertGreaterEqual(r["writers"]["minor_faults"], ops * writers)
        self.consistent(r)

    def consistent(self, r):
        pages, sink = r["pages"], 0
        self.assertIs(r["sink_is_sum_of_page_numbers"], True)
        for t in r["threads"]:
            if t["role"] != "reader":
                continue
            self.assertEqual(int(t["sink"], 16), sum_of_pages(t["start_page"], t["pages_touched"], pages))
            self.assertEqual(t["sweeps"], t["pages_touched"] // pages)
            self.assertEqual(t["calls"]["madvise"], t["sweeps"])
            self.assertEqual(t["calls"]["fadvise"], t["sweeps"])
            sink += int(t["sink"], 16)
        self.assertEqual(int(r["sink"], 16), sink)
        for side, role in ("readers", "reader"), ("writers", "writer"):
            threads = [t for t in r["threads"] if t["role"] == role]
            self.assertEqual([t["tid"] for t in threads], r[role + "_tids"])
            for key in "pages_touched", "sweeps", "ops", "minor_faults", "major_faults":
                self.assertEqual(r[side][key], sum(t[key] for t in threads), key)
            for call, latency in r[side]["call_latency"].items():
                self.assertEqual(latency["count"], r[side]["calls"][call])
                self.latency(latency)
        self.latency(r["readers"]["touch_latency"])
        self.latency(r["writers"]["op_latency"])
        self.assertEqual(r["readers"]["touch_latency"]["count"], r["readers"]["pages_touched"])
        # A process's faults are those of all its threads, the main one included.
        for key in "minor_faults", "major_faults":
            self.assertGreaterEqual(r[key] + 64, r["readers"][key] + r["writers"][key], key)

    def latency(self, l):
        self.assertEqual(sum(l["buckets_log10_us"]), l["count"])
        if not l["count"]:
            self.assertIsNone(l["min_ns"])
            return
        self.assertLessEqual(l["min_ns"], l["mean_ns"])
        self.assertLessEqual(l["mean_ns"], l["max_ns"])
        self.assertEqual(l["mean_ns"], l["total_ns"] // l["count"])
        edge = 1000
        for bucket in l["buckets_log10_us"][:-1]:
            if l["max_ns"] < edge and bucket:
                break
            edge *= 10

    def test_mprotect(self):
        self.exact("mprotect", 211)

    def test_split(self):
        self.exact("split", 101)

    def test_mmap(self):
        self.exact("mmap", 53)

    def test_fork(self):
        self.exact("fork", 31)

    def test_madvise(self):
        self.exact("madvise", 97)

    def test_readers_alone_stop_by_time(self):
        r = self.result_of("--writers", 0, "--readers", 3, "--pages", 64, "--seconds", "0.2")
        self.assertGreaterEqual(r["elapsed_ns"], 200000000)
        self.assertGreater(r["readers"]["pages_touched"], 0)
        self.assertEqual([t["start_page"] for t in r["threads"]], [0, 21, 42])
        self.consistent(r)

    def test_writers_alone(self):
        r = self.result_of("--readers", 0, "--ops", 13, "--pages", 1)
        self.assertEqual(r["writers"]["calls"]["mprotect"], 13)
        self.assertEqual(r["sink"], "0x0")

    def test_delay_longer_than_the_run_starts_no_writer(self):
        r = self.result_of("--seconds", "0.1", "--writer-delay", 3600, "--pages", 16)
        self.assertEqual(r["writers"]["ops"], 0)
        self.assertIsNone(r["writers"]["op_latency"]["max_ns"])

    def test_text_names_the_same_things(self):
        done = self.run_stress("--ops", 17, "--pages", 32)
        self.assertEqual(done.returncode, 0, done.stderr)
        ready, *rest = done.stdout.splitlines()
        self.assertRegex(ready, r"^ready tgid \d+ range [0-9a-f]+-[0-9a-f]+ dev \d+:\d+ ino \d+ pages 32 "
                                r"readers \d+(,\d+){3} writers \d+$")
        self.assertTrue(any(l.split()[:4] == ["writers", "mprotect", "17", "0"] for l in rest), done.stdout)


class Gate(Case):
    def maps_line(self, ready):
        with open("/proc/%d/maps" % ready["tgid"]) as maps:
            for line in maps:
                if line.startswith("%s-%s " % (ready["vm_start"][2:], ready["vm_end"][2:])):
                    return line.split()
        return self.fail("no VMA %s-%s" % (ready["vm_start"], ready["vm_end"]))

    def test_identity_is_what_the_kernel_says(self):
        process, ready, gate = self.start_gated("--pages", 48, "--ops", 3)
        self.assertEqual(ready["tgid"], process.pid)
        fields = self.maps_line(ready)
        self.assertEqual(fields[1], "rw-s")
        self.assertEqual(fields[3], "%02x:%02x" % (ready["dev_major"], ready["dev_minor"]))
        self.assertEqual(int(fields[4]), ready["ino"])
        self.assertEqual(int(ready["vm_end"], 16) - int(ready["vm_start"], 16), 48 * PAGE)
        names = {}
        for tid in os.listdir("/proc/%d/task" % process.pid):
            with open("/proc/%d/task/%s/comm" % (process.pid, tid)) as comm:
                names[int(tid)] = comm.read().strip()
        for role in "reader", "writer":
            for index, tid in enumerate(ready[role + "_tids"]):
                self.assertEqual(names.pop(tid), "mms-%s-%d" % (role, index))
        self.assertEqual(list(names), [process.pid])
        os.close(gate)
        self.assertEqual(process.wait(60), 0)

    def opens_by(self, action):
        process, ready, gate = self.start_gated("--pages", 64, "--ops", 5, "--writer-delay", 0)
        # Without a gate this run is over in milliseconds; shut, nothing is touched however long one waits.
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)
        with open("/proc/%d/smaps" % process.pid) as smaps:
            part = smaps.read().split("%s-%s " % (ready["vm_start"][2:], ready["vm_end"][2:]), 1)[1]
        self.assertRegex(part, r"(?m)\A.*\n(?:.*\n)*?Rss: +0 kB")
        self.assertEqual(part.split("Rss:")[1].split()[0], "0")
        action(gate)
        out, _ = process.communicate(timeout=60)
        r = json.loads(out)
        self.assertIs(r["gate_opened"], True)
        self.assertEqual(r["writers"]["ops"], 5)
        for key, value in ready.items():
            self.assertEqual(r[key], value, key)
        return gate

    def test_a_byte_opens(self):
        os.close(self.opens_by(lambda gate: os.write(gate, b"x")))

    def test_the_end_of_the_pipe_opens(self):
        self.opens_by(os.close)

    def test_signal_before_the_gate(self):
        process, _, gate = self.start_gated("--pages", 16)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        os.close(gate)
        self.assertEqual(process.returncode, 0, err)
        r = json.loads(out)
        self.assertIs(r["gate_opened"], False)
        self.assertEqual(r["end_signal"], signal.SIGTERM)
        self.assertEqual((r["readers"]["pages_touched"], r["writers"]["ops"]), (0, 0))

    def test_sigint_ends_a_run_with_its_figures(self):
        process, _ = self.start("--pages", 16, "--seconds", 3600, "--writer-interval", 3600000000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        r = json.loads(out)
        self.assertIs(r["gate_opened"], True)
        self.assertEqual(r["end_signal"], signal.SIGINT)

    def test_descriptor_that_is_not_open(self):
        done = self.run_stress("--json", "--wait-fd", 999, "--seconds", 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("999", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_nice_of_each_side(self):
        process, ready, gate = self.start_gated("--reader-nice", 3, "--writer-nice", 7, "--ops", 1)
        for role, nice in ("reader", 3), ("writer", 7):
            for tid in ready[role + "_tids"]:
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, tid), nice)
        os.close(gate)
        self.assertEqual(process.wait(60), 0)

    def test_real_time_of_one_side(self):
        if os.geteuid():
            self.skipTest("needs root for SCHED_FIFO")
        process, ready, gate = self.start_gated("--writer-rt", 11, "--ops", 1)
        for tid in ready["writer_tids"]:
            self.assertEqual(os.sched_getscheduler(tid), os.SCHED_FIFO)
            self.assertEqual(os.sched_getparam(tid).sched_priority, 11)
        for tid in ready["reader_tids"]:
            self.assertEqual(os.sched_getscheduler(tid), os.SCHED_OTHER)
        os.close(gate)
        self.assertEqual(process.wait(60), 0)


class Refusals(Case):
    def test_out_of_range(self):
        for args in (("--readers", 1025), ("--writers", "-1"), ("--pages", 0), ("--pages", (16 << 20) + 1),
                     ("--seconds", 0), ("--seconds", "x"), ("--writer-op", "exec"), ("--advice", "best"),
                     ("--reader-nice", 20), ("--writer-nice", -21), ("--reader-rt", 0), ("--writer-rt", 100),
                     ("--ops", 0), ("--wait-fd", -1), ("--readers", 1000, "--writers", 100),
                     ("--readers", 0, "--writers", 0), ("--writer-op", "split", "--pages", 31),
                     ("--no-such",), ("word",)):
            with self.subTest(args=args):
                done = self.run_stress(*args)
                self.assert_one_line(done, 2)
                self.assertEqual(done.stdout, "")

    def test_priority_that_is_refused(self):
        if os.geteuid():
            more = {}
        else:
            more = NOBODY
            os.chmod(self.dir, 0o777)
            if subprocess.run([suite.MMSCOPE, "--version"], capture_output=True, cwd="/",
                              **NOBODY).returncode:
                self.skipTest("needs a binary that an unprivileged user can run, not only root")
        for option, value in ("--reader-rt", 5), ("--writer-nice", -5):
            self.assert_one_line(self.run_stress(option, value, "--seconds", 1, **more), 1, option)

    def test_files(self):
        path = os.path.join(self.dir, "data")
        self.may_stay = ["data"]
        content = os.urandom(20 * PAGE + 5)
        with open(path, "wb") as file:
            file.write(content)
        self.assert_one_line(self.run_stress("--file", path, "--pages", 21), 1, path, "--pages")
        self.assert_one_line(self.run_stress("--file", self.dir), 1, self.dir)
        self.assert_one_line(self.run_stress("--file", path + "/x"), 1, path)
        self.assert_one_line(self.run_stress("--file", "/dev/null", "--pages", 1), 1, "/dev/null")
        r = self.result_of("--file", path, "--pages", 20, "--ops", 11, "--readers", 1)
        self.assertIs(r["sink_is_sum_of_page_numbers"], False)
        self.assertEqual(r["ino"], os.stat(path).st_ino)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)
        # One sweep is the sum of the first words; what came after it depends on time.
        words = [int.from_bytes(content[i * PAGE:i * PAGE + 8], sys.byteorder) for i in range(20)]
        whole, rest = divmod(r["readers"]["pages_touched"], 20)
        self.assertEqual(int(r["sink"], 16), (whole * sum(words) + sum(words[:rest])) % (1 << 64))

    def test_new_file_is_removed(self):
        path = os.path.join(self.dir, "new")
        self.assertEqual(self.result_of("--file", path, "--pages", 8, "--ops", 1)["pages"], 8)
        self.assertFalse(os.path.exists(path))

    def test_memory_file_system_is_said(self):
        if not os.path.isdir("/dev/shm") or not os.access("/dev/shm", os.W_OK):
            self.skipTest("no writable tmpfs at /dev/shm")
        path = "/dev/shm/mmscope-stress-test-%d" % os.getpid()
        done = self.run_stress("--json", "--file", path, "--pages", 8, "--ops", 1)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(path))
        with open("/proc/mounts") as mounts:
            is_tmpfs = any(line.split()[1:3] == ["/dev/shm", "tmpfs"] for line in mounts)
        self.assertEqual("tmpfs" in done.stderr, is_tmpfs)
        self.assertIs(json.loads(done.stdout)["file_in_memory"], is_tmpfs)


suite.main()
