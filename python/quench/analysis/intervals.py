"""How much a number would differ if another sample had been drawn: spreads over items, draws, orders and seeds.

Each kind is reported by itself and never mixed with another. Draws, orders and seeds are independent values. Items are not:
neighbouring blocks of one text resemble each other. Where records say how much of the loss belongs to which document, the
documents are the sample; elsewhere runs of neighbouring blocks are drawn together (the moving-block bootstrap of Künsch, 1989).
bench/README.md says how often these intervals hold the true value in simulations.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from ..values import is_number, member
from .observations import is_accuracy

CONFIDENCE = 0.95
POWER = 0.8  # "4 of 5 such samples"
KINDS = ("items", "draws", "jitter", "seeds")
FEWEST_DOCUMENTS = 10  # fewer are no sample: then the blocks count, in runs
RESAMPLES = 3999
_FEWEST_OUTSIDE = 5  # resamples on each side of an interval
_SEED = 20261123
_UNITS = {"items": "items", "draws": "calibration draws", "jitter": "orders of one calibration draw", "seeds": "seeds"}
OMITS = {
    "items": "other calibration data, the effect of rounding, other training runs, other corpora",
    "draws": "other validation data, other training runs",
    "jitter": "other calibration data, other validation data, other training runs",
    "seeds": "what all seeds share: the training, where the checkpoints are the same",
}


def t_quantile(degrees_of_freedom, confidence=CONFIDENCE):
    """The t for which `confidence` of Student's distribution lies between −t and t."""
    from scipy.special import betaincinv  # noqa: PLC0415, as exact as stdtrit is not in all versions

    return math.sqrt(degrees_of_freedom * (1 / betaincinv(degrees_of_freedom / 2, 0.5, 1 - confidence) - 1))


def normal_quantile(confidence=CONFIDENCE):
    """The z for which `confidence` of a normal distribution lies between −z and z."""
    from scipy.special import ndtri  # noqa: PLC0415

    return float(-ndtri((1 - confidence) / 2))


@functools.lru_cache(maxsize=None)
def detectable_errors(degrees_of_freedom, confidence=CONFIDENCE, power=POWER):
    """How many standard errors an effect must have so that a two-sided t test finds it, with its sign, with that power.

    A quantile of the noncentral t distribution.
    """
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.stats import nct  # noqa: PLC0415

    critical = t_quantile(degrees_of_freedom, confidence)
    high = critical
    with np.errstate(all="ignore"):  # scipy 1.10 warns of what happens inside
        while nct.sf(critical, degrees_of_freedom, high) < power:
            high *= 2
        return brentq(lambda effect: nct.sf(critical, degrees_of_freedom, effect) - power, 0, high, xtol=1e-13, rtol=1e-14)


@dataclass
class Spread:
    """The mean of a sample of `n`, in the unit of the value, with what another sample would change.

    `interval` is mean ± t · stderr or, of a statistic of many cells (`resampled` holds its values in ascending order),
    between quantiles of resamples, whose distances from the mean are multiplied by `stretch` · t/z. Among `comparisons` made
    side by side, `simultaneous` is the interval that holds for all of them at once (Bonferroni: each at 1 − 0.05/m), and
    `detectable` the smallest effect that this sample had a good chance to detect.
    """

    kind: str
    n: int
    mean: float
    deviation: float = None  # of the values, n − 1 in the denominator
    stderr: float = None
    interval: tuple = None
    degrees_of_freedom: float = 0.0
    units: str = ""  # what the sample is of, where the kind does not say it: blocks or questions
    run: int = 1  # neighbours drawn together
    documents: int = 0  # that are the sample in place of blocks
    resampled: np.ndarray = None
    stretch: float = 1.0
    limits: tuple = (-math.inf, math.inf)  # of what a statistic may be
    comparisons: int = 1
    simultaneous: tuple = None
    detectable: float = None

    @property
    def sample(self):
        """"3 calibration draws", "113 blocks, block bootstrap of 15", "40 documents"."""
        return sample_text(self.kind, [self])

    @property
    def is_constant(self):
        """Whether all values are equal, so that no interval says anything."""
        return self.stderr == 0 and self.resampled is None

    def at(self, confidence):
        """The interval at another confidence; None where too few resamples would lie outside."""
        if self.resampled is None:
            half = t_quantile(self.degrees_of_freedom, confidence) * self.stderr
            return (self.mean - half, self.mean + half)
        tail = (1 - confidence) / 2
        if tail * (len(self.resampled) + 1) < _FEWEST_OUTSIDE:
            return None
        ends = np.quantile(self.resampled, [tail, 1 - tail], method="weibull")
        factor = self.stretch * t_quantile(self.degrees_of_freedom, confidence) / normal_quantile(confidence)
        return tuple(np.clip(self.mean + factor * (ends - self.mean), *self.limits).tolist())

    def among(self, comparisons):
        """The same spread as one of so many comparisons."""
        return replace(self, comparisons=comparisons,
                       simultaneous=self.at(1 - (1 - CONFIDENCE) / comparisons) if comparisons > 1 else None,
                       detectable=self.stderr * detectable_errors(self.degrees_of_freedom))

    def scaled(self, factor):
        """All values times `factor` > 0."""
        def times(value):
            return value if value is None else tuple(end * factor for end in value) if isinstance(value, tuple) \
                else value * factor
        return replace(self, **{name: times(getattr(self, name)) for name in (
            "mean", "deviation", "stderr", "interval", "simultaneous", "detectable")})

    def json(self):
        return {"kind": self.kind, "n": self.n, "mean": self.mean, "deviation": self.deviation, "stderr": self.stderr,
                "interval": self.interval and list(self.interval), "confidence": CONFIDENCE,
                "degrees_of_freedom": self.degrees_of_freedom,
                "way": "t" if self.resampled is None else "resampled", "run": self.run, "documents": self.documents,
                "comparisons": self.comparisons, "simultaneous": self.simultaneous and list(self.simultaneous),
                "detectable": self.detectable, "omits": OMITS[self.kind]}


def sample_text(kind, spreads):
    """What one or several spreads of a kind are over: "48 to 60 blocks, block bootstrap of 8 to 10"."""
    def counted(counts):
        return "%d" % max(counts) if min(counts) == max(counts) else "%d to %d" % (min(counts), max(counts))
    units = sorted({"documents" if spread.documents else spread.units or _UNITS[kind] for spread in spreads})
    runs = [spread.run for spread in spreads if spread.run > 1]
    return "%s %s%s" % (counted([spread.documents or spread.n for spread in spreads]), " or ".join(units),
                        ", block bootstrap of " + counted(runs) if runs else "")


def _of_means(kind, n, mean, stderr, degrees_of_freedom, **more):
    out = Spread(kind, n, float(mean), float(stderr * math.sqrt(n)), float(stderr), None, float(degrees_of_freedom), **more)
    return replace(out, interval=out.at(CONFIDENCE))


def spread_of(kind, values, **more):
    """The spread of independent values, with Student's t at n − 1 degrees of freedom; no interval for n < 2."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return Spread(kind, len(values), float(values.mean()), **more)
    rests = values - values[0]  # equal values have no deviation, not even one by rounding
    return _of_means(kind, len(values), values[0] + rests.mean(), rests.std(ddof=1) / math.sqrt(len(values)), len(values) - 1, **more)


@dataclass
class ItemSample:
    """What the items of a loss are a sample of: documents, blocks in their order, or questions, which are independent."""

    sizes: np.ndarray  # scored positions of each document; of blocks and questions 1 each
    by_documents: bool
    is_text: bool

    @property
    def run(self):
        """Blocks drawn together, of n: min(⌈3 ∛n⌉, ⌊n/6⌋), at least 1.

        The first term is three times the rate at which the mean squared error of the variance is least, so that dependence
        over a few blocks biases it little; the second leaves six runs in short texts.
        """
        n = len(self.sizes)
        return 1 if self.by_documents or not self.is_text else max(1, min(math.ceil(3 * float(np.cbrt(n))), n // 6))

    @property
    def degrees_of_freedom(self):
        """Of documents (Σ n)²/Σ n² − 1, fewer where a few long ones weigh most; of runs 1.5 (n/L − 1)."""
        if self.by_documents:
            return max(1.0, self.sizes.sum() ** 2 / (self.sizes ** 2).sum() - 1)
        return (1.5 if self.run > 1 else 1.0) * (len(self.sizes) / self.run - 1)

    @property
    def units(self):
        return "documents" if self.by_documents else "blocks" if self.is_text else "questions"

    def sums(self, record):
        """The part of the record's loss that belongs to each unit: Σ nll of a document, the value of a block."""
        return _of_documents(record, "nll") if self.by_documents else np.asarray(record["items"], float)

    def spread(self, sums):
        """The spread of the mean (Σ sums)/(Σ sizes).

        Documents: the jackknife's variance, (D−1)/D Σ (the mean without that document − mean)².
        Blocks: L/((n−L+1)(n−L)) Σ (mean of a run − mean)², that of the moving-block bootstrap with infinitely many resamples
        times n/(n − L); 1.5 (n/L − 1) degrees of freedom (Meketon and Schmeiser, 1984). Few runs do not see all of a
        dependence, so the runs are of e = x − φ · the x before it, and their variance is divided by (1 − φ)² (prewhitening;
        Andrews and Monahan, 1992).
        """
        n = len(sums)
        if self.by_documents:
            total = self.sizes.sum()
            mean = sums.sum() / total
            rest = (sums - mean * self.sizes) / (total - self.sizes)
            return _of_means("items", n, mean, math.sqrt((n - 1) / n * (rest @ rest)), self.degrees_of_freedom, documents=n)
        if self.run == 1:
            return spread_of("items", sums, units=self.units)
        mean = sums[0] if (sums == sums[0]).all() else sums.mean()  # equal blocks have no deviation, not even one by rounding
        return _of_means("items", n, mean, math.sqrt(_block_variance(sums - mean, self.run)), self.degrees_of_freedom,
                         run=self.run, units=self.units)

    def skewness(self, sums):
        """That of the mean (Σ sums)/(Σ sizes): Σ u³/(Σ u²)^1.5, where u is what each unit adds and its neighbour does not tell."""
        mean = sums.sum() / self.sizes.sum()
        rests = sums - mean * self.sizes
        news = rests if self.run == 1 else _news(rests, _correlation(rests))
        squares = float(news @ news)
        return float((news ** 3).sum()) / squares ** 1.5 if squares > 0 else 0.0

    def resampled_means(self, sums):
        """Means [RESAMPLES, k] of sums [k, units] in resamples of the units, the same for every call with one sample.

        They lie about the means of the sample: runs hold the first and the last blocks more seldom.
        """
        n, parts = len(self.sizes), []
        for first in range(0, RESAMPLES, 500):  # bounds the memory
            counts = _resampled_counts(n, self.run, first, min(500, RESAMPLES - first))
            parts.append(counts @ np.transpose(sums) / (counts @ self.sizes)[:, None])
        means = np.concatenate(parts)
        return means + (np.sum(sums, 1) / self.sizes.sum() - means.mean(0))

    def stretch(self, sums, statistic):
        """How much wider than its resamples a statistic of means [..., k] of sums [k, units] varies: the standard error of the
        mean of its pseudo-values (Tukey, 1958), by `spread`, over that in infinitely many resamples. √(n/(n − L)) where no unit
        by itself moves the statistic, as with ranks, or one makes it undefined.
        """
        n, total, whole = len(self.sizes), self.sizes.sum(), sums.sum(1)
        without = ((whole[:, None] - sums) / (total - self.sizes)).T
        with np.errstate(invalid="ignore"):
            value = statistic(whole / total)
            moves = (value - statistic(without)) * (total - self.sizes)
        rests = moves - moves.sum() / total * self.sizes
        drawn = (n / total) ** 2 * (1 - self.run / n) * _variance_of_runs(rests, self.run)
        return float(self.spread(value * self.sizes + moves).stderr / math.sqrt(drawn)) if drawn > 0 else math.sqrt(n / (n - self.run))

    def spread_of_statistic(self, sums, statistic, resampled, limits=(-math.inf, math.inf)):
        """The spread of a statistic of means [..., k] of sums [k, units] by its values in resamples; NaN are left out."""
        known, stretch = np.sort(resampled[~np.isnan(resampled)]), self.stretch(sums, statistic)
        error = stretch * float(known.std(ddof=1))
        out = Spread("items", len(self.sizes), float(statistic(sums.sum(1) / self.sizes.sum())), error, error, None,
                     self.degrees_of_freedom, self.units, self.run, len(self.sizes) if self.by_documents else 0, known, stretch, limits)
        return replace(out, interval=out.at(CONFIDENCE))


def _block_variance(rests, run):
    """Of the mean. φ is the correlation of neighbours r plus its bias (1 + 4r)/n (Marriott and Pope, 1954), between 0 and
    1 − 1/√n (Sul, Phillips and Choi, 2005)."""
    phi = _correlation(rests)
    news = _news(rests, phi)
    return len(news) / len(rests) * _variance_of_runs(news, run) / (1 - phi) ** 2


def _correlation(rests):
    n, squares = len(rests), rests @ rests
    r = rests[:-1] @ rests[1:] / squares if squares > 0 else 0.0
    return min(max(r + (1 + 4 * r) / n, 0.0), 1 - 1 / math.sqrt(n)) if squares > 0 else 0.0


def _news(rests, phi):
    return rests if phi == 0 else rests[1:] - phi * rests[:-1]


def _variance_of_runs(values, run):
    n = len(values)
    means = np.convolve(values - values.mean(), np.full(run, 1 / run), "valid")
    return run * (means @ means) / ((n - run + 1) * (n - run))


def _resampled_counts(n, run, first, number):
    """How often each of n units is drawn, in runs, of which the last is cut; resamples `first` to `first + number`.

    SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere, whatever the library.
    """
    per = -(-n // run)
    z = np.arange(first * per + 1, (first + number) * per + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(_SEED)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    starts = ((z >> np.uint64(11)).astype(float) * 2.0 ** -53 * (n - run + 1)).astype(int).reshape(number, per, 1)
    drawn = (starts + np.arange(run)).reshape(number, per * run)[:, :n] + n * np.arange(number)[:, None]
    return np.bincount(drawn.ravel(), minlength=number * n).reshape(number, n).astype(float)


def _of_documents(record, name):
    """A list of numbers at details.documents; empty if there is none."""
    values = member(member(record["details"], "documents"), name)
    if not isinstance(values, list) or not all(is_number(value) and math.isfinite(value) for value in values):
        return np.zeros(0)
    return np.asarray(values, float)


def common_sample(records):
    """The sample that all records share: the documents if each attributes its loss to the same ones and there are at least
    FEWEST_DOCUMENTS, else the items; None if they share fewer than 2."""
    sizes = _of_documents(records[0], "scored")
    if len(sizes) >= FEWEST_DOCUMENTS and (sizes > 0).all() and all(
            np.array_equal(_of_documents(record, "scored"), sizes) and len(_of_documents(record, "nll")) == len(sizes)
            for record in records):
        return ItemSample(sizes, True, True)
    n = len(records[0]["items"])
    if n < 2 or any(len(record["items"]) != n for record in records):
        return None
    return ItemSample(np.ones(n), False, not is_accuracy(records[0]))


def paired_spread(*signed):
    """The spread over items of a signed sum of records, ((1, record), (−1, record), ...), unit by unit; or None."""
    sample = common_sample([record for _, record in signed])
    return sample and sample.spread(sum(sign * sample.sums(record) for sign, record in signed))


def delta_spread(observation):
    """The spread of ΔCE over the items, paired with the float model's; None without a float model or 2 shared items."""
    if observation.is_float or observation.floating is None:
        return None
    return paired_spread((1, observation.record), (-1, observation.floating))
