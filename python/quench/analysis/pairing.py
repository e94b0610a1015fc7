"""Which cells of the two sides of a contrast stand against each other.

A cell is a list of observations: the replicates of one measurement (draws, orders and seeds). Where several cells of
one side fit one cell of the other, each makes a pair; where several fit several, which are meant is ambiguous, and
nothing is paired. Nothing is averaged silently.
"""

import re
from dataclasses import dataclass, field

from ..metric_text import metric_text
from ..values import canonical, member, members, sweep_values
from .dimensions import AXES, NAMES, dimension_text, point_text, sweep_point, value_text
from .selection import Selected, select, values_of


@dataclass
class Freedom:
    """The dimensions that either side of a contrast leaves free."""

    quantizer: bool = False
    averaging: bool = False
    checkpoint: bool = False
    sweep: list = field(default_factory=list)  # dimensions, with those that are equal in all cells
    one_metric: bool = False  # all cells are of one, so that no row needs its name


@dataclass
class Open:
    """The dimensions in which the cells of one side differ that fit one cell of the other, and whether that side is b."""

    names: list = field(default_factory=list)
    of_b: bool = False


@dataclass
class Pairs:
    free: Freedom
    match: list
    # (a, b, Open): of pairs a cell each; of lines a list of cells each, b empty where there is no side b.
    pairs: list = field(default_factory=list)
    problems: list = field(default_factory=list)  # why cells give no pair, one sentence each
    ambiguities: list = field(default_factory=list)  # those of them that say that several cells fit several

    def refuse(self, text):
        add_once(text, self.problems)
        add_once(text, self.ambiguities)


def add_once(text, into):
    if text and text not in into:
        into.append(text)


def base_of(cell):
    """Draw 0 at the first seed, or None."""
    return min((it for it in cell if it.is_base), key=lambda it: it.seed, default=None)


def common_key(it, free, match):
    """What both sides must have in common, as one text; None if a place on an axis is not known: that never matches."""
    record = it.record
    key = [record["metric"], record["label"], sweep_point(record, free.sweep),
           metric_text(record), members(record["environment"], "dtype", "device", "isa")]
    if not free.checkpoint:
        key.append(members(record["checkpoint"], "model", "branch", "revision", "commit", "step", "tokens"))
    if not free.averaging:
        key.append(members(record["averaging"], "id", "params", "label"))
    if not free.quantizer:
        key.append(members(record["quantizer"], "id", "params", "label", "calibration"))
    values = [it[name] for name in match]
    if any(value is None and name in AXES for name, value in zip(match, values)):
        return None
    return canonical(key + values)


def grouped(found, free, match, at="all"):
    """{common key: observations}, sorted by key; of the `first` or `last` checkpoint of each line, or of `all`."""
    out = {}
    for it in found:
        if (at == "all" or (it.is_last if at == "last" else it.position == 0)) \
                and (key := common_key(it, free, match)) is not None:
            out.setdefault(key, []).append(it)
    return dict(sorted(out.items()))


def cells_of(group):
    """The cells of a group, along the training."""
    cells = {}
    for it in group:
        cells.setdefault(it.cell, []).append(it)
    return sorted(cells.values(), key=lambda cell: cell[0].position)


def opened_by(of_a, of_b, in_a, in_b):
    """Which side has several cells or lines, and in what they differ."""
    return Open(differing(in_a if len(of_a) > 1 else in_b), len(of_a) <= 1) if len(of_a) + len(of_b) > 2 and of_b else Open()


def differing(group):
    """The dimensions in which cells differ."""
    names = set(NAMES) - {"seed", "job"}
    for it in group:
        names.update("params." + name for name in member(it.record["quantizer"], "params") or ())
        point = sweep_point(it.record)
        names.update("sweep." + name for name in (point if isinstance(point, dict) else ()))
    return [name for name in sorted(names) if any(it[name] != group[0][name] for it in group)]


def freedom_of(a, b):
    free = Freedom(a.by_quantizer or b.by_quantizer, a.by_averaging or b.by_averaging,
                   a.by_checkpoint or b.by_checkpoint, a.by_sweep + b.by_sweep)
    both = a.found + b.found
    point = sweep_point(both[0].record) if both else None
    for path, value in sweep_values(point):  # what has one value everywhere tells no rows apart
        if all(it["sweep." + path] == value for it in both):
            free.sweep.append("sweep." + path)
    free.one_metric = len({value_text(it["metric"]) for it in both}) < 2
    return free


def matched(spec, free):
    """The dimensions in which the sides must agree: `match`, or else bits and the checkpoint where no side names them."""
    if spec.match is not None:
        return list(spec.match)
    named = all(side.names("bits", "params.bits") for side in (spec.a, spec.b))
    return ([] if named else ["bits"]) + ([] if free.checkpoint else ["checkpoint"])


def _checkpoint(it):
    return value_text(it["checkpoint"])


def _missing_draw(side, cell):
    return "" if base_of(cell) else "%s: %s: draw 0 is missing" % (side.name, _checkpoint(cell[0]))


def _too_many(what, of, spec, a, b, in_a, in_b):
    return ("%d %s of %s, which differ in %s, fit %d %sof %s, which differ in %s; select one on a side, or add what should be "
            "equal to `match`" % (len(a), what, spec.a.name, ", ".join(differing(in_a)), len(b), of, spec.b.name,
                                  ", ".join(differing(in_b))))


def pairs_of(spec, a, b):
    free = freedom_of(a, b)
    out = Pairs(free, matched(spec, free))
    by_axis = any(name in AXES for name in out.match)  # then side a says which place of the axis
    of_b = grouped(b.found, free, out.match, "all" if by_axis else spec.at)
    for key, in_a in grouped(a.found, free, out.match, spec.at).items():
        in_b = of_b.get(key, [])
        cells_a, cells_b = cells_of(in_a), cells_of(in_b)
        if len(cells_a) > 1 and len(cells_b) > 1:
            out.refuse(_too_many("cells", "cells ", spec, cells_a, cells_b, in_a, in_b))
            continue
        opened = opened_by(cells_a, cells_b, in_a, in_b)
        for one_a in cells_a:
            for one_b in cells_b:
                missing = _missing_draw(spec.a, one_a), _missing_draw(spec.b, one_b)
                for text in missing:
                    add_once(text, out.problems)
                if not any(missing):
                    out.pairs.append((one_a, one_b, opened))
    return out


def _branch_of_member(average, index, candidates):
    """The branch of a member by the content of its weights where records tell it, else that of the average.

    Branches that end at one step have revisions of one name.
    """
    own = out = average["branch"]
    contents = member(member(average.record["parts"], "averaging"), "members")
    if isinstance(contents, list) and index < len(contents):
        for it in candidates:
            if member(it.record["parts"], "weights") == contents[index]:
                out = it["branch"]
                if out == own:
                    break  # a revision that lies on two branches is the same weights on both
    return out


def pairs_with_members(spec, a, observations):
    """Every average of `a` with each of its members, measured by the same method."""
    out = Pairs(freedom_of(a, Selected()), ["bits"] if spec.match is None else list(spec.match))
    out.free.averaging = out.free.checkpoint = True
    free = Freedom(False, True, True, out.free.sweep, out.free.one_metric)
    raw = grouped([it for it in observations if not it.is_float and it.floating is not None
                   and it.record["averaging"] is None], free, out.match)
    for key, in_a in grouped(a.found, free, out.match, spec.at).items():
        near = raw.get(key, [])
        for average in cells_of(in_a):
            base, names = base_of(average), member(average[0].record["averaging"], "members")
            if base is None or not isinstance(names, list):
                add_once(_missing_draw(spec.a, average) if base is None else
                         "%s: a checkpoint that is no average has no members" % spec.a.name, out.problems)
                continue
            for index, name in enumerate(map(value_text, names)):
                branch = _branch_of_member(base, index, near)
                fits = [it for it in near if _checkpoint(it) == name]
                cells = cells_of([it for it in fits if it["branch"] == branch] or fits)
                if cells and base_of(cells[0]):
                    out.pairs.append((average, cells[0], Open()))
                else:
                    add_once("%s at %s: its member %s is not measured with %s" % (
                        spec.a.name, _checkpoint(base), name, value_text(base["label"])), out.problems)
    return out


def _lines_of(group, by_branch):
    lines = grouped(group, Freedom(checkpoint=True), ["model", "branch"] if by_branch else ["model"])
    return [cells_of(line) for line in lines.values()]


def line_pairs_of(spec, a, b, by_branch):
    """Lines of checkpoints in place of cells, by the same rule. `by_branch`: a line stays on one branch."""
    free = freedom_of(a, b or Selected())
    chosen, free.checkpoint = free.checkpoint, True
    out = Pairs(free, matched(spec, free))
    if by_branch and not chosen:  # branches were not chosen, so they have to agree
        out.match.append("branch")
    of_b = grouped(b.found, free, out.match) if b else {}
    for key, in_a in grouped(a.found, free, out.match).items():
        lines_a, in_b = _lines_of(in_a, by_branch), of_b.get(key, [])
        if b is None:
            out.pairs += [(line, [], Open()) for line in lines_a]
            continue
        lines_b = _lines_of(in_b, by_branch)
        if len(lines_a) > 1 and len(lines_b) > 1:
            out.refuse(_too_many("lines of checkpoints", "", spec, lines_a, lines_b, in_a, in_b))
            continue
        opened = opened_by(lines_a, lines_b, in_a, in_b)
        out.pairs += [(line_a, line_b, opened) for line_a in lines_a for line_b in lines_b]
    return out


def sides_of(spec, observations):
    """(a, b, pairs, problems) of a contrast; pairs are None where a side selects nothing."""
    if spec.of_metric:
        observations = values_of(spec.of_metric, observations)
    a = select(spec.a, observations, spec.of_metric)
    has_b, problems = bool(spec.b.name) and not spec.b_is_members, []
    b = select(spec.b, observations, spec.of_metric) if has_b else Selected()
    for side in (a, b):
        add_once(side.problem, problems)
    if problems:
        return a, b, None, problems
    pairs = pairs_with_members(spec, a, observations) if spec.b_is_members else pairs_of(spec, a, b) if spec.is_paired else \
        line_pairs_of(spec, a, b if has_b else None, spec.at_equal_loss)
    return a, b, pairs, pairs.problems


def no_pair_text(spec, a, b, match):
    """Why nothing of the two sides is paired; it says where each side lies if `at` chose it."""
    if not spec.b.name or spec.b_is_members:
        return "no cell of %s has what it takes" % spec.a.name
    places = ""
    if spec.at != "all" and not any(name in AXES for name in match):
        places = "; %s is %s for %s and %s for %s: name a checkpoint on each side, or leave out `at`" % (
            spec.at, _chosen(a, spec.at), spec.a.name, _chosen(b, spec.at), spec.b.name)
    return "no cell of %s agrees with one of %s%s%s" % (spec.a.name, spec.b.name,
                                                       " in " + ", ".join(match) if match else "", places)


def _chosen(side, at, most=3):
    names = list(dict.fromkeys(_checkpoint(it) for it in side.found
                               if (it.is_last if at == "last" else it.position == 0)))
    return ", ".join(names[:most]) + (" and %d more" % (len(names) - most) if len(names) > most else "")


def common_text(it, other, free, match):
    """What both sides have in common, for people and once each: "3 bits, decay, step400", "decay, step400, gptq bits=3, lawa"."""
    dimensions = list(match)

    def add(name):
        if name not in dimensions and it[name] is not None:
            dimensions.append(name)

    if not free.quantizer or it["label"] == other["label"]:
        add("label")
    if not free.checkpoint:
        add("branch")
        add("checkpoint")
    if not free.averaging or it["averaging"] == other["averaging"]:
        add("averaging")
    if it.record["label"] and it.record["label"] != it.record["metric"] and not free.one_metric:
        add("metric")
    words = [_word(name, it[name]) for name in dimensions
             if (it[name] is not None or name == "bits") and not _is_said(name, it, dimensions)]
    words += [it.text] if it.text else []
    said = free.sweep + dimensions
    said += ["sweep." + path for path, value in sweep_values(sweep_point(it.record)) if other["sweep." + path] != value]
    return ", ".join(words + list(filter(None, [point_text(it.record, said)])))


def _is_said(name, it, dimensions):
    """Whether the label or the checkpoint says the value, too; a label that was not chosen begins with the id of its quantizer."""
    if name in ("quantizer", "bits") and "label" in dimensions:
        label = value_text(it["label"])
        return label.startswith(value_text(it[name])) if name == "quantizer" else "bits=" + value_text(it["bits"]) in label.split()
    return name == "step" and "checkpoint" in dimensions and re.search(
        r"step[-_]?0*%s(?!\d)" % re.escape(value_text(it["step"])), _checkpoint(it)) is not None


def _word(name, value):
    """An average goes by its name alone, as in tables."""
    return value_text(value) if name == "averaging" else dimension_text(name, value)


def open_text(a, b, opened):
    """What tells a pair from others of the same common text: the value of a dimension that one side leaves open, known ones first."""
    known = [name for name in ("label", "averaging", "branch", "checkpoint") if name in opened.names]
    for name in known + opened.names:
        if a[name] != b[name]:
            return ", " + _word(name, (b if opened.of_b else a)[name])
    return ""
