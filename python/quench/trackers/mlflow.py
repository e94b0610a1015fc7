"""Runs of MLflow, by its client."""

import json
import os
import re
import time

# quench connects to no server but the one that is named, and tells soon when that does not answer.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")

from mlflow import MlflowClient  # noqa: E402, it reads the environment
from mlflow.entities import Metric, Param  # noqa: E402

from .sending import Held, Tracker  # noqa: E402

# Limits of the interface for one request, and for a parameter's text on every server.
METRICS, PARAMETERS, TEXT = 1000, 100, 500
# The tag by which the run of a line is found again. Its value has no quotes, which a filter could not quote.
LINE = "quench.line"


def _key(name):
    """MLflow's names have letters, digits and "_-. /"."""
    return re.sub(r"[^\w\-. /]", "_", name, flags=re.ASCII)[:250]


def _parameters(value, name=""):
    """Nested members as {"quantizer.params.bits": "3"}."""
    if isinstance(value, dict):
        return {key: text for member, inner in value.items()
                for key, text in _parameters(inner, name + "." + member if name else member).items()}
    if value is None:
        return {}
    return {_key(name): (value if isinstance(value, str) else json.dumps(value))[:TEXT]}


def _batches(items, size):
    return [items[first:first + size] for first in range(0, len(items), size)]


class MLflow(Tracker):
    """One run for each line of the experiment, which is made where there is none."""

    def __init__(self, server, experiment):
        self.place = "%s, experiment %s" % (server, experiment)
        self._client = MlflowClient(server)
        found = self._client.get_experiment_by_name(experiment)
        self._experiment = found.experiment_id if found else self._client.create_experiment(experiment)
        self._runs = {}  # name of a line: the id of its run
        self._open = set()  # ids of the runs to be ended

    def about(self, line):
        return _parameters(line.about)

    def values(self, line):
        return {(_key(tag), step): value for (tag, step), value in line.values.items()}

    def _find(self, line):
        asked = "tags.`%s` = '%s'" % (LINE, line.identity())
        found = self._client.search_runs([self._experiment], asked, max_results=1)
        return found[0] if found else None

    def held(self, line):
        run = self._find(line)
        if run is None:
            return None
        self._runs[line.name] = run.info.run_id
        if run.info.status != "FINISHED":  # an export that was interrupted
            self._open.add(run.info.run_id)
        values = {}
        for key in run.data.metrics:
            for metric in self._client.get_metric_history(run.info.run_id, key):
                values[key, metric.step] = metric.value
        return Held(dict(run.data.params), values)

    def begin(self, line):
        before = self._runs.pop(line.name, None)
        if before is not None:
            self._client.delete_run(before)
            self._open.discard(before)
        run = self._client.create_run(self._experiment, tags={LINE: line.identity()}, run_name=line.name).info.run_id
        self._runs[line.name] = run
        self._open.add(run)
        for batch in _batches([Param(*parameter) for parameter in self.about(line).items()], PARAMETERS):
            self._client.log_batch(run, params=batch)

    def add(self, line, values):
        now = int(time.time() * 1000)
        metrics = [Metric(key, value, now, step) for (key, step), value in values.items()]
        for batch in _batches(metrics, METRICS):
            self._client.log_batch(self._runs[line.name], metrics=batch)

    def finish(self):
        for run in self._open:
            self._client.set_terminated(run)
