"""Which values a run's folder holds that its manifest asks for now: others stay in the folder when the manifest is changed."""

from ..values import canonical, is_number, member, sweep_values
from .dimensions import dimension, sweep_point
from .selection import is_swept_label


class Current:
    """Whether a manifest has a record's quantizer and the point of its sweep. What it does not tell for sure counts as had."""

    def __init__(self, manifest):
        self._sweep, self._quantizers = manifest.get("sweep"), manifest.get("quantizers")
        self._tells_methods = isinstance(self._quantizers, list) and "quantizers" not in canonical(self._sweep)
        self._known = {}  # by point and quantizer, of which a run has few

    def has(self, record):
        key = canonical([sweep_point(record), record["quantizer"]])
        if key not in self._known:
            self._known[key] = self._is_of_sweep(record) and self._is_of_methods(record["quantizer"])
        return self._known[key]

    def _is_of_methods(self, quantizer):
        return quantizer is None or not self._tells_methods or any(_is_of_entry(quantizer, entry) for entry in self._quantizers)

    def _is_of_sweep(self, record):
        """A list of points, or lists of values whose product they are."""
        def has(path, values):
            return dimension(record, "sweep." + path) in values
        if isinstance(self._sweep, dict):
            return all(has(path, values) for path, values in sweep_values(self._sweep) if isinstance(values, list))
        return not isinstance(self._sweep, list) or any(
            isinstance(point, dict) and all(has(path, [value]) for path, value in sweep_values(point)) for point in self._sweep)


def _is_of_entry(quantizer, entry):
    """`rtn`, `{rtn: {bits: [3, 4]}}`, or these with keys beside the id."""
    given = {entry: None} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
    if member(quantizer, "id") not in given:
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
        elif value == one or not (type(value) is type(one) or is_number(value) and is_number(one)):
            return True
    return False
