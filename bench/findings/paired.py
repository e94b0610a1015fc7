"""Values that a contrast of the report does not compare, over seeds, or their differences between two sets of weights: how much of
an error the curvature explains, rises in a landscape, and whether accuracy falls with the error. The statistics are those of
quench.analysis.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from quench.analysis.intervals import CONFIDENCE, detectable_errors, spread_of  # noqa: E402
from quench.analysis.statistics import rank_correlation  # noqa: E402


def flat(value, path=""):
    """{dotted path: value} of all that a point of a sweep sets."""
    if not isinstance(value, dict):
        return {path: value}
    out = {}
    for key, inner in value.items():
        out.update(flat(inner, f"{path}.{key}" if path else key))
    return out


def sweep_of(record):
    return flat((record.get("environment") or {}).get("sweep") or {})


def seed_of(record):
    found = sweep_of(record)
    return found.get("seed", found.get("train.seed", (record.get("environment") or {}).get("seed", 0)))


def method_of(record):
    return record["quantizer"]["label"] if record["quantizer"] else "float"


def averaging_of(record):
    return record["averaging"]["label"] if record["averaging"] else ""


def is_first(record):
    """The first draw in the first order, or no calibration at all."""
    return not record.get("draw") and not record.get("jitter") and record["value"] is not None and not record["error"]


def _terms(record):
    return record["details"]["slope"], record["details"]["quadratic"], record["details"]["change"]


def _landscape_rise(record):
    """The loss in the corner of the quantized weights over that in the checkpoint's own."""
    points = {point["name"]: point["loss"] for point in record["details"]["points"]}
    own = record["checkpoint"]["revision"]
    return points["quantized"] - points[own] if "quantized" in points and own in points else None


VALUES = {
    "taylor ratio": ("taylor", lambda record: _terms(record)[1] / _terms(record)[2]),
    "landscape rise": ("landscape", _landscape_rise),
}
ACCURACY = "accuracy drop with ΔCE"
UNITS = {"landscape rise": "nats/token", "taylor ratio": "1", ACCURACY: "1"}


def accuracy_with_error(records):
    """{seed: rank correlation of (float accuracy − quantized accuracy) with ΔCE over all quantized cells of that seed}."""
    found = {}
    for record in records:
        if record["metric"] in ("tasks", "validation_loss") and is_first(record):
            checkpoint = record["checkpoint"]
            weights = (record["job"], checkpoint["branch"], checkpoint["step"], averaging_of(record))
            values, place = found.setdefault((seed_of(record), weights), {}), (record["metric"], method_of(record))
            if place in values:
                raise ValueError(f"several values of {record['metric']} fit {method_of(record)} at seed {seed_of(record)}")
            values[place] = record["value"]
    points = {}
    for (seed, _), values in found.items():
        for (metric, method), accuracy in values.items():
            needed = [("tasks", "float"), ("validation_loss", method), ("validation_loss", "float")]
            if metric == "tasks" and method != "float" and all(one in values for one in needed):
                plain, loss, plain_loss = (values[one] for one in needed)
                points.setdefault(seed, []).append((loss - plain_loss, plain - accuracy))
    found = {seed: float(rank_correlation(*zip(*cells))) for seed, cells in points.items()}
    return {seed: None if math.isnan(value) else value for seed, value in found.items()}


def fits(record, where, last):
    """Whether the record is of these weights; `step: last` is the last one of its branch and point."""
    sweep = sweep_of(record)
    for key, wanted in where.items():
        if key == "averaging":
            got = averaging_of(record)
        elif key.startswith("sweep."):
            got = sweep.get(key.removeprefix("sweep."))
        else:
            got = record["checkpoint"][key]
            wanted = last.get((record["job"], record["checkpoint"]["branch"])) if wanted == "last" else wanted
        if got != wanted:
            return False
    return True


def _last_steps(records):
    out = {}
    for record in records:
        place = (record["job"], record["checkpoint"]["branch"])
        out[place] = max(out.get(place, 0), record["checkpoint"]["step"] or 0)
    return out


def of_seeds(records, pair, side, last):
    """{seed: record} of one side; raises ValueError where several records fit."""
    metric, _ = VALUES[pair["value"]]
    out = {}
    for record in records:
        if (record["metric"] == metric and is_first(record) and method_of(record) == pair.get("method", "float")
                and record["label"] == pair.get("label", record["label"]) and fits(record, pair[side], last)):
            if seed_of(record) in out:
                raise ValueError(f"several values of {pair['value']} fit {side} at seed {seed_of(record)}")
            out[seed_of(record)] = record
    return out


def detectable(stderr, n, comparisons=1):
    """The effect that an interval which holds for all comparisons at once finds in 4 of 5 samples of n."""
    return stderr * detectable_errors(n - 1, 1 - (1 - CONFIDENCE) / comparisons)


def _spread(values, comparisons):
    spread = spread_of("seeds", values)
    out = {"n": spread.n, "mean": spread.mean, "stderr": spread.stderr, "comparisons": comparisons}
    for suffix, count in (("", 1), ("_all", comparisons)):
        out[f"low{suffix}"], out[f"high{suffix}"] = spread.at(1 - (1 - CONFIDENCE) / count)
        out[f"detectable{suffix}"] = detectable(spread.stderr, spread.n, count)
    return {f"seeds.{key}": value for key, value in out.items()}


def _of_weights(records, pair):
    """{seed: the value of weights a, minus that of b where there are some}."""
    last = _last_steps(records)
    _, value = VALUES[pair["value"]]
    a = of_seeds(records, pair, "a", last)
    b = of_seeds(records, pair, "b", last) if "b" in pair else None
    out = {}
    for seed in sorted(a if b is None else set(a) & set(b)):
        of_a, of_b = value(a[seed]), 0.0 if b is None else value(b[seed])
        out[seed] = None if of_a is None or of_b is None else of_a - of_b
    return out


def row_of(records, pair, comparisons):
    """{quantity: number} of one pair; raises ValueError where it has none."""
    differences = accuracy_with_error(records) if pair["value"] == ACCURACY else _of_weights(records, pair)
    for seed, difference in differences.items():
        if difference is None:
            raise ValueError(f"seed {seed} has no {pair['value']}")
    if not differences:
        raise ValueError(f"no value of {pair['value']} fits")
    first = min(differences)
    out = {"value": differences[first]}
    if len(differences) > 1:
        out.update(_spread(list(differences.values()), comparisons))
    return out
