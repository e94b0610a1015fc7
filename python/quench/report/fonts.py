"""What matplotlib says of fonts, each thing once and in one line."""

import contextlib
import logging
import re
import sys
import warnings

from ..texts import printable

_MOST_CHARACTERS = 20


class _Complaints(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines, self.characters = {}, {}

    def emit(self, record):
        words = record.getMessage()
        absent = re.search(r"Font family \[?'?([^'\]]*)'?\]? not found", words)
        if absent:
            words = "font %s: not found, wanted one that is installed; DejaVu Sans is drawn in its place" % absent[1]
        elif "cache directory" in words or "font cache" in words:  # what no drawing depends on
            return
        self.lines[printable(words, 400)] = None

    def warned(self, message, category, *_rest, **_more):
        glyph = re.search(r"Glyph (\d+)", str(message))
        if glyph:
            self.characters[chr(int(glyph[1]))] = None
        else:
            self.lines[printable(" ".join(str(message).split()), 400)] = None


@contextlib.contextmanager
def complaints():
    """Prints to standard error what fonts lack while figures are drawn."""
    found, logger = _Complaints(), logging.getLogger("matplotlib")
    logger.addHandler(found)
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = found.warned
            yield
    finally:
        logger.removeHandler(found)
        logger.propagate = True
    if found.characters:
        shown = "".join(list(found.characters)[:_MOST_CHARACTERS])
        found.lines["font: has no characters %s, wanted one that has them (font.family in a matplotlibrc); a box is drawn for each"
                    % shown] = None
    for line in found.lines:
        print("warning: " + line, file=sys.stderr)
