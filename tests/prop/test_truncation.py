#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures cut short anywhere: mmscope analyze ends with 0 and valid JSON, or 1 and one line.

test_truncation.py [MMSCOPE] [--places N] [--seed N]; the captures are in $MMSCOPE_SHARED/traces.
"""
import argparse
import concurrent.futures
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import captures  # noqa: E402
import checks    # noqa: E402

TIMEOUT_S = 20


def places(size, count, rng):
    """Random lengths, and a few near the two ends, where the cuts are odd."""
    found = {n for n in (0, 1, 2, size - 1, size - 2) if 0 <= n < size}
    while len(found) < min(count, size):
        found.add(rng.randrange(size))
    return sorted(found)


def one(mmscope, data):
    """'' or what is wrong."""
    code, out, err = checks.run([mmscope, 'analyze', '--json', '-'], stdin=data, timeout=TIMEOUT_S)
    if code == 0:
        return '' if checks.load(out) is not None else 'exit 0, but stdout is no JSON'
    return checks.clean_failure(code, err)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('mmscope', nargs='?')
    p.add_argument('--places', type=int, default=200)
    p.add_argument('--seed', type=int, default=1)
    o = p.parse_args()
    mmscope = checks.mmscope_path(o.mmscope)
    found = [f for f in captures.captures(checks.shared_dir()) if f.perhaps_text()]
    c = checks.Checks()
    c.check(len(found) > 40, 'the captures are there', '%d text files' % len(found))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for capture in found:
            data = capture.data()
            # one sequence per file: a new file does not move the cuts of the others
            at = places(len(data), o.places, random.Random('%d %s' % (o.seed, capture.name)))
            wrong = [(n, w) for n, w in zip(at, pool.map(lambda n: one(mmscope, data[:n]), at)) if w]
            c.check(not wrong, '%s cut at %d places' % (capture.name, len(at)), '; '.join(
                'at byte %d: %s' % w for w in wrong[:5]))
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
