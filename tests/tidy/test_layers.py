#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every #include "layer/file.h" in src obeys the layer table."""
import re

import tidy

# The layers, and what each may include beside itself. docs/ARCHITECTURE.md explains them.
ANALYSER = ("base", "wire", "sys", "source", "decode", "model", "analysis", "result", "render")
MAY_USE = {
    "base": (),
    "wire": (),
    "sys": ("base",),
    "source": ("base", "sys", "wire"),
    "decode": ("base", "wire", "model"),
    "model": ("base", "wire"),
    "analysis": ("base", "model", "result"),
    "result": ("base",),
    "render": ("base", "result", "model"),
    "bpf": ("wire",),
    "live": ("base", "sys", "wire", "bpf"),
    "session": ANALYSER + ("live",),
    "cli": ANALYSER + ("live", "session"),
}
EVERYBODY = ("base/types.h",)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
SYSTEM_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>", re.M)
# Libraries that stand for a layer: only live, and the programs in bpf, may load BPF or write tracefs.
LIVE_ONLY = re.compile(r"^(bpf|tracefs|traceevent|trace-cmd)/|^(tracefs|event-parse)\.h$")


def check_layer(path, text):
    found = []
    layer = path.split("/")[1]
    if layer not in MAY_USE:
        return [(1, "src/%s is no layer" % layer)]
    for match in INCLUDE.finditer(text):
        name, line = match.group(1), tidy.line_of(text, match.start())
        other = name.split("/")[0]
        if "/" not in name or other not in MAY_USE:
            found.append((line, '"%s": write "layer/file.h"' % name))
        elif other != layer and other not in MAY_USE[layer] and name not in EVERYBODY:
            found.append((line, "%s may not include %s" % (layer, name)))
    for match in SYSTEM_INCLUDE.finditer(text):
        if layer not in ("live", "bpf") and LIVE_ONLY.search(match.group(1)):
            found.append((tidy.line_of(text, match.start()),
                          "only live may include <%s>" % match.group(1)))
    return found


RULES = [
    tidy.Rule("layers", tidy.is_source, check_layer,
              bad=[("src/model/a.c", '#include "decode/format.h"\n'),
                   ("src/decode/a.c", '#include "source/source.h"\n'),
                   ("src/analysis/a.c", 'int x;\n  #  include "render/render.h"\n'),
                   ("src/base/a.h", '#include "wire/event.h"\n'),
                   ("src/base/a.c", '#include "map.h"\n'),
                   ("src/base/a.c", '#include "../wire/event.h"\n'),
                   ("src/utils/a.c", "int x;\n"),
                   ("src/sys/a.c", "#include <tracefs.h>\n"),
                   ("src/bpf/a.bpf.h", '#include "base/vec.h"\n'),
                   ("src/cli/a.c", "#include <bpf/libbpf.h>\n")],
              good=[("src/decode/a.c", '#include "model/stack.h"\n#include <string.h>\n'),
                    ("src/wire/a.h", '#include "base/types.h"\n'),
                    ("src/live/a.c", "#include <bpf/libbpf.h>\n"),
                    ("src/bpf/a.bpf.h", "#include <bpf/bpf_helpers.h>\n"),
                    ("src/cli/a.c", '#include "session/session.h"\n')]),
]
Rules = tidy.rule_tests(RULES)

if __name__ == "__main__":
    tidy.suite.main()
