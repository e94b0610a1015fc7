import json
import unittest

from support import FileTest

from fake_host import FLOAT32, FLOAT64, INT32, Failure, function_number
import numpy

TABLE = "quench_model_table"
SOURCE, OP = 60, 61
FAMILY = """
    import numpy
    import quench

    @quench.model(model_types=["tiny"], ignored=["*.buffer"])
    class Tiny:
        '''An embedding, blocks of one linear, a head.'''

        def open(self, tensors, config):
            self.width, self.vocabulary = config["width"], config["vocabulary"]
            self.max_positions, self.count, self.ops = 8, config["blocks"], {}
            names = ["embed", "head"] + ["blocks.%d.mix.weight" % block for block in range(self.count)]
            self.weights = {name: tensors[name].astype(self.dtype) for name in names}

        def parameters(self):
            roles = {"embed": "embedding", "head": "head"}
            return [quench.Tensor(name, value.shape, roles.get(name, "matrix")) for name, value in self.weights.items()]

        def blocks(self):
            return [quench.Block([quench.Group([quench.Linear("blocks.%d.mix" % block, "mix", self.width, self.width)],
                                               stage=0)]) for block in range(self.count)]

        def embed(self, batch):
            return self.weights["embed"][batch.tokens.reshape(-1)]

        def stage(self, block, stage, tensors, batch):
            if stage == 0:
                return tensors[0], tensors[0] * 2
            h, x = tensors
            op = self.ops.get(block)
            return [h + (x @ self.weights["blocks.%d.mix.weight" % block].T if op is None else op(x))]

        def logits(self, h):
            return h @ self.weights["head"].T

        def set_linear_op(self, block, group, linear, op):
            self.ops[block] = op
"""
RANDOM = numpy.random.default_rng(3)
STORED = {name: RANDOM.standard_normal(shape).astype("f4") for name, shape in (
    ("embed", (5, 4)), ("blocks.0.mix.weight", (4, 4)), ("head", (5, 4)), ("some.buffer", (2,)))}
CONFIG = json.dumps({"model_type": "tiny", "width": 4, "vocabulary": 5, "blocks": 1}).encode()
TOKENS = numpy.array([[1, 2, 3]], "i4")


class Family:
    def __init__(self, worker, stored=STORED, dtype=FLOAT32, flags=0):
        self.channel, self.stored = worker.channel, list(stored.items())
        body = self.channel.body().u64(1, flags, SOURCE, 0b1111).blob(CONFIG).u64(len(CONFIG)).i64(1, 0).u64(dtype)
        answer = self.call("open", body, self.source).status()
        self.number = answer.u64()
        answer.finish()

    def call(self, name, body, serve=None):
        return self.channel.call(1, function_number(TABLE, name), body, serve)

    def body(self):
        return self.channel.body().u64(self.number)

    def source(self, target, function, answer, reply):
        assert target == SOURCE
        if function == 0:
            reply.u64(len(self.stored))
            return
        index = answer.u64()
        name, value = self.stored[index]
        reply.i64(0).text(None)
        if function == 1:
            reply.text(name).u64(FLOAT32).i64(value.ndim).blob(numpy.array(value.shape).tobytes()).u64(index)
        else:
            assert (function, answer.u64(), answer.u64()) == (3, 0, value.size)
            reply.blob(value.tobytes())

    def batch(self, body):
        return body.u64(1, 0).tensor(TOKENS).u64(0, 0)

    def embed(self):
        body = self.batch(self.body().u64(1, 0)).shape(FLOAT32, [3, 4])
        return self.call("embed", body).status().array("f4", (3, 4))

    def stage(self, stage, tensors, outputs, serve=None):
        body = self.batch(self.body().u64(1, 0, 0, stage)).u64(len(tensors), outputs, len(tensors) + 1)
        for tensor in tensors:
            body.tensor(tensor)
        body.u64(outputs + 1)
        for _ in range(outputs):
            body.shape(FLOAT32, [3, 4])
        answer = self.call("stage", body, serve).status()
        out = [answer.array("f4", (3, 4)) for _ in range(outputs)]
        answer.finish()
        return out

    def set_op(self, target, serve=None):
        body = self.body().u64(0, 0, 0).u64(*((target, 3) if target else (0,)))
        self.call("set_linear_op", body, serve).status().finish()


class ModelTest(FileTest):
    def test_a_family_is_probed_by_its_types_and_described(self):
        worker = self.work(FAMILY)
        for config, score in ((CONFIG, 100), (b'{"model_type": "other"}', 0)):
            answer = worker.channel.call(1, 0, worker.channel.body().blob(config).u64(len(config)))
            self.assertEqual((answer.i64(), answer.text()), (score, None))
            answer.finish()
        family = Family(worker)
        answer = family.call("info", family.body()).status()
        self.assertEqual((answer.u64(), answer.i64(), answer.i64(), answer.i64(), answer.u64()), (1, 4, 5, 8, FLOAT32))
        answer = family.call("parameters", family.body()).status()
        self.assertEqual(answer.u64(), 4)
        names, offset = [], 0
        for _ in range(3):
            role, name, dimensions, shape = answer.i64(), answer.text(), answer.i64(), answer.array("i8")
            self.assertEqual((dimensions, answer.u64()), (2, offset))
            self.assertEqual((answer.u64(), answer.u64()), (0, 1))
            offset += int(shape.prod())
            names.append((name, role))
        self.assertEqual(answer.u64(), 3)
        answer.finish()
        self.assertEqual(names, [("embed", 2), ("head", 3), ("blocks.0.mix.weight", 1)])
        answer = family.call("block", family.body().u64(0)).status()
        self.assertEqual([answer.u64() for _ in range(4)], [1, 2, 1, 2])
        self.assertEqual((answer.u64(), answer.i64(), answer.i64(), answer.i64()), (0, 1, -1, -1))
        self.assertEqual((answer.u64(), answer.u64(), answer.u64(), answer.text()), (1, 2, 0, "blocks.0.mix"))
        for stage, names in ((0, ["h"]), (1, ["h", "x"]), (2, ["h"])):
            answer = family.call("carry", family.body().u64(0, stage)).status()
            found = [(answer.text(), answer.i64(), answer.i64(), answer.u64())[0] for _ in range(answer.u64() - 1)]
            self.assertEqual((found, answer.u64()), (names, len(names)))

    def test_the_stages_and_the_head_compute_what_the_class_says(self):
        family = Family(self.work(FAMILY))
        h = family.embed()
        numpy.testing.assert_array_equal(h, STORED["embed"][TOKENS[0]])
        h, x = family.stage(0, [h], 2)
        out, = family.stage(1, [h, x], 1)
        numpy.testing.assert_allclose(out, h + x @ STORED["blocks.0.mix.weight"].T, rtol=1e-6)
        logits = (out @ STORED["head"].T).astype("f8")
        for argmax in (True, False):
            body = family.body().u64(1, 0).tensor(out).tensor(numpy.array([1, -1, 4], "i4")).shape(FLOAT64, [3])
            answer = family.call("token_nll", body.shape(INT32, [3]) if argmax else body.u64(0)).status()
            nll = answer.array("f8")
            wanted = numpy.log(numpy.exp(logits).sum(1)) - logits[[0, 1, 2], [1, 0, 4]]
            numpy.testing.assert_allclose(nll, wanted * [1, 0, 1], rtol=1e-6)
            if argmax:
                numpy.testing.assert_array_equal(answer.array("i4"), logits.argmax(1))
            answer.finish()

    def test_weights_are_read_replaced_and_counted(self):
        family = Family(self.work(FAMILY))
        name = "blocks.0.mix.weight"
        value = numpy.full((4, 4), 0.5, "f8")
        family.call("weight_set", family.body().text(name).tensor(value)).status().finish()
        answer = family.call("weight_get", family.body().text(name).shape(FLOAT64, [4, 4])).status()
        numpy.testing.assert_array_equal(answer.array("f8", (4, 4)), value)
        self.assertEqual(family.call("weight_generation", family.body().text(name)).status().u64(), 1)
        for call, body in (("weight_get", family.body().text("nobody").shape(FLOAT32, [4, 4])),
                           ("weight_set", family.body().text(name).tensor(value[:2]))):
            with self.assertRaises(Failure):
                family.call(call, body).status()

    def test_a_linear_is_replaced_by_an_op_of_the_host_until_it_is_released(self):
        family, released = Family(self.work(FAMILY)), []

        def serve(target, function, answer, reply):
            self.assertEqual(target, OP)
            if function == 1:
                released.append(target)
                return
            x = answer.tensor()
            self.assertEqual(answer.shape(), (FLOAT32, [3, 4]))
            reply.i64(0).text(None).blob((x * 100).tobytes())

        family.set_op(OP)
        h = family.embed()
        out, = family.stage(1, [h, h], 1, serve)
        numpy.testing.assert_array_equal(out, h + h * 100)
        family.set_op(0, serve)
        self.assertEqual(released, [OP])
        out, = family.stage(1, [h, h], 1)
        numpy.testing.assert_allclose(out, h + h @ STORED["blocks.0.mix.weight"].T, rtol=1e-6)

    def test_missing_and_unexpected_tensors_are_refused_by_name(self):
        worker = self.work(FAMILY)
        for stored, status, name in (({**STORED, "more": STORED["head"]}, 1, "more"),
                                     ({name: STORED[name] for name in ("embed", "head")}, 3, "blocks.0.mix.weight")):
            with self.assertRaises(Failure) as failure:
                Family(worker, stored)
            self.assertEqual(failure.exception.status, status)
            self.assertIn(name, failure.exception.message)
        with self.assertRaises(Failure) as failure:
            Family(worker, flags=2)
        self.assertEqual(failure.exception.status, 4)


if __name__ == "__main__":
    unittest.main()
