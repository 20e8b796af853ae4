# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads bpf.mmscope as docs/FORMAT.md describes it, and cuts pieces out of it; shares no code with mmscope.

A record is a dict of the members below, with `kind`, `cpu`, `time_ns`, and `raw`, its bytes. Members of who
and owner are prefixed (`owner_tid`). Little-endian machines only, as the tests' kernels are.
"""
import struct
import zlib

WAIT, HOLD, SLEEP, FAULT, PROCESS, STACK, TOTALS, LOST, SYMBOL, NOTE = range(1, 11)
DICTIONARY = (STACK, SYMBOL, NOTE)  # what other records refer to, whenever it was told
FLAG_WRITE, FLAG_OPEN, FLAG_DOWNGRADED, FLAG_SPUN = 1, 2, 4, 16
FLAG_OWN, FLAG_DEAD = 1 << 11, 1 << 12
SLEEP_VMA_WRITER, SLEEP_FAULT = 1, 2

MAGIC = b"MMSCOPEB"
CHUNK_MAGIC = 0x4b434d4d
FILE_HEADER = struct.Struct("<8s4I")
CHUNK_HEADER = struct.Struct("<4I")
HEAD = struct.Struct("<HHIQ")
WHO = ("tid", "tgid", "comm", "prio", "state")
CALL = ("nr", "is_32bit", "arg0", "arg1", "arg2", "arg3")
# kind: (what struct.unpack() wants, names of the members)
LAYOUTS = {
    WAIT: (struct.Struct("<II16siI 5Q iI4Q II II16siI Q"),
           WHO + ("begin_ns", "mm", "woken_ns", "stack", "user_stack") + CALL + ("flags", "waker_tid")
           + tuple("owner_" + w for w in WHO) + ("owner_stack",)),
    HOLD: (struct.Struct("<II16siI 4Q iI4Q II"),
           WHO + ("begin_ns", "mm", "stack", "user_stack") + CALL + ("flags", "pad")),
    SLEEP: (struct.Struct("<II16siI 5Q iI4Q 4I 7Q"),
            WHO + ("begin_ns", "mm", "woken_ns", "stack", "user_stack") + CALL
            + ("flags", "waker_tid", "sleep_class", "dev", "ino", "fault_ns", "address", "vma", "vm_start", "vm_end",
               "vm_flags")),
    FAULT: (struct.Struct("<II16siI 2Q II"), WHO + ("mm", "stack", "flags", "pad")),
    LOST: (struct.Struct("<3Q"), ("first_ns", "last_ns", "n")),
}
DIST = struct.Struct("<3Q8I40I")
TOTALS_HEAD = struct.Struct("<II16sII 6Q")


class BadFile(Exception):
    pass


def totals(body):
    tid, tgid, comm, flags, _, *numbers = TOTALS_HEAD.unpack_from(body)
    r = {"tid": tid, "tgid": tgid, "comm": comm, "flags": flags, "failed_tries": numbers[0:2],
         "failed_tries_ns": numbers[2:4], "faults": numbers[4:6], "wait": [], "hold": []}
    for i, name in enumerate(("wait", "wait", "hold", "hold")):
        values = DIST.unpack_from(body, TOTALS_HEAD.size + i * DIST.size)
        r[name].append({"count": values[0], "sum_ns": values[1], "max_ns": values[2], "log10": values[3:11]})
    return r


def record(raw):
    kind, size, cpu, time_ns = HEAD.unpack_from(raw)
    if kind == TOTALS:
        r = totals(raw[HEAD.size:])
    elif kind in LAYOUTS:
        layout, names = LAYOUTS[kind]
        r = dict(zip(names, layout.unpack_from(raw, HEAD.size)))
    else:
        r = {}
    for name in ("comm", "owner_comm"):
        if name in r:
            r[name] = r[name].rstrip(b"\0").decode("latin-1")
    r.update(kind=kind, size=size, cpu=cpu, time_ns=time_ns, raw=raw)
    return r


def read(path):
    """All records of a whole file, in its order; (header bytes, records)."""
    with open(path, "rb") as f:
        data = f.read()
    magic, version, header_bytes, chunk_magic, _ = FILE_HEADER.unpack_from(data)
    if (magic, version, chunk_magic) != (MAGIC, 1, CHUNK_MAGIC):
        raise BadFile("no bpf.mmscope of version 1: %r" % data[:24])
    at, records = header_bytes, []
    while at < len(data):
        magic, length, crc, n = CHUNK_HEADER.unpack_from(data, at)
        payload = data[at + CHUNK_HEADER.size:at + CHUNK_HEADER.size + length]
        if magic != CHUNK_MAGIC or len(payload) != length or zlib.crc32(payload) != crc:
            raise BadFile("a broken chunk at byte %d" % at)
        before, inside = len(records), 0
        while inside < length:
            size = HEAD.unpack_from(payload, inside)[1]
            if size < HEAD.size or size % 8:
                raise BadFile("a record of %d bytes" % size)
            records.append(record(payload[inside:inside + size]))
            inside += size
        if len(records) - before != n:
            raise BadFile("a chunk of %d records says %d" % (len(records) - before, n))
        at += CHUNK_HEADER.size + length
    return data[:header_bytes], records


def write(path, header, records):
    with open(path, "wb") as f:
        f.write(header)
        for first in range(0, len(records), 1000):
            some = records[first:first + 1000]
            payload = b"".join(r["raw"] for r in some)
            f.write(CHUNK_HEADER.pack(CHUNK_MAGIC, len(payload), zlib.crc32(payload), len(some)) + payload)
