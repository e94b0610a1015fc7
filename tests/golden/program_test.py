#!/usr/bin/env python3
"""The program with the plugins that were built for 1.0: each keeps the promises of its kind, and a model, a corpus, a tokenizer, a
metric, quantizers, a transform, an average and a format give the numbers that they gave then (tests/golden/1.0/program.txt).

    program_test.py QUENCH SOURCE_FOLDER [--write]
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

WRITE = sys.argv[-1] == "--write" and sys.argv.pop()
SOURCE, QUENCH = pathlib.Path(sys.argv.pop()), sys.argv.pop()
GOLDEN = SOURCE / "tests/golden/1.0"
MANIFEST = """
checkpoints: {model: checkpoint}
calibration: {few: {corpus: noise, sequences: 2, length: 32}}
quantizers:
  - golden_quantizer: {bits: 3}
  - golden_quantizer: {bits: 4}
    transform: {golden_transform: {strength: 0.5}}
  - golden_quantizer_c: {bits: 3}
    calibration: few
metrics: [golden_metric: {corpus: noise, length: 64}]
corpora: {noise: {golden_corpus: {documents: 4, length: 64, vocabulary: 256}}}
"""


class Scene:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.plugins = self.folder / "plugins"
        self.plugins.mkdir()
        for library in GOLDEN.glob("*.so"):  # others could write where a checkout lies
            (self.plugins / library.name).write_bytes(library.read_bytes())
        self.checkpoint("checkpoint")

    def checkpoint(self, name):
        subprocess.run([SOURCE / "tests/sdk/tiny_checkpoint.pl", self.folder / name, "golden_model"], check=True)

    def run(self, *words, given=None):
        done = subprocess.run([QUENCH, *words], cwd=self.folder, input=given, capture_output=True, text=True, timeout=300,
                              env={**os.environ, "QUENCH_HOME": str(self.folder / "home"), "QUENCH_PLUGIN_PATH": ""})
        if done.returncode != 0:
            raise AssertionError(f"quench {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def golden(self, *words, given=None):
        return self.run(*words, "--plugin-path", str(self.plugins), given=given)

    def lines(self):
        """What the plugins say, one line each."""
        (self.folder / "run.yaml").write_text(MANIFEST)
        records = json.loads(self.golden("run", "run.yaml", "--out", "out", "--json"))["data"]["records"]
        for record in sorted(records, key=lambda one: (one["metric"], json.dumps(one["quantizer"], sort_keys=True))):
            assert not record["error"], record["error"]
            quantizer = record["quantizer"] and f"{record['quantizer']['id']} {json.dumps(record['quantizer']['params'], sort_keys=True)}"
            yield f"{record['metric']} {quantizer or 'float'}: {record['value']!r}"
        (self.folder / "hundred.words").write_text("\n".join(map(str, range(100))))
        yield "tokenize: " + self.golden("tokenize", "hundred.words", given='"7 99 12345"\n').strip()
        for name in ("a", "b"):
            self.checkpoint(name)
        self.golden("average", "a", "b", "--scheme", "golden_averaging:window=2", "--tokenizer", "a", "-o", "mean")
        yield "average: " + hashlib.sha256((self.folder / "mean/model.safetensors").read_bytes()).hexdigest()
        self.golden("quantize", "checkpoint", "--quantizer", "golden_quantizer:bits=4", "--format", "golden_format", "-o", "written")
        yield "format: " + hashlib.sha256((self.folder / "written/model.safetensors").read_bytes()).hexdigest()


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def test_each_keeps_the_promises_of_its_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(folder)
            scene.run("plugins", "check", *map(str, sorted(scene.plugins.glob("*.so"))))

    def test_they_give_the_numbers_that_they_gave(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = list(Scene(folder).lines())
        if WRITE:
            (GOLDEN / "program.txt").write_text("\n".join(lines) + "\n")
        self.assertEqual(lines, (GOLDEN / "program.txt").read_text().splitlines())


if __name__ == "__main__":
    unittest.main()
