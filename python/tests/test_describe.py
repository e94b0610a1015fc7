import json
import os
import subprocess
import sys
import unittest

from support import FileTest

import quench
from quench.describe import describe, read_items


class DescribeTest(FileTest):
    def fails(self, words, text):
        with self.assertRaises(quench.Error) as failure:
            describe(self.write(text))
        for word in words:
            self.assertIn(word, str(failure.exception))

    def test_a_file_is_described_without_running_it_or_its_imports(self):
        path = self.write('''
            import quench as q
            from quench import quantizer as marked
            import a_library_that_nobody_has
            raise SystemExit("ran")

            __version__ = "1.2.3"

            @marked(bits=q.Integer(4, low=2, high=8), damp=0.01, sym=True, name="x", modules=q.Texts([]), ids=[1, 2],
                    grid=q.Choice("wide", "tight", meaning="what a grid spans"), file=q.Path(None),
                    presets={"old": {"bits": 3}}, reference="Somebody 2024, equation 5", example="{bits: 4}")
            def my_rounding(weight, bits, damp, sym, name, modules, ids, grid, file):
                """Rounds every weight.

                bits: bits per code
                """
        ''')
        done = subprocess.run([sys.executable, "-S", "-m", "quench.describe", path], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(quench.__file__))})
        self.assertEqual(done.stderr, "")
        described = json.loads(done.stdout)
        self.assertEqual(described["module"]["id"], "python.plugin")
        item, = described["items"]
        self.assertEqual({name: item[name] for name in ("kind", "id", "version", "summary", "reference", "example")},
                         {"kind": "quantizer", "id": "my_rounding", "version": "1.2.3", "summary": "Rounds every weight.",
                          "reference": "Somebody 2024, equation 5", "example": "{bits: 4}"})
        self.assertEqual(item["parameters"][0], {
            "name": "bits", "type": 1, "minimum": 2.0, "maximum": 8.0, "choices": [], "meaning": "bits per code",
            "default": 4})
        self.assertEqual([(parameter["name"], parameter["type"], parameter["default"]) for parameter in item["parameters"]], [
            ("bits", 1, 4), ("damp", 2, 0.01), ("sym", 3, True), ("name", 4, "x"), ("modules", 8, []), ("ids", 6, [1, 2]),
            ("grid", 5, "wide"), ("file", 10, None), ("preset", 5, "none")])
        self.assertEqual(item["parameters"][-1]["choices"], ["none", "old"])
        self.assertEqual(item["presets"], {"old": {"bits": 3}})
        self.assertEqual(item["model_types"], [])
        self.assertEqual(item["instance"], {"needs": 0, "functions": []})
        self.assertIn("quantize", item["functions"])

    def test_a_required_parameter_has_no_default_and_no_instance(self):
        item, = describe(self.write("""
            import quench
            @quench.quantizer(bits=quench.Integer(low=2))
            def f(weight, bits): ...
        """))["items"]
        self.assertNotIn("default", item["parameters"][0])
        self.assertIsNone(item["instance"])

    def test_a_class_is_described_by_its_attributes_and_its_bases(self):
        item = read_items(self.write('''
            import quench

            class Base:
                bits = quench.Integer(4)
                def quantize(self, linear): ...

            @quench.quantizer
            class MyMethod(Base):
                """Does it."""
                id = "my-method"
                damp: float = quench.Number(0.1, low=0)
                needs_rows = True
                constant = 2 ** 8
        '''))[0]
        self.assertEqual((item.id, list(item.parameters), item.needs), ("my-method", ["bits", "damp"], 1))

    def test_families_metrics_and_averages_are_found_in_one_file(self):
        items = describe(self.write("""
            import quench

            @quench.metric(corpus=quench.Corpus(), unit="share", direction=quench.HIGHER_IS_BETTER)
            def accuracy(model, tokens): ...

            @quench.averaging(window=3, any_order=True)
            def last_ones(members, window): ...

            @quench.model(model_types=["mine"])
            class MyFamily:
                def open(self, tensors, config): ...
                def parameters(self): ...
                def blocks(self): ...
                def embed(self, batch): ...
                def stage(self, block, stage, tensors, batch): ...
                def logits(self, h): ...
        """))["items"]
        self.assertEqual([(item["kind"], item["id"]) for item in items], [
            ("metric", "accuracy"), ("averaging", "last_ones"), ("model", "my_family")])
        self.assertEqual(items[2]["model_types"], ["mine"])
        self.assertTrue(all(item["instance"] is None for item in items))

    def test_what_is_not_literal_is_refused_with_its_line(self):
        self.fails(["plugin.py:3:", "bits", "literal"], """
            import quench
            N = 4
            @quench.quantizer(bits=N)
            def f(weight, bits): ...
        """)
        self.fails(["plugin.py:2:", "high", "literal"][:1], """
            import quench
            @quench.quantizer(bits=quench.Integer(4, high=2 ** 3))
            def f(weight, bits): ...
        """)

    def test_mistakes_in_a_file_are_named_with_their_line(self):
        head = "import quench\n"
        for words, text in (
                (["plugin.py:3:", "`wieght`"], "@quench.quantizer(bits=4)\ndef f(wieght, bits): ..."),
                (["plugin.py:3:", "`damp`", "not taken"], "@quench.quantizer(damp=0.1)\ndef f(weight): ..."),
                (["plugin.py:2:", "quench.Whole"], "@quench.quantizer(bits=quench.Whole(4))\ndef f(weight, bits): ..."),
                (["plugin.py:2:", "default of 'a'"], "@quench.quantizer(bits=quench.Integer('a'))\ndef f(weight, bits): ..."),
                (["plugin.py:2:", "None"], "@quench.quantizer(bits=None)\ndef f(weight, bits): ..."),
                (["plugin.py:3:", "`quantize`"], "@quench.quantizer\nclass A:\n  pass"),
                (["plugin.py:3:", "a class"], "@quench.model\ndef f(): ..."),
                (["plugin.py:3:", "`tokens`"], "@quench.metric(unit='1')\ndef f(model, tokens): ..."),
                (["plugin.py:5:", "already"], "@quench.quantizer\ndef f(weight): ...\n@quench.quantizer\ndef f(weight): ..."),
                (["plugin.py:2:"], "def f(:"), (["no plugin"], "x = 1")):
            with self.subTest(text):
                self.fails(words, head + text + "\n")

    def test_a_marked_function_is_left_as_it_is(self):
        @quench.quantizer(bits=4)
        def f(weight, bits):
            return weight * bits

        @quench.quantizer
        def g(weight):
            return weight

        self.assertEqual((f(2, 3), g(5)), (6, 5))


if __name__ == "__main__":
    unittest.main()
