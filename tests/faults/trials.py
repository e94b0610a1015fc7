"""Trials by number: how far they are, how long still takes, and where a process that was killed goes on."""
import json
import os
import sys
import time

TOLD_EVERY = 30  # seconds


class Trials:
    """Trials 0, 1, ... of one seed. What trial n does must follow from seed and n alone.

    With a file to resume from, a process that was killed goes on with the trial after the last one that ended, and counts on from
    there. The file says what it counts; one of other trials is refused.
    """

    def __init__(self, what, total, seed, seconds=None, resume=None):
        self.what = "%s, seed %d" % (what, seed)
        self.total, self.seconds, self.resume = total, seconds, resume
        self.done, self.outcomes, self.wrong, self.processor_seconds = 0, {}, 0, 0.0
        if resume and os.path.exists(resume):
            with open(resume, encoding="utf-8") as file:
                kept = json.load(file)
            if kept.pop("what") != self.what:
                sys.exit("%s: counts other trials, wanted %s" % (resume, self.what))
            self.__dict__.update(kept)

    def numbers(self):
        """The numbers of the trials that are left and for which there is time, which counts from the first."""
        self.before = (self.done, self.processor_seconds, _processor_seconds())
        self.start = self.told = time.monotonic()
        while self.done < self.total and (self.seconds is None or time.monotonic() - self.start < self.seconds):
            yield self.done

    def ended(self, outcome, fault=""):
        """The latest number's trial: how it ended, and what was wrong with that."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if fault:
            self.wrong += 1
            print("trial %d: %s" % (self.done, fault), flush=True)
        self.done += 1
        self.processor_seconds = self.before[1] + _processor_seconds() - self.before[2]
        if self.resume:
            kept = {"what": self.what, "done": self.done, "outcomes": self.outcomes, "wrong": self.wrong,
                    "processor_seconds": self.processor_seconds}
            with open(self.resume + ".new", "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(self.resume + ".new", self.resume)
        now = time.monotonic()
        if now - self.told > TOLD_EVERY and self.done < self.total:
            self.told = now
            each = (now - self.start) / (self.done - self.before[0])
            print("%d of %d, %d wrong; %.2f s each, %.0f min to go" % (
                self.done, self.total, self.wrong, each, (self.total - self.done) * each / 60), flush=True)

    def conclude(self):
        """Says in one line what was counted. Returns the exit code."""
        counts = ", ".join("%d %s" % (count, outcome) for outcome, count in sorted(self.outcomes.items()))
        print("%d of %d trials (%s): %s; %d wrong; %.2f processor minutes" % (
            self.done, self.total, self.what, counts or "none", self.wrong, self.processor_seconds / 60), flush=True)
        return 1 if self.wrong or not self.done else 0


def _processor_seconds():
    return sum(os.times()[:4])
