"""The results in bench/findings/data: one row for each number, and above the rows how they came about.

    # command: bench/findings/collect runs/token_budget_tiny
    # program: quench 0.1.0
    table,test,contrast,row,point,branch,averaging,step,method,seed,quantity,unit,value

`table` is loss, accuracy, curvature, taylor, decomposition, landscape (one value of one set of weights each), contrast (a number of a row of a
contrast, `test` says of which claim), problem (why a contrast has no such row) or summary (a number of another table). A
field that does not apply is empty.
"""

import csv
import io
from pathlib import Path

FIELDS = ["table", "test", "contrast", "row", "point", "branch", "averaging", "step", "method", "seed", "quantity", "unit", "value"]
KNOWN = {"loss", "accuracy", "curvature", "taylor", "decomposition", "landscape", "contrast", "problem", "summary"}
HEAD = ["command", "program", "date", "processor"]


class Wrong(Exception):
    """A file of results that cannot be relied on."""


def number_text(value):
    """Nine digits: more than any table shows, and less than a record has."""
    return "" if value is None else f"{value:.9g}"


def write(path, head, rows):
    out = io.StringIO()
    for key in HEAD:
        if not head.get(key):
            raise Wrong(f"{path}: nothing is known of its {key}")
    for key, value in head.items():
        out.write(f"# {key}: {value}\n")
    writer = csv.DictWriter(out, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    Path(path).write_text(out.getvalue(), encoding="utf-8")


class Results:
    """One file: `head` and `rows`, whose `value` is a number, or None for a problem."""

    def __init__(self, path):
        self.path, self.name, self.head, self.rows = Path(path), Path(path).stem, {}, []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        while lines and lines[0].startswith("# "):
            key, _, value = lines.pop(0)[2:].partition(": ")
            self.head[key] = value
        missing = [key for key in HEAD if not self.head.get(key)]
        if missing:
            raise Wrong(f"{path}: the lines above the table do not say {', '.join(missing)}")
        reader = csv.DictReader(lines)
        if reader.fieldnames != FIELDS:
            raise Wrong(f"{path}: got the columns {reader.fieldnames}, wanted {FIELDS}")
        for line, row in enumerate(reader, len(self.head) + 2):
            place = f"{path}:{line}"
            if row["table"] not in KNOWN or None in row.values():
                raise Wrong(f"{place}: got the table {row['table']!r}, wanted one of {', '.join(sorted(KNOWN))}, and all columns")
            if row["table"] == "problem":
                row["value"] = None
            else:
                try:
                    row["value"] = float(row["value"])
                except ValueError:
                    raise Wrong(f"{place}: got the value {row['value']!r}, wanted a number") from None
            self.rows.append(row)

    def where(self, **fields):
        """The rows whose fields have these texts."""
        return [row for row in self.rows if all(row[key] == wanted for key, wanted in fields.items())]

    def value(self, **fields):
        """The one number there."""
        found = self.where(**fields)
        if len(found) != 1:
            raise Wrong(f"{self.path}: {len(found)} rows have {fields}, wanted 1")
        return found[0]["value"]


def read_folder(folder):
    """{name: Results} of all files of results in the folder."""
    return {path.stem: Results(path) for path in sorted(Path(folder).glob("*.csv"))}
