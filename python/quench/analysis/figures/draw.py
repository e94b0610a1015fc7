"""Draws figures with matplotlib."""

import math
import textwrap

import numpy as np

from ...requirements import need
from .style import DASHES, GRAY, HATCHES, MARKERS, MARKS, OPEN_FROM, color_of

_WIDTH, _HEIGHT, _STRIP = 4.4, 3.2, 0.9  # inches of a panel and of a strip
_LETTERS, _KEY = 14, 7  # of a legend's text: an inch, and as many as its key is wide
_WIDE = 1.1  # letters of a line are wider than the mean of a whole title by at most this factor
_LEAST = 5  # of a title's letters, in points
_SMALL = 4.5  # of a marker, in points
_BAND = 3.6  # of the float model's line, in points: a line of a quantized model on it leaves both to be seen
_ALONE = 18  # of a single point of it
_LEVELS = 12  # of contours
_MOST_NAMED = 24  # rows of cells, or categories, that have a name beside them


def draw(figure, palette, colors=None, columns=None, axes=None, new_figure=None):
    """The axes of a figure's panels, a list of matplotlib.axes.Axes; `axes[0].figure.savefig("name.pdf")` saves it.

    `colors` is {name of a line: any colour of matplotlib}; `axes` are axes to draw on, one for each panel. What lies under a
    panel in a strip is `axes.child_axes[0]`. `new_figure` makes the matplotlib.figure.Figure, pyplot.figure by default.
    """
    need("matplotlib")
    pen, are_own = Pen(palette, colors or {}), axes is None
    if are_own:
        axes = _new_axes(figure, columns, pen, new_figure)
    else:
        axes = list(np.ravel(np.asarray(axes, object)))
        if len(axes) < len(figure.panels):
            raise ValueError("%s: got %d axes, wanted %d, one for each panel" % (figure.kind, len(axes), len(figure.panels)))
        if figure.panels and figure.legend:
            axes[0].legend(handles=pen.legend(figure), fontsize="small")
    for panel, into in zip(figure.panels, axes):
        pen.panel(panel, into)
    if are_own and axes:
        _fit_titles(axes)
    return axes[:len(figure.panels)]


def _fit_titles(axes):
    """Titles that are longer than their vertical axis, as in a column of a paper, get more lines and then smaller letters: they
    would run into each other, or out of the figure."""
    axes[0].figure.draw_without_rendering()
    for each in axes[0].figure.axes + [strip for panel in axes for strip in panel.child_axes]:
        title, room = each.yaxis.label, each.bbox.height
        text, longest, length = title.get_text(), _longest(title.get_text().split("\n")), title.get_window_extent().height
        if not text or length <= room:
            continue
        letter = _WIDE * length / longest
        count = math.ceil(len(text) * letter / room)
        ways = (textwrap.wrap(text, most, break_long_words=False) for most in range(math.ceil(len(text) / count), len(text) + 1))
        lines = next(way for way in ways if len(way) <= count)
        title.set_text("\n".join(lines))
        title.set_fontsize(max(_LEAST, title.get_fontsize() * min(1, room / (letter * _longest(lines)))))


def _longest(lines):
    return max(map(len, lines))


def _new_axes(figure, columns, pen, new_figure):
    if new_figure is None:
        from matplotlib.pyplot import figure as new_figure  # noqa: PLC0415
    if not figure.panels:
        return []
    columns = min(columns or (3 if len(figure.panels) == 3 else 2), len(figure.panels))  # three leave no hole
    rows = math.ceil(len(figure.panels) / columns)
    height = max(map(_height, figure.panels))
    if any(panel.is_square for panel in figure.panels):
        height = _WIDTH
    width = figure.width or _WIDTH * columns
    height *= width / (_WIDTH * columns)
    entries = pen.legend(figure)
    longest = max((len(entry.get_label()) for entry in entries), default=0)
    per_row = max(1, min(2 * columns, int(width * _LETTERS / (longest + _KEY))))
    below = 0.22 * math.ceil(len(entries) / per_row) + 0.05
    if figure.height:
        height = max(figure.height - below, 0.1 * figure.height) / rows
    whole = new_figure(figsize=(width, figure.height or height * rows + below), layout="constrained")
    grid = whole.add_gridspec(rows + 1, columns, height_ratios=[height] * rows + [below])
    axes = [whole.add_subplot(grid[i // columns, i % columns]) for i in range(len(figure.panels))]
    if entries:
        key = whole.add_subplot(grid[rows, :])
        key.axis("off")
        key.legend(handles=entries, loc="center", ncol=min(per_row, len(entries)), frameon=False, fontsize="small",
                   handlelength=2.4)
    whole.suptitle(figure.title, fontsize="medium")
    return axes


def _height(panel):
    """Inches, with what lies under a panel: a strip, or names that stand upright."""
    return _HEIGHT + (_STRIP if panel.strip_title or panel.has_many else 0)


class Pen:
    def __init__(self, palette, colors, ink="black", paper="white", cap=2):
        self.palette, self.colors, self.ink, self.paper, self.cap = palette, colors, ink, paper, cap  # cap: of error bars, in points

    def color(self, index):
        return color_of(self.palette, index, self.colors)

    def look(self, trace):
        color = self.color(trace.color)
        marker = trace.marker if trace.marker >= 0 else max(trace.color, 0)
        return {"color": color, "marker": MARKERS[marker % len(MARKERS)], "markersize": _SMALL,
                "markerfacecolor": self.paper if trace.dash >= OPEN_FROM else color, "linestyle": DASHES[trace.dash % len(DASHES)],
                "linewidth": 1.3}

    # ---- one panel

    def size(self, panel):
        """Inches of one panel by itself."""
        return _WIDTH, _WIDTH if panel.is_square else _height(panel)

    def panel(self, panel, axes, has_title=True):
        axes.set_title(panel.title if has_title else "", fontsize="medium")
        axes.set_ylabel(panel.y_title)
        axes.tick_params(labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)
        if panel.has_zero:
            axes.axhline(0, color=GRAY, linewidth=0.8, zorder=0.5)
        strip = self.strip(panel, axes) if panel.strip_title else None
        (strip or axes).set_xlabel(panel.x_title)
        right = axes.twinx() if panel.right_title else None
        if right:
            right.set_ylabel(panel.right_title)
            right.tick_params(labelsize="small")
        bars = [trace for trace in panel.traces if trace.kind == "bar"]
        for trace in panel.traces:
            if trace.kind == "bar":
                self.draw_bar(trace, axes, bars.index(trace), len(bars))
            else:
                getattr(self, "draw_" + trace.kind)(trace, {"strip": strip, "right": right}.get(trace.kind, axes))
        if strip:  # once all of its lines are drawn: it ends what axes do by themselves
            strip.set_ylim(bottom=min([0, *(y for trace in panel.traces if trace.kind == "strip" for y in trace.y)]))
        if panel.rows:
            shown = range(0, len(panel.rows), math.ceil(len(panel.rows) / _MOST_NAMED))
            axes.set_yticks(shown, [panel.rows[i] for i in shown], fontsize="small")
            axes.spines[:].set_visible(False)
        if panel.categories:
            shown = range(0, len(panel.categories), math.ceil(len(panel.categories) / _MOST_NAMED))
            names = [panel.categories[i] for i in shown]
            long, many = len("".join(names)) > 32, panel.has_many  # many stand upright, as slanted ones would collide
            axes.set_xticks(shown, names, rotation=90 if many else 20 if long else 0,
                            ha="center" if many or not long else "right")
        elif panel.x_title in ("training tokens", "stored weights (bytes)"):
            (strip or axes).xaxis.set_major_formatter(_counted)
            axes.xaxis.set_major_formatter(_counted)
        if panel.is_square:
            axes.set(xlim=(panel.low, panel.high), ylim=(panel.low, panel.high), aspect="equal")
        if panel.across:
            axes.set_xlim(panel.across)
        if panel.shared:
            axes.set_ylim(panel.shared)
        elif panel.has_zero and min((value for trace in panel.traces for value in (*trace.y, *trace.low)), default=-1) >= 0:
            axes.set_ylim(bottom=0)
        if panel.is_log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(_power_of_ten)
            axes.set_ylim(bottom=panel.low)

    def strip(self, panel, axes):
        share = _STRIP / (_HEIGHT - _STRIP)
        out = axes.inset_axes([0, -share, 1, share - 0.07], sharex=axes)
        out.set_ylabel(panel.strip_title.replace(" ", "\n"), fontsize="small")
        out.tick_params(labelsize="small")
        out.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelbottom=False)
        return out

    # ---- traces by their kind

    def draw_line(self, trace, axes):
        if trace.color < 0:
            axes.plot(trace.x, trace.y, color=GRAY, linewidth=1.3, marker="o", markersize=3, gid=trace.name)
        else:
            axes.plot(trace.x, trace.y, **self.look(trace), gid=trace.name)
        self.marks(trace, axes)

    def marks(self, trace, axes):
        look = {**self.look(trace), "linestyle": "", "zorder": 4}
        for x, y, mark in zip(trace.x, trace.y, trace.marks):
            if mark:
                axes.plot([x], [y], **look | self.mark(mark))

    def mark(self, mark):
        """Larger than the markers of a line; the last checkpoint of a line keeps its own."""
        if mark == "last":
            return {"markersize": 7.5}
        return {"marker": MARKS.get(mark, "*"), "markersize": 11, "markeredgecolor": self.paper}

    def draw_float(self, trace, axes):
        alone = {"marker": "_", "markersize": _ALONE, "markeredgewidth": _BAND} if len(trace.x) == 1 else {}
        axes.plot(trace.x, trace.y, color=self.color(trace.color), linewidth=_BAND, alpha=0.35, gid=trace.name, **alone)

    def draw_curve(self, trace, axes):
        axes.plot(trace.x, trace.y, color=self.color(trace.color), linewidth=1.1, linestyle=DASHES[trace.dash % len(DASHES)],
                  gid=trace.name)

    def draw_points(self, trace, axes):
        axes.plot(trace.x, trace.y, **{**self.look(trace), "linestyle": ""}, gid=trace.name)
        self.marks(trace, axes)

    def draw_interval(self, trace, axes):
        middle = np.array(trace.y)
        axes.errorbar(trace.x, middle, [middle - trace.low, np.array(trace.high) - middle], color=self.color(trace.color),
                      fmt="_", markersize=5, elinewidth=0.9, capsize=self.cap, zorder=1.5)

    def draw_guide(self, trace, axes):
        width, dash = (0.9, "--") if trace.label == "no error" else (0.6, "-")  # as on the page
        axes.plot(trace.x, trace.y, color=GRAY, linewidth=width, linestyle=dash, zorder=0.5, gid=trace.name)
        axes.annotate(trace.label, (trace.x[0], trace.y[0]), (3, 3), textcoords="offset points", color=GRAY, fontsize="x-small",
                      va="bottom")

    def draw_right(self, trace, axes):
        axes.plot(trace.x, trace.y, color=self.color(trace.color), linewidth=1.2, linestyle=":", gid=trace.name, **_alone(trace))

    def draw_strip(self, trace, axes):
        axes.plot(trace.x, trace.y, color=self.color(trace.color), linewidth=1.2, gid=trace.name, **_alone(trace))

    def draw_join(self, trace, axes):
        axes.plot(trace.x, trace.y, color=self.color(trace.color), linewidth=0.6, gid=trace.name, zorder=1)

    def draw_contour(self, trace, axes):
        width = len(dict.fromkeys(trace.x))
        x, y, z = (np.reshape(values, (-1, width)) for values in (trace.x, trace.y, trace.z))
        lines = axes.contour(x, y, np.ma.masked_invalid(z), levels=_LEVELS, cmap="viridis", linewidths=0.8)
        axes.clabel(lines, fontsize="x-small", fmt="%.3g")

    def draw_heat(self, trace, axes):
        """Colours meet at 0 where values have both signs; a cell that was not measured stays blank."""
        z = np.full((max(trace.y) + 1, max(trace.x) + 1), math.nan)
        z[trace.y, trace.x] = trace.z
        most = np.nanmax(np.abs(z)) or 1.0
        look = {"cmap": "RdBu_r", "vmin": -most, "vmax": most} if np.nanmin(z) < 0 else {"cmap": "viridis", "vmin": 0, "vmax": most}
        cells = axes.imshow(z, aspect="auto", interpolation="nearest", **look)
        key = axes.figure.colorbar(cells, ax=axes, pad=0.02)
        key.set_label(trace.name, fontsize="small")
        key.ax.tick_params(labelsize="small")

    def draw_bar(self, trace, axes, place, of):
        width = 0.8 / of
        x = np.array(trace.x) + (place - (of - 1) / 2) * width
        color, y = self.color(trace.color), np.array(trace.y)
        axes.bar(x, y, width * 0.92, color=color, edgecolor=self.paper, hatch=HATCHES[max(trace.color, 0) % len(HATCHES)],
                 linewidth=0, gid=trace.name)
        low, high = y - trace.low, np.array(trace.high) - y
        known = (low != 0) | (high != 0)
        if known.any():
            axes.errorbar(x[known], y[known], [low[known], high[known]], fmt="none", ecolor=self.ink, elinewidth=0.9, capsize=self.cap)

    # ---- the legend

    def legend(self, figure):
        from matplotlib.lines import Line2D  # noqa: PLC0415
        from matplotlib.patches import Patch  # noqa: PLC0415

        out = []
        for kind, index, text, marker in figure.legend:
            style = {"label": text, "linewidth": 1.5}
            if kind == "note":
                out.append(Line2D([], [], color=GRAY, linestyle="", marker="o", markersize=_SMALL, label=text))
            elif kind == "color" and marker == "bar":
                out.append(Patch(facecolor=self.color(index), label=text, hatch=HATCHES[index % len(HATCHES)],
                                 edgecolor=self.paper, linewidth=0))
            elif kind == "color":
                out.append(Line2D([], [], color=self.color(index), markersize=_SMALL,
                                  marker="" if marker < 0 else MARKERS[marker % len(MARKERS)], **style))
            elif kind == "dash":
                out.append(Line2D([], [], color=self.ink, linestyle=DASHES[index % len(DASHES)], markersize=_SMALL,
                                  marker=MARKERS[marker % len(MARKERS)],
                                  markerfacecolor=self.paper if index >= OPEN_FROM else self.ink, **style))
            elif kind == "mark":
                out.append(Line2D([], [], **{"color": self.ink, "linestyle": "", "label": text, "marker": "o"} | self.mark(marker)))
            else:
                is_float = kind == "float"  # in the ink, as what other entries say of lines of any colour
                out.append(Line2D([], [], color=self.ink if is_float else GRAY, alpha=0.35 if is_float else 1, label=text,
                                  linestyle="-" if is_float else ":", linewidth=_BAND if is_float else 1.2))
        return out


def _alone(trace):
    """A single point of a line needs a mark to be seen."""
    return {"marker": ".", "markersize": _SMALL} if len(trace.x) == 1 else {}


def _power_of_ten(value, _place=None):
    """10⁻⁴, without the markup of matplotlib, which a page shows as it stands."""
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(each)] if each.isdigit() else "⁻" for each in "%d" % round(math.log10(value)))


def _counted(value, _place=None):
    """1.5B, 300M, 120k: as names of revisions have it."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return "%.4g%s" % (value / size, unit)
    return "%g" % value
