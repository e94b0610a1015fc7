"""The table of expected values beside a manifest, and what the end of a run says of it."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import made_run
import support

MISSING = [name for name in ("numpy", "scipy", "matplotlib") if importlib.util.find_spec(name) is None]
PACKAGE = os.path.join(os.path.dirname(support.__file__), os.pardir)
MANIFEST = {"name": "made", "seed": 0, "report": {"figures": ["table"]}}


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class ExpectedTest(support.FileTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.made("made", made_run.quickstart(), MANIFEST)

    def made(self, name, run, manifest):
        folder = run.write(os.path.join(self.folder, name), manifest)
        self.write(json.dumps({"manifest": os.path.join(self.folder, "m.yaml"), "name": name}), os.path.join(folder, "run.json"))
        return folder

    def table(self, **changes):
        """Writes the table of the made run, as if it had been computed with avx2, and returns its values."""
        from quench.analysis.run import Run  # noqa: PLC0415
        from quench.report.expected import cell_values, manifest_hash  # noqa: PLC0415

        run = Run(self.run_folder)
        got, isa = cell_values(run.observations)
        values = {cell: {isa: value, "portable": value + 1} for cell, value in got.items()}
        table = {"page": "README.md", "manifest": manifest_hash(run.manifest), "values": values, **changes}
        self.write(json.dumps(table), "m.expected.json")
        return values

    def agreed(self, folder=None):
        from quench.analysis.run import Run  # noqa: PLC0415
        from quench.report.expected import agreement  # noqa: PLC0415

        return agreement(Run(folder or self.run_folder), os.path.join(self.folder, "m.yaml"))

    def test_a_run_with_the_values_of_the_page_is_told_so(self):
        values = self.table()
        self.assertEqual(self.agreed(), "All %d values are those of README.md for avx2, to the last digit." % len(values))
        done = subprocess.run([sys.executable, "-B", os.path.join(PACKAGE, "quench/start.py"), "report", "--conclude", "--",
                               self.run_folder], capture_output=True, text=True, check=True)
        self.assertIn("\n" + self.agreed() + "\nreport: ", "\n" + done.stdout)

    def test_every_cell_has_a_name_of_its_own(self):
        values = self.table()
        self.assertIn("constant step300, lawa, gptq bits=3", values)
        self.assertIn("late step1200, float", values)
        self.assertEqual(len(values), 110)

    def test_one_value_in_its_last_digit_is_found_and_named(self):
        values = self.table()
        cell = "late step1200, rtn bits=3"
        values[cell]["avx2"] *= 1 + 2 ** -52
        self.table(values=values)
        self.assertRegex(self.agreed(), r"^1 of 110 values are not those of README.md for avx2, the first: late step1200, rtn bits=3: "
                         r"got [\d.]+, wanted [\d.]+\.$")

    def test_other_instructions_and_missing_cells_are_named(self):
        values = self.table()
        other = made_run.quickstart()
        for record in other.records:
            record["environment"]["isa"] = "neon"
        self.assertEqual(self.agreed(self.made("other", other, MANIFEST)),
                         "README.md has the values of avx2, portable; this run computed with neon.")
        self.table(values={**values, "late step1300, float": {"avx2": 1.0}})
        self.assertEqual(self.agreed(), "1 of the 111 values of README.md are not here, the first: late step1300, float.")

    def test_other_settings_have_nothing_to_be_compared_with_and_a_title_changes_none(self):
        self.table()
        changed = self.made("changed", made_run.quickstart(), {**MANIFEST, "seed": 1})
        renamed = self.made("renamed", made_run.quickstart(), {**MANIFEST, "name": "mine", "report": {"title": "Mine"}})
        self.assertEqual((self.agreed(changed), self.agreed(renamed)[:4]), ("", "All "))

    def test_a_file_that_is_no_table_says_nothing(self):
        for text in ("", "[]", "{}", '{"manifest": 3}'):
            self.write(text, "m.expected.json")
            self.assertEqual(self.agreed(), "")


if __name__ == "__main__":
    unittest.main()
