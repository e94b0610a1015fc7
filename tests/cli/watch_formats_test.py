#!/usr/bin/env python3
"""`quench watch` on what trainers write that is no folder of safetensors, and with GPTQ: the values are those of `quench eval`.

usage: watch_formats_test.py SOURCE BUILD
"""
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "tests/support"))
from made_gpt_neox import CONFIG, write_folder  # noqa: E402
from tiny_run import RunFolder  # noqa: E402
from trajectory_hub import fixtures  # noqa: E402

SKIPPED = 77
SOURCE = Path(sys.argv[1]).resolve()
METRIC = "validation_loss:text=t.txt,block=32"
GPTQ, CALIBRATION = "gptq:bits=4,group_size=16", "text=t.txt,sequences=4,length=32"
MANIFEST = """name: w
checkpoints: {}
calibration: {c: {corpus: t, sequences: 4, length: 32, packing: concat}}
quantizers:
  - gptq: {bits: 4, group_size: 16}
    calibration: c
metrics:
  - validation_loss: {corpus: t, block: 32}
corpora: {t: {text: {path: t.txt}}}
"""


def fail_unless(holds, what):
    if not holds:
        sys.exit(f"watch: {what}")


class Watched(RunFolder):
    def __init__(self, folder):
        super().__init__(sys.argv[2], folder)
        (self.folder / "t.txt").write_text("".join(f"line {i * 7919 % 1000}\n" for i in range(120)))
        (self.folder / "w.yaml").write_text(MANIFEST)

    def watch(self, folder, *more):
        done = subprocess.run([self.program, "watch", folder, "--manifest", "w.yaml", "--out", f"runs/{folder}", "--settle", "1", "--once",
                               *more], cwd=self.folder, env=self.environment, text=True, capture_output=True, check=False)
        fail_unless(done.returncode == 0, f"{folder}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def losses(self, records):
        """{(step, quantizer): loss}"""
        out = {}
        for record in records:
            if record["metric"] == "validation_loss":
                fail_unless(not record["error"], record["error"])
                quantizer = record["quantizer"] and record["quantizer"]["id"]
                fail_unless(out.setdefault((record["checkpoint"]["step"], quantizer), record["value"]) == record["value"],
                            f"two values of {quantizer}: {records}")
        return out

    def watched(self, folder):
        return self.losses(self.records(f"runs/{folder}"))

    def evaluated(self, model, step, *more):
        """The same by `quench eval`, in a home of its own, so that nothing is taken from what the watch measured."""
        said = self.quench("eval", model, "--metric", METRIC, "--quantizer", GPTQ, "--calibration", CALIBRATION, "--json", *more,
                           QUENCH_HOME=str(self.folder / "other"))
        return {(step, quantizer): value for (_, quantizer), value in self.losses(json.loads(said)["data"]["records"]).items()}


def compare(run, folder, expected):
    got = run.watched(folder)
    fail_unless(len(expected) == 4 and len(set(expected.values())) == 4, f"{folder}: no four values to compare with: {expected}")
    fail_unless(got == expected, f"{folder}: watched {got}, wanted {expected}")


def test_gptq_on_folders_of_a_training(run):
    models, expected = fixtures(SOURCE) / "trajectories/gpt_neox-traj", {}
    for step in 120, 1200:
        target = run.folder / f"trained/checkpoint-{step}"
        target.mkdir(parents=True)
        for name in "config.json", "tokenizer.json", "model.safetensors":
            shutil.copy(models / f"step{step}" / name, target / name)
        expected.update(run.evaluated(target, step))
    said = run.watch("trained")
    fail_unless(said.count("trained/checkpoint-") == 2 and said.count("ΔCE") == 2, said)
    compare(run, "trained", expected)
    lines = (run.folder / "runs/trained").glob("records-*.jsonl")
    before = sorted((path, path.read_bytes()) for path in lines)
    fail_unless("checkpoint-" not in run.watch("trained"), "a second watch measured again")
    fail_unless(sorted((path, path.read_bytes()) for path in (run.folder / "runs/trained").glob("records-*.jsonl")) == before,
                "a second watch wrote records")


def changed_archive(source, target):
    """The same torch archive with other numbers in its largest tensor."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        largest = max((entry for entry in archive.infolist() if "/data/" in entry.filename), key=lambda entry: entry.file_size)
        for entry in archive.infolist():
            data = archive.read(entry)
            if entry is largest:
                data = data[len(data) // 2:] + data[:len(data) // 2]
            out.writestr(zipfile.ZipInfo(entry.filename), data)


def test_archives_of_torch(run):
    model, expected = fixtures(SOURCE) / "models/gpt_neox-small", {}
    archives = run.folder / "archives"
    archives.mkdir()
    shutil.copy(model / "pytorch_model.bin", archives / "step100.pth")
    changed_archive(model / "pytorch_model.bin", archives / "step200.pth")
    for step in 100, 200:
        folder = run.folder / f"as_folders/step{step}"
        folder.mkdir(parents=True)
        for name in "config.json", "tokenizer.json":
            shutil.copy(model / name, folder / name)
        shutil.copy(archives / f"step{step}.pth", folder / "pytorch_model.bin")
        expected.update(run.evaluated(folder, step))
    (archives / "step300.pth").write_bytes((archives / "step100.pth").read_bytes()[:-30])
    said = run.watch("archives", "--config", model / "config.json", "--tokenizer", model / "tokenizer.json")
    fail_unless("step300.pth: waits for the end of step300.pth" in said, said)
    compare(run, "archives", expected)


def test_distributed_checkpoints_of_torch(run):
    expected = {}
    shutil.copytree(SOURCE / "tests/data/dcp/watched", run.folder / "dcp")
    (run.folder / "config.json").write_text(json.dumps(CONFIG))
    for step in 100, 200:
        folder = run.folder / f"made/step{step}"
        write_folder(folder, step)
        expected.update(run.evaluated(folder, step, "--tokenizer", "bytes"))
    written = run.folder / "dcp/step300"
    written.mkdir()
    shutil.copy(run.folder / "dcp/step100/__0_0.distcp", written)
    said = run.watch("dcp", "--config", "config.json", "--tokenizer", "bytes")
    fail_unless("step300: waits for .metadata" in said, said)
    compare(run, "dcp", expected)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = Watched(folder)
        for test in test_distributed_checkpoints_of_torch, test_archives_of_torch, test_gptq_on_folders_of_a_training:
            if test is not test_distributed_checkpoints_of_torch and not fixtures(SOURCE).exists():
                print(f"SKIPPED: {fixtures(SOURCE)} is not there (QUENCH_FIXTURES names the folder of fixtures)")
                sys.exit(SKIPPED)
            test(run)
            print("ok", test.__name__[5:].replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
