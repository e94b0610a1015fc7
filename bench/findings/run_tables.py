"""Tables of runs that `collect` has written down: provenance, values at the ends, rows of tests."""

import text
import verdicts

METHODS = ["rtn bits=3", "gptq bits=3", "rtn bits=4", "gptq bits=4"]


def provenance(results):
    """How the file came about, in one line."""
    head = results.head
    note = f" Note: {head['note']}." if "note" in head else ""
    return (f"[{results.path.name}](findings/{results.path.name}), {head['date']}, {head['program']}, {head['processor']}: "
            f"`{head['command']}`.{note}")


def short_method(method):
    return method.replace("bits=", "")


def short_row(what):
    """A row of a contrast without what it says twice: '3 bits, step 600, rtn bits=3' is 'step 600, rtn 3'."""
    words = what.split(", ")
    if any("bits=" in word for word in words):
        words = [word for word in words if not word.endswith(" bits")]
    return short_method(", ".join(words))


def losses(results):
    """{(point, branch, averaging): {step: {method: {seed: loss}}}} of all sets of weights."""
    out = {}
    for row in results.where(table="loss", quantity="loss"):
        line = out.setdefault((row["point"], row["branch"], row["averaging"]), {})
        line.setdefault(int(row["step"]), {}).setdefault(row["method"], {})[row["seed"]] = row["value"]
    return out


def deltas(of_methods, method):
    """ΔCE of each seed that has both losses."""
    floating, quantized = of_methods.get("float", {}), of_methods.get(method, {})
    return [quantized[seed] - floating[seed] for seed in sorted(quantized) if seed in floating]


def mean(values):
    return sum(values) / len(values)


def with_range(values, write):
    if not values:
        return "none"
    return write(mean(values)) + (f" ({write(min(values))} to {write(max(values))})" if len(values) > 1 else "")


def ends(results):
    """The last step of each line of checkpoints: float loss and ΔCE, means over seeds with the lowest and the highest."""
    found = losses(results)
    used = {method for line in found.values() for of_methods in line.values() for method in of_methods}
    methods = [method for method in METHODS if method in used]
    methods += sorted(method for method in used - set(methods) - {"float"})
    rows = []
    for (point, branch, averaging), line in found.items():
        step = max(line)
        floating = list(line[step].get("float", {}).values())
        rows.append([point.replace("train.", "") or "one", branch, averaging or "none", str(step), str(len(floating)),
                     with_range(floating, lambda value: f"{value:.4f}")]
                    + [with_range(deltas(line[step], method), text.milli) for method in methods])
    head = ["point", "branch", "averaging", "step", "seeds", "float loss"] + [short_method(method) for method in methods]
    return text.markdown(head, rows)


def over(row, kind):
    return text.counted(int(row.get(kind, "n")), {"items": "item", "draws": "draw", "jitter": "order", "seeds": "seed"}[kind])


def rows_table(rows, rule_of):
    """Every interval of the rows; the verdict of a row beside its first one."""
    lines = []
    for row in rows:
        rule = rule_of[row.test]
        word = verdicts.of_row(row, rule)
        for place, kind in enumerate(row.kinds() or [""]):
            if not kind:
                lines.append([row.test, row.contrast, short_row(row.what), "one run", text.in_unit(row.numbers["value"], row.unit),
                              "none", "none", "none", word])
                continue
            seen = row.get(kind, "detectable_all") if kind == "seeds" else row.get(kind, "detectable")
            lines.append([row.test if place == 0 else "", row.contrast if place == 0 else "", short_row(row.what), over(row, kind),
                          text.in_unit(row.get(kind, "mean"), row.unit), text.interval(row.interval(kind, False), row.unit),
                          text.interval(row.interval(kind, True), row.unit),
                          "none" if seen is None else text.in_unit(seen, row.unit, sign=False), word if place == 0 else ""])
    return text.markdown(["test", "contrast", "row", "over", "mean", "95 %", "all rows at once", "could have seen", "verdict"], lines)
