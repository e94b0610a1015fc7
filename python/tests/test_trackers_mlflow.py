"""Runs of MLflow, read back by its own client from a store of files."""

import os
import unittest

from tracked_run import TrackedRunTest

try:
    import mlflow
except ImportError as missing:
    mlflow = None
    print("SKIPPED: %s" % missing)

STORE = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}


@unittest.skipIf(mlflow is None, "SKIPPED: mlflow is not there")
class MlflowTest(TrackedRunTest):
    def setUp(self):
        super().setUp()
        os.environ.update(STORE)
        self.server = "file://" + os.path.join(self.folder, "store")

    def export(self):
        return self.send("--to", "mlflow", "--server", self.server, "--experiment", "a run", **STORE)

    def runs(self):
        """The runs of the experiment by name."""
        client = mlflow.MlflowClient(self.server)
        experiment = client.get_experiment_by_name("a run")
        runs = client.search_runs([experiment.experiment_id])
        return client, {run.info.run_name: run for run in runs}, len(runs)

    def check(self):
        client, runs, count = self.runs()
        self.assertEqual(count, 6)
        found = [((name, key, metric.step), metric.value) for name, run in runs.items() for key in run.data.metrics
                 for metric in client.get_metric_history(run.info.run_id, key)]
        wanted = {(name, tag.replace("=", "_"), step): value for (name, tag, step), value in self.values().items()}
        self.assertEqual(sorted(found), sorted(wanted.items()))

    def test_one_run_for_each_line_however_often_it_is_sent(self):
        self.assertEqual(self.export(), {"values": 15, "new": 6})
        self.check()
        before = {name: run.info.run_id for name, run in self.runs()[1].items()}
        self.assertEqual(self.export(), {"values": 0, "unchanged": 6})
        self.measured_again()
        sent = self.export()
        self.check()
        after = {name: run.info.run_id for name, run in self.runs()[1].items()}
        self.assertEqual(sum(before[name] != after[name] for name in before), sent["replaced"])
        self.assertGreater(sent["unchanged"], 0)

    def test_more_values_join_the_run_that_is_there(self):
        self.records(5)
        sent = self.export()["values"]
        self.records(9)
        more = self.export()
        self.assertEqual(sent + more["values"], 15)
        self.assertNotIn("replaced", more)
        self.check()

    def test_a_run_says_what_it_is_and_ends(self):
        self.export()
        run = self.runs()[1]["main/template_quantizer bits=3"]
        self.assertEqual(run.data.params["quantizer.params.bits"], "3")
        self.assertEqual(run.data.params["quantizer.id"], "template_quantizer")
        self.assertEqual(run.info.status, "FINISHED")


if __name__ == "__main__":
    unittest.main()
