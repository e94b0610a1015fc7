#!/usr/bin/env python3
"""How fast a folder of safetensors becomes a model in memory, beside safetensors' own loader and a streamer.

  load_rate.py FOLDER [--quench build/release/bin/quench] [--blocks 4] [--rounds 3] [--threads 2] [--python PYTHON] [--device cpu] [--cold]

FOLDER gets blocks of a 7B Llama with random bfloat16 weights (kept for the next time). quench runs a loss of eight tokens on them: once in a
new home, where the weights are hashed for the keys, and once more, where the hashes are known and each block of them is only compared. What a
model of one block takes is taken off both, so that the start of the process, the forward and the answer are not counted. PYTHON has safetensors and torch
(or numpy alone); its time is that of load_file for every file, imports not counted; and, if it has runai_model_streamer, that of this streamer
with as many threads. Files are in the page cache: they were read once before. --cold: they are dropped from it before each measurement.
Times are the best of the rounds; on a machine with other work only processor time says something.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
THEIRS = """
import json, sys, time, resource
try:
    import torch
    from safetensors.torch import load_file
    torch.set_num_threads(int(sys.argv[1]))
    what = "torch"
except ImportError:
    from safetensors.numpy import load_file
    what = "numpy"
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
wall, before, total = time.monotonic(), cpu(), 0
kept = []
for path in sys.argv[3:]:
    tensors = load_file(path, device=sys.argv[2]) if what == "torch" else load_file(path)
    if what == "torch" and sys.argv[2] == "cpu":  # it maps the file: a copy is what a model that is computed with needs
        tensors = {name: value.clone() for name, value in tensors.items()}
    kept.append(tensors)
if what == "torch" and sys.argv[2] != "cpu":
    torch.cuda.synchronize()
print(json.dumps({"what": what, "wall": time.monotonic() - wall, "cpu": cpu() - before}))
"""
STREAMED = """
import json, os, sys, time, resource
os.environ["RUNAI_STREAMER_CONCURRENCY"] = sys.argv[1]
import torch
from runai_model_streamer import SafetensorsStreamer
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
wall, before, kept = time.monotonic(), cpu(), {}
with SafetensorsStreamer() as streamer:
    streamer.stream_files(sys.argv[3:])
    for name, tensor in streamer.get_tensors():
        kept[name] = tensor.clone() if sys.argv[2] == "cpu" else tensor.to(sys.argv[2])
if sys.argv[2] != "cpu":
    torch.cuda.synchronize()
print(json.dumps({"wall": time.monotonic() - wall, "cpu": cpu() - before}))
"""


def gpu_table():
    loader = SourceFileLoader("gpu_table", str(HERE / "gpu_table"))
    module = module_from_spec(spec_from_loader("gpu_table", loader))
    loader.exec_module(module)
    return module


def timed(words, home):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "QUENCH_HOME": home})
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def dropped(files):
    """Takes files out of the page cache."""
    for path in files:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def theirs(arguments, program, files):
    if arguments.cold:
        dropped(files)
    done = subprocess.run([arguments.python, "-c", program, str(arguments.threads), arguments.device, *files], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def ours(arguments, model, ids):
    """[(wall, cpu) in a new home, (wall, cpu) again]."""
    times = []
    with tempfile.TemporaryDirectory() as home:
        for block in (8, 4):
            manifest = {"name": "load", "checkpoints": {"model": str(model.resolve())}, "device": arguments.device, "dtype": "bfloat16",
                        "metrics": [{"validation_loss": {"corpus": "ids", "block": block}}], "corpora": {"ids": {"tokens": {"path": str(ids.resolve())}}}}
            (Path(home) / "load.yaml").write_text(json.dumps(manifest))
            if arguments.cold:
                dropped(model.glob("*.safetensors"))
            times.append(timed([arguments.quench, "run", f"{home}/load.yaml", "--out", f"{home}/{block}", "--threads", str(arguments.threads)], home))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quench", default=str(HERE.parents[1] / "build/release/bin/quench"))
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--python")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    table = gpu_table()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    models = {}
    for blocks in (1, arguments.blocks + 1):
        shape = table.Shape("7b", blocks)
        models[blocks] = arguments.folder / f"7b-{blocks}"
        table.write_checkpoint(shape, str(models[blocks]))
    ids = arguments.folder / "ids.safetensors"
    table.write_ids(ids, 1, 8, shape.vocabulary)
    small, large = models.values()
    weights = sum(rows * columns for rows, columns in shape.linears()[0]) * arguments.blocks
    bytes_read = 2 * (weights + 2 * shape.width * arguments.blocks)
    files = sorted(large.glob("model-[0-9]*.safetensors"))[1:]  # as many blocks as make the difference
    for path in [] if arguments.cold else files:
        path.read_bytes()
    streams = arguments.python and subprocess.run([arguments.python, "-c", "import runai_model_streamer"], capture_output=True, check=False).returncode == 0
    names, rows = ("quench, new home", "quench, hashes known"), {}
    for _ in range(arguments.rounds):
        less, more = ours(arguments, small, ids), ours(arguments, large, ids)
        for name, *both in zip(names, less, more):
            rows.setdefault(name, []).append([*both[0], *both[1]])
        if arguments.python:
            said = theirs(arguments, THEIRS, files)
            rows.setdefault(f"safetensors, {said['what']}", []).append((said["wall"], said["cpu"]))
        if streams:
            said = theirs(arguments, STREAMED, files)
            rows.setdefault("runai_model_streamer", []).append((said["wall"], said["cpu"]))
    print(f"{arguments.blocks} blocks of 7B, {bytes_read / 1e9:.2f} GB, {arguments.threads} threads, {arguments.device}, "
          f"{'files not' if arguments.cold else 'files'} in the page cache")
    for name, values in rows.items():
        best = [min(column) for column in zip(*values)]
        wall, cpu = (best[2] - best[0], best[3] - best[1]) if name in names else best
        print(f"{name:<24} {wall:6.2f} s ({bytes_read / 1e9 / wall:5.2f} GB/s), cpu {cpu:6.2f} s")


if __name__ == "__main__":
    main()
