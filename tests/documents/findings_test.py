#!/usr/bin/env python3
"""Makes the pages of findings again from their numbers, and holds both against what a reader may rely on.

usage: findings_test.py SOURCE
"""
import hashlib
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from scipy import stats

SOURCE = Path(sys.argv.pop(1)).resolve()
NUMBERS, PAGE, MAKE = SOURCE / "bench/findings/data", SOURCE / "docs/findings.md", SOURCE / "bench/findings/page"
PAGES, TEMPLATES = SOURCE / "docs/findings", SOURCE / "bench/findings/pages"
sys.path.insert(0, str(MAKE.parent))
import claims  # noqa: E402
import figures  # noqa: E402
import long_table  # noqa: E402
import settings  # noqa: E402
import text as texts  # noqa: E402
import waiting  # noqa: E402



def page_program():
    loader = importlib.machinery.SourceFileLoader("page", str(MAKE))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("page", loader))
    loader.exec_module(program)
    return program


pages = page_program()

WORDS = ("holds", "fails", "open", "waits")
LIMIT = 8_000_000


def run_page(*arguments):
    return subprocess.run([sys.executable, MAKE, *arguments], capture_output=True, text=True)


def made(folder):
    """(all pages as one text, why there are none) from this folder of numbers."""
    try:
        filled = pages.Page(folder)
        others = [template for template in sorted(TEMPLATES.glob("*.in")) if template.stem != "findings"]
        return "\n".join(filled.fill(template) for template in (TEMPLATES / "findings.in", *others)), ""
    except long_table.Wrong as error:
        return None, str(error)


def claims_of(page):
    """The cells of each row of the table of claims."""
    section = page.split("## The claims\n")[1].split("\n## ")[0].split("\n# ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


class Findings(unittest.TestCase):
    def setUp(self):
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        self.folder = Path(own.name) / "findings"
        shutil.copytree(NUMBERS, self.folder)

    def change(self, name, old, new):
        file = self.folder / name
        content = file.read_text(encoding="utf-8")
        self.assertIn(old, content)
        file.write_text(content.replace(old, new, 1), encoding="utf-8")

    def test_the_page_and_its_figures_are_what_the_numbers_make(self):
        done = run_page("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page_that_was_changed_by_hand_is_noticed(self):
        docs = self.folder.parent / "docs"
        shutil.copytree(PAGES, docs / "findings")
        (docs / "findings.md").write_text(PAGE.read_text(encoding="utf-8").replace("**open**", "**holds**", 1), encoding="utf-8")
        done = run_page("--check", "--out", docs)
        self.assertEqual(done.returncode, 1)
        self.assertIn("out of date", done.stderr)

    def test_no_label_and_no_interval_is_cut_off_in_a_figure(self):
        label, heading = "a difference, with a long name of what its two sides have in common", "a heading " * 16
        drawn = figures.forest("Differences", [heading, (label, 1.0, [-2.0, 3.0], [-90.0, 80.0], "open")], "nats")
        width = float(re.search(r'viewBox="0 0 ([0-9.]+) ', drawn)[1])
        end = float(re.search(r'<text x="([0-9.]+)"[^>]*>' + label, drawn)[1])
        self.assertGreater(end, 7 * len(label))
        lines = re.findall(r'<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)"', drawn)
        at_once, plain = [float(x2) - float(x1) for x1, y1, x2, y2 in lines if y1 == y2][:2]
        self.assertAlmostEqual(at_once / plain, 170 / 5, delta=1)  # pixels have one digit behind the point
        self.assertLess(max(float(x2) for _, _, x2, _ in lines), width)
        self.assertGreater(width, 10 + 7 * len(heading))

    def test_a_decay_is_joined_to_the_run_that_it_leaves_and_has_its_rate_below(self):
        lines = {"constant rate": [([(0, 1.0, 1.0, 1.0), (10, 2.0, 2.0, 2.0)], None)], "decay": [([(15, 4.0, 3.0, 5.0)], (10, 2.0))]}
        rates = {"constant rate": [[(0, 0.1), (10, 0.1)]], "decay": [[(10, 0.1), (15, 0.0)]]}
        without, drawn = (figures.curves("Along a run", [("rtn", lines)], "step", "nats", found) for found in ((), rates))
        decay = figures.LINES[1]
        joins = re.findall(rf'<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)" stroke="{decay}" stroke-width="1"', without)
        self.assertEqual(len(joins), 1)
        constant = re.search(rf'<polyline points="[^ ]+ ([0-9.]+),([0-9.]+)" fill="none" stroke="{figures.LINES[0]}"', without)
        self.assertEqual(joins[0][:2], constant.groups())
        self.assertEqual(len(re.findall("<polyline", drawn)), len(re.findall("<polyline", without)) + 2)
        self.assertIn(">0.1</text>", drawn)

    def test_a_line_of_one_checkpoint_has_a_bar_from_its_lowest_to_its_highest(self):
        drawn = figures.curves("Along a run", [("rtn", {"decay": [([(15, 4.0, 3.0, 5.0)], None)], "constant": [([(0, 1.0, 1.0, 1.0), (15, 2.0, 2.0, 2.0)], None)]})],
                               "step", "nats")
        bars = re.findall(r'<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)" stroke="#4477aa" stroke-width="1.5"', drawn)
        self.assertEqual(len(bars), 1)
        x1, y1, x2, y2 = map(float, bars[0])
        self.assertEqual(x1, x2)
        mark = re.search(r'<circle cx="([0-9.]+)" cy="([0-9.]+)"', drawn)
        self.assertEqual((float(mark[1]), float(mark[2])), (x1, (y1 + y2) / 2))

    def test_a_place_on_a_line_is_between_its_points(self):
        points = [(0, 1.0, 0.0, 9.0), (10, 3.0, 0.0, 9.0), (20, 2.0, 0.0, 9.0)]
        self.assertEqual(pages.between(points, 5), (5, 2.0))
        self.assertEqual(pages.between(points, 10), (10, 3.0))
        self.assertEqual(pages.between(points, 15), (15, 2.5))
        self.assertIsNone(pages.between(points, 21))
        self.assertIsNone(pages.between(points[:1], 0))

    def test_rates_of_decays_begin_where_the_constant_rate_is_left(self):
        page = pages.Page(self.folder)
        rates = page._rates(page.folder["token_budget_tiny"], settings.starts_of_decays("token_budget_tiny"))
        self.assertEqual(sorted(line[0] for line in rates["decay"]), [(450, 0.008), (675, 0.008), (900, 0.008)])
        self.assertEqual([line[-1][0] for line in sorted(rates["decay"])], [600, 900, 1200])

    def test_a_hole_names_a_row_that_is_there(self):
        page = pages.Page(self.folder)
        self.assertEqual(page.effect("3", "3 primary", page.verdicts["3"].rows[0].rows[0].name), page.effect("3"))
        self.assertIn(page.word("3"), ("holds", "fails", "is open"))
        with self.assertRaisesRegex(long_table.Wrong, "claim 3 has no row 'none' of test '3 primary'"):
            page.effect("3", "3 primary", "none")

    def at_the_papers_size(self, name, test, quantities):
        """The page where a run has a row of this test."""
        head = {"command": "by hand", "program": "none", "date": "2027-01-03", "processor": "none"}
        long_table.write(self.folder / f"{name}.csv", head, [
            {"table": "contrast", "test": test, "contrast": "a − b", "row": "gptq bits=3", "quantity": quantity, "unit": "nats/token", "value": str(value)}
            for quantity, value in quantities.items()])
        return pages.Page(self.folder)

    def test_one_run_at_the_papers_size_decides_its_claim_and_that_of_the_plateau(self):
        self.assertIn("At the paper's size it waits for [token_budget]", pages.Page(self.folder).claim("1p"))
        page = self.at_the_papers_size("token_budget", "1, one run", {
            "value": 0.1, "items.mean": 0.1, "items.stderr": 0.01, "items.n": 400, "draws.mean": 0.1, "draws.stderr": 0.01, "draws.n": 3})
        for id_ in ("1", "1p"):
            self.assertIn("\n\nAt the paper's size: **holds in one run**.", page.claim(id_))
        self.assertNotIn("one run", page.claim("4"))

    def test_what_one_run_does_not_decide_has_its_reason_beside_its_numbers(self):
        before, after = pages.Page(self.folder), self.at_the_papers_size("landscape", "20, one run", {"value": 0.1})
        self.assertRegex(before.claim("20"), r"At the paper's size it waits for \[landscape\][^;]*; `bench/findings/run landscape`\); there nothing decides: ")
        self.assertIn("\n\nAt the paper's size nothing decides: ", after.claim("20"))
        self.assertIn("| 20, one run | a − b |", after.claim("20"))

    def test_a_verdict_in_one_run_has_its_note_beside_it(self):
        rows = {"items.mean": 2.0, "items.stderr": 0.1, "items.n": 3}
        page = self.at_the_papers_size("sharpness", "18, one run, decay", rows)
        self.assertRegex(page.claim("18"), r"At the paper's size: \*\*\w+ in one run\*\*; there λ₁ decides: ")

    def test_the_folder_stays_small(self):
        size = sum(file.stat().st_size for file in NUMBERS.rglob("*"))
        self.assertLess(size, LIMIT, f"{NUMBERS}: {size} bytes, wanted less than {LIMIT}")

    def test_every_claim_has_a_verdict_and_a_decided_one_says_how_sure(self):
        rows = claims_of(PAGE.read_text(encoding="utf-8"))
        self.assertEqual([row[0] for row in rows], [claim.id for claim in claims.read()[0]])
        for id_, _, word, effect, sure in rows:
            self.assertRegex(word, rf"^\*\*({'|'.join(WORDS)})( on one text)?( \(rule changed after the data\))?\*\*$", f"claim {id_}")
            if word.startswith(("**holds", "**fails")):
                self.assertRegex(effect, r"[+−][0-9.]+( %)? \[[+−]", f"claim {id_}")
                self.assertRegex(sure, r"^p [=<] 0\.", f"claim {id_}")

    def test_every_claim_stands_on_one_page_and_every_page_is_short(self):
        pages = {page.stem: page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")}
        for claim in claims.read()[0]:
            begin = f"**{texts.sentence(claim.claim)}: "
            self.assertEqual([name for name, page in pages.items() if begin in page], [claim.page], f"claim {claim.id}")
        self.assertLess(len(PAGE.read_text(encoding="utf-8").splitlines()), 120)

    def test_the_verdict_before_is_told_of_every_claim(self):
        table = (PAGES / "rules.md").read_text(encoding="utf-8").split("## What has changed\n")[1].split("\n## ")[0]
        rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")][1:]
        kept = [claim.id for claim in claims.read()[0]]
        self.assertEqual([row[0].strip() for row in rows[:len(kept)]], kept)
        self.assertEqual([(row[0].strip(), row[2].strip()) for row in rows[len(kept):]], [("16d", "none")])
        for row in rows:
            self.assertIn(row[1].strip(), WORDS)
            self.assertRegex(row[3].strip(), r"^(nothing|(rule|measure|seeds|regime|dropped): .*)$")

    def test_no_rule_errs_more_often_than_six_of_a_hundred(self):
        page = (PAGES / "rules.md").read_text(encoding="utf-8")
        table = page.split('| rule | cases | wrong "holds" |')[1].split("\n\n")[0]
        shown = {cells[0]: cells for cells in ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:])}
        cases = {}
        rows = long_table.Results(NUMBERS / "rules.csv").rows
        runs = {(row["contrast"], row["row"]): row["value"] for row in rows if row["quantity"] == "simulations"}
        for row in rows:
            if row["quantity"].startswith("wrong "):
                n = runs[row["contrast"], row["row"]]
                wrong = round(row["value"] / 100 * n)  # Clopper and Pearson (1934), one-sided
                cases.setdefault((row["contrast"], row["quantity"]), []).append((100 * float(stats.beta.ppf(0.95, wrong + 1, n - wrong)), row))
        self.assertGreater(len(cases), 40)
        self.assertEqual(set(shown), {rule for rule, _ in cases})
        for (rule, quantity), found in cases.items():
            limit, row = max(found, key=lambda case: case[0])
            self.assertLessEqual(limit, 6.0, f"{rule}: {row['row']}")
            cell = shown[rule][2 if quantity == "wrong holds" else 4]
            self.assertEqual(cell, f"{row['value']:.1f} %, at most {limit:.1f} %", f"{rule}, {quantity}")
        self.assertIn(f"None of the {sum(map(len, cases.values()))} chances has an upper 95 % limit above 6 %.", page)

    def test_a_manifest_has_as_many_seeds_as_its_tests_ask_for(self):
        for test in (test for claim in claims.read()[0] for test in claim.tests):
            text = (SOURCE / f"configs/experiments/{test.manifest}.yaml").read_text(encoding="utf-8")
            sweep = text.split("\nsweep:\n")[1] if "\nsweep:\n" in text else ""
            listed = re.search(r"^ +seed: \[([0-9, ]+)\]", sweep, re.M)
            seeds = set(listed[1].split(", ") if listed else re.findall(r"^  - \{seed: (\d+)", sweep, re.M))
            if test.decides and test.sets:
                self.assertGreaterEqual(len(seeds), test.seeds, f"{test.manifest}: test {test.id}")

    def manifests(self, **texts):
        """Has the page read these manifests in place of those of configs/experiments."""
        folder = Path(tempfile.mkdtemp(dir=self.folder.parent))
        for name, text in texts.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        self.addCleanup(setattr, waiting, "MANIFESTS", waiting.MANIFESTS)
        waiting.MANIFESTS = folder

    def test_what_a_manifest_tries_is_read_from_its_sweep_its_forks_and_its_averages(self):
        self.manifests(
            listed="# seed: 9\nseed: 8\ntrain:\n  steps: 1200\n  forks:\n    late: {decay: cosine, decay_steps: 0.1k, steps: 900}\n"
                   "    early: {steps: 600}\n  every: 75\naveraging:\n  - lawa: {window: [3, 10], every: [25, 50]} # window: 7\n"
                   "sweep:\n  seed: [0, 1, 2, 3]\n  train.lr.peak: [1.0e-2, 3.0e-3]\nreport:\n  - {seed: 7}\n",
            rows="sweep:\n  - {seed: 3, train.optimizer: {adamw: {weight_decay: 0}}}\n  - {seed: 1, train.optimizer: {adamw: {weight_decay: 1.0}}}\n"
                 "  - {seed: 2,\n     train.optimizer: {adamw: {weight_decay: 8.0e-4, decay: independent}}}\n",
            one="seed: 8\nsweep:\n  seed: [4]\n", none="seed: 8\n")
        self.assertEqual([settings.seeds(settings.tried(name, "seed")) for name in ("rows", "one")], ["seeds 1, 2, 3", "seed 4"])
        self.assertEqual(settings.seeds([0, 1, 2, 3]), "seeds 0 to 3")
        self.assertEqual(settings.tried("listed", "steps"), ["600", "900"])
        self.assertEqual(settings.starts_of_decays("listed"), {"late": 800})
        self.assertEqual(settings.starts_of_decays("none"), {})
        self.assertEqual(settings.tried("listed", "window"), ["3", "10"])
        self.assertEqual([settings.short(value) for value in settings.tried("listed", "train.lr.peak")], ["3e-3", "1e-2"])
        self.assertEqual([settings.short(value) for value in settings.tried("rows", "weight_decay")], ["0", "8e-4", "1"])
        with self.assertRaisesRegex(long_table.Wrong, "none.yaml tries no seed"):
            settings.tried("none", "seed")

    def test_seeds_are_those_of_the_results_and_of_runs_that_have_the_same(self):
        self.manifests(token_budget_tiny="sweep:\n  seed: [0, 1, 2]\n", not_run="sweep:\n  seed: [5, 6]\n")
        page = pages.Page(self.folder)
        self.assertEqual(page.seeds("token_budget_tiny"), "seeds 30 to 37")
        self.assertEqual(page.seeds("not_run"), "seeds 5, 6")
        with self.assertRaisesRegex(long_table.Wrong, "different seeds"):
            page.seeds("token_budget_tiny", "plateau_tiny")

    def test_no_seed_of_the_table_of_settings_is_written_by_hand(self):
        table = (PAGES / "runs.md").read_text(encoding="utf-8").split("\n## ")[0].split("\n| setting")[1]
        self.assertIn("seeds 0 to 4", table)
        self.assertNotRegex(re.sub("seeds (0 to 4|10 to 17|20 to 24|30 to 37|60 to 69|100 to 107|0, 1, 2)", "", table), "seed")
        for template in TEMPLATES.glob("*.in"):
            self.assertNotRegex(template.read_text(encoding="utf-8"), r"\bseeds? \d", "seeds are read from the data")

    def test_the_words_above_a_manifest_count_its_seeds(self):
        counts = {"two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10}
        said = 0
        for path in sorted(waiting.MANIFESTS.glob("*.yaml")):
            for word in re.findall(r"\b(\w+) seeds\b", waiting.head_of(path.stem)):
                if word.lower() in counts:
                    said += 1
                    self.assertEqual(len(settings.tried(path.stem, "seed")), counts[word.lower()], path.name)
        self.assertGreater(said, 10)

    def test_every_manifest_says_its_time_in_one_form(self):
        for path in sorted(waiting.MANIFESTS.glob("*.yaml")):
            machine = "one core" if path.stem.endswith("_tiny") else r"an H\d+"
            self.assertRegex(waiting.time_of(path.stem), rf"^[\d.]+ h on {machine}( where \w+ has run)?( without tasks)?$", path.name)

    def test_what_is_planned_has_its_time_and_its_command(self):
        self.manifests(
            optimizers_tuned_tiny="# quench run optimizers_tuned_tiny.yaml\n#\n# Downloads: nothing.\n# Time: 6.5 h on one core\n# where a_tiny has run: 96 runs.\nname: x\n",
            published="# Downloads: 2 revisions, 12 GB by their shapes, and the texts.\n# Time: 237 PFLOP without tasks a=[\"b\"]: 0.2 h on an H100, 9 h on 32 cores.\n")
        self.assertEqual(waiting.needs("published"), "12 GB and 0.2 h on an H100 without tasks")
        self.assertEqual(waiting.needs("optimizers_tuned_tiny"), "6.5 h on one core where a_tiny has run")
        page = pages.Page(self.folder)
        page.verdicts["22t"].unmeasured = ["optimizers_tuned_tiny"]
        self.assertIn("Planned: [optimizers_tuned_tiny](../configs/experiments/optimizers_tuned_tiny.yaml) (6.5 h on one core where a_tiny has run; "
                      "`bench/findings/run optimizers_tuned_tiny`).", page.claim("22t"))

    def test_a_manifest_without_numbers_says_what_it_takes_to_have_them(self):
        self.manifests(another_tiny="# Downloads: nothing.\n# Time: 6.5 h on one core.\nname: x\n")
        page = pages.Page(self.folder)
        self.assertEqual(page.measured("another_tiny"), "not measured: 6.5 h on one core; `bench/findings/run another_tiny`")
        self.assertEqual(page.measured("soup_tiny"), "[soup_tiny.csv](../bench/findings/data/soup_tiny.csv)")

    def test_the_first_screen_answers_in_at_most_ten_sentences(self):
        answer = PAGE.read_text(encoding="utf-8").split("# Findings\n")[1].split("![")[0]
        sentences = re.findall(r"[.?](?:\s|$)", answer)
        self.assertTrue(1 < len(sentences) <= 10, f"{len(sentences)} sentences")

    def test_every_number_changes_the_page(self):
        before, _ = made(self.folder)
        for file in sorted(self.folder.glob("*.csv")):
            lines = file.read_text(encoding="utf-8").splitlines()
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            self.assertIn(digest, before, f"{file.name}: the page does not name these numbers")
            last = lines[-1].rsplit(",", 1)
            self.change(file.name, lines[-1], f"{last[0]},{float(last[1] or 0) + 1:.9g}")
            after, said = made(self.folder)
            self.assertTrue(after is None and said or digest not in after, f"{file.name}: a changed number changes nothing")

    def test_a_number_is_shown_where_it_stands(self):
        file = self.folder / "soup_tiny.csv"
        content = file.read_text(encoding="utf-8")
        changed = re.sub(r"^(contrast,8,.*,seeds\.mean,nats/token),.*$", r"\1,0.123456", content, count=1, flags=re.M)
        self.assertNotEqual(changed, content)
        file.write_text(changed, encoding="utf-8")
        after, _ = made(self.folder)
        self.assertRegex(after, r"\|  \|  \| gptq 3, .* \| \d seeds \| \+123\.46 \|")

    def test_losses_that_move_move_the_verdict(self):
        file = self.folder / "soup_tiny.csv"
        self.assertEqual({row[0]: row[2] for row in claims_of(made(self.folder)[0])}["8"], "**open**")
        moved = []
        for line in file.read_text(encoding="utf-8").splitlines():
            parts = line.rsplit(",", 1)
            is_soup = re.search(r"^loss,.*,soup,800,gptq bits=3,", line)
            moved.append(f"{parts[0]},{float(parts[1]) - 0.05}" if is_soup else line)
        file.write_text("\n".join(moved) + "\n", encoding="utf-8")
        after = {row[0]: row[2] for row in claims_of(made(self.folder)[0])}["8"]
        self.assertEqual(after, "**holds (rule changed after the data)**")

    def test_numbers_that_contradict_the_table_are_refused(self):
        self.change("soup_tiny.csv", "\nloss,", "\nlosses,")
        page, said = made(self.folder)
        self.assertIsNone(page)
        self.assertIn("soup_tiny.csv:", said)

    def test_prose_holds_no_measured_number(self):
        template = "\n".join(page.read_text(encoding="utf-8") for page in TEMPLATES.glob("*.in"))
        prose = re.sub(r"\{\{.*?\}\}|arXiv [\d.]+", "", template, flags=re.S)
        found = re.findall(r"[+−±]\s?\d+\.\d+|\d+\.\d{3,}|\[\s*[+−]?\d.*?,\s*[+−]?\d.*?\]|\d+ of \d+ (?:rows|pairs)|\*\*(?:holds|fails|open)\*\* in", prose)
        self.assertEqual(found, [], "these belong into a hole")


if __name__ == "__main__":
    unittest.main(verbosity=0)
