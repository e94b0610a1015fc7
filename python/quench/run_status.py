"""Whether anybody still works on a run, told by the status files in its folder: the rules of `quench status`."""

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


def _process_start(pid):
    """When a process of this machine started, in clock ticks since boot; 0 where there is none."""
    behind_the_name = _content("/proc/%d/stat" % pid).rpartition(")")[2].split()
    return int(behind_the_name[19]) if len(behind_the_name) > 19 else 0


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
            boot = _content("/proc/sys/kernel/random/boot_id").strip()
            return state["boot"] == boot and 0 != state["process_start"] == _process_start(state["pid"])
        if self._heard.get(path, (None, 0))[0] != state["sequence"]:
            self._heard[path] = (state["sequence"], now)
        return now - self._heard[path][1] <= SILENCE

    def runs(self, folder, now=None):
        """Whether an attempt in this folder is at work, or may be on another machine. `now`: seconds, of any clock."""
        now = time.monotonic() if now is None else now
        return any([self._runs(path, state, now) for path, state in _states(folder)])
