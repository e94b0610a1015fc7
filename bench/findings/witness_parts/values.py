"""The values of the files of results, and one function for each measure: {seed: number} at a place (point, branch, averaging, step)."""

import csv
import functools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats

MEASURED = ("loss", "taylor", "curvature", "accuracy", "decomposition")


@dataclass
class Units:
    """Positions, or questions, scored of each unit of a text, and {(place, method): {seed: Σ of each}}."""
    scored: np.ndarray
    sums: dict
    kind: str  # what a unit is: a document, a run of blocks, a group of questions

    @functools.cached_property
    def left(self):
        """{(place, method): {seed: the mean over the text without each unit}}."""
        others = self.scored.sum() - self.scored
        return {key: {seed: (sums.sum() - sums) / others for seed, sums in of_seeds.items()} for key, of_seeds in self.sums.items()}


@dataclass
class File:
    """One file of results."""
    path: Path
    head: dict        # what stands above the table
    rows: list
    values: dict = field(default_factory=dict)     # {(place, method, quantity): {seed: number}}
    contrasts: dict = field(default_factory=dict)  # {(test, contrast, row): {quantity: number, and "unit"}}
    units: dict = field(default_factory=dict)      # {quantity: Units}

    @property
    def seeds(self):
        return sorted({int(row["seed"]) for row in self.rows if row["seed"]})


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    above = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
    out = File(path, {key: value for key, _, value in above}, list(csv.DictReader(line for line in lines if not line.startswith("# "))))
    values, contrasts = defaultdict(dict), defaultdict(dict)
    for row in out.rows:
        if row["table"] == "contrast":
            contrasts[row["test"], row["contrast"], row["row"]].update({row["quantity"]: float(row["value"]), "unit": row["unit"]})
        elif row["table"] in MEASURED:
            place = (row["point"], row["branch"], row["averaging"], int(row["step"]))
            values[place, row["method"], row["quantity"]][int(row["seed"])] = float(row["value"])
    out.values, out.contrasts = dict(values), dict(contrasts)
    for quantity, end in (("loss", ".csv"), ("accuracy", ".questions.csv")):
        of_units = path.parent / f"documents/{path.stem}{end}"
        if of_units.exists():
            out.units[quantity] = read_units(of_units)
    return out


def read_units(path):
    found = defaultdict(dict)
    with open(path, encoding="utf-8", newline="") as file:
        head, scored, *rows = list(csv.reader(file))
    for point, branch, averaging, step, method, seed, *sums in rows:
        found[(point, branch, averaging, int(step)), method][int(seed)] = np.array(sums, float)
    return Units(np.array(scored[6:], float), dict(found), head[6].split(" ")[0])


def paired(function, *series):
    return {seed: function(*(one[seed] for one in series)) for seed in sorted(set.intersection(*map(set, series)))}


def float_loss(values, place, method):
    return values[place, "float", "loss"]


def loss(values, place, method):
    return values[place, method, "loss"]


def error(values, place, method):
    return paired(lambda q, f: q - f, loss(values, place, method), float_loss(values, place, method))


def relative(values, place, method):
    return paired(lambda q, f: q / f - 1, loss(values, place, method), float_loss(values, place, method))


def slope(values, place, method):
    return values[place, method, "slope"]


def quadratic(values, place, method):
    return values[place, method, "quadratic"]


def change(values, place, method):
    return values[place, method, "change"]


def rest(values, place, method):
    return paired(lambda c, s, q: c - s - q, *(values[place, method, term] for term in ("change", "slope", "quadratic")))


def largest_eigenvalue(values, place, method):
    return values[place, "float", "hessian"]


def trace(values, place, method):
    return values[place, "float", "hessian/trace"]


def accuracy_drop(values, place, method):
    return paired(lambda f, q: f - q, values[place, "float", "accuracy"], values[place, method, "accuracy"])


def log_error(values, place, method):
    return {seed: np.log(value) for seed, value in error(values, place, method).items()}


def log_distance(values, place, method):
    return {seed: np.log(value) for seed, value in values[place, method, "relative_distance"].items()}


def log_steepness(values, place, method):
    """ln of ½δᵀHδ over the square of the rounding's length."""
    return paired(lambda q, d: np.log(q / d ** 2), values[place, method, "quadratic"], values[place, method, "relative_distance"])


MEASURES = {"error": error, "loss": loss, "float": float_loss, "relative": relative, "log_error": log_error, "log_distance": log_distance,
            "log_steepness": log_steepness, "slope": slope, "quadratic": quadratic, "change": change, "rest": rest, "accuracy": accuracy_drop,
            "hessian": largest_eigenvalue, "hessian/trace": trace}


def measured(values, measure, place, method):
    """Of curvature in other coordinates ('hessian, relative'), and of the decomposition, the value as it stands."""
    if measure in MEASURES:
        return MEASURES[measure](values, place, method)
    return values[place, "float" if measure.startswith("hessian") else method, measure]


def vector(of_seeds, seeds=None):
    return np.array([of_seeds[seed] for seed in (sorted(of_seeds) if seeds is None else seeds)])


def interval(x, confidence=0.95):
    return stats.t.interval(confidence, len(x) - 1, loc=x.mean(), scale=stats.sem(x))
