"""How two runs differ: their manifests, and the values of cells that both have. What `quench diff` starts.

    from quench.diff import compare, manifest_differences
    print(compare("runs/a", "runs/b").changed)
"""

import argparse
import json
import math
import os
import sys
from typing import Any, NamedTuple, Optional

from .metric_text import text_difference
from .run_records import NewerVersion, read_run
from .texts import printable
from .values import canonical, is_number

MOST_OF_A_NAME = 4096  # bytes
MOST_OF_A_VALUE = 80


class Failure(Exception):
    """What went wrong, as one line for people."""


class Difference(NamedTuple):
    path: str  # "quantizers[0].gptq.bits"
    was: Any  # None: nothing
    now: Any


class Change(NamedTuple):
    cell: str
    was: Any  # values; None if failed
    now: Any
    delta: Optional[float]
    # Of delta: over paired items if both runs have equally many, else from both standard errors as if they were
    # independent.
    stderr: Optional[float]
    paired: bool


class Comparison(NamedTuple):
    equal: int
    changed: list
    only_first: list  # names of cells
    only_second: list
    other_texts: dict  # {how values of both runs differ in what they were measured on: how many}


def manifest_differences(first, second):
    """All leaves that differ, by name. Lists of different lengths differ as a whole."""
    out = []

    def kind(value):
        return type(value) if isinstance(value, (bool, float)) else None

    def look(a, b, path):
        if isinstance(a, dict) and isinstance(b, dict):
            for name in sorted({*a, *b}):
                look(a.get(name), b.get(name), path + "." + name if path else name)
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for i, pair in enumerate(zip(a, b)):
                look(*pair, "%s[%d]" % (path, i))
        elif a != b or kind(a) is not kind(b):
            out.append(Difference(path, a, b))

    look(first, second, "")
    return out


def _manifest(run):
    path = os.path.join(run, "manifest.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except json.JSONDecodeError as failure:
            raise Failure("%s:%d:%d: %s" % (path, failure.lineno, failure.colno, failure.msg))
        except ValueError as failure:
            raise Failure("%s: %s" % (path, failure))


def _identity(record):
    """What names a cell across runs: the point, the checkpoint's name, the labels, draw and jitter."""
    def member(part, *names):
        values = record[part] or {}
        return [canonical(values[name]) if name in values else "" for name in names]

    parts = [canonical(record["job"]), *member("checkpoint", "model", "revision", "branch"),
             *member("averaging", "label", "members"), *member("quantizer", "label"),
             *(canonical(record[name]) for name in ("draw", "jitter", "metric", "label"))]
    return "\n".join([*parts, str(record["index"])])


def _cells(run):
    """{identity: record}, in the order of the identities' bytes."""
    cells = {}
    for record in read_run(run, []):
        cells.setdefault(_identity(record), record)
    return dict(sorted(cells.items(), key=lambda cell: cell[0].encode()))


def cell_name(record):
    """For people: "main step200, gptq bits=3, validation_loss"."""
    def text(part, name):
        value = (record[part] or {}).get(name)
        return value if isinstance(value, str) else ""

    out = text("checkpoint", "revision") or text("checkpoint", "model")
    if text("checkpoint", "branch"):
        out = text("checkpoint", "branch") + " " + out
    for part in "averaging", "quantizer":
        if record[part] is not None:
            out += ", " + text(part, "label")
    for name in "draw", "jitter":
        if is_number(record[name]) and record[name] != 0:
            out += " %s %s" % (name, canonical(record[name]))
    out += ", " + record["metric"]
    if record["label"] and record["label"] != record["metric"]:
        out += " (%s)" % record["label"]
    return printable(out, MOST_OF_A_NAME)


def _change(before, after):
    was, now = before["value"], after["value"]
    delta = stderr = None
    paired = False
    if is_number(was) and is_number(now):
        delta = float(now) - float(was)
        n = len(before["items"])
        if n > 1 and len(after["items"]) == n:
            differences = [b - a for a, b in zip(before["items"], after["items"])]
            mean = squares = 0.0  # one after the other: sum() corrects what is lost
            for difference in differences:
                mean += difference / n
            for difference in differences:
                squares += (difference - mean) * (difference - mean)
            stderr, paired = math.sqrt(squares / (n - 1) / n), True
        elif is_number(before["stderr"]) and is_number(after["stderr"]):
            stderr = abs(complex(before["stderr"], after["stderr"]))  # hypot of the C library, to the last bit
    return Change(cell_name(before), was, now, delta, stderr, paired)


def compare(first, second):
    """A Comparison of the runs in two folders. Raises NewerVersion and OSError."""
    before, after = _cells(first), _cells(second)
    both = [(record, after[cell]) for cell, record in before.items() if cell in after]
    changed = [_change(a, b) for a, b in both
               if a["value"] != b["value"] or (a["error"] is None) != (b["error"] is None)]
    texts = {}
    for a, b in both:
        how = text_difference(a, b) if a["index"] == 0 else ""
        if how:
            how = "%s with %s" % (a["metric"], how)
            texts[how] = texts.get(how, 0) + 1
    return Comparison(len(both) - len(changed), changed,
                      [cell_name(record) for cell, record in before.items() if cell not in after],
                      [cell_name(record) for cell, record in after.items() if cell not in before], texts)


def _spelled(value):
    """A number that JSON cannot express is a text, as in records."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def as_json(differences, values):
    """The `data` of `quench diff --json`."""
    return {"manifest": [{"path": one.path, "was": one.was, "is": one.now} for one in differences],
            "equal": values.equal,
            "changed": [{"cell": one.cell, "was": _spelled(one.was), "is": _spelled(one.now),
                         "delta": _spelled(one.delta), "stderr": _spelled(one.stderr), "paired": one.paired}
                        for one in values.changed],
            "only_first": values.only_first, "only_second": values.only_second,
            "other_texts": [{"how": how, "values": count} for how, count in values.other_texts.items()]}


def as_text(differences, values):
    """The lines of `quench diff`."""
    def leaf(value):
        return "nothing" if value is None else printable(canonical(value), MOST_OF_A_VALUE)

    def number(value):
        if not is_number(value):
            return "failed"
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else text

    lines = ["manifest  %s: %s, was %s" % (one.path, leaf(one.now), leaf(one.was)) for one in differences]
    lines += ["text      %d of %s: no difference of these values is one of the models" % (count, printable(how, MOST_OF_A_NAME))
              for how, count in values.other_texts.items()]
    for one in values.changed:
        line = "value     %s: %s, was %s" % (one.cell, number(one.now), number(one.was))
        if one.delta is not None:
            line += "; difference %.3g" % one.delta
        if one.stderr is not None:
            line += " ± %.2g%s" % (one.stderr, " (paired)" if one.paired else "")
        lines.append(line)
    lines += ["first     " + cell for cell in values.only_first] + ["second    " + cell for cell in values.only_second]
    lines.append("%d values equal, %d differ, %d only in the first run, %d only in the second" % (
        values.equal, len(values.changed), len(values.only_first), len(values.only_second)))
    return "".join(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(prog="quench diff", description=__doc__.splitlines()[0])
    parser.add_argument("first", metavar="RUN1")
    parser.add_argument("second", metavar="RUN2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    try:
        differences = manifest_differences(_manifest(options.first), _manifest(options.second))
        values = compare(options.first, options.second)
    except (Failure, NewerVersion) as failure:
        print(failure, file=sys.stderr)
        return 1
    if options.json:
        json.dump(as_json(differences, values), sys.stdout)
    else:
        sys.stdout.write(as_text(differences, values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
