"""A configuration file of the study (arXiv 2510.06213): a flat mapping in which every list is an axis, as the study's
code reads it. Job i is the i-th point of the product of all lists in the order of the keys, the last one fastest; a list
in a list is a value that is a list. What the keys mean is in dialect.yaml.
"""

import os
from typing import NamedTuple

import yaml

from ..texts import nearest, printable
from .yaml_tree import Wrong

MOST_JOBS = 1 << 16
MOST_OF_A_NUMBER = 1 << 24
MOST_PROBLEMS = 256


class Dialect:
    """What dialect.yaml says."""

    def __init__(self):
        with open(os.path.join(os.path.dirname(__file__), "dialect.yaml"), encoding="utf-8") as file:
            said = yaml.safe_load(file)
        self.sweep, self.landscape = said["sweep"], said["landscape_files"]
        self.used, self.without_counterpart = said["used"], said["without_counterpart"]
        self.pads, self.pieces = said["pads"], said["pieces"]
        self.trainings = said["trainings"]

    def has(self, key, word):
        """Whether the word is said of a key that enters the manifest."""
        return word in self.used.get(key, ())

    def piece(self, name, **values):
        """A piece of manifests with the values in place of their names."""
        out = self.pieces[name]
        for key, value in values.items():
            out = out.replace("@%s@" % key, str(value))
        return out


DIALECT = Dialect()


class Axis(NamedTuple):
    key: str
    node: object  # the value in the file
    values: list  # nodes: one, if it is no list


class Job(NamedTuple):
    """What one job measures."""

    checkpoints: list  # (model, revision), as a manifest names them; those that are averaged, where `average` is set
    average: str  # label of the average, or ""
    quantizer: dict  # parameters that its quantizer has, or None: it has none
    point: dict  # the values of the keys with several in the file


def is_study_file(root):
    """Whether the document is one of the study's files and not a manifest."""
    keys = {key for key, _, _ in root.members}
    return not keys & {"checkpoints", "metrics"} and any(keys.issuperset(names)
                                                         for names in (DIALECT.sweep, DIALECT.landscape))


def study_path(path):
    """(model, revision) in a manifest of a path in a file of the landscape."""
    clean = os.path.normpath("/" + path.lstrip("/") if path.startswith("/") else path)
    return os.path.dirname(clean), os.path.basename(clean)


def _hub_name(repository):
    return repository if "://" in repository else "hf://" + repository


def _flag(node):
    """A truth value as YAML 1.1 spells it, which is what the study's files are written in; else None."""
    if node.kind != "scalar" or node.quoted:
        return None
    word = node.text.lower()
    return True if word in ("true", "yes", "on") else False if word in ("false", "no", "off") else None


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


class StudyFile:
    """A file for which is_study_file() holds. Raises Wrong with all that is wrong: an unknown key, a value that no
    manifest can express."""

    def __init__(self, root, name):
        self.name = name
        self.axes = [Axis(key, value, value.items if value.kind == "list" else [value]) for key, _, value in root.members]
        self._by_key = {axis.key: axis for axis in self.axes}
        self.is_landscape = all(key in self._by_key for key in DIALECT.landscape)
        self._problems = []
        self._check_keys(root)
        if not self.is_landscape:
            self._check_averages()
        for axis in self.axes:
            self._check_values(axis)
        self._raise_problems()
        self.jobs = 1
        for axis in self.axes:
            self.jobs *= len(axis.values)
            if self.jobs > MOST_JOBS:
                raise Wrong("%s: study file: more than %d jobs" % (self._place(axis.node), MOST_JOBS))

    def find(self, key):
        """The axis, or None."""
        return self._by_key.get(key)

    def text(self, key, otherwise=""):
        """The only value of a key."""
        axis = self.find(key)
        return otherwise if axis is None or axis.values[0].kind is None else axis.values[0].text

    def settings(self, job):
        """{key: index of its value} of a job, which counts from 0, in the order of the file."""
        out = {}
        for axis in reversed(self.axes):
            job, out[axis.key] = divmod(job, len(axis.values))
        return {axis.key: out[axis.key] for axis in self.axes}

    def job(self, number):
        """What this job measures."""
        at = self.settings(number)
        value = {axis.key: axis.values[at[axis.key]] for axis in self.axes}
        point = {axis.key: value[axis.key].value() for axis in self.axes if len(axis.values) > 1}
        if self.is_landscape:
            return Job([study_path(value[key].text) for key in DIALECT.landscape], "", None, point)
        model = _hub_name(value["repo_origin"].text)
        quantizer = {"bits": value["q_bits"].value(), "group_size": value["group_size"].value()}
        revision = value["revision"]
        if revision.kind == "scalar":
            return Job([(model, revision.text)], "", quantizer, point)
        members = value["L"].value()
        label = "last %d" % members
        if len(self.find("revision").values) > 1:
            label += " of list %d" % (at["revision"] + 1)
        if len(self.find("repo_origin").values) > 1:
            label += " of " + model
        return Job([(model, item.text) for item in revision.items[-members:]], label, quantizer, point)

    def weights(self):
        """One job for each set of weights, the first that has it, in the order of the jobs."""
        step, steps = 1, {}
        for axis in reversed(self.axes):
            steps[axis.key], step = step, step * len(axis.values)
        numbers = [0]
        for axis in self.axes:
            if axis.key in ("repo_origin", "revision", "L"):
                numbers = [number + i * steps[axis.key] for number in numbers for i in range(len(axis.values))]
        return [self.job(number) for number in numbers]

    def _place(self, node):
        return "%s:%d:%d" % (self.name, node.line, node.column)

    def _refuse(self, node, message):
        text = "%s: study file: %s" % (self._place(node), message)
        if text not in (told for _, told in self._problems):
            self._problems.append(((node.line, node.column), text))
        if len(self._problems) >= MOST_PROBLEMS:
            self._raise_problems()

    def _raise_problems(self):
        lines = [text for _, text in sorted(self._problems, key=lambda problem: problem[0])]
        if len(lines) >= MOST_PROBLEMS:
            lines.append("these are the first %d problems; correct them and try again" % MOST_PROBLEMS)
        if lines:
            raise Wrong("\n".join(lines))

    def _check_keys(self, root):
        known = sorted(DIALECT.used) + sorted(DIALECT.without_counterpart)
        for key, node, _ in root.members:
            if key not in known:
                near = nearest(key, known)
                self._refuse(node, "unknown key `%s`; %s" % (
                    printable(key), "did you mean `%s`?" % near if near else "known are " + ", ".join(known)))
        for key in sorted(DIALECT.used) if not self.is_landscape else ():
            if DIALECT.has(key, "required") and key not in self._by_key:
                self._refuse(root, "`%s` is missing" % key)

    def _check_values(self, axis):
        key = axis.key
        if not axis.values:
            self._refuse(axis.node, "`%s`: got an empty list, so that there is no job" % key)
        if len(axis.values) > 1 and not DIALECT.has(key, "grid") and key not in DIALECT.without_counterpart:
            self._refuse(axis.node, "`%s`: got a list of %d, wanted one value: no grid has them side by side" % (
                key, len(axis.values)))
        for value in axis.values:
            wanted = self._wanted(key, value)
            if wanted:
                self._refuse(value, "`%s`: got %s, wanted %s" % (key, value.described(), wanted))

    @staticmethod
    def _wanted(key, value):
        """What a value that no manifest can express should be; else None."""
        if DIALECT.has(key, "text"):
            return None if value.kind == "scalar" and value.text else "text"
        if DIALECT.has(key, "number"):
            number = value.value()
            good = _is_whole(number) and (1 <= number <= MOST_OF_A_NUMBER or
                                          number == -1 and DIALECT.has(key, "or_whole_row"))
            return None if good else "a whole number, 1..%d" % MOST_OF_A_NUMBER
        if DIALECT.has(key, "method"):
            return None if _flag(value) is True else "true: the study's code quantizes with this method alone"
        if DIALECT.has(key, "other_method"):
            return None if _flag(value) is False else "false: the study's code has no other method here"
        return None

    def _check_averages(self):
        """`L` averages the last L of a list; without it each value is one checkpoint."""
        lengths = self.find("L")
        for value in self.find("revision").values if self.find("revision") else ():
            if lengths is None or value.kind == "scalar":
                if lengths is not None or value.kind != "scalar" or not value.text:
                    self._refuse(value, "`revision`: got %s, wanted %s" % (
                        value.described(), "the name of a revision (only a file with `L` averages lists of them)"
                        if lengths is None else "a list of revisions, of which `L` are averaged"))
                continue
            for name in value.items:
                if name.kind != "scalar" or not name.text:
                    self._refuse(name, "`revision`: got %s, wanted the name of a revision" % name.described())
            for length in lengths.values:
                if _is_whole(length.value()) and length.value() > len(value.items):
                    self._refuse(length, "`L`: got %s, more than the %d revisions of the list" % (
                        length.text, len(value.items)))
