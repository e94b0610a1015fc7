"""What a manifest of configs/experiments tries, read from its text: its sweep, its forks and its averages."""

import re

import long_table
import waiting

BLOCKS = ("sweep", "forks", "averaging")


def blocks_of(name):
    """The lines of the manifest that say what is tried, without comments."""
    lines, inside = [], None
    for line in (waiting.MANIFESTS / f"{name}.yaml").read_text(encoding="utf-8").splitlines():
        line = line.split(" #")[0].rstrip()
        begins = re.match(r"( *)(\w+):$", line)
        indent = len(line) - len(line.lstrip())
        if inside is not None and line and indent <= inside:
            inside = None
        if inside is not None:
            lines.append(line)
        elif begins and begins[2] in BLOCKS:
            inside = len(begins[1])
    return lines


def tried(name, key):
    """The values that `key` has there, as the manifest writes them, ascending where they are numbers."""
    found = []
    for line in blocks_of(name):
        for listed, single in re.findall(rf"(?:^|[ {{.-]){re.escape(key)}: *(?:\[([^\]]*)\]|([^,{{}}\s]+))", line):
            found += [value.strip() for value in (listed or single).split(",")]
    if not found:
        raise long_table.Wrong(f"{name}.yaml tries no {key}")
    return sorted(dict.fromkeys(found), key=number)


def starts_of_decays(name):
    """{branch: the step at which its decay begins} of the forks of a training."""
    found = {}
    for line in blocks_of(name):
        fork = re.match(r" +(\w+): *\{(.*)\}$", line)
        lengths = [re.search(rf"(?:^|, *){key}: *([\d.]+k?)", fork[2]) for key in ("steps", "decay_steps")] if fork else []
        if lengths and None not in lengths:
            steps, decay = (round(float(one[1].rstrip("k")) * (1000 if one[1].endswith("k") else 1)) for one in lengths)
            found[fork[1]] = steps - decay
    return found


def number(value):
    try:
        return float(value)
    except ValueError:
        return 0.0


def short(value):
    """1.0e-3 as 1e-3, 1.0 as 1."""
    return re.sub(r"\.0(?=e|$)", "", value)


def seeds(values):
    """'seeds 0 to 4' of a list of them."""
    if len(values) > 3 and list(values) == list(range(values[0], values[-1] + 1)):
        return f"seeds {values[0]} to {values[-1]}"
    return ("seeds " if len(values) > 1 else "seed ") + ", ".join(map(str, values))
