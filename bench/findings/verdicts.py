"""What the numbers say of a claim: `holds`, `fails`, `open`, or `waits` where nothing has been measured.

A row is decided where every interval that it has lies on one side, each at a confidence at which all rows of the test hold
at once (Bonferroni), and where there are as many seeds as the test asks for. A claim holds where all rows of all of its
tests do, fails where one does, and is open otherwise.
"""

from dataclasses import dataclass, field

import long_table

WORDS = ("holds", "fails", "open", "waits")


@dataclass
class Row:
    """A row of a contrast: {(kind, quantity): number}, as the file of results has it."""
    test: str
    contrast: str
    what: str
    unit: str
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


def rows_of(results, test):
    """The rows of a test, in the order of the file."""
    out = {}
    for row in results.where(table="contrast", test=test):
        place = (row["contrast"], row["row"])
        found = out.setdefault(place, Row(test, *place, row["unit"]))
        if row["quantity"] in found.numbers:
            raise long_table.Wrong(f"{results.path}: test {test} has two rows {' / '.join(place)} with a {row['quantity']}")
        found.numbers[row["quantity"]] = row["value"]
    return list(out.values())


def side(interval, rule):
    """'for', 'against' or 'across' for one interval."""
    low, high = interval
    if rule.rule == "within":
        return "for" if rule.low <= low and high <= rule.high else "against" if high < rule.low or low > rule.high else "across"
    where = "above" if low > rule.than else "below" if high < rule.than else "across"
    if where == "across" or rule.rule in ("alike", "differs"):
        return where
    return "for" if where == rule.rule else "against"


def of_row(row, rule, at_once=True):
    """The verdict on one row; for the rule `alike` above, below or open."""
    if (row.get("seeds", "n") or 1) < rule.seeds:
        return "open"
    kinds = [kind for kind in row.kinds() if kind in rule.kinds]
    if not kinds:
        return "open"
    sides = set()
    for kind in kinds:
        interval = row.interval(kind, at_once)
        sides.add("across" if interval is None else side(interval, rule))
    found = sides.pop() if len(sides) == 1 else "across"
    if rule.rule == "differs" and found != "across":
        return "holds"
    return {"for": "holds", "against": "fails", "across": "open"}.get(found, found)


def of_group(words):
    """Rows that should agree, whichever way: all above or all below holds, one each way fails."""
    found = set(words)
    return "fails" if found >= {"above", "below"} else "open" if "open" in found or not found else "holds"


def of_rows(rows, rule, at_once=True):
    """The verdicts on the rows of a test; of `alike`, one for each text that rows have in common."""
    words = [of_row(row, rule, at_once) for row in rows]
    if rule.rule != "alike":
        return words
    effect = {contrast["as"]: contrast["effect"] for contrast in rule.contrasts}
    groups = {}
    for row, word in zip(rows, words):
        groups.setdefault((effect[row.contrast], row.what), []).append(word)
    return [of_group(words) if len(words) == len(effect) // len(set(effect.values())) else "open"
            for words in groups.values()]


@dataclass
class Verdict:
    word: str
    counts: dict = field(default_factory=dict)    # words of rows, all intervals at once
    one_by_one: dict = field(default_factory=dict)
    missing: int = 0          # rows without a number in manifests that were measured
    seeds: int = 0            # the fewest of all rows
    unmeasured: dict = field(default_factory=dict)  # manifest: how many rows wait for its run
    problems: list = field(default_factory=list)
    seen: dict = field(default_factory=dict)      # unit: (least, most) effect that an open row would have shown
    rows: list = field(default_factory=list)


def _count(words):
    return {word: words.count(word) for word in ("holds", "fails", "open")}


def results_for(test, folder):
    """The file of results that the test is read from, or None."""
    own = folder.get(test.manifest)
    return own if own is not None and (rows_of(own, test.id) or own.where(table="problem", test=test.id)) else None


def effect_seen(row):
    """The smallest effect that the widest question of the row had a good chance to show, with all rows at once."""
    kind = "seeds" if row.get("seeds", "n") else next(iter(row.kinds()), None)
    if kind is None:
        return None
    found = row.get(kind, "detectable_all")
    return row.get(kind, "detectable") if found is None else found


def of_claim(claim, folder):
    """The verdict on a claim from the files of results, {name: Results}."""
    at_once, plain, out, seeds = [], [], Verdict("waits"), []
    for test in claim.tests:
        results = results_for(test, folder)
        if results is None:
            out.unmeasured[test.manifest] = out.unmeasured.get(test.manifest, 0) + test.rows
            continue
        rows = rows_of(results, test.id)
        out.rows += rows
        out.problems += [row["row"] for row in results.where(table="problem", test=test.id)]
        out.missing += max(0, test.rows - len(rows))
        words = of_rows(rows, test)
        at_once += words
        plain += of_rows(rows, test, at_once=False)
        seeds += [int(row.get("seeds", "n") or 1) for row in rows if test.seeds > 0]
        for row in rows:
            if of_row(row, test) == "open":
                effect = effect_seen(row)
                if effect is not None:
                    low, high = out.seen.get(row.unit, (effect, effect))
                    out.seen[row.unit] = (min(low, effect), max(high, effect))
    out.counts, out.one_by_one = _count(at_once), _count(plain)
    out.seeds = min(seeds, default=0)
    if at_once or out.problems:
        decided = not (out.unmeasured or out.missing or out.problems)
        out.word = ("fails" if out.counts["fails"] else
                    "holds" if decided and out.counts["holds"] == len(at_once) > 0 else "open")
    return out
