"""Numbers and verdicts as the page writes them."""

import math


def signed(value, digits=2, sign=True):
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("-", "−")


def milli(value, digits=2):
    """Thousandths, with a sign."""
    return signed(1000 * value, digits)


def in_unit(value, unit, sign=True):
    """A difference as tables show it: of losses in thousandths, of curvature as it is, of small exponents and correlations with a digit more."""
    if unit == "nats/token":
        return signed(1000 * value, 2, sign)
    if unit == "%":
        return f"{signed(100 * value, 2, sign)} %"
    if unit == "ln":  # of a ratio, which is shown as a change
        return f"{signed(100 * math.expm1(value), 2, sign)} %"
    if unit == "1":
        return signed(value, 2 if abs(value) >= 0.1 else 3, sign)
    return signed(value, 4 if "relative" in unit else 1, sign)


def unit_name(unit):
    return {"nats/token": "thousandths of a nat", "1": "", "%": "", "ln": ""}.get(unit, f"({unit})" if "," in unit else f"of {unit}")


def interval(ends, unit="nats/token"):
    return "none" if ends is None else f"[{in_unit(ends[0], unit)}, {in_unit(ends[1], unit)}]"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def joined(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def sentence(words):
    """With a capital, where it begins with a word."""
    return words[0].upper() + words[1:] if words[0].isascii() else words


def counted(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")
