"""The verdict of each claim from its rows, how sure it is, and what its rows could have seen."""

import functools
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from witness_parts.rows import decisions, error_of, floor_of

LEVEL, POWER, MOST_SEEDS, FEWEST_SEEDS = 0.05, 0.8, 200, 3


@dataclass
class Claim:
    table: dict      # as claims.toml has it
    decisions: list  # of tests that decide
    beside: list     # decisions of other tests
    without: list    # (name, why) of rows that should decide and have no number
    refused: list    # the same of other rows
    word: str
    holds: float     # p-values
    fails: float
    fresh: bool      # whether all files that decide it are younger than the rule, and their seeds were not known

    @property
    def rows(self):
        return [row for one in self.decisions + self.beside for row in one.rows]

    @property
    def is_decided(self):
        return self.word in ("holds", "fails")

    @property
    def deciding(self):
        """Of a claim that fails the clearest decision, else the least sure."""
        if self.word == "fails":
            return min(self.decisions, key=lambda one: one.fails)
        return max(self.decisions, key=lambda one: one.holds)

    @property
    def text(self):
        if not self.is_decided:
            return self.word
        asked = [self.deciding] if self.word == "fails" else self.decisions
        one_text = any(not row.text for one in asked for row in one.rows)
        return self.word + " on one text" * one_text + " (rule changed after the data)" * (not self.fresh)


def is_younger(run, rule):
    """By the minute where both say it, else by the day."""
    day, minute = (run[:10], rule[:10]), (run[10:], rule[10:])
    return day[0] > day[1] or (day[0] == day[1] and all(minute) and minute[0] > minute[1])


def of_claim(table, files, rules):
    deciding, beside, without, refused, wanted, measured, fresh = [], [], [], [], 0, True, True
    for test in table.get("tests", []):
        file = files.get(test["manifest"])
        if "contrasts" in test:
            refused += [(row["contrast"], row["row"]) for row in file.rows if (row["table"], row["test"]) == ("problem", test["id"])] if file else []
            continue
        if not test.get("decides"):
            found, lacking, _ = decisions(file, test) if file else ([], [], 0)
            beside, refused = beside + found, refused + lacking
            continue
        if file is None:
            measured = False
            continue
        found, lacking, count = decisions(file, test)
        deciding, without, wanted = deciding + found, without + lacking, wanted + count
        began = file.head.get("began", file.head["date"])
        fresh &= all(is_younger(began, one["changed"]) for one in (rules, table) if "changed" in one) and not set(file.seeds) & set(rules["seeds_seen"])
    if not wanted:
        return Claim(table, [], beside, without, refused, "waits", 1.0, 1.0, fresh)
    holds = max((one.holds for one in deciding), default=1.0)
    fails = min(1.0, wanted * min((one.fails for one in deciding), default=1.0))
    complete = measured and not without and len(deciding) == wanted
    word = "fails" if fails <= LEVEL else "holds" if complete and holds <= LEVEL else "open"
    return Claim(table, deciding, beside, without, refused, word, holds, fails, fresh)


def false_discovery(claims):
    """(the largest share of wrong ones expected among the verdicts up to one that is decided by a rule older than its data, its claim, how many are
    so decided, how many claims were asked) by Benjamini and Hochberg (1995), over both words of each claim.
    """
    asked = [claim for claim in claims if claim.decisions and claim.fresh]
    p = sorted((getattr(claim, word), word, claim.table["id"]) for claim in asked for word in ("holds", "fails"))
    shares = {}
    for i, (_, word, id_) in enumerate(p):
        shares[word, id_] = min(1.0, min(len(p) * p[j][0] / (j + 1) for j in range(i, len(p))))
    decided = [(shares[claim.word, claim.table["id"]], claim.table["id"]) for claim in asked if claim.is_decided]
    return *max(decided, default=(None, None)), len(decided), len(asked)


@functools.lru_cache(maxsize=None)
def _deviations(freedom):
    """(values of √(χ²/f), their weights)."""
    ends = np.sqrt(np.array([stats.chi2.ppf(1e-13, freedom), stats.chi2.isf(1e-13, freedom)]) / freedom)
    s = np.linspace(*ends, 401)
    weights = stats.chi2.pdf(freedom * s * s, freedom) * s
    return s, weights / weights.sum()


def power(effect, freedom):
    """How often a two-sided t test at 5 % finds an effect of so many standard errors, with its sign: the upper tail of noncentral t."""
    critical = stats.t.ppf(0.975, freedom)
    if freedom > 1e5:
        return stats.norm.sf(critical - effect)
    s, weights = _deviations(freedom)
    return (weights * stats.norm.sf(critical * s - effect)).sum()


def detectable(row):
    """The difference that so many seeds, and so much text, find in four of five samples."""
    error, freedom = error_of(row.x.var(ddof=1), len(row.x), row.text)
    if error < floor_of(row, len(row.x)):
        error, freedom = floor_of(row, len(row.x)), 1e9
    return error * optimize.brentq(lambda effect: power(effect, freedom) - POWER, 0, 100)


def seeds_for_the_mean(row):
    """How many seeds find the mean that was measured as often: '70', '200 or more', 'more text', or '' where the rule does not ask for its side."""
    rule, mean = row.test["rule"], row.x.mean()
    if rule not in ("above", "below") or "less" in row.test or row.checkpoints or (mean if rule == "above" else -mean) <= 0:
        return ""

    def find(seeds):
        error, freedom = error_of(row.x.var(ddof=1), seeds, row.text)
        return power(abs(mean) / error, freedom) >= POWER
    if not find(10 ** 6):
        return "more text"
    few, many = FEWEST_SEEDS - 1, MOST_SEEDS  # the first is too few, the second enough
    while many - few > 1:
        few, many = (few, (few + many) // 2) if find((few + many) // 2) else ((few + many) // 2, many)
    return f"{many} or more" if many == MOST_SEEDS else str(many)


def of_ratio(x, r, confidence=0.95):
    """Ends of the ratios ρ for which the mean of x − ρ·r is not told from 0 by a t test (Fieller, 1954); without ends where r may be 0."""
    n, t = len(x), stats.t.ppf((1 + confidence) / 2, len(x) - 1)
    (of_x, both), (_, of_r) = np.cov(x, r)
    square = np.array([r.mean() ** 2, -2 * x.mean() * r.mean(), x.mean() ** 2]) - t * t / n * np.array([of_r, -2 * both, of_x])
    return np.sort(np.roots(square).real) if square[0] > 0 else np.array([-np.inf, np.inf])
