#!/usr/bin/env python3
"""Does what the first section of docs/python.md says: writes its files, runs its commands, looks at the record.

usage: run_tutorial.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
PYTHON = "/usr/bin/python3"


def section(page):
    return page.split("## A quantizer of three lines", 1)[1].split("\n## ", 1)[0]


def file_of(text, language):
    return re.search(r"```%s\n(.*?)```" % language, text, re.S)[1]


def commands(text):
    """The indented lines, one script for each block between other text."""
    return re.findall(r"^(?:    .+\n)+", re.sub(r"```.*?```\n", "", text, flags=re.S), re.M)


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode != 0:
        print(f"SKIPPED: {PYTHON} has no numpy")
        sys.exit(SKIPPED)
    text = section((source / "docs" / "python.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as own:
        root = Path(own) / "root"
        (root / "build" / "release").mkdir(parents=True)
        (root / "build" / "release" / "bin").symlink_to(build / "bin")
        (root / "python").symlink_to(source / "python")
        first, *rest = commands(text)
        write_plugin = ["cat > my_plugins/quantizers/my_rounding.py <<'END'", file_of(text, "python") + "END"]
        write_manifest = ["cat > first.yaml <<'END'", file_of(text, "yaml") + "END"]
        script = "\n".join(["set -e", first, *write_plugin, *write_manifest, *rest])
        environment = {**os.environ, "PATH": "/usr/bin:" + os.environ["PATH"], "QUENCH_HOME": f"{own}/home",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(["bash", "-c", script], cwd=root, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"docs/python.md: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        records = done.stdout.strip().splitlines()[-1]
        if "validation_loss" not in records:
            sys.exit(f"docs/python.md: the last command shows no validation_loss: {records}")
        if "written in Python" not in done.stdout:
            sys.exit(f"docs/python.md: `plugins show` does not say where the quantizer runs\n{done.stdout}")
    print("docs/python.md: the tutorial's commands run")


main()
