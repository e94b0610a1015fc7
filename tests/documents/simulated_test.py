#!/usr/bin/env python3
"""The simulations of bench/findings beside what is known in closed form.

usage: simulated_test.py SOURCE
"""
import importlib.machinery
import importlib.util
import math
import sys
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "bench/findings"))
import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

import claims  # noqa: E402
import long_table  # noqa: E402
import measures  # noqa: E402
import rules  # noqa: E402
import simulated_one_run  # noqa: E402
import verdicts  # noqa: E402


def program(name):
    loader = importlib.machinery.SourceFileLoader(name, str(SOURCE / "bench/findings" / name))
    out = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(out)
    return out


fresh_runs = program("fresh_runs")


def row_of(values, rule="above", manifest="m", text=(), **test):
    own = claims.Test(id="t", manifest=manifest, rule=rule, decides=True, sets=[{}], **test)
    return measures.Row(own, "r", "g", list(range(len(values))), np.array(values), text=list(text))


def chances(rows, seeds, runs=20000):
    found = verdicts.Verdict("open", rows=[verdicts.Decided([row], 1.0, 1.0) for row in rows])
    return fresh_runs.chances(found, seeds, runs, np.random.default_rng(1))


def power_of_t(effect, seeds):
    """That a two-sided t test at 5 % finds an effect, in deviations of a seed, with its sign."""
    return stats.nct.sf(stats.t.ppf(0.975, seeds - 1), seeds - 1, effect * math.sqrt(seeds))


class FreshRuns(unittest.TestCase):
    def test_every_claim_with_numbers_has_been_simulated(self):
        folder = long_table.read_folder(fresh_runs.DATA)
        found, of_rules = claims.read()
        measured = {claim.id: verdicts.of_claim(claim, of_rules, folder) for claim in found}
        recorded = {(row["contrast"], row["row"], row["quantity"]): row["value"] for row in folder["fresh_runs"].rows}
        again = {(row["contrast"], row["row"], row["quantity"]): float(row["value"])
                 for row in fresh_runs.rows_of(found, measured, 5000, np.random.default_rng(2))}
        self.assertEqual(set(recorded), set(again), "bench/findings/fresh_runs makes them anew")
        for place, value in again.items():
            self.assertAlmostEqual(recorded[place], value, delta=4, msg=f"{place}: bench/findings/fresh_runs makes them anew")  # 4 of 100: 5 σ

    VALUES = (1.5, 0.2, 1.1, 2.4, 0.8)  # mean 1.2

    def test_one_row_over_seeds_has_the_power_of_a_t_test(self):
        effect = np.mean(self.VALUES) / np.std(self.VALUES, ddof=1)
        for seeds in (3, 5, 8):
            got = chances([row_of(self.VALUES)], seeds)
            self.assertAlmostEqual(got["holds"], power_of_t(effect, seeds), delta=0.012)  # more than three standard errors
            self.assertAlmostEqual(chances([row_of(self.VALUES, "below")], seeds)["fails"], got["holds"], delta=0.012)

    def test_rows_of_one_run_move_together_and_those_of_two_runs_do_not(self):
        alone = chances([row_of(self.VALUES)], 5)["holds"]
        self.assertAlmostEqual(chances([row_of(self.VALUES)] * 2, 5)["holds"], alone, delta=0.012)
        apart = chances([row_of(self.VALUES), row_of(self.VALUES, manifest="n")], 5)["holds"]
        self.assertAlmostEqual(apart, alone ** 2, delta=0.012)

    def test_text_that_moves_a_row_as_far_as_its_effect_keeps_any_number_of_seeds_from_finding_it(self):
        text = [rules.Moved("items", 1.2, 1e6)]
        self.assertGreater(chances([row_of(self.VALUES)], 200, 2000)["holds"], 0.999)
        got = chances([row_of(self.VALUES, text=text)], 200, 5000)["holds"]
        self.assertAlmostEqual(got, stats.norm.sf(1.96 - 1), delta=0.03)


class OneRun(unittest.TestCase):
    def test_another_text_moves_the_mean_of_its_blocks_by_one_deviation(self):
        means = simulated_one_run.blocks(np.random.default_rng(2), 20000).mean(-1)
        self.assertAlmostEqual(means.std(), 1, delta=0.02)

    def share(self, once, runs=600):
        draw = np.random.default_rng(3)
        said = [once(draw) for _ in range(runs)]
        return {word: said.count(word) / runs for word in ("holds", "fails")}

    def test_a_draw_that_nobody_looks_at_makes_a_t_test_over_text_err_as_its_variance_says(self):
        for ratio in (0.0, 2.0):
            wanted = stats.norm.sf(1.96 / math.sqrt(1 + ratio * ratio))
            got = self.share(simulated_one_run.differences([0.0], ratio))
            for word in ("holds", "fails"):
                self.assertAlmostEqual(got[word], wanted, delta=4 * math.sqrt(wanted / 600))

    def test_a_ratio_of_slopes_is_found_where_text_tells_both(self):
        self.assertGreater(self.share(simulated_one_run.slopes(40, 40, 1.5), 60)["holds"], 0.95)
        self.assertGreater(self.share(simulated_one_run.slopes(40, 40, 0.6), 60)["fails"], 0.95)
        self.assertLess(self.share(simulated_one_run.slopes(40, 40), 60)["holds"], 0.15)


if __name__ == "__main__":
    unittest.main(verbosity=0)
