import importlib.util
import json
import os
import shutil
import unittest

import made_run
import support
import quench
from quench.analysis.figures.data import Figure, Panel, Trace

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

    def depth_run(self):
        """A trajectory whose Taylor terms, residual stream and linears say where the damage enters."""
        made = made_run.MadeRun(items=4)
        for step in (100, 200, 400):
            weights = made.weights("main", step)
            made.loss(weights)
            method = made.loss(weights, "gptq", 3)["quantizer"]
            parts = {"model.embed_tokens": 0.0, **{"model.layers.%d.%s" % (block, name): step * (block + 1) * size for block in
                     range(11) for name, size in (("attn", 1e-5), ("mlp", 3e-5))}, "lm_head": -0.001}
            made.value(weights, "taylor", 0.02, quantizer=method, details={
                "change": 1.25 * sum(parts.values()), "parts": {name: {"change": value} for name, value in parts.items()}})
            made.value(weights, "divergence", 0.1, quantizer=method, details={
                "residual_errors": [0.01 * (block + 1) for block in range(11)],
                "layers": [{"name": "model.layers.%d.mlp" % block, "relative_error": None if block == 3 else 0.1 * block}
                           for block in range(11)]})
        return made

    def test_the_rows_of_depth_add_up_to_the_whole_error(self):
        run = self.load(self.depth_run())
        panel, = run.figure_data("depth").panels
        self.assertEqual(panel.rows, ["model.embed_tokens", *("block %d" % i for i in range(11)), "lm_head",
                                      "together, beyond the sum"])
        whole = {it["step"]: it.record["details"]["change"] for it in run.observations if it["metric"] == "taylor"}
        heat, = panel.traces
        for column, step in enumerate((100, 200, 400)):
            cells = [z for x, z in zip(heat.x, heat.z) if x == column]
            self.assertEqual(len(cells), len(panel.rows))
            self.assertAlmostEqual(sum(cells), whole[step], 15)
            self.assertAlmostEqual(cells[2], step * 2 * 4e-5, 15)
            self.assertAlmostEqual(cells[-1], whole[step] / 5, 15)
        self.assertEqual(panel.categories[0].split("\n")[1], "%+.3g" % whole[100])
        drawn, = run.figure("depth")
        image, = drawn.get_images()
        self.assertEqual(image.get_array().shape, (14, 3))
        self.assertEqual([image.get_array()[y, x] for x, y in zip(heat.x, heat.y)], heat.z)

    def test_depth_of_one_block_more_adds_up_to_the_whole_change(self):
        made = made_run.MadeRun(items=4)
        for step, outside in ((100, None), (200, 2.5)):
            weights = made.weights("main", step)
            made.loss(weights)
            method = made.loss(weights, "gptq", 3)["quantizer"]
            made.value(weights, "depth_loss", 0.25, quantizer=method, details={
                "float": 2.0, "first": [2.125, 2.0625, 2.25], **({"outside": outside} if outside else {})})
        panel, = self.load(made).figure_data("depth").panels
        self.assertEqual(panel.rows, ["block 0", "block 1", "block 2", "outside of blocks"])
        heat, = panel.traces
        self.assertEqual([z for x, z in zip(heat.x, heat.z) if x == 0], [0.125, -0.0625, 0.1875])
        self.assertEqual(sum(z for x, z in zip(heat.x, heat.z) if x == 1), 0.5)
        self.assertEqual([each.split("\n")[1] for each in panel.categories], ["+0.25", "+0.5"])

    def test_depth_of_other_errors(self):
        run = self.load(self.depth_run())
        residual, = run.figure_data("depth", y="residual").panels
        self.assertEqual((residual.rows[10], residual.traces[0].z[:2]), ("block 10", [0.01, 0.02]))
        linears = run.figure_data("depth", y="error", x="position").panels[0]
        self.assertNotIn("block 3", linears.rows)  # no linear there says an error
        self.assertEqual(linears.categories, ["step100", "step200", "step400"])
        self.assertEqual(self.load(made_run.quickstart()).figure_data("depth").panels, [])

    def test_three_panels_stand_in_one_row_and_four_in_two(self):
        from matplotlib.pyplot import figure as new_figure  # noqa: PLC0415
        from quench.analysis.figures.draw import draw  # noqa: PLC0415

        run = self.load(made_run.demo())
        for count, rows in ((1, 1), (2, 1), (3, 1), (4, 2)):
            data = Figure("error_vs_tokens", "f", panels=[Panel(title=str(i)) for i in range(count)])
            axes = draw(data, run.palette, new_figure=new_figure)
            tops = {round(each.get_subplotspec().get_position(each.figure).y1, 3) for each in axes}
            self.assertEqual((len(axes), len(tops)), (count, rows))

    def test_panels_have_one_vertical_range_unless_their_values_differ_in_size(self):
        run = self.load(made_run.demo())
        for kind in ("error_vs_tokens", "loss_vs_tokens"):
            axes, data = run.figure(kind, panels="quantizer"), run.figure_data(kind, panels="quantizer")
            self.assertGreater(len(axes), 1)
            self.assertEqual(len({each.get_ylim() for each in axes}), 1)
            low, high = axes[0].get_ylim()
            for trace in (trace for panel in data.panels for trace in panel.traces if trace.kind != "strip"):
                self.assertTrue(all(low <= y <= high for y in (*trace.y, *trace.low, *trace.high)))
        for options in ({"panels": "bits"}, {"panels": "quantizer", "share_y": False}):
            self.assertGreater(len({each.get_ylim() for each in run.figure("error_vs_tokens", **options)}), 1)
        self.assertEqual(len({each.get_ylim() for each in run.figure("error_vs_tokens", panels="bits", share_y=True)}), 1)
        self.assertFalse(any(panel.shared for panel in run.figure_data("loss_plane", panels="quantizer").panels))
        with self.assertRaisesRegex(ValueError, "`share_y`: got the text \"no\", wanted true or false"):
            run.figure("error_vs_tokens", share_y="no")

    def test_a_figure_has_the_size_that_it_is_asked_for(self):
        run = self.load(made_run.demo())

        def inches(**options):
            return tuple(round(value, 6) for value in run.figure("error_vs_tokens", **options)[0].figure.get_size_inches())

        usual = inches(panels="quantizer")
        self.assertEqual(inches(panels="quantizer", width=3.3, height=2.5), (3.3, 2.5))
        narrow = inches(panels="quantizer", width=usual[0] / 2)
        self.assertEqual(narrow[0], round(usual[0] / 2, 6))
        self.assertLess(narrow[1], usual[1])
        with self.assertRaisesRegex(ValueError, "`width`: got the text \"wide\", wanted 1 to 50 inches"):
            run.figure("error_vs_tokens", width="wide")

    def test_panels_have_one_horizontal_range_that_begins_at_0_where_that_is_near(self):
        run = self.load(made_run.demo())
        for kind in ("error_vs_tokens", "loss_vs_tokens"):
            axes, data = run.figure(kind, panels="quantizer"), run.figure_data(kind, panels="quantizer")
            (low, high), = {each.get_xlim() for each in axes}
            ends = [x for panel in data.panels for trace in panel.traces for x in trace.x]
            self.assertTrue(low <= min(ends) and max(ends) < high)
            self.assertEqual({tuple(panel.across) for panel in data.panels}, {(low, high)})
        for x, low in ([1, 3, 6], 0), ([3, 6], 2.88), ([0, 5], -0.2), ([3, 3], 0):
            with self.subTest(x=x):
                figure = Figure("f", "", [Panel(traces=[Trace("line", x=x, y=x)]), Panel(traces=[Trace("line", x=x[1:], y=x[1:])])])
                first, second = figure.share_x().panels
                self.assertEqual(first.across, second.across)
                self.assertAlmostEqual(first.across[0], low)

    def one_checkpoint(self, **more):
        made = made_run.MadeRun(items=12)
        weights = made.weights("main", 1000)
        made.loss(weights)
        made.loss(weights, "rtn", 3)
        return self.load(made, **more)

    def test_a_single_checkpoint_has_an_axis_from_0_and_no_empty_strip(self):
        run = self.one_checkpoint()
        for kind in "error_vs_tokens", "loss_vs_tokens":
            data = run.figure_data(kind, right="lr")
            panel, = data.panels
            tokens = 1000 * 2097152
            self.assertEqual(panel.across[0], 0)
            self.assertTrue(tokens < panel.across[1] < 1.2 * tokens)
            self.assertEqual(panel.strip_title, "")
            self.assertNotIn("strip", [trace.kind for trace in panel.traces])
        plane, = run.figure_data("loss_plane").panels
        self.assertTrue(plane.low < plane.high)

    def test_a_single_point_of_the_float_model_is_seen(self):
        axes = self.one_checkpoint().figure("loss_vs_tokens")[0]
        band, = [line for line in axes.lines if line.get_gid() == "main, float"]
        self.assertNotIn(band.get_marker(), ("", "None", None))

    def test_a_strip_holds_all_of_its_lines(self):
        made = made_run.sweep(seeds=1)
        axes = self.load(made).figure("error_vs_tokens", right="lr")[0]
        strip, = axes.child_axes
        self.assertLess(0.003, strip.get_ylim()[1])
        self.assertEqual(strip.get_ylim()[0], 0)

    def test_a_training_without_branches_has_its_rate_at_every_step_and_one_name(self):
        made = made_run.MadeRun(items=12)
        for step in (1000, 2000):
            weights = made.weights("", step)
            made.loss(weights)
            made.loss(weights, "rtn", 3)
        made.training = {"made.jsonl": made_run._log(2000)}
        run = self.load(made)
        strip, = [trace for trace in run.figure_data("error_vs_tokens", right="lr", x="step").panels[0].traces if trace.kind == "strip"]
        self.assertEqual(strip.x[-1], 2000)
        self.assertFalse(strip.observations)
        self.assertEqual({entry[2] for entry in run.figure_data("training_loss").legend}, {"checkpoints"})

    def test_captions_say_what_their_intervals_are_over(self):
        run = self.load(made_run.quickstart())
        self.assertIn("Bars: 95 % interval of the mean over 60 blocks, block bootstrap of 10, paired with the float model's.",
                      run.figure_data("bars").caption)
        documents = self.load(made_run.demo(documents=12, draws=1, jitter=0))
        self.assertIn("Bars: 95 % interval of the mean over 12 documents, paired", documents.figure_data("bars").caption)
        seeds = self.load(made_run.sweep(seeds=3))
        self.assertIn("Bars: 95 % interval of the mean over 3 seeds; tick", seeds.figure_data("bars").caption)

    def test_the_float_model_is_a_band_behind_the_others_as_in_the_legend(self):
        run = self.load(made_run.demo())
        axes = run.figure("loss_vs_tokens")[0]
        data = run.figure_data("loss_vs_tokens")
        names = [trace.name for trace in data.panels[0].traces if trace.kind == "float"]
        bands = [line for line in axes.lines if line.get_gid() in names]
        others = [line for line in axes.lines if line.get_gid() not in names]
        self.assertTrue(bands and others)
        key, = [line for legend in axes.figure.axes for line in (legend.get_legend().get_lines() if legend.get_legend() else ())
                if line.get_label() == "float model"]
        for band in bands:
            self.assertEqual((band.get_linewidth(), band.get_alpha()), (key.get_linewidth(), key.get_alpha()))
            self.assertGreater(band.get_linewidth(), 2 * max(line.get_linewidth() for line in others))

    def test_the_learning_rate_is_that_of_every_step_where_the_run_trained(self):
        import numpy  # noqa: PLC0415

        made = made_run.demo()
        run = self.load(made)
        for axis in ("step", "tokens"):
            strips = {trace.name: trace for panel in run.figure_data("error_vs_tokens", right="lr", x=axis).panels
                      for trace in panel.traces if trace.kind == "strip"}
            for branch in ("constant", "decay6", "decay12"):
                rows, drawn = made.training[branch + ".jsonl"], strips[branch + ", learning rate"]
                self.assertEqual((drawn.x[-1], drawn.y[-1]), (rows[-1][axis], rows[-1]["lr"]))
                self.assertLess(len(drawn.x), len(rows))
                for row in rows:  # also between the corners
                    if row[axis] >= drawn.x[0]:
                        self.assertAlmostEqual(numpy.interp(row[axis], drawn.x, drawn.y), row["lr"], delta=1e-4 * max(drawn.y))
        shutil.rmtree(os.path.join(run.folder, "training"))
        bare = quench.load(run.folder)
        strip = next(trace for trace in bare.figure_data("error_vs_tokens", right="lr").panels[0].traces if trace.kind == "strip")
        self.assertEqual(len(strip.x), len(strip.observations))

    def test_the_learning_rate_of_checkpoints_is_the_schedule_that_the_manifest_states(self):
        made = made_run.demo()
        made.training = {}
        line = [[0, 0.0], [100, 0.003], [12000, 0.003], [13000, 0.0]]
        made.schedules = [{"branch": name, "jobs": [0], "points": line} for name in ("constant", "decay12", "decay6", "other")]
        run = self.load(made)

        def strips(**options):
            panels = run.figure_data("error_vs_tokens", right="lr", **options).panels
            return {trace.name.split(",")[0]: (trace.x, trace.y) for panel in panels for trace in panel.traces
                    if trace.kind == "strip"}
        by_step = strips(x="step")
        self.assertEqual(by_step["constant"], ([0, 100, 12000], [0.0, 0.003, 0.003]))
        self.assertEqual(by_step["decay12"], ([12000, 13000], [0.003, 0.0]))  # from its parent's checkpoint
        by_tokens = strips(x="tokens")
        self.assertEqual(by_tokens["constant"], ([0, 100 * 2097152, 12000 * 2097152], [0.0, 0.003, 0.003]))
        late = strips(x="step", where={"step": [11000, 12000]})
        self.assertEqual(late["constant"], ([11000, 12000], [0.003, 0.003]))  # not from 0, far from what is drawn
        made.schedules = [{"branch": "constant", "jobs": [0], "points": [[0, 0.0], [100, 0.003], [6500, 0.0]]}]
        run = self.load(made)
        self.assertEqual(strips(x="step")["constant"], ([0, 100, 6500], [0.0, 0.003, 0.0]))  # unknown beyond
        self.assertEqual(len(strips(x="step")["decay12"][0]), 5)  # joined from checkpoint to checkpoint

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

    def test_what_a_figure_says_fits_into_it_and_has_no_markup(self):
        import matplotlib  # noqa: PLC0415

        with matplotlib.rc_context({"text.parse_math": False}):  # as in files
            axes = self.load(made_run.demo()).figure("spectrum")[0]
            whole = axes.figure
            whole.canvas.draw()
            self.assertNotIn("$", "".join(label.get_text() for label in axes.get_yticklabels()))
            self.assertIn("10⁻", "".join(label.get_text() for label in axes.get_yticklabels()))
            legend = next(other.get_legend() for other in whole.axes if other.get_legend())
            box = legend.get_window_extent()
            self.assertGreaterEqual(box.x0, 0)
            self.assertLessEqual(box.x1, whole.bbox.width)

    def test_titles_of_axes_are_not_longer_than_these_in_a_column_of_a_paper(self):
        run = self.load(made_run.demo())
        for kind, options in (("error_vs_tokens", {"panels": "bits", "right": "lr", "where": {"bits": 3}, "width": 3.3}),
                              ("error_vs_tokens", {"panels": "bits", "right": "lr"}), ("training_loss", {"width": 3.3}),
                              ("error_vs_tokens", {"panels": "bits", "width": 4.4})):
            axes = run.figure(kind, **options)
            axes[0].figure.canvas.draw()
            for each in [*axes, *(strip for panel in axes for strip in panel.child_axes)]:
                title = each.yaxis.label
                self.assertLessEqual(title.get_window_extent().height, each.bbox.height * 1.02, (kind, options, title.get_text()))
                self.assertGreater(title.get_fontsize(), 6)

    def test_bars_are_as_high_as_the_data_say(self):
        run = self.load(made_run.demo())
        axes, data = run.figure("bars"), run.figure_data("bars")
        for panel, into in zip(data.panels, axes):
            self.assertEqual(sorted(round(patch.get_height(), 12) for patch in into.patches),
                             sorted(round(y, 12) for trace in panel.traces for y in trace.y))
            self.assertEqual([text.get_text() for text in into.get_xticklabels()], panel.categories)
        axes, data = run.figure("bars", at="all"), run.figure_data("bars", at="all")
        for panel, into in zip(data.panels, axes):  # of many, as many as fit are named
            names = [text.get_text() for text in into.get_xticklabels()]
            self.assertGreater(len(panel.categories), 24)
            self.assertLessEqual(len(names), 24)
            self.assertEqual([panel.categories[int(place)] for place in into.get_xticks()], names)

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

    def test_a_line_has_one_name_in_all_figures(self):
        run = self.load(made_run.demo())
        by_average = {entry[2] for entry in run.figure_data("error_vs_tokens", lines="averaging").legend}
        self.assertLessEqual({"checkpoints", "lawa"}, by_average)
        self.assertIn("lawa", {entry[2] for entry in run.figure_data("error_vs_tokens", lines=[]).legend})

        made = made_run.sweep(seeds=2)
        made.training = {"job~%d/trunk.jsonl" % job: made_run._log(50) for job in range(8)}
        run = quench.load(made.write(os.path.join(self.folder, "sweep"), {}))
        trained = {entry[2] for entry in run.figure_data("training_loss").legend}
        self.assertEqual(len(trained), 4)  # seeds share a colour
        self.assertEqual(trained, {entry[2] for entry in run.figure_data("bars").legend if entry[0] == "color"})

    def test_a_point_without_an_interval_says_that_it_has_no_spread(self):
        run = self.load(made_run.demo())
        note = ("note", 0, "without an interval: one draw, no spread", -1)
        for kind in "error_vs_tokens", "bars":
            data = run.figure_data(kind)
            self.assertIn(note, data.legend)
            axes = run.figure(kind)
            shown = [text.get_text() for each in axes[0].figure.axes if each.get_legend()
                     for text in each.get_legend().get_texts()]
            self.assertIn(note[2], shown)
            for options in {"spread": "none"}, {"spread": "items"}:  # nothing has any, and everything
                self.assertNotIn("note", [entry[0] for entry in run.figure_data(kind, **options).legend])

    def test_the_default_figures_are_those_that_show_something(self):
        run = self.load(made_run.quickstart())
        self.assertEqual(list(run.figures()), ["error_vs_tokens", "loss_vs_tokens", "loss_plane", "bars"])

    def test_wrong_options_are_one_line(self):
        run = self.load(made_run.quickstart())
        for kind, options, words in (("errors", {}, "unknown figure `errors`; did you mean `error_vs_tokens`"),
                                     ("bars", {"x": "step"}, "bars: unknown key `x`; did you mean `y`?"),
                                     ("bars", {"lines": "branches"}, "bars: `lines`: unknown dimension `branches`"),
                                     ("bars", {"at": "end"}, "bars: `at`: got the text \"end\", wanted last, first, all")):
            with self.assertRaisesRegex(ValueError, words):
                run.figure(kind, **options)


if __name__ == "__main__":
    unittest.main()
