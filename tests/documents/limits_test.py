#!/usr/bin/env python3
"""usage: limits_test.py SOURCES. Every row of docs/limits.md names a constant that is there with that value, and every
constant of the host that is named like a limit has a row."""
import re
import sys
from pathlib import Path

ROW = re.compile(r"\| (?P<what>[^|]+) \| (?P<value>\d+)(?: (?P<unit>[A-Za-z]+))? \| (?P<beyond>[^|]+) \| `(?P<name>\w+)` in `(?P<path>[^`]+)` \|")
LIMIT = re.compile(r"\bconstexpr\s+[\w:<>]+\s+(k(?:Max|Most|Largest|Longest|Deepest)\w*)\s*[={]")
UNITS = {None: 1, "B": 1, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
MACROS = {"QUENCH_AVERAGING_CHUNK": "(1 << 20)"}  # sdk/include/quench/abi/kind/averaging.h


def value_of(text, name):
    """The value of a constant or a member, or None if there is none of this name."""
    found = re.search(r"\b(?:constexpr\s+[\w:<>]+|double|int)\s+%s\s*(?:=\s*([^;]+)|\{([^}]+)\});" % name, text)
    if not found:
        return None
    expression = found[1] or found[2]
    for macro, value in MACROS.items():
        expression = expression.replace(macro, value)
    expression = re.sub(r"\b(?:u?int\d*_t|uintmax_t|size_t)\{(.+?)\}", r"(\1)", expression).replace("'", "")
    expression = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", expression)
    assert re.fullmatch(r"[\d\s()<*+]+", expression), "%s = %s" % (name, expression)
    return eval(expression)


def main():
    root = Path(sys.argv[1])
    lines = [line for line in (root / "docs/limits.md").read_text().splitlines() if "` in `" in line]
    faults, listed = [], set()
    for line in lines:
        row = ROW.fullmatch(line)
        if not row:
            faults.append("not a row: " + line)
            continue
        place = (row["path"], row["name"])
        if place in listed:
            faults.append("%s has two rows" % (place,))
        listed.add(place)
        file = root / row["path"]
        got = value_of(file.read_text(), row["name"]) if file.exists() else None
        wanted = int(row["value"]) * UNITS[row["unit"]]
        if got != wanted:
            faults.append("%s: %s is %s, docs/limits.md says %d" % (*place, "not there" if got is None else got, wanted))
    for folder in "core", "run", "train", "cli":
        for file in sorted((root / folder).rglob("*.[ch]pp")):
            path = file.relative_to(root).as_posix()
            faults += ["docs/limits.md lacks `%s` in `%s`" % (name, path)
                       for name in LIMIT.findall(file.read_text()) if (path, name) not in listed]
    print("\n".join(faults) or "%d limits are as the page says" % len(listed))
    return 1 if faults or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
