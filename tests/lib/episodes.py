# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `episodes` (tests/live/episodes) under `mmscope record --bpf` and compares what mmscope says with what
happened: the records with the waits one by one, and the blame of each episode, for which the records of that
episode alone are given to `mmscope analyze`.

    run = episodes.Run(mmscope, program, folder, ["--episodes", "50"])
    run.judge()
    run.found, run.durations, run.blockers, run.invented, run.roots ...
"""
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess

import bpf_read

JUDGED_NS = 100000   # the bars hold for waits over 100 us
SHARE = 0.05         # how far a duration, or a blame, may be off,
SLACK_NS = 10000     # or by this much
WAKE_UP_NS = 150000  # from the blocker's unlock until the waiter is in the queue of a CPU, or runs
LIMIT_S = 900
LOCKS = {"mmap_lock read": ("mmap_lock", "read"), "mmap_lock write": ("mmap_lock", "write"),
         "vma write": ("vma", "write")}


class Skip(Exception):
    """It cannot be done here."""


class Score:
    """So many of so many, and what was wrong with the rest."""

    def __init__(self):
        self.good, self.bad = 0, []

    def add(self, good, why):
        if good:
            self.good += 1
        else:
            self.bad.append(why)

    def total(self):
        return self.good + len(self.bad)

    def percent(self):
        return 100 * self.good / self.total() if self.total() else 0

    def within(self, bad_percent):
        """One may always be wrong: of 40 waits, none would be a bar of 100 %."""
        return self.total() > 0 and len(self.bad) <= max(1, self.total() * bad_percent / 100)

    def __str__(self):
        return "%d of %d%s" % (self.good, self.total(), "".join("\n  " + w for w in self.bad[:20]))


def tolerance_ns(duration_ns):
    return max(SHARE * duration_ns, SLACK_NS)


def run_analyze(mmscope, path):
    done = subprocess.run([mmscope, "analyze", "--json", path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode:
        raise RuntimeError("mmscope analyze %s: %s" % (path, done.stderr))
    return json.loads(done.stdout)


def rows(result, table, **wanted):
    found = result.get(table) or []
    found = found.get("rows", []) if isinstance(found, dict) else found
    return [r for r in found if all(r[k] == v for k, v in wanted.items())]


def type_a_is_right(truths, result):
    """(whether, why not): the overlap of a frozen episode's fault and the VMA writer behind it."""
    fault = [t for t in truths if t["waits_for"] is None][0]
    writer = [t for t in truths if t["waits_for"] == "vma write"][0]
    most_ns = min(fault["end_ns"], writer["end_ns"]) - writer["begin_ns"]
    # the fault has slept, was woken and goes on, which the pair has no part in
    least_ns = writer["wait_ns_min"] - fault["queued_ns"] - WAKE_UP_NS
    n, sum_us = (result["contention"]["type_a_" + name] for name in ("count", "duration_sum_us"))
    sum_ns = (sum_us or 0) * 1000
    good = n and n >= 1 and least_ns - tolerance_ns(sum_ns) <= sum_ns <= most_ns + tolerance_ns(sum_ns)
    return bool(good), ("episode %d: %s pairs, %s us, must be %d to %d"
                        % (writer["episode"], n, sum_us, least_ns // 1000, most_ns // 1000))


def lock_of(r):
    if r["kind"] == bpf_read.SLEEP:
        return "vma write"
    return "mmap_lock write" if r["flags"] & bpf_read.FLAG_WRITE else "mmap_lock read"


class Run:
    def __init__(self, mmscope, program, folder, args, record_args=()):
        """Records one run of the program. Skip with its own reason where it cannot run."""
        self.mmscope, self.folder = mmscope, folder
        self.session = os.path.join(folder, "session")
        command = [mmscope, "record", "--bpf", *record_args, "-o", self.session, "--", program, *args]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        lines = done.stdout.splitlines()
        if lines and lines[-1].startswith("skip: "):
            raise Skip(lines[-1][len("skip: "):])
        self.stderr = done.stderr
        if done.returncode or not lines or not lines[-1].startswith('{"end"'):
            raise RuntimeError("%s: exit %d, last line %r, %s" % (" ".join(command), done.returncode, lines[-1:],
                                                                 done.stderr))
        said = [json.loads(line) for line in lines]
        self.program, self.end = said[0], said[-1]
        self.truths = [t for t in said[1:-1] if "void" not in t]
        self.header, self.records = bpf_read.read(os.path.join(self.session, "bpf.mmscope"))
        self.lost = sum(r["n"] for r in self.records if r["kind"] == bpf_read.LOST)
        tids = set(self.program["tids"])
        self.waits = [r for r in self.records if r.get("tid") in tids and self.is_wait(r)]

    @staticmethod
    def is_wait(r):
        if r["kind"] == bpf_read.SLEEP:
            return r["sleep_class"] == bpf_read.SLEEP_VMA_WRITER and not r["flags"] & bpf_read.FLAG_OPEN
        return r["kind"] == bpf_read.WAIT and not r["flags"] & bpf_read.FLAG_OPEN

    def judge(self):
        self.found, self.durations, self.blockers, self.roots = Score(), Score(), Score(), Score()
        self.invented, self.offs_ns = Score(), []
        by_tid = collections.defaultdict(list)
        for r in self.waits:
            by_tid[r["tid"]].append(r)
        explained = set()
        for t in self.truths:
            if t["waits_for"]:
                mine = [r for r in by_tid[t["waiter_tid"]] if lock_of(r) == t["waits_for"]
                        and r["begin_ns"] >= t["begin_ns"] and r["time_ns"] <= t["end_ns"]]
                explained.update(id(r) for r in mine)
                self.judge_wait(t, mine)
        for r in self.waits:
            took_ns = r["time_ns"] - r["begin_ns"]
            # never slept, and the lock had no owner: the CPU itself was taken away between two events
            delayed = r["kind"] == bpf_read.WAIT and r["flags"] & bpf_read.FLAG_SPUN and not r["owner_tid"]
            if (took_ns > JUDGED_NS and not delayed) or id(r) in explained:
                self.invented.add(id(r) in explained, "%s of thread %d (%s), %d us from %d on"
                                  % (lock_of(r), r["tid"], r["comm"], took_ns // 1000, r["begin_ns"]))
        self.judge_blame()

    def judge_wait(self, t, mine):
        """Several short records (it was woken in between) are one wait."""
        took_ns = sum(r["time_ns"] - r["begin_ns"] for r in mine)
        what = "%(kind)s episode %(episode)d, %(call)s of thread %(waiter_tid)d" % t
        if t["wait_ns_min"] > JUDGED_NS:
            self.found.add(took_ns > 0, what)
        if t["wait_ns_min"] > JUDGED_NS and mine:
            off_ns = max(t["wait_ns_min"] - took_ns, took_ns - t["wait_ns_max"], 0)
            self.offs_ns.append(off_ns)
            self.durations.add(off_ns <= tolerance_ns(took_ns), "%s: %d us, must be %d to %d"
                               % (what, took_ns // 1000, t["wait_ns_min"] // 1000, t["wait_ns_max"] // 1000))

    def episodes(self):
        groups = collections.defaultdict(list)
        for t in self.truths:
            groups[t["episode"]].append(t)
        return groups

    def judge_blame(self):
        self.results = {}
        groups = self.episodes()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for episode, result in zip(groups, pool.map(self.analyze_one, groups.values())):
                self.results[episode] = result
        for episode, truths in groups.items():
            for t in truths:
                if t["waits_for"] and t["wait_ns_min"] > JUDGED_NS:
                    others_ns = sum(o["queued_ns"] + WAKE_UP_NS for o in truths if o["waiter_tid"] == t["blocker_tid"])
                    self.judge_blocker(self.results[episode], t, others_ns)

    def analyze_one(self, truths):
        """What `analyze` makes of the records of one episode."""
        begin_ns = min(t["begin_ns"] for t in truths)
        end_ns = max(t["end_ns"] for t in truths) + 500000  # holds and faults that end after the last stamp
        folder = os.path.join(self.folder, "episode-%d" % truths[0]["episode"])
        os.mkdir(folder)
        part = [r for r in self.records if r["kind"] in bpf_read.DICTIONARY
                or (r["kind"] != bpf_read.TOTALS and begin_ns <= r["time_ns"] <= end_ns)]
        bpf_read.write(os.path.join(folder, "bpf.mmscope"), self.header, part)
        shutil.copy(os.path.join(self.session, "mmscope.json"), folder)
        result = run_analyze(self.mmscope, folder)
        shutil.rmtree(folder)
        return result

    def judge_blocker(self, result, t, blocker_ns):
        """The blocker has all of the wait but what `wake-up` may have: the time in which the waiter was woken and
        had no CPU, and how long a wake-up takes. Nobody else, nor `unknown`, has more than the tolerance.
        The root has it too, but for @blocker_ns, in which the blocker itself was woken and had no CPU."""
        lock, mode = LOCKS[t["waits_for"]]
        what = "%(kind)s episode %(episode)d, %(call)s of thread %(waiter_tid)d behind %(blocker_tid)d" % t
        mine = rows(result, "blame", waiter_tid=t["waiter_tid"], lock=lock, mode=mode)
        all_ns = 1000 * sum(r["time_us"] for r in mine)
        right_ns = 1000 * sum(r["time_us"] for r in mine if r["blocker_tid"] == t["blocker_tid"])
        wrong_ns = 1000 * sum(r["time_us"] for r in mine if r["blocker_tid"] != t["blocker_tid"]
                              and r["because"] != "wake-up")
        late_ns = max(all_ns - t["wait_ns_min"], 0)  # in which others may be in the way
        least_ns = min(all_ns, t["wait_ns_min"]) - t["queued_ns"] - WAKE_UP_NS - tolerance_ns(all_ns)
        most_wrong_ns = tolerance_ns(all_ns) + late_ns
        self.blockers.add(right_ns > max(least_ns, 0) and wrong_ns <= most_wrong_ns,
                          "%s: %s" % (what, [(r["blocker_tid"], r["because"], r["time_us"]) for r in mine]))
        if t["root_tid"] == t["blocker_tid"]:
            blocker_ns = 0
        chains = rows(result, "blame_chains", waiter_tid=t["waiter_tid"], lock=lock, mode=mode)
        root_ns = 1000 * sum(c["time_us"] for c in chains if c["root_tid"] == t["root_tid"])
        wrong_ns = 1000 * sum(c["time_us"] for c in chains if c["root_tid"] not in (t["root_tid"], None))
        self.roots.add(root_ns > max(least_ns - blocker_ns, 0) and wrong_ns <= most_wrong_ns + blocker_ns,
                       "%s, root %s: %s" % (what, t["root_tid"],
                                            [(c["root_tid"], c["hops"], c["end"], c["time_us"]) for c in chains]))
