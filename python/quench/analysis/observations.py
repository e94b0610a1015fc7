"""The values of a run, each paired with the float model's value on the same weights and items."""

import math

from ..run_records import _common_ground, is_of_unit
from ..metric_text import metric_text
from ..values import canonical, is_number, member, members
from .dimensions import dimension, sweep_point, swept_seeds
from .texts import tell_apart


def is_loss(record):
    """Whether ΔCE and ΔQL are defined: the first value of a metric in nats per token."""
    return record["index"] == 0 and record["unit"] == "nats/token" and record["direction"] == -1


def is_accuracy(record):
    return record["index"] == 0 and is_of_unit(record["unit"], "accuracy") and record["direction"] == 1


class Observation:
    """One measured value. `observation["step"]` is its value in a dimension (dimensions.py)."""

    __slots__ = ("record", "floating", "position", "is_last", "weights", "cell", "text", "draw", "jitter", "seed")

    def __init__(self, record):
        self.record = record
        self.floating = None   # the float model's record of the same weights, metric, corpora and environment
        self.position, self.is_last = 0, False  # of the weights on their line of checkpoints
        self.weights = canonical([members(record["checkpoint"], "model", "branch", "revision", "commit", "step", "tokens"),
                                  members(record["averaging"], "id", "params", "label", "members")])
        self.text = ""  # what the metric measured on, where values under its label differ in that: "text 1a2b3c4d"
        # equal for the replicates of one cell: draws, orders and seeds
        self.cell = self.weights + canonical([members(record["quantizer"], "id", "params", "label", "calibration"),
                                              record["metric"], record["label"], sweep_point(record), metric_text(record)])
        self.draw, self.jitter = record["draw"] or 0, record["jitter"] or 0
        self.seed = 0  # of the sweep, if it sets seeds

    def __getitem__(self, name):
        return dimension(self.record, name)

    @property
    def is_float(self):
        return self.record["quantizer"] is None

    @property
    def is_base(self):
        return self.draw == 0 and self.jitter == 0

    @property
    def is_calibrated(self):
        return self.record["draw"] is not None or member(self.record["quantizer"], "calibration") is not None

    @property
    def value(self):
        return self.record["value"]

    @property
    def delta(self):
        """ΔCE: the value minus the float model's, in the metric's unit (nats per token); 0 for a float model."""
        return 0.0 if self.is_float else self.value - self.floating["value"]

    @property
    def error(self):
        """ΔQL: value/float − 1, a ratio."""
        return 0.0 if self.is_float else self.value / self.floating["value"] - 1

    @property
    def bits_per_byte(self):
        """Bits per byte for one nat per token, from the size of the corpus; 0 if that is not known."""
        bits = member(self.record["details"], "bits_per_byte")
        return bits / self.value if is_number(bits) and self.value > 0 else 0.0

    @property
    def has_delta(self):
        return not self.is_float and self.floating is not None and is_loss(self.record)


def observe(records):
    """(observations, failed records, notes): values that count once, in the order of the records.

    Points of a sweep that differ only in `seed` or `train.seed` are replicates of each other. A note is a sentence about
    what was left out or could not be paired.
    """
    failed, notes, all_ = [], [], []
    for record in records:
        if record["error"]:
            failed.append(record)
        elif not is_number(record["value"]) or not math.isfinite(record["value"]):
            notes.append("A value of %s that is not finite was left out." % record["metric"])
        else:
            all_.append(Observation(record))
    _set_seeds(all_)
    grounds, seen, kept = {}, set(), []
    for it in all_:
        ground = _common_ground(it.record)
        key = (it.cell, ground, it.draw, it.jitter, it.seed)
        if key not in seen:
            seen.add(key)
            kept.append(it)
            grounds[id(it)] = ground
    if len(all_) > len(kept):
        notes.append("%d values were measured more than once; the first of each counts." % (len(all_) - len(kept)))
    _set_positions(kept)
    notes += tell_apart(kept)
    floats = {}  # common ground: point of the sweep: the first record
    for it in kept:
        if it.is_float:
            floats.setdefault(grounds[id(it)], {}).setdefault(it.record["job"], it.record)
    unpaired = 0
    for it in kept:
        if not it.is_float:  # several points may share a float model that was measured once
            found = floats.get(grounds[id(it)])
            it.floating = found and found.get(it.record["job"], found[min(found)])
            unpaired += it.floating is None and is_loss(it.record)
    if unpaired:
        notes.append("%d quantized losses have no float loss of the same weights, corpus, dtype and device beside them: "
                     "no error is derived from them." % unpaired)
    return kept, failed, notes


def _set_seeds(all_):
    """A sweep of one seed gives its values. Of two, each pair is a replicate, and they are counted."""
    seeds = [swept_seeds(it.record) for it in all_]
    distinct = sorted(set(seeds))
    several = any(len(own) > 1 for own in distinct)
    for it, own in zip(all_, seeds):
        it.seed = distinct.index(own) if several else own[0] if own else 0


def _set_positions(all_):
    """The place of weights on their line by step, by tokens, or else by appearance. Averages form lines of their own."""
    lines, line_of = {}, {}  # line: weights: place
    for it in all_:
        name = canonical([members(it.record["checkpoint"], "model", "branch"), it["averaging"], it.record["job"]])
        line = line_of[id(it)] = lines.setdefault(name, {})
        step, tokens = (value if is_number(value) else 0 for value in members(it.record["checkpoint"], "step", "tokens"))
        line.setdefault(it.weights, (step, tokens, len(line)))
    for line in lines.values():
        for position, weights in enumerate(sorted(line, key=line.get)):
            line[weights] = position
    for it in all_:
        line = line_of[id(it)]
        it.position, it.is_last = line[it.weights], line[it.weights] + 1 == len(line)
