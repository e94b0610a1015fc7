import importlib.util
import os
import subprocess
import sys
import unittest

import made_run
import support
import quench

MISSING = [name for name in ("numpy", "scipy", "pandas") if importlib.util.find_spec(name) is None]
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(quench.__file__)))


def one_pair(floating, a, b):
    """Two methods at one checkpoint, with these items; a value is the mean of its items."""
    run = made_run.MadeRun(items=0)
    weights = run.weights("main", 1000)
    for method, items in ((None, floating), ("rtn", a), ("gptq", b)):
        record = run.loss(weights, method, method and 3)
        record["items"], record["value"] = items, sum(items) / len(items)
        record["details"].pop("bits_per_byte")
    return run


def with_seeds(measured):
    """{(seed, branch): [(float items, rtn items) of each checkpoint]}."""
    run = made_run.MadeRun(items=0)
    for (seed, branch), checkpoints in measured.items():
        for place, pair in enumerate(checkpoints, 1):
            weights = run.weights(branch, 1000 * place, sweep={"seed": seed}, job=seed)
            for method, items in zip((None, "rtn"), pair):
                record = run.loss(weights, method, method and 3)
                record["items"], record["value"] = items, sum(items) / len(items)
                record["details"].pop("bits_per_byte")
    return run


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class AnalysisTest(support.FileTest):
    def load(self, run, **manifest):
        return quench.load(run.write(os.path.join(self.folder, "run"), manifest))

    def test_the_bits_of_a_number_format_are_those_of_an_element_without_its_scales(self):
        from quench.analysis.dimensions import dimension

        def bits(stored, **params):
            return dimension({"quantizer": {"id": "q", "params": params, "bits_per_weight": stored}}, "bits")
        of_format = {"mxfp4": (4.25, 4), "nvfp4": (4.5035, 4), "mxfp6_e2m3": (6.25, 6), "mxfp8_e4m3": (8.25, 8), "ternary": (1.6078, 2),
                     "binary": (1.5, 1)}
        self.assertEqual({name: bits(stored, bits=4, format=name) for name, (stored, _) in of_format.items()},
                         {name: wanted for name, (_, wanted) in of_format.items()})
        self.assertEqual([bits(4.5), bits(8.25), bits(3.15, bits=3), bits(None)], [4, 8, 3, None], "NF4, LLM.int8, a grid, float")
        quantizer = {"id": "nf4", "params": {"block": 16}, "bits_per_weight": 6.0}
        layers = [{"bits": 4.0, "bits_per_weight": 6.0}] * 2
        self.assertEqual(dimension({"quantizer": quantizer, "details": {"layers": layers}}, "bits"), 4, "as the layers say")
        self.assertEqual(dimension({"quantizer": quantizer, "details": {"layers": [*layers, {"bits": 8.0}]}}, "bits"), 6, "they do not agree")

    def test_a_contrast_is_the_paired_difference_with_its_t_interval(self):
        run = self.load(one_pair([3, 4, 4, 5], [3.1, 4.3, 4.2, 5.4], [3.2, 4.1, 4.2, 5.1]))
        frame = run.contrast("rtn", "gptq")
        self.assertEqual(len(frame), 1)
        row = frame.iloc[0]
        # differences of ΔCE: -0.1, 0.2, 0, 0.3; mean 0.1, deviation 0.182574; t of 3 degrees of freedom 3.182446
        self.assertAlmostEqual(row["value"], 0.1, 12)
        self.assertAlmostEqual(row["stderr"], 0.0912870929, 9)
        self.assertAlmostEqual(row["low"], 0.1 - 3.182446305 * 0.0912870929, 8)
        self.assertAlmostEqual(row["high"], 0.1 + 3.182446305 * 0.0912870929, 8)
        self.assertFalse(row["told_apart"])
        self.assertEqual((row["over"], row["n"], row["unit"], row["bits"]), ("items", 4, "nats/token", 3))
        self.assertEqual(row["notes"], "One calibration draw: no interval over draws. rtn uses no calibration data. "
                                       "One training run.")

    def test_over_items_the_differences_of_seeds_are_averaged_first(self):
        own = {0: [0.1, 0.3, 0.2, 0.2], 1: [0.3, 0.1, 0.3, 0.1]}  # their mean is 0.2, 0.2, 0.25, 0.15
        run = self.load(with_seeds({(seed, branch): [([3.0] * 4, [3.5 + (d if branch == "a" else 0) for d in items])]
                                    for seed, items in own.items() for branch in ("a", "b")}))
        frame = run.contrast("a", "b", match=["bits", "step"])
        row = frame[frame["over"] == "items"].iloc[0]
        self.assertAlmostEqual(row["mean"], 0.2, 12)
        self.assertAlmostEqual(row["stderr"], (0.005 / 3) ** 0.5 / 2, 12)
        self.assertEqual(set(frame["over"]), {"items", "seeds"})

    def test_the_last_minus_the_first_is_how_much_a_difference_grows_along_the_training(self):
        # of seed 0 the error of branch a minus that of b is 0.1 at step 1000 and 0.4, 0.2, 0.3, 0.5 at step 3000; of seed 1 0.1 less there
        grown = {0: [0.4, 0.2, 0.3, 0.5], 1: [0.3, 0.1, 0.2, 0.4]}
        lines = {(seed, branch): [([3.0] * 4, [3.5 + (d if branch == "a" else 0) for d in each]) for each in ([0.1] * 4, [9.0] * 4, items)]
                 for seed, items in grown.items() for branch in ("a", "b")}
        keys = {"match": ["bits", "step"], "statistic": "last_minus_first"}
        run = self.load(with_seeds(lines), report={"contrasts": [{"a": "a", "b": "b", **keys}]})
        frame = run.contrast("a", "b", **keys)
        self.assertEqual(set(frame["unit"]), {"nats/token"})
        self.assertEqual(set(frame["cells"]), {4}, "not those of step 2000")
        self.assertTrue(frame["what"].str.endswith(", step 1000 to 3000").all())
        items, seeds = (frame[frame["over"] == over].iloc[0] for over in ("items", "seeds"))
        self.assertAlmostEqual(items["value"], 0.25, 12)
        self.assertAlmostEqual(items["mean"], 0.2, 12)  # 0.25 and 0.15
        self.assertAlmostEqual(seeds["mean"], 0.2, 12)
        self.assertAlmostEqual(seeds["stderr"], 0.05, 12)
        self.assertIn("a − b: last minus first is +0.20 nats per token (95 % interval ", run.findings()[0])
        with self.assertRaisesRegex(ValueError, "no last minus first: it needs pairs at two steps"):
            self.load(with_seeds({place: line[:1] for place, line in lines.items()})).contrast("a", "b", **keys)
        both = self.load(with_seeds({(0, branch): [([3.0] * 4, [3.5 + error] * 4)] * 2 for branch, error in (("a", 0.1), ("b", 0.0), ("c", 0.2))}))
        with self.assertRaisesRegex(ValueError, "no last minus first: 2 pairs are at step 1000"):
            both.contrast({"branch": ["a", "c"]}, "b", **keys)

    def test_at_equal_loss_each_seed_is_compared_by_itself(self):
        def line(*floats):
            return [([loss] * 4, [loss + 0.1] * 4) for loss in floats]

        def found(second):
            run = self.load(with_seeds({(0, "a"): line(3.0, 2.0), (0, "b"): line(2.5, 2.0), (1, "a"): line(3.0, 2.0), (1, "b"): line(*second)}))
            return run.contrast("a", "b", at="equal_loss", within=0.6)
        with self.assertRaisesRegex(ValueError, "rtn bits=3: seed 1: a: the float losses between step1000 and step2000 are 1 nats per token apart"):
            found((2.6, 2.1))
        with self.assertRaisesRegex(ValueError, r"seed 1: the float losses of a \(2.0000 to 3.0000\) and of b \(1.0000 to 1.5000\) do not overlap"):
            found((1.5, 1.0))
        frame = found((2.5, 2.0))
        self.assertTrue(frame.iloc[0]["what"].endswith("a float loss of 2.0000"), frame.iloc[0]["what"])
        self.assertIn("At seed 0 a has that float loss at step2000", frame.iloc[0]["notes"])

    def test_documents_are_the_sample_where_there_are_ten(self):
        run = made_run.MadeRun(items=48, documents=24)
        weights = run.weights("main", 1000)
        for method in (None, "rtn", "gptq"):
            run.loss(weights, method, method and 3)
        row = self.load(run).contrast("gptq", "rtn").iloc[0]
        self.assertEqual(row["sample"], "24 documents")
        self.assertLess(row["value"], 0)

    def test_all_rows_of_a_call_are_one_family(self):
        run = self.load(made_run.demo())
        frame = run.contrast("gptq", "rtn", at="last")
        self.assertEqual(set(frame["comparisons"]), {frame["what"].nunique()})
        self.assertTrue((frame["low_of_all"] < frame["low"]).all())
        wider = run.contrast("gptq", "rtn", at="last", comparisons=100)
        self.assertTrue((wider["low_of_all"] < frame["low_of_all"]).all())
        both = run.contrasts([{"a": "gptq", "b": "rtn", "at": "last"}, {"a": "lawa", "b": "raw", "at": "last"}])
        self.assertEqual(len(set(both["comparisons"])), 1)
        self.assertEqual(set(both["a"]), {"gptq", "lawa"})

    def test_the_contrasts_of_the_manifest_are_evaluated(self):
        run = self.load(made_run.demo(), report={"contrasts": [{"a": "gptq", "b": "rtn", "at": "first"},
                                                              {"a": "nobody", "b": "rtn"}]})
        frame = run.contrasts()
        self.assertEqual(set(frame["b"]), {"rtn"})
        self.assertEqual(frame.attrs["problems"], ["no quantizer, averaging or branch with finished values is called nobody"])

    def test_findings_say_first_the_counts_of_many_rows_then_what_is_decided_for_all_comparisons(self):
        run = self.load(made_run.demo(), report={"contrasts": [{"a": "lawa", "b": "raw", "at": "last"},
                                                              {"a": "gptq", "b": "rtn", "at": "last"}]})
        findings, frame = run.findings(), run.contrasts()
        sure = frame[frame["told_apart_of_all"]]["what"].nunique()
        self.assertIn("lawa against raw: ΔCE is lower in ", findings[0])
        self.assertIn("gptq against rtn: ΔCE is lower in ", findings[1])
        self.assertTrue(all(" loses " in text for text in findings[2:2 + sure]), findings)
        sides = [{"branch": "decay6", "averaging": None, "quantizer": method, "bits": 3} for method in ("gptq", "rtn")]
        one_row = self.load(made_run.demo(), report={"contrasts": [{"a": "lawa", "b": "raw", "at": "last"},
                                                                  {"a": sides[0], "b": sides[1], "match": ["step"], "at": "last"}]})
        self.assertRegex(one_row.findings()[0], "^At .* loses .* to quantization than ")
        self.assertIn("lawa against raw: ΔCE is lower in ", one_row.findings()[1])
        self.assertTrue(findings[-1].startswith("One training run: "))
        self.assertTrue((frame["told_apart"] | ~frame["told_apart_of_all"]).all())
        self.assertIn("<li>branch: constant, decay12, decay6</li>", run._repr_html_())
        alone = self.load(made_run.quickstart()).findings()
        self.assertRegex(alone[0], r"^At step1200: quantized by rtn bits=3, the loss changes by \+0\.\d+ nats per token "
                                   r"\(95 % interval \+0\.\d+ to \+0\.\d+ over 60 blocks, block bootstrap of 10\); by rtn bits=4, ")

    def test_without_contrasts_each_point_of_a_sweep_says_what_it_costs(self):
        made = made_run.sweep(seeds=1)
        made.records = [record for record in made.records if record["label"] == "code"]
        findings = self.load(made).findings()
        self.assertEqual([text.partition(": ")[0] for text in findings], [
            "At peak 0.001, adamw, step2000", "At peak 0.001, sam, step2000", "At peak 0.003, adamw, step2000",
            "At peak 0.003, sam, step2000", "One training run each"])
        self.assertIn(": quantized by rtn bits=3, the loss changes by +0.", findings[1])
        of_seeds = self.load(made_run.sweep(seeds=3)).findings()
        self.assertEqual(len(of_seeds), 4)  # several trainings of each: nothing to add
        self.assertRegex(of_seeds[0], r"by rtn bits=3, .* \(95 % interval \S+ to \S+ over 3 seeds\); by ")

    def test_the_cost_of_seeds_is_their_mean_with_its_interval(self):
        same = [3.0] * 4
        found = self.load(with_seeds({(seed, "a"): [(same, [3.0 + cost] * 4)] for seed, cost in enumerate((0.1, 0.2, 0.3))})).findings()
        # mean 0.2, deviation 0.1: 4.302653 · 0.1/√3 = 0.2484
        self.assertEqual(found, ["At step1000: quantized by rtn bits=3, the loss changes by +0.20 nats per token "
                                 "(95 % interval −0.05 to +0.45 over 3 seeds)."])

    def test_a_method_that_the_manifest_has_no_more_is_no_finding(self):
        made = made_run.quickstart()
        self.assertIn("rtn bits=3, ", self.load(made).findings()[0])
        for quantizers, words in (([{"rtn": {"bits": [4, 8]}}, "gptq"], ("rtn bits=4", "gptq bits=3", "gptq bits=4")),
                                  ([{"label": "mine", "rtn": None}, {"gptq": {"bits": 3, "group_size": 128}}], ("gptq bits=3",)),
                                  ([{"gptq": {"bits": 4, "damp": "auto"}, "calibration": "web"}], ("gptq bits=4",)),
                                  ([{"gptq": {"group_size": 64}}], ())):
            with self.subTest(quantizers=quantizers):
                findings = self.load(made, quantizers=quantizers).findings()
                self.assertEqual(tuple(word for word in ("rtn bits=3", "rtn bits=4", "gptq bits=3", "gptq bits=4")
                                       if word in " ".join(findings)), words)

    def test_a_point_that_the_sweep_has_no_more_is_no_finding(self):
        findings = self.load(made_run.sweep(seeds=1), sweep={"train.lr.peak": [0.003, 0.01], "train.optimizer": [
            {"adamw": {"weight_decay": 0.1}}]}).findings()
        self.assertTrue(findings[0].startswith("At step2000: quantized by rtn bits=3"), findings)
        self.assertEqual(len(findings), 2)  # one of four
        points = [{"train.lr.peak": 0.001, "train.seed": 0}, {"train.lr": {"peak": 0.003}}]
        self.assertEqual(len(self.load(made_run.sweep(seeds=1), sweep=points).findings()), 5)
        self.assertEqual(len(self.load(made_run.sweep(seeds=1), sweep=points[:1]).findings()), 3)

    def test_a_row_says_each_thing_once_and_an_average_goes_by_its_name(self):
        run = self.load(made_run.demo())
        rows = set(run.contrast("decay6", "constant", match=["bits", "step"])["what"])
        self.assertEqual(rows, {"step 7000, %s bits=%d" % each for each in (("gptq", 3), ("gptq", 4), ("rtn", 3), ("rtn", 4))})
        rows = set(run.contrast("gptq", "rtn", match=["bits", "step"], at="last")["what"])
        self.assertIn("3 bits, branch constant, step12000, lawa", rows)
        self.assertIn("4 bits, branch decay6, decay6-step7000", rows)

    def test_rows_are_told_apart_by_the_side_that_is_several(self):
        made = made_run.MadeRun()
        for average in (None, "short", "long"):
            weights = made.weights("constant", 1000, averaging=average, members=["step%d" % step for step in (800, 900, 1000)])
            made.loss(weights)
            made.loss(weights, "rtn", 3)
        averages, raw = {"averaging": ["short", "long"], "as": "averages"}, {"averaging": None, "as": "raw"}
        run = self.load(made)
        for a, b in ((averages, raw), (raw, averages)):
            self.assertEqual(sorted(run.contrast(a, b)["what"]),
                             ["step1000, rtn bits=3, branch constant, %s" % each for each in ("long", "short")])

    def test_a_row_names_its_metric_where_there_are_several(self):
        made = made_run.sweep(seeds=1)
        side = {"quantizer": "gptq", "params.damp": 0.1, "as": "damped"}
        frame = self.load(made).contrast(side, "rtn", match=["bits", "checkpoint"], at="last")
        self.assertEqual(frame["what"].str.contains("code").sum(), len(frame) / 2)
        made.records = [record for record in made.records if record["label"] == "code"]
        run = self.load(made, report={"contrasts": [{"a": side, "b": "rtn"}]})
        self.assertFalse(any("code" in text for text in [*run.contrasts()["what"], *run.findings()]))

    def test_contrasts_of_one_title_say_where_they_compare(self):
        from quench.analysis.sentences import heading_of  # noqa: PLC0415

        run = self.load(made_run.demo(), report={"contrasts": [
            {"a": "lawa", "b": "raw"}, {"a": "lawa", "b": "raw", "at": "last"}, {"a": "gptq", "b": "rtn"}, {"a": "gptq", "b": "rtn", "of": "loss"},
            {"a": "decay12", "b": "constant", "match": ["bits", "step"]}, {"a": "decay12", "b": "constant", "match": ["lr"]}]})
        self.assertEqual([heading_of(each) for each in run.evaluate()], [
            "lawa − raw, at all checkpoints", "lawa − raw, at the last checkpoint", "gptq − rtn, by ΔCE",
            "gptq − rtn, by quantized loss", "decay12 − constant, at equal bits and step", "decay12 − constant, at equal lr"])
        findings = run.findings()
        self.assertIn("lawa against raw at the last checkpoint: ΔCE is lower in", findings[1])
        self.assertEqual(len(findings), len(set(findings)))  # both have the rows of the last checkpoint

    def test_the_summary_counts_what_is_decided_before_the_correction(self):
        from quench.analysis.intervals import spread_of  # noqa: PLC0415
        from quench.analysis.sentences import summary_of  # noqa: PLC0415

        run = self.load(made_run.demo(), report={"contrasts": [{"a": "gptq", "b": "rtn"}]})
        contrast = run.evaluate()[0]
        contrast.rows = contrast.rows[:6]
        # of t with 3 degrees of freedom: 3.18 errors decide alone, 4.86 one of four (α/4), 5.96 one of ten
        for row, mean in zip(contrast.rows, (-9, -4, -4, 1, 9, 4)):
            row.spreads = [spread_of("seeds", [mean - 1.5 ** 0.5 * 2 ** 0.5, mean, mean, mean + 3 ** 0.5]).among(10)]
        self.assertIn("ΔCE is lower in 1 of 6 pairs (3 before correction), no significant difference in 4, higher in 1 (2 before "
                      "correction), with all 10 comparisons at once", summary_of(contrast))

    def test_blocks_of_one_value_have_no_interval_to_tell(self):
        for n in (4, 24):  # of which runs of 4 are drawn together
            run = self.load(one_pair([3.0] * n, [3.4831 - 0.9662] * n, [3.1] * n), report={"contrasts": [{"a": "rtn", "b": "gptq"}]})
            said = "(all %d blocks have the same value: no spread)" % n
            self.assertEqual(run.findings()[0], "At 3 bits, step1000, branch main: rtn loses 0.5831 nats per token less to quantization "
                                                "than gptq %s." % said)
            from quench.analysis.sentences import sentence_of  # noqa: PLC0415
            contrast = run.evaluate()[0]
            self.assertEqual(sentence_of(contrast.spec, contrast.rows[0]).count("all %d blocks have the same value" % n), 1)
            alone = self.load(one_pair([3.0] * n, [2.5169] * n, [3.1] * n)).findings()[0]
            self.assertIn("by −0.4831 nats per token; by gptq bits=3, +0.1000 " + said, alone)

    def test_what_would_have_been_detected_has_the_decimals_of_the_interval(self):
        run = self.load(one_pair([3, 4, 4, 5], [3.1, 4.3, 4.2, 5.4], [3.2, 4.1, 4.2, 5.1]), report={"contrasts": [{"a": "rtn", "b": "gptq"}]})
        self.assertRegex(run.findings()[0], r": \+0\.10 .* −0\.19 to \+0\.39 over 4 blocks\); 0\.\d\d would have been detected")

    def test_values_of_different_texts_are_not_compared(self):
        run = self.load(made_run.two_texts())
        self.assertRegex(run.notes[1], r"^validation_loss has values of several texts, which are neither compared nor averaged: "
                                       r"\d+ of block 128, \d+ of block 64.$")
        frame = run.contrast("gptq", "rtn", match=["bits"])
        self.assertEqual(set(frame["what"].str.extract("(block [0-9]+)")[0]), {"block 64", "block 128"})
        self.assertEqual(len(run.figure_data("error_vs_tokens").panels), 4)

    def test_a_frame_has_a_row_for_each_value_with_its_interval(self):
        run = self.load(made_run.demo())
        frame = run.frame(branch="decay6", bits=[3, 4])
        self.assertEqual(set(frame["bits"]), {3, 4})
        self.assertEqual(frame["step"].dtype.kind, "i")
        self.assertTrue(((frame["value"] - frame["float"] - frame["delta"]).abs() < 1e-12).all())
        self.assertTrue(((frame["low"] < frame["delta"]) & (frame["delta"] < frame["high"])).all())
        self.assertEqual(len(run.frame()), len(run.observations))
        self.assertNotIn("quantization_error", set(run.frame()["metric_id"]))

    def test_a_table_has_a_row_for_each_cell_with_what_its_replicates_say(self):
        run = self.load(made_run.sweep(seeds=3))
        cells = run.cells(label="gptq bits=3 damp=0.1", metric="code")
        self.assertEqual(len(cells), 16)  # 4 steps of 4 trainings, each with 3 seeds
        self.assertEqual(set(cells["seeds_n"]), {3})
        self.assertEqual(cells["draws_n"].notna().sum(), 4)  # at the last step
        self.assertEqual(set(cells["point"]), {"peak 0.001, adamw", "peak 0.001, sam", "peak 0.003, adamw", "peak 0.003, sam"})

    @unittest.skipUnless(importlib.util.find_spec("polars") and importlib.util.find_spec("pyarrow"), "no polars or no pyarrow")
    def test_frames_come_as_polars_too(self):
        run = self.load(made_run.demo())
        run.records[0]["checkpoint"]["lr"] = "warmup"  # a column of two types
        for frame, other in ((run.frame(engine="polars"), run.frame()),
                             (run.contrast("gptq", "rtn", engine="polars"), run.contrast("gptq", "rtn"))):
            self.assertEqual(frame.columns, list(other.columns))
            self.assertEqual(frame["value"].to_list(), list(other["value"]))

    def test_what_does_not_fit_is_one_line_that_says_so(self):
        run = self.load(made_run.demo())
        for keys, words in (({"a": "gptq", "b": "gptq"}, "a and b are both gptq"),
                            ({"a": "gptq", "b": "nobody"}, "called nobody"),
                            ({"a": "gptq", "b": "rtn", "match": ["bit"]}, "unknown dimension `bit`; did you mean `bits`?"),
                            ({"a": "gptq", "b": "rtn", "matches": ["bits"]}, "unknown key `matches`; did you mean `match`?"),
                            ({"a": "gptq", "b": "rtn", "at": "end"}, "`at`: got the text \"end\", wanted all, last, first, equal_loss"),
                            ({"a": {"quantiser": "gptq"}, "b": "rtn"}, "unknown dimension `quantiser`"),
                            ({"a": "gptq"}, "`b` is missing"),
                            ({"a": "gptq", "statistic": "rank_correlation"}, "wanted `b`, or `over` and an axis"),
                            ({"a": "constant", "b": "rtn"}, "select one on a side")):
            with self.assertRaises(ValueError) as raised:
                run.contrast(**keys)
            self.assertIn(words, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(ValueError, "has no records"):
            os.mkdir(os.path.join(self.folder, "empty"))
            quench.load(os.path.join(self.folder, "empty"))
        with self.assertRaisesRegex(FileNotFoundError, "no such folder"):
            quench.load(os.path.join(self.folder, "nowhere"))

    def test_the_t_distribution_is_that_of_the_tables(self):
        from quench.analysis.intervals import detectable_errors, t_quantile  # noqa: PLC0415

        for degrees, quantile in ((1, 12.7062047362), (2, 4.3026527297), (30, 2.0422724563), (2.5, 3.5746548420)):
            self.assertAlmostEqual(t_quantile(degrees), quantile, 9)
        self.assertAlmostEqual(detectable_errors(1e7), 1.959964 + 0.841621, 5)  # a normal distribution's

    def test_intervals_hold_the_true_difference_as_often_as_they_say(self):
        import numpy  # noqa: PLC0415

        from quench.analysis.intervals import ItemSample  # noqa: PLC0415

        chance, sample, held = numpy.random.default_rng(3), ItemSample(numpy.ones(120), False, True), 0
        for _ in range(400):
            noise, values = chance.standard_normal(220), numpy.zeros(220)
            for i in range(1, 220):
                values[i] = 0.4 * values[i - 1] + noise[i]
            low, high = sample.spread(values[100:]).interval
            held += low < 0 < high
        self.assertTrue(0.92 < held / 400 < 0.985, held)


class WithoutPackagesTest(unittest.TestCase):
    def test_without_scipy_one_line_says_what_is_missing(self):
        done = subprocess.run([sys.executable, "-S", "-c", "import quench; quench.load('.')"], cwd=PACKAGE, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1], r"^ImportError: .* has no modules numpy, scipy; install it there "
                                                       r"\(.* install .*numpy .*scipy\)$")


if __name__ == "__main__":
    unittest.main()
