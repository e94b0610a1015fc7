"""A run's folder that grows as a test says, for the tests of trackers."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import support

from quench.run_status import identity

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "tests/data/earlier_store/run")
RECORDS = "records-0-0001-87ee99c7.jsonl"


def seal(name, body):
    """A line as quench writes it."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return '{"%s":%s,"sha256":"%s"}\n' % (name, text, hashlib.sha256(text.encode()).hexdigest())


class TrackedRunTest(support.FileTest):
    """`run`: a folder with the first records of a run that has 9, from which 6 more values derive, in 6 lines."""

    def setUp(self):
        super().setUp()
        if not os.path.isdir(SOURCE):
            self.skipTest("the package is not in the source tree")
        self.run_folder = os.path.join(self.folder, "run")
        os.mkdir(self.run_folder)
        for name in ("run.json", "manifest.json"):
            shutil.copy(os.path.join(SOURCE, name), self.run_folder)
        self.records(9)

    def records(self, count):
        with open(os.path.join(SOURCE, RECORDS), encoding="utf-8") as file:
            lines = file.readlines()[:count]
        with open(os.path.join(self.run_folder, RECORDS), "w", encoding="utf-8") as file:
            file.writelines(lines)

    def measured_again(self):
        """The first record's value is another one than before."""
        path = os.path.join(self.run_folder, RECORDS)
        with open(path, encoding="utf-8") as file:
            first, *others = file.readlines()
        record = json.loads(first)["record"]
        record["value"] += 1
        with open(path, "w", encoding="utf-8") as file:
            file.writelines([seal("record", record), *others])

    def status(self, **more):
        """What an attempt at work says of itself, but for `more`; returns the path."""
        state = {"state": "running", "process": identity(os.getpid()), "host": os.uname().nodename, "sequence": 1, **more}
        path = os.path.join(self.run_folder, "status-0-0001-87ee99c7.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(seal("status", state))
        os.replace(path + ".new", path)
        return path

    def values(self):
        """{(name of a line, tag, step): value} of all that is to be sent."""
        import quench
        from quench.trackers.lines import tracked_lines
        return {(line.name, *place): value for line in tracked_lines(quench.records(self.run_folder))
                for place, value in line.values.items()}

    def command(self, *words):
        return [sys.executable, "-m", "quench.trackers", self.run_folder, *words]

    def environment(self, **more):
        """The test's own, with the package, and a home of its own."""
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return {**os.environ, "PYTHONPATH": package, "HOME": self.folder, **more}

    def send(self, *words, **more):
        """The counts that an export prints: {"values": 15, "new": 6, ...}."""
        ended = subprocess.run(self.command(*words), env=self.environment(**more), cwd=self.folder, capture_output=True,
                               text=True, timeout=240)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        values, lines = re.search(r": (\d+) values sent; lines: (.*)\n$", ended.stdout).groups()
        counts = {kind: int(count) for count, kind in (word.split() for word in lines.split(", "))}
        return {"values": int(values), **{kind: count for kind, count in counts.items() if count}}
