# SPDX-License-Identifier: GPL-2.0-or-later
"""The naive oracle, first part: text to events, their order, gaps of lost events, lives of threads."""
import re

WINDOW_NS = 100_000_000        # an event further behind the newest one is late

# The task ends at the LAST -digits before [cpu]; the first place from which the rest fits is it, since
# the payload (sched_switch's comms) may look like a header as well.
HEAD = re.compile(r'-(\d+)\s+(?:\(\s*(?:\d+|-+)\)\s+)?\[(\d+)\]\s+(?:[A-Za-z0-9.#*+-]{4,8}\s+)?'
                  r'(\d+)(?:\.(\d+))?:\s+(\S.*)$')
LOST = re.compile(r'^CPU:(\d+) \[LOST (?:(\d+) )?EVENTS\]')
NAME = re.compile(r'^([A-Za-z_]\w*):(?:\s+|$)')
CALL = re.compile(r'^sys_\w+(?:\(| -> )')
PAIR = re.compile(r'(?:^|\s)(\w+)=(\S*)')
SWITCH = re.compile(r'^prev_comm=.* prev_pid=(\d+) prev_prio=(-?\d+) prev_state=\S+ ==> '
                    r'next_comm=.* next_pid=(\d+) next_prio=(-?\d+)$')
V_BLOCKED = re.compile(r'fault_pid=(\d+) fault_tgid=-?\d+ fault_comm=.* wait_ns=(\d+) '
                       r'vm=\[([0-9a-f]+),([0-9a-f]+)\]$')
M_BLOCKED = re.compile(r'^holder_pid=(\d+) .* wait_ns=(\d+)$')
FORK = re.compile(r' child_pid=(\d+)$')


class BadTrace(Exception):
    pass


class Event:
    __slots__ = ('t', 'place', 'tid', 'cpu', 'name', 'kv', 'text', 'line', 'order', 'life',
                 'blocker_life')


def parse(text):
    """All events in file order, LOST marks with their place, what the header says."""
    raw, marks, info = [], [], {'cpus': None, 'digits': 0, 'seconds': True}
    last_on_cpu = {}
    for number_of_line, line in enumerate(text.split('\n'), 1):
        line = line.rstrip('\r')
        m = LOST.match(line)
        if m:
            marks.append((len(raw), int(m[1]), None if m[2] is None else int(m[2])))
            continue
        if line.startswith('#'):
            m = re.search(r'#P:(\d+)', line)
            if m:
                info['cpus'] = int(m[1])
            continue
        m = HEAD.search(line)
        if not m:
            continue
        body = m[5]
        n = NAME.match(body)
        if not n and not CALL.match(body):
            continue
        ev = Event()
        ev.tid, ev.cpu, ev.line = int(m[1]), int(m[2]), number_of_line
        if m[4] is None:
            info['seconds'] = False
            ev.t = int(m[3])
        else:
            info['digits'] = max(info['digits'], len(m[4]))
            ev.t = int(m[3]) * 10**9 + int(m[4].ljust(9, '0')[:9])
        ev.place = len(raw)
        ev.name = n[1] if n else 'call'
        ev.text = body[n.end():] if n else ''
        ev.kv = None
        if info['seconds'] and ev.t + 10**9 < last_on_cpu.get(ev.cpu, 0):
            raise BadTrace('line %d: the clock of CPU %d steps back' % (number_of_line, ev.cpu))
        last_on_cpu[ev.cpu] = ev.t
        raw.append(ev)
    return raw, marks, info


def fields(ev):
    if ev.kv is None:
        text = ev.text
        if ev.name == 'vma_start_write_begin_v2':
            text = re.sub(r' comm=.* (?=vm_start=)', ' ', text)
        ev.kv = dict(PAIR.findall(text))
    return ev.kv


def in_order(raw, seconds):
    """Leaves out what is late; sorts the rest by (time, place in the file)."""
    kept, late, newest = [], 0, None
    for ev in raw:
        if seconds and newest is not None and newest - ev.t > WINDOW_NS:
            late += 1
            continue
        newest = ev.t if newest is None else max(newest, ev.t)
        kept.append(ev)
    kept.sort(key=lambda e: (e.t, e.place))
    for i, ev in enumerate(kept):
        ev.order = i
    return kept, late


def find_gaps(raw, marks):
    """One (cpu, begin, end) per run of marks: last event of that CPU before it, first one after it."""
    if not raw:
        return []
    first, last = min(e.t for e in raw), max(e.t for e in raw)
    gaps = set()
    for place, cpu, _ in marks:
        begin, end = first, last
        for ev in raw[:place]:
            if ev.cpu == cpu:
                begin = ev.t
        for ev in raw[place:]:
            if ev.cpu == cpu:
                end = ev.t
                break
        # a capture may be out of order by a little: what lies between was in the gap, whichever came first
        gaps.add((cpu, min(begin, end), max(begin, end)))
    return sorted(gaps)


def assign_lives(events):
    """A task is (tid, life): a new life begins with a fork, or with what a dead thread's tid does next."""
    life, dead, switches = {}, {}, []
    for ev in events:
        if ev.name == 'sched_switch':
            m = SWITCH.match(ev.text)
            ev.life = life.get(ev.tid, 0)
            if not m:
                continue
            prev, nxt = int(m[1]), int(m[3])
            switches.append((ev.t, prev, life.get(prev, 0), int(m[2]), True))
            if dead.get(nxt):
                life[nxt] = life.get(nxt, 0) + 1
                dead[nxt] = False
            switches.append((ev.t, nxt, life.get(nxt, 0), int(m[4]), False))
            continue
        # a thread that ends still takes and gives back mmap_lock after the event (since 6.16)
        if dead.get(ev.tid) and not ev.name.startswith('mmap_lock_'):
            life[ev.tid] = life.get(ev.tid, 0) + 1
            dead[ev.tid] = False
        ev.life = life.get(ev.tid, 0)
        if ev.name == 'sched_process_exit':
            dead[ev.tid] = True
        elif ev.name == 'sched_process_fork':
            m = FORK.search(ev.text)
            if m:
                child = int(m[1])
                life[child] = life.get(child, 0) + 1
                dead[child] = False
        elif ev.name == 'vma_start_write_blocked':
            m = V_BLOCKED.search(ev.text)
            blocker = int(m[1]) if m else 0
            ev.blocker_life = life.get(blocker, 0) if blocker else None
    return switches
