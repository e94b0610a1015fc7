"""A run as a notebook holds it."""

import html
import json
import os

from ..metric_text import CurrentTexts
from ..run_records import DERIVED, read_run
from .cells import cell_frame
from .contrasts import contrasts_of
from .current import Current
from .dimensions import value_text
from .figures import Options, Palette, draw, figure_data, figures_of
from .frames import contrast_frame, value_frame
from .observations import observe
from .scaling import of_observations
from .selection import holds, read_conditions
from .sentences import findings_of
from .spec import Spec

_MOST = 8  # entries of a list in a notebook


def _some(texts, between):
    return between.join(texts[:_MOST]) + (between + "and %d more" % (len(texts) - _MOST) if len(texts) > _MOST else "")


class Run:
    """The records of a run's folder, with all that is computed of them.

    `records` are dicts with every field of docs/records.md; `observations` the values among them that count once, each with
    its float model's; `failed` the records of failed cells; `notes` sentences about what was left out; `manifest` the
    resolved manifest, {} without one.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not os.path.isdir(self.folder):
            raise FileNotFoundError("%s: there is no such folder of a run" % self.folder)
        self.name = os.path.basename(os.path.abspath(self.folder))
        self.damaged = []  # (file, line, reason) of what does not count
        self.conflicts = []  # keys that hold different values in two attempts
        self.records = read_run(self.folder, self.damaged, self.conflicts)
        if not self.records:
            raise ValueError("%s: has no records to report" % self.folder)
        self.observations, self.failed, self.pairing_notes = observe(
            [record for record in self.records if record["metric"] not in DERIVED])
        self.notes = list(self.pairing_notes)
        if self.damaged:
            self.notes.append("%d lines of the records do not count; `quench verify` lists them." % len(self.damaged))
        self.palette = Palette()  # one colour for one name in all figures
        self.manifest = self.document("manifest.json") or {}

    def document(self, name):
        """The JSON of a file beside the records, None without one."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            try:
                return json.load(file)
            except ValueError as fault:
                raise ValueError("%s: %s, wanted JSON" % (path, fault)) from None

    def frame(self, engine="pandas", **where):
        """A data frame with one row per value; a cell with replicates (draws, orders, seeds) has one row each.

        `delta` is ΔCE, the value minus the float model's on the same weights (nats per token where the value is a loss),
        `error` ΔQL = value/float − 1; `low` and `high` are the ends of ΔCE's 95 % interval over `sample`. Further columns are
        dimensions (docs/report.md), those that no value has left out. Keywords are conditions on dimensions:
        `frame(bits=[3, 4], averaging=None)`. `engine="polars"` gives a polars.DataFrame.
        """
        conditions = read_conditions(where)
        return value_frame([it for it in self.observations if holds(conditions, it.record)], engine)

    def cells(self, engine="pandas", **where):
        """A data frame with one row for each cell: the value at draw 0 and the first seed and, of ΔCE, the mean and the 95 %
        interval over items, draws, jitter and seeds (`items_mean`, `items_low`, ...)."""
        conditions = read_conditions(where)
        return cell_frame([it for it in self.observations if holds(conditions, it.record)], engine)

    def contrast(self, a, b=None, *, comparisons=None, engine="pandas", **keys):
        """A data frame of the paired contrast of `a` with `b`, one row per pair and spread.

        `a` and `b` are names (the id or label of a quantizer or an averaging, a branch, `raw`) or conditions,
        `{"quantizer": "gptq", "params.group_size": 64}`. Everything that they do not mention is equal on both sides, and what
        `match` names. Further keywords are the other keys of a contrast in a manifest (docs/report.md): `at`, `of`,
        `statistic`, `over`, `within`.

        `mean` is a − b over the sample that `over` names (items, draws, jitter or seeds), `low` and `high` are the ends of its
        95 % interval, in `unit`: of ΔCE nats per token, negative where a costs less. `value` is a − b at draw 0 and the first
        seed. `low_of_all` and `high_of_all` hold for all `comparisons` at once (Bonferroni; by default these rows are all that
        there are), and an effect of `detectable` would have been found in 4 of 5 such samples. `told_apart` is whether the
        intervals of all spreads of the pair exclude that there is no effect, `told_apart_of_all` whether those of all
        comparisons do.

        What cannot be compared is in `frame.attrs["problems"]`; ValueError where that is everything.
        """
        return self.contrasts([{"a": a, "b": b, **keys}], comparisons, engine)

    def contrasts(self, contrasts=None, comparisons=None, engine="pandas"):
        """As contrast(), of several contrasts that are one family: by default those of the manifest's report."""
        made = self.evaluate(contrasts, comparisons)
        problems = [problem for contrast in made for problem in contrast.problems]
        if problems and not any(contrast.rows for contrast in made):
            raise ValueError("not compared: " + "; ".join(problems))
        return contrast_frame(made, engine)

    def scaling(self, bits="exponential", **where):
        """The fit of ΔCE over size, tokens, bits and the learning rate at each checkpoint, of one method (scaling.Fit); keywords are
        conditions on dimensions. `bits="power"` has bits^−g in place of exp(−bits/g).
        """
        conditions = read_conditions(where)
        return of_observations([it for it in self.observations if holds(conditions, it.record)], bits)

    def findings(self):
        """What the contrasts of the manifest say, a sentence each; without contrasts, what quantization costs at the end."""
        return findings_of(self.evaluate(), self.current)

    def current(self):
        """The observations of what the manifest asks for now: its methods, the points of its sweep, and the texts of its metrics."""
        texts = CurrentTexts((self.document("run.json") or {}).get("texts"))
        current = Current(self.manifest)
        return [it for it in self.observations if current.has(it.record) and not texts.is_other(it.record)]

    def evaluate(self, contrasts=None, comparisons=None):
        """The same as objects (contrasts.Contrast), for programs."""
        if contrasts is None:
            contrasts = (self.manifest.get("report") or {}).get("contrasts") or []
        return contrasts_of([Spec.read(given) for given in contrasts], self.observations, comparisons)

    def figure(self, kind, *, colors=None, columns=None, axes=None, **options):
        """A figure by matplotlib: the axes of its panels, a list. quench.analysis.figures says what there is."""
        return draw(self.figure_data(kind, **options), self.palette, colors, columns, axes)

    def figure_data(self, kind, **options):
        """The figure as data: panels of traces, legend, caption; csv() and frame() have its points."""
        return figure_data(self, Options.read(kind, options), self.palette)

    def figures(self):
        """{name: figure as data} of those that the manifest asks for, or of all that have something to show."""
        made = [figure_data(self, options, self.palette) for options in figures_of(self.manifest) if options.kind != "table"]
        return {figure.name: figure for figure in made if figure.panels}

    def __repr__(self):
        return "<quench run %s: %d values, %d failed>" % (self.name, len(self.observations), len(self.failed))

    def _repr_html_(self):
        facts = ["%d values, %d failed cells" % (len(self.observations), len(self.failed))]
        for name in ("branch", "averaging", "label", "metric"):
            values = sorted({value_text(it[name]) for it in self.observations if it[name] is not None})
            facts += ["%s: %s" % (name, _some(values, ", "))] if values else []
        items = [_some([html.escape(text) for text in texts], "</li><li>") for texts in (facts, self.findings(), self.notes)
                 if texts]
        return "<h4>%s</h4>" % html.escape(self.name) + "".join("<ul><li>%s</li></ul>" % text for text in items)
