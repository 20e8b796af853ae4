#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mmscope check: its rows against what other means say about this kernel; with root and without."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import suite  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
STATUSES = {"ok", "missing", "refused", "unknown", "trap"}
BPFTOOL = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def check(*args, **more):
    return subprocess.run([suite.MMSCOPE, "check", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, cwd="/", **more)


def read(path):
    with open(path) as file:
        return file.read().strip()


def in_tracefs(script):
    """Output of a shell script run in a tracefs of its own mount namespace; None where that fails."""
    whole = ("if [ ! -e /sys/kernel/tracing/events ]; then mount -t tracefs tracefs /sys/kernel/tracing "
             "|| exit 9; fi; cd /sys/kernel/tracing && " + script)
    done = subprocess.run(["unshare", "-m", "sh", "-c", whole], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


class Case(unittest.TestCase):
    def rows_of(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        rows = {row["key"]: row for row in report["checks"]}
        self.assertEqual(len(rows), len(report["checks"]), "a key twice")
        for row in rows.values():
            self.assertIn(row["status"], STATUSES)
            self.assertTrue(row["detail"], row)
            self.assertTrue(row["needed_for"], row)
        return report, rows

    def defined_keys(self):
        text = read(os.path.join(ROOT, "src", "live", "checks.def"))
        return set(re.findall(r'^CHECK\(\w+, "[^"]+", "([^"]+)"', text, re.M))


class AsRoot(Case):
    @classmethod
    def setUpClass(cls):
        if os.geteuid():
            raise unittest.SkipTest("needs root")
        cls.mounts_before = read("/proc/self/mounts")
        cls.instances_before = in_tracefs("ls instances")
        cls.done = check("--json")

    def setUp(self):
        self.report, self.rows = self.rows_of(self.done)

    def ok(self, key):
        return self.rows[key]["status"] == "ok"

    def test_every_row_of_the_table_is_there(self):
        events = {k for k in self.rows if k.startswith("event.")}
        self.assertEqual(set(self.rows) - events, self.defined_keys())
        self.assertGreater(len(events), 50)

    def test_plain_facts(self):
        self.assertEqual(self.report["kernel"], os.uname().release)
        self.assertTrue(self.rows["kernel.release"]["detail"].startswith(os.uname().release))
        self.assertEqual(self.rows["kernel.cpus"]["detail"], str(os.sysconf("SC_NPROCESSORS_ONLN")))
        self.assertEqual(self.ok("kernel.btf"), os.path.exists("/sys/kernel/btf/vmlinux"))
        for key, path in (("vm.max_map_count", "/proc/sys/vm/max_map_count"),
                          ("kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict"),
                          ("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid")):
            self.assertEqual(self.rows[key]["detail"].split(":")[0], read(path))
        self.assertEqual(self.ok("kernel.per_vma_lock_stats"),
                         bool(re.search(r"^vma_lock_success ", read("/proc/vmstat"), re.M)))

    def test_events_are_those_of_tracefs(self):
        listing = in_tracefs("ls -d events/*/*/")
        if listing is None:
            self.skipTest("tracefs cannot be mounted")
        exist = {"event.%s:%s" % tuple(line.rstrip("/").split("/")[1:]) for line in listing.split()}
        for key, row in self.rows.items():
            if key.startswith("event."):
                self.assertEqual(row["status"], "ok" if key in exist else "missing", key)

    def test_clocks(self):
        text = in_tracefs("cat trace_clock")
        if text is None:
            self.skipTest("tracefs cannot be mounted")
        for clock in "mono", "boot":
            self.assertEqual(self.ok("tracefs.clock_" + clock), clock in re.findall(r"[\w-]+", text))
        selected = re.search(r"\[(.*?)\]", text).group(1)
        self.assertEqual(self.rows["tracefs.clock_selected"]["detail"], selected)
        self.assertEqual(self.ok("trap.clock"), selected == "mono")

    def test_instance(self):
        made = in_tracefs("mkdir instances/mmscope-test-$$ && rmdir instances/mmscope-test-$$")
        self.assertEqual(self.ok("tracefs.instance"), made is not None)

    def test_lockdown(self):
        row, path = self.rows["kernel.lockdown"], "/sys/kernel/security/lockdown"
        script = "[ -e %s ] || mount -t securityfs none /sys/kernel/security && cat %s" % (path, path)
        other = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL)
        if other.returncode == 0:
            self.assertEqual(row["detail"], re.search(r"\[(\w+)\]", other.stdout).group(1))
        else:
            self.assertIn(row["status"], ("ok", "unknown"))

    def test_vma_lock_by_bpftool(self):
        if not BPFTOOL or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs bpftool and BTF")
        out = subprocess.run([BPFTOOL, "-j", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"],
                             capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
        vma = next(t for t in json.loads(out)["types"]
                   if t["kind"] == "STRUCT" and t["name"] == "vm_area_struct")
        members = {m["name"] for m in vma["members"]}
        wanted = "refcount" if "vm_refcnt" in members else "rwsem" if "vm_lock" in members else "no lock"
        self.assertIn(wanted, self.rows["kernel.per_vma_lock"]["detail"])

    def test_bpf_against_bpftool(self):
        if not BPFTOOL:
            self.skipTest("needs bpftool")
        probe = subprocess.run([BPFTOOL, "-j", "feature", "probe", "kernel"], capture_output=True,
                               stdin=subprocess.DEVNULL)
        if probe.returncode:
            self.skipTest("bpftool cannot probe")
        features = json.loads(probe.stdout)
        # bpftool only loads: a program that attaches must have been loadable, and a refused load not.
        for name in "tracepoint", "raw_tracepoint", "perf_event", "kprobe", "lsm":
            row = self.rows["bpf." + name]
            loads = features["program_types"]["have_%s_prog_type" % name]
            if row["status"] == "ok":
                self.assertTrue(loads, name)
            elif row["detail"].startswith("load"):
                self.assertFalse(loads, name)
        if self.ok("bpf.fentry"):
            self.assertTrue(features["program_types"]["have_tracing_prog_type"])
        for name in "ringbuf", "task_storage":
            self.assertEqual(self.ok("bpf.map_" + name), features["map_types"]["have_%s_map_type" % name])

    def test_perf_against_perf(self):
        perf = shutil.which("perf")
        if not perf:
            self.skipTest("needs perf")
        other = subprocess.run([perf, "stat", "-a", "-e", "page-faults", "true"], capture_output=True,
                               stdin=subprocess.DEVNULL)
        self.assertEqual(self.ok("perf.page_faults"), other.returncode == 0)

    def test_kprobes_have_an_event_source(self):
        if not os.path.exists("/sys/bus/event_source/devices/kprobe"):
            self.assertEqual(self.rows["bpf.kprobe"]["status"], "missing")
        else:
            self.assertNotIn("no kprobes", self.rows["bpf.kprobe"]["detail"])

    def test_summary(self):
        vendor = any(r["status"] == "ok" for r in self.rows.values() if r["group"] == "vendor events")
        if self.report["can_record"]:
            self.assertTrue(self.ok("tracefs.instance"))
            self.assertEqual(self.report["best_rung"] == "vendor tracepoints", vendor)
        self.assertEqual(self.report["can_watch"], self.ok("kernel.btf") and self.ok("bpf.map_ringbuf") and any(
            self.ok("bpf." + way) for way in ("tp_btf_mmap_lock", "raw_tracepoint", "tracepoint")))
        self.assertEqual("`mmscope locks` works" in self.report["summary"], self.report["can_watch"])
        traps = sum(r["status"] == "trap" for r in self.rows.values())
        self.assertRegex(self.report["summary"], r"; %d traps?$" % traps)
        text = check().stdout
        self.assertEqual(text.splitlines()[0], self.report["summary"])

    def test_text_has_every_row(self):
        text = check().stdout
        for key, row in self.rows.items():
            if not key.startswith("event."):
                self.assertRegex(text, r"(?m)^  %s +%s +\S" % (re.escape(row["what"]), row["status"]))

    def test_nothing_stays(self):
        self.assertEqual(read("/proc/self/mounts"), self.mounts_before)
        after = in_tracefs("ls instances")
        if after is not None:
            new = set(after.split()) - set(self.instances_before.split())
            # Others may record meanwhile; an instance of a process that is gone is what check left.
            self.assertEqual([i for i in new if i.startswith("mmscope-")
                              and not os.path.exists("/proc/" + i[len("mmscope-"):])], [])
        if BPFTOOL:
            out = subprocess.run([BPFTOOL, "prog", "list"], capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL).stdout
            self.assertNotIn("mmscope_probe", out)

    def test_stale_instance_is_found(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        name = "instances/mmscope-%d" % dead.pid
        if in_tracefs("mkdir " + name) is None:
            self.skipTest("tracefs cannot be mounted")
        try:
            row = self.rows_of(check("--json"))[1]["trap.stale_instances"]
        finally:
            in_tracefs("rmdir " + name)
        if row["status"] == "unknown":
            self.skipTest("tracefs is of another PID namespace")
        self.assertEqual(row["status"], "trap")


class AsNobody(Case):
    def setUp(self):
        if os.geteuid():
            self.more = {}
        else:
            self.more = NOBODY
            if subprocess.run([suite.MMSCOPE, "--version"], capture_output=True, cwd="/",
                              **NOBODY).returncode:
                self.skipTest("needs a binary that an unprivileged user can run, not only root")

    def test_it_says_what_needs_root(self):
        report, rows = self.rows_of(check("--json", **self.more))
        events = {k for k in rows if k.startswith("event.")}
        self.assertEqual(set(rows) - events, self.defined_keys())
        self.assertIs(report["can_record"], False)
        self.assertIs(report["can_watch"], False)
        self.assertIn("needs root", report["summary"])
        for key, row in rows.items():
            if row["status"] == "refused" and row["group"] in ("bpf", "perf"):
                self.assertIn("root", row["detail"], key)
        self.assertNotEqual(rows["bpf.tp_btf_sched_switch"]["status"], "ok")
        self.assertNotEqual(rows["tracefs.instance"]["status"], "ok")

    def test_text(self):
        done = check(**self.more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("needs root", done.stdout.splitlines()[0])


class Usage(unittest.TestCase):
    def test_arguments_are_refused(self):
        for args in ("word",), ("--no-such",), ("--", "true"):
            done = check(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


suite.main()
