"""`quench run` on one checkpoint that appeared, beside those of its trajectory that are still there."""

import json
import os
import subprocess
from dataclasses import dataclass

from .found import branch_of, pattern_of

MOST_BEFORE = 32  # checkpoints of the same trajectory, of which running averages are made
USAGE = 2  # the exit code of a command line or a manifest that is wrong
MOST_WORDS = 120_000  # bytes of one argument of a command; Linux takes 131,071


@dataclass
class Outcome:
    code: int
    said: str  # the end of its stderr


def with_predecessors(line, one, names_of_measured):
    """The checkpoint behind those before it that were measured and are there, without a gap: a running average of what is left
    of five would not be one of five."""
    before = []
    for earlier in reversed(line[:line.index(one)]):
        if earlier.name not in names_of_measured or len(before) == MOST_BEFORE:
            break
        before.insert(0, earlier)
    return before + [one]


def manifest_sets(members):
    """The words that put these checkpoints of one trajectory into a manifest."""
    last = members[-1]
    branch = {"revisions": [one.name for one in members]}
    if pattern_of(last.name):
        branch["pattern"] = pattern_of(last.name)
    sets = ["checkpoints.model=" + json.dumps(last.parent), "checkpoints.branches=" + json.dumps({branch_of(last.name): branch})]
    while len(sets[1]) > MOST_WORDS and len(branch["revisions"]) > 1:
        del branch["revisions"][0]
        sets[1] = "checkpoints.branches=" + json.dumps({branch_of(last.name): branch})
    return sets


class Measurer:
    """Starts the program, one checkpoint after the other."""

    def __init__(self, options):
        self.options = options
        self._child, self._stopped = None, False

    def command(self, members, averages=True):
        words = [self.options.program, "run", self.options.manifest, "--out", self.options.out, "--threads",
                 str(self.options.threads)]
        for value in manifest_sets(members) + self.options.set + ([] if averages else ["averaging=[]"]):
            words += ["--set", value]
        return words + (["--device", self.options.device] if self.options.device else [])

    def run(self, members):
        """The first checkpoints have no running average yet, with which a manifest that asks for one is refused: what is refused is
        tried without."""
        outcome = self._run(self.command(members))
        return self._run(self.command(members, averages=False)) if outcome.code == USAGE and not self._stopped else outcome

    def _run(self, command):
        os.makedirs(self.options.out, exist_ok=True)
        self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        if self._stopped:  # before there was a child to ask
            self._child.terminate()
        said = self._child.communicate()[1]
        code, self._child = self._child.returncode, None
        return Outcome(code, said)

    def stop(self):
        """Asks a run to end; what it measured stays, and the next watch goes on."""
        again, self._stopped = self._stopped, True
        if self._child is not None and not again:
            self._child.terminate()


def last_line(text, most=1000):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:most] if lines else "nothing said why"
