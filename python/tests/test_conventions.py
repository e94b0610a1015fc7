"""Records as Every Eval Ever and lm-eval have them. tests/data/every_eval_ever holds the schema that came with its wheel 0.3.0."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import made_run
import odd_runs
import support
import quench
from quench import conventions
from quench.values import canonical

SOURCE = Path(__file__).resolve().parents[2]
NOW = 1795800000


def read_all(folder):
    return {str(path.relative_to(folder)): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(Path(folder).rglob("*.json"))}


def with_tasks():
    """A run with a loss, a quantizer and two tasks."""
    made = made_run.MadeRun(items=4, model="hf://example/small")
    weights = made.weights("main", 100)
    made.loss(weights)
    quantizer = made.loss(weights, "rtn", 3)["quantizer"]
    for method in None, quantizer:
        made.value(weights, "tasks", 0.5, [0, 1], unit="accuracy", direction=1, quantizer=method, details={
            "corpora": {}, "params": {"shots": 5}, "tasks": {
                "sciq": {"n": 2, "acc": 0.5, "acc_stderr": 0.5, "acc_norm": 0.25, "acc_norm_stderr": None, "split": "test", "version": 1},
                "piqa": {"n": 1, "acc": 1.0, "acc_stderr": None, "split": "validation", "version": 1}}})
        made.value(weights, "weights", 3.0, quantizer=method)  # neither more nor less of it is better
    return made


class ConventionsTest(support.FileTest):
    def records(self, made):
        return quench.records(made.write(os.path.join(self.folder, "run"), {}))

    def out(self):
        return os.path.join(self.folder, "out")

    @unittest.skipUnless(importlib.util.find_spec("jsonschema"), "SKIPPED: this Python has no jsonschema")
    def test_every_file_is_valid_by_the_schema_of_every_eval_ever(self):
        import jsonschema  # noqa: PLC0415

        schema = json.loads((SOURCE / "tests/data/every_eval_ever/eval.schema.json").read_text())
        self.assertEqual(schema["version"], conventions.EEE_SCHEMA)
        odd_runs.write_runs(self.folder)
        for i, records in enumerate([self.records(with_tasks()), self.records(made_run.demo()),
                                     *(quench.records(os.path.join(self.folder, name)) for name in ("odd", "sweep", "texts"))]):
            count = conventions.write_every_eval(self.out() + str(i), records, NOW)
            documents = read_all(self.out() + str(i))
            self.assertEqual(len(documents), count)
            for document in documents.values():
                jsonschema.validate(document, schema, cls=jsonschema.Draft7Validator)

    def test_a_model_is_a_file_with_all_that_was_measured_of_it(self):
        conventions.write_every_eval(self.out(), self.records(with_tasks()), NOW)
        documents = read_all(self.out())
        self.assertEqual(sorted(documents), ["example__small__step100__main.json", "example__small__step100__main__rtn__bits__3.json"])
        quantized = documents["example__small__step100__main__rtn__bits__3.json"]
        self.assertEqual(quantized["model_info"]["id"], "example/small")
        self.assertEqual(quantized["model_info"]["additional_details"]["quantizer"], "rtn bits=3")
        self.assertEqual({result["metric_config"]["metric_name"]: result["metric_config"]["lower_is_better"]
                          for result in quantized["evaluation_results"]},
                         {"validation_loss": True, "quantization_error": True, "relative_accuracy_drop": True, "tasks": False})
        error = next(result for result in quantized["evaluation_results"]
                     if result["metric_config"]["metric_name"] == "quantization_error")
        self.assertEqual(error["score_details"]["uncertainty"]["num_samples"], 4)

    def test_questions_that_could_not_be_scored_count_as_asked(self):
        made = with_tasks()
        for record in made.records:
            if record["metric"] == "tasks":
                record["unit"] = "accuracy of 3 of 4 questions"
                record["details"]["tasks"]["sciq"]["left_out"] = 1
        records = self.records(made)
        self.assertEqual([record["value"] for record in records if record["metric"] == "relative_accuracy_drop"], [0.0])
        conventions.write_lm_eval(self.out(), records, NOW)
        for document in read_all(self.out()).values():
            self.assertEqual(document["n-samples"]["sciq"], {"original": 3, "effective": 2})
            self.assertEqual(document["n-samples"]["piqa"], {"original": 1, "effective": 1})
        conventions.write_every_eval(self.out() + "2", records, NOW)
        for document in read_all(self.out() + "2").values():
            config = next(result["metric_config"] for result in document["evaluation_results"]
                          if result["metric_config"]["metric_name"] == "tasks")
            self.assertEqual((config["metric_unit"], config["min_score"], config["max_score"]),
                             ("accuracy of 3 of 4 questions", 0.0, 1.0))

    def test_results_as_lm_eval_writes_them(self):
        conventions.write_lm_eval(self.out(), self.records(with_tasks()), NOW)
        documents = read_all(self.out())
        path = "example__small__step100__main/results_2026-11-27T17-20-00.000000.json"
        self.assertEqual(len(documents), 2)
        got = documents[path]
        self.assertEqual(got["results"]["sciq"], {"alias": "sciq", "acc,none": 0.5, "acc_stderr,none": 0.5, "acc_norm,none": 0.25,
                                                  "acc_norm_stderr,none": "N/A"})
        self.assertEqual((got["n-shot"]["sciq"], got["n-samples"]["sciq"], got["versions"]["piqa"], got["higher_is_better"]["sciq"]),
                         (5, {"original": 2, "effective": 2}, 1, {"acc": True, "acc_norm": True}))
        self.assertIn("bits_per_byte,none", got["results"]["validation_loss"])
        self.assertEqual(got["config"]["model_args"], "pretrained=example/small,revision=step100,dtype=float32")

    def test_names_that_make_one_file_get_numbers(self):
        made = made_run.MadeRun(items=2, model="/a/b")
        for branch in ("x y", "x:y"):
            made.loss(made.weights(branch, 1))
        self.assertEqual(conventions.write_every_eval(self.out(), self.records(made), NOW), 2)
        self.assertEqual(sorted(read_all(self.out())), ["b__step1__x__y.json", "b__step1__x__y_2.json"])

    def test_nothing_is_overwritten(self):
        lines = b"".join(canonical(record).encode() + b"\n" for record in with_tasks().records)
        for option in "--eee", "--lm-eval":
            words = [sys.executable, SOURCE / "python/quench/start.py", "conventions", option, self.out()]
            path = os.path.join(self.folder, "lines")
            Path(path).write_bytes(lines)
            for code, out, err in ((0, self.out() + ": 2 models\n", ""),
                                   (1, "", self.out() + ": is not empty, wanted a new folder: nothing is overwritten\n")):
                with io.open(path, "rb") as file:
                    got = subprocess.run(words, stdin=file, capture_output=True, text=True, timeout=60)
                self.assertEqual((got.returncode, got.stdout, got.stderr), (code, out, err))
            os.rename(self.out(), self.out() + option)


if __name__ == "__main__":
    unittest.main()
