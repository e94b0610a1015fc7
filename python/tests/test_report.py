"""The page of a report, its figures and data as files, and the verb `quench report`."""

import base64
import gzip
import hashlib
import importlib.util
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

import made_run
import support

MISSING = [name for name in ("numpy", "scipy", "matplotlib") if importlib.util.find_spec(name) is None]
START = os.path.join(os.path.dirname(support.__file__), os.pardir, "quench/start.py")
HOSTILE = "</script><img src=x onerror=alert(1)>\"quoted\" 'single' $x_$ \u202egnp.exe"
SCRIPT = b"window.Plotly = {};"  # in place of plotly.js
DIGITS = b"".join(base64.b85encode(struct.pack(">I", digit))[-1:] for digit in range(85))
MANIFEST = """name: made
report:
  figures: # of all
    - error_vs_tokens: {lines: branch}

    - bars:
        y: delta
    - table
  contrasts:
    - {a: gptq, b: rtn}
"""


def unpacked(text):
    """Base 85 with the letters of the page, from # to w with x in place of <, by Python's, which has others."""
    other = dict(zip(bytes(ord("x") if letter == ord("<") else letter for letter in range(35, 120)), DIGITS))
    return base64.b85decode(bytes(other[letter] for letter in text.encode()))


def hostile_run():
    run = made_run.MadeRun(items=2, model=HOSTILE)
    for step in (1000, 2000, 3000):
        weights = run.weights(HOSTILE, step, revision=HOSTILE + str(step))
        run.loss(weights)
        for method in (HOSTILE, "other" + HOSTILE):
            run.loss(weights, method, 3)
    run.loss(weights, "other" + HOSTILE, 4, error="line\nbreak " + HOSTILE)
    return run


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class ReportTest(support.FileTest):
    def made(self, run, report=None, name="made", text=None):
        folder = run.write(os.path.join(self.folder, name), {"name": name, **({} if report is None else {"report": report})})
        if text is not None:
            self.write(text, os.path.join(folder, "manifest.yaml"))
        return folder

    def page(self, folder):
        """The report and its page, with a small script for plotly.js."""
        from quench.report import Report  # noqa: PLC0415

        script = os.path.join(self.folder, "plotly.gz")
        with open(script, "wb") as file:
            file.write(gzip.compress(SCRIPT))
        report = Report(folder)
        return report, report.page(script)

    def other_page(self, path, before):
        """The text of a page once it is not `before`, within a minute."""
        text = before
        for _ in range(600):
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if text != before:
                    break
            time.sleep(0.1)
        return text

    def verb(self, *words, code=0, **environment):
        done = subprocess.run([sys.executable, "-B", START, "report", *words], capture_output=True, text=True, check=False,
                              cwd=self.folder, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    # ---- the page

    def test_it_is_one_file_that_forbids_the_network_and_foreign_scripts(self):
        _, page = self.page(self.made(made_run.quickstart()))
        policy = re.search(r"script-src ([^;]*);", page)[1]
        script = re.search(r"<script>(.*?)</script>", page, re.S)[1].encode()
        self.assertEqual(policy, " ".join("'sha256-%s'" % base64.b64encode(hashlib.sha256(each).digest()).decode()
                                          for each in (SCRIPT, script)))
        self.assertTrue("default-src 'none'" in page and "unsafe-eval" not in page)
        self.assertEqual(page.count("<script"), 3)  # data, plotly.js, and what unpacks them
        for word in (" src=", "<link", "<iframe", "@import", "http:", "https:", " onclick=", " onload="):
            self.assertFalse(word in page, word)

    def test_it_holds_the_data_of_the_figures(self):
        report, page = self.page(self.made(made_run.demo(draws=2, jitter=0), {"figures": made_run.FIGURES}))
        packed = re.search(r'<script type="application/gzip" id="data">(.*?)</script>', page)[1]
        data = json.loads(gzip.decompress(unpacked(packed)))
        self.assertEqual([figure["name"] for figure in data["figures"]], [figure.name for figure in report.figures])
        for figure, drawn in zip(report.figures, data["figures"]):
            for panel, of_page in zip(figure.panels, drawn["panels"]):
                for trace, got in zip(panel.traces, of_page["traces"]):
                    self.assertEqual((got["x"], got["y"]), (trace.x, trace.y))
                    for row in got["rows"]:  # every point leads to a row that is there
                        self.assertTrue('<tr id="r%d">' % row in page, row)

    def test_bytes_in_the_page_cannot_end_their_element(self):
        from quench.report.html_text import packed  # noqa: PLC0415

        for size in range(9):
            content = bytes(255 - 7 * i for i in range(size))
            self.assertEqual(unpacked(packed(content)), content)
        every = packed(b"".join(struct.pack(">I", word * 85 ** 4) for word in range(50)) + bytes(range(256)))
        self.assertNotIn("<", every)
        self.assertNotIn("&lt", every)

    def test_it_holds_tables_failures_health_and_provenance(self):
        run = made_run.demo()
        run.records[1]["details"]["layers"] = [{"name": "layers.0.dense", "retries": 2}, {"name": "layers.1.dense", "retries": 1}]
        report, page = self.page(self.made(run, {"figures": [{"error_vs_tokens": {}}, {"bars": {"y": "delta"}}, "table"],
                                                 "contrasts": [{"a": "gptq", "b": "rtn"}]}, text=MANIFEST))
        for words in ("not positive definite", "retries in 2 layers of 1 cells, at most 2 (first: layers.0.dense)", "node17",
                      "gptq against rtn: ΔCE is lower in", "line 4 of the manifest",
                      "line 6 of the manifest", '<span id="m4">', "Keys of the records", "One training run."):
            self.assertTrue(words in page, words)
        self.assertEqual(page.count("<tr id="), len(report.cells.rows))

    def test_its_head_names_the_points_of_a_sweep_and_counts_their_weights(self):
        made = made_run.sweep(seeds=1)
        for record in made.records:
            record["parts"]["weights"] += " of job %d" % record["job"]
        report, page = self.page(self.made(made))
        self.assertIn("<p>16 sets of weights, 6 methods, ", page)  # 4 steps of 4 trainings
        head = page[page.index('<section id="finding">'):page.index("</section>")]
        for text in report.findings:
            self.assertIn(text, head)
        for record in made.records:
            record["parts"]["weights"] = "step%d" % record["checkpoint"]["step"]  # of one training, quantized in several ways
        self.assertIn("<p>4 sets of weights, ", self.page(self.made(made, name="again"))[1])

    def test_its_tables_have_the_signs_and_decimals_of_sentences(self):
        _, page = self.page(self.made(made_run.demo(draws=1, jitter=0), {"figures": ["table"], "contrasts": [
            {"a": "gptq", "b": "rtn"}, {"a": "lawa", "b": "raw"}, {"a": "lawa", "b": "raw", "at": "last"}]}))
        cells = re.findall("<td[^>]*>(.*?)</td>", page)
        self.assertFalse([cell for cell in cells if re.search(r"(?:^|[\[ ])-\d", cell)])
        self.assertTrue(any(re.match(r"−0\.\d{4} \[−0\.\d{4}, −0\.\d{4}\] <small>48 blocks, block bootstrap of 8</small>.*"
                                     r"detectable 0\.\d{4}</small>$", cell) for cell in cells))
        for title in "lawa − raw, at all checkpoints", "lawa − raw, at the last checkpoint", "gptq − rtn":
            self.assertIn("<h3>%s</h3>" % title, page)
        for text in re.findall(r'data-v="(.*?)"', page):
            float(text)  # by which rows are sorted

    def test_hostile_names_stay_names(self):
        folder = self.made(hostile_run(), {"title": HOSTILE, "contrasts": [{"a": HOSTILE, "b": "other" + HOSTILE}]},
                           text="name: x # %s\n" % HOSTILE)
        report, page = self.page(folder)
        self.assertEqual(page.count("<script"), 3)
        self.assertFalse("<img" in page or "onerror=alert(1)>" in page or "\u202e" in page)
        for figure in report.figures:
            points = sum(len(trace.x) for panel in figure.panels for trace in panel.traces)
            self.assertEqual(figure.csv().count("\n"), points + 1)

    def test_a_static_page_has_figures_and_no_plotly(self):
        _, page = self.page(self.made(made_run.quickstart(), {"page": "static"}))
        self.assertEqual(page.count("<script"), 1)
        self.assertEqual(page.count('<svg class="drawn"'), 8)
        self.assertFalse('class="plot"' in page)
        self.assertLess(len(page.encode()), 300000)

    def test_a_page_of_many_panels_draws_the_first_ones_twice(self):
        _, page = self.page(self.made(made_run.demo(draws=1, jitter=0), {"figures": [
            {"error_vs_tokens": {"panels": ["checkpoint", "bits"]}}, "bars"]}))
        self.assertLess(page.count('<svg class="drawn"'), 25)
        self.assertGreater(page.count('class="plot"'), 24)
        self.assertTrue("Drawn where scripts run" in page)

    def test_static_figures_take_the_colours_of_the_page(self):
        _, page = self.page(self.made(made_run.quickstart(), {"figures": ["bars"]}))
        for drawn in re.findall(r'<svg class="drawn".*?</svg>', page, re.S):
            self.assertTrue("var(--c0)" in drawn)
            self.assertEqual(set(re.findall(r'(?:: |fill=")(#[^;"]*)', drawn)), {"#767676"})

    # ---- files

    def test_drawn_figures_have_their_data_beside_them(self):
        self.made(made_run.quickstart(), {"figures": ["loss_plane", {"bars": {"name": "mine"}}, "table"]})
        for form, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
            done = self.verb("made", "--format", form, "--out", form)
            self.assertEqual(done.stdout, "%s/loss_plane.%s\n%s/mine.%s\n" % ((form, form) * 2))
            self.assertEqual(sorted(os.listdir(os.path.join(self.folder, form))),
                             sorted(["loss_plane.csv", "loss_plane." + form, "mine.csv", "mine." + form]))
            with open(os.path.join(self.folder, form, "mine." + form), "rb") as file:
                self.assertEqual(file.read(len(magic)), magic)

    def test_values_of_csv_read_back_the_same(self):
        from quench.report import Report  # noqa: PLC0415

        report = Report(self.made(made_run.sweep(seeds=2), {}))
        self.verb("made", "--format", "csv")
        for figure in report.figures:
            with open(os.path.join(self.folder, "made/figures", figure.name + ".csv"), encoding="utf-8") as file:
                self.assertEqual(file.read(), report.cells.csv() if figure.kind == "table" else figure.csv())
        figure = report.figures[0]
        written = [float(line.split(",")[3]) for line in figure.csv().splitlines()[1:]]
        self.assertEqual(written, [y for panel in figure.panels for trace in panel.traces for y in trace.y])

    def test_what_cannot_be_drawn_is_one_line(self):
        self.made(made_run.quickstart(), {"figures": ["contour", "table", "bars"]})
        self.assertEqual(self.verb("made", "--format", "svg", "--figure", "table", code=1).stderr,
                         "figure table: a table cannot be drawn; --format csv writes it\n")
        self.assertEqual(self.verb("made", "--format", "svg", "--figure", "contour", code=1).stderr,
                         "figure contour: there is nothing to draw\n")
        self.assertEqual(self.verb("made", "--format", "csv", "--figure", "bar", code=2).stderr,
                         "--figure bar: there is none of that name; did you mean bars?\n")

    # ---- what else the verb does

    def test_it_writes_the_page_and_says_where(self):
        self.made(made_run.quickstart())
        done = self.verb("made")
        self.assertEqual((done.stdout, done.stderr), ("made/report.html\n", ""))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "made/report.html")))

    def test_it_writes_the_page_again_as_records_arrive(self):
        self.made(made_run.quickstart())
        page, records = (os.path.join(self.folder, "made", name) for name in ("report.html", "records-0-0001-00000000.jsonl"))
        with open(records, encoding="utf-8") as file:
            lines = file.readlines()
        os.remove(records)  # nothing is measured yet
        watching = subprocess.Popen([sys.executable, "-B", START, "report", "made", "--watch"], cwd=self.folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with watching:
            self.assertEqual(watching.stdout.readline(), "made/report.html: written again as records arrive, until Ctrl-C\n")
            self.write("".join(lines[:-1]), records)
            before = self.other_page(page, None)
            self.assertIn('<meta http-equiv="refresh" content="10">', before)
            self.write("".join(lines), records)
            self.assertNotEqual(self.other_page(page, before), before)
            watching.send_signal(signal.SIGINT)
            self.assertEqual((watching.stdout.read(), watching.wait(60)), ("", 0))
        with open(page, encoding="utf-8") as file:
            self.assertNotIn('http-equiv="refresh"', file.read())

    def test_it_ends_a_run_with_the_first_findings(self):
        self.made(made_run.demo(draws=1, jitter=0), {"contrasts": [{"a": "gptq", "b": "rtn"}]})
        lines = self.verb("made", "--conclude").stdout.splitlines()
        self.assertEqual(len(lines), 10)
        findings = json.loads(self.verb("made", "--json").stdout)["findings"]
        self.assertEqual(lines[7], "... and %d more in the report" % (len(findings) - 8))
        self.assertEqual(lines[8], findings[-1])
        self.assertTrue(lines[8].startswith("One training run: "))
        self.assertEqual(lines[9], "report: made/report.html")

    def test_a_run_without_a_base_says_so(self):
        run = made_run.MadeRun()
        run.loss(run.weights("trunk", 1000), "rtn", 3)
        self.made(run, {"contrasts": [{"a": "rtn", "b": "gptq"}]})
        report = json.loads(self.verb("made", "--json").stdout)
        self.assertEqual(report["contrasts"][0]["problems"], ["no quantizer, averaging or branch with finished values is called rtn",
                                                              "no quantizer, averaging or branch with finished values is called gptq"])
        self.assertIn("1 quantized losses have no float loss of the same weights", report["health"][0])

    def test_contrasts_that_fit_nothing_are_one_line_each(self):
        self.made(made_run.demo(draws=1, jitter=0), {"contrasts": [
            {"a": "gptq", "b": "awq"}, {"a": {"bits": 3}, "b": {"bits": 8}}, {"a": "gptq", "b": "rtn"}]})
        none, eight, some = json.loads(self.verb("made", "--json").stdout)["contrasts"]
        self.assertEqual((none["rows"], none["problems"]),
                         ([], ["no quantizer, averaging or branch with finished values is called awq"]))
        self.assertEqual(eight["rows"], [])
        self.assertEqual(len(eight["problems"]), 1)
        self.assertIn("bits 8", eight["problems"][0])
        self.assertTrue(some["rows"] and not some["problems"])
        self.verb("made")
        with open(os.path.join(self.folder, "made/report.html"), encoding="utf-8") as file:
            self.assertEqual(file.read().count('<p class="bad">Not compared: '), 2)

    def test_values_of_unchecked_inputs_are_told(self):
        run = made_run.quickstart()
        for record in run.records[1:3]:
            record["details"]["inputs"] = "unchecked"
        report, page = self.page(self.made(run))
        line = "2 values have `inputs: unchecked`: a plugin opened its files by itself, so no key holds what was read."
        self.assertIn(line, report.health)
        self.assertIn("<li>%s</li>" % line, page)

    def test_records_of_other_versions_are_one_line(self):
        run = made_run.quickstart()
        run.records[1]["schema"] = 1
        self.made(run)
        self.assertIn("records-0-0001-00000000.jsonl:2: does not count: got a record of schema 1, wanted 2.",
                      json.loads(self.verb("made", "--json").stdout)["health"])
        run.records[2]["schema"] = 9
        self.made(run)
        line = "made/records-0-0001-00000000.jsonl:3: a newer version wrote this record of schema 9; this one reads up to 2\n"
        self.assertEqual(self.verb("made", code=1).stderr, line)
        diff = subprocess.run([sys.executable, "-B", START, "diff", "made", "made"], capture_output=True, text=True, check=False,
                              cwd=self.folder)
        self.assertEqual((diff.returncode, diff.stderr), (1, line))

    def test_damaged_and_foreign_files_are_one_line(self):
        folder = self.made(made_run.quickstart())
        records = os.path.join(folder, "records-0-0001-00000000.jsonl")
        with open(records, "r+b") as file:
            file.seek(200)
            file.write(b"#")
        self.assertIn("records-0-0001-00000000.jsonl:1: does not count: the checksum does not match.",
                      json.loads(self.verb("made", "--json").stdout)["health"])
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
            file.write('{"report": [')
        self.assertRegex(self.verb("made", code=1).stderr, r"^made/manifest.json: .*, wanted JSON\n$")
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
            file.write('{"report": {"figures": ["bar"]}}')
        self.assertEqual(self.verb("made", code=1).stderr,
                         "made/manifest.json: report: figures: unknown figure `bar`; did you mean `bars`?\n")
        os.remove(records)
        os.remove(os.path.join(folder, "manifest.json"))
        self.assertEqual(self.verb("made", code=1).stderr, "made: has no records to report\n")
        self.assertIn("no such folder", self.verb("nowhere", code=1).stderr)

    def test_a_font_that_is_missing_is_one_line(self):
        self.made(made_run.quickstart(), {"figures": ["bars"]})
        self.write("font.family: Nowhere Sans\n", "matplotlibrc")
        done = self.verb("made", "--format", "png", MATPLOTLIBRC=self.folder)
        self.assertEqual(done.stderr, "warning: font Nowhere Sans: not found, wanted one that is installed; DejaVu Sans is drawn in "
                         "its place\n")

    def test_characters_that_a_font_lacks_are_one_line(self):
        run = made_run.MadeRun()
        weights = run.weights("\u6d77\u6d0b", 1000)
        run.loss(weights)
        run.loss(weights, "rtn", 3)
        self.made(run, {"figures": ["bars"]})
        done = self.verb("made", "--format", "png")
        self.assertRegex(done.stderr, r"^(warning: font: has no characters \S+, wanted one that has them .*\n)?$")


if __name__ == "__main__":
    unittest.main()
