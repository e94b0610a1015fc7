"""Quantizers: a function of a weight, or a class of which each input group gets an object of its own."""

import numpy

from ..arrays import FLOAT32, FLOAT64, dtype_of, elements
from ..declare import Quantized
from ..describe import FLAGS
from ..plugin import Settings, takes
from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, NUMERICAL, UNSUPPORTED, Error


class LinearToQuantize:
    """A linear and its weight: [out, in], float32 (float64 if the model is), read-only, the host's until the call ends."""

    def __init__(self, info, index, weight):
        self.name, self.role, self.index, self.weight = info.name, info.role, index, weight
        self.out_features, self.in_features = info.out_features, info.in_features


class InputGroup:
    """Linears that read the same input: `linears` have name, role, out_features and in_features."""

    def __init__(self, args):
        self.block, self.group, self.in_features = args.block, args.group, args.in_features
        self.linears = [LinearToQuantize(info, index, None) for index, info in enumerate(args.info.linears or ())]

    @property
    def name(self):
        return self.linears[0].name if self.linears else "block %d group %d" % (self.block, self.group)


def rows_of(args):
    """The rows that count, their weights or None, and the float model's rows or None."""
    x, weight, index = args.x, args.row_weight, args.row_index
    if index is None:
        return x, weight, args.float_x
    if weight is not None and len(weight) != len(index):
        weight = weight[index]
    return x[index], weight, None if args.float_x is None else args.float_x[index]


class GramState:
    """What a function that asks for `gram` or `rows` has of a group: sum of w x x^T in float64, and sum of w."""

    def __init__(self, args):
        self.group = InputGroup(args)
        self.gram, self.rows = None, 0.0

    def observe(self, args):
        x, weight, _ = rows_of(args)
        x = x.astype(numpy.float64)
        product = (x if weight is None else x * weight[:, None]).T @ x
        self.gram = product if self.gram is None else self.gram + product
        self.rows += float(len(x) if weight is None else weight.sum())

    def require_rows(self):
        if self.gram is None:
            raise Error(FAILED_PRECONDITION, "%s: it needs calibration rows and got none" % self.group.name)


class ObjectState:
    """An object of the author's class, for one group."""

    def __init__(self, args, made):
        self.group, self.made, self.observed = InputGroup(args), made, False
        if hasattr(made, "begin"):
            made.begin(self.group)

    def observe(self, args):
        self.observed = True
        if not hasattr(self.made, "observe"):
            return
        x, weight, float_x = rows_of(args)
        more = {}
        if takes(self.made.observe, "float_x"):
            more["float_x"] = float_x
        if takes(self.made.observe, "row_weight"):
            more["row_weight"] = weight
        elif weight is not None:
            raise Error(UNSUPPORTED, "%s: its rows have weights: take them by observe(self, x, row_weight)" % self.group.name)
        self.made.observe(x, **more)


class QuantizerTable:
    def __init__(self, plugin, item):
        self._plugin, self._item = plugin, item

    def create(self, args):
        return {"quantizer": Settings(self._plugin, self._item, args.parameters_json)}

    def destroy(self, args):
        pass

    def needs(self, args):
        if "needs" not in self._item.methods:
            return self._item.needs
        bits = FLAGS["quantizer"]
        wanted = args.quantizer.made().needs()
        unknown = [name for name in wanted if name not in bits]
        if unknown:
            raise Error(INVALID_ARGUMENT, "needs: got %r, there are %s" % (unknown[0], ", ".join(bits)))
        return sum(bits[name] for name in set(wanted))

    def begin(self, args):
        settings = args.quantizer
        state = ObjectState(args.args, settings.made()) if self._item.is_class else GramState(args.args)
        return {"state": state}

    def observe(self, args):
        args.state.observe(args.args)

    def end(self, args):
        pass

    def gram_get(self, args):
        args.state.require_rows()
        return {"gram": args.state.gram, "rows": args.state.rows}

    def gram_set(self, args):
        args.state.gram, args.state.rows = args.gram.astype(numpy.float64), args.rows

    def output_error(self, args):
        args.state.require_rows()
        weight = args.weight.astype(numpy.float64)
        change = weight - args.dequantized
        gram = args.state.gram
        return {"squared_error": float(((change @ gram) * change).sum()),
                "reference": float(((weight @ gram) * weight).sum())}

    def accepts(self, args):
        return 1 if args.quantizer.item is args.other.item else 0

    def quantize(self, args):
        settings, state = args.quantizer, args.state
        weight, index = args.args.weight, args.args.linear
        if index >= len(state.group.linears):
            raise Error(INVALID_ARGUMENT, "%s: there is no linear %d" % (state.group.name, index))
        info = state.group.linears[index]
        if not numpy.isfinite(weight).all():
            raise Error(NUMERICAL, "%s: the weight has NaN or infinite values" % info.name)
        linear = LinearToQuantize(info, index, weight)
        if self._item.is_class:
            if "needs_rows" in self._item.flags and not state.observed and linear.role != "embedding":
                raise Error(FAILED_PRECONDITION, "%s: it needs calibration rows and got none" % info.name)
            result = state.made.quantize(linear)
        else:
            if {"gram", "rows"} & set(self._item.arguments):
                state.require_rows()
            result = settings.call(weight=weight, linear=linear, gram=state.gram, rows=state.rows)
        if not isinstance(result, Quantized):
            result = Quantized(result)
        return {"dequantized": self._record(settings, info.name, weight, result, args.args.sink)}

    def _record(self, settings, name, weight, result, sink):
        """Hands everything but the weight to the sink; returns the weight."""
        values = numpy.asarray(result.weight)
        if values.shape != weight.shape:
            raise Error(INVALID_ARGUMENT, "%s: %s returned a weight of shape %s, wanted %s"
                        % (name, self._item.name, list(values.shape), list(weight.shape)))
        if not numpy.isfinite(values).all():
            raise Error(NUMERICAL, "%s: %s returned NaN or infinite values" % (name, self._item.name))
        looked_up = result.table is not None  # quench then counts the bits
        bits = result.bits_per_weight
        if bits is None and not looked_up:
            bits = settings.parameters.get("bits")
        if bits is None and not looked_up:
            raise Error(INVALID_ARGUMENT, "%s: how many bits a weight takes is not known: %s has no parameter `bits`, "
                        "so return quench.Quantized(weight=..., bits_per_weight=...)" % (name, self._item.name))
        tensors = {"codes": (result.codes, "u1"), "scales": (result.scales, None), "zeros": (result.zeros, None),
                   "g_idx": (result.g_idx, "i4"), "perm": (result.perm, "i4"),
                   "indices": (result.indices, "u1"), "table": (result.table, None)}
        for key, (array, dtype) in tensors.items():
            if array is not None:
                array = numpy.asarray(array)
                powers = looked_up and key == "scales" and array.dtype == "u1"
                self._tensor(sink, name, key, array if powers else self._as(name, key, array, dtype), looked_up)
        for key, array in result.tensors.items():
            self._tensor(sink, name, key, numpy.asarray(array), looked_up)
        if bits is not None:
            sink.call("number", name="bits_per_weight", value=float(bits))
        for key, value in result.numbers.items():
            sink.call("number", name=key, value=float(value))
        for key, value in result.texts.items():
            sink.call("text", name=key, value=str(value))
        return values

    @staticmethod
    def _as(name, key, array, dtype):
        if dtype is None:
            return array if array.dtype in ("f4", "f8") else array.astype("f8")
        converted = array.astype(dtype)
        if not (converted == array).all():
            raise Error(INVALID_ARGUMENT, "%s: %s: got values that are none of %s" % (name, key, converted.dtype))
        return converted

    @staticmethod
    def _tensor(sink, name, key, array, looked_up=False):
        if key in ("scales", "zeros") and not looked_up and (array.ndim != 2 or dtype_of(array) not in (FLOAT32, FLOAT64)):
            raise Error(INVALID_ARGUMENT, "%s: %s: got shape %s, wanted [out, groups]" % (name, key, list(array.shape)))
        view = sink.call("tensor", name=key, dtype=dtype_of(array), dimensions=array.ndim, shape=array.shape)
        view[...] = elements(array, dtype_of(array)).reshape(array.shape)
