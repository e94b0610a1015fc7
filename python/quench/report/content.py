"""What a report says: figures, contrasts, findings, cells, and what to know before a number is trusted."""

import os

from ..analysis.contrasts import contrasts_of
from ..analysis.figures import Palette, figure_data, figures_of
from ..analysis.figures.data import Figure
from ..analysis.run import Run
from ..analysis.section import section_faults
from ..analysis.sentences import findings_of
from ..analysis.spec import Spec
from ..metric_text import CurrentTexts
from .cell_table import CellTable
from .health import earlier_values, health_of

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%")


class Report:
    """`figures` are in the order of the manifest, the table among them, without panels; `contrasts` and `findings` as
    quench.analysis has them; `cells` the table of all cells; `health` sentences.

    ValueError where the section of the manifest does not fit, FileNotFoundError without the folder, and what reading raises.
    """

    def __init__(self, folder):
        self.run = run = Run(folder)
        section = run.manifest.get("report")
        faults = section_faults(section)
        if faults:
            raise ValueError("\n".join("%s: %s" % (os.path.join(run.folder, "manifest.json"), fault.line) for fault in faults))
        self.section = section or {}
        self.title = str(self.section.get("title") or run.name)
        self.is_static = self.section.get("page") == "static"
        self.about = run.document("run.json")
        self.palette = Palette()
        made = [self._figure(options) for options in figures_of(run.manifest)]
        self.figures = [figure for figure in made if "report" in run.manifest or not _shows_nothing(figure)]
        self.contrasts = contrasts_of([Spec.read(given) for given in self.section.get("contrasts") or []], run.observations)
        texts = CurrentTexts((self.about or {}).get("texts"))
        self.findings = findings_of(self.contrasts, run.current)
        self.cells = CellTable(run.observations)
        self.health = health_of(run) + earlier_values(texts, run.records)
        self.health += ["The figure %s has nothing to show: %s" % (figure.name, figure.caption)
                        for figure in self.figures if _shows_nothing(figure)]

    def _figure(self, options):
        if options.kind == "table":
            return Figure("table", options.title or "All cells", name=options.name)
        return figure_data(self.run, options, self.palette)

    @property
    def place(self):
        """The run as a command can name it from where its manifest lies, or its absolute path; a word for a shell."""
        whole = os.path.abspath(self.run.folder)
        parent = os.path.basename(os.path.dirname(whole))
        word = "runs/" + self.run.name if parent == "runs" else whole
        return word if word and _PLAIN.issuperset(word) else "'%s'" % word.replace("'", "'\\''")

    def json(self):
        """All numbers: contrasts, and the differences of each cell with their spreads."""
        return {"name": self.run.name, "findings": self.findings, "contrasts": [each.json() for each in self.contrasts],
                "cells": self.cells.json(), "health": self.health,
                "failed": [{name: record[name] for name in ("checkpoint", "averaging", "quantizer", "metric", "error")}
                           for record in self.run.failed]}

    def page(self, plotly=None, reload=None):
        """The page, as text. `plotly` is the path of plotly.js, packed by gzip: that of the package plotly by default, and without
        any the page is static. After `reload` seconds a browser loads it anew."""
        from .page import page_of  # noqa: PLC0415, it draws

        return page_of(self, plotly, reload)


def _shows_nothing(figure):
    return figure.kind != "table" and not figure.panels
