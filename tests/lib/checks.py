# SPDX-License-Identifier: GPL-2.0-or-later
"""What every Python test shares: one line per check, the exit code, running mmscope."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, good, name, why=''):
        if good:
            self.passed += 1
            print('ok %s' % name)
        else:
            self.failed += 1
            print('not ok %s: %s' % (name, why))
        sys.stdout.flush()
        return good

    def skip(self, name, why):
        self.skipped += 1
        print('SKIP %s: %s' % (name, why))

    def finish(self):
        """Prints the sums; the exit code: 1 = something failed, 77 = nothing could be checked."""
        print('%d passed, %d failed, %d skipped' % (self.passed, self.failed, self.skipped))
        if self.failed:
            return 1
        return 0 if self.passed else SKIPPED


def mmscope_path(argument=None):
    path = argument or os.environ.get('MMSCOPE')
    if not path or not os.access(path, os.X_OK):
        print('skip: no mmscope binary: give its path as the first argument or in MMSCOPE')
        sys.exit(SKIPPED)
    return os.path.abspath(path)


def shared_dir():
    """The folder of real captures; the test is skipped without it."""
    path = os.environ.get('MMSCOPE_SHARED') or os.path.join(ROOT, '..', 'shared')
    if not os.path.isdir(os.path.join(path, 'traces')):
        print('skip: no folder of captures (MMSCOPE_SHARED is not set, ../shared does not exist)')
        sys.exit(SKIPPED)
    return os.path.abspath(path)


def run(argv, stdin=None, timeout=20):
    """(exit code, stdout, stderr) as bytes; the code is None when it ran into the time limit."""
    try:
        p = subprocess.run(argv, input=stdin, stdin=None if stdin is not None else
                           subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return None, b'', b''
    return p.returncode, p.stdout, p.stderr


def clean_failure(code, err):
    """'' when this is an orderly refusal: exit 1 and exactly one line on stderr; else what is wrong."""
    if code is None:
        return 'ran into the time limit'
    if code < 0:
        return 'died of signal %d' % -code
    if code != 1:
        return 'exit code %d' % code
    if err.count(b'\n') != 1 or not err.strip():
        return 'stderr is not exactly one line: %r' % err[:300]
    return ''


def load(out):
    """The result that analyze --json printed, or None."""
    try:
        return json.loads(out)
    except ValueError:
        return None


def rows(result, key):
    """The rows of a table; [] where the trace has no event of that family."""
    table = result.get(key)
    if isinstance(table, dict):
        table = table.get('rows')
    return table or []
