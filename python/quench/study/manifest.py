"""The manifest that one of the study's files amounts to."""

import os

from ..texts import printable
from .revisions import group_revisions
from .study_file import DIALECT, study_path
from .yaml_tree import double_quoted, scalar

MOST_COLUMNS = 120


def _wrapped_list(prefix, texts):
    """"prefix[a, b, c]", wrapped; further lines stand below the first element."""
    lines, line = [], prefix + "["
    for i, text in enumerate(texts):
        item = scalar(text) + ("," if i + 1 < len(texts) else "]")
        if i > 0 and len((line + " " + item).encode()) > MOST_COLUMNS:
            lines.append(line)
            line = " " * (len(prefix) + 1) + item
        else:
            line += (" " if i > 0 else "") + item
    return "\n".join([*lines, line])


def _numbers(axis):
    """"4", or "[4, 3]" where the file has several values."""
    texts = list(dict.fromkeys(value.text for value in axis.values))
    return texts[0] if len(texts) == 1 else "[%s]" % ", ".join(texts)


def _shown(axis):
    """The value of a key as its comment shows it, on one line."""
    first = axis.values[0]
    if len(axis.values) > 1:
        return "%d values" % len(axis.values)
    return printable(first.text, 60) if first.kind == "scalar" else first.described()


def _ends(averages):
    """(shortest, longest) of the labels of each list that has several: "last 2 of list 1"."""
    lists = {}
    for label in averages:
        _, count, *of = label.split(" ", 2)
        lists.setdefault("".join(of), []).append((int(count), label))
    return [(min(found)[1], max(found)[1]) for found in lists.values() if len(found) > 1]


class _Writer:
    def __init__(self, file, origin):
        self.file, self.origin = file, origin
        self.out = []
        self.places = {}  # (model, revision): branch@revision
        self.trained = []  # (branch, its group, its keys, whether the rate falls) of known trainings

    def write(self):
        self.head()
        name = self.file.text("wandb_run_name", os.path.splitext(self.origin)[0]).replace("/", "-")
        self.out.append("name: %s\nseed: 0\n" % scalar(name))
        if self.file.is_landscape:
            self.out.append("dtype: float32\n\n")
            self.landscape()
        else:
            self.out.append(DIALECT.piece("dtype"))
            if self.file.text("device"):
                self.out.append("device: %s\n" % scalar(self.file.text("device")))
            self.out.append("\n")
            self.sweep()
        return "".join(self.out)

    def head(self):
        """A comment, which names every key without a counterpart."""
        self.out.append("# What %s amounts to: %d jobs of the study's code (arXiv 2510.06213).\n" % (
            printable(self.origin, 200), self.file.jobs))
        ignored = ["#   %s: %s: %s\n" % (axis.key, _shown(axis), DIALECT.without_counterpart[axis.key])
                   for axis in self.file.axes if axis.key in DIALECT.without_counterpart]
        if ignored:
            self.out += ["# Without a counterpart:\n", *ignored]

    def branch(self, name, group, lines):
        """A group of revisions, with `lines` below the branch's name."""
        self.out.append("    %s:\n" % scalar(name) + lines)
        if group.pattern:
            self.out.append("      pattern: %s\n" % double_quoted(group.pattern))
        self.out.append(_wrapped_list("      revisions: ", group.revisions) + "\n")

    def branches(self, model, several, revisions):
        """One branch for each group of revisions, of each model if there are several."""
        prefix = os.path.basename(model) + " " if several else ""
        groups = group_revisions(revisions)
        for group in groups:
            name = prefix + group.name
            for revision in group.revisions:
                self.places[model, revision] = "%s@%s" % (name, revision)
            lines = "      model: %s\n" % scalar(model) if several else ""
            self.branch(name, group, lines + self.training(model, prefix, group, {other.name for other in groups}))
            if not group.pattern:
                self.out.append("      mark: star\n")

    def training(self, model, prefix, group, there):
        """The lines of what is known of the training behind a branch; `there` are the branches beside it."""
        known = DIALECT.trainings.get(model.removeprefix("hf://"), {})
        keys = known.get("branches", {}).get(group.name, [])
        if not group.pattern or not keys:
            return ""
        self.trained.append((prefix + group.name, group, keys, group.name == known.get("falls")))
        parent = known.get("parent", {}).get(group.name)
        lines = ["parent: %s" % scalar(prefix + parent)] if parent in there else []
        return "".join("      %s\n" % line for line in [*lines, *keys])

    def sweep(self):
        file = self.file
        weights = file.weights()
        models = list(dict.fromkeys(model for job in weights for model, _ in job.checkpoints))
        revisions = list(dict.fromkeys(revision for job in weights for _, revision in job.checkpoints))
        several = len(models) > 1
        self.out.append("checkpoints:\n")
        if not several:
            self.out.append("  model: %s\n" % scalar(models[0]))
        tokenizer = file.text("tokenizer_name")
        if tokenizer and (several or models[0] != "hf://" + tokenizer):
            self.out.append("  tokenizer: %s\n" % scalar("hf://" + tokenizer))
        self.out.append("  branches:\n")
        for model in models:
            self.branches(model, several, revisions)
        self.averages({job.average: job.checkpoints for job in reversed(weights)}, weights)
        batch = file.text("calibration_batch_size")
        pad = DIALECT.pads.get(tokenizer)
        self.out += ["\ncalibration:\n", DIALECT.piece("unpadded", pad_batch=batch) if pad is None else
                     DIALECT.piece("padded", pad_id=pad, pad_batch=batch), "\n",
                     DIALECT.piece("quantizers", bits=_numbers(file.find("q_bits")),
                                   group_size=_numbers(file.find("group_size"))),
                     "\n", DIALECT.piece("metrics", block_size=file.text("block_size"))]
        self.corpora(file.text("dataset_path"))
        self.report(weights)

    def averages(self, members, weights):
        for i, label in enumerate(dict.fromkeys(job.average for job in weights if job.average)):
            of = [self.places[checkpoint] for checkpoint in members[label]]
            self.out += ["" if i else "\naveraging:\n", DIALECT.piece("average"),
                         "    label: %s\n" % double_quoted(label), _wrapped_list("    of: ", of), "\n"]

    def corpora(self, path):
        self.out += ["\ncorpora:\n", DIALECT.piece("calibration_corpus")]
        if os.path.isdir(path):
            self.out.append(DIALECT.piece("own_corpus", dataset_path=scalar(os.path.join(os.getcwd(), path))))
        else:
            self.out.append(DIALECT.piece("public_corpus", dataset_path=printable(path, 200)))

    def report(self, weights):
        """Figures as the study draws them, and contrasts: of two bits, along a falling rate, of the longest average with the
        shortest one of a list."""
        bits = sorted({value.text for value in self.file.find("q_bits").values}, key=int)
        sizes = {value.text for value in self.file.find("group_size").values}
        right = ", right: lr" if any(key.startswith("lr:") for _, _, keys, _ in self.trained for key in keys) else ""
        averages = list(dict.fromkeys(job.average for job in weights if job.average))
        match = "checkpoint" + (", params.group_size" if len(sizes) > 1 else "")
        contrasts = []
        if averages:
            figures = ["    - bars: {y: error, lines: averaging, panels: bits, at: last}\n"]
            lines = "averaging"
            contrasts += ["{a: %s, b: %s, match: [bits]}" % (double_quoted(longest), double_quoted(shortest))
                          for shortest, longest in _ends(averages)]
        else:
            figures = ["    - %s: {lines: branch, panels: bits%s}\n" % (figure, right)
                       for figure in ("error_vs_tokens", "loss_vs_tokens")]
            lines = "branch"
            contrasts += ["{a: {branch: %s, bits: %s}, statistic: rank_correlation, over: lr}" % (scalar(name), bits[0])
                          for name, group, _, falls in self.trained
                          if falls and len(group.revisions) > 2 and len(sizes) == 1]
            contrasts += ["{a: {params.bits: %s}, b: {params.bits: %s}, match: [%s]}" % (high, low, match)
                          for low, high in zip(bits, bits[1:])]
        self.out += ["\nreport:\n  figures:\n", *figures,
                     "    - loss_plane: {x: float, y: quantized, panels: bits, lines: %s}\n    - table\n" % lines]
        if contrasts:
            self.out += ["  contrasts:\n", *("    - %s\n" % contrast for contrast in contrasts)]

    def landscape(self):
        """Each folder of float files or of quantized models is a branch, called after its last two parts."""
        self.out += ["checkpoints:\n", DIALECT.piece("landscape_tokenizer"), "  branches:\n"]
        taken = set()
        for key in DIALECT.landscape:
            folders = {}
            for value in self.file.find(key).values:
                folder, name = study_path(value.text)
                folders.setdefault(folder, []).append(name)
            for folder, names in folders.items():
                for group in group_revisions(names):
                    self.folder_branch(folder, group, taken)
        self.out += ["\n", DIALECT.piece("metrics", block_size=2048), "\ncorpora:\n",
                     DIALECT.piece("public_corpus", dataset_path="The study's own text")]

    def folder_branch(self, folder, group, taken):
        files = group.revisions[0].endswith(".pth")
        name = "%s/%s%s" % (os.path.basename(os.path.dirname(folder)), os.path.basename(folder),
                            "" if files else " quantized")
        while name in taken:
            name += "'"
        taken.add(name)
        self.branch(name, group, "      model: %s\n" % scalar(folder) + (DIALECT.piece("landscape_config") if files else ""))


def study_manifest(file, origin):
    """The manifest's text; `origin` is the file's name, for its comments. Raises Wrong for a text that no YAML can hold."""
    return _Writer(file, origin).write()
