"""Divides the values of one figure into panels, colours and dashes."""

from dataclasses import dataclass, field

from ...values import canonical, is_number, member
from ..dimensions import dimension_text, ordered, sweep_point, value_text
from ..intervals import OMITS, delta_spread, sample_text, spread_of
from ..observations import is_loss
from ..points import point_names


@dataclass
class Series:
    """Points that belong together: one colour and one dash in one panel, draw 0 at the first seed, along the training."""

    color: str  # what the colour means: "decay", "decay, lawa"
    dash: str  # the method; "" of the float model
    points: list = field(default_factory=list)
    replicates: list = field(default_factory=list)  # of each point all of its cell, the point among them

    @property
    def name(self):
        return self.color + (", " + self.dash if self.dash else "")


@dataclass
class SeriesPanel:
    title: str
    quantized: list = field(default_factory=list)
    floating: list = field(default_factory=list)


class _Naming:
    """What differs within the figure and must therefore be named."""

    def __init__(self, options, losses):
        self.options, self.said = options, options.lines + options.panels
        self.several_models = len({canonical(it["model"]) for it in losses}) > 1
        self.several_metrics = len({(canonical(it["metric"]), it.text) for it in losses}) > 1
        self.points = point_names([self.point(it) for it in losses])
        labels = {}
        for it in losses:
            if not it.is_float:
                key = (canonical(self.panel(it)), it.weights, it["quantizer"], canonical(sweep_point(it.record)))
                labels.setdefault(key, set()).add(value_text(it["label"]))
        self.ambiguous = {id_ for (_, _, id_, _), known in labels.items() if len(known) > 1}

    def point(self, it):
        return sweep_point(it.record, self.said)

    def panel(self, it):
        return [it[name] for name in self.options.panels]

    def metric(self, it):
        return [it["metric"], it.text] if self.several_metrics else None

    def title(self, it):
        words = [dimension_text(name, it[name]) for name in self.options.panels]
        words += [value_text(it["metric"])] if self.several_metrics else []
        return ", ".join(words + ([it.text] if it.text else []))

    def color(self, it):
        words = [value_text(it[name]) if name in ("branch", "averaging") else dimension_text(name, it[name])
                 for name in self.options.lines if it[name] is not None]
        if self.several_models and "model" not in self.options.lines and it["model"] is not None:
            words.append(value_text(it["model"]))
        if len(self.points) > 1 and self.points[canonical(self.point(it))]:
            words.append(self.points[canonical(self.point(it))])
        if "averaging" not in self.options.lines and it["averaging"] is not None:
            words.append(value_text(it["averaging"]))
        return ", ".join(words) or "checkpoints"

    def dash(self, it):
        if it.is_float or "label" in self.options.lines:
            return ""
        if it["quantizer"] in self.ambiguous:
            label = value_text(it["label"])
            return without_bits(label) if self.options.kind == "loss_vs_bytes" else label
        return "" if "quantizer" in self.options.lines else value_text(it["quantizer"])


def without_bits(label):
    """ "gptq bits=3 damp=0.1" without its bits: "gptq damp=0.1". """
    head, key, rest = label.partition(" bits=")
    return head + (rest[rest.find(" "):] if " " in rest else "") if key else label


def series_of(options, observations):
    """Panels of series by `lines` and `panels`; averages, methods, models, corpora and points of a sweep are told apart."""
    losses = [it for it in observations if is_loss(it.record) and (it.is_float or it.floating is not None)]
    naming = _Naming(options, losses)
    buckets = {}  # (panel, metric): title, {(colour, dash): observations} of quantized and of float models
    for it in losses:
        if not it.is_float:
            key = canonical([naming.panel(it), naming.metric(it)])
            bucket = buckets.setdefault(key, [(naming.panel(it), naming.metric(it)), "", {}, {}])
            bucket[1] = naming.title(it)
            bucket[2].setdefault((naming.color(it), naming.dash(it)), []).append(it)
    for it in losses:
        for (_, metric), _, _, floating in buckets.values() if it.is_float else ():
            if metric == naming.metric(it):
                floating.setdefault((naming.color(it), ""), []).append(it)
    return [SeriesPanel(title, *([_series(*key, members) for key, members in of.items()] for of in (quantized, floating)))
            for _, title, quantized, floating in
            sorted(buckets.values(), key=lambda bucket: ordered([bucket[0][0], bucket[0][1]]))]


def _series(color, dash, members):
    """One point for each cell that has draw 0, along the training."""
    out, places = Series(color, dash), {}
    for it in sorted(members, key=lambda it: (it.position, it.draw, it.jitter, it.seed)):
        if it.cell not in places:
            if not it.is_base:
                continue
            places[it.cell] = len(out.points)
            out.points.append(it)
            out.replicates.append([])
        out.replicates[places[it.cell]].append(it)
    return out


def by_branch(all_):
    """The same branch by branch: a line never runs from one into another."""
    out = []
    for series in all_:
        places = {}
        for point, replicates in zip(series.points, series.replicates):
            key = canonical(point["branch"])
            if key not in places:
                places[key] = Series(series.color, series.dash)
                out.append(places[key])
            places[key].points.append(point)
            places[key].replicates.append(replicates)
    return out


def fork_of(fork, all_):
    """(series, index) of the parent's last point at or before the first one of a fork, of the same method; or None."""
    first = fork.points[0]
    parent, axis = member(first.record["checkpoint"], "parent"), "step" if is_number(first["step"]) else "tokens"
    if not isinstance(parent, str) or not is_number(first[axis]) or first.record["averaging"] is not None:
        return None
    out, latest = None, -1
    for series in all_:
        other = series.points[0]
        if series.dash != fork.dash or other["branch"] != parent or other.record["averaging"] is not None \
                or sweep_point(other.record) != sweep_point(first.record) \
                or any(other[name] != first[name] for name in ("model", "label")):
            continue
        for i, point in enumerate(series.points):
            if is_number(point[axis]) and latest < point[axis] <= first[axis]:
                out, latest = (series, i), point[axis]
    return out


def seed_mean(replicates, of):
    """Where a line runs: the mean of draw 0 over the seeds."""
    values = [of(it) for it in replicates if it.is_base]
    return sum(values) / len(values)


def seeds_caption(panels):
    counts = [sum(it.is_base for it in replicates)
              for panel in panels for series in panel.quantized for replicates in series.replicates]
    if not counts or max(counts) < 2:
        return ""
    return " Each point is the mean over %s%d seeds." % (
        "" if min(counts) == max(counts) else "%d to " % min(counts), max(counts))


def spread_kind(options, panels):
    """What error bars show: `spread`, or seeds if there are any, else draws if there are any, else items; None for none."""
    if options.spread != "auto":
        return None if options.spread == "none" else options.spread
    cells = [replicates for panel in panels for series in panel.quantized for replicates in series.replicates]
    if any(it.seed != cell[0].seed for cell in cells for it in cell):
        return "seeds"
    return "draws" if any(it.draw > 0 for cell in cells for it in cell) else "items"


def point_spread(kind, point, replicates, of, factor):
    """The spread of one point in the figure's unit, None for fewer than 2; `factor` is that of one nat per token."""
    if kind == "items":
        spread = delta_spread(point)
        return spread and spread.scaled(factor)
    values = [of(it) for it in replicates if (kind == "draws" or it.draw == point.draw)
              and (kind == "jitter" or it.jitter == point.jitter) and (kind == "seeds" or it.seed == point.seed)]
    return spread_of(kind, values) if len(values) >= 2 else None


def spread_caption(kind, spreads):
    """What the bars of these spreads mean."""
    if kind is None:
        return "No bars are drawn."
    if not spreads:
        return "No bars: no cell has two %s to take a spread over." % ("blocks" if kind == "items" else kind)
    way = {"items": ", paired with the float model's",
           "draws": ", where there are any; the tick is the mean, the line draw 0",
           "jitter": ", where there are any; the tick is the mean, the line the rows as they come",
           "seeds": "; tick and line are their mean"}[kind]
    return "Bars: 95 %% interval of the mean over %s%s. They do not cover %s.%s" % (
        sample_text(kind, spreads), way, OMITS[kind],
        " Methods without calibration data have no such bars." if kind in ("draws", "jitter") else "")


def spread_note(kind, drawn, spreads):
    """What a legend says where some of the drawn points have a spread and others have none: that is no spread of 0."""
    if not 0 < spreads < drawn:
        return []
    return [("note", 0, "without an interval: one %s, no spread" % {"draws": "draw", "jitter": "order of rows", "seeds": "seed",
                                                             "items": "block"}[kind], -1)]


def mixed_machines(observations):
    """A sentence if the values come from more than one kind of machine, else ""."""
    machines = {" ".join(value_text(value) for value in (member(it.record["environment"], name) for name in ("device", "isa"))
                         if value is not None) for it in observations}
    return " Values come from different kinds of machines: %s." % "; ".join(sorted(machines)) if len(machines) > 1 else ""


def point_text(it):
    return value_text(it["checkpoint"])
