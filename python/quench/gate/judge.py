"""One verdict from the paired items of a float and a quantized model.

Of losses the measure is ΔQL = (Σ q)/(Σ f) − 1, a ratio of two sums over the same units, documents or blocks
(analysis/intervals.py). Its variance is that of the mean of q − (1 + ΔQL) f, divided by the squared mean of f: the delta method
for a ratio of sums (Cochran, Sampling Techniques, 1977, 6.3). The variance of that mean is the one that reports have: the
jackknife's over documents, or that of runs of neighbouring blocks, which resemble each other. Costs of single blocks are skewed, so
the limit on the side of the long tail is moved outwards by one term of the Edgeworth expansion of Student's t, skewness (2t² + 1)/6
standard errors (Hall, Inverting an Edgeworth expansion, 1983). Without it 6.8 % of skewed samples at the budget were called within; with
the other limit moved inwards, which the theory has, too, 6.2 % of twelve documents.

Of the accuracy of one task the measure is the share of questions lost, (f − q) in percentage points. Its limits invert the score
test for paired proportions (Tango, 1998), whose variance is that at the limit itself: without it a task where few answers differ
would seem certain.

`within` needs the upper one-sided 95 % limit at or below the budget, `beyond` the lower one above it.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..analysis.intervals import CONFIDENCE, common_sample, t_quantile
from ..analysis.observations import is_accuracy, is_loss
from ..metric_text import metric_text
from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, NUMERICAL, Error
from ..values import is_number, member

WITHIN, BEYOND, UNDECIDED = "within", "beyond", "undecided"
FEWEST = 40  # blocks or questions: intervals over fewer are too narrow (bench/README.md)
MOST_MORE = 10 ** 7  # units; beyond them no text of this kind decides
_POWER_Z = 0.8416212335729143  # the normal quantile of a chance of 4 in 5


@dataclass
class Measured:
    """A paired difference: `value` and its unit's word, and the limits at any confidence."""

    value: float
    n: int
    sample: str  # "113 blocks, block bootstrap of 15", "40 documents", "1000 questions"
    units: str  # "blocks", "documents" or "questions"
    limits: object  # of a two-sided confidence: (lower, upper)
    stderr: float
    quantile: object  # of a two-sided confidence: how many stderr a limit is away

    def one_sided(self, error):
        """(lower, upper): each is wrong with the chance `error`."""
        return self.limits(1 - 2 * error)


def loss_ratio(floating, quantized):
    """ΔQL of two records of a loss; None if they share fewer than two items."""
    sample = common_sample([floating, quantized])
    if sample is None:
        return None
    f, q = sample.sums(floating), sample.sums(quantized)
    ratio = q.sum() / f.sum() - 1
    rests = q - (1 + ratio) * f
    spread = sample.spread(rests)
    stderr, skewness = float(spread.stderr * sample.sizes.sum() / f.sum()), sample.skewness(rests)

    def quantile(confidence):
        return t_quantile(spread.degrees_of_freedom, confidence)

    def limits(confidence):
        t = quantile(confidence)
        shift = skewness * (2 * t * t + 1) / 6
        return (float(ratio) - (t - min(shift, 0.0)) * stderr, float(ratio) + (t + max(shift, 0.0)) * stderr)

    return Measured(float(ratio), len(sample.sizes), spread.sample, sample.units, limits, stderr, quantile)


def accuracy_drop(floating, quantized):
    """The share of questions lost, of two records of one task's accuracy."""
    f, q = np.asarray(floating["items"], float), np.asarray(quantized["items"], float)
    lost, won, n = int(((f == 1) & (q == 0)).sum()), int(((f == 0) & (q == 1)).sum()), len(f)
    value = (lost - won) / n
    # the smallest variance that the differences can have with one question more on each side: for the estimate of what decides
    stderr = math.sqrt((lost + won + 2) / n - value ** 2) / math.sqrt(n)

    def limits(confidence):
        z = normal_quantile(confidence)
        return (_limit(lost, won, n, -z), _limit(lost, won, n, z))

    return Measured(value, n, "%d questions, of which %d were lost and %d won" % (n, lost, won), "questions", limits, stderr,
                    normal_quantile)


def normal_quantile(confidence):
    """The z for which `confidence` of the normal distribution lies between −z and z."""
    from scipy.special import ndtri  # noqa: PLC0415

    return float(ndtri((1 + confidence) / 2))


def score(lost, won, n, drop):
    """The score statistic of H0: the share lost minus the share won is `drop`; standard normal where that holds (Tango, 1998)."""
    # The share won under H0 is the larger root of 2n p² + b p − won · drop (1 − drop).
    b = (2 * n - lost + won) * drop - lost - won
    won_share = (math.sqrt(max(b * b + 8 * n * won * drop * (1 - drop), 0.0)) - b) / (4 * n)
    variance, distance = n * (2 * won_share + drop * (1 - drop)), lost - won - n * drop
    return 0.0 if distance == 0 else math.copysign(math.inf, distance) if variance <= 0 else distance / math.sqrt(variance)


def _limit(lost, won, n, z):
    """The drop at which score() is −z: the upper limit for z > 0, the lower one for z < 0. score() falls with the drop."""
    low, high = -1.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(lost, won, n, middle) > -z else (low, middle)
    return (low + high) / 2


def _left_out(record):
    """{task: numbers of the questions that could not be scored}."""
    return {task: member(said, "questions") for task, said in (member(record["details"], "left_out") or {}).items()}


def measure(floating, quantized, names):
    """The paired difference of two records. Raises Error where they cannot be paired."""
    for record, name in ((floating, names[0]), (quantized, names[1])):
        if record["error"]:
            raise Error(FAILED_PRECONDITION, "%s: %s" % (name, record["error"]))
        if not is_number(record["value"]) or not math.isfinite(record["value"]):
            raise Error(NUMERICAL, "%s: got %s = %s, wanted a finite number" % (name, record["metric"], record["value"]))
    loss, accuracy = is_loss(floating), is_accuracy(floating)
    if not loss and not accuracy:
        raise Error(INVALID_ARGUMENT, "--metric: got %s, measured in %s, wanted a loss in nats/token or the accuracy of a task"
                    % (floating["metric"], floating["unit"]))
    if _left_out(floating) != _left_out(quantized):
        raise Error(FAILED_PRECONDITION, "%s: got other questions that cannot be scored than %s, wanted the same"
                    % (names[1], names[0]))
    if metric_text(floating) != metric_text(quantized) or floating["unit"] != quantized["unit"]:
        raise Error(FAILED_PRECONDITION, "%s: got another text or other settings of %s than %s, wanted the same"
                    % (names[1], floating["metric"], names[0]))
    items = "blocks" if loss else "questions"
    if len(floating["items"]) != len(quantized["items"]):
        raise Error(FAILED_PRECONDITION, "%s: got %d %s where %s has %d, wanted the same"
                    % (names[1], len(quantized["items"]), items, names[0], len(floating["items"])))
    if accuracy and not set(floating["items"]) | set(quantized["items"]) <= {0.0, 1.0}:
        raise Error(INVALID_ARGUMENT, "--metric: got the mean of several tasks, wanted one task, whose questions are 0 or 1 each")
    if loss and not floating["value"] > 0:
        raise Error(FAILED_PRECONDITION, "%s: got a loss of %r, wanted one above 0: there is no ratio to it"
                    % (names[0], floating["value"]))
    found = loss_ratio(floating, quantized) if loss else accuracy_drop(floating, quantized) if floating["items"] else None
    if found is None:
        raise Error(FAILED_PRECONDITION, "%s: got %d %s, wanted at least 2: one has no interval"
                    % (floating["label"] or floating["metric"], len(floating["items"]), items))
    return found


@dataclass
class Verdict:
    word: str
    lower: float  # one-sided limits
    upper: float
    error: float  # the chance that each of them is wrong
    more: int = None  # units that would decide, of an undecided verdict; None if no number would


def judge(measured, budget, looks=1):
    """Each of `looks` looks at growing data gets 0.05/looks (Bonferroni), which holds whatever data the looks share."""
    error = (1 - CONFIDENCE) / looks
    lower, upper = measured.one_sided(error)
    enough = measured.n >= FEWEST or measured.units == "documents"
    if enough and upper <= budget:
        return Verdict(WITHIN, lower, upper, error)
    if enough and lower > budget:
        return Verdict(BEYOND, lower, upper, error)
    return Verdict(UNDECIDED, lower, upper, error, units_that_decide(measured, budget, error))


def units_that_decide(measured, budget, error):
    """How many more units decide in 4 of 5 samples if the difference stays what it is: n ((z + z₈₀) · stderr/distance)² − n, in two
    digits, rounded up; None beyond MOST_MORE."""
    distance, n = abs(measured.value - budget), measured.n
    reach = (measured.quantile(1 - 2 * error) + _POWER_Z) * measured.stderr
    if distance == 0 or reach / distance > math.sqrt(MOST_MORE):
        return None
    more = max(n * ((reach / distance) ** 2 - 1), FEWEST - n, 1)
    if more > MOST_MORE:
        return None
    step = 10 ** max(0, math.floor(math.log10(more)) - 1)
    return int(math.ceil(more / step - 1e-9) * step)
