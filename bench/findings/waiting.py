"""What a manifest of configs/experiments needs before it can run, from the lines above its first key."""

import re
from pathlib import Path

MANIFESTS = Path(__file__).resolve().parents[2] / "configs/experiments"
TIME = re.compile(r"Time: (?:\d+ PFLOP( without \w+)?[^:]*: )?([\d.]+ h on (?:an H\d+|one core)(?: where \w+ has run)?)")


def head_of(name):
    """The comment above the manifest as one line."""
    lines = []
    for line in (MANIFESTS / f"{name}.yaml").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def time_of(name):
    """'2.1 h on an H100' or '6.4 h on one core' of all that the manifest asks, its trainings included; where another manifest has done
    those, it says so.
    """
    found = TIME.search(head_of(name))
    return f"{found[2]}{found[1] or ''}" if found else ""


def hours_of(name):
    """The number of hours in it."""
    return float(time_of(name).partition(" ")[0])


def needs(name):
    """'303 GB and 2.1 h on an H100': its download and its time."""
    size = re.search(r"Downloads:.*?\b([\d.]+) GB", head_of(name))
    return " and ".join(filter(None, (f"{size[1]} GB" if size else "", time_of(name))))


def cost(name):
    """What it needs, with the command that runs and collects it."""
    return "; ".join(filter(None, (needs(name), f"`bench/findings/run {name}`")))


def links(names):
    """These manifests, with what each needs and the command that runs and collects it."""
    return ", ".join(f"[{name}](../configs/experiments/{name}.yaml) ({cost(name)})" for name in names)


def text(claim, measured=()):
    """Where the claim stands at the paper's size while no run decides it: the manifests that it waits for, but those that are measured."""
    names = [name for name in claim.waits if name not in measured]
    waits = f"it waits for {links(names)}" if names else ""
    return "; ".join(filter(None, (waits, claim.note if waits else claim.note.removeprefix("there "))))
