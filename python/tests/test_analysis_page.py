"""The code of docs/analysis.md and of its notebook runs."""

import contextlib
import importlib.util
import io
import json
import os
import re
import unittest

import made_run
import support

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs")
MISSING = [name for name in ("numpy", "scipy", "pandas", "matplotlib") if importlib.util.find_spec(name) is None]


def read(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
@unittest.skipUnless(os.path.isdir(DOCS), "the package is not in the source tree")
class PageTest(support.FileTest):
    def run_blocks(self, blocks):
        """What the blocks print, one after the other, beside a run that has the names of the quickstart."""
        with open(os.path.join(DOCS, os.pardir, "configs/quickstart.yaml"), encoding="utf-8") as file:
            self.assertIn("name: quickstart", file.read())
        made_run.quickstart().write(os.path.join(self.folder, "runs/quickstart"), {"name": "quickstart", "report": {
            "contrasts": [{"a": {"as": "decayed", "branch": "late", "averaging": None, "quantizer": "rtn", "bits": 3},
                           "b": {"as": "constant rate", "branch": "constant", "averaging": None, "quantizer": "rtn",
                                 "bits": 3}, "match": ["step"], "at": "last"}]}})
        import matplotlib  # noqa: PLC0415

        matplotlib.use("agg")
        before, names, printed = os.getcwd(), {}, io.StringIO()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with contextlib.redirect_stdout(printed):
            for block in blocks:
                exec(compile(block, "block", "exec"), names)  # noqa: S102
        return printed.getvalue(), names

    def test_the_code_of_the_page_runs(self):
        printed, names = self.run_blocks(re.findall(r"```python\n(.*?)```", read("analysis.md"), re.S))
        self.assertEqual(len(names["last"]), 5)
        self.assertEqual(len(names["decay"]), 4)
        self.assertTrue((names["decay"]["mean"] > 0).all())
        self.assertIn("60 blocks, block bootstrap of 10", printed)

    def test_the_code_of_the_notebook_runs(self):
        cells = json.loads(read("analysis.ipynb"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        _, names = self.run_blocks(code)
        self.assertEqual(set(names["gptq"]["branch"]), {"constant", "early", "late"})
        self.assertEqual({line.get_label() for line in names["axes"].get_lines()}, {"constant", "early", "late"})
        self.assertFalse(any(cell.get("outputs") or cell.get("execution_count") for cell in cells))
        # a report with a changed colour and a contrast of one's own
        self.assertLess(sum(len(block.splitlines()) for block in code[:4]), 10)

    def test_the_columns_of_the_page_exist(self):
        _, names = self.run_blocks(re.findall(r"```python\n(.*?)```", read("analysis.md"), re.S))
        known = {*names["run"].frame().columns, *names["decay"].columns, "jitter", 'frame.attrs["problems"]'}
        for row in re.findall(r"^\| (`.*?) \|", read("analysis.md"), re.M):
            for name in re.findall("`(.*?)`", row):
                self.assertIn(name, known)


if __name__ == "__main__":
    unittest.main()
