"""The bundle: find-libtorch on folders that are and are not one, and, where patchelf is there, the bundle itself.

usage: bundle_test.py SOURCE BUILD

The bundle is made of the build, unpacked into another folder, given the build's libtorch, and asked to measure a model: the
value and its key must be the build's.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
SKIPPED = 77


def fail(text):
    sys.exit(f"FAILED: {text}")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


def check(condition, text):
    if not condition:
        fail(text)


def unpacked_libtorch(folder, version, cuda):
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/libtorch_cpu.so").touch()
    if cuda:
        (folder / "lib/libtorch_cuda.so").touch()
    (folder / "build-version").write_text(version + "\n")
    return folder


def find_libtorch(here):
    """The script alone, in a folder of its own."""
    bundle = here / "bundle"
    bundle.mkdir()
    script = bundle / "find-libtorch"
    script.write_text((SOURCE / "tools/package/find-libtorch").read_text().replace("@TORCH@", "2.11.0"))
    script.chmod(0o755)
    link = bundle / "lib/quench/deps/torch"

    def said(*arguments, code, **options):
        done = run(script, *arguments, **options)
        check(done.returncode == code, f"{arguments}: exit code {done.returncode}, wanted {code}: {done.stderr}")
        return done.stdout + done.stderr

    absent = said(here / "nothing", code=1)
    check("nothing/lib/libtorch_cpu.so is not there" in absent, absent)
    old = said(unpacked_libtorch(here / "old", "2.10.1+cu128", True), code=1)
    check("is torch 2.10.1+cu128, wanted 2.11.0" in old and not link.exists(), old)
    longer = said(unpacked_libtorch(here / "longer", "2.11.01", True), code=1)
    check("is torch 2.11.01, wanted 2.11.0" in longer, longer)
    plain = said(unpacked_libtorch(here / "plain", "2.11.0+cpu", False), code=0)
    check("a build for processors only" in plain and link.resolve() == (here / "plain").resolve(), plain)
    full = said(unpacked_libtorch(here / "a gpu's", "2.11.0+cu130", True), code=0)
    check("processors only" not in full and link.resolve() == (here / "a gpu's").resolve(), full)
    package = unpacked_libtorch(here / "site/torch", "", True)
    (package / "build-version").unlink()
    (package / "__init__.py").touch()
    (package / "version.py").write_text("__version__ = '2.11.0+cu130'\n")
    by_python = said(code=0, env=os.environ | {"PYTHONPATH": str(here / "site"), "VIRTUAL_ENV": ""})
    check("libtorch 2.11.0+cu130 in" in by_python and link.resolve() == package.resolve(), by_python)
    nowhere = said(code=1, env={"PATH": f"{here / 'no'}:/usr/bin:/bin", "PYTHONPATH": "", "HOME": str(here)}) \
        if not Path("/usr/lib/python3/dist-packages/torch").exists() else "name its folder"
    check("name its folder" in nowhere, nowhere)


def measured(program, folder):
    """Float and rounded losses of a small model by that program, and their keys."""
    folder.mkdir()
    (folder / "text.txt").write_text("12 + 34 = 46, 7 - 5 = 2; " * 60)
    done = run(program, "eval", SOURCE / "tests/data/training/trained", "--tokenizer", "bytes", "--metric",
               "validation_loss:text=text.txt,block=16", "--quantizer", "rtn:bits=4,group_size=16", "--json", cwd=folder,
               env=os.environ | {"QUENCH_HOME": str(folder / "home")})
    check(done.returncode == 0, f"{program}: {done.stderr}")
    return [(record.get("key"), record["metric"], record["value"], record["items"])
            for record in json.loads(done.stdout)["data"]["records"]]


def whole(here):
    out = here / "packages"
    made = run(sys.executable, SOURCE / "tools/package/package", SOURCE, BUILD, "--bundle", out,
               env=os.environ | {"SOURCE_DATE_EPOCH": "1000000000"})
    check(made.returncode == 0, made.stderr)
    [archive] = out.glob("*-bundle.tar.xz")
    with tarfile.open(archive) as packed:
        packed.extractall(here / "elsewhere", filter="fully_trusted")
    [root] = (here / "elsewhere").iterdir()
    linked = run(root / "find-libtorch", SOURCE / ".deps/torch")
    check(linked.returncode == 0, linked.stderr)
    check(not (root / "lib/quench/corpora/arrow.so").exists(), "the plugin that needs Arrow is inside")
    doctor = run(root / "bin/quench", "doctor", "--json", env=os.environ | {"QUENCH_HOME": str(here / "home")})
    about = json.loads(doctor.stdout)["data"]
    check(doctor.returncode == 0 and about["healthy"], doctor.stdout)
    check(about["plugins"]["found"] > 40, doctor.stdout)
    torch = str((SOURCE / ".deps/torch/lib/libtorch_cpu.so").resolve())
    check(any(line.endswith(torch) for line in about["libraries"]), doctor.stdout)
    built = json.loads(run(BUILD / "bin/quench", "doctor", "--json").stdout)["data"]
    if built["gpus"]["kernels"]:
        check(about["gpus"]["kernels"] == str(root / "lib/quench/cuda/kernels.so"), doctor.stdout)
    theirs, ours = measured(root / "bin/quench", here / "theirs"), measured(BUILD / "bin/quench", here / "ours")
    check(len(ours) == 3 and theirs == ours, f"{theirs}\n{ours}")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        find_libtorch(Path(folder))
        if not (SOURCE / ".deps/packaging/bin/patchelf").exists():
            print("SKIPPED: .deps/packaging has no patchelf: ./dev package installs it")
            sys.exit(SKIPPED)
        whole(Path(folder))


if __name__ == "__main__":
    main()
