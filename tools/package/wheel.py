"""The wheel: quench as an installation inside site-packages, beside the torch and pyarrow that it requires.

    quench/                      the Python package
    quench_research/             the launcher, and the installation: bin, lib, include, share
    quench_research-*.data/      the manual page and the completions, which belong to the environment
"""
import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import elf
import installation
from failure import Failure

FOLDER = "quench_research"
OF_ENVIRONMENT = ("man", "bash-completion", "zsh", "fish")
REQUIRED = ("torch", "pyarrow")  # of cmake/python-packages.txt


def make(source, prefix, version, work):
    """The wheel's path, named by auditwheel."""
    tree = work / "tree"
    shutil.copytree(prefix, tree / FOLDER)
    shutil.copytree(prefix / "share/quench/python/quench", tree / "quench")
    shutil.copy(Path(__file__).with_name("launcher.py"), tree / FOLDER / "__init__.py")
    stem = f"{FOLDER}-{version}"
    for name in OF_ENVIRONMENT:
        (tree / f"{stem}.data/data/share").mkdir(parents=True, exist_ok=True)
        shutil.move(tree / FOLDER / "share" / name, tree / f"{stem}.data/data/share" / name)
    _lead_to_site_packages(tree / FOLDER)
    installation.list_plugins(source, tree / FOLDER)
    _describe(source, version, tree / f"{stem}.dist-info")
    shutil.move(tree / FOLDER / "share/doc/quench/licenses", tree / f"{stem}.dist-info/licenses/bundled")
    shutil.move(tree / FOLDER / "share/doc/quench/LICENSE", tree / f"{stem}.dist-info/licenses/LICENSE")
    shutil.rmtree(tree / FOLDER / "share/doc")
    plain = work / f"{stem}-py3-none-linux_{os.uname().machine}.whl"
    _pack(tree, plain, f"{stem}.dist-info/RECORD")
    return _named_by_auditwheel(plain, work / "named")


def _lead_to_site_packages(folder):
    """RUNPATHs to .../lib/quench/deps lead to the packages beside `folder` instead."""
    for path in elf.files_in(folder):
        to_packages = "$ORIGIN/" + os.path.relpath(folder.parent, path.parent)
        there = [entry.replace("$ORIGIN/../deps", to_packages) for entry in elf.run_path(path)]
        elf.set_run_path(path, there)


def _describe(source, version, folder):
    project = tomllib.loads((source / "python/pyproject.toml").read_text())["project"]
    if project["name"].replace("-", "_") != FOLDER or project["version"] != version:
        raise Failure(f"python/pyproject.toml: got {project['name']} {project['version']}, wanted {FOLDER} {version}")
    pins = re.findall(r"^(\w[\w-]*)==(\S+)$", (source / "cmake/python-packages.txt").read_text(), re.MULTILINE)
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             "Summary: Measures how the training of a language model decides what quantization costs it",
             "License: Apache-2.0", "Requires-Python: >=3.10",
             *(f"Requires-Dist: {name}" for name in project["dependencies"]),
             *(f"Requires-Dist: {name}=={pin}" for name, pin in pins if name in REQUIRED)]
    for extra, names in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {name}; extra == \"{extra}\"" for name in names)]
    folder.mkdir()
    (folder / "METADATA").write_text("\n".join(lines) + "\n\nSee docs/installing.md of quench.\n")
    (folder / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: quench tools/package\nRoot-Is-Purelib: false\n"
                                  f"Tag: py3-none-linux_{os.uname().machine}\n")
    (folder / "entry_points.txt").write_text(f"[console_scripts]\nquench = {FOLDER}:main\n")


def _pack(tree, to, record):
    rows = io.StringIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as out:  # auditwheel compresses it
        for path in sorted(file for file in tree.rglob("*") if file.is_file()):
            name = str(path.relative_to(tree))
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            csv.writer(rows, lineterminator="\n").writerow([name, f"sha256={digest}", len(content)])
            _add(out, name, content, 0o755 if os.access(path, os.X_OK) else 0o644)
        csv.writer(rows, lineterminator="\n").writerow([record, "", ""])
        _add(out, record, rows.getvalue().encode(), 0o644)


def _add(out, name, content, mode):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o100000 | mode) << 16
    out.writestr(entry, content)


def _named_by_auditwheel(plain, to):
    words = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(to)]
    for library in ("libtorch*", "libc10*", "libarrow*", "libparquet*"):
        words += ["--exclude", library]
    python = shutil.which("auditwheel")
    if not python:
        raise Failure("auditwheel is not there: ./dev package installs it")
    words[0] = str(Path(python).with_name("python"))
    done = subprocess.run([*words, str(plain)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"auditwheel: {(done.stderr or done.stdout).strip()}")
    made = next(to.glob("*.whl"))
    copied = [name for name in zipfile.ZipFile(made).namelist() if ".libs/" in name]
    if copied:
        raise Failure(f"auditwheel copied what is neither bundled nor required: {', '.join(copied)}")
    _hold_to_list(made)
    return made


def _hold_to_list(wheel):
    """auditwheel has left the plugins as SHA256SUMS says: the program would refuse others."""
    packed, folder = zipfile.ZipFile(wheel), f"{FOLDER}/lib/quench"
    for line in packed.read(f"{folder}/SHA256SUMS").decode().splitlines():
        listed, name = line.split("  ", 1)
        if hashlib.sha256(packed.read(f"{folder}/{name}")).hexdigest() != listed:
            raise Failure(f"{name}: auditwheel changed it after it was listed")
