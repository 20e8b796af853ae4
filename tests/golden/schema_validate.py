#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON output obeys docs/result.schema.json.

schema_validate.py FILE...   these results ("-" is standard input)
schema_validate.py           every sample of tests/unit/sample_result.c, as render_sample prints it, and
                             that the schema refuses what is wrong
"""
import copy
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import suite  # noqa: E402

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

SCHEMA = os.path.join(suite.ROOT, "docs", "result.schema.json")
SAMPLE = os.environ.get("MMSCOPE_RENDER_SAMPLE", os.path.join(suite.BUILD, "tests", "unit", "render_sample"))
SAMPLES = ("full", "stock", "no_clock", "hostile", "empty")
MAX_SHOWN = 10


def unique_keys(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("a key comes twice: %s" % sorted(k for k in keys if keys.count(k) > 1)[0])
    return dict(pairs)


def no_constant(name):
    raise ValueError("%s is no JSON" % name)


def parse(text):
    """Stricter than json.loads(): no NaN, no key twice."""
    return json.loads(text, object_pairs_hook=unique_keys, parse_constant=no_constant)


def validator():
    with open(SCHEMA, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def faults(check, result):
    found = sorted(check.iter_errors(result), key=lambda e: list(map(str, e.absolute_path)))
    return ["/%s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:300]) for e in found[:MAX_SHOWN]]


def times(value, key=""):
    """(key, value) of everything that is a time or sorted by time."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from times(v, key if key.endswith("_us") else k)
    elif isinstance(value, list) and key != "buckets":
        for v in value:
            yield from times(v, key)
    elif key.endswith(("_us", "_ns")) or key == "buckets":
        yield key, value


def sample(name, *args):
    return subprocess.run([SAMPLE, "json", name, *args], check=True, stdout=subprocess.PIPE).stdout.decode()


class Samples(unittest.TestCase):
    def setUp(self):
        self.check = validator()

    def test_samples(self):
        for name in SAMPLES:
            text = sample(name)
            self.assertEqual(faults(self.check, parse(text)), [], name)
            self.assertTrue(text.endswith("}\n"), name)
            self.assertEqual(text, sample(name), name + ": two runs differ")

    def test_no_seconds_no_times(self):
        found = list(times(parse(sample("no_clock"))))
        self.assertGreater(len(found), 100)
        self.assertEqual([k for k, v in found if v is not None], [])
        self.assertTrue([k for k, v in times(parse(sample("full"))) if v is not None])

    def test_top_cuts_where_given(self):
        self.assertEqual(len(parse(sample("full"))["waits_by_thread"]), 14)
        self.assertEqual(len(parse(sample("full", "3"))["waits_by_thread"]), 3)
        self.assertEqual(len(parse(sample("full", "0"))["waits_by_thread"]), 14)

    def test_wrong_ones_are_refused(self):
        good = parse(sample("full"))
        for change in (lambda r: r.update(surplus=1), lambda r: r.pop("verdict"),
                       lambda r: r["contention"].pop("type_c_count"),
                       lambda r: r["contention"].update(type_a_count=1.5),
                       lambda r: r["mmap_lock"]["wait_durations_us"].update(min="0"),
                       lambda r: r["waits"][0].update(p50=1), lambda r: r["waits"][0].pop("p50_us"),
                       lambda r: r["waits"][0].update(approximate=0),
                       lambda r: r["waits"][0].update(buckets=[0] * 7),
                       lambda r: r["verdict"]["rules"][0].update(state="perhaps"),
                       lambda r: r["trace"]["line_classes"].update(other=1)):
            bad = copy.deepcopy(good)
            change(bad)
            self.assertNotEqual(faults(self.check, bad), [])
        self.assertRaises(ValueError, parse, '{"a": 1, "a": 2}')
        self.assertRaises(ValueError, parse, '{"a": NaN}')


def validate_files(paths):
    check, failed = validator(), 0
    for path in paths:
        try:
            with open(0 if path == "-" else path, encoding="utf-8") as f:
                found = faults(check, parse(f.read()))
        except (OSError, ValueError) as e:
            found = [str(e)]
        for line in found:
            print("%s: %s" % (path, line))
        failed += bool(found)
    print("%d passed, %d failed, 0 skipped" % (len(paths) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(validate_files(sys.argv[1:]))
    suite.main()
