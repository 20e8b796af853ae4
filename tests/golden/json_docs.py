#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/JSON.md and docs/result.schema.json name exactly the keys and columns that the program has.

json_docs.py             judges
json_docs.py --update    rewrites the generated parts of both from the program's own tables
The tables come from tests/unit/dump_tables, which prints table_defs, sections and line classes.
"""
import collections
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import suite  # noqa: E402

DOC = os.path.join(suite.ROOT, "docs", "JSON.md")
SCHEMA = os.path.join(suite.ROOT, "docs", "result.schema.json")
DUMP = os.environ.get("MMSCOPE_DUMP_TABLES", os.path.join(suite.BUILD, "tests", "unit", "dump_tables"))

COUNT = {"type": ["integer", "null"], "minimum": 0}
SHAPES = {
    "count": COUNT, "us": COUNT, "ns": COUNT, "bytes": COUNT,
    "hex": {"type": ["string", "null"], "pattern": "^0x[0-9a-f]+$"},
    "string": {"type": ["string", "null"]},
    "percent": {"type": ["number", "null"], "minimum": 0},
    "flag": {"type": ["boolean", "null"]},
    "buckets": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0},
                "minItems": 8, "maxItems": 8},
}
Table = collections.namedtuple("Table", "key section title doc columns")
Column = collections.namedtuple("Column", "key kind doc")


class Program:
    """What dump_tables prints."""

    def __init__(self, text):
        self.sections, self.classes, self.tables = [], [], []
        for line in text.splitlines():
            what, *fields = line.split("\t")
            if what == "section":
                self.sections.append(fields[0])
            elif what == "class":
                self.classes.append((fields[0], fields[1] == "1", fields[2]))
            elif what == "table":
                self.tables.append(Table(*fields, []))
            elif what == "column":
                assert self.tables[-1].key == fields[0], line
                self.tables[-1].columns.append(Column(*fields[1:]))
            else:
                raise ValueError(line)


def load_program():
    return Program(subprocess.run([DUMP], check=True, stdout=subprocess.PIPE,
                                  universal_newlines=True).stdout)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cell(text):
    return text.replace("|", "\\|")


def markdown_classes(program):
    lines = ["| line class | understood | is |", "|---|---|---|"]
    for key, skipped, doc in program.classes:
        lines.append("| `%s` | %s | %s |" % (key, "no" if skipped else "yes", cell(doc)))
    return "\n".join(lines) + "\n"


def markdown_tables(program):
    lines = []
    for table in program.tables:
        lines += ["### %s" % table.key, "",
                  "%s: %s. Section `%s`." % (table.title, table.doc, table.section), "",
                  "| column | is |", "|---|---|"]
        lines += ["| `%s` | %s |" % (column.key, cell(column.doc)) for column in table.columns]
        lines.append("")
    return "\n".join(lines)


def with_generated(text, program):
    """The document with its generated parts as they should be."""
    for name, body in (("line classes", markdown_classes(program)), ("tables", markdown_tables(program))):
        part = re.compile(r"(<!-- %s: [^\n]*-->\n).*?(<!-- end -->)" % name, re.S)
        text, n = part.subn(lambda m: m.group(1) + body + m.group(2), text)
        if n != 1:
            raise ValueError("no part %s in JSON.md" % name)
    return text


def table_schema(table):
    return {"description": "%s: %s" % (table.title, table.doc), "type": ["array", "null"], "items": {
        "type": "object", "additionalProperties": False, "required": [c.key for c in table.columns],
        "properties": {c.key: dict(description=c.doc, **SHAPES[c.kind]) for c in table.columns}}}


def update_schema(schema, program):
    """Sets what comes from the program's tables; the rest of the schema is written by hand."""
    tables = {t.key: table_schema(t) for t in program.tables}
    keys = [k for k, v in schema["properties"].items() if k in schema["required"] or "$ref" in v]
    schema["properties"] = {k: schema["properties"][k] for k in keys}
    schema["properties"].update(tables)
    trace = schema["properties"]["trace"]["properties"]
    trace["line_classes"] = {
        "type": "object", "additionalProperties": False,
        "properties": {key: {"type": "integer", "minimum": 0} for key, _, _ in program.classes}}
    trace["not_covered"] = {
        "type": "object", "additionalProperties": False,
        "properties": {key: {"type": ["string", "null"]} for key in tables}}
    trace["rows_left_out"] = {
        "type": "object", "additionalProperties": False,
        "properties": {key: {"type": "integer", "minimum": 1} for key in tables}}
    return schema


def schema_text(schema):
    return json.dumps(schema, indent=1) + "\n"


def hand_written_keys(schema):
    """Every key of the schema that the generated parts do not bring."""
    keys = set()
    todo = [schema["properties"][k] for k in schema["required"]] + list(schema["definitions"].values())
    keys.update(schema["required"])
    while todo:
        node = todo.pop()
        for key, value in node.get("properties", {}).items():
            keys.add(key)
            if key not in ("line_classes", "not_covered", "rows_left_out"):
                todo.append(value)
        if "items" in node:
            todo.append(node["items"])
    return keys


def undocumented(text, keys):
    return sorted(k for k in keys if "`%s`" % k not in text)


class Docs(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.program = load_program()
        self.doc, self.schema = read(DOC), json.loads(read(SCHEMA))

    def test_program_has_tables(self):
        self.assertGreater(len(self.program.tables), 10)
        self.assertGreater(len(self.program.classes), 5)
        sections = set(self.program.sections)
        for table in self.program.tables:
            self.assertIn(table.section, sections, table.key)
            keys = [c.key for c in table.columns]
            self.assertEqual(len(keys), len(set(keys)), table.key)

    def test_doc_tables(self):
        self.assertEqual(self.doc, with_generated(self.doc, self.program), "json_docs.py --update")

    def test_schema_tables(self):
        want = update_schema(json.loads(read(SCHEMA)), self.program)
        self.assertEqual(read(SCHEMA), schema_text(want), "json_docs.py --update")

    def test_doc_names_every_key(self):
        headings = set(re.findall(r"^## (\w+)$", self.doc, re.M))
        keys = hand_written_keys(self.schema) - headings
        self.assertEqual(undocumented(self.doc, keys), [])

    def test_doc_names_no_other_key(self):
        by_hand = self.doc[:self.doc.index("## Tables")]
        by_hand = re.sub(r"<!-- line classes.*?<!-- end -->", "", by_hand, flags=re.S)
        named = set()
        for first in re.findall(r"^\| (`[^|]*`) \|", by_hand, re.M):
            named.update(re.findall(r"`(\w+)`", first))
        self.assertEqual(sorted(named - hand_written_keys(self.schema)), [])

    def test_can_fail(self):
        self.assertEqual(undocumented("a `b` c", {"b", "c"}), ["c"])
        other = Program("table\tt\ts\tT\td\ncolumn\tt\tx_us\tus\tdoc\n")
        self.assertNotEqual(with_generated(self.doc, other), self.doc)
        self.assertNotEqual(update_schema(json.loads(read(SCHEMA)), other), self.schema)


def update():
    program = load_program()
    doc = with_generated(read(DOC), program)
    schema = schema_text(update_schema(json.loads(read(SCHEMA)), program))
    for path, text in ((DOC, doc), (SCHEMA, schema)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        suite.main()
