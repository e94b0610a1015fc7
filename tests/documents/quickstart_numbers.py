#!/usr/bin/env python3
"""Runs the quickstart with one instruction set; its values are those of configs/quickstart.expected.json, to the last digit.

usage: quickstart_numbers.py SOURCE BUILD SET           runs it
       quickstart_numbers.py SOURCE --write RUN...      writes the table from runs, one for each set
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def write(source, runs):
    sys.path.insert(0, str(source / "python"))
    from quench.analysis.run import Run
    from quench.report.expected import cell_values, manifest_hash

    values, hashes = {}, set()
    for folder in runs:
        run = Run(folder)
        hashes.add(manifest_hash(run.manifest))
        got, isa = cell_values(run.observations)
        for cell, value in got.items():
            values.setdefault(cell, {})[isa] = value
    (manifest,) = hashes
    lines = ",\n".join(f"  {json.dumps(cell)}: {json.dumps(values[cell], sort_keys=True)}" for cell in values)
    (source / "configs/quickstart.expected.json").write_text(
        f'{{\n "page": "README.md",\n "manifest": "{manifest}",\n "values": {{\n{lines}\n }}\n}}\n')


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def check(source, build, isa):
    program = build / "bin/quench"
    table = json.loads((source / "configs/quickstart.expected.json").read_text())
    if not all(isa in cell for cell in table["values"].values()):
        skip(f"configs/quickstart.expected.json has no values of {isa}")
    said = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    there = json.loads(said)["data"]["kernels"]["available"]
    if isa not in there:
        skip(f"this processor has no {isa}")
    with tempfile.TemporaryDirectory() as own:
        done = subprocess.run([program, "run", source / "configs/quickstart.yaml", "--out", f"{own}/quickstart"],
                              capture_output=True, text=True,
                              env={**os.environ, "QUENCH_HOME": f"{own}/home", "QUENCH_ISA": isa})
    lines = [line for line in done.stdout.splitlines() if "README.md" in line]
    if done.returncode != 0 or not any(line.startswith("All ") and f"for {isa}, to the last digit" in line for line in lines):
        sys.exit(f"FAILED with {isa}: exit code {done.returncode}: {lines}\n{done.stderr[-2000:]}")
    print(lines[0])


if __name__ == "__main__":
    if sys.argv[2] == "--write":
        write(Path(sys.argv[1]), sys.argv[3:])
    else:
        check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
