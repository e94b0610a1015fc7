"""The values that a page shows of a manifest, `NAME.expected.json` beside `NAME.yaml`, and whether a run has them.

    {"page": "README.md", "manifest": "<sha256>", "values": {"late step1200, gptq bits=3": {"avx2": 1.04154, ...}, ...}}

`values` has every cell by the instruction set that computed it. `manifest` is manifest_hash() of what the page ran: a run with other
settings has nothing to be compared with.
"""

import hashlib
import json
import os

from ..analysis.dimensions import value_text
from ..values import canonical, member

_MOVE_NO_VALUE = ("cluster", "name", "report", "storage")


def manifest_hash(manifest):
    """Of a manifest as the run has it, without the sections that move no value."""
    kept = {name: value for name, value in manifest.items() if name not in _MOVE_NO_VALUE}
    return hashlib.sha256(canonical(kept).encode()).hexdigest()


def cell_values(observations):
    """({cell: value}, the instruction set), None for the set where there is none or more than one."""
    values, sets = {}, set()
    for it in observations:
        parts = ["%s %s" % (it["branch"], it["checkpoint"]) if it["branch"] else it["checkpoint"], it["averaging"],
                 "float" if it.is_float else it["label"]]
        values[", ".join(value_text(part) for part in parts if part is not None)] = it.value
        sets.add(member(it.record["environment"], "isa"))
    return values, sets.pop() if len(sets) == 1 else None


def _read(manifest):
    """The table beside a manifest, None without one."""
    try:
        with open(os.path.splitext(manifest or "")[0] + ".expected.json", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def agreement(run, manifest):
    """A sentence on whether the run has the values that the table beside `manifest`, a path, names; "" without such a table."""
    table = _read(manifest)
    if not isinstance(table, dict) or table.get("manifest") != manifest_hash(run.manifest):
        return ""
    page, wanted = table["page"], table["values"]
    got, isa = cell_values(run.observations)
    sets = sorted({name for cell in wanted.values() for name in cell})
    if isa not in sets:
        return "%s has the values of %s; this run computed with %s." % (page, ", ".join(sets), isa or "several instruction sets")
    missing = [cell for cell in wanted if cell not in got]
    if missing:
        return "%d of the %d values of %s are not here, the first: %s." % (len(missing), len(wanted), page, missing[0])
    other = [cell for cell in wanted if got[cell] != wanted[cell][isa]]
    if other:
        return "%d of %d values are not those of %s for %s, the first: %s: got %r, wanted %r." % (
            len(other), len(wanted), page, isa, other[0], got[other[0]], wanted[other[0]][isa])
    return "All %d values are those of %s for %s, to the last digit." % (len(wanted), page, isa)
