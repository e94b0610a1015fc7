"""What the numbers say of a claim: `holds`, `fails`, `open`, or `waits` where nothing has been measured.

A claim holds where every row that decides it holds at LEVEL (rules.py), and no row lacks a number. It fails where one row fails
at a level that counts the rows. Everything else is open. A verdict on a run that was known when the rule was last changed is
marked: only a fresh run, with other seeds, tells whether the rule was chosen for its result.
"""

import math
import weakref
from dataclasses import dataclass, field

import long_table
import measures
import rules
import units
from claims import FEWEST_SEEDS
from quench.analysis.intervals import detectable_errors  # measures.py finds it

WORDS = ("holds", "fails", "open", "waits")
AFTER = "rule changed after the data"
ITEMS_AVERAGED = "2026-11-28"  # since when contrasts average seeds before they take intervals over items


@dataclass
class ContrastRow:
    """A row of a contrast that `quench report` evaluated: {(kind, quantity): number}, as the file of results has it."""
    test: str
    contrast: str
    what: str
    unit: str
    items_of_first: bool = False  # whether items are of the first seed, where there are several
    numbers: dict = field(default_factory=dict)

    def get(self, kind, quantity):
        return self.numbers.get(f"{kind}.{quantity}")

    def kinds(self):
        return [kind for kind in ("items", "draws", "jitter", "seeds") if self.get(kind, "n") is not None]

    def interval(self, kind, at_once):
        """(low, high), or None where there is none for so many rows at once."""
        of_many = at_once and (self.get(kind, "comparisons") or 1) > 1
        ends = [self.get(kind, f"{end}_all" if of_many else end) for end in ("low", "high")]
        return None if None in ends else tuple(ends)

    def side(self, at_once=False):
        """'above' or 'below' where all intervals leave out 0 on that side, else 'across'."""
        found = set()
        for kind in self.kinds():
            ends = self.interval(kind, at_once)
            found.add("across" if ends is None else "above" if ends[0] > 0 else "below" if ends[1] < 0 else "across")
        return found.pop() if len(found) == 1 else "across"


def contrast_rows(results, test):
    """The rows of a test's contrasts, in the order of the file."""
    out = {}
    for row in results.where(table="contrast", test=test):
        place = (row["contrast"], row["row"])
        found = out.setdefault(place, ContrastRow(test, *place, row["unit"], results.head["date"] < ITEMS_AVERAGED))
        if row["quantity"] in found.numbers:
            raise long_table.Wrong(f"{results.path}: test {test} has two rows {' / '.join(place)} with a {row['quantity']}")
        found.numbers[row["quantity"]] = row["value"]
    return list(out.values())


def _freedom(kind, n, recorded=None):
    """Degrees of freedom of a standard error: over documents those that were recorded; over calibration draws, or over blocks in runs of
    min(⌈3 ∛n⌉, ⌊n/6⌋).
    """
    if recorded is not None:
        return recorded
    run = max(1, min(math.ceil(3 * n ** (1 / 3)), int(n) // 6)) if kind == "items" else 1
    return (1.5 if run > 1 else 1.0) * (n / run - 1)


_spreads = weakref.WeakKeyDictionary()


def of_text(row, results):
    """[how far other text or other calibration data move a row]."""
    if results not in _spreads:
        _spreads[results] = units.Spread(results)
    of_units = _spreads[results].of(row)
    return of_units + [one for one in of_contrasts(row, results) if not of_units or one.kind != "items"]


def of_contrasts(row, results):
    """The same of the contrasts that the test names: of several rows the mean, which no mean of them exceeds. It is that of the first
    seed where a file has no other.
    """
    if not row.test.text:
        return []
    found = [one for one in contrast_rows(results, row.test.text) if row.test.text_rows in f"{one.contrast}, {one.what}"
             and (not row.point or one.what.endswith(row.point.partition("=")[2]))]
    found = [one for one in found if row.name.startswith(one.contrast)] or found
    if not found:
        raise long_table.Wrong(f"{results.path}: test {row.test.id}: no row of test {row.test.text} fits {row.name}")
    kinds = [kind for kind in ("items", "draws", "jitter") if all(one.get(kind, "n") for one in found)]
    return [rules.Moved(kind, sum(one.get(kind, "stderr") for one in found) / len(found),
                        _freedom(kind, found[0].get(kind, "n"), found[0].get(kind, "freedom"))) for kind in kinds]


@dataclass
class Decided:
    """A row of a test with `sets`, or of `alike` one for each group, and how sure its rule is."""
    rows: list
    holds: float   # p-values, each by itself
    fails: float

    @property
    def word(self):
        return "holds" if self.holds <= rules.LEVEL else "fails" if self.fails <= rules.LEVEL else "open"


def decided(test, results):
    """(the rows of a test with `sets`, problems, how many there should be)."""
    rows, problems, wanted = measures.rows_of(results, test)
    for row in rows:
        row.text = of_text(row, results)
    if test.rule != "alike":
        return [Decided([row], *map(float, rules.of_row(row))) for row in rows], problems, wanted
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return [Decided(group, *map(float, found)) for group, found in zip(groups.values(), rules.of_rows(rows))], problems, len(groups)


def sides(row, test):
    """(p that a row of a contrast holds, p that it fails) by a t test, of all its spreads but that over seeds the less sure; (1, 1) without
    a spread. One run says nothing of other runs. A ratio whose divisor is noisy has no t distribution, so the 95 % interval, which is of
    resamples then, has to leave out the border on that side as well.
    """
    found = []
    for kind in ("items", "draws", "jitter"):
        error, freedom = row.get(kind, "stderr"), _freedom(kind, row.get(kind, "n") or 0, row.get(kind, "freedom"))
        if error and freedom > 0:
            t = (row.get(kind, "mean") - test.border) / error
            low, high = row.interval(kind, False) or (math.inf, -math.inf)
            over, under = (min(1.0, 2 * float(rules.stdtr(freedom, sign * t))) for sign in (-1, 1))
            over, under = over if low > test.border else 1.0, under if high < test.border else 1.0
            found.append((over, under) if test.rule == "above" else (under, over))
    return tuple(map(max, zip(*found))) if found else (1.0, 1.0)


def in_one_run(claim, folder):
    """'holds in one run', 'fails in one run' or 'open in one run' by the contrasts that decide the claim at the paper's size, or '' where one
    of their manifests has not been measured. A verdict with a row that has one calibration draw holds for that draw, and says so.
    """
    tests = [test for test in claim.tests if test.contrasts and test.decides]
    if not tests or any(test.manifest not in folder for test in tests):
        return ""
    found, complete, drawn = [], True, True
    for test in tests:
        rows = contrast_rows(folder[test.manifest], test.id)
        complete &= bool(rows) and not list(folder[test.manifest].where(table="problem", test=test.id))
        drawn &= not test.calibrated or all((row.get("draws", "n") or 1) > 1 for row in rows)
        found += [Decided([row], *sides(row, test)) for row in rows]
    word = word_of(found, len(found), complete)[0]
    return f"{word} in one run" + ("" if drawn or word == "open" else " and for one calibration draw")


@dataclass
class Verdict:
    word: str
    fresh: bool = True
    holds: float = 1.0        # p-values
    fails: float = 1.0
    rows: list = field(default_factory=list)      # Decided, of tests that decide
    beside: list = field(default_factory=list)    # Decided, of other tests with `sets`
    contrasts: list = field(default_factory=list)  # ContrastRow
    refused: list = field(default_factory=list)    # why a contrast has no such row
    problems: list = field(default_factory=list)
    unmeasured: list = field(default_factory=list)  # manifests
    one_run: str = ""         # what one run at the paper's size says

    @property
    def is_decided(self):
        return self.word in ("holds", "fails")

    @property
    def deciding(self):
        """The rows that the verdict hangs on: of one that fails the clearest, else all."""
        return [min(self.rows, key=lambda one: one.fails)] if self.word == "fails" else self.rows

    @property
    def text(self):
        """As the page says it."""
        if not self.is_decided:
            return self.word
        on_one = not all(row.text for one in self.deciding for row in one.rows)
        return self.word + (" on one text" if on_one else "") + ("" if self.fresh else f" ({AFTER})")


def word_of(rows, wanted, complete):
    """(verdict, p that all of the `wanted` rows hold, p that one fails, which counts them) of the rows that decide a claim."""
    if not rows:
        return "open", 1.0, 1.0
    holds, fails = map(float, rules.of_claim([(row.holds, row.fails) for row in rows], wanted))
    return "fails" if fails <= rules.LEVEL else "holds" if complete and holds <= rules.LEVEL else "open", holds, fails


def detectable(row, seeds=None):
    """The difference that 95 % intervals over so many seeds, and over text, find in 4 of 5 samples."""
    error, freedom = rules.error_of(row.values.var(ddof=1), seeds or len(row.seeds), row.text)
    floor = rules.floor_of(row.checkpoints, seeds or len(row.seeds)) if row.checkpoints else 0.0
    error, freedom = (floor, 1e9) if error < floor else (error, freedom)
    return float(error) * detectable_errors(round(float(freedom), 6))


MOST_SEEDS = 200


def seeds_needed(row):
    """How many seeds find a row's mean in 4 of 5 samples if it is the effect, at most MOST_SEEDS; None on the side that the rule denies,
    infinitely many where the text is too short for it.
    """
    if row.test.rule not in ("above", "below") or row.test.less or row.checkpoints:
        return None
    mean = row.values.mean() * (1 if row.test.rule == "above" else -1)
    if mean <= 0:
        return None
    if detectable(row, 10 ** 6) > mean:
        return math.inf
    low, high = FEWEST_SEEDS, MOST_SEEDS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable(row, middle) <= mean else (middle + 1, high)
    return low


def of_claim(claim, of_rules, folder):
    """The verdict on a claim from the files of results, {name: Results}."""
    out, wanted = Verdict("waits", one_run=in_one_run(claim, folder)), 0
    for test in claim.tests:
        results = folder.get(test.manifest)
        if results is None:
            if test.decides and test.sets and test.manifest not in out.unmeasured:
                out.unmeasured.append(test.manifest)
            continue
        if test.contrasts:
            out.contrasts += contrast_rows(results, test.id)
            out.refused += [f"{row['contrast']}: {row['row']}" for row in results.where(table="problem", test=test.id)]
            continue
        rows, problems, count = decided(test, results)
        if not test.decides:
            out.beside += rows
            out.refused += problems
            continue
        out.rows += rows
        out.problems += problems
        out.fresh &= of_rules.call_fresh(results, claim)
        wanted += count
    if wanted:
        complete = len(out.rows) == wanted and not out.unmeasured and not out.problems
        out.word, out.holds, out.fails = word_of(out.rows, wanted, complete)
    return out
