#!/usr/bin/env python3
"""Builds the documentation as a site: every page is there, nothing is loaded from elsewhere, a broken link ends the build.

usage: site_test.py SOURCE
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
LOADED = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]*)|<link[^>]*\srel=\"(?:stylesheet|preconnect|icon)[^>]*\shref=\"([^\"]*)"
                    r"|<link[^>]*\shref=\"([^\"]*)\"[^>]*\srel=\"(?:stylesheet|preconnect|icon)")
STYLE = re.compile(r"(?:url\(|@import)[\s'\"]*((?:https?:)?//[^)'\"]*)")


def build(source, site, mkdocs):
    return subprocess.run([source / "tools/site/build", source, site, mkdocs], capture_output=True, text=True)


def loaded(site):
    """Yields (file, address) of what the browser would load from another host."""
    for page in site.rglob("*.html"):
        for match in LOADED.finditer(page.read_text(encoding="utf-8")):
            address = next(filter(None, match.groups()), "")
            if re.match(r"(?:https?:)?//", address):
                yield page.name, address
    for style in site.rglob("*.css"):
        yield from ((style.name, address) for address in STYLE.findall(style.read_text(encoding="utf-8")))


def main():
    source = Path(sys.argv[1]).resolve()
    mkdocs = source / ".deps/site/bin/mkdocs"
    if not mkdocs.exists():
        print("SKIPPED: there is no mkdocs; `./dev docs` installs it")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        site = Path(name) / "site"
        done = build(source, site, mkdocs)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        missing = [page.name for page in (source / "docs").glob("*.md") if not (site / "docs" / f"{page.stem}.html").exists()]
        if missing:
            sys.exit(f"the site lacks {', '.join(missing)}")
        foreign = sorted(set(loaded(site)))
        if foreign:
            sys.exit("\n".join(f"{file} loads {address}" for file, address in foreign))
        index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
        if not any(entry["location"].startswith("docs/report.html") for entry in index):
            sys.exit("the search does not find docs/report.md")

        broken = Path(name) / "broken"
        shutil.copytree(source, broken, symlinks=True, ignore=lambda folder, names: {
            ".git", ".deps", ".cache", "build", "runs", "shared"} & set(names) if Path(folder) == source else ())
        with open(broken / "docs/report.md", "a", encoding="utf-8") as page:
            page.write("\n[nowhere](nowhere.md)\n")
        done = build(broken, site, mkdocs)
        if done.returncode == 0 or "nowhere.md" not in done.stderr:
            sys.exit(f"a link that leads nowhere: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{len(index)} entries in the index of the site, nothing from another host")


main()
