"""Writes the table of a sweep over training settings between its marks in docs/findings.md.

Usage: sweeps.py NAME SETTING RESULTS.json FINDINGS.md, RESULTS.json as `quench results RUN --json` prints it, SETTING the
dotted path of the manifest that is swept beside `seed`.
Each value is a mean over seeds with its 95 % interval (Student's t). "at the float loss of" follows each run's own
checkpoints: its quantized loss where its float loss is that of the other setting's end, between two checkpoints on a line.
"""

import json
import math
import sys
from collections import defaultdict

from tables import markdown, write_between_marks

# 97.5 % quantiles of Student's t by degrees of freedom.
T = {1: 12.706, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706}


def number(value, digits):
    return f"{value:.{digits}f}".replace("-", "−")


def interval(values, scale=1.0, digits=4, sign=False):
    """'1.2346 ± 0.0012' of the mean over seeds."""
    values = [scale * v for v in values]
    n, mean = len(values), sum(values) / len(values)
    text = ("+" if sign and mean > 0 else "") + number(mean, digits)
    if n < 2:
        return f"{text} (n = 1)"
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return f"{text} ± {number(T[n - 1] * deviation / math.sqrt(n), digits)}"


def inside(point, path):
    """The value under a dotted path in what a point of the sweep sets."""
    for key, value in point.items():
        if path == key:
            return value
        if path.startswith(key + ".") and isinstance(value, dict):
            return inside(value, path[len(key) + 1:])
    return None


def runs_of(records, path):
    """{setting: {seed: {step: {method: loss}}}}; settings in ascending order, decoupled decays last."""
    out = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for record in sorted(records, key=lambda r: r["job"]):
        if record["metric"] != "validation_loss" or record["value"] is None or record["averaging"]:
            continue
        point = record["environment"]["sweep"]
        setting = f"{inside(point, path):g}"
        if inside(point, path.rsplit(".", 1)[0] + ".decoupled"):
            setting += " decoupled"
        method = record["quantizer"]["label"] if record["quantizer"] else "float"
        out[setting][point["seed"]][record["checkpoint"]["step"]][method] = record["value"]
    return dict(sorted(out.items(), key=lambda item: (item[0].endswith("decoupled"), float(item[0].split()[0]))))


def at_float_loss(run, loss, method):
    """The quantized loss of a run where its float loss is `loss`, or None where it never is."""
    steps = sorted(run)
    for one, next_one in zip(steps, steps[1:]):
        high, low = run[one]["float"], run[next_one]["float"]
        if low <= loss <= high and high > low:
            share = (high - loss) / (high - low)
            return run[one][method] + share * (run[next_one][method] - run[one][method])
    return None


METHODS = ["rtn bits=3", "gptq bits=3", "rtn bits=4", "gptq bits=4"]


def table(runs, name):
    rows = []
    for setting, seeds in runs.items():
        ends = [run[max(run)] for run in seeds.values()]
        row = [setting, str(len(ends)), interval([end["float"] for end in ends])]
        for method in METHODS:
            row.append(interval([end[method] - end["float"] for end in ends], 1000, 2, True))
        row.append(interval([end["rtn bits=3"] for end in ends]))
        rows.append(row)
    head = [name, "seeds", "float loss"] + [m.replace("bits=", "") for m in METHODS] + ["loss of rtn 3"]
    return markdown(head, rows)


def matched(runs, name):
    """Quantized loss of neighbours at one float loss: the higher of the two at their ends."""
    rows = []
    for (a, of_a), (b, of_b) in zip(list(runs.items())[1:], runs.items()):
        row = [f"{a} − {b}"]
        for method in METHODS:
            pairs = []
            for seed in sorted(set(of_a) & set(of_b)):
                loss = max(of_a[seed][max(of_a[seed])]["float"], of_b[seed][max(of_b[seed])]["float"])
                found = [at_float_loss(of[seed], loss, method) for of in (of_a, of_b)]
                if None not in found:
                    pairs.append(found[0] - found[1])
            row.append(interval(pairs, 1000, 2, True) + f" (n = {len(pairs)})" if pairs else "no common loss")
        rows.append(row)
    return markdown([name] + [m.replace("bits=", "") for m in METHODS], rows)


def main():
    name, path, results, page = sys.argv[1:]
    with open(results, encoding="utf-8") as file:
        runs = runs_of(json.load(file)["data"]["records"], path)
    short = path.rsplit(".", 1)[1].replace("_", " ")
    text = "\n\n".join([
        "At the end of the decay: float loss, and ΔCE in thousandths of a nat per token; means over seeds ± 95 %.",
        table(runs, short),
        "Quantized loss at equal float loss, in thousandths of a nat per token, paired by seed:", matched(runs, short)])
    write_between_marks(name, text, page)


if __name__ == "__main__":
    main()
