#!/usr/bin/env python3
"""Holds sdk/abi.json against the C headers that it describes.

    abi_description.py sdk/include/quench/abi sdk/abi.json

Every member of every struct of the headers, and every parameter of every function pointer, is described
exactly once, under its name and in its place; nothing else is. What the types mean is checked by the
compiler, where the stubs made from the description are converted to the headers' function pointers.
"""
import json
import pathlib
import re
import sys

WIRE_TYPES = {"quench_error", "quench_tensor", "quench_device", "quench_dtype"}


def split(text, at):
    """Splits outside of parentheses."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == at and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [p for p in [*parts, part.strip()] if p and p != "void"]


def name_of(declaration):
    pointer = re.match(r".*?\(\*(\w+)\)\(", declaration)
    return pointer[1] if pointer else re.match(r".*?(\w+)(?:\[\d+\])?$", declaration)[1]


def read_headers(folder):
    """{struct: (header, [data members], {function: [parameters]})}; opaque types."""
    structs, opaque = {}, []
    for header in sorted(pathlib.Path(folder).rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^#.*$", "", text, flags=re.M).replace("QUENCH_NOEXCEPT", "")
        opaque += re.findall(r"typedef struct (\w+) \1;", text)
        for _, body, name in re.findall(r"typedef struct (\w+) \{(.*?)\n\} (\w+);", text, flags=re.S):
            members = split(" ".join(body.split()), ";")
            functions = {name_of(m): [name_of(p) for p in split(m[m.index(")(") + 2:-1], ",")]
                         for m in members if "(*" in m}
            data = [name_of(m) for m in members if "(*" not in m and m != "uint32_t struct_size"]
            structs[name] = (str(header.relative_to(folder)), data, functions)
    return structs, [name for name in opaque if name not in structs]


def differences(folder, description):
    structs, opaque = read_headers(folder)
    said = json.loads(pathlib.Path(description).read_text())
    if sorted(said["objects"]) != sorted(opaque):
        yield f"objects: {sorted(set(said['objects']) ^ set(opaque))}"
    groups = {}
    for group in ("structs", "interfaces", "tables", "services", "entry"):
        for name, one in said[group].items():
            if one.get("bare"):
                continue  # a function pointer of a parameter list
            if name in groups:
                yield f"{name}: described twice"
            groups[name] = one
    for name in sorted(set(structs) - set(groups) - WIRE_TYPES):
        yield f"{name} of {structs[name][0]}: not described"
    for name, one in groups.items():
        if name not in structs:
            yield f"{name}: in no header"
            continue
        header, data, functions = structs[name]
        if one["header"] != header:
            yield f"{name}: header {one['header']}, wanted {header}"
        fields = [f if isinstance(f, str) else f[0] for f in one.get("fields", [])]
        if fields != data and not (one.get("local") and not fields):
            yield f"{name}: members {fields}, wanted {data}"
        listed = [f if isinstance(f, str) else f["name"] for f in one.get("functions", [])]
        if listed != list(functions):
            yield f"{name}: functions {listed}, wanted {list(functions)}"
            continue
        for function in one.get("functions", []):
            if isinstance(function, dict):
                parameters = [p[0] for p in function["parameters"]]
                if parameters != functions[function["name"]]:
                    yield f"{name}.{function['name']}: parameters {parameters}, wanted {functions[function['name']]}"


def main():
    found = list(differences(*sys.argv[1:3]))
    print("\n".join(found) if found else "sdk/abi.json describes the headers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
