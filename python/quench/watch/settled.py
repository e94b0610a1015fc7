"""Which checkpoints have not changed for a while, and a flag that a signal sets."""

import time


class Flag:
    """As threading.Event, but without its lock: a handler of signals that comes while another holds it would wait for ever."""

    def __init__(self):
        self._is_set = False

    def set(self):
        self._is_set = True

    def is_set(self):
        return self._is_set

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while not self._is_set and time.monotonic() < end:
            time.sleep(min(0.1, max(end - time.monotonic(), 0)))


class Settled:
    """Remembers since when each checkpoint has looked as it looks now. Times of the file system are compared with each other alone,
    since its clock may be another machine's."""

    def __init__(self, seconds, clock=time.monotonic):
        self.seconds, self.clock = seconds, clock
        self.looked = None  # when `of` was last asked
        self._since = {}  # path: (its files, when they were first seen so)

    def of(self, found):
        """Those that are whole and settled."""
        now, out, since = self.clock(), [], {}
        self.looked = now
        for one in found:
            files, first = self._since.get(one.path, (None, now))
            since[one.path] = (one.files, first if files == one.files else now)
            if not one.lacks and now - since[one.path][1] >= self.seconds:
                out.append(one)
        self._since = since
        return out
