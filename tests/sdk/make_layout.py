#!/usr/bin/env python3
"""Writes what holds of every struct of the plugin interface: it begins with its size, in C and in C++.

    make_layout.py abi.json struct_sizes.h
"""
import json
import pathlib
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    abi = json.loads(pathlib.Path(sys.argv[1]).read_text())
    structs = {"quench_error": {"header": "status.h"}}
    for group in ("structs", "interfaces", "tables", "services", "entry"):
        structs.update({name: one for name, one in abi[group].items() if not one.get("bare")})
    lines = ["/* Made from abi.json by make_layout.py. */"]
    lines += [f'#include "quench/abi/{header}"' for header in sorted({one["header"] for one in structs.values()})]
    lines += [f'static_assert(offsetof({name}, struct_size) == 0, "{name} does not begin with its size");'
              for name in structs]
    path = pathlib.Path(sys.argv[2])
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main()
