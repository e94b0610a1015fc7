"""The values of each seed that a row of `sets` is made of, from the tables of a file of results.

A row is the mean over the weights `a` minus that over the weights `b`, of one measure by one method:

    error     L(θ̂) − L(θ), in nats per token             loss       L(θ̂)
    relative  L(θ̂)/L(θ) − 1                              float      L(θ)
    log_error, log_distance     ln ΔCE and ln |δ|/|θ|: a difference is relative; log_steepness = ln ½δᵀHδ − 2 ln |δ|/|θ|
    slope, quadratic, change    gᵀδ, ½δᵀHδ and L(θ+δ) − L(θ) on the tokens of `taylor`
    rest      change − slope − quadratic
    hessian, hessian/trace      λ₁ and trace
    hessian, NAME      the same of the metric with the label NAME: of hidden matrices alone, in units of tensors
    accuracy  the float model's accuracy minus the quantized one's
    relative_error, weight_kurtosis    R_L of the last block, and the mean kurtosis of the float matrices

`at = "equal_loss"` compares quantized losses at the lowest float loss that both lines of checkpoints reach, up to the step `until`:
lines of one phase, so that a decayed model stands against no model at a constant rate. `at = "ends"` draws a line through the
ends `a`, each the end of a decay, and compares it at the float loss of `b`; or, where `b` are ends too, with the line through them, in the
middle of the float losses that both reach. `at = "correlation"` is the rank correlation of two
series along the training, its dependence on the step removed, or `with_step` not. `at = "scaling"` is the exponent of `term`, tokens or lr, in the error of all
checkpoints of the branches: ln error over ln step and ln of the learning rate there. `at = "across"` is the rank correlation of `x` and `y`
over `trainings`, of each seed, at one step; minus that of `x_beside` and `y` where that is given. The trainings are few, and the same for all
seeds: how sure a mean over seeds is follows from the same mean where the trainings of `y` are exchanged, in all ways.

Weights with `points` in place of `point` are those of the training that has the lowest mean float loss at the step `choose_at`, on the branch
`chosen_on`, over `choose_seeds`; the row is of the other seeds. So a learning rate is tuned by seeds that decide nothing.
"""

import itertools
import math
import sys
import weakref
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from quench.analysis import scaling  # noqa: E402
from quench.analysis.statistics import rank_correlation  # noqa: E402

FEWEST_CHECKPOINTS = 10  # of a correlation
FEWEST_ENDS = 3          # of a line through ends
FEWEST_TRAININGS = 5     # of a correlation across trainings: 120 ways to exchange them
TABLES = ("loss", "taylor", "curvature", "accuracy", "decomposition")
TAYLOR = ("slope", "quadratic", "change")
OF_TERMS = (*TAYLOR, "rest", "log_distance", "log_steepness")
DECOMPOSITION = ("relative_error", "weight_kurtosis")


class Missing(Exception):
    """Why a row has no number."""


@dataclass
class Row:
    """The values of all seeds; `reference` is what a margin or a share is taken of."""
    test: object
    name: str
    group: str
    seeds: list
    values: np.ndarray
    reference: np.ndarray = None
    error: np.ndarray = None                    # ΔCE of what it is compared with, where that is one
    floats: tuple = ()                          # (lowest, highest) float loss at which sides are compared
    gaps: list = field(default_factory=list)    # nats that lines between two checkpoints bridge, by seed
    steps: int = 0                              # that a correlation is taken along
    checkpoints: int = 0                        # of these the independent ones: all where the step's part is removed, else none
    exchanged: np.ndarray = None                # the mean over seeds where trainings are exchanged, along the last axis
    point: str = ""                             # of the run, where a test has a row for each
    entry: dict = field(default_factory=dict)   # of `sets`
    text: list = field(default_factory=list)    # rules.Moved, beside the spread over seeds
    chosen: list = field(default_factory=list)  # what seeds of their own have chosen of which optimizer


class Values:
    """The values of one file by (point, branch, averaging, step, method, quantity): {seed: number}."""

    def __init__(self, results):
        self.name, self.of, self.used = results.path.name, {}, set()  # places that rows were made of
        for row in results.rows:
            if row["table"] in TABLES:
                quantity = row["quantity"]
                place = (row["point"], row["branch"], row["averaging"], int(row["step"]), row["method"], quantity)
                self.of.setdefault(place, {})[int(row["seed"])] = row["value"]
        self.points = sorted({place[0] for place in self.of})

    def only(self, wanted):
        """The same of the seeds for which `wanted` says so."""
        out = Values.__new__(Values)
        out.name, out.points, out.used = self.name, self.points, self.used
        kept = {place: {seed: value for seed, value in of_seeds.items() if wanted(seed)} for place, of_seeds in self.of.items()}
        out.of = {place: of_seeds for place, of_seeds in kept.items() if of_seeds}
        return out

    def get(self, weights, method, quantity):
        place = (weights.get("point", ""), weights.get("branch", ""), weights.get("averaging", ""), weights["step"], method, quantity)
        found = self.of.get(place)
        if found is None:
            raise Missing(f"{self.name} has no {quantity} of {method} at {' '.join(str(word) for word in place[:4] if word != '')}")
        self.used.add(place)
        return found

    def measure(self, weights, measure, method):
        """{seed: number}."""
        method = weights.get("method", method)
        if measure in TAYLOR or measure == "relative_distance":
            return self.get(weights, method, measure)
        if measure == "log_distance":
            return self._logarithm(self.get(weights, method, "relative_distance"), weights, "|δ|/|θ|")
        if measure == "log_steepness":
            along, length = (self.get(weights, method, term) for term in ("quadratic", "relative_distance"))
            return self._logarithm({seed: along[seed] / length[seed] ** 2 for seed in along}, weights, "½δᵀHδ")
        if measure == "log_error":
            return self._logarithm(self.measure(weights, "error", method), weights, "an error")
        if measure == "rest":
            slope, quadratic, change = (self.get(weights, method, term) for term in TAYLOR)
            return {seed: change[seed] - slope[seed] - quadratic[seed] for seed in change}
        if measure.startswith("hessian"):
            return self.get(weights, "float", measure)
        if measure in DECOMPOSITION:
            return self.get(weights, method, measure)
        if measure == "accuracy":
            plain, rounded = (self.get(weights, one, measure) for one in ("float", method))
            return {seed: plain[seed] - rounded[seed] for seed in rounded if seed in plain}
        floating = self.get(weights, "float", "loss")
        if measure == "float" or method == "float":
            return floating
        loss = self.get(weights, method, "loss")
        made = {"loss": lambda q, f: q, "error": lambda q, f: q - f, "relative": lambda q, f: q / f - 1}[measure]
        return {seed: made(loss[seed], floating[seed]) for seed in loss if seed in floating}

    @staticmethod
    def _logarithm(of_seeds, weights, what):
        below = [seed for seed, value in of_seeds.items() if value <= 0]
        if below:
            raise Missing(f"seed {below[0]}: {what} of {of_seeds[below[0]]:.3g} at step {weights['step']} has no logarithm")
        return {seed: math.log(value) for seed, value in of_seeds.items()}

    def line(self, weights, method, until):
        """{seed: [(step, float loss, quantized loss)]} along one line of checkpoints."""
        out = {}
        for (point, branch, averaging, step, of_method, quantity), values in sorted(self.of.items()):
            if (quantity == "loss" and of_method == "float" and step <= (until or step)
                    and (point, branch, averaging) == tuple(weights.get(key, "") for key in ("point", "branch", "averaging"))):
                self.used.add((point, branch, averaging, step, of_method, quantity))
                loss = self.get({**weights, "step": step}, method, "loss")
                for seed in values:
                    if seed in loss:
                        out.setdefault(seed, []).append((step, values[seed], loss[seed]))
        if not out:
            raise Missing(f"{self.name} has no line {weights}")
        return out


_known = weakref.WeakKeyDictionary()


def values_of(results):
    """The values of a file of results, read once."""
    if results not in _known:
        _known[results] = Values(results)
    return _known[results]


def _common(of_weights):
    """The seeds that all have."""
    seeds = sorted(set.intersection(*map(set, of_weights)))
    if not seeds:
        raise Missing("no seed has all values")
    return seeds


def _mean(values, weights, measure, method, seeds=None):
    found = [values.measure(one, measure, method) for one in weights]
    seeds = _common(found) if seeds is None else seeds
    return seeds, np.array([[of_one[seed] for seed in seeds] for of_one in found]).mean(0)


def crossing(line, loss):
    """(quantized loss, gap) where the float losses of [(step, float, quantized)] last pass `loss`."""
    for (_, float_a, loss_a), (_, float_b, loss_b) in reversed(list(zip(line, line[1:]))):
        if float_b == loss:
            return loss_b, 0.0
        if min(float_a, float_b) < loss < max(float_a, float_b):
            share = (loss - float_a) / (float_b - float_a)
            return (1 - share) * loss_a + share * loss_b, abs(float_b - float_a)
        if float_a == loss:
            return loss_a, 0.0
    return None


def _at_equal_loss(values, test, entry, method):
    found, floats, gaps = {}, [], {}
    pairs = list(zip(entry["a"], entry["b"]))
    for a, b in pairs:
        lines = [values.line(side, method, test.until) for side in (a, b)]
        for seed in _common(lines):
            of_a, of_b = (line[seed] for line in lines)
            loss = max(min(place[1] for place in line) for line in (of_a, of_b))
            sides = [crossing(line, loss) for line in (of_a, of_b)]
            if None in sides:
                raise Missing(f"seed {seed}: the float losses do not overlap")
            gap = max(side[1] for side in sides)
            if gap > test.within:
                raise Missing(f"seed {seed}: checkpoints around a float loss of {loss:.4f} are {gap:.3g} nats apart, wanted at most {test.within}")
            found.setdefault(seed, []).append(sides[0][0] - sides[1][0])
            floats.append(loss)
            gaps[seed] = max(gaps.get(seed, 0.0), gap)
    seeds = [seed for seed in sorted(found) if len(found[seed]) == len(pairs)]
    return seeds, np.array([np.mean(found[seed]) for seed in seeds]), (min(floats), max(floats)), [gaps[seed] for seed in seeds]


def _through_ends(values, entry, method):
    """Seeds, and a line through the ends `a` minus the weights `b` at their float loss, or minus the line through ends `b`."""
    fewest = min(len(entry[side]) for side in ("a", "b") if side == "a" or len(entry["b"]) > 1)
    if fewest < FEWEST_ENDS:
        raise Missing(f"{fewest} ends of decays, wanted {FEWEST_ENDS} for a line through them")
    places = [[(values.measure(one, "float", method), values.measure(one, "loss", method)) for one in entry[side]] for side in ("a", "b")]
    seeds = _common([loss for side in places for _, loss in side])
    out, at, outside = [], [], []
    for seed in seeds:
        (xa, ya), (xb, yb) = (np.array([[one[seed] for one in place] for place in side]).T for side in places)
        low, high = max(xa.min(), xb.min()), min(xa.max(), xb.max())
        if low > high:
            outside.append(f"seed {seed}: {' to '.join(f'{x:.4f}' for x in dict.fromkeys((xb.min(), xb.max())))}, ends {xa.min():.4f} to {xa.max():.4f}")
            continue
        at.append((low + high) / 2)
        line_a, line_b = (np.polyval(np.polyfit(x, y, 1), at[-1]) if len(x) > 1 else y[0] for x, y in ((xa, ya), (xb, yb)))
        out.append(line_a - line_b)
    if outside:
        raise Missing(f"in {len(outside)} of {len(seeds)} seeds the float loss lies outside those of the ends ({outside[0]})")
    return seeds, np.array(out), (min(at), max(at))


def partial_rank_correlation(x, y, along):
    """Spearman's of x and y given `along`, over the last axis."""
    xy, xa, ya = (rank_correlation(*pair) for pair in ((x, y), (x, along), (y, along)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (xy - xa * ya) / np.sqrt((1 - xa * xa) * (1 - ya * ya))


def _correlation(values, test, entry):
    """Fisher's z [seed] of each seed, or [seed, part] where values are those of parts of the text, and the number of checkpoints."""
    weights = {key: entry.get(key, "") for key in ("point", "branch", "averaging")}
    steps = sorted({place[3] for place in values.of if place[:3] == tuple(weights.values()) and place[4] == entry["x"]["method"]})
    if len(steps) < FEWEST_CHECKPOINTS:
        raise Missing(f"{len(steps)} checkpoints, wanted {FEWEST_CHECKPOINTS} for a rank correlation")
    series = [[values.measure({**weights, "step": step}, side.get("of", test.of), side["method"]) for step in steps]
              for side in (entry["x"], entry["y"])]
    seeds = _common([place for side in series for place in side])
    pairs = [[np.moveaxis(np.array([place[seed] for place in side]), 0, -1) for side in series] for seed in seeds]  # [part of the text, step]
    found = [rank_correlation(*pair) if test.with_step else partial_rank_correlation(*pair, steps) for pair in pairs]
    if not np.isfinite(found).all():
        raise Missing("a series without differences has no rank correlation")
    return seeds, np.arctanh(np.clip(found, -1 + 1e-9, 1 - 1e-9)), len(steps)


def _exponent(values, test, entry, method):
    """Seeds, and the exponent of one term of each seed's fit."""
    steps = sorted({(place[1], place[3]) for place in values.of if place[0] == entry.get("point", "") and place[1] in entry["branches"]
                    and not place[2] and place[4] == method})
    errors, covariates, seeds = [], {"tokens": [], "lr": []}, []
    for branch, step in steps:
        weights = {"point": entry.get("point", ""), "branch": branch, "step": step}
        rate = values.get(weights, "float", "lr")
        for seed, error in values.measure(weights, "error", method).items():
            errors.append(error)
            seeds.append(seed)
            covariates["tokens"].append(step)
            covariates["lr"].append(rate[seed])
    try:
        found = scaling.fit(errors, covariates, seeds)
    except ValueError as why:
        raise Missing(str(why)) from None
    if found.dropped or entry["term"] not in found.terms:
        raise Missing(f"{found.dropped} errors are not above 0; terms that vary: {', '.join(found.terms)}")
    return found.seeds, found.coefficients[:, found.terms.index(entry["term"])]


def mean_where_exchanged(x, y, x_beside=None):
    """The mean over seeds of rank correlations across trainings [..., seeds, trainings], where those of y are exchanged, the same in all seeds:
    [..., ways].
    """
    def standardized(values):
        ranks = rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2
        return ranks / np.sqrt((ranks * ranks).sum(-1, keepdims=True))
    first = standardized(x) - (0 if x_beside is None else standardized(x_beside))
    products = np.einsum("...si,...sj->...ij", first, standardized(y)) / x.shape[-2]
    ways = np.array(list(itertools.permutations(range(x.shape[-1]))))
    return sum(products[..., i, ways[:, i]] for i in range(x.shape[-1]))


def _across(values, test, entry):
    """The rank correlation across trainings of each seed, or that of `x` minus that of `x_beside`; and the mean where trainings are exchanged."""
    weights = entry["trainings"]
    if len(weights) < FEWEST_TRAININGS:
        raise Missing(f"{len(weights)} trainings, wanted {FEWEST_TRAININGS} for a rank correlation across them")
    series = [[values.measure(one, entry[side].get("of", test.of), entry[side]["method"]) for one in weights]
              for side in ("x", "y", "x_beside") if side in entry]
    seeds = _common([place for side in series for place in side])
    x, y, *beside = (np.array([[place[seed] for place in side] for seed in seeds]) for side in series)
    found = [rank_correlation(one, y) for one in (x, *beside)]
    if not np.isfinite(found).all():
        raise Missing("a series without differences has no rank correlation")
    return seeds, found[0] - sum(found[1:]), mean_where_exchanged(x, y, *beside)


def _chosen(values, test, one):
    """The weights with the point of the lowest mean float loss over the seeds that choose."""
    if "points" not in one:
        return one
    found = {}
    for point in one["points"]:
        losses = values.get({"point": point, "branch": one.get("chosen_on", one.get("branch", "")), "step": test.choose_at}, "float", "loss")
        missing = [seed for seed in test.choose_seeds if seed not in losses]
        if missing:
            raise Missing(f"{values.name}: seed {missing[0]} chooses, and has no float loss of {point}")
        found[point] = np.mean([losses[seed] for seed in test.choose_seeds])
    return {**{key: value for key, value in one.items() if key not in ("points", "chosen_on")}, "point": min(found, key=found.get)}


def chosen_entry(values, test, entry):
    """(the entry with one point for each of its weights, what was chosen of which)."""
    sides = {side: [_chosen(values, test, one) for one in entry[side]] for side in ("a", "b", "reference", "trainings") if side in entry}
    was = [one for side in sides for one in entry[side]]
    got = [one for side in sides.values() for one in side]
    return {**entry, **sides}, list(dict.fromkeys(_name_of(new["point"], old["points"]) for old, new in zip(was, got) if "points" in old))


def _name_of(point, points):
    """'lr.peak=0.008 of muon': what of a point the others do not have, and the optimizer that it is of."""
    common = set.intersection(*(set(one.split()) for one in points))
    own = " ".join(word for word in point.split() if word not in common)
    return own if own == point else f"{own} of {point.split()[-1].partition('.')[0]}"


def row_of(values, test, entry):
    """The row of an entry whose weights have one point each; raises Missing."""
    measure, method = entry.get("of", test.of), entry.get("method", test.method)
    row = Row(test, entry["as"], entry.get("group", entry["as"]), [], np.array([]), point=entry.get("point", ""), entry=entry)
    if test.at == "correlation":
        row.seeds, row.values, row.steps = _correlation(values, test, entry)
        row.checkpoints = 0 if test.with_step else row.steps
        return row
    if test.at == "across":
        row.seeds, row.values, row.exchanged = _across(values, test, entry)
        return row
    if test.at == "equal_loss":
        row.seeds, row.values, row.floats, row.gaps = _at_equal_loss(values, test, entry, method)
    elif test.at == "scaling":
        row.seeds, row.values = _exponent(values, test, entry, method)
    elif test.at == "ends":
        row.seeds, row.values, row.floats = _through_ends(values, entry, method)
    else:
        sides = [(sign, one) for sign, side in ((1, "a"), (-1, "b")) for one in entry.get(side, [])]
        row.seeds = _common([values.measure(one, measure, method) for _, one in sides])
        row.values = sum(sign * _mean(values, entry[side], measure, method, row.seeds)[1] for sign, side in ((1, "a"), (-1, "b"))
                         if entry.get(side)) * entry.get("times", 1)
        if measure in ("error", "loss") and entry.get("b") and "float" not in [one.get("method", method) for one in entry["b"]]:
            row.error = _mean(values, entry.get("reference") or entry["b"], "error", method, row.seeds)[1]
    if test.share_of:
        row.reference = sum(sign * _mean(values, entry[side], test.share_of, method, row.seeds)[1] for sign, side in ((1, "a"), (-1, "b"))
                            if entry.get(side))
    elif test.absolute:
        row.reference = np.ones(len(row.seeds))
    elif test.margin:
        error = "relative" if measure == "relative" else "error"
        row.reference = _mean(values, entry.get("reference") or entry["b"], error, method, row.seeds)[1]
        if error == "error":
            row.error = row.reference
    return row


def entries(values, test):
    """The rows that a test asks for: where it says so one for each point of the run, or for each method."""
    out = list(test.sets)
    if test.over_points:
        out = [{**entry, "as": f"{entry['as']}, {point.rpartition('/')[2].removesuffix('.json')}",
                "point": point,
                **{side: [{**one, "point": point} for one in entry[side]] for side in ("a", "b")}}
               for entry in out for point in values.points]
    if test.methods:
        out = [{**entry, "as": f"{entry['as']}, {method.replace('bits=', '')}", "method": method}
               for entry in out for method in test.methods]
    return out


def rows_of(results, test):
    """(rows, why others have no number, how many there should be)."""
    values = values_of(results)
    rows, problems = [], []
    wanted = entries(values, test)
    compared = values.only(lambda seed: seed not in test.choose_seeds)
    for entry in wanted:
        try:
            entry, chosen = chosen_entry(values, test, entry)
            row = row_of(compared, test, entry)
            row.chosen = chosen
        except Missing as why:
            problems.append(f"{entry['as']}: {why}")
            continue
        if len(row.seeds) < test.seeds:
            problems.append(f"{entry['as']}: {len(row.seeds)} seeds, wanted {test.seeds}")
            continue
        rows.append(row)
    return rows, problems, len(wanted)
