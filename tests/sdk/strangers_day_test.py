#!/usr/bin/env python3
"""What somebody else does in a day with an installed quench and without this repository: starts a plugin with
`quench plugins new`, builds it, tries its promises, measures with it and exports what it made. A row of DAYS is a plugin.
How many lines it took them and how many seconds each step takes here is printed.

Arguments: a build folder, which is installed for this, or an installation; and the rows of DAYS that are wanted (default: all).
"""
import dataclasses
import json
import os
import shutil
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import twin_checkpoints  # noqa: E402

THEIRS = HERE / "strangers"
STEPS = ("new", "build", "check", "eval", "export")
PAGES = ("writing-a-plugin.md", "abi.md", "abi-reference.md", "worker.md", "python.md", "families.md", "formats.md", "quantizers.md")


class Missing(Exception):
    """Why a row cannot be tried here."""


@dataclasses.dataclass
class Plugin:
    kind: str  # as `quench plugins new` names it
    id: str
    source: str = ""  # of THEIRS; the template's own where it is ""


@dataclasses.dataclass
class Day:
    """One row: what is written, what `check` tries it on, and what is measured and exported."""

    name: str
    plugins: list[Plugin]
    measure: Callable  # (Desk) -> what `eval` prints
    export: Callable  # (Desk) -> None; raises AssertionError
    sample: Callable = lambda desk: None
    make: Callable = None  # (Desk, Day): instead of new and build with CMake; returns files to check


class Desk:
    """The folder that one of them works in: the installed program, their plugins, models to try them on."""

    def __init__(self, prefix, folder):
        self.prefix, self.folder = prefix, folder
        self.built, self.lines, self.seconds = folder / "built", 0, dict.fromkeys(STEPS, 0.0)
        folder.mkdir()
        self.built.mkdir()
        home = os.environ.get("HOME", "/root")
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "CC", "CXX", "CCACHE_DIR", "TMPDIR") if name in os.environ},
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", home + "/.rustup"),
            "CARGO_HOME": os.environ.get("CARGO_HOME", home + "/.cargo"),
            "HOME": str(folder / "home"), "QUENCH_HOME": str(folder / "home")}

    def run(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, "%s: exit code %d\n%s%s" % (" ".join(map(str, words)), done.returncode, done.stdout, done.stderr)
        return done.stdout

    def quench(self, *words):
        return self.run(self.prefix / "bin/quench", *words)

    def json(self, verb, *words):
        """The data that a verb with their plugins prints."""
        return json.loads(self.quench(verb, *words, "--plugin-path", self.built, "--json"))["data"]

    def twins(self, family="their_qwen3"):
        """A model of theirs and one of ours with the same weights, and ids; made once."""
        folder = self.folder / ("twins of " + family)
        if not folder.exists():
            twin_checkpoints.write_twins(str(folder), family)
        return folder


def new_and_build(desk, day):
    """Starts each plugin's repository, puts their source into it and builds it with CMake and nothing else."""
    files = []
    for plugin in day.plugins:
        repository = desk.folder / plugin.id
        with step(desk, "new"):
            desk.quench("plugins", "new", plugin.kind, plugin.id, repository)
        source = next(path for path in repository.glob(plugin.id + ".c*"))
        if plugin.source:
            shutil.copy(THEIRS / plugin.source, source)
        desk.lines += len(source.read_text().splitlines())
        sample = day.sample(desk)
        with step(desk, "build"):
            desk.run("cmake", "-S", repository, "-B", repository / "build", "-DCMAKE_PREFIX_PATH=%s" % desk.prefix,
                     "-DQUENCH_SAMPLE=%s" % (sample or ""))
            desk.run("cmake", "--build", repository / "build")
        built, = (repository / "build").glob("*/%s.so" % plugin.id)
        with step(desk, "check"):
            desk.run("ctest", "--test-dir", repository / "build", "--output-on-failure")
        shutil.copy(built, desk.built)
        files.append(built)
    return files


class step:
    """Adds what is done within to the seconds of a step."""

    def __init__(self, desk, name):
        self.desk, self.name = desk, name

    def __enter__(self):
        self.began = time.monotonic()

    def __exit__(self, *failure):
        self.desk.seconds[self.name] += time.monotonic() - self.began


def loss(folder):
    return "validation_loss:tokens=%s,block=32" % (folder / "ids.safetensors")


def values(data):
    """Of the losses that `eval` printed: float, then quantized."""
    records = [record for record in data["records"] if record["metric"] == "validation_loss"]
    assert records and not any(record["error"] for record in records), data["records"]
    return [record["value"] for record in records]


def export_of(quantizer, form):
    """Exports with a quantizer to a format, and reads it back: what was measured is what was written."""

    def export(desk, model=None, metric=None):
        model = model or desk.twins() / "ours"
        metric = metric or loss(desk.twins())
        said = desk.json("quantize", model, "--quantizer", quantizer, "--format", form, "-o", desk.folder / "exported", "--metric", metric)
        got = said["metrics"][0]
        read = desk.json("eval", desk.folder / "exported", "--metric", metric)
        assert read["records"][0]["checkpoint"]["stored"]["format"] == form, read["records"][0]["checkpoint"]
        assert values(read) == [got["quantized"]] and got["quantized"] != got["float"], (got, read)

    return export


def eval_with(quantizer):
    def measure(desk):
        floating, quantized = values(desk.json("eval", desk.twins() / "ours", "--quantizer", quantizer, "--metric", loss(desk.twins())))
        assert floating != quantized, quantized

    return measure


def eval_levels(desk):
    """A table of values with its own count of bits: of eight values an index has 3, and a row nine float32."""
    eval_with("levels")(desk)
    data = desk.json("eval", desk.twins() / "ours", "--quantizer", "levels:values=8", "--metric", loss(desk.twins()))
    bits = [record["quantizer"]["bits_per_weight"] for record in data["records"] if record["quantizer"]][0]
    assert 3 + 9 * 32 / twin_checkpoints.INNER < bits < 3 + 9 * 32 / twin_checkpoints.WIDTH, bits


def family_day(name, family):
    """A family whose values are, bit for bit, those of ours with the same mathematics."""

    def measure(desk):
        twins = desk.twins(family)
        both = [desk.json("eval", twins / each, "--quantizer", "gptq:bits=3", "--calibration", "tokens=%s" % (twins / "ids.safetensors"),
                          "--metric", loss(twins)) for each in ("theirs", "ours")]
        assert both[0]["records"][0]["environment"]["family"] == family
        assert values(both[0]) == values(both[1]) and len(set(values(both[0]))) == 2, [values(each) for each in both]

    def export(desk):
        twins = desk.twins(family)
        export_of("rtn:bits=4,group_size=16", "compressed-tensors")(desk, twins / "theirs", loss(twins))

    return Day(name, [Plugin("decoder", family, family + ".cpp")], measure, export, sample=lambda desk: desk.twins(family) / "theirs")


def measure_both(desk):
    """What one of them scores and what the other finds in the weights: other values once these are quantized."""
    data = desk.json("eval", desk.twins() / "ours", "--quantizer", "rtn:bits=3", "--metric",
                     "last_token:tokens=%s" % (desk.twins() / "ids.safetensors"), "--metric", "outliers")
    for metric in ("last_token", "outliers"):
        got = [record["value"] for record in data["records"] if record["metric"] == metric]
        assert len(got) == 2 and got[0] != got[1], data["records"]


def export_last_token(desk):
    said = desk.json("quantize", desk.twins() / "ours", "--quantizer", "rtn:bits=4,group_size=16", "--format", "compressed-tensors", "-o",
                     desk.folder / "exported", "--metric", "last_token:tokens=%s" % (desk.twins() / "ids.safetensors"))
    assert said["metrics"][0]["metric"] == "last_token", said["metrics"]


def chars_file(desk):
    """The characters of the vocabulary, and a text of them beside."""
    file = desk.folder / "letters.chars"
    letters = string.ascii_letters + string.digits + " \n"
    assert len(letters) == twin_checkpoints.VOCABULARY
    file.write_text(letters)
    (desk.folder / "text.txt").write_text("The quick brown fox jumps over the lazy dog 0123456789\n" * 20)
    return file


def with_chars(desk):
    return "validation_loss:text=%s,block=32" % (desk.folder / "text.txt"), ("--tokenizer", "chars:%s" % (desk.folder / "letters.chars"))


def measure_chars(desk):
    metric, tokenizer = with_chars(desk)
    data = desk.json("eval", desk.twins() / "ours", "--quantizer", "rtn:bits=3", "--metric", metric, *tokenizer)
    assert len(set(values(data))) == 2


def export_chars(desk):
    metric, tokenizer = with_chars(desk)
    said = desk.json("quantize", desk.twins() / "ours", "--quantizer", "rtn:bits=4,group_size=16", "--format", "compressed-tensors", "-o",
                     desk.folder / "exported", "--metric", metric, *tokenizer)
    read = desk.json("eval", desk.folder / "exported", "--metric", metric, *tokenizer)
    assert values(read) == [said["metrics"][0]["quantized"]], (read, said)


def make_in_rust(desk, day):
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        raise Missing("no cargo and rustc")
    with step(desk, "new"):
        shutil.copytree(desk.prefix / "share/quench/rust", desk.folder / "rust")
    example = desk.folder / "rust/example"
    desk.lines += len((example / "src/lib.rs").read_text().splitlines())
    with step(desk, "build"):
        desk.run("cargo", "build", "--release", "--offline", "--manifest-path", example / "Cargo.toml", "--target-dir", desk.folder / "target")
    built = desk.folder / "target/release/librust_rounding.so"
    shutil.copy(built, desk.built)
    with step(desk, "check"):
        desk.quench("plugins", "check", built)


def make_worker(desk, day):
    """A program that speaks the messages itself, and the file that registers it."""
    program, registered = desk.built / "signs_worker.py", desk.built / "signs.worker"
    with step(desk, "new"):
        shutil.copy(THEIRS / program.name, program)
        registered.write_text(json.dumps({"program": program.name}))
    desk.lines += len(program.read_text().splitlines())
    with step(desk, "check"):
        desk.quench("plugins", "check", registered)


DAYS = [
    Day("a quantizer with a format", [Plugin("format", "ternary_bytes"), Plugin("quantizer", "ternary", "ternary.cpp")],
        eval_with("ternary"), export_of("ternary", "ternary_bytes")),
    Day("a codebook quantizer with a format",
        [Plugin("format", "level_tables", "level_tables.cpp"), Plugin("quantizer", "levels", "levels.cpp")], eval_levels,
        export_of("levels", "level_tables")),
    family_day("Qwen3", "their_qwen3"),
    family_day("Gemma 2", "their_gemma2"),
    Day("a metric", [Plugin("metric", "last_token", "last_token.cpp"), Plugin("metric", "outliers", "outliers.cpp")], measure_both,
        export_last_token),
    Day("a tokenizer", [Plugin("tokenizer", "chars", "chars.cpp")], measure_chars, export_chars, sample=chars_file),
    Day("a quantizer in Rust", [], eval_with("rust_rounding"), export_of("rust_rounding", "compressed-tensors"), make=make_in_rust),
    Day("a worker without our package", [], eval_with("signs"), export_of("signs", "compressed-tensors"), make=make_worker),
]


def installed(folder, work):
    """The installation that is tried."""
    if not (folder / "CMakeCache.txt").exists():
        return folder
    prefix = work / "prefix"
    subprocess.run(["cmake", "--install", folder, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "QUENCH_INSTALL_DEPS": "symlink"})
    return prefix


def main():
    folder, *wanted = sys.argv[1:]
    faults = []
    with tempfile.TemporaryDirectory() as work:
        prefix = installed(Path(folder).resolve(), Path(work))
        faults += ["no " + page for page in PAGES if not (prefix / "share/quench/docs" / page).is_file()]
        print("%-36s %6s %s" % ("", "lines", " ".join("%8s" % name for name in STEPS)), flush=True)
        for number, day in enumerate(day for day in DAYS if not wanted or day.name in wanted):
            desk = Desk(prefix, Path(work) / str(number))
            try:
                (day.make or new_and_build)(desk, day)
                with step(desk, "eval"):
                    day.measure(desk)
                with step(desk, "export"):
                    day.export(desk)
            except Missing as why:
                print("%-36s not tried: %s" % (day.name, why), flush=True)
                continue
            except AssertionError as fault:
                faults.append(day.name)
                print("%-36s FAILED: %s" % (day.name, fault), flush=True)
                continue
            print("%-36s %6d %s" % (day.name, desk.lines, " ".join("%6.1f s" % desk.seconds[name] for name in STEPS)), flush=True)
    sys.exit("FAILED: " + ", ".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
