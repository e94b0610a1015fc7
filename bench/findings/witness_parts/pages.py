"""The pages: their tables, their text around holes, and what agrees with them."""

import re
from collections import defaultdict

MINUS = str.maketrans("−", "-")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
HOLE = re.compile(r"\{\{(\w+)(?:: ([^{}]*))?\}\}")
differences, agreed, beyond = [], defaultdict(int), defaultdict(int)


def plain(text):
    return text.translate(MINUS)


def number(value):
    """With all digits: as many count as the page shows."""
    return f"{value:.12g}"


def is_shown(shown, wanted):
    """Whether a number on a page is this one, to the digits that it has there."""
    mantissa, _, exponent = shown.partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return abs(float(shown) - float(wanted)) <= 0.5001 * 10.0 ** -digits + 2e-7 * abs(float(wanted))


def is_same(shown, wanted):
    """Whether two texts have the same words, and the numbers of the first are those of the second."""
    shown, wanted = plain(shown), plain(wanted)
    return NUMBER.split(shown) == NUMBER.split(wanted) and all(map(is_shown, NUMBER.findall(shown), NUMBER.findall(wanted)))


def rounded(text):
    return NUMBER.sub(lambda found: f"{float(found[0]):.5g}" if "." in found[0] else found[0], plain(text))


def same(kind, where, shown, wanted):
    """A text of a page against what was worked out, in words and numbers."""
    if shown is None or not is_same(shown, wanted):
        differences.append(f"{where}: the page has {'nothing' if shown is None else shown}, worked out is {rounded(wanted)}")
    else:
        agreed[kind] += 1


def tables(docs):
    """{first cells of the head: [(heading above, {head: cell})]} of the rows of all pages, and under '' all of them in their order."""
    out = defaultdict(list)
    for page in [docs / "findings.md", *sorted((docs / "findings").glob("*.md"))]:
        heading, head = "", None
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                heading = line.strip("# ")
            if not line.startswith("|"):
                head = None
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if head is None:
                head = cells
            elif not set(line) <= set("|-"):
                out[tuple(head[:3])].append((heading, dict(zip(head, cells)) if len(set(head)) == len(head) else cells))
    return out
