#!/usr/bin/env python3
"""Trains a very small run, collects it with bench/findings/collect, and works its numbers out again from the records.
Also holds the contrasts of bench/findings/claims.toml against the manifests that they are about.

usage: collect_test.py SOURCE BUILD
"""
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = (Path(argument).resolve() for argument in sys.argv[1:3])
del sys.argv[1:3]
sys.path.insert(0, str(SOURCE / "bench/findings"))
import claims  # noqa: E402
import long_table  # noqa: E402
import verdicts  # noqa: E402

QUENCH = BUILD / "bin/quench"
DOCUMENTS = 12
MANIFEST = """
name: token_budget_tiny
seed: 0
checkpoints: {model: train}
train:
  model: {model_type: gpt_neox, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2, vocab_size: 256,
          max_position_embeddings: 32, rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: true, hidden_act: gelu,
          layer_norm_eps: 1.0e-5, initializer_range: 0.02, tie_word_embeddings: false}
  corpus: text
  tokenizer: bytes
  optimizer: {adamw: {betas: [0.9, 0.95], weight_decay: 0.1}}
  lr: {schedule: constant, peak: 8.0e-3, warmup: 2}
  batch: 4
  length: 32
  steps: 16
  every: 4
  forks:
    early: {steps: 8, decay_steps: 4}
    middle: {steps: 12, decay_steps: 4}
    late: {steps: 16, decay_steps: 4}
quantizers:
  - rtn: {bits: [3, 4]}
metrics:
  - validation_loss: {corpus: text, block: 32}
corpora:
  text: {text: {path: texts}}
sweep:
  seed: [0, 1, 2]
"""


def quench(folder, *arguments):
    environment = {**os.environ, "QUENCH_HOME": f"{folder}/home", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([QUENCH, *arguments], capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode != 0:
        raise AssertionError(f"quench {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
    return done.stdout


class Collect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = tempfile.TemporaryDirectory()
        folder = Path(cls.own.name)
        (folder / "m.yaml").write_text(MANIFEST, encoding="utf-8")
        words = (SOURCE / "docs/report.md").read_text(encoding="utf-8")
        (folder / "texts").mkdir()
        for i in range(DOCUMENTS):
            (folder / f"texts/{i:02}.txt").write_text(words[1000 * i:1000 * i + 700 + 20 * i], encoding="utf-8")
        quench(folder, "run", "m.yaml", "--threads", "1", "--out", folder / "runs/token_budget_tiny")
        done = subprocess.run([sys.executable, SOURCE / "bench/findings/collect", folder / "runs/token_budget_tiny", "--quench", QUENCH,
                               "--out", folder, "--processor", "a processor"], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.documents = list(csv.reader((folder / "documents/token_budget_tiny.csv").read_text(encoding="utf-8").splitlines()))
        cls.results = long_table.Results(folder / "token_budget_tiny.csv")
        records = json.loads(quench(folder, "results", folder / "runs/token_budget_tiny", "--json"))["data"]["records"]
        cls.loss = {(r["checkpoint"]["branch"], r["checkpoint"]["step"], r["quantizer"] and r["quantizer"]["label"],
                     r["environment"]["sweep"]["seed"]): r["value"] for r in records if r["metric"] == "validation_loss"}

    @classmethod
    def tearDownClass(cls):
        cls.own.cleanup()

    def delta(self, branch, step, method, seed):
        return self.loss[branch, step, method, seed] - self.loss[branch, step, None, seed]

    def test_a_file_says_how_it_came_about(self):
        head = self.results.head
        self.assertIn("quench run configs/experiments/token_budget_tiny.yaml", head["command"])
        self.assertRegex(head["program"], r"^quench \d+\.\d+\.\d+$")
        self.assertRegex(head["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertIn("a processor", head["processor"])

    def test_a_file_says_when_its_run_began_and_of_which_text_it_is(self):
        self.assertRegex(self.results.head["began"], rf"^{self.results.head['date'][:8]}\d\dT\d\d:\d\d$")
        self.assertRegex(self.results.head["text"], r"^[0-9a-f]{12}$")

    def test_every_loss_is_the_one_of_its_record(self):
        rows = self.results.where(table="loss", quantity="loss")
        self.assertEqual(len(rows), len(self.loss))
        for row in rows:
            method = None if row["method"] == "float" else row["method"]
            self.assertAlmostEqual(row["value"], self.loss[row["branch"], int(row["step"]), method, int(row["seed"])], delta=1e-8)

    def test_what_documents_add_makes_each_loss(self):
        head, scored, *rows = self.documents
        self.assertEqual(head[6:], [f"document {i + 1}" for i in range(DOCUMENTS)])
        positions = [float(number) for number in scored[6:]]
        self.assertEqual(len(rows), len(self.loss))
        for point, branch, averaging, step, method, seed, *sums in rows:
            self.assertEqual((point, averaging), ("", ""))
            wanted = self.loss[branch, int(step), None if method == "float" else method, int(seed)]
            self.assertAlmostEqual(math.fsum(map(float, sums)) / math.fsum(positions), wanted, delta=2e-8)

    def test_intervals_over_documents_have_their_degrees_of_freedom(self):
        positions = [float(number) for number in self.documents[1][6:]]
        found = {row["value"] for row in self.results.where(table="contrast", quantity="items.freedom")}
        wanted = math.fsum(positions) ** 2 / math.fsum(n * n for n in positions) - 1
        self.assertEqual(len(found), 1)
        self.assertAlmostEqual(found.pop(), wanted, delta=1e-6)

    def test_checkpoints_have_their_learning_rate(self):
        rates = {(row["branch"], row["step"]): row["value"] for row in self.results.where(quantity="lr", seed="0")}
        self.assertEqual(len(rates), 7)
        self.assertAlmostEqual(rates["trunk", "16"], 8e-3)
        self.assertAlmostEqual(rates["late", "16"], 8e-3 / 5)  # the last of four steps

    def test_rows_of_a_contrast_are_differences_of_records_over_seeds(self):
        rows = verdicts.contrast_rows(self.results, "1")
        self.assertEqual(len(rows), 6, [row.what for row in rows])  # three forks, two widths, and nothing else
        for row in rows:
            step, bits = int(re.search(r"step (\d+)", row.what)[1]), row.what[-1]
            fork = {8: "early", 12: "middle", 16: "late"}[step]
            values = [self.delta(fork, step, f"rtn bits={bits}", seed) - self.delta("trunk", step, f"rtn bits={bits}", seed)
                      for seed in (0, 1, 2)]
            mean = sum(values) / 3
            error = math.sqrt(sum((value - mean) ** 2 for value in values) / 6)
            p = 1 - 0.05 / 6 / 2  # six rows at once; with two degrees of freedom the quantile has a closed form
            wide = (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
            self.assertAlmostEqual(row.numbers["value"], values[0], delta=1e-8)
            self.assertEqual((row.get("seeds", "n"), row.get("seeds", "comparisons")), (3, 6))
            self.assertAlmostEqual(row.get("seeds", "mean"), mean, delta=1e-8)
            self.assertAlmostEqual(row.get("seeds", "low"), mean - 4.30265273 * error, delta=1e-7)
            self.assertAlmostEqual(row.get("seeds", "high_all"), mean + wide * error, delta=1e-6)

    def test_what_cannot_be_compared_is_a_problem_with_its_reason(self):
        problems = self.results.where(table="problem", test="3")  # there is no step 1200
        self.assertTrue(problems and all("step" in row["row"] for row in problems), problems)


class Contrasts(unittest.TestCase):
    def test_every_contrast_of_a_claim_finds_its_cells_in_its_manifest(self):
        with tempfile.TemporaryDirectory() as own:
            planned = 0
            experiments = Path(own) / "configs/experiments"
            experiments.mkdir(parents=True)
            for name in ("architectures", "families"):
                (experiments / name).symlink_to(SOURCE / "configs/experiments" / name)
            for name, content in (("botocore-1.40.0/service.json", "{}\n"), ("fineweb/one.txt", "words " * 500)):  # stand in for texts that are not shipped
                fetched = Path(own) / "data" / name
                fetched.parent.mkdir(parents=True)
                fetched.write_text(content, encoding="utf-8")
            for rate in ("peak_3e4", "peak_6e4", "peak_9e4", "peak_3e3"):  # and for checkpoints that nobody has published
                for folder in (rate, f"{rate}_decayed"):
                    for step in (1000, 2000, 3000):
                        (Path(own) / f"checkpoints/olmo2_7b_learning_rate/{folder}/step{step}").mkdir(parents=True)
            for claim in claims.read()[0]:
                for test in claim.tests:
                    if not test.contrasts:
                        continue
                    text = (SOURCE / f"configs/experiments/{test.manifest}.yaml").read_text(encoding="utf-8")
                    asked = [{key: value for key, value in contrast.items() if key not in ("as", "effect")} for contrast in test.contrasts]
                    text = re.sub(r"^report:\n(?:[ #].*\n|\n)*", "", text, flags=re.M)
                    text = re.sub(r"arrow: \{path: ../../data/fineweb-edu/sample/100BT\}", "text: {path: ../../data/fineweb}", text)
                    manifest = experiments / f"{test.manifest}.yaml"
                    manifest.write_text(f"{text}\nreport: {json.dumps({'contrasts': asked})}\n", encoding="utf-8")
                    with self.subTest(test=test.id):
                        quench(own, "plan", manifest)
                        planned += 1
            self.assertGreater(planned, 20)


if __name__ == "__main__":
    unittest.main(verbosity=0)
