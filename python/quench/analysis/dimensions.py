"""The named dimensions in which the values of a run differ: conditions, contrasts and figures refer to them.

A dimension is one of NAMES, `params.NAME` (a parameter of the quantizer), `averaging.NAME`, or `sweep.PATH`
(what a point of the sweep sets, by its path in the manifest). docs/report.md lists them.
"""

import copy

from ..values import canonical, is_number, member, sweep_values

NAMES = ("branch", "checkpoint", "model", "revision", "phase", "mark", "step", "tokens", "lr", "averaging", "quantizer",
         "label", "bits", "bytes", "calibration", "metric", "seed", "job", "device")
AXES = ("step", "tokens", "lr")
ALONG_TRAINING = ("checkpoint", "revision", "phase", "mark", *AXES)
SEEDS = ("seed", "train.seed")  # points of a sweep that differ in these alone are replicates of each other
_OF_CHECKPOINT = {"model", "branch", "revision", "phase", "mark", "step", "tokens", "lr"}


def is_dimension(name):
    return name in NAMES or any(name.startswith(head) and name != head for head in ("params.", "averaging.", "sweep."))


def dimension(record, name):
    """The record's value in a dimension, as JSON has it; None if it has none."""
    if name in _OF_CHECKPOINT:
        value = member(record["checkpoint"], name)
        return None if value == "" else value
    if name == "checkpoint":  # the place of the weights on the axes, whatever their name
        revision = member(record["checkpoint"], "revision")
        return member(record["checkpoint"], "model") if revision is None else revision
    if name == "averaging":
        label = member(record["averaging"], "label")
        return member(record["averaging"], "id") if label is None else label
    if name == "quantizer":
        return member(record["quantizer"], "id")
    if name in ("label", "calibration"):
        return member(record["quantizer"], name)
    if name == "bits":
        return _bits(record)
    if name == "bytes":
        return member(record["details"], "stored_bytes")
    if name == "metric":
        return record["label"] or record["metric"] or None
    if name in ("seed", "device"):
        return member(record["environment"], name)
    if name == "job":
        return record["job"]
    head, _, rest = name.partition(".")
    if head == "params":
        return member(member(record["quantizer"], "params"), rest)
    if head == "averaging":
        return member(member(record["averaging"], "params"), rest)
    if head == "sweep":
        place = _walk(_point(record), rest)
        return place[0][place[1]] if place else None
    raise ValueError("no dimension is called %s; known are %s, params.NAME, averaging.NAME and sweep.PATH"
                     % (name, ", ".join(NAMES)))


def _bits(record):
    """The parameter `bits`; of a quantizer without it, or with a number format in its place, the bits of an element, rounded, as the layers say
    them. Where they do not, the stored bits per weight, of which up to 0.6 count as scales.
    """
    quantizer = record["quantizer"]
    params = member(quantizer, "params")
    bits, stored = member(params, "bits"), member(quantizer, "bits_per_weight")
    if is_number(bits) and member(params, "format") is None:
        return bits
    of_layers = [member(layer, "bits") for layer in member(record.get("details"), "layers") or []]
    if of_layers and is_number(of_layers[0]) and all(one == of_layers[0] for one in of_layers):
        return int(of_layers[0] + 0.5)
    return int(stored + 0.4) if is_number(stored) else bits


def _point(record):
    return member(record["environment"], "sweep")


def _walk(value, path):
    """(object, name) of the value at `path` in a point: {"train.lr": {"peak": 1}} has train.lr.peak; or None."""
    for name in sorted(value) if isinstance(value, dict) else ():
        if path == name:
            return value, name
        if path.startswith(name + "."):
            found = _walk(value[name], path[len(name) + 1:])
            if found:
                return found
    return None


def _take_out(value, path):
    """Takes the value at `path` out of a point.

    Where the plugin or section on the way to it is another one, takes out what stands there whole; a name that is only
    not given is nothing to take.
    """
    for name in sorted(value) if isinstance(value, dict) else ():
        if path == name:
            del value[name]
            return
        if path.startswith(name + "."):
            rest, inner = path[len(name) + 1:], value[name]
            if isinstance(inner, dict) and any(rest == next_ or rest.startswith(next_ + ".") for next_ in inner):
                _take_out(inner, rest)
            elif "." in rest or not isinstance(inner, dict):
                value[name] = None
            return


def sweep_point(record, without=()):
    """What the record's point of the sweep sets, without the seeds and these dimensions: equal for replicates.

    Where a point chooses something else on the way to a dimension, the whole choice is left out: `sweep.optimizer.sam.rho`
    in a point that chooses adamw is the choice of an optimizer with all its values. The job's number if the record does
    not say what its point sets.
    """
    point = _point(record)
    if not isinstance(point, dict):
        return record["job"]
    point = copy.deepcopy(point)
    for name in SEEDS:
        if name in point:
            del point[name]
        elif place := _walk(point, name):
            place[0][place[1]] = None
    for name in without:
        if name.startswith("sweep."):
            _take_out(point, name[len("sweep."):])
    return point


def swept_seeds(record):
    """The seeds that the sweep sets; () if none."""
    places = (_walk(_point(record), name) for name in SEEDS)
    values = [place[0][place[1]] for place in places if place]
    return tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))


def point_text(record, without=()):
    """What the point sets beside seeds and the dimensions of `without`, by last words: "peak 0.003, decay 0.1"."""
    return ", ".join(path.rpartition(".")[2] + " " + value_text(value) for path, value in sweep_values(_point(record))
                     if path not in SEEDS
                     and not any(("sweep." + path + ".").startswith(said + ".") for said in without))


def value_text(value):
    """`decay`, `3`, `0.001`; `none` for None."""
    return "none" if value is None else value if isinstance(value, str) else canonical(value)


def dimension_text(name, value):
    """A value with its dimension: "branch decay", "3 bits", "group_size 64"."""
    if name == "bits":
        return "float" if value is None else value_text(value) + " bits"
    if name in ("checkpoint", "quantizer", "label", "metric"):
        return value_text(value)
    word = name.rpartition(".")[2] if name.startswith("sweep.") else name.partition(".")[2] or name
    return word + " " + value_text(value)


def ordered(value):
    """A sort key of any JSON value: null, boolean, number, object, list, text."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, (int, float)):
        return (2, value)
    if isinstance(value, dict):
        return (3, tuple((name, ordered(inner)) for name, inner in sorted(value.items())))
    if isinstance(value, list):
        return (4, tuple(map(ordered, value)))
    return (5, value)
