#!/usr/bin/env python3
"""bench/findings/witness works the pages of findings out again, notices what differs, and shares no code with what made them.

usage: witness_test.py SOURCE
"""
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
WITNESS = SOURCE / "bench/findings/witness"


# What a page says, falsified: (page, where, in whose group the last digit is another or which is replaced, by what, what the witness says).
NUMBER = r"[+−]?([\d.]+)"
FALSIFIED = [
    ("findings", r"^- .*?: (?:in the least sure .*?, )?[+−]([\d.]+) \[", None, r"findings, \{\{answer\}\}"),
    ("findings", r"^- .* thousandths of a nat, \d+ % of the error, (\d+) seeds, p < ", None, r"findings, \{\{answer\}\}"),
    ("findings", r", of (\d+) claims ", None, r"findings, \{\{counts\}\}"),
    ("findings", r"falls by ([\d.]+) nats in the last half", None, r"findings, \{\{regime: plateau_tiny\}\}"),
    ("findings", r"the decay changes the error by\s[+−]([\d.]+) %", None, r"findings, \{\{effect: 1p \|"),
    ("findings", r"at most ([\d.]+) % are expected", None, r"findings, \{\{discoveries\}\}"),
    ("findings", r"^\| \w+ \| .* \| \*\*(open)\*\* \| [+−]", "holds", r"the table of claims, .*, verdict"),
    ("findings", r"^\| \w+ \| .* \| \*\*\w+( on one text)", "", r"the table of claims, .*, verdict: the page has .*, worked out is .* on one text"),
    ("findings", r"^\| \w+ \| .* \| \*\*\w+( \(rule changed after the data\))\*\*", "", r"the table of claims, .*, verdict: .* .* is .* \(rule"),
    ("findings", rf"^\| \w+ \| .* \| \*\*holds\*\* \| {NUMBER} \[", None, r"the table of claims, .*, effect and 95 % interval"),
    ("findings", r"\| p = ([\d.]+) \|$", None, r"the table of claims, .*, how sure"),
    ("findings", r"\| could have seen ([\d.]+) \|$", None, r"the table of claims, .*, how sure"),
    ("decay", rf"^\| \w+ \| [^|]* \| {NUMBER} \[[^|]*\] \| \w+ \| [^|]* % \[", None, r"ΔQL beside ΔCE, .*, ΔCE, thousandths of a nat"),
    ("decay", rf"^\| \w+ \| [^|]* \| [^|]*\] \| \w+ \| {NUMBER} % \[", None, r"ΔQL beside ΔCE, .*, ΔQL"),
    ("decay", r"by\s[+−]([\d.]+) \[[^]]*\] thousandths of a nat and that of RTN", None, r"decay, \{\{effect: 1 \|"),
    ("decay", r"^\*\*.*: (open)\.\*\* Rule: ", "holds", r"claim \w+"),
    ("plateau", r"^\| constant \| \d+ \| \d+ \| [\d.]+ \| ([\d.]+) \|", None, r"λ₁·η, constant \d+, λ₁·η, thousandths"),
    ("plateau", r"\| within ±([\d.]+) \|", None, r"test .*, the rule asks"),
    ("plateau", r"\| at most ([\d.]+) \|", None, r"test .*, the rule asks"),
    ("plateau", r"\| ±([\d.]+) over documents \|", None, r"test .*, other text or calibration data"),
    ("plateau", r"\| open, p[^|]*\| ([\d.]+) \|$", None, r"test .*, could have seen; seeds for the mean"),
    ("plateau", r"\| open, p[^|]*\| [\d.]+; (\d+) \|$", None, r"test .*, could have seen; seeds for the mean"),
    ("plateau", r"(?<=\(claim p )(is open|holds|fails)\)", "waits", r"plateau, \{\{word: p\}\}"),
    ("plateau", r"float loss\s+falls by ([\d.]+) nats, in the decay by", None, r"plateau: "),
    ("flatness", r"steep along its rounding, by [+−]([\d.]+) %", None, r"flatness, \{\{mediated: average near a plateau"),
    ("flatness", r"^\| average [^|]* \| gptq 3 \| \d+ \| \**[+−]([\d.]+) ", None, r"mediation, average .*, gptq 3, ΔCE"),
    ("rules", r"^\| \w+ \| \w+ \| (open) \| ", "holds", r"what has changed, "),
    ("rules", r"^\| \w+ \| \w+ \| (\d+) / \d+ % \|", None, r"fresh runs, "),
    ("rules", r"^\| [^|]* \| \d+ \| [\d.]+ %, at most ([\d.]+) % \|", None, r"wrong verdicts, .*, holds"),
    ("rules", r"^\| above, below \| effect [^|]* \| (\d+) % \|", None, r"power, above, below"),
    ("rules", r"^\| one run[^|]* \| [^|]* \| (?:holds|fails) \| \d+ \| ([\d.]+) % \|", None, r"earlier rules, one run"),
    ("rules", r"^\| mean, [^|]* \| [^|]* \| \d+ \| ([\d.]+) % \|", None, r"coverage, mean"),
    ("rules", r"None of the (\d+) chances", None, r"rules, \{\{wrong_limit\}\}"),
    ("averages", r"^\|  \|  \| [^|]* \| \d+ seeds \| [+−]([\d.]+) \|", None, r"test .*, \d+ seeds, mean"),
    ("methods", rf"^\| 12 primary \| AWQ \| \d+ \| {NUMBER} \|", None, r"test 12 primary, AWQ"),
    ("methods", r"^\| 12 primary \| AWQ .* ±([\d.]+) over runs of blocks, as Fisher’s z", None, r"test 12 primary, AWQ, other text"),
    ("runs", r"^\| [^|]* \| [^|]* \| [^|]* \| \d+ \| \d+ \| ([\d.]+) \(", None, r".*_tiny, .*, float loss"),
    ("runs", r"\.csv\) \| (\d+) \| ", None, r"files, .*, numbers"),
    ("runs", r"; (seeds \d) to ", None, r"runs, \{\{seeds: "),
]


def run(*arguments):
    return subprocess.run([sys.executable, WITNESS, *arguments], capture_output=True, text=True)


SEEDS = range(10, 18)
UNITS = 12  # of a made-up text


def asked(test, entry):
    """[(point, branch, averaging, step)] that a row of claims.toml asks for, each of the candidates of a side, and lines up to `until`."""
    out = set()
    for side in ("a", "b", "reference", "trainings"):
        for one in entry.get(side, []):
            for point in one.get("points", [one.get("point", "")]):
                steps = [one["step"]] if "step" in one else range(100, test.get("until", 800) + 1, 100)
                out |= {(point, one.get("branch", ""), one.get("averaging", ""), step) for step in steps}
                if "choose_at" in test:
                    out.add((point, one.get("chosen_on", one.get("branch", "")), "", test["choose_at"]))
    if "branches" in entry:
        out |= {("", branch, "", step) for branch, steps in (("trunk", (3000, 6000, 9000, 12000)), ("early", (3000,)), ("middle", (6000,)),
                                                            ("late", (12000,))) for step in steps}
    return out


def methods_of(test, entry):
    own = [*test.get("methods", []), *(one.get("method") for one in (test, entry, entry.get("x", {}), entry.get("y", {})))]
    return {*own, *(one.get("method") for side in "ab" for one in entry.get(side, []))} - {None, ""}


def made_up(manifest, tests):
    """Rows of a file of results of this manifest, with numbers that nobody measured, for all rows of these tests."""
    noise = random.Random(manifest)
    places = set().union(*(asked(test, entry) for test in tests for entry in test["sets"]))
    methods = sorted(set().union(*(methods_of(test, entry) for test in tests for entry in test["sets"])))
    for place in sorted(places):
        for seed in SEEDS:
            floating = 1.8 - 0.4 * place[3] / 12000 - 0.2 * (place[3] % 3000) / 3000 + noise.gauss(0, 0.002) + 0.001 * seed
            floating += 0.05 if place[1] == "trunk" else 0  # between the ends of the decays
            yield "loss", place, "float", seed, "loss", floating
            yield "loss", place, "float", seed, "lr", 8e-3 if place[1] in ("", "trunk") else 2e-5 * noise.uniform(0.5, 2)
            yield "accuracy", place, "float", seed, "accuracy", 0.5
            for name in ("hessian", "hessian/trace"):
                for label in ("", ", matrices", ", relative"):
                    yield "curvature", place, "float", seed, name + label, noise.uniform(3, 5)
            for method in methods:
                error = noise.uniform(0.03, 0.05)
                yield "loss", place, method, seed, "loss", floating + error
                yield "accuracy", place, method, seed, "accuracy", 0.5 - noise.gauss(0.001, 0.002)
                for name, value in (("slope", noise.gauss(0, 0.01)), ("quadratic", error), ("change", 1.1 * error),
                                    ("relative_distance", noise.uniform(0.1, 0.2))):
                    yield "taylor", place, method, seed, name, value
                for name, value in (("relative_error", error * noise.uniform(0.9, 1.1)), ("weight_kurtosis", noise.uniform(0, 2))):
                    yield "decomposition", place, method, seed, name, value


def write(path, tests):
    lines = ["# command: none, made up", "# program: none", "# date: 2030-01-01", "# processor: none",
             "table,test,contrast,row,point,branch,averaging,step,method,seed,quantity,unit,value"]
    scored, noise = [500 + 90 * unit for unit in range(UNITS)], random.Random(path.stem)
    units = {"loss": [], "accuracy": []}
    for table, (point, branch, averaging, step), method, seed, quantity, value in made_up(path.stem, tests):
        cells = [table, "", "", "", point, branch, averaging, step, method, seed, f'"{quantity}"', "", f"{value:.9g}"]
        lines.append(",".join(map(str, cells)))
        if quantity in units:
            shares = [value + noise.gauss(0, 0.05) for _ in scored]
            units[quantity].append([point, branch, averaging, step, method, seed, *(f"{share * n:.9g}" for share, n in zip(shares, scored))])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for quantity, end in (("loss", ".csv"), ("accuracy", ".questions.csv")):
        rows = [["point", "branch", "averaging", "step", "method", "seed", *(f"run {i + 1}" for i in range(UNITS))],
                ["", "", "", "", "scored", "", *scored], *units[quantity]]
        (path.parent / f"documents/{path.stem}{end}").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")


class Witness(unittest.TestCase):
    def test_rows_are_worked_out_alike_from_numbers_made_up(self):
        """Those of all runs with new seeds, measured or planned, but for those of the mediation table, whose rows stand in figures and prose."""
        mediated = re.findall(r'", "(\w+_tiny)",', (SOURCE / "bench/findings/mediation.py").read_text(encoding="utf-8"))
        document = tomllib.loads((SOURCE / "bench/findings/claims.toml").read_text(encoding="utf-8"))
        tried = {}
        for claim in document["claim"]:
            for test in claim.get("tests", []):
                manifest = SOURCE / f"configs/experiments/{test['manifest']}.yaml"
                if "sets" in test and test["manifest"] not in mediated and re.search(r"seed: \[?10\b", manifest.read_text(encoding="utf-8")):
                    tried.setdefault(test["manifest"], []).append({key: value for key, value in test.items() if key != "text"})
        self.assertGreater(len(tried), 6)
        with tempfile.TemporaryDirectory() as own:
            # The same rules without the widths of contrasts, which only `quench report` knows.
            copy = Path(own) / "bench/findings"
            shutil.copytree(SOURCE / "bench/findings", copy)
            (Path(own) / "configs").symlink_to(SOURCE / "configs")
            (Path(own) / "python").symlink_to(SOURCE / "python")
            table = (copy / "claims.toml").read_text(encoding="utf-8")
            names = "|".join(tried)
            table = re.sub(rf'(manifest = "(?:{names})"\n(?:(?!\[\[).*\n)*?)text = .*\n(?:text_rows = .*\n)?', r"\1", table)
            (copy / "claims.toml").write_text(table, encoding="utf-8")
            for manifest, tests in tried.items():
                write(copy / f"data/{manifest}.csv", tests)
            docs = Path(own) / "docs"
            done = subprocess.run([sys.executable, copy / "page", "--out", docs], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([sys.executable, copy / "witness", "--docs", docs], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            words = re.search(r"^(\d+) words with their p-values agree$", done.stdout, re.M)
            rows = sum(len(test["sets"]) * max(1, len(test.get("methods", []))) for tests in tried.values() for test in tests
                       if test.get("at") != "correlation")
            self.assertGreaterEqual(int(words[1]), 100 + rows)
            self.assertRegex((docs / "findings/optimizers.md").read_text(encoding="utf-8"), r"; chosen: lr\.peak=0\.")

    def test_every_row_of_the_pages_is_what_the_values_give(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = {what: int(count) for count, what in re.findall(r"^(\d+) (.*) agree$", done.stdout, re.M)}
        self.assertGreater(counts["means of rows"], 100)
        self.assertEqual(counts["means of rows"], counts["words with their p-values"])
        self.assertGreater(counts["rows of contrasts over seeds"], 200)
        self.assertGreater(counts["rows of contrasts over documents"], 20)
        self.assertEqual(counts["demands of rules"], counts["means of rows"])
        self.assertEqual(counts["differences that rows could have seen"], counts["means of rows"])
        self.assertGreater(counts["cells of the table of claims"], 200)
        self.assertGreater(counts["lines of text in holes of prose"], 90)
        self.assertRegex(done.stdout, r"not worked out: \d+ intervals over items, for which raw records are needed")

    def test_a_loss_that_is_another_is_noticed(self):
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own) / "data"
            shutil.copytree(SOURCE / "bench/findings/data", folder)
            file = folder / "token_budget_tiny.csv"
            content = file.read_text(encoding="utf-8")
            changed = re.sub(r"^(loss,,,,,late,,1200,gptq bits=3,32,loss,nats/token),.*$", r"\1,1.3", content, flags=re.M)
            self.assertNotEqual(changed, content)
            file.write_text(changed, encoding="utf-8")
            done = run("--folder", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("test 1 primary, decayed − constant, mean of three budgets: the page has", done.stderr)

    def test_a_loss_of_a_document_that_is_another_is_noticed(self):
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own) / "data"
            shutil.copytree(SOURCE / "bench/findings/data", folder)
            file = folder / "documents/plateau_tiny.csv"
            content = file.read_text(encoding="utf-8")
            changed = re.sub(r"^(,late,,12000,gptq bits=3,11),([^,]+),", lambda row: f"{row[1]},{float(row[2]) + 20},", content, flags=re.M)
            self.assertNotEqual(changed, content)
            file.write_text(changed, encoding="utf-8")
            done = run("--folder", folder)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"test 1p, decayed − constant, step 12000, gptq bits=3: .* over documents differ")

    def test_rows_over_documents_that_were_swapped_are_noticed(self):
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own) / "data"
            shutil.copytree(SOURCE / "bench/findings/data", folder)
            file = folder / "plateau_tiny.csv"
            content = file.read_text(encoding="utf-8")
            swapped = re.sub(r'^(contrast,3p,[^"\n]*"?[^"\n]*"?,)(gptq bits=3|rtn bits=4)(,.*items\..*)$', lambda row: row[1] + (
                "rtn bits=4" if row[2] == "gptq bits=3" else "gptq bits=3") + row[3], content, flags=re.M)
            self.assertNotEqual(swapped, content)
            file.write_text(swapped, encoding="utf-8")
            done = run("--folder", folder)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"test 3p, .*gptq bits=3: .*mean, .* over documents differ")

    def test_a_number_of_a_page_that_is_another_is_named(self):
        with tempfile.TemporaryDirectory() as own:
            docs, changes, said, nowhere = Path(own) / "docs", {}, [], []
            (docs / "findings").mkdir(parents=True)
            for page, pattern, by, says in FALSIFIED:
                name = "findings.md" if page == "findings" else f"findings/{page}.md"
                found = re.search(pattern, (SOURCE / "docs" / name).read_text(encoding="utf-8"), re.M)
                if found is None:  # no claim may be of that kind any more
                    nowhere.append(pattern)
                    continue
                by = f"{found[1][:-1]}{(int(found[1][-1]) + 5) % 10}" if by is None else by
                changes.setdefault(name, []).append((*found.span(1), by))
                said.append((pattern, rf"(?m)^{says}" + (rf".*the page has .*{re.escape(by)}" if by else "")))
            for page in [SOURCE / "docs/findings.md", *(SOURCE / "docs/findings").glob("*.md")]:
                name, text = str(page.relative_to(SOURCE / "docs")), page.read_text(encoding="utf-8")
                for begin, end, by in sorted(changes.get(name, []), reverse=True):
                    text = text[:begin] + by + text[end:]
                (docs / name).write_text(text, encoding="utf-8")
            self.assertLess(len(nowhere), 5, nowhere)
            done = run("--docs", docs)
            self.assertEqual(done.returncode, 1)
            for pattern, says in said:
                with self.subTest(pattern):
                    self.assertRegex(done.stderr.replace("−", "-"), says.replace("−", "-"))
            places = {(name, place) for name, of_page in changes.items() for place in of_page}
            self.assertEqual(len(places), len(said), "two changes are one")
            self.assertRegex(done.stderr, rf"\A{len(said)} differ:\n")

    def test_it_imports_nothing_of_this_project(self):
        imported, parts = set(), sorted((SOURCE / "bench/findings/witness_parts").glob("*.py"))
        self.assertGreater(len(parts), 5)
        for part in [WITNESS, *parts]:
            for node in ast.walk(ast.parse(part.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {name.name.partition(".")[0] for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    self.assertEqual(node.level, 0, part.name)
                    imported.add(node.module.partition(".")[0])
        self.assertEqual(imported - set(sys.stdlib_module_names), {"numpy", "scipy", "witness_parts"})


if __name__ == "__main__":
    unittest.main(verbosity=0)
