"""What a manifest of configs/experiments needs before it can run, from the lines above its first key."""

import re
from pathlib import Path

MANIFESTS = Path(__file__).resolve().parents[2] / "configs/experiments"


def head_of(name):
    """The comment above the manifest as one line."""
    lines = []
    for line in (MANIFESTS / f"{name}.yaml").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def needs(name):
    """'303 GB and 2.1 h of an H100': its download and its time on a GPU."""
    head = head_of(name)
    size = re.search(r"Downloads:.*?\b([\d.]+) GB", head)
    hours = (re.search(r"Time:.*?([\d.]+ h) on an H100", head) or re.search(r"Time:.*?([\d.]+ hours) of one (H[12]00)", head))
    cpu = re.search(r"Time:.*?([\d.]+ hours) of one core a seed", head)
    card = hours[2] if hours and hours.lastindex == 2 else "H100"
    words = ([f"{size[1]} GB"] if size else []) + ([f"{hours[1]} of an {card}".replace("hours", "h")] if hours else [])
    words += [f"{cpu[1]} of one core a seed".replace("hours", "h")] if cpu else []
    return " and ".join(words)


def links(names):
    """These manifests, with what each needs."""
    parts = []
    for name in names:
        needed = needs(name)
        parts.append(f"[{name}](../configs/experiments/{name}.yaml)" + (f" ({needed})" if needed else ""))
    return ", ".join(parts)


def text(claim, measured=()):
    """Where the claim stands at the paper's size while no run decides it: the manifests that it waits for, but those that are measured."""
    names = [name for name in claim.waits if name not in measured]
    waits = f"it waits for {links(names)}" if names else ""
    return "; ".join(filter(None, (waits, claim.note if waits else claim.note.removeprefix("there "))))
