# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the naive oracle found with what mmscope printed: [(key, oracle's, mmscope's)]."""
import os
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


def blame(want, got):
    """Threads that had the same tid one after the other are rows of their own in mmscope."""
    table, found = {}, []
    for row in got:
        key = (row['waiter_tid'], row['mode'], row['blocker_tid'], row['because'])
        table.setdefault(key, []).append(row['time_us'])
    for row in want:
        key = (row['waiter_tid'], row['mode'], row['blocker_tid'], row['because'])
        there = table.pop(key, None)
        if there is None or not sum(there) <= row['time_us'] <= sum(there) + len(there) - 1:
            found.append(('blame%s' % (key,), row['time_us'], there))
    # a share of 0 ns (1 ns among two) may have a row
    found += [('blame%s' % (key,), None, there) for key, there in table.items() if sum(there)]
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
        found += blame(want['blame'], checks.rows(got, 'blame'))
    return found
