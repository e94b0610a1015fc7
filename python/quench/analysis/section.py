"""The section `report` of a manifest: its keys, and what is wrong with what they are given. docs/report.md describes them."""

import os
from dataclasses import dataclass

from ..texts import nearest, printable
from .dimensions import NAMES, is_dimension

_PLAIN = ("title", "name", "where")
_CURVES = (*_PLAIN, "lines", "panels", "spread", "x", "y", "right")
SIZE = ("width", "height")  # of the figure in files, in inches
_OPTIONS = {  # kind of figure: its options
    "error_vs_tokens": (*_CURVES, "share_y"),
    "loss_vs_tokens": tuple(name for name in (*_CURVES, "share_y") if name != "y"),
    "loss_plane": (*_PLAIN, "lines", "panels", "x", "y", "range"),
    "accuracy_vs_loss": (*_PLAIN, "lines", "panels"),
    "loss_vs_bytes": (*_PLAIN, "lines", "panels", "at"),
    "bars": (*_PLAIN, "lines", "panels", "spread", "y", "at", "share_y"),
    "contour": _PLAIN,
    "spectrum": (*_PLAIN, "lines", "panels", "at"),
    "training_loss": (*_PLAIN, "x"),
    "depth": (*_PLAIN, "x", "y"),
    "table": _PLAIN,
}
OPTIONS = {kind: options if kind == "table" else options + SIZE for kind, options in _OPTIONS.items()}
KEYS = ("title", "page", "figures", "contrasts")
PAGES = ("interactive", "static")
CONTRAST_KEYS = ("a", "b", "match", "at", "of", "statistic", "over", "within")
STATISTICS = ("difference", "last_minus_first", "slope_ratio", "rank_correlation")
PLACES = ("all", "last", "first", "equal_loss")
_CHOICES = {"at": ("last", "first", "all"), "range": ("late", "all"),
            "spread": ("auto", "items", "draws", "jitter", "seeds", "none"),
            "x": ("auto", "tokens", "step", "position"), "y": ("error", "delta")}
_OTHER_CHOICES = {("loss_plane", "x"): ("float",), ("loss_plane", "y"): ("quantized",), ("bars", "y"): ("delta", "error"),
                  ("training_loss", "x"): ("tokens", "step"), ("depth", "y"): ("auto", "first", "delta", "residual", "error")}
_LONGEST_NAME = 100
MOST_INCHES = 50


@dataclass
class Fault:
    path: tuple  # of names and indices, below the section
    where: str  # "contrasts", "bars"; "" of the section itself
    text: str
    of_key: bool = False  # it is about the name at the end of the path, not about what the name is given

    @property
    def line(self):
        return ": ".join(filter(None, ("report", self.where, self.text)))


def described(value):
    """What a manifest gives, in words of its messages."""
    if isinstance(value, str):
        return 'the text "%s"' % printable(value, 60)
    if isinstance(value, bool):
        return "the word " + ("true" if value else "false")
    return "nothing" if value is None else "a mapping" if isinstance(value, dict) else \
        "the number %s" % (value,) if isinstance(value, (int, float)) else "a list"


def _advice(word, known, before="known are "):
    alike = [name for name in known if len(os.path.commonprefix([word, name])) > len(word) / 2]
    near = nearest(word, known) or (alike[0] if len(alike) == 1 else "")
    return "did you mean `%s`?" % near if near else before + ", ".join(known)


def _is_scalar(value):
    return isinstance(value, (str, int, float))


class _Mapping:
    """The keys of one mapping, with what is wrong about them."""

    def __init__(self, given, path, where, known):
        self.path, self.where, self.faults = path, where, []
        self.given = given if isinstance(given, dict) else {}
        if not isinstance(given, dict):
            self.faults.append(Fault(path, where, "got %s, wanted a mapping" % described(given)))
        for name in self.given:
            if name not in known:
                self.add("unknown key `%s`; %s" % (printable(str(name)), _advice(str(name), known)), name, of_key=True)

    def add(self, text, *names, of_key=False):
        self.faults.append(Fault((*self.path, *names), self.where, text, of_key))

    def text(self, name):
        if name in self.given and not _is_scalar(self.given[name]):
            self.add("`%s`: got %s, wanted text" % (name, described(self.given[name])), name)

    def choice(self, name, known):
        given = self.given.get(name, known[0])
        if given not in known:
            near = nearest(given, known) if isinstance(given, str) else ""
            self.add("`%s`: got %s, wanted %s%s" % (name, described(given), ", ".join(known),
                                                    "; did you mean `%s`?" % near if near else ""), name)

    def dimension(self, given, words, *names, of_key=False):
        if not _is_scalar(given):
            self.add("%s: got %s, wanted a dimension" % (words, described(given)), *names)
        elif not is_dimension(str(given)):
            self.add("%s: unknown dimension `%s`; %s (a parameter of the quantizer is `params.NAME`)" % (
                words, printable(str(given)), _advice(str(given), NAMES)), *names, of_key=of_key)

    def dimensions(self, name):
        """One or a list of them; an empty `panels:` means none."""
        given = self.given.get(name)
        for i, each in enumerate(given if isinstance(given, (list, tuple)) else [given]):
            at = (name, i) if isinstance(given, (list, tuple)) else (name,)
            if each is None:
                continue
            if isinstance(given, (list, tuple)) and each in given[:i]:
                self.add("`%s`: `%s` is given twice" % (name, each), *at)
            else:
                self.dimension(each, "`%s`" % name, *at)

    def conditions(self, given, words, *names):
        """{dimension: value or list of values}"""
        for name, value in given.items():
            self.dimension(name, words, *names, name, of_key=True)
            values = value if isinstance(value, (list, tuple, set)) and value else [value]
            if any(isinstance(each, (dict, list)) for each in values):
                self.add("%s: `%s`: got %s, wanted a value or a list of values" % (words, printable(str(name)), described(value)),
                         *names, name)


def section_faults(section):
    """All of a section as JSON has it, None for an empty one."""
    if section is None:
        return []
    top = _Mapping(section, (), "", KEYS)
    top.text("title")
    top.choice("page", PAGES)
    out = top.faults
    for name, faults_of in (("figures", figure_faults), ("contrasts", contrast_faults)):
        given = top.given.get(name, [])
        if not isinstance(given, list):
            top.add("`%s`: got %s, wanted a list" % (name, described(given)), name)
            continue
        for i, each in enumerate(given):
            out += faults_of(each, (name, i))
    return out + list(_repeated_names(top.given.get("figures")))


def _repeated_names(figures):
    taken = set()
    for i, each in enumerate(figures if isinstance(figures, list) else ()):
        options = next(iter(each.values()), None) if isinstance(each, dict) else None
        name = options.get("name") if isinstance(options, dict) else None
        if isinstance(name, str) and name in taken:
            yield Fault(("figures", i, *each), "figures", 'the name "%s" is given twice' % printable(name), True)
        taken.add(name if isinstance(name, str) else None)


def figure_faults(given, path=()):
    """Of `table` or `{error_vs_tokens: {lines: branch}}`."""
    is_entry = isinstance(given, dict) and len(given) == 1
    if not is_entry and not _is_scalar(given):
        return [Fault(path, "figures", "got %s, wanted `kind: {options}`" % (
            "more than one key" if isinstance(given, dict) and given else described(given)))]
    kind, options = next(iter(given.items())) if is_entry else (str(given), None)
    if kind not in OPTIONS:
        return [Fault((*path, kind) if is_entry else path, "figures", "unknown figure `%s`; %s" % (
            printable(kind), _advice(kind, list(OPTIONS))), is_entry)]
    return option_faults(kind, options, (*path, kind)) if options is not None else []


def option_faults(kind, options, path=()):
    out = _Mapping(options, path, kind, OPTIONS[kind])
    out.text("title")
    name = out.given.get("name", "figure")
    if not _is_scalar(name):
        out.text("name")
    elif not 0 < len(str(name)) <= _LONGEST_NAME or not str(name).isascii() or not str(name).replace("_", "a").replace(
            "-", "a").isalnum():
        out.add('`name`: got "%s", wanted letters, digits, _ and -' % printable(str(name)), "name")
    where = out.given.get("where", {})
    if isinstance(where, dict):
        out.conditions(where, "`where`", "where")
    else:
        out.add("`where`: got %s, wanted {dimension: value}" % described(where), "where")
    for option in OPTIONS[kind]:
        if option in ("lines", "panels"):
            out.dimensions(option)
        elif option in _CHOICES:
            out.choice(option, _OTHER_CHOICES.get((kind, option), _CHOICES[option]))
    if "right" in OPTIONS[kind]:
        out.text("right")
    if "share_y" in OPTIONS[kind] and not isinstance(out.given.get("share_y", True), bool):
        out.add("`share_y`: got %s, wanted true or false" % described(out.given["share_y"]), "share_y")
    for name in SIZE:
        value = out.given.get(name)
        if name in OPTIONS[kind] and value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= MOST_INCHES):
            out.add("`%s`: got %s, wanted 1 to %d inches" % (name, described(value), MOST_INCHES), name)
    return out.faults


def contrast_faults(given, path=()):
    out = _Mapping(given, path, "contrasts", CONTRAST_KEYS)
    if not isinstance(given, dict):
        return out.faults
    if given.get("a") is None:
        out.add("`a` is missing")
    names = [_side_name(out, side) for side in ("a", "b")]
    out.dimensions("match")
    out.choice("at", PLACES)
    if not _is_scalar(given.get("of", "delta")):
        out.add("`of`: got %s, wanted delta, loss or a metric's name" % described(given["of"]), "of")
    out.choice("statistic", STATISTICS)
    if given.get("over") is not None:
        out.dimension(given["over"], "`over`", "over")
    within = given.get("within", 1)
    if isinstance(within, bool) or not isinstance(within, (int, float)):
        out.add("`within`: got %s, wanted a number" % described(within), "within")
    elif not within > 0:
        out.add("`within`: got %g, wanted more than 0 nats per token" % within)
    _check_statistic(out, given)
    if names[0] and names[0] == names[1]:
        out.add("a and b are both %s" % printable(names[0]))
    return out.faults


def _side_name(out, side):
    """What the side is called, where nothing is wrong with it."""
    given = out.given.get(side)
    if given is None or (_is_scalar(given) and given != ""):
        return None if given is None else str(given)
    if not isinstance(given, dict) or not given:
        out.add("`%s`: got %s, wanted a name or {dimension: value}" % (side, described(given)), side)
        return None
    name = given.get("as", "name")
    if not _is_scalar(name) or name == "":
        out.add("`%s`: `as`: got %s, wanted a name" % (side, described(name)), side, "as")
    out.conditions({key: value for key, value in given.items() if key != "as"}, "`%s`" % side, side)
    return given.get("as")


def _check_statistic(out, given):
    """Which keys go together."""
    statistic, has_b, has_axis = given.get("statistic", "difference"), given.get("b") is not None, bool(given.get("over"))
    at_equal_loss, is_members = given.get("at") == "equal_loss", given.get("b") == "members"
    of_metric = "" if given.get("of", "delta") in ("delta", "loss") else given["of"]
    if statistic != "rank_correlation":
        if not has_b:
            out.add("`b` is missing")
    elif has_axis == has_b:
        out.add("rank_correlation: got `b` and `over`, wanted one of them" if has_b else
                "rank_correlation: wanted `b`, or `over` and an axis")
    if statistic == "slope_ratio" and not has_axis:
        out.add("slope_ratio: wanted `over` and an axis, `over: tokens`")
    if has_axis and statistic in ("difference", "last_minus_first"):
        out.add("`over`: a %s has no axis" % statistic)
    if (at_equal_loss or is_members) and statistic != "difference":
        out.add("%s: goes with the statistic difference, got %s" % (
            "at: equal_loss" if at_equal_loss else "b: members", statistic))
    if at_equal_loss and of_metric:
        out.add("at: equal_loss: compares quantized losses, got of: %s" % printable(str(of_metric)))
    if at_equal_loss and is_members:
        out.add("b: members: an average and its members are compared as they are, got at: equal_loss")
