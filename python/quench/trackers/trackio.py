"""Runs of trackio, which keeps them in a database of this machine: its own cache, where `trackio show` looks, or a folder.

The values go into the database by the client's class for it, as its imports of other trackers' files do: `trackio.init` would start
a server for the dashboard and measure the machine.
"""

from trackio.sqlite_storage import SQLiteStorage
from trackio.utils import TRACKIO_DIR  # the variable of this name is read when the client is imported

from .sending import Held, Tracker

NOT_VALUES = ("step", "timestamp")  # of what it keeps of a step


class Trackio(Tracker):
    """One run for each line, found again by the line's name."""

    def __init__(self, project):
        self._project = project
        self.place = "%s, project %s" % (TRACKIO_DIR, project)

    def about(self, line):
        return line.about

    def held(self, line):
        rows = SQLiteStorage.get_logs(self._project, line.name)
        if not rows:
            return None
        config = SQLiteStorage.get_run_config(self._project, line.name) or {}
        return Held({name: config.get(name) for name in line.about},
                    {(tag, row["step"]): value for row in rows for tag, value in row.items() if tag not in NOT_VALUES})

    def begin(self, line):
        SQLiteStorage.delete_run(self._project, line.name)

    def add(self, line, values):
        rows = {}
        for (tag, step), value in sorted(values.items(), key=lambda each: each[0][1]):
            rows.setdefault(step, {})[tag] = value
        SQLiteStorage.bulk_log(self._project, line.name, list(rows.values()), list(rows), config=line.about)
