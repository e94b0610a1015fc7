#!/usr/bin/env python3
"""Writes what holds of every struct of the plugin interface: it begins with its size, and its members lie where the promise of
a released version says, in C and in C++.

    make_layout.py abi.json abi-1.0.txt struct_sizes.h
"""
import json
import pathlib
import re
import sys


def promises(lines):
    """Assertions on structs that a file of sdk/freeze_abi.py names."""
    name = None
    for line in lines:
        words = line.split()
        if words[0] == "struct":
            name, compare = words[1], {"fixed": "==", "grows": ">="}[words[3]]
            yield f'static_assert(sizeof({name}) {compare} {words[2]}, "{name} has another size");'
        elif line.startswith("  "):
            member = re.search(r"\(\*(\w+)\)|(\w+)(?:\[\d+\])?$", line)
            member = member[1] or member[2]
            yield f'static_assert(offsetof({name}, {member}) == {words[0]}, "{name}: {member} lies elsewhere");'


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    abi = json.loads(pathlib.Path(sys.argv[1]).read_text())
    structs = {"quench_error": {"header": "status.h"}}
    for group in ("structs", "interfaces", "tables", "services", "entry"):
        structs.update({name: one for name, one in abi[group].items() if not one.get("bare")})
    lines = ["/* Made from abi.json by make_layout.py. */"]
    lines += [f'#include "quench/abi/{header}"' for header in sorted({one["header"] for one in structs.values()})]
    lines += [f'static_assert(offsetof({name}, struct_size) == 0, "{name} does not begin with its size");'
              for name in structs]
    lines += promises(pathlib.Path(sys.argv[2]).read_text().splitlines())
    path = pathlib.Path(sys.argv[3])
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main()
