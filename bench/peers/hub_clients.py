#!/usr/bin/env python3
"""Quench's client of the Hugging Face hub beside huggingface_hub, against a hub that does what hubs and lines do wrong.

  hub_clients.py --quench build/release/bin/quench [--kills 30]

Run it with the python of the environment that `bench/peers/setup FOLDER python3 hub` makes. Both fetch one revision, with a
file of 3 MB, from tests/support/hub_server.py; a silent line may last 2 s for both. Printed:
  killed      killed at random moments while the weights come: how often, bytes that were sent in all as a multiple of the
              file, files left over, and whether the weights are the hub's in the end
  together    two at once on one cache: bytes that were sent in all, and whether both end right
  FAULT       one row for each fault of the server: exit code, seconds, and what the name of the weights leads to: the
              hub's bytes ("right"), other bytes ("WRONG"), or nothing ("absent")
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
SIZE = 3_000_000
FETCH = "import sys, huggingface_hub; huggingface_hub.snapshot_download('org/name', revision='main')"
FAULTS = [
    "cut:safetensors:500000", "cut:safetensors:0", "short:safetensors:1000", "long:safetensors:5", "flip:safetensors:123",
    "flip:safetensors:123:1", "change:safetensors:10:1 cut:safetensors:100000:1", "flip:config.json:3", "stall:safetensors:1000",
    "norange:safetensors cut:safetensors:500000:1", "badrange:safetensors::1 cut:safetensors:100000:1", "status:safetensors:503:2",
    "status:safetensors:503", "commit:safetensors", "scheme:safetensors", "loop:safetensors", "drip:config.json:2", "down",
]


class Hub:
    def __init__(self, folder, faults=()):
        self.log, ready = folder / "log", folder / "ready"
        for file in (self.log, ready):
            file.unlink(missing_ok=True)
        words = [sys.executable, SOURCE / "tests/support/hub_server.py", folder / "root", "--ready", ready, "--log", self.log]
        words += [word for fault in faults for word in ("--fault", fault)]
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
        while not ready.exists():
            time.sleep(0.02)
        self.endpoint = ready.read_text().split()[0]

    def transfers(self):
        """How often the weights were begun to be sent."""
        lines = map(json.loads, self.log.read_text().splitlines() if self.log.exists() else [])
        return sum(line["host"] == "cdn" and line["method"] == "GET" for line in lines)

    def sent(self):
        return json.load(urllib.request.urlopen(self.endpoint + "/sent"))

    def end(self):
        self.process.kill()
        self.process.wait()


class Client:
    def __init__(self, name, words, folder):
        self.name, self.words, self.folder = name, words, folder

    def start(self, endpoint, cache):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "QUENCH_HOME": str(self.folder / "home"),
                       "HF_HUB_CACHE": str(cache), "HF_ENDPOINT": endpoint, "HF_HUB_DOWNLOAD_TIMEOUT": "2",
                       "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        return subprocess.Popen(self.words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fetch(self, endpoint, cache):
        began = time.monotonic()
        process = self.start(endpoint, cache)
        try:
            code = process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "-"
        return code, time.monotonic() - began


def verdict(folder, cache):
    wanted = folder / "root/models/org/name/main"
    found = {name: list(cache.glob(f"models--org--name/snapshots/*/{name}")) for name in ("model.safetensors", "config.json")}
    if any(len(files) != 1 or not files[0].exists() for files in found.values()):
        return "absent"
    return "right" if all((wanted / n).read_bytes() == f[0].read_bytes() for n, f in found.items()) else "WRONG"


def killed(client, folder, kills):
    hub, cache, chance = Hub(folder, ["slow:safetensors:40000"]), folder / f"killed-{client.name}", random.Random(7)
    landed = 0
    for _ in range(kills):
        before, process = hub.transfers(), client.start(hub.endpoint, cache)
        while hub.transfers() == before and process.poll() is None:
            time.sleep(0.005)
        if process.poll() is not None:
            break
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.wait()
        landed += 1
    code, _ = client.fetch(hub.endpoint, cache)
    sent = hub.sent()
    hub.end()
    return (f"{landed} kills, {sent / SIZE:.2f} times the file came, {len(list(cache.glob('*/blobs/*.incomplete')))} files left over, "
            f"then exit code {code}, {verdict(folder, cache)}")


def together(client, folder):
    hub, cache = Hub(folder, ["slow:safetensors:40000"]), folder / f"together-{client.name}"
    processes = [client.start(hub.endpoint, cache) for _ in range(2)]
    codes = [process.wait(120) for process in processes]
    sent = hub.sent()
    hub.end()
    return f"the file came {sent / SIZE:.2f} times, exit codes {codes}, {verdict(folder, cache)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quench", required=True)
    parser.add_argument("--kills", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        branch = folder / "root/models/org/name/main"
        branch.mkdir(parents=True)
        (branch / "config.json").write_text('{"model_type": "llama"}')
        (branch / "model.safetensors").write_bytes(random.Random(1).randbytes(SIZE))
        clients = [Client("quench", [str(Path(options.quench).resolve()), "fetch", "hf://org/name"], folder),
                   Client("huggingface_hub", [sys.executable, "-c", FETCH], folder)]
        for what, measure in [("killed", lambda c: killed(c, folder, options.kills)), ("together", lambda c: together(c, folder))]:
            for client in clients:
                print(f"{what} | {client.name} | {measure(client)}", flush=True)
        print("\n| fault | " + " | ".join(client.name for client in clients) + " |\n|---|---|---|")
        for number, fault in enumerate(FAULTS):
            cells = []
            for client in clients:
                hub, cache = Hub(folder, [] if fault == "down" else fault.split()), folder / f"cache-{client.name}-{number}"
                if fault == "down":
                    hub.end()
                code, seconds = client.fetch(hub.endpoint, cache)
                hub.end()
                cells.append(f"exit {code}, {seconds:.1f} s, {verdict(folder, cache)}")
            print(f"| {fault} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
