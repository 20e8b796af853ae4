# SPDX-License-Identifier: GPL-2.0-or-later
"""The naive oracle, second part: begin and end paired to intervals, thread by thread."""
import re

from naive_read import M_BLOCKED, V_BLOCKED, fields

FAULT_EVENTS = ('filemap_fault_begin', 'filemap_fault_wait_start', 'filemap_fault_wait_end',
                'filemap_fault_retry', 'filemap_fault_end')
VMA_EVENTS = ('vma_start_write_begin', 'vma_start_write_wait_start', 'vma_start_write_wait_end',
              'vma_start_write_done', 'vma_start_write_begin_v2', 'vma_start_write_blocked')
VENDOR_LOCK = ('mmap_lock_wait_start', 'mmap_lock_wait_end', 'mmap_lock_hold_start',
               'mmap_lock_hold_end')
STOCK_LOCK = ('mmap_lock_start_locking', 'mmap_lock_acquire_returned', 'mmap_lock_released')


class Interval:
    """kind: fault, vma, wait (mmap_lock), hold. begin or end is None when it was not seen."""

    def __init__(self, kind, tid, life):
        self.kind, self.tid, self.life = kind, tid, life
        self.mode = self.mm = self.vma = self.span = self.owner = None
        self.blocker = self.blocker_life = None
        self.begin = self.end = self.order = self.gone = None
        self.loss = self.at_end = False

    def closed(self):
        return self.begin is not None and self.end is not None

    def counts(self):
        return self.closed() and not self.loss


class Owner:
    """A fault or a VMA write."""

    def __init__(self, tid, life):
        self.tid, self.life = tid, life
        self.mm = self.vma = self.span = self.address = self.caller = None
        self.begin = self.end = self.retry = self.retry_order = self.retry_mm = None
        self.order = self.first = self.first_wait = None
        self.at_retry = None  # what was known of (mm, vma, address) then
        self.loss = False

    def decisive(self):
        """From its first event to what tells whether it kept the lock: its retry, else its end."""
        return self.first, self.retry if self.retry is not None else self.end

    def fate(self):
        if self.loss or self.decisive()[1] is None:
            return 'undecided'
        if self.retry is not None:
            return 'retried'
        return 'held' if self.begin is not None else 'undecided'


def pointer(text):
    if not text or not re.fullmatch(r'(?:0x)?[0-9a-fA-F]+', text):
        return None
    return int(text, 16) or None


def number(text, base=16):
    return None if text is None else int(text, base)


def truth(text):
    return None if text is None else text in ('1', 'true')


class Pairing:
    """Begin and end, per thread. self.out: every interval; self.faults, self.writes: every owner."""

    def __init__(self, events, family, v2_only, vma_blocked, lock_blocked):
        self.out, self.faults, self.writes = [], [], []
        self.cur = {'fault': {}, 'vma': {}}          # tid -> Owner
        self.open_wait = {'fault': {}, 'vma': {}}    # tid -> Interval
        self.lock_wait, self.lock_hold = {}, {}      # (tid, mm) -> Interval
        self.failed = {'read': [0, 0], 'write': [0, 0]}
        self.got_lock = []                           # (order, t, tid, mm): the thread has it to read
        for ev in events:
            if ev.name == 'sched_process_exit':
                self.exit(ev)
            elif ev.name in FAULT_EVENTS:
                self.fault(ev)
            elif ev.name in VMA_EVENTS:
                self.write(ev, v2_only, vma_blocked)
            elif ev.name in VENDOR_LOCK and family == 'vendor':
                self.vendor(ev)
            elif ev.name in STOCK_LOCK and family == 'stock':
                self.stock(ev)
            elif ev.name == 'mmap_lock_write_blocked' and lock_blocked:
                m = M_BLOCKED.match(ev.text)
                if m:
                    iv = Interval('wait', ev.tid, ev.life)
                    iv.mode, iv.begin, iv.end = 'read', ev.t - int(m[2]), ev.t
                    iv.order, iv.gone, iv.blocker = ev.order, ev.order, int(m[1])
                    self.out.append(iv)
        for table in (self.open_wait['fault'], self.open_wait['vma'], self.lock_wait,
                      self.lock_hold):
            for iv in table.values():
                iv.at_end = True
                self.out.append(iv)

    # an interval that ends, or of which only one side was seen
    def close(self, iv, ev):
        complete(iv)
        iv.end, iv.gone = ev.t, ev.order
        self.out.append(iv)

    def leave_open(self, table, key, ev):
        iv = table.pop(key, None)
        if iv:
            iv.gone, iv.gone_t = ev.order, ev.t
            self.out.append(iv)

    def only_end(self, kind, ev, mode=None, mm=None):
        iv = Interval(kind, ev.tid, ev.life)
        iv.mode, iv.mm, iv.end, iv.gone = mode, mm, ev.t, ev.order
        self.out.append(iv)
        return iv

    def exit(self, ev):
        for kind in ('fault', 'vma'):
            self.leave_open(self.open_wait[kind], ev.tid, ev)
            self.cur[kind].pop(ev.tid, None)
        for table in (self.lock_wait, self.lock_hold):
            for key in [k for k in table if k[0] == ev.tid]:
                self.leave_open(table, key, ev)

    def owner(self, kind, ev):
        o = self.cur[kind].get(ev.tid)
        if o is None:
            o = self.cur[kind][ev.tid] = Owner(ev.tid, ev.life)
            o.first = ev.t
            (self.faults if kind == 'fault' else self.writes).append(o)
        return o

    def begin_owner(self, kind, ev):
        self.leave_open(self.open_wait[kind], ev.tid, ev)
        self.cur[kind].pop(ev.tid, None)
        o = self.owner(kind, ev)
        o.begin, o.order = ev.t, ev.order
        self.fill(o, ev)

    def end_owner(self, kind, ev):
        self.leave_open(self.open_wait[kind], ev.tid, ev)
        o = self.owner(kind, ev)
        self.fill(o, ev)
        o.end = ev.t
        self.cur[kind].pop(ev.tid)

    def fill(self, x, ev):
        """Fields that the event prints and x does not have yet."""
        kv = fields(ev)
        if x.mm is None:
            x.mm = pointer(kv.get('mm'))
        if x.vma is None:
            x.vma = pointer(kv.get('vma'))
        if x.span is None and 'vm_start' in kv and 'vm_end' in kv:
            x.span = (number(kv['vm_start']), number(kv['vm_end']))
        if isinstance(x, Owner):
            if x.address is None and 'address' in kv:
                x.address = number(kv['address'])
            if x.caller is None and 'caller' in kv:
                x.caller = kv['caller'].split('+')[0]

    def wait_start(self, kind, ev):
        self.leave_open(self.open_wait[kind], ev.tid, ev)
        iv = Interval(kind, ev.tid, ev.life)
        iv.mode = 'read' if kind == 'fault' else 'write'
        iv.begin, iv.order, iv.owner = ev.t, ev.order, self.owner(kind, ev)
        self.fill(iv, ev)
        self.fill(iv.owner, ev)
        if iv.owner.first_wait is None:
            iv.owner.first_wait = ev.t
        self.open_wait[kind][ev.tid] = iv

    def wait_end(self, kind, ev):
        kv = fields(ev)
        iv = self.open_wait[kind].get(ev.tid)
        mm, vma = pointer(kv.get('mm')), pointer(kv.get('vma'))
        if iv and not (iv.mm and mm and iv.mm != mm) and not (iv.vma and vma and iv.vma != vma):
            self.fill(iv, ev)
            self.fill(iv.owner, ev)
            self.close(self.open_wait[kind].pop(ev.tid), ev)
            return
        self.leave_open(self.open_wait[kind], ev.tid, ev)
        self.fill(self.owner(kind, ev), ev)
        self.only_end(kind, ev, 'read' if kind == 'fault' else 'write')

    def fault(self, ev):
        kv = fields(ev)
        if ev.name == 'filemap_fault_begin':
            self.begin_owner('fault', ev)
        elif ev.name == 'filemap_fault_wait_start':
            self.wait_start('fault', ev)
        elif ev.name == 'filemap_fault_wait_end':
            self.wait_end('fault', ev)
        elif ev.name == 'filemap_fault_retry' or number(kv.get('ret', '0')) & 0x400:
            o = self.owner('fault', ev)
            self.fill(o, ev)
            if o.retry is None:
                o.retry, o.retry_order = ev.t, ev.order
                o.retry_mm = pointer(kv.get('mm')) or o.mm
                o.at_retry = (o.mm, o.vma, o.address)
        if ev.name == 'filemap_fault_end':
            self.end_owner('fault', ev)

    def write(self, ev, v2_only, blocked):
        if ev.name == 'vma_start_write_begin':
            self.begin_owner('vma', ev)
        elif ev.name == 'vma_start_write_begin_v2':
            if v2_only:
                self.begin_owner('vma', ev)
        elif ev.name == 'vma_start_write_wait_start':
            self.wait_start('vma', ev)
        elif ev.name == 'vma_start_write_wait_end':
            self.wait_end('vma', ev)
        elif ev.name == 'vma_start_write_done':
            self.end_owner('vma', ev)
        elif blocked:
            m = V_BLOCKED.search(ev.text)
            if not m:
                return
            iv = Interval('vma', ev.tid, ev.life)
            iv.mode, iv.begin, iv.end = 'write', ev.t - int(m[2]), ev.t
            iv.order, iv.gone, iv.blocker = ev.order, ev.order, int(m[1])
            iv.blocker_life = ev.blocker_life
            iv.span = (int(m[3], 16), int(m[4], 16))
            iv.owner = self.cur['vma'].get(ev.tid)
            complete(iv)
            self.out.append(iv)

    # mmap_lock
    def lock_key(self, ev):
        kv = fields(ev)
        mode = {True: 'write', False: 'read'}[truth(kv.get('write'))]
        mm = pointer(kv.get('mm'))
        return (ev.tid, mm), mode

    def new_lock(self, kind, ev, key, mode):
        iv = Interval(kind, ev.tid, ev.life)
        iv.mode, iv.mm, iv.begin, iv.order = mode, key[1], ev.t, ev.order
        return iv

    def end_lock(self, kind, table, key, mode, ev):
        iv = table.get(key)
        if iv and iv.mode == mode:
            self.close(table.pop(key), ev)
            return
        self.leave_open(table, key, ev)
        self.only_end(kind, ev, mode, key[1])

    def begin_hold(self, ev, key, mode):
        old = self.lock_hold.get(key)
        if old and old.mode == 'write' and mode == 'read' and self.downgrade:
            self.close(self.lock_hold.pop(key), ev)
        else:
            self.leave_open(self.lock_hold, key, ev)
        self.lock_hold[key] = self.new_lock('hold', ev, key, mode)
        if mode == 'read':
            self.got_lock.append((ev.order, ev.t, ev.tid, key[1]))

    def vendor(self, ev):
        key, mode = self.lock_key(ev)
        if ev.name == 'mmap_lock_wait_start':
            self.leave_open(self.lock_wait, key, ev)
            self.lock_wait[key] = self.new_lock('wait', ev, key, mode)
        elif ev.name == 'mmap_lock_wait_end':
            self.end_lock('wait', self.lock_wait, key, mode, ev)
            if mode == 'read':
                self.got_lock.append((ev.order, ev.t, ev.tid, key[1]))
        elif ev.name == 'mmap_lock_hold_start':
            self.downgrade = True
            self.begin_hold(ev, key, mode)
        else:
            self.end_lock('hold', self.lock_hold, key, mode, ev)

    def stock(self, ev):
        key, mode = self.lock_key(ev)
        if ev.name == 'mmap_lock_start_locking':
            self.leave_open(self.lock_wait, key, ev)
            self.lock_wait[key] = self.new_lock('wait', ev, key, mode)
            return
        if ev.name == 'mmap_lock_released':
            self.end_lock('hold', self.lock_hold, key, mode, ev)
            return
        start = self.lock_wait.get(key)
        if truth(fields(ev).get('success', 'true')) is False:
            if start:  # else it is open-begun: in no count
                self.failed[mode][0] += 1
                self.failed[mode][1] += ev.t - start.begin
                self.lock_wait.pop(key)
            return
        held = self.lock_hold.get(key)
        self.downgrade = start is None and mode == 'read' and held is not None \
            and held.mode == 'write'
        if not self.downgrade:
            self.end_lock('wait', self.lock_wait, key, mode, ev)
        self.begin_hold(ev, key, mode)


def complete(iv):
    """mm and vma of an event that prints none: its partner's (filled in already), else its own fault's
    or write's, as far as the events up to now have told them."""
    o = iv.owner
    if o is None:
        return
    if iv.mm is None:
        iv.mm = o.mm
    if iv.vma is None:
        iv.vma = o.vma
    if iv.span is None:
        iv.span = o.span
