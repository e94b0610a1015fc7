#!/usr/bin/env python3
"""Holds the page of methods and families against its numbers, the numbers against each other, and the names against the program.

usage: methods_test.py SOURCE PROGRAM
"""
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, PROGRAM = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
FOLDER = SOURCE / "bench/methods"
DATA, PAGE = FOLDER / "data", SOURCE / "docs/methods_by_family.md"
sys.path.insert(0, str(FOLDER))
import models  # noqa: E402
import settings  # noqa: E402

FLOAT_APART = 2e-6  # nats between a float model's loss here and in the library that trained it; its README says 1e-6 of its own forwards
LINES_APART = 0.25  # share by which lines of source may have changed since they were counted


def program_of(name):
    loader = importlib.machinery.SourceFileLoader(name, str(FOLDER / name))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(program)
    return program


page, costs, scales, table = program_of("page"), program_of("costs"), program_of("scales"), program_of("table")


def numbers(name="table.json"):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


class Methods(unittest.TestCase):
    def setUp(self):
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        self.folder = Path(own.name) / "data"
        shutil.copytree(DATA, self.folder)

    def filled(self):
        return page.Page(self.folder).fill((FOLDER / "page.in").read_text(encoding="utf-8"))

    def change(self, name, change):
        file = self.folder / name
        held = json.loads(file.read_text(encoding="utf-8"))
        change(held)
        file.write_text(json.dumps(held), encoding="utf-8")

    def test_the_page_is_what_the_numbers_make(self):
        self.assertEqual(self.filled(), PAGE.read_text(encoding="utf-8"), "run bench/methods/page")

    def test_every_number_of_the_table_is_on_the_page(self):
        made = page.Page(self.folder)
        names = {trained: made.names(trained) for trained in (False, True)}
        for key in settings.BY_KEY:
            for trained, of in names.items():
                before = made.families(trained)
                for name in of:
                    made.table["cells"][key][name] = {"loss": 9.0, "delta": 12.345, "stderr": 0.1, "bits": 4}
                self.assertEqual(made.families(trained).count("1234") - before.count("1234"), len(of), key)

    def test_a_cell_that_is_missing_is_counted_and_shown(self):
        before = self.filled().count("| ·")
        self.change("table.json", lambda held: held["cells"]["rtn 4"].pop("apertus"))
        after = self.filled()
        self.assertEqual(after.count("| ·"), before + 1)
        self.assertRegex(after, r"and \d+ \(·\) are not measured yet")

    def test_every_quantizer_that_the_program_lists_is_in_the_table_and_no_other(self):
        listed = subprocess.run([PROGRAM, "plugins", "list", "--json"], capture_output=True, text=True, check=True)
        plugins = json.loads(listed.stdout)["data"]["plugins"]
        there = {kind: {plugin["id"] for plugin in plugins if plugin["kind"] == kind} for kind in ("quantizer", "transform", "model")}
        self.assertEqual({setting.method for setting in settings.ALL}, there["quantizer"])
        self.assertEqual({id_ for setting in settings.ALL for id_ in setting.transform or ()}, there["transform"])
        absent = re.search(r"Not measured yet: ([\w, ]+)\.", PAGE.read_text(encoding="utf-8"))
        absent = set(absent[1].split(", ")) if absent else set()
        self.assertEqual({model["family"] for model in numbers()["models"].values()} | absent, there["model"])

    def test_a_float_model_has_the_loss_of_the_library_that_trained_it(self):
        compared = 0
        for name, model in numbers()["models"].items():
            if model["reference"] is not None:
                compared += 1
                self.assertAlmostEqual(model["float"], model["reference"], delta=FLOAT_APART, msg=name)
        self.assertGreater(compared, 1)

    def test_an_error_is_the_relative_increase_of_the_loss(self):
        held = numbers()
        for key, cells in held["cells"].items():
            for name, cell in cells.items():
                if "loss" in cell:
                    self.assertAlmostEqual(cell["delta"], cell["loss"] / held["models"][name]["float"] - 1, delta=1e-12, msg=f"{key}, {name}")

    def test_what_rotates_and_rounds_nothing_changes_nothing(self):
        for name, cell in numbers()["cells"]["control: rotate all"].items():
            if "loss" in cell:
                self.assertLess(abs(cell["delta"]), 1e-5, name)

    def test_more_bits_of_one_method_lose_less(self):
        cells = numbers()["cells"]
        for more, fewer in (("rtn 8", "rtn 4"), ("rtn 4", "rtn 3"), ("cache int8", "cache int4"), ("cache int4", "cache int2"),
                            ("inputs int8", "inputs int4")):
            for name in cells[more]:
                if "delta" in cells[more][name] and "delta" in cells[fewer].get(name, {}):
                    self.assertLess(abs(cells[more][name]["delta"]), abs(cells[fewer][name]["delta"]), f"{more}, {name}")

    def test_a_package_measured_the_checkpoint_that_was_measured_here(self):
        held = numbers()
        for file in sorted((DATA / "references").glob("*.json")):
            theirs = json.loads(file.read_text(encoding="utf-8"))
            self.assertTrue(theirs["versions"])
            for name, model in theirs["floats"].items():
                if "failed" not in model and name in held["models"]:
                    self.assertAlmostEqual(model["loss"], held["models"][name]["float"], delta=1e-5, msg=f"{file.stem}, {name}")

    def test_methods_without_a_search_have_the_loss_of_the_package(self):
        held = numbers()
        compared = 0
        for package, keys, apart in (("bitsandbytes", ("nf4", "fp4"), 1e-6), ("torchao", ("rtn mxfp4",), 1e-6)):
            theirs = numbers(f"references/{package}.json")["cells"]
            for key in keys:
                for name, cell in theirs[key].items():
                    ours = held["cells"][key].get(name, {})
                    if "loss" in cell and "loss" in ours:
                        compared += 1
                        self.assertAlmostEqual(ours["loss"], cell["loss"], delta=apart, msg=f"{key}, {name}")
        self.assertGreater(compared, 2)

    def test_lines_were_counted_in_folders_that_are_there(self):
        now = costs.all_lines(SOURCE)
        held = numbers("costs.json")["lines"]
        self.assertEqual(set(held), set(now), "run bench/methods/costs --lines")
        for folder, one in held.items():
            self.assertLessEqual(abs(one["lines"] - now[folder]["lines"]), LINES_APART * now[folder]["lines"],
                                 f"{folder}: run bench/methods/costs --lines")

    def test_a_value_that_is_not_the_files_is_told(self):
        held = {"cells": {"rtn 4": {"llama": {"loss": 1.0}}, "nf4": {"llama": {"refused": "why"}}}}
        said = table.differences({"rtn 4": {"loss": 1.00001}, "nf4": {"loss": 1.0}, "fp4": {"loss": 1.0}}, held, "llama")
        self.assertEqual(len(said), 3)
        self.assertIn("got 1.000010000, wanted 1.000000000", said[0])
        self.assertIn("wanted 'why'", said[1])
        self.assertIn("not in the file", said[2])
        self.assertEqual(table.differences({"rtn 4": {"loss": 1.0 + 1e-7}}, held, "llama"), [])

    def test_numpy_rounds_ternary_weights_to_the_loss_that_is_in_the_table(self):
        held, found = numbers()["cells"]["rtn ternary"], numbers("ternary.json")["models"]
        both = sorted(name for name in set(held) & set(found) if "delta" in held[name])
        self.assertGreater(len(both), 1)
        for name in both:
            self.assertAlmostEqual(held[name]["delta"], found[name]["rtn absmean"]["delta"], delta=1e-7, msg=name)

    def test_numpy_finds_the_scales_of_least_error_of_ternary_weights(self):
        """It searches in steps of 0.01 absmean, so the scales are not the same to the bit."""
        held, found = numbers("scales.json"), numbers("ternary.json")["models"]
        both = sorted(set(held) & set(found))
        self.assertGreater(len(both), 1)
        for name in both:
            self.assertAlmostEqual(held[name]["rtn ternary 2"]["delta"], found[name]["rtn least"]["delta"], delta=5e-4, msg=name)

    def test_the_table_of_scales_is_what_the_numbers_make(self):
        shown = (SOURCE / "docs/number_formats.md").read_text(encoding="utf-8")
        held = numbers("scales.json")
        self.assertIn("\n".join(scales.rows(held)), shown, "run bench/methods/scales --print")
        without = numbers()["cells"]
        compared = 0
        for name, cells in held.items():
            for key in ("rtn ternary", "gptq ternary", "rtn nvfp4", "gptq nvfp4", "rtn mxfp4", "gptq mxfp4", "rtn fp8_e4m3"):
                if "delta" in without[key].get(name, {}):
                    compared += 1
                    self.assertAlmostEqual(cells[f"{key} 0"]["delta"], without[key][name]["delta"], delta=1e-6, msg=f"{key}, {name}")
        self.assertGreater(compared, 20)

    def test_prose_holds_no_measured_number(self):
        prose = re.sub(r"\{\{.*?\}\}|arXiv [\d.]+", "", (FOLDER / "page.in").read_text(encoding="utf-8"))
        self.assertEqual(re.findall(r"[+−±]\s?\d+\.\d+|\d+\.\d{2,}|\d+\.\d+ %", prose), [], "these belong into a hole")


if __name__ == "__main__":
    unittest.main(verbosity=0)
