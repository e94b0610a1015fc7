"""The trajectory of the fixtures as folders, and as revisions of a repository on a hub of the test's own."""
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAME = "org/traj"
FILES = ["config.json", "tokenizer.json", "model.safetensors"]


def fixtures(source):
    """The folder of fixtures, as tests/support/project_folders.cpp finds it."""
    return Path(os.environ.get("QUENCH_FIXTURES") or Path(source) / "../shared/fixtures").resolve()


class TrajectoryHub:
    """Runs while the `with` statement does. Its lines are so slow that what is fetched is noticed."""

    BYTES_A_SECOND = 1_000_000

    def __init__(self, source, folder):
        self.source, self.folder = Path(source), Path(folder)
        self.models = fixtures(source) / "trajectories/gpt_neox-traj"
        self.text = fixtures(source).parent / "data/text/tinyshakespeare.txt"
        for path in (self.models, self.text):
            if not path.exists():
                sys.exit(f"{path} is not there (QUENCH_FIXTURES names the folder of fixtures)")
        self.revisions = sorted((path.name for path in self.models.glob("step*")), key=lambda name: int(name[4:]))
        self.weights_bytes = (self.models / self.revisions[0] / "model.safetensors").stat().st_size

    def __enter__(self):
        for revision in self.revisions:
            branch = self.folder / "root/models" / NAME / revision
            branch.mkdir(parents=True)
            for name in FILES:
                shutil.copy(self.models / revision / name, branch / name)
        ready = self.folder / "ready"
        words = [sys.executable, self.source / "tests/support/hub_server.py", self.folder / "root", "--ready", ready, "--log",
                 self.folder / "requests", "--fault", f"slow:safetensors:{self.BYTES_A_SECOND // 100}"]
        self.process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
        while not ready.exists():
            time.sleep(0.02)
        self.endpoint = ready.read_text().split()[0]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def transfers(self):
        """How often a file of weights was begun to be sent."""
        lines = (self.folder / "requests").read_text().splitlines()
        return sum('"cdn"' in line and "model.safetensors" in line and '"GET"' in line for line in lines)
