"""What `quench watch` finds below a folder, when it takes it for whole, and when it warns."""

import importlib.util
import io
import json
import os
import statistics
import struct
import unittest
import zipfile
from types import SimpleNamespace
from unittest import mock

from made_run import MadeRun
from support import FileTest

MISSING = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
from quench.watch.found import find, lines_of, number_of, pattern_of, shape_of  # noqa: E402
from quench.watch.measure import Measurer, manifest_sets, with_predecessors  # noqa: E402
from quench.watch.settled import Settled  # noqa: E402

if not MISSING:
    from quench.run_records import read_run
    from quench.watch import __main__ as watch_verb
    from quench.watch.rise import rises
WITHOUT_LIBRARIES = unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))


def safetensors(values=b"abcd"):
    header = json.dumps({"__metadata__": {"format": "pt"},
                         "w": {"dtype": "U8", "shape": [len(values)], "data_offsets": [0, len(values)]}}).encode()
    return struct.pack("<Q", len(header)) + header + values


def archive():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/data.pkl", b"x" * 100)
    return out.getvalue()


class CheckpointTest(FileTest):
    def put(self, name, content=b"x"):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


class FoundTest(CheckpointTest):
    def lacks(self, has_config=False):
        """{path below the folder: what it waits for}"""
        return {os.path.relpath(one.path, self.folder): one.lacks for one in find([self.folder], has_config)}

    def test_a_checkpoint_counts_when_what_is_written_last_is_there(self):
        self.put("run/step1/config.json")
        self.put("run/step1/model.safetensors", safetensors()[:-1])
        self.assertEqual(self.lacks(), {"run/step1": "the end of model.safetensors"})
        self.put("run/step1/model.safetensors", safetensors())
        self.assertEqual(self.lacks(), {"run/step1": ""})
        self.put("run/step2/model-00001-of-00002.safetensors", safetensors())
        self.assertEqual(self.lacks()["run/step2"], "model.safetensors.index.json")
        self.put("run/step2/model.safetensors.index.json", b'{"weight_map": {"a": "model-00001-of')
        self.assertIn("Unterminated", self.lacks()["run/step2"])
        self.put("run/step2/model.safetensors.index.json", json.dumps({"weight_map": {
            "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}).encode())
        self.assertEqual(self.lacks()["run/step2"], "model-00002-of-00002.safetensors")
        self.put("run/step2/model-00002-of-00002.safetensors", safetensors()[:5])
        self.assertEqual(self.lacks()["run/step2"], "the end of model-00002-of-00002.safetensors")
        self.put("run/step2/model-00002-of-00002.safetensors", safetensors())
        self.assertEqual((self.lacks()["run/step2"], self.lacks(True)["run/step2"]), ("config.json", ""))

    def test_archives_and_parts_of_processes(self):
        self.put("a/ckpt_100.pth", archive()[:-1])
        self.put("a/ckpt_200.pth", archive())
        self.put("a/optimizer_200.pt", archive())
        self.put("b/pytorch_model.bin", archive())
        self.put("b/optimizer.pt", archive())
        self.put("c/__0_0.distcp")
        self.assertEqual(self.lacks(True), {"a/ckpt_100.pth": "the end of ckpt_100.pth", "a/ckpt_200.pth": "", "b": "",
                                            "c": ".metadata"})
        self.put("c/.metadata", b"\x80")
        self.assertEqual(self.lacks(True)["c"], "")

    def test_what_writers_hide_and_what_is_in_a_checkpoint_is_none(self):
        for name in (".step1~1/model.safetensors", "tmp-checkpoint-1/model.safetensors", "step1/model.safetensors",
                     "step1/inner/model.safetensors", "plain/notes.txt"):
            self.put(name, safetensors())
        self.assertEqual(list(self.lacks(True)), ["step1"])
        self.assertEqual([one.name for one in find([os.path.join(self.folder, "step1")], True)], ["step1"])

    def test_one_number_that_differs_makes_a_trajectory(self):
        for name in ("checkpoint-90", "checkpoint-1000", "final"):
            self.put("t/%s/model.safetensors" % name, safetensors())
        lines = lines_of(find([self.folder], True))
        self.assertEqual({shape: [one.name for one in line] for (_, shape), line in lines.items()},
                         {"checkpoint-#": ["checkpoint-90", "checkpoint-1000"], "final": ["final"]})
        self.assertEqual((shape_of("step1-tokens2B"), number_of("x7-step12"), number_of("final")), ("step#-tokens#B", 12, -1))
        self.assertEqual([pattern_of(name) for name in ("checkpoint-5", "step5", "a1b2", "final", "{5}")],
                         ["checkpoint-{step}", None, None, None, None])

    def test_a_checkpoint_settles_when_it_did_not_change_for_so_long(self):
        now = [0.0]
        settled = Settled(10, lambda: now[0])
        self.put("step1/model.safetensors", safetensors())

        def names(at):
            now[0] = at
            return [one.name for one in settled.of(find([self.folder], True))]

        self.assertEqual((names(0), names(9.9)), ([], []))
        self.put("step1/trainer_state.json")
        self.assertEqual((names(10), names(19)), ([], []))
        self.assertEqual(names(20.1), ["step1"])
        os.utime(os.path.join(self.folder, "step1/model.safetensors"), ns=(1, 1))
        self.assertEqual((names(21), names(30), names(31)), ([], [], ["step1"]))

    def test_a_running_average_is_made_of_neighbours_without_a_gap(self):
        for step in range(1, 6):
            self.put("step%d/model.safetensors" % step, safetensors())
        line = next(iter(lines_of(find([self.folder], True)).values()))

        def names(measured):
            return [one.name for one in with_predecessors(line, line[4], {"step%d" % step for step in measured})]

        self.assertEqual(names({1, 2, 3, 4}), ["step1", "step2", "step3", "step4", "step5"])
        self.assertEqual(names({1, 2, 4}), ["step4", "step5"])
        self.assertEqual(names(()), ["step5"])
        sets = manifest_sets(line)
        self.assertEqual(sets[0], "checkpoints.model=" + json.dumps(self.folder))
        self.assertEqual(json.loads(sets[1].partition("=")[2])["step"]["revisions"], ["step%d" % step for step in range(1, 6)])


class Runs:
    """In place of the program: writes records as if it had measured the last of the checkpoints."""

    def __init__(self, out, act=lambda name: None):
        self.out, self.act, self.asked, self.made = out, act, [], {}

    def run(self, members):
        one = members[-1]
        self.asked.append([each.name for each in members])
        self.act(one)
        if not os.path.exists(one.path):
            return SimpleNamespace(code=2, said="%s: no such checkpoint\n" % one.path)
        made = self.made.setdefault(one.parent, MadeRun(model=one.parent))
        weights = made.weights("step", number_of(one.name), revision=one.name)
        made.loss(weights)
        made.loss(weights, "gptq", 4)
        made.write(self.out, {})
        return SimpleNamespace(code=0, said="")

    def stop(self):
        pass


@WITHOUT_LIBRARIES
class WatchTest(CheckpointTest):
    def watch(self, runs, **more):
        now = [0.0]

        def clock():
            now[0] += 1
            return now[0]

        options = SimpleNamespace(**{"folders": [os.path.join(self.folder, "t")], "out": runs.out, "set": [], "settle": 3, "once": True,
                                     **more})
        watch = watch_verb.Watch(options, runs, Settled(options.settle, clock))
        said = io.StringIO()
        with mock.patch.object(watch.stopped, "wait"), mock.patch("sys.stdout", said), mock.patch("sys.stderr", said):
            code = watch.run()
        return code, said.getvalue()

    def checkpoints(self, *steps):
        for step in steps:
            self.put("t/step%d/model.safetensors" % step, safetensors())
            self.put("t/step%d/config.json" % step)

    def test_each_is_measured_once_and_after_a_restart_only_what_is_new(self):
        self.checkpoints(1, 2, 3)
        runs = Runs(os.path.join(self.folder, "out"))
        code, said = self.watch(runs)
        self.assertEqual((code, runs.asked), (0, [["step1"], ["step1", "step2"], ["step1", "step2", "step3"]]))
        self.assertIn("gptq bits=4", said)
        self.assertEqual(self.watch(runs)[0], 0)
        self.assertEqual(len(runs.asked), 3)
        self.checkpoints(4)
        self.watch(runs)
        self.assertEqual(runs.asked[3:], [["step1", "step2", "step3", "step4"]])

    def test_one_that_vanishes_is_a_failure_and_the_others_go_on(self):
        self.checkpoints(1, 2, 3)

        def take(one):
            if one.name == "step1":
                for name in os.listdir(one.path):
                    os.remove(os.path.join(one.path, name))
                os.rmdir(one.path)

        runs = Runs(os.path.join(self.folder, "out"), take)
        code, said = self.watch(runs)
        self.assertEqual((code, runs.asked), (1, [["step1"], ["step2"], ["step2", "step3"]]))
        self.assertIn("step1: vanished before it was measured", said)

    def test_a_manifest_that_the_first_checkpoint_shows_to_be_wrong_ends_it(self):
        self.checkpoints(1, 2)
        runs = mock.Mock(out=os.path.join(self.folder, "out"))
        runs.run.return_value = SimpleNamespace(code=2, said="m.yaml:3: unknown key `qantizers`\n")
        code, said = self.watch(runs)
        self.assertEqual((code, runs.run.call_count), (2, 1))
        self.assertIn("step1: not measured: m.yaml:3: unknown key", said)

    def test_the_program_gets_one_thread_and_the_checkpoints(self):
        self.checkpoints(7)
        one, = find([self.folder], False)
        options = SimpleNamespace(program="quench", manifest="m.yaml", out="o", threads=1, device="cpu", set=["seed=1"])
        self.assertEqual(Measurer(options).command([one]), [
            "quench", "run", "m.yaml", "--out", "o", "--threads", "1", "--set", "checkpoints.model=" + json.dumps(one.parent),
            "--set", 'checkpoints.branches={"step": {"revisions": ["step7"]}}', "--set", "seed=1", "--device", "cpu"])


@WITHOUT_LIBRARIES
class RiseTest(FileTest):
    def found(self, costs, items=48, worse=()):
        """Rises at the last of so many checkpoints; those of `worse` have a higher float loss."""
        made = MadeRun(items=items)
        for step, cost in enumerate(costs, 1):
            weights = made.weights("b", 1000 * step, decayed=-3.0 if step in worse else 0.0)
            made.loss(weights)
            made.loss(weights, "gptq", 4, delta=cost)
        return rises(read_run(made.write(os.path.join(self.folder, "run"), {})), made.model, "step%d" % (1000 * len(costs)))

    def test_a_rise_over_five_checkpoints_is_found_and_a_level_cost_is_none(self):
        rise, = self.found([0.02] * 6 + [0.09])
        self.assertEqual((rise.now, rise.then), ("step7000", "step2000"))
        self.assertAlmostEqual(rise.after - rise.before, 0.07, 2)
        self.assertEqual(self.found([0.02] * 7), [])
        self.assertEqual(self.found([0.09] * 6 + [0.02]), [])

    def test_fewer_checkpoints_or_a_worse_float_model_say_nothing(self):
        self.assertEqual(self.found([0.02] * 4 + [0.09]), [])
        self.assertEqual(self.found([0.02] * 6 + [0.09], worse=(7,)), [])

    def test_the_limit_is_that_of_students_t_over_blocks(self):
        items = 5  # too few for runs: blocks are independent
        made = MadeRun(items=items)
        values = {}
        for step, cost in enumerate([0.02] * 6 + [0.5], 1):
            weights = made.weights("b", 1000 * step)
            values[step] = (made.loss(weights)["items"], made.loss(weights, "gptq", 4, delta=cost)["items"])
        rise, = rises(read_run(made.write(os.path.join(self.folder, "run"), {})), made.model, "step7000")
        change = [(q7 - f7) - (q2 - f2) for f7, q7, f2, q2 in zip(*values[7], *values[2])]
        t = 2.131846786326649  # the 95 % quantile at 4 degrees of freedom
        self.assertAlmostEqual(rise.lower, statistics.mean(change) - t * statistics.stdev(change) / items ** 0.5, 9)


if __name__ == "__main__":
    unittest.main()
