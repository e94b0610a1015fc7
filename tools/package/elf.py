"""Programs and libraries: what they need, where they look for it, and which build they are."""
import re
import subprocess
from pathlib import Path

from failure import Failure


# What is loaded where all that it needs has been, libtorch's part for CUDA (plugins/shared/cuda/graphs.h).
LOADED_LAST = ("graphs.so",)


def files_in(folder):
    """The programs and shared libraries below a folder, in the order of their names. Object archives are none."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def _patchelf(*words):
    return subprocess.run(["patchelf", *map(str, words)], check=True, capture_output=True, text=True).stdout


def needed(path):
    return _patchelf("--print-needed", path).split()


def run_path(path):
    return [folder for folder in _patchelf("--print-rpath", path).strip().split(":") if folder]


def set_run_path(path, folders):
    if folders != run_path(path):
        _patchelf("--set-rpath", ":".join(folders), path)


def found_libraries(path):
    """{soname: path} of all libraries that the dynamic linker of this machine loads for `path`."""
    said = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"^\s*(\S+) => not found", said, re.MULTILINE)
    if missing and Path(path).name not in LOADED_LAST:
        raise Failure(f"{path}: needs {', '.join(missing)}, which this machine does not have")
    return {name: Path(file) for name, file in re.findall(r"^\s*(\S+) => (/.+) \(0x", said, re.MULTILINE)}


def loaded_library(name):
    """{soname: path} of a library that this machine finds by its name, and of all that it needs."""
    said = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^\s*{re.escape(name)} \(.*x86-64.*\) => (/.+)$", said, re.MULTILINE)
    if not found:
        raise Failure(f"{name}: this machine does not have it")
    return {name: Path(found[1])} | found_libraries(found[1])


def build_id(path):
    """The linker's hash of the content, which content keys hold; "" if there is none."""
    said = subprocess.run(["readelf", "--notes", "--wide", path], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", said)
    return found[1] if found else ""


def check_same_ids(build, prefix):
    """Content keys name plugins by their build ids: what was packaged must have those of the build."""
    packaged = sorted((prefix / "lib/quench").glob("*/*.so"))
    checked = 0
    for path in packaged:
        built = build / "lib/quench" / path.relative_to(prefix / "lib/quench")
        if not built.exists():  # a bundled library
            continue
        checked += 1
        if not build_id(path) or build_id(path) != build_id(built):
            raise Failure(f"{path.name}: its build id is {build_id(path)!r}, wanted {build_id(built)!r} of {built}")
    if checked == 0:
        raise Failure(f"{prefix}: no plugin of {build} is in it")
