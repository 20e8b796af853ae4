# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the naive oracle found with what mmscope printed: [(key, oracle's, mmscope's)]."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import checks  # noqa: E402

SUMMARY = ('workload', 'kernel', 'filemap_fault', 'vma_writer', 'mmap_lock', 'contention')
TRACE = ('lost_events', 'lost_marks', 'lost_is_minimum', 'coverage_ppm', 'resolution_ns',
         'lock_family', 'events', 'late_events')
MISSING = 'no such key'


def tree(want, got, path=''):
    if isinstance(want, dict):
        found = []
        for key, value in want.items():
            there = got.get(key, MISSING) if isinstance(got, dict) else MISSING
            found += tree(value, there, path + '.' + key if path else key)
        return found
    if type(want) is bool or type(got) is bool:
        return [] if want is got else [(path, want, got)]
    return [] if want == got and not (isinstance(got, str) and got is MISSING) \
        else [(path, want, got)]


def row_by(rows, **key):
    for row in rows:
        if all(row.get(k) == v for k, v in key.items()):
            return row
    return None


def distributions(name, want, got, keys):
    """A row that is missing stands for a kind that did not occur."""
    found = []
    for row in want:
        key = {k: row[k] for k in keys}
        there = row_by(got, **key)
        label = '%s[%s]' % (name, ' '.join(str(v) for v in key.values()))
        if there is None:
            if any(row.get(k) for k in ('count', 'open', 'loss_inside', 'failed_tries')):
                found.append((label, row, None))
            continue
        found += tree(row, there, label)
    return found


def lock_waits_of_any_mode(want, got):
    """For waits that do not tell read from write: only their number."""
    def number(rows):
        return sum(r['count'] for r in rows if r['lock'] == 'mmap_lock')
    return tree(number(want), number(got), 'waits[mmap_lock].count')


def grouped(name, want, got, key_of, columns):
    """Threads that had the same tid one after the other are rows of their own in mmscope, and so is
    what the oracle does not tell apart: each of those rows may have lost a fraction of a us. A share of
    less than that may have no row, and rows of nothing count for nothing."""
    table, found = {}, []
    for row in got:
        sums = table.setdefault(key_of(row), [0, dict.fromkeys(columns, 0)])
        sums[0] += 1
        for c in columns:
            sums[1][c] += row[c] or 0
    for row in want:
        n, sums = table.pop(key_of(row), (0, dict.fromkeys(columns, 0)))
        for c in columns:
            if not sums[c] <= row[c] <= sums[c] + max(n - 1, 0):
                found.append(('%s%s.%s' % (name, key_of(row), c), row[c], sums[c] if n else None))
    found += [('%s%s' % (name, key), None, sums) for key, (_, sums) in table.items()
              if any(sums.values())]
    return found


def blame(want, got):
    return grouped('blame', want, got, lambda r: (r['waiter_tid'], r['lock'], r['mode'],
                                                  r['blocker_tid'], r['because']), ('time_us',))


# a hop of blame_chains' path: "mprotect tid 12 holds mmap_lock", "... holds the VMA lock (io)"
HOP = re.compile(r'(?:\S+ )?tid (\d+) (holds mmap_lock to read|holds mmap_lock|is queued for mmap_lock|'
                 r'holds the VMA lock)(?: \(.*\))?')
PHRASES = {'holds mmap_lock to read': 'holds to read', 'holds mmap_lock': 'holds to write',
           'is queued for mmap_lock': 'queued to write',
           'holds the VMA lock': 'fault holds the VMA lock'}


def hops(path):
    """((because, tid), ...) of a row of either"""
    if isinstance(path, list):
        return tuple((why, tid) for why, tid in path)
    found = [HOP.fullmatch(hop) for hop in path.split(' < ')] if path else []
    return tuple((PHRASES[m[2]], int(m[1])) if m else ('?', path) for m in found)


def chain_key(row):
    return row['waiter_tid'], row['lock'], row['mode'], row['end'], hops(row['path'])


def chains(want, got, blamed):
    found = grouped('blame_chains', want, got, chain_key, ('time_us',))
    for row in got:
        path = hops(row['path'])
        root = path[-1][1] if path and row['end'] != 'cycle' else None
        if row['hops'] != len(path) or row['root_tid'] != root:
            found.append(('blame_chains.root', [len(path), root], row))
    # both tables are the same time; each row has lost less than 1 us
    for key in {(r['waiter_tid'], r['lock'], r['mode']) for r in blamed}:
        mine = [[r['time_us'] for r in rows if (r['waiter_tid'], r['lock'], r['mode']) == key]
                for rows in (blamed, got)]
        if abs(sum(mine[0]) - sum(mine[1])) >= max(len(mine[0]), len(mine[1]), 1):
            found.append(('blame_chains.sum%s' % (key,), sum(mine[0]), sum(mine[1])))
    return found


def roots(want, got):
    def key(row):
        return row['tid'], row['because']
    found = grouped('blame_roots', want, got, key, ('direct_us', 'time_us'))
    # null where nothing is known: a priority is missing all the time
    known = [dict(r, inverted_us=r['inverted_us'] or 0) for r in got]
    found += grouped('blame_roots', want, known, key, ('inverted_us', 'unknown_us'))
    for row in want:
        n = [r['waiters'] for r in got if key(r) == key(row)]
        if n and not max(n) <= row['waiters'] <= sum(n):
            found.append(('blame_roots%s.waiters' % (key(row),), row['waiters'], n))
    return found


def still_waiting(want, got):
    def plain(rows):
        return sorted((r['tid'], r['waits_for'], r['since_ns']) for r in rows)
    return tree(plain(want), plain(got), 'still_waiting')


def callers(want, got):
    def plain(rows):
        if rows is None:
            return None
        return sorted((r['caller'] or '', r['faults'], r['pairs']) for r in rows)
    return tree(plain(want), plain(got), 'callers')


def compare(want, got):
    found = []
    for key in SUMMARY:
        found += tree(want[key], got.get(key, MISSING), key)
    trace = dict(got.get('trace', {}))
    # a record cut short inside its fields is an event to the oracle, which does not look at them all
    trace['events'] = trace.get('events', 0) + trace.get('line_classes', {}).get('bad_field', 0)
    found += tree({k: want['trace'][k] for k in TRACE}, trace, 'trace')
    if 'waits' not in want:  # a clock without seconds
        return found
    found += tree(want['verdict']['primary'], got['verdict']['primary'], 'verdict.primary')
    found += callers(want['callers'], got.get('callers'))
    found += still_waiting(want['still_waiting'], checks.rows(got, 'still_waiting'))
    waits = want['waits']
    if not want['lock_modes_known']:
        found += lock_waits_of_any_mode(waits, checks.rows(got, 'waits'))
        waits = [r for r in waits if r['lock'] != 'mmap_lock']
    found += distributions('waits', waits, checks.rows(got, 'waits'), ('lock', 'mode'))
    found += distributions('holds', want['holds'], checks.rows(got, 'holds'), ('mode', 'origin'))
    if want['lock_modes_known']:
        blamed = checks.rows(got, 'blame')
        found += blame(want['blame'], blamed)
        found += chains(want['blame_chains'], checks.rows(got, 'blame_chains'), blamed)
        found += roots(want['blame_roots'], checks.rows(got, 'blame_roots'))
    return found
