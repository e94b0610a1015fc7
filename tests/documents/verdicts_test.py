#!/usr/bin/env python3
"""The rules by which bench/findings comes from numbers to verdicts, on tables made by hand.

usage: verdicts_test.py SOURCE
"""
import importlib.machinery
import importlib.util
import json
import math
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "bench/findings"))
import claims  # noqa: E402
import long_table  # noqa: E402
import paired  # noqa: E402
import run_tables  # noqa: E402
import text  # noqa: E402
import verdicts  # noqa: E402
from quench.analysis.intervals import detectable_errors, t_quantile  # noqa: E402, paired.py finds it

HEAD = {"command": "by hand", "program": "none", "date": "2026-01-01", "processor": "none"}


def numbers(mean, half, n=3, wide=None, kind="seeds", comparisons=2):
    """A spread: the plain interval has this half width, that of all rows at once `wide`, by default twice as much."""
    wide = 2 * half if wide is None else wide
    out = {"n": n, "mean": mean, "low": mean - half, "high": mean + half, "comparisons": comparisons,
           "low_all": mean - wide, "high_all": mean + wide, "detectable": 2 * half, "detectable_all": 4 * half}
    return {f"{kind}.{key}": value for key, value in out.items()}


def table_row(test, contrast, what, quantity, value, unit="nats/token", table="contrast"):
    return {"table": table, "test": test, "contrast": contrast, "row": what, "quantity": quantity, "unit": unit, "value": value}


def folder_of(**files):
    """Files of results with these rows, as they are read back."""
    with tempfile.TemporaryDirectory() as own:
        for name, rows in files.items():
            long_table.write(Path(own) / f"{name}.csv", HEAD, rows)
        return long_table.read_folder(own)


def spread_rows(test, contrast, what, *spreads):
    return [table_row(test, contrast, what, key, repr(value)) for spread in spreads for key, value in spread.items()]


def claim_of(**test):
    return claims.Claim(id="c", claim="", test="", paper="", tests=[claims.Test(**{
        "id": "t", "manifest": "m", "rule": "above", "rows": 1, **test})])


def verdict(measured, **test):
    return verdicts.of_claim(claim_of(**test), folder_of(m=measured))


class Verdicts(unittest.TestCase):
    def test_a_row_whose_every_interval_is_on_the_claimed_side_holds(self):
        found = verdict(spread_rows("t", "a − b", "r", numbers(0.10, 0.02), numbers(0.09, 0.01, 100, kind="items")))
        self.assertEqual((found.word, found.seeds, found.missing), ("holds", 3, 0))

    def test_the_other_side_fails(self):
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(-0.10, 0.02))).word, "fails")
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(-0.10, 0.02)), rule="below").word, "holds")

    def test_an_interval_that_only_holds_one_by_one_leaves_a_row_open(self):
        found = verdict(spread_rows("t", "a − b", "r", numbers(0.10, 0.06)))  # [0.04, 0.16], of all [−0.02, 0.22]
        self.assertEqual((found.word, found.counts["open"], found.one_by_one["holds"]), ("open", 1, 1))
        self.assertEqual(found.seen, {"nats/token": (0.24, 0.24)})
        self.assertIn("effects of 240 thousandths of a nat would have been seen in 4 of 5", text.verdict(found))

    def test_one_kind_of_interval_across_the_border_leaves_a_row_open(self):
        rows = spread_rows("t", "a − b", "r", numbers(0.10, 0.02), numbers(0.01, 0.02, 100, kind="items"))
        self.assertEqual(verdict(rows).word, "open")

    def test_too_few_seeds_or_none_leave_a_row_open(self):
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(0.1, 0.02, n=2))).word, "open")
        only_items = spread_rows("t", "a − b", "r", numbers(0.1, 0.02, 100, kind="items"))
        self.assertEqual(verdict(only_items).word, "open")
        self.assertEqual(verdict(only_items, seeds=0).word, "holds")

    def test_no_interval_for_so_many_rows_at_once_leaves_a_row_open(self):
        spread = {key: value for key, value in numbers(0.1, 0.02).items() if not key.endswith("_all")}
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", spread)).word, "open")

    def test_a_single_row_needs_no_wider_interval(self):
        spread = {key: value for key, value in numbers(0.1, 0.02, comparisons=1).items() if not key.endswith("_all")}
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", spread)).word, "holds")

    def test_a_claim_holds_with_all_of_its_rows_and_fails_with_one(self):
        good = spread_rows("t", "a − b", "good", numbers(0.1, 0.02))
        bad = spread_rows("t", "a − b", "bad", numbers(-0.1, 0.02))
        unclear = spread_rows("t", "a − b", "unclear", numbers(0.0, 0.02))
        self.assertEqual(verdict(good + unclear, rows=2).word, "open")
        self.assertEqual(verdict(good + unclear + bad, rows=3).word, "fails")
        self.assertEqual(verdict(good, rows=2).word, "open", "a row that nobody has measured")

    def test_a_row_without_a_number_keeps_a_claim_from_holding(self):
        rows = spread_rows("t", "a − b", "r", numbers(0.1, 0.02))
        rows.append(table_row("t", "a − b", "the float losses do not overlap", "", "", table="problem"))
        found = verdict(rows)
        self.assertEqual((found.word, found.problems), ("open", ["the float losses do not overlap"]))

    def test_what_is_open_for_want_of_a_run_names_the_run(self):
        claim = claims.Claim(id="c", claim="", test="", paper="", tests=[
            claims.Test(id="t", manifest="m", rule="above", rows=1), claims.Test(id="u", manifest="n", rule="above", rows=36)])
        found = verdicts.of_claim(claim, folder_of(m=spread_rows("t", "a − b", "r", numbers(0.1, 0.02))))
        self.assertEqual((found.word, found.unmeasured, found.missing, found.seen), ("open", {"n": 36}, 0, {}))
        self.assertIn("36 rows to be measured by a run of `n`", text.verdict(found))

    def test_rows_that_a_measured_run_does_not_give_are_counted(self):
        found = verdict(spread_rows("t", "a − b", "r", numbers(0.1, 0.02)), rows=2)
        self.assertEqual((found.word, found.missing, found.unmeasured), ("open", 1, {}))
        self.assertIn("1 row without a number", text.verdict(found))

    def test_two_rows_of_one_name_are_refused(self):
        with self.assertRaisesRegex(long_table.Wrong, "two rows a − b / r"):
            verdict(2 * spread_rows("t", "a − b", "r", numbers(0.1, 0.02)))

    def test_nothing_measured_waits_and_says_for_what(self):
        found = verdicts.of_claim(claim_of(), folder_of())
        self.assertEqual(found.word, "waits")
        self.assertEqual(text.verdict(found, "a GPU"), "**waits** for a run of `m` and a GPU")

    def test_equality_can_fail_and_stay_open_but_not_hold(self):
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(0.1, 0.02)), rule="equal").word, "fails")
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(0.0, 1e-9)), rule="equal").word, "open")

    def test_a_difference_can_hold_either_way_and_stay_open_but_not_fail(self):
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(0.1, 0.02)), rule="differs").word, "holds")
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(-0.1, 0.02)), rule="differs").word, "holds")
        self.assertEqual(verdict(spread_rows("t", "a − b", "r", numbers(0.0, 0.02)), rule="differs").word, "open")

    def test_another_border_than_zero(self):
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(1.5, 0.2)), rule="below", than=2.0).word, "holds")
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(1.5, 0.3)), rule="below", than=2.0).word, "open")
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(2.5, 0.2)), rule="below", than=2.0).word, "fails")

    def test_a_range_holds_inside_and_fails_outside(self):
        within = {"rule": "within", "low": 0.8, "high": 1.2}
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(1.0, 0.05)), **within).word, "holds")
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(1.0, 0.15)), **within).word, "open")
        self.assertEqual(verdict(spread_rows("t", "a", "r", numbers(0.5, 0.05)), **within).word, "fails")

    def test_effects_are_alike_with_one_sign_and_not_with_two(self):
        contrasts = [{"as": name, "effect": "decay"} for name in ("dense", "routed", "state-space")]

        def of(*means):
            measured = [row for name, mean in zip(("dense", "routed", "state-space"), means)
                        for row in spread_rows("t", name, "rtn", numbers(mean, 0.01))]
            return verdict(measured, rule="alike", contrasts=contrasts, rows=3)

        self.assertEqual(of(0.1, 0.1, 0.1).word, "holds")
        self.assertEqual(of(-0.1, -0.1, -0.1).word, "holds")
        self.assertEqual(of(0.1, -0.1, 0.0).word, "fails")
        self.assertEqual(of(0.1, 0.1, 0.0).word, "open")
        self.assertEqual(of(0.1, 0.1).word, "open", "an architecture that nobody has measured")

    def test_a_table_of_claims_that_contradicts_itself_is_refused(self):
        test = '[[claim]]\nid = "1"\nclaim = ""\ntest = ""\npaper = ""\n'
        rule = '[[claim.tests]]\nid = "1"\nmanifest = "m"\nrule = "{}"\nrows = {}\n'
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "claims.toml"
            for content, wanted in ((test, "has no test"), (test + rule.format("taller", 1), "'taller'"),
                                    (test + rule.format("above", 0), "rows = 0"), (test + rule.format("within", 1), "the range"),
                                    (2 * (test + rule.format("above", 1)), "one id")):
                file.write_text(content, encoding="utf-8")
                with self.assertRaisesRegex(claims.Wrong, wanted):
                    claims.read(file)


class Sentences(unittest.TestCase):
    def rows(self, *rows):
        measured = [part for contrast, what, mean in rows for part in spread_rows("t", contrast, what, numbers(mean, 0.01))]
        return verdicts.rows_of(folder_of(m=measured)["m"], "t")

    def rule(self):
        return claims.Test(id="t", manifest="m", rule="below", about="Error at the end")

    def test_a_row_is_labelled_by_what_the_rows_of_its_contrast_do_not_share(self):
        rows = self.rows(("a − b", "3 bits, step 9, rtn bits=3", 0.1), ("a − b", "3 bits, step 9, gptq bits=3", 0.1), ("c − d", "step 9", 0.1))
        self.assertEqual(run_tables.short_labels(rows), [("a − b", "rtn 3"), ("a − b", "gptq 3"), ("c − d", "")])

    def test_of_few_rows_each_has_its_interval_and_its_verdict(self):
        rows = self.rows(("a − b", "rtn bits=3", -0.1), ("a − b", "rtn bits=4", 0.01))
        self.assertEqual(run_tables.sentence(rows, self.rule()), "Error at the end, a − b (test t), in thousandths of a nat: "
                         "rtn 3 −100.00 [−120.00, −80.00], holds; rtn 4 +10.00 [−10.00, +30.00], open.")

    def test_of_many_rows_stand_the_ends_and_those_that_are_decided(self):
        rows = self.rows(*[("a − b", f"rtn bits={bits}", mean) for bits, mean in ((2, -0.1), (3, 0.0), (4, 0.01))])
        self.assertEqual(run_tables.sentence(rows, self.rule()), "Error at the end, a − b (test t), in thousandths of a nat: "
                         "−100.00 to +10.00 in 3 rows, holds in 1 and open in 2 (rtn 2 −100.00 [−120.00, −80.00]).")


class CurvatureEnds(unittest.TestCase):
    def test_the_last_step_has_its_curvature_and_the_terms_of_its_error(self):
        def rows(table, quantity, method, *of_steps):
            return [{"table": table, "branch": "trunk", "step": str(step), "method": method, "seed": str(seed), "quantity": quantity,
                     "value": repr(value)} for step, values in of_steps for seed, value in enumerate(values)]

        measured = rows("curvature", "hessian", "float", (10, (1.0, 3.0)), (20, (4.0, 6.0)))
        measured += rows("curvature", "hessian/trace", "float", (10, (1.0, 1.0)), (20, (40.0, 60.0)))
        for quantity, value in (("change", 0.05), ("slope", -0.01), ("quadratic", 0.06)):
            measured += rows("taylor", quantity, "rtn bits=3", (10, (1.0, 1.0)), (20, (value, value)))
        table = run_tables.curvature_ends(folder_of(m=measured)["m"])
        self.assertIn("| one | trunk | none | 20 | 5.0 (4.0 to 6.0) | 50.0 (40.0 to 60.0) | +50.00: −10.00, +60.00 |", table)
        self.assertEqual(run_tables.curvature_ends(folder_of(m=rows("loss", "loss", "float", (10, (1.0,))))["m"]), "")


class Tables(unittest.TestCase):
    def refused(self, change, wanted):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "m.csv"
            long_table.write(file, HEAD, [table_row("t", "a − b", "r", "value", "0.5")])
            content = file.read_text(encoding="utf-8")
            self.assertEqual(len(long_table.Results(file).rows), 1)
            file.write_text(change(content), encoding="utf-8")
            with self.assertRaisesRegex(long_table.Wrong, wanted):
                long_table.Results(file)

    def test_a_file_that_does_not_say_how_it_came_about_is_refused(self):
        self.refused(lambda content: content.replace("# command: by hand\n", ""), "do not say command")

    def test_what_is_no_number_is_refused_with_its_place(self):
        self.refused(lambda content: content.replace(",0.5", ",about a half"), r"m.csv:6: got the value 'about a half'")

    def test_other_columns_and_unknown_tables_are_refused(self):
        self.refused(lambda content: content.replace("quantity", "amount"), "got the columns")
        self.refused(lambda content: content.replace("contrast,t", "contrary,t"), "got the table 'contrary'")

    def test_a_number_that_is_there_twice_is_refused(self):
        results = folder_of(m=2 * [table_row("t", "a", "r", "value", "0.5")])["m"]
        with self.assertRaisesRegex(long_table.Wrong, "2 rows have"):
            results.value(test="t", quantity="value")


class Student(unittest.TestCase):
    def test_quantiles_are_those_of_printed_tables(self):
        for df, confidence, wanted in ((1, 0.95, 12.7062), (2, 0.95, 4.30265), (4, 0.95, 2.77645), (112, 0.95, 1.98137),
                                       (2, 0.99, 9.92484), (2, 0.999, 31.5991), (30, 0.9, 1.69726)):
            self.assertAlmostEqual(t_quantile(df, confidence) / wanted, 1, delta=3e-6)

    def test_with_two_degrees_of_freedom_the_quantile_has_a_closed_form(self):
        for confidence in (0.5, 0.95, 1 - 0.05 / 8, 1 - 0.05 / 24):
            p = (1 + confidence) / 2
            self.assertAlmostEqual(t_quantile(2, confidence) / ((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))), 1, delta=1e-8)

    def test_the_effect_that_is_seen_in_four_of_five_samples_is_seen_in_four_of_five_samples(self):
        noise = random.Random(20261125)
        effect = detectable_errors(2) / math.sqrt(3)  # three values of deviation 1
        seen, rounds = 0, 20000
        for _ in range(rounds):
            values = [noise.gauss(effect, 1) for _ in range(3)]
            mean = sum(values) / 3
            error = math.sqrt(sum((value - mean) ** 2 for value in values) / 6)
            seen += mean > 4.30265 * error
        self.assertAlmostEqual(seen / rounds, 0.8, delta=0.012)  # four standard errors

    def test_with_many_degrees_of_freedom_it_is_the_sum_of_two_normal_quantiles(self):
        self.assertAlmostEqual(detectable_errors(20000), 1.959964 + 0.841621, delta=4e-4)


def record(metric, value, seed, branch="trunk", step=10, job=0, details=None, method=None, sweep=None):
    return {"metric": metric, "label": metric, "value": value, "error": None, "draw": None, "jitter": 0, "job": job,
            "averaging": None, "quantizer": method and {"label": method}, "details": details or {},
            "checkpoint": {"branch": branch, "step": step, "revision": f"step{step}"},
            "environment": {"seed": 0, "sweep": {"seed": seed, **(sweep or {})}}}


def landscape(rise, seed, branch="trunk", **other):
    points = [{"name": "step10", "loss": 2.0}, {"name": "quantized", "loss": 2.0 + rise}]
    return record("landscape", 1.9, seed, branch, details={"points": points}, method="gptq bits=4", **other)


class Pairs(unittest.TestCase):
    PAIR = {"as": "a − b", "value": "landscape rise", "method": "gptq bits=4", "a": {"branch": "late", "step": 10},
            "b": {"branch": "trunk", "step": 10}}

    def test_seeds_are_paired_and_their_interval_is_students(self):
        records = [landscape(rise, seed, branch) for branch, rises in (("late", (5, 9, 7)), ("trunk", (4, 6, 5)))
                   for seed, rise in enumerate(rises)]
        got = paired.row_of(records, self.PAIR, 2)  # differences 1, 3, 2: mean 2, standard error 1/√3
        self.assertEqual((got["value"], got["seeds.n"], got["seeds.mean"]), (1, 3, 2))
        self.assertAlmostEqual(got["seeds.high"], 2 + 4.30265273 / math.sqrt(3), delta=1e-7)
        self.assertAlmostEqual(got["seeds.low_all"], 2 - 6.20534682 / math.sqrt(3), delta=1e-6)  # 0.975, two rows

    def test_one_seed_has_a_value_and_no_interval(self):
        self.assertEqual(paired.row_of([landscape(5, 0, "late"), landscape(4, 0)], self.PAIR, 1), {"value": 1})

    def test_two_values_for_one_seed_and_none_are_refused(self):
        twice = [landscape(1, 0, branch, job=job) for branch in ("late", "trunk") for job in (0, 1)]
        with self.assertRaisesRegex(ValueError, "several values of landscape rise fit"):
            paired.row_of(twice, self.PAIR, 1)
        with self.assertRaisesRegex(ValueError, "no value of landscape rise fits"):
            paired.row_of(twice[:1], self.PAIR, 1)

    def test_the_last_step_is_that_of_its_own_line(self):
        pair = {**self.PAIR, "value": "taylor ratio", "a": {"sweep.train.lr.peak": 2.0, "step": "last"},
                "b": {"sweep.train.lr.peak": 1.0, "step": "last"}}
        records = [record("taylor", 0.0, 0, step=step, job=job, sweep={"train.lr.peak": peak}, method="gptq bits=4",
                          details={"slope": 0.0, "quadratic": ratio, "change": 1.0})
                   for job, (peak, ratios) in enumerate(((1.0, {10: 0.9, 20: 0.4}), (2.0, {10: 0.8, 15: 0.7})))
                   for step, ratio in ratios.items()]
        self.assertAlmostEqual(paired.row_of(records, pair, 1)["value"], 0.3)

    def test_terms_are_read_from_details_of_one_method(self):
        ratio = {"as": "r", "value": "taylor ratio", "method": "rtn bits=4", "a": {"branch": "trunk", "step": 10}}
        records = [record("taylor", 0.3, 0, method=method, details={"slope": 0.1, "quadratic": quadratic, "change": 0.4})
                   for method, quadratic in (("rtn bits=4", 0.3), ("rtn bits=3", 0.1))]
        self.assertAlmostEqual(paired.row_of(records, ratio, 1)["value"], 0.75)


def accuracy_records(seed, cells):
    """Records of one checkpoint: {method: (loss, accuracy)}."""
    out = []
    for method, values in cells.items():
        for metric, value in zip(("validation_loss", "tasks"), values):
            out.append({"metric": metric, "label": metric, "value": value, "error": None, "draw": 0, "jitter": 0, "job": seed,
                        "quantizer": None if method == "float" else {"label": method}, "averaging": None,
                        "checkpoint": {"branch": None, "step": 10}, "environment": {"sweep": {"seed": seed}}})
    return out


class Accuracy(unittest.TestCase):
    def test_rank_correlation_by_hand(self):
        # 1 − 6 Σ d²/(n (n² − 1)) with d = 1, 1, 1, 1, 0.
        self.assertAlmostEqual(paired.rank_correlation([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]), 0.8)
        # ranks 2.5, 1, 2.5, 4 and 4, 1, 2, 3 have the covariance 3 and the variances 4.5 and 5
        self.assertAlmostEqual(paired.rank_correlation([5, 1, 5, 9], [7, 1, 2, 3]), 3 / math.sqrt(22.5))

    def test_accuracy_that_falls_with_the_error_correlates_over_the_cells_of_each_seed(self):
        records = accuracy_records(0, {"float": (2.0, 0.8), "a": (2.1, 0.78), "b": (2.4, 0.6), "c": (2.2, 0.7)})
        records += accuracy_records(1, {"float": (1.9, 0.8), "a": (2.1, 0.6), "b": (2.4, 0.7), "c": (2.2, 0.65)})
        records.append({**records[-1], "draw": 1, "value": 0.0})  # another draw of the calibration data is no other cell
        pair = {"as": "accuracy", "value": "accuracy drop with ΔCE"}
        row = paired.row_of(records, pair, 1)
        self.assertAlmostEqual(row["value"], 1.0)
        self.assertAlmostEqual(row["seeds.mean"], 0.0)  # 1 at seed 0, −1 at seed 1
        with self.assertRaisesRegex(ValueError, "no value of"):
            paired.row_of([record for record in records if record["metric"] != "tasks"], pair, 1)
        with self.assertRaisesRegex(ValueError, "several values of validation_loss fit float at seed 0"):
            paired.row_of(records + records[:1], pair, 1)
        with self.assertRaisesRegex(ValueError, "seed 0 has no accuracy drop"):
            paired.row_of(accuracy_records(0, {"float": (2.0, 0.8), "a": (2.1, 0.8), "b": (2.4, 0.8)}), pair, 1)
        with self.assertRaises(KeyError):
            paired.row_of(records, {**pair, "value": "accuracy"}, 1)


def collect_program():
    loader = importlib.machinery.SourceFileLoader("collect", str(SOURCE / "bench/findings/collect"))
    collect = importlib.util.module_from_spec(importlib.util.spec_from_loader("collect", loader))
    loader.exec_module(collect)
    return collect


class Collected(unittest.TestCase):
    def test_of_taylor_terms_the_last_step_of_each_line_is_kept(self):
        place = {"point": "", "averaging": ""}
        rows = [{**place, "table": table, "branch": branch, "step": step}
                for table in ("loss", "taylor") for branch, steps in (("trunk", (10, 20)), ("fork", (10,))) for step in steps]
        kept = collect_program().without_earlier_terms(rows)
        self.assertEqual([row for row in rows if row not in kept], [{**place, "table": "taylor", "branch": "trunk", "step": 10}])

    def test_what_another_label_asks_is_no_second_value(self):
        collect = collect_program()
        records = [{**record("hessian", 40.0, 0), "label": "hessian rows=24", "quantizer": None},
                   {**record("hessian", 30.0, 0), "label": "spectrum", "quantizer": None}]
        self.assertEqual([row["value"] for row in collect.value_rows(records)], ["40"])
        with self.assertRaisesRegex(SystemExit, "two values of hessian at curvature trunk 10 float"):
            collect.value_rows(records[:1] * 2)


class LineEndings(unittest.TestCase):
    def test_questions_repeat_and_name_the_ending_of_their_line(self):
        with tempfile.TemporaryDirectory() as own:
            text = "".join(f"int first_of_pair_{i} = 1000{i} + {i};\nvoid second_of_pair_{i}(int argument_{i});\n" for i in range(40))
            (Path(own) / "a.h").write_text(text, encoding="ascii")
            made = []
            for name in ("one", "two"):
                subprocess.run([SOURCE / "bench/findings/line_endings", Path(own) / name, "--headers", own, "--questions", "30"],
                               check=True, capture_output=True)
                made.append((Path(own) / name / "test.jsonl").read_text(encoding="utf-8"))
            self.assertEqual(made[0], made[1])
            questions = [json.loads(line) for line in made[0].splitlines()]
            self.assertEqual(len(questions), 30)
            for question in questions:
                self.assertEqual(len({"".join(sorted(ending)) for ending in question["endings"]}), 1)
                self.assertEqual(len(question["endings"][0]), 8)
                self.assertEqual(len(set(question["endings"])), 4)
                self.assertLessEqual(len(question["context"]), 80)
                self.assertIn(f"{question['context']} {question['endings'][question['answer']]}", text)
            self.assertGreater(len({question["answer"] for question in questions}), 1)
            short = subprocess.run([SOURCE / "bench/findings/line_endings", Path(own) / "three", "--headers", own],
                                   capture_output=True, text=True)
            self.assertEqual(short.returncode, 1)
            self.assertIn("wanted 1000", short.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=0)
