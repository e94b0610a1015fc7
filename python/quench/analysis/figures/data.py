"""Figures as data: what is drawn, not how. matplotlib, the page and CSV files show the same."""

import csv
import io
from dataclasses import dataclass, field

from ...texts import printable

MOST_OF_A_FIELD = 4096  # bytes, in a CSV file
MOST_NAMES = 3  # of marked checkpoints in a legend


def _shortest(number):
    """The shortest text that reads as this number again: whole numbers without `.0`."""
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 1e15 else number


@dataclass
class Trace:
    """One set of points in a panel.

    Kinds: `line` (joined, with markers), `float` (joined points of the float model), `points`, `interval` (from low to high,
    a tick at y), `guide` (a line to read by, no data), `right` (of the right axis), `strip` (of the strip under the panel),
    `join` (from a parent's point where a branch forks to the branch's first), `bar`, `contour` (z over a regular grid, x
    fastest), `curve` (joined, without markers), `heat` (z of cells; x is an index into categories, y into rows).
    """

    kind: str
    name: str = ""  # in full, for CSV and for hovering
    color: int = -1  # an index of the palette; −1: none
    dash: int = 0  # of bars the pattern
    marker: int = -1  # −1: that of the colour
    label: str = ""  # of a guide: the text at its end
    x: list = field(default_factory=list)
    y: list = field(default_factory=list)
    low: list = field(default_factory=list)
    high: list = field(default_factory=list)
    z: list = field(default_factory=list)
    texts: list = field(default_factory=list)  # for each point its description
    marks: list = field(default_factory=list)  # for each point its mark in the manifest, or ""
    observations: list = field(default_factory=list)


@dataclass
class Panel:
    title: str = ""
    x_title: str = ""
    y_title: str = ""
    right_title: str = ""  # "": no right axis
    strip_title: str = ""  # "": no strip
    categories: list = field(default_factory=list)  # of bars and cells: x is an index into these
    rows: list = field(default_factory=list)  # of cells: y is an index into these, from above
    z_title: str = ""  # of cells: what their colours mean
    is_square: bool = False  # both axes have one unit and the range from low to high
    has_zero: bool = False  # 0 belongs to the vertical axis, and has a line
    is_log: bool = False  # the vertical axis, which starts at low
    low: float = 0.0
    high: float = 0.0
    shared: list = field(default_factory=list)  # [low, high] of the vertical axis in all panels, or nothing
    across: list = field(default_factory=list)  # [low, high] of the horizontal axis in all panels, or nothing
    traces: list = field(default_factory=list)

    @property
    def has_many(self):
        """Whether its categories are too many to have their names side by side."""
        return len(self.categories) > 8


@dataclass
class Figure:
    kind: str
    title: str
    panels: list = field(default_factory=list)
    caption: str = ""  # what the figure shows, and what its bars mean
    # (kind, index, text, marker) of a colour (with the marker "bar" of bars), a dash, `float`, `right`, a mark, or a note
    legend: list = field(default_factory=list)
    name: str = ""  # of its files
    width: float = None  # in files, in inches; None: by its panels
    height: float = None

    def csv(self):
        """One row for each point, as `quench report --format csv` writes it."""
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow("panel,trace,x,y,low,high,z,kind,panel_title,name,point".split(","))
        for p, panel in enumerate(self.panels):
            for t, trace in enumerate(panel.traces):
                for i in range(len(trace.x)):
                    numbers = [_shortest(values[i]) if i < len(values) else ""
                               for values in (trace.x, trace.y, trace.low, trace.high, trace.z)]
                    rows.writerow([p, t, *numbers, trace.kind, printable(panel.title, MOST_OF_A_FIELD),
                                   printable(trace.name, MOST_OF_A_FIELD),
                                   printable(trace.texts[i], MOST_OF_A_FIELD) if i < len(trace.texts) else ""])
        return out.getvalue()

    def frame(self):
        """The same as a pandas.DataFrame."""
        import pandas  # noqa: PLC0415

        return pandas.read_csv(io.StringIO(self.csv()))

    def share_y(self):
        """Gives all panels the vertical range that holds what each of them shows."""
        ends = [value for panel in self.panels for trace in panel.traces if trace.kind not in ("right", "strip")
                for value in (*trace.y, *trace.low, *trace.high)]
        if len(self.panels) > 1 and ends:
            low, high = min(ends), max(ends)
            if any(panel.has_zero or panel.categories for panel in self.panels):
                low, high = min(low, 0.0), max(high, 0.0)
            room = 0.05 * (high - low)
            for panel in self.panels:
                panel.shared = [low - room if low < 0 or not panel.has_zero else low, high + room]
        return self

    def share_x(self):
        """Gives all panels the horizontal range that holds what each of them shows, from 0 unless that would leave more than a
        third of it empty; of a single place from 0 in any case."""
        ends = [value for panel in self.panels for trace in panel.traces if trace.kind != "guide" for value in trace.x]
        low, high = (min(ends), max(ends)) if ends else (0, 0)
        room, begin = 0.04 * (high - low), low <= high / 3
        if low == high > 0:
            room, begin = 0.1 * high, True
        for panel in self.panels if room > 0 else ():
            panel.across = [0.0 if low > 0 and begin else low - room, high + room]
        return self

    def drop_empty(self):
        """Removes traces without points, and panels without traces of data."""
        for panel in self.panels:
            panel.traces = [trace for trace in panel.traces if trace.x]
        self.panels = [panel for panel in self.panels
                       if any(trace.kind not in ("guide", "strip", "right") for trace in panel.traces)]
        return self


class Palette:
    """Gives texts a colour and a dash, the same in all figures of a run."""

    def __init__(self):
        self.colors, self.dashes = [], []

    def color(self, text):
        return self._index(self.colors, text)

    def dash(self, text):
        return self._index(self.dashes, text)

    @staticmethod
    def _index(texts, text):
        if text not in texts:
            texts.append(text)
        return texts.index(text)


def legend_of(panels, colors, dashes):
    """What is drawn, in the order of the palette: colours, dashes, the float model, the right axis, marks."""
    kinds = {trace.kind for panel in panels for trace in panel.traces}
    has_methods = any(dashes.values())
    out = [("color", index, text, -1 if has_methods else index) for index, text in sorted(colors.items())]
    out += [("dash", index, text, index) for index, text in sorted(dashes.items()) if text]
    if "float" in kinds:
        out.append(("float", 0, "float model", -1))
    if "right" in kinds:
        title = next(panel.right_title for panel in panels if panel.right_title)
        out.append(("right", 0, title + " (right axis)", -1))
    marks = {}
    for panel in panels:
        for trace in panel.traces:
            for mark, text in zip(trace.marks, trace.texts):
                if mark:
                    marks.setdefault(mark, set()).add(text)
    for mark, texts in sorted(marks.items()):
        out.append(("mark", 0, "last checkpoint of a line" if mark == "last" else "marked " + mark
                    if len(texts) > MOST_NAMES else ", ".join(sorted(texts)), mark))
    return out
