"""Records as files and tables for other programs and for papers: SQLite, Parquet, Markdown, LaTeX.

    import quench
    from quench import tables
    print(tables.latex(quench.records("runs/m")))
    tables.write_parquet("m.parquet", quench.records("runs/m"))

`quench results --table md|latex`, `--sqlite FILE` and `--parquet FILE` start this module, which then reads records from
its standard input, canonical JSON, one a line, in the order of the rows. Behind a derived value follow, after a tab, `parts`
and `details` of the record that it derives from.
"""

import argparse
import json
import math
import os
import re
import stat
import sys
from typing import NamedTuple

from .metric_text import TextNames, metric_text
from .texts import printable
from .values import canonical, is_number, member, sweep_values

MOST_OF_A_CELL = 4096  # bytes
TEXT, INTEGER, REAL, JSON = "TEXT", "INTEGER", "REAL", "JSON"
COLUMNS = (  # name, dotted path, type: those of `quench results --csv`
    ("job", "job", INTEGER), ("model", "checkpoint.model", TEXT), ("revision", "checkpoint.revision", TEXT),
    ("commit", "checkpoint.commit", TEXT), ("branch", "checkpoint.branch", TEXT), ("phase", "checkpoint.phase", TEXT),
    ("step", "checkpoint.step", INTEGER), ("tokens", "checkpoint.tokens", INTEGER), ("lr", "checkpoint.lr", REAL),
    ("averaging_label", "averaging.label", TEXT), ("quantizer_id", "quantizer.id", TEXT),
    ("quantizer_label", "quantizer.label", TEXT), ("bits_per_weight", "quantizer.bits_per_weight", REAL),
    ("params", "quantizer.params", JSON), ("calibration", "quantizer.calibration", TEXT),
    ("stored_bytes", "details.stored_bytes", REAL), ("draw", "draw", INTEGER), ("jitter", "jitter", INTEGER),
    ("metric", "metric", TEXT), ("label", "label", TEXT), ("value", "value", REAL), ("stderr", "stderr", REAL),
    ("unit", "unit", TEXT), ("direction", "direction", INTEGER), ("error", "error", TEXT), ("seconds", "seconds", REAL),
    ("family", "environment.family", TEXT), ("dtype", "environment.dtype", TEXT), ("device", "environment.device", TEXT),
    ("seed", "environment.seed", INTEGER), ("cached", "cached", TEXT), ("key", "key", TEXT),
)
_TEXT = "text."  # before the parameter in which texts of one metric differ
BEHIND = (("items", "items", JSON), ("details", "details", JSON))
_RAW = json.JSONDecoder().raw_decode


class Failure(Exception):
    """What went wrong, as one line for people."""


def members(text):
    """{name: (value, its text)} of an object in canonical JSON, in which nothing separates but commas and colons."""
    out, at = {}, 1
    while text[at] != "}":
        name, end = _RAW(text, at)
        value, at = _RAW(text, end + 1)
        out[name] = (value, text[end + 1:at])
        at += text[at] == ","
    return out


class Lines:
    """Records of an open file, one a line, as often as they are asked for."""

    def __init__(self, file):
        self._file = file

    def __iter__(self):
        self._file.seek(0)
        return map(Line, self._file)

    def points(self):
        """_point() of each record that has any."""
        self._file.seek(0)
        return [_point(Line(line)) for line in self._file if b'"sweep":' in line]


class Line(dict):
    """A record that also knows how its fields were spelled, and the `source` that it derives from."""

    def __init__(self, line):
        record, _, source = line.decode().partition("\t")  # within JSON a tab is escaped
        fields = members(record)
        super().__init__((name, value) for name, (value, _) in fields.items())
        self.texts = {name: text for name, (_, text) in fields.items()}
        self.source = json.loads(source) if source else self


def _at(record, path):
    """The value at a dotted path, whose parts may be names with dots ("train.lr": {"peak": 0.1}); None if missing."""
    if not isinstance(record, dict):
        return None
    if path in record:
        return record[path]
    if "." not in path:
        return None
    for i, char in enumerate(path):
        if char == "." and path[:i] in record:
            found = _at(record[path[:i]], path[i + 1:])
            if found is not None:
                return found
    return None


def _spelled(record, path, value):
    """The value as JSON: the record's own spelling where it is known."""
    texts = getattr(record, "texts", None)
    if texts is None:
        return canonical(value)
    name, _, rest = path.partition(".")
    if not rest:
        return texts[name]
    inner = members(texts[name])
    return inner[rest][1] if rest in inner else canonical(value)


# ---- points of a sweep

def _point(record):
    """{path in the manifest: value} of what the record's point sets."""
    return dict(sweep_values(member(record["environment"], "sweep")))


def _short_paths(paths):
    """Each path by its last word, or by as many words as tell it from the others: "peak", "lr.peak"."""
    def ending(path, words):
        return ".".join(path.split(".")[-words:])

    out = []
    for path in paths:
        words = 1
        while ending(path, words) != path and any(
                other != path and ending(other, words) == ending(path, words) for other in paths):
            words += 1
        out.append(ending(path, words))
    return out


def _same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


# ---- tables of text

class _Entry(NamedTuple):
    """What a table shows of a record."""

    job: int
    checkpoint: str  # "step600", plus the branch or the average if it adds information
    quantizer: str  # its label, plus the draw and the jitter if they are not the first
    bits: str
    metric: str
    label: str
    of_metric: str  # of a quantization error: the metric that it derives from
    of_value: float  # and its value
    texts: list  # of _Texts
    value: float
    stderr: float  # NaN: there is none
    error: str
    point: dict


def _float(value):
    return math.nan if value is None else float(value)


def _entry(record, texts):
    checkpoint, averaging, quantizer = record["checkpoint"] or {}, record["averaging"], record["quantizer"]
    name = checkpoint["revision"] if isinstance(checkpoint.get("revision"), str) else checkpoint["model"]
    if isinstance(checkpoint.get("branch"), str) and checkpoint["branch"]:
        name = checkpoint["branch"] + " " + name
    if averaging:
        name += ", " + averaging.get("label", "averaged")
    stored = checkpoint.get("stored")
    if quantizer is None:
        bits = stored.get("bits") if isinstance(stored, dict) else None
        variant = "float" if stored is None else "%s bits (stored)" % canonical(bits) if is_number(bits) else "stored"
    else:
        bits = quantizer.get("bits_per_weight")
        variant = quantizer["label"] + "".join(" %s %s" % (what, canonical(record[what])) for what in ("draw", "jitter")
                                               if is_number(record[what]) and record[what] != 0)
    derives = _derives(record)
    return _Entry(record["job"], name, variant, "%.2f" % bits if is_number(bits) else bits if isinstance(bits, str) else "-",
                  record["metric"], record["label"], record["details"]["metric"] if derives else "",
                  _float(record["details"]["quantized"] if derives else None), [text or "-" for text in texts.of(record)],
                  _float(record["value"]), _float(record["stderr"]), record["error"] or "", _point(record))


def _with_error(value, stderr, digits):
    text = "%.*f" % (digits, value)
    return text if math.isnan(stderr) else "%s ± %.*f" % (text, digits, stderr)


class _Points:
    """The columns of what points of a sweep set, as far as the entries differ in it."""

    def __init__(self, entries):
        first = {}  # path: value, entries that have it
        for entry in entries:
            for path, value in entry.point.items():
                known = first.setdefault(path, [value, 0])
                known[1] += _same(known[0], value)
        self._paths = [path for path, (_, count) in sorted(first.items()) if count < len(entries)]
        self.titles = _short_paths(self._paths)

    def of(self, entry):
        values = [entry.point.get(path) if path in entry.point else "-" for path in self._paths]
        return [value if isinstance(value, str) else canonical(value) for value in values]

    def words(self, entry):
        """"peak 0.003, seed 1, " for a line of text."""
        return "".join("%s %s, " % pair for pair in zip(self.titles, self.of(entry)))


class _Texts:
    """The columns of what the metrics measured on, as far as records of one metric differ in it: a corpus, a block."""

    def __init__(self, records):
        self._names = TextNames()
        for record in records:
            measured = _measured(record)
            self._names.add(_measured_metric(record), metric_text(measured), measured["details"])
        self.titles = self._names.all_differing()

    def of(self, record):
        """A text for each title, "" where the metric has no such parameter."""
        if not self.titles:
            return []
        metric, text = _measured_metric(record), metric_text(_measured(record))
        return [self._names.value(metric, text, title) for title in self.titles]


def _measured(record):
    """The record that says on what the metric measured: itself, or what it derives from."""
    return getattr(record, "source", record)


def _measured_metric(record):
    """"hessian" of "hessian/trace"; of an error, the metric that it derives from."""
    metric = record["details"]["metric"] if _derives(record) else record["metric"]
    return metric.partition("/")[0]


def _derives(record):
    return record["metric"] == "quantization_error" and record["error"] is None


def _take_loss(losses, loss):
    """Takes out the first row with the loss that an error derives from; None if none has it. Of one cell there may be several
    losses, of two attempts or two runs, and some have no float loss beside them and so no error."""
    for i, (value, row) in enumerate(losses):
        if value == loss or math.isnan(value) and not math.isfinite(loss):
            del losses[i]
            return row
    return None


def _rows(records):
    """(rows of printable text, the first with titles; a line for each failed cell)."""
    if not isinstance(records, Lines):
        records = list(records)
    texts = _Texts(records)
    entries = [_entry(record, texts) for record in records]
    points = _Points(entries)
    rows = [[*points.titles, *texts.titles, "checkpoint", "quantizer", "bits", "metric", "value", "error ΔQL"]]
    waiting = {}  # (loss, row) that wait for the error that derives from them, in the order of arrival
    failures = []
    for entry in entries:
        def place(metric, entry=entry):
            return waiting.setdefault((entry.job, entry.checkpoint, entry.quantizer, entry.label, metric), [])

        head = [*points.of(entry), *entry.texts, entry.checkpoint, entry.quantizer, entry.bits]
        if entry.error:
            named_texts = "".join("%s %s, " % pair for pair in zip(texts.titles, entry.texts) if pair[1] != "-")
            failures.append("failed: %s%s, %s, %s: %s\n" % tuple(
                printable(text, MOST_OF_A_CELL)
                for text in (points.words(entry) + named_texts, entry.checkpoint, entry.quantizer, entry.metric,
                             entry.error)))
        elif entry.metric == "quantization_error":
            percent = _with_error(entry.value * 100, entry.stderr * 100, 3) + " %"
            row = _take_loss(place(entry.of_metric), entry.of_value)
            if row is not None:
                row.append(percent)
            else:  # selected without its loss
                rows.append([*head, "", "", percent])
        else:
            rows.append([*head, entry.metric, _with_error(entry.value, entry.stderr, 5)])
            place(entry.metric).append((entry.value, rows[-1]))
    width = len(rows[0])
    return [[printable(cell, MOST_OF_A_CELL) for cell in row] + [""] * (width - len(row)) for row in rows], failures


def markdown(records):
    """A table in Markdown, with failed cells below. `records`: dicts as quench.records() gives them."""
    rows, failures = _rows(records)

    def line(cells):
        return "|" + "".join(" %s |" % cell for cell in cells) + "\n"

    escaped = [line(re.sub(r"([\\|*_`<\[])", r"\\\1", cell) for cell in row) for row in rows]
    escaped.insert(1, line(["---"] * len(rows[0])))
    return "".join([*escaped, "\n" if failures else "", *failures])


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
          ">": r"\textgreater{}", "±": r"$\pm$", "Δ": r"$\Delta$", **{char: "\\" + char for char in "&%$#_{}"}}


def latex(records):
    """A tabular in LaTeX, which needs the package booktabs, with failed cells as comments below."""
    rows, failures = _rows(records)
    lines = [" & ".join("".join(_LATEX.get(char, char) for char in cell) for cell in row) + " \\\\\n" for row in rows]
    return "".join(["\\begin{tabular}{%s}\n\\toprule\n" % ("l" * len(rows[0])), lines[0], "\\midrule\n", *lines[1:],
                    "\\bottomrule\n\\end{tabular}\n", *("% " + failure for failure in failures)])


# ---- files

def _type_of(value):
    """Numbers and texts in one column are texts; a list makes it JSON."""
    if isinstance(value, (dict, list)):
        return JSON
    return TEXT if not is_number(value) else INTEGER if isinstance(value, int) else REAL


def _common(a, b):
    for kind in (JSON, TEXT):
        if kind in (a, b):
            return kind
    return a if a == b else REAL


def columns_of(records, texts):
    """(name, dotted path, type) of every column: behind `job` one for each value that points of a sweep set, before `metric`
    one for each of _Texts."""
    swept = {}
    for point in records.points() if isinstance(records, Lines) else map(_point, records):
        for path, value in point.items():
            if path not in swept:
                swept[path] = _type_of(value)
            elif value is not None:
                swept[path] = _common(swept[path], _type_of(value))
    points = [("sweep." + path, "environment.sweep." + path, kind) for path, kind in sorted(swept.items())]
    measured_on = [(_TEXT + title, None, TEXT) for title in texts.titles]
    metric = [name for name, _, _ in COLUMNS].index("metric")
    return [COLUMNS[0], *points, *COLUMNS[1:metric], *measured_on, *COLUMNS[metric:], *BEHIND]



def _value(record, column, texts):
    """The value of a column as SQLite keeps it: numbers, text, None."""
    name, path, kind = column
    if path is None:
        return dict(zip(texts.titles, texts.of(record)))[name[len(_TEXT):]] or None
    field, _, member = path.partition(".")
    value = record[field]
    if member:
        value = _at(value, member)
    if value is None:
        return None
    if kind is JSON or kind is TEXT and not isinstance(value, str):
        return _spelled(record, path, value)  # also a number or a flag beside texts
    if isinstance(value, str):
        # SQLite has no NaN: it would store null, which means that there is no value.
        infinite = kind is REAL and value in ("Infinity", "-Infinity")
        return float(value) if infinite else value
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value if isinstance(value, int) and -2**63 <= value < 2**63 else float(value)


class _NewFile:
    """Within `with`, the path of a file that takes the place of `path` when all went well."""

    def __init__(self, path):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device or socket"
            raise Failure("%s: is a %s; only a regular file can be replaced" % (printable(path, 4096), kind))
        folder, name = os.path.split(path)
        self.path, self.folder = path, folder or "."
        self.temporary = os.path.join(folder, ".%s.%d.tmp" % (name, os.getpid()))

    def _remove(self):
        if os.path.lexists(self.temporary):
            os.unlink(self.temporary)

    def __enter__(self):
        self._remove()
        return self.temporary

    def __exit__(self, kind, *_):
        if kind is not None:
            self._remove()
            return
        for path in self.temporary, None, self.folder:  # the file, its name, the folder's entry of it
            if path is None:
                os.replace(self.temporary, self.path)
                continue
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def write_sqlite(path, records):
    """A database with the table `records`. `records` are iterated three times. Raises Failure and OSError."""
    import sqlite3  # noqa: PLC0415

    texts = _Texts(records)
    columns = columns_of(records, texts)
    named = ", ".join('"%s" %s' % (name.replace('"', '""'), "TEXT" if kind is JSON else kind) if (name, at, kind) not in BEHIND
                      else "%s TEXT" % name for name, at, kind in columns)
    with _NewFile(path) as temporary:
        try:
            database = sqlite3.connect(temporary, isolation_level=None)
            # The file is written once and gets its name when it is complete, so it needs no journal.
            database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=FULL; BEGIN;")
            database.execute("CREATE TABLE records (%s)" % named)
            database.executemany("INSERT INTO records VALUES (%s)" % ",".join("?" * len(columns)),
                                 ([_value(record, column, texts) for column in columns] for record in records))
            database.execute("COMMIT")
            database.close()
        except sqlite3.Error as failure:
            raise Failure("%s: %s" % (temporary, failure))


def write_parquet(path, records):
    """A Parquet file with the columns of write_sqlite: numbers as float64 (so NaN stays one) or int64, `items` as lists.
    `records` are iterated three times. Raises Failure and OSError."""
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    texts = _Texts(records)
    columns = columns_of(records, texts)
    types = {TEXT: pyarrow.string(), JSON: pyarrow.string(), INTEGER: pyarrow.int64(), REAL: pyarrow.float64()}
    items = pyarrow.list_(pyarrow.float64())
    schema = pyarrow.schema([(name, items if name == "items" else types[kind]) for name, _, kind in columns])

    def value(record, column):
        if column[0] == "items":
            return None if record["items"] is None else [float(item) for item in record["items"]]
        found = _value(record, column, texts)
        return float(found) if column[2] is REAL and found is not None else found

    with _NewFile(path) as temporary:
        try:
            with pyarrow.parquet.ParquetWriter(temporary, schema) as writer:
                for block in _blocks(records, 4096):
                    writer.write_table(pyarrow.table({
                        column[0]: pyarrow.array([value(record, column) for record in block], schema.field(column[0]).type)
                        for column in columns}, schema=schema))
        except pyarrow.ArrowException as failure:
            raise Failure("%s: %s" % (path, " ".join(str(failure).split())))


def _blocks(records, size):
    block = []
    for record in records:
        block.append(record)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def main():
    parser = argparse.ArgumentParser(prog="quench results", description=__doc__.splitlines()[0])
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--table", choices=("md", "latex"))
    form.add_argument("--sqlite", metavar="FILE")
    form.add_argument("--parquet", metavar="FILE")
    options = parser.parse_args()
    records = Lines(sys.stdin.buffer)
    try:
        if options.table:
            sys.stdout.write((markdown if options.table == "md" else latex)(records))
        elif options.sqlite:
            write_sqlite(options.sqlite, records)
        else:
            write_parquet(options.parquet, records)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except OSError as failure:
        if failure.filename is None:  # the output's: start.py tells
            raise
        print("%s: %s" % (options.sqlite or options.parquet, failure.strerror), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
