"""Figures of curvature: the loss over planes and lines through weight space, and spectral densities."""

import math

import numpy as np

from ...values import is_number, member
from ..dimensions import dimension_text, value_text
from .data import Figure, Panel, Trace, legend_of
from .series import point_text

_GRID = 500  # points of a spectral curve besides its nodes
_BROADENING = 0.004  # standard deviation of a node, as a share of the range
_SMALLEST_WEIGHT = 1e-9  # smaller weights are rounding errors of the quadrature


def _numbers(value):
    return isinstance(value, list) and bool(value) and all(map(is_number, value))


def _has_landscape(details):
    """Details come from plugins: details of another form are not a landscape."""
    x, y, loss, points = (member(details, name) for name in ("x", "y", "loss", "points"))
    return _numbers(x) and _numbers(y) and isinstance(loss, list) and len(loss) == len(y) \
        and all(isinstance(row, list) and len(row) == len(x) for row in loss) and isinstance(points, list) \
        and all(_numbers(member(point, "at")) and len(point["at"]) == 2 and isinstance(point.get("name"), str)
                for point in points)


def contour(options, observations, palette):
    """One panel for each landscape: contours of the loss with the sets of weights in the plane or, for a line, the loss along
    it."""
    out, colors = Figure(options.kind, options.title or "Loss landscape"), {}
    for it in observations:
        details = it.record["details"]
        if not it.is_base or not _has_landscape(details):
            continue
        is_line = len(details["y"]) == 1
        words = [it["branch"] if isinstance(it["branch"], str) else "", it.record["label"],
                 member(it.record["quantizer"], "label") or ""]
        panel = Panel(", ".join(filter(None, words)), "distance in weight space",
                      "loss (nats/token)" if is_line else "distance in weight space")
        grid, points = _losses(details, is_line), _places(details, is_line, it)
        for trace in [points] + ([grid] if is_line else []):
            trace.color = palette.color(trace.name)
            colors[trace.color] = trace.name
        panel.traces = [grid, points]
        out.panels.append(panel)
    out.legend = legend_of(out.panels, colors, {})
    out.caption = "Loss in nats per token over a plane (or along a line) through weight space; axes are orthonormal, in the units " \
        "of the weights. A set of weights that does not lie in the plane is drawn where it projects to; the loss there is not " \
        "its own." if out.panels else "No metric of this run has measured a landscape, so nothing is drawn."
    return out


def _losses(details, is_line):
    out = Trace("line" if is_line else "contour", "loss")
    for y, row in zip(details["y"], details["loss"]):
        for x, loss in zip(details["x"], row):
            loss = float(loss) if is_number(loss) else math.nan
            if is_line and not math.isfinite(loss):
                continue
            out.x.append(x)
            out.y.append(loss if is_line else y)
            if not is_line:
                out.z.append(loss)
    return out


def _places(details, is_line, it):
    """The sets of weights; joins only those of a trajectory, not corners or points of a line."""
    is_trajectory = "singular_values" in details
    points = details["points"] if is_trajectory else details["points"][:2 if is_line else 3]
    out = Trace("line" if is_trajectory else "points", "checkpoints" if is_trajectory else "corners")
    for i, point in enumerate(points):
        loss = point["loss"] if is_number(point.get("loss")) else math.nan
        if is_line and not math.isfinite(loss):
            continue
        out.x.append(point["at"][0])
        out.y.append(loss if is_line else point["at"][1])
        out.texts.append(point["name"])
        out.observations.append(it)
        out.marks.append("last" if is_trajectory and i + 1 == len(points) else "")
    return out


def spectrum(options, observations, palette):
    """One curve for each set of weights: the density of the Hessian's eigenvalues over a logarithmic axis."""
    out, colors, dashes = Figure(options.kind, options.title or "Spectral density"), {}, {}
    by_panel = {}
    for it in observations:
        density = _density(it) if it.is_base and options.is_at(it) else None
        if density is not None:
            by_panel.setdefault(_words(options.panels, it), []).append((it, *density))
    for title, densities in by_panel.items():
        curves = _Curves(densities)
        panel = Panel(title, "eigenvalue (nats/token)", "density", is_log=True, low=curves.floor)
        for it, values, weights in densities:
            color = ", ".join(filter(None, [_words(options.lines, it), it["averaging"] and value_text(it["averaging"])])) \
                or "checkpoints"
            dash = "" if it.is_float else value_text(it["label"])
            for trace in curves.curve(it, values, weights), curves.end(it, values, weights):
                trace.color, trace.dash = palette.color(color), palette.dash(dash) if dash else 0
                trace.name = color + (", " + dash if dash else "")
                colors[trace.color], dashes[trace.dash] = color, dash
                panel.traces.append(trace)
        out.panels.append(panel)
    out.legend = legend_of(out.panels, colors, dashes)
    out.caption = "Density of the eigenvalues by stochastic Lanczos quadrature, %s of each line; of several sets of sequences the " \
        "first. Each node is drawn as a Gaussian whose standard deviation is %g %% of the range; a curve has area 1, and one " \
        "eigenvalue of n the share 1/n. Markers: the largest one seen." % (
            "every checkpoint" if options.at == "all" else "the %s checkpoint" % options.at, 100 * _BROADENING) \
        if out.panels else "No metric of this run has measured a spectral density, so nothing is drawn."
    return out


def _density(it):
    density = member(it.record["details"], "density")
    values, weights = member(density, "values"), member(density, "weights")
    if not _numbers(values) or not _numbers(weights) or len(values) != len(weights):
        return None
    both = np.array([values, weights], float)
    return both if np.isfinite(both).all() else None


def _words(dimensions, it):
    return ", ".join(value_text(it[name]) if name in ("branch", "checkpoint") else dimension_text(name, it[name])
                     for name in dimensions if it[name] is not None)


class _Curves:
    """The curves of a panel share grid, node width and floor, so that they can be compared."""

    def __init__(self, densities):
        values = np.concatenate([values for _, values, _ in densities])
        weights = np.concatenate([weights for _, _, weights in densities])
        low, high = values.min(), values.max()
        self.deviation = _BROADENING * (high - low if high > low else 1.0)
        self.low, self.high = low - 5 * self.deviation, high + 5 * self.deviation
        self.peak = 1 / (self.deviation * math.sqrt(2 * math.pi))
        seen = weights[weights >= _SMALLEST_WEIGHT]
        self.floor = float((seen.min() if len(seen) else 1.0) * self.peak / 10)

    def at(self, x, values, weights):
        distance = (np.asarray(x)[:, None] - values) / self.deviation
        return np.maximum((weights * self.peak * np.exp(-distance ** 2 / 2)).sum(1), self.floor).tolist()

    def curve(self, it, values, weights):
        """Samples a regular grid and the nodes themselves, whose peaks a grid would miss."""
        x = np.sort(np.concatenate([self.low + (self.high - self.low) * np.arange(_GRID + 1) / _GRID, values]))
        return Trace("curve", x=x.tolist(), y=self.at(x, values, weights), texts=[point_text(it)] * len(x))

    def end(self, it, values, weights):
        """The marker of a curve: the largest eigenvalue that the quadrature has found."""
        x = [float(values[weights >= _SMALLEST_WEIGHT].max())] if (weights >= _SMALLEST_WEIGHT).any() else []
        return Trace("points", x=x, y=self.at(x, values, weights) if x else [], texts=[point_text(it)] * len(x),
                     observations=[it] * len(x))
