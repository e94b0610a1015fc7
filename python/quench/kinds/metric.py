"""Metrics: a function of the model under measurement, or a class with `evaluate`."""

import json
import math

import numpy

from ..arrays import FLOAT32, FLOAT64, Output, Typed
from ..declare import Value
from ..plugin import Settings
from ..sources import Tensors
from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, Error


class Tokens:
    """A tokenized corpus: a sequence of documents, each an int32 array of ids.

    corpus: its name; bytes: UTF-8 bytes of each document, or None where the corpus has ids only.
    """

    def __init__(self, tokens):
        self.corpus, self.bytes = tokens.corpus, tokens.bytes
        self._ids, self._offsets = tokens.ids, tokens.offsets

    def __len__(self):
        return len(self._offsets) - 1

    def __getitem__(self, document):
        if not -len(self) <= document < len(self):
            raise IndexError("corpus %s has %d documents" % (self.corpus, len(self)))
        document %= len(self)
        return self._ids[int(self._offsets[document]):int(self._offsets[document + 1])]


class Weights:
    """Further weights of the same architecture: those of the float model, or of a checkpoint."""

    def __init__(self, weights):
        self.name, self.branch, self.step, self.tokens = weights.name, weights.branch, weights.step, weights.tokens
        self.tensors = Tensors(weights.source)


class Model:
    """The model under measurement, which runs in the host."""

    def __init__(self, subject):
        self._subject, self._table, self._model = subject, subject.fields.table, subject.fields.model
        self.info = self._call("info")  # blocks, width, vocabulary, max_positions
        self._shapes = None

    def _call(self, name, /, **arguments):
        return self._table.call(name, model=self._model, **arguments)

    @property
    def parameters(self):
        """Descriptions of all trainable tensors: name, role, shape, aliases."""
        return self._call("parameters").parameters

    def block(self, number):
        """The groups of linears of a block."""
        return self._call("block", block=number)

    def weight(self, name):
        """A parameter's value: a float32 array, float64 if the model is."""
        if self._shapes is None:
            self._shapes = {alias: tuple(int(n) for n in parameter.shape) for parameter in self.parameters
                            for alias in [parameter.name, *(parameter.aliases or ())]}
        dtype = FLOAT64 if self.info.dtype == FLOAT64 else FLOAT32
        return self._call("weight_get", name=name, destination=Output(dtype, self._shapes.get(name, ())))

    def score(self, rows, scored_from=None, argmax=False):
        """-log p of each id of each row given those before it, in nats, as a list of float64 arrays.

        0 where an id is not scored: the first of a row, and those before scored_from[row]. With `argmax`, also the most
        likely ids: two lists. All rows run in one forward, block by block.
        """
        rows = [numpy.asarray(row, numpy.int32).reshape(-1) for row in rows]
        starts = numpy.cumsum([0] + [len(row) for row in rows]).astype(numpy.uint64)
        args = {"flags": 0, "rows": len(rows), "ids": numpy.concatenate(rows or [numpy.zeros(0, numpy.int32)]),
                "starts": starts, "scored_from": scored_from, "nll": True, "argmax": argmax, "parents": None}
        out = self._subject.call("score", args=args)
        cuts = starts[1:-1].astype(int)
        nll = numpy.split(out.nll, cuts) if rows else []
        return (nll, numpy.split(out.argmax, cuts) if rows else []) if argmax else nll

    def hidden(self, ids):
        """The residual stream after the last block, [tokens, width], for one row of ids."""
        tokens = numpy.asarray(ids, numpy.int32).reshape(1, -1)
        batch = {"flags": 0, "tokens": tokens, "positions": None, "segments": None}
        dtype, rows = self.info.dtype, tokens.size
        h = self._call("embed", args={"flags": 0, "batch": batch, "h": Output(dtype, (rows, self.info.width))})
        for number in range(self.info.blocks):
            carried = [h]
            for stage in range(self.block(number).stage_count):
                described = self._call("carry", block=number, stage=stage).tensors
                leaving = self._call("carry", block=number, stage=stage + 1).tensors
                args = {"flags": 0, "block": number, "stage": stage, "batch": batch, "in_count": len(carried),
                        "out_count": len(leaving),
                        "in": [Typed(array, carry.dtype) for array, carry in zip(carried, described)],
                        "out": [Output(carry.dtype, (rows * carry.rows_per_token, carry.width)) for carry in leaving]}
                carried = self._call("stage", args=args)
            h = carried[0]
        return h

    def logits(self, ids):
        """Logits at every position of one row of ids: [tokens, vocabulary]."""
        h, dtype = self.hidden(ids), self.info.dtype
        return self._call("logits", h=Typed(h, dtype), logits=Output(dtype, (len(h), self.info.vocabulary)))


class Sink:
    """Where a metric's values go; for values that are there before the function returns."""

    def __init__(self, remote):
        self._remote = remote

    def value(self, name, value, unit, direction=0, stderr=None):
        self._remote.call("value", name=name, value=float(value), unit=unit, direction=direction,
                          standard_error=math.nan if stderr is None else float(stderr))

    def detail(self, name, value):
        """A number, or whatever JSON can say."""
        if isinstance(value, (int, float, numpy.number)) and not isinstance(value, bool):
            self._remote.call("detail", name=name, value=float(value))
        else:
            text = json.dumps(value).encode()
            self._remote.call("json", name=name, text=text, bytes=len(text))

    def items(self, name, values):
        values = numpy.asarray(values, numpy.float64).reshape(-1)
        self._remote.call("items", name=name, values=values, count=len(values))


class MetricTable:
    def __init__(self, plugin, item):
        self._plugin, self._item = plugin, item

    def create(self, args):
        settings = Settings(self._plugin, self._item, args.parameters_json)
        return {"metric": (settings, settings.made() if self._item.is_class else None)}

    def destroy(self, args):
        pass

    def needs(self, args):
        return self._item.needs

    def evaluate(self, args):
        settings, made = args.metric
        args = args.args
        sink = Sink(args.sink)
        corpora = {tokens.parameter: Tokens(tokens) for tokens in args.tokens or ()}
        roles = {"model": Model(args.subject), "sink": sink,
                 "tokenizer": self._tokenizer(args.tokenizer) if "tokenizer" in self._item.arguments else None,
                 "weights": [Weights(weights) for weights in args.weights or ()]}
        if len(corpora) == 1:
            roles["tokens"] = next(iter(corpora.values()))
        elif "tokens" in self._item.arguments and "tokens" not in self._item.parameters:
            raise Error(FAILED_PRECONDITION, "no corpus is given for `tokens`")
        roles.update(corpora)
        if made is None:
            result = settings.call(**roles)
        else:
            result = made.evaluate(**{name: value for name, value in roles.items() if name in self._item.arguments})
        self._record(sink, result)

    @staticmethod
    def _tokenizer(remote):
        if remote is None:
            raise Error(FAILED_PRECONDITION, "the model has no tokenizer")

        def encode(text, special=False):
            """Ids of a text; `special` adds what the tokenizer adds around a text."""
            data = text.encode()
            return remote.call("encode", text=data, bytes=len(data), special=int(special)).ids

        return encode

    def _record(self, sink, result):
        """None where the sink has it all, a number, a Value, or several by name, the main one first."""
        if result is None:
            return
        for name, value in (result if isinstance(result, dict) else {self._item.id: result}).items():
            if not isinstance(value, Value):
                unit = self._item.words.get("unit")
                if unit is None:
                    raise Error(INVALID_ARGUMENT, "%s returned %s without a unit: give the decorator unit=\"...\", or return "
                                "quench.Value(value, unit)" % (self._item.name, type(value).__name__))
                value = Value(value, unit, self._item.words.get("direction", 0))
            sink.value(name, value.value, value.unit, value.direction, value.stderr)
            for key, detail in value.details.items():
                sink.detail(key, detail)
            if value.items is not None:
                sink.items(name, value.items)
