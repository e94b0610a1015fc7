"""The tarball: an installation with the libraries of wheels inside, for machines without a network."""
import gzip
import os
import shutil
import tarfile

import elf
import installation

WHEELS = ("torch", "pyarrow", "nvidia_cuda_runtime", "nvidia_cuda_cupti")


def make(source, build, prefix, version, out):
    """Adds to `prefix`, and packs it."""
    deps = prefix / "lib/quench/deps"
    for plugin in (build / "lib/quench").glob("*/*.so"):
        for file in elf.found_libraries(plugin).values():
            inside = os.path.realpath(file)
            if not inside.startswith(f"{os.path.realpath(source / '.deps')}/"):
                continue
            to = deps / os.path.relpath(inside, os.path.realpath(source / ".deps"))
            if not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(inside, to)
    for wheel in WHEELS:
        installation.copy_wheel_license(source, prefix, wheel)
    name = f"quench-{version}-linux-{os.uname().machine}"
    path = out / f"{name}.tar.gz"
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, time) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as whole:  # entries in the order of names
            whole.add(prefix, name, filter=installation.plain_entry)
    return path
