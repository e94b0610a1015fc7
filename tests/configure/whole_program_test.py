"""Target `program` makes all that `cmake --install` installs: what `./dev run` builds is a whole quench.

usage: whole_program_test.py BUILD
"""
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
# Every plugin in Python needs the second, `quench plugins check` the third.
NEEDED = {"bin/quench", "lib/quench/host/confine.so", "lib/quench/host/promises.so"}


def ninja(build, *words):
    said = subprocess.run(["ninja", "-C", build, "-t", *words], capture_output=True, text=True, check=True).stdout
    return said.splitlines()


def installed(build):
    """What the installation reads from the build folder."""
    out = set()
    for script in build.rglob("cmake_install.cmake"):
        for path in re.findall(r'"([^"]*)"', script.read_text()):
            if path.startswith(f"{build}/"):
                out.add(path.removeprefix(f"{build}/"))
    return out


def main():
    build = Path(sys.argv[1]).resolve()
    if not (build / "build.ninja").exists():
        print("SKIPPED: the build is not Ninja's")
        sys.exit(SKIPPED)
    made = {line.rsplit(": ", 1)[0].removeprefix(f"{build}/") for line in ninja(build, "targets", "all")}
    wanted = installed(build) & made
    if not NEEDED <= wanted:
        sys.exit(f"FAILED: not installed: {sorted(NEEDED - wanted)}")
    graph = re.findall(r'label="([^"]*)"', "\n".join(ninja(build, "graph", "program")))
    if missing := sorted(wanted - {name.removeprefix(f"{build}/") for name in graph}):
        sys.exit(f"FAILED: target `program` does not make {missing}, which the installation wants")
    print(f"{len(wanted)} files are installed, and target `program` makes all of them")


if __name__ == "__main__":
    main()
