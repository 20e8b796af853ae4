# SPDX-License-Identifier: GPL-2.0-or-later
"""The naive oracle, third part: blame. Who was in a wait's way, slice by slice, and who behind that."""

CONTENDED_NS = 1_000           # --contended-ns
INFINITY = 1 << 62
MAX_HOPS = 8


def overlap(a, b):
    """Length in ns, or None when the two (begin, end) do not overlap."""
    if a[0] < b[1] and b[0] < a[1]:
        return min(a[1], b[1]) - max(a[0], b[0])
    return None


def priority(switches, tid, life, t):
    """(prio or None, late)"""
    found = None
    for when, who, which, prio, _ in switches:
        if who == tid and which == life and when <= t:
            found = prio
    if found is not None:
        return found, False
    for when, who, which, prio, as_prev in switches:
        if who == tid and which == life and when > t and as_prev:
            return prio, True
    return None, False


def judge(switches, waiter, blocker, t):
    """'inverted', 'not' or 'unknown', and whether a priority was only known later."""
    a, late_a = priority(switches, waiter.tid, waiter.life, t)
    b, late_b = priority(switches, blocker.tid, blocker.life, t)
    if a is None or b is None:
        return 'unknown', False
    return ('inverted' if a < b else 'not'), late_a or late_b


def contended(iv, resolution):
    length = iv.end - iv.begin
    return length >= CONTENDED_NS and length > resolution


class Hold:
    """A fault's hold of its VMA's lock."""

    def __init__(self, fault):
        self.tid, self.life, self.mode = fault.tid, fault.life, 'vma'
        self.begin, self.end = fault.begin, fault.end
        self.mm, self.vma, self.address = fault.mm, fault.vma, fault.address
        if fault.retry is not None:
            self.end = fault.retry
            if fault.first_wait is not None:
                self.end = min(self.end, fault.first_wait)
            self.mm, self.vma, self.address = fault.at_retry


def vma_holds(faults):
    return [Hold(f) for f in faults if f.begin is not None and f.fate() != 'undecided']


def of_that_vma(hold, w):
    if hold.mm is None or hold.mm != w.mm:
        return False
    if hold.vma is not None and w.vma is not None:
        return hold.vma == w.vma
    return w.span is not None and hold.address is not None \
        and w.span[0] <= hold.address < w.span[1]


BECAUSE = {'read': 'holds to read', 'write': 'holds to write', 'vma': 'fault holds the VMA lock'}


class Blame:
    """Everything that may be in anybody's way, and every wait that is explained by it."""

    def __init__(self, intervals, faults, resolution):
        self.holds = [i for i in intervals if i.kind == 'hold' and i.counts() and i.mm is not None]
        self.queue = [i for i in intervals if i.kind == 'wait' and i.mode == 'write'
                      and i.begin is not None and i.mm is not None]
        self.faults = vma_holds(faults)
        self.waits = [w for w in intervals if w.kind in ('wait', 'vma') and w.counts()
                      and contended(w, resolution)]

    def in_the_way(self, w):
        """(holders, [(order, queued write wait, until when)])"""
        at = (w.begin, w.end)
        if w.mm is None:
            return [], []
        if w.kind == 'vma':
            return [h for h in self.faults if h.tid != w.tid and of_that_vma(h, w)
                    and overlap((h.begin, h.end), at) is not None], []
        held = [h for h in self.holds if h.mm == w.mm and h.tid != w.tid
                and (w.mode == 'write' or h.mode == 'write')
                and overlap((h.begin, h.end), at) is not None]
        ahead = []
        for q in self.queue:
            if q.mm != w.mm or q.tid == w.tid or not q.order < w.order:
                continue
            until = q.end if q.end is not None else getattr(q, 'gone_t', INFINITY)
            if overlap((q.begin, until), at) is not None:
                ahead.append((q.order, q, until))
        return held, ahead

    def slices(self, w, start, stop):
        """[(begin, end, because, [(tid, life)])] of [start, stop) of the wait; no thread for wake-up
        and unknown."""
        if w.kind == 'vma' and w.blocker is not None:
            # a *_blocked event names the blocker of all of it
            named = [(w.blocker, w.blocker_life)] if w.blocker_life is not None \
                and w.blocker != w.tid else []
            return [(start, stop, BECAUSE['vma'] if named else 'unknown', named)]
        held, ahead = self.in_the_way(w)
        ends = [h.end for h in held]
        cuts = {start, stop}
        for t in [h.begin for h in held] + ends + [q.begin for _, q, _ in ahead] \
                + [u for _, _, u in ahead]:
            if start < t < stop:
                cuts.add(t)
        cuts = sorted(cuts)
        found = []
        for begin, end in zip(cuts, cuts[1:]):
            who = sorted((h.tid, h.life, h.mode) for h in held if h.begin <= begin and end <= h.end)
            first = min(((o, q) for o, q, u in ahead if q.begin <= begin and end <= u),
                        key=lambda x: x[0], default=None)
            if who:
                found.append((begin, end, [BECAUSE[m] for _, _, m in who],
                              [(t, n) for t, n, _ in who]))
            elif first:
                found.append((begin, end, 'queued to write', [(first[1].tid, first[1].life)]))
            elif ends and max(ends) <= begin:
                found.append((begin, end, 'wake-up', []))
            else:
                found.append((begin, end, 'unknown', []))
        return found


def shares(ns, because, who):
    """Each one's part of a slice: [(because, thread or None, ns)]."""
    if not who:
        return [(because, None, ns)]
    return [(because[n] if isinstance(because, list) else because, thread,
             ns // len(who) + (1 if n < ns % len(who) else 0)) for n, thread in enumerate(who)]


LOCK = {'wait': 'mmap_lock', 'vma': 'vma'}


def find_blame(intervals, faults, resolution):
    blame = Blame(intervals, faults, resolution)
    table = {}
    for w in blame.waits:
        for begin, end, because, who in blame.slices(w, w.begin, w.end):
            for why, thread, ns in shares(end - begin, because, who):
                if ns:
                    key = (w.tid, LOCK[w.kind], w.mode, thread and thread[0], why)
                    table[key] = table.get(key, 0) + ns
    return [{'waiter_tid': k[0], 'lock': k[1], 'mode': k[2], 'blocker_tid': k[3], 'because': k[4],
             'time_us': ns // 1000}
            for k, ns in sorted(table.items(), key=lambda x: (str(x[0]),))]


class Chains:
    """Where a wait's blocker waited itself, its own blockers are to blame, and so on."""

    def __init__(self, blame):
        self.blame = blame
        self.ends = []  # (wait, path, how it ends, ns, at)

    def part(self, ns, start, stop, begin, end):
        """Parts of a stretch get what falls on them; together exactly ns."""
        return ns * (end - start) // (stop - start) - ns * (begin - start) // (stop - start)

    def follow(self, top, w, start, stop, ns, path):
        if len(path) == MAX_HOPS:
            self.ends.append((top, path, 'cut', ns, start))
            return
        for begin, end, because, who in self.blame.slices(w, start, stop):
            mine = self.part(ns, start, stop, begin, end)
            for why, thread, share in shares(mine, because, who):
                if share:
                    self.blocker(top, w, begin, end, share, path, why, thread)

    def blocker(self, top, w, begin, end, ns, path, why, thread):
        if thread is None:
            self.ends.append((top, path, why, ns, begin))
            return
        seen = [(top.tid, top.life)] + [t for _, t in path]
        path = path + [(why, thread)]
        if thread in seen:
            self.ends.append((top, path, 'cycle', ns, begin))
            return
        if w.kind == 'vma' and w.blocker is not None:
            self.ends.append((top, path, 'root', ns, begin))
            return
        own = [i for i in self.blame.waits if (i.tid, i.life) == thread
               and overlap((i.begin, i.end), (begin, end)) is not None
               # told when it was over: it must have been told by then
               and (i.kind != 'vma' or i.blocker is None or i.gone < top.gone)]
        cuts = sorted({begin, end} | {t for i in own for t in (i.begin, i.end) if begin < t < end})
        for a, b in zip(cuts, cuts[1:]):
            mine = self.part(ns, begin, end, a, b)
            now = [i for i in own if i.begin <= a and b <= i.end]
            if not mine:
                continue
            if now:
                self.follow(top, max(now, key=lambda i: (i.begin, i.order)), a, b, mine, path)
            else:
                self.ends.append((top, path, 'unknown' if why == 'queued to write' else 'root',
                                  mine, a))


def find_chains(intervals, faults, resolution, switches):
    """Rows of chains, and of roots by (thread, because)."""
    chains = Chains(Blame(intervals, faults, resolution))
    for w in chains.blame.waits:
        chains.follow(w, w, w.begin, w.end, w.end - w.begin, [])
    table, roots = {}, {}
    for w, path, end, ns, at in chains.ends:
        key = (w.tid, LOCK[w.kind], w.mode, end, tuple((why, t[0]) for why, t in path))
        table[key] = table.get(key, 0) + ns
        if not path or end == 'cycle':
            continue
        why, (tid, life) = path[-1]
        root = roots.setdefault((tid, why), {'direct': 0, 'time': 0, 'waiters': set(),
                                             'inverted': 0, 'unknown': 0})
        root['time'] += ns
        root['direct'] += ns if len(path) == 1 else 0
        root['waiters'].add((w.tid, w.life))
        judged = judge(switches, w, Thread(tid, life), at)[0]
        if judged in root:
            root[judged] += ns
    rows = [{'waiter_tid': k[0], 'lock': k[1], 'mode': k[2], 'end': k[3],
             'path': [list(hop) for hop in k[4]], 'hops': len(k[4]),
             'root_tid': k[4][-1][1] if k[4] and k[3] != 'cycle' else None, 'time_us': ns // 1000}
            for k, ns in sorted(table.items(), key=str)]
    return rows, [{'tid': tid, 'because': why, 'direct_us': r['direct'] // 1000,
                   'time_us': r['time'] // 1000, 'waiters': len(r['waiters']),
                   'inverted_us': r['inverted'] // 1000, 'unknown_us': r['unknown'] // 1000}
                  for (tid, why), r in sorted(roots.items())]


class Thread:
    def __init__(self, tid, life):
        self.tid, self.life = tid, life
