#!/usr/bin/env python3
"""Losses of power: what a disk may hold after each write of a small run, and the same command on it.

usage: power_loss.py SOURCES BUILD [--seconds N] [--losses N] [--seed N] [--resume FILE]

libquench_recorded.so (recorded.c) records what a run writes. A loss of power falls between two of its calls. What was synced by then is
there; of what was not, each file has lost its last writes, or has zeros or nothing for them, and each folder its last changes of names,
as many as the seed says, each for itself. On every such disk the same command must end with code 0 and the values of a run that was not
disturbed, and every file of the averages and exports that it then has must have the bytes that it had then, seals included.

--resume: the file that says how far the losses have come; a process that was killed goes on from there.
"""
import argparse
import os
import posixpath
import random
import shutil
import sys
import tempfile

from swapped_scenes import EXPORTS, LOSS, Scene, lines
from trials import Trials


class Saved(Scene):
    """A run that writes records, an average and exports, and keeps hashes, tokens and values in its home."""

    MANIFEST = """\
name: m
checkpoints: {model: models, revisions: "step{step}"}
averaging:
  - soup: {}
    keep: true
""" + EXPORTS + LOSS

    def make(self):
        self.make_two_checkpoints("models")
        self.write("v.txt", lines(7919))

    def other_contents(self):
        return {}


class File:
    """A file's bytes: what is surely on the disk, and the changes since."""

    def __init__(self, content=b""):
        self.synced, self.changes = content, []

    def content(self, changes=None):
        out = bytearray(self.synced)
        for offset, data in self.changes if changes is None else changes:
            if data is None:
                del out[offset:]
                out.extend(bytes(offset - len(out)))
            else:
                out.extend(bytes(max(0, offset - len(out))))
                out[offset:offset + len(data)] = data
        return bytes(out)

    def after_loss(self, chance):
        kept = chance.choice((0, len(self.changes), chance.randint(0, len(self.changes))))
        changes = self.changes[:kept]
        if changes and changes[-1][1] and chance.random() < 0.3:  # torn
            offset, data = changes[-1]
            changes[-1] = (offset, data[:chance.randrange(len(data))])
        out = self.content(changes)
        if chance.random() < 0.3:  # the size came to the disk, the bytes did not
            out += bytes(max(0, len(self.content()) - len(out)))
        return out


class Folder:
    """A folder's names: what is surely on the disk, and the changes since, as (name, node or None)."""

    def __init__(self, names=None):
        self.synced, self.changes = names or {}, []

    def names(self, changes=None):
        out = dict(self.synced)
        for step in self.changes if changes is None else changes:
            for name, node in step:
                if node is None:
                    out.pop(name, None)
                else:
                    out[name] = node
        return out

    def after_loss(self, chance):
        return self.names(self.changes[:chance.choice((0, len(self.changes), chance.randint(0, len(self.changes))))])


class Disk:
    """The tree below a folder. A node is a File, a Folder or, of a link, the text of its target."""

    def __init__(self, root):
        self.root, self.tree = root, self.read(root)

    def read(self, path):
        if os.path.islink(path):
            return os.readlink(path)
        if os.path.isdir(path):
            return Folder({name: self.read(os.path.join(path, name)) for name in os.listdir(path)})
        with open(path, "rb") as file:
            return File(file.read())

    def place(self, path):
        """The folder and the name of a path."""
        parts = posixpath.relpath(posixpath.normpath(path), self.root).split("/")
        node = self.tree
        for part in parts[:-1]:
            node = node.names()[part]
        return node, parts[-1]

    def node(self, path):
        folder, name = self.place(path)
        return folder if name == "." else folder.names().get(name)

    def apply(self, call, path, other, number, data):
        folder, name = self.place(path)
        here = self.node(path)
        if call == "open":
            if here is None:
                folder.changes.append([(name, File())])
            elif number:
                here.changes.append((0, None))
        elif call == "write":
            if here is None:  # a log, which the C library opened by itself
                here = File()
                folder.changes.append([(name, here)])
            here.changes.append((number, data))
        elif call == "truncate":
            here.changes.append((number, None))
        elif call == "sync":
            if isinstance(here, Folder):
                here.synced, here.changes = here.names(), []
            elif here is not None:
                here.synced, here.changes = here.content(), []
        elif call == "mkdir":
            folder.changes.append([(name, Folder())])
        elif call == "symlink":
            folder.changes.append([(name, other)])
        elif call == "unlink":
            folder.changes.append([(name, None)])
        else:
            there, other_name = self.place(other)
            gone = {"link": here, "rename": None, "exchange": self.node(other)}[call]
            if there is folder:
                folder.changes.append([(name, gone), (other_name, here)])
            else:
                there.changes.append([(other_name, here)])
                folder.changes.append([(name, gone)])

    def write(self, node, path, names, content):
        if isinstance(node, Folder):
            os.makedirs(path, exist_ok=True)
            for name, inner in names(node).items():
                self.write(inner, os.path.join(path, name), names, content)
        elif isinstance(node, File):
            with open(path, "wb") as file:
                file.write(content(node))
        else:
            os.symlink(node, path)

    def same_as(self, node, path):
        if isinstance(node, Folder):
            there = set(os.listdir(path)) if os.path.isdir(path) else None
            return path if there != set(node.names()) else next(
                filter(None, (self.same_as(inner, os.path.join(path, name)) for name, inner in node.names().items())), "")
        there = self.read(path)
        same = there == node if isinstance(node, str) else isinstance(there, File) and there.synced == node.content()
        return "" if same else path


def events_of(log):
    with open(log, "rb") as file:
        text = file.read()
    out, at = [], 0
    while at < len(text):
        end = text.index(b"\n", at)
        call, path, other, number, size = os.fsdecode(text[at:end]).split("\t")
        at = end + 1 + int(size)
        if not path.endswith(" (deleted)"):
            out.append((call, path, other, int(number), text[end + 1:at]))
    return out


class Losses:
    def __init__(self, folder, sources, build):
        self.scene = Saved(folder, sources, build)
        self.whole = os.path.join(folder, "at_first")
        self.work = ("runs", "home")
        self.scene.reset()
        shutil.copytree(self.scene.path("home"), os.path.join(self.whole, "home"))
        self.set_up()
        log = os.path.join(os.path.dirname(folder), "log")
        program = {"QUENCH_RECORD": log, "QUENCH_RECORD_UNDER": folder, "LD_PRELOAD": os.path.join(build, "tests/libquench_recorded.so")}
        self.first = Disk(folder)
        code, err, values = self.scene.run(program)
        if code != 0 or values != self.scene.right:
            sys.exit("the undisturbed run ended with %d: %s" % (code, err))
        faults = self.scene.verify("runs/m").splitlines()
        if len(faults) != 1:
            sys.exit("what the undisturbed run wrote does not verify: %s" % faults)
        self.made = self.files_made()
        self.events = events_of(log)
        wrong = self.at(len(self.events))
        wrong = wrong.same_as(wrong.tree, folder)
        if wrong or not self.events:
            sys.exit("%s: is not what was recorded of it" % wrong)

    def files_made(self):
        """{path: content} of averages and exports."""
        out = {}
        for kind in ("averages", "exports"):
            for folder, _, names in os.walk(self.scene.path("runs/m", kind)):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), self.scene.folder)
                    out[path] = self.scene.read(path)
        return out

    def set_up(self):
        for name in self.work:
            shutil.rmtree(self.scene.path(name), ignore_errors=True)
        shutil.copytree(os.path.join(self.whole, "home"), self.scene.path("home"))

    def at(self, count):
        """The disk after so many events."""
        disk = Disk.__new__(Disk)
        disk.root, disk.tree = self.first.root, copied(self.first.tree)
        for event in self.events[:count]:
            disk.apply(*event)
        return disk

    def lose(self, chance):
        """How the run after one loss ended, and what is wrong with it, or ""."""
        count = chance.randint(0, len(self.events))
        disk = self.at(count)
        for name in self.work:
            shutil.rmtree(self.scene.path(name), ignore_errors=True)
        kept = disk.tree.after_loss(chance)
        for name in self.work:
            if name in kept:
                disk.write(kept[name], self.scene.path(name), lambda node: node.after_loss(chance), lambda node: node.after_loss(chance))
        os.makedirs(self.scene.path("home"), mode=0o700, exist_ok=True)
        os.chmod(self.scene.path("home"), 0o700)
        code, err, values = self.scene.run()
        attempts = [name for name in os.listdir(self.scene.path("runs/m")) if name.startswith("records-")]
        outcome = "went on" if len(attempts) > 1 else "began anew"
        place = "after event %d of %d" % (count, len(self.events))
        if code != 0 or values != self.scene.right:
            return outcome, "%s: exit code %d, %d of %d values:\n%s" % (place, code, len(values), len(self.scene.right), err)
        made = self.files_made()
        other = sorted(path for path in {**made, **self.made} if made.get(path) != self.made.get(path))
        return outcome, "%s: %s is another one:\n%s" % (place, ", ".join(other), err) if other else ""


def copied(node):
    if isinstance(node, Folder):
        return Folder({name: copied(inner) for name, inner in node.synced.items()})
    return File(node.synced) if isinstance(node, File) else node


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--losses", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--resume")
    given = arguments.parse_args()
    trials = Trials("losses of power", given.losses, given.seed, given.seconds, given.resume)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        losses = Losses(os.path.join(os.path.realpath(folder), "scene"), os.path.abspath(given.sources), os.path.abspath(given.build))
        print("%d events" % len(losses.events), flush=True)
        for number in trials.numbers():
            trials.ended(*losses.lose(random.Random("%d %d" % (given.seed, number))))
        return trials.conclude()


if __name__ == "__main__":
    sys.exit(main())
