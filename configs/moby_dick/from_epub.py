#!/usr/bin/env python3
"""Makes the three texts from the sources of the Standard Ebooks edition: from_epub.py EDITION, its folder.

Markup goes; a paragraph, a line of verse and a heading are lines, and a blank line ends each. Marks of endnotes, word joiners and
hair spaces go, too; other characters are the edition's.
"""
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

BLOCKS = {"p", "h2", "li", "tr", "br"}


def lines_of(chapter):
    """The text of each block, in order."""
    out = [""]

    def walk(element):
        tag = element.tag.rpartition("}")[2]
        if element.get("{http://www.idpf.org/2007/ops}type") == "noteref":
            out[-1] += element.tail or ""
            return
        if tag in BLOCKS:
            out.append("")
        out[-1] += element.text or ""
        for child in element:
            walk(child)
        if tag in BLOCKS:
            out.append("")
        out[-1] += element.tail or ""

    walk(ElementTree.parse(chapter).find(".//{http://www.w3.org/1999/xhtml}body"))
    plain = (re.sub(r"[\u2060\u200a]", "", line).replace("\u00a0", " ") for line in out)
    return [" ".join(line.split()) for line in plain if line.strip()]


def part_of(number):
    return "validation" if number % 20 == 10 else "calibration" if number % 10 == 5 else "training"


def main():
    chapters = Path(sys.argv[1], "src/epub/text")
    texts = {}
    for number in range(1, 136):
        lines = lines_of(chapters / f"chapter-{number}.xhtml")
        texts.setdefault(part_of(number), []).extend(lines)
    for part, lines in texts.items():
        Path(__file__).with_name(f"{part}.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


main()
