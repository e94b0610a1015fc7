"""The claims and their tests, from claims.toml. A test names a manifest and either contrasts, as a manifest's section `report`
has them, or pairs of sets of weights (`pairs`), for values that a contrast does not compare.
"""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).parent / "claims.toml"
RULES = ("above", "below", "equal", "differs", "within", "alike")


class Wrong(Exception):
    """The table of claims contradicts itself."""


@dataclass
class Test:
    id: str
    manifest: str
    rule: str
    contrasts: list = field(default_factory=list)
    pairs: list = field(default_factory=list)
    rows: int = 0        # that the test needs; with fewer it cannot hold
    seeds: int = 3       # that a verdict needs; 0: the rows are about other things than training
    than: float = 0.0    # what `above` and `below` compare with
    low: float = 0.0     # of `within`
    high: float = 0.0
    about: str = ""      # what its numbers are, as a sentence begins
    kinds: list = field(default_factory=lambda: ["items", "draws", "seeds"])

    def check(self):
        if self.rule not in RULES:
            raise Wrong(f"test {self.id}: got the rule {self.rule!r}, wanted one of {', '.join(RULES)}")
        if self.rows < 1:
            raise Wrong(f"test {self.id}: rows = {self.rows}, wanted how many rows it needs")
        if self.rule == "within" and not self.low < self.high:
            raise Wrong(f"test {self.id}: got the range {self.low} to {self.high}")


@dataclass
class Claim:
    id: str
    claim: str
    test: str
    paper: str
    says: str = ""
    question: str = ""
    tests: list = field(default_factory=list)
    waits: list = field(default_factory=list)  # manifests that decide it at the paper's size
    note: str = ""


def read(path=TABLE):
    with open(path, "rb") as file:
        document = tomllib.load(file)
    out = []
    for entry in document["claim"]:
        tests = [Test(**test) for test in entry.pop("tests", [])]
        claim = Claim(tests=tests, **entry)
        for test in tests:
            test.check()
        if not claim.tests and not claim.waits:
            raise Wrong(f"claim {claim.id}: has no test, and waits for no manifest")
        out.append(claim)
    ids = [claim.id for claim in out] + [test.id for claim in out for test in claim.tests]
    if len({claim.id for claim in out}) != len(out) or len(set(ids[len(out):])) != len(ids) - len(out):
        raise Wrong("two claims or two tests have one id")
    return out
