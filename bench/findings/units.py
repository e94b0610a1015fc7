"""How far another text would move a row of `sets`: the jackknife over units of the text (Quenouille, 1956; Tukey, 1958), of rank
correlations without random halves of them (Shao and Wu, 1989): ranks jump where one unit is left out, and the first is up to twice too wide.

data/documents/NAME.csv has Σ nll of each unit of the validation text, for the weights that rows of tests are made of. Units are the
documents, or runs of neighbouring blocks where the text has few documents; data/documents/NAME.questions.csv has right answers of groups
of questions. Everything that is made of losses, a difference, a crossing of two lines, an exponent, is worked out again without each unit.
"""

import csv
import math

import numpy as np

import long_table
import measures
import rules
from quench.analysis.intervals import FEWEST_DOCUMENTS  # measures.py finds it

OF_TEXT = {"loss": ("error", "log_error", "loss", "float", "relative"), "accuracy": ("accuracy",)}  # measures, by the quantity that a file has units of
GROUPS_OF_QUESTIONS = 50
HALVES, HALVES_SEED = 200, 20261130


def halves_of(count):
    """([half, unit] that are kept, the share of kept units to those left out, by which squares of differences are to be multiplied)."""
    draw, left_out = np.random.default_rng(HALVES_SEED), count // 2
    kept = np.ones((HALVES, count))
    for half in kept:
        half[draw.permutation(count)[:left_out]] = 0
    return kept, (count - left_out) / left_out


class Units:
    """One file: `kind` of its units, `scored` [units] positions or questions, `sums` {(point, branch, averaging, step, method): {seed: [units]}}."""

    def __init__(self, path, quantity):
        self.quantity, self.sums = quantity, {}
        with open(path, encoding="utf-8", newline="") as file:
            head, scored, *rows = list(csv.reader(file))
        self.kind = head[6].partition(" ")[0] + "s"
        self.scored = np.array(scored[6:], float)
        for point, branch, averaging, step, method, seed, *sums in rows:
            self.sums.setdefault((point, branch, averaging, int(step), method), {})[int(seed)] = np.array(sums, float)

    def on(self, values, kept):
        """The values as they are on units that are kept, of which there is a 1 in `kept` [unit] or [part, unit]; those that the file does not have are
        left out.
        """
        out = measures.Values.__new__(measures.Values)
        out.name, out.points, out.used = values.name, values.points, set()
        out.of = {place: found for place, found in values.of.items() if place[5] != self.quantity}
        scored = kept @ self.scored
        for place, of_seeds in self.sums.items():
            found = {seed: kept @ sums / scored for seed, sums in of_seeds.items() if seed in values.of.get((*place, self.quantity), ())}
            if found:
                out.of[(*place, self.quantity)] = found
        return out

    @property
    def freedom(self):
        """Degrees of freedom of a variance over units of unequal length."""
        return self.scored.sum() ** 2 / (self.scored ** 2).sum() - 1


def read(results):
    """The units of a file of results: none, those of its losses, or those of its questions too."""
    folder = results.path.parent / "documents"
    named = (("loss", folder / f"{results.name}.csv"), ("accuracy", folder / f"{results.name}.questions.csv"))
    return [Units(path, quantity) for quantity, path in named if path.exists()]


class Spread:
    """The errors over text of the rows of one file of results."""

    def __init__(self, results):
        self.units, self.values = read(results), measures.values_of(results)
        self.left_out = {}  # by quantity and the seeds that are compared

    def _without(self, units, test):
        """Values without each unit; of a correlation those of all halves in one."""
        key = units.quantity, tuple(test.choose_seeds), test.at == "correlation"
        if key not in self.left_out:
            compared, count = self.values.only(lambda seed: seed not in test.choose_seeds), len(units.scored)
            kept = [halves_of(count)[0]] if test.at == "correlation" else 1 - np.eye(count)
            self.left_out[key] = [units.on(compared, one) for one in kept]
        return self.left_out[key]

    def _check_seeds(self, row, of_units):
        if of_units.seeds != row.seeds:
            raise long_table.Wrong(f"{self.values.name}: test {row.test.id}: data/documents has other seeds than the results: {of_units.seeds}, wanted {row.seeds}")

    def _of_correlation(self, row):
        """Units of each text that a side of it is measured on; [] where one is not known."""
        sides = {row.entry[side].get("of", row.test.of) for side in ("x", "y")}
        out = []
        for units in self.units:
            moved = sides & set(OF_TEXT[units.quantity])
            if not moved:
                continue
            sides -= moved
            [values] = self._without(units, row.test)
            try:
                halves = measures.row_of(values, row.test, row.entry)
            except measures.Missing:
                return []
            self._check_seeds(row, halves)
            if halves.steps != row.steps:
                return []
            variance = halves_of(len(units.scored))[1] * ((halves.values.mean(0) - row.values.mean()) ** 2).mean()
            out.append(rules.Moved(units.kind, math.sqrt(variance), units.freedom))
        return [] if sides else out

    def of(self, row):
        """[how far the text moves the mean of a row over seeds, and that of its reference], or [] where it is not known."""
        if row.test.at == "correlation":
            return self._of_correlation(row)
        for units in self.units:
            sides = [row.entry[side].get("of", row.test.of) for side in ("x", "y", "x_beside") if side in row.entry]
            if not all(one in OF_TEXT[units.quantity] for one in sides or [row.entry.get("of", row.test.of)]):
                continue
            try:
                left = [measures.row_of(values, row.test, row.entry) for values in self._without(units, row.test)]
            except measures.Missing:
                continue
            for one in left:
                self._check_seeds(row, one)
            means = np.array([[one.values.mean(), 0.0 if one.reference is None else one.reference.mean()] for one in [row, *left]])
            moved = means[1:] - means[0]
            (variance, both), (_, of_reference) = (len(left) - 1) / len(left) * moved.T @ moved
            return [rules.Moved(units.kind, math.sqrt(variance), units.freedom, both, of_reference)]
        return []


# ---- what `collect` writes


def _of_losses(records):
    """(head of a unit's column, units scored, Σ nll of the units of a record) or None where the records do not share a text."""
    scored = (records[0]["details"].get("documents") or {}).get("scored", [])
    if any((record["details"].get("documents") or {}).get("scored", []) != scored for record in records):
        return None
    if len(scored) >= FEWEST_DOCUMENTS:
        return "document", np.array(scored, float), lambda record: np.array(record["details"]["documents"]["nll"], float)
    blocks, width = len(records[0]["items"] or []), records[0]["details"].get("params", {}).get("block", 0) - 1
    if blocks < 6 or width < 1 or any(len(record["items"] or []) != blocks for record in records):
        return None
    in_block = np.full(blocks, float(width))
    in_block[-1] = records[0]["details"]["scored"] - width * (blocks - 1)
    run = max(1, min(math.ceil(3 * blocks ** (1 / 3)), blocks // 6))  # as intervals.py draws them
    begins = np.linspace(0, blocks, max(2, round(blocks / run)), endpoint=False).astype(int)
    return "run", np.add.reduceat(in_block, begins), lambda record: np.add.reduceat(in_block * np.array(record["items"], float), begins)


def _of_questions(records):
    count = len(records[0]["items"] or [])
    if count < GROUPS_OF_QUESTIONS or any(len(record["items"] or []) != count for record in records):
        return None
    begins = np.linspace(0, count, GROUPS_OF_QUESTIONS, endpoint=False).astype(int)
    return "group", np.add.reduceat(np.ones(count), begins), lambda record: np.add.reduceat(np.array(record["items"], float), begins)


def table(records, places, is_used, number_text, quantity):
    """Lines of a file of units: of all records of a text with documents, over which contrasts are, too, else of those whose place is used.
    `places` are (point, branch, averaging, step, method, seed).
    """
    has_documents = records and len((records[0]["details"].get("documents") or {}).get("scored", [])) >= FEWEST_DOCUMENTS
    kept = [(record, place) for record, place in zip(records, places) if has_documents or is_used(place)]
    found = (_of_losses if quantity == "loss" else _of_questions)([record for record, _ in kept]) if kept else None
    if found is None:
        return []
    unit, scored, sums = found
    return [["point", "branch", "averaging", "step", "method", "seed", *(f"{unit} {i + 1}" for i in range(len(scored)))],
            ["", "", "", "", "scored", "", *(f"{one:g}" for one in scored)],
            *([*place, *map(number_text, sums(record))] for record, place in kept)]
