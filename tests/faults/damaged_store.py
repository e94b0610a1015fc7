#!/usr/bin/env python3
"""What trainings and runs share is damaged, file by file: the next run makes it again and ends right the first time.

usage: damaged_store.py SOURCES BUILD [--seconds N] [--seed N]

A run trains, averages and exports. Then one byte of one file of its home is another, the run's folder is gone, and the run is started
again: code 0, the values of the first one, and its average and exports whole. Without --seconds every file has its turn.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time

from swapped_scenes import EXPORTS, Training


class Store(Training):
    KEPT = ("training", "tokens", "fingerprints", "records")
    MANIFEST = Training.MANIFEST.replace("  - soup: {}\n", "  - soup: {}\n    keep: true\n" + EXPORTS)

    def know(self):
        code, err, self.right = self.run()
        if code != 0 or not self.right:
            sys.exit("the undisturbed run ended with %d: %s" % (code, err))
        shutil.copytree(self.path("home"), self.path("whole"), symlinks=True)
        shutil.copytree(self.path("runs/m/averages"), self.path("made/averages"))
        shutil.copytree(self.path("runs/m/exports"), self.path("made/exports"))

    def other_contents(self):
        return {}

    def files(self):
        out = []
        for kept in self.KEPT:
            for folder, _, names in os.walk(self.path("whole", kept)):
                out += [os.path.relpath(os.path.join(folder, name), self.path("whole")) for name in sorted(names)]
        return sorted(name for name in out if os.path.getsize(self.path("whole", name)))

    def damaged(self, name, chance, keeps_values):
        """What is wrong with the run on a home in which that file is damaged, or ""."""
        for folder in ("runs", "home"):
            shutil.rmtree(self.path(folder), ignore_errors=True)
        shutil.copytree(self.path("whole"), self.path("home"), symlinks=True)
        if not keeps_values:
            shutil.rmtree(self.path("home/records"))
        content = bytearray(self.read(os.path.join("home", name)))
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        self.write(os.path.join("home", name), bytes(content))
        code, err, values = self.run()
        if code != 0 or values != self.right:
            return "exit code %d, %d of %d values:\n%s" % (code, sum(values.get(k) == v for k, v in self.right.items()), len(self.right), err)
        for folder, _, names in os.walk(self.path("made")):
            for each in names:
                made = os.path.relpath(os.path.join(folder, each), self.path("made"))
                if not os.path.exists(self.path("runs/m", made)):
                    return made + " is missing:\n" + err
                if each.endswith(".safetensors") and self.read(os.path.join("made", made)) != self.read(os.path.join("runs/m", made)):
                    return made + " is another one"
        return ""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    build = os.path.abspath(given.build)
    if Store.lack(build):
        print("SKIPPED: the build has no " + Store.lack(build))
        return 77
    with tempfile.TemporaryDirectory() as folder:
        scene = Store(os.path.join(os.path.realpath(folder), "scene"), os.path.abspath(given.sources), build)
        chance = random.Random(given.seed)
        trials = [(name, keeps) for name in scene.files() for keeps in (False, True) if keeps or not name.startswith("records")]
        chance.shuffle(trials)
        start, done, faults = time.monotonic(), 0, 0
        for name, keeps in trials:
            if given.seconds is not None and time.monotonic() - start > given.seconds:
                break
            fault = scene.damaged(name, chance, keeps)
            done += 1
            if fault:
                faults += 1
                print("%s%s: %s" % (name, "" if keeps else ", no values known", fault), flush=True)
        print("%d of %d trials, %d wrong (seed %d)" % (done, len(trials), faults, given.seed))
        return 1 if faults or not done else 0


if __name__ == "__main__":
    sys.exit(main())
