#!/usr/bin/env python3
"""Holds docs/gallery.md against the manifests that it names: each figure is drawn by the very line that stands under it.

usage: gallery_test.py SOURCE
"""
import re
import sys
from pathlib import Path

SHOWN = re.compile(r"\]\(figures/(\w+)\.svg\)\n(.*?)^```$", re.S | re.M)
LINE = re.compile(r"^ *- (\w+: \{name: (\w+),.*\})$", re.M)


def main():
    source = Path(sys.argv[1])
    shown = SHOWN.findall((source / "docs/gallery.md").read_text(encoding="utf-8"))
    wrong = []
    for figure, text in shown:
        line = LINE.search(text)
        if line is None:
            wrong.append(f"{figure}.svg: no line with a name under it")
            continue
        manifest = f"{figure[:-len(line[2]) - 1]}.yaml"
        folder = "configs" if manifest == "quickstart.yaml" else "bench/findings"
        manifest = f"{folder}/{manifest}"
        if figure != f"{Path(manifest).stem}_{line[2]}" or not (source / manifest).exists():
            wrong.append(f"{figure}.svg: got the name {line[2]}, wanted MANIFEST_NAME of the quickstart or of a manifest in bench/findings")
        elif f"- {line[1]}\n" not in (source / manifest).read_text(encoding="utf-8"):
            wrong.append(f"{figure}.svg: {manifest} has no line {line[1]}")
    pictures = {path.stem for path in (source / "docs/figures").glob("*.svg")}
    wrong += [f"docs/figures/{name}.svg: not in docs/gallery.md" for name in sorted(pictures - {name for name, _ in shown})]
    if wrong or not shown:
        sys.exit("\n".join(["docs/gallery.md:", *wrong]))
    print(f"docs/gallery.md: {len(shown)} figures, each with the line that draws it")


main()
