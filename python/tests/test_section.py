"""The section `report` of a manifest: what is wrong is told with its place."""

import os
import re
import unittest

import support  # noqa: F401, it finds the package

from quench.analysis.section import described, section_faults

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs")
NO_DIMENSION = "(a parameter of the quantizer is `params.NAME`)"


def told(section):
    return ["%s%s: %s" % ("/".join(map(str, fault.path)), "!" if fault.of_key else "", fault.line) for fault in section_faults(section)]


class SectionTest(unittest.TestCase):
    def test_what_is_right_has_no_faults(self):
        for section in (None, {}, {"title": "x", "page": "static", "figures": [], "contrasts": []},
                        {"figures": ["table", {"bars": None}, {"bars": {"name": "mine", "panels": None, "spread": "jitter"}},
                                     {"loss_plane": {"x": "float", "y": "quantized", "range": "all"}},
                                     {"error_vs_tokens": {"lines": "branch", "panels": ["bits", "params.group_size"], "right": "lr"}}]},
                        {"contrasts": [{"a": "gptq", "b": "rtn", "match": ["bits", "checkpoint"]}, {"a": 3, "b": "x", "at": "last"},
                                       {"a": {"as": "fast", "sweep.train.lr.peak": [0.01, None]}, "b": "members"},
                                       {"a": "x", "statistic": "rank_correlation", "over": "lr"}]}):
            self.assertEqual(told(section), [])

    def test_what_is_wrong_with_figures_is_told(self):
        for figures, words in (
                ("bars", 'figures: report: `figures`: got the text "bars", wanted a list'),
                (["bar"], "figures/0: report: figures: unknown figure `bar`; did you mean `bars`?"),
                ([{"bar": {}}], "figures/0/bar!: report: figures: unknown figure `bar`; did you mean `bars`?"),
                (["error_vs_step"], "figures/0: report: figures: unknown figure `error_vs_step`; did you mean `error_vs_tokens`?"),
                ([3], "figures/0: report: figures: unknown figure `3`; known are error_vs_tokens, loss_vs_tokens, loss_plane, "
                 "accuracy_vs_loss, loss_vs_bytes, bars, contour, spectrum, training_loss, depth, table"),
                ([[]], "figures/0: report: figures: got a list, wanted `kind: {options}`"),
                ([{"bars": {}, "table": {}}], "figures/0: report: figures: got more than one key, wanted `kind: {options}`"),
                ([{"bars": {"colour": "red"}}], "figures/0/bars/colour!: report: bars: unknown key `colour`; known are title, name, "
                 "where, lines, panels, spread, y, at, share_y, width, height"),
                ([{"table": {"lines": "branch"}}], "figures/0/table/lines!: report: table: unknown key `lines`; known are title, "
                 "name, where"),
                ([{"bars": {"lines": "brunch"}}], "figures/0/bars/lines: report: bars: `lines`: unknown dimension `brunch`; did you "
                 "mean `branch`? " + NO_DIMENSION),
                ([{"bars": {"lines": ["bits", "bits"]}}], "figures/0/bars/lines/1: report: bars: `lines`: `bits` is given twice"),
                ([{"bars": {"spread": "draw"}}], 'figures/0/bars/spread: report: bars: `spread`: got the text "draw", wanted auto, '
                 "items, draws, jitter, seeds, none; did you mean `draws`?"),
                ([{"loss_plane": {"x": "quantized"}}], "figures/0/loss_plane/x: report: loss_plane: `x`: got the text "
                 '"quantized", wanted float'),
                ([{"bars": {"name": "a/b"}}], 'figures/0/bars/name: report: bars: `name`: got "a/b", wanted letters, digits, _ and -'),
                ([{"bars": {"name": "a"}}, {"table": {"name": "a"}}], 'figures/1/table!: report: figures: the name "a" is given twice'),
                ([{"bars": {"where": 3}}], "figures/0/bars/where: report: bars: `where`: got the number 3, wanted {dimension: value}"),
                ([{"bars": {"where": {"bits": {"a": 1}}}}], "figures/0/bars/where/bits: report: bars: `where`: `bits`: got a mapping, "
                 "wanted a value or a list of values"),
                ([{"bars": []}], "figures/0/bars: report: bars: got a list, wanted a mapping"),
                ([{"bars": {"width": 0.5}}], "figures/0/bars/width: report: bars: `width`: got the number 0.5, wanted 1 to 50 inches"),
                ([{"bars": {"height": True}}], "figures/0/bars/height: report: bars: `height`: got the word true, wanted 1 to 50 "
                 "inches"),
                ([{"bars": {"title": ["x"]}}], "figures/0/bars/title: report: bars: `title`: got a list, wanted text")):
            with self.subTest(figures=figures):
                self.assertEqual(told({"figures": figures}), [words])

    def test_what_is_wrong_with_contrasts_is_told(self):
        head = "contrasts/0"
        for contrast, words in (
                ({"a": "x"}, ": report: contrasts: `b` is missing"),
                ({"b": "x"}, ": report: contrasts: `a` is missing"),
                ({"a": "x", "b": "x"}, ": report: contrasts: a and b are both x"),
                ({"a": "x", "b": ["y"]}, "/b: report: contrasts: `b`: got a list, wanted a name or {dimension: value}"),
                ({"a": {"as": []}, "b": "y"}, "/a/as: report: contrasts: `a`: `as`: got a list, wanted a name"),
                ({"a": {"brunch": 1}, "b": "y"}, "/a/brunch!: report: contrasts: `a`: unknown dimension `brunch`; did you mean "
                 "`branch`? " + NO_DIMENSION),
                ({"a": "x", "b": "y", "match": "bit"}, "/match: report: contrasts: `match`: unknown dimension `bit`; did you mean "
                 "`bits`? " + NO_DIMENSION),
                ({"a": "x", "b": "y", "at": "end"}, '/at: report: contrasts: `at`: got the text "end", wanted all, last, first, '
                 "equal_loss"),
                ({"a": "x", "b": "y", "statistic": "ratio"}, '/statistic: report: contrasts: `statistic`: got the text "ratio", wanted '
                 "difference, last_minus_first, slope_ratio, rank_correlation"),
                ({"a": "x", "b": "y", "statistic": "slope_ratio"}, ": report: contrasts: slope_ratio: wanted `over` and an axis, "
                 "`over: tokens`"),
                ({"a": "x", "b": "y", "over": "step"}, ": report: contrasts: `over`: a difference has no axis"),
                ({"a": "x", "statistic": "rank_correlation"}, ": report: contrasts: rank_correlation: wanted `b`, or `over` and an axis"),
                ({"a": "x", "b": "y", "over": "lr", "statistic": "rank_correlation"}, ": report: contrasts: rank_correlation: got `b` "
                 "and `over`, wanted one of them"),
                ({"a": "x", "b": "members", "at": "equal_loss"}, ": report: contrasts: b: members: an average and its members are "
                 "compared as they are, got at: equal_loss"),
                ({"a": "x", "b": "y", "at": "equal_loss", "of": "hessian"}, ": report: contrasts: at: equal_loss: compares quantized "
                 "losses, got of: hessian"),
                ({"a": "x", "b": "y", "at": "equal_loss", "within": 0}, ": report: contrasts: `within`: got 0, wanted more than 0 nats per "
                 "token"),
                ({"a": "x", "b": "y", "within": "near"}, '/within: report: contrasts: `within`: got the text "near", wanted a number'),
                ({"a": "x", "b": "y", "of": []}, "/of: report: contrasts: `of`: got a list, wanted delta, loss or a metric's name"),
                ("x", ': report: contrasts: got the text "x", wanted a mapping')):
            with self.subTest(contrast=contrast):
                self.assertEqual(told({"contrasts": [contrast]}), [head + words])

    def test_what_is_wrong_with_the_section_is_told(self):
        self.assertEqual(told([]), [": report: got a list, wanted a mapping"])
        self.assertEqual(told({"figure": []}), ["figure!: report: unknown key `figure`; did you mean `figures`?"])
        self.assertEqual(told({"page": "big"}), ['page: report: `page`: got the text "big", wanted interactive, static'])

    def test_values_are_described_as_manifests_have_them(self):
        self.assertEqual(list(map(described, (None, True, 3, 0.5, "x", [], {}))),
                         ["nothing", "the word true", "the number 3", "the number 0.5", 'the text "x"', "a list", "a mapping"])

    @unittest.skipUnless(os.path.isdir(DOCS), "the package is not in the source tree")
    def test_the_section_in_the_documentation_is_right(self):
        try:
            import yaml  # noqa: PLC0415
        except ImportError:
            self.skipTest("this Python has no yaml")
        with open(os.path.join(DOCS, "report.md"), encoding="utf-8") as file:
            section = yaml.safe_load(re.search(r"```yaml\n(.*?)```", file.read(), re.S)[1])["report"]
        self.assertEqual(told(section), [])
        self.assertEqual((len(section["figures"]), len(section["contrasts"])), (11, 3))


if __name__ == "__main__":
    unittest.main()
