#!/usr/bin/env python3
"""Runs the `$ ` lines of a page's console blocks and compares what they print with what follows them.

usage: run_commands.py SOURCE BUILD PAGE SET

Text and numbers must be equal, computed with the instruction set SET, which the page names. A line `...` stands for any lines.
`./dev test` is what runs this script, so it is not run again; `./dev run` is run as the program that it starts. Whatever
the page has under `runs/` lies in a temporary folder here, and so does the store.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def blocks(page):
    """Yields (command, expected lines) of all console blocks."""
    command, lines = None, []
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield command, lines
                command, lines = line[2:], []
            else:
                lines.append(line)
        if command is not None:
            yield command, lines
        command, lines = None, []


def find_all(expected, got):
    """The first expected line that is not among `got`, in order, or None."""
    at, free = 0, True
    for line in expected:
        if line == "...":
            free = True
            continue
        candidates = got[at:] if free else got[at:at + 1]
        for offset, candidate in enumerate(candidates):
            if line.split() == candidate.split():
                at, free = at + offset + 1, False
                break
        else:
            return line
    return None


def main():
    with tempfile.TemporaryDirectory() as own:
        check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], own)


def check(source, build, page, isa, own):
    program = build / "bin" / "quench"
    about = json.loads(subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, check=True).stdout)
    if isa not in about["data"]["kernels"]["available"]:
        print(f"SKIPPED: this processor has no {isa}")
        sys.exit(SKIPPED)
    text = (source / page).read_text(encoding="utf-8")
    if f"`{isa}`" not in text:
        sys.exit(f"{page}: does not say that its numbers are those of `{isa}`")
    ran = 0
    for command, expected in blocks(text):
        words = shlex.split(command)
        if words[:2] == ["./dev", "test"]:
            continue
        if words[:2] == ["./dev", "run"]:
            words = [str(program), "run", *words[2:], "--out", "runs/" + Path(words[2]).stem]
        elif words[0] == "build/release/bin/quench":
            words[0] = str(program)
        else:
            sys.exit(f"{page}: this test does not know how to run: {command}")
        words = [f"{own}/{word}" if word.startswith("runs/") else word for word in words]
        done = subprocess.run(words, cwd=source, capture_output=True, text=True,
                              env={**os.environ, "QUENCH_HOME": f"{own}/home", "QUENCH_ISA": isa})
        if done.returncode != 0:
            sys.exit(f"{page}: exit code {done.returncode}: {command}\n{done.stderr}")
        printed = done.stdout.replace(f"{own}/", "")
        missing = find_all(expected, printed.splitlines())
        if missing is not None:
            sys.exit(f"{page}: {command}\nexpected: {missing}\ngot:\n{printed}")
        ran += 1
    if ran == 0:
        sys.exit(f"{page}: no commands found")
    print(f"{page}: {ran} commands print what the page shows")


main()
