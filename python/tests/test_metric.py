import json
import math
import unittest

from support import FileTest

from fake_host import FLOAT32, Failure, function_number, mask
import numpy
import quench

TABLE = "quench_metric_table"
SUBJECT, MODEL_TABLE, SINK, TOKENIZER, SOURCE = 50, 51, 52, 53, 54
MODEL = 7
WEIGHT = numpy.arange(6, dtype="f4").reshape(2, 3)


class Host:
    """A model of three ids whose scores are known, one corpus, a tokenizer and the float model's weights."""

    def __init__(self, worker, parameters="{}"):
        self.channel, self.told = worker.channel, []
        body = self.channel.body().blob(parameters.encode()).u64(len(parameters))
        answer = self.channel.call(1, function_number(TABLE, "create"), body).status()
        self.number = answer.u64()

    def needs(self):
        return self.channel.call(1, function_number(TABLE, "needs"), self.channel.body().u64(self.number)).u64()

    def evaluate(self, documents, tokenizer=True):
        ids = numpy.concatenate(documents).astype("i4")
        offsets = numpy.cumsum([0] + [len(document) for document in documents]).astype("u8")
        body = self.channel.body().u64(self.number, 1, 0)
        functions = ("info", "parameters", "block", "carry", "embed", "stage", "logits", "weight_get")
        body.u64(SUBJECT, 1, MODEL_TABLE, mask_of_model(functions), MODEL)
        body.u64(1, 2).text("corpus").text("some text").u64(len(documents)).blob(ids.tobytes()).blob(offsets.tobytes())
        body.blob(None)
        body.u64(SINK, mask("quench_metric_sink", "value", "detail", "items", "json"))
        body.u64(*((TOKENIZER, 1) if tokenizer else (0,)))
        body.u64(1, 2).text("float").text("").f64(math.nan).f64(math.nan).u64(SOURCE, 0b1111)
        self.channel.call(1, function_number(TABLE, "evaluate"), body, self.serve).status().finish()
        return self.told

    def serve(self, target, function, answer, reply):
        {SUBJECT: self.score, MODEL_TABLE: self.model, SINK: self.sink, TOKENIZER: self.encode, SOURCE: self.source}[target](
            function, answer, reply)

    def score(self, function, answer, reply):
        assert (function, answer.u64(), answer.u64()) == (0, 1, 0)
        rows = answer.u64()
        ids, starts, scored_from = answer.array("i4"), answer.array("u8"), answer.blob()
        wants_nll, wants_argmax = answer.u64(), answer.u64()
        assert len(starts) == rows + 1 and starts[-1] == len(ids) and scored_from is None and answer.blob() is None
        nll = ids * 0.5
        nll[starts[:-1].astype(int)] = 0
        assert wants_nll == 1
        reply.i64(0).text(None).blob(nll.astype("f8").tobytes())
        reply.blob((ids * 0 + 1).astype("i4").tobytes() if wants_argmax else None)

    def sink(self, function, answer, reply):
        name = answer.text()
        which = ("value", "detail", "items", "json")[function]
        if which == "value":
            self.told.append((name, answer.f64(), answer.text(), answer.i64(), answer.f64()))
        elif which == "detail":
            self.told.append((name, answer.f64()))
        elif which == "items":
            values = list(answer.array("f8"))
            assert answer.u64() == len(values)
            self.told.append((name, values))
        else:
            text = answer.blob()
            assert answer.u64() == len(text)
            self.told.append((name, json.loads(text)))
        reply.i64(0).text(None)

    def encode(self, function, answer, reply):
        text = answer.blob()
        assert answer.u64() == len(text)
        ids = numpy.array([answer.i64(), *text], "i4")
        reply.i64(0).text(None).blob(ids.tobytes()).u64(len(ids))

    def source(self, function, answer, reply):
        if function == 0:
            reply.u64(1)
            return
        assert answer.u64() == 0
        if function == 1:
            reply.i64(0).text(None).text("w").u64(FLOAT32).i64(2).blob(numpy.array([2, 3]).tobytes()).u64(0)
        else:
            assert (function, answer.u64(), answer.u64()) == (3, 0, 6)
            reply.i64(0).text(None).blob((WEIGHT + 10).tobytes())

    def model(self, function, answer, reply):
        assert answer.u64() == MODEL
        name = next(name for name in ("info", "parameters", "block", "carry", "embed", "stage", "logits", "weight_get")
                    if function == function_number("quench_model_table", name))
        reply.i64(0).text(None)
        if name == "info":
            reply.u64(1).i64(2, 3, 16).u64(FLOAT32).i64(1, 0)
        elif name == "parameters":
            reply.u64(2).i64(1).text("w").i64(2).blob(numpy.array([2, 3]).tobytes()).u64(0, 1, 2).text("tied").u64(1)
        elif name == "block":
            assert answer.u64() == 0
            reply.u64(1, 2, 1, 2)  # two stages, one group
            reply.u64(0).i64(1, -1, -1).u64(1, 2)
            reply.u64(0).text("mix").text("mix").text("w").text(None).i64(2, 2).u64(0, 0)
        elif name == "carry":
            assert answer.u64() == 0
            names = ("h", "x") if answer.u64() == 1 else ("h",)
            reply.u64(len(names) + 1)
            for carried in names:
                reply.text(carried).i64(2, 1).u64(FLOAT32)
            reply.u64(len(names))
        elif name == "embed":
            assert (answer.u64(), answer.u64(), answer.u64(), answer.u64()) == (1, 0, 1, 0)
            tokens = answer.tensor()
            assert (answer.u64(), answer.u64()) == (0, 0)
            _, shape = answer.shape()
            assert shape == [tokens.size, 2]
            reply.blob(numpy.stack([tokens[0], tokens[0] * 10], 1).astype("f4").tobytes())
        elif name == "stage":
            assert (answer.u64(), answer.u64(), answer.u64()) == (1, 0, 0)
            stage = answer.u64()
            assert (answer.u64(), answer.u64()) == (1, 0)
            answer.tensor()
            assert (answer.u64(), answer.u64()) == (0, 0)
            counts = [answer.u64(), answer.u64()]
            tensors = [answer.tensor() for _ in range(answer.u64() - 1)]
            shapes = [answer.shape() for _ in range(answer.u64() - 1)]
            assert counts == [len(tensors), len(shapes)] == ([1, 2] if stage == 0 else [2, 1])
            if stage == 0:
                reply.blob(tensors[0].tobytes()).blob((tensors[0] + 1).tobytes())
            else:
                reply.blob((tensors[0] + tensors[1]).tobytes())
        elif name == "logits":
            h = answer.tensor()
            assert answer.shape() == (FLOAT32, [len(h), 3])
            reply.blob(numpy.repeat(h.sum(1, keepdims=True), 3, 1).astype("f4").tobytes())
        else:
            assert answer.text() == "tied"
            assert answer.shape() == (FLOAT32, [2, 3])
            reply.blob(WEIGHT.tobytes())


def mask_of_model(names):
    return sum(1 << function_number("quench_model_table", name) for name in names)


class MetricTest(FileTest):
    DOCUMENTS = [[2, 4, 6], [1, 3]]

    def test_a_function_scores_documents_and_returns_a_value(self):
        host = Host(self.work("""
            import numpy, quench

            @quench.metric(corpus=quench.Corpus(), length=quench.Integer(2, low=2))
            def loss(model, tokens, length):
                rows = [document[:length] for document in tokens]
                nll = model.score(rows)
                _, likely = model.score(rows, argmax=True)
                sums = [float(row.sum()) for row in nll]
                return quench.Value(sum(sums) / 2, "nats/token", quench.LOWER_IS_BETTER, stderr=0.25, items=sums,
                                    details={"likely": likely[0].tolist(), "scored": 2, "corpus": tokens.corpus})
        """), '{"corpus": "some text", "length": 2}')
        self.assertEqual(host.needs(), 0)
        for _ in range(2):
            host.told.clear()
            self.assertEqual(host.evaluate(self.DOCUMENTS), [
                ("loss", 1.75, "nats/token", -1, 0.25), ("likely", [1, 1]), ("scored", 2.0), ("corpus", "some text"),
                ("loss", [2.0, 1.5])])

    def test_a_mean_of_items_has_their_standard_error_unless_another_is_given(self):
        def stderr(value, items, **given):
            return quench.Value(value, "nats/token", quench.LOWER_IS_BETTER, items=items, **given).stderr

        self.assertEqual(stderr(2.0, [1.0, 3.0]), 1.0)  # variance 2, over 2 items
        self.assertAlmostEqual(stderr(2.0, [1, 2, 3, 2]), math.sqrt(2 / 3 / 4))
        self.assertEqual(stderr(2.0, [1.0, 3.0], stderr=0.5), 0.5)
        self.assertIsNone(stderr(2.5, [1.0, 3.0]))  # no mean of them, such as a perplexity of losses
        self.assertIsNone(stderr(2.0, [2.0]))
        self.assertIsNone(stderr(2.0, [1.0, math.inf]))
        self.assertIsNone(stderr(math.nan, [1.0, 3.0]))
        self.assertIsNone(quench.Value(2.0, "1").stderr)

    def test_a_number_takes_unit_and_direction_of_the_decorator(self):
        host = Host(self.work("""
            import quench

            @quench.metric(unit="share", direction=quench.HIGHER_IS_BETTER)
            def share(model):
                return 0.5
        """))
        (name, value, unit, direction, error), = host.evaluate(self.DOCUMENTS)
        self.assertEqual((name, value, unit, direction), ("share", 0.5, "share", 1))
        self.assertTrue(math.isnan(error))

    def test_a_number_without_a_unit_is_refused(self):
        host = Host(self.work("""
            import quench

            @quench.metric
            def share(model):
                return 0.5
        """))
        with self.assertRaises(Failure) as failure:
            host.evaluate(self.DOCUMENTS)
        self.assertIn("unit", failure.exception.message)

    def test_a_metric_reads_weights_logits_and_the_float_model(self):
        host = Host(self.work("""
            import quench

            @quench.metric(unit="1", needs_float=True)
            class Reading:
                def evaluate(self, model, weights, tokenizer, sink):
                    sink.value("norm", model.weight("tied").sum(), "1")
                    sink.value("float", weights[0].tensors["w"].sum() + len(weights[0].tensors), "1")
                    sink.detail("ids", tokenizer("ab", special=True).tolist())
                    sink.detail("names", [parameter.name for parameter in model.parameters])
                    sink.detail("linears", [linear.name for group in model.block(0).groups for linear in group.linears])
                    sink.detail("logits", model.logits([1, 2]).tolist())
        """))
        self.assertEqual(host.needs(), 1 | 4)
        told = host.evaluate(self.DOCUMENTS)
        self.assertEqual([entry[1] for entry in told], [
            15, 76, [1, 97, 98], ["w"], ["mix"], [[24, 24, 24], [46, 46, 46]]])

    def test_a_model_without_a_tokenizer_is_refused_by_metrics_that_need_one(self):
        host = Host(self.work("""
            import quench

            @quench.metric(unit="1")
            def needing(model, tokenizer):
                return 1.0
        """))
        with self.assertRaises(Failure) as failure:
            host.evaluate(self.DOCUMENTS, tokenizer=False)
        self.assertEqual((failure.exception.status, failure.exception.message), (2, "the model has no tokenizer"))


if __name__ == "__main__":
    unittest.main()
