"""Contrasts are refused from the cells that a manifest plans, before anything runs."""

import unittest

import support  # noqa: F401, it finds the package

from quench.report.check import check


def planned(bits=(3, 4), group_sizes=(32, 64), sweep=None, job=0):
    """An experiment as the program describes it: three checkpoints, averages of two and of three, and a set of the first two."""
    checkpoints = [{"model": "run", "revision": "step%d" % step, "branch": "", "step": step, "tokens": None, "parent": None}
                   for step in (10, 20, 30)]
    averages = [(1, 0, "lawa window=2", [10, 20]), (2, 0, "lawa window=2", [20, 30]), (2, 1, "lawa window=3", [10, 20, 30]),
                (1, 2, "soup", [10, 20])]
    weights = [{"checkpoint": i, "line": -1, "averaging": None} for i in range(3)]
    weights += [{"checkpoint": i, "line": line, "averaging": {"id": label.split()[0], "params": {}, "label": label,
                                                              "members": ["step%d" % step for step in members]}}
                for i, line, label, members in averages]
    quantizers = [{"id": "rtn", "params": {"bits": width, "group_size": size}, "calibration": None,
                   "label": "rtn" + " bits=%s" % width * (len(bits) > 1) + " group_size=%d" % size * (len(group_sizes) > 1)}
                  for width in bits for size in group_sizes]
    metrics = [{"id": name, "label": name, "of_float": True, "of_quantized": name != "hessian", "needs_float": False,
                "needs_trajectory": False} for name in ("loss", "hessian")]
    return {"job": job, "point": sweep, "seed": 0, "dtype": "float32", "device": "cpu", "branches": [""], "checkpoints": checkpoints,
            "weights": weights, "quantizers": quantizers, "metrics": metrics,
            "averagings": [{"id": "lawa", "label": "lawa window=2"}, {"id": "lawa", "label": "lawa window=3"},
                           {"id": "soup", "label": "soup"}]}


def told(contrast, experiments=None):
    answer = check({"report": {"contrasts": [contrast]}, "experiments": experiments or [planned()]})
    for entry in answer["faults"] + answer["warnings"]:
        assert entry["path"][:2] == ("contrasts", 0)
    return [entry["text"] for entry in answer["faults"]] + ["warning: " + entry["text"] for entry in answer["warnings"]]


class CheckTest(unittest.TestCase):
    def test_what_fits_is_not_refused(self):
        for contrast in ({"a": "lawa", "b": "raw"}, {"a": "soup", "b": "raw"}, {"a": "soup", "b": "members"},
                         {"a": {"bits": 3}, "b": {"bits": 4}, "match": ["params.group_size", "checkpoint"]},
                         {"a": {"averaging": "soup", "checkpoint": "step20"}, "b": {"averaging": None, "checkpoint": "step30"}},
                         {"a": "lawa", "b": "raw", "of": "loss"}, {"a": "soup", "b": "raw", "of": "hessian/trace"},
                         {"a": "raw", "statistic": "rank_correlation", "over": "step"}):
            with self.subTest(contrast=contrast):
                self.assertEqual(told(contrast), [])

    def test_several_cells_that_fit_several_are_refused(self):
        self.assertEqual(told({"a": {"bits": 3}, "b": {"bits": 4}}), [
            "contrasts: 2 cells of bits 3, which differ in label, params.group_size, fit 2 cells of bits 4, which differ in label, "
            "params.group_size; select one on a side, or add what should be equal to `match`"])
        self.assertIn("lines of checkpoints of bits 3, which differ in", told({"a": {"bits": 3}, "b": {"bits": 4},
                                                                              "at": "equal_loss"})[0])

    def test_sides_that_never_meet_are_refused(self):
        self.assertEqual(told({"a": "soup", "b": "raw", "at": "last"}), [
            "contrasts: no cell of soup agrees with one of raw in bits, checkpoint; last is step20 for soup and step30 for raw: name a "
            "checkpoint on each side, or leave out `at`"])
        self.assertEqual(told({"a": {"bits": 3}, "b": {"bits": 4}, "match": ["bits"]}),
                         ["contrasts: no cell of bits 3 agrees with one of bits 4 in bits"])
        self.assertEqual(told({"a": "raw", "b": "members"}), ["contrasts: raw: a checkpoint that is no average has no members"])

    def test_values_that_are_not_measured_are_refused(self):
        self.assertEqual(told({"a": "soup", "b": "raw", "of": "kurtosis"}),
                         ["contrasts: `of`: got kurtosis, wanted one of delta, loss, hessian"])

    def test_the_label_of_a_sweep_is_refused_where_several_have_it(self):
        several = [planned(bits=(3, 4), group_sizes=(32,))]
        for cell in several[0]["quantizers"]:
            cell["label"] = cell["label"].replace("rtn", "mine")
        self.assertEqual(told({"a": "mine", "b": {"averaging": None}}, several),
                         ["contrasts: `a`: mine is the label of a sweep; wanted one of mine bits=3, mine bits=4"])

    def test_what_is_not_measured_is_a_warning(self):
        self.assertEqual(told({"a": {"quantizer": "rtn", "bits": 3}, "b": {"quantizer": "awq", "bits": 3}}),
                         ["warning: contrasts: `b`: no quantizer of this manifest is called awq; there are none, rtn; it will compare "
                          "nothing"])
        self.assertIn("did you mean soup?", told({"a": "sopu", "b": "raw"})[0])

    def test_a_step_without_a_checkpoint_is_a_warning(self):
        self.assertEqual(told({"a": {"averaging": "soup"}, "b": {"averaging": None, "step": 25}, "match": ["bits"]}), [
            "warning: contrasts: `b`: no checkpoint of this manifest has step 25; there is 10, 20, 30; it will compare nothing"])
        for step in ([10, 25], None, 10.5):
            self.assertNotIn("no checkpoint", str(told({"a": {"averaging": "soup"}, "b": {"averaging": None, "step": step}, "match": ["bits"]})))

    def test_stored_bits_are_not_known_before_the_run(self):
        self.assertEqual(told({"a": "soup", "b": "raw", "at": "last"}, [planned(bits=(None,))]), [])

    def test_points_of_a_sweep_are_paired_by_what_they_set(self):
        points = [planned(sweep={"train.lr": {"peak": peak}, "seed": seed}, job=2 * i + seed, group_sizes=(32,))
                  for i, peak in enumerate((0.1, 0.2)) for seed in (0, 1)]
        sides = {"a": {"sweep.train.lr.peak": 0.1}, "b": {"sweep.train.lr.peak": 0.2}}
        self.assertEqual(told(sides, points), [])
        self.assertEqual(told({**sides, "b": {"sweep.train.lr.peak": 0.3}}, points), [])  # selects nothing: the report will say so

    def test_the_section_alone_is_looked_at_without_cells(self):
        answer = check({"report": {"contrasts": [{"a": "x"}]}, "experiments": None})
        self.assertEqual([entry["text"] for entry in answer["faults"]], ["report: contrasts: `b` is missing"])
        self.assertEqual(check({"report": {"contrasts": [{"a": "x", "b": "y"}]}, "experiments": None}),
                         {"faults": [], "warnings": []})


if __name__ == "__main__":
    unittest.main()
