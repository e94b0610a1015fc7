#!/usr/bin/env python3
"""Does what docs/tutorial.md says: writes its files and runs its commands. A stand-in for `sbatch` runs the tasks at once.

usage: tutorial_test.py SOURCE BUILD

A yaml block is the file that the text before it names last; sh blocks are run in order, in one shell. What needs a
network is indented in the page, not in an sh block.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "tests/support"))
from stand_in_slurm import write_stand_ins  # noqa: E402

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
FILE = re.compile(r"`([\w.]+\.yaml)`")
MADE = ["checkpoints/step300/model.safetensors", "runs/decay/report.html", "runs/decay/figures/loss_plane.svg",
        "runs/rates/report.html"]


def script(page):
    """The page as a shell script."""
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
    return "\n".join(lines)


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    page = (source / "docs/tutorial.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        (folder / "build/release").mkdir(parents=True)
        (folder / "build/release/bin").symlink_to(build / "bin")
        write_stand_ins(folder / "slurm")
        (folder / "validation.txt").write_text(page)
        environment = {**os.environ, "PATH": f"{folder}/slurm:{os.environ['PATH']}", "QUENCH_HOME": f"{own}/home",
                       "HF_HUB_CACHE": f"{own}/hub", "HF_HUB_OFFLINE": "1"}
        code, printed, said = run(script(page), folder, environment)
        if code != 0:
            sys.exit(f"docs/tutorial.md: exit code {code}\n{printed}{said}")
        missing = [path for path in MADE if not (folder / path).exists()]
        if missing:
            sys.exit(f"docs/tutorial.md: the commands do not make {missing}\n{printed}")
        for shown in ("quench fetch", "step300", "gptq bits=3", "slurm job 12: shares 1-2 of 2", "records  6 done"):
            if shown not in printed:
                sys.exit(f"docs/tutorial.md: the commands do not print {shown!r}\n{printed}")
    print("docs/tutorial.md: its commands run")


main()
