"""Figures of losses: error and loss along the training, float against quantized loss, accuracy, bytes, bars."""

from ...values import is_number
from ..dimensions import value_text
from ..intervals import delta_spread
from ..observations import is_accuracy
from ..selection import is_value_of
from .data import Figure, Panel, Trace, legend_of
from .series import (by_branch, fork_of, mixed_machines, point_spread, point_text, seed_mean, seeds_caption, series_of,
                     spread_caption, spread_kind, spread_note)

AXES = {"tokens": "training tokens", "step": "training step", "position": "checkpoint, by its position in the branch"}
NOTHING = " No quantized loss has a float loss to compare with, so nothing is drawn."
_ERROR_LEVELS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_MOST_LEVELS = 3
_LABEL_HEIGHT = 0.06  # of a guide's label, in widths of the panel
_LABEL_ROOM = 0.12  # left of the data, where the labels of guides stand


class _Ink:
    """Colours and dashes of one figure, from the palette of the run."""

    def __init__(self, palette):
        self.palette, self.colors, self.dashes = palette, {}, {}

    def trace(self, kind, series, **more):
        """A trace in the colour and dash of a series; a legend entry comes with it."""
        out = Trace(kind, series.name, self.palette.color(series.color), **more)
        self.colors[out.color] = series.color
        if kind != "float":
            out.dash = self.palette.dash(series.dash)
            out.marker = out.dash if series.dash else -1
            self.dashes[out.dash] = series.dash
        return out


def _measure(options):
    """(value in the unit of the y axis, one nat per token in that unit, title of the axis)."""
    if options.kind == "loss_vs_tokens":
        return (lambda it: it.value), (lambda it: 1), "loss (nats/token)"
    if options.y == "delta":
        return (lambda it: it.delta), (lambda it: 1), "ΔCE (nats/token)"
    return (lambda it: 100 * it.error), (lambda it: 100 / it.floating["value"]), "quantization error ΔQL (%)"


def _schedule_of(series, schedules, axis):
    """(places, learning rates) of the branch of a series, where they are known between its checkpoints and these are no averages."""
    first = next((it for it in series.points if it.record["averaging"] is None), None)
    schedule = first and schedules.get((first.record["job"], first["branch"]))
    return schedule and schedule.get(axis)


# ---- along the training

def curves(options, observations, palette, schedules=None):
    """`error_vs_tokens` and `loss_vs_tokens`. `schedules` are learning rates as training.schedules() has them."""
    panels, ink = series_of(options, observations), _Ink(palette)
    is_loss = options.kind == "loss_vs_tokens"
    bars = None if is_loss else spread_kind(options, panels)
    axis = _axis(options, panels)
    y_of, factor, y_title = _measure(options)
    spreads, drawn, without_x, found_right = [], 0, 0, False

    def x_of(it):
        return it.position + 1 if axis == "position" else it[axis] if is_number(it[axis]) else None

    def draw(all_, kind, into):
        nonlocal drawn, without_x
        branches = by_branch(all_)
        for fork in branches:
            parent = fork_of(fork, branches)
            if parent:
                into.traces += _join(fork, kind, [(parent[0], parent[1]), (fork, 0)])
        for series in branches:
            trace = ink.trace(kind, series)
            trace.name = series.color + ", float" if kind == "float" else series.name
            interval = Trace("interval", trace.name, trace.color, trace.dash, trace.marker)
            for it, replicates in zip(series.points, series.replicates):
                x = x_of(it)
                if x is None:
                    without_x += 1
                    continue
                _add(trace, it, x, seed_mean(replicates, y_of), it["mark"] if kind == "line" else None)
                drawn += kind == "line"
                spread = point_spread(bars, it, replicates, y_of, factor(it)) if bars and kind == "line" else None
                if spread:
                    spreads.append(spread)
                    _add_interval(interval, it, x, spread)
            into.traces += [trace] + ([interval] if interval.x else [])

    def _join(fork, kind, ends):
        trace = Trace("join", fork.color + ", from its parent", palette.color(fork.color),
                      palette.dash(fork.dash) if kind == "line" else 0)
        for series, i in ends:
            if x_of(series.points[i]) is not None:
                trace.x.append(x_of(series.points[i]))
                trace.y.append(seed_mean(series.replicates[i], y_of))
        return [trace] if len(trace.x) == 2 and axis != "position" else []

    def draw_right(of, into):
        """One line per colour: the learning rate, of checkpoints and not of averages, in a strip under the panel, which no
        other curve crosses; any other value on the right axis."""
        nonlocal found_right
        is_rate = options.right == "lr"
        what = "learning rate" if is_rate else options.right
        for series in by_branch(of.floating or of.quantized):
            trace = Trace("strip" if is_rate else "right", series.color + ", " + what, palette.color(series.color))
            schedule = is_rate and _schedule_of(series, schedules or {}, axis)
            if schedule:
                trace.x, trace.y = schedule
                into.strip_title = what
                into.traces.append(trace)
                continue
            for it, replicates in zip(series.points, series.replicates):
                if is_rate:
                    y = it["lr"] if it.record["averaging"] is None and is_number(it["lr"]) else None
                else:
                    known = [rights[key] for key in ((one.weights, one.seed) for one in replicates if one.is_base)
                             if key in rights]
                    found_right |= bool(known)
                    y = sum(known) / len(known) if known else None
                if x_of(it) is not None and y is not None:
                    _add(trace, it, x_of(it), y)
            if trace.x:
                setattr(into, "strip_title" if is_rate else "right_title", what)
                into.traces.append(trace)

    rights = {}  # values of the float models for the right axis
    for it in observations:
        if options.right not in ("", "lr") and it.is_float and is_value_of(it.record, options.right):
            rights.setdefault((it.weights, it.seed), it.value)
    out = Figure(options.kind, options.title or ("Validation loss" if is_loss else "Quantization error")
                 + " along the training")
    for of in panels:
        panel = Panel(of.title, AXES[axis], y_title, has_zero=not is_loss)
        if options.right:
            draw_right(of, panel)
        if is_loss:
            draw(of.floating, "float", panel)
        draw(of.quantized, "line", panel)
        out.panels.append(panel)
    _drop_single_rates(out.panels)
    out.legend = legend_of(out.panels, ink.colors, ink.dashes) + spread_note(bars, drawn, len(spreads))
    out.caption = "Loss of the float model and of the quantized models, in nats per token." if is_loss else \
        "ΔCE: loss of the quantized model minus that of the float model on the same weights, in nats per token." \
        if options.y == "delta" else "ΔQL = L(quantized)/L(float) − 1, on the same weights and validation data."
    if not panels:
        out.caption += NOTHING
        return out
    out.caption += ("" if is_loss else " " + spread_caption(bars, spreads)) + seeds_caption(panels)
    if found_right:
        out.caption += " Dotted, on the right axis: %s of the float model." % options.right
    elif options.right not in ("", "lr"):
        out.caption += " The float models have no value of %s." % options.right
    if axis == "position" and options.x == "auto":
        out.caption += " Not all checkpoints have a step or a number of tokens: they are drawn in the order of their branch."
    if without_x:
        out.caption += " %d points without %s are left out." % (without_x, AXES[axis])
    out.caption += mixed_machines(observations)
    return out


def _drop_single_rates(panels):
    """A strip in which no learning rate is known at two places shows none of its course."""
    if all(len(set(trace.x)) < 2 for panel in panels for trace in panel.traces if trace.kind == "strip"):
        for panel in panels:
            panel.strip_title = ""
            panel.traces = [trace for trace in panel.traces if trace.kind != "strip"]


def _axis(options, panels):
    """The first axis that all checkpoints have a place on, unless the options name one."""
    if options.x != "auto":
        return options.x
    points = [it for panel in panels for series in panel.quantized for it in series.points]
    return next((axis for axis in ("tokens", "step") if all(is_number(it[axis]) for it in points)), "position")


def _add(trace, it, x, y, mark=None):
    trace.x.append(x)
    trace.y.append(y)
    trace.texts.append(point_text(it))
    trace.observations.append(it)
    trace.marks.append(mark if isinstance(mark, str) else "")


def _add_interval(trace, it, x, spread):
    _add(trace, it, x, spread.mean)
    trace.low.append(spread.interval[0])
    trace.high.append(spread.interval[1])


# ---- float loss against quantized loss

def loss_plane(options, observations, palette):
    panels, ink = series_of(options, observations), _Ink(palette)
    out = Figure(options.kind, options.title or "Float loss against quantized loss")
    outside = 0
    for of in panels:
        panel = Panel(of.title, "loss of the float model (nats/token)", "loss of the quantized model (nats/token)",
                      is_square=True)
        branches, lines, seen, errors = by_branch(of.quantized), [], [], []
        for series in branches:
            trace = ink.trace("line", series)
            for i, (it, replicates) in enumerate(zip(series.points, series.replicates)):
                x = seed_mean(replicates, lambda one: one.floating["value"])
                y = seed_mean(replicates, lambda one: one.value)
                _add(trace, it, x, y, it["mark"] if isinstance(it["mark"], str) else "last" if it.is_last else "")
                if options.range == "all" or 2 * i + 1 >= len(series.points) - 1:
                    seen += [x, y]
                    errors.append(it.error)
            lines.append(trace)
        size = max(seen) - min(seen) or 0.01 * abs(max(seen))
        margin = max(0.04 * size, 1e-6 * abs(max(seen)))
        panel.low, panel.high = min(seen) - max(margin, _LABEL_ROOM * size), max(seen) + margin
        panel.traces = _guides(min(errors), max(errors), panel.low, panel.high)
        outside += sum(max(x, y) > panel.high or min(x, y) < panel.low for line in lines for x, y in zip(line.x, line.y))
        for series, line in zip(branches, lines):
            parent = fork_of(series, branches)
            if parent:
                start = lines[[each is parent[0] for each in branches].index(True)]
                panel.traces.append(Trace("join", line.name + ", from its parent", line.color, line.dash,
                                          x=[start.x[parent[1]], line.x[0]], y=[start.y[parent[1]], line.y[0]]))
        panel.traces += lines
        out.panels.append(panel)
    out.legend = legend_of(out.panels, ink.colors, ink.dashes)
    out.caption = "Each point is one set of weights, joined along the training. On the diagonal quantization costs nothing; the " \
        "thin lines have equal ΔQL. Draw 0 of each method, without bars." + seeds_caption(panels)
    out.caption += "" if panels else NOTHING
    if outside:
        out.caption += " The axes cover the later half of each line; %d earlier points are outside." % outside
    out.caption += mixed_machines(observations)
    return out


def _guides(least, most, low, high):
    """Lines of equal ΔQL at round errors in the range of the data; if there are many, only the largest, and of those whose
    labels would touch at the left edge the larger."""
    levels = [level for level in _ERROR_LEVELS if least / 2 <= level <= most and low * (1 + level) < high][-_MOST_LEVELS:]
    above, room, apart = high, _LABEL_HEIGHT * (high - low), []
    for level in reversed(levels):
        begin = low * (1 + level)
        if above - begin >= room and begin - low >= room:
            apart.insert(0, level)
            above = begin
    out = []
    for level in [0, *apart]:
        end, label = min(high, high / (1 + level)), "%g %%" % (level * 100) if level else "no error"
        out.append(Trace("guide", "ΔQL " + label if level else "quantized = float", label=label, x=[low, end],
                         y=[low * (1 + level), end * (1 + level)]))
    return out


# ---- accuracy lost against loss

def accuracy_vs_loss(options, observations, palette):
    ink = _Ink(palette)
    out = Figure(options.kind, options.title or "What quantization costs in accuracy and in loss")

    def model(it):
        return it.weights, value_text(it["label"]), it.draw, it.jitter, it.record["job"]
    accuracies = {}
    for it in observations:
        if is_accuracy(it.record) and it.floating is not None:
            accuracies.setdefault(model(it), it)  # of several, the first in the manifest
    for of in series_of(options, observations):
        panel = Panel(of.title, "ΔCE (nats/token)", "accuracy lost (percentage points)", has_zero=True)
        for series in of.quantized:
            found = [(it, accuracies[model(it)]) for it in series.points if model(it) in accuracies]
            if not found:
                palette.color(series.color), palette.dash(series.dash)
                continue
            points = ink.trace("points", series)
            bars = Trace("interval", points.name, points.color, points.dash, points.marker)
            for it, accuracy in found:
                lost, spread = -100 * accuracy.delta, delta_spread(accuracy)
                error = 100 * spread.stderr if spread else 0
                _add(points, it, it.delta, lost)
                bars.x.append(it.delta)
                bars.y.append(lost)
                bars.low.append(lost - error)
                bars.high.append(lost + error)
            panel.traces += [bars, points]
        if panel.traces:
            out.panels.append(panel)
    out.legend = legend_of(out.panels, ink.colors, ink.dashes)
    out.caption = "Each point is one quantized model: how much its loss rose and its accuracy fell against the float model. Bars: " \
        "one standard error over questions, paired with the float model's. They do not cover other questions, other tasks, " \
        "calibration data, or training runs."
    out.caption += "" if out.panels else " No quantized model has both a loss and an accuracy, so nothing is drawn."
    out.caption += mixed_machines(observations)
    return out


# ---- loss against bytes

def loss_vs_bytes(options, observations, palette):
    ink, without_size = _Ink(palette), 0
    out = Figure(options.kind, options.title or "Loss for the size of the stored weights")
    panels = series_of(options, observations)
    for of in panels:
        panel = Panel(of.title, "stored weights (bytes)", "loss (nats/token)")
        for series in of.quantized:
            sized, with_float = [], set()
            for it, replicates in zip(series.points, series.replicates):
                if not options.is_at(it):
                    continue
                name = point_text(it)
                both = [(it["bytes"], seed_mean(replicates, lambda one: one.value), value_text(it["label"]) + ", " + name, it)]
                if it.weights not in with_float:
                    with_float.add(it.weights)
                    both.append((it.floating["details"].get("stored_bytes"),
                                 seed_mean(replicates, lambda one: one.floating["value"]), "float, " + name, it))
                known = [each for each in both if is_number(each[0])]
                without_size += len(both) - len(known)
                sized += known
            if not sized:
                palette.color(series.color), palette.dash(series.dash)
                continue
            trace = ink.trace("line", series)
            for size, loss, text, it in sorted(sized, key=lambda each: each[0]):
                _add(trace, it, size, loss)
                trace.texts[-1] = text
            panel.traces.append(trace)
        if panel.traces:
            out.panels.append(panel)
    out.legend = legend_of(out.panels, ink.colors, ink.dashes)
    out.caption = "Loss against the bytes of all weights as they are stored: the quantized ones with their scales and zeros, the " \
        "others in the checkpoint's type. Each line joins the bits of one method and ends at its float model."
    out.caption += seeds_caption(panels)
    if without_size:
        out.caption += " %d points whose records hold no size are left out." % without_size
    out.caption += mixed_machines(observations)
    return out


# ---- bars

def bars(options, observations, palette):
    out = Figure(options.kind, options.title or "What each method costs")
    panels, colors, spreads, drawn = series_of(options, observations), {}, [], 0
    kind = spread_kind(options, panels)
    y_of, factor, y_title = _measure(options)
    for of in panels:
        panel, traces = Panel(of.title, "", y_title, has_zero=True), {}
        for series in of.quantized:
            color = palette.color(series.color)
            colors[color] = series.color
            trace = traces.setdefault(color, Trace("bar", series.color, color))
            for it, replicates in zip(series.points, series.replicates):
                if not options.is_at(it):
                    continue
                category = (series.dash or "quantized") + (", " + point_text(it) if options.at == "all" else "")
                if category not in panel.categories:
                    panel.categories.append(category)
                spread = point_spread(kind, it, replicates, y_of, factor(it)) if kind else None
                drawn += 1
                if spread:
                    spreads.append(spread)
                _add(trace, it, panel.categories.index(category), spread.mean if spread else seed_mean(replicates, y_of))
                low, high = spread.interval if spread else (trace.y[-1], trace.y[-1])  # no interval: both ends
                trace.low.append(low)
                trace.high.append(high)
        panel.traces = [trace for trace in traces.values() if trace.x]
        if panel.traces:
            out.panels.append(panel)
    out.legend = [(kind, index, text, "bar") for kind, index, text, _ in legend_of(out.panels, colors, {})]
    out.legend += spread_note(kind, drawn, len(spreads))
    out.caption = "%s of %s. %s" % (
        "ΔCE: loss of the quantized model minus that of the float model" if options.y == "delta" else
        "ΔQL = L(quantized)/L(float) − 1", "all checkpoints" if options.at == "all" else
        "the %s checkpoint of each branch" % options.at, spread_caption(kind, spreads))
    if spreads and kind != "items":
        out.caption += " A bar with an interval is as high as the mean, one without as its single value."
    out.caption += mixed_machines(observations)
    return out
