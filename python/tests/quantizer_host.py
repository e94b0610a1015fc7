"""The host's side of the tables of quantizers."""

import numpy

from fake_host import FLOAT32, NAMES, Failure, function_number, mask

TABLE = "quench_quantizer_table"
SINK = "quench_quantize_sink"
SINK_TARGET = 4711


class Sink:
    """Keeps what a quantizer hands over."""

    def __init__(self):
        self.tensors, self.numbers, self.texts = {}, {}, {}
        self._asked = []

    def serve(self, target, function, answer, reply):
        assert target == SINK_TARGET
        name = answer.text()
        if function == function_number(SINK, "tensor"):
            dtype, dimensions = answer.u64(), answer.i64()
            shape = list(answer.array("i8"))
            assert dimensions == len(shape)
            self._asked.append((name, dtype, shape))
        elif function == function_number(SINK, "number"):
            self.numbers[name] = answer.f64()
        else:
            assert function == function_number(SINK, "text")
            self.texts[name] = answer.text()
        reply.i64(0).text(None)

    def take(self, answer):
        """The outputs that were filled until the outer call returned."""
        for _ in range(answer.u64()):
            target, index = answer.u64(), answer.u64()
            assert target == SINK_TARGET
            name, dtype, shape = self._asked[index]
            self.tensors[name] = answer.array(NAMES[dtype], shape)


class Quantizer:
    """An instance of a worker's item."""

    def __init__(self, worker, parameters="{}", item=1):
        self.channel, self.item = worker.channel, item
        body = worker.channel.body().blob(parameters.encode()).u64(len(parameters.encode()))
        answer = self._call("create", body).status()
        self.number = answer.u64()
        answer.finish()

    def _call(self, name, body, serve=None, target=None):
        return self.channel.call(target or self.item, function_number(TABLE, name), body, serve)

    def needs(self):
        return self._call("needs", self.channel.body().u64(self.number)).u64()

    def begin(self, linears=(("layer.0", "q", 4, 8),), in_features=8):
        body = self.channel.body().u64(self.number, 1, 0, 0, 0)  # args: flags, block, group
        body.u64(1, 0).i64(1, -1, -1).u64(len(linears), len(linears) + 1)  # info
        for name, role, rows, columns in linears:
            body.u64(0).text(name).text(role).text(name + ".weight").text(None).i64(rows, columns)
        body.u64(0, 0).i64(in_features, 1, 0)  # no sites; device
        answer = self._call("begin", body).status()
        state = answer.u64()
        answer.finish()
        return state

    def observe(self, state, x, float_x=None, row_index=None, row_weight=None, dtype=None):
        body = self.channel.body().u64(self.number, state, 1, 0).tensor(x, dtype)
        for tensor in (float_x, row_index, row_weight):
            body.tensor(tensor)
        self._call("observe", body).status().finish()

    def quantize(self, state, weight, linear=0, services=None):
        """The dequantized weight, and the sink. `services` serves the calls of the host's services."""
        weight, sink = numpy.ascontiguousarray(weight, "f4"), Sink()

        def serve(target, *call):
            (services if target == 0 else sink.serve)(target, *call)

        body = self.channel.body().u64(self.number, state, 1, 0, linear).tensor(weight).shape(FLOAT32, weight.shape)
        body.u64(SINK_TARGET, mask(SINK, "tensor", "number", "text"))
        answer = self._call("quantize", body, serve)
        status, message = answer.i64(), answer.text()
        if status != 0:
            assert answer.u64() == 0
            answer.finish()
            raise Failure(status, message)
        out = answer.array("f4", weight.shape)
        sink.take(answer)
        answer.finish()
        return out, sink

    def call(self, name, body):
        return self._call(name, body)

    def end(self, state):
        self._call("end", self.channel.body().u64(self.number, state)).finish()

    def destroy(self):
        self._call("destroy", self.channel.body().u64(self.number)).finish()
