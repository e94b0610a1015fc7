#!/usr/bin/env python3
"""The report has the numbers that the report in C++ had, to 1e-9: its JSON (contrasts, cells, failures, health) and its CSV files.
Findings, summaries and sentences have other words since, and rows do not say a thing twice; the strip under a panel joined checkpoints where it now has the schedule. Spreads over
items average the seeds first, where that report had those of the first seed; at equal loss a note says how far lines reach. Intervals of
resamples are as wide as those of means since, so of such spreads only the sample and the mean are compared.

    same_numbers_test.py SOURCE

tests/data/report holds what that report wrote of runs that are made here, every seventh entry of each long list. The whole of them
was compared before it was deleted: 10 runs, 2437 rows, 3583 spreads and 314 refusals, without a difference.
"""
import csv
import gzip
import importlib.util
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE = Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "python/tests")]
if not all(map(importlib.util.find_spec, ("numpy", "scipy"))):
    print("SKIPPED: %s has no numpy or no scipy" % sys.executable)
    sys.exit(77)

import made_run  # noqa: E402
import numpy as np  # noqa: E402
from quench.analysis import contrasts, statistics  # noqa: E402
from quench.analysis.figures import training  # noqa: E402
from quench.analysis.spec import Spec  # noqa: E402
from quench.report import Report  # noqa: E402

training.schedules = lambda run, observations: {}


def largest_over_smallest(values):
    """What that report had in the place of last_minus_first, without a unit."""
    low, high = values.min(-1), values.max(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((low > 0) & (values.shape[-1] >= 2), high / low, np.nan)


statistics.last_minus_first, Spec.has_unit = largest_over_smallest, Spec.is_difference
contrasts._first_and_last = lambda pairs: (pairs, "")
OTHER_WORDS = {"key", "findings", "summary", "sentence"}  # a record's key is a hash of what made_run says of it
SAID_SINCE = {"degrees_of_freedom"}
WIDER_NOW = {"deviation", "stderr", "interval", "simultaneous", "detectable"}

SAID_NOW = (("No spread over validation items: the cells", "No interval over items: the cells"), ("No spread over validation items", "No interval over blocks"),
            ("over validation items", "over blocks"), ("whatever the seed does not decide: training, if the", "what all seeds share: the training, where the"), (r"\baveraging (?=lawa|soup)", ""), (", validation_loss block=16", ""),
            (r"\b(\d) bits, (?=.*bits=\1)", ""),  # a label says its bits
            ("largest_over_smallest", "last_minus_first"), ("no largest over smallest: it needs 2 pairs, and every difference above 0", "no rank correlation: it needs 3 pairs, and values that differ"))
BRIDGED = re.compile(r"; lines between two checkpoints bridge up to \S+ nats per token")
TOLERANCE = 1e-9
SHORT, STEP = 8, 7  # lists that are longer keep every seventh entry


def as_said_now(text):
    for before, now in SAID_NOW:
        text = re.sub(before, now, text)
    return sorted(text.split(", "))  # an average stands behind its checkpoint


def differences(theirs, ours, where=""):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted((set(theirs) | set(ours)) - OTHER_WORDS - SAID_SINCE):
            if name not in theirs or name not in ours:
                yield "%s.%s: only in %s" % (where, name, "the fixture" if name in theirs else "the report")
            else:
                yield from differences(theirs[name], ours[name], where + "." + name)
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            yield "%s: %d entries, got %d" % (where, len(theirs), len(ours))
        for i, (one, other) in enumerate(zip(theirs, ours)):
            yield from differences(one, other, "%s[%d]" % (where, i))
    elif isinstance(theirs, float) or isinstance(ours, float):
        if not (isinstance(theirs, (int, float)) and isinstance(ours, (int, float))
                and (abs(theirs - ours) <= TOLERANCE * abs(theirs) + 1e-13 or (theirs != theirs and ours != ours))):
            yield "%s: %r, got %r" % (where, theirs, ours)
    elif theirs != ours and (not isinstance(theirs, str)
                             or as_said_now(theirs) != sorted(BRIDGED.sub("", ours).split(", "))):
        yield "%s: %r, got %r" % (where, theirs, ours)


def comparable(value):
    """Without what rows over several seeds say of items, and without the widths of resamples."""
    if isinstance(value, dict):
        if value.get("way") == "resampled":
            return {name: inner for name, inner in value.items() if name not in WIDER_NOW}
        of_seeds = any(isinstance(one, dict) and one.get("kind") == "seeds" for one in value.get("spreads") or ())
        return {name: [one for one in inner if one["kind"] != "items"] if of_seeds and name == "spreads" else comparable(inner)
                for name, inner in value.items() if not (of_seeds and name == "sentence")}
    return list(map(comparable, value)) if isinstance(value, list) else value


def table(text):
    def value(name, field):
        return float(field) if name in ("x", "y", "low", "high", "z") and field else field
    return [{name: value(name, field) for name, field in row.items()} for row in csv.DictReader(io.StringIO(text))]


def thinned(value):
    """Long lists as {"length": n, "some": every seventh entry}."""
    if isinstance(value, dict):
        return {name: thinned(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    return list(map(thinned, value)) if len(value) <= SHORT else {"length": len(value), "some": list(map(thinned, value[::STEP]))}


def written(report):
    """All that the report has, as the fixtures hold it."""
    csvs = {figure.name: report.cells.csv() if figure.kind == "table" else figure.csv() for figure in report.figures}
    return thinned({"json": json.loads(json.dumps(report.json())), "csv": {name: table(text) for name, text in csvs.items()}})


def check(folder):
    with gzip.open(SOURCE / "tests/data/report" / (os.path.basename(folder) + ".json.gz"), "rt", encoding="utf-8") as file:
        found = list(differences(*map(comparable, (json.load(file), written(Report(folder))))))
    for text in found[:40]:
        print("%s: %s" % (folder, text))
    print("%s: %d differences" % (os.path.basename(folder), len(found)))
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
            ("large_holes", with_holes(made_run.demo(documents=12), 0.4, 2), demo),
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = [check(run) for run in [*made(folder), earlier(folder)]]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
