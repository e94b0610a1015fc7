"""Tables of runs that `collect` has written down: provenance, values at the ends, rows of tests."""

import math

import rules
import text
import verdicts

UNITS = {"items": "blocks", "runs": "runs of blocks", "groups": "groups of questions", "draws": "calibration draws"}
METHODS = ["rtn bits=3", "gptq bits=3", "rtn bits=4", "gptq bits=4"]


def provenance(results):
    """How the file came about, in one line."""
    head = results.head
    note = f" Note: {head['note']}." if "note" in head else ""
    return (f"[{results.path.name}](../bench/findings/data/{results.path.name}), {head['date']}, {head['program']}, {head['processor']}: "
            f"`{head['command']}`.{note}")


def short_method(method):
    return method.replace("bits=", "")


def short_row(what):
    """A row of a contrast without what it says twice: '3 bits, step 600, rtn bits=3' is 'step 600, rtn 3'."""
    words = what.split(", ")
    if any("bits=" in word for word in words):
        words = [word for word in words if not word.endswith(" bits")]
    return short_method(", ".join(words))


# ---- rows of tests


def unit_of(row):
    """Of a computed row: that of losses, a share, curvature, or a rank correlation."""
    if row.test.at in ("correlation", "scaling", "across"):
        return "1"
    measure, _, label = row.entry.get("of", row.test.of).partition(", ")
    unit = {"relative": "%", "hessian": "λ₁", "hessian/trace": "trace", "accuracy": "%", "log_error": "ln", "log_distance": "ln",
            "log_steepness": "ln"}.get(measure, "nats/token")
    return f"{unit}, {label}" if label else unit


def shown(row):
    """(mean, interval) of a computed row, over text too where that is known; of a rank correlation both back from Fisher's z, the interval
    no narrower than its floor; none across trainings.
    """
    low, high = rules.interval(row.values, row.text)
    mean = row.values.mean()
    if row.exchanged is not None:
        return mean, None  # an interval over seeds says nothing of other trainings
    if row.test.at == "correlation":
        half = max(high - mean, 1.96 * rules.floor_of(row.checkpoints, len(row.seeds)) if row.checkpoints else 0)
        return math.tanh(mean), (math.tanh(mean - half), math.tanh(mean + half))
    return mean, (low, high)


def could_have_seen(row):
    """The effect that so many seeds find in 4 of 5 samples, as it is shown."""
    least = verdicts.detectable(row)
    return text.in_unit(math.tanh(least) if row.test.at == "correlation" else least, unit_of(row), sign=False)


def effect(row):
    """'+1.2 [−0.6, +3.0] thousandths of a nat', or what share of another measure it is."""
    mean, ends = shown(row)
    if row.test.rule == "within":
        ratio = row.values.mean() / row.reference.mean()
        return f"{text.signed(ratio, sign=False)} {text.interval(rules.ratio_interval(row.values, row.reference), '1')} of the error"
    if row.exchanged is not None:
        return f"a rank correlation of {text.in_unit(mean, '1')}, beside {text.in_unit(rules.exchanged_limit(row), '1')} by exchange"
    unit = text.unit_name(unit_of(row))
    share = ""
    if row.test.less:
        share = f", {text.signed(mean / row.reference.mean(), sign=False)} of the whole change, asked {row.test.less:g}"
    return f"{text.in_unit(mean, unit_of(row))} {text.interval(ends, unit_of(row))}{' ' + unit if unit else ''}{share}"


def of_error(row):
    """', 43 % of the error': the mean of a row beside ΔCE of what it is compared with."""
    return "" if row.error is None else f", {100 * abs(row.values.mean()) / row.error.mean():.0f} % of the error"


def deciding(found):
    """The row that a verdict hangs on: of a claim that fails the clearest, else the least sure."""
    return min(found.rows, key=lambda one: one.fails) if found.word == "fails" else max(found.rows, key=lambda one: one.holds)


def p_text(p):
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def sureness(found):
    """How sure a verdict is, as the p-value of what it says; of an open one the difference that it would have seen."""
    if found.is_decided:
        return p_text(found.holds if found.word == "holds" else found.fails)
    row = deciding(found).rows[0]
    if row.exchanged is not None or row.test.rule == "within":
        return ""
    unit = text.unit_name(unit_of(row))
    return f"could have seen {could_have_seen(row)}{' ' + unit if unit else ''}"


def _needed(row):
    """What the rule asks of the row; of one that was asked after the data nothing."""
    test = row.test
    if is_late(row):
        return "nothing"
    if row.exchanged is not None:
        return f"above {text.in_unit(rules.exchanged_limit(row), '1')}, the limit of 97.5 % of {len(row.exchanged)} exchanges"
    if row.reference is None:
        return "below 0" if test.rule == "below" else "above 0" if test.rule == "above" else "one sign"
    if test.rule == "within":
        ratio = row.values.mean() / row.reference.mean()
        return f"{test.low:g} to {test.high:g} of {text.milli(row.reference.mean())}; is {text.signed(ratio, sign=False)}"
    if test.less:
        return f"{'below' if test.rule == 'below' else 'above'} {test.less:g} of {text.milli(row.reference.mean())}"
    room = text.in_unit(test.margin * row.reference.mean(), unit_of(row), sign=False)
    return {"at_most": f"at most {room}", "equal": f"within ±{room}", "differs": f"beyond ±{room}"}[test.rule]


def _missed(row):
    """The effect that so many seeds find in 4 of 5 samples, and how many would find the mean."""
    if row.exchanged is not None:
        return ""
    needed = verdicts.seeds_needed(row)
    seeds = ("" if needed is None else f"; {needed}" if needed < verdicts.MOST_SEEDS else f"; {verdicts.MOST_SEEDS} or more"
             if needed == verdicts.MOST_SEEDS else "; more text")
    return could_have_seen(row) + seeds


LIES = {"above": {"holds": "above 0", "fails": "below 0"}, "below": {"holds": "below 0", "fails": "above 0"}}


def is_late(row):
    """Whether it was asked after the data, and so has no rule but a side of 0."""
    return row.test.asked_late and row.reference is None and row.test.rule in LIES


def _word(one, row):
    return LIES[row.test.rule].get(one.word, one.word) if is_late(row) else one.word


def computed_table(found):
    """Rows that are computed for each seed: the mean, its interval, what the rule asks, how far other text moves it, and the word."""
    lines = []
    for one in found:
        for row in one.rows:
            mean, ends = shown(row)
            unit = unit_of(row)
            other = [f"±{text.in_unit(one_of.error * rules.t_quantile(one_of.freedom, 0.95), unit, sign=False)} over "
                     f"{UNITS.get(one_of.kind, one_of.kind)}{', as Fisher’s z' if row.test.at == 'correlation' else ''}" for one_of in row.text]
            at = "" if not row.floats else (f"; at a float loss of {row.floats[0]:.4f} to {row.floats[1]:.4f}"
                                            + (f", lines bridge up to {max(row.gaps):.3f} nats" if row.gaps else ""))
            at += f"; chosen: {', '.join(row.chosen)}" if row.chosen else ""
            late = "; asked after the data" if row.test.asked_late else ""
            lines.append([row.test.id + late, row.name + at, str(len(row.seeds)), text.in_unit(mean, unit), text.interval(ends, unit), _needed(row),
                          ", ".join(other) or "not known", f"{_word(one, row)}, {p_text(min(one.holds, one.fails))}",
                          _missed(row) if one.word == "open" else ""])
    return text.markdown(["test", "row", "seeds", "mean", "95 %", "the rule asks", "other text or calibration data", "word",
                          "could have seen; seeds for the mean"], lines)


def over(row, kind):
    return text.counted(int(row.get(kind, "n")), {"items": "item", "draws": "draw", "jitter": "order", "seeds": "seed"}[kind])


def contrasts_table(rows):
    """Every interval of rows that `quench report` evaluated; beside the first one on which side of 0 all of them lie."""
    lines = []
    for row in rows:
        for place, kind in enumerate(row.kinds() or [""]):
            first = kind == "items" and row.items_of_first and row.get("seeds", "n") is not None
            if not kind:
                lines.append([row.test, row.contrast, short_row(row.what), "one run", text.in_unit(row.numbers["value"], row.unit),
                              "none", "none", "across"])
                continue
            lines.append([row.test if place == 0 else "", row.contrast if place == 0 else "", short_row(row.what), over(row, kind) + ", first seed" * first,
                          text.in_unit(row.get(kind, "mean"), row.unit), text.interval(row.interval(kind, False), row.unit),
                          text.interval(row.interval(kind, True), row.unit), row.side() if place == 0 else ""])
    return text.markdown(["test", "contrast", "row", "over", "mean", "95 %", "all rows at once", "0 is"], lines)


# ---- values of runs


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


