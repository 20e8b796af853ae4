#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same random waits, holds and faults told in two ways give the same result.

As BPF records they are told when they are over: some many seconds after what happened meanwhile, and some
not at all (open). As text they are vendor events in the order of time. All tables that both can fill must be
equal. Between CPUs records may also stand a few ms the wrong way round in the file.

test_bpf_text.py MMSCOPE [SEED]
"""
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import checks  # noqa: E402

ROUNDS = 40
THREADS = list(range(201, 209))
MMS = {tid: 0xa000 if tid % 2 else 0xb000 for tid in THREADS}
PRIOS = {tid: 49 if tid % 3 == 0 else 120 for tid in THREADS}
VMAS = {0xa000: [0xa1, 0xa2], 0xb000: [0xb1, 0xb2]}
MS = 1000000
TABLES = ('waits', 'waits_by_thread', 'waits_by_origin', 'waits_by_process', 'holds', 'fault_waits',
          'type_a_pairs', 'type_b_pairs', 'blame', 'still_waiting')
# told by one form only: BPF has no sched_switch, text no owners, stacks and states at each event
NOT_BOTH = {'type_a_pairs': ('doing',),
            'still_waiting': ('holder_tid', 'holder_comm', 'holder_doing', 'stack')}
CONTENTION_NOT_BOTH = ('type_c_late_priority_count', 'type_c_b_late_priority_count')


def duration(rng):
    """Mostly short, some of seconds: those are told very late."""
    return rng.choice((rng.randrange(20000, MS), rng.randrange(MS, 30 * MS),
                       rng.randrange(30 * MS, 4000 * MS))) | 1


class Scenario:
    """What happened, in both forms: text [(time, order, line)], records [(told, order, line)]."""

    def __init__(self, rng, jitter_ns):
        self.rng, self.jitter_ns = rng, jitter_ns
        self.text, self.records = [], []
        self.end_ns = 0
        self.stamps = set()
        for tid in THREADS:
            self.thread(tid)

    def stamp(self, ns):
        """Equal times on two CPUs have no order: none are equal here."""
        while ns in self.stamps:
            ns += 1
        self.stamps.add(ns)
        self.end_ns = max(self.end_ns, ns)
        return ns

    def event(self, tid, ns, name, fields):
        self.text.append((ns, '%16s-%d (%7d) [%03d] d..1. %d.%09d: %s: pid=%d mm=%x %s\n' % (
            'thread', tid, 200, tid % 4, ns // 10**9, ns % 10**9, name, tid, MMS[tid], fields)))

    def record(self, told_ns, line):
        if self.jitter_ns:
            told_ns += self.rng.randrange(self.jitter_ns)
        self.records.append((told_ns, len(self.records), line))

    def wait(self, tid, now, write, flags=()):
        begin, end = self.stamp(now), self.stamp(now + duration(self.rng))
        flags = list(flags) + ['write'] * write
        self.event(tid, begin, 'mmap_lock_wait_start', 'write=%d' % write)
        self.event(tid, end, 'mmap_lock_wait_end', 'write=%d' % write)
        self.record(end, 'wait tid=%d begin=%d time=%d%s' % (
            tid, begin, end, ' flags=' + ','.join(flags) if flags else ''))
        return end

    def hold(self, tid, now, write):
        begin, end = self.stamp(now + 1), self.stamp(now + 1 + duration(self.rng))
        self.event(tid, begin, 'mmap_lock_hold_start', 'write=%d' % write)
        self.event(tid, end, 'mmap_lock_hold_end', 'write=%d' % write)
        self.record(end, 'hold tid=%d begin=%d time=%d%s' % (tid, begin, end,
                                                            ' flags=write' * write))
        return begin, end

    def vma_wait(self, tid, begin, end, vma):
        self.event(tid, begin, 'vma_start_write_wait_start', 'vma=%x' % vma)
        self.event(tid, end, 'vma_start_write_wait_end', 'vma=%x' % vma)
        self.record(end, 'sleep tid=%d begin=%d time=%d sleep_class=vma_writer vma=0x%x' % (
            tid, begin, end, vma))

    def write(self, tid, now):
        """A write hold, perhaps with a wait before it and a wait for a VMA inside."""
        now = self.wait(tid, now, 1) if self.rng.random() < 0.7 else now
        begin, end = self.hold(tid, now, 1)
        if end - begin > MS and self.rng.random() < 0.8:
            third = (end - begin) // 3
            first = self.stamp(begin + 1 + self.rng.randrange(third))
            self.vma_wait(tid, first, self.stamp(first + 1 + self.rng.randrange(third)),
                          self.rng.choice(VMAS[MMS[tid]]))
        return end

    def fault(self, tid, now):
        """A fault with one or two sleeps that is over, or asks for a retry and waits for mmap_lock."""
        vma = self.rng.choice(VMAS[MMS[tid]])
        begin = self.stamp(now)
        self.event(tid, begin, 'filemap_fault_begin', 'vma=%x address=0x1000' % vma)
        now = begin
        for i in range(self.rng.randrange(1, 3)):
            first = self.stamp(now + self.rng.randrange(1, MS))
            now = self.stamp(first + duration(self.rng))
            self.event(tid, first, 'filemap_fault_wait_start', 'vma=%x' % vma)
            self.event(tid, now, 'filemap_fault_wait_end', 'vma=%x' % vma)
            self.record(now, 'sleep tid=%d begin=%d time=%d sleep_class=fault vma=0x%x '
                        'address=0x1000%s' % (tid, first, now, vma,
                                              ' flags=first fault=%d' % begin if not i else ''))
        now = self.stamp(now + self.rng.randrange(1, MS))
        if self.rng.random() < 0.5:
            self.event(tid, now, 'filemap_fault_end', 'vma=%x ret=0x0' % vma)
            self.record(now, 'fault tid=%d time=%d' % (tid, now))
            return now
        self.event(tid, now, 'filemap_fault_retry', 'vma=%x ret=0x400' % vma)
        self.record(now, 'fault tid=%d time=%d flags=retried' % (tid, now))
        return self.wait(tid, now + 1, 0, ['retry_wait'])

    def thread(self, tid):
        # a fault begins up to 1 s before its first sleep: later, BPF takes the sleep's begin
        now = 1000 * MS + self.rng.randrange(200 * MS)
        for _ in range(self.rng.randrange(1, 7)):
            step = self.rng.choice((self.write, self.write, self.fault, self.fault, self.read))
            now = step(tid, now + self.rng.randrange(1, 300 * MS))
        if self.rng.random() < 0.3:
            self.open_wait(tid, now + self.rng.randrange(1, 300 * MS))

    def read(self, tid, now):
        return self.hold(tid, self.wait(tid, now, 0), 0)[1]

    def open_wait(self, tid, now):
        """Still waiting at the end; told by a snapshot each now and then."""
        write, begin = self.rng.randrange(2), self.stamp(now)
        self.event(tid, begin, 'mmap_lock_wait_start', 'write=%d' % write)
        for _ in range(self.rng.randrange(1, 4)):
            told = self.stamp(begin + duration(self.rng))
            self.record(told, 'wait tid=%d begin=%d time=%d flags=%sopen' % (
                tid, begin, told, 'write,' * write))


def write_text(s, path):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('# tracer: nop\n#\n# P:4\n')
        for i, tid in enumerate(THREADS):
            f.write('%16s-0 (-------) [000] d..2. 0.5%08d: sched_switch: prev_comm=thread prev_pid=%d '
                    'prev_prio=%d prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n'
                    % ('<idle>', i, tid, PRIOS[tid]))
        for _, line in sorted(s.text):
            f.write(line)
        # both end at the same time
        f.write('%16s-999 (-------) [000] d..1. %d.%09d: something: x=1\n' % (
            'end', s.end_ns // 10**9, s.end_ns % 10**9))


def write_script(s, path):
    with open(path, 'w', encoding='utf-8') as f:
        for tid in THREADS:
            f.write('thread tid=%d tgid=200 comm=thread prio=%d mm=0x%x\n' % (
                tid, PRIOS[tid], MMS[tid]))
        for _, _, line in sorted(s.records):
            f.write(line + '\n')


def without(rows, keys):
    return [{k: v for k, v in row.items() if k not in keys} for row in rows]


def rows_of(result, key):
    rows = without(checks.rows(result, key), NOT_BOTH.get(key, ()))
    # a fault's end is an event of its own in text; BPF learns of it by what the thread does next
    return [r for r in rows if r.get('lock') != 'vma'] if key == 'blame' else rows


def differences(text, bpf):
    found = []
    for key in TABLES:
        x, y = rows_of(text, key), rows_of(bpf, key)
        if sorted(map(str, x)) != sorted(map(str, y)):
            only_x, only_y = [r for r in x if r not in y], [r for r in y if r not in x]
            found.append('%s: only text %s, only BPF %s' % (key, only_x[:2], only_y[:2]))
    for key, value in text['contention'].items():
        if key not in CONTENTION_NOT_BOTH and bpf['contention'][key] != value:
            found.append('%s: text %s, BPF %s' % (key, value, bpf['contention'][key]))
    if bpf['trace']['late_events'] or text['trace']['late_events']:
        found.append('late events')
    return found


def analyze(c, mmscope, name, path):
    code, out, err = checks.run([mmscope, 'analyze', '--json', path])
    result = checks.load(out) if code == 0 else None
    if result is None:
        c.check(False, name, 'exit code %s: %s' % (code, err.decode('utf-8', 'replace')))
    return result


def judge(c, mmscope, work, seed, totals):
    name = 'seed %d' % seed
    s = Scenario(random.Random(seed), 5 * MS if seed % 2 else 0)
    text, script, bpf = (os.path.join(work, n) for n in ('a.txt', 'a.script', 'a.mmscope'))
    write_text(s, text)
    write_script(s, script)
    subprocess.run([os.environ['MMSCOPE_BPF_GEN'], '-o', bpf, script], check=True)
    results = [analyze(c, mmscope, name, path) for path in (text, bpf)]
    if None in results:
        return
    found = differences(*results)
    c.check(not found, name, '; '.join(found))
    for key in totals:
        totals[key] += results[1]['contention'][key] or 0


def main():
    mmscope = checks.mmscope_path(sys.argv[1] if len(sys.argv) > 1 else None)
    c = checks.Checks()
    totals = dict.fromkeys(('type_a_count', 'type_a_coincident_count', 'type_b_count',
                            'type_c_count', 'type_c_b_count'), 0)
    seeds = [int(sys.argv[2])] if len(sys.argv) > 2 else range(ROUNDS)
    with tempfile.TemporaryDirectory() as work:
        for seed in seeds:
            judge(c, mmscope, work, seed, totals)
    # scenarios in which nothing happens would prove nothing
    if len(seeds) > 1:
        c.check(all(totals.values()), 'each type occurs', str(totals))
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
