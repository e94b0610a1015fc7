#!/usr/bin/env python3
"""Submits a run in three shares to a Slurm of one node, and holds its records against those of a local run.

usage: slurm_test.py SOURCE BUILD
"""
import json
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
sys.path.insert(0, str(Path(sys.argv[1]) / "tests/support"))
from slurm_cluster import Cluster, missing  # noqa: E402
from tiny_run import TinyRun  # noqa: E402


def fail_unless(holds, what):
    if not holds:
        sys.exit(f"Slurm: {what}")


def main():
    if lacks := missing():
        print(f"SKIPPED: Slurm cannot run here, it lacks {', '.join(lacks)}; ./dev test installs its programs on Debian")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as own, Cluster(Path(own) / "slurm") as cluster:
        folder = Path(own) / "my work"  # directives of sbatch with a space
        folder.mkdir()
        run = TinyRun(sys.argv[1], sys.argv[2], folder, environment=cluster.environment)
        run.write_manifest({"to": "slurm", "shares": 3, "cpus": 1, "memory": "500MB", "time": "10m"})
        said = run.quench("submit", "m.yaml", HF_TOKEN="hf_secret")
        fail_unless("shares 1-3 of 3" in said, f"submit said\n{said}")
        cluster.wait_until(lambda: not any(state in ("PENDING", "RUNNING", "COMPLETING")
                                           for state, _ in cluster.tasks().values()), "the tasks end", 240)
        logs = "\n".join(path.read_text() for path in sorted(folder.glob("runs/m/cluster/0001/share-*.log")))
        states = [state for state, _ in cluster.tasks().values()]
        fail_unless(states == ["COMPLETED"] * 3, f"the tasks ended as {states}\n{logs}")
        fail_unless(len(list(folder.glob("runs/m/cluster/0001/share-*.log"))) == 3, "not every task has a log")
        status = json.loads(run.quench("status", "m", "--json"))["data"]
        fail_unless([task["state"] for task in status["cluster"][0]["tasks"]] == ["completed"] * 3, f"status says {status}")
        fail_unless(status["records"]["done"] == 12, f"status says {status}")
        again = run.quench("submit", "m.yaml")
        fail_unless("nothing to submit" in again, f"the second submit said\n{again}")
        run.quench("run", "m.yaml", "--out", "runs/local", "--fresh")
        fail_unless(run.records("m") == run.records("local"), "the records are not those of a local run")
        written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        fail_unless(b"hf_secret" not in written, "HF_TOKEN stands in a file")
    print("Slurm: three tasks made the records of a local run")


main()
