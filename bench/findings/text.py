"""Numbers and verdicts as the page writes them."""


def signed(value, digits=2, sign=True):
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("-", "−")


def milli(value, digits=2):
    """Thousandths, with a sign."""
    return signed(1000 * value, digits)


def in_unit(value, unit, sign=True):
    """A difference as tables show it: of losses in thousandths, of curvature as it is."""
    if unit == "nats/token":
        return signed(1000 * value, 2, sign)
    return signed(value, 2 if unit == "1" else 1, sign)


def unit_name(unit):
    return {"nats/token": "thousandths of a nat", "1": ""}.get(unit, f"of {unit}")


def interval(ends, unit="nats/token"):
    return "none" if ends is None else f"[{in_unit(ends[0], unit)}, {in_unit(ends[1], unit)}]"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def joined(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def rounded(value):
    """Two digits, and no exponent."""
    return f"{float(f'{value:.1e}'):.10f}".rstrip("0").rstrip(".")


def seen_text(seen):
    """'effects of 1.2 to 30 thousandths of a nat' of {unit: (least, most)}."""
    parts = []
    for unit, (low, high) in sorted(seen.items()):
        ends = [rounded(1000 * value if unit == "nats/token" else value) for value in (low, high)]
        parts.append(f"{' to '.join(dict.fromkeys(ends))} {unit_name(unit)}".strip())
    return "effects of " + joined(parts)


def counted(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


def verdict(found, waits=""):
    """The verdict on a claim in the words of the table; `waits` says for what its full size waits."""
    if found.word == "waits":
        names = [f"`{name}`" for name in found.unmeasured]
        what = joined(([f"a run of {joined(names)}"] if names else []) + ([waits] if waits else []))
        return f"**waits** for {what}"
    total = sum(found.counts.values())
    parts = [f"holds in {found.counts['holds']} and fails in {found.counts['fails']} of {counted(total, 'row')}"
             f" with all intervals at once, in {found.one_by_one['holds']} and {found.one_by_one['fails']} one by one"]
    if total == 0:
        parts = ["no row could be computed"]
    if found.seeds:
        parts.append(counted(found.seeds, "seed"))
    if found.missing:
        parts.append(f"{counted(found.missing, 'row')} without a number")
    parts += [f"{counted(rows, 'row')} to be measured by a run of `{name}`" for name, rows in found.unmeasured.items()]
    out = f"**{found.word}**: " + "; ".join(parts)
    if found.word == "open" and found.seen:
        out += f"; {seen_text(found.seen)} would have been seen in 4 of 5 such samples"
    return out
