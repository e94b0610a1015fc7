"""The claims, their rules and their tests, from claims.toml.

A test has `sets`, rows that are computed for each seed from the values of runs (measures.py); or `contrasts`, as a manifest's
section `report` has them, which `collect` evaluates. These stand beside, or decide at the paper's size, where one run is all there is.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).parent / "claims.toml"
RULES = ("above", "below", "at_most", "equal", "differs", "within", "alike")
WITH_MARGIN = ("at_most", "equal", "differs")
FEWEST_SEEDS = 3


class Wrong(Exception):
    """The table of claims contradicts itself."""


@dataclass
class Test:
    id: str
    manifest: str
    about: str = ""        # what its numbers are, as a sentence begins
    decides: bool = False  # whether the verdict on the claim asks for it
    rule: str = ""
    sets: list = field(default_factory=list)
    contrasts: list = field(default_factory=list)
    of: str = "error"
    method: str = ""
    methods: list = field(default_factory=list)  # in place of `method`: a row for each
    margin: float = 0.0    # of `at_most`, `equal` and `differs`, as a share of the error of the reference
    low: float = 0.0       # of `within`
    high: float = 0.0
    border: float = 0.0    # of contrasts that decide: what their rows are compared with
    calibrated: bool = True  # of contrasts that decide: whether another calibration draw could move their rows
    share_of: str = ""     # the measure that `within` and `less` take a share of
    less: float = 0.0      # this share is taken off before the row is compared with 0
    at: str = ""
    with_step: bool = False  # of a correlation: keeps what both series owe to the step, and decides nothing
    until: int = 0         # the last step of the lines that are compared at equal loss
    within: float = 0.2    # nats that a line between two checkpoints may bridge
    over_points: bool = False
    text: str = ""         # the test whose contrasts say how far other text, or other calibration data, moves such a row
    text_rows: str = ""    # what stands in the names of those contrasts and rows
    absolute: bool = False  # whether the margin is in the unit of the measure, and not a share of an error
    choose_seeds: list = field(default_factory=list)  # of weights with `points`: these seeds choose one and are not compared
    choose_at: int = 0     # the step at which they have the lowest float loss
    seeds: int = FEWEST_SEEDS
    asked_late: bool = False  # after the data were known: it never decides

    def check(self):
        if bool(self.sets) == bool(self.contrasts):
            raise Wrong(f"test {self.id}: wanted sets or contrasts, one of them")
        if self.contrasts and (self.rule in ("above", "below")) != self.decides:
            raise Wrong(f"test {self.id}: got the rule {self.rule!r}, wanted above or below of contrasts that decide, and else none")
        if self.sets and self.rule not in RULES:
            raise Wrong(f"test {self.id}: got the rule {self.rule!r}, wanted one of {', '.join(RULES)}")
        if (self.rule in WITH_MARGIN) != (self.margin > 0):
            raise Wrong(f"test {self.id}: got the margin {self.margin} for the rule {self.rule}")
        if self.rule == "within" and not (self.low < self.high and self.share_of):
            raise Wrong(f"test {self.id}: got the range {self.low} to {self.high} of {self.share_of or 'nothing'}")
        offers = [one for entry in self.sets for side in ("a", "b", "reference", "trainings") for one in entry.get(side, []) if "points" in one]
        if bool(offers) != bool(self.choose_seeds and self.choose_at):
            raise Wrong(f"test {self.id}: got {len(offers)} weights with points, choose_seeds {self.choose_seeds} and choose_at {self.choose_at}")
        if self.asked_late and self.decides:
            raise Wrong(f"test {self.id}: decides, and was asked after the data")
        if self.with_step and (self.at != "correlation" or self.decides):
            raise Wrong(f"test {self.id}: keeps what is owed to the step, wanted of a correlation that decides nothing")
        if self.absolute and self.rule not in WITH_MARGIN:
            raise Wrong(f"test {self.id}: got an absolute margin for the rule {self.rule}")
        if self.sets and self.seeds < FEWEST_SEEDS:
            raise Wrong(f"test {self.id}: seeds = {self.seeds}, wanted at least {FEWEST_SEEDS}")


@dataclass
class Claim:
    id: str
    claim: str
    test: str
    paper: str
    page: str = ""         # of docs/findings
    says: str = ""         # a sentence of the first screen begins with it; with says_not where the claim fails
    says_not: str = ""
    tests: list = field(default_factory=list)
    waits: list = field(default_factory=list)  # manifests that decide it at the paper's size
    one_run_of: str = ""   # the claim whose verdict in one run is this one's as well: the paper's runs stand on a plateau
    needs: str = ""        # what it takes to ask it that the program does not have
    note: str = ""         # what one run at the paper's size does not decide, and why
    changed: str = ""      # when its own rule was last changed, where that was after the day of `rules`; UTC


@dataclass
class Rules:
    changed: str       # the day of their last change
    seeds_seen: list   # of all runs that were known then

    def call_fresh(self, results, claim):
        """Whether a run is fresh: begun after the last change, with seeds that were not known. Where one of both says a day alone, the run has to be
        of a later day.
        """
        seeds = {int(row["seed"]) for row in results.rows if row["seed"]}
        began = results.head.get("began") or results.head["date"]
        for changed in filter(None, (self.changed, claim.changed)):
            known = min(len(began), len(changed))  # characters of a day, or of a minute
            if began[:known] <= changed[:known]:
                return False
        return not seeds & set(self.seeds_seen)


def read(path=TABLE):
    """(the claims, the rules)."""
    with open(path, "rb") as file:
        document = tomllib.load(file)
    out = []
    for entry in document["claim"]:
        tests = [Test(**test) for test in entry.pop("tests", [])]
        claim = Claim(tests=tests, **entry)
        if claim.changed and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", claim.changed):
            raise Wrong(f"claim {claim.id}: got changed = {claim.changed!r}, wanted a time as 2026-11-28T09:30")
        for test in tests:
            test.check()
        if bool(claim.says) != bool(claim.says_not):
            raise Wrong(f"claim {claim.id}: wanted says and says_not, or none of them")
        if not any(test.decides and test.sets for test in tests) and not claim.waits and not claim.needs:
            raise Wrong(f"claim {claim.id}: has no test that decides it, waits for no manifest and needs nothing")
        out.append(claim)
    ids = [claim.id for claim in out]
    tests = [test.id for claim in out for test in claim.tests]
    if len(set(ids)) != len(ids) or len(set(tests)) != len(tests):
        raise Wrong("two claims or two tests have one id")
    unknown = [test.text for claim in out for test in claim.tests if test.text not in ("", *tests)]
    if unknown:
        raise Wrong(f"there is no test {unknown[0]} to take the spread over texts from")
    unknown = [claim.one_run_of for claim in out if claim.one_run_of not in ("", *ids)]
    if unknown:
        raise Wrong(f"there is no claim {unknown[0]} to take the verdict in one run from")
    return out, Rules(**document["rules"])
