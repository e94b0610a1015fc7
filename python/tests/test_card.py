"""The model card of a quantized folder."""

import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path

import made_run
import support  # noqa: F401, it finds the package
from quench.card import base_of, card, front_matter

SOURCE = Path(__file__).resolve().parents[2]
HAS_NUMPY = importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy")


def request(**more):
    made = made_run.MadeRun(items=60)
    weights = made.weights("main", 1000)
    return {"name": "out", "model": "hf://example/small@step1000", "commit": "0123abcd", "label": "gptq bits=3", "version": "0.1.0",
            "quantizer": {"id": "gptq", "version": "0.2.0", "sha256": "cd", "params": {"bits": 3}}, "calibration": "text=t.txt",
            "format": "gptq", "bits_per_weight": 3.15, "bytes": 1000, "scheme": None, "float": [made.loss(weights)], "quantized": [made.loss(weights, "gptq", 3)],
            "command": "quench quantize hf://example/small@step1000 -o out", **more}


class CardTest(unittest.TestCase):
    def test_the_front_matter_names_the_base_and_its_relation(self):
        text = card(request())
        self.assertTrue(text.startswith('---\nbase_model: "example/small"\nbase_model_relation: "quantized"\nquantized_by: "quench"\n'
                                        'library_name: "transformers"\ntags:\n- "quench"\n- "quantized"\n- "gptq"\n---\n'),
                        text)
        for line in ("| revision | `step1000` |", "| commit | `0123abcd` |", '| parameters | `{"bits":3}` |',
                     "| calibration | `text=t.txt` |", "\n```\nquench quantize hf://example/small@step1000 -o out\n```\n"):
            self.assertIn(line, text)
        local = card(request(model="/models/small"))
        self.assertNotIn("base_model", local)
        self.assertIn("| base | `/models/small` |", local)

    @unittest.skipUnless(HAS_NUMPY, "this Python has no numpy and scipy")
    def test_what_was_measured_has_its_interval(self):
        made = request()
        first, second = (made[side][0]["value"] for side in ("float", "quantized"))
        line = next(line for line in card(made).splitlines() if "validation_loss" in line)
        self.assertTrue(line.startswith("| `validation_loss` | `nats/token` | %.6g | %.6g | %+.3g %% (95 %% interval +"
                                        % (first, second, 100 * (second / first - 1))), line)
        self.assertNotIn("| measured |", card(request(float=[], quantized=[])))

    def test_foreign_texts_end_no_line_and_no_table(self):
        text = card(request(model="a|b\n`c`", command="quench ```\n# heading"))
        self.assertIn("| base | `a\\|b\\x0a'c'` |", text)
        self.assertIn("\n````\nquench ```\\x0a# heading\n````\n", text)
        self.assertEqual(front_matter({"a": 'x"\n---\ny: "z'}), '---\na: "x\\"\\n---\\ny: \\"z"\n---\n')
        self.assertEqual(base_of("hf://org/name@a/b"), ("org/name", "a/b"))
        self.assertEqual(base_of("org/name"), (None, None))

    @unittest.skipUnless(importlib.util.find_spec("huggingface_hub"), "SKIPPED: this Python has no huggingface_hub")
    def test_the_hubs_own_library_reads_it(self):
        from huggingface_hub import ModelCard  # noqa: PLC0415

        data = ModelCard(card(request())).data
        self.assertEqual((data.base_model, data.library_name), ("example/small", "transformers"))
        self.assertEqual(data.to_dict()["base_model_relation"], "quantized")
        self.assertEqual(data.to_dict()["quantized_by"], "quench")

    def test_a_metric_that_compares_has_a_line_without_a_float_value(self):
        made = request()
        made["float"], made["quantized"] = [None], [{**made["quantized"][0], "metric": "divergence", "label": "divergence", "value": 0.125}]
        self.assertIn("\n| `divergence` | `nats/token` |  | 0.125 |  |\n", card(made))

    def test_of_a_run_it_has_the_manifest_in_place_of_the_command(self):
        text = card(request(manifest="name: m  # ```\ncheckpoints: {}\n", command=None))
        self.assertTrue(text.endswith("\n## Manifest\n\n````yaml\nname: m  # ```\ncheckpoints: {}\n````\n"), text)
        self.assertNotIn("## Command", text)

    def test_the_command_prints_a_list_of_them(self):
        made = [request(float=[], quantized=[]), request(float=[], quantized=[], name="other")]
        got = subprocess.run([sys.executable, SOURCE / "python/quench/start.py", "card"], input=json.dumps(made), capture_output=True,
                             text=True, timeout=60)
        self.assertEqual((got.returncode, json.loads(got.stdout), got.stderr), (0, list(map(card, made)), ""))


if __name__ == "__main__":
    unittest.main()
