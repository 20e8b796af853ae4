#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The naive oracle: the definitions of the contention analysis, as literally as they can be written.

It keeps every event and every interval in lists and compares all with all (O(n^2)), so that it shares
no idea with the streaming analyser that it judges. Usage: naive.py TRACE  prints JSON.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from naive_blame import contended, find_blame, find_chains, judge, overlap  # noqa: E402
from naive_pair import (FAULT_EVENTS, STOCK_LOCK, VENDOR_LOCK, VMA_EVENTS,  # noqa: E402
                        Pairing)
from naive_read import BadTrace, assign_lives, find_gaps, in_order, parse  # noqa: E402

CALLERS_NS = 1_000_000         # --window-ms
INVERSION_NS = 1_000_000       # --inversion-us


def union(spans):
    total, reach = 0, None
    for begin, end in sorted(spans):
        if reach is None or begin > reach:
            reach = begin
        if end > reach:
            total += end - reach
            reach = end
    return total


def same_vma(f, w):
    if w.mm is None and w.blocker is not None:
        return w.blocker == f.tid
    if f.mm is None or w.mm is None or f.mm != w.mm:
        return False
    if f.vma is not None and w.vma is not None:
        return f.vma == w.vma
    address = f.owner.address
    return w.span is not None and address is not None and w.span[0] <= address < w.span[1]


def type_a(intervals, switches):
    r = dict.fromkeys(('pairs', 'union', 'writers', 'coincident', 'undecided', 'c', 'c_score',
                       'c_unknown', 'c_late'), 0)
    fault_waits = [i for i in intervals if i.kind == 'fault' and i.counts()]
    for w in intervals:
        if w.kind != 'vma' or not w.counts():
            continue
        spans, inverted = [], []
        for f in fault_waits:
            if f.tid == w.tid or overlap((f.begin, f.end), (w.begin, w.end)) is None \
                    or not same_vma(f, w):
                continue
            fate = f.owner.fate()
            if fate != 'held':
                r['coincident' if fate == 'retried' else 'undecided'] += 1
                continue
            r['pairs'] += 1
            span = (max(f.begin, w.begin), min(f.end, w.end))
            spans.append(span)
            what, late = judge(switches, w, f, span[0])
            r['c_late'] += late
            if what == 'unknown':
                r['c_unknown'] += 1
            elif what == 'inverted':
                r['c'] += 1
                inverted.append(span)
        r['writers'] += bool(spans)
        r['union'] += union(spans)
        r['c_score'] += union(inverted)
    return r


def window_end(fault, events, got_lock):
    """The first of: the thread has that mm's lock to read, its next fault begin, its exit."""
    mm = fault.retry_mm
    ends = []
    for order, t, tid, lock_mm in got_lock:
        if order > fault.retry_order and tid == fault.tid and mm is not None and lock_mm == mm:
            ends.append((order, t))
    for ev in events:
        if ev.order > fault.retry_order and ev.tid == fault.tid \
                and ev.name in ('filemap_fault_begin', 'sched_process_exit'):
            ends.append((ev.order, ev.t))
            break
    return min(ends) if ends else None


def type_b(faults, intervals, events, got_lock, switches, gaps):
    r = dict.fromkeys(('windows', 'overlap', 'retry_wait', 'io_wait', 'open', 'c', 'c_score'), 0)
    for f in faults:
        if f.retry is None:
            continue
        end = window_end(f, events, got_lock)
        if end is None:
            r['open'] += 1
            continue
        window = (f.retry, end[1])
        if any(overlap(window, (g[1], g[2])) is not None for g in gaps):
            continue
        mm = f.retry_mm
        own = None
        for i in intervals:
            if i.kind == 'wait' and i.tid == f.tid and i.mode == 'read' and mm is not None \
                    and i.mm == mm and i.begin is not None \
                    and f.retry_order < i.order < end[0] and (own is None or i.order < own.order):
                own = i
        spans, inverted = [], []
        for i in intervals:
            if i.kind not in ('wait', 'hold') or i.mode != 'write' or not i.counts() \
                    or i.tid == f.tid or mm is None or i.mm != mm \
                    or overlap(window, (i.begin, i.end)) is None:
                continue
            if i.kind == 'wait' and (own is None or not i.order < own.order):
                continue
            span = (max(window[0], i.begin), min(window[1], i.end))
            spans.append(span)
            if judge(switches, f, i, span[0])[0] == 'inverted':
                inverted.append(span)
        if not spans:
            continue
        r['windows'] += 1
        r['overlap'] += union(spans)
        # what of its waits is over when the window is
        if own is not None and own.counts() and own.gone <= end[0]:
            r['retry_wait'] += own.end - own.begin
        r['io_wait'] += sum(i.end - i.begin for i in intervals if i.kind == 'fault'
                            and i.owner is f and i.counts() and i.gone < end[0])
        r['c'] += bool(inverted)
        r['c_score'] += union(inverted)
    return r


def find_callers(faults, writes):
    table = {}
    for w in writes:
        if w.begin is None or w.span is None or w.mm is None:
            continue
        for n, f in enumerate(faults):
            if f.begin is None or f.address is None or f.mm != w.mm or f.tid == w.tid:
                continue
            if w.span[0] <= f.address < w.span[1] and abs(f.begin - w.begin) <= CALLERS_NS:
                row = table.setdefault(w.caller or '', [set(), 0])
                row[0].add(n)
                row[1] += 1
    return [{'caller': c, 'faults': len(s), 'pairs': p} for c, (s, p) in sorted(table.items())]


def rank(values, permille):
    """Nearest rank: ceil(permille/1000 * n), at least the first."""
    n = len(values)
    return values[max(1, -(-permille * n // 1000)) - 1]


def spread(intervals, seconds):
    v = sorted(i.end - i.begin for i in intervals if i.counts())
    if not v or not seconds:
        return {'min': None, 'median': None, 'max': None}
    return {'min': v[0] // 1000, 'median': rank(v, 500) // 1000, 'max': v[-1] // 1000}


def bucket(ns):
    n, edge = 0, 1000
    while n < 7 and ns >= edge:
        n += 1
        edge *= 10
    return n


def distribution(intervals, resolution):
    v = sorted(i.end - i.begin for i in intervals if i.counts())
    row = {'count': len(v),
           'contended': sum(contended(i, resolution) for i in intervals if i.counts()),
           'total_us': sum(v) // 1000,
           'mean_us': sum(v) // len(v) // 1000 if v else None,
           'p50_us': rank(v, 500) // 1000 if v else None,
           'p90_us': rank(v, 900) // 1000 if v else None,
           'p99_us': rank(v, 990) // 1000 if v else None,
           'p99_9_us': rank(v, 999) // 1000 if len(v) >= 1000 else None,
           'max_us': v[-1] // 1000 if v else None,
           'over_1ms': sum(x > 1_000_000 for x in v),
           'over_10ms': sum(x > 10_000_000 for x in v),
           'buckets': [sum(bucket(x) == b for x in v) for b in range(8)],
           'open': sum(not i.closed() for i in intervals),
           'loss_inside': sum(i.closed() and i.loss for i in intervals)}
    return row


def primary(a, b):
    """Number of the first rule that holds. a, b: None where the family is not covered."""
    a = a or dict.fromkeys(('pairs', 'c', 'c_score', 'c_unknown'), 0)
    b = b or dict.fromkeys(('windows', 'c', 'c_score', 'retry_wait', 'io_wait'), 0)
    if a['c_score'] > INVERSION_NS or b['c_score'] > INVERSION_NS:
        return 1
    if a['c'] > 0 or b['c'] > 0:
        return 2
    if b['windows'] > 0 and b['io_wait'] > 0 and b['retry_wait'] >= 3 * b['io_wait']:
        return 3
    if a['pairs'] > 0:
        return 4
    if b['windows'] > 0:
        return 5
    return 6


def open_waits(intervals):
    names = {'fault': 'fault', 'vma': 'vma write'}
    return sorted(({'tid': i.tid,
                    'waits_for': names.get(i.kind, 'mmap_lock %s' % i.mode), 'since_ns': i.begin}
                   for i in intervals if i.at_end and i.kind != 'hold'),
                  key=lambda r: (r['since_ns'], r['tid'], r['waits_for']))


def trace_info(raw, marks, gaps, info, late, family):
    seen = {e.cpu for e in raw} | {m[1] for m in marks}
    cpus = info['cpus'] or len(seen)
    first, last = (min(e.t for e in raw), max(e.t for e in raw)) if raw else (0, 0)
    span = cpus * (last - first)
    lost_ns = sum(g[2] - g[1] for g in gaps if g[2] > g[1])
    return {'lost_events': sum(m[2] or 0 for m in marks), 'lost_marks': len(marks),
            'lost_is_minimum': any(m[2] is None for m in marks),
            'coverage_ppm': max(0, span - lost_ns) * 10**6 // span if span and lost_ns
                            else 10**6 if raw else None,
            'resolution_ns': 10**(9 - min(9, info['digits'])) if info['seconds'] else None,
            'lock_family': family, 'events': len(raw), 'late_events': late}


def analyze(text):
    raw, marks, info = parse(text)
    gaps = find_gaps(raw, marks)
    events, late = in_order(raw, info['seconds'])
    names = {e.name for e in events}
    switches = assign_lives(events)
    vendor = bool(names.intersection(VENDOR_LOCK))
    stock = bool(names.intersection(STOCK_LOCK))
    vendor_waits = bool(names.intersection(VENDOR_LOCK[:2]))
    lock_blocked = 'mmap_lock_write_blocked' in names and not vendor_waits and not stock
    family = 'vendor' if vendor else 'stock' if stock else 'blocked' if lock_blocked else 'none'
    vma_pairs = 'vma_start_write_wait_start' in names or 'vma_start_write_wait_end' in names
    p = Pairing(events, family, 'vma_start_write_begin' not in names, not vma_pairs, lock_blocked)
    for iv in p.out:
        if iv.closed():
            iv.loss = any(overlap((iv.begin, iv.end), (g[1], g[2])) is not None for g in gaps)
    for o in p.faults + p.writes:
        if o.decisive()[1] is not None:
            o.loss = any(overlap(o.decisive(), (g[1], g[2])) is not None for g in gaps)

    has_fault = bool(names.intersection(FAULT_EVENTS))
    has_vma = bool(names.intersection(VMA_EVENTS))
    has_lock = family != 'none'
    has_prio = bool(switches)
    seconds = info['seconds']
    resolution = 10**(9 - min(9, info['digits']))
    by = {k: [i for i in p.out if i.kind == k] for k in ('fault', 'vma', 'wait', 'hold')}
    a = type_a(p.out, switches) if has_fault and has_vma else None
    b = type_b(p.faults, p.out, events, p.got_lock, switches, gaps) if has_fault and has_lock \
        else None
    total = sum(f.begin is not None for f in p.faults)
    retried = sum(f.begin is not None and f.retry is not None for f in p.faults)

    def us(table, key, extra=True):
        return table[key] // 1000 if table is not None and extra and seconds else None

    def n(table, key, extra=True):
        return table[key] if table is not None and extra else None

    out = {
        'workload': None, 'kernel': None,
        'filemap_fault': {
            'total_count': total if has_fault else None,
            'retry_count': retried if has_fault else None,
            'retry_rate_pct': (retried * 20000 + total) // (2 * total) / 100
                              if has_fault and total else None,
            'wait_durations_us': spread(by['fault'], seconds)},
        'vma_writer': {
            'total_count': sum(w.begin is not None for w in p.writes) if has_vma else None,
            'wait_durations_us': spread(by['vma'], seconds)},
        'mmap_lock': {'wait_durations_us': spread(by['wait'], seconds),
                      'hold_durations_us': spread(by['hold'], seconds)},
        'contention': {
            'type_a_count': n(a, 'pairs'), 'type_a_duration_sum_us': us(a, 'union'),
            'type_a_writer_wait_count': n(a, 'writers'),
            'type_a_coincident_count': n(a, 'coincident'),
            'type_a_undecided_count': n(a, 'undecided'),
            'type_b_count': n(b, 'windows'),
            'type_b_retry_to_mmap_lock_sum_us': us(b, 'overlap'),
            'type_b_retry_wait_sum_us': us(b, 'retry_wait'),
            'type_b_io_wait_sum_us': us(b, 'io_wait'),
            'type_b_open_count': n(b, 'open'),
            'type_c_count': n(a, 'c', has_prio), 'type_c_score_us': us(a, 'c_score', has_prio),
            'type_c_unknown_count': n(a, 'c_unknown', has_prio),
            'type_c_late_priority_count': n(a, 'c_late', has_prio),
            'type_c_b_count': n(b, 'c', has_prio),
            'type_c_b_score_us': us(b, 'c_score', has_prio)},
        'trace': trace_info(raw, marks, gaps, info, late, family),
        'verdict': {'primary': primary(a, b)},
        'callers': find_callers(p.faults, p.writes) if has_fault and has_vma else None,
        'still_waiting': open_waits(p.out),
        # for the comparison: a *_blocked event does not say whether the waiter reads or writes
        'lock_modes_known': not lock_blocked,
    }
    if not seconds:
        return out
    rows = []
    for lock, kind, mode in (('mmap_lock', 'wait', 'read'), ('mmap_lock', 'wait', 'write'),
                             ('vma', 'vma', 'write'), ('fault', 'fault', 'read')):
        row = {'lock': lock, 'mode': mode}
        row.update(distribution([i for i in by[kind] if i.mode == mode], resolution))
        if lock == 'mmap_lock':
            row['failed_tries'] = p.failed[mode][0]
            row['failed_tries_total_us'] = p.failed[mode][1] // 1000
        rows.append(row)
    out['waits'] = rows
    out['holds'] = [dict({'mode': m, 'origin': 'all'},
                         **distribution([i for i in by['hold'] if i.mode == m], resolution))
                    for m in ('read', 'write')]
    out['blame'] = find_blame(p.out, p.faults, resolution)
    out['blame_chains'], out['blame_roots'] = find_chains(p.out, p.faults, resolution, switches)
    return out


def main():
    try:
        with open(sys.argv[1], encoding='latin-1', newline='') as f:
            result = analyze(f.read())
    except BadTrace as e:
        print('naive: %s' % e, file=sys.stderr)
        return 1
    json.dump(result, sys.stdout, indent=1)
    print()
    return 0


if __name__ == '__main__':
    sys.exit(main())
