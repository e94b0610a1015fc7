#!/usr/bin/env python3
"""Lists the functions of each kind's table, and names all of the plugin interface, from its description.

    make_table_slots.py abi.json table_slots.hpp
"""
import json
import pathlib
import sys

HEAD = """// Made from abi.json by make_table_slots.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

"""
TYPES = """
namespace quench {

struct TableSlot {
  const char* name;
  size_t offset;
  bool optional;
  const char* group;  // of functions that are there together, or ""
};

struct TableSlots {
  const char* kind;
  size_t size;  // of the table
  std::span<const TableSlot> slots;
};

"""


NAMES = """
// The name of a function of the plugin interface: kFunctionName<&TABLE::begin>.
template <auto Function>
inline constexpr const char* kFunctionName = nullptr;
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    abi = json.loads(pathlib.Path(sys.argv[1]).read_text())
    tables = {name: table for name, table in abi["tables"].items() if "kind" in table}
    named = {name: one for name, one in {**abi["tables"], **abi["interfaces"]}.items() if not one.get("bare")}
    lines, rows = [], []
    for name, table in tables.items():
        lines.append(f"inline constexpr TableSlot kSlots_{table['kind']}[] = {{")
        for function in table["functions"]:
            optional = function.get("optional", False)
            group = optional if isinstance(optional, str) else ""
            lines.append(f'    {{"{function["name"]}", offsetof({name}, {function["name"]}), '
                         f'{"true" if optional else "false"}, "{group}"}},')
        lines.append("};")
        rows.append(f'    {{"{table["kind"]}", sizeof({name}), kSlots_{table["kind"]}}},')
    includes = "".join(f'#include "quench/abi/{header}"\n' for header in sorted({one["header"] for one in named.values()}))
    text = HEAD + includes + TYPES + "\n".join([*lines, "inline constexpr TableSlots kTableSlots[] = {", *rows, "};\n"])
    text += NAMES + "".join(f'template <>\ninline constexpr const char* kFunctionName<&{name}::{function["name"]}> = '
                            f'"{function["name"]}";\n' for name, one in named.items() for function in one["functions"])
    path = pathlib.Path(sys.argv[2])
    text += "\n}  // namespace quench\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main()
