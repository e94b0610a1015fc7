"""The records of a run as trackers want them: lines of values over steps.

A line is one variant (the float model, or one quantizer) of one branch. Its values lie over training steps; where a
checkpoint has no step, over the order in which the checkpoints appear in the records.
"""

import hashlib
import math
import re
from typing import Any, NamedTuple

LONGEST = 200  # bytes of a part of a name, which may become the name of a folder


class Line(NamedTuple):
    name: str  # "main/float", "main/gptq bits=3": parts joined by "/"
    about: dict  # branch, averaging, quantizer, environment: what its first record says
    values: dict  # {(tag, step): value}, by tag and step; "quantization_error/validation_loss block=128" is a tag

    def identity(self, *names: Any):
        """16 hexadecimal digits that follow from the line's name, and from these names around it."""
        return hashlib.sha256("\0".join([*map(str, names), self.name]).encode()).hexdigest()[:16]


def _printable(text):
    """Without control characters; one that is too long ends in a hash, so that two stay two."""
    text = re.sub("[\0-\x1f\x7f-\x9f]", lambda found: "\\x%02x" % ord(found[0]), text)
    whole = text.encode("utf-8", "backslashreplace")
    if len(whole) > LONGEST:
        whole = whole[:LONGEST - 9] + b"~" + hashlib.sha256(whole).hexdigest()[:8].encode()
    return whole.decode("utf-8", "ignore")


def _part(text):
    """A part of a name: it holds no separator and leads out of no folder."""
    text = text.replace("/", "_")
    return _printable(text if text.strip(".") else "_" + text)


def _name(record):
    parts = [_part((record["checkpoint"] or {}).get("branch") or "main")]
    if record["job"]:
        parts.append("job %d" % record["job"])
    if record["averaging"]:
        parts.append(_part(record["averaging"].get("label", "")))
    parts.append(_part(record["quantizer"].get("label", "")) if record["quantizer"] else "float")
    parts += ["%s %d" % (what, record[what]) for what in ("draw", "jitter") if record[what]]
    return "/".join(parts)


def _tag(record):
    """The label tells two corpora of one metric apart and begins with the metric's id, but for derived values."""
    metric, label = record["metric"], record["label"]
    identifier = metric.partition("/")[0]
    if not label:
        return _printable(metric)
    return _printable(label + metric[len(identifier):] if label.startswith(identifier) else metric + "/" + label)


def _checkpoint(record):
    checkpoint = record["checkpoint"] or {}
    return checkpoint.get("model"), checkpoint.get("revision")


def _steps(records):
    """The step of each checkpoint. Only if all of them have one it is the training's, or two axes would be mixed."""
    steps = {}
    for record in records:
        steps.setdefault(_checkpoint(record), (record["checkpoint"] or {}).get("step"))
    if all(isinstance(step, int) for step in steps.values()):
        return steps
    return {checkpoint: place for place, checkpoint in enumerate(steps)}


def tracked_lines(records):
    """Lines by name, of records as quench.records(folder) gives them, without failed cells and what is no number."""
    numbers = [record for record in records
               if not record["error"] and isinstance(record["value"], (int, float)) and math.isfinite(record["value"])]
    steps, lines = _steps(numbers), {}
    for record in numbers:
        name = _name(record)
        about = {"branch": (record["checkpoint"] or {}).get("branch"),
                 **{field: record[field] for field in ("averaging", "quantizer", "environment")}}
        line = lines.setdefault(name, Line(name, about, {}))
        line.values[_tag(record), steps[_checkpoint(record)]] = float(record["value"])
    return [line._replace(values=dict(sorted(line.values.items()))) for _, line in sorted(lines.items())]
