#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tiny traces with results computed by hand: NAME.txt against NAME.expected.json.

test_cases.py MMSCOPE      judges the analyser
test_cases.py --naive      judges the oracle of the property test
Only the keys that the expected file lists are judged; null is null, numbers compare as numbers. What
stands under "oracle" has other names there than here: COUNTERPARTS says which is which.
"""
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'lib'), os.path.join(HERE, '..', 'prop')]
import checks  # noqa: E402
import naive   # noqa: E402

LOCKS = {'fault': ('fault', 'read'), 'vma_write': ('vma', 'write'),
         'mmap_lock_read': ('mmap_lock', 'read'), 'mmap_lock_write': ('mmap_lock', 'write')}
STILL = {'fault_wait': 'fault', 'writer_wait': 'vma write', 'mmap_wait': 'mmap_lock write'}
TRACE = {'lost_events': 'lost_events', 'lost_lines': 'lost_marks', 'coverage_ppm': 'coverage_ppm',
         'lost_is_minimum': 'lost_is_minimum', 'resolution_ns': 'resolution_ns',
         'events': 'events', 'overwritten': 'overwritten_events'}
EMPTY = {'count': 0, 'contended': 0, 'open': 0, 'loss_inside': 0, 'total_us': 0, 'over_1ms': 0,
         'over_10ms': 0, 'failed_tries': 0, 'failed_tries_total_us': 0, 'buckets': [0] * 8}


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def same(want, got):
    if is_number(want) and is_number(got):
        return want == got
    return type(want) is type(got) and want == got


def differences(want, got, path=''):
    """[(key, wanted, got)] over the keys that want has."""
    found = []
    for key, value in want.items():
        if key == 'oracle':
            continue
        if not isinstance(got, dict) or key not in got:
            found.append((path + key, value, 'no such key'))
        elif isinstance(value, dict):
            found += differences(value, got[key], path + key + '.')
        elif not same(value, got[key]):
            found.append((path + key, value, got[key]))
    return found


def find_row(rows, **wanted):
    for row in rows:
        if all(row.get(k) == v for k, v in wanted.items()):
            return row
    return EMPTY


def oracle_waits(o, got):
    for name, values in o.get('waits', {}).items():
        lock, mode = LOCKS[name]
        row = find_row(checks.rows(got, 'waits'), lock=lock, mode=mode)
        for key, value in values.items():
            yield 'waits.%s.%s' % (name, key), value, row.get(key)
    for mode, values in o.get('buckets_us', {}).items():
        row = find_row(checks.rows(got, 'waits'), lock='mmap_lock', mode=mode)
        yield 'buckets.' + mode, values, row.get('buckets')
    for mode, values in o.get('holds', {}).items():
        row = find_row(checks.rows(got, 'holds'), mode=mode, origin='all')
        for key, value in values.items():
            yield 'holds.%s.%s' % (mode, key), value, row.get(key)
    lock = o.get('lock', {})
    waits = checks.rows(got, 'waits')
    if 'failed_tries' in lock:
        yield 'failed_tries', lock['failed_tries'], sum(r.get('failed_tries') or 0 for r in waits)
    if 'failed_tries_ns' in lock:
        yield ('failed_tries_us', lock['failed_tries_ns'] // 1000,
               sum(r.get('failed_tries_total_us') or 0 for r in waits))


def oracle_threads(o, got):
    if 'waits_by_thread' not in got:
        return
    for t in o.get('threads', []):
        lock, mode = LOCKS[t['lock']]
        row = find_row(checks.rows(got, 'waits_by_thread'), tid=t['tid'], lock=lock, mode=mode)
        for key, value in t.items():
            if key != 'lock':
                yield 'threads.%d.%s.%s' % (t['tid'], mode, key), value, row.get(key)


def oracle_blame(o, got):
    blame = o.get('blame', {}).get('mmap_lock')
    if not blame:
        return
    rows = checks.rows(got, 'blame')
    for cell in blame['matrix']:
        mine = [r for r in rows if r['lock'] == 'mmap_lock' and r['waiter_tid'] == cell['waiter']
                and r['blocker_tid'] == cell['blocker']]
        yield ('blame.%s.%s' % (cell['waiter'], cell['blocker']), cell['ns'] // 1000,
               sum(r['time_us'] for r in mine))


def oracle_rest(o, got):
    if 'callers' in o:
        rows = checks.rows(got, 'callers') if got.get('callers') is not None else None
        if rows is not None:
            rows = sorted(({k: r[k] for k in ('caller', 'faults', 'pairs')} for r in rows),
                          key=lambda r: r['caller'])
        yield 'callers', o['callers'], rows
    if 'primary' in o.get('verdict', {}):
        yield 'verdict.primary', int(o['verdict']['primary']), got['verdict']['primary']
    for key, value in o.get('trace', {}).items():
        if TRACE[key] in got['trace']:
            yield 'trace.' + TRACE[key], value, got['trace'][TRACE[key]]
    if 'family' in o:
        yield 'trace.lock_family', o['family'], got['trace']['lock_family']
    if 'type_b_open_windows' in o.get('pairs', {}):
        yield ('type_b_open_count', o['pairs']['type_b_open_windows'],
               got['contention'].get('type_b_open_count'))
    if 'still_waiting' in o:
        want = sorted((w['tid'], STILL[w['kind']], w['since_ns']) for w in o['still_waiting'])
        rows = checks.rows(got, 'still_waiting')
        yield ('still_waiting', want, sorted((r['tid'], r['waits_for'], r['since_ns'])
                                             for r in rows))


COUNTERPARTS = (oracle_waits, oracle_threads, oracle_blame, oracle_rest)


def analyze(mmscope, path):
    """(result or None, message)"""
    if mmscope is None:
        with open(path, encoding='latin-1', newline='') as f:
            try:
                return json.loads(json.dumps(naive.analyze(f.read()))), ''
            except naive.BadTrace as e:
                return None, str(e)
    code, out, err = checks.run([mmscope, 'analyze', '--json', path])
    if code != 0:
        return None, checks.clean_failure(code, err) or err.decode('utf-8', 'replace')
    result = checks.load(out)
    return result, '' if result is not None else 'stdout is no JSON'


def judge(c, mmscope, path):
    name = os.path.basename(path)[:-4]
    with open(path[:-4] + '.expected.json', encoding='utf-8') as f:
        want = json.load(f)
    got, message = analyze(mmscope, path)
    if want.get('error'):
        c.check(got is None and want['stderr_names'] in message, name,
                'an error naming %r was expected, not: %s' % (want['stderr_names'],
                                                              message or 'success'))
        return
    if got is None:
        c.check(False, name, message)
        return
    found = differences(want, got)
    for section in COUNTERPARTS:
        try:
            found += [(k, w, g) for k, w, g in section(want.get('oracle', {}), got)
                      if not same(w, g)]
        except (KeyError, TypeError) as e:
            found.append((section.__name__, 'a counterpart', repr(e)))
    c.check(not found, name, '; '.join('%s is %s, should be %s' % (k, json.dumps(g), json.dumps(w))
                                       for k, w, g in found))


def main():
    argument = sys.argv[1] if len(sys.argv) > 1 else None
    mmscope = None if argument == '--naive' else checks.mmscope_path(argument)
    c = checks.Checks()
    paths = sorted(glob.glob(os.path.join(HERE, 'cases', '*.txt')))
    c.check(len(paths) >= 36, 'all cases are there', '%d of 36' % len(paths))
    for path in paths:
        judge(c, mmscope, path)
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
