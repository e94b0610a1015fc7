"""The code of docs/python.md is what it says."""

import os
import re
import unittest

from support import FileTest

from fake_host import PACKAGE, Worker
import numpy

from quantizer_host import Quantizer
from quench.describe import describe

PAGE = os.path.join(PACKAGE, os.pardir, "docs", "python.md")


@unittest.skipUnless(os.path.exists(PAGE), "the package is not in the source tree")
class GuideTest(FileTest):
    def setUp(self):
        super().setUp()
        with open(PAGE, encoding="utf-8") as file:
            self.blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)

    def test_every_plugin_of_the_page_can_be_described(self):
        found = [describe(self.write(block))["items"][0] for block in self.blocks]
        self.assertEqual([(item["kind"], item["id"]) for item in found], [
            ("quantizer", "my_rounding"), ("quantizer", "by_row"), ("quantizer", "by_largest_input"),
            ("metric", "next_token_loss"), ("averaging", "last_ones")])
        for item in found:
            self.assertTrue(item["summary"])
            self.assertTrue(all(parameter["meaning"] or item["id"] == "by_row" for parameter in item["parameters"]))

    def test_the_quantizers_of_the_page_quantize(self):
        weight = numpy.random.default_rng(5).standard_normal((4, 8)).astype("f4")
        for block, parameters in zip(self.blocks, ('{"bits": 4}', '{"bits": 4}', '{"bits": 4, "share": 0.25}')):
            with Worker(self.write(block)) as worker:
                quantizer = Quantizer(worker, parameters)
                state = quantizer.begin()
                if quantizer.needs():
                    quantizer.observe(state, weight)
                out, sink = quantizer.quantize(state, weight)
                self.assertLess(abs(out - weight).max(), 0.5)
                self.assertGreaterEqual(sink.numbers["bits_per_weight"], 4)


if __name__ == "__main__":
    unittest.main()
