#!/usr/bin/env python3
"""`quench watch` on trainings that are made up: what is measured, how often, what is not, and when it warns.

usage: watch_test.py SOURCE BUILD FULL_PRIORITY     # the last: the library of full_priority.c
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "tests/support"))
import numpy as np  # noqa: E402, which quench watch needs, too
from tiny_run import TinyRun  # noqa: E402

SOURCE = Path(sys.argv[1]).resolve()
WIDTH, SILENT, STEPS = 32, 5, 6
MANIFEST = """name: w
checkpoints: {}
averaging:
  - lawa: {window: 3}
quantizers:
  - template_quantizer: {bits: 4}
metrics:
  - validation_loss: {corpus: v, block: 16}
corpora: {v: {text: {path: t.txt}}}
"""


def fail_unless(holds, what):
    if not holds:
        sys.exit(f"watch: {what}")


class Weights:
    """The tensors of a safetensors file, float32."""

    def __init__(self, path):
        self.bytes = bytearray(Path(path).read_bytes())
        size, = struct.unpack_from("<Q", self.bytes)
        self.header, self.start = json.loads(self.bytes[8:8 + size]), 8 + size

    def __getitem__(self, name):
        """The matrix itself, to be changed in place."""
        begin, end = self.header[name]["data_offsets"]
        return np.frombuffer(self.bytes, np.float32, (end - begin) // 4, self.start + begin).reshape(-1, WIDTH)


def fitted_head(weights, text):
    """The head of the template family (sdk/template/model), trained by gradient steps, so that the blocks matter to the loss."""
    ids = np.frombuffer(text[:len(text) // 16 * 16], np.uint8).reshape(-1, 16).astype(int)
    h = weights["embed.weight"][ids].astype(float)
    for block in range(2):
        x = np.cumsum(h, 1) / np.arange(1, 17)[None, :, None]
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        h = h + x @ weights[f"blocks.{block}.mix.weight"].T
    inputs, targets = h[:, :-1].reshape(-1, WIDTH), np.eye(256)[ids[:, 1:].ravel()]
    head = np.zeros((256, WIDTH))
    for _ in range(300):
        logits = inputs @ head.T
        shares = np.exp(logits - logits.max(1, keepdims=True))
        head -= 0.3 * ((shares / shares.sum(1, keepdims=True) - targets).T @ inputs) / len(inputs)
    return head


heads = []


def write_checkpoint(tiny, folder, step, outlier):
    """Feature SILENT of the residual stream is 0 for every token, so its column in the linears changes no float loss, and an
    outlier there makes the other weights of the row coarser. The embedding of a byte that no text has tells the steps apart."""
    shutil.copytree(tiny, folder)
    weights = Weights(folder / "model.safetensors")
    weights["embed.weight"][:, SILENT] = 0
    for block in range(2):
        weights[f"blocks.{block}.mix.weight"][:, SILENT] = outlier
        weights[f"blocks.{block}.mix.weight"][SILENT] = 0
    if not heads:  # the same for every outlier
        heads.append(fitted_head(weights, (tiny.parent / "t.txt").read_bytes()))
    weights["head.weight"][:] = heads[0]
    weights["embed.weight"][255, 0] = step
    (folder / "model.safetensors").write_bytes(weights.bytes)


class Watched(TinyRun):
    def __init__(self, folder):
        super().__init__(sys.argv[1], sys.argv[2], folder, checkpoints=0)
        (self.folder / "w.yaml").write_text(MANIFEST)

    def training(self, name, outliers):
        for step, outlier in enumerate(outliers, 1):
            write_checkpoint(self.folder / "tiny", self.folder / name / f"checkpoint-{100 * step}", step, outlier)

    def command(self, training, *more):
        return [str(self.program), "watch", training, "--manifest", "w.yaml", "--out", f"runs/{training}", "--settle", "1", *more]

    def watch(self, training, *more, code=0, command=None):
        done = subprocess.run(command or self.command(training, *more), cwd=self.folder, text=True, capture_output=True, check=False,
                              env={**self.environment, "LD_PRELOAD": sys.argv[3]})
        fail_unless(done.returncode == code, f"{training}: exit code {done.returncode}, wanted {code}\n{done.stdout}{done.stderr}")
        return done

    def values(self, training):
        """{(step, averaging, quantizer): values} of losses that were measured."""
        out = {}
        for record in self.records(f"runs/{training}"):
            if record["metric"] == "validation_loss" and not record["error"]:
                key = (record["checkpoint"]["step"], record["averaging"] and record["averaging"]["id"],
                       record["quantizer"] and record["quantizer"]["id"])
                out.setdefault(key, []).append(record["value"])
        return out

    def lines(self, training):
        return sum(path.read_bytes().count(b"\n") for path in (self.folder / f"runs/{training}").glob("records-*.jsonl"))


def test_a_rise_is_told(run):
    run.training("rising", [0.5] * 5 + [6.0])
    said = run.watch("rising", "--once")
    values = run.values("rising")
    for step in range(1, STEPS + 1):
        for quantizer in (None, "template_quantizer"):
            fail_unless(len(values.get((100 * step, None, quantizer), [])) == 1, f"step {step}, {quantizer}: {values}")
            averaged = values.get((100 * step, "lawa", quantizer), [])
            fail_unless(len(averaged) == (1 if step >= 3 else 0), f"the average at step {step}, {quantizer}: {averaged}")
    floats = {values[100 * step, None, None][0] for step in range(1, STEPS + 1)}
    fail_unless(len(floats) == 1, f"outliers changed the float loss: {floats}")
    warnings = [line for line in said.stderr.splitlines() if line.startswith("warning: ")]
    fail_unless(len(warnings) == 1, f"{len(warnings)} warnings, wanted 1\n{said.stderr}")
    found = re.match(r"warning: (.*) costs more at (\S+) than at (\S+): ΔCE (\S+), then (\S+); one-sided 95 % limit of the rise (\S+)",
                     warnings[0])
    fail_unless(found and (found[2], found[3]) == ("checkpoint-600", "checkpoint-100"), warnings[0])
    for said_cost, step in ((found[4], 600), (found[5], 100)):
        cost = values[step, None, "template_quantizer"][0] - values[step, None, None][0]
        fail_unless(abs(float(said_cost) - cost) < 1e-3 * abs(cost), f"step {step}: said {said_cost}, measured {cost}")
    fail_unless(0 < float(found[6]) < float(found[4]) - float(found[5]), warnings[0])


def test_each_is_measured_once(run):
    lines = run.lines("rising")
    said = run.watch("rising", "--once")
    fail_unless(run.lines("rising") == lines, "a second watch measured again")
    fail_unless("checkpoint-" not in said.stdout, f"a second watch said\n{said.stdout}")


def test_without_a_rise_nothing_is_told(run):
    run.training("level", [6.0] * STEPS)
    branch = {"checkpoint": {"revisions": [f"checkpoint-{100 * step}" for step in range(1, STEPS)], "pattern": "checkpoint-{step}"}}
    run.quench("run", "w.yaml", "--out", "runs/level", "--set", f"checkpoints.model={json.dumps(str(run.folder / 'level'))}",
               "--set", "checkpoints.branches=" + json.dumps(branch))
    said = run.watch("level", "--once")
    fail_unless(said.stdout.count("level/checkpoint-") == 1, f"what a run had measured was measured again\n{said.stdout}")
    fail_unless("warning" not in said.stderr, said.stderr)
    fail_unless(len(run.values("level")) == 2 * STEPS + 2 * (STEPS - 2), f"values: {sorted(run.values('level'), key=str)}")


def test_what_is_half_written_is_left_alone(run):
    run.training("torn", [0.5, 0.6])
    second = run.folder / "torn/checkpoint-200/model.safetensors"
    whole = second.read_bytes()
    second.write_bytes(whole[:-7])
    third = run.folder / "torn/checkpoint-300"
    third.mkdir()
    (third / "model-00001-of-00002.safetensors").write_bytes(whole)
    (third / "config.json").write_bytes((run.folder / "tiny/config.json").read_bytes())
    said = run.watch("torn", "--once")
    fail_unless({key[0] for key in run.values("torn")} == {100}, f"measured: {run.values('torn')}")
    fail_unless("checkpoint-200: waits for the end of model.safetensors" in said.stdout, said.stdout)
    fail_unless("checkpoint-300: waits for model.safetensors.index.json" in said.stdout, said.stdout)
    second.write_bytes(whole)
    run.watch("torn", "--once")
    fail_unless({key[0] for key in run.values("torn")} == {100, 200}, f"measured: {run.values('torn')}")


def test_what_vanishes_is_a_failure_and_no_end(run):
    """The program that measures is one that takes checkpoint-200 away as it starts on it."""
    run.training("leaving", [0.5, 0.6, 0.7])
    thief = run.folder / "thief"
    thief.write_text('#!/bin/sh\ncase "$*" in *checkpoint-200*) rm -rf leaving/checkpoint-200;; esac\n'
                     f'exec "{run.program}" "$@"\n')
    thief.chmod(0o755)
    start = SOURCE / "python/quench/start.py"
    said = run.watch("leaving", code=1, command=[
        "/usr/bin/python3", str(start), "watch", f"--program={thief}", "--manifest=w.yaml",
        f"--out={run.folder / 'runs/leaving'}", "--settle=1", "--once", "--", str(run.folder / "leaving")])
    fail_unless({key[0] for key in run.values("leaving")} == {100, 300}, f"measured: {run.values('leaving')}\n{said.stderr}")
    fail_unless("checkpoint-200: vanished before it was measured" in said.stderr, said.stderr)


def test_it_ends_on_signals(run):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75)):
        name = f"live{code}"
        run.training(name, [0.5])
        environment = {**run.environment, "LD_PRELOAD": sys.argv[3]}
        process = subprocess.Popen(run.command(name), cwd=run.folder, env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_for(process, lambda: run.lines(name) > 0 if (run.folder / f"runs/{name}").exists() else False, "the first is measured")
        write_checkpoint(run.folder / "tiny", run.folder / name / "checkpoint-200", 2, 0.6)
        wait_for(process, lambda: {key[0] for key in run.values(name)} == {100, 200}, "the second is measured")
        process.send_signal(number)
        out, err = process.communicate(timeout=600)
        fail_unless(process.returncode == code, f"exit code {process.returncode}, wanted {code}\n{out}{err}")
        fail_unless("Traceback" not in err and "internal error" not in err, err)


def test_it_yields_to_the_trainer(run):
    (run.folder / "nothing").mkdir()
    process = subprocess.Popen(run.command("nothing"), cwd=run.folder, env=run.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    lowest = (19, os.SCHED_IDLE)
    wait_for(process, lambda: {priority_of(pid) for pid in children_of(process.pid)} == {lowest}, f"its child has {lowest}")
    process.send_signal(signal.SIGTERM)
    fail_unless(process.wait(600) == 75, f"exit code {process.returncode}, wanted 75")


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def priority_of(pid):
    """(nice, scheduling policy): fields 19 and 41 of /proc/PID/stat"""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[16]), int(fields[38])


def wait_for(process, holds, what, seconds=3000):
    """As long as it goes on, however busy the machine is."""
    end = time.monotonic() + seconds
    while not holds():
        fail_unless(process.poll() is None, f"it ended with {process.returncode} before {what}")
        fail_unless(time.monotonic() < end, f"not within {seconds} s: {what}")
        time.sleep(0.3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = Watched(folder)
        for test in (test_a_rise_is_told, test_each_is_measured_once, test_without_a_rise_nothing_is_told,
                     test_what_is_half_written_is_left_alone, test_what_vanishes_is_a_failure_and_no_end, test_it_ends_on_signals, test_it_yields_to_the_trainer):
            test(run)
            print("ok", test.__name__[5:].replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
