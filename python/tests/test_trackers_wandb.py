"""Runs of Weights & Biases: what its own `wandb sync` reads in the offline files, and what a server is sent."""

import glob
import os
import subprocess
import sys
import unittest

from fake_wandb import FakeWandb
from tracked_run import TrackedRunTest

try:
    import wandb
except ImportError as missing:
    wandb = None
    print("SKIPPED: %s" % missing)

CLIENT = {"WANDB_API_KEY": "0" * 40, "WANDB_ERROR_REPORTING": "false"}


@unittest.skipIf(wandb is None, "SKIPPED: wandb is not there")
class WandbTest(TrackedRunTest):
    def files(self):
        """{path: bytes} of the offline files."""
        out = {}
        for path in glob.glob(os.path.join(self.run_folder, "wandb", "offline-run-*", "run-*.wandb")):
            with open(path, "rb") as file:
                out[path] = file.read()
        return out

    def check(self, rows):
        """Whether a server was sent each value once, at its step."""
        import quench
        from quench.trackers.lines import tracked_lines
        names = {line.identity("run"): line.name for line in tracked_lines(quench.records(self.run_folder))}
        found = [((names[run], tag, row["step"]), value) for run, row in rows for tag, value in row.items()
                 if tag != "step" and not tag.startswith("_")]
        self.assertEqual(sorted(found), sorted(self.values().items()))

    def synced(self):
        with FakeWandb() as server:
            subprocess.run([sys.executable, "-m", "wandb", "sync", *map(os.path.dirname, self.files())], check=True,
                           env=self.environment(WANDB_BASE_URL=server.url, **CLIENT), cwd=self.folder, timeout=240,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return server.rows

    def test_a_second_export_changes_no_byte_and_one_of_more_replaces_what_grew(self):
        self.records(5)
        first = self.send("--to", "wandb")
        rows = self.synced()
        self.check(rows)
        before = self.files()
        self.assertEqual(self.send("--to", "wandb"), {"values": 0, "unchanged": first["new"]})
        self.assertEqual(self.files(), before)
        self.records(9)
        sent = self.send("--to", "wandb")
        self.assertGreater(sent["unchanged"], 0)
        self.assertEqual(len(self.files()), 6)
        again = self.synced()  # of the files that are unchanged it knows that they were sent
        replaced = {run for run, _ in again}
        self.check([row for row in rows if row[0] not in replaced] + again)

    def test_a_file_that_was_not_finished_is_written_again(self):
        self.send("--to", "wandb")
        note = glob.glob(os.path.join(self.run_folder, "wandb", "offline-run-*", "quench.json"))[0]
        os.remove(note)
        self.assertEqual(self.send("--to", "wandb")["new"], 1)
        self.assertEqual(len(self.files()), 6)

    def test_a_server_that_is_named_gets_each_value_once(self):
        with FakeWandb() as server:
            send = lambda: self.send("--to", "wandb", "--server", server.url, **CLIENT)
            self.records(5)
            send()
            self.check(server.rows)
            self.assertEqual(send()["values"], 0)
            self.records(9)
            send()
            self.check(server.rows)
        self.assertEqual(self.files(), {})


if __name__ == "__main__":
    unittest.main()
