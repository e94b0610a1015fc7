"""Runs of Weights & Biases, by its client: offline files, or runs on a server that is named.

Values may arrive in any order of steps, which wandb's own counter does not allow: "step" is a value beside them, and
the axis of all others.
"""

import glob
import json
import os
import re
import shutil

os.environ["WANDB_ERROR_REPORTING"] = "false"  # quench connects to no server but the one that is named

import wandb  # noqa: E402, it reads the environment

from .sending import Held, Tracker  # noqa: E402

STEP = "step"
SAMPLES = 100000  # rows that a server is asked for: more than any line has, so all of them
NOTE = "quench.json"  # beside a finished offline file, which its client only writes: what it holds


def _project(name):
    """A project's name has at most 128 characters and none of these."""
    return re.sub(r"[\0-\x1f/\\#?%:]", "_", name)[:128]


class Wandb(Tracker):
    """The id of a run follows from the names of project and line, so that a later export with more values is the same
    run for the server."""

    def __init__(self, folder, project):
        self.place = os.path.join(folder, "wandb")  # where the client puts it
        self._folder, self._project = folder, _project(project)
        self._runs = {}  # name of a line: its run, open
        self._held = {}  # and what that has

    def about(self, line):
        return line.about

    def _id(self, line):
        return line.identity(self._project)

    def _open(self, line, **more):
        os.makedirs(self._folder, exist_ok=True)
        # Of machine, git, code and terminal nothing is recorded: the records say where their values are from.
        quiet = {"console": "off", "silent": True, "disable_git": True, "disable_code": True, "x_disable_stats": True,
                 "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False}
        settings = wandb.Settings(**quiet, **more.pop("settings", {}))
        run = wandb.init(project=self._project, id=self._id(line), name=line.name, config=line.about, dir=self._folder,
                         reinit="create_new", settings=settings, **more)
        run.define_metric(STEP)
        run.define_metric("*", step_metric=STEP)
        self._runs[line.name] = run
        return run

    def add(self, line, values):
        rows = {}
        for (tag, step), value in values.items():
            rows.setdefault(step, {STEP: step})[tag] = value
        for step in sorted(rows):
            self._runs[line.name].log(rows[step])

    def finish(self):
        for run in self._runs.values():
            run.finish()
        wandb.teardown()


class OfflineWandb(Wandb):
    """Files that `wandb sync` sends. One that has ended cannot be continued: a line with more values gets another."""

    def _folders(self, line):
        return glob.glob(os.path.join(glob.escape(self.place), "offline-run-*-" + self._id(line)))

    def held(self, line):
        folders = self._folders(line)
        if len(folders) != 1 or not os.path.exists(os.path.join(folders[0], NOTE)):
            return None
        with open(os.path.join(folders[0], NOTE), encoding="utf-8") as file:
            note = json.load(file)
        return Held(note["about"], {(tag, step): value for tag, step, value in note["values"]})

    def can_add(self, line, values):
        return line.name in self._runs

    def begin(self, line):
        if line.name in self._runs:
            self._runs.pop(line.name).finish()
        for folder in self._folders(line):
            shutil.rmtree(folder)
        self._open(line, mode="offline")
        self._held[line.name] = Held(line.about, {})

    def add(self, line, values):
        super().add(line, values)
        self._held[line.name].values.update(values)

    def finish(self):
        folders = {name: os.path.dirname(run.dir) for name, run in self._runs.items()}
        super().finish()
        for name, folder in folders.items():
            note = {"about": self._held[name].about,
                    "values": [[tag, step, value] for (tag, step), value in self._held[name].values.items()]}
            with open(os.path.join(folder, NOTE), "w", encoding="utf-8") as file:
                json.dump(note, file, sort_keys=True)


class OnlineWandb(Wandb):
    """Runs on a server, which keeps all that it was ever sent: a value that changed comes once more, behind the old."""

    def __init__(self, folder, project, server):
        super().__init__(folder, project)
        self.place = "%s, project %s" % (server, self._project)
        self._server = server

    def held(self, line):
        try:
            run = wandb.Api(overrides={"base_url": self._server}).run("%s/%s" % (self._project, self._id(line)))
        except (wandb.errors.CommError, ValueError) as failure:
            if "Could not find" in str(failure):
                return None
            raise
        rows = run.history(samples=SAMPLES, pandas=False)  # scan_history() would fill a cache in the user's home first
        there = [((tag, row[STEP]), value) for row in rows if STEP in row
                 for tag, value in row.items() if tag != STEP and not tag.startswith("_")]
        return Held(line.about, {place: value for place, value in there if line.values.get(place) == value})

    def begin(self, line):
        if line.name not in self._runs:
            self._open(line, mode="online", resume="allow", settings={"base_url": self._server})

    def add(self, line, values):
        self.begin(line)
        super().add(line, values)
