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


def short_labels(rows):
    """(contrast, what of a row's own text the rows of that contrast do not share) of each row."""
    words = [short_row(row.what).split(", ") for row in rows]
    out = []
    for row, own in zip(rows, words):
        others = [of_other for other, of_other in zip(rows, words) if other.contrast == row.contrast]
        out.append((row.contrast, ", ".join(word for word in own if any(word not in of_other for of_other in others))))
    return out


def _number(row):
    """The mean of a row with the interval by which it is decided, over seeds where there are some."""
    kind = "seeds" if row.get("seeds", "n") else next(iter(row.kinds()), None)
    if kind is None:
        return text.in_unit(row.numbers["value"], row.unit)
    return f"{text.in_unit(row.get(kind, 'mean'), row.unit)} {text.interval(row.interval(kind, True), row.unit)}"


def sentence(rows, rule):
    """What a test found: each of few rows, of many the ends, and those that are decided."""
    labels, units = short_labels(rows), list(dict.fromkeys(row.unit for row in rows))
    is_one = len({contrast for contrast, _ in labels}) == 1
    begin = (rule.about or "Difference") + (f", {labels[0][0]}" if is_one else "") + f" (test {rule.id})"
    if units == ["nats/token"]:
        begin += f", in {text.unit_name(units[0])}"
    told = [(verdicts.of_row(row, rule), " ".join(word for word in ("" if is_one else contrast, what, _number(row)) if word))
            for row, (contrast, what) in zip(rows, labels)]
    words = [word for word, _ in told]
    if len(rows) <= 2:
        return f"{begin}: {'; '.join(f'{of_row}, {word}' for word, of_row in told)}."
    ends = []
    for contrast in dict.fromkeys(contrast for contrast, _ in labels):
        own = [row for row in rows if row.contrast == contrast]
        means = [row.get("seeds", "mean") if row.get("seeds", "n") else row.numbers["value"] for row in own]
        of_contrast = " to ".join(dict.fromkeys(text.in_unit(end, own[0].unit) for end in (min(means), max(means))))
        ends.append(of_contrast if is_one else f"{contrast} {of_contrast}")
    decided = "; ".join(of_row for word, of_row in told if word != "open")
    return (f"{begin}: {text.joined(ends)} in {len(rows)} rows, "
            f"{text.joined(f'{word} in {words.count(word)}' for word in dict.fromkeys(words))}" + (f" ({decided})" if decided else "") + ".")


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
        rows.append([point or "one", branch, averaging or "none", str(step), str(len(floating)),
                     with_range(floating, lambda value: f"{value:.4f}")]
                    + [with_range(deltas(line[step], method), text.milli) for method in methods])
    head = ["point", "branch", "averaging", "step", "seeds", "float loss"] + [short_method(method) for method in methods]
    return text.markdown(head, rows)


def _last(results, table):
    """{(point, branch, averaging): (step, {(method, quantity): values of seeds})} of the last step that has such values."""
    lines = {}
    for row in results.where(table=table):
        steps = lines.setdefault((row["point"], row["branch"], row["averaging"]), {})
        steps.setdefault(int(row["step"]), {}).setdefault((row["method"], row["quantity"]), []).append(row["value"])
    return {line: (max(steps), steps[max(steps)]) for line, steps in lines.items()}


def curvature_ends(results):
    """λ₁ and trace at the last step of each line, and what slope and curvature explain of the error there; empty without either."""
    curvature, terms = _last(results, "curvature"), _last(results, "taylor")
    methods = list(dict.fromkeys(method for _, values in terms.values() for method, _ in values))
    rows = []
    for line in dict.fromkeys([*curvature, *terms]):
        point, branch, averaging = line
        step, values = curvature.get(line) or (terms[line][0], {})
        row = [point or "one", branch, averaging or "none", str(step)]
        row += [with_range(values.get(("float", key), []), lambda value: text.signed(value, 1, sign=False)) for key in ("hessian", "hessian/trace")]
        of_terms = terms[line][1] if line in terms and terms[line][0] == step else {}
        for method in methods:
            found = [of_terms.get((method, key)) for key in ("change", "slope", "quadratic")]
            row.append("none" if None in found else "{}: {}, {}".format(*(text.milli(mean(values)) for values in found)))
        rows.append(row)
    if not rows:
        return ""
    head = ["point", "branch", "averaging", "step", "λ₁", "trace"] + [f"{short_method(method)}: gᵀδ, ½δᵀHδ" for method in methods]
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
