"""Figures of a report as files: PDF, SVG and PNG by matplotlib, data as CSV."""

import io
import os

from ..analysis.figures.draw import draw
from ..requirements import need

_RESOLUTION = 200  # dots per inch of PNG files


class NothingToDraw(Exception):
    """What cannot be drawn, and why, as one line."""


def write_atomically(path, content):
    """All of it or nothing: the old file stays until the new one is complete."""
    unfinished = "%s.%d.tmp" % (path, os.getpid())
    try:
        with open(unfinished, "wb") as file:
            file.write(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
    return path


def write_figures(report, figures, form, folder):
    """The paths of the files of these figures; a drawn one has its data beside it."""
    os.makedirs(folder, exist_ok=True)
    out = []
    for figure in figures:
        path = os.path.join(folder, figure.name)
        if form == "csv":
            out.append(write_atomically(path + ".csv", report.cells.csv() if figure.kind == "table" else figure.csv()))
        elif figure.panels:
            write_atomically(path + ".csv", figure.csv())
            out.append(_write_drawing(report, figure, form, path + "." + form))
        elif len(figures) == 1:
            raise NothingToDraw("figure %s: %s" % (figure.name, "a table cannot be drawn; --format csv writes it"
                                                   if figure.kind == "table" else "there is nothing to draw"))
    return out


def _write_drawing(report, figure, form, path):
    need("matplotlib")
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    # texts stay texts, and one figure gives the same bytes every time
    with rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "quench", "text.parse_math": False}):
        axes = draw(figure, report.palette, new_figure=Figure)
        out = io.BytesIO()
        axes[0].figure.savefig(out, format=form, dpi=_RESOLUTION,
                               metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form))
    return write_atomically(path, out.getvalue())
