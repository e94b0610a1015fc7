"""Fits of ΔCE over size, tokens, bits and the learning rate at the end: the laws of Kumar et al. (2024, arXiv 2411.04330),

    ΔCE = C · tokens^b / size^a · exp(−bits/g),

and of Ouyang et al. (2024, arXiv 2411.17691), which has bits^−g in place of the exponential, both times lr^e. In logarithms they are
straight, so least squares fit them. Checkpoints of one training are no independent sample: each seed is fitted by itself, and intervals are
over seeds, as those of every other statistic.
"""

from dataclasses import dataclass

import numpy as np

from ..values import member
from .intervals import CONFIDENCE, t_quantile

TERMS = ("size", "tokens", "bits", "lr")
BITS = ("exponential", "power")


@dataclass
class Fit:
    """`coefficients` [seeds, terms] of the natural logarithm of ΔCE over ln size, ln tokens, bits (or ln bits) and ln lr. `r2` and
    `r2_without_lr` [seeds] are the shares of its variance that the terms explain; `dropped` counts values that have no logarithm."""
    terms: list
    seeds: list
    coefficients: np.ndarray
    r2: np.ndarray
    r2_without_lr: np.ndarray
    used: int
    dropped: int
    constant: list  # terms that are one value everywhere and so cannot be told apart from C

    def interval(self, term, confidence=CONFIDENCE):
        """(mean, low, high) over seeds; low and high are None for one seed."""
        values = self.coefficients[:, self.terms.index(term)]
        if len(values) < 2:
            return float(values.mean()), None, None
        half = t_quantile(len(values) - 1, confidence) * values.std(ddof=1) / np.sqrt(len(values))
        return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def least_squares(x, y):
    """(coefficients, R²) of y [n] over the columns of x [n, terms] and a constant."""
    centred = x - x.mean(0)
    size = np.sqrt((centred * centred).sum(0))
    if len(y) <= x.shape[1] + 1 or not size.all() or np.linalg.matrix_rank(centred / size, tol=1e-9) < x.shape[1]:
        raise ValueError("%d values do not tell %d terms and a constant apart" % (len(y), x.shape[1]))
    design = np.column_stack([np.ones(len(y)), x])
    found = np.linalg.lstsq(design, y, rcond=None)[0]
    around = ((y - y.mean()) ** 2).sum()
    return found[1:], 1 - ((y - design @ found) ** 2).sum() / around if around > 0 else np.nan


def fit(errors, covariates, seeds, bits="exponential"):
    """`errors` [n] in nats per token, `covariates` {term: [n]}, `seeds` [n]. ValueError where a seed has too little to tell terms apart."""
    if bits not in BITS:
        raise ValueError("bits: got %s, wanted one of %s" % (bits, ", ".join(BITS)))
    unknown = [term for term in covariates if term not in TERMS]
    if unknown:
        raise ValueError("got the term %s, wanted some of %s" % (unknown[0], ", ".join(TERMS)))
    errors, seeds = np.asarray(errors, float), np.asarray(seeds)
    columns = {term: np.asarray(covariates[term], float) for term in TERMS if term in covariates}
    has = (errors > 0) & np.all([column > 0 for column in columns.values()], axis=0)
    told = [term for term, column in columns.items() if len(np.unique(column[has])) > 1]
    if not told:
        raise ValueError("no term has two values")
    straight = {term: columns[term] if term == "bits" and bits == "exponential" else np.log(np.where(has, columns[term], 1)) for term in told}
    out, rest = [], [term for term in told if term != "lr"]
    for seed in np.unique(seeds[has]):
        own = has & (seeds == seed)
        y = np.log(errors[own])
        found, r2 = least_squares(np.column_stack([straight[term][own] for term in told]), y)
        without = least_squares(np.column_stack([straight[term][own] for term in rest]), y)[1] if rest else 0.0
        out.append((seed.item(), found, r2, r2 if rest == told else without))
    return Fit(told, [one[0] for one in out], np.array([one[1] for one in out]), np.array([one[2] for one in out]),
               np.array([one[3] for one in out]), int(has.sum()), int((~has).sum()), [term for term in columns if term not in told])


def of_observations(observations, bits="exponential"):
    """The fit over all quantized losses of one method; the size is that of the float weights as stored."""
    chosen = [it for it in observations if it.has_delta and it.is_base and it["averaging"] is None]
    methods = sorted({str(it["quantizer"]) for it in chosen})
    if len(methods) != 1:
        raise ValueError("got values of %s, wanted those of one method" % (" and ".join(methods) or "no method"))
    rows = [(it.delta, member(it.floating["details"], "stored_bytes"), it["tokens"], it["bits"], it["lr"]) for it in chosen]
    known = [i for i, term in enumerate(TERMS, 1) if all(row[i] is not None for row in rows)]
    return fit([row[0] for row in rows], {TERMS[i - 1]: [row[i] for row in rows] for i in known}, [it.seed for it in chosen], bits)
