"""Runs steps one after the other, each in a process of its own and within a limit, and writes what each left at once.

OUT/results/STEP.json is written atomically when a step begins to have results and when it ends, OUT/table.txt and OUT/home.tar.gz are made anew
after each step. So whatever ends a step, or this program, takes nothing from the steps before it.
"""
import io
import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

MOST_HOME = 15_000_000  # bytes: machines that are lent give files back up to some size
DONE = "done"


def write_atomically(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def write_json(path, value):
    write_atomically(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


class Results:
    """The folder of what a machine was asked."""

    def __init__(self, out, home=None):
        self.out = Path(out).resolve()
        self.home = Path(home).resolve() if home else self.out / "home.tar.gz"
        (self.out / "logs").mkdir(parents=True, exist_ok=True)

    def path(self, name):
        return self.out / "results" / f"{name}.json"

    def read(self, name):
        return read_json(self.path(name))

    def is_done(self, name):
        return (self.read(name) or {}).get("status") == DONE

    def log(self, name):
        return self.out / "logs" / f"{name}.log"

    def publish(self, steps):
        """The table for people, and the archive to bring home."""
        lines = []
        for step in steps:
            said = self.read(step.name)
            if said is None:
                continue
            lines.append(f"{step.name:<18} {said['status']:<10} {said.get('seconds', 0):>6.1f} s of {step.estimate} estimated")
            lines += [f"    {line}" for line in said.get("lines", [])]
            if said.get("error"):
                lines.append(f"    {said['error']}")
        write_atomically(self.out / "table.txt", ("\n".join(lines) + "\n").encode())
        write_atomically(self.home, self._packed())
        return lines

    def _packed(self):
        """All files, the smallest first; what does not fit is named in it."""
        files = [path for path in self.out.rglob("*")
                 if path.is_file() and not path.is_symlink() and path != self.home and not path.name.endswith(".part")]
        packed, left_out = io.BytesIO(), []
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as archive:
            for path in sorted(files, key=lambda path: (path.stat().st_size, path)):
                if packed.tell() + path.stat().st_size > MOST_HOME:
                    left_out.append(str(path.relative_to(self.out)))
                    continue
                archive.add(path, f"home/{path.relative_to(self.out)}")
            text = "".join(name + "\n" for name in left_out).encode()
            entry = tarfile.TarInfo("home/left_out.txt")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        return packed.getvalue()


class Runner:
    """Steps within a budget of seconds. `command(step, limit)` gives the words of the process that takes the step."""

    def __init__(self, results, budget, command, say=print):
        self.results, self.command, self.say = results, command, say
        self.ends = time.monotonic() + budget
        self.child = None
        self.stopped = None

    def left(self):
        return self.ends - time.monotonic()

    def stop(self, number, _frame):
        self.stopped = number
        self.kill()

    def kill(self):
        if self.child is not None and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)  # the group that `take` made

    def take(self, step):
        """Runs a step; what it left is in results, with a status that says how it ended."""
        name, left = step.name, self.left()
        if left < step.least():
            self.leave(step, "no time", f"{left:.0f} s were left, wanted {step.least():.0f}")
            return
        limit = min(step.limit, left)
        self.results.path(name).unlink(missing_ok=True)
        began = time.monotonic()
        with open(self.results.log(name), "wb") as log:
            self.child = subprocess.Popen(self.command(step, limit), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                          start_new_session=True)
            self.say(f"{name}: process {self.child.pid}, at most {limit:.0f} s", flush=True)
            try:
                code, over = self.child.wait(timeout=limit), False
            except subprocess.TimeoutExpired:
                code, over = None, True
            self.kill()
            self.child.wait()
        seconds = time.monotonic() - began
        if self.stopped:
            self.leave(step, "stopped", f"by signal {self.stopped}", seconds)
        elif over:
            self.leave(step, "over", f"it was killed at its limit of {limit:.0f} s", seconds)
        elif code is not None and code < 0:
            self.leave(step, "killed", f"by signal {-code}", seconds)
        elif code != 0 or not self.results.is_done(name):
            said = self.results.read(name) or {}
            self.leave(step, said.get("status") if said.get("status") not in (None, DONE, "running") else "failed",
                       said.get("error") or self.last_words(name, code), seconds)
        else:
            self.leave(step, DONE, None, seconds)

    def last_words(self, name, code):
        with open(self.results.log(name), "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 600))
            return f"exit code {code}: " + log.read().decode(errors="replace").strip()

    def leave(self, step, status, error, seconds=0.0):
        said = self.results.read(step.name) or {"step": step.name, "lines": [], "result": {}}
        said.update(status=status, error=error, seconds=round(seconds, 2), estimate=step.estimate, limit=step.limit)
        write_json(self.results.path(step.name), said)

    def run(self, steps, wanted, again):
        """Takes the wanted steps; what is done already is not taken again. True if all of them are done."""
        for step in wanted:
            if self.stopped:
                return False
            if self.results.is_done(step.name) and not again:
                self.say(f"{step.name}: done before", flush=True)
                continue
            self.take(step)
            self.results.publish(steps)
            said = self.results.read(step.name)
            self.say("\n".join([f"{step.name}: {said['status']}, {said['seconds']:.1f} s", *("    " + line for line in said["lines"]),
                                *([f"    {said['error']}"] if said["error"] else [])]), flush=True)
        self.results.publish(steps)
        return all(self.results.is_done(step.name) for step in wanted)
