#!/usr/bin/env python3
"""bench/gpu/measure on a GPU that is none: it ends, each step leaves its result at once, and what ends a step takes nothing from the others.

usage: gpu_measure_test.py SOURCE BUILD [TEST]...
"""
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
TREE = BUILD / "tests/gpu"
MEASURE = SOURCE / "bench/gpu/measure"
SKIPPED = 77
# The driver's own tool, as far as it is asked.
NVIDIA_SMI = """#!/bin/sh
case "$*" in *memory.used*) echo 1000 ;; *) echo "Pretended GPU" ;; esac
"""


def compile_library(source, to):
    headers = next((folder for folder in (SOURCE / ".deps/nvidia/cu13/include", Path("/usr/local/cuda/include")) if (folder / "cupti.h").exists()), None)
    if headers is None:
        print("SKIPPED: cupti.h is not there: `./dev setup` installs it")
        sys.exit(SKIPPED)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-I", headers, "-o", to, SOURCE / source], check=True)
    return str(to)


class GpuMeasure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory()
        cls.here = Path(cls.keep.name)
        (cls.here / "bin").mkdir()
        (cls.here / "bin/nvidia-smi").write_text(NVIDIA_SMI)
        (cls.here / "bin/nvidia-smi").chmod(0o755)
        cls.environment = {**os.environ, "PATH": f"{cls.here / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
                           "QUENCH_KERNEL_TIMES_LIBRARY": compile_library("bench/gpu/kernel_times.c", cls.here / "kernel_times.so"),
                           "QUENCH_CUPTI": compile_library("tests/support/pretended_gpu/cupti.c", cls.here / "libcupti.so")}
        for suite in ("contract_device_tests", "quantizers_kernels_tests", "models_decoder_gpu_test", "optimizers_muon_tests"):  # as run_suite links them
            mine = TREE / "tests" / f"{suite}.{os.getpid()}"
            os.link(BUILD / "tests" / suite, mine)
            os.replace(mine, TREE / "tests" / suite)
            mine.unlink(missing_ok=True)  # a rename to another name of the same file leaves both

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    def words(self, out, *words):
        return [sys.executable, MEASURE, "--small", "--tree", TREE, "--budget", "3000", "--out", out, *words]

    def measure(self, out, *words, code):
        done = subprocess.run(self.words(out, *words), capture_output=True, text=True, check=False, env=self.environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def interrupted(self, out, step, number, *words):
        """Begins a measurement, and sends a signal to the process of that step (SIGKILL), or to the whole of it, when the step has begun."""
        process = subprocess.Popen(self.words(out, *words), stdout=subprocess.PIPE, text=True, env=self.environment)
        said = ""
        for line in process.stdout:
            said += line
            begun = re.match(rf"{re.escape(step)}: process (\d+)", line)
            if begun and number == signal.SIGKILL:
                os.killpg(int(begun[1]), number)
            elif begun:
                process.send_signal(number)
        process.stdout.close()
        return process.wait(), said

    def result(self, out, step):
        return json.loads((out / "results" / f"{step}.json").read_text())

    def test_a_step_that_is_killed_or_over_its_limit_takes_nothing_from_the_others(self):
        out = self.here / "whole"
        steps = ["doctor", "bits", "contract", "kernels", "table.tiny", "training.float32", "training.tf32", "training.bfloat16", "recorded", "profile.pass", "profile.training"]
        code, said = self.interrupted(out, "contract", signal.SIGKILL, "--limit", "table.tiny=0.3", "--only", *steps)
        self.assertEqual(code, 1, said)
        status = {step: self.result(out, step)["status"] for step in steps}
        precisions = json.loads(subprocess.run([BUILD / "bin/quench", "schema"], capture_output=True, check=True).stdout)
        has_tf32 = "tf32" in precisions["properties"]["train"]["properties"]["precision"]["enum"]
        self.assertEqual(status, {"doctor": "done", "bits": "done", "contract": "killed", "kernels": "done", "table.tiny": "over", "training.float32": "done",
                                  "training.tf32": "done" if has_tf32 else "refused", "training.bfloat16": "done", "recorded": "done", "profile.pass": "done", "profile.training": "done"}, said)
        self.assertIn("Pretended GPU", self.result(out, "doctor")["lines"][0])
        # What is equal here by construction must be found equal, with weights that were read from two trainings.
        both = self.result(out, "bits")["result"]["float32"]
        self.assertGreaterEqual(len(both["first"]), 7)
        self.assertEqual(both["first"], both["second"])
        self.assertEqual(len(set(both["weights"])), 1)
        # Recorded work has the bits of work that is told each time; what is slow or fast here says nothing.
        self.assertTrue(self.result(out, "bits")["result"]["float32 recorded"]["same"], said)
        self.assertGreater(self.result(out, "recorded")["result"]["training_ratio"], 0)
        self.assertEqual({suite: found["verdict"] for suite, found in self.result(out, "kernels")["result"].items()},
                         {"quantizers_kernels_tests": "passed", "models_decoder_gpu_test": "passed", "optimizers_muon_tests": "passed"})
        self.assertGreater(self.result(out, "training.float32")["result"]["ours"], 0)
        # Product 1000..3000 and 2000..5000, fill 6000..6500, copy 7000..9000, norm 9000..9250.
        times = self.result(out, "profile.pass")["result"]["times"]
        self.assertEqual((times["span_ns"], times["busy_ns"], times["lost"]), (8250, 6750, 2))
        self.assertEqual({row["name"]: (row["count"], row["ns"], row["bytes"]) for row in times["rows"]},
                         {"_Z7productIfEvPT_": (2, 5000, 0), "fill": (1, 500, 32), "copy host to device": (1, 2000, 4096), '"norm"': (1, 250, 0)})
        self.assertRegex(self.result(out, "profile.pass")["lines"][1], r"^ *64\.5% .* 2 x .*product")
        table = (out / "table.txt").read_text()
        self.assertEqual(re.findall(r"^(\S+) +(\w+) +[\d.]+ s of", table, re.M), [(step, status[step]) for step in self.order(out)], table)
        with tarfile.open(out / "home.tar.gz") as home:
            names = set(home.getnames())
        self.assertLessEqual({f"home/results/{step}.json" for step in steps} | {"home/table.txt"}, names)

        # Again: what is done stays, what is not is taken.
        before = self.result(out, "doctor")
        said = self.measure(out, "--only", "doctor", "table.tiny", code=0)
        self.assertIn("doctor: done before", said)
        self.assertEqual(self.result(out, "doctor"), before)
        found = self.result(out, "table.tiny")["result"]
        self.assertGreater(found["first"], 0)
        self.assertGreater(found["planned"], 2 * 1.97e5)  # bytes: the weights at least, in bfloat16
        self.assertAlmostEqual(found["share"], found["floor"] / found["seconds"])

    def order(self, out):
        said = self.measure(out, "--dry-run", code=0)
        return [name for name in re.findall(r"^(\S+) .* at most", said, re.M) if (out / "results" / f"{name}.json").exists()]

    def test_a_plateau_that_is_stopped_goes_on_and_its_runs_can_be_merged(self):
        out, other = self.here / "one", self.here / "two"
        code, said = self.interrupted(out, "plateau", signal.SIGTERM, "--only", "plateau")
        self.assertEqual(code, 128 + signal.SIGTERM, said)
        self.assertEqual(self.result(out, "plateau")["status"], "stopped")
        self.assertTrue((out / "home.tar.gz").exists())
        self.measure(out, "--only", "plateau", code=0)
        self.measure(other, "--only", "plateau", "--seed", "21", "--work", str(out) + ".work", code=0)
        quench, runs = [BUILD / "bin/quench"], []
        for folder in (out, other):  # as they come home
            (folder / "at home").mkdir()
            subprocess.run(["tar", "-xzf", folder / "home.tar.gz", "-C", folder / "at home"], check=True)
            runs.append(folder / "at home/home/plateau")
        merged = subprocess.run([*quench, "merge", *runs, "--into", self.here / "both"], capture_output=True, text=True, check=False,
                                env=self.environment)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        done = subprocess.run([*quench, "results", self.here / "both", "--json"], capture_output=True, check=True, env=self.environment)
        records = json.loads(done.stdout)["data"]["records"]
        # Ten sets of weights, six checkpoints and four averages: float and rounded in four ways, with what follows from each two of them.
        self.assertEqual([sum(record["job"] == job for record in records) for job in (0, 1)], [10 * (1 + 4 * 2)] * 2)
        floats = [{record["value"] for record in records if record["job"] == job and record["quantizer"] is None} for job in (0, 1)]
        self.assertEqual(floats[0] & floats[1], set())  # another seed, other weights

    def test_the_archive_takes_test_programs_that_there_are(self):
        code = "import sys; from importlib.machinery import SourceFileLoader as L; print(*L('pack', sys.argv[1]).load_module().PROGRAMS)"
        said = subprocess.run([sys.executable, "-B", "-W", "ignore", "-c", code, SOURCE / "bench/gpu/pack"], capture_output=True, text=True, check=True)
        self.assertGreaterEqual(len(said.stdout.split()), 5)
        self.assertEqual([name for name in said.stdout.split() if not (BUILD / name).exists()], [])

    def test_what_does_not_fit_into_the_budget_is_not_begun(self):
        out = self.here / "short"
        self.measure(out, "--only", "plateau", "--budget", "5", code=1)
        self.assertEqual(self.result(out, "plateau")["status"], "no time")

    def test_a_wrong_command_line_is_named(self):
        for words, wanted in ((["--only", "nothing"], "--only nothing: wanted doctor, "), (["--limit", "doctor"], "--limit doctor: wanted STEP=SECONDS"),
                              (["--tree", "/nowhere"], "--tree /nowhere: bin/quench is not there")):
            done = subprocess.run(self.words(self.here / "wrong", *words), capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(wanted, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
