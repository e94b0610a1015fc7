"""Which values a run's folder holds that its manifest asks for now: others stay in the folder when the manifest is changed."""

from ..values import canonical, is_number, member
from .dimensions import dimension
from .selection import is_swept_label


def is_of_manifest(record, manifest):
    """Whether the manifest has the record's quantizer and the point of its sweep. What it does not tell for sure counts as had."""
    sweep, quantizers = manifest.get("sweep"), manifest.get("quantizers")
    if not _is_of_sweep(record, sweep):
        return False
    if record["quantizer"] is None or not isinstance(quantizers, list) or "quantizers" in canonical(sweep):
        return True
    return any(_is_of_entry(record["quantizer"], entry) for entry in quantizers)


def _is_of_sweep(record, sweep):
    """A list of points, or lists of values whose product they are."""
    if isinstance(sweep, dict):
        return all(dimension(record, "sweep." + path) in values for path, values in sweep.items() if isinstance(values, list))
    return not isinstance(sweep, list) or any(
        isinstance(point, dict) and all(dimension(record, "sweep." + path) == value for path, value in point.items()) for point in sweep)


def _is_of_entry(quantizer, entry):
    """`rtn`, `{rtn: {bits: [3, 4]}}`, or these with keys beside the id."""
    given = {entry: None} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
    if quantizer["id"] not in given:
        return False
    label = given.get("label")
    if label is not None and label != quantizer["label"] and not is_swept_label(quantizer["label"], str(label)):
        return False
    return all(_is_among(member(quantizer["params"], name), values) for name, values in (given[quantizer["id"]] or {}).items())


def _is_among(value, given):
    """Whether it may be the value that is given, or one of a list of them: values of unlike types cannot be told apart, and a path may
    be written from another folder."""
    for one in given if isinstance(given, list) and given else [given]:
        if isinstance(value, str) and isinstance(one, str):
            if value == one or value.endswith("/" + one.rpartition("/")[2]):
                return True
        elif value == one or not (is_number(value) and is_number(one)):
            return True
    return False
