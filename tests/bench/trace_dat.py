#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns an ftrace text capture into a trace.dat (version 6) that holds the same events.

    trace_dat.py CAPTURE.txt CAPTURE.dat      prints how many events went in

For the benchmark: `trace-cmd report` then reads exactly the events that mmscope reads as text. The layout
is that of trace-cmd.dat.v6(5): headers, event formats, cmdlines, and per CPU pages of the kernel's ring
buffer. Each event's format is derived from the first record of its name: a value that is a number becomes
an integer field, true/false a bool, anything else a char array, and the print fmt puts them back.
"""
import re
import struct
import sys

PAGE = 4096
PAGE_DATA = PAGE - 16
MAX_DELTA = 1 << 27
TIME_EXTEND = 30
COMMON = """format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
HEADER_PAGE = b"""\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
HEADER_EVENT = b"""# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""
RECORD = re.compile(r"^\s*(.*)-(\d+)\s+(?:\(\s*[\d-]+\)\s+)?\[(\d+)\]\s+(?:(\S+)\s+)?(\d+)\.(\d+): (\w+)(?:: ?|(?=\(| ->))(.*)$")
# key=value, `key: value` of system calls, and the bare result of `sys_mmap -> 0x...`
VALUE = re.compile(r"(\w+)(=)(.*?)(?= (?:==> )?\w+=|$)|(\w+)(: )([^\s,)]+)|(-> )(\S+)")
DECIMAL = re.compile(r"-?\d{1,19}$")
HEX = re.compile(r"(0x)?[0-9a-f]{1,16}$")


class Event:
    """The format of one event, and how to pack a record of it."""
    def __init__(self, name, number, payload):
        self.name, self.number = name, number
        self.kinds, fields, prints, args, offset = [], [], [], [], 8
        packing, last = "<HBBi", 0
        for index, match in enumerate(VALUE.finditer(payload)):
            key, value = match.group(1) or match.group(4), match[match.lastindex]
            kind = self.kind_of(key, value)
            self.kinds.append(kind)
            code, size, declared, signed, fmt = self.KINDS[kind]
            field = "f%d_%s" % (index, key or "ret")
            pad = -offset % (1 if size == 32 else size)
            packing += "%dx" % pad + code
            offset += pad
            fields.append("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n"
                          % (declared % field, offset, size, signed))
            offset += size
            start = match.start(match.lastindex)
            if kind == "hex" and value.startswith("0x"):
                fmt = "0x%llx"
            elif kind == "hex" and value.startswith("0"):
                fmt = "%%0%dllx" % len(value)
            prints.append(payload[last:start].replace("%", "%%").replace('"', "'") + fmt)
            last = start + len(value)
            args.append('REC->%s ? "true" : "false"' % field if kind == "bool" else "REC->" + field)
        prints.append(payload[last:].replace("%", "%%").replace('"', "'"))
        self.pack = struct.Struct(packing + "%dx" % (-offset % 4)).pack
        self.text = "name: %s\nID: %d\n%s%s\nprint fmt: \"%s\"%s\n" % (
            name, number, COMMON, "".join(fields), "".join(prints), "".join(", " + a for a in args))

    # packing code, size, declaration, signed, how it is printed
    KINDS = {
        "bool": ("B", 1, "bool %s", 0, "%s"),
        "int": ("q", 8, "s64 %s", 1, "%lld"),
        "hex": ("Q", 8, "unsigned long %s", 0, "%llx"),
        "text": ("32s", 32, "char %s[32]", 0, "%s"),
    }

    @staticmethod
    def kind_of(key, value):
        if value in ("true", "false"):
            return "bool"
        if key in ("mm", "vma", "vm_start", "vm_end", "flags", "addr", "len", "prot", "address", "ip",
                   "error_code") or value.startswith("0x"):
            return "hex" if HEX.match(value) else "text"
        return "int" if DECIMAL.match(value) else "text"

    def record(self, pid, payload):
        values = []
        found = [match[match.lastindex] for match in VALUE.finditer(payload)]
        if len(found) != len(self.kinds):
            return None
        for kind, value in zip(self.kinds, found):
            try:
                values.append(value == "true" if kind == "bool" else int(value) if kind == "int" else
                              int(value, 16) if kind == "hex" else value.encode()[:31])
            except ValueError:
                return None
        return self.pack(self.number, 0, 0, pid, *values)


class Cpu:
    """The pages of one CPU's ring buffer."""
    def __init__(self):
        self.pages, self.data, self.start, self.last = [], bytearray(), 0, 0

    def flush(self):
        if self.data:
            page = struct.pack("<QQ", self.start, len(self.data)) + self.data
            self.pages.append(page + bytes(PAGE - len(page)))
            self.data = bytearray()

    def add(self, time_ns, payload):
        time_ns = max(time_ns, self.last)  # a ring buffer has no step back
        if len(self.data) + len(payload) + 12 > PAGE_DATA:
            self.flush()
        if not self.data:
            self.start = self.last = time_ns
        delta, head = time_ns - self.last, b""
        if delta >= MAX_DELTA:
            head = struct.pack("<II", TIME_EXTEND | (delta % MAX_DELTA) << 5, delta // MAX_DELTA)
            delta = 0
        if len(payload) <= 28 * 4:
            head += struct.pack("<I", len(payload) // 4 | delta << 5)
        else:
            head += struct.pack("<II", delta << 5, len(payload) + 4)
        self.data += head + payload
        self.last = time_ns


def convert(lines):
    """Returns (events by name, CPUs, comm by pid, records taken, records left out)."""
    events, cpus, comms, count, left_out = {}, {}, {}, 0, 0
    for line in lines:
        if line.startswith("#"):
            continue
        match = RECORD.match(line)
        if not match:
            left_out += 1
            continue
        comm, pid, cpu, _, seconds, fraction, name, payload = match.groups()
        if payload.startswith(" ->"):
            name += "_exit"
        event = events.get(name)
        if not event:
            event = events[name] = Event(name, 100 + len(events), payload)
        record = event.record(int(pid), payload)
        if record is None:
            left_out += 1
            continue
        count += 1
        comms[int(pid)] = comm
        if cpu not in cpus:
            cpus[cpu] = Cpu()
        cpus[cpu].add(int(seconds) * 10 ** 9 + int(fraction.ljust(9, "0")), record)
    return events, {int(c): cpus[c] for c in cpus}, comms, count, left_out


def sized(data, code="<Q"):
    return struct.pack(code, len(data)) + data


def write(path, events, cpus, comms):
    count = max(cpus) + 1
    head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
    head += b"header_page\0" + sized(HEADER_PAGE) + b"header_event\0" + sized(HEADER_EVENT)
    head += struct.pack("<I", 0)  # no formats of ftrace's own events
    head += struct.pack("<I", 1) + b"bench\0" + struct.pack("<I", len(events))
    for event in events.values():
        head += sized(event.text.encode())
    head += sized(b"", "<I") + sized(b"", "<I")  # kallsyms, printk formats
    head += sized("".join("%d %s\n" % c for c in sorted(comms.items())).encode())
    head += struct.pack("<I", count) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    offset = (len(head) + 16 * count + PAGE - 1) // PAGE * PAGE
    with open(path, "wb") as file:
        file.write(head)
        for cpu in range(count):
            pages = cpus[cpu].pages if cpu in cpus else []
            file.write(struct.pack("<QQ", offset, len(pages) * PAGE))
            offset += len(pages) * PAGE
        file.write(bytes(-file.tell() % PAGE))
        for cpu in sorted(cpus):
            for page in cpus[cpu].pages:
                file.write(page)


def text_to_dat(text_path, dat_path):
    """Returns (events written, records left out)."""
    with open(text_path, encoding="utf-8", errors="replace") as file:
        events, cpus, comms, count, left_out = convert(file)
    for cpu in cpus.values():
        cpu.flush()
    write(dat_path, events, cpus, comms)
    return count, left_out


if __name__ == "__main__":
    print("%d events, %d records left out" % text_to_dat(sys.argv[1], sys.argv[2]))
