"""Paired contrasts: what two methods, averagings, branches or points of a sweep cost, against each other.

A contrast of quantizers holds the weights equal; of averagings, the checkpoint and the quantizer; of branches, the averaging
and the quantizer. `match` adds dimensions that must be equal; metric and environment always are. docs/report.md describes
the keys of a contrast.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ..values import is_number
from . import sentences, statistics
from .dimensions import ordered, value_text
from .intervals import paired_spread, spread_of
from .observations import Observation
from .pairing import Freedom, add_once, base_of, common_key, common_text, no_pair_text, open_text, sides_of
from .spec import Spec

_PLACES = ("checkpoint", "step", "tokens", "revision")  # along the training


@dataclass
class Row:
    """One number of a contrast with its spreads, one per kind of replicate.

    A difference is a minus b, at draw 0 and the first seed, in the unit of what is compared: negative means that a costs less.
    """

    what: str  # what the two sides have in common: "3 bits, decay, step400"
    a: Observation
    b: Observation  # None where there is no side b
    value: float
    spreads: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # what the numbers do not cover and why a spread is missing, in sentences
    cells: int = 2  # that entered
    bits_per_byte: float = None  # the same difference, if the size of the corpus is known


@dataclass
class Contrast:
    spec: Spec
    rows: list = field(default_factory=list)
    problems: list = field(default_factory=list)  # what could not be compared, and why
    apart: str = ""  # what tells it from other contrasts of the same sides: "at the last checkpoint"

    def json(self):
        """As `quench report --json` has it."""
        spec = self.spec
        return {"a": spec.a.name, "b": spec.b.name, "statistic": spec.statistic,
                "of": "loss" if spec.at_equal_loss else spec.of, "at_equal_loss": spec.at_equal_loss, "over": spec.over,
                "rows": [self._row(row) for row in self.rows], "summary": sentences.summary_of(self), "problems": self.problems}

    def unit(self, row):
        return "1" if not self.spec.has_unit else row.a.record["unit"] if self.spec.of_metric else "nats/token"

    def _row(self, row):
        side_a, side_b = (it and {"key": it.record["key"], "value": it.value} for it in (row.a, row.b))
        out = {"what": row.what, "value": row.value, "unit": self.unit(row), "bits_per_byte": row.bits_per_byte,
               "checkpoint": row.a.record["checkpoint"], "a": side_a, "b": side_b, "cells": row.cells,
               "spreads": [spread.json() for spread in row.spreads], "notes": row.notes, "sentence": sentences.sentence_of(self.spec, row)}
        return {**out, "difference": row.value} if self.spec.is_difference else out


def contrasts_of(specs, observations, comparisons=None):
    """Evaluates contrasts side by side.

    All their rows are one family: of twenty comparisons without any effect, one has a 95 % interval that leaves out 0. So
    every spread gets a second interval beside it that holds for all of them at once (Spread.among). `comparisons`, where
    given, is how many there are in all.
    """
    out = [contrast_of(spec, observations) for spec in specs]
    family = comparisons or sum(len(contrast.rows) for contrast in out)
    for contrast in out:
        for row in contrast.rows:
            row.spreads = [spread.among(family) for spread in row.spreads]
    sentences.tell_apart(out)
    return out


def contrast_of(spec, observations):
    out = Contrast(spec)
    a, b, pairs, out.problems = sides_of(spec, observations)
    if pairs is None:
        return out
    out.problems = pairs.problems
    make = _equal_loss_rows if spec.at_equal_loss else _difference_rows if spec.is_difference else \
        _rows_over_pairs if spec.is_paired else _rows_over_axis
    out.rows = list(make(spec, pairs, out.problems))
    if not out.rows and not out.problems:
        out.problems.append(no_pair_text(spec, a, b, pairs.match))
    names = [name for name in pairs.match if name != "checkpoint"]
    out.rows.sort(key=lambda row: _place(row, names))  # along the training
    return out


def _place(row, names):
    key = [ordered(row.a[name]) for name in names]
    for side in (row.a, row.b):
        key += [ordered(side and side[name]) for name in ("metric", "label", "averaging", "branch", "step", "tokens")]
    return key


def _add_notes(spec, a, b, row):
    one_method = b is None or a["label"] == b["label"]
    for side, it in ((spec.a, a), (spec.b, b)):
        if it is not None and not it.is_float and not it.is_calibrated:
            add_once("%s uses no calibration data." % (value_text(it["quantizer"]) if one_method else side.name), row.notes)
    if not any(spread.kind == "seeds" for spread in row.spreads):
        row.notes.append("One training run.")


def _difference_rows(spec, pairs, problems):
    """One row for each pair."""
    for cell_a, cell_b, opened in pairs.pairs:
        a, b = base_of(cell_a), base_of(cell_b)
        row = Row(common_text(a, b, pairs.free, pairs.match) + open_text(a, b, opened), a, b, _difference(spec, a, b))
        if spec.b_is_members:
            row.what += _member_text(row.what, a, b, pairs)
        row.bits_per_byte = row.value * a.bits_per_byte if a.bits_per_byte > 0 else None
        spread = _spread_over_items(spec, cell_a, cell_b)
        if spread:
            row.spreads.append(spread)
        elif not spec.of_metric:  # other metrics need not have items
            row.notes.append("No interval over blocks: the sides share fewer than 2.")
        for kind in ("draws", "jitter", "seeds"):
            both = statistics.common_replicates((cell_a, cell_b), kind)
            if len(both) >= 2:
                row.spreads.append(spread_of(kind, [_difference(spec, *each) for each in both.values()]))
            elif kind == "draws" and (a.is_calibrated or b.is_calibrated):
                row.notes.append("One calibration draw: no interval over draws.")
        _add_notes(spec, a, b, row)
        yield row


def _spread_over_items(spec, cell_a, cell_b):
    """Unit by unit, the differences of all seeds averaged first: none of them stands for the others."""
    cells = (cell_a, cell_b)
    for pairs in (statistics.several_seeds(cells), [[base_of(cell) for cell in cells]]):
        signed = [(sign / len(pairs), record) for a, b in pairs for sign, record in (
            (1, a.record), (-1, b.record), *(((-1, a.floating), (1, b.floating)) if spec.of == "delta" else ()))]
        if signed and (spread := paired_spread(*signed)):
            return spread
    return None  # nor has the first seed alone, which stands where seeds have no items in common


def _difference(spec, a, b):
    measured = [spec.measure(it.floating["value"], it.value) for it in (a, b)]
    return measured[0] - measured[1]


def _member_text(what, a, b, pairs):
    text = "%s%s, member %s" % (", " if what else "", value_text(a["checkpoint"]), value_text(b["checkpoint"]))
    # ends of several branches have checkpoints of one name
    alone = all(base_of(cell_a) is not a or base_of(cell_b)["branch"] == b["branch"] for cell_a, cell_b, _ in pairs.pairs)
    return text + (" of " + value_text(b["branch"])
                   if b["branch"] is not None and not (alone and b["branch"] == a["branch"]) else "")


def _split(of_a):
    """(a, b) of values [..., cells], the first `of_a` of which are of side a."""
    return lambda values: (values[..., :of_a], values[..., of_a:])


def _statistic_row(spec, what, cells, of_a, statistic, missing, problems):
    value, spreads, notes = statistics.estimate(cells, statistic, statistics.LIMITS.get(spec.statistic, statistics.ANY))
    if value is None:
        add_once("%s: %s" % (what, missing), problems)
        return
    row = Row(what, base_of(cells[0]), base_of(cells[of_a]) if of_a < len(cells) else None, value, spreads, notes, len(cells))
    _add_notes(spec, row.a, row.b, row)
    yield row


def _rows_over_pairs(spec, pairs, problems):
    """Over the pairs that agree in everything but the checkpoint: how much the last differs more than the first, or the sides' rank
    correlation."""
    along = replace(pairs.free, checkpoint=True)
    match = [name for name in pairs.match if name not in _PLACES]
    lines = {}
    for pair in pairs.pairs:
        lines.setdefault(common_key(base_of(pair[0]), along, match), []).append(pair)
    for _, line in sorted(lines.items()):
        what = common_text(base_of(line[0][0]), base_of(line[0][1]), along, match)
        if spec.statistic == "last_minus_first":
            line, between = _first_and_last(line)
            if not line:
                add_once("%s: no last minus first: %s" % (what, between), problems)
                continue
            what += between
        n, split = len(line), _split(len(line))
        cells = [cell_a for cell_a, _, _ in line] + [cell_b for _, cell_b, _ in line]

        def statistic(floating, quantized, split=split):
            a, b = split(spec.measure(floating, quantized))
            return statistics.rank_correlation(a, b) if spec.statistic == "rank_correlation" else statistics.last_minus_first(a - b)
        missing = "no rank correlation: it needs 3 pairs, and values that differ"
        yield from _statistic_row(spec, what, cells, n, statistic, missing, problems)


def _first_and_last(pairs):
    """(the pair at the lowest step and that at the highest, between which steps that is), or ([], why there is no such number)."""
    at = {}
    for pair in pairs:
        step = base_of(pair[0])["step"]
        if is_number(step):
            at.setdefault(step, []).append(pair)
    if len(at) < 2:
        return [], "it needs pairs at two steps"
    ends = min(at), max(at)
    for step in ends:
        if len(at[step]) > 1:
            return [], "%d pairs are at step %d" % (len(at[step]), step)
    return [at[step][0] for step in ends], ", step %d to %d" % ends


def _rows_over_axis(spec, pairs, problems):
    """Over lines of checkpoints: the ratio of two slopes, or one side's rank correlation with an axis."""
    is_slope = spec.statistic == "slope_ratio"
    for lines in (pair[:2] for pair in pairs.pairs):
        a, b = ([cell for cell in line if base_of(cell) and is_number(base_of(cell)[spec.over])] for line in lines)
        if not a or (is_slope and not b):
            add_once("%s: no cell of %s has a number there" % (spec.over, (spec.b if a else spec.a).name), problems)
            continue
        axis = np.array([base_of(cell)[spec.over] for cell in a + b], float)
        split = _split(len(a))

        def ratio(floating, quantized, split=split, axis=axis):
            of_a, of_b = map(statistics.slope, split(axis), split(spec.measure(floating, quantized)))
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(of_b > 0, of_a / of_b, np.nan)

        def correlation(floating, quantized, axis=axis):
            return statistics.rank_correlation(axis, spec.measure(floating, quantized))
        # one side alone has one method and averaging
        free = pairs.free if is_slope else Freedom(False, False, pairs.free.checkpoint, pairs.free.sweep, pairs.free.one_metric)
        what = common_text(base_of(a[0]), base_of((b or a)[0]), free, pairs.match)
        missing = "no ratio of slopes: each side needs 3 places on the axis, and the second slope must be above 0" \
            if is_slope else "no rank correlation: it needs 3 cells, and values that differ"
        yield from _statistic_row(spec, what, a + b, len(a), ratio if is_slope else correlation, missing, problems)


def _equal_loss_rows(spec, pairs, problems):
    """One row for each pair of lines: the quantized losses at the lowest float loss that both reach."""
    for line_a, line_b, opened in pairs.pairs:
        a, b = ([cell for cell in line if base_of(cell)] for line in (line_a, line_b))
        if not a or not b:
            add_once("draw 0 is missing along a whole line of checkpoints", problems)
            continue
        first_a, first_b = base_of(a[0]), base_of(b[0])
        what = common_text(first_a, first_b, pairs.free, pairs.match) + open_text(first_a, first_b, opened)
        places = _equal_loss_places(spec, a, b)
        refused = [text for _, _, text in places.values() if text]
        if refused:
            add_once("%s: %s" % (what, refused[0]), problems)
            continue

        def difference(floating, quantized, split=_split(len(a))):
            _, *places = statistics.crossings_at_equal_loss(*split(floating))
            of_a, of_b = (statistics.value_at(values, *place) for values, place in zip(split(quantized), places))
            return of_a - of_b
        seed = min(places)
        crossings, bridged = places[seed][1], max(gap for _, sides, _ in places.values() for _, gap in sides)
        what = "%s%s%s" % (what, ", " if what else "", _float_loss_text([loss for loss, _, _ in places.values()]))
        value, spreads, notes = statistics.estimate(a + b, difference)
        if value is None:
            add_once("%s: the first seeds that checkpoints have are different ones, and do not overlap" % what, problems)
            continue
        row = Row(what, *(base_of(line[int(first)]) for line, ((first, _), _) in zip((a, b), crossings)), value, spreads, notes,
                  len(a) + len(b))
        row.bits_per_byte = row.value * first_a.bits_per_byte if first_a.bits_per_byte > 0 else None
        row.notes.append("%s%s has that float loss %s, %s %s%s." % (
            "At seed %d " % seed if len(places) > 1 else "", spec.a.name, _crossing_text(a, crossings[0][0]), spec.b.name,
            _crossing_text(b, crossings[1][0]), "; lines between two checkpoints bridge up to %.3g nats per token" % bridged if bridged else ""))
        _add_notes(spec, first_a, first_b, row)
        yield row


def _equal_loss_places(spec, a, b):
    """{seed: (float loss, ((crossing, nats bridged there) of each side), why it cannot be compared or "")}."""
    of_seeds = statistics.several_seeds(a + b) or [[base_of(cell) for cell in a + b]]
    out = {}
    for observations in of_seeds:
        seed = observations[0].seed
        losses = [np.array([it.floating["value"] for it in line], float) for line in (observations[:len(a)], observations[len(a):])]
        loss, *crossings = statistics.crossings_at_equal_loss(*losses)
        begin = "seed %d: " % seed if len(of_seeds) > 1 else ""
        if any(first < 0 for first, _ in crossings):
            out[seed] = loss, (), "%sthe float losses of %s (%.4f to %.4f) and of %s (%.4f to %.4f) do not overlap" % (
                begin, spec.a.name, losses[0].min(), losses[0].max(), spec.b.name, losses[1].min(), losses[1].max())
            continue
        gaps = [abs(line[int(first)] - line[int(first) + 1]) if share else 0.0 for line, (first, share) in zip(losses, crossings)]
        far = [_too_far(spec, side, line, crossing, gap) for side, line, crossing, gap in zip((spec.a, spec.b), (a, b), crossings, gaps)
               if gap > spec.within]
        out[seed] = loss, tuple(zip(crossings, gaps)), begin + far[0] if far else ""
    return out


def _float_loss_text(losses):
    """ "a float loss of 1.2240", or "float losses of 1.2100 to 1.2240" of several seeds. """
    low, high = "%.4f" % min(losses), "%.4f" % max(losses)
    return "a float loss of " + low if low == high else "float losses of %s to %s" % (low, high)


def _crossing_text(line, crossing):
    """ "at step600", or "between step450 and step600". """
    names = [value_text(base_of(cell)["checkpoint"]) for cell in line[int(crossing[0]):][:2]]
    return "at " + names[0] if crossing[1] == 0 else "between %s and %s" % tuple(names)


def _too_far(spec, side, line, crossing, gap):
    """Why a line between two checkpoints would be a guess."""
    return "%s: the float losses %s are %.3g nats per token apart, wanted at most %g (`within`): measure checkpoints between them" % (
        side.name, _crossing_text(line, crossing), gap, spec.within)
