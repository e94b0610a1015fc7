"""Event files for TensorBoard, by the writer of the package `tensorboard`.

torch.utils.tensorboard is a layer over this same writer and wants torch; tensorboardX is not TensorBoard's own.
"""

import ctypes
import glob
import os
import time

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from .sending import Held, Tracker

OURS = ".quench"  # the end of the names of our files: others in the folder stay as they are


class TensorBoard(Tracker):
    """One folder for each line, so that each is one run and all have the same tags, with one file in it."""

    def __init__(self, folder):
        self.place = folder
        self._writers = {}  # name of a line: its writer
        self._last = {}  # (name of a line, tag): the last step that was written

    def _folder(self, line):
        return os.path.join(self.place, line.name)

    def _files(self, line):
        return glob.glob(os.path.join(glob.escape(self._folder(line)), "events.out.tfevents.*" + OURS))

    def values(self, line):
        """TensorBoard's scalars are float32."""
        return {place: ctypes.c_float(value).value for place, value in line.values.items()}

    def held(self, line):
        files = self._files(line)
        if len(files) != 1:  # none, or a replacement that was interrupted
            return None
        reader = EventAccumulator(files[0], size_guidance={"scalars": 0})  # 0: all of them, not a sample
        reader.Reload()
        return Held(None, {(tag, event.step): event.value
                           for tag in reader.Tags()["scalars"] for event in reader.Scalars(tag)})

    def can_add(self, line, values):
        """A step that is not beyond the last of its tag is a restart to TensorBoard, which drops what is behind it."""
        return line.name in self._writers and all(
            step > self._last.get((line.name, tag), -1) for tag, step in values)

    def begin(self, line):
        if line.name in self._writers:
            self._writers.pop(line.name).close()
        for file in self._files(line):
            os.remove(file)
        self._writers[line.name] = EventFileWriter(self._folder(line), filename_suffix=OURS)
        self._last = {place: step for place, step in self._last.items() if place[0] != line.name}

    def add(self, line, values):
        now = time.time()
        for (tag, step), value in values.items():
            scalar = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            self._writers[line.name].add_event(Event(wall_time=now, step=step, summary=scalar))
            self._last[line.name, tag] = step
        self._writers[line.name].flush()

    def finish(self):
        for writer in self._writers.values():
            writer.close()
