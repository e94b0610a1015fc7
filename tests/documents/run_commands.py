#!/usr/bin/env python3
"""Runs the `$ ` lines of a page's console blocks and compares what they print with what follows them.

usage: run_commands.py SOURCE BUILD PAGE

Text must be equal. Numbers may differ from the page's by what another instruction set moves them: 1200 training steps and
GPTQ's choices are both discontinuous enough that a last bit decides. Losses (five decimals) move in the second decimal,
quantization errors by a third of themselves. A line `...` stands for any lines.
`./dev test` is what runs this script, so it is not run again; `./dev run` is run as the program that it starts. Whatever
the page has under `runs/` lies in a temporary folder here, and so does the store.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

NUMBER = re.compile(r"-?\d+\.\d+")
LOSS_TOLERANCE = 0.05  # nats
ERROR_TOLERANCE = 0.4  # percentage points, or
ERROR_RATIO = 0.6  # of the page's value


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


def same(expected, got):
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", got).split():
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(got))
    return all(near(a, b) for a, b in pairs)


def near(expected, got):
    is_loss = len(expected.split(".")[1]) == 5
    allowed = LOSS_TOLERANCE if is_loss else max(ERROR_TOLERANCE, ERROR_RATIO * abs(float(expected)))
    return abs(float(expected) - float(got)) <= allowed


def find_all(expected, got):
    """The first expected line that is not among `got`, in order, or None."""
    at, free = 0, True
    for line in expected:
        if line == "...":
            free = True
            continue
        candidates = got[at:] if free else got[at:at + 1]
        for offset, candidate in enumerate(candidates):
            if same(line, candidate):
                at, free = at + offset + 1, False
                break
        else:
            return line
    return None


def main():
    with tempfile.TemporaryDirectory() as own:
        check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], own)


def check(source, build, page, own):
    program = build / "bin" / "quench"
    ran = 0
    for command, expected in blocks((source / page).read_text(encoding="utf-8")):
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
                              env={**os.environ, "QUENCH_HOME": f"{own}/home"})
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
