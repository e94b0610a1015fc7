"""What trackers are sent, and when: lines of records, comparing, following. No client is needed."""

import os
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from tracked_run import TrackedRunTest

from quench.run_status import Watcher, identity
from quench.requirements import remedy
from quench.trackers import __main__ as program
from quench.trackers.lines import tracked_lines
from quench.trackers.sending import Held, Sender, Tracker


def record(step, quantizer=None, metric="validation_loss", value=3.0, **more):
    checkpoint = {"model": "m", "revision": "step%d" % step, "step": step, "branch": "main"}
    return {"checkpoint": checkpoint, "quantizer": quantizer and {"id": "rtn", "label": quantizer}, "averaging": None,
            "environment": {"dtype": "float32"}, "metric": metric, "label": "validation_loss block=128", "value": value,
            "error": None, "job": 0, "draw": None, "jitter": None, **more}


def run():
    return [record(200), record(100, value=4.0), record(100, "rtn bits=3", value=4.25),
            record(200, "rtn bits=3", value=3.25), record(100, "rtn bits=3", "quantization_error", 0.0625)]


class LinesTest(unittest.TestCase):
    def test_one_for_each_variant_of_a_branch_with_values_by_step(self):
        floating, quantized = tracked_lines(run())
        self.assertEqual((floating.name, quantized.name), ("main/float", "main/rtn bits=3"))
        self.assertEqual(list(floating.values.items()),
                         [(("validation_loss block=128", 100), 4.0), (("validation_loss block=128", 200), 3.0)])
        self.assertEqual(next(iter(quantized.values)), ("quantization_error/validation_loss block=128", 100))
        self.assertEqual(quantized.about["quantizer"]["label"], "rtn bits=3")

    def test_a_later_value_of_a_metric_has_its_name_behind_the_label(self):
        line, = tracked_lines([record(100, metric="validation_loss/bytes")])
        self.assertEqual(list(line.values), [("validation_loss block=128/bytes", 100)])

    def test_without_a_step_the_order_of_checkpoints_is_the_axis(self):
        records = run()
        records[0]["checkpoint"]["step"] = None
        self.assertEqual([step for _, step in tracked_lines(records)[0].values], [0, 1])

    def test_what_is_no_number_is_left_out(self):
        records = [record(100, value=None, error="failed"), record(200, value=float("nan")), record(300)]
        self.assertEqual([step for line in tracked_lines(records) for _, step in line.values], [300])

    def test_names_keep_to_their_part(self):
        names = []
        for branch, label, more in (("decay/a", "q", {"draw": 2}), ("..", "..", {}), ("a\nb\0", "q", {"job": 1}),
                                    (None, "q", {"averaging": {"label": "lawa/3"}, "jitter": 1})):
            odd = record(100, label, **more)
            odd["checkpoint"]["branch"] = branch
            names.append(tracked_lines([odd])[0].name)
        self.assertEqual(names, ["decay_a/q/draw 2", "_../_..", "a\\x0ab\\x00/job 1/q", "main/lawa_3/q/jitter 1"])

    def test_two_long_names_stay_two(self):
        lines = tracked_lines([record(100, "é" * 300 + end) for end in "ab"])
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertLessEqual(len(line.name.split("/")[1].encode()), 200)


class Remembering(Tracker):
    place = "memory"

    def __init__(self):
        self.lines, self.grows = {}, True

    def about(self, line):
        return line.about

    def held(self, line):
        return self.lines.get(line.name)

    def can_add(self, line, values):
        return self.grows

    def begin(self, line):
        self.lines[line.name] = Held(line.about, {})

    def add(self, line, values):
        self.lines[line.name].values.update(values)


class SendingTest(unittest.TestCase):
    def setUp(self):
        self.tracker = Remembering()

    def send(self, records):
        counts = Sender(self.tracker).send(tracked_lines(records))
        self.assertEqual({line.name: line.values for line in tracked_lines(records)},
                         {name: held.values for name, held in self.tracker.lines.items()})
        return counts

    def test_a_second_export_sends_nothing(self):
        self.assertEqual(self.send(run()), {"new": 2, "values": 5})
        self.assertEqual(self.send(run()), {"unchanged": 2, "values": 0})

    def test_more_values_join_those_that_are_there_or_replace_them(self):
        self.send(run())
        self.assertEqual(self.send(run() + [record(300)]), {"extended": 1, "unchanged": 1, "values": 1})
        self.tracker.grows = False
        self.assertEqual(self.send(run() + [record(300), record(400)]), {"replaced": 1, "unchanged": 1, "values": 4})

    def test_a_value_that_changed_or_is_gone_and_another_environment_replace_the_line(self):
        self.send(run())
        self.assertEqual(self.send([record(200, value=3.5)] + run()[1:]), {"replaced": 1, "unchanged": 1, "values": 2})
        self.assertEqual(self.send(run()[1:]), {"replaced": 1, "unchanged": 1, "values": 1})
        other = [{**each, "environment": {"dtype": "float64"}} for each in run()[1:]]
        self.assertEqual(self.send(other), {"replaced": 2, "values": 4})


class StatusTest(TrackedRunTest):
    def test_who_works_on_a_run_is_told_by_process_and_boot(self):
        self.assertFalse(Watcher().runs(self.run_folder))
        for runs, more in ((True, {}), (False, {"state": "finished"}), (False, {"state": "stopped"}),
                           (False, {"process": identity(os.getpid()).replace("-", "0-", 1)}),  # another boot
                           (False, {"process": identity(os.getpid()) + "1"}),  # a reused number
                           (False, {"process": "0123abcd-%d-0" % (1 << 22)})):
            self.status(**more)
            self.assertEqual(Watcher().runs(self.run_folder), runs, more)

    def test_on_another_host_a_number_must_grow_every_minute(self):
        watcher = Watcher()
        for runs, sequence, now in ((True, 1, 0), (True, 1, 60), (False, 1, 61), (True, 2, 100), (False, 2, 161)):
            self.status(host="another", sequence=sequence)
            self.assertEqual(watcher.runs(self.run_folder, now), runs, now)

    def test_a_status_that_does_not_verify_is_no_sign_of_life(self):
        path = self.status()
        with open(path, "a", encoding="utf-8") as file:
            file.write("x")
        self.assertFalse(Watcher().runs(self.run_folder))


class FollowTest(TrackedRunTest):
    def start(self, tracker):
        """A thread that follows the run, and the event that stops it."""
        options, stopped = mock.Mock(run=self.run_folder, follow=True), threading.Event()
        for name, other in (("POLL_SECONDS", 0.02), ("tell", lambda *_: None)):
            patch = mock.patch.object(program, name, other)
            patch.start()
            self.addCleanup(patch.stop)
        thread = threading.Thread(target=program.send_all, args=(options, tracker, stopped))
        thread.start()
        self.addCleanup(stopped.set)
        return thread, stopped

    def until(self, holds):
        for _ in range(1000):
            if holds():
                return
            time.sleep(0.01)
        self.fail("it did not come to it")

    def arrived(self, tracker):
        return {(name, *place): value for name, held in dict(tracker.lines).items()
                for place, value in dict(held.values).items()}

    def test_values_are_sent_as_they_arrive_until_the_run_is_finished(self):
        tracker = Remembering()
        self.records(0)
        self.status()
        thread, _ = self.start(tracker)
        for count in (1, 5, 9):
            self.records(count)
            self.until(lambda: self.arrived(tracker) == self.values())
            self.assertTrue(thread.is_alive())
        self.status(state="finished")
        thread.join(10)
        self.assertFalse(thread.is_alive())

    def test_what_came_before_the_end_is_sent(self):
        tracker = Remembering()
        self.records(3)
        self.status()
        thread, _ = self.start(tracker)
        self.until(lambda: self.arrived(tracker))
        self.records(9)
        self.status(state="finished")
        thread.join(10)
        self.assertEqual(self.arrived(tracker), self.values())

    def test_it_stops_when_it_is_told_to(self):
        self.status()
        thread, stopped = self.start(Remembering())
        stopped.set()
        thread.join(10)
        self.assertFalse(thread.is_alive())


class CommandLineTest(TrackedRunTest):
    def ended(self, *words, before=""):
        text = before + "import runpy; runpy.run_module('quench.trackers', run_name='__main__', alter_sys=True)"
        return subprocess.run([sys.executable, "-c", text, *words], env=self.environment(), capture_output=True,
                              text=True, timeout=60)

    def test_a_client_that_is_not_there_is_one_line_that_says_what_to_install(self):
        for tracker in program.CLIENTS:
            server = ["--server=http://127.0.0.1:9"] if tracker == "mlflow" else []
            hidden = "import sys; sys.modules[%r] = None; " % tracker
            got = self.ended(self.run_folder, "--to", tracker, *server, before=hidden)
            self.assertEqual((got.returncode, got.stdout), (1, ""))
            self.assertEqual(got.stderr, "%s has no module %s: %s\n" % (sys.executable, tracker, remedy([tracker])))

    def test_a_wrong_command_line_is_one_line_and_code_2(self):
        run, none = self.run_folder, os.path.join(self.folder, "none")
        for words, told in (((none, "--to", "wandb"), none + ": no such folder"),
                            ((run, "--to", "mlflow"), "--to mlflow: wants --server URL"),
                            ((run, "--to", "mlflow", "--server", "a.b"), "--server: got a.b, wanted a URL such as"),
                            ((run, "--to", "mlflow", "--server", "http://a", "-o", "x"), "so --out has no meaning"),
                            ((run, "--to", "tensorboard", "--server", "http://a"), "so --server has no meaning"),
                            ((run, "--to", "comet"), "invalid choice: 'comet'")):
            got = self.ended(*words)
            self.assertEqual((got.returncode, got.stdout), (2, ""))
            self.assertIn(told, got.stderr)
            self.assertEqual(got.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
