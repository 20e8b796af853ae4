#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traces: every figure of mmscope analyze equals the naive oracle's.

test_property.py [MMSCOPE] [--seeds N] [--first SEED] [--generator PATH] [--set FEATURE=VALUE]...
  --self   the oracle against itself with one event left out: this must be noticed (tests this test)
A difference is shown with its seed, shrunk by leaving out lines, and the short trace is kept.
"""
import argparse
import concurrent.futures
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'lib'), HERE]
import checks   # noqa: E402
import compare  # noqa: E402
import naive    # noqa: E402

SHRINK_RUNS = 600


def length_of(seed):
    """Short traces mostly, so that a failure can be read."""
    return 20 + seed * 7919 % 281


def generate(o, seed):
    argv = [o.generator, '--random', str(length_of(seed)), '--seed', str(seed)]
    for setting in o.set:
        argv += ['--set', setting]
    code, out, err = checks.run(argv)
    if code != 0:
        raise RuntimeError('%s: exit %s, %s' % (' '.join(argv), code, err.decode()))
    return out.decode('latin-1')


def oracle(text):
    return json.loads(json.dumps(naive.analyze(text)))


def tool(o, text):
    """(result, '') or (None, what went wrong)."""
    if o.self:
        lines = text.split('\n')
        return oracle('\n'.join(lines[:-10] + lines[-9:])), ''
    with tempfile.NamedTemporaryFile(prefix='mmscope-prop-', suffix='.txt') as f:
        f.write(text.encode('latin-1'))
        f.flush()
        code, out, err = checks.run([o.mmscope, 'analyze', '--json', f.name], timeout=60)
    if code != 0:
        return None, 'exit %s: %s' % (code, err.decode('utf-8', 'replace')[:400])
    result = checks.load(out)
    return result, '' if result is not None else 'stdout is no JSON'


def differences(o, text):
    result, wrong = tool(o, text)
    if result is None:
        return [('mmscope', 'a result', wrong)]
    try:
        return compare.compare(oracle(text), result)
    except (KeyError, TypeError) as e:
        return [('mmscope', 'a result with all keys', repr(e))]


def kind_of(difference):
    """Which key differs, and roughly how: so that shrinking does not slip to another difference."""
    key, want, got = difference
    return key, want is None, got is None, want == [], got == [], want == 0, got == 0


def shrink(o, text, kind):
    """Leaves out lines for as long as a difference of that kind remains (ddmin)."""
    lines, runs, parts = text.split('\n'), 0, 2
    while len(lines) > 1 and runs < SHRINK_RUNS:
        size = max(1, len(lines) // parts)
        for at in range(0, len(lines), size):
            fewer = lines[:at] + lines[at + size:]
            runs += 1
            if any(kind_of(d) == kind for d in differences(o, '\n'.join(fewer))):
                lines, parts = fewer, max(2, parts - 1)
                break
            if runs >= SHRINK_RUNS:
                break
        else:
            if size == 1:
                break
            parts = min(len(lines), parts * 2)
    return '\n'.join(lines)


def one(o, seed):
    text = generate(o, seed)
    found = differences(o, text)
    if o.self:
        same = compare.compare(oracle(text), oracle(text))
        return seed, same or ([] if found else [('an event left out', 'noticed', 'not noticed')])
    return seed, found


def report(o, directory, seed, found):
    path = os.path.join(directory, 'seed-%d.txt' % seed)
    text = shrink(o, generate(o, seed), kind_of(found[0]))
    with open(path, 'w', encoding='latin-1', newline='') as f:
        f.write(text)
    print('# seed %d, %d differences; the shortest trace with the first one: %s' % (seed, len(found),
                                                                                  path))
    for key, want, got in found[:8]:
        print('#   %s: oracle %s, mmscope %s' % (key, json.dumps(want), json.dumps(got)))
    print('#   again: %s --random %d --seed %d%s > T; naive.py T; mmscope analyze --json T' % (
        o.generator, length_of(seed), seed, ''.join(' --set ' + s for s in o.set)))


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument('mmscope', nargs='?')
    p.add_argument('--seeds', type=int, default=300)
    p.add_argument('--first', type=int, default=1)
    p.add_argument('--generator', default=os.environ.get('MMSCOPE_GEN'))
    p.add_argument('--set', action='append', default=[])
    p.add_argument('--reports', type=int, default=5, help='how many differences to shrink and show')
    p.add_argument('--self', action='store_true')
    o = p.parse_args()
    if not o.self:
        o.mmscope = checks.mmscope_path(o.mmscope)
    if not o.generator or not os.access(o.generator, os.X_OK):
        print('skip: no trace_gen: give its path with --generator or in MMSCOPE_GEN')
        sys.exit(checks.SKIPPED)
    return o


def main():
    o = arguments()
    c = checks.Checks()
    directory = tempfile.mkdtemp(prefix='mmscope-property-')
    bad = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(one, o, o.first + i) for i in range(o.seeds)]
        for job in jobs:
            seed, found = job.result()
            if found:
                bad.append((seed, found))
            c.check(not found, 'seed %d' % seed, found and
                    '%s: oracle %s, mmscope %s' % (found[0][0], json.dumps(found[0][1]),
                                                   json.dumps(found[0][2])))
    for seed, found in bad[:o.reports]:
        report(o, directory, seed, found)
    if not bad:
        os.rmdir(directory)
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
