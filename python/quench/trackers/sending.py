"""What all trackers have in common: a line is compared with what the tracker holds of it, and only the rest is sent."""

from collections import Counter
from typing import Any, NamedTuple


class Held(NamedTuple):
    """What a tracker holds of a line, in its own form."""

    about: Any
    values: dict  # {(tag, step): value}


class Tracker:
    """One run of the tracker for each line, found again by the line's name. Methods raise what the client does."""

    def about(self, line):
        """What the tracker shows of line.about."""
        return None

    def values(self, line):
        """The line's values with the tags and the precision that the tracker keeps."""
        return line.values

    def held(self, line):
        """What an earlier export left of a line, or None."""
        raise NotImplementedError

    def can_add(self, line, values):
        """Whether values can join those that are there; else the line begins anew."""
        return True

    def begin(self, line):
        """Makes the line's run, in place of what there may be."""
        raise NotImplementedError

    def add(self, line, values):
        """Adds values in the form of values() to a line that began, or that can take them."""
        raise NotImplementedError

    def finish(self):
        """Ends what is open. No call follows."""


class Sender:
    def __init__(self, tracker):
        self._tracker = tracker
        self._held = {}  # name of a line: what the tracker holds, once it was asked

    def send(self, lines):
        """Sends what the tracker lacks. Counts of "values" sent, and of lines "new", "extended", "replaced",
        "unchanged"."""
        counts = Counter()
        for line in lines:
            wanted = Held(self._tracker.about(line), self._tracker.values(line))
            held = self._held.get(line.name) or self._tracker.held(line)
            done, missing = self._compare(line, wanted, held)
            if done in ("new", "replaced"):
                self._tracker.begin(line)
            if missing:
                self._tracker.add(line, missing)
            self._held[line.name] = wanted
            counts[done] += 1
            counts["values"] += len(missing)
        return counts

    def _compare(self, line, wanted, held):
        if held is None:
            return "new", wanted.values
        missing = {place: value for place, value in wanted.values.items() if place not in held.values}
        # A value that was measured again, or forgotten, cannot be taken back one by one.
        if wanted.about != held.about or any(wanted.values.get(place) != value for place, value in held.values.items()):
            return "replaced", wanted.values
        if not missing:
            return "unchanged", missing
        return ("extended", missing) if self._tracker.can_add(line, missing) else ("replaced", wanted.values)
