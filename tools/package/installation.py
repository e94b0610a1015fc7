"""The installation that both packages are made of: what `cmake --install` gives, stripped, with Debian's libraries beside it.

The libraries keep their names. auditwheel would rename them, which protects a Python process that loads several wheels;
quench is a process of its own, and content keys name the libraries that plugins compute with.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

import elf
from failure import Failure

BUNDLED = "lib/quench/bundled"
# What every system has that the floor allows (floor.py), and what must be the one that other libraries use, too.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|mvec|dl|rt|util|resolv|pthread|gcc_s|stdc\+\+))\.so\.\d+")
# What comes from wheels: a requirement of our wheel, and inside the tarball.
OF_WHEELS = re.compile(r"lib(torch|c10|arrow|parquet|gomp|cudart|cupti).*\.so.*")


def version_of(build):
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)[1]


def make(source, build, prefix, programs=()):
    """`programs`: of the build, by their paths in it, that no installation has; with them go the libraries that they need."""
    environment = os.environ | {"QUENCH_INSTALL_DEPS": "none"}
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    for name in programs:
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "-o", prefix / name, build / name], check=True)
        elf.set_run_path(prefix / name, ["$ORIGIN/" + os.path.relpath("lib/quench/deps/torch/lib", Path(name).parent)])
    _bundle(build, prefix)
    _add_licenses(source, prefix)
    for archive in _archives(build):
        _copy_license_of(archive, prefix)
    list_plugins(source, prefix)


def list_plugins(source, prefix):
    """Writes the hashes of the plugins as they are now, to which the program holds them."""
    subprocess.run(["cmake", "-D", f"FOLDER={prefix / 'lib/quench'}", "-P", source / "cmake/list_plugins.cmake"], check=True)


# What the program loads when it needs it (core/hub/fetch/libcurl.cpp), which no ELF header names.
LOADED_LATE = {"bin/quench": ["libcurl.so.4"]}


def _archives(build):
    """Debian's static libraries in what we build: no ELF header names them, but CMake's cache does."""
    cache = (build / "CMakeCache.txt").read_text()
    return [Path(path) for path in re.findall(r"^QUENCH_SECCOMP:FILEPATH=(.+)$", cache, re.MULTILINE)]


def _is_ours(name):
    return not OF_THE_SYSTEM.fullmatch(name) and not OF_WHEELS.fullmatch(name)


def _bundle(build, prefix):
    bundled = prefix / BUNDLED
    bundled.mkdir()
    for path in list(elf.files_in(prefix)):
        to_bundled = "$ORIGIN/" + os.path.relpath(bundled, path.parent)
        libraries = elf.found_libraries(build / path.relative_to(prefix))
        for name in LOADED_LATE.get(str(path.relative_to(prefix)), []):
            libraries |= elf.loaded_library(name)
        ours = {name: file for name, file in libraries.items() if _is_ours(name)}
        for name, file in ours.items():
            if not (bundled / name).exists():
                shutil.copy(file, bundled / name)
                (bundled / name).chmod(0o755)
                elf.set_run_path(bundled / name, ["$ORIGIN"])
                _copy_license_of(file, prefix)
        if set(elf.needed(path)) & set(ours):
            elf.set_run_path(path, elf.run_path(path) + [to_bundled])


def plain_entry(entry):
    """A file in an archive, the same whoever makes it and when."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def _licenses(prefix):
    folder = prefix / "share/doc/quench/licenses"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _copy_license_of(library, prefix):
    """Debian's statement of a library's license."""
    real = library.resolve()
    names = {str(library), str(real), str(real).removeprefix("/usr"), str(library).removeprefix("/usr")}
    for name in sorted(names):
        said = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True).stdout
        package = said.split(":")[0].split(",")[0]
        if package:
            shutil.copy(f"/usr/share/doc/{package}/copyright", _licenses(prefix) / f"{package}.txt")
            return
    raise Failure(f"{library}: no Debian package has it, so its license is not known")


def _add_licenses(source, prefix):
    shutil.copy(source / "LICENSE", _licenses(prefix).parent / "LICENSE")
    copy_wheel_license(source, prefix, "plotly")  # its script is beside the package


def copy_wheel_license(source, prefix, package):
    for folder in (source / ".deps").glob(f"{package}-*.dist-info"):
        if (folder / "licenses").is_dir():
            shutil.copytree(folder / "licenses", _licenses(prefix) / package, dirs_exist_ok=True)
