"""A run that several machines measure in parts: `collect --add` joins what one measured with the file that is there.

Parts have other seeds or other points, and the same text: a number that both have has to be the same. Contrasts are of all seeds at once and
cannot be joined; a run that has some is joined before, by `quench merge`.
"""

import csv
import sys

import long_table

PLACE = ("table", "point", "branch", "averaging", "step", "method", "seed", "quantity")


def _place(row):
    return tuple("" if row.get(key) is None else str(row[key]) for key in PLACE)


def joined(path, tests, head, rows):
    """(head, rows) of a part, and of the file that is there."""
    if any(test.contrasts for test in tests):
        sys.exit(f"collect: {path.stem} has contrasts, which are of all seeds at once; join the folders of its runs by `quench merge`, and collect that")
    earlier = long_table.Results(path)
    if earlier.where(table="contrast") or earlier.where(table="problem"):
        sys.exit(f"collect: {path} has contrasts; wanted a file without, to add to")
    if earlier.head.get("text") != head.get("text"):
        sys.exit(f"collect: {path} is of the text {earlier.head.get('text')}, this run of {head.get('text')}: wanted the same text")
    own, kept = {_place(row): row["value"] for row in rows}, []
    for row in earlier.rows:
        place, value = _place(row), long_table.number_text(row["value"])
        if own.get(place, value) != value:
            sys.exit(f"collect: {path} has {value} at {' '.join(filter(None, place))}, this run {own[place]}: wanted the same number")
        kept += [{**row, "value": value}] if place not in own else []

    def both(key):
        return "; ".join(dict.fromkeys([*earlier.head[key].split("; "), *head[key].split("; ")]))
    out = {**earlier.head, **head, **{key: both(key) for key in ("command", "program", "processor")},
           "date": max(earlier.head["date"], head["date"]), "began": min(one.get("began", one["date"]) for one in (earlier.head, head))}
    return out, kept + rows


def joined_units(path, lines):
    """The same of a file of data/documents, as it was where the part has no units."""
    with open(path, encoding="utf-8", newline="") as file:
        earlier = list(csv.reader(file))
    if not lines:
        return earlier
    if earlier[:2] != [list(map(str, line)) for line in lines[:2]]:
        sys.exit(f"collect: {path} has other units than this run: wanted the same text")
    own = {tuple(map(str, line[:6])): [str(one) for one in line[6:]] for line in lines[2:]}
    for line in earlier[2:]:
        if own.get(tuple(line[:6]), line[6:]) != line[6:]:
            sys.exit(f"collect: {path} has other sums at {' '.join(filter(None, line[:6]))} than this run: wanted the same numbers")
    return lines[:2] + [line for line in earlier[2:] if tuple(line[:6]) not in own] + lines[2:]
