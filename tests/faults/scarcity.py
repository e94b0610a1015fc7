#!/usr/bin/env python3
"""Small runs in which one allocation, or one call that looks at a file, fails.

usage: scarcity.py SOURCES BUILD [--seconds N] [--trials N] [--seed N] [--resume FILE] [--whole]

libquench_scarce.so (scarce.c) makes one of them fail, by a seed: an allocation with ENOMEM; an open, a listing, a stat, a read or a map
with EIO, EMFILE, ENOMEM or ESTALE. Such a fault passes, so the run may end with exit code 0 and the right values, or with 1; not with 2,
which says that the user must change something, and at which schedulers hold a job; it never crashes, but where the C library itself ends
a process that has no memory left. Then the same command, undisturbed, must end with code 0 and the right values: nothing of the fault is remembered.

--whole: instead of a seed's choice each call that looks at a file has its turn.
"""
import argparse
import errno
import os
import random
import signal
import sys
import tempfile

from power_loss import Saved
from trials import Trials

GLIBC_ENDS = "Fatal glibc error: failed to register TLS destructor: out of memory"  # a thread's first use of a thread_local
ERRORS = (errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE)


class Scarcity:
    def __init__(self, folder, sources, build):
        self.scene = Saved(folder, sources, build)
        self.library = os.path.join(build, "tests/libquench_scarce.so")
        self.log = os.path.join(folder, "counted")
        self.calls = {kind: self.count(kind) for kind in ("memory", "files")}

    def run(self, kind, at, error):
        return self.scene.run({"LD_PRELOAD": self.library, "QUENCH_SCARCE": kind, "QUENCH_SCARCE_FROM": "m.yaml",
                               "QUENCH_SCARCE_AT": str(at), "QUENCH_SCARCE_ERROR": str(error), "QUENCH_SCARCE_LOG": self.log})

    def count(self, kind):
        self.scene.reset()
        code, err, values = self.run(kind, 0, 0)
        if code != 0 or values != self.scene.right:
            sys.exit("the undisturbed run ended with %d: %s" % (code, err))
        with open(self.log, encoding="ascii") as file:
            return int(file.read())

    def fail(self, kind, at, error):
        """How the run ended in which this call failed, and what is wrong with that, or ""."""
        self.scene.reset()
        code, err, values = self.run(kind, at, error)
        what = "%s %d of %d, %s: " % (kind, at, self.calls[kind], errno.errorcode[error])
        outcome = "%s: exit code %d" % (kind, code)
        wrong = [key for key, value in values.items() if value != self.scene.right.get(key, value)]
        if wrong:
            return outcome, "%s%d of %d values are wrong:\n%s" % (what, len(wrong), len(values), err)
        ended_by_libc = code == -signal.SIGABRT and GLIBC_ENDS in err
        if ended_by_libc:
            outcome = "%s: ended by the C library" % kind
        if code not in (0, 1) and not ended_by_libc:
            return outcome, "%sexit code %d:\n%s" % (what, code, err)
        if code == 0 and values != self.scene.right:
            return outcome, "%sexit code 0 and %d of %d values:\n%s" % (what, len(values), len(self.scene.right), err)
        again, err, values = self.scene.run()
        if again == 1:  # a cell that failed is a record; another attempt is asked for
            again, err, values = self.scene.run(more=("--retry", "failed"))
        if again != 0 or values != self.scene.right:
            return outcome, "%sthe run after it: exit code %d, %d of %d values:\n%s" % (
                what, again, len(values), len(self.scene.right), err)
        return outcome, ""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--trials", type=int)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--resume")
    arguments.add_argument("--whole", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        scarcity = Scarcity(os.path.join(os.path.realpath(folder), "scene"), os.path.abspath(given.sources), os.path.abspath(given.build))
        print(", ".join("%d of %s" % (count, kind) for kind, count in scarcity.calls.items()), flush=True)
        total = scarcity.calls["files"] if given.whole else given.trials or 1000
        trials = Trials("failing calls" + " of files, each" * given.whole, total, given.seed, given.seconds, given.resume)
        for number in trials.numbers():
            chance = random.Random("%d %d" % (given.seed, number))
            kind = "files" if given.whole else chance.choice(("memory", "files", "files"))
            at = number + 1 if given.whole else chance.randint(1, scarcity.calls[kind])
            trials.ended(*scarcity.fail(kind, at, errno.ENOMEM if kind == "memory" else chance.choice(ERRORS)))
        return trials.conclude()


if __name__ == "__main__":
    sys.exit(main())
