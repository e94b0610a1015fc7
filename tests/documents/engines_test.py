#!/usr/bin/env python3
"""Does what docs/engines.md shows, as far as it goes without the engines: starts the program in each numbered task's environment.

usage: engines_test.py SOURCE

A stand-in for `quench` writes down its words. Scripts run in bash with the variables that their engine sets, YAML is read,
descriptions of other languages are filled in by their own rules of text.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
except ModuleNotFoundError:
    print("SKIPPED: no module yaml")
    sys.exit(77)

TASKS = range(1, 9)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
ENGINES = ["slurm", "htcondor", "pbs", "lsf", "kubernetes", "skypilot", "snakemake", "nextflow"]
LINES = 8  # of one engine, at most


def fail_unless(holds, what):
    if not holds:
        sys.exit(f"docs/engines.md: {what}")


class Page:
    def __init__(self, text, folder):
        self.blocks, self.folder = dict(BLOCK.findall(text)), folder
        (folder / "quench").write_text('#!/bin/bash\necho "$@"\n')
        (folder / "quench").chmod(0o755)

    def printed(self, script, **variables):
        """What a script of bash prints in a task's environment."""
        environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", **variables}
        ended = subprocess.run(["bash", "-euc", script], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        fail_unless(ended.returncode == 0, f"exit code {ended.returncode}:\n{script}\n{ended.stderr}")
        return ended.stdout.strip()

    def slurm(self, task):
        fail_unless("#SBATCH --array=1-8\n" in self.blocks["slurm"], "Slurm has no array of 8")
        return self.printed(self.blocks["slurm"], SLURM_ARRAY_TASK_ID=str(task)), "auto"

    def htcondor(self, task):
        keys = dict(line.split(" = ", 1) for line in self.blocks["htcondor"].splitlines() if " = " in line)
        shares = re.search(r"^queue share in \((.*)\)$", self.blocks["htcondor"], re.M)[1].split(", ")
        return keys["arguments"].replace("$(share)", shares[task - 1]), f"{task}/8"

    def pbs(self, task):
        fail_unless("#PBS -J 1-8\n" in self.blocks["pbs"], "PBS has no array of 8")
        return self.printed(self.blocks["pbs"], PBS_ARRAY_INDEX=str(task), PBS_O_WORKDIR=str(self.folder)), "auto/8"

    def lsf(self, task):
        fail_unless('#BSUB -J "quench[1-8]"\n' in self.blocks["lsf"], "LSF has no array of 8")
        return self.printed(self.blocks["lsf"], LSB_JOBINDEX=str(task)), "auto"

    def kubernetes(self, task):
        spec = yaml.safe_load(self.blocks["kubernetes"])
        fail_unless((spec["completionMode"], spec["completions"]) == ("Indexed", 8), "Kubernetes has no 8 indexes")
        words = spec["template"]["spec"]["containers"][0]["command"]
        return " ".join(words[1:]), "auto/8"

    def skypilot(self, task):
        read = yaml.safe_load(self.blocks["skypilot"])
        fail_unless(read["num_nodes"] == 8, "SkyPilot has no 8 nodes")
        rank = str(task - 1)
        said = self.printed(read["run"], SKYPILOT_NODE_RANK=rank)
        out = f" --out /results/share{rank}"
        fail_unless(said.endswith(out), f"SkyPilot: {said}")
        return said[:-len(out)], "auto"

    def snakemake(self, task):
        text = self.blocks["snakemake"]
        fail_unless("share=range(1, 9)" in text, "Snakemake has no 8 shares")
        command = re.search(r'shell: "(.*)"', text)[1]
        return self.printed(command.replace("{wildcards.share}", str(task)).replace("{threads}", "4")), f"{task}/8"

    def nextflow(self, task):
        text = self.blocks["nextflow"]
        fail_unless("Channel.of(1..8)" in text, "Nextflow has no 8 shares")
        command = re.search(r'script: "(.*)"', text)[1]
        command = command.replace("$launchDir", str(self.folder)).replace("$share", str(task)).replace("$task.cpus", "4")
        return self.printed(command), f"{task}/8"


def main():
    page = (Path(sys.argv[1]) / "docs/engines.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as own:
        shown = Page(page, Path(own))
        fail_unless(list(shown.blocks) == ENGINES, f"shows {list(shown.blocks)}, wanted {ENGINES}")
        for engine in ENGINES:
            fail_unless(shown.blocks[engine].count("\n") <= LINES, f"{engine} takes more than {LINES} lines")
            for task in TASKS:
                said, share = getattr(shown, engine)(task)
                fail_unless(said == f"run m.yaml --share {share} --threads 4", f"{engine}: task {task} runs: quench {said}")
    print("docs/engines.md: each engine's tasks run their shares")


main()
