"""How two runs differ. tests/data/tables holds what the program itself told of the runs in odd_runs.py before this package
did."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import made_run
import odd_runs
import support
from quench.diff import Difference, as_json, as_text, compare, manifest_differences

SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data/tables"
MANIFESTS = manifest_differences(odd_runs.MANIFESTS["odd"], odd_runs.MANIFESTS["changed"])


class DiffTest(support.FileTest):
    def setUp(self):
        super().setUp()
        odd_runs.write_runs(self.folder)

    def compare(self, first, second):
        return compare(os.path.join(self.folder, first), os.path.join(self.folder, second))

    def ended(self, *words):
        return subprocess.run([sys.executable, SOURCE / "python/quench/start.py", "diff", *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=60)

    def known(self, text):
        """What that program told, too."""
        out = json.loads(text)
        self.assertEqual(out.pop("other_texts"), [])
        return out

    def test_values_of_other_texts_are_told_once_for_each_way(self):
        runs = [made_run.MadeRun(items=4), made_run.MadeRun(items=4)]
        for run in runs:
            for step in 100, 200:
                weights = run.weights("main", step)
                run.loss(weights)
                run.loss(weights, "rtn", 3)
        for record in runs[1].records:
            record["details"]["corpora"]["corpus"]["fingerprint"] = "beef"
        for record in runs[1].records[:1]:
            record["details"]["params"]["block"] = 64
        for name, run in zip("ab", runs):
            run.write(os.path.join(self.folder, name), {"name": name})
        one = "validation_loss with another corpus `held_out` (cafe, now beef)"
        both = "validation_loss with another block (2048, now 64) and another corpus `held_out` (cafe, now beef)"
        values = self.compare("a", "b")
        self.assertEqual(values.other_texts, {one: 3, both: 1})
        said = self.ended("a", "b").stdout
        self.assertIn("text      3 of %s: no difference of these values is one of the models\n" % one, said)
        self.assertEqual(self.compare("a", "a").other_texts, {})

    def test_it_tells_what_the_program_told(self):
        values = self.compare("odd", "changed")
        self.assertEqual(as_text(MANIFESTS, values), (DATA / "odd-changed.txt").read_text())
        self.assertEqual(self.known(json.dumps(as_json(MANIFESTS, values))), json.loads((DATA / "odd-changed.json").read_text()))

    def test_the_command_prints_the_same(self):
        self.assertEqual(self.ended("odd", "changed").stdout, (DATA / "odd-changed.txt").read_text())
        self.assertEqual(self.known(self.ended("--json", "--", "odd", "changed").stdout),
                         json.loads((DATA / "odd-changed.json").read_text()))

    def test_a_run_differs_from_itself_in_what_is_no_number_alone(self):
        values = self.compare("sweep", "sweep")
        self.assertEqual((values.changed, values.only_first, values.only_second), ([], [], []))
        odd = self.compare("odd", "odd")
        self.assertTrue(all(change.was != change.was for change in odd.changed))

    def test_leaves_of_manifests_that_differ_are_named(self):
        self.assertEqual(manifest_differences({"a": [1, {"b": 2}], "c": 1, "t": 1}, {"a": [1, {"b": 3}], "c": 1.0, "t": True}),
                         [Difference("a[1].b", 2, 3), Difference("c", 1, 1.0), Difference("t", 1, True)])
        self.assertEqual(manifest_differences({"a": [1]}, {"a": [1, 2]}), [Difference("a", [1], [1, 2])])
        self.assertEqual(manifest_differences(None, None), [])

    def test_a_manifest_that_is_damaged_is_one_line(self):
        self.write("{", os.path.join("odd", "manifest.json"))
        got = self.ended("odd", "changed")
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertRegex(got.stderr, r"^odd/manifest.json:\d+:\d+: .*\n$")


if __name__ == "__main__":
    unittest.main()
