#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names the thread that made others wait longest: blocker.py RESULT.json"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import checks  # noqa: E402


def sentence(result):
    """One line about the first root blocker, else about the first named blocker; None when there is none."""
    roots = [row for row in checks.rows(result, "blame_roots") if row["tid"] is not None]
    pairs = [row for row in checks.rows(result, "blame") if row["blocker_tid"] is not None]
    if roots:
        row = roots[0]
        who, tid, more = row["comm"], row["tid"], ", %d thread%s" % (row["waiters"], "s"[row["waiters"] == 1:])
        doing = "%s in %s" % (verb(row["because"]), row["origin"])
    elif pairs:
        row = pairs[0]
        who, tid, more, doing = row["blocker_comm"], row["blocker_tid"], "", verb(row["because"])
    else:
        return None
    return "%s (thread %d), which %s, made others wait %d.%03d ms%s" % (
        who, tid, doing, row["time_us"] // 1000, row["time_us"] % 1000, more)


def verb(because):
    """"holds to write" is a sentence already, the others want a verb."""
    if because.startswith("owner"):
        return "was the " + because
    return "is " + because if because.startswith("queued") else because


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        line = sentence(json.load(f))
    print(line or "nobody: no wait has a known blocker")
    return 0 if line else 1


if __name__ == "__main__":
    sys.exit(main())
