#!/usr/bin/env python3
"""Writes the headers of a made-up plugin ABI 1.2: those of the SDK, where everything that may grow has grown.

    make_later_headers.py SDK_INCLUDE abi-1.0.txt planned.h.in OUT_INCLUDE

What is planned for it stands in planned.h.in: whole structs, which come before the first struct that names them, and members of structs
that are there, as `struct NAME more {...};`. Every other struct that `grows` gets a member of no use, and each table of a kind a
function.
"""
import pathlib
import re
import shutil
import sys


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    include, frozen, planned, out = map(pathlib.Path, sys.argv[1:])
    plan = planned.read_text()
    members = dict(re.findall(r"^struct (\w+) more \{\n(.*?)^\};", plan, re.M | re.S))
    new = {header: text for header, text in re.findall(r"^/\* in (\S+?):[^\n]*\*/\n(.*?)^/\* end \*/", plan, re.M | re.S)}
    grows = re.findall(r"^struct (\w+) \d+ grows$", frozen.read_text(), re.M)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(include, out)
    for path in sorted((out / "quench/abi").rglob("*.h")):
        text = path.read_text().replace("#define QUENCH_ABI_MINOR 1", "#define QUENCH_ABI_MINOR 2")
        for name in grows:
            more = members.get(name) or ("  /*: optional */\n  void (*later)(void) QUENCH_NOEXCEPT;\n" if name.endswith("_table")
                                         else "  uint64_t later;\n")
            text = text.replace(f"}} {name};", f"{more}}} {name};")
        for header, structs in new.items():
            if path == out / "quench/abi" / header:
                text = text.replace("/* ---- The table", structs + "\n/* ---- The table", 1)
        path.write_text(text)


if __name__ == "__main__":
    main()
