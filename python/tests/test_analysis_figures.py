import importlib.util
import json
import os
import unittest

import made_run
import support
import quench

MISSING = [name for name in ("numpy", "scipy", "matplotlib") if importlib.util.find_spec(name) is None]


def plotted(axes):
    """{name of a line: list of its points} of a panel, its strip and its right axis."""
    out = {}
    for each in [axes, *axes.child_axes, *(other for other in axes.figure.axes if other is not axes
                                           and other.bbox.bounds == axes.bbox.bounds)]:
        for line in each.get_lines():
            out.setdefault(line.get_gid(), []).append([tuple(map(float, point)) for point in line.get_xydata()])
    return out


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class FiguresTest(support.FileTest):
    @classmethod
    def setUpClass(cls):
        import matplotlib  # noqa: PLC0415

        matplotlib.use("agg")

    def setUp(self):
        from matplotlib import pyplot  # noqa: PLC0415

        super().setUp()
        self.addCleanup(pyplot.close, "all")

    def load(self, run, **manifest):
        return quench.load(run.write(os.path.join(self.folder, "run"), manifest))

    def test_what_is_plotted_are_the_points_of_the_data(self):
        run = self.load(made_run.demo())
        for kind, options in (("error_vs_tokens", {"right": "lr"}), ("error_vs_tokens", {"right": "hessian/trace"}),
                              ("loss_vs_tokens", {}), ("loss_plane", {}), ("loss_vs_bytes", {}), ("contour", {}),
                              ("spectrum", {}), ("training_loss", {})):
            axes, data = run.figure(kind, **options), run.figure_data(kind, **options)
            self.assertEqual(len(axes), len(data.panels))
            for panel, into in zip(data.panels, axes):
                found = plotted(into)
                for trace in panel.traces:
                    if trace.kind not in ("interval", "contour"):
                        self.assertIn(list(zip(map(float, trace.x), map(float, trace.y))), found[trace.name], trace.name)

    def test_rows_of_a_training_are_sealed_and_those_of_earlier_versions_are_read(self):
        made = made_run.demo()
        rows = made.training["constant.jsonl"]
        made.training = {"constant.jsonl": rows}
        run = self.load(made)
        whole = run.figure_data("training_loss")
        self.assertNotIn("damaged", whole.caption)
        path = os.path.join(run.folder, "training", "constant.jsonl")
        with open(path, "rb") as file:
            lines = file.readlines()
        lines[8] = lines[8].replace(b'"loss":', b'"loss":9')
        with open(path, "wb") as file:
            file.writelines(lines)
        damaged = run.figure_data("training_loss")
        self.assertIn(" 1 damaged row is not drawn.", damaged.caption)
        self.assertNotEqual(damaged.panels[0].traces[0].y, whole.panels[0].traces[0].y)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"gradient_norm": 0.0, **row}, separators=(",", ":")) + "\n" for row in rows)
        earlier = run.figure_data("training_loss")
        self.assertEqual([trace.y for trace in earlier.panels[0].traces], [trace.y for trace in whole.panels[0].traces])
        self.assertEqual(earlier.caption, whole.caption)

    def test_bars_are_as_high_as_the_data_say(self):
        run = self.load(made_run.demo())
        axes, data = run.figure("bars"), run.figure_data("bars")
        for panel, into in zip(data.panels, axes):
            self.assertEqual(sorted(round(patch.get_height(), 12) for patch in into.patches),
                             sorted(round(y, 12) for trace in panel.traces for y in trace.y))
            self.assertEqual([text.get_text() for text in into.get_xticklabels()], panel.categories)

    def test_figures_are_functions_and_are_saved_as_pdf_svg_and_png(self):
        from quench.analysis import figures  # noqa: PLC0415

        run = self.load(made_run.sweep(seeds=2))
        for name, magic in (("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
            path = os.path.join(self.folder, name)
            figures.accuracy_vs_loss(run, where={"bits": 4})[0].figure.savefig(path)
            with open(path, "rb") as file:
                self.assertEqual(file.read(len(magic)), magic)
        for kind in figures.KINDS:
            self.assertTrue(getattr(figures, kind).__doc__, kind)

    def test_a_colour_can_be_changed_and_axes_given(self):
        from matplotlib import colors, pyplot  # noqa: PLC0415

        run = self.load(made_run.demo())
        whole, mine = pyplot.subplots()
        axes = run.figure("error_vs_tokens", where={"bits": 3, "quantizer": "rtn"}, colors={"decay6": "crimson"}, axes=mine)
        self.assertIs(axes[0], mine)
        self.assertEqual({line.get_color() for line in mine.get_lines() if line.get_gid() == "decay6, rtn"}, {"crimson"})
        self.assertEqual(len(mine.get_legend().get_texts()), 6)
        self.assertTrue(colors.is_color_like(mine.get_lines()[1].get_color()))
        with self.assertRaisesRegex(ValueError, "error_vs_tokens: got 1 axes, wanted 2, one for each panel"):
            run.figure("error_vs_tokens", axes=mine)
        self.assertIs(whole, mine.figure)

    def test_one_name_has_one_colour_in_all_figures(self):
        run = self.load(made_run.demo(), report={"figures": made_run.FIGURES})
        seen = {}
        for data in run.figures().values():
            for kind, index, text, _ in data.legend:
                if kind == "color":
                    self.assertEqual(seen.setdefault(text, index), index)
        self.assertGreater(len(seen), 4)

    def test_the_default_figures_are_those_that_show_something(self):
        run = self.load(made_run.quickstart())
        self.assertEqual(list(run.figures()), ["error_vs_tokens", "loss_vs_tokens", "loss_plane", "bars"])

    def test_wrong_options_are_one_line(self):
        run = self.load(made_run.quickstart())
        for kind, options, words in (("errors", {}, "unknown figure `errors`; known are error_vs_tokens"),
                                     ("bars", {"x": "step"}, "bars: unknown key `x`; did you mean `y`?"),
                                     ("bars", {"lines": "branches"}, "bars: `lines`: unknown dimension `branches`"),
                                     ("bars", {"at": "end"}, "bars: `at`: got the text \"end\", wanted last, first, all")):
            with self.assertRaisesRegex(ValueError, words):
                run.figure(kind, **options)


if __name__ == "__main__":
    unittest.main()
