"""Revisions of one list, as branches: those whose names differ only in digits behind the word for a step, in the order
of the list, and every other one by itself."""

import re
from typing import NamedTuple

_STEP = re.compile(r"(.*(?:step|iter|ckpt|checkpoint)[-_]?)(\d+)([^\d].*)?", re.IGNORECASE | re.ASCII)
_TOKENS = re.compile(r"(.*tokens[-_]?)\d+[kMBT]?(.*)", re.ASCII)
_END = re.compile(r"[-_.]*(?:step|iter|ckpt|checkpoint)?[-_.]*\Z", re.IGNORECASE | re.ASCII)


class Group(NamedTuple):
    name: str  # of the branch
    pattern: str  # with {step} and perhaps {tokens}; "": the name has no place
    revisions: list


def _pattern(name):
    """(what is before the step, the pattern), or None: the name has no place."""
    step = None if re.search("[{}@]", name) else _STEP.fullmatch(name)
    if not step:
        return None
    rest = step[3] or ""
    tokens = _TOKENS.fullmatch(rest)
    return step[1], step[1] + "{step}" + ("%s{tokens}%s" % tokens.groups() if tokens else rest)


def _branch(before):
    """"stage2-ingredient1" of "stage2-ingredient1-step"; "run" where nothing is left."""
    last = None
    while last != before:  # ckpt_step_
        last, before = before, _END.sub("", before, count=1)
    return before or "run"


def group_revisions(names):
    """The groups, in the order of their first names. Names that occur twice are taken once."""
    groups, by_pattern, taken = [], {}, set()

    def add(name, pattern):
        while name in taken:
            name += "'"
        taken.add(name)
        groups.append(Group(name, pattern, []))
        return groups[-1]

    for name in dict.fromkeys(names):
        placed = _pattern(name)
        if placed is None:
            add(name, "").revisions.append(name)
            continue
        before, pattern = placed
        if pattern not in by_pattern:
            by_pattern[pattern] = add(_branch(before), pattern)
        by_pattern[pattern].revisions.append(name)
    return groups
