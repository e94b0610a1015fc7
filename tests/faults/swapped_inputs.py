#!/usr/bin/env python3
"""A small run whose inputs are replaced under it: it refuses, or has the right number under the right key.

usage: swapped_inputs.py SOURCES BUILD [--seconds N] [--seed N] [--only WORD]

libquench_swapped.so (swapped.c) puts another file in the place of one input, at one open of it: to stay, for this one open, or so
that its bytes alone change. Every input at every open in every way is one trial; with --seconds as many of them as the time
allows, in an order that the seed gives. Of each run every record must hold what an undisturbed run with one of the two files
measured under that key. Then it is run again without a fault, into a folder of its own with the same store, and all its records
must be those of the file that lies there.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

MANIFEST = """\
name: m
checkpoints: {model: models, revisions: "step{step}"}
calibration: {rows: {corpus: c, sequences: 2, length: 16}}
averaging:
  - soup: {}
quantizers:
  - template_quantizer: {bits: 4}
    calibration: rows
metrics:
  - validation_loss: {corpus: v, block: 16}
  - tasks: {tasks: [sums], files: sums.yaml, data: data, shots: 0}
corpora: {v: {text: {path: texts, split: line}}, c: {text: {path: c.txt}}}
"""
TASK = """\
task: sums
version: 1
data: {paths: [sums]}
splits: [test]
prompt: "{{question}}"
choices: "{{choices}}"
answer: "{{answer}}"
scores: [acc]
"""
INPUTS = ["models/step1/model.safetensors", "models/step2/model.safetensors", "models/step1/config.json",
          "models/step2/tokenizer.json", "texts/a.txt", "texts/b.txt", "c.txt", "sums.yaml", "data/sums/test.jsonl"]
WAYS = ["rots", "stays", "returns"]
RACY = 2.5  # seconds after which the program believes a file's times


def task_row(answer):
    return json.dumps({"question": "1+1", "choices": ["1", "2"], "answer": answer}) + "\n"


def lines(factor):
    return "".join("row %d\n" % (i * factor % 1000) for i in range(40))


def flipped(content, at):
    """One bit of the lowest byte of the float at this distance from the end: a small change of the value."""
    out = bytearray(content)
    out[len(out) - at] ^= 0x40
    return bytes(out)


class Scene:
    def __init__(self, folder, sources, build):
        self.folder, self.build = folder, build
        os.makedirs(os.path.join(folder, "models"))
        for step in ("step1", "step2"):
            subprocess.run(["perl", os.path.join(sources, "tests/sdk/tiny_checkpoint.pl"),
                            os.path.join(folder, "models", step), "template_model"], check=True)
        second = os.path.join(folder, "models/step2/model.safetensors")
        self.write("models/step2/model.safetensors", flipped(open(second, "rb").read(), 64))
        for name, text in (("m.yaml", MANIFEST), ("texts/a.txt", lines(7919)), ("texts/b.txt", lines(104729)), ("c.txt", lines(31)),
                           ("sums.yaml", TASK), ("data/sums/test.jsonl", task_row(1))):
            self.write(name, text.encode())

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def other(self, name):
        """Another content of the input, of the same size, which gives other values."""
        content = self.read(name)
        if name.endswith(".safetensors"):
            return flipped(content, 6000)
        if name.endswith("config.json"):
            return content.replace(b'"hidden_size": 32', b'"hidden_size":  32')
        if name.endswith("tokenizer.json"):  # two ids change places
            return content.replace(b'"\\u0030": 48', b'"\\u0030": 49').replace(b'"\\u0031": 49', b'"\\u0031": 48')
        if name == "sums.yaml":
            return content.replace(b'"{{question}}"', b'"so {{question}}"')
        if name.endswith(".jsonl"):
            return task_row(0).encode()
        return content.replace(b"row 1", b"row 2").replace(b"row 3", b"row 4")

    def run(self, swap=None, out="runs/m"):
        """The exit code, stderr and, of each value, {(key, metric, index): value}."""
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "QUENCH_HOME": self.path("home"),
                       "QUENCH_PLUGIN_PATH": os.path.join(self.build, "template"), **(swap or {})}
        if "QUENCH_ISA" in os.environ:
            environment["QUENCH_ISA"] = os.environ["QUENCH_ISA"]
        if swap is not None:
            environment["LD_PRELOAD"] = os.path.join(self.build, "tests/libquench_swapped.so")
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        program = os.path.join(self.build, "bin/quench")
        ran = subprocess.run([program, "run", "m.yaml", "--out", out, "--threads", "1", "--json"], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=600)
        values = {}
        data = json.loads(ran.stdout)["data"] if ran.stdout else None
        for record in (data or {}).get("records", []):
            if record["key"] and record["value"] is not None and not record["metric"].endswith("error"):
                values[(record["key"], record["metric"], record["index"])] = record["value"]
        return ran.returncode, ran.stderr, values

    def reset(self):
        """Forgets all runs, and keeps what is remembered of files and plugins."""
        shutil.rmtree(self.path("runs"), ignore_errors=True)
        shutil.rmtree(self.path("home"), ignore_errors=True)
        shutil.copytree(self.path("known"), self.path("home"))

    def know(self):
        self.run()  # probes the plugins
        time.sleep(RACY)
        shutil.rmtree(self.path("home/records"), ignore_errors=True)
        shutil.rmtree(self.path("runs"), ignore_errors=True)
        code, err, self.right = self.run()
        if code != 0 or not self.right:
            sys.exit("the undisturbed run failed: " + err)
        for folder in ("records", "tokens", "partial"):
            shutil.rmtree(self.path("home", folder), ignore_errors=True)
        shutil.rmtree(self.path("known"), ignore_errors=True)
        shutil.move(self.path("home"), self.path("known"))


def opens(scene, name):
    """How often a run opens the input for reading; exits where none does."""
    scene.reset()
    log = scene.path("count")
    if os.path.exists(log):
        os.remove(log)
    scene.run({"QUENCH_SWAP_FILE": scene.path(name), "QUENCH_SWAP_LOG": log})
    if not os.path.exists(log) or os.path.getsize(log) == 0:
        sys.exit(name + ": no run opens it")
    return os.path.getsize(log)


def with_other(scene, name):
    """The values that the run has with the other file alone, where nothing is remembered of files."""
    scene.reset()
    shutil.rmtree(scene.path("home/fingerprints"), ignore_errors=True)
    scene.write("by", scene.others[name])
    code, err, values = scene.run({"QUENCH_SWAP_FILE": scene.path(name), "QUENCH_SWAP_LOG": scene.path("count"),
                                   "QUENCH_SWAP_AT": "1", "QUENCH_SWAP_BY": scene.path("by"), "QUENCH_SWAP_HOW": "rots"})
    os.remove(scene.path("count"))
    if code != 0:
        sys.exit("%s: a run with the other file failed: %s" % (name, err))
    if values == scene.right:
        sys.exit("%s: the other file changes nothing" % name)
    return values


def trial(scene, name, way, at, theirs):
    """What is wrong with the outcome, or ""."""
    scene.reset()
    log, by = scene.path("count"), scene.path("by")
    if os.path.exists(log):
        os.remove(log)
    scene.write("by", scene.others[name])
    if way != "rots":  # a link changes the times, too
        os.link(scene.path(name), scene.path("mine"))
    swap = {"QUENCH_SWAP_FILE": scene.path(name), "QUENCH_SWAP_LOG": log, "QUENCH_SWAP_AT": str(at), "QUENCH_SWAP_BY": by,
            "QUENCH_SWAP_HOW": way}
    try:
        code, err, values = scene.run(swap)
        wrong = [key for key, value in values.items() if value not in (scene.right.get(key), theirs.get(key))]
        if wrong:
            return "exit code %d, %d of %d values are of neither file:\n%s" % (code, len(wrong), len(values), err)
        if code not in (0, 1) or (code == 0 and len(values) < len(scene.right)):
            return "exit code %d, %d of %d values:\n%s" % (code, len(values), len(scene.right), err)
        expected = theirs if way == "stays" and os.path.getsize(log) >= at else scene.right
        code, err, values = scene.run(out="runs/again")
        if code != 0 or values != expected:
            return "run again: exit code %d, %d of %d values differ:\n%s" % (
                code, sum(values.get(key) != value for key, value in expected.items()), len(expected), err)
        return ""
    finally:
        if way != "rots":
            os.replace(scene.path("mine"), scene.path(name))  # which does nothing between two names of one file
            if os.path.exists(scene.path("mine")):
                os.remove(scene.path("mine"))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sources")
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(os.path.realpath(folder), os.path.abspath(given.sources), os.path.abspath(given.build))
        scene.others = {name: scene.other(name) for name in INPUTS}
        for name, content in scene.others.items():
            assert content != scene.read(name), name
        start = time.monotonic()
        scene.know()
        inputs = [name for name in INPUTS if given.only in name]
        shuffled = random.Random(given.seed)
        done, faults, planned = 0, 0, 0
        theirs = {name: with_other(scene, name) for name in inputs}
        # A rename changes times and so ends what is remembered of a file: bytes that rot come first.
        for ways, share in ((WAYS[:1], 0.5), (WAYS[1:], 1)):
            trials = [(name, way, at) for name in inputs for at in range(1, opens(scene, name) + 1) for way in ways]
            planned += len(trials)
            if given.seconds is not None:
                shuffled.shuffle(trials)
            for name, way, at in trials:
                if given.seconds is not None and time.monotonic() - start > given.seconds * share:
                    break
                fault = trial(scene, name, way, at, theirs[name])
                done += 1
                if fault:
                    faults += 1
                    print("%s, %s at open %d: %s" % (name, way, at, fault), flush=True)
        print("%d of %d trials, %d wrong (seed %d)" % (done, planned, faults, given.seed))
        return 1 if faults or not done else 0


if __name__ == "__main__":
    sys.exit(main())
