"""`./dev soak packages` takes Debian from where the system's own sources have it; it names no host itself.

usage: package_soak_test.py SOURCE
"""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def soak_of(source):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("packages_soak", str(source / "tests/soak/packages"))
    soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("packages_soak", loader))
    loader.exec_module(soak)
    return soak


def answer_of(soak, answer):
    """What the soak makes of apt's answer, and the words that it asked with."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "apt-get")
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{folder}/asked'\nprintf '{answer}'\n")
        program.chmod(0o755)
        path, os.environ["PATH"] = os.environ["PATH"], f"{folder}:{os.environ['PATH']}"
        try:
            return soak.debian(), Path(folder, "asked").read_text().splitlines()
        except SystemExit as end:
            return end.code, []
        finally:
            os.environ["PATH"] = path


def main():
    script = Path(sys.argv[1], "tests/soak/packages")
    assert "://" not in script.read_text(), f"{script} names a host"
    soak = soak_of(Path(sys.argv[1]))
    found, asked = answer_of(soak, "http://here.example/debian/\\nhttp://there.example/debian/\\n")
    assert found == "http://here.example/debian/", found
    assert "Release: bookworm" in asked and asked[0] == "indextargets", asked
    assert answer_of(soak, "")[0] == SKIPPED


if __name__ == "__main__":
    main()
