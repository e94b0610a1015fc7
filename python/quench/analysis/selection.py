"""Which values of a run a name or conditions mean."""

import re
from dataclasses import dataclass, field

from ..values import member
from .dimensions import NAMES, dimension, is_dimension, value_text
from .observations import Observation, is_loss

ZERO = {"value": 0.0, "items": [], "details": {}, "unit": "", "direction": 0, "index": 0}
_OF_QUANTIZER = ("quantizer", "label", "bits", "bytes", "calibration")


@dataclass
class Selector:
    """One side of a contrast: a bare name (of a quantizer, an averaging or a branch, or `raw`), or conditions."""

    name: str = ""  # for sentences: as written, or given with `as`
    text: str = ""  # the bare name
    conditions: dict = field(default_factory=dict)  # dimension: list of the values that it may have
    described: str = ""

    @classmethod
    def read(cls, given):
        """From `"gptq"` or `{"quantizer": "gptq", "params.group_size": [64, 128], "as": "mine"}`."""
        if given is None or isinstance(given, (str, int, float)):
            text = "" if given is None else value_text(given)
            return cls(text, text, {}, text)
        conditions = read_conditions({name: value for name, value in given.items() if name != "as"})
        described = ", ".join("%s %s" % (name, " or ".join(map(value_text, values))) for name, values in conditions.items())
        return cls(given.get("as", described), "", conditions, described)

    def names(self, *dimensions):
        return any(name in dimensions for name in self.conditions)


def read_conditions(given):
    """{dimension: value or values} with lists in place of single values."""
    for name in given:
        if not is_dimension(name):
            raise ValueError("unknown dimension %s; known are %s, params.NAME, averaging.NAME and sweep.PATH"
                             % (name, ", ".join(NAMES)))
    return {name: list(value) if isinstance(value, (list, tuple, set)) and value else [value]
            for name, value in given.items()}


def is_of_quantizer(name):
    return name in _OF_QUANTIZER or name.startswith("params.")


def _same(wanted, got):
    """3 and 3.0 are one number, and a name of digits needs no quotes."""
    return (wanted == got and isinstance(wanted, bool) == isinstance(got, bool)) \
        or (isinstance(got, str) and value_text(wanted) == got) or (got is None and wanted == "none")


def holds(conditions, record):
    return all(any(_same(value, dimension(record, name))
                   or (name == "averaging" and isinstance(value, str) and _names_averaging(record, value))
                   for value in values) for name, values in conditions.items())


def is_value_of(record, name):
    """Whether `name` means the value: its metric or label, and of a further value what is behind: "curvature/trace"."""
    _, slash, further = record["metric"].partition("/")
    return name in (record["metric"], record["label"] + slash + further)


def _names_quantizer(record, name):
    return name in (dimension(record, "quantizer"), dimension(record, "label"))


def _names_averaging(record, name):
    return record["averaging"] is None if name == "raw" else \
        name in (dimension(record, "averaging"), member(record["averaging"], "id"))


def _names_branch(record, name):
    return dimension(record, "branch") == name


_MEANINGS = {"quantizer": _names_quantizer, "averaging": _names_averaging, "branch": _names_branch}


@dataclass
class Selected:
    """The values that a selector means, and which dimensions it fixes: the sides need not agree in those."""

    found: list = field(default_factory=list)
    by_quantizer: bool = False
    by_averaging: bool = False
    by_checkpoint: bool = False
    by_sweep: list = field(default_factory=list)  # dimensions sweep.PATH
    problem: str = ""  # nothing was found, or the name has two meanings

    def fixes(self, name):
        if is_of_quantizer(name):
            self.by_quantizer = True
        elif name.partition(".")[0] == "averaging":
            self.by_averaging = True
        elif name.startswith("sweep."):
            self.by_sweep.append(name)
        elif name not in ("metric", "seed", "job", "device"):
            self.by_checkpoint = True


def is_swept_label(label, name):
    """Whether a label is the name with the values of a sweep behind it: "mine bits=3"."""
    return isinstance(label, str) and bool(re.fullmatch(re.escape(name) + r"( [^ =]+=[^ ]*)+", label))


def _meaning(name, candidates, out):
    """(test, name) of the one meaning of a name; a name that is one label without its swept values becomes that label."""
    meanings = [kind for kind, test in _MEANINGS.items() if any(test(it.record, name) for it in candidates)]
    for kind in meanings:
        out.fixes(kind)
    if len(meanings) == 1:
        return _MEANINGS[meanings[0]], name
    if meanings:
        out.problem = "%s is the name of a %s; write {%s: %s}" % (name, " and of a ".join(meanings), meanings[0], name)
        return None, name
    swept = sorted({label for it in candidates for label in (it["label"], it["averaging"])
                    if is_swept_label(label, name)})
    if len(swept) == 1:
        return _meaning(swept[0], candidates, out)
    out.problem = "%s is the label of a sweep; name one of %s" % (name, ", ".join(swept)) if swept else \
        "no quantizer, averaging or branch with finished values is called %s" % name
    return None, name


def candidates_of(observations, metric=""):
    """Quantized losses that have a float loss or, with the name of a metric, its values, of float models too."""
    return [it for it in observations if (is_value_of(it.record, metric) if metric else
                                          not it.is_float and it.floating is not None and is_loss(it.record))]


def values_of(metric, observations):
    """The values of a metric, of float models and of quantized ones, each as the difference from 0."""
    out = []
    for it in observations:
        if is_value_of(it.record, metric):
            value = object.__new__(Observation)
            for name in Observation.__slots__:
                setattr(value, name, ZERO if name == "floating" else getattr(it, name))
            out.append(value)
    return out


def select(selector, observations, metric=""):
    """Selects among candidates_of()."""
    out = Selected()
    candidates = candidates_of(observations, metric)
    if metric and not candidates:
        out.problem = "no finished value is of %s" % metric
        return out
    test, name = None, selector.text
    if name:
        test, name = _meaning(name, candidates, out)
        if test is None:
            return out
    for dimension_name in selector.conditions:
        out.fixes(dimension_name)
    out.found = [it for it in candidates
                 if holds(selector.conditions, it.record) and (test is None or test(it.record, name))]
    if not out.found:
        out.problem = "no finished value has %s" % selector.described
    return out
