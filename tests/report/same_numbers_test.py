#!/usr/bin/env python3
"""The report in Python is that of the program, to 1e-9: its JSON (findings, contrasts, cells, failures, health) and its CSV files.

    same_numbers_test.py SOURCE PROGRAM [RUN]...
"""
import csv
import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, PROGRAM = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "python/tests"), str(SOURCE / "tests/support")]
if not all(map(importlib.util.find_spec, ("numpy", "scipy"))):
    print("SKIPPED: %s has no numpy or no scipy" % sys.executable)
    sys.exit(77)

import made_run  # noqa: E402
from quench.report import Report  # noqa: E402
from tiny_run import TinyRun  # noqa: E402

TOLERANCE = 1e-9


def differences(theirs, ours, where=""):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(set(theirs) | set(ours)):
            if name not in theirs or name not in ours:
                yield "%s.%s: only in %s" % (where, name, "the report" if name in theirs else "Python")
            else:
                yield from differences(theirs[name], ours[name], where + "." + name)
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            yield "%s: %d entries, Python has %d" % (where, len(theirs), len(ours))
        for i, (one, other) in enumerate(zip(theirs, ours)):
            yield from differences(one, other, "%s[%d]" % (where, i))
    elif isinstance(theirs, float) or isinstance(ours, float):
        if not (isinstance(theirs, (int, float)) and isinstance(ours, (int, float))
                and (abs(theirs - ours) <= TOLERANCE * abs(theirs) + 1e-13 or (theirs != theirs and ours != ours))):
            yield "%s: %r, Python has %r" % (where, theirs, ours)
    elif theirs != ours:
        yield "%s: %r, Python has %r" % (where, theirs, ours)


def table(text):
    def value(name, field):
        return float(field) if name in ("x", "y", "low", "high", "z") and field else field
    return [{name: value(name, field) for name, field in row.items()} for row in csv.DictReader(io.StringIO(text))]


def figure_differences(folder, report):
    with tempfile.TemporaryDirectory() as files:
        subprocess.run([PROGRAM, "report", folder, "--format", "csv", "-o", files], stdout=subprocess.DEVNULL, check=True)
        theirs = {path.stem: path.read_text(encoding="utf-8") for path in Path(files).glob("*.csv")}
    ours = {figure.name: report.cells.csv() if figure.kind == "table" else figure.csv() for figure in report.figures}
    if set(theirs) != set(ours):
        yield "figures: %s, Python has %s" % (sorted(theirs), sorted(ours))
    for name in sorted(set(theirs) & set(ours)):
        yield from differences(table(theirs[name]), table(ours[name]), name)


def check(folder):
    done = subprocess.run([PROGRAM, "report", folder, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s: %s" % (folder, done.stderr))
    theirs, report = json.loads(done.stdout)["data"], Report(folder)
    ours = json.loads(json.dumps(report.json()))
    found = [text for name in sorted(set(theirs) | set(ours)) for text in differences(theirs.get(name), ours.get(name), name)]
    found += list(figure_differences(folder, report))
    for text in found[:40]:
        print("%s: %s" % (folder, text))
    theirs = theirs["contrasts"]
    rows = sum(len(contrast["rows"]) for contrast in theirs)
    print("%s: %d contrasts, %d rows, %d spreads, %d problems, %d differences" % (
        os.path.basename(folder), len(theirs), rows, sum(len(row["spreads"]) for each in theirs for row in each["rows"]),
        sum(len(contrast["problems"]) for contrast in theirs), len(found)))
    return not found


def manifest(contrasts):
    return {"name": "made", "report": {"contrasts": contrasts, "figures": made_run.FIGURES}}


def with_holes(run, share, seed):
    """The run without some of its records and with some that failed."""
    chance = random.Random(seed)
    run.records = [record for record in run.records if chance.random() > share]
    for record in run.records:
        if chance.random() < share / 3:
            record.update(value=None, items=[], error="it failed", details={})
    return run


def made(folder):
    demo, seeds = manifest(made_run.DEMO_CONTRASTS), manifest(made_run.SEED_CONTRASTS)
    for name, run, report in (
            ("demo", made_run.demo(), demo),
            ("documents", made_run.demo(documents=24, draws=1, jitter=0), demo),
            ("no_items", made_run.demo(items=0), demo),
            ("holes", with_holes(made_run.demo(), 0.15, 1), demo),
            ("two_texts", made_run.two_texts(), demo),
            ("large_holes", with_holes(made_run.demo(documents=12), 0.4, 2), demo),
            ("sweep", made_run.sweep(), seeds),
            ("sweep_with_holes", with_holes(made_run.sweep(seeds=2, both=True), 0.2, 3), seeds)):
        yield run.write(os.path.join(folder, name), report)


def earlier(folder):
    """A run that an earlier version computed."""
    run = shutil.copytree(SOURCE / "tests/data/earlier_store/run", os.path.join(folder, "earlier"))
    with open(os.path.join(run, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest([{"a": "soup", "b": "members"}, {"a": "soup", "b": "raw", "at": "last", "of": "loss"},
                            {"a": {"bits": 3}, "b": {"bits": 4}}, {"a": {"bits": 4}, "b": {"bits": 3}, "of": "loss"},
                            {"a": {"bits": 3}, "statistic": "rank_correlation", "over": "step"}]), file)
    return run


def computed(folder):
    """A run that the program computes."""
    run = TinyRun(SOURCE, PROGRAM.parent.parent, folder, text_bytes=4000)
    run.write_manifest({})
    with open(run.folder / "m.yaml", "a", encoding="utf-8") as file:
        file.write("report:\n  contrasts:\n"
                   "    - {a: {bits: 2}, b: {bits: 3}}\n"
                   "    - {a: {bits: 2}, b: {bits: 4}, at: last, of: loss}\n"
                   "    - {a: {bits: 2}, b: {bits: 4}, statistic: largest_over_smallest}\n"
                   "    - {a: {bits: 2}, statistic: rank_correlation, over: step}\n")
    run.quench("run", "m.yaml")
    return run.folder / "runs/m"


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = [check(run) for run in [*made(folder), earlier(folder), computed(folder), *sys.argv[3:]]]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
