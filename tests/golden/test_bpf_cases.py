#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tiny BPF recordings with results computed by hand: bpf_cases/NAME.script (a script of tests/lib/gen_bpf)
against NAME.expected.json.

Only the keys that the expected file lists are judged; a list is judged row by row and must have as many
rows. "args" are options of analyze. Each recording is judged as a file, compressed, and as bpf.mmscope of
a directory.
"""
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import checks  # noqa: E402

CASES = 17


def differences(want, got, path=''):
    """["key is X, should be Y"] over what want has."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return ['%s is %s, should be an object' % (path, json.dumps(got))]
        return [d for key, value in want.items()
                for d in (differences(value, got[key], '%s.%s' % (path, key)) if key in got
                          else ['%s.%s: no such key' % (path, key)])]
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return ['%s has not %d rows: %s' % (path, len(want), json.dumps(got))]
        return [d for i, value in enumerate(want)
                for d in differences(value, got[i], '%s[%d]' % (path, i))]
    if want != got or isinstance(want, bool) != isinstance(got, bool):
        return ['%s is %s, should be %s' % (path, json.dumps(got), json.dumps(want))]
    return []


def analyze(c, mmscope, name, path, args):
    code, out, err = checks.run([mmscope, 'analyze', '--json', *args, path])
    result = checks.load(out) if code == 0 else None
    if result is None:
        c.check(False, name, 'exit code %s: %s' % (code, err.decode('utf-8', 'replace')))
    return result


def forms(work, name, script):
    """(name, path) of the recording in each form."""
    plain = os.path.join(work, name + '.mmscope')
    subprocess.run([os.environ['MMSCOPE_BPF_GEN'], '-o', plain, script], check=True)
    yield name, plain
    with open(plain, 'rb') as f, gzip.open(plain + '.gz', 'wb') as packed:
        packed.write(f.read())
    yield name + '/gzip', plain + '.gz'
    session = os.path.join(work, name)
    os.mkdir(session)
    shutil.copy(plain, os.path.join(session, 'bpf.mmscope'))
    yield name + '/directory', session


def judge_case(c, mmscope, work, script):
    name = os.path.basename(script)[:-len('.script')]
    with open(script[:-len('.script')] + '.expected.json', encoding='utf-8') as f:
        want = json.load(f)
    args = want.pop('args', [])
    for form, path in forms(work, name, script):
        result = analyze(c, mmscope, form, path, args)
        if result is not None:
            found = differences(want, result)
            c.check(not found, form, '; '.join(found))


def judge_beside_text(c, mmscope, work):
    """bpf.mmscope wins over text in the same directory, and says so."""
    session = os.path.join(work, '01_type_a_50ms')
    with open(os.path.join(session, 'cpu0-00001.txt'), 'w', encoding='utf-8') as f:
        f.write('             app-1       [000] d..1.     1.000001: something: x=1\n')
    result = analyze(c, mmscope, 'beside text', session, [])
    if result is not None:
        texts = [n['text'] for n in result['notes']]
        c.check(result['trace']['format'] == 'BPF records' and
                any(t.startswith('used: ') and 'bpf.mmscope; 1 trace files' in t for t in texts),
                'beside text', 'format %s, notes %s' % (result['trace']['format'], texts))


def judge_cut(c, mmscope, work):
    """A recording cut anywhere is readable up to the cut."""
    with open(os.path.join(work, '02_three_hops.mmscope'), 'rb') as f:
        data = f.read()
    for at in range(57, len(data), 37):
        path = os.path.join(work, 'cut')
        with open(path, 'wb') as f:
            f.write(data[:at])
        result = analyze(c, mmscope, 'cut at %d' % at, path, [])
        # records are multiples of 8 bytes: a cut elsewhere is inside one
        if result is not None and at % 8:
            c.check(result['trace']['incomplete'], 'cut at %d' % at, 'not told as incomplete')


def main():
    mmscope = checks.mmscope_path(sys.argv[1] if len(sys.argv) > 1 else None)
    c = checks.Checks()
    scripts = sorted(glob.glob(os.path.join(HERE, 'bpf_cases', '*.script')))
    c.check(len(scripts) == CASES, 'all cases are there', '%d of %d' % (len(scripts), CASES))
    with tempfile.TemporaryDirectory() as work:
        for script in scripts:
            judge_case(c, mmscope, work, script)
        judge_beside_text(c, mmscope, work)
        judge_cut(c, mmscope, work)
    return c.finish()


if __name__ == '__main__':
    sys.exit(main())
