"""What `quench gate` and `quench compare` make of measured items."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import unittest
from pathlib import Path

import support

MISSING = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
if not MISSING:
    import numpy as np

    from quench.analysis.intervals import ItemSample, t_quantile
    from quench.gate.judge import accuracy_drop, judge, loss_ratio, measure, units_that_decide
from quench.gate.looks import Looks
from quench.gate.overlap import file_of, overlap
from quench.status import Error

SOURCE = Path(__file__).resolve().parents[2]
WITHOUT_LIBRARIES = unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))


def record(items, quantizer=None, **more):
    return {"metric": "loss", "label": "loss block=8", "index": 0, "unit": "nats/token", "direction": -1, "error": None,
            "items": list(items), "value": sum(items) / len(items), "quantizer": quantizer, "parts": None,
            "details": {"params": {"block": 8}, "corpora": {"corpus": {"name": "t.txt", "fingerprint": "aa"}}},
            "checkpoint": {"model": "m", "revision": None, "commit": None}, **more}


def unscored(number, why="longer"):
    return {"left_out": {"sciq": {"questions": [number], "why": {str(number): why}}}}


def accuracy(items, **more):
    return record(items, metric="tasks", unit="accuracy", direction=1, **more)


def losses(count, cost):
    """Blocks with levels of their own, and costs that differ from block to block."""
    floating = [3 + 0.3 * math.sin(9.7 * i) for i in range(count)]
    return floating, [f * (1 + cost) + 0.004 * math.cos(5.3 * i * i) for i, f in enumerate(floating)]


@WITHOUT_LIBRARIES
class JudgeTest(unittest.TestCase):
    def test_a_ratio_of_sums_has_the_error_of_the_delta_method(self):
        # 4 independent blocks: Σ q/Σ f = 22/20, so e = q − 1.1 f = −0.2, 0.6, 0.4, −0.8, Σ e² = 1.2, Σ e³ = −0.24
        got = loss_ratio(record([2, 4, 6, 8]), record([2, 5, 7, 8]))
        self.assertAlmostEqual(got.value, 0.1, 14)
        self.assertAlmostEqual(got.stderr, math.sqrt(1.2 / 3 / 4) / 5, 14)
        t = t_quantile(3, 0.9)
        lower, upper = got.one_sided(0.05)
        self.assertAlmostEqual(upper, 0.1 + t * got.stderr, 14)
        self.assertAlmostEqual(lower, 0.1 - (t + 0.24 / 1.2 ** 1.5 * (2 * t * t + 1) / 6) * got.stderr, 14)  # the long tail's

    def test_neighbouring_blocks_are_drawn_in_runs_as_in_reports(self):
        floating, quantized = losses(60, 0.01)
        got = loss_ratio(record(floating), record(quantized))
        rests = np.array(quantized) - (1 + got.value) * np.array(floating)
        wanted = ItemSample(np.ones(60), False, True).spread(rests)
        self.assertEqual(got.sample, "60 blocks, block bootstrap of 10")
        self.assertAlmostEqual(got.stderr, wanted.stderr / np.mean(floating), 13)

    def test_documents_are_the_sample_where_records_have_them(self):
        sizes = [100 + 7 * i for i in range(12)]
        details = [{"documents": {"scored": sizes, "nll": [n * loss for n, loss in zip(sizes, values)]}} for values in losses(12, 0.01)]
        got = loss_ratio(record([1, 1], details=details[0]), record([1, 1], details=details[1]))
        self.assertEqual((got.sample, got.units), ("12 documents", "documents"))
        self.assertAlmostEqual(got.value, sum(details[1]["documents"]["nll"]) / sum(details[0]["documents"]["nll"]) - 1, 14)

    def test_the_limits_of_an_accuracy_are_those_of_the_score_test(self):
        # Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014): airway responsiveness, 1 and 7 of 21 differ;
        # Tango's interval of the difference is −0.517 to −0.026
        got = accuracy_drop(accuracy([1, 1] + [0] * 19), accuracy([1, 0] + [1] * 7 + [0] * 12))
        self.assertAlmostEqual(got.value, -6 / 21)
        self.assertEqual([round(end, 3) for end in got.limits(0.95)], [-0.517, -0.026])

    def test_a_task_where_no_answer_differs_is_not_certain(self):
        hundred = accuracy([1] * 100)
        self.assertEqual(judge(accuracy_drop(hundred, hundred), 0.01).word, "undecided")
        self.assertGreater(accuracy_drop(hundred, hundred).one_sided(0.05)[1], 0.02)
        thousand = accuracy([1] * 1000)
        self.assertEqual(judge(accuracy_drop(thousand, thousand), 0.01).word, "within")

    def test_words_are_those_of_the_one_sided_limits(self):
        measured = loss_ratio(*map(record, losses(200, 0.01)))
        lower, upper = measured.one_sided(0.05)
        self.assertEqual(judge(measured, upper).word, "within")
        self.assertEqual(judge(measured, math.nextafter(upper, 0)).word, "undecided")
        self.assertEqual(judge(measured, lower).word, "undecided")
        self.assertEqual(judge(measured, math.nextafter(lower, 0)).word, "beyond")

    def test_planned_looks_share_the_error(self):
        measured = loss_ratio(*map(record, losses(200, 0.01)))
        self.assertEqual(judge(measured, 0.5, 4).upper, measured.one_sided(0.0125)[1])
        self.assertGreater(judge(measured, 0.5, 4).upper, judge(measured, 0.5).upper)

    def test_few_blocks_decide_nothing(self):
        got = judge(loss_ratio(*map(record, losses(39, 0.01))), 0.5)
        self.assertEqual((got.word, got.more), ("undecided", 1))

    def test_how_many_blocks_decide(self):
        measured = loss_ratio(*map(record, losses(100, 0.01)))
        z = measured.quantile(0.9) + 0.8416212335729143
        budget = measured.value + z * measured.stderr / 2  # half as far as it has to be: four times the blocks
        self.assertEqual(units_that_decide(measured, budget, 0.05), 300)
        self.assertIsNone(units_that_decide(measured, measured.value, 0.05))

    def test_what_cannot_be_paired_is_one_line(self):
        good = record([1, 2, 3])
        other_text = record([1, 2, 3], details={"params": {"block": 8}, "corpora": {"corpus": {"fingerprint": "bb"}}})
        for first, second, wanted in [
                (good, record([1, 2]), "Q: got 2 blocks where F has 3, wanted the same"),
                (good, other_text, "Q: got another text or other settings of loss than F, wanted the same"),
                (good, record([1, 2, 3], error="layer 3: NaN"), "Q: layer 3: NaN"),
                (good, record([1, 2, 3], value="NaN"), "Q: got loss = NaN, wanted a finite number"),
                (record([1]), record([1]), "loss block=8: got 1 blocks, wanted at least 2: one has no interval"),
                (record([0, 0]), record([0, 0]), "F: got a loss of 0.0, wanted one above 0: there is no ratio to it"),
                (accuracy([0, 1], details=unscored(3)), accuracy([0, 1], details=unscored(4)),
                 "Q: got other questions that cannot be scored than F, wanted the same"),
                (accuracy([0.5, 1]), accuracy([0.5, 1]),
                 "--metric: got the mean of several tasks, wanted one task, whose questions are 0 or 1 each"),
                (record([1, 2], unit="1"), record([1, 2], unit="1"),
                 "--metric: got loss, measured in 1, wanted a loss in nats/token or the accuracy of a task")]:
            with self.assertRaises(Error) as caught:
                measure(first, second, ["F", "Q"])
            self.assertEqual(str(caught.exception), wanted)

    def test_the_accuracy_of_a_part_of_the_questions_is_judged_too(self):
        part = {"metric": "tasks", "unit": "accuracy of 3 of 4 questions", "direction": 1}
        floating = record([1, 0, 1], details=unscored(3, "8 ids"), **part)
        quantized = record([1, 0, 0], details=unscored(3, "9 ids"), **part)  # a smaller context gives another reason
        measured = measure(floating, quantized, ["F", "Q"])
        self.assertEqual((measured.value, measured.sample), (1 / 3, "3 questions, of which 1 were lost and 0 won"))


class LooksTest(support.FileTest):
    def look(self, text, planned, verdict="undecided"):
        looks = Looks(self.folder, "question", text, planned)
        looks.keep(verdict)
        return looks.number

    def test_another_text_after_an_undecided_verdict_is_refused(self):
        self.assertEqual(self.look("a", 1), 1)
        self.assertEqual(self.look("a", 1), 1)  # the same text is the same look
        for planned in (1, 2):  # planning afterwards does not help
            with self.assertRaisesRegex(Error, "were undecided on .* with 1 planned look; got another text"):
                self.look("b", planned)

    def test_planned_looks_are_counted(self):
        self.assertEqual([self.look(text, 3) for text in "abac"], [1, 2, 1, 3])
        with self.assertRaisesRegex(Error, "with 3 planned looks"):
            self.look("d", 3)

    def test_a_model_that_was_within_may_be_asked_of_any_text(self):
        self.look("a", 1, "within")
        self.assertEqual(self.look("b", 1, "within"), 1)

    def test_a_cut_line_counts_as_none(self):
        self.write('{"question": "question", "te', "gates.jsonl")
        self.assertEqual(self.look("a", 1), 1)


class OverlapTest(support.FileTest):
    def test_lines_that_both_texts_have_are_counted(self):
        lines = ["line %d of a text that is long enough to count" % i for i in range(8)]
        a = self.write("\n".join(lines[:6]) + "\nshort\n", "a.txt")
        b = self.write("\n".join(lines[4:]) + "\nshort\n", "b.txt")
        self.assertEqual(overlap(a, b), "%s: 2 of its 4 lines of at least 30 bytes are in the calibration text %s" % (b, a))
        self.assertIsNone(overlap(self.write("short\n", "c.txt"), b))
        self.assertEqual(overlap(a, a), "%s: calibration and validation read the same file" % a)

    def test_the_file_of_a_specification(self):
        path = self.write("x", "t.txt")
        self.assertEqual(file_of("validation_loss:block=8,text=" + path), path)
        self.assertEqual(file_of("text=%s,sequences=3" % path), path)
        self.assertIsNone(file_of("tasks:tasks=sciq"))


@WITHOUT_LIBRARIES
class RequestTest(support.FileTest):
    def ask(self, **more):
        request = {"names": ["F", "Q"], "budget": "0.5%", "looks": 1, "metric": "m:text=none", "calibration": "",
                   "home": self.folder, "first": None, "second": None, **more}
        return subprocess.run([sys.executable, SOURCE / "python/quench/start.py", "gate"], input=json.dumps(request),
                              capture_output=True, text=True, timeout=60)

    def answer(self, **more):
        got = self.ask(**more)
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        return json.loads(got.stdout)

    def test_what_was_asked_is_checked_before_anything_is_measured(self):
        self.assertIsNone(self.answer())
        self.assertIsNone(self.answer(budget=None))
        for budget, wanted in (("0%", "more than 0: no data can show that a model costs nothing"), ("0.5", "a share such as 0.5%"),
                               ("-1%", "a share such as 0.5%"), ("nan%", "a share such as 0.5%"), ("%", "a share such as 0.5%")):
            got = self.ask(budget=budget)
            self.assertEqual((got.returncode, got.stderr), (2, "--budget: got %s, wanted %s\n" % (budget, wanted)))

    def test_verdicts(self):
        floating, quantized = losses(200, 0.01)
        both = {"first": [record(floating)], "second": [record(quantized)]}
        for budget, verdict in (("2%", "within"), ("1%", "undecided"), ("0.5%", "beyond")):
            got = self.answer(budget=budget, **both)
            self.assertEqual(got["data"]["verdict"], verdict)
            self.assertTrue(got["text"].startswith(verdict + ": ΔQL +1"), got["text"])
        self.assertTrue(os.path.exists(os.path.join(self.folder, "gates.jsonl")))

    def test_a_quantizer_on_the_first_model(self):
        floating, quantized = losses(200, 0.01)
        got = self.answer(budget="2%", first=[record(floating), record(quantized, quantizer={"id": "q", "params": {}})])
        self.assertEqual((got["data"]["first"], got["data"]["second"]), (sum(floating) / 200, sum(quantized) / 200))

    def test_without_a_budget_two_models_are_compared(self):
        floating, quantized = losses(200, 0.01)
        got = self.answer(budget=None, first=[record(floating)], second=[record(quantized)])
        self.assertEqual(got["data"]["verdict"], "costs more")
        self.assertTrue(got["text"].startswith("Q has a higher loss than F: difference +1"), got["text"])
        checkpoint = {"model": "m", "revision": None, "commit": None, "stored": {"format": "gptq", "bits": 4}}
        for second in record(quantized, checkpoint=checkpoint), record(quantized, quantizer={"id": "q", "params": {}}):
            got = self.answer(budget=None, first=[record(floating)], second=[second])
            self.assertTrue(got["text"].startswith("Q costs more than F: ΔQL +1"), got["text"])
        lower = self.answer(budget=None, first=[record(quantized)], second=[record(floating)])
        self.assertTrue(lower["text"].startswith("Q has a lower loss than F: difference -0.9"), lower["text"])

    def test_two_models_of_the_same_losses_are_said_to_be_identical(self):
        floating, _ = losses(200, 0.01)
        same = self.answer(budget=None, first=[record(floating)], second=[record(floating)])
        self.assertEqual(same["data"]["verdict"], "not told apart")
        self.assertEqual(same["what"], "no significant difference between F and Q: identical losses in all 200 blocks")

    def test_more_text_until_it_decides_is_refused(self):
        floating, quantized = losses(200, 0.01)
        first, second = [record(floating)], [record(quantized)]
        self.answer(budget="1%", first=first, second=second)
        got = self.ask(budget="1%", first=[record(floating[:190])], second=[record(quantized[:190])])
        self.assertEqual(got.returncode, 2)
        self.assertIn("got another text, wanted the same one", got.stderr)
        self.answer(budget="1.1%", first=[record(floating[:190])], second=[record(quantized[:190])])  # another question


if __name__ == "__main__":
    unittest.main()
