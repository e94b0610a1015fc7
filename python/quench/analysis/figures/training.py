"""The loss of what a run trained, from the logs beside its records."""

import json
import math
import os
import re
from dataclasses import dataclass, field

import numpy as np

from ...run_records import _unseal
from ...values import canonical, is_number, member, sweep_values
from ..dimensions import dimension, dimension_text, sweep_point
from ..points import point_names
from .data import Figure, Panel, Trace, legend_of

_MOST_LOGS = 200
_MOST_POINTS = 1000  # of a line
_UNSEALED = b'{"gradient_norm":'  # how rows begin that an earlier version wrote


@dataclass
class TrainingCurve:
    """One training, or what a fork adds to another: a row for each step."""

    branch: str  # None where checkpoints have none
    name: str = ""  # the branch and, of a sweep, what its point sets, seeds too
    job: int = 0
    line: str = ""  # what other figures call it, so that a line has one name and colour on a page
    step: list = field(default_factory=list)
    tokens: list = field(default_factory=list)
    loss: list = field(default_factory=list)  # nats per token, mean over the step's batch, before its update
    rate: list = field(default_factory=list)  # learning rate
    damaged: int = 0  # rows that are left out

    def rows(self):
        return list(zip(self.step, self.loss))


def training_curves(run):
    """Those of RUN/training/BRANCH.jsonl and RUN/training/job~N/BRANCH.jsonl, by name.

    The rows that a fork shares with another branch are left to the one that goes furthest: the fork joins it one row before.
    """
    folder = os.path.join(run.folder, "training")
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".jsonl")]
    curves = [curve for curve in (_read(path, folder) for path in sorted(paths, key=lambda path: path.split(os.sep))
                                  [:_MOST_LOGS]) if curve.step]
    longest = sorted(curves, key=lambda curve: -len(curve.step))
    whole = {id(curve): curve.rows() for curve in curves}
    for i, curve in enumerate(longest):
        shared = max((_shared(whole[id(curve)], whole[id(other)]) for other in longest[:i] if other.job == curve.job), default=0)
        for values in (curve.step, curve.tokens, curve.loss, curve.rate):
            del values[:max(0, shared - 1)]
    words, points = {}, {}  # by job
    for record in run.records:
        if isinstance(record["environment"], dict):
            words.setdefault(record["job"], "".join(
                ", " + dimension_text("sweep." + path, value)
                for path, value in sweep_values(member(record["environment"], "sweep"))))
            points.setdefault(record["job"], sweep_point(record))
    names = point_names(list(points.values()))
    branches = {dimension(record, "branch") for record in run.records}
    for curve in curves:
        if branches == {None}:
            curve.branch = None  # a training without forks, whose log has the name of the run
        point = names[canonical(points[curve.job])] if len(names) > 1 and curve.job in points else ""
        curve.line = ", ".join(filter(None, [curve.branch, point])) or "checkpoints"
        curve.name += words.get(curve.job, "")
    return curves


def _read(path, folder):
    job = re.fullmatch(r"job~(\d+)", os.path.basename(os.path.dirname(path)))
    branch = os.path.basename(path)[:-len(".jsonl")]
    out = TrainingCurve(branch, branch, int(job[1]) if job else 0)
    with open(path, "rb") as file:
        for line in file:
            body = line if line.startswith(_UNSEALED) else _unseal(b"row", line.rstrip(b"\n"))
            try:
                row = json.loads(body or b"")
            except ValueError:
                out.damaged += 1
                continue
            if is_number(member(row, "step")) and is_number(member(row, "loss")):  # null: not finite
                for name, into in (("step", out.step), ("loss", out.loss), ("tokens", out.tokens), ("lr", out.rate)):
                    into.append(float(row[name]) if is_number(row.get(name)) else 0.0)
    return out


def _shared(a, b):
    """How many rows both begin with."""
    return next((i for i, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))


def training_loss(options, curves, palette):
    """The loss of each training and, in a strip, its learning rate, thinned to 1000 means a line."""
    x_title = "training step" if options.x == "step" else "training tokens"
    panel, colors, widest = Panel("", x_title, "loss of the batch (nats/token)", strip_title="learning rate"), {}, 1
    for curve in curves:
        width = math.ceil(len(curve.step) / _MOST_POINTS)
        widest = max(widest, width)
        x, loss, rate = (_thinned(values, width) for values in (
            curve.step if options.x == "step" else curve.tokens, curve.loss, curve.rate))
        color = palette.color(curve.line)
        colors[color] = curve.line
        panel.traces += [Trace("curve", curve.name, color, x=x, y=loss),
                         Trace("strip", curve.name + ", learning rate", color, x=x, y=rate)]
    out = Figure(options.kind, options.title or "Loss of the training", [panel] if curves else [])
    out.legend = [(kind, index, text, -1) for kind, index, text, _ in legend_of(out.panels, colors, {})]  # lines have no markers
    out.caption = "Mean loss of each step's batch in the training, before its update."
    damaged = sum(curve.damaged for curve in curves)
    out.caption += " %d damaged %s not drawn." % (damaged, "row is" if damaged == 1 else "rows are") if damaged else ""
    out.caption += " Each point is the mean of up to %d steps." % widest if widest > 1 else ""
    out.caption += "" if curves else " The run has trained nothing, so nothing is drawn."
    return out


def schedules(run, observations):
    """{(job, branch): {"step" or "tokens": (places, learning rates)}} of what the run trained and, for these observations, of what
    the manifest states, by the corners of the lines."""
    out = _stated(run, observations)
    for curve in training_curves(run):
        out[curve.job, curve.branch] = {"step": _corners(curve.step, curve.rate), "tokens": _corners(curve.tokens, curve.rate)}
    return out


def _stated(run, observations):
    """The schedules in run.json, of branches that have checkpoints with a step."""
    steps, parents, out = {}, {}, {}
    for it in observations:
        if it.record["averaging"] is None and is_number(it["step"]):
            key = it.record["job"], it["branch"]
            steps.setdefault(key, {})[it["step"]] = it["tokens"]
            parents[key] = member(it.record["checkpoint"], "parent")
    for line in member(run.document("run.json"), "schedules") or []:
        for key in ((job, line["branch"] or None) for job in line["jobs"]):
            if key in steps:
                parent = parents[key] and steps.get((key[0], parents[key]), {})
                out[key] = _of_branch(line["points"], steps[key], parent)
    return out


def _of_branch(points, own, parent):
    """What a branch has of a schedule: of a fork from its parent's last checkpoint before it, of a root (None) from step 0, unless
    that would leave more than a third of the axis empty. `own` and `parent` have the tokens at steps of checkpoints."""
    x, y = np.array(points, float).T
    first, last = min(own), min(max(own), x[-1])
    if parent is None:
        begin = 0 if first <= last / 3 else first
    else:
        begin = max((step for step in parent if step <= first), default=first)
    kept = [begin, *(step for step in x.tolist() if begin < step < last), *([last] if begin < last else [])]
    rates, tokens = np.interp(kept, x, y).tolist(), {**({0: 0} if parent is None else parent), **own}
    out = {"step": (kept, rates)}
    if all(map(is_number, tokens.values())):
        out["tokens"] = np.interp(kept, sorted(tokens), [tokens[step] for step in sorted(tokens)]).tolist(), rates
    return out


def _corners(x, y):
    """The points at which a line through all changes its slope; of a curve at most about 1000, evenly."""
    x, y = np.array(x), np.array(y)
    if len(x) > 2 and (np.diff(x) > 0).all():
        slope = np.diff(y) / np.diff(x)
        turns = np.abs(np.diff(slope)) > 1e-6 * np.abs(slope).max(initial=0)
        x, y = (values[np.concatenate([[True], turns, [True]])] for values in (x, y))
    width = math.ceil(len(x) / _MOST_POINTS)
    kept = sorted({*range(0, len(x), width), len(x) - 1}) if len(x) else []
    return x[kept].tolist(), y[kept].tolist()


def _thinned(values, width):
    """Means over runs of `width` neighbours."""
    return [float(np.mean(values[first:first + width])) for first in range(0, len(values), width)]
