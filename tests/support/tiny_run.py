"""Runs for scripts that test the program: a folder with a manifest, and a small one with all that it needs."""
import json
import os
import shutil
import subprocess
from pathlib import Path

# Names, at any depth, of what may differ between two computations of one value: core/store/record_schema.cpp.
NOT_COMPARED = {"attempt", "cached", "family_interpreter", "family_process", "fused_tokens", "interpreter", "log",
                "metric_interpreter", "metric_process", "peak_memory_bytes", "process", "seconds", "stored_bytes", "threads",
                "warnings"}


def compared(value):
    if isinstance(value, dict):
        return {name: compared(inner) for name, inner in value.items()
                if name not in NOT_COMPARED and not name.endswith("_seconds")}
    return [compared(inner) for inner in value] if isinstance(value, list) else value


class RunFolder:
    """A folder in which the program works, with a QUENCH_HOME of its own and the plugins of the build."""

    def __init__(self, build, folder, environment=None):
        self.folder = Path(folder)
        self.program = Path(build).resolve() / "bin/quench"
        self.environment = {**(environment or os.environ), "QUENCH_HOME": str(self.folder / "home"),
                            "QUENCH_PLUGIN_PATH": str(Path(build).resolve() / "template")}

    def quench(self, *arguments, codes=(0,), **environment):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              env={**self.environment, **environment}, check=False)
        if done.returncode not in codes:
            raise RuntimeError(f"quench {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def records(self, run):
        """What the records of a run say, in the order of `quench results`."""
        return compared(json.loads(self.quench("results", run, "--json"))["data"]["records"])


class TinyRun(RunFolder):
    """`m.yaml`: so many checkpoints of the SDK's template family × (float + 3 quantizers), a loss on a text of so many bytes."""

    def __init__(self, source, build, folder, checkpoints=3, text_bytes=1000, environment=None):
        super().__init__(build, folder, environment)
        subprocess.run(["perl", Path(source) / "tests/sdk/tiny_checkpoint.pl", self.folder / "tiny", "template_model"],
                       check=True, stdout=subprocess.DEVNULL)
        for step in range(1, checkpoints + 1):
            model = self.folder / f"models/step{step}"
            shutil.copytree(self.folder / "tiny", model)
            weights = bytearray((model / "model.safetensors").read_bytes())
            weights[-62] ^= 8 * step  # the high bits of one weight
            (model / "model.safetensors").write_bytes(weights)
        lines = "".join(f"line {i * 7919 % 1000}\n" for i in range(text_bytes // 5 + 1))
        (self.folder / "t.txt").write_text(lines[:text_bytes])

    def write_manifest(self, cluster):
        (self.folder / "m.yaml").write_text(
            "name: m\n"
            'checkpoints: {model: models, revisions: "step{step}"}\n'
            "quantizers:\n"
            "  - template_quantizer: {bits: [2, 3, 4]}\n"
            "metrics:\n"
            "  - validation_loss: {corpus: v, block: 16}\n"
            "corpora: {v: {text: {path: t.txt}}}\n"
            f"cluster: {json.dumps(cluster)}\n")
