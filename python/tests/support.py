"""What all tests of the package share."""

import os
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class FileTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text, name="plugin.py"):
        """The path of a file with this text."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text).lstrip("\n"))
        return path

    def work(self, text, **hello):
        """A worker that serves a file with this text."""
        from fake_host import Worker  # noqa: PLC0415, it needs numpy

        worker = Worker(self.write(text), **hello)
        self.addCleanup(worker.end)
        self.assertIsNone(worker.failed)
        return worker
