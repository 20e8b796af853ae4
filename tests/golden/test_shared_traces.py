#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real captures: none crashes or hangs mmscope, what it cannot read it refuses by name, and what it
reads gives the event counts of EXPECTED.tsv, the result of the retry study, and the oracle's figures.

test_shared_traces.py [MMSCOPE]; the captures are in $MMSCOPE_SHARED/traces.
"""
import concurrent.futures
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'lib'), os.path.join(HERE, '..', 'prop')]
import captures  # noqa: E402
import checks    # noqa: E402
import compare   # noqa: E402
import naive     # noqa: E402

TIMEOUT_S = 20
# What the refusal of a file must name, by the format of EXPECTED.tsv, or by name for files not in it.
REFUSED = {
    'zlib in ftrace text': ('atrace',),
    'perf script': ('perf script',),
    'systrace HTML': ('systrace', 'HTML'),
    'public/lisa-sched_load-trace.dat.gz': ('trace.dat',),
    'public/testes-trace_fifo_v3.dat.gz': ('trace.dat',),
    'public/trappy-tests__trace.dat.gz': ('trace.dat',),
    'stock-6.18/mm-tracecmd-v7.dat.gz': ('trace.dat',),
}
# The kernel study's own figures (its table of V waits and of those that are Type A), not mmscope's.
STUDY = {
    'a0-random-retry': (3, 0), 'a1-random-noretry': (150, 150), 'd1-stack-noretry': (109, 108),
    'e1-sched-noretry': (115, 114), 'v1-retry': (0, 0), 'v2-retry': (2, 0), 'v3-retry': (1, 0),
    'v1-noretry': (75, 75), 'v2-noretry': (75, 75), 'v3-noretry': (74, 74),
}
# Forms that the oracle's simple reader does not know.
NOT_FOR_ORACLE = ('ftrace latency format', 'trace-cmd report')
# Records that a newline in a task name splits are read otherwise by the oracle, so that only its
# counts of the lock events are compared there.
MAY_SPLIT = ('stock-6.18/mm-weird-comms.txt.gz',)


def analyze(mmscope, capture):
    return checks.run([mmscope, 'analyze', '--json', capture.path], timeout=TIMEOUT_S)


def another_boot(capture):
    """'line N' where one CPU's clock steps back by over 1 s: a file put together from several."""
    try:
        naive.parse(capture.data().decode('latin-1'))
    except naive.BadTrace as e:
        return str(e).split(':')[0]
    return None


def judge_exit(c, capture, code, out, err):
    """The result where there is one."""
    if code == 0:
        result = checks.load(out)
        c.check(result is not None, capture.name, 'exit 0, but stdout is no JSON')
        return result
    wrong = checks.clean_failure(code, err)
    message = err.decode('utf-8', 'replace')
    if not wrong and capture.readable() and (another_boot(capture) or 'no other boot') not in message:
        wrong = 'refused, although it is %s: %s' % (capture.format, message)
    c.check(not wrong, capture.name, wrong)
    return None


def judge_refusal(c, capture, code, err):
    names = REFUSED.get(capture.name) or REFUSED.get(capture.format)
    if not names:
        return
    message = err.decode('utf-8', 'replace')
    c.check(code == 1 and all(n in message for n in names), capture.name + ' is refused by name',
            'exit %s: %s' % (code, message.strip() or 'nothing on stderr'))


def judge_events(c, capture, result):
    want = capture.event_counts()
    if want is None or not capture.readable():
        return
    got = {r['name']: r['count'] for r in checks.rows(result, 'events')}
    wrong = ['%s: %s, should be %s' % (k, got.get(k, 0), want.get(k, 0))
             for k in sorted(set(want) | set(got)) if want.get(k, 0) != got.get(k, 0)]
    c.check(not wrong, capture.name + ' event counts', '; '.join(wrong))
    if capture.lost not in ('?', ''):
        trace = result['trace']
        lost = '%d%s' % (trace['lost_events'], '+' if trace['lost_is_minimum'] else '')
        c.check(lost == capture.lost, capture.name + ' lost events',
                '%s, should be %s' % (lost, capture.lost))


def judge_study(c, capture, result):
    base = os.path.basename(capture.name).split('.')[0]
    if not capture.name.startswith('vendor-6.12/') or base not in STUDY:
        return
    waits, type_a = STUDY[base]
    row = [r for r in checks.rows(result, 'waits') if r['lock'] == 'vma'] or [{'count': 0}]
    c.check(row[0]['count'] == waits, base + ' VMA waits',
            '%s, the study has %d' % (row[0]['count'], waits))
    contention = result['contention']
    c.check(contention['type_a_writer_wait_count'] == type_a, base + ' Type A writer waits',
            '%s, the study has %d' % (contention['type_a_writer_wait_count'], type_a))
    if not type_a:
        c.check(contention['type_a_count'] == 0, base + ' Type A pairs',
                '%s, should be 0' % contention['type_a_count'])


def judge_stock(c, capture, result):
    """No fault and no VMA writer events: null, never 0."""
    if not capture.name.startswith('stock-6.18/') or not capture.readable():
        return
    keys = ('type_a_count', 'type_b_count', 'type_c_count', 'type_a_duration_sum_us')
    wrong = [k for k in keys if result['contention'][k] is not None]
    if result['filemap_fault']['total_count'] is not None or result.get('callers') is not None:
        wrong.append('filemap_fault or callers')
    c.check(not wrong, capture.name + ' has null where nothing was traced', ', '.join(wrong))


def oracle_differences(path, result, waits_only):
    capture = captures.Capture('', path, None)
    want = json.loads(json.dumps(naive.analyze(capture.data().decode('latin-1'))))
    if not waits_only:
        return compare.compare(want, result)
    return compare.distributions('waits', [dict(lock=w['lock'], mode=w['mode'], count=w['count'])
                                           for w in want['waits']],
                                 checks.rows(result, 'waits'), ('lock', 'mode'))


def wants_oracle(capture):
    folder = capture.name.split('/')[0]
    return folder in ('stock-6.18', 'vendor-6.12') and capture.readable() \
        and capture.format not in NOT_FOR_ORACLE


def main():
    mmscope = checks.mmscope_path(sys.argv[1] if len(sys.argv) > 1 else None)
    found = captures.captures(checks.shared_dir())
    c = checks.Checks()
    c.check(len(found) > 60, 'the captures are there', '%d files' % len(found))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        oracles = []
        for capture in found:
            code, out, err = analyze(mmscope, capture)
            result = judge_exit(c, capture, code, out, err)
            judge_refusal(c, capture, code, err)
            if result is None:
                continue
            judge_events(c, capture, result)
            judge_study(c, capture, result)
            judge_stock(c, capture, result)
            if wants_oracle(capture):
                oracles.append((capture.name, pool.submit(oracle_differences, capture.path, result,
                                                          capture.name in MAY_SPLIT)))
        for name, job in oracles:
            wrong = job.result()
            c.check(not wrong, name + ' as the oracle has it', '; '.join(
                '%s: oracle %s, mmscope %s' % (k, json.dumps(w), json.dumps(g))
                for k, w, g in wrong[:5]))
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
