#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits of known threads behind known blockers (tests/live/episodes), and what mmscope says of them.

The seed of the random episodes is printed when something is wrong: MMSCOPE_SEED plays them again.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import episodes  # noqa: E402
import suite  # noqa: E402

PROGRAM = os.path.join(suite.BUILD, "tests", "live", "episodes", "episodes")
SEED = os.environ.get("MMSCOPE_SEED") or str(time.time_ns() % 1000000)
EPISODES = 50
WITHOUT_MOUNT = "fork,munmap,mprotect,smaps,uffd"
BAD_PERCENT = 1
LIMIT = 300  # seconds until a step counts as hung; no test measures time


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if suite.why_not_bpf():
            raise unittest.SkipTest(suite.why_not_bpf())
        cls.folder = tempfile.mkdtemp(prefix="mmscope-truth-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    @classmethod
    def play(cls, *args):
        """One recording; skipped with its reason where nothing can be mounted."""
        try:
            return episodes.Run(suite.MMSCOPE, PROGRAM, tempfile.mkdtemp(dir=cls.folder), [*args, "--seed", SEED])
        except episodes.Skip as why:
            raise unittest.SkipTest(str(why))


class Random(Case):
    """Episodes of every kind and of random lengths."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.why = None
        try:
            cls.played = cls.play("--episodes", str(EPISODES))
        except unittest.SkipTest as why:  # then those that need no mount
            cls.why = str(why)
            cls.played = cls.play("--episodes", str(EPISODES), "--kinds", WITHOUT_MOUNT)
        cls.played.judge()

    def assert_score(self, score):
        self.assertTrue(score.within(BAD_PERCENT), "%s\nseed %s, %s" % (score, SEED, self.played.program))

    def of_kinds(self, *kinds):
        """(its truths, its result) of each episode of these kinds."""
        found = [(t, self.played.results[n]) for n, t in self.played.episodes().items() if t[0]["kind"] in kinds]
        if not found and self.why:
            self.skipTest(self.why)
        self.assertTrue(found)
        return found

    def test_the_stage_was_set(self):
        self.assertEqual(self.played.lost, 0)
        self.assertLessEqual(self.played.end["voids"], EPISODES // 10)
        self.assertGreater(self.played.found.total(), EPISODES // 3)

    def test_waits_are_found(self):
        self.assert_score(self.played.found)

    def test_durations(self):
        self.assert_score(self.played.durations)

    def test_blockers(self):
        self.assert_score(self.played.blockers)

    def test_roots_of_chains(self):
        """Up to three threads: mmap behind mprotect behind a fault."""
        self.assert_score(self.played.roots)

    def test_none_invented(self):
        self.assert_score(self.played.invented)

    def test_a_fault_that_keeps_the_lock_is_type_a(self):
        score = episodes.Score()
        for truths, result in self.of_kinds("frozen", "frozen_fifo"):
            score.add(*episodes.type_a_is_right(truths, result))
        self.assert_score(score)

    def test_type_c_is_of_the_real_time_writer(self):
        score = episodes.Score()
        for truths, result in self.of_kinds("frozen", "frozen_fifo"):
            wanted = 1 if truths[0]["kind"] == "frozen_fifo" else 0
            score.add(result["contention"]["type_c_count"] >= wanted
                      and result["contention"]["type_c_rt_count"] >= wanted
                      and (wanted or result["contention"]["type_c_count"] == 0),
                      "%s episode %d: %s" % (truths[0]["kind"], truths[0]["episode"], result["contention"]))
        self.assert_score(score)

    def test_a_fault_that_drops_the_lock_is_no_type_a(self):
        for truths, result in self.of_kinds("uffd", "cold"):
            # a fault that is preempted before it lets go does hold the lock
            pairs = [p for p in episodes.rows(result, "type_a_pairs") if not p["doing"].startswith("preempted")]
            self.assertEqual(pairs, [], (SEED, truths))


class FiftyMs(Case):
    """One of each, of a set length, seen as a user would see them."""

    LENGTH = ("--min-ms", "50", "--max-ms", "50", "--episodes", "1")

    def test_type_a_and_a_chain_of_three(self):
        run = self.play("--kinds", "frozen", *self.LENGTH)
        result = episodes.run_analyze(suite.MMSCOPE, run.session)
        good, why = episodes.type_a_is_right(run.truths, result)
        self.assertTrue(good, why)
        self.assertGreaterEqual(result["contention"]["type_a_duration_sum_us"], 47500)
        self.assertEqual(result["contention"]["type_c_count"], 0)
        fault, writer, third = run.truths
        chains = episodes.rows(result, "blame_chains", waiter_tid=third["waiter_tid"], root_tid=fault["waiter_tid"])
        self.assertEqual([c["hops"] for c in chains], [2], episodes.rows(result, "blame_chains"))
        self.assertIn(str(writer["waiter_tid"]), chains[0]["path"])
        self.assertGreaterEqual(chains[0]["time_us"] * 1000, third["wait_ns_min"] * 0.9 - writer["queued_ns"])

    def test_type_c(self):
        run = self.play("--kinds", "frozen_fifo", *self.LENGTH)
        result = episodes.run_analyze(suite.MMSCOPE, run.session)
        self.assertGreaterEqual(result["contention"]["type_c_count"], 1)
        self.assertGreaterEqual(result["contention"]["type_c_score_us"], 47500)
        self.assertEqual(result["contention"]["type_c_rt_count"], result["contention"]["type_c_count"])
        self.assertEqual(result["contention"]["type_c_unknown_count"], 0)

    def test_live(self):
        """`mmscope locks` says the same, in whichever refresh the episode ended."""
        done = subprocess.run([suite.MMSCOPE, "locks", "--json", "-i", "1", "--", PROGRAM, "--kinds", "frozen", *self.LENGTH],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("{", "skip: "))]
        for line in lines:
            if line.startswith("skip: "):
                self.skipTest(line[len("skip: "):])
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [json.loads(line) for line in lines]
        truths = [t for t in said if "waiter_tid" in t]
        refreshes = [r for r in said if "contention" in r]
        self.assertEqual(len(truths), 3, done.stdout)
        right = [episodes.type_a_is_right(truths, r) for r in refreshes]
        self.assertEqual([good for good, _ in right].count(True), 1, right)


if __name__ == "__main__":
    suite.main()
