#!/usr/bin/env python3
"""bench/findings/witness works the pages of findings out again, notices what differs, and shares no code with what made them.

usage: witness_test.py SOURCE
"""
import ast
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
WITNESS = SOURCE / "bench/findings/witness"


def run(*arguments):
    return subprocess.run([sys.executable, WITNESS, *arguments], capture_output=True, text=True)


class Witness(unittest.TestCase):
    def test_every_row_of_the_pages_is_what_the_values_give(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = {what: int(count) for count, what in re.findall(r"^(\d+) (.*) agree$", done.stdout, re.M)}
        self.assertGreater(counts["means of rows"], 100)
        self.assertEqual(counts["means of rows"], counts["words with their p-values"])
        self.assertGreater(counts["rows of contrasts over seeds"], 200)
        self.assertRegex(done.stdout, r"not worked out: \d+ intervals over items, for which raw records are needed")

    def test_a_loss_that_is_another_is_noticed(self):
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own) / "data"
            shutil.copytree(SOURCE / "bench/findings/data", folder)
            file = folder / "token_budget_tiny.csv"
            content = file.read_text(encoding="utf-8")
            changed = re.sub(r"^(loss,,,,,late,,1200,gptq bits=3,2,loss,nats/token),.*$", r"\1,1.3", content, flags=re.M)
            self.assertNotEqual(changed, content)
            file.write_text(changed, encoding="utf-8")
            done = run("--folder", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("test 1 primary, decayed − constant, mean of three budgets: the page has", done.stderr)

    def test_it_imports_nothing_of_this_project(self):
        imported = set()
        for node in ast.walk(ast.parse(WITNESS.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.partition(".")[0])
        self.assertEqual(imported - set(sys.stdlib_module_names), {"numpy", "scipy"})


if __name__ == "__main__":
    unittest.main(verbosity=0)
