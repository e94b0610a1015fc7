"""Where the damage enters: the error of each part of the model, along depth and along the training.

`first`: the change of the loss when one more block is quantized, after those before it, in nats per token, from a metric that measured
the loss with the first blocks quantized; a column adds up to the whole change. `delta`: that when one part alone is quantized, from the
Taylor terms of a metric that measured them for parts. What the parts together cost more or less than one by one is a row of its own, so
that a column adds up to the whole change, too. `error`: the relative error of the outputs of a block's linears, Σ‖(Ŵ−W)x‖²/Σ‖Wx‖², the mean over the linears
that say one; `residual`: that of the residual stream after each block, ‖ĥ−h‖/‖h‖, which adds up along depth.
"""

import math
import re

from ...values import canonical, is_number, member
from ..dimensions import dimension_text, value_text
from .data import Figure, Panel, Trace
from .series import point_text

TOGETHER = "together, beyond the sum"
OUTSIDE = "outside of blocks"
ORDER = ("first", "delta", "residual", "error")  # what is drawn where nothing else is asked for: the first that is measured
_TITLES = {"first": "loss of one block more (nats/token)", "delta": "loss of this part alone (nats/token)", "error": "relative error of the outputs of linears",
           "residual": "relative error of the residual stream"}
_CAPTIONS = {
    "first": "Change of the loss when one more block is quantized, after all before it, nats per token; a column adds up to the whole "
             "change, which stands below it.",
    "delta": "Change of the loss when one part alone is quantized, nats per token; the last row is what all parts together cost "
             "beyond that sum, so a column adds up to the whole change, which stands below it.",
    "error": "Relative error of the outputs of the linears of each block on the calibration data, the mean over those that say one.",
    "residual": "Relative error of the residual stream after each block, over the text of the metric."}


def part_of(name):
    """(order, text) of the block that a parameter, a linear or a part belongs to; what is in no block stands by itself."""
    number = re.search(r"(?:^|\.)(\d+)(?:\.|$)", name)
    return (1, int(number[1]), "block %s" % number[1]) if number else (0 if "emb" in name else 2, 0, name)


def _summed(pairs):
    """{part: sum of its values} in the order of depth."""
    sums = {}
    for name, value in pairs:
        sums.setdefault(part_of(name), []).append(value)
    return {part: sums[part] for part in sorted(sums)}


def column(it, y):
    """[(name of a row, value)] of one observation, or None if it does not measure it."""
    details = it.record["details"]
    if y == "first":
        losses = [member(details, "float"), *(member(details, "first") or [])]
        if len(losses) < 2 or not all(map(is_number, losses)):
            return None
        names = ["block %d" % i for i in range(len(losses) - 1)]
        if is_number(member(details, "outside")):
            losses.append(details["outside"])
            names.append(OUTSIDE)
        return [(name, after - before) for name, before, after in zip(names, losses, losses[1:])]
    if y == "delta":
        parts, whole = member(details, "parts"), member(details, "change")
        if not isinstance(parts, dict) or not parts or not is_number(whole) or not all(
                is_number(member(part, "change")) for part in parts.values()):
            return None
        rows = [(part[2], math.fsum(values)) for part, values in _summed(
            (name, part["change"]) for name, part in parts.items()).items()]
        return rows + [(TOGETHER, whole - math.fsum(value for _, value in rows))]
    if y == "residual":
        errors = member(details, "residual_errors")
        if not isinstance(errors, list) or not errors or not all(map(is_number, errors)):
            return None
        return [("block %d" % i, float(error)) for i, error in enumerate(errors)]
    layers = member(details, "layers")
    pairs = [(layer["name"], layer["relative_error"]) for layer in layers if isinstance(member(layer, "name"), str)
             and is_number(member(layer, "relative_error"))] if isinstance(layers, list) else []
    return [(part[2], math.fsum(values) / len(values)) for part, values in _summed(pairs).items()] or None


def depth(options, observations, palette):  # noqa: ARG001, colours are of values, not of names
    """One panel for each method and set of lines: rows are parts of the model, columns the checkpoints."""
    out = Figure(options.kind, options.title or "Where the damage enters")
    y, found = options.y, []
    for kind in ORDER if y == "auto" else (y,):
        found = [(it, rows) for it, rows in ((it, column(it, kind)) for it in observations if not it.is_float and it.is_base) if rows]
        if found:
            y = kind
            break
    panels = {}
    for it, rows in found:
        key = canonical([[it[name] for name in options.panels], it["branch"], it["averaging"], it["label"],
                         it.record["job"], None if y == "error" else it["metric"]])
        panels.setdefault(key, []).append((it, rows))
    for of in panels.values():
        out.panels.append(_panel(options, y, of))
    out.caption = _CAPTIONS[y] if out.panels else "No metric of this run has measured errors of parts, so nothing is drawn."
    return out


def _panel(options, y, of):
    columns = {}
    for it, rows in sorted(of, key=lambda each: (each[0].position, each[0].seed)):
        columns.setdefault(it.weights, (it, rows))  # the values of one pass stand in the record of each metric
    columns = list(columns.values())
    first = columns[0][0]
    words = [value_text(first[name]) if name in ("branch", "label") else dimension_text(name, first[name])
             for name in ("branch", "averaging", "label") if first[name] is not None]
    names = list(dict.fromkeys(name for _, rows in columns for name, _ in rows))
    names.sort(key=(OUTSIDE, TOGETHER).count)  # last, whichever column has them
    axis = next((name for name in (("tokens", "step") if options.x == "auto" else (options.x,))
                 if all(is_number(it[name]) for it, _ in columns)), None) if options.x != "position" else None
    panel = Panel(", ".join(words), "training " + ("step" if axis == "step" else "tokens") if axis else "checkpoint", "",
                  rows=names, z_title=_TITLES[y])
    heat = Trace("heat", _TITLES[y])
    for x, (it, rows) in enumerate(columns):
        where = "%g" % it[axis] if axis else value_text(it["checkpoint"])
        panel.categories.append(where + (
            ("\n%+.3g" % math.fsum(value for _, value in rows)).replace("-", "−") if y in ("first", "delta") else ""))
        for name, value in rows:
            heat.x.append(x)
            heat.y.append(names.index(name))
            heat.z.append(value)
            heat.texts.append("%s, %s" % (point_text(it), name))
            heat.observations.append(it)
    panel.traces = [heat]
    return panel
