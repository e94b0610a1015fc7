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
import unittest.mock
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "bench/findings"))
import claims  # noqa: E402
import edge  # noqa: E402
import long_table  # noqa: E402
import measures  # noqa: E402
import parts  # noqa: E402
import rules  # noqa: E402
import run_tables  # noqa: E402
import scipy.stats  # noqa: E402
import units  # noqa: E402
import verdicts  # noqa: E402
from quench.analysis.intervals import detectable_errors, t_quantile  # noqa: E402, verdicts.py finds it

HEAD = {"command": "by hand", "program": "none", "date": "2026-01-03", "processor": "none"}
RULES = claims.Rules("2026-01-02", [0])


def table_row(test, contrast, what, quantity, value, unit="nats/token", table="contrast"):
    return {"table": table, "test": test, "contrast": contrast, "row": what, "quantity": quantity, "unit": unit, "value": value}


def folder_of(**files):
    """Files of results with these rows, as they are read back."""
    with tempfile.TemporaryDirectory() as own:
        for name, rows in files.items():
            long_table.write(Path(own) / f"{name}.csv", HEAD, rows)
        return long_table.read_folder(own)


def losses(**of_weights):
    """Rows of losses: {name of a branch: {method: losses of seeds 1, 2, ...}}, all at step 10."""
    return [{"table": "loss", "branch": branch, "step": "10", "method": method, "seed": str(seed), "quantity": "loss", "value": repr(value)}
            for branch, of_methods in of_weights.items() for method, values in of_methods.items() for seed, value in enumerate(values, 1)]


def test_of(**test):
    return claims.Test(**{"id": "t", "manifest": "m", "decides": True, "rule": "above", "method": "q",
                          "sets": [{"as": "r", "a": [{"branch": "a", "step": 10}], "b": [{"branch": "b", "step": 10}]}], **test})


def of_tests(measured, *tests, of_rules=RULES):
    claim = claims.Claim(id="c", claim="", test="", paper="", tests=list(tests))
    return verdicts.of_claim(claim, of_rules, folder_of(m=measured))


def errors(a, b):
    """Two sets of weights with these errors; their float losses differ, which no error may show."""
    return losses(a={"float": [1.0] * len(a), "q": [1 + e for e in a]}, b={"float": [2.0] * len(b), "q": [2 + e for e in b]})


def verdict(a, b, **test):
    return of_tests(errors(a, b), test_of(**test))


class Verdicts(unittest.TestCase):
    def test_a_difference_over_seeds_holds_on_the_claimed_side_and_fails_on_the_other(self):
        low, high = [0.10, 0.11, 0.12], [0.20, 0.22, 0.21]
        self.assertEqual(verdict(high, low).word, "holds")
        self.assertEqual(verdict(low, high).word, "fails")
        self.assertEqual(verdict(low, high, rule="below").word, "holds")
        self.assertEqual(verdict([0.1, 0.3, 0.2], low).word, "open")

    def test_the_level_is_that_of_the_95_percent_interval(self):
        values = [1.0, 2.0, 3.0]  # mean 2, standard error 1/√3, t = 3.4641 < 4.3027 with two degrees of freedom
        got = verdict([0.1 + value / 100 for value in values], [0.1] * 3)
        t = 2 * math.sqrt(3)
        self.assertAlmostEqual(got.holds, 1 - t / math.sqrt(2 + t * t), delta=1e-9)  # two sides; a closed form
        self.assertEqual(got.word, "open")

    def test_a_claim_holds_with_all_of_its_rows_each_at_its_own_level_and_fails_with_one_that_is_counted(self):
        rows = [{"as": str(i), "a": [{"branch": f"a{i}", "step": 10}], "b": [{"branch": "b", "step": 10}]} for i in range(20)]

        def of(*differences):
            out = losses(b={"float": [1.0] * 3, "q": [1.1] * 3})
            for i, found in enumerate(differences):
                out += losses(**{f"a{i}": {"float": [1.0] * 3, "q": [1.1 + value for value in found]}})
            return of_tests(out, test_of(sets=rows[:len(differences)]))
        good, bad = [0.010, 0.013, 0.016], [-0.010, -0.013, -0.016]  # p = 0.017 by itself
        self.assertEqual(of(*[good] * 20).word, "holds", "a correction would leave twenty rows open")
        self.assertEqual(of(bad, good).word, "fails")
        self.assertEqual(of(bad, *[good] * 19).word, "open", "one of twenty is counted")
        self.assertEqual(of([0.0, 0.001, -0.001], good).word, "open")

    def test_not_worse_equal_and_different_have_a_margin_that_is_a_share_of_the_error(self):
        error = [0.200, 0.210, 0.190]
        slightly, clearly = [1.02, 1.03, 1.02], [1.3, 1.28, 1.33]
        margin = {"margin": 0.1}

        def of(factors, rule):
            return verdict([e * f for e, f in zip(error, factors)], error, rule=rule, **margin).word
        self.assertEqual([of(slightly, rule) for rule in ("at_most", "equal", "differs")], ["holds", "holds", "fails"])
        self.assertEqual([of(clearly, rule) for rule in ("at_most", "equal", "differs")], ["fails", "fails", "holds"])
        self.assertEqual([of([1.0, 1.2, 0.9], rule) for rule in ("at_most", "equal", "differs")], ["open", "open", "open"])
        self.assertEqual(of([0.5, 0.51, 0.5], "at_most"), "holds", "less is not worse")

    def test_a_share_is_a_ratio_of_sums_and_not_a_mean_of_ratios(self):
        rows = [{"table": "taylor", "branch": "a", "step": "10", "method": "q", "seed": str(seed), "quantity": quantity, "value": repr(value)}
                for seed, quadratic, change in ((1, 1.0, 1.0), (2, 2.05, 2.0), (3, 0.00, 0.05))
                for quantity, value in (("quadratic", quadratic), ("change", change), ("slope", 0.0))]
        test = test_of(rule="within", low=0.5, high=1.5, of="quadratic", share_of="change", sets=[{"as": "r", "a": [{"branch": "a", "step": 10}]}])
        found = of_tests(rows, test)
        row = found.rows[0].rows[0]
        self.assertAlmostEqual(row.values.mean() / row.reference.mean(), 3.05 / 3.05)

    def test_alike_rows_have_one_sign_and_different_ones_fail(self):
        names = ("dense", "routed", "state-space")

        def of(*means):
            out = losses(b={"float": [1.0] * 3, "q": [1.5] * 3})
            for name, mean in zip(names, means):
                out += losses(**{name: {"float": [1.0] * 3, "q": [1.5 + mean, 1.501 + mean, 1.499 + mean]}})
            return of_tests(out, test_of(rule="alike", sets=[
                {"as": name, "group": "decay", "a": [{"branch": name, "step": 10}], "b": [{"branch": "b", "step": 10}]} for name in names])).word
        self.assertEqual([of(0.1, 0.1, 0.1), of(-0.1, -0.1, -0.1), of(0.1, -0.1, 0.0), of(0.1, 0.1, 0.0)], ["holds", "holds", "fails", "open"])

    def test_other_text_has_to_agree_where_it_is_known_how_far_it_moves_a_row(self):
        rows = errors([0.20, 0.22, 0.21], [0.10, 0.11, 0.12])
        beside = claims.Test(id="c", manifest="m", contrasts=[{}])
        for error, wanted in ((0.01, "holds"), (0.2, "open")):
            text = [table_row("c", "a − b", "q", "items.n", "422"), table_row("c", "a − b", "q", "items.stderr", repr(error))]
            self.assertEqual(of_tests(rows + text, test_of(text="c", text_rows="q"), beside).word, wanted)
        with self.assertRaisesRegex(long_table.Wrong, "no row of test c fits r"):
            of_tests(rows, test_of(text="c"), beside)

    def test_a_row_is_worked_out_again_without_each_document_where_their_sums_are_kept(self):
        low, high = [0.10, 0.11, 0.12], [0.20, 0.22, 0.21]
        positions = [100, 200, 300]
        # Of each seed the difference of both errors is 0.1 on the whole text, and `shares` of it on the documents.
        for shares, word in (([0.1, 0.1, 0.1], "holds"), ([0.4, 0.1, 0.0], "open")):
            lines = [["point", "branch", "averaging", "step", "method", "seed", "document 1", "document 2", "document 3"],
                     ["", "", "", "", "scored", "", *positions]]
            for branch, floating, added in (("a", 1.0, high), ("b", 2.0, low)):
                for seed, error in enumerate(added, 1):
                    lines.append(["", branch, "", 10, "float", seed, *(n * floating for n in positions)])
                    there = [0.1 + 0.01 * (seed - 1) + (share if branch == "a" else 0) for share in shares]
                    there = [one + error - sum(n * each for n, each in zip(positions, there)) / 600 for one in there]  # the error of all
                    lines.append(["", branch, "", 10, "q", seed, *(n * (floating + one) for n, one in zip(positions, there))])

            def found_with(lines):
                with tempfile.TemporaryDirectory() as own:
                    long_table.write(Path(own) / "m.csv", HEAD, errors(high, low))
                    (Path(own) / "documents").mkdir()
                    (Path(own) / "documents/m.csv").write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
                    return verdicts.of_claim(claims.Claim(id="c", claim="", test="", paper="", tests=[test_of()]), RULES, long_table.read_folder(own))
            found = found_with(lines)
            with self.assertRaisesRegex(long_table.Wrong, r"other seeds than the results: \[1, 2\], wanted \[1, 2, 3\]"):
                found_with(lines[:2] + [line for line in lines[2:] if line[5] != 3])
            [(kind, error, freedom, *_)] = found.rows[0].rows[0].text
            self.assertEqual((kind, found.text), ("documents", word))
            # By hand: without one document of n positions and the share s, 0.1 moves by n (0.1 − s) / (600 − n); of three (3 − 1)/3 Σ squares.
            mean = sum(n * s for n, s in zip(positions, shares)) / 600
            moved = [n * (mean - s) / (600 - n) for n, s in zip(positions, shares)]
            self.assertAlmostEqual(error, math.sqrt(2 / 3 * sum(one * one for one in moved)), delta=1e-12)
            self.assertAlmostEqual(freedom, 600 ** 2 / (100 ** 2 + 200 ** 2 + 300 ** 2) - 1)

    def test_text_moves_a_margin_with_its_row(self):
        # Two documents of 100 positions. Float losses are 1 there; errors of a and b by document, the same at all seeds but for 0.001.
        of_a, of_b = (0.3, 0.1), (0.25, 0.15)
        lines = [["point", "branch", "averaging", "step", "method", "seed", "document 1", "document 2"], ["", "", "", "", "scored", "", 100, 100]]
        rows = []
        for branch, found in (("a", of_a), ("b", of_b)):
            for seed in (1, 2, 3):
                own = [one + 0.001 * seed * (branch == "a") for one in found]
                rows += losses(**{branch: {"float": [1.0] * 3, "q": [1 + sum(own) / 2] * 3}})[seed - 1::3]
                lines += [["", branch, "", 10, "float", seed, 100, 100], ["", branch, "", 10, "q", seed, *(100 * (1 + one) for one in own)]]
        with tempfile.TemporaryDirectory() as own:
            long_table.write(Path(own) / "m.csv", HEAD, rows)
            (Path(own) / "documents").mkdir()
            (Path(own) / "documents/m.csv").write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
            found = verdicts.of_claim(claims.Claim(id="c", claim="", test="", paper="", tests=[test_of(rule="at_most", margin=0.1)]), RULES,
                                      long_table.read_folder(own))
        [moved] = found.rows[0].rows[0].text
        # Without one document the row is ±0.05 from its mean, the error of b ∓0.05: with two units ½ Σ squares.
        self.assertAlmostEqual(moved.error, 0.05, delta=1e-12)
        self.assertAlmostEqual(moved.both, 0.05 * 0.05, delta=1e-12)
        self.assertAlmostEqual(moved.of_reference, 0.05 ** 2, delta=1e-12)
        self.assertAlmostEqual(moved.beyond(0.1).error, 0.05 - 0.1 * 0.05, delta=1e-12, msg="both move by as much, in one direction")

    def test_variances_over_seeds_and_over_text_add(self):
        error, freedom = rules.error_of(3.0, 3, [rules.Moved("items", 1.0, 26)])  # 1 over three seeds and 1 over text
        self.assertAlmostEqual(float(error), math.sqrt(2))
        self.assertAlmostEqual(float(freedom), 4 / (1 / 2 + 1 / 26) - 1)
        values = rules.np.array([4.0, 5.0, 6.0])
        alone, shared = (rules._sides(values, text)[0] for text in ((), [rules.Moved("items", 0.01, 1e6)]))
        self.assertAlmostEqual(alone, shared, delta=1e-3)
        self.assertGreaterEqual(shared, alone, "as sure over seeds alone")

    def test_a_verdict_on_known_seeds_or_an_earlier_day_says_that_the_rule_changed_after_the_data(self):
        low, high = [0.10, 0.11, 0.12], [0.20, 0.22, 0.21]
        self.assertEqual(verdict(high, low).text, "holds on one text")
        for of_rules in (claims.Rules("2026-01-03", []), claims.Rules("2026-01-02", [3])):
            self.assertEqual(of_tests(errors(high, low), test_of(), of_rules=of_rules).text, "holds on one text (rule changed after the data)")
        self.assertEqual(of_tests(errors([0.1, 0.3, 0.2], low), test_of(), of_rules=claims.Rules("2026-01-03", [])).text, "open")

    def test_a_rule_of_its_own_day_is_told_from_a_run_of_that_day_by_the_minute_where_both_say_it(self):
        rules_, run = claims.Rules("2026-01-02", []), folder_of(m=errors([0.20, 0.22, 0.21], [0.10, 0.11, 0.12]))["m"]
        for began, changed, wanted in ((None, "", True), (None, "2026-01-03T08:00", False), ("2026-01-03T08:01", "2026-01-03T08:00", True),
                                       ("2026-01-03T07:59", "2026-01-03T08:00", False), ("2026-01-02T23:59", "", False),
                                       ("2026-01-03T00:00", "", True), ("2026-01-02T09:00", "2026-01-02T08:00", False)):
            run.head = {**HEAD, **({"began": began} if began else {})}
            claim = claims.Claim(id="c", claim="", test="", paper="", changed=changed)
            self.assertEqual(rules_.call_fresh(run, claim), wanted, (began, changed))

    def test_a_row_without_a_number_or_with_too_few_seeds_keeps_a_claim_from_holding(self):
        found = verdict([0.2, 0.21], [0.1, 0.11])
        self.assertEqual((found.word, found.problems), ("open", ["r: 2 seeds, wanted 3"]))
        found = of_tests(losses(a={"float": [1.0] * 3, "q": [1.1] * 3}), test_of())
        self.assertEqual(found.word, "open")
        self.assertIn("m.csv has no loss of float at b 10", found.problems[0])

    def test_nothing_measured_waits_and_a_part_of_it_is_open(self):
        claim = claims.Claim(id="c", claim="", test="", paper="", tests=[test_of(), test_of(id="u", manifest="n")])
        self.assertEqual(verdicts.of_claim(claim, RULES, folder_of()).word, "waits")
        found = verdicts.of_claim(claim, RULES, folder_of(m=errors([0.20, 0.22, 0.21], [0.10, 0.11, 0.12])))
        self.assertEqual((found.word, found.unmeasured), ("open", ["n"]))

    def test_what_stands_beside_decides_nothing(self):
        bad = errors([0.10, 0.11, 0.12], [0.20, 0.22, 0.21])
        good = test_of(sets=[{"as": "r", "a": [{"branch": "b", "step": 10}], "b": [{"branch": "a", "step": 10}]}])
        found = of_tests(bad, good, test_of(id="u", decides=False))
        self.assertEqual((found.word, [row.word for row in found.beside]), ("holds", ["fails"]))

    def test_a_contrast_without_a_row_is_told(self):
        refused = table_row("c", "a − b", "the float losses do not overlap", "", "", table="problem")
        found = of_tests(errors([0.2] * 3, [0.1] * 3) + [refused], test_of(), claims.Test(id="c", manifest="m", contrasts=[{}]))
        self.assertEqual(found.refused, ["a − b: the float losses do not overlap"])

    def test_one_run_is_decided_over_text_and_calibration_data_and_says_so(self):
        def of(*rows, border=0.0, rule="above"):
            numbers = [table_row("c", "a − b", what, f"{kind}.{quantity}", str(value)) for what, kind, mean, error in rows
                       for quantity, value in (("mean", mean), ("stderr", error), ("n", 20))]
            test = claims.Test(id="c", manifest="m", contrasts=[{}], decides=True, rule=rule, border=border)
            return of_tests(numbers, test)
        self.assertEqual(of(("q", "items", 2.0, 0.1), ("q", "draws", 2.0, 0.1)).one_run, "holds in one run")
        self.assertEqual(of(("q", "items", 2.0, 0.1)).word, "waits")
        self.assertEqual(of(("q", "items", 2.0, 0.1), border=2.5).one_run, "fails in one run and for one calibration draw")
        self.assertEqual(of(("q", "items", 2.0, 0.1), rule="below").one_run, "fails in one run and for one calibration draw")
        self.assertEqual(of(("q", "items", 2.0, 0.1), ("q", "draws", 2.0, 2.0)).one_run, "open in one run", "draws are not sure")
        self.assertEqual(of(("q", "items", 2.0, 0.1), ("r", "items", 0.0, 0.1)).one_run, "open in one run", "one row is open")
        self.assertEqual(of(("q", "seeds", 2.0, 0.1)).one_run, "open in one run", "nothing over text")
        self.assertEqual(of_tests(errors([0.2] * 3, [0.1] * 3), test_of()).one_run, "")

    def test_one_run_with_one_calibration_draw_is_decided_for_that_draw(self):
        def of(mean, draws, **test):
            numbers = [table_row("c", "a − b", "q", quantity, str(value)) for quantity, value in
                       (("items.mean", mean), ("items.stderr", 0.1), ("items.n", 200))]
            if draws:
                numbers += [table_row("c", "a − b", "q", quantity, str(value)) for quantity, value in
                            (("draws.mean", mean), ("draws.stderr", 0.1), ("draws.n", draws))]
            return of_tests(numbers, claims.Test(id="c", manifest="m", contrasts=[{}], decides=True, rule="above", **test)).one_run
        self.assertEqual([of(2.0, draws) for draws in (0, 3)], ["holds in one run and for one calibration draw", "holds in one run"])
        self.assertEqual(of(-2.0, 0), "fails in one run and for one calibration draw")
        self.assertEqual(of(0.0, 0), "open in one run", "what is open is open for all draws")
        self.assertEqual(of(2.0, 0, calibrated=False), "holds in one run", "no calibration data enter")

    def test_a_ratio_of_one_run_is_decided_where_the_interval_of_its_resamples_agrees(self):
        def of(low, high, mean=2.0):
            numbers = [table_row("c", "a − b", "q", quantity, str(value)) for quantity, value in
                       (("items.mean", mean), ("items.stderr", 0.1), ("items.n", 200), ("items.low", low), ("items.high", high))]
            return of_tests(numbers, claims.Test(id="c", manifest="m", contrasts=[{}], decides=True, rule="above", border=1.0)).one_run
        self.assertTrue(of(1.2, 9.0).startswith("holds in one run"))
        self.assertEqual(of(0.9, 9.0), "open in one run")
        self.assertTrue(of(0.1, 0.8, mean=0.5).startswith("fails in one run"))
        self.assertEqual(of(0.1, 1.1, mean=0.5), "open in one run")

    def test_a_table_of_claims_that_contradicts_itself_is_refused(self):
        head = '[rules]\nchanged = "2026-01-01"\nseeds_seen = []\n'
        claim = '[[claim]]\nid = "1"\nclaim = ""\ntest = ""\npaper = ""\n'
        test = '[[claim.tests]]\nid = "{}"\nmanifest = "m"\ndecides = true\nsets = [{{as = "r"}}]\n'
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "claims.toml"
            for content, wanted in ((claim, "no test that decides .* needs nothing"), (claim + test.format(1) + 'rule = "taller"', "'taller'"),
                                    (claim + test.format(1) + 'rule = "equal"', "the margin 0.0"),
                                    (claim + test.format(1) + 'rule = "within"', "the range"),
                                    (claim + test.format(1) + 'rule = "above"\nseeds = 2', "seeds = 2"),
                                    (claim + test.format(1) + 'rule = "above"\ntext = "9"', "no test 9"),
                                    (claim + '[[claim.tests]]\nid = "1"\nmanifest = "m"\ndecides = true\nrule = "equal"\ncontrasts = [{}]', "wanted above or below"),
                                    (claim + test.format(1) + 'rule = "above"\ncontrasts = [{}]', "one of them"),
                                    (claim + 'one_run_of = "9"\n' + test.format(1) + 'rule = "above"', "no claim 9"),
                                    (2 * (claim + test.format(1) + 'rule = "above"\n'), "one id")):
                file.write_text(head + content, encoding="utf-8")
                with self.assertRaisesRegex(claims.Wrong, wanted):
                    claims.read(file)


class Measures(unittest.TestCase):
    def line(self, branch, method, values):
        """Of seed 1 at steps 10, 20, ...; [(float loss, quantized loss)]."""
        return [{"table": "loss", "branch": branch, "step": str(10 * i), "method": name, "seed": "1", "quantity": "loss", "value": repr(value)}
                for i, pair in enumerate(values, 1) for name, value in zip(("float", method), pair)]

    def rows(self, measured, **test):
        return measures.rows_of(folder_of(m=measured)["m"], test_of(**test))

    def test_losses_are_compared_at_the_lowest_float_loss_that_both_lines_reach(self):
        measured = self.line("a", "q", [(2.0, 2.2), (1.0, 1.4)]) + self.line("b", "q", [(1.9, 2.5), (1.75, 1.9), (1.5, 1.7)])
        pair = [{"as": "r", "a": [{"branch": "a"}], "b": [{"branch": "b"}]}]
        row = measures.row_of(measures.Values(folder_of(m=measured)["m"]), test_of(at="equal_loss", within=1.0, sets=pair), pair[0])
        self.assertAlmostEqual(row.values[0], 0.5 * (2.2 + 1.4) - 1.7)
        self.assertEqual((row.floats, row.gaps), ((1.5, 1.5), [1.0]))
        until = measures.row_of(measures.Values(folder_of(m=measured)["m"]), test_of(at="equal_loss", within=1.0, until=20, sets=pair), pair[0])
        self.assertAlmostEqual(until.values[0], 0.75 * 2.2 + 0.25 * 1.4 - 1.9)
        self.assertEqual(until.floats, (1.75, 1.75))
        _, problems, _ = self.rows(measured, at="equal_loss", sets=pair)
        self.assertIn("seed 1: checkpoints around a float loss of 1.5000 are 1 nats apart, wanted at most 0.2", problems[0])

    def test_curvature_times_the_learning_rate_is_of_weights_with_both(self):
        measured = [{"table": table, "branch": "t", "step": str(step), "method": "float", "seed": str(seed), "quantity": quantity, "value": repr(value),
                     "averaging": averaging} for seed in (1, 2) for table, step, quantity, value, averaging in
                    (("curvature", 10, "hessian", 40.0 * seed, ""), ("loss", 10, "lr", 0.01, ""), ("curvature", 20, "hessian", 7.0, ""),
                     ("curvature", 10, "hessian", 9.0, "lawa"))]
        found = edge.products(folder_of(m=measured)["m"])
        self.assertEqual([(branch, step, list(product)) for branch, step, _, product in found], [("t", 10, [0.4, 0.8])])

    def test_an_exponent_is_that_of_one_term_beside_the_other(self):
        measured = []
        for seed, tokens, rate in ((1, 0.5, -0.2), (2, 0.7, -0.1), (3, 0.6, -0.3)):
            for branch, step, lr in (("t", 100, 1e-2), ("t", 200, 1e-2), ("t", 400, 1e-2), ("f", 200, 1e-4), ("f", 400, 1e-5)):
                error = 0.01 * step ** tokens * lr ** rate
                measured += [{"table": "loss", "branch": branch, "step": str(step), "method": method, "seed": str(seed), "quantity": quantity,
                              "value": repr(value)} for method, quantity, value in
                             (("float", "loss", 2.0), ("float", "lr", lr), ("q", "loss", 2.0 + error))]
        for term, wanted in (("tokens", (0.5, 0.7, 0.6)), ("lr", (-0.2, -0.1, -0.3))):
            rows, problems, _ = self.rows(measured, at="scaling", sets=[{"as": "r", "term": term, "branches": ["t", "f"]}])
            self.assertEqual(problems, [])
            for one, other in zip(rows[0].values, wanted):
                self.assertAlmostEqual(one, other, delta=1e-7)
        _, problems, _ = self.rows(measured, at="scaling", sets=[{"as": "r", "term": "lr", "branches": ["t"]}])
        self.assertIn("terms that vary: tokens", problems[0])
        _, problems, _ = self.rows([row for row in measured if row["branch"] == "f"], at="scaling", sets=[{"as": "r", "term": "lr", "branches": ["f"]}])
        self.assertIn("do not tell", problems[0])

    def test_ends_of_decays_are_compared_on_a_line_through_them(self):
        measured = [row for i, pair in enumerate([(1.0, 1.4), (1.5, 1.8), (2.0, 2.2)]) for row in self.line(f"end{i}", "q", [pair])]
        ends = [{"branch": f"end{i}", "step": 10} for i in range(3)]

        def found(*places):
            entry = {"as": "r", "a": ends, "b": [{"branch": "b", "step": 10}]}
            values = measures.Values(folder_of(m=measured + self.line("b", "q", places))["m"])
            return measures.row_of(values, test_of(at="ends", sets=[entry]), entry)
        self.assertAlmostEqual(found((1.25, 1.5)).values[0], 1.6 - 1.5)
        with self.assertRaisesRegex(measures.Missing, "lies outside"):
            found((2.5, 2.6))
        # Line with line: 1.4 + 0.8 (x − 1) through all three, and 1 + x/2 through others from 1.2 to 1.6: in the middle, 1.4.
        others = [row for i, x in enumerate((1.2, 1.4, 1.6)) for row in self.line(f"other{i}", "q", [(x, 1 + x / 2)])]
        entry = {"as": "r", "a": ends, "b": [{"branch": f"other{i}", "step": 10} for i in range(3)]}
        row = measures.row_of(measures.Values(folder_of(m=measured + others)["m"]), test_of(at="ends", sets=[entry]), entry)
        self.assertAlmostEqual(row.values[0], 1.4 + 0.8 * 0.4 - 1.7)
        self.assertAlmostEqual(row.floats[0], 1.4)
        with self.assertRaisesRegex(measures.Missing, "2 ends of decays, wanted 3"):
            measures.row_of(measures.Values(folder_of(m=measured + others)["m"]), test_of(at="ends", sets=[entry]), {**entry, "b": entry["b"][:2]})

    def test_a_rank_correlation_needs_ten_checkpoints_and_is_taken_beside_the_trend(self):
        noise = random.Random(1)
        x = [i + noise.gauss(0, 2) for i in range(30)]
        y = [i + noise.gauss(0, 2) for i in range(30)]
        self.assertGreater(measures.partial_rank_correlation(x, y, [0] * 29 + [1]), 0.8)  # both only grow
        self.assertLess(abs(measures.partial_rank_correlation(x, y, range(30))), 0.4)
        entry = {"as": "r", "branch": "a", "x": {"method": "q"}, "y": {"method": "q"}}
        _, problems, _ = self.rows(self.line("a", "q", [(1, 2)] * 5), at="correlation", sets=[entry])
        self.assertEqual(problems, ["r: 5 checkpoints, wanted 10 for a rank correlation"])

    def test_a_correlation_with_the_step_keeps_what_both_owe_to_it_and_has_the_width_of_its_seeds(self):
        noise, rows = random.Random(2), []
        for seed in (1, 2, 3):
            for step in range(1, 13):
                for method, error in (("x", step + noise.gauss(0, 1)), ("y", step + noise.gauss(0, 1)), ("float", 0.0)):
                    rows.append({"table": "loss", "step": str(step), "method": method, "seed": str(seed), "quantity": "loss",
                                 "value": repr(1 + 0.01 * error)})
        entry = {"as": "r", "x": {"method": "x"}, "y": {"method": "y"}}
        [beside], [whole] = (of_tests(rows, test_of(at="correlation", sets=[entry], **more)).rows or
                             of_tests(rows, test_of(at="correlation", sets=[entry], **more)).beside
                             for more in ({}, {"with_step": True, "decides": False}))
        self.assertGreater(run_tables.shown(whole.rows[0])[0], 0.8)
        self.assertLess(abs(run_tables.shown(beside.rows[0])[0]), 0.5)
        self.assertEqual([one.rows[0].checkpoints for one in (beside, whole)], [12, 0])
        self.assertEqual((whole.word, beside.word), ("holds", "open"))
        z = whole.rows[0].values
        half = t_quantile(2) * z.std(ddof=1) / math.sqrt(3)
        self.assertAlmostEqual(run_tables.shown(whole.rows[0])[1][0], math.tanh(z.mean() - half))
        floor = math.sqrt(1.06 / 8 / 3)  # of 12 checkpoints and three seeds
        error = max(floor, beside.rows[0].values.std(ddof=1) / math.sqrt(3))
        self.assertGreaterEqual(verdicts.detectable(beside.rows[0]), error * detectable_errors(1e9) - 1e-9)
        with self.assertRaisesRegex(claims.Wrong, "keeps what is owed to the step"):
            test_of(at="correlation", sets=[entry], with_step=True).check()

    def test_halves_of_the_text_say_how_far_it_moves_a_rank_correlation(self):
        noise, rows, lines = random.Random(3), [], []
        scored, steps = [100, 100, 100, 120, 80], range(1, 13)
        sums = {}
        for seed in (1, 2, 3):
            for step in steps:
                for method in ("float", "x", "y"):
                    each = [n * (1 + (0 if method == "float" else 0.01 * (step + noise.gauss(0, 3)))) for n in scored]
                    sums[seed, step, method] = each
                    lines.append(["", "", "", step, method, seed, *map(repr, each)])
                    rows.append({"table": "loss", "step": str(step), "method": method, "seed": str(seed), "quantity": "loss",
                                 "value": repr(sum(each) / sum(scored))})
        head = [["point", "branch", "averaging", "step", "method", "seed", *(f"document {i}" for i in range(5))], ["", "", "", "", "scored", "", *scored]]
        test = test_of(at="correlation", with_step=True, decides=False, sets=[{"as": "r", "x": {"method": "x"}, "y": {"method": "y"}}])
        with tempfile.TemporaryDirectory() as own:
            long_table.write(Path(own) / "m.csv", HEAD, rows)
            (Path(own) / "documents").mkdir()
            (Path(own) / "documents/m.csv").write_text("\n".join(",".join(map(str, line)) for line in [*head, *lines]) + "\n", encoding="utf-8")
            found = verdicts.of_claim(claims.Claim(id="c", claim="", test="", paper="", tests=[test]), RULES, long_table.read_folder(own))
        row = found.beside[0].rows[0]

        def mean_z(kept):
            z = []
            for seed in (1, 2, 3):
                def errors(method):
                    return [sum(sums[seed, step, method][i] - sums[seed, step, "float"][i] for i in kept) / sum(scored[i] for i in kept) for step in steps]
                z.append(math.atanh(scipy.stats.spearmanr(errors("x"), errors("y")).statistic))
            return sum(z) / 3
        whole, (masks, share) = mean_z(range(5)), units.halves_of(5)
        self.assertEqual((share, {int(mask.sum()) for mask in masks}), (3 / 2, {3}), "two of five are left out")
        squares = [(mean_z([i for i in range(5) if mask[i]]) - whole) ** 2 for mask in masks]
        self.assertAlmostEqual(row.text[0].error, math.sqrt(share * sum(squares) / len(squares)), delta=1e-9)
        self.assertEqual(row.text[0].kind, "documents")
        for left_out, found_or_error in ((lambda line: line[3] == 12, []), (lambda line: line[5] == 3, long_table.Wrong)):
            with tempfile.TemporaryDirectory() as own:
                long_table.write(Path(own) / "m.csv", HEAD, rows)
                (Path(own) / "documents").mkdir()
                kept = [*head, *(line for line in lines if not left_out(line))]
                (Path(own) / "documents/m.csv").write_text("\n".join(",".join(map(str, line)) for line in kept) + "\n", encoding="utf-8")
                spread = units.Spread(long_table.read_folder(own)["m"])
                if found_or_error:
                    self.assertRaisesRegex(found_or_error, "has other seeds than the results", spread.of, row)
                else:
                    self.assertEqual(spread.of(row), [], "not known where a checkpoint has no units")

    def of_points(self, **of_points):
        """Losses of points at step 10: {point: {method: losses of seeds 1, 2, ...}}."""
        return [{"table": "loss", "point": point, "step": "10", "method": method, "seed": str(seed), "quantity": "loss", "value": repr(value)}
                for point, of_methods in of_points.items() for method, values in of_methods.items() for seed, value in enumerate(values, 1)]

    def test_seeds_that_choose_a_point_by_its_float_loss_are_not_compared(self):
        # `slow` is better over seeds 1 and 2 together, `fast` over the others.
        measured = self.of_points(slow={"float": [1.0, 1.3, 2.0, 2.0, 2.0], "q": [9.0, 9.0, 2.1, 2.2, 2.3]},
                                  fast={"float": [1.2, 1.2, 1.0, 1.0, 1.0], "q": [9.0, 9.0, 1.5, 1.5, 1.5]},
                                  base={"float": [1.0] * 5, "q": [1.0] * 5})
        entry = {"as": "r", "a": [{"points": ["fast", "slow"], "step": 10}], "b": [{"point": "base", "step": 10}]}
        rows, problems, _ = self.rows(measured, choose_seeds=[1, 2], choose_at=10, sets=[entry])
        self.assertEqual((problems, rows[0].chosen, rows[0].seeds), ([], ["slow"], [3, 4, 5]))
        self.assertEqual(measures._name_of("lr.peak=2 muon.split=all muon.weight_decay=1",
                                           ["lr.peak=1 muon.split=all muon.weight_decay=1", "lr.peak=2 muon.split=all muon.weight_decay=1"]),
                         "lr.peak=2 of muon")
        for got, wanted in zip(rows[0].values, (0.1, 0.2, 0.3)):
            self.assertAlmostEqual(got, wanted)
        _, problems, _ = self.rows(measured, choose_seeds=[1, 9], choose_at=10, sets=[entry])
        self.assertEqual(problems, ["r: m.csv: seed 9 chooses, and has no float loss of fast"])
        with self.assertRaisesRegex(claims.Wrong, "weights with points"):
            test_of(sets=[entry]).check()

    def test_a_correlation_across_trainings_is_as_sure_as_exchanging_them_says(self):
        points, order = [f"p{i}" for i in range(5)], [1, 0, 2, 3, 4]
        measured = self.of_points(**{point: {"float": [1.0] * 3, "q": [1.0 + 0.1 * order[i]] * 3, "r": [1.0 + 0.1 * (i + 1)] * 3}
                                     for i, point in enumerate(points)})
        entry = {"as": "r", "trainings": [{"point": point, "step": 10} for point in points], "x": {"method": "q", "of": "error"},
                 "y": {"method": "r", "of": "error"}}
        rows, _, _ = self.rows(measured, at="across", sets=[entry])
        for rho in rows[0].values:
            self.assertAlmostEqual(rho, 1 - 6 * 2 / 120)  # two neighbours exchanged
        # Of 120 orders one agrees, and four exchange two neighbours.
        self.assertEqual((len(rows[0].exchanged), round(120 * rules.of_row(rows[0])[0] / 2)), (120, 5))
        self.assertAlmostEqual(rules.of_row(rows[0])[1], 1.0)
        rows, _, _ = self.rows(measured, at="across", sets=[{**entry, "x_beside": {"method": "q", "of": "error"}}])
        self.assertEqual((list(rows[0].values), rules.of_row(rows[0])), ([0.0] * 3, (1.0, 1.0)))
        _, problems, _ = self.rows(measured, at="across", sets=[{**entry, "trainings": entry["trainings"][:4]}])
        self.assertEqual(problems, ["r: 4 trainings, wanted 5 for a rank correlation across them"])

    def test_logarithms_make_differences_relative_and_split_a_curvature_along_a_rounding(self):
        measured = self.of_points(slow={"float": [1.0] * 3, "q": [1.2] * 3}, fast={"float": [2.0] * 3, "q": [2.3] * 3})
        measured += [{"table": "taylor", "point": point, "step": "10", "method": "q", "seed": str(seed), "quantity": quantity, "value": value}
                     for point, quantity, value in (("slow", "quadratic", "0.2"), ("slow", "relative_distance", "0.1"), ("fast", "quadratic", "0.1"),
                                                    ("fast", "relative_distance", "0.05")) for seed in (1, 2, 3)]
        self.assertEqual(run_tables.text.in_unit(math.log(0.5), "ln"), "−50.00 %")
        for of, wanted in (("log_error", math.log(0.3 / 0.2)), ("log_distance", math.log(0.5)), ("log_steepness", math.log(0.1 / 0.0025 / (0.2 / 0.01)))):
            rows, _, _ = self.rows(measured, of=of, sets=[{"as": "r", "a": [{"point": "fast", "step": 10}], "b": [{"point": "slow", "step": 10}]}])
            self.assertAlmostEqual(rows[0].values[0], wanted, msg=of)
        measured = self.of_points(slow={"float": [1.0] * 3, "q": [0.9] * 3})
        _, problems, _ = self.rows(measured, of="log_error", sets=[{"as": "r", "a": [{"point": "slow", "step": 10}]}])
        self.assertEqual(problems, ["r: seed 1: an error of -0.1 at step 10 has no logarithm"])

    def test_an_absolute_margin_is_in_the_unit_of_the_measure(self):
        measured = [{"table": "accuracy", "branch": "a", "step": "10", "method": method, "seed": str(seed), "quantity": "accuracy", "value": repr(value)}
                    for method, values in (("float", [0.5] * 4), ("q", [0.499, 0.498, 0.499, 0.500])) for seed, value in enumerate(values)]
        entry = {"as": "r", "a": [{"branch": "a", "step": 10}]}

        def word(margin):
            return of_tests(measured, test_of(rule="equal", margin=margin, absolute=True, of="accuracy", sets=[entry]),
                            of_rules=claims.Rules("2026-01-02", [])).word
        self.assertEqual([word(margin) for margin in (0.004, 0.0012)], ["holds", "open"])
        with self.assertRaisesRegex(claims.Wrong, "absolute margin for the rule above"):
            test_of(absolute=True).check()


class Discoveries(unittest.TestCase):
    def test_the_share_of_wrong_ones_is_that_of_a_worked_case(self):
        found = rules.false_discovery([0.01, 0.04, 0.03, 0.5])  # times 4/1, 4/3, 4/2 and 4/4, no smaller than those before
        for got, wanted in zip(found, [0.04, 0.16 / 3, 0.16 / 3, 0.5]):
            self.assertAlmostEqual(got, wanted)


class Ratios(unittest.TestCase):
    def test_the_interval_of_a_ratio_has_the_ends_at_which_a_t_test_is_just_decided(self):
        values, reference = rules.np.array([1.0, 2.0, 4.0, 3.5]), rules.np.array([2.0, 3.0, 4.0, 3.0])
        for end in rules.ratio_interval(values, reference):
            rest = values - end * reference
            t = rest.mean() / (rest.std(ddof=1) / 2)
            self.assertAlmostEqual(abs(t), 3.18244631, delta=1e-6)  # three degrees of freedom
        self.assertEqual(rules.ratio_interval(values, rules.np.array([1.0, -1.0, 2.0, -2.0])), (-math.inf, math.inf))


class Shown(unittest.TestCase):
    def table(self, a, b, **test):
        found = verdict(a, b, **test)
        return found, run_tables.computed_table(found.rows).splitlines()[2]

    def test_a_row_says_what_its_rule_asks_and_how_sure_it_is(self):
        found, row = self.table([0.22, 0.23, 0.21], [0.20, 0.21, 0.205], rule="equal", margin=0.1)
        self.assertIn("| t | r | 3 | +15.00 | [−6.51, +36.51] | within ±20.50 | not known | open, p = 0.19 |", row)
        self.assertEqual(run_tables.sureness(found), "could have seen 28.27 thousandths of a nat")
        self.assertEqual(run_tables.effect(found.rows[0].rows[0]), "+15.00 [−6.51, +36.51] thousandths of a nat")

    def test_a_row_that_was_asked_after_the_data_says_on_which_side_of_0_it_lies(self):
        for rule, word in (("above", "above 0, p"), ("below", "above 0, p")):
            self.assertIn(f"| nothing | not known | {word}", self.table([0.22, 0.23, 0.21], [0.10, 0.11, 0.105], rule=rule, asked_late=True)[1])
        self.assertIn("| open, p", self.table([0.11, 0.09, 0.10], [0.10, 0.10, 0.10], asked_late=True)[1])
        self.assertIn("| holds, p", self.table([0.22, 0.23, 0.21], [0.10, 0.11, 0.105])[1])

    def test_items_of_one_seed_beside_a_mean_over_seeds_say_so(self):
        numbers = {"items.n": 4, "items.mean": 0.2, "seeds.n": 3, "seeds.mean": 0.1}
        table = [run_tables.contrasts_table([verdicts.ContrastRow("t", "c", "r", "nats/token", early, numbers)]) for early in (True, False)]
        self.assertEqual(["4 items, first seed" in one for one in table], [True, False])

    def test_an_open_row_says_how_many_seeds_would_find_its_mean(self):
        found, row = self.table([0.11, 0.10, 0.12], [0.10, 0.10, 0.10])  # a mean of one deviation
        needed = verdicts.seeds_needed(found.rows[0].rows[0])
        self.assertTrue(row.endswith(f"; {needed} |"), row)
        self.assertLessEqual(detectable_errors(needed - 1) / math.sqrt(needed), 1)
        self.assertGreater(detectable_errors(needed - 2) / math.sqrt(needed - 1), 1)
        one = found.rows[0].rows[0]
        one.text = [rules.Moved("items", 0.1, 26)]
        self.assertEqual(verdicts.seeds_needed(one), math.inf)
        self.assertGreater(verdicts.detectable(one), 0.1 * detectable_errors(26))
        self.assertIsNone(verdicts.seeds_needed(self.table([0.11, 0.10, 0.12], [0.10] * 3, rule="below")[0].rows[0].rows[0]))

    def test_a_relative_measure_is_in_percent(self):
        found, row = self.table([0.2, 0.2, 0.21], [0.1, 0.1, 0.11], of="relative")
        self.assertIn("| +15.17 % |", row)  # 20.33 % of 1 nat, 5.17 % of 2

    def test_a_verdict_hangs_on_the_least_sure_row_or_on_the_clearest_that_fails(self):
        rows = [verdicts.Decided([], 0.01, 1.0), verdicts.Decided([], 0.04, 1.0), verdicts.Decided([], 1.0, 0.001)]
        self.assertIs(run_tables.deciding(verdicts.Verdict("holds", rows=rows[:2])), rows[1])
        self.assertIs(run_tables.deciding(verdicts.Verdict("fails", rows=rows)), rows[2])


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


def collect_program():
    loader = importlib.machinery.SourceFileLoader("collect", str(SOURCE / "bench/findings/collect"))
    collect = importlib.util.module_from_spec(importlib.util.spec_from_loader("collect", loader))
    loader.exec_module(collect)
    return collect


class Collected(unittest.TestCase):
    def test_curvature_in_other_coordinates_and_the_decomposition_have_names_of_their_own(self):
        of = collect_program().quantities
        record = {"metric": "hessian/trace", "value": 2.0, "unit": "", "details": {}}
        self.assertEqual([of({**record, "label": label}) for label in ("hessian/trace", "relative", "spectrum")],
                         [("curvature", {"hessian/trace": 2.0}, ""), ("curvature", {"hessian/trace, relative": 2.0}, ""), None])
        record = {"metric": "error_decomposition", "label": "error_decomposition", "value": 0.5, "details": {"weight_kurtosis": {"a": 1.0, "b": 4.0, "c": None}}}
        self.assertEqual(of(record), ("decomposition", {"relative_error": 0.5, "weight_kurtosis": 2.5}, ""))

    def test_the_unit_of_a_contrast_of_curvature_is_its_name_under_any_label(self):
        of, row = collect_program().unit_of, {"unit": "nats/token"}
        self.assertEqual([of({"of": what}, row) for what in ("hessian", "hessian all/trace", "relative", "relative/trace", "taylor", "hessian/other")],
                         ["λ₁", "trace", "λ₁", "trace", "nats/token", "nats/token"])
        self.assertEqual(of({}, row), "nats/token")

    def test_of_taylor_terms_the_last_step_of_each_line_is_kept(self):
        place = {"point": "", "averaging": ""}
        rows = [{**place, "table": table, "branch": branch, "step": step}
                for table in ("loss", "taylor") for branch, steps in (("trunk", (10, 20)), ("fork", (10,))) for step in steps]
        kept = collect_program().without_earlier_terms(rows, [])
        self.assertEqual([row for row in rows if row not in kept], [{**place, "table": "taylor", "branch": "trunk", "step": 10}])
        asked = test_of(of="log_steepness", sets=[{"as": "r", "a": [{"branch": "trunk", "step": 10}]}])
        self.assertEqual(collect_program().without_earlier_terms(rows, [asked]), rows, "a test asks for the earlier one")

    def test_what_another_label_asks_is_no_second_value(self):
        collect = collect_program()
        records = [{**record("hessian", 40.0, 0), "label": "hessian rows=24", "quantizer": None},
                   {**record("hessian", 30.0, 0), "label": "spectrum", "quantizer": None}]
        self.assertEqual([row["value"] for row in collect.value_rows(records, {0: ""}, [])], ["40"])
        with self.assertRaisesRegex(SystemExit, "two values of hessian at curvature trunk 10 float"):
            collect.value_rows(records[:1] * 2, {0: ""}, [])

    def test_a_part_of_a_run_names_its_points_as_the_whole_run_does(self):
        records = [record("validation_loss", 1.0, seed, sweep={"train.lr.peak": 0.1, "train.optimizer": {"sam": {"rho": 2, "betas": [1, 2]}}})
                   for seed in (1, 2)]
        names = collect_program().point_texts
        self.assertEqual(names(records, {}), {0: ""})
        sweep = {"seed": [1, 2], "train.lr.peak": [0.1, 0.2], "train.optimizer": [{"sam": {"rho": 2}}, {"adamw": {"betas": [3, 4]}}]}
        self.assertEqual(names(records, {"sweep": sweep}), {0: "lr.peak=0.1 sam.rho=2"})
        listed = [{"seed": 1, "train.lr.peak": 0.1}, {"seed": 1, "train.lr.peak": 0.3}]
        self.assertEqual(names([record("validation_loss", 1.0, 1, sweep={"train.lr.peak": 0.1})], {"sweep": listed}), {0: "lr.peak=0.1"})


class Parts(unittest.TestCase):
    """Of one run that several machines measured."""
    ROW = {"table": "loss", "branch": None, "step": 10, "method": "q", "quantity": "loss", "unit": "nats/token"}
    HEAD = {**HEAD, "began": "2026-01-03T08:00", "text": "abc"}

    def joined(self, earlier, rows, tests=(), **head):
        with tempfile.TemporaryDirectory() as own:
            path = Path(own) / "m.csv"
            long_table.write(path, self.HEAD, earlier)
            head, rows = parts.joined(path, tests, {**self.HEAD, **head}, rows)
            long_table.write(path, head, rows)
            return long_table.Results(path)

    def test_seeds_of_both_stand_in_one_file_once(self):
        first, second = ({**self.ROW, "seed": seed, "value": str(value)} for seed, value in ((0, 1.5), (1, 2.5)))
        found = self.joined([first], [first, second], date="2026-01-04", began="2026-01-02T07:00", processor="another")
        self.assertEqual([(row["seed"], row["value"]) for row in found.rows], [("0", 1.5), ("1", 2.5)])
        self.assertEqual([found.head[key] for key in ("date", "began", "processor", "program")],
                         ["2026-01-04", "2026-01-02T07:00", "none; another", "none"])
        self.assertEqual(len(self.joined([first], [second]).rows), 2)

    def test_the_earliest_beginning_stays_also_where_a_part_has_none(self):
        first, second = ({**self.ROW, "seed": seed, "value": "1"} for seed in (0, 1))
        with tempfile.TemporaryDirectory() as own:
            path = Path(own) / "m.csv"
            long_table.write(path, {**self.HEAD, "note": "known"}, [first])
            head, _ = parts.joined(path, (), {**HEAD, "date": "2026-01-09", "text": "abc"}, [second])
            self.assertEqual((head["began"], head["date"], head["note"]), ("2026-01-03T08:00", "2026-01-09", "known"))
            long_table.write(path, {**HEAD, "text": "abc"}, [first])
            head, _ = parts.joined(path, (), {**self.HEAD, "began": "2026-01-09T10:00"}, [second])
            self.assertEqual(head["began"], "2026-01-03", "the day of the part that says no more")

    def test_another_number_another_text_and_contrasts_are_refused(self):
        first = {**self.ROW, "seed": 0, "value": "1.5"}
        with self.assertRaisesRegex(SystemExit, r"m.csv has 1.5 at loss 10 q 0 loss, this run 1.25: wanted the same number"):
            self.joined([first], [{**first, "value": "1.25"}])
        with self.assertRaisesRegex(SystemExit, "is of the text abc, this run of abd: wanted the same text"):
            self.joined([first], [first], text="abd")
        with self.assertRaisesRegex(SystemExit, "m has contrasts, .*by `quench merge`"):
            self.joined([first], [first], [claims.Test(id="c", manifest="m", contrasts=[{}])])
        with self.assertRaisesRegex(SystemExit, "m.csv has contrasts; wanted a file without"):
            self.joined([first, table_row("c", "a − b", "q", "items.n", "4")], [first])

    def test_units_of_the_text_are_joined_where_they_are_the_same(self):
        head = [["point", "branch", "averaging", "step", "method", "seed", "run 1"], ["", "", "", "", "scored", "", "5"]]
        with tempfile.TemporaryDirectory() as own:
            path = Path(own) / "m.csv"
            path.write_text("\n".join(",".join(line) for line in [*head, ["", "", "", "10", "q", "0", "7"]]) + "\n", encoding="utf-8")
            lines = [*head, ["", "", "", 10, "q", 0, "7"], ["", "", "", 10, "q", 1, "8"]]
            self.assertEqual([line[5:] for line in parts.joined_units(path, lines)[2:]], [[0, "7"], [1, "8"]])
            self.assertEqual(len(parts.joined_units(path, [*head, lines[3]])), 4)
            with self.assertRaisesRegex(SystemExit, "other units than this run"):
                parts.joined_units(path, [head[0], [*head[1][:6], "6"], lines[3]])
            with self.assertRaisesRegex(SystemExit, "other sums at 10 q 0 than this run"):
                parts.joined_units(path, [*head, ["", "", "", 10, "q", 0, "7.5"]])
            self.assertEqual(len(parts.joined_units(path, [])), 3, "a part without units leaves those that are there")


class PlateauText(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("plateau_text", str(SOURCE / "bench/findings/plateau_text"))
        self.program = importlib.util.module_from_spec(importlib.util.spec_from_loader("plateau_text", loader))
        loader.exec_module(self.program)

    def test_the_newest_model_of_each_service_is_taken_and_nothing_else(self):
        names = [f"p-1/p/data/{path}" for path in ("ec2/2016-11-15/service-2.json", "ec2/2014-09-01/service-2.json", "s3/2006-03-01/service-2.json",
                                                   "s3/2006-03-01/waiters-2.json", "s3/2006-03-01/old/service-2.json")]
        self.assertEqual(self.program.newest_models(names), {"ec2": names[0], "s3": names[2]})

    def test_a_text_that_is_there_is_not_fetched_again_and_a_changed_one_is_refused(self):
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own) / "text"
            folder.mkdir()
            (folder / "a.json").write_text("{}", encoding="ascii")
            self.program.FILES = self.program.digest_of(folder)
            self.program.download = lambda _: self.fail("fetched")
            with unittest.mock.patch.object(sys, "argv", ["plateau_text", str(folder)]):
                self.program.main()
                (folder / "a.json").write_text("[]", encoding="ascii")
                self.program.download = lambda folder: folder
                self.program.extract = lambda archive, made: (made / "a.json").write_text("{} ", encoding="ascii")
                with self.assertRaisesRegex(SystemExit, "have SHA-256 [0-9a-f]{64}, wanted " + self.program.FILES):
                    self.program.main()
            self.assertEqual((folder / "a.json").read_text(encoding="ascii"), "[]", "what was there stays")


class FreshSeeds(unittest.TestCase):
    def run_in(self, own, *words):
        for folder in ("bench/findings/data", "configs/experiments"):
            (Path(own) / folder).mkdir(parents=True, exist_ok=True)
        for file in ("fresh_seeds", "claims.py", "claims.toml", "long_table.py"):
            (Path(own) / "bench/findings" / file).write_bytes((SOURCE / "bench/findings" / file).read_bytes())
        return subprocess.run([sys.executable, Path(own) / "bench/findings/fresh_seeds", *words], capture_output=True, text=True)

    def test_every_point_has_each_new_seed_once_and_known_seeds_are_refused(self):
        listed = "seed: 0\nsweep:\n  seed: [0, 1, 2]\n  train.lr.peak: [1, 2]\n"
        points = ("sweep:\n  - {seed: 0, a: {b: 1}}\n  - {seed: 1, a: {b: 1}}\n  - {seed: 0, a: {b: 2},\n     c: 3}\n"
                  "  - {seed: 1, a: {b: 2},\n     c: 3}\nreport: {}\n")
        with tempfile.TemporaryDirectory() as own:
            self.run_in(own)
            long_table.write(Path(own) / "bench/findings/data/m.csv", HEAD, errors([0.1] * 3, [0.1] * 3))  # seeds 1 to 3
            manifest = Path(own) / "configs/experiments/m.yaml"
            for text, wanted in ((listed, "seed: 0\nsweep:\n  seed: [7, 8]\n  train.lr.peak: [1, 2]\n"),
                                 (points, "sweep:\n  - {seed: 7, a: {b: 1}}\n  - {seed: 8, a: {b: 1}}\n  - {seed: 7, a: {b: 2},\n     c: 3}\n"
                                          "  - {seed: 8, a: {b: 2},\n     c: 3}\nreport: {}\n")):
                manifest.write_text(text, encoding="utf-8")
                self.assertEqual(self.run_in(own, "m", "7", "2").returncode, 0)
                self.assertEqual(manifest.read_text(encoding="utf-8"), wanted)
            refused = self.run_in(own, "m", "3", "2")
            self.assertEqual((refused.returncode, manifest.read_text(encoding="utf-8")), (1, wanted))
            self.assertIn("results have the seeds 3 already", refused.stderr)
            manifest.write_text("seed: 0\n", encoding="utf-8")
            self.assertIn("lists no seeds in its sweep", self.run_in(own, "m", "7", "2").stderr)
            tuned = Path(own) / "configs/experiments/optimizers_tuned_tiny.yaml"
            tuned.write_text(listed, encoding="utf-8")
            refused = self.run_in(own, tuned.stem, "7", "2")
            self.assertEqual(tuned.read_text(encoding="utf-8"), listed)
            self.assertIn("22t primary [10, 11]", refused.stderr, "other seeds choose its rates")


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
