import unittest

from support import FileTest

from fake_host import BFLOAT16, Failure
import numpy
from quantizer_host import Quantizer
from quench.describe import describe

ROUNDING = """
    import quench

    @quench.quantizer(bits=4)
    def my_rounding(weight, bits):
        scale = abs(weight).max(1, keepdims=True) / (2 ** (bits - 1) - 1)
        return (weight / scale).round() * scale
"""
WEIGHT = numpy.random.default_rng(1).standard_normal((40, 64)).astype("f4")
GRAM = """
    import numpy, quench

    @quench.quantizer(bits=quench.Integer(4, low=2, high=8))
    def by_gram(weight, gram, rows, bits):
        return quench.Quantized(weight=weight, bits_per_weight=bits + 0.5, numbers={"rows": rows, "trace": gram.trace()})
"""


def rounded(weight, bits):
    scale = abs(weight).max(1, keepdims=True) / (2 ** (bits - 1) - 1)
    return (weight / scale).round() * scale


class QuantizerTest(FileTest):
    def fails(self, status, words, call, *arguments):
        with self.assertRaises(Failure) as failure:
            call(*arguments)
        self.assertEqual(failure.exception.status, status, failure.exception.message)
        self.assertLess(len(failure.exception.message.encode()), 504)
        self.assertNotIn("\n", failure.exception.message)
        for word in words:
            self.assertIn(word, failure.exception.message)

    def test_three_lines_quantize_every_linear_of_a_model(self):
        worker = self.work(ROUNDING)
        self.assertEqual(worker.ready["items"][0]["id"], "my_rounding")
        for bits in (3, 4):
            quantizer = Quantizer(worker, '{"bits": %d}' % bits)
            self.assertEqual(quantizer.needs(), 0)
            for shape in ((40, 64), (4, 8)):  # in shared memory, and in the message
                weight = WEIGHT[:shape[0], :shape[1]].copy()
                state = quantizer.begin([("layer.0", "q", *shape)], shape[1])
                out, sink = quantizer.quantize(state, weight)
                numpy.testing.assert_array_equal(out, rounded(weight, bits))
                self.assertEqual(sink.numbers, {"bits_per_weight": bits})
                quantizer.end(state)
            quantizer.destroy()

    def test_codes_scales_and_texts_reach_the_sink_with_the_reply(self):
        worker = self.work("""
            import numpy, quench

            @quench.quantizer()
            def coded(weight, linear):
                scale = abs(weight).max(1, keepdims=True) / 7
                codes = (weight / scale).round() + 8
                return quench.Quantized(weight=scale * (codes - 8), bits_per_weight=4.25, codes=codes,
                                        scales=scale, zeros=numpy.full_like(scale, 8), g_idx=numpy.zeros(weight.shape[1]),
                                        tensors={"extra": numpy.arange(3.0)}, numbers={"loss": 1.5},
                                        texts={"fallback": linear.name + " " + linear.role})
        """)
        quantizer = Quantizer(worker)
        out, sink = quantizer.quantize(quantizer.begin([("layer.7", "up", 40, 64)], 64), WEIGHT)
        self.assertEqual(sink.tensors["codes"].dtype, numpy.uint8)
        self.assertEqual(sink.tensors["scales"].dtype, numpy.float32)
        self.assertEqual(sink.tensors["g_idx"].dtype, numpy.int32)
        made = sink.tensors["scales"] * (sink.tensors["codes"] - sink.tensors["zeros"])
        numpy.testing.assert_array_equal(out, made)
        numpy.testing.assert_array_equal(sink.tensors["extra"], [0, 1, 2])
        self.assertEqual(sink.numbers, {"bits_per_weight": 4.25, "loss": 1.5})
        self.assertEqual(sink.texts, {"fallback": "layer.7 up"})

    def test_a_table_reaches_the_sink_with_its_scales_and_without_a_count_of_bits(self):
        worker = self.work("""
            import numpy, quench

            @quench.quantizer(bits=4)
            def looked_up(weight, bits):
                table = numpy.array([-1, -0.25, 0.5, 1], "f4")
                power = numpy.full((weight.shape[0], 1), 126, "u1")
                scale = numpy.ldexp(1.0, power.astype("i4") - 127)
                indices = abs(weight[..., None] - scale[..., None] * table).argmin(-1)
                return quench.Quantized(weight=scale * table[indices], indices=indices, table=table, scales=power)
        """)
        quantizer = Quantizer(worker, '{"bits": 4}')
        out, sink = quantizer.quantize(quantizer.begin([("layer.7", "up", 40, 64)], 64), WEIGHT)
        self.assertEqual(sink.tensors["indices"].dtype, numpy.uint8)
        self.assertEqual(sink.tensors["table"].dtype, numpy.float32)
        self.assertEqual(sink.tensors["scales"].dtype, numpy.uint8)
        numpy.testing.assert_array_equal(out, 0.5 * sink.tensors["table"][sink.tensors["indices"]])
        self.assertEqual(sink.numbers, {})

    def test_a_function_is_handed_the_gram_matrix_of_the_rows_that_count(self):
        worker = self.work(GRAM)
        self.assertEqual(worker.ready["items"][0]["instance"]["needs"], 1)
        quantizer = Quantizer(worker, '{"bits": 4}')
        state = quantizer.begin()
        x = numpy.random.default_rng(2).standard_normal((50, 8)).astype("f4")
        quantizer.observe(state, x[:20])
        quantizer.observe(state, x[20:], row_index=numpy.array([0, 5, 7]), row_weight=numpy.array([1.0, 0.5, 2.0]))
        kept = numpy.concatenate([x[:20], x[[20, 25, 27]]]).astype("f8")
        weights = numpy.array([1.0] * 21 + [0.5, 2.0])
        gram = (kept * weights[:, None]).T @ kept
        _, sink = quantizer.quantize(state, WEIGHT[:4, :8])
        self.assertEqual(sink.numbers["rows"], weights.sum())
        self.assertAlmostEqual(sink.numbers["trace"], gram.trace(), places=9)
        body = worker.channel.body().u64(quantizer.number, state)
        answer = quantizer.call("gram_get", body).status()
        numpy.testing.assert_allclose(answer.tensor(), gram, rtol=1e-12)
        self.assertEqual(answer.f64(), weights.sum())
        answer.finish()

    def test_settings_share_the_rows_of_a_group(self):
        worker = self.work(GRAM)
        first, second = Quantizer(worker, '{"bits": 3}'), Quantizer(worker, '{"bits": 5}')
        body = worker.channel.body().u64(second.number, first.number)
        self.assertEqual(second.call("accepts", body).i64(), 1)
        state = first.begin()
        first.observe(state, numpy.ones((3, 8), "f4"))
        _, sink = second.quantize(state, WEIGHT[:4, :8])
        self.assertEqual(sink.numbers["bits_per_weight"], 5.5)

    def test_a_quantizer_of_weights_keeps_no_gram_matrix(self):
        for text, keeps in ((ROUNDING, False), (GRAM, True)):
            functions = set(describe(self.write(text))["items"][0]["functions"])
            self.assertIn("quantize", functions)
            for name in ("gram_get", "gram_set", "output_error", "accepts"):
                self.assertEqual(name in functions, keeps)

    def test_half_precision_rows_arrive_as_floats(self):
        worker = self.work(GRAM)
        quantizer = Quantizer(worker, '{"bits": 4}')
        state = quantizer.begin()
        x = numpy.arange(16, dtype="f4").reshape(2, 8)
        quantizer.observe(state, (x.view("u4") >> 16).astype("u2"), dtype=BFLOAT16)
        _, sink = quantizer.quantize(state, WEIGHT[:4, :8])
        self.assertEqual(sink.numbers["trace"], float((x.astype("f8") ** 2).sum()))

    def test_every_group_has_an_object_of_the_class(self):
        worker = self.work("""
            import quench

            @quench.quantizer
            class Counting:
                bits = quench.Integer(4, low=2, high=8)
                needs_rows = True
                needs_float_rows = True

                def begin(self, group):
                    self.names = [linear.name for linear in group.linears]
                    self.largest = 0.0

                def observe(self, x):
                    self.largest = max(self.largest, float(abs(x).max()))

                def quantize(self, linear):
                    return quench.Quantized(linear.weight, self.bits, numbers={"largest": self.largest},
                                            texts={"names": " ".join(self.names), "own": linear.name})
        """)
        quantizer = Quantizer(worker, '{"bits": 3}')
        self.assertEqual(quantizer.needs(), 1 << 0 | 1 << 8)
        linears = [("a.q", "q", 4, 8), ("a.k", "k", 4, 8)]
        first, second = quantizer.begin(linears), quantizer.begin(linears)
        quantizer.observe(first, numpy.full((2, 8), 3, "f4"))
        quantizer.observe(second, numpy.full((2, 8), 5, "f4"))
        for state, largest in ((first, 3), (second, 5)):
            _, sink = quantizer.quantize(state, WEIGHT[:4, :8], linear=1)
            self.assertEqual(sink.numbers, {"bits_per_weight": 3, "largest": largest})
            self.assertEqual(sink.texts, {"names": "a.q a.k", "own": "a.k"})

    def test_a_method_that_needs_rows_and_got_none_says_so(self):
        quantizer = Quantizer(self.work(GRAM), '{"bits": 4}')
        self.fails(2, ["layer.0", "rows"], quantizer.quantize, quantizer.begin(), WEIGHT[:4, :8])

    def test_exceptions_name_the_line_of_the_file(self):
        worker = self.work("""
            import quench

            @quench.quantizer(kind=quench.Choice("type", "own", "shape", "nan", "exit", "long", "bits"))
            def broken(weight, kind):
                if kind == "type":
                    return len(4)
                if kind == "own":
                    raise quench.Error(quench.UNSUPPORTED, "layer 3: got 5 bits, wanted 4")
                if kind == "shape":
                    return quench.Quantized(weight[:1], 4)
                if kind == "exit":
                    raise SystemExit(3)
                if kind == "long":
                    raise ValueError("é\\n" * 1000)
                if kind == "nan":
                    return quench.Quantized(weight / 0, 4)
                return weight
        """)
        expected = {"type": (9, ["TypeError", "(plugin.py:6)"]), "own": (4, ["layer 3: got 5 bits, wanted 4"]),
                    "shape": (1, ["layer.0", "[1, 8]", "[4, 8]"]), "nan": (7, ["layer.0", "NaN"]),
                    "exit": (9, ["SystemExit: 3", "(plugin.py:12)"]), "long": (9, ["ValueError: é é", "(plugin.py:14)"]),
                    "bits": (1, ["bits_per_weight"])}
        for kind, (status, words) in expected.items():
            quantizer = Quantizer(worker, '{"kind": "%s"}' % kind)
            state = quantizer.begin()
            self.fails(status, words, quantizer.quantize, state, WEIGHT[:4, :8])
            quantizer.end(state)

    def test_a_weight_that_is_not_finite_is_refused_by_name(self):
        quantizer = Quantizer(self.work(ROUNDING), '{"bits": 4}')
        weight = WEIGHT[:4, :8].copy()
        weight[1, 2] = numpy.inf
        self.fails(7, ["layer.0"], quantizer.quantize, quantizer.begin(), weight)

    def test_a_missing_library_is_named_when_an_instance_is_made(self):
        worker = self.work("""
            import quench
            import a_library_that_nobody_has

            @quench.quantizer(bits=4)
            def f(weight, bits):
                return weight
        """)
        for _ in range(2):
            self.fails(9, ["ModuleNotFoundError", "a_library_that_nobody_has", "(plugin.py:2)"], Quantizer, worker)

    def test_an_array_that_is_kept_beyond_its_call_is_an_error_of_that_call(self):
        worker = self.work("""
            import quench

            kept = []

            @quench.quantizer(bits=4, how=quench.Choice("whole", "part", "transposed", "copy", "cycle"))
            class Keeping:
                needs_rows = True

                def observe(self, x):
                    if self.how == "cycle":
                        self_made = [x]
                        self_made.append(self_made)
                        return
                    kept.append({"whole": x, "part": x[1:, :2], "transposed": x.T, "copy": x.copy()}[self.how])

                def quantize(self, linear):
                    return linear.weight
        """)
        for rows in (2, 200):  # in the message, and in shared memory
            for how in ("whole", "part", "transposed"):
                quantizer = Quantizer(worker, '{"bits": 4, "how": "%s"}' % how)
                state = quantizer.begin()
                self.fails(2, ["observe", "keep a copy"], quantizer.observe, state, numpy.ones((rows, 8), "f4"))
            self.assertIsNone(worker.process.poll())
            for how in ("copy", "cycle"):
                quantizer = Quantizer(worker, '{"bits": 4, "how": "%s"}' % how)
                quantizer.observe(quantizer.begin(), numpy.ones((rows, 8), "f4"))

    def test_arrays_that_are_handed_over_are_read_only(self):
        quantizer = Quantizer(self.work("""
            import quench

            @quench.quantizer(bits=4)
            def writing(weight, bits):
                weight[0] = 0
                return weight
        """), '{"bits": 4}')
        self.fails(9, ["read-only", "(plugin.py:5)"], quantizer.quantize, quantizer.begin(), WEIGHT[:4, :8])

    def test_a_cancelled_run_ends_long_work(self):
        worker = self.work("""
            import quench

            @quench.quantizer(bits=4)
            def patient(weight, bits):
                while True:
                    quench.check_cancelled()
        """)
        quantizer = Quantizer(worker, '{"bits": 4}')
        state = quantizer.begin()
        worker.cancel()
        self.fails(8, ["cancelled"], quantizer.quantize, state, WEIGHT[:4, :8])

    def test_work_that_asks_whether_to_stop_gives_signs_of_life(self):
        worker = self.work("""
            import time
            import quench

            @quench.quantizer(bits=4)
            def patient(weight, bits):
                for _ in range(100):
                    quench.check_cancelled()
                    time.sleep(0.01)
                return weight
        """)
        quantizer = Quantizer(worker, '{"bits": 4}')
        quantizer.quantize(quantizer.begin(), WEIGHT[:4, :8])
        self.assertIn(worker.channel.signs, range(2, 7))  # of 100 questions in a second

    def test_the_needs_of_parameters_are_asked_of_the_class(self):
        worker = self.work("""
            import quench

            @quench.quantizer(bits=4, calibrated=False)
            class Either:
                def needs(self):
                    return ["needs_rows", "quantizes_head"] if self.calibrated else []

                def quantize(self, linear):
                    return linear.weight
        """)
        self.assertIsNone(worker.ready["items"][0]["instance"])
        self.assertEqual(Quantizer(worker, '{"bits": 4, "calibrated": false}').needs(), 0)
        self.assertEqual(Quantizer(worker, '{"bits": 4, "calibrated": true}').needs(), 1 | 1 << 9)


if __name__ == "__main__":
    unittest.main()
