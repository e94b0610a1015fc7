"""The oldest glibc that a package runs on, which auditwheel reads from the symbols that its libraries ask for."""
import re

from failure import Failure


def of_wheel(path):
    """"2.35" of a wheel that auditwheel has named."""
    found = re.search(r"-manylinux_(\d+)_(\d+)_", path.name)
    if not found:
        raise Failure(f"{path.name}: auditwheel finds no manylinux platform that it runs on")
    return f"{found[1]}.{found[2]}"


def as_numbers(version):
    return tuple(map(int, version.split(".")))


def allowed_by(file):
    lines = [line.strip() for line in file.read_text().splitlines()]
    return next(line for line in lines if line and not line.startswith("#"))


def check(asked, file):
    allowed = allowed_by(file)
    if as_numbers(asked) > as_numbers(allowed):
        raise Failure(f"the packages ask for glibc {asked}, wanted at most {allowed} of {file}")
    if as_numbers(asked) < as_numbers(allowed):
        print(f"the packages ask for glibc {asked} only: {file} may say so")
