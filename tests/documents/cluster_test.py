#!/usr/bin/env python3
"""Does what docs/cluster.md says: writes its manifest and runs its commands, block by block, each after the tasks have ended.

usage: cluster_test.py SOURCE BUILD

On a Slurm of one node where Slurm is installed, else with a stand-in for `sbatch` that runs the tasks at once.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "tests/support"))
from slurm_cluster import Cluster, missing  # noqa: E402
from stand_in_slurm import write_stand_ins  # noqa: E402

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
SHOWN = ["#SBATCH --array=1-2", "shares 1-2 of 2, each with 1 CPUs, 1.9 GiB, 30 min 00 s", "records  6 done", "nothing to submit",
         "queue share in (1, 2)"]


def run_page(page, folder, environment, wait):
    printed = ""
    for language, text in BLOCK.findall(page):
        if language == "yaml":
            (folder / "rates.yaml").write_text(text)
            continue
        done = subprocess.run(["bash", "-euc", text], cwd=folder, capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            sys.exit(f"docs/cluster.md: exit code {done.returncode}:\n{text}\n{done.stdout}{done.stderr}")
        printed += done.stdout
        wait()
    return printed


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    page = (source / "docs/cluster.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own) / "work"
        folder.mkdir()
        environment = {**os.environ, "QUENCH_HOME": f"{own}/home"}
        if missing():
            write_stand_ins(Path(own) / "slurm")
            environment["PATH"] = f"{own}/slurm:{build}/bin:{os.environ['PATH']}"
            printed = run_page(page, folder, environment, lambda: None)
        else:
            with Cluster(Path(own) / "slurm") as cluster:
                environment.update(SLURM_CONF=cluster.environment["SLURM_CONF"],
                                   PATH=f"{build}/bin:{cluster.environment['PATH']}")
                printed = run_page(page, folder, environment, lambda: cluster.wait_until(
                    lambda: all(state == "COMPLETED" for state, _ in cluster.tasks().values()), "the tasks are done", 900))
        status = subprocess.run([build / "bin/quench", "status", "runs/rates"], cwd=folder, capture_output=True, text=True,
                                env=environment, check=False).stdout
        for shown in SHOWN:
            if shown not in printed + status:
                sys.exit(f"docs/cluster.md: the commands do not print {shown!r}\n{printed}{status}")
        if not (folder / "runs/rates/report.html").exists():
            sys.exit("docs/cluster.md: the commands make no report")
    print("docs/cluster.md: its commands run")


main()
