"""JSON values as records have them."""

import json
import re


def member(value, name):
    return value.get(name) if isinstance(value, dict) else None


def members(value, *names):
    return [member(value, name) for name in names]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def canonical(value):
    """JSON as the program writes it: names in order, no blanks, numbers from 1e15 on with an exponent."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text if not re.search(r"\d{16}\.0", text) else _with_exponents(value)


def _with_exponents(value):
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (canonical(name), _with_exponents(value[name])) for name in sorted(value))
    if isinstance(value, list):
        return "[%s]" % ",".join(map(_with_exponents, value))
    if isinstance(value, float) and 1e15 <= abs(value) < 1e16:
        sign, digits = "-" if value < 0 else "", ("%d" % abs(value)).rstrip("0")
        return "%s%s%se+15" % (sign, digits[0], "." + digits[1:] if digits[1:] else "")
    return json.dumps(value, ensure_ascii=False)


def sweep_values(point, path=""):
    """(path, value) of all that a point of a sweep sets, in the order of its names; a list is one value."""
    if not isinstance(point, dict):
        return []
    out = []
    for name, value in sorted(point.items()):
        whole = path + "." + name if path else name
        out += sweep_values(value, whole) if isinstance(value, dict) and value else [(whole, value)]
    return out
