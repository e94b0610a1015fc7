"""Writes the tables of one run between its marks in docs/findings.md.

Usage: tables.py NAME REPORT.json FINDINGS.md, REPORT.json as `quench report RUN --json` prints it; for curvature as
`quench results RUN --json` does.
Differences are of cross entropy, in thousandths of a nat per token, each with its 95 % interval.
"""

import json
import sys
from collections import Counter


def milli(value):
    text = f"{1000 * value:+.2f}"
    return text.replace("-", "−")


def with_interval(mean, interval):
    low, high = interval
    return f"{milli(mean)} [{milli(low)}, {milli(high)}]"


def spread(row, kind):
    return next((s for s in row["spreads"] if s["kind"] == kind), None)


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def cells_of(report):
    """{(branch, averaging, checkpoint): {method: cell}} of the loss, in the order of training."""
    out = {}
    for cell in sorted(report["cells"], key=lambda cell: cell.get("step") or 0):
        place = (cell.get("branch"), cell.get("averaging"), cell["checkpoint"])
        out.setdefault(place, {})[cell["method"]] = cell
    return out


def delta(cell):
    """What quantization costs: the mean over draws where there are any, else that of the only run."""
    over_draws = cell["Δ over draws"]
    return over_draws if over_draws is not None else cell["Δ"]


METHODS = ["rtn bits=3", "gptq bits=3", "rtn bits=4", "gptq bits=4", "rtn bits=8", "gptq bits=8"]
OTHERS = ["hqq bits=3", "hqq bits=4", "nf4", "fp4", "int8", "noise bits=3", "noise bits=4"]


def error_table(report):
    rows = []
    for (branch, _, _), methods in cells_of(report).items():
        loss = methods["float"]["value"]
        rows.append([branch, f"{loss:.4f}"] + [milli(delta(methods[m])) for m in METHODS])
    return markdown(["model", "loss"] + [m.replace("bits=", "") for m in METHODS], rows)


def other_methods_table(report):
    rows = []
    for (branch, _, _), methods in cells_of(report).items():
        rows.append([branch] + [milli(delta(methods[m])) for m in OTHERS])
    return markdown(["model"] + [m.replace("bits=", "") for m in OTHERS], rows)


def verdict(row, kind):
    """'less', 'more' or 'open', as the interval of that spread says; None without it."""
    found = spread(row, kind)
    if found is None:
        return None
    low, high = found["interval"]
    return "less" if high < 0 else "more" if low > 0 else "open"


def decided(row):
    """Every interval that is there leaves out 0, on one side."""
    verdicts = {v for v in (verdict(row, kind) for kind in ("items", "draws")) if v}
    return verdicts.pop() if len(verdicts) == 1 else "open"


def order_table(report):
    rows = []
    for contrast in report["contrasts"]:
        signs = Counter("less" if row["difference"] < 0 else "more" for row in contrast["rows"])
        verdicts = Counter(decided(row) for row in contrast["rows"])
        rows.append([f"{side_of(contrast['a'])} − {side_of(contrast['b'])}", str(len(contrast["rows"])),
                     str(signs["less"]), str(verdicts["less"]), str(verdicts["more"]),
                     str(verdicts["open"])])
    return markdown(["contrast", "pairs", "negative", "less, intervals without 0",
                     "more, intervals without 0", "no significant difference"], rows)


def pair_of(row):
    """What both sides have in common: "3 bits, olmo2", or "gptq bits=3"."""
    words = row["what"].split(", validation_loss")[0].split(", ")
    branch = next((w for w in words if w.startswith("branch ")), None)
    return f"{words[0]}, {branch.removeprefix('branch ')}" if branch else words[-1]


def side_of(name):
    for text, plain in (("averaging none, branch ", ""), ("params.", ""), ("quantizer ", ""), ("branch constant, ", ""), ("averaging none, ", ""),
                        ("averaging lawa every=120, branch constant", "LAWA of the constant part")):
        name = name.replace(text, plain)
    return name


def contrast_table(contrast):
    rows = []
    for row in contrast["rows"]:
        values = [with_interval(s["mean"], s["interval"]) + f" (n = {s['n']})"
                  if (s := spread(row, kind)) else "none" for kind in ("items", "draws")]
        rows.append([pair_of(row), milli(row["difference"])] + values)
    return markdown(["pair", "difference", "over validation blocks", "over calibration draws"],
                    rows)


def methods(report):
    gptq = report["contrasts"][0]
    return "\n\n".join([error_table(report), other_methods_table(report), order_table(report),
                        "gptq − rtn, pair by pair:", contrast_table(gptq)])


def trajectory(report):
    shown = ["rtn bits=3", "gptq bits=3", "rtn bits=4", "gptq bits=4"]
    rows = []
    for (branch, averaging, checkpoint), found in cells_of(report).items():
        rate = found["float"].get("lr")
        rows.append([checkpoint, averaging or branch, "unknown" if rate is None else f"{rate:.1e}",
                     f"{found['float']['value']:.4f}"] + [milli(delta(found[m])) for m in shown])
    parts = [markdown(["checkpoint", "weights", "learning rate", "loss"]
                      + [m.replace("bits=", "") for m in shown], rows)]
    for contrast in report["contrasts"][1:]:
        parts += [f"{side_of(contrast['a'])} − {side_of(contrast['b'])}:", contrast_table(contrast)]
    return "\n\n".join(parts)


def by_weights(records):
    """{(branch, averaging or "", checkpoint): {(metric, method): record}} in the order of training."""
    out = {}
    for record in sorted(records, key=lambda record: record["checkpoint"]["step"]):
        place = record["checkpoint"]
        averaging = record["averaging"]["label"] if record["averaging"] else ""
        method = record["quantizer"]["label"] if record["quantizer"] else "float"
        if record["label"] == "spectrum":
            continue
        out.setdefault((place["branch"], averaging, place["revision"]), {})[record["metric"], method] = record
    return out


T_TWO = 4.302653  # 97.5 % of Student's t with 2 degrees of freedom


def over_sets(found, other, value):
    """Mean and 95 % interval of the difference over the three disjoint sets, paired; how many sets have its sign."""
    pairs = zip(found["details"]["sets"], other["details"]["sets"])
    differences = [value(a) - value(b) for a, b in pairs]
    assert len(differences) == 3
    mean = sum(differences) / 3
    error = (sum((d - mean) ** 2 for d in differences) / 2 / 3) ** 0.5
    text = f"{mean:+.1f} [{mean - T_TWO * error:+.1f}, {mean + T_TWO * error:+.1f}]".replace("-", "−")
    return text, f"{sum(d * mean > 0 for d in differences)} of 3"


def curvature(records):
    weights = by_weights(records)
    rows = []
    for (branch, averaging, checkpoint), found in weights.items():
        sharp = found["hessian", "float"]
        trace = found["hessian/trace", "float"]
        row = [checkpoint, averaging or branch, f"{found['validation_loss', 'float']['value']:.4f}",
               f"{sharp['value']:.1f} ± {sharp['stderr']:.1f}", f"{trace['value']:.0f} ± {trace['stderr']:.0f}"]
        for method in ("rtn bits=3", "rtn bits=4", "noise bits=4"):
            terms = found["taylor", method]["details"]
            row += [milli(terms["change"]), f"{milli(terms['slope'])}, {milli(terms['quadratic'])}"]
        rows.append(row)
    head = ["checkpoint", "weights", "loss", "λ₁", "trace"]
    for method in ("RTN 3", "RTN 4", "noise 4"):
        head += [method, "slope, curvature"]
    constant = weights["constant", "", "step960"]
    contrasts = []
    for title, other in (("end of the decay − constant learning rate", weights["decay", "", "step1200"]),
                         ("LAWA of the constant part − constant learning rate", weights["constant", "lawa every=120", "step960"]),
                         ("LAWA of the constant part − end of the decay", None)):
        a = other or weights["constant", "lawa every=120", "step960"]
        b = constant if other else weights["decay", "", "step1200"]
        for what, value in (("λ₁", lambda s: s["eigenvalues"][0]), ("trace", lambda s: s["trace"])):
            contrasts.append([title, what, *over_sets(a["hessian", "float"], b["hessian", "float"], value)])
    return "\n\n".join([markdown(head, rows), "Paired over the three sets:",
                        markdown(["contrast", "of", "difference", "sets with its sign"], contrasts)])


def write_between_marks(name, text, page):
    """Puts `text` in place of what stands between the marks of `name` in the page."""
    with open(page, encoding="utf-8") as file:
        old = file.read()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, rest = old.split(begin)
    _, after = rest.split(end)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + begin + text + "\n" + end + after)


def main():
    name, report, page = sys.argv[1:]
    with open(report, encoding="utf-8") as file:
        content = json.load(file)["data"]
    text = {"methods": methods, "trajectory": trajectory,
            "curvature": lambda of: curvature(of["records"])}[name](content)
    write_between_marks(name, text, page)


if __name__ == "__main__":
    main()
