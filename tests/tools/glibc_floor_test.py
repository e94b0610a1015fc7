"""The build asks for no younger glibc than packages may, and a package that does is refused.

usage: glibc_floor_test.py SOURCE BUILD
"""
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

source, build = (Path(word) for word in sys.argv[1:])
sys.path.insert(0, str(source / "tools/package"))
from failure import Failure  # noqa: E402
from floor import allowed_by, as_numbers, check, of_wheel  # noqa: E402

BUILT_ON = "2.36"  # Debian 12's, which packages are made with

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "floor.txt")
    file.write_text("# words\n2.35\n")
    asked = of_wheel(Path("quench_research-0.1.0-py3-none-manylinux_2_35_x86_64.whl"))
    assert asked == "2.35", asked
    check(asked, file)
    for refused in (lambda: check("2.36", file), lambda: check("3.1", file),
                    lambda: of_wheel(Path("quench_research-0.1.0-py3-none-linux_x86_64.whl"))):
        try:
            refused()
        except Failure:
            continue
        sys.exit("a package that asks for a younger glibc was not refused")

if as_numbers(platform.libc_ver()[1]) > as_numbers(BUILT_ON):
    print(f"SKIPPED: packages are made with glibc {BUILT_ON}, this is {platform.libc_ver()[1]}")
    sys.exit(77)
allowed = allowed_by(source / "tools/package/glibc_floor.txt")
libraries = [build / "bin/quench", *sorted((build / "lib/quench").glob("*/*.so"))]
assert len(libraries) > 2, libraries
too_young = []
for library in libraries:
    said = subprocess.run(["readelf", "--version-info", "--wide", library], check=True, capture_output=True, text=True).stdout
    asked = max(re.findall(r"GLIBC_(\d+\.\d+)", said), key=as_numbers)
    if as_numbers(asked) > as_numbers(allowed):
        too_young.append(f"{library.relative_to(build)} asks for glibc {asked}")
if too_young:
    sys.exit(f"wanted at most glibc {allowed} of tools/package/glibc_floor.txt: " + "; ".join(too_young))
