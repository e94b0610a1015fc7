"""What pages say of a row and of a claim, as texts with all digits, for comparison."""

import numpy as np
from scipy import stats

from witness_parts.claims import detectable, of_ratio, seeds_for_the_mean
from witness_parts.pages import number
from witness_parts.rows import OVER, shown_interval

PERCENT = ("relative", "accuracy", "log_error", "log_distance", "log_steepness")
CURVATURE = {"hessian": "λ₁", "hessian/trace": "trace"}
AFTER = "asked after the data"


def in_unit(row, value):
    """Losses in thousandths, shares in %, curvature and coefficients as they are."""
    measure = row.measure.partition(", ")[0]
    if row.test.get("at") == "correlation":  # of Fisher's z
        return number(np.tanh(value))
    if row.test.get("at") in ("scaling", "across") or measure in CURVATURE:
        return number(value)
    if measure.startswith("log_"):  # a difference of logarithms, shown as the change that it is
        value = np.expm1(value)
    return f"{number(100 * value)} %" if measure in PERCENT else number(1000 * value)


def unit(row):
    measure, _, label = row.measure.partition(", ")
    if row.test.get("at") in ("scaling", "across", "correlation") or measure in PERCENT:
        return ""
    if measure in CURVATURE:
        return f" ({CURVATURE[measure]}, {label})" if label else f" of {CURVATURE[measure]}"
    return " thousandths of a nat"


def ends(row):
    if row.orders is not None:
        return "none"
    return f"[{', '.join(in_unit(row, end) for end in shown_interval(row))}]"


def limit_of_orders(row):
    """What 97.5 % of all orders of the trainings do not exceed."""
    return number(np.sort(row.orders)[int(np.ceil(0.975 * (len(row.orders) - 1)))])


def effect(row, with_unit=True):
    if row.test["rule"] == "within":
        low, high = of_ratio(row.x, row.reference)
        return f"{number(row.x.mean() / row.reference.mean())} [{number(low)}, {number(high)}] of the error"
    if row.orders is not None:
        return f"a rank correlation of {number(row.x.mean())}, beside {limit_of_orders(row)} by exchange"
    share = f", {number(row.x.mean() / row.reference.mean())} of the whole change, asked {row.test['less']}" if "less" in row.test else ""
    return f"{in_unit(row, row.x.mean())} {ends(row)}{unit(row) if with_unit else ''}{share}"


def p_text(p):
    return "p < 0.0001" if p < 0.0001 else f"p = {number(p)}"


def sureness(claim):
    """The p-value of what a verdict says; of an open one the difference that it could have seen."""
    if claim.is_decided:
        return p_text(claim.holds if claim.word == "holds" else claim.fails)
    row = claim.deciding.rows[0]
    if row.orders is not None or row.test["rule"] == "within":
        return ""
    return f"could have seen {in_unit(row, detectable(row))}{unit(row)}"


def asked(row):
    """What the rule asks of a row."""
    test, rule, r = row.test, row.test["rule"], row.reference
    if is_late(row):
        return "nothing"
    if row.orders is not None:
        return f"above {limit_of_orders(row)}, the limit of 97.5 % of {len(row.orders)} exchanges"
    if rule == "within":
        return f"{test['low']} to {test['high']} of {number(1000 * r.mean())}; is {number(row.x.mean() / r.mean())}"
    if rule == "alike":
        return "one sign"
    if "margin" in test:
        return {"at_most": "at most ", "equal": "within ±", "differs": "beyond ±"}[rule] + in_unit(row, test["margin"] * r.mean())
    return f"{rule} {test['less']} of {number(1000 * r.mean())}" if "less" in test else f"{rule} 0"


def other_text(row):
    halves = [(OVER.get(kind, kind), stats.t.ppf(0.975, freedom) * error) for kind, error, freedom in row.text]
    if row.test.get("at") == "correlation":
        widths = [f"±{number(half)} over {over}, as Fisher’s z" for over, half in halves]
    else:
        widths = [f"±{in_unit(row, half)} over {over}" for over, half in halves]
    return ", ".join(widths) or "not known"


def could_have_seen(row, word):
    if word != "open" or row.orders is not None:
        return ""
    seeds = seeds_for_the_mean(row)
    return in_unit(row, detectable(row)) + (f"; {seeds}" if seeds else "")


def is_late(row):
    """Whether it was asked after the data, and so has no rule, but a side of 0."""
    return row.test.get("asked_late") and row.reference is None and row.test["rule"] in ("above", "below")


def word(row, one):
    if is_late(row) and one.word != "open":
        return "above 0" if (row.test["rule"] == "above") == (one.word == "holds") else "below 0"
    return one.word


def of_row(row, one):
    """{column: text} of a row of a table of rows."""
    at = f"; at a float loss of {number(min(row.floats))} to {number(max(row.floats))}" if row.floats else ""
    at += f", lines bridge up to {number(max(row.gaps))} nats" if row.gaps else ""
    at += f"; chosen: {', '.join(row.chosen)}" if row.chosen else ""
    return {"test": row.test["id"] + f"; {AFTER}" * row.test.get("asked_late", False), "row": row.name + at, "seeds": str(len(row.seeds)),
            "mean": in_unit(row, row.x.mean()), "95 %": ends(row), "the rule asks": asked(row), "other text or calibration data": other_text(row),
            "word": f"{word(row, one)}, {p_text(min(one.holds, one.fails))}", "could have seen; seeds for the mean": could_have_seen(row, one.word)}


def made_by(file):
    """How a file of results came about."""
    note = f" Note: {file.head['note']}." if "note" in file.head else ""
    return f"{file.head['date']}, {file.head['program']}, {file.head['processor']}: `{file.head['command']}`.{note}"
