"""Whether anybody still works on a run, told by the status files in its folder: the rules of `quench status`."""

import hashlib
import json
import os
import socket
import time

from .run_records import _attempts, _unseal

SILENCE = 60  # seconds after which an attempt on another machine that was not heard of is taken for dead


def _content(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def identity(pid):
    """<place>-<pid>-<start> of a process of this machine, as the program states it; "" where there is none. The place stands for
    boot and pid namespace, the start counts clock ticks since boot."""
    behind_the_name = _content("/proc/%d/stat" % pid).rpartition(")")[2].split()
    if len(behind_the_name) < 20:
        return ""
    place = _content("/proc/sys/kernel/random/boot_id").strip() + " " + os.readlink("/proc/self/ns/pid")
    return "%s-%d-%s" % (hashlib.sha256(place.encode()).hexdigest()[:8], pid, behind_the_name[19])


def _states(folder):
    """What each attempt last said of itself; one that cannot be read is no sign of life."""
    for path in _attempts(folder, "status", ".json"):
        try:
            with open(path, "rb") as file:
                body = _unseal(b"status", file.read().rstrip(b"\n"))
        except OSError:
            continue
        if body is not None:
            yield path, json.loads(body)


class Watcher:
    """Remembers when an attempt on another machine was last heard of."""

    def __init__(self):
        self._heard = {}  # path of the status file: its sequence number, and when it was first seen

    def _runs(self, path, state, now):
        if state["state"] in ("finished", "stopped"):
            return False
        if state["host"] == socket.gethostname():
            return state["process"] == identity(int(state["process"].split("-")[1]))
        if self._heard.get(path, (None, 0))[0] != state["sequence"]:
            self._heard[path] = (state["sequence"], now)
        return now - self._heard[path][1] <= SILENCE

    def runs(self, folder, now=None):
        """Whether an attempt in this folder is at work, or may be on another machine. `now`: seconds, of any clock."""
        now = time.monotonic() if now is None else now
        return any([self._runs(path, state, now) for path, state in _states(folder)])
