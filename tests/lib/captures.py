# SPDX-License-Identifier: GPL-2.0-or-later
"""The shared folder of real captures: which files there are and what EXPECTED.tsv says of them."""
import gzip
import os

FOLDERS = ('public', 'snippets', 'stock-6.18', 'vendor-6.12')
# Files beside the captures: how they were made.
NO_CAPTURES = ('SOURCES.md', 'runs.log', 'cap.sh', 'wl.c')
READABLE = ('ftrace text', 'ftrace latency format', 'trace-cmd report')


class Capture:
    def __init__(self, root, name, row):
        self.name, self.path = name, os.path.join(root, name)
        self.format = row[0] if row else None
        self.lost, self.events = (row[1], row[2]) if row else ('?', '?')

    def readable(self):
        """EXPECTED.tsv calls it a format that mmscope reads, without a doubt."""
        return self.format in READABLE

    def perhaps_text(self):
        return self.format is not None and self.format.rstrip(' ?') in READABLE

    def data(self):
        with open(self.path, 'rb') as f:
            data = f.read()
        return gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data

    def event_counts(self):
        """{name: count}, None where EXPECTED.tsv leaves it open."""
        if self.events in ('?', ''):
            return None
        return {name: int(n) for name, n in (e.rsplit('=', 1) for e in self.events.split(';'))}


def read_expected(path):
    rows = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            columns = line.rstrip('\n').split('\t')
            if line.startswith('#') or len(columns) < 12 or columns[0] == 'file':
                continue
            rows[columns[0]] = (columns[1], columns[10], columns[11])
    return rows


def captures(shared):
    root = os.path.join(shared, 'traces')
    rows = read_expected(os.path.join(root, 'EXPECTED.tsv'))
    found = []
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            path = folder + '/' + name
            if os.path.isfile(os.path.join(root, path)) and name not in NO_CAPTURES:
                found.append(Capture(root, path, rows.get(path)))
    return found
