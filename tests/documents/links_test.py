#!/usr/bin/env python3
"""Follows the relative links of the README, of the pages in docs/ and of the other pages that they link to.

usage: links_test.py SOURCE

A link must lead to a file or folder of the repository, and its #fragment to a heading of that page, by GitHub's rule for
their names. Links to other sites are not followed. Every page of docs/ and every manifest of configs/ must be in reach of the
README.
"""
import re
import sys
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")


def blank(match):
    """Newlines alone, so that line numbers stay."""
    return "\n" * match[0].count("\n")


def links(text):
    """Yields (line, target) of all relative links that do not stand in code."""
    text = CODE.sub("", FENCED.sub(blank, text))
    for match in LINK.finditer(text):
        if not re.match(r"[a-z][a-z+.-]*:", match[1]):
            yield text.count("\n", 0, match.start()) + 1, unquote(match[1])


def anchors(text):
    """The fragments that GitHub gives to the headings of a page."""
    seen, names = {}, set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", FENCED.sub(blank, text), re.M):
        heading = LINK.sub(lambda link: link[0][1:link[0].index("]")], heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def faults(source, reached):
    """Yields what is wrong with the links of these pages and of all that they lead to; `reached` grows by the latter."""
    for page in reached:
        if page.suffix != ".md":
            continue
        text = page.read_text(encoding="utf-8")
        for line, target in links(text):
            path, _, fragment = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            place = f"{page.relative_to(source)}:{line}: link to {target}"
            if not to.is_relative_to(source):
                yield f"{place}: leaves the repository"
            elif not to.exists():
                yield f"{place}: there is no {to.relative_to(source)}"
            elif fragment and (to.suffix != ".md" or fragment not in anchors(to.read_text(encoding="utf-8"))):
                yield f"{place}: {to.relative_to(source)} has no heading #{fragment}"
            if to.is_file() and to.is_relative_to(source) and to not in reached:
                reached.append(to)


def main():
    source = Path(sys.argv[1]).resolve()
    reached = [source / "README.md"]
    wrong = list(faults(source, reached))
    hidden = sorted({*(source / "docs").glob("*.md"), *(source / "configs").rglob("*.yaml")} - set(reached))
    wrong += [f"{path.relative_to(source)}: no link leads here from README.md" for path in hidden]
    wrong += faults(source, hidden)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(reached)} files: every relative link leads somewhere")


if __name__ == "__main__":
    main()
