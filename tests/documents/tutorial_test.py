#!/usr/bin/env python3
"""Does what docs/tutorial.md says: writes its files, runs its commands, and its Slurm script where `srun` is a stand-in.

usage: tutorial_test.py SOURCE BUILD

A yaml or bash block is the file that the text before it names last; sh blocks are run in order, in one shell. What needs a
network is indented in the page, not in an sh block.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
FILE = re.compile(r"`([\w.]+\.(?:yaml|sbatch))`")
MADE = ["checkpoints/step300/model.safetensors", "runs/decay/report.html", "runs/decay/figures/loss_plane.svg",
        "runs/rates/report.html"]


def script(page):
    """The page as a shell script; the Slurm script runs where the page has it."""
    lines, end = ["set -eu"], 0
    for block in BLOCK.finditer(page):
        named = FILE.findall(page[end:block.start()])
        end = block.end()
        if block[1] == "sh":
            lines.append(block[2])
            continue
        if not named:
            sys.exit(f"docs/tutorial.md: the text before this block names no file:\n{block[0]}")
        lines.append(f"cat > {named[-1]} <<'END'\n{block[2]}END")
        if block[1] == "bash":
            lines += [f"SLURM_ARRAY_TASK_ID={task} bash {named[-1]}" for task in (0, 1)]
    return "\n".join(lines)


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def requeues(folder, environment, code):
    """Runs the Slurm script where the step ends with this exit code; says what it asked of Slurm."""
    program(folder / "slurm/srun", f"exit {code}\n")
    got, printed, _ = run("bash sweep.sbatch", folder, {**environment, "SLURM_ARRAY_TASK_ID": "0"})
    if got != code:
        sys.exit(f"docs/tutorial.md: the step ends with {code}, sweep.sbatch with {got}")
    return printed.split()


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    if shutil.which("gnuplot") is None:
        print("SKIPPED: there is no gnuplot")
        sys.exit(SKIPPED)
    page = (source / "docs/tutorial.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        (folder / "build/release").mkdir(parents=True)
        (folder / "build/release/bin").symlink_to(build / "bin")
        (folder / "slurm").mkdir()
        program(folder / "slurm/srun", 'exec "$@"\n')
        program(folder / "slurm/scontrol", 'echo "$@"\n')
        (folder / "validation.txt").write_text(page)
        environment = {**os.environ, "PATH": f"{folder}/slurm:{os.environ['PATH']}", "QUENCH_HOME": f"{own}/home",
                       "HF_HUB_CACHE": f"{own}/hub", "HF_HUB_OFFLINE": "1", "SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_ID": "12"}
        code, printed, said = run(script(page), folder, environment)
        if code != 0:
            sys.exit(f"docs/tutorial.md: exit code {code}\n{printed}{said}")
        missing = [path for path in MADE if not (folder / path).exists()]
        if missing:
            sys.exit(f"docs/tutorial.md: the commands do not make {missing}\n{printed}")
        for shown in ("quench fetch", "step300", "gptq bits=3"):
            if shown not in printed:
                sys.exit(f"docs/tutorial.md: the commands do not print {shown!r}\n{printed}")
        if requeues(folder, environment, 75) != ["requeue", "12"] or requeues(folder, environment, 2) != []:
            sys.exit("docs/tutorial.md: sweep.sbatch must requeue after exit code 75, and only then")
    print("docs/tutorial.md: its commands run")


main()
