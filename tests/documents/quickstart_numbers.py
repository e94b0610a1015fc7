#!/usr/bin/env python3
"""Runs the quickstart with one instruction set; its values are those of configs/quickstart.expected.json, to the last digit.

usage: quickstart_numbers.py SOURCE BUILD SET           runs it
       quickstart_numbers.py SOURCE BUILD SET STEPS     runs its first steps at the constant rate, without the forks
       quickstart_numbers.py SOURCE --write RUN...      writes the table from runs, one for each set
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def analysis(source):
    """Run, cell_values and manifest_hash of the package."""
    sys.path.insert(0, str(source / "python"))
    from quench.analysis.run import Run
    from quench.report.expected import cell_values, manifest_hash

    return Run, cell_values, manifest_hash


def write(source, runs):
    open_run, cell_values, manifest_hash = analysis(source)
    values, hashes = {}, set()
    for folder in runs:
        run = open_run(folder)
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


def check(source, build, isa, steps=None):
    program = build / "bin/quench"
    table = json.loads((source / "configs/quickstart.expected.json").read_text())
    choice, isa = isa, f"portable {os.uname().machine}" if isa == "portable" else isa  # as records name it
    wanted = {cell: values[isa] for cell, values in table["values"].items() if isa in values}
    if not wanted:
        skip(f"configs/quickstart.expected.json has no values of {isa}")
    said = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    there = json.loads(said)["data"]["kernels"]["available"]
    if choice not in there:
        skip(f"this processor has no {isa}")
    first = ["--set", f"train.steps={steps}", "--set", "train.forks={}"] if steps else []
    with tempfile.TemporaryDirectory() as own:
        done = subprocess.run([program, "run", source / "configs/quickstart.yaml", "--out", f"{own}/quickstart", *first],
                              capture_output=True, text=True,
                              env={**os.environ, "QUENCH_HOME": f"{own}/home", "QUENCH_ISA": choice})
        if done.returncode != 0:
            sys.exit(f"FAILED with {isa}: exit code {done.returncode}: {done.stderr[-2000:]}")
        if first:
            compare_first(source, Path(own) / "quickstart", isa, wanted, int(steps))
            return
    lines = [line for line in done.stdout.splitlines() if "README.md" in line]
    if not any(line.startswith("All ") and f"for {isa}, to the last digit" in line for line in lines):
        sys.exit(f"FAILED with {isa}: {lines}\n{done.stderr[-2000:]}")
    print(lines[0])


def compare_first(source, folder, isa, wanted, steps):
    """The values of a run that ended early are those of the table at the same steps."""
    run, cell_values, _ = analysis(source)
    got, ran = cell_values(run(folder).observations)
    cells = [cell for cell in wanted if cell.startswith("constant step") and int(re.search(r"step(\d+)", cell)[1]) <= steps]
    if ran != isa or len(cells) < 10 or sorted(got) != sorted(cells):
        sys.exit(f"FAILED with {isa}: got {ran}: {sorted(got)}, wanted {sorted(cells)}")
    other = [(cell, got[cell], wanted[cell]) for cell in cells if got[cell] != wanted[cell]]
    if other:
        sys.exit(f"FAILED with {isa}: {len(other)} of {len(cells)} values differ (cell, got, wanted): {other}")
    print(f"All {len(cells)} values of the first {steps} steps are those of {isa}, to the last digit.")


if __name__ == "__main__":
    if sys.argv[2] == "--write":
        write(Path(sys.argv[1]), sys.argv[3:])
    else:
        check(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
