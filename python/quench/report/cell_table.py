"""Every cell as a row: what was measured, its difference to the float model, and how much it varies over each kind of replicate."""

import csv
import io

from ..analysis.cells import cells_of
from ..analysis.dimensions import value_text
from ..analysis.figures.data import MOST_OF_A_FIELD
from ..analysis.intervals import KINDS
from ..analysis.sentences import no_spread
from ..texts import printable
from ..values import canonical, is_number

_COLUMNS = (  # of cells_of(): title, whether it has numbers, meaning where the title does not say it
    ("point", "point", False, "what tells the point of the sweep from the others, beside the seed"), ("model", "model", False, ""),
    ("branch", "branch", False, ""), ("checkpoint", "checkpoint", False, ""), ("step", "step", True, "training step"),
    ("tokens", "tokens", True, "training tokens seen"), ("lr", "lr", True, "learning rate"), ("averaging", "averaging", False, ""),
    ("method", "method", False, "label of the quantizer; float: the model as it was trained"),
    ("bits", "bits", True, "stored bits per weight, including scales and zeros"),
    ("bytes", "bytes", True, "of all weights as they are stored, the others in the checkpoint's type"), ("metric", "metric", False, ""),
    ("value", "value", True, ""), ("stderr", "SE", True, "standard error of the value over blocks or questions"),
    ("unit", "unit", False, ""), ("delta", "Δ", True, "value minus that of the float model with the same weights"),
    ("error", "ΔQL %", True, "quantized/float − 1"),
    ("items", "Δ over items", True, "95 % interval over blocks, documents or questions, paired with the float model's"),
    ("draws", "Δ over draws", True, "95 % interval over calibration draws"),
    ("jitter", "Δ over jitter", True, "95 % interval over orders of the same calibration rows"),
    ("seeds", "Δ over seeds", True, "95 % interval over seeds"),
)


def _counted(value):
    """1.5B, 300M, 120k: as names of revisions have it."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size or (abs(value) >= size > 1e3):
            return "%.4g%s" % (value / size, unit)
    return "%g" % value


_TEXTS = {"tokens": _counted, "bytes": _counted, "lr": "{:.3g}".format, "bits": "{:.3g}".format, "value": "{:.5f}".format,
          "stderr": "{:.5f}".format, "delta": "{:.5f}".format, "error": "{:.3f}".format}


def _cell(name, row):
    """(value as JSON has it, its text)"""
    value = row[name]
    if name in KINDS:
        if value is None or value.interval is None:
            return None, ""
        return value.mean, "%.4f (%s)" % (value.mean, no_spread(value)) if value.is_constant else "%.4f ± %.4f (n = %d)" % (
            value.mean, value.interval[1] - value.mean, value.n)
    if value is None:
        return None, ""
    if name == "metric":
        label = row["label"] or value  # "validation_loss block=128" names its metric; another label stands beside it
        words = [value] * (value not in label.split()) + [label] + [row["text"]] * bool(row["text"])
        return value, ", ".join(words)
    if name in _TEXTS:
        value = 100 * value if name == "error" else value
        return (value, _TEXTS[name](value)) if is_number(value) else (None, "")
    return value, value_text(value)


class CellTable:
    """`columns` are (title, whether it has numbers, meaning), `rows` lists of (value, text); `row_of` finds the row of an
    observation, replicates that of their draw 0. Columns that say nothing are left out."""

    def __init__(self, observations):
        cells = cells_of(observations)
        self._places = {}
        for it in observations:
            self._places.setdefault((it.cell, it.record["metric"]), len(self._places))
        rows = [[_cell(name, row) for name, *_ in _COLUMNS] for row in cells]
        kept = [i for i, (name, *_) in enumerate(_COLUMNS) if any(row[i][0] is not None for row in rows)
                and not (name == "model" and all(row[i][0] == rows[0][i][0] for row in rows))]
        self.columns = [_COLUMNS[i][1:] for i in kept]
        self.rows = [[row[i] for i in kept] for row in rows]

    def row_of(self, observation):
        return self._places[(observation.cell, observation.record["metric"])]

    def json(self):
        return [{column[0]: value for column, (value, _) in zip(self.columns, row)} for row in self.rows]

    def csv(self):
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        write([column[0] for column in self.columns])
        for row in self.rows:
            # an interval is written as text: its mean alone would hide that there is one
            write([printable("" if value is None else text if "(" in text and is_number(value) else
                             value if isinstance(value, str) else canonical(value), MOST_OF_A_FIELD) for value, text in row])
        return out.getvalue()
