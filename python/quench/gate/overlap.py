"""What calibration and validation text share: a model calibrated on what it is measured on looks better than it is."""

import os

FEWEST_LETTERS = 30  # shorter lines, headings and blanks, are in many texts
MOST_BYTES = 1 << 30


def file_of(spec):
    """The file that `text=FILE,sequences=8` or `validation_loss:text=FILE,block=128` names, or None."""
    head, _, rest = spec.partition(":")
    for part in (spec if "=" in head else rest).split(","):
        path = part.partition("=")[2]
        if path and os.path.isfile(path):
            return path
    return None


def _lines(path):
    with open(path, "rb") as file:
        return [line for line in map(bytes.strip, file.read(MOST_BYTES).splitlines()) if len(line) >= FEWEST_LETTERS]


def overlap(calibration, validation):
    """One line that says what two files share, or None. Raises OSError."""
    if not calibration or not validation:
        return None
    if os.path.samefile(calibration, validation):
        return "%s: calibration and validation read the same file" % validation
    lines = _lines(validation)
    known = set(_lines(calibration))
    shared = sum(line in known for line in lines)
    if not shared:
        return None
    return "%s: %d of its %d lines of at least %d bytes are in the calibration text %s" % (
        validation, shared, len(lines), FEWEST_LETTERS, calibration)
