#!/usr/bin/env python3
"""Reads the records of quench runs. One file, Python 3.9 or newer, nothing to install.

    import quench
    records = quench.records("runs/olmo2")             # list of dicts, one per value
    frame = quench.data_frame("runs/olmo2")            # a pandas.DataFrame with dotted columns

    python3 run_records.py runs/olmo2 > records.json   # the `data` of `quench results --json`

A line counts when its checksum holds, an evaluation when all its values are there; what was forgotten,
superseded or failed and done again does not count. What derives from values (the error of quantization
from two losses) is computed here. docs/records.md describes the fields and the rules.
Numbers without a form in JSON are "NaN", "Infinity" and "-Infinity" in the files; in `value`,
`stderr`, `seconds` and `items` they are floats here.
"""

import hashlib
import json
import math
import os
import re
import sys
import warnings

SCHEMA = 2
FIELDS = {
    "averaging", "cached", "checkpoint", "count", "details", "direction", "draw", "environment", "error", "index",
    "items", "jitter", "job", "key", "label", "metric", "parts", "quantizer", "schema", "seconds", "stderr", "unit",
    "value",
}
NOT_COMPARED = {"attempt", "cached", "family_interpreter", "family_process", "fused_tokens", "interpreter", "log",
                "metric_interpreter", "metric_process", "peak_memory_bytes", "process", "seconds", "stored_bytes", "threads", "warnings"}
# name: unit and direction of the values that it is defined for, value and scale (of the float value f and the
# quantized value q), and why the scale is 0
DERIVED = {
    "quantization_error": ("nats/token", -1, lambda f, q: q / f - 1, lambda f: f,
                           "the float loss is 0, so there is no ratio to it"),
    "relative_accuracy_drop": ("accuracy", 1, lambda f, q: (f - q) / (1 - f), lambda f: 1 - f,
                               "the float model makes no error, so there is no ratio to its errors"),
}
# what a float and a quantized value must have in common to be compared; None: the whole field
COMMON = {
    "environment": ("device", "dtype", "family", "isa"), "metric": None, "unit": None,
    "parts": ("averaging", "config", "family", "host", "metric", "seed", "tokenizer", "trajectory", "weights"),
}
NAMED = {  # what says by names what `parts` has by content; one corpus, and one checkpoint, may have two names
    "averaging": ("id", "label", "members", "params"), "label": None, "details": ("corpora", "params"),
    "checkpoint": ("branch", "commit", "model", "revision", "step", "tokens"),
}
_NAMES = (  # by which checkpoints and methods are shown, and whether they may be missing
    ("checkpoint", "model", False), ("checkpoint", "revision", True), ("checkpoint", "branch", True), ("quantizer", "label", False),
    ("averaging", "label", True))
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class NewerVersion(Exception):
    """A newer version of quench wrote this than this file knows: where, got, wanted."""

    def __init__(self, place, what, schema, wanted):
        super().__init__("%s: a newer version wrote this %s of schema %s; this one reads up to %d" % (place, what, schema, wanted))


def _unseal(name, line):
    """The body of {"<name>":<body>,"sha256":"<hex>"}, or None where it does not verify."""
    head = b'{"' + name + b'":'
    if not line.startswith(head) or len(line) < len(head) + 77 or not line.endswith(b'"}'):
        return None
    body, seal, digest = line[len(head):-77], line[-77:-66], line[-66:-2]
    if seal != b',"sha256":"' or hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    return body


def _attempts(folder, prefix, extension):
    """Paths in the order of the attempts' numbers, as the program orders them."""
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.startswith(prefix + "-") and name.endswith(extension):
            stem = name[len(prefix) + 1:len(name) - len(extension)]
            match = re.fullmatch(r"(.*)-(\d{1,18})-([0-9a-f]+)", stem)
            number, job, ident = (int(match[2]), match[1], match[2] + "-" + match[3]) if match else (0, stem, "")
            if not match and re.fullmatch(r".*-[0-9a-f]+", stem):
                job, ident = stem.rsplit("-", 1)
            found.append((number, os.fsencode(job), ident, os.fsencode(name)))
    return [os.path.join(folder, os.fsdecode(name)) for *_, name in sorted(found)]


def _tombstones(folder, damaged):
    hidden = set()
    for path in _attempts(folder, "tombstone", ".json"):
        with open(path, "rb") as file:
            body = _unseal(b"tombstone", file.read().rstrip(b"\n"))
        if body is None:
            damaged.append((path, 0, "the tombstone does not verify"))
            continue
        stone = json.loads(body)
        if stone["schema"] > 1:
            raise NewerVersion(path, "tombstone", stone["schema"], 1)
        for key, files in stone["keys"].items():
            hidden.update((file, key) for file in files)
    return hidden


def _number(value):
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _is_number(value):
    return value in _NUMBERS if isinstance(value, str) else type(value) in (int, float) and math.isfinite(value)


def _are_numbers(items):
    return set(map(type, items)) <= {int, float} and all(map(math.isfinite, items)) or all(map(_is_number, items))


def _is_count(value):
    return type(value) is int and 0 <= value < 1 << 64


def _has_text(thing, name, may_be_missing):
    text = {} if thing is None else thing.get(name)
    return isinstance(text, str) or thing is None or may_be_missing and text is None


def _has_types(record):
    """Whether the fields are of their types: a checksum is no secret, so a line may say anything."""
    texts = all(isinstance(record[name], str) for name in ("key", "label", "metric", "unit"))
    texts = texts and all(isinstance(record[name], (str, type(None))) for name in ("cached", "error"))
    objects = isinstance(record["details"], dict) and all(
        isinstance(record[name], (dict, type(None))) for name in ("averaging", "checkpoint", "environment", "parts", "quantizer"))
    counts = all(_is_count(record[name]) for name in ("count", "index", "job"))
    counts = counts and all(record[name] is None or _is_count(record[name]) for name in ("draw", "jitter"))
    numbers = _is_number(record["seconds"]) and all(record[name] is None or _is_number(record[name]) for name in ("stderr", "value"))
    items = isinstance(record["items"], list) and _are_numbers(record["items"])
    direction = type(record["direction"]) is int and abs(record["direction"]) < 1 << 63
    return texts and objects and counts and numbers and items and direction and all(
        _has_text(record[thing], name, may_be_missing) for thing, name, may_be_missing in _NAMES)


class _Line:
    def __init__(self, record, file, number):
        self.file, self.number = file, number
        if record.keys() != FIELDS or not _has_types(record):
            raise ValueError("fields")
        self.raw = record
        self.key, self.index, self.count = self.raw["key"], self.raw["index"], self.raw["count"]
        self.failed = self.raw["error"] is not None
        if not 0 <= self.index < self.count:
            raise ValueError("index")

    def cell(self):
        raw = self.raw
        if not raw["label"]:
            return None
        def member(part, *names):
            return [json.dumps((raw[part] or {}).get(name), sort_keys=True) for name in names]
        return json.dumps([raw["job"], member("checkpoint", "model", "revision", "branch"),
                           member("averaging", "label", "members"), member("quantizer", "label"),
                           raw["draw"], raw["jitter"], raw["metric"], raw["label"]])


def _read_lines(folder, damaged):
    lines = []
    for path in _attempts(folder, "records", ".jsonl"):
        with open(path, "rb") as file:
            content = file.read()
        *whole, end = content.split(b"\n")
        for number, text in enumerate(whole + [end] if end else whole, 1):
            body = _unseal(b"record", text)
            if body is None:
                if number <= len(whole):  # else a writer is making it, or was killed
                    damaged.append((path, number, "the checksum does not match"))
                continue
            try:
                record = json.loads(body)
                if record["schema"] > SCHEMA:
                    raise NewerVersion("%s:%d" % (path, number), "record", record["schema"], SCHEMA)
                if record["schema"] < SCHEMA:
                    damaged.append((path, number, "got a record of schema %s, wanted %d" % (record["schema"], SCHEMA)))
                    continue
                lines.append(_Line(record, os.path.basename(path), number))
            except (ValueError, KeyError, TypeError, AttributeError):
                damaged.append((path, number, "no record"))
    return lines


def _groups(lines, damaged):
    """Lists of lines, all values of one evaluation each."""
    groups, waiting, file, before = [], {}, None, None
    last = {}  # line number of the last damage in each file
    for path, number, _ in damaged:
        last[os.path.basename(path)] = number

    def report(group):
        if group:
            damaged.append((group[0].file, group[0].number, "incomplete"))

    def report_rest():
        for group in waiting.values():
            unfinished = group and group[-1] is before and last.get(before.file, 0) < before.number
            if not unfinished:  # else a writer is making it, or was killed
                report(group)

    for line in lines:
        if line.file != file:
            report_rest()
            waiting, file = {}, line.file
        before = line
        group = waiting.setdefault(line.key, []) if line.count > 1 else []
        if line.index != len(group):
            report(group)
            waiting[line.key] = group = []
            if line.index != 0:
                report([line])
                continue
        group.append(line)
        if len(group) == line.count:
            groups.append(group)
            waiting.pop(line.key, None)
    report_rest()
    return groups


def _compared(value):
    if isinstance(value, dict):
        return {k: _compared(v) for k, v in value.items() if k not in NOT_COMPARED and not k.endswith("_seconds")}
    return [_compared(v) for v in value] if isinstance(value, list) else value


def compared(record):
    """The record without what may differ between two computations of one value."""
    out = _compared({name: value for name, value in record.items() if name != "parts"})
    out["parts"] = record.get("parts")
    return out


def _same(a, b):
    return [compared(x.raw) for x in a] == [compared(x.raw) for x in b]


def _choose(groups, hidden, conflicts):
    """The groups that count: the rules of docs/records.md. Keys with different values in two attempts go to `conflicts`."""
    visible = [g for g in groups if (g[0].file, g[0].key) not in hidden]
    chosen, success, original = [], {}, {}
    for group in visible:
        first, fresh = group[0], True
        if any(line.failed for line in group):
            continue
        original[id(group)] = group
        for other in success.get(first.key, []) if first.key else []:
            if other[0].cell() == first.cell():
                original[id(group)] = original[id(other)]
                if _same(other, group):
                    fresh = False
                elif first.key not in conflicts:
                    conflicts.append(first.key)
        if fresh:
            chosen.append(group)
            if first.key:
                success.setdefault(first.key, []).append(group)
    usable, latest, superseded = {id(g) for g in chosen}, {}, set()
    for group in visible:
        cell = group[0].cell()
        if id(group) not in original or cell is None or id(original[id(group)]) not in usable:
            continue
        before = latest.get(cell)
        if before and before[0].key != group[0].key and before[0].file != group[0].file:
            superseded.add(id(original[id(before)]))
            superseded.discard(id(original[id(group)]))
        latest[cell] = group
    failures = {}
    for group in visible:
        if any(line.failed for line in group):
            cell = group[0].cell()
            if cell is None:
                chosen.append(group)
            elif cell not in latest:
                failures[cell] = group
    return [g for g in chosen if id(g) not in superseded] + list(failures.values())


def _text(value):
    return json.dumps(value, sort_keys=True)


def _common_ground(record):
    """All that two values must have in common to be compared; what is None is as if it were not there."""
    ground = {}
    parts = {name for name, part in (record["parts"] or {}).items() if part is not None}
    weights = bool({"averaging", "weights"} & parts)
    for field, members in {**COMMON, **NAMED}.items():
        if field in NAMED and "metric" in parts and (weights or field == "details"):
            continue
        value = record[field]
        if members is not None:
            value = {name: (value or {}).get(name) for name in members}
            value = {name: member for name, member in value.items() if member is not None}
        ground[field] = value or None
    return _text(ground)


def is_of_unit(unit, wanted):
    """Whether it is that unit, or a part of it, as "accuracy of 999 of 1000 questions" is. Values that are compared share theirs."""
    return unit == wanted or (isinstance(unit, str) and unit.startswith(wanted + " of "))


def _derivation(record):
    """The name of what derives from the record's value, or could for a float one; else None."""
    if record["index"] == 0 and record["error"] is None and record["value"] is not None:
        for name, (unit, direction, *_) in DERIVED.items():
            if is_of_unit(record["unit"], unit) and record["direction"] == direction:
                return name
    return None


def _paired_error(floating, quantized):
    """The standard error of the mean difference of paired items, or None."""
    if len(floating) < 2 or len(quantized) != len(floating):
        return None
    differences = [q - f for f, q in zip(floating, quantized)]
    mean = _sum(differences) / len(differences)
    squares = _sum((difference - mean) * (difference - mean) for difference in differences)
    return math.sqrt(squares / (len(differences) - 1) / len(differences))


def _sum(numbers):
    out = 0.0
    for number in numbers:  # one after the other, as the program adds; sum() corrects what is lost
        out += number
    return out


def _spelled(number):
    return number if math.isfinite(number) else json.dumps(number)


class Derived(dict):
    """A record that also knows the `source` that it derives from: the record of the quantized value."""

    def __init__(self, source, **fields):
        super().__init__(source, **fields)
        self.source = source


def _derive(name, floating, quantized):
    *_, value, scale, impossible = DERIVED[name]
    f, q = floating["value"], quantized["value"]
    out = Derived(quantized, cached=None, count=1, details={}, direction=-1, index=0, items=[], key="", metric=name,
                  parts=None, seconds=0.0, stderr=None, unit="1", value=None)
    if scale(f) == 0:
        out["error"] = name + ": " + impossible
        return out
    out["value"] = value(f, q)
    out["details"] = {"metric": quantized["metric"], "float": _spelled(f), "quantized": _spelled(q),
                      "delta": _spelled(q - f)}
    error = _paired_error(floating["items"], quantized["items"])
    if error is not None:
        out["details"].update(delta_stderr=_spelled(error), items=len(floating["items"]))
        out["stderr"] = error / scale(f)
    return out


def derived(records):
    """What derives from the records of a run: a float and a quantized value of the same weights each."""
    floats = {}  # common ground: point of the sweep: the first record
    for record in records:
        if record["quantizer"] is None and _derivation(record):
            floats.setdefault(_common_ground(record), {}).setdefault(record["job"], record)
    out = []
    for record in records:
        name = _derivation(record) if record["quantizer"] is not None else None
        found = floats.get(_common_ground(record)) if name else None
        if found:
            out.append(_derive(name, found.get(record["job"], found[min(found)]), record))
    return out


def read_run(folder, damaged=None, conflicts=None):
    """The records of a run that count, as dicts with every field; derived ones last.

    `damaged` may be a list; (file, line, reason) of what does not count is added to it. Without it a
    warning tells how many there are. `conflicts` may be a list for keys that hold different values in two
    attempts, of which the first counts. Raises NewerVersion and OSError.
    """
    faults = [] if damaged is None else damaged
    hidden = _tombstones(folder, faults)
    lines = _read_lines(folder, faults)
    order = {id(line): i for i, line in enumerate(lines)}
    kept = [line for group in _choose(_groups(lines, faults), hidden, [] if conflicts is None else conflicts) for line in group]
    kept.sort(key=lambda line: order[id(line)])
    if damaged is None and faults:
        warnings.warn("%s: %d lines do not count; `quench verify` lists them" % (folder, len(faults)))
    out = []
    for line in kept:
        record = dict(line.raw)
        for name in ("value", "stderr", "seconds"):
            record[name] = _number(record[name])
        record["items"] = [_number(item) for item in record["items"]]
        out.append(record)
    return out + derived(out)


def flat(record):
    """One level of dotted names: checkpoint.step, quantizer.params.bits; lists and `parts` stay."""
    out = {}

    def add(prefix, value):
        if isinstance(value, dict) and value and prefix not in ("parts", "details"):
            for name, inner in value.items():
                add(prefix + "." + name if prefix else name, inner)
        else:
            out[prefix] = value

    add("", record)
    return out


def data_frame(folder):
    """The records as a pandas.DataFrame, where pandas is installed."""
    import pandas  # noqa: PLC0415

    return pandas.DataFrame([flat(record) for record in read_run(folder)])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: run_records.py RUN...")
    json.dump({"records": [record for run in sys.argv[1:] for record in read_run(run)]}, sys.stdout,
              ensure_ascii=False, sort_keys=True)
    print()
