#!/usr/bin/env python3
"""Weights that quench wrote lose a bit while their size and times stay: who finds it, and what is shown until then.

usage: rotted_weights.py SOURCES BUILD

Checkpoints of a training, an average and an export, each file in its turn. `verify RUN --inputs` names the file; `verify RUN`, which reads
no inputs, does not. A run whose values are known shows them, for they are of the bytes that were there. One that has to read the file
refuses it, without --fresh as bytes that are not those of the key, and with it by its seal; but a training makes its checkpoint again.
"""
import glob
import os
import shutil
import sys
import tempfile

from swapped_scenes import EXPORTS, LOSS, Scene, Trained, flipped, lines


class Written(Scene):
    """An average and an export as the models of another run."""

    NEEDS = ("formats/gptq",)
    MAKES = """\
name: w
checkpoints: {model: steps, revisions: "step{step}"}
averaging:
  - soup: {}
    keep: true
""" + EXPORTS + LOSS
    MANIFEST = """\
name: m
checkpoints:
  model: models
  tokenizer: tokenizer.json
  branches:
    average: {model: models/average}
    export: {model: models/export}
""" + LOSS

    def make(self):
        self.make_two_checkpoints("steps")
        self.write("tokenizer.json", self.read("steps/step1/tokenizer.json"))
        self.write("v.txt", lines(7919))
        self.write("w.yaml", self.MAKES.encode())
        code, err, _ = self.run(out="made", manifest="w.yaml")
        if code != 0:
            sys.exit("nothing is written: " + err)
        for kind in ("average", "export"):
            seal = sorted(glob.glob(self.path("made", kind + "s", "**/quench.json"), recursive=True))[0]
            shutil.copytree(os.path.dirname(seal), self.path("models", kind))

    def other_contents(self):
        found = sorted(glob.glob(self.path("models/*/*.safetensors")))
        assert len(found) == 2, found
        return {os.path.relpath(path, self.folder): flipped(self.read(path), 64) for path in found}


def records(scene):
    """The lines of the last run's records."""
    out = []
    for path in glob.glob(scene.path("runs/m/records-*.jsonl")):
        with open(path, encoding="utf-8") as file:
            out += list(file)
    return out


def faults(scene, name):
    """What is wrong with what is said and shown of this file, a line each."""
    out = []

    def expect(what, holds, said):
        if not holds:
            out.append("%s, %s: %s" % (name, what, said))

    scene.reset()
    code, err, values = scene.run()
    expect("undisturbed", code == 0 and values == scene.right, err)
    rotten = scene.swap(name, scene.others[name], 1, "rots")
    found = scene.quench(["verify", "runs/m", "--inputs"], {})
    expect("whole, verify --inputs", found.returncode == 0 and " 0 do not verify\n" in found.stdout, found.stdout + found.stderr)
    found = scene.quench(["verify", "runs/m", "--inputs"], rotten)
    expect("verify --inputs", found.returncode == 1 and name in found.stdout and " 0 do not verify" not in found.stdout,
           found.stdout + found.stderr)
    found = scene.quench(["verify", "runs/m"], rotten)
    expect("verify", found.returncode == 0, found.stdout + found.stderr)
    code, err, values = scene.run(rotten)
    expect("values known", code == 0 and values == scene.right, err)

    scene.reset()
    code, err, values = scene.run(rotten)
    wrong = [key for key, value in values.items() if value != scene.right.get(key)]
    expect("nothing known", code == 1 and not wrong and "--fresh" in err, "exit code %d, %d wrong: %s" % (code, len(wrong), err))

    scene.reset()
    code, err, values = scene.run(rotten, more=("--fresh",))
    wrong = [key for key, value in values.items() if value != scene.right.get(key)]
    if isinstance(scene, Trained):
        holds = code == 0 and values == scene.right and name + ": its SHA-256 is " in err and "; making it again" in err
    else:
        holds = code == 1 and not wrong and any("as quench.json says" in record for record in records(scene))
    expect("--fresh", holds, "exit code %d, %d wrong: %s" % (code, len(wrong), err))
    return out


def main():
    sources, build = (os.path.abspath(each) for each in sys.argv[1:3])
    done, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for scene in (Trained, Written):
            if scene.lack(build):
                print("%s: left out, for want of %s" % (scene.__name__, scene.lack(build)))
                continue
            made = scene(os.path.join(os.path.realpath(folder), scene.__name__), sources, build)
            for name in sorted(made.others):
                done += 1
                wrong += faults(made, name)
    if not done:
        print("SKIPPED: nothing could be tried")
        return 77
    print("".join(line + "\n" for line in wrong) + "%d files, %d wrong" % (done, len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
