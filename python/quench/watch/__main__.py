"""Measures the checkpoints of a training while it runs: what `quench watch` starts.

Exit codes: 0 (--once) all that is there is measured; 1 something of it is not; 2 the manifest is wrong; 130 stopped.
"""

import argparse
import os
import signal
import sys

from ..run_records import DERIVED, NewerVersion, read_run
from ..texts import printable
from .found import find, lines_of
from .measure import Measurer, last_line, with_predecessors
from .rise import rises
from .settled import Flag, Settled

NICE = 19


def arguments():
    parser = argparse.ArgumentParser(prog="quench watch", allow_abbrev=False)
    parser.add_argument("--program", required=True)
    parser.add_argument("--manifest", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--device")
    parser.add_argument("--settle", type=float, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("folders", nargs="+")
    return parser.parse_args()


def say(text):
    print(text, flush=True)


def warn(text):
    print(text, file=sys.stderr, flush=True)


def sentences_of(records):
    """What was measured of one checkpoint, a line each."""
    out = []
    errors = {id(record.source): record for record in records if record["metric"] in DERIVED and not record["error"]}
    for record in records:
        if record["metric"] in DERIVED or record["index"] != 0:
            continue
        words = [record["averaging"]["label"]] if record["averaging"] else []
        words += [record["quantizer"]["label"] if record["quantizer"] else "float", record["label"] or record["metric"]]
        if record["error"]:
            out.append("%s: failed: %s" % (", ".join(words), " ".join(record["error"].split())))
            continue
        error = errors.get(id(record))
        more = "" if error is None else "  ΔCE %+.5f  ΔQL %+.3f %%" % (error["details"]["delta"], 100 * error["value"])
        out.append("%s: %.6g %s%s" % (", ".join(words), record["value"], record["unit"], more))
    return out


class Watch:
    def __init__(self, options, measurer, settled):
        self.options, self.measurer, self.settled = options, measurer, settled
        self.stopped = Flag()
        self.refused = set()  # paths of those that no run began with
        self.waits = {}  # path: what was said that it lacks
        self.failures = 0

    def records(self):
        return read_run(self.options.out, []) if os.path.isdir(self.options.out) else []

    def measured(self, records):
        """(model, revision) of all that has a record, also of a failure: each is tried once."""
        return {(record["checkpoint"]["model"], record["checkpoint"]["revision"]) for record in records
                if record["averaging"] is None}

    def look(self):
        """(all that is there, what of it is settled and not measured, what has records)"""
        has_config = any(value.startswith("checkpoints.config=") for value in self.options.set)
        found = find(self.options.folders, has_config)
        for one in found:
            if one.lacks and self.waits.get(one.path) != one.lacks:
                say("%s: waits for %s" % (printable(one.path), printable(one.lacks)))
            self.waits[one.path] = one.lacks
        settled = self.settled.of(found)
        known = self.measured(self.records())
        return found, [one for one in settled if (one.parent, one.name) not in known and one.path not in self.refused], known

    def measure(self, one, found, known):
        line = next(line for line in lines_of(found).values() if one in line)
        names = {name for parent, name in known if parent == one.parent}
        outcome = self.measurer.run(with_predecessors(line, one, names))
        if self.stopped.is_set():
            return 0
        records = self.records()
        own = [record for record in records if (record["checkpoint"]["model"], record["checkpoint"]["revision"]) ==
               (one.parent, one.name)]
        if not own:
            return self.refuse(one, outcome, any_before=bool(known))
        say(printable(one.path))
        for sentence in sentences_of(own):
            say("  " + printable(sentence, 2000))
        self.failures += any(record["error"] for record in own)
        for rise in rises(records, one.parent, one.name):
            warn("warning: " + rise.sentence())
        return 0

    def refuse(self, one, outcome, any_before):
        """A run that began with nothing: the checkpoint is gone, or cannot be read, or the manifest is wrong."""
        self.refused.add(one.path)
        self.failures += 1
        if not os.path.exists(one.path):
            warn("%s: vanished before it was measured" % printable(one.path))
            return 0
        warn("%s: not measured: %s" % (printable(one.path), last_line(outcome.said)))
        return 2 if outcome.code == 2 and not any_before else 0

    def run(self):
        first = None  # what does not change from then on is what --once measures
        while not self.stopped.is_set():
            found, pending, known = self.look()
            first = self.settled.looked if first is None else first
            if pending:
                code = self.measure(pending[0], found, known)
                if code:
                    return code
                continue
            if self.options.once and self.settled.looked - first >= self.options.settle:
                return 1 if self.failures else 0
            self.stopped.wait(min(max(self.options.settle / 2, 0.1), 5))
        return 130

    def stop(self, *_):
        self.stopped.set()
        self.measurer.stop()


def yield_to_the_trainer():
    """Of this process and of all that it starts. Nice 19 alone still takes 5 % and more from a trainer on every processor, as its
    threads wait for one another and for the scheduler to give the processor back; an idle-class task gives it back at once."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    if hasattr(os, "SCHED_IDLE"):  # Linux
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:  # a container that filters the call: nice 19 is what there is
            pass


def main():
    options = arguments()
    yield_to_the_trainer()
    watch = Watch(options, Measurer(options), Settled(options.settle))
    signal.signal(signal.SIGINT, watch.stop)
    signal.signal(signal.SIGTERM, watch.stop)
    try:
        return watch.run()
    except (NewerVersion, OSError) as failure:
        warn(str(failure))
        return 1


if __name__ == "__main__":
    sys.exit(main())
