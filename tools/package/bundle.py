"""The bundle: program and plugins in one small file, without libtorch and Arrow. `find-libtorch` in it links the libtorch of
the machine where it is unpacked, so the build that was tested here runs on a GPU machine without a network."""
import os
import re
import shutil
import tarfile

import installation
from failure import Failure

MOST = 60e6  # bytes
LEFT_OUT = ("include", "lib/cmake", "lib/quench/sdk", "lib/quench/corpora/arrow.so", "share/quench/template")


def torch_version(source):
    pinned = (source / "cmake/python-packages.txt").read_text()
    return re.search(r"^torch==(\S+)", pinned, re.MULTILINE)[1]


def lighten(source, prefix):
    """Takes from an installation what a bundle does not have, and adds find-libtorch."""
    for name in LEFT_OUT:
        path = prefix / name
        if not path.exists():
            raise Failure(f"{name} is not in the installation, so the bundle's list of what it leaves out is old")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    installation.list_plugins(source, prefix)
    script = (source / "tools/package/find-libtorch").read_text().replace("@TORCH@", torch_version(source))
    (prefix / "find-libtorch").write_text(script)
    (prefix / "find-libtorch").chmod(0o755)


def pack(prefix, name, out):
    """The folder as one file; one that is too large is refused."""
    path = out / f"{name}.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.GNU_FORMAT, preset=6) as whole:  # entries in the order of names
        whole.add(prefix, name, filter=installation.plain_entry)
    if path.stat().st_size > MOST:
        raise Failure(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, wanted at most {MOST / 1e6:.0f}")
    return path


def make(source, prefix, version, out):
    lighten(source, prefix)
    return pack(prefix, f"quench-{version}-linux-{os.uname().machine}-bundle", out)
