"""The study's files: their jobs against what a few lines of Python enumerate (tests/data/study/jobs.py), and the
manifests that they amount to, as they were when somebody last looked at them."""

import hashlib
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import support

try:
    import yaml  # noqa: F401
except ModuleNotFoundError:
    raise unittest.SkipTest("no module yaml")

from quench.study import StudyFile, Wrong, is_study_file, parse, read_study_file, study_manifest
from quench.study.revisions import Group, group_revisions
from quench.study.study_file import DIALECT
from quench.study.yaml_tree import double_quoted, scalar

SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data/study"
sys.path.insert(0, str(SOURCE / "tests/support"))
SOUND = ("repo_origin: org/tiny\nrevision: [step1, step2]\nq_bits: [4, 3]\ngroup_size: 128\ncalibration_batch_size: 16\n"
         "block_size: 2048\ndataset_path: /data\ngptq: True\n")


def study_configs():
    """The study's own files, beside the fixtures; skips without them."""
    from trajectory_hub import fixtures  # noqa: PLC0415, not in an installation

    folder = fixtures(SOURCE).parent / "study/config"
    if not folder.is_dir():
        raise unittest.SkipTest("%s is not there (QUENCH_FIXTURES names the folder of fixtures)" % folder)
    return folder


def table(name):
    return json.loads((DATA / name).read_text())


def as_text(node):
    """Text as in the file, which needs no opinion on what a number or a truth value is."""
    return [as_text(item) for item in node.items] if node.kind == "list" else node.text


def settings(file, job):
    return {key: as_text(file.find(key).values[at]) for key, at in file.settings(job).items()}


def study_file(text):
    return StudyFile(parse(text.encode(), "s.yaml"), "s.yaml")


class RevisionsTest(unittest.TestCase):
    def only_group(self, *names):
        found = group_revisions(names)
        self.assertEqual(len(found), 1)
        return found[0]

    def test_revisions_that_differ_in_step_and_tokens_are_one_branch(self):
        names = ["stage1-step2000-tokens9B", "stage1-step10-tokens15T"]
        self.assertEqual(self.only_group(*names), Group("stage1", "stage1-step{step}-tokens{tokens}", names))

    def test_every_word_for_a_step_is_found_and_what_is_before_it_names_the_branch(self):
        for names, name, pattern in (
                (("iter_0058000", "iter_0064000"), "run", "iter_{step}"),
                (("ckpt_000", "ckpt_010"), "run", "ckpt_{step}"),
                (("stage3-step-4240000", "stage3-step-20"), "stage3", "stage3-step-{step}"),
                (("lc-32k-to-64k-step-20000",), "lc-32k-to-64k", "lc-32k-to-64k-step-{step}"),
                (("ckpt_step_20.pth",), "run", "ckpt_step_{step}.pth"),
                (("ckpt_step_20_4bits_GPTQ_HF",), "run", "ckpt_step_{step}_4bits_GPTQ_HF"),
                (("step5",), "run", "step{step}")):
            self.assertEqual(self.only_group(*names), Group(name, pattern, list(names)))

    def test_runs_and_names_without_a_place_have_branches_of_their_own(self):
        found = group_revisions(["stage2-ingredient1-step7-tokens1B", "main", "stage2-ingredient2-step7-tokens1B", "it-SFT",
                                 "main"])
        self.assertEqual([group.name for group in found], ["stage2-ingredient1", "main", "stage2-ingredient2", "it-SFT"])
        self.assertEqual(found[1], Group("main", "", ["main"]))

    def test_two_branches_never_have_one_name(self):
        self.assertEqual([group.name for group in group_revisions(["step5", "ckpt_5", "run"])], ["run", "run'", "run''"])


class JobsTest(unittest.TestCase):
    def test_each_job_has_the_settings_that_a_product_of_its_lists_gives(self):
        wanted = table("jobs.json")
        for name, jobs in wanted.items():
            file = read_study_file(str(DATA / name))
            self.assertEqual([settings(file, job) for job in range(file.jobs)], jobs)
        self.assertEqual(len(wanted), 3)

    def test_all_jobs_of_the_studys_own_files_are_those_that_the_table_has(self):
        wanted, in_all = table("jobs_of_study.json"), 0
        for name, (jobs, digest) in wanted.items():
            file = read_study_file(str(study_configs() / name))
            self.assertEqual(file.jobs, jobs, name)
            lines = [json.dumps(settings(file, job), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                     for job in range(jobs)]
            self.assertEqual(hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest(), digest, name)
            in_all += jobs if name.startswith("gptq/") else 0
        self.assertEqual((len(wanted), in_all), (16, 652))

    def test_the_example_of_docs_import_numbers_its_jobs_as_the_page_says(self):
        page = (SOURCE / "docs/import.md").read_text()
        example = page.partition("```yaml\n")[2].partition("```")[0]
        file = study_file("repo_origin: org/tiny\n" + example + SOUND[SOUND.index("group_size"):])
        jobs = [file.job(number) for number in range(file.jobs)]
        self.assertEqual([(job.checkpoints[0][1], job.quantizer["bits"]) for job in jobs],
                         [("stage1-step10000-tokens21B", 4), ("main", 4), ("stage1-step10000-tokens21B", 3), ("main", 3)])
        self.assertEqual(jobs[1].point, {"q_bits": 4, "revision": "main"})

    def test_a_job_of_averages_has_the_last_of_its_list(self):
        job = read_study_file(str(DATA / "averages.yaml")).job(1)
        self.assertEqual(job.checkpoints, [("hf://org/tiny", "stage2-part2-step9-tokens2B"), ("hf://org/tiny", "main")])
        self.assertEqual((job.average, job.quantizer), ("last 2 of list 1", {"bits": 3, "group_size": -1}))

    def test_a_file_has_at_most_65536_jobs(self):
        many = "q_bits: [%s]" % ", ".join(["4"] * 257)
        with self.assertRaisesRegex(Wrong, "^s.yaml:10:13: study file: more than 65536 jobs$"):
            study_file(SOUND.replace("q_bits: [4, 3]", many) + "max_model_len: 1\nbatch_size: [%s]\n" % ", ".join("1" * 256))


class RefusalTest(unittest.TestCase):
    def refusal(self, before, after):
        with self.assertRaises(Wrong) as raised:
            study_file(SOUND.replace(before, after))
        return str(raised.exception)

    def test_a_manifest_is_no_file_of_the_study(self):
        def is_one(text):
            return is_study_file(parse(text.encode(), "s.yaml"))
        self.assertTrue(is_one(SOUND))
        for text in (SOUND + "checkpoints: {}\n", "name: a\nmetrics: []\n", "[repo_origin, q_bits]"):
            self.assertFalse(is_one(text))

    def test_what_no_manifest_can_express_is_refused_with_its_place(self):
        for before, after, place, told in (
                ("gptq: True", "gptq: True\nq_bit: 4", "9:1", "unknown key `q_bit`; did you mean `q_bits`?"),
                ("group_size: 128\n", "", "1:1", "`group_size` is missing"),
                ("[4, 3]", "[]", "3:9", "`q_bits`: got an empty list, so that there is no job"),
                ("[4, 3]", "[4, four]", "3:13", '`q_bits`: got the text "four", wanted a whole number, 1..16777216'),
                ("2048", "[2048, 4096]", "6:13",
                 "`block_size`: got a list of 2, wanted one value: no grid has them side by side"),
                ("gptq: True", "gptq: False", "8:7",
                 '`gptq`: got the text "False", wanted true: the study\'s code quantizes with this method alone'),
                ("gptq: True", "gptq: True\nbnb: yes", "9:6",
                 '`bnb`: got the text "yes", wanted false: the study\'s code has no other method here'),
                ("[step1, step2]", "[[step1, step2]]", "2:12",
                 "`revision`: got a list, wanted the name of a revision (only a file with `L` averages lists of them)"),
                ("[step1, step2]", "[[step1, step2]]\nL: [2, 3]", "3:8",
                 "`L`: got 3, more than the 2 revisions of the list"),
                ("[step1, step2]", "[step1]\nL: 1", "2:12",
                 '`revision`: got the text "step1", wanted a list of revisions, of which `L` are averaged')):
            self.assertEqual(self.refusal(before, after), "s.yaml:%s: study file: %s" % (place, told))
        study_file(SOUND.replace("gptq: True", "gptq: on\nawq: off"))
        study_file(SOUND.replace("128", "-1"))

    def test_all_problems_are_told_at_once_in_the_order_of_the_file(self):
        told = self.refusal("q_bits: [4, 3]\ngroup_size: 128", "q_bits: five\ngroup_sizes: 128").splitlines()
        self.assertEqual([line.split(": ")[0] for line in told], ["s.yaml:1:1", "s.yaml:3:9", "s.yaml:4:1"])

    def test_what_is_no_plain_yaml_is_refused_with_its_place(self):
        for text, told in ((b"a: &x 3", "1:4: anchors"), (b"a: *x", "1:4: aliases"), (b"a: !!str 3", "1:4: the tag"),
                           (b"a: 1\na: 2", "2:1: key `a` is given twice, first in line 1"), (b"<<: 3", "1:1: merge keys"),
                           (b"a: 1\n---\nb: 2", " more than one document"), (b"", " empty; wanted a mapping"),
                           (b"a: \xff", "1:4: byte 0xff"), (b"a: 1\nb: \x01", "2:4: control character 0x01"),
                           (b"\xef\xbb\xbfa: 1", "1:1: starts with a byte order mark"), (b"[a]: 1", "1:1: a key must be"),
                           (b"a: [1", "1:6: expected ',' or ']'"), (b"[" * 70, "1:65: nested deeper than 64 levels")):
            with self.subTest(text), self.assertRaises(Wrong) as raised:
                parse(text, "s.yaml")
            self.assertTrue(str(raised.exception).startswith("s.yaml:" + told), raised.exception)

    def test_a_plain_scalar_is_a_number_only_in_the_spelling_of_json(self):
        for text, value in (("4", 4), ("-1.5e3", -1500.0), ("010", "010"), ("yes", "yes"), ("true", True), ("0x4", "0x4"),
                            ("1e999", "1e999"), ("99999999999999999999", "99999999999999999999"), ("'4'", "4"), ("~", None)):
            got = parse(("a: " + text).encode(), "s.yaml").find("a").value()
            self.assertEqual((got, type(got)), (value, type(value)))


class ManifestTest(support.FileTest):
    def manifest(self, path):
        return study_manifest(read_study_file(str(path)), path.name)

    def test_manifests_are_those_of_the_table(self):
        for path in (DATA / "manifests").iterdir():
            self.assertEqual(self.manifest(DATA / path.name), path.read_text())

    def test_manifests_of_the_studys_own_files_are_those_of_the_table(self):
        wanted = table("manifests_of_study.json")
        for name, digest in wanted.items():
            text = self.manifest(study_configs() / name)
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), digest, name)
        self.assertEqual(len(wanted), 16)

    def experiments(self):
        """{model: its section `checkpoints` in configs/experiments} of the runs that the study measures."""
        names = ("amber", "apertus_8b", "opensci_1_7b", "smollm3", "olmo2_1b", "olmo2_7b", "olmo2_13b", "olmo2_32b")
        sections = [yaml.safe_load((SOURCE / "configs/experiments" / (name + ".yaml")).read_text())["checkpoints"]
                    for name in names]
        return {section["model"].removeprefix("hf://"): section for section in sections}

    def test_the_rate_and_the_tokens_of_a_training_are_those_of_its_experiment(self):
        names = {"stage2-ingredient%d" % i: "ingredient%d" % i for i in range(1, 5)}
        names.update({"lc-4k-to-32k": "context_32k", "lc-32k-to-64k": "context_64k"})
        rates = 0
        for model, known in DIALECT.trainings.items():
            section = self.experiments()[model]
            branches = section.get("branches") or {"run": {}}
            for name, keys in known["branches"].items():
                with self.subTest(model, branch=name):
                    got = yaml.safe_load("\n".join(keys))
                    only = next(iter(branches)) if name == "run" else names.get(name, name)
                    wanted = {**section, **branches[only]}
                    self.assertEqual(got.get("lr"), wanted.get("lr"))
                    self.assertEqual(got.get("tokens_per_step"), wanted.get("tokens_per_step"))
                    offset = dict(got.get("offset", {}))
                    if isinstance(offset.get("tokens"), int):  # where steps alone say how many there were
                        steps = int(offset["step"].removesuffix("k")) * 1000
                        self.assertEqual(offset.pop("tokens"), steps * got["tokens_per_step"])
                    self.assertEqual(offset, {key: value for key, value in wanted.get("offset", {}).items() if key in offset})
                    self.assertEqual("offset" in got, "offset" in wanted)
                    rates += "lr" in got
        self.assertEqual((len(DIALECT.trainings), rates), (8, 23))

    def test_a_branch_forks_from_its_parent_where_the_file_has_it(self):
        known = "HuggingFaceTB/SmolLM3-3B-checkpoints"
        text = SOUND.replace("org/tiny", known).replace("step1, step2", "stage2-step-5, stage1-step-2, stage3-step-9, main")
        read = yaml.safe_load(study_manifest(study_file(text), "s.yaml"))["checkpoints"]["branches"]
        self.assertEqual([read[name].get("parent") for name in ("stage1", "stage2", "stage3", "main")],
                         [None, "stage1", "stage2", None])
        alone = yaml.safe_load(study_manifest(study_file(text.replace("stage1-step-2, ", "")), "s.yaml"))
        self.assertNotIn("parent", alone["checkpoints"]["branches"]["stage2"])

    def test_a_report_has_the_figures_of_the_study_and_what_its_axes_compare(self):
        def report(text):
            return yaml.safe_load(study_manifest(study_file(text), "s.yaml"))["report"]
        plain = report(SOUND)
        self.assertEqual(plain["figures"][0], {"error_vs_tokens": {"lines": "branch", "panels": "bits"}})
        self.assertEqual(plain["contrasts"], [{"a": {"params.bits": 4}, "b": {"params.bits": 3}, "match": ["checkpoint"]}])
        self.assertNotIn("contrasts", report(SOUND.replace("[4, 3]", "4")))
        known = report(SOUND.replace("org/tiny", "LLM360/Amber").replace("step1, step2", "ckpt_1, ckpt_2, ckpt_3"))
        self.assertEqual(known["figures"][0]["error_vs_tokens"]["right"], "lr")
        self.assertEqual(known["contrasts"][0],
                         {"a": {"branch": "run", "bits": 3}, "statistic": "rank_correlation", "over": "lr"})
        sizes = report(SOUND.replace("group_size: 128", "group_size: [64, 128]"))
        self.assertEqual(sizes["contrasts"][0]["match"], ["checkpoint", "params.group_size"])
        means = report(SOUND.replace("[step1, step2]", "[[step1, step2, step3]]\nL: [3, 1, 2]"))
        self.assertEqual(means["contrasts"], [{"a": "last 3", "b": "last 1", "match": ["bits"]}])

    def test_a_held_out_text_that_is_here_is_read(self):
        file = study_file(SOUND.replace("/data", self.folder))
        self.assertIn("arrow: {path: %s, field: content}" % scalar(self.folder), study_manifest(file, "s.yaml"))

    def test_text_is_quoted_where_it_could_be_read_as_something_else(self):
        for text, wanted in (("stage1/step-10", "stage1/step-10"), ("hf://org/tiny", "hf://org/tiny"), ("true", '"true"'),
                             ("10", '"10"'), ("a: b", '"a: b"'), ("ü", '"ü"'), ("", '""'), ('a"\\\n', '"a\\"\\\\\\x0a"')):
            self.assertEqual(scalar(text), wanted)
        with self.assertRaisesRegex(Wrong, r"^a\\xff: is not UTF-8"):
            double_quoted("a\udcff")


class CommandTest(support.FileTest):
    def ended(self, *words):
        start = SOURCE / "python/quench/start.py"
        return subprocess.run([sys.executable, start, "study", *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=60)

    def test_it_prints_the_manifest_writes_it_or_prints_its_jobs(self):
        self.write(SOUND, "s.yaml")
        printed = self.ended("s.yaml")
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        wrote = self.ended("-o", "m.yaml", "s.yaml")
        self.assertEqual(wrote.stdout, "wrote m.yaml, 4 jobs; look at it with: quench plan m.yaml\n")
        with open(os.path.join(self.folder, "m.yaml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), printed.stdout)
        read = json.loads(self.ended("--jobs", "--", "s.yaml").stdout)
        self.assertEqual(read["manifest"], printed.stdout)
        self.assertEqual(read["jobs"][1], {
            "checkpoints": [["hf://org/tiny", "step1"]], "average": "", "quantizer": {"bits": 3, "group_size": 128},
            "point": {"revision": "step1", "q_bits": 3}})

    def test_what_is_wrong_is_told_with_code_2_and_nothing_is_written(self):
        self.write("a: 1\n", "s.yaml")
        for words, told in ((("s.yaml", "-o", "m.yaml"), "s.yaml: got other keys, wanted a file of the study's code: with"),
                            (("none.yaml",), "none.yaml: cannot be opened: No such file or directory"),
                            ((".",), ".: not a regular file")):
            got = self.ended(*words)
            self.assertEqual((got.returncode, got.stdout), (2, ""))
            self.assertTrue(got.stderr.startswith(told) and got.stderr.count("\n") == 1, got.stderr)
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])


if __name__ == "__main__":
    unittest.main()
