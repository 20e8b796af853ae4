#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the recording of a load against the load's own counts: agree.py STRESS.json WRITERS.json

Each mprotect of a writer takes mmap_lock for writing once, so the waits of the writers' threads with the
origin mprotect are as many as the calls that they counted, less what the recording says that it lost.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import checks  # noqa: E402

TOLERANCE = 0.01


def recorded_waits(result, origin):
    """Waits, their total time, and those that loss or the edges of the trace kept out of the figures."""
    mine = [row for row in checks.rows(result, "waits_by_origin")
            if (row["lock"], row["mode"], row["origin"]) == ("mmap_lock", "write", origin)]
    left_out = sum(row["open"] + row["loss_inside"] for row in checks.rows(result, "waits")
                   if (row["lock"], row["mode"]) == ("mmap_lock", "write"))
    return sum(row["count"] for row in mine), sum(row["total_us"] or 0 for row in mine), left_out


def judge(stress, result):
    """(agrees, one line)"""
    counted = stress["writers"]["calls"]["mprotect"]
    spent_us = stress["writers"]["call_latency"]["mprotect"]["total_ns"] // 1000
    waits, waited_us, left_out = recorded_waits(result, "mprotect")
    good = counted > 0 and counted * (1 - TOLERANCE) <= waits + left_out <= counted * (1 + TOLERANCE) \
        and waited_us <= spent_us
    return good, ("%s: the writers made %d mprotect calls in %d us; recorded: %d mmap_lock write waits from "
                  "mprotect in %d us%s" % ("agree" if good else "DISAGREE", counted, spent_us, waits, waited_us,
                                           ", %d left out as open or lossy" % left_out if left_out else ""))


def main():
    with open(sys.argv[1], encoding="utf-8") as one, open(sys.argv[2], encoding="utf-8") as other:
        good, line = judge(json.load(one), json.load(other))
    print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
