#!/usr/bin/env python3
"""usage: run_test.py SOURCES. The runner of fuzz targets, with programs that stand for them: what it counts, and where it goes on."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(sys.argv[1]).resolve()
# Works for a fifth of a second; the one called record crashes. A merge takes the first input of each size.
TARGET = """#!%s
import pathlib, sys, time
if "-merge=1" in sys.argv:
    to, *folders = [pathlib.Path(word) for word in sys.argv[1:] if word[0] != "-"]
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        if not (to / str(path.stat().st_size)).exists():
            (to / str(path.stat().st_size)).write_bytes(path.read_bytes())
    sys.exit(0)
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
print("stat::number_of_executed_units: 100", file=sys.stderr)
sys.exit(77 if sys.argv[0].endswith("record_fuzz") else 0)
""" % sys.executable


def check(what, is_so):
    if not is_so:
        sys.exit("wrong: " + what)


def main():
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        (build / "tests").mkdir()
        for name in ("json", "record", "yaml"):
            program = build / "tests" / (name + "_fuzz")
            program.write_text(TARGET, encoding="utf-8")
            program.chmod(0o700)

        sources = build / "sources"
        for name in ("json", "record", "yaml"):
            (sources / "tests/fuzz/seeds" / name).mkdir(parents=True)
            (sources / "tests/fuzz/seeds" / name / "first").write_text(name, encoding="utf-8")

        def run(*words):
            return subprocess.run([SOURCES / "tests/fuzz/run", sources, build, *words], capture_output=True, text=True, check=False)

        ran = run("1", "json")
        found = re.search(r"1 targets: (\d+) inputs, 0 with a fault; 0.0 processor minutes", ran.stdout)
        check(ran.stdout, ran.returncode == 0 and found and int(found[1]) in (200, 300, 400, 500))
        kept = build / "kept"
        ran = run("1", ".", "--resume", str(kept))
        check(ran.stdout, ran.returncode == 1 and "3 targets: " in ran.stdout and " inputs, 1 with a fault; " in ran.stdout)
        check(ran.stdout, [line.split()[0] for line in ran.stdout.splitlines() if line.endswith("FAULT")] == ["record"])
        for name in "abc", "ABC", "":
            (build / "corpus/yaml" / (name or "none")).write_text(name, encoding="utf-8")
        first = run("--keep", "yaml")
        check(first.stderr, re.fullmatch(r"yaml +3 inputs, \d+ bytes\n", first.stdout))  # of 0, 3 and 4 bytes
        archive = (sources / "tests/fuzz/corpora/yaml.tar.xz").read_bytes()
        shutil.rmtree(build / "corpus/yaml")
        run("1", "yaml")
        check("it begins with what was kept", len(list((build / "corpus/yaml").iterdir())) == 3)
        (build / "corpus/yaml/none").write_text("", encoding="utf-8")
        for path in (build / "corpus/yaml").iterdir():  # a folder that has less than what was kept
            if path.stat().st_size > 0:
                path.unlink()
        check("it is the same", run("--keep", "yaml").stdout == first.stdout and
              archive == (sources / "tests/fuzz/corpora/yaml.tar.xz").read_bytes())
        os.remove(build / "tests/yaml_fuzz")  # it had its time
        check("it goes on", run("1", ".", "--resume", str(kept)).stdout == ran.stdout)
        ran = run("2", ".", "--resume", str(kept))
        check(ran.stderr, "counts targets of 1 s, wanted 2" in ran.stderr)
        check("no target", run("1", "nothing").returncode == 1 and run("--keep", "nothing").returncode == 1)


main()
