"""What the host offers to a plugin while it runs: a log, progress, random numbers, and whether to stop.

Outside a worker, where an author tries a function by hand, messages go to standard error, nothing is cancelled, and
random numbers are those of seed 0.
"""

import sys

from .status import CANCELLED, Error

_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}


class _Alone:
    """Stands for the host where there is none."""

    seed, module, threads, flags = 0, "", 1, None

    def log(self, level, message):
        print(message, file=sys.stderr)

    def progress(self, what, done, total):
        pass

    def sign(self):
        pass

    def read_file(self, path):
        with open(path, "rb") as file:
            return file.read()


current = _Alone()  # a worker puts its host here


def log(message, level="info"):
    """Writes one line to the log; level is debug, info, warning or error."""
    current.log(_LEVELS[level], str(message))


def progress(what, done, total):
    """Reports `done` of `total` units of the work called `what`."""
    current.progress(what, done, total)


def read_file(path):
    """The bytes of a file, which the host has hashed: what a value is computed from is then what its key says.

    numpy.load(io.BytesIO(quench.read_file(path))) reads an array so. A file that Python opens by itself is noted, too.
    """
    return current.read_file(str(path))


def cancelled():
    """Whether the user has asked to stop. Asking is a sign of life."""
    current.sign()
    return current.flags is not None and current.flags[:4] != b"\0\0\0\0"


def check_cancelled():
    """Raises where the user has asked to stop. Call it at least twice a second in long work."""
    if cancelled():
        raise Error(CANCELLED, "cancelled")


def threads():
    """The number of threads that the run may use."""
    return current.threads


def random(stream, count, start=0):
    """`count` random 64-bit numbers of a named stream (such as a layer's name), as a uint64 array.

    They depend on the run's seed, the plugin's file name, `stream` and the position alone.
    """
    from .philox import uniform  # noqa: PLC0415, numpy is not needed to describe a file

    return uniform(current.seed, current.module, stream, start, count)
