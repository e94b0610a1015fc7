"""Rows that decide a claim, or stand beside it: their values of each seed, how far other text moves them, and how sure their rule is."""

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats

from witness_parts.pages import number
from witness_parts.values import error, float_loss, interval, loss, measured, paired, vector

FEWEST_SEEDS, FEWEST_CHECKPOINTS, WIDEST_GAP = 3, 10, 0.2
OVER = {"document": "documents", "run": "runs of blocks", "group": "groups of questions", "items": "blocks", "draws": "calibration draws"}


@dataclass
class Row:
    """`reference` is what a margin or a share is taken of, `error` ΔCE of what the row is compared with."""
    test: dict
    name: str
    entry: dict
    seeds: list
    x: np.ndarray
    reference: np.ndarray = None
    error: np.ndarray = None
    checkpoints: int = 0                        # independent ones that a correlation beside the step is taken over
    orders: np.ndarray = None                   # across trainings: the mean over seeds for every order of them
    floats: list = field(default_factory=list)  # float losses at which sides are compared
    gaps: list = field(default_factory=list)    # nats between two checkpoints that a line bridges
    chosen: list = field(default_factory=list)  # what seeds of their own have chosen of which optimizer
    text: list = field(default_factory=list)    # (over what, standard error, degrees of freedom) beside that over seeds
    left: list = field(default_factory=list)    # means over seeds of (x, reference) without each unit of the text, where units say the error
    reason: str = ""                            # why it has no number

    @property
    def measure(self):
        return self.entry.get("of", self.test.get("of", "error"))


def entries(values, test):
    out = test["sets"]
    if test.get("over_points"):
        points = sorted({place[0] for place, _, _ in values})
        out = [{**entry, "as": f"{entry['as']}, {Path(point).stem}", "point": point,
                **{side: [{**one, "point": point} for one in entry[side]] for side in "ab"}} for entry in out for point in points]
    return [{**entry, "as": f"{entry['as']}, {method.replace('bits=', '')}", "method": method}
            for entry in out for method in test["methods"]] if "methods" in test else out


def place_of(weights):
    return weights.get("point", ""), weights.get("branch", ""), weights.get("averaging", ""), weights["step"]


def mean_of(values, measure, weights, method):
    found = [measured(values, measure, place_of(one), one.get("method", method)) for one in weights]
    return paired(lambda *each: float(np.mean(each)), *found)


def a_minus_b(values, measure, entry, method):
    out = mean_of(values, measure, entry["a"], method)
    return paired(lambda a, b: a - b, out, mean_of(values, measure, entry["b"], method)) if "b" in entry else out


# ---- what a row is made of


def at_float_loss(points, wanted):
    """Of (float loss, loss) along a line: the loss where the float loss last is `wanted`, and the nats that the line bridges there."""
    for (f0, q0), (f1, q1) in zip(points[-2::-1], points[:0:-1]):
        if f1 == wanted:
            return q1, 0.0
        if (f0 - wanted) * (f1 - wanted) < 0:
            return q0 + (q1 - q0) * (wanted - f0) / (f1 - f0), abs(f1 - f0)
    return (points[0][1], 0.0) if points[0][0] == wanted else None


def equal_loss(values, line_a, line_b, method, until=10 ** 9):
    """{seed: (loss of a minus that of b, float loss, nats bridged) at the lowest float loss that both reach, None where they do not}. A line is
    (point, branch, averaging).
    """
    lines = []
    for line in (line_a, line_b):
        steps = sorted({place[3] for place, of_method, _ in list(values) if place[:3] == line and of_method == "float" and place[3] <= until})
        lines.append([(*line, step) for step in steps])
    seeds = set.intersection(*(set(loss(values, place, method)) for line in lines for place in line))
    out = {}
    for seed in sorted(seeds):
        a, b = ([(float_loss(values, place, method)[seed], loss(values, place, method)[seed]) for place in line] for line in lines)
        wanted = max(min(point[0] for point in a), min(point[0] for point in b))
        sides = at_float_loss(a, wanted), at_float_loss(b, wanted)
        out[seed] = None if None in sides else (sides[0][0] - sides[1][0], wanted, max(sides[0][1], sides[1][1]))
    return out


def at_equal_loss(values, test, entry, method):
    """(seeds, values, float losses, nats bridged), the mean over pairs of lines."""
    lines = [[(one.get("point", ""), one.get("branch", ""), one.get("averaging", "")) for one in entry[side]] for side in ("a", "b")]
    found = [equal_loss(values, *pair, method, test.get("until", 10 ** 9)) for pair in zip(*lines)]
    seeds = sorted(set.intersection(*map(set, found)))
    each = [of_pair[seed] for of_pair in found for seed in seeds]
    if None in each or any(gap > test.get("within", WIDEST_GAP) for _, _, gap in each):
        return [], np.array([]), [], []
    x = np.array([np.mean([of_pair[seed][0] for of_pair in found]) for seed in seeds])
    return seeds, x, [at for _, at, _ in each], [gap for _, _, gap in each]


def through_ends(values, ends, others, method):
    """({seed: number}, [float loss], why there is none): a line through the ends of decays minus one other place at its float loss, or minus the line
    through other ends in the middle of what both reach. A line says nothing at a float loss that it does not reach.
    """
    out, middles, outside = {}, [], []
    for seed in sorted(loss(values, others[0], method)):
        sides = [[(float_loss(values, place, method)[seed], loss(values, place, method)[seed]) for place in side] for side in (ends, others)]
        begin, end = max(min(side)[0] for side in sides), min(max(side)[0] for side in sides)
        if begin > end:
            outside.append((seed, *([of(side)[0] for of in (min, max)] for side in sides)))
            continue
        middles.append((begin + end) / 2)
        heights = []
        for side in sides:
            fit = stats.linregress(*zip(*side)) if len(side) > 1 else None
            heights.append(fit.intercept + fit.slope * middles[-1] if fit else side[0][1])
        out[seed] = heights[0] - heights[1]
    if not outside:
        return out, middles, ""
    seed, (low, high), other = outside[0]
    return {}, [], (f"in {len(outside)} of {len(outside) + len(out)} seeds the float loss lies outside those of the ends (seed {seed}: "
                    f"{' to '.join(dict.fromkeys(map(number, other)))}, ends {number(low)} to {number(high)})")


def exponents(values, entry, method):
    """{seed: the coefficient of ln step, or ln lr, in ln error}, by the normal equations."""
    places = sorted({place for place, of, quantity in values
                     if place[1] in entry["branches"] and not place[2] and (of, quantity) == (method, "loss")})
    out = {}
    for seed in sorted(error(values, places[0], method)):
        y = np.log([error(values, place, method)[seed] for place in places])
        x = np.log([[place[3], values[place, "float", "lr"][seed]] for place in places])
        x = x - x.mean(0)
        out[seed] = np.linalg.solve(x.T @ x, x.T @ (y - y.mean()))[("tokens", "lr").index(entry["term"])]
    return out


def correlations(values, test, entry, along):
    """{seed: Fisher's z of the rank correlation of two series along a run}, of what is left of their ranks beside a line over the step's."""
    series = [[measured(values, entry[side].get("of", test.get("of", "error")), place, entry[side]["method"]) for place in along] for side in "xy"]
    steps, out = stats.rankdata([place[3] for place in along]) - (len(along) + 1) / 2, {}
    for seed in sorted(set.intersection(*(set(one) for side in series for one in side))):
        x, y = (stats.rankdata(np.transpose([one[seed] for one in side]), axis=-1) - (len(along) + 1) / 2 for side in series)  # [part, step] or [step]
        if not test.get("with_step"):
            x, y = (ranks - (ranks @ steps / (steps @ steps))[..., None] * steps for ranks in (x, y))
        out[seed] = np.arctanh((x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1)))
    return out


def across(values, test, entry):
    """{seed: Spearman's correlation across trainings, or the difference of two}; and their mean for every order of the trainings of y."""
    places = [(one["point"], one.get("branch", ""), "", one["step"]) for one in entry["trainings"]]
    series = {side: [measured(values, entry[side].get("of", test.get("of", "error")), place, entry[side]["method"]) for place in places]
              for side in ("x", "y", "x_beside") if side in entry}
    seeds = sorted(series["y"][0])
    of_seed = {side: [np.array([one[seed] for one in found]) for seed in seeds] for side, found in series.items()}

    def difference(seed, order):
        y = of_seed["y"][seed][list(order)]
        found = stats.spearmanr(of_seed["x"][seed], y).statistic
        return found - (stats.spearmanr(of_seed["x_beside"][seed], y).statistic if "x_beside" in entry else 0)
    own = {seed: difference(i, range(len(places))) for i, seed in enumerate(seeds)}
    return own, np.array([np.mean([difference(i, order) for i in range(len(seeds))]) for order in itertools.permutations(range(len(places)))])


def tuned(values, test, entry):
    """(the values of seeds that do not choose, the entry with the points that the others chose by their mean float loss, these points)."""
    by, chosen = set(test.get("choose_seeds", [])), []
    compared = {key: {seed: value for seed, value in found.items() if seed not in by} for key, found in values.items()} if by else values
    entry = {**entry}
    for side in ("a", "b", "reference", "trainings"):
        for i, one in enumerate(entry.get(side, [])):
            if "points" in one:
                branch = one["chosen_on"] if "chosen_on" in one else one.get("branch", "")
                of_point = {point: np.mean([values[(point, branch, "", test["choose_at"]), "float", "loss"][seed] for seed in sorted(by)])
                            for point in one["points"]}
                best = sorted(of_point, key=of_point.get)[0]
                entry[side] = [*entry[side][:i], {**{k: v for k, v in one.items() if k != "points"}, "point": best}, *entry[side][i + 1:]]
                other = " ".join(one["points"][one["points"].index(best) - 1].split())
                own = [word for word in best.split() if f" {word} " not in f" {other} "]
                name = best if own == best.split() else f"{' '.join(own)} of {best.split()[-1].split('.')[0]}"
                chosen += [name] if name not in chosen else []
    return compared, entry, chosen


def worked_out(values, test, entry):
    """The row of an entry whose weights have one point each, without seeds where it has no number."""
    method = entry.get("method", test.get("method", ""))
    row, at = Row(test, entry["as"], entry, [], np.array([])), test.get("at")
    if at == "equal_loss":
        row.seeds, row.x, row.floats, row.gaps = at_equal_loss(values, test, entry, method)
    elif at == "correlation":
        along = sorted({place for place, of, _ in values if of == entry["x"]["method"]
                        and place[:3] == tuple(entry.get(key, "") for key in ("point", "branch", "averaging"))})
        if len(along) < FEWEST_CHECKPOINTS:
            row.reason = f"{len(along)} checkpoints, wanted {FEWEST_CHECKPOINTS} for a rank correlation"
        else:
            found = correlations(values, test, entry, along)
            row.seeds, row.x, row.checkpoints = sorted(found), vector(found), 0 if test.get("with_step") else len(along)
    else:
        if at == "across":
            found, row.orders = across(values, test, entry)
        elif at == "scaling":
            found = exponents(values, entry, method)
        elif at == "ends":
            found, row.floats, row.reason = through_ends(values, *([place_of(one) for one in entry[side]] for side in "ab"), method)
        else:
            found = {seed: entry.get("times", 1) * value for seed, value in a_minus_b(values, row.measure, entry, method).items()}
        row.seeds, row.x = sorted(found), vector(found)
    if row.seeds:
        add_reference(values, row, method)
    return row


def add_reference(values, row, method):
    test, entry = row.test, row.entry
    with_it = entry.get("reference") or entry.get("b", [])
    if "share_of" in test:
        row.reference = vector(a_minus_b(values, test["share_of"], entry, method), row.seeds)
    elif test.get("absolute"):
        row.reference = np.ones(len(row.seeds))
    elif "margin" in test:
        row.reference = vector(mean_of(values, "relative" if row.measure == "relative" else "error", with_it, method), row.seeds)
        row.error = row.reference if row.measure != "relative" else None
    if row.error is None and "at" not in test and row.measure in ("error", "loss") and "b" in entry:
        if all(one.get("method", method) != "float" for one in entry["b"]):
            row.error = vector(mean_of(values, "error", with_it, method), row.seeds)


# ---- other text, and other calibration data


def over_halves(units, values, row):
    """How far texts move a correlation along a run: from it, of each text by itself, without 200 random halves of the units (the kept to the left out
    as their numbers are), the mean square; [] where one of its texts has no units.
    """
    entry, test = row.entry, row.test
    along = sorted({place for place, of, _ in values if of == entry["x"]["method"]
                    and place[:3] == tuple(entry.get(key, "") for key in ("point", "branch", "averaging"))})
    of_side = {side: "accuracy" if entry[side].get("of", test.get("of", "error")) == "accuracy" else "loss" for side in "xy"}
    if not set(of_side.values()) <= set(units):
        return []
    out = []
    for quantity in ("loss", "accuracy"):
        if quantity not in of_side.values():
            continue
        scored, part = units[quantity].scored, dict(values)
        draw, n = np.random.default_rng(20261130), len(scored)
        halves = np.array([draw.permutation(n)[n // 2:] for _ in range(200)])
        for place in along:
            for method in {"float", entry["x"]["method"], entry["y"]["method"]}:
                if (place, method, quantity) in values:
                    part[place, method, quantity] = {seed: sums[halves].sum(-1) / scored[halves].sum(-1)
                                                     for seed, sums in units[quantity].sums.get((place, method), {}).items()}
        moved = vector(correlations(part, test, entry, along), row.seeds).mean(0) - row.x.mean()
        share = (n - n // 2) / (n // 2)
        out.append((units[quantity].kind, np.sqrt(share * np.mean(np.square(moved))), scored.sum() ** 2 / (scored ** 2).sum() - 1))
    return out


def of_units(units, values, row):
    """([(over what, standard error, degrees of freedom)], means without each unit) over documents, or over runs of blocks or groups of questions:
    the jackknife (Quenouille, 1956; Tukey, 1958).
    """
    if row.test.get("at") == "correlation":
        return over_halves(units, values, row), []
    sides = [row.entry[side].get("of", row.test.get("of", "error")) for side in ("x", "y", "x_beside") if side in row.entry] or [row.measure]
    for quantity, measures in (("loss", ("error", "log_error", "loss", "float", "relative")), ("accuracy", ("accuracy",))):
        if quantity not in units or not set(sides) <= set(measures):
            continue
        scored, without = units[quantity].scored, []
        for out in range(len(scored)):
            cut = {key: found for key, found in values.items() if key[2] != quantity}
            for (place, method), left in units[quantity].left.items():
                seeds = [seed for seed in values.get((place, method, quantity), ()) if seed in left]
                if seeds:
                    cut[place, method, quantity] = {seed: left[seed][out] for seed in seeds}
            try:
                one = worked_out(cut, row.test, row.entry)
            except (KeyError, IndexError):
                return [], []
            if not one.seeds:
                return [], []
            without.append((one.x.mean(), 0.0 if one.reference is None else one.reference.mean()))
        return [(units[quantity].kind, jackknife([x for x, _ in without], row.x.mean()), scored.sum() ** 2 / (scored ** 2).sum() - 1)], without
    return [], []


def jackknife(left, whole):
    n = len(left)
    return np.sqrt((n - 1) / n * sum((one - whole) ** 2 for one in left))


def beyond(row, share):
    """(x less this share of the reference, how far text moves that): a margin moves with units of the text; else it counts as known."""
    if not share:
        return row.x, row.text
    left = [x - share * r for x, r in row.left]
    x = row.x - share * row.reference
    return x, [(over, jackknife(left, x.mean()) if left and i == 0 else error, freedom) for i, (over, error, freedom) in enumerate(row.text)]


def of_contrasts(contrasts, row):
    """The same of the contrasts that the test names: of several rows the mean, of the first seed where a file has no other."""
    if "text" not in row.test:
        return []
    point = row.entry.get("point", "").partition("=")[2]
    found = {key: numbers for key, numbers in contrasts.items() if key[0] == row.test["text"]
             and row.test.get("text_rows", "") in f"{key[1]}, {key[2]}" and key[2].endswith(point)}
    own = list({key: numbers for key, numbers in found.items() if row.name.startswith(key[1])}.values() or found.values())
    out = []
    for kind in ("items", "draws", "jitter"):
        if own and all(numbers.get(f"{kind}.n") for numbers in own):
            n = own[0][f"{kind}.n"]
            run = max(1, min(int(np.ceil(3 * n ** (1 / 3))), int(n) // 6)) if kind == "items" else 1
            freedom = own[0].get(f"{kind}.freedom", (1.5 if run > 1 else 1) * (n / run - 1))
            out.append((kind, np.mean([numbers[f"{kind}.stderr"] for numbers in own]), freedom))
    return out


def of_text(file, values, row):
    """(the same, means without each unit): units of the text say it of the row itself; where no file has them, contrasts do."""
    known, left = of_units(file.units, values, row)
    return known + [one for one in of_contrasts(file.contrasts, row) if not known or one[0] != "items"], left


# ---- how sure a rule is


def error_of(variance, seeds, text):
    """(standard error, degrees of freedom) with the variance over text added (Welch and Satterthwaite, one degree less)."""
    squares = np.array([variance / seeds, *(error ** 2 for _, error, _ in text)])
    freedom = squares.sum() ** 2 / (squares ** 2 / np.array([seeds - 1, *(freedom for _, _, freedom in text)])).sum()
    return np.sqrt(squares.sum()), max(freedom - 1, min(seeds - 1, *(one for _, _, one in text))) if text else seeds - 1


def floor_of(row, seeds):
    """The standard error that so few checkpoints leave to a mean of Fisher's z (Fieller, Hartley and Pearson, 1957; one variable is given)."""
    return np.sqrt(1.06 / (row.checkpoints - 4) / seeds) if row.checkpoints else 0.0


def p_above(x, text, floor=0.0):
    """One-sided, above 0, over seeds alone and with the variance over text added."""
    of_seeds = stats.ttest_1samp(x, 0, alternative="greater").pvalue if stats.sem(x) >= floor else stats.norm.sf(x.mean() / floor)
    if not text:
        return of_seeds
    error, freedom = error_of(x.var(ddof=1), len(x), text)
    return max(of_seeds, stats.t.sf(x.mean() / error, freedom) if error >= floor else stats.norm.sf(x.mean() / floor))


def shown_interval(row):
    """The wider one of that over seeds and that over seeds and text, and of a correlation no narrower than its checkpoints allow."""
    low, high = interval(row.x)
    halves = [1.96 * floor_of(row, len(row.x))]
    if row.text:
        error, freedom = error_of(row.x.var(ddof=1), len(row.x), row.text)
        halves.append(stats.t.ppf(0.975, freedom) * error)
    return np.array([min(low, row.x.mean() - max(halves)), max(high, row.x.mean() + max(halves))])


def p_values(row):
    """(that the row holds, that it fails)."""
    test, rule, mean = row.test, row.test["rule"], row.x.mean()
    if row.orders is not None:
        both = [min(1.0, 2 * np.mean(side)) for side in (row.orders >= mean - 1e-9, row.orders <= mean + 1e-9)]
        return both if rule == "above" else both[::-1]

    def p(sign, share):
        """One-sided, that the row lies above (1) or below (−1) a share of its reference."""
        x, text = beyond(row, share)
        return p_above(sign * x, text, floor_of(row, len(x)))
    if rule in ("above", "below", "alike"):
        both = [min(1.0, 2 * p(sign, test.get("less", 0))) for sign in (1, -1)]
        return both if rule != "below" else both[::-1]
    low, high = (test["low"], test["high"]) if rule == "within" else (-test["margin"], test["margin"])
    if rule == "at_most":
        return p(-1, high), p(1, high)
    inside = max(p(-1, high), p(1, low))
    outside = min(1.0, 2 * min(p(1, high), p(-1, low)))
    return (outside, inside) if rule == "differs" else (inside, outside)


@dataclass
class Decision:
    """A row, or of `alike` the rows of a group, and how sure its rule is."""
    rows: list
    holds: float
    fails: float

    @property
    def word(self):
        return "holds" if self.holds <= 0.05 else "fails" if self.fails <= 0.05 else "open"


def decisions(file, test):
    """(the decisions of a test, (name, why or '') of the rows without a number, how many decisions there should be)."""
    rows, without = [], []
    for entry in entries(file.values, test):
        row = None
        try:
            compared, one, chosen = tuned(file.values, test, entry)
            row = worked_out(compared, test, one)
        except KeyError:
            pass
        if row is None or len(row.seeds) < test.get("seeds", FEWEST_SEEDS):
            without.append((entry["as"], row.reason if row else ""))
            continue
        row.chosen, (row.text, row.left) = chosen, of_text(file, compared, row)
        rows.append(row)
    if test["rule"] != "alike":
        return [Decision([row], *p_values(row)) for row in rows], without, len(rows) + len(without)
    groups = defaultdict(list)
    for row in rows:
        groups[row.entry["group"]].append(row)
    out = []
    for of_group in groups.values():
        up, down = zip(*(p_values(row) for row in of_group))
        out.append(Decision(of_group, min(max(up), max(down)), min(1.0, len(of_group) * max(min(up), min(down)))))
    return out, without, len(out)
