"""Event files, read back by TensorBoard's own reader."""

import glob
import os
import signal
import struct
import subprocess
import time
import unittest

from tracked_run import TrackedRunTest

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    EventAccumulator = None
    print("SKIPPED: %s" % missing)


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


@unittest.skipIf(EventAccumulator is None, "SKIPPED: tensorboard is not there")
class TensorBoardTest(TrackedRunTest):
    def files(self):
        """{path: bytes} of all event files."""
        out = {}
        for path in glob.glob(os.path.join(self.run_folder, "tensorboard", "**", "events.*"), recursive=True):
            with open(path, "rb") as file:
                out[path] = file.read()
        return out

    def read(self):
        """{(name of a line, tag, step): value}, and how many scalars there are."""
        values, count = {}, 0
        for path in self.files():
            name = os.path.relpath(os.path.dirname(path), os.path.join(self.run_folder, "tensorboard"))
            reader = EventAccumulator(path, size_guidance={"scalars": 0})
            reader.Reload()
            for tag in reader.Tags()["scalars"]:
                for event in reader.Scalars(tag):
                    values[name, tag, event.step] = event.value
                    count += 1
        return values, count

    def check(self):
        wanted = {place: float32(value) for place, value in self.values().items()}
        self.assertEqual(self.read(), (wanted, len(wanted)))

    def test_a_second_export_changes_no_byte_and_one_of_more_replaces_what_grew(self):
        self.assertEqual(self.send("--to", "tensorboard"), {"values": 15, "new": 6})
        self.check()
        before = self.files()
        self.assertEqual(self.send("--to", "tensorboard"), {"values": 0, "unchanged": 6})
        self.assertEqual(self.files(), before)
        self.measured_again()
        sent = self.send("--to", "tensorboard")
        self.assertGreater(sent["replaced"], 0)
        self.assertGreater(sent["unchanged"], 0)
        self.check()

    def test_files_of_others_stay(self):
        other = os.path.join(self.run_folder, "tensorboard", "main", "float", "events.out.tfevents.1.other")
        os.makedirs(os.path.dirname(other))
        with open(other, "wb") as file:
            file.write(b"x")
        self.send("--to", "tensorboard")
        self.measured_again()
        self.send("--to", "tensorboard")
        self.assertIn(other, self.files())

    def test_a_file_that_was_cut_off_is_completed(self):
        self.send("--to", "tensorboard")
        path = max(self.files(), key=lambda path: len(self.files()[path]))
        os.truncate(path, os.path.getsize(path) - 3)
        self.assertEqual(self.send("--to", "tensorboard")["replaced"], 1)
        self.check()

    def test_ctrl_c_ends_following_with_all_that_came(self):
        self.records(2)
        self.status()
        process = subprocess.Popen(self.command("--to", "tensorboard", "--follow"), env=self.environment(),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertIn(" values sent", process.stdout.readline())
        self.records(9)
        self.assertIn(" values sent", process.stdout.readline())
        self.check()  # while it follows
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        self.assertEqual(process.wait(10), 130)
        self.assertLess(time.monotonic() - began, 5)
        self.check()


if __name__ == "__main__":
    unittest.main()
