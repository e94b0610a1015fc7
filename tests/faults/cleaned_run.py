#!/usr/bin/env python3
"""`quench clean` beside runs that are at work: they end as if nothing had been.

usage: cleaned_run.py SOURCES BUILD [--seconds N] [--rounds N] [--seed N]

Of each round a run starts with what an earlier one left in its home, or with nothing. Until it ends, `quench clean` is called again and
again, in ways that the seed chooses, among them those that remove all that nobody holds. The run must end with code 0, the right values
and its averages and exports whole; and so must the same command once more.
"""
import argparse
import os
import random
import sys
import tempfile
import threading

from power_loss import Saved
from swapped_scenes import EXPORTS, Training
from trials import Trials

WAYS = ([], ["--max", "0K"], ["--older", "0h"], ["--training", "--older", "0h"], ["--optimizer-states", "--older", "0h"])


class Trained(Training):
    MANIFEST = Training.MANIFEST.replace("  - soup: {}\n", "  - soup: {}\n    keep: true\n" + EXPORTS)

    def other_contents(self):
        return {}


def clean_beside(scene, chance):
    """How a run ended beside which the home was cleaned, and what is wrong with that, or ""."""
    scene.reset()
    os.makedirs(scene.path("runs"))
    if chance.random() < 0.5:
        scene.run(out="runs/before")
    ended = []
    run = threading.Thread(target=lambda: ended.append(scene.run()))
    run.start()
    count, faults = 0, []
    while run.is_alive():
        words = chance.choice(WAYS)
        cleaned = scene.quench(["clean", *words], {})
        count += 1
        if cleaned.returncode not in (0, 1):
            faults.append("clean %s: exit code %d: %s" % (" ".join(words), cleaned.returncode, cleaned.stderr))
    run.join()
    again = scene.run()
    for code, err, values in (*ended, again):
        if code != 0 or values != scene.right:
            faults.append("exit code %d, %d of %d values:\n%s" % (code, len(values), len(scene.right), err))
    faults += [line for line in scene.verify("runs/m").splitlines()[:-1]]
    return "%s beside %s" % (type(scene).__name__, "one clean" if count == 1 else "several"), "; ".join(faults)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    build = os.path.abspath(given.build)
    trials = Trials("runs beside clean", given.rounds, given.seed, given.seconds)
    with tempfile.TemporaryDirectory() as folder:
        scenes = [scene(os.path.join(os.path.realpath(folder), scene.__name__), os.path.abspath(given.sources), build)
                  for scene in (Saved, Trained) if not scene.lack(build)]
        for number in trials.numbers():
            chance = random.Random("%d %d" % (given.seed, number))
            trials.ended(*clean_beside(chance.choice(scenes), chance))
        return trials.conclude()


if __name__ == "__main__":
    sys.exit(main())
