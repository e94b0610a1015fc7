"""Runs of trackio, read back from its database."""

import os
import sqlite3
import unittest

from tracked_run import TrackedRunTest

try:
    import trackio
except ImportError as missing:
    trackio = None
    print("SKIPPED: %s" % missing)


@unittest.skipIf(trackio is None, "SKIPPED: trackio is not there")
class TrackioTest(TrackedRunTest):
    def export(self):
        return self.send("--to", "trackio", "-o", os.path.join(self.folder, "kept"))

    def read(self):
        """{(name of a line, tag, step): value}."""
        import json  # noqa: PLC0415

        path = os.path.join(self.folder, "kept", "run.db")
        rows = sqlite3.connect(path).execute("select run_name, step, metrics from metrics").fetchall()
        return {(name, tag, step): value for name, step, metrics in rows for tag, value in json.loads(metrics).items()}

    def test_a_second_export_sends_nothing_and_a_value_measured_again_replaces_its_line(self):
        self.assertEqual(self.export(), {"values": 15, "new": 6})
        self.assertEqual(self.read(), self.values())
        self.assertEqual(self.export(), {"values": 0, "unchanged": 6})
        self.measured_again()
        self.assertGreater(self.export()["replaced"], 0)
        self.assertEqual(self.read(), self.values())

    def test_values_that_came_later_join_their_line(self):
        self.records(2)
        self.export()
        self.records(9)
        self.export()
        self.assertEqual(self.read(), self.values())


if __name__ == "__main__":
    unittest.main()
