"""The machine and the programs on it: quench with its tests in a tree, the Python of the tools beside which it is measured."""
import json
import os
import subprocess
import sys
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from runner import write_json

ROOT = Path(__file__).resolve().parents[2]


class Refused(Exception):
    """What this machine or this build does not have, so that a step says it instead of failing."""


class Failed(Exception):
    """What a program that a step ran said when it failed."""


def gpu_table():
    """bench/peers/gpu_table as a module: its shapes, floors and measurements are those of its table."""
    loader = SourceFileLoader("gpu_table", str(ROOT / "bench/peers/gpu_table"))
    sys.dont_write_bytecode = True
    module = module_from_spec(spec_from_loader("gpu_table", loader))
    loader.exec_module(module)
    return module


class Machine:
    """Where a step works and what it runs."""

    def __init__(self, options):
        self.options = options
        self.device, self.small = options.device, options.small
        self.tree, self.work, self.out = Path(options.tree).resolve(), Path(options.work).resolve(), Path(options.out).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.program = self.tree / "bin/quench"

    def environment(self, home, **others):
        """Of the program's processes. A tree may bring a driver of its own (a GPU that is none)."""
        out = {**os.environ, "QUENCH_HOME": str(home), **others}
        if (self.tree / "lib/libcuda.so.1").exists():
            out["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(self.tree / "lib"), out.get("LD_LIBRARY_PATH")]))
        return out

    def home(self, name):
        folder = self.work / "home" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def quench(self, *words, **options):
        """stdout of the program."""
        return self.run(*words, **options).stdout

    def run(self, *words, home, folder=None, **environment):
        """What the program said; Failed with its last words."""
        done = subprocess.run([self.program, *map(str, words)], cwd=folder or self.work, capture_output=True, text=True, check=False,
                              env=self.environment(home, **environment))
        sys.stderr.write(done.stderr)
        if done.returncode != 0:
            raise Failed(f"quench {words[0]}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
        return done

    def answer(self, *words, **options):
        return json.loads(self.quench(*words, "--json", **options))["data"]

    def suite(self, name, log, *words, **environment):
        """A test program of the tree, as a process that writes to `log`. Tests find program and data by these variables."""
        program = self.tree / "tests" / name
        if not program.exists():
            raise Refused(f"{program} is not there")
        with open(log, "wb") as file:
            return subprocess.Popen([program, *words], stdout=file, stderr=subprocess.STDOUT, cwd=self.work,
                                    env=self.environment(self.home("tests"), QUENCH_TEST_TREE=str(self.tree),
                                                         QUENCH_TEST_SOURCE=str(ROOT), OMP_NUM_THREADS="1", **environment))

    def has_peer(self, *modules):
        """Whether the Python of the tools has these modules."""
        code = "import importlib.util as u, sys; sys.exit(not all(u.find_spec(name) for name in sys.argv[1:]))"
        return subprocess.run([self.options.python, "-c", code, *modules], check=False, stderr=subprocess.DEVNULL).returncode == 0


class Note:
    """What a step has found so far. Each change is on disk at once, so a step that is killed leaves it."""

    def __init__(self, path, name):
        self.path = path
        self.said = {"step": name, "status": "running", "error": None, "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                     "lines": [], "result": {}}
        self.write()

    def write(self):
        write_json(self.path, self.said)

    def add(self, line=None, **result):
        self.said["result"].update(result)
        if line:
            self.said["lines"].append(line)
        self.write()

    def end(self, status, error=None):
        self.said.update(status=status, error=error)
        self.write()
