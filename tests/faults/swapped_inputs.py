#!/usr/bin/env python3
"""Small runs whose inputs are replaced under them: they refuse, or have the right number under the right key.

usage: swapped_inputs.py SOURCES BUILD [--seconds N] [--seed N] [--scene NAME] [--only WORD] [--flips N] [--resume FILE]

libquench_swapped.so (swapped.c) puts another file in the place of one input, at one open of it: to stay, for this one open, or so
that its bytes alone change. Every input (swapped_scenes.py) at every open in every way is one trial; with --seconds as many of
them as the time allows, in an order that the seed gives. Of each run every record must hold what an undisturbed run with one of
the two files measured under that key. Then it is run again without a fault, into a folder of its own with the same store, and all
its records must be those of the file that lies there.

With --flips the trials are other ones: one bit of an input is another from the first open on, while its size and times are as they
were. No value may be shown under the key of the file without the flip but the right one, nor may the run end by a signal.
--resume: the file that says how far flips, or the whole of the replaced inputs, have come; a process that was killed goes on from there.
"""
import argparse
import os
import random
import sys
import tempfile
import time

from swapped_scenes import SCENES
from trials import Trials


def opens(scene, name):
    """How often a run opens the input for reading; exits where none does."""
    scene.reset()
    scene.run(scene.swap(name, b""))
    if scene.counted() == 0:
        sys.exit(name + ": no run opens it")
    return scene.counted()


def with_other(scene, name):
    """The values that the run has with the other file alone, where nothing is remembered of files, and those of a mixture."""
    if scene.DAMAGES:
        return {}, {}
    scene.reset()
    os.rename(scene.path(name), scene.path("mine"))
    scene.write(name, scene.others[name])
    os.chmod(scene.path(name), os.stat(scene.path("mine")).st_mode)
    code, err, values = scene.run()
    mixed = scene.mixed()
    os.replace(scene.path("mine"), scene.path(name))
    if code != 0:
        sys.exit("%s: a run with the other file failed: %s" % (name, err))
    if values == scene.right:
        sys.exit("%s: the other file changes nothing" % name)
    return values, mixed


def again(scene, expected):
    """What is wrong with a run after the fault, or ""."""
    code, err, values = scene.run(out="runs/again")
    if code == 0 and values == expected:
        return ""
    return "run again: exit code %d, %d of %d values differ:\n%s" % (
        code, sum(values.get(key) != value for key, value in expected.items()), len(expected), err)


def trial(scene, name, way, at, theirs, mixed):
    """What is wrong with the outcome, or ""."""
    scene.reset()
    if way != "rots":  # a link changes the times, too
        os.link(scene.path(name), scene.path("mine"))
    try:
        code, err, values = scene.run(scene.swap(name, scene.others[name], at, way))
        own = values if scene.DAMAGES else theirs  # damaged bytes may be measured under a key of theirs, but under no other
        wrong = [key for key, value in values.items() if value not in (scene.right.get(key, own.get(key)), theirs.get(key), mixed.get(key))]
        if wrong:
            return "exit code %d, %d of %d values are of neither file:\n%s" % (code, len(wrong), len(values), err)
        if code not in (0, 1) or (code == 0 and len(values) < len(scene.right)):
            return "exit code %d, %d of %d values:\n%s" % (code, len(values), len(scene.right), err)
        if scene.left():
            return "exit code %d: %s" % (code, scene.left())
        stays = way == "stays" and scene.counted() >= at and not scene.DAMAGES
        return again(scene, theirs if stays else scene.right)
    finally:
        if way != "rots":
            os.replace(scene.path("mine"), scene.path(name))  # which does nothing between two names of one file
            if os.path.exists(scene.path("mine")):
                os.remove(scene.path("mine"))


def flip(scene, name, bit):
    """What is wrong with the outcome of a run whose input has one other bit, or ""; and what it said."""
    scene.reset()
    content = bytearray(scene.read(name))
    content[bit // 8] ^= 1 << bit % 8
    code, err, values = scene.run(scene.swap(name, bytes(content), 1, "rots"))
    wrong = [key for key, value in values.items() if value != scene.right.get(key, value)]
    outcome = "refused" if code else "under keys of its own" if set(values) - set(scene.right) else "without effect"
    if wrong:
        return outcome, "exit code %d, %d of %d values are wrong under the old key:\n%s" % (code, len(wrong), len(values), err)
    if code not in (0, 1, 2):
        return outcome, "exit code %d:\n%s" % (code, err)
    return outcome, again(scene, scene.right)


class Clock:
    def __init__(self, seconds):
        self.start, self.seconds = time.monotonic(), seconds

    def is_over(self, share):
        return time.monotonic() - self.start > self.seconds * share


def swaps_of(scenes, only):
    """Every input at every open in every way. A rename changes times and so ends what is remembered of a file: bytes that rot come first."""
    trials = []
    for scene in scenes:
        for name in sorted(scene.others):
            if only in name:
                values, count = with_other(scene, name), opens(scene, name)
                trials += [(scene, name, way, at, values) for at in range(1, count + 1) for way in scene.WAYS]
                print("%s, %s: %d opens" % (type(scene).__name__, name, count), flush=True)
        scene.reset()
        scene.know()  # to put the other file there and back ended what was remembered of it
    return sorted(trials, key=lambda each: each[2] != "rots")


def swap(scene, name, way, at, values):
    fault = trial(scene, name, way, at, *values)
    return fault and "%s, %s at open %d: %s" % (name, way, at, fault)


def swap_each(trials, counted):
    for number in counted.numbers():
        counted.ended(trials[number][2], swap(*trials[number]))
    return counted.conclude()


def swap_some(trials, seconds, seed):
    """As many as there is time for, without what it took to try all once; those that rot have most of it."""
    shuffled = sorted(random.Random(seed).sample(trials, len(trials)), key=lambda each: each[2] != "rots")
    clock = Clock(seconds)
    done = faults = 0
    for each in shuffled:
        if clock.is_over(0.6 if each[2] == "rots" else 1):
            continue
        fault = swap(*each)
        done += 1
        if fault:
            faults += 1
            print(fault, flush=True)
    print("%d of %d trials, %d wrong (seed %d)" % (done, len(trials), faults, seed))
    return 1 if faults or not done else 0


def flip_some(scenes, only, seed, trials):
    inputs = [(scene, name) for scene in scenes if "rots" in scene.WAYS for name in sorted(scene.others) if only in name]
    for number in trials.numbers():
        chance = random.Random("%d %d" % (seed, number))
        scene, name = chance.choice(inputs)
        bit = chance.randrange(8 * os.path.getsize(scene.path(name)))
        outcome, fault = flip(scene, name, bit)
        trials.ended(outcome, fault and "%s, bit %d: %s" % (name, bit, fault))
    return trials.conclude()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="", help="a part of an input's name")
    arguments.add_argument("--scene", default="", help="the name of a class in swapped_scenes.py")
    arguments.add_argument("--flips", type=int)
    arguments.add_argument("--resume")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = os.path.abspath(given.build)
        wanted = [scene for scene in SCENES if given.scene in ("", scene.__name__)]
        for scene in wanted:
            if scene.lack(build):
                print("%s: left out, for want of %s" % (scene.__name__, scene.lack(build)), flush=True)
        scenes = [scene(os.path.join(os.path.realpath(folder), scene.__name__), os.path.abspath(given.sources), build)
                  for scene in wanted if not scene.lack(build)]
        what = "of %s%s" % (given.scene or "all scenes", given.only and " in " + given.only)
        if given.flips is not None:
            return flip_some(scenes, given.only, given.seed, Trials("flips " + what, given.flips, given.seed, given.seconds, given.resume))
        trials = swaps_of(scenes, given.only)
        if given.seconds is not None:
            return swap_some(trials, given.seconds, given.seed)
        return swap_each(trials, Trials("replaced inputs " + what, len(trials), given.seed, resume=given.resume))


if __name__ == "__main__":
    sys.exit(main())
