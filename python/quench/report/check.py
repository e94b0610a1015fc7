"""What is wrong with what a manifest asks a report for, from the cells that it will measure: `quench plan` asks before hours are
spent. Needs nothing but Python.

Reads {"report": the section, "experiments": what run/manifest/report_check.cpp says of them, or null} from its standard input
and writes {"faults": [...], "warnings": [...]}, each {"path": names and indices below the section, "of_key": whether it is about
the name at the path's end, "text"}.
"""

import json
import sys

from ..analysis.dimensions import sweep_point
from ..analysis.observations import Observation
from ..analysis.pairing import no_pair_text, sides_of
from ..analysis.section import section_faults
from ..analysis.selection import is_swept_label, select
from ..analysis.spec import Spec
from ..texts import nearest, printable
from ..values import canonical


def check(question):
    """The answer to a question."""
    faults = [{"path": fault.path, "of_key": fault.of_key, "text": fault.line} for fault in section_faults(question["report"])]
    experiments, warnings = question["experiments"], []
    contrasts = (question["report"] or {}).get("contrasts") or [] if not faults else []
    if experiments is not None and contrasts:
        specs, names = list(map(Spec.read, contrasts)), _Names(experiments)
        faults = _of_contrasts(specs, names.swept) or _of_contrasts(specs, _Pairs(specs, experiments).faults)
        warnings = [] if faults else _of_contrasts(specs, names.absent)
    return {"faults": faults, "warnings": warnings}


def _of_contrasts(specs, texts_of):
    return [{"path": ("contrasts", i), "of_key": False, "text": "contrasts: " + text}
            for i, spec in enumerate(specs) for text in texts_of(spec)]


def _sides(spec):
    return [("a", spec.a)] + ([] if spec.b_is_members else [("b", spec.b)])


class _Names:
    """What the sides of contrasts may name."""

    def __init__(self, experiments):
        def each(section, name):
            return [cell[name] for experiment in experiments for cell in experiment[section]]
        self.labels = each("quantizers", "label")
        averagings = [cell[name] for experiment in experiments for cell in experiment["averagings"] for name in ("id", "label")]
        self.of = {"quantizer": [*each("quantizers", "id"), "none"], "averaging": [*averagings, "raw", "none"],
                   "branch": [name for experiment in experiments for name in experiment["branches"] if name]}
        self.steps = {step for step in each("checkpoints", "step") if step is not None}
        self.all = [*self.of["quantizer"], *self.labels, *self.of["averaging"], *self.of["branch"]]

    def _swept_labels(self, side):
        return sorted({label for label in self.labels + self.of["averaging"] if side.text and is_swept_label(label, side.text)})

    def swept(self, spec):
        """A label without the values of its sweep where several labels have it: "mine" of "mine bits=3" and "mine bits=4"."""
        for name, side in _sides(spec):
            labels = self._swept_labels(side)
            if len(labels) > 1 and side.text not in self.all:
                yield "`%s`: %s is the label of a sweep; wanted one of %s" % (name, printable(side.text), ", ".join(labels))

    def absent(self, spec):
        """What is none of the experiments'. A warning: a run's folder may hold further records."""
        for name, side in _sides(spec):
            for text in self._absent(side):
                yield "`%s`: %s; it will compare nothing" % (name, text)
                break

    def _absent(self, side):
        if side.text and side.text not in self.all and not self._swept_labels(side):
            yield _unknown("quantizer, averaging or branch", side.text, self.all)
        steps = side.conditions.get("step", [])
        if self.steps and steps and all(type(step) is int and step not in self.steps for step in steps):
            near = sorted(sorted(self.steps, key=lambda step: abs(step - steps[0]))[:3])
            yield "no checkpoint of this manifest has step %s; there is %s" % (
                " or ".join(map(str, steps)), ", ".join(map(str, near)))
        for dimension, values in side.conditions.items():
            for value in values:
                if isinstance(value, str) and value not in self.of.get(dimension, [value]):
                    yield _unknown(dimension, value, self.of[dimension])


def _unknown(kind, name, known):
    known = sorted(set(known))
    near = nearest(name, known)
    return "no %s of this manifest is called %s; %s" % (
        kind, printable(name), "did you mean %s?" % near if near else "there are " + ", ".join(known))


class _Pairs:
    """Contrasts of cells of which several fit several, or none fits another, by the rules of the report itself.

    Says nothing of sides that select no cell, nor where the stored bits of a quantizer without the parameter `bits` matter, which
    only the run knows.
    """

    def __init__(self, specs, experiments):
        self.experiments = experiments
        needs_all = any(side.names("metric") for spec in specs for _, side in _sides(spec))  # else every metric gives the same cells
        self.losses = []
        for experiment in experiments:
            metrics = [metric for metric in experiment["metrics"]
                       if metric["of_float"] and metric["of_quantized"] and not metric["needs_trajectory"]]
            for metric in metrics if needs_all else metrics[:1]:
                self.losses += _planned(experiment, metric)

    def faults(self, spec):
        cells = self.losses
        if spec.of_metric:
            name, slash, further = spec.of_metric.partition("/")
            measured = [(experiment, metric) for experiment in self.experiments for metric in experiment["metrics"]]
            found = [(experiment, metric) for experiment, metric in measured if name in (metric["id"], metric["label"])]
            if not found:
                known = dict.fromkeys(["delta", "loss", *(metric["label"] for _, metric in measured)])
                return ["`of`: got %s, wanted one of %s" % (printable(spec.of_metric), ", ".join(known))]
            cells = [it for experiment, metric in found for it in _planned(experiment, metric, slash + further)]
        if _looks_at_bits(spec) and any(not it.is_float and it["bits"] is None for _, side in _sides(spec) if side.name
                                        for it in select(side, cells, spec.of_metric).found):
            return []
        a, b, pairs, problems = sides_of(spec, cells)
        if pairs is None:
            return []
        if pairs.ambiguities or pairs.pairs:
            return pairs.ambiguities
        return problems[:1] or [no_pair_text(spec, a, b, pairs.match)]


def _looks_at_bits(spec):
    return spec.match is None or "bits" in spec.match or any(side.names("bits") for side in (spec.a, spec.b))


def _planned(experiment, metric, further=""):
    """The observations that a run will make of one metric, as far as pairing looks at them: draw 0, all of the value 1. `further`
    is "/trace" of a further value."""
    environment = {"seed": experiment["seed"], "dtype": experiment["dtype"], "device": experiment["device"]}
    if experiment["point"] is not None:
        environment["sweep"] = experiment["point"]
    common = {"metric": metric["id"] + further, "label": metric["label"], "value": 1.0, "unit": "nats/token", "direction": -1,
              "index": 0, "items": [], "job": experiment["job"], "environment": environment, "details": {}, "parts": None,
              "draw": None, "jitter": None, "key": ""}
    point = canonical(sweep_point(common))  # equal for seeds
    lines, out = {}, []
    for w, weights in enumerate(experiment["weights"]):
        checkpoint = experiment["checkpoints"][weights["checkpoint"]]
        line = lines.setdefault((checkpoint["branch"], weights["line"]), [])
        record = {**common, "checkpoint": checkpoint, "averaging": weights["averaging"], "quantizer": None}
        made = [(record, None, "%d\n\n%s\n%s" % (w, metric["label"], point))] \
            if metric["of_float"] and not metric["needs_float"] else []
        for quantizer in experiment["quantizers"] if metric["of_quantized"] else ():
            made.append(({**record, "quantizer": quantizer}, record,
                         "%d\n%s\n%s\n%s" % (w, quantizer["label"], metric["label"], point)))
        line.append([_observation(*each, str(w), len(line)) for each in made])
        out += line[-1]
    for line in lines.values():
        for it in line[-1]:
            it.is_last = True
    return out


def _observation(record, floating, cell, weights, position):
    """Made directly: observe() would look for each one's float model by its content."""
    out = object.__new__(Observation)
    out.record, out.floating, out.cell, out.weights, out.position = record, floating, cell, weights, position
    out.is_last, out.text, out.draw, out.jitter, out.seed = False, "", 0, 0, 0
    return out


if __name__ == "__main__":
    json.dump(check(json.load(sys.stdin)), sys.stdout, ensure_ascii=False)
