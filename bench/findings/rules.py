"""How sure a rule is that a row holds, or that it fails: p-values of t tests over seeds.

A row holds or fails where its p-value is at most LEVEL. `above` and `below` ask whether the 95 % interval lies on one side of 0.
`at_most`, `equal`, `differs` and `within` compare with margins by one-sided tests, two where there are two borders (Schuirmann,
1987). A margin is a share of a reference that is measured at the same seeds, so a border is 0 for value ± share · reference: its
noise counts, too, over seeds and over text. Where it is known how far other text or other calibration data move such a row, that
variance is added, and the row has to be as sure over seeds alone.

Values have the seeds along their last axis; axes before it are simulations.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtr

LEVEL = 0.05


class Moved(NamedTuple):
    """How far something else than seeds moves a row's mean, and the mean of what its margin is a share of; without the latter it counts as known."""
    kind: str            # documents, runs, groups, items, draws or jitter
    error: float         # standard error
    freedom: float       # its degrees of freedom
    both: float = 0.0    # covariance of the row and the reference
    of_reference: float = 0.0  # variance of the reference

    def beyond(self, share):
        """The same of the row less a share of its reference."""
        variance = self.error ** 2 - 2 * share * self.both + share * share * self.of_reference
        return self._replace(error=np.sqrt(np.maximum(variance, 0)))


def error_of(variance, seeds, text=()):
    """(standard error, degrees of freedom) of a mean over seeds with this variance, and over text that all of them share: variances
    add, and so many degrees of freedom fit the sum (Welch, 1947; Satterthwaite, 1946), less one: with few seeds it is too sure. They are at
    least those of the part that has the fewest.
    """
    parts = [(variance / seeds, seeds - 1), *((one.error ** 2, one.freedom) for one in text)]
    total = sum(part for part, _ in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total * total / sum(part * part / of_part for part, of_part in parts) - (1 if text else 0)
    fewest = functools.reduce(np.minimum, [of_part for _, of_part in parts])
    return np.sqrt(total), np.where(total > 0, np.maximum(freedom, fewest), seeds - 1)


def _sides(values, text, floor=0.0):
    """The one-sided p-values of a mean over the last axis above 0, and below 0. With text the larger one counts of that over seeds
    alone and that of both variances: the latter, with few seeds, is a bit too sure where seeds vary most.
    """
    mean, variance, seeds = values.mean(-1), values.var(-1, ddof=1), values.shape[-1]
    out = []
    for known in ((), text) if text else ((),):
        error, freedom = error_of(variance, seeds, known)
        error, freedom = np.maximum(error, floor), np.where(error < floor, 1e9, freedom)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(mean / error, nan=0.0, posinf=np.inf, neginf=-np.inf)
        out.append((stdtr(freedom, -t), stdtr(freedom, t)))
    return np.max(out, axis=0)


def _beyond(row, share, floor=0.0):
    """The same of a row above and below a share of its reference."""
    if not share:
        return _sides(row.values, row.text, floor)
    return _sides(row.values - share * row.reference, [one.beyond(share) for one in row.text], floor)


def floor_of(checkpoints, seeds):
    """The standard error of a mean Fisher z of partial rank correlations, of independent checkpoints (Fieller et al., 1957)."""
    return math.sqrt(1.06 / (checkpoints - 4) / seeds)


def above(row):
    """Twice the one-sided p-values of being above 0 and below 0."""
    test = row.test
    if row.exchanged is not None:
        mean = row.values.mean(-1)[..., None]
        return tuple(np.minimum(1.0, 2 * side.mean(-1)) for side in (row.exchanged >= mean - 1e-9, row.exchanged <= mean + 1e-9))
    floor = floor_of(row.checkpoints, len(row.seeds)) if row.checkpoints else 0.0
    return tuple(np.minimum(1.0, 2 * p) for p in _beyond(row, test.less, floor))


def exchanged_limit(row, confidence=0.95):
    """What the mean of a row across trainings exceeds in (1 − confidence) / 2 of all ways to exchange them."""
    return float(np.quantile(row.exchanged, (1 + confidence) / 2, method="higher"))


def of_row(row):
    """(p that it holds, p that it fails), both by itself."""
    test = row.test
    if test.rule == "above":
        return above(row)
    if test.rule == "below":
        return above(row)[::-1]
    low, high = (test.low, test.high) if test.rule == "within" else (-test.margin, test.margin)
    over, not_over = _beyond(row, high)  # beyond the upper border, and not
    if test.rule == "at_most":
        return not_over, over
    not_under, under = _beyond(row, low)
    inside, outside = np.maximum(not_over, not_under), np.minimum(1.0, 2 * np.minimum(over, under))
    return (outside, inside) if test.rule == "differs" else (inside, outside)


def of_group(rows):
    """(p that all rows have one sign, p that two have different ones)."""
    ups, downs = (np.array(side) for side in zip(*(above(row) for row in rows)))
    return np.minimum(ups.max(0), downs.max(0)), np.minimum(1.0, len(rows) * np.maximum(ups.min(0), downs.min(0)))


def of_rows(rows):
    """[(p that it holds, p that it fails)] of the rows of one test; of `alike`, of each group."""
    if not rows or rows[0].test.rule != "alike":
        return [of_row(row) for row in rows]
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return [of_group(group) for group in groups.values()]


def of_claim(found, wanted):
    """(p that all rows hold, whose level is that of one; p that one of so many fails, which counts them: Bonferroni)."""
    holds, fails = (np.array(side) for side in zip(*found))
    return holds.max(0), np.minimum(1.0, wanted * fails.min(0))


def upper_limit(share, runs, confidence=0.95):
    """Of a chance that showed in this share of simulations (Clopper and Pearson, 1934)."""
    seen = round(share * runs)
    return 1.0 if seen >= runs else float(betaincinv(seen + 1, runs - seen, confidence))


def false_discovery(p_values):
    """The share of wrong ones that is expected among the tests up to each (Benjamini and Hochberg, 1995)."""
    p = np.asarray(p_values, float)
    order = np.argsort(p)
    adjusted = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(adjusted, 1.0)
    return out


@functools.lru_cache(maxsize=None)
def t_quantile(degrees_of_freedom, confidence):
    from scipy.stats import t  # noqa: PLC0415, slow to load

    return float(t.ppf((1 + confidence) / 2, degrees_of_freedom))


def interval(values, text=(), confidence=0.95):
    """Of the mean over seeds; with text the wider one of that over seeds alone and that of both variances, as rows are decided."""
    errors = [error_of(values.var(ddof=1), len(values), known) for known in ((), text)]
    half = max(t_quantile(round(float(freedom), 6), confidence) * float(error) for error, freedom in errors)
    return values.mean() - half, values.mean() + half


def ratio_interval(values, reference, confidence=0.95):
    """Of the ratio of two means over the same seeds (Fieller, 1954); (−∞, ∞) where the reference may be 0."""
    n, t2 = len(values), t_quantile(len(values) - 1, confidence) ** 2
    (xx, xr), (_, rr) = np.cov(values, reference) / n * t2
    x, r = values.mean(), reference.mean()
    a, b, c = r * r - rr, x * r - xr, x * x - xx
    if a <= 0:
        return -math.inf, math.inf
    half = math.sqrt(max(b * b - a * c, 0.0))
    return (b - half) / a, (b + half) / a
